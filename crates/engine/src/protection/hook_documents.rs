//! Tool calls that change the hooks in a skill, an agent or a command of the host. Everything else in
//! these documents is free.

use std::path::Path;

use crate::project::option_files::read_option_file;
use moai_loops::exam::front_matter::hooks_of_document;
use moai_protocol::hook::HookInput;
use serde_json::Value;

/// The key of hooks in a document, which a call spells somewhere that adds some.
const HOOKS: &str = "hooks";

/// True if a call that writes this document changes its hooks. The result of a command or a server's tool is
/// unknown: then a document with hooks counts, and a call that mentions any.
pub(crate) fn changes_hooks(input: &HookInput, document: &Path) -> bool {
    // A document that cannot be read counts as one with hooks.
    let Ok(text) = read_option_file(document) else { return true };
    let before = text.unwrap_or_default();
    let hooks = hooks_of_document(&before);
    match text_after(&input.tool_input.arguments, &before) {
        Some(after) if !input.edits().is_empty() => hooks_of_document(&after) != hooks,
        _ => !hooks.is_empty() || mentions_hooks(input),
    }
}

/// True if a call may write hooks: it mentions them outside the text after a front matter.
fn mentions_hooks(input: &HookInput) -> bool {
    let Some(command) = &input.tool_input.command else {
        return input.tool_input.arguments.to_string().contains(HOOKS);
    };
    let Some((before, document)) = command.split_once("\n---\n") else {
        return command.contains(HOOKS);
    };
    let document = format!("---\n{document}");
    let has_matter = document[4..].contains("\n---");
    before.contains(HOOKS) || !has_matter || !hooks_of_document(&document).is_empty()
}

/// The result of applying the host's edit tool to a text, if its arguments determine it.
fn text_after(arguments: &Value, before: &str) -> Option<String> {
    if let Some(content) = text_of(arguments, ["content", "file_text", "fileText"]) {
        return Some(content.to_owned());
    }
    let one = std::slice::from_ref(arguments);
    let edits = arguments["edits"].as_array().map_or(one, Vec::as_slice);
    edits.iter().try_fold(before.to_owned(), |text, edit| {
        let old = text_of(edit, ["old_string", "old_str", "oldString"])?;
        let new = text_of(edit, ["new_string", "new_str", "newString"])?;
        let is_everywhere = ["replace_all", "replaceAll"].iter().any(|it| edit[*it] == true);
        Some(match (old.is_empty(), is_everywhere) {
            // This creates the file.
            (true, _) => new.to_owned(),
            (false, true) => text.replace(old, new),
            (false, false) => text.replacen(old, new, 1),
        })
    })
}

/// The first of these arguments that is a text. The hosts name them differently.
fn text_of<'a>(arguments: &'a Value, names: [&str; 3]) -> Option<&'a str> {
    names.iter().find_map(|name| arguments[*name].as_str())
}
