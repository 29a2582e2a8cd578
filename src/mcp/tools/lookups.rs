//! The tools `references`, `definition` and `hover`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    McpTool, TimeoutSecs, ToolEffect, checked_timeout, input_schema, output_schema, parse_arguments,
};
use moai_protocol::control::{DaemonRequest, LookupRequest, RequestedPosition};
use moai_protocol::documents::tool_answers::{HoverAnswer, LocationsAnswer, ToolAnswer};

pub(super) fn tools() -> [McpTool; 3] {
    [
        McpTool {
            name: "references",
            title: "References",
            description: "Find all references to a symbol, including its declaration.",
            effect: ToolEffect::Reads,
            input: input_schema::<LookupArguments>(),
            output: output_schema::<ToolAnswer<LocationsAnswer>>(),
            request: |arguments| lookup(arguments).map(DaemonRequest::References),
        },
        McpTool {
            name: "definition",
            title: "Definition",
            description: "Find the definition of a symbol; the path is absolute if it is outside the project.",
            effect: ToolEffect::Reads,
            input: input_schema::<LookupArguments>(),
            output: output_schema::<ToolAnswer<LocationsAnswer>>(),
            request: |arguments| lookup(arguments).map(DaemonRequest::Definition),
        },
        McpTool {
            name: "hover",
            title: "Hover",
            description: "Show the type or signature of a symbol and its documentation.",
            effect: ToolEffect::Reads,
            input: input_schema::<LookupArguments>(),
            output: output_schema::<ToolAnswer<HoverAnswer>>(),
            request: |arguments| lookup(arguments).map(DaemonRequest::Hover),
        },
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LookupArguments {
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
    timeout_secs: Option<TimeoutSecs>,
}

fn lookup(arguments: Value) -> Result<LookupRequest, String> {
    let LookupArguments { path, line, column, symbol, timeout_secs } = parse_arguments(arguments)?;
    let timeout_secs = checked_timeout(timeout_secs)?;
    Ok(LookupRequest { at: parse_position(path, line, column, symbol)?, json: false, timeout_secs })
}

/// A position by either column or symbol, not both.
pub(super) fn parse_position(
    file: PathBuf,
    line: u32,
    column: Option<u32>,
    symbol: Option<String>,
) -> Result<RequestedPosition, String> {
    if column.is_some() == symbol.is_some() {
        return Err("invalid arguments: either column or symbol".to_owned());
    }
    Ok(RequestedPosition { file, line, column, symbol })
}
