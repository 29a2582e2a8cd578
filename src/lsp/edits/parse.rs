//! `WorkspaceEdit` as JSON (LSP 3.17, with the snippet edits of 3.18) to steps. Unlike diagnostics,
//! an edit is read wholly or not at all: half of a rename is worse than none.

use std::path::PathBuf;

use serde_json::Value;

use super::{IfExists, Refusal, Step, TextEdit, WorkspaceEdit};
use crate::base::path::from_uri;
use crate::wire::lsp::range;

impl WorkspaceEdit {
    /// Reads both forms: `documentChanges`, which wins when both are there, and `changes`. Null and
    /// an edit without steps are refused as empty.
    pub fn parse(edit: &Value) -> Result<Self, Refusal> {
        if edit.is_null() {
            return Err(Refusal::Empty);
        }
        let annotations = &edit["changeAnnotations"];
        let steps: Vec<Step> = match (&edit["documentChanges"], &edit["changes"]) {
            (Value::Array(steps), _) => {
                steps.iter().map(|one| step(one, annotations)).collect::<Result<_, _>>()?
            }
            (Value::Null, Value::Object(files)) => files
                .iter()
                .map(|(uri, list)| {
                    let file = path(&Value::from(uri.as_str()))?;
                    Ok(Step::Edit { file, version: None, edits: edits(uri, list, annotations)? })
                })
                .collect::<Result<_, _>>()?,
            (Value::Null, Value::Null) if edit.is_object() => Vec::new(),
            _ => return Err(malformed("neither changes nor documentChanges")),
        };
        let is_void = |step: &Step| matches!(step, Step::Edit { edits, .. } if edits.is_empty());
        if steps.iter().all(is_void) { Err(Refusal::Empty) } else { Ok(Self { steps }) }
    }
}

fn malformed(what: &str) -> Refusal {
    Refusal::Malformed(what.to_owned())
}

fn step(step: &Value, annotations: &Value) -> Result<Step, Refusal> {
    let option = |name: &str| step["options"][name].as_bool().unwrap_or(false);
    let exists = match (option("overwrite"), option("ignoreIfExists")) {
        (true, _) => IfExists::Overwrite,
        (false, true) => IfExists::Ignore,
        (false, false) => IfExists::Refuse,
    };
    confirmed(step, annotations)?;
    match step["kind"].as_str() {
        None if step["kind"].is_null() => {
            let document = &step["textDocument"];
            let uri = document["uri"].as_str().unwrap_or_default();
            let version = match &document["version"] {
                Value::Null => None,
                version => Some(version.as_i64().ok_or_else(|| malformed("a version"))?),
            };
            let edits = edits(uri, &step["edits"], annotations)?;
            Ok(Step::Edit { file: path(&document["uri"])?, version, edits })
        }
        Some("create") => Ok(Step::Create { file: path(&step["uri"])?, exists }),
        Some("rename") => {
            Ok(Step::Rename { old: path(&step["oldUri"])?, new: path(&step["newUri"])?, exists })
        }
        Some("delete") => Ok(Step::Delete {
            file: path(&step["uri"])?,
            is_recursive: option("recursive"),
            may_be_missing: option("ignoreIfNotExists"),
        }),
        _ => Err(malformed("a step of unknown kind")),
    }
}

fn edits(uri: &str, list: &Value, annotations: &Value) -> Result<Vec<TextEdit>, Refusal> {
    let list = list.as_array().ok_or_else(|| malformed("a list of edits"))?;
    list.iter().map(|edit| text_edit(uri, edit, annotations)).collect()
}

fn text_edit(uri: &str, edit: &Value, annotations: &Value) -> Result<TextEdit, Refusal> {
    // rust-analyzer's own form of a snippet is `insertTextFormat: 2`.
    if !edit["snippet"].is_null() || edit["insertTextFormat"] == 2 {
        return Err(Refusal::Snippet(shown(uri)));
    }
    confirmed(edit, annotations)?;
    let range = range(&edit["range"]).ok_or_else(|| malformed("a range"))?;
    let new_text = edit["newText"].as_str().ok_or_else(|| malformed("a new text"))?.to_owned();
    if range.start > range.end {
        return Err(Refusal::OutOfRange { path: shown(uri), at: range.start });
    }
    Ok(TextEdit { range, new_text })
}

/// An annotation that nobody can look up may be one that asks for consent.
fn confirmed(annotated: &Value, annotations: &Value) -> Result<(), Refusal> {
    let Some(id) = annotated["annotationId"].as_str() else { return Ok(()) };
    let annotation = &annotations[id];
    if !annotation.is_object() {
        return Err(malformed("an annotation that is not described"));
    }
    if annotation["needsConfirmation"].as_bool().unwrap_or(false) {
        let label = annotation["label"].as_str().unwrap_or(id);
        return Err(Refusal::NeedsConfirmation(label.to_owned()));
    }
    Ok(())
}

fn path(uri: &Value) -> Result<PathBuf, Refusal> {
    let uri = uri.as_str().ok_or_else(|| malformed("a URI"))?;
    from_uri(uri).ok_or_else(|| malformed(&format!("{uri} is not a file")))
}

fn shown(uri: &str) -> String {
    from_uri(uri).map_or_else(|| uri.to_owned(), |path| path.to_string_lossy().into_owned())
}
