//! The tool `search_code`: structural search.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{
    McpTool, TimeoutSecs, ToolEffect, checked_timeout, input_schema, output_schema, parse_arguments,
};
use moai_base::limits::TOOL_FINDINGS_MAX;
use moai_protocol::control::{DaemonRequest, SearchRequest};
use moai_protocol::documents::tool_answers::{SearchAnswer, ToolAnswer};

/// Maximum for `max_results`, because an agent's context is small.
const RESULTS_MAX: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// One expression or statement
    pattern: String,
    /// Language of the pattern and of the files: python; or [ts, tsx]
    lang: LanguageNames,
    /// Files or folders, relative to the project's root
    #[serde(default)]
    paths: Vec<PathBuf>,
    /// Maximum number of matches to list
    #[schemars(range(min = 1, max = RESULTS_MAX), extend("default" = TOOL_FINDINGS_MAX))]
    max_results: Option<usize>,
    timeout_secs: Option<TimeoutSecs>,
}

/// One language or several.
#[derive(Deserialize, JsonSchema)]
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
    McpTool {
        name: "search_code",
        title: "Search code",
        description: "Structural search, independent of formatting: an ast-grep pattern such as \
            f($A, $$$REST), where $NAME matches one node and $$$NAME any number.",
        effect: ToolEffect::Reads,
        input: input_schema::<SearchArguments>(),
        output: output_schema::<ToolAnswer<SearchAnswer>>(),
        request,
    }
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
        timeout_secs: checked_timeout(timeout_secs)?,
    }))
}
