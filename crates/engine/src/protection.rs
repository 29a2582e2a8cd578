//! The files that a tool call of an agent would write, and which of them are protected.

mod argument_values;
mod hook_documents;
mod mcp_files;

use std::path::{Path, PathBuf};

use argument_values::ArgumentValues;
pub(crate) use hook_documents::changes_hooks;
use mcp_files::{mcp_written_files, nature_of_call, takes_whole_folders};

use moai_base::limits::ARGUMENT_FOLDERS_MAX;
use moai_guard::shell_writes::{ShellWrite, calls_of, shell_writes};
use moai_host::protected_places::{ProtectedPlace, ProtectedPlaces};
use moai_protocol::hook::HookInput;

/// Folders whose files may belong to a loop's exam.
const EXAM_FOLDERS: [&str; 3] = [".moai", ".claude", ".git"];
/// A file at the root that belongs to a loop's exam.
const EXAM_FILE: &str = "RUBRIC.md";
/// The name of this program.
const PROGRAM: &str = "moai-ralph";
/// Its commands that are reserved for people and hosts. A hook that an agent calls itself would report
/// what has not happened.
const PERSON_ONLY: [&[&str]; 6] = [
    &["trust"],
    &["loop", "refreeze"],
    &["guard", "allow"],
    &["config", "set"],
    &["hook"],
    &["init"],
];
/// Its options before a command that take a value.
const VALUE_OPTIONS: [&str; 2] = ["--color", "--root"];
/// The host's program, and its commands that take a plugin away.
const HOST_PROGRAM: &str = "claude";
const PLUGIN_ENDS: [&str; 4] = ["disable", "remove", "rm", "uninstall"];

/// A file or folder that a tool call may write.
#[derive(Clone, Debug)]
pub struct WrittenPath {
    /// As the agent names it.
    pub named: String,
    /// Absolute and without links.
    pub path: PathBuf,
    /// Whether everything below it is written too.
    pub is_whole_folder: bool,
    /// Whether a patch names it, also one in a command.
    pub is_patched: bool,
}

/// What a tool call may write, by its arguments.
#[must_use]
pub fn written_paths(input: &HookInput, places: &ProtectedPlaces, cwd: &Path) -> Vec<WrittenPath> {
    let tool = &input.tool_input;
    let mut written = Vec::new();
    // A shell command may hold a patch; other tools read what they name.
    let edits = if tool.command.is_some() { tool.edits.as_slice() } else { input.edits() };
    // A patch in a command is applied where the command has gone to.
    let command = tool.command.as_deref().unwrap_or_default();
    let visited = calls_of("cd", command).into_iter().filter_map(|call| call.into_iter().next());
    let folders = visited.map(|folder| places.resolve(cwd, &folder));
    let folders: Vec<PathBuf> = std::iter::once(cwd.to_path_buf()).chain(folders).collect();
    for edit in edits {
        let named = edit.path.to_string_lossy().into_owned();
        for (at, folder) in folders.iter().enumerate() {
            let path = places.resolve(folder, &named);
            let (named, is_patched) = (named.clone(), at + 1 == folders.len());
            written.push(WrittenPath { named, path, is_whole_folder: false, is_patched });
        }
    }
    for named in mcp_written_files(input) {
        let path = places.resolve(cwd, named);
        let is_whole_folder = takes_whole_folders(input);
        let named = named.clone();
        written.push(WrittenPath { named, path, is_whole_folder, is_patched: false });
    }
    add_shell_writes(shell_writes(command), places, cwd, &mut written);
    written.extend(protected_values(input, places, cwd));
    written
}

fn add_shell_writes(
    writes: Vec<ShellWrite>,
    places: &ProtectedPlaces,
    cwd: &Path,
    written: &mut Vec<WrittenPath>,
) {
    for ShellWrite { path: named, is_whole_folder, is_pattern, .. } in writes {
        let paths = if is_pattern {
            places.resolve_pattern(cwd, &named)
        } else {
            vec![places.resolve(cwd, &named)]
        };
        for path in paths {
            let named = named.clone();
            written.push(WrittenPath { named, path, is_whole_folder, is_patched: false });
        }
    }
}

/// What the arguments of a server's tool name by their values, as far as it may be protected: most
/// values are no paths. Each may be relative to another one.
fn protected_values(input: &HookInput, places: &ProtectedPlaces, cwd: &Path) -> Vec<WrittenPath> {
    let Some(nature) = nature_of_call(input) else { return Vec::new() };
    let values = ArgumentValues::of(&input.tool_input.arguments, nature);
    let is_whole_folder = takes_whole_folders(input);
    let is_plain = |named: &&String| !named.contains(char::is_whitespace);
    let named_folders = values.paths.iter().filter(is_plain).take(ARGUMENT_FOLDERS_MAX);
    let folders = named_folders.map(|named| places.resolve(cwd, named));
    let mut found = Vec::new();
    for folder in std::iter::once(cwd.to_path_buf()).chain(folders) {
        for named in &values.paths {
            let mut paths = vec![places.resolve(&folder, named)];
            paths.retain(|path| is_in_existing_folder(path));
            if named.contains(['*', '?', '[', '{']) {
                paths.extend(places.resolve_pattern(&folder, named));
            }
            for path in paths {
                let named = named.clone();
                found.push(WrittenPath { named, path, is_whole_folder, is_patched: false });
            }
        }
        add_shell_writes(values.shell_writes(), places, &folder, &mut found);
        // The project may be in a folder such as `.claude/worktrees`.
        found.retain(|one| {
            let below = one.path.strip_prefix(cwd).unwrap_or(&one.path);
            is_of_exam(below) || places.place_of(&one.path, one.is_whole_folder).is_some()
        });
    }
    found
}

/// Whether the part of a path with white space exists: a sentence that ends with a path names nothing.
fn is_in_existing_folder(path: &Path) -> bool {
    let has_space = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains(char::is_whitespace))
    };
    path.ancestors().find(|path| has_space(path)).is_none_or(Path::exists)
}

/// The first command of a call that is reserved for people.
#[must_use]
pub fn person_only_call(input: &HookInput) -> Option<String> {
    let command = input.tool_input.command.as_ref();
    let values = nature_of_call(input)
        .map(|nature| ArgumentValues::of(&input.tool_input.arguments, nature).commands);
    let mut commands = command.into_iter().chain(values.iter().flatten());
    commands.find_map(|command| person_only_command(command))
}

fn person_only_command(command: &str) -> Option<String> {
    if !command.contains(PROGRAM) {
        return None;
    }
    for call in calls_of(PROGRAM, command) {
        let words = without_options(&call);
        let found = PERSON_ONLY.iter().find(|named| words.starts_with(named));
        // `trust --show` only lists.
        if let Some(found) = found.filter(|_| !call.iter().any(|word| word == "--show")) {
            return Some(format!("{PROGRAM} {}", found.join(" ")));
        }
    }
    let host_calls = calls_of(HOST_PROGRAM, command);
    let is_about_plugin = |call: &Vec<String>| {
        call.first().is_some_and(|word| word == "plugin")
            && call.iter().any(|word| word.starts_with(PROGRAM))
            && call.iter().any(|word| PLUGIN_ENDS.contains(&word.as_str()))
    };
    host_calls.iter().any(is_about_plugin).then(|| format!("{HOST_PROGRAM} plugin"))
}

/// The words of a call of this program that are neither options nor their values.
fn without_options(call: &[String]) -> Vec<&str> {
    let mut words = Vec::new();
    let mut all = call.iter().map(String::as_str);
    while let Some(word) = all.next() {
        if VALUE_OPTIONS.contains(&word) {
            all.next();
        } else if !word.starts_with('-') {
            words.push(word);
        }
    }
    words
}

/// The first of these paths in a protected place.
#[must_use]
pub fn first_protected<'w>(
    written: &'w [WrittenPath],
    places: &ProtectedPlaces,
) -> Option<(&'w WrittenPath, ProtectedPlace)> {
    written.iter().find_map(|one| Some((one, places.place_of(&one.path, one.is_whole_folder)?)))
}

/// Whether a path may be protected, so that the daemon has to decide. Most calls write nothing of the
/// kind, and then the hook ends without one.
#[must_use]
pub fn may_be_protected(written: &[WrittenPath], places: &ProtectedPlaces) -> bool {
    written.iter().any(|one| is_of_exam(&one.path)) || first_protected(written, places).is_some()
}

/// Whether a path may belong to a loop's exam.
fn is_of_exam(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == EXAM_FILE)
        || path.iter().any(|part| EXAM_FOLDERS.iter().any(|folder| part == *folder))
}
