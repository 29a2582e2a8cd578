//! Effects of an MCP server's tool: the words of its name show whether it only reads.

use moai_protocol::hook::{ASK_TOOL, HookInput};
use serde_json::Value;

use super::argument_values::has_texts;

/// Part of the names of this program's own tools.
const OWN_SERVER: &str = "moai-ralph";
/// The hosts' tools for shell commands, whose commands are examined as such.
const SHELL_TOOLS: [&str; 2] = ["Bash", "bash"];
/// Names of arguments that hold the mode of a tool.
const MODES: [&str; 6] = ["action", "command", "method", "mode", "op", "operation"];
/// Words in the name of a tool that only reads.
const READING: &[&str] = &[
    "analyze",
    "check",
    "compare",
    "count",
    "describe",
    "diagnostics",
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
    "log",
    "lookup",
    "navigate",
    "open",
    "outline",
    "preview",
    "query",
    "read",
    "references",
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
/// Words of tools that write.
const WRITING: &[&str] = &[
    "add",
    "append",
    "apply",
    "change",
    "checkout",
    "chmod",
    "clear",
    "convert",
    "copy",
    "cp",
    "create",
    "delete",
    "destroy",
    "download",
    "dump",
    "edit",
    "erase",
    "export",
    "extract",
    "fix",
    "format",
    "insert",
    "link",
    "merge",
    "modify",
    "move",
    "mv",
    "overwrite",
    "patch",
    "put",
    "refactor",
    "remove",
    "rename",
    "replace",
    "reset",
    "restore",
    "revert",
    "rewrite",
    "rm",
    "save",
    "set",
    "store",
    "symlink",
    "sync",
    "transform",
    "trash",
    "truncate",
    "unlink",
    "unpack",
    "unzip",
    "update",
    "upload",
    "wipe",
    "write",
];
/// Words of tools whose objects are on a server.
const REMOTE: &[&str] = &[
    "comment",
    "discussion",
    "entities",
    "issue",
    "issues",
    "label",
    "labels",
    "milestone",
    "observations",
    "pr",
    "pull",
    "relations",
];
/// Words of tools of git that change files.
const GIT_WRITING: &[&str] = &[
    "am", "apply", "checkout", "cherry", "clean", "clone", "merge", "mv", "pull", "rebase",
    "reset", "restore", "revert", "rm", "stash", "switch",
];
/// Words of tools that run a program from their arguments.
const RUNNING: &[&str] = &[
    "bash",
    "cmd",
    "command",
    "console",
    "eval",
    "evaluate",
    "exec",
    "execute",
    "powershell",
    "process",
    "python",
    "repl",
    "run",
    "script",
    "shell",
    "spawn",
    "ssh",
    "terminal",
    "tmux",
];
/// Words of tools that remove a whole folder, or fill it.
const WHOLE_FOLDER: &[&str] = &[
    "copy", "cp", "delete", "extract", "move", "mv", "remove", "rename", "restore", "rm", "rmdir",
    "sync", "trash", "unlink", "unpack", "unzip",
];

/// Effect of a tool, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolNature {
    Reads,
    /// It writes a copy of its input.
    Copies,
    /// It runs commands or programs that it is given.
    Runs,
    /// It writes, or its name does not say.
    Writes,
}

/// The effect of a call's tool, unless it is the host's tool for edits or commands. The hosts name the tools
/// of servers `mcp__server__tool`, `server-tool` or `server_tool`, so any other tool may be one.
pub(super) fn nature_of_call(input: &HookInput) -> Option<ToolNature> {
    let name = input.tool_name.as_str();
    let is_own = SHELL_TOOLS.contains(&name) || name == ASK_TOOL || !input.edits().is_empty();
    let words = words_of(name.rsplit("__").next().unwrap_or_default());
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    // Git's index, and data that a server keeps, are not files of the project.
    let is_remote = has(REMOTE) || has(&["git"]) && !has(GIT_WRITING);
    let nature = match (has(RUNNING), has(WRITING), has(READING)) {
        _ if is_own_preview(input) => ToolNature::Reads,
        (true, ..) => ToolNature::Runs,
        _ if is_remote && !has(&["file", "files"]) => ToolNature::Reads,
        _ if has_reading_mode(&input.tool_input.arguments) => ToolNature::Reads,
        (_, false, true) if !asks_to_write(&input.tool_input.arguments) => ToolNature::Reads,
        _ if copies(input) => ToolNature::Copies,
        _ => ToolNature::Writes,
    };
    (!is_own && !name.is_empty()).then_some(nature)
}

/// True if a call of this program's own `rename` or `rewrite` only shows a diff.
fn is_own_preview(input: &HookInput) -> bool {
    let is_applied = input.tool_input.arguments["dry_run"].as_bool() == Some(false);
    is_own_tool(input, &["rename", "rewrite"]) && !is_applied
}

/// True if a call may write any file of the project, because its arguments restrict it to none.
#[must_use]
pub fn writes_anywhere(input: &HookInput) -> bool {
    let is_restricted = !input.tool_input.named_files.is_empty();
    is_own_tool(input, &["rewrite"]) && !is_own_preview(input) && !is_restricted
}

/// True if a tool is one of this program's own of these names.
fn is_own_tool(input: &HookInput, names: &[&str]) -> bool {
    let name = input.tool_name.as_str();
    let last = name.rsplit(['_', '.', '/']).next().unwrap_or_default();
    name.contains(OWN_SERVER) && names.contains(&last)
}

/// True if an argument makes a tool write that only reads otherwise: `mode: "w"`, `write: true`.
fn asks_to_write(arguments: &Value) -> bool {
    let is_switch = |(name, value): (&String, &Value)| {
        let is_writing = words_of(name).iter().any(|word| WRITING.contains(&word.as_str()));
        let opens = name == "mode" && value.as_str().is_some_and(|it| it.starts_with(['a', 'w']));
        is_writing && value == &Value::Bool(true) || opens
    };
    arguments.as_object().is_some_and(|all| all.iter().any(is_switch))
}

/// True if an argument selects the reading mode of a tool with several modes, and none has a text that it
/// could write.
fn has_reading_mode(arguments: &Value) -> bool {
    let mode = MODES.iter().find_map(|name| arguments[*name].as_str());
    let words = mode.map(words_of).unwrap_or_default();
    let is_reading = !words.is_empty() && words.iter().all(|it| READING.contains(&it.as_str()));
    is_reading && !has_texts(arguments)
}

/// The files of a call by the names of its arguments, if its tool may write.
pub(super) fn mcp_written_files(input: &HookInput) -> &[String] {
    match nature_of_call(input) {
        None | Some(ToolNature::Reads | ToolNature::Copies) => &[],
        Some(_) => &input.tool_input.named_files,
    }
}

fn copies(input: &HookInput) -> bool {
    let words = words_of(input.tool_name.rsplit("__").next().unwrap_or_default());
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&["copy", "cp"]) && !has(&["move", "mv", "rename", "sync"])
}

/// True if a tool removes whole folders, or fills them.
pub(super) fn takes_whole_folders(input: &HookInput) -> bool {
    let words = words_of(input.tool_name.rsplit("__").next().unwrap_or_default());
    words.iter().any(|word| WHOLE_FOLDER.contains(&word.as_str()))
}

/// The words of a name in lower case: `moveFile` and `move_file` are the same.
pub(super) fn words_of(name: &str) -> Vec<String> {
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
    fn what_tools_do_is_known_by_their_names() {
        use ToolNature::{Reads, Runs, Writes};
        for (tool, nature) in [
            ("mcp__filesystem__write_file", Some(Writes)),
            ("mcp__filesystem__edit_file", Some(Writes)),
            ("mcp__fs__moveFile", Some(Writes)),
            ("mcp__x__get_and_update_file", Some(Writes)),
            ("mcp__x__do_it", Some(Writes)),
            ("mcp__x__open_and_truncate", Some(Writes)),
            ("mcp__x__run_command", Some(Runs)),
            ("mcp__x__readAndExecute", Some(Runs)),
            ("mcp__filesystem__read_text_file", Some(Reads)),
            ("mcp__filesystem__directory_tree", Some(Reads)),
            ("mcp__fs__listFiles", Some(Reads)),
            ("mcp__fs__file_read", Some(Reads)),
            ("mcp__git__git_diff", Some(Reads)),
            ("mcp__git__git_add", Some(Reads)),
            ("mcp__git__git_reset", Some(Writes)),
            ("mcp__github__update_issue", Some(Reads)),
            ("mcp__github__create_or_update_file", Some(Writes)),
            ("filesystem-write_file", Some(Writes)),
            ("filesystem_write_file", Some(Writes)),
            ("view", Some(Reads)),
            ("mcp__playwright__browser_navigate", Some(Reads)),
            ("mcp__memory__create_entities", Some(Reads)),
            ("Bash", None),
            ("Write", None),
        ] {
            assert_eq!(nature_of_call(&call(tool)), nature, "{tool}");
        }
        for (tool, arguments) in [
            ("mcp__fs__open", json!({"path": "a", "mode": "w"})),
            ("mcp__fs__view", json!({"path": "a", "write": true})),
        ] {
            let input = json!({"tool_name": tool, "tool_input": arguments});
            let input = HookInput::parse(&input.to_string()).unwrap();
            assert_eq!(nature_of_call(&input), Some(Writes), "{tool}");
        }
        let own = |tool: &str, arguments: Value| {
            let name = format!("mcp__plugin_moai-ralph_moai-ralph__{tool}");
            let input = json!({"tool_name": name, "tool_input": arguments});
            HookInput::parse(&input.to_string()).unwrap()
        };
        for tool in ["diagnostics", "references", "rename", "rewrite"] {
            assert_eq!(nature_of_call(&own(tool, json!({"path": "a"}))), Some(Reads), "{tool}");
        }
        let applied = own("rewrite", json!({"paths": ["a"], "dry_run": false}));
        assert_eq!((nature_of_call(&applied), writes_anywhere(&applied)), (Some(Writes), false));
        assert!(writes_anywhere(&own("rewrite", json!({"dry_run": false}))));
        assert!(!writes_anywhere(&own("rewrite", json!({}))));
        let foreign = json!({"tool_name": "mcp__x__rewrite", "tool_input": {"path": "a"}});
        let foreign = HookInput::parse(&foreign.to_string()).unwrap();
        assert_eq!(nature_of_call(&foreign), Some(Writes), "its dry_run may mean anything");
        assert!(takes_whole_folders(&call("mcp__x__deleteFolder")));
        assert!(!takes_whole_folders(&call("mcp__x__create_directory")));
    }
}
