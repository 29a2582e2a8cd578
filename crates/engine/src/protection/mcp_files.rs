//! The files that a tool of an MCP server may write. What a server's tool does is not known; the words
//! of its name say whether it only reads.

use moai_protocol::hook::HookInput;

/// How the host names the tools of MCP servers: `mcp__SERVER__TOOL`.
const PREFIX: &str = "mcp__";
/// Words with which the name of a tool begins that only reads.
const READING: &[&str] = &[
    "analyze",
    "check",
    "compare",
    "count",
    "describe",
    "diff",
    "directory",
    "exists",
    "explain",
    "fetch",
    "find",
    "get",
    "glob",
    "grep",
    "hash",
    "hover",
    "info",
    "inspect",
    "list",
    "load",
    "open",
    "preview",
    "query",
    "read",
    "scan",
    "search",
    "show",
    "stat",
    "status",
    "summarize",
    "symbols",
    "tree",
    "validate",
    "view",
];
/// Words of tools that write, wherever they are in a name.
const WRITING: &[&str] = &[
    "add", "append", "apply", "copy", "create", "delete", "edit", "insert", "move", "patch", "put",
    "remove", "rename", "replace", "save", "set", "update", "upload", "write",
];
/// Words of tools that take a whole folder away.
const WHOLE_FOLDER: &[&str] =
    &["delete", "mv", "move", "remove", "rename", "rm", "rmdir", "trash", "unlink"];

/// The files that a call names, if its tool belongs to an MCP server and may write.
pub(super) fn mcp_written_files(input: &HookInput) -> &[String] {
    let words = words_of(&input.tool_name);
    let only_reads = words.first().is_some_and(|first| READING.contains(&first.as_str()))
        && !words.iter().any(|word| WRITING.contains(&word.as_str()));
    let is_of_server = input.tool_name.starts_with(PREFIX);
    if is_of_server && !only_reads { &input.tool_input.named_files } else { &[] }
}

/// Whether a tool takes whole folders away.
pub(super) fn takes_whole_folders(input: &HookInput) -> bool {
    words_of(&input.tool_name).iter().any(|word| WHOLE_FOLDER.contains(&word.as_str()))
}

/// The words of a tool's name without its server, in small letters: `moveFile` and `move_file` are
/// the same.
fn words_of(tool: &str) -> Vec<String> {
    let name = tool.rsplit("__").next().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    let mut is_new = true;
    let mut was_small = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            is_new = true;
            continue;
        }
        if is_new || was_small && character.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
        (is_new, was_small) = (false, character.is_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(tool: &str) -> HookInput {
        let input = json!({"tool_name": tool, "tool_input": {"path": "a"}});
        HookInput::parse(&input.to_string()).unwrap()
    }

    #[test]
    fn tools_that_only_read_are_known_by_their_names() {
        for (tool, is_writing) in [
            ("mcp__filesystem__write_file", true),
            ("mcp__filesystem__edit_file", true),
            ("mcp__fs__moveFile", true),
            ("mcp__x__get_and_update_file", true),
            ("mcp__x__do_it", true),
            ("mcp__filesystem__read_text_file", false),
            ("mcp__filesystem__directory_tree", false),
            ("mcp__fs__listFiles", false),
            ("Write", false),
        ] {
            assert_eq!(!mcp_written_files(&call(tool)).is_empty(), is_writing, "{tool}");
        }
        assert!(takes_whole_folders(&call("mcp__x__deleteFolder")));
        assert!(!takes_whole_folders(&call("mcp__x__create_directory")));
    }
}
