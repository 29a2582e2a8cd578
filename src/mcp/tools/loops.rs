//! The tools `loop_start`, `loop_status` and `loop_cancel`. Without an id they refer to the loop of
//! the agent's own session.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{McpTool, ToolEffect, input_schema, object, output_schema, parse_arguments};
use moai_protocol::control::{DaemonRequest, LoopSelector, LoopStartRequest};
use moai_protocol::documents::tool_answers::LoopAnswer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoopStartArguments {
    prompt: String,
    mode: Option<String>,
    max_iterations: Option<u32>,
    completion_promise: Option<String>,
    until: Option<String>,
    baseline: Option<String>,
    max_minutes: Option<u32>,
    max_tokens: Option<u64>,
    session: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoopSelectArguments {
    /// Id of a loop
    id: Option<String>,
    /// Session to use instead of this one
    session: Option<String>,
}

pub(super) fn tools() -> [McpTool; 3] {
    [
        McpTool {
            name: "loop_start",
            title: "Start a loop",
            description: "Hold this session's Stop until the evidence is clean. One loop per \
                session; only when the user asks for one.",
            effect: ToolEffect::Controls,
            input: start_schema(),
            output: output_schema::<LoopAnswer>(),
            request: start,
        },
        McpTool {
            name: "loop_status",
            title: "Loop status",
            description: "Show the status of this session's loop, or how its last loop ended.",
            effect: ToolEffect::Reads,
            input: input_schema::<LoopSelectArguments>(),
            output: output_schema::<LoopAnswer>(),
            request: |arguments| Ok(DaemonRequest::LoopStatus(select(arguments)?)),
        },
        McpTool {
            name: "loop_cancel",
            title: "Cancel a loop",
            description: "Cancel the loop of this session at once; files are left alone. Only when \
                the user asks for it.",
            effect: ToolEffect::Controls,
            input: input_schema::<LoopSelectArguments>(),
            output: output_schema::<LoopAnswer>(),
            request: |arguments| Ok(DaemonRequest::LoopCancel(select(arguments)?)),
        },
    ]
}

fn start_schema() -> Value {
    let integer = |what: &str| json!({"type": "integer", "minimum": 1, "description": what});
    object(
        &json!({
            "prompt": {"type": "string", "description": "The task"},
            "mode": {"type": "string", "enum": ["basic", "judge", "autonomous"]},
            "max_iterations": integer("Maximum number of iterations (10)"),
            "completion_promise": {"type": "string", "description": "Text the agent writes to claim completion"},
            "until": {"type": "string", "enum": ["clean", "diagnostics", "checks", "promise"]},
            "baseline": {"type": "string", "enum": ["base", "none"]},
            "max_minutes": integer("Limit in minutes"),
            "max_tokens": integer("Limit in tokens"),
            "session": session_schema(),
        }),
        &["prompt"],
    )
}

fn session_schema() -> Value {
    json!({"type": "string", "description": "Session to use instead of this one"})
}

fn start(arguments: Value) -> Result<DaemonRequest, String> {
    let arguments: LoopStartArguments = parse_arguments(arguments)?;
    Ok(DaemonRequest::LoopStart(LoopStartRequest {
        session: arguments.session,
        prompt: arguments.prompt,
        mode: arguments.mode,
        max_iterations: arguments.max_iterations,
        completion_promise: arguments.completion_promise,
        until: arguments.until,
        baseline: arguments.baseline,
        max_minutes: arguments.max_minutes,
        max_tokens: arguments.max_tokens,
        ..LoopStartRequest::default()
    }))
}

fn select(arguments: Value) -> Result<LoopSelector, String> {
    let LoopSelectArguments { id, session } = parse_arguments(arguments)?;
    Ok(LoopSelector { id, session, json: false })
}
