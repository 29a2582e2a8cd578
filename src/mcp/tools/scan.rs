//! The tool `scan`: the structural scan alone.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{McpTool, ToolEffect, input_schema, output_schema, parse_arguments};
use moai_protocol::control::{DaemonRequest, ScanRequest};
use moai_protocol::documents::tool_answers::DiagnosticsAnswer;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ScanArguments {
    /// Files or folders, relative to the project's root
    #[serde(default)]
    paths: Vec<PathBuf>,
    /// Only files that differ from HEAD
    #[serde(default)]
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
        input: input_schema::<ScanArguments>(),
        output: output_schema::<DiagnosticsAnswer>(),
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
