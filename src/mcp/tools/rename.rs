//! The tool `rename`: shows a diff unless `dry_run` is false.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::lookups::{parse_position, place_properties};
use super::{
    McpTool, ToolEffect, answer_schema, finding_schema, list, not_measured_schema, object,
    parse_arguments, timeout,
};
use moai_protocol::control::{DaemonRequest, RenameRequest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RenameArguments {
    path: PathBuf,
    line: u32,
    column: Option<u32>,
    symbol: Option<String>,
    new_name: String,
    dry_run: Option<bool>,
    timeout_secs: Option<u64>,
}

pub(super) fn tool() -> McpTool {
    let mut input = place_properties();
    input["new_name"] = json!({"type": "string", "minLength": 1});
    input["dry_run"] = json!({
        "type": "boolean", "default": true,
        "description": "Show the diff and write nothing (true); false writes",
    });
    McpTool {
        name: "rename",
        title: "Rename",
        description: "Rename a symbol and all references to it, in all files or none. Shows a \
            preview unless dry_run is false; then it reports the findings it introduced.",
        effect: ToolEffect::Writes,
        input: object(&input, &["path", "line", "new_name"]),
        output: output(),
        request,
    }
}

fn output() -> Value {
    let file = json!({
        "path": {"type": "string"},
        "action": {"type": "string", "enum": ["edit", "create", "delete", "move"]},
        "moved_from": {"type": ["string", "null"]},
    });
    answer_schema(json!({
        "written": {"type": "boolean"},
        "old_name": {"type": ["string", "null"]},
        "new_name": {"type": "string"},
        "edits": {"type": "integer"},
        "files": list(&object(&file, &["path", "action", "moved_from"])),
        "files_omitted": {"type": "integer"},
        "diff": {"type": "string", "description": "The preview"},
        "check": check_schema(),
    }))
}

/// Schema of the measurement after files were written.
pub(super) fn check_schema() -> Value {
    let unknown = "Findings that may be older: there is no earlier measurement";
    let mut unknown_schema = list(&finding_schema());
    unknown_schema["description"] = json!(unknown);
    let check = json!({
        "introduced": list(&finding_schema()),
        "unknown": unknown_schema,
        "findings_omitted": {"type": "integer"},
        "fixed": {"type": "integer"},
        "not_measured": not_measured_schema(),
    });
    let check_required = ["introduced", "unknown", "findings_omitted", "fixed", "not_measured"];
    object(&check, &check_required)
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let RenameArguments { path, line, column, symbol, new_name, dry_run, timeout_secs } =
        parse_arguments(arguments)?;
    Ok(DaemonRequest::Rename(RenameRequest {
        at: parse_position(path, line, column, symbol)?,
        new_name,
        apply: !dry_run.unwrap_or(true),
        json: false,
        timeout_secs: timeout(timeout_secs)?,
    }))
}
