//! The tool `rename`: shows a diff unless `dry_run` is false.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::lookups::parse_position;
use super::{
    McpTool, TimeoutSecs, ToolEffect, checked_timeout, input_schema, output_schema, parse_arguments,
};
use moai_protocol::control::{DaemonRequest, RenameRequest};
use moai_protocol::documents::tool_answers::{RenameAnswer, ToolAnswer};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenameArguments {
    /// File, relative to the project's root
    path: PathBuf,
    /// 1-based
    #[schemars(range(min = 1))]
    line: u32,
    /// 1-based, in UTF-16 units; or give symbol
    #[schemars(range(min = 1))]
    column: Option<u32>,
    /// A name that occurs once on the line, in place of column
    symbol: Option<String>,
    /// New name of the symbol
    #[schemars(length(min = 1))]
    new_name: String,
    /// Show the diff and write nothing (true); false writes
    #[schemars(extend("default" = true))]
    dry_run: Option<bool>,
    timeout_secs: Option<TimeoutSecs>,
}

pub(super) fn tool() -> McpTool {
    McpTool {
        name: "rename",
        title: "Rename",
        description: "Rename a symbol and all references to it, in all files or none. Shows a \
            preview unless dry_run is false; then it reports the findings it introduced.",
        effect: ToolEffect::Writes,
        input: input_schema::<RenameArguments>(),
        output: output_schema::<ToolAnswer<RenameAnswer>>(),
        request,
    }
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let RenameArguments { path, line, column, symbol, new_name, dry_run, timeout_secs } =
        parse_arguments(arguments)?;
    Ok(DaemonRequest::Rename(RenameRequest {
        at: parse_position(path, line, column, symbol)?,
        new_name,
        apply: !dry_run.unwrap_or(true),
        json: false,
        timeout_secs: checked_timeout(timeout_secs)?,
    }))
}
