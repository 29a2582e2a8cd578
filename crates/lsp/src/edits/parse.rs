//! Parses `WorkspaceEdit` JSON (LSP 3.17, with the snippet edits of 3.18). Unlike diagnostics, an
//! edit is parsed completely or not at all: half of a rename is worse than none.

use std::path::PathBuf;

use serde_json::Value;

use super::{EditRefusal, EditStep, IfExists, TextEdit, WorkspaceEdit};
use crate::messages::range;
use moai_base::path::from_uri;

impl WorkspaceEdit {
    /// Parses both forms: `documentChanges`, which wins when both are present, and `changes`. Null
    /// and an edit without steps are refused as empty.
    pub fn parse(edit: &Value) -> Result<Self, EditRefusal> {
        if edit.is_null() {
            return Err(EditRefusal::Empty);
        }
        let annotations = &edit["changeAnnotations"];
        let steps: Vec<EditStep> = match (&edit["documentChanges"], &edit["changes"]) {
            (Value::Array(steps), _) => {
                steps.iter().map(|one| step(one, annotations)).collect::<Result<_, _>>()?
            }
            (Value::Null, Value::Object(files)) => files
                .iter()
                .map(|(uri, list)| {
                    let file = path(&Value::from(uri.as_str()))?;
                    Ok(EditStep::Edit {
                        file,
                        version: None,
                        edits: edits(uri, list, annotations)?,
                    })
                })
                .collect::<Result<_, _>>()?,
            (Value::Null, Value::Null) if edit.is_object() => Vec::new(),
            _ => return Err(malformed("neither changes nor documentChanges")),
        };
        let is_empty = steps
            .iter()
            .all(|step| matches!(step, EditStep::Edit { edits, .. } if edits.is_empty()));
        if is_empty { Err(EditRefusal::Empty) } else { Ok(Self { steps }) }
    }
}

fn malformed(what: &str) -> EditRefusal {
    EditRefusal::Malformed(what.to_owned())
}

fn step(step: &Value, annotations: &Value) -> Result<EditStep, EditRefusal> {
    let options = &step["options"];
    let exists = match (options["overwrite"].as_bool(), options["ignoreIfExists"].as_bool()) {
        (Some(true), _) => IfExists::Overwrite,
        (_, Some(true)) => IfExists::Ignore,
        _ => IfExists::Refuse,
    };
    refuse_unconfirmed(step, annotations)?;
    match step["kind"].as_str() {
        None if step["kind"].is_null() => {
            let document = &step["textDocument"];
            let uri = document["uri"].as_str().unwrap_or_default();
            let version = match &document["version"] {
                Value::Null => None,
                version => Some(version.as_i64().ok_or_else(|| malformed("a version"))?),
            };
            let edits = edits(uri, &step["edits"], annotations)?;
            Ok(EditStep::Edit { file: path(&document["uri"])?, version, edits })
        }
        Some("create") => Ok(EditStep::Create { file: path(&step["uri"])?, exists }),
        Some("rename") => Ok(EditStep::Rename {
            old: path(&step["oldUri"])?,
            new: path(&step["newUri"])?,
            exists,
        }),
        Some("delete") => Ok(EditStep::Delete {
            file: path(&step["uri"])?,
            is_recursive: options["recursive"].as_bool().unwrap_or(false),
            may_be_missing: options["ignoreIfNotExists"].as_bool().unwrap_or(false),
        }),
        _ => Err(malformed("a step of unknown kind")),
    }
}

fn edits(uri: &str, list: &Value, annotations: &Value) -> Result<Vec<TextEdit>, EditRefusal> {
    let list = list.as_array().ok_or_else(|| malformed("a list of edits"))?;
    list.iter().map(|edit| text_edit(uri, edit, annotations)).collect()
}

fn text_edit(uri: &str, edit: &Value, annotations: &Value) -> Result<TextEdit, EditRefusal> {
    // rust-analyzer marks snippets by `insertTextFormat: 2`.
    if !edit["snippet"].is_null() || edit["insertTextFormat"] == 2 {
        return Err(EditRefusal::Snippet(display_uri(uri)));
    }
    refuse_unconfirmed(edit, annotations)?;
    let range = range(&edit["range"]).ok_or_else(|| malformed("a range"))?;
    let new_text = edit["newText"].as_str().ok_or_else(|| malformed("a new text"))?.to_owned();
    if range.start > range.end {
        return Err(EditRefusal::OutOfRange { path: display_uri(uri), at: range.start });
    }
    Ok(TextEdit { range, new_text })
}

/// An unknown annotation may be one that requires consent.
fn refuse_unconfirmed(annotated: &Value, annotations: &Value) -> Result<(), EditRefusal> {
    let Some(id) = annotated["annotationId"].as_str() else { return Ok(()) };
    let annotation = &annotations[id];
    if !annotation.is_object() {
        return Err(malformed("an annotation that is not described"));
    }
    if annotation["needsConfirmation"].as_bool().unwrap_or(false) {
        let label = annotation["label"].as_str().unwrap_or(id);
        return Err(EditRefusal::NeedsConfirmation(label.to_owned()));
    }
    Ok(())
}

fn path(uri: &Value) -> Result<PathBuf, EditRefusal> {
    let uri = uri.as_str().ok_or_else(|| malformed("a URI"))?;
    from_uri(uri).ok_or_else(|| malformed(&format!("{uri} is not a file")))
}

fn display_uri(uri: &str) -> String {
    from_uri(uri).map_or_else(|| uri.to_owned(), |path| path.to_string_lossy().into_owned())
}
