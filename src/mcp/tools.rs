//! The MCP tools: name, description, schemas, and the request each call becomes. Lines and columns
//! are 1-based in both directions, as in all text for agents.

mod diagnostics;
mod lookups;
mod loops;
mod rename;
mod rewrite;
mod scan;
mod search_code;

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use moai_protocol::control::DaemonRequest;

/// Instructions that the client may pass to its model.
pub const INSTRUCTIONS: &str = "Diagnostics, symbol lookups and renames from language servers, \
    and a structural scan, search and rewrite, always for the files as they are on disk now. \
    `unmeasured` never means clean or unused: read the reason.";

/// Default time for language servers, in seconds, as on the command line.
const TIMEOUT_SECS: u64 = 120;
/// Maximum for `timeout_secs`.
const TIMEOUT_SECS_MAX: u64 = 3600;

/// Side effects of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolEffect {
    /// None.
    Reads,
    /// Changes the engine's state, but no file.
    Controls,
    /// May write files.
    Writes,
}

/// One tool of the server.
pub struct McpTool {
    /// Name by which it is called and disabled.
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    effect: ToolEffect,
    input: Value,
    output: Value,
    /// Converts a call's arguments to a request; the error says what is wrong with them.
    pub request: fn(Value) -> Result<DaemonRequest, String>,
}

impl McpTool {
    /// The tool as listed by the protocol.
    #[must_use]
    pub fn to_rmcp(&self) -> rmcp::model::Tool {
        let schema = |schema: &Value| -> Arc<JsonObject> {
            Arc::new(schema.as_object().cloned().unwrap_or_default())
        };
        let hints = ToolAnnotations::from_raw(
            Some(self.title.to_owned()),
            Some(self.effect == ToolEffect::Reads),
            Some(self.effect == ToolEffect::Writes),
            Some(self.effect == ToolEffect::Reads),
            Some(false),
        );
        rmcp::model::Tool::new(self.name, self.description, schema(&self.input))
            .with_title(self.title)
            .with_annotations(hints)
            .with_raw_output_schema(schema(&self.output))
    }
}

/// All tools, in listing order.
#[must_use]
pub fn all() -> &'static [McpTool] {
    static ALL: LazyLock<Vec<McpTool>> = LazyLock::new(|| {
        let [references, definition, hover] = lookups::tools();
        let [loop_start, loop_status, loop_cancel] = loops::tools();
        vec![
            diagnostics::tool(),
            references,
            definition,
            hover,
            rename::tool(),
            scan::tool(),
            search_code::tool(),
            rewrite::tool(),
            loop_start,
            loop_status,
            loop_cancel,
        ]
    });
    &ALL
}

fn parse_arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let key = error.path().to_string();
        let key = if key == "." { String::new() } else { format!("{key}: ") };
        format!("invalid arguments: {key}{}", error.into_inner())
    })
}

fn timeout(secs: Option<u64>) -> Result<u64, String> {
    let secs = secs.unwrap_or(TIMEOUT_SECS);
    if (1..=TIMEOUT_SECS_MAX).contains(&secs) {
        return Ok(secs);
    }
    Err(format!("invalid arguments: timeout_secs: not between 1 and {TIMEOUT_SECS_MAX}"))
}

fn timeout_schema() -> Value {
    let what = "Seconds to wait for language servers";
    json!({
        "type": "integer", "minimum": 1, "maximum": TIMEOUT_SECS_MAX,
        "description": format!("{what} ({TIMEOUT_SECS})"),
    })
}

fn paths_schema() -> Value {
    json!({
        "type": "array", "items": {"type": "string"},
        "description": "Files or folders, relative to the project's root",
    })
}

/// An object schema without additional properties.
fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn finding_schema() -> Value {
    let properties = json!({
        "severity": {"type": "string", "enum": ["error", "warning", "info", "hint"]},
        "path": {"type": "string"},
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
        "sensor": {"type": "string"},
        "code": {"type": "string"},
        "message": {"type": "string"},
    });
    object(&properties, &["severity", "path", "line", "column", "sensor", "code", "message"])
}

fn not_measured_schema() -> Value {
    let properties = json!({"what": {"type": "string"}, "reason": {"type": "string"}});
    list(&object(&properties, &["what", "reason"]))
}

/// Schema of an answer from a language server. Only `status` is required: a refused or unmeasured
/// answer has a reason, and no list that could be taken for an empty one.
fn answer_schema(values: Value) -> Value {
    let mut properties = json!({
        "status": {"type": "string", "enum": ["answered", "refused", "unmeasured"]},
        "server": {"type": ["string", "null"], "description": "The language server"},
        "kind": {"type": "string", "description": "Kind of refusal, such as ambiguous"},
        "reason": {"type": ["string", "null"], "description": "Why the answer is missing or incomplete"},
    });
    if let (Value::Object(all), Value::Object(values)) = (&mut properties, values) {
        all.extend(values);
    }
    object(&properties, &["status"])
}
