//! Tool calls that change the hooks in a skill, an agent or a command of the host. Everything else in
//! these documents is free.

use std::path::Path;

use crate::project::option_files::read_option_file;
use moai_loops::exam::front_matter::hooks_of_document;
use moai_protocol::hook::HookInput;
use serde_json::Value;

/// The key of hooks in a document, which a call spells somewhere that adds some.
const HOOKS: &str = "hooks";

/// Whether a call that writes this document changes its hooks. What a command or a tool of a server
/// makes of it is unknown: then a document with hooks counts, and a call that mentions any.
pub(crate) fn changes_hooks(input: &HookInput, document: &Path) -> bool {
    // A document that cannot be read counts as one with hooks.
    let Ok(text) = read_option_file(document) else { return true };
    let before = text.unwrap_or_default();
    let hooks = hooks_of_document(&before);
    match text_after(&input.tool_input.arguments, &before) {
        Some(after) if !input.edits().is_empty() => hooks_of_document(&after) != hooks,
        _ => !hooks.is_empty() || input.tool_input.arguments.to_string().contains(HOOKS),
    }
}

/// What an edit tool of the host makes of a text, if its arguments say so.
fn text_after(arguments: &Value, before: &str) -> Option<String> {
    if let Some(content) = arguments["content"].as_str() {
        return Some(content.to_owned());
    }
    let one = std::slice::from_ref(arguments);
    let edits = arguments["edits"].as_array().map_or(one, Vec::as_slice);
    edits.iter().try_fold(before.to_owned(), |text, edit| {
        let (old, new) = (edit["old_string"].as_str()?, edit["new_string"].as_str()?);
        Some(match (old.is_empty(), edit["replace_all"].as_bool()) {
            // This creates the file.
            (true, _) => new.to_owned(),
            (false, Some(true)) => text.replace(old, new),
            (false, _) => text.replacen(old, new, 1),
        })
    })
}
