//! The tool `scan`: the structural scan alone.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::diagnostics::report_schema;
use super::{McpTool, ToolEffect, object, parse_arguments, paths_schema};
use moai_protocol::control::{DaemonRequest, ScanRequest};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScanArguments {
    paths: Vec<PathBuf>,
    changed: bool,
}

pub(super) fn tool() -> McpTool {
    McpTool {
        name: "scan",
        title: "Structural scan",
        description: "Find weaknesses and mistakes with structural rules, such as \
            injection, weak cryptography, secrets in code and swallowed errors. Without \
            arguments: the whole project.",
        effect: ToolEffect::Reads,
        input: object(
            &json!({
                "paths": paths_schema(),
                "changed": {"type": "boolean", "description": "Only files that differ from HEAD"},
            }),
            &[],
        ),
        output: report_schema(),
        request,
    }
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let ScanArguments { paths, changed } = parse_arguments(arguments)?;
    if changed && !paths.is_empty() {
        return Err("invalid arguments: either paths or changed".to_owned());
    }
    let fail_on = "error".to_owned();
    Ok(DaemonRequest::Scan(ScanRequest { paths, changed, fail_on, ..ScanRequest::default() }))
}
