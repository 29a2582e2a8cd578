//! The tools `loop_start`, `loop_status` and `loop_cancel`. Without an id they refer to the loop of
//! the agent's own session.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{McpTool, ToolEffect, input_schema, object, output_schema, parse_arguments};
use moai_loops::options::{OptionValue, START_OPTIONS, StartOption};
use moai_protocol::control::{DaemonRequest, LoopSelector, LoopStartRequest};
use moai_protocol::documents::tool_answers::LoopAnswer;

/// Arguments of `loop_start` next to the [`START_OPTIONS`] that agents can set.
#[derive(Deserialize)]
struct LoopTaskArguments {
    prompt: String,
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
    let mut properties = json!({"prompt": {"type": "string", "description": "The task"}});
    for option in &START_OPTIONS {
        if let Some(help) = option.tool_help {
            properties[option.field] = option_schema(option, help);
        }
    }
    properties["session"] = session_schema();
    object(&properties, &["prompt"])
}

fn option_schema(option: &StartOption, help: &str) -> Value {
    let mut schema = match option.value {
        OptionValue::Flag => json!({"type": "boolean"}),
        OptionValue::Count | OptionValue::LargeCount => json!({"type": "integer", "minimum": 1}),
        OptionValue::Text { .. } => json!({"type": "string"}),
        OptionValue::Choice { choices, .. } => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            json!({"type": "string", "enum": names})
        }
    };
    if !help.is_empty() {
        schema["description"] = json!(help);
    }
    schema
}

fn session_schema() -> Value {
    json!({"type": "string", "description": "Session to use instead of this one"})
}

fn start(arguments: Value) -> Result<DaemonRequest, String> {
    let schema = start_schema();
    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let known: Vec<&str> = known.map(String::as_str).collect();
    let mut given = arguments.as_object().into_iter().flat_map(Map::keys);
    if let Some(unknown) = given.find(|key| !known.contains(&key.as_str())) {
        let known = known.join(", ");
        return Err(format!(
            "invalid arguments: unknown field `{unknown}`, expected one of {known}"
        ));
    }
    let task: LoopTaskArguments = parse_arguments(arguments.clone())?;
    Ok(DaemonRequest::LoopStart(LoopStartRequest {
        session: task.session,
        prompt: task.prompt,
        options: parse_arguments(arguments)?,
        ..LoopStartRequest::default()
    }))
}

fn select(arguments: Value) -> Result<LoopSelector, String> {
    let LoopSelectArguments { id, session } = parse_arguments(arguments)?;
    Ok(LoopSelector { id, session, json: false })
}
