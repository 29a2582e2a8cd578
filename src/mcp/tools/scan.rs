//! The tool `scan`: the structural scan alone. It must not know how anything is matched.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::diagnostics::report_schema;
use super::{Effect, Tool, object, paths_schema, read};
use crate::wire::control::{Request, Scan};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Arguments {
    paths: Vec<PathBuf>,
    changed: bool,
}

pub(super) fn tool() -> Tool {
    Tool {
        name: "scan",
        title: "Structural scan",
        description: "Weaknesses and mistakes that the rules of the structural scan know, such as \
            injection, weak cryptography, secrets in code and swallowed errors. Without \
            arguments: the whole project.",
        effect: Effect::Reads,
        input: object(
            &json!({
                "paths": paths_schema(),
                "changed": {"type": "boolean", "description": "Only what differs from HEAD"},
            }),
            &[],
        ),
        output: report_schema(),
        request,
    }
}

fn request(arguments: Value) -> Result<Request, String> {
    let Arguments { paths, changed } = read(arguments)?;
    if changed && !paths.is_empty() {
        return Err("invalid arguments: either paths or changed".to_owned());
    }
    let fail_on = "error".to_owned();
    Ok(Request::Scan(Scan { paths, changed, fail_on, ..Scan::default() }))
}
