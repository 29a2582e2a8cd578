//! The tool `diagnostics`: the command `check` for an agent.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    McpTool, ToolEffect, finding_schema, list, not_measured_schema, object, parse_arguments,
    paths_schema, timeout, timeout_schema,
};
use moai_protocol::control::{CheckRequest, DaemonRequest};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DiagnosticsArguments {
    paths: Vec<PathBuf>,
    all: bool,
    timeout_secs: Option<u64>,
}

pub(super) fn tool() -> McpTool {
    McpTool {
        name: "diagnostics",
        title: "Diagnostics",
        description: "Findings from language servers and the structural scan for files as they \
            are on disk now. Without paths: the files that differ from HEAD.",
        effect: ToolEffect::Reads,
        input: object(
            &json!({
                "paths": paths_schema(),
                "all": {"type": "boolean", "description": "The whole project"},
                "timeout_secs": timeout_schema(),
            }),
            &[],
        ),
        output: report_schema(),
        request,
    }
}

/// Schema of a report: findings and what was not measured.
pub(super) fn report_schema() -> Value {
    object(
        &json!({
            "verdict": {"type": "string", "enum": ["clean", "dirty", "unmeasured"]},
            "files_total": {"type": "integer"},
            "files_checked": {"type": "integer"},
            "findings": list(&finding_schema()),
            "findings_omitted": {"type": "integer"},
            "not_measured": not_measured_schema(),
            "note": {"type": "string", "description": "How the files were chosen"},
        }),
        &[
            "verdict",
            "files_total",
            "files_checked",
            "findings",
            "findings_omitted",
            "not_measured",
        ],
    )
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let DiagnosticsArguments { paths, all, timeout_secs } = parse_arguments(arguments)?;
    if all && !paths.is_empty() {
        return Err("invalid arguments: either paths or all".to_owned());
    }
    let timeout_secs = timeout(timeout_secs)?;
    let fail_on = "error".to_owned();
    Ok(DaemonRequest::Check(CheckRequest {
        paths,
        all,
        fail_on,
        timeout_secs,
        ..CheckRequest::default()
    }))
}
