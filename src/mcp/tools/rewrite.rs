//! The tool `rewrite`: shows a diff unless `dry_run` is false.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::rename::check_schema;
use super::search_code::{LanguageNames, answer_schema, pattern_properties};
use super::{McpTool, ToolEffect, list, object, parse_arguments, timeout};
use moai_protocol::control::{DaemonRequest, RewriteRequest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RewriteArguments {
    pattern: String,
    replacement: String,
    lang: LanguageNames,
    #[serde(default)]
    paths: Vec<PathBuf>,
    dry_run: Option<bool>,
    timeout_secs: Option<u64>,
}

pub(super) fn tool() -> McpTool {
    let mut input = pattern_properties();
    input["replacement"] = json!({
        "type": "string", "description": "Replacement code; it can use the metavariables of the pattern",
    });
    input["dry_run"] = json!({
        "type": "boolean", "default": true,
        "description": "Show the diff and write nothing (true); false writes",
    });
    McpTool {
        name: "rewrite",
        title: "Rewrite code",
        description: "Structural search and replace with an ast-grep pattern, in all files or none. \
            Shows a preview unless dry_run is false; then it reports new findings of the scan. \
            Refused if a file would no longer parse.",
        effect: ToolEffect::Writes,
        input: object(&input, &["pattern", "replacement", "lang"]),
        output: answer_schema(json!({
            "written": {"type": "boolean"},
            "edits": {"type": "integer"},
            "files": list(&json!({"type": "string"})),
            "files_omitted": {"type": "integer"},
            "diff": {"type": "string", "description": "The preview"},
            "check": check_schema(),
        })),
        request,
    }
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let RewriteArguments { pattern, replacement, lang, paths, dry_run, timeout_secs } =
        parse_arguments(arguments)?;
    Ok(DaemonRequest::Rewrite(RewriteRequest {
        pattern,
        replacement,
        languages: lang.all(),
        paths,
        apply: !dry_run.unwrap_or(true),
        json: false,
        timeout_secs: timeout(timeout_secs)?,
    }))
}
