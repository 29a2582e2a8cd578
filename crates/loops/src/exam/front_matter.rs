//! Hooks in documents that extend a host: skills, agents and commands, which are Markdown with YAML
//! in front. Such a hook runs like one of the host's settings.

use serde_json::{Map, Value};

use moai_base::path::RelPath;

/// The folder of the host with such documents, and their folders in it.
pub const HOST_FOLDER: &str = ".claude";
/// Folders of such documents in the host's folder.
pub const DOCUMENT_FOLDERS: [&str; 3] = ["agents", "commands", "skills"];
/// The key of hooks in the front matter.
const HOOKS: &str = "hooks";
/// The line before the front matter and the beginning of the line after it.
const FENCE: &str = "---";

/// True if the host reads hooks from the front matter of a file with this path.
#[must_use]
pub fn may_register_hooks(path: &str) -> bool {
    let Some((folders, name)) = path.rsplit_once('/') else { return false };
    let folders: Vec<&str> = folders.split('/').collect();
    let is_below =
        folders.windows(2).any(|it| it[0] == HOST_FOLDER && DOCUMENT_FOLDERS.contains(&it[1]));
    is_below && name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("md"))
}

pub(super) fn is_document(path: &RelPath) -> bool {
    may_register_hooks(path.as_str())
}

/// The hooks in the front matter of a document, in a form that depends on nothing else; empty if
/// there are none.
#[must_use]
pub fn hooks_of_document(text: &str) -> String {
    let Some(matter) = front_matter(text) else { return String::new() };
    let mut options = serde_saphyr::Options::default();
    options.with_snippet = false;
    match serde_saphyr::from_str_with_options::<Map<String, Value>>(matter, options) {
        Ok(fields) => {
            let hooks = fields.get(HOOKS).filter(|hooks| !is_empty(hooks));
            hooks.map(Value::to_string).unwrap_or_default()
        }
        // The host reads more than YAML allows, such as a colon in a text. An escape may spell a key.
        Err(_) if matter.contains(HOOKS) || matter.contains('\\') => matter.to_owned(),
        Err(_) => String::new(),
    }
}

fn is_empty(hooks: &Value) -> bool {
    match hooks {
        Value::Null => true,
        Value::Object(events) => events.is_empty(),
        Value::Array(events) => events.is_empty(),
        _ => false,
    }
}

/// The text between the first line and the next fence.
fn front_matter(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != FENCE {
        return None;
    }
    let end = rest.match_indices(FENCE).map(|(at, _)| at);
    let mut ends = end.filter(|at| *at == 0 || rest.as_bytes()[at - 1] == b'\n');
    ends.next().map(|end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_the_host_are_known_by_their_folder() {
        for path in [
            ".claude/skills/a/SKILL.md",
            ".claude/agents/a.md",
            ".claude/agents/team/a.MD",
            ".claude/commands/a/b/c.md",
            "web/.claude/skills/a/SKILL.md",
            "/anywhere/.claude/commands/a.md",
        ] {
            assert!(may_register_hooks(path), "{path}");
        }
        for path in
            [".claude/a.md", ".claude/skills/a/run.sh", "skills/a/SKILL.md", "SKILL.md", ".claude"]
        {
            assert!(!may_register_hooks(path), "{path}");
        }
    }

    #[test]
    fn hooks_are_found_in_every_spelling_and_nothing_else_is() {
        let check = |matter: &str, has_hooks: bool| {
            let found = hooks_of_document(&format!("---\n{matter}\n---\nText\n"));
            assert_eq!(!found.is_empty(), has_hooks, "{matter}: {found}");
        };
        check("name: a\nhooks:\n  Stop:\n    - hooks: [{type: command, command: x}]", true);
        check("{name: a, hooks: {Stop: [x]}}", true);
        check("\"hooks\": {Stop: [x]}", true);
        check("\"ho\\x6fks\": {Stop: [x]}", true);
        check("name: {a\nhooks:\n  Stop: [x]", true);
        check("a: &a {hooks: {Stop: [x]}}\n<<: *a", true);
        check("name: a\ndescription: Explains hooks: what they are", true);
        check("name: a\ndescription: Use when: the user asks", false);
        check("name: a\ndescription: Explains hooks", false);
        check("name: a\nhooks:\n", false);
        check("name: a\nhooks: {}", false);
        check("metadata:\n  hooks: [a]", false);
        assert_eq!(hooks_of_document("# Text\n\n---\nhooks: {Stop: [x]}\n---\n"), "");
        assert_eq!(hooks_of_document("---\nhooks: {Stop: [x]}\n"), "");
        assert_eq!(hooks_of_document(""), "");
    }

    #[test]
    fn only_hooks_are_compared() {
        let of = |matter: &str, text: &str| {
            hooks_of_document(&format!("\u{feff}---  \r\n{matter}\r\n---\r\n{text}"))
        };
        let hooks = of("name: a\r\nhooks:\r\n  Stop: [x]", "one");
        assert!(!hooks.is_empty());
        assert_eq!(of("name: b\nhooks: {Stop: [x]}", "two"), hooks);
        assert_ne!(of("name: a\nhooks: {Stop: [y]}", "one"), hooks);
    }
}
