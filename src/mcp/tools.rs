//! The tools: name, description, schemas, and the request each call becomes. Lines and columns are
//! 1-based in both directions, as in all text for agents.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::wire::control::{Check, Request};

/// What the client may tell its model about this server.
pub const INSTRUCTIONS: &str = "Diagnostics measured on the bytes that are on disk now. \
    `unmeasured` never means clean: read why.";

/// One tool.
pub struct Tool {
    /// Its name, as it is called and switched off.
    pub name: &'static str,
    title: &'static str,
    description: &'static str,
    is_read_only: bool,
    input: Value,
    output: Value,
    /// The request that a call becomes, or what is wrong with the arguments.
    pub request: fn(Value) -> Result<Request, String>,
}

impl Tool {
    /// As the protocol lists it.
    #[must_use]
    pub fn described(&self) -> rmcp::model::Tool {
        let schema = |schema: &Value| -> Arc<JsonObject> {
            Arc::new(schema.as_object().cloned().unwrap_or_default())
        };
        let hints = ToolAnnotations::from_raw(
            Some(self.title.to_owned()),
            Some(self.is_read_only),
            Some(!self.is_read_only),
            Some(true),
            Some(false),
        );
        rmcp::model::Tool::new(self.name, self.description, schema(&self.input))
            .with_title(self.title)
            .with_annotations(hints)
            .with_raw_output_schema(schema(&self.output))
    }
}

/// All tools, in the order they are listed.
#[must_use]
pub fn all() -> &'static [Tool] {
    static ALL: LazyLock<Vec<Tool>> = LazyLock::new(|| vec![diagnostics()]);
    &ALL
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let key = error.path().to_string();
        let key = if key == "." { String::new() } else { format!("{key}: ") };
        format!("invalid arguments: {key}{}", error.into_inner())
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct DiagnosticsArguments {
    paths: Vec<PathBuf>,
    all: bool,
    timeout_secs: u64,
}

impl Default for DiagnosticsArguments {
    fn default() -> Self {
        Self { paths: Vec::new(), all: false, timeout_secs: 120 }
    }
}

fn diagnostics() -> Tool {
    Tool {
        name: "diagnostics",
        title: "Diagnostics",
        description: "What is wrong in files as they are on disk now: language servers and the \
            structural scan. Without paths: the files that differ from HEAD.",
        is_read_only: true,
        input: json!({
            "type": "object",
            "properties": {
                "paths": {
                    "type": "array", "items": {"type": "string"},
                    "description": "Files or folders, relative to the project's root",
                },
                "all": {"type": "boolean", "description": "The whole project"},
                "timeout_secs": {
                    "type": "integer", "minimum": 1, "maximum": 3600,
                    "description": "After this, language servers count as not having answered (120)",
                },
            },
            "additionalProperties": false,
        }),
        output: json!({
            "type": "object",
            "properties": {
                "verdict": {"enum": ["clean", "dirty", "unmeasured"]},
                "files_total": {"type": "integer"},
                "files_checked": {"type": "integer"},
                "findings": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "severity": {"enum": ["error", "warning", "info", "hint"]},
                        "path": {"type": "string"},
                        "line": {"type": "integer", "minimum": 1},
                        "column": {"type": "integer", "minimum": 1},
                        "sensor": {"type": "string"},
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                    },
                    "required": ["severity", "path", "line", "column", "sensor", "code", "message"],
                }},
                "findings_omitted": {"type": "integer"},
                "not_measured": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"what": {"type": "string"}, "reason": {"type": "string"}},
                    "required": ["what", "reason"],
                }},
            },
            "required": ["verdict", "files_total", "files_checked", "findings",
                "findings_omitted", "not_measured"],
        }),
        request: |arguments| {
            let DiagnosticsArguments { paths, all, timeout_secs } = read(arguments)?;
            if all && !paths.is_empty() {
                return Err("invalid arguments: either paths or all".to_owned());
            }
            if !(1..=3600).contains(&timeout_secs) {
                return Err("invalid arguments: timeout_secs: not between 1 and 3600".to_owned());
            }
            let fail_on = "error".to_owned();
            Ok(Request::Check(Check { paths, all, fail_on, timeout_secs, ..Check::default() }))
        },
    }
}
