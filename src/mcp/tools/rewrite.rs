//! The tool `rewrite`: shows a diff unless `dry_run` is false.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::search_code::LanguageNames;
use super::{
    McpTool, TimeoutSecs, ToolEffect, checked_timeout, input_schema, output_schema, parse_arguments,
};
use moai_protocol::control::{DaemonRequest, RewriteRequest};
use moai_protocol::documents::tool_answers::{RewriteAnswer, ToolAnswer};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RewriteArguments {
    /// One expression or statement
    pattern: String,
    /// Replacement code; it can use the metavariables of the pattern
    replacement: String,
    /// Language of the pattern and of the files: python; or [ts, tsx]
    lang: LanguageNames,
    /// Files or folders, relative to the project's root
    #[serde(default)]
    paths: Vec<PathBuf>,
    /// Show the diff and write nothing (true); false writes
    #[schemars(extend("default" = true))]
    dry_run: Option<bool>,
    timeout_secs: Option<TimeoutSecs>,
}

pub(super) fn tool() -> McpTool {
    McpTool {
        name: "rewrite",
        title: "Rewrite code",
        description: "Structural search and replace with an ast-grep pattern, in all files or none. \
            Shows a preview unless dry_run is false; then it reports new findings of the scan. \
            Refused if a file would no longer parse.",
        effect: ToolEffect::Writes,
        input: input_schema::<RewriteArguments>(),
        output: output_schema::<ToolAnswer<RewriteAnswer>>(),
        request,
    }
}

fn request(arguments: Value) -> Result<DaemonRequest, String> {
    let RewriteArguments { pattern, replacement, lang, paths, dry_run, timeout_secs } =
        parse_arguments(arguments)?;
    Ok(DaemonRequest::Rewrite(RewriteRequest {
        pattern,
        replacement,
        languages: lang.all(),
        paths,
        apply: !dry_run.unwrap_or(true),
        json: false,
        timeout_secs: checked_timeout(timeout_secs)?,
    }))
}
