//! The tool `search_code`: structural search.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    McpTool, ToolEffect, list, not_measured_schema, object, parse_arguments, paths_schema, timeout,
    timeout_schema,
};
use moai_base::limits::TOOL_FINDINGS_MAX;
use moai_protocol::control::{DaemonRequest, SearchRequest};

/// Maximum for `max_results`, because an agent's context is small.
const RESULTS_MAX: usize = 1_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    pattern: String,
    lang: LanguageNames,
    #[serde(default)]
    paths: Vec<PathBuf>,
    max_results: Option<usize>,
    timeout_secs: Option<u64>,
}

/// One language or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum LanguageNames {
    One(String),
    Several(Vec<String>),
}

impl LanguageNames {
    pub(super) fn all(self) -> Vec<String> {
        match self {
            Self::One(language) => vec![language],
            Self::Several(languages) => languages,
        }
    }
}

pub(super) fn tool() -> McpTool {
    let hit = json!({
        "path": {"type": "string"},
        "line": {"type": "integer", "minimum": 1},
        "column": {"type": "integer", "minimum": 1},
        "text": {"type": "string", "description": "The matching code, on one line"},
    });
    let mut input = pattern_properties();
    input["max_results"] = json!({
        "type": "integer", "minimum": 1, "maximum": RESULTS_MAX,
        "description": format!("Maximum number of matches to list ({TOOL_FINDINGS_MAX})"),
    });
    McpTool {
        name: "search_code",
        title: "Search code",
        description: "Structural search, independent of formatting: an ast-grep pattern such as \
            f($A, $$$REST), where $NAME matches one node and $$$NAME any number.",
        effect: ToolEffect::Reads,
        input: object(&input, &["pattern", "lang"]),
        output: answer_schema(json!({
            "matches": list(&object(&hit, &["path", "line", "column", "text"])),
            "matches_omitted": {"type": "integer"},
        })),
        request,
    }
}

/// Properties that describe a pattern search.
pub(super) fn pattern_properties() -> Value {
    json!({
        "pattern": {"type": "string", "description": "One expression or statement"},
        "lang": {
            "type": ["string", "array"], "items": {"type": "string"},
            "description": "Language of the pattern and of the files: python; or [ts, tsx]",
        },
        "paths": paths_schema(),
        "timeout_secs": timeout_schema(),
    })
}

/// Schema of an answer about a pattern. Only `status` is required.
pub(super) fn answer_schema(values: Value) -> Value {
    let mut properties = json!({
        "status": {"type": "string", "enum": ["answered", "refused"]},
        "kind": {"type": "string", "description": "Kind of refusal, such as syntax_error"},
        "reason": {"type": "string", "description": "Why it was refused"},
        "read_as": {
            "type": "array", "items": {"type": "string"},
            "description": "How the grammar parses the pattern, such as call",
        },
        "files_checked": {"type": "integer"},
        "not_measured": not_measured_schema(),
    });
    if let (Value::Object(all), Value::Object(values)) = (&mut properties, values) {
        all.extend(values);
    }
    object(&properties, &["status"])
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let SearchArguments { pattern, lang, paths, max_results, timeout_secs } =
        parse_arguments(arguments)?;
    let results_max = max_results.unwrap_or(TOOL_FINDINGS_MAX);
    if !(1..=RESULTS_MAX).contains(&results_max) {
        return Err(format!("invalid arguments: max_results: not between 1 and {RESULTS_MAX}"));
    }
    Ok(DaemonRequest::Search(SearchRequest {
        pattern,
        languages: lang.all(),
        paths,
        results_max,
        json: false,
        timeout_secs: timeout(timeout_secs)?,
    }))
}
