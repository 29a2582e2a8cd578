//! The tools `memory_search` and `memory_get`: first the index, then whole observations.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{McpTool, ToolEffect, input_schema, output_schema, parse_arguments};
use moai_base::limits::{MEMORY_TOOL_HITS_MAX, MEMORY_TOOL_IDS_MAX};
use moai_protocol::control::{DaemonRequest, MemoryOperation, MemoryRequest, MemoryScope};
use moai_protocol::documents::tool_answers::{MemoryGetAnswer, MemorySearchAnswer, ToolAnswer};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemorySearchArguments {
    /// Words in Korean or English, names, paths, error codes
    query: String,
    /// Kinds of observations, such as decision, fix, note, diagnostic
    #[serde(default)]
    types: Vec<String>,
    /// A file or folder, relative to the project's root
    path: Option<String>,
    /// The code of a finding, such as TS2345
    code: Option<String>,
    /// Of sessions in this worktree: the name of its folder, or a path
    worktree: Option<String>,
    /// The earliest time: a date, or an age such as 30d
    since: Option<String>,
    /// Search the memories of all projects
    #[serde(default)]
    all_projects: bool,
    /// Maximum number of hits
    #[schemars(range(min = 1, max = MEMORY_TOOL_HITS_MAX), extend("default" = MEMORY_TOOL_HITS_MAX))]
    limit: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MemoryGetArguments {
    /// Ids from `memory_search`
    #[schemars(length(min = 1, max = MEMORY_TOOL_IDS_MAX))]
    ids: Vec<String>,
}

pub(super) fn tools() -> [McpTool; 2] {
    [
        McpTool {
            name: "memory_search",
            title: "Search the memory",
            description: "What earlier sessions decided, fixed and learned, a line each. It is a \
                record of the past: check it against the files.",
            effect: ToolEffect::Reads,
            input: input_schema::<MemorySearchArguments>(),
            output: output_schema::<ToolAnswer<MemorySearchAnswer>>(),
            request: search,
        },
        McpTool {
            name: "memory_get",
            title: "Read from the memory",
            description: "The whole text of observations that memory_search found.",
            effect: ToolEffect::Reads,
            input: input_schema::<MemoryGetArguments>(),
            output: output_schema::<ToolAnswer<MemoryGetAnswer>>(),
            request: get,
        },
    ]
}

fn search(arguments: Value) -> Result<DaemonRequest, String> {
    let arguments: MemorySearchArguments = parse_arguments(arguments)?;
    let hits_max = arguments.limit.unwrap_or(MEMORY_TOOL_HITS_MAX);
    if !(1..=MEMORY_TOOL_HITS_MAX).contains(&hits_max) {
        return Err(format!("invalid arguments: limit: not between 1 and {MEMORY_TOOL_HITS_MAX}"));
    }
    let scope = MemoryScope {
        all_projects: arguments.all_projects,
        kinds: arguments.types,
        since: arguments.since,
        path: arguments.path,
        code: arguments.code,
        worktree: arguments.worktree,
        ..MemoryScope::default()
    };
    let action = MemoryOperation::Search {
        query: arguments.query,
        layer: 1,
        scope,
        hits_max,
        explain: false,
    };
    Ok(DaemonRequest::Memory(MemoryRequest { action, json: false }))
}

fn get(arguments: Value) -> Result<DaemonRequest, String> {
    let MemoryGetArguments { ids } = parse_arguments(arguments)?;
    if !(1..=MEMORY_TOOL_IDS_MAX).contains(&ids.len()) {
        return Err(format!("invalid arguments: ids: not 1 to {MEMORY_TOOL_IDS_MAX} ids"));
    }
    Ok(DaemonRequest::Memory(MemoryRequest { action: MemoryOperation::Get { ids }, json: false }))
}
