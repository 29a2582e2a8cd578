//! The tools `references`, `definition` and `hover`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    McpTool, ToolEffect, answer_schema, list, object, parse_arguments, timeout, timeout_schema,
};
use moai_protocol::control::{DaemonRequest, LookupRequest, RequestedPosition};

pub(super) fn tools() -> [McpTool; 3] {
    [
        McpTool {
            name: "references",
            title: "References",
            description: "Find all references to a symbol, including its declaration.",
            effect: ToolEffect::Reads,
            input: object(&place_properties(), &["path", "line"]),
            output: locations(),
            request: |arguments| lookup(arguments).map(DaemonRequest::References),
        },
        McpTool {
            name: "definition",
            title: "Definition",
            description: "Find the definition of a symbol; the path is absolute if it is outside the project.",
            effect: ToolEffect::Reads,
            input: object(&place_properties(), &["path", "line"]),
            output: locations(),
            request: |arguments| lookup(arguments).map(DaemonRequest::Definition),
        },
        McpTool {
            name: "hover",
            title: "Hover",
            description: "Show the type or signature of a symbol and its documentation.",
            effect: ToolEffect::Reads,
            input: object(&place_properties(), &["path", "line"]),
            output: answer_schema(json!({"text": {"type": "string"}})),
            request: |arguments| lookup(arguments).map(DaemonRequest::Hover),
        },
    ]
}

/// Properties that identify a position.
pub(super) fn place_properties() -> Value {
    json!({
        "path": {"type": "string", "description": "File, relative to the project's root"},
        "line": {"type": "integer", "minimum": 1, "description": "1-based"},
        "column": {
            "type": "integer", "minimum": 1,
            "description": "1-based, in UTF-16 units; or give symbol",
        },
        "symbol": {
            "type": "string",
            "description": "A name that stands once on the line, in place of column",
        },
        "timeout_secs": timeout_schema(),
    })
}

fn locations() -> Value {
    let properties = json!({
        "path": {"type": "string"},
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
        "text": {"type": ["string", "null"], "description": "The line"},
    });
    answer_schema(json!({
        "complete": {"type": "boolean", "description": "If false, reason says what may be missing"},
        "locations": list(&object(&properties, &["path", "line", "column", "text"])),
        "locations_omitted": {"type": "integer"},
    }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookupArguments {
    path: PathBuf,
    line: u32,
    column: Option<u32>,
    symbol: Option<String>,
    timeout_secs: Option<u64>,
}

fn lookup(arguments: Value) -> Result<LookupRequest, String> {
    let LookupArguments { path, line, column, symbol, timeout_secs } = parse_arguments(arguments)?;
    let timeout_secs = timeout(timeout_secs)?;
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
