//! The public contract: one type per JSON document (`moai-ralph/<name>@N`) and per structured answer
//! of an MCP tool. JSON text and schemas are derived from the types, so the names and the order of
//! fields are those of the contract.

pub mod hosts;
pub mod judgements;
pub mod loops;
pub mod memory;
pub mod options;
pub mod pipelines;
pub mod queries;
pub mod reports;
pub mod rule_tests;
pub mod servers;
pub mod specs;
pub mod tool_answers;
pub mod trust;

use serde::Serialize;
use serde_json::Value;

#[must_use]
pub fn json_value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("documents have string keys")
}

/// The document as indented JSON text with a final line break.
#[must_use]
pub fn json_text(document: &impl Serialize) -> String {
    format!("{:#}\n", json_value(document))
}
