//! The MCP tools: name, description, schemas, and the request each call becomes. Lines and columns
//! are 1-based in both directions, as in all text for agents.

mod diagnostics;
mod lookups;
mod loops;
mod memory;
mod rename;
mod rewrite;
mod scan;
mod search_code;

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use moai_protocol::control::DaemonRequest;

/// Instructions that the client may pass to its model.
pub const INSTRUCTIONS: &str = "Diagnostics, symbol lookups and renames from language servers, \
    and a structural scan, search and rewrite, always for the files as they are on disk now. \
    `unmeasured` never means clean or unused: read the reason.";

/// Default time for language servers, in seconds, as on the command line.
const TIMEOUT_SECS: u64 = 120;
const TIMEOUT_SECS_MAX: u64 = 3600;

/// Side effects of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolEffect {
    Reads,
    /// Changes the engine's state, but no file.
    Controls,
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
    /// Converts a call's arguments to a request; the error describes what is invalid.
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
        let [memory_search, memory_get] = memory::tools();
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
            memory_search,
            memory_get,
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

/// Seconds to wait for language servers
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("default" = TIMEOUT_SECS))]
struct TimeoutSecs(#[schemars(range(min = 1, max = TIMEOUT_SECS_MAX))] u64);

fn checked_timeout(secs: Option<TimeoutSecs>) -> Result<u64, String> {
    let secs = secs.map_or(TIMEOUT_SECS, |secs| secs.0);
    if (1..=TIMEOUT_SECS_MAX).contains(&secs) {
        return Ok(secs);
    }
    Err(format!("invalid arguments: timeout_secs: not between 1 and {TIMEOUT_SECS_MAX}"))
}

/// Schema of a call's arguments.
fn input_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    root_schema::<T>(settings.with_transform(RecursiveTransform(without_null)))
}

/// Schema of a structured answer.
fn output_schema<T: JsonSchema>() -> Value {
    root_schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// A schema without references, in keywords that validators of all drafts know.
fn root_schema<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.meta_schema = None;
    settings.inline_subschemas = true;
    let settings = settings.with_transform(RecursiveTransform(without_format));
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // They are the name and description of a Rust type; a tool has its own.
    schema.remove("title");
    schema.remove("description");
    schema.to_value()
}

/// Integer formats such as `uint32` are known to no validator of a client.
fn without_format(schema: &mut Schema) {
    schema.remove("format");
}

/// An optional argument is left out; `null` is accepted for clients that send it.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
}

/// An object schema without additional properties.
fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}
