//! The tool `diagnostics`: the command `check` for an agent.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    McpTool, TimeoutSecs, ToolEffect, checked_timeout, input_schema, output_schema, parse_arguments,
};
use moai_protocol::control::{CheckRequest, DaemonRequest};
use moai_protocol::documents::tool_answers::DiagnosticsAnswer;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiagnosticsArguments {
    /// Files or folders, relative to the project's root
    #[serde(default)]
    paths: Vec<PathBuf>,
    /// The whole project
    #[serde(default)]
    all: bool,
    timeout_secs: Option<TimeoutSecs>,
}

pub(super) fn tool() -> McpTool {
    McpTool {
        name: "diagnostics",
        title: "Diagnostics",
        description: "Findings from language servers and the structural scan for files as they \
            are on disk now. Without paths: the files that differ from HEAD.",
        effect: ToolEffect::Reads,
        input: input_schema::<DiagnosticsArguments>(),
        output: output_schema::<DiagnosticsAnswer>(),
        request,
    }
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let DiagnosticsArguments { paths, all, timeout_secs } = parse_arguments(arguments)?;
    if all && !paths.is_empty() {
        return Err("invalid arguments: either paths or all".to_owned());
    }
    let timeout_secs = checked_timeout(timeout_secs)?;
    let fail_on = "error".to_owned();
    Ok(DaemonRequest::Check(CheckRequest {
        paths,
        all,
        fail_on,
        timeout_secs,
        ..CheckRequest::default()
    }))
}
