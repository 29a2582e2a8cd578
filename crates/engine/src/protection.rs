//! The files that a tool call of an agent would write, and which of them are protected.

mod argument_values;
mod hook_documents;
mod mcp_files;

use std::path::{Path, PathBuf};

use argument_values::ArgumentValues;
pub(crate) use hook_documents::changes_hooks;
pub use mcp_files::writes_anywhere;
use mcp_files::{mcp_written_files, nature_of_call, takes_whole_folders};

use moai_base::limits::{ARGUMENT_FOLDERS_MAX, PATCH_BYTES_MAX};
use moai_base::path::percent_decoded;
use moai_guard::shell_writes::{
    AppliedPatch, GitSweep, ShellWrite, WrittenBelow, applied_patches, calls_of, git_sweeps,
    patched_paths, quoted_words, shell_writes,
};
use moai_host::files::read_regular;
use moai_host::protected_places::{ProtectedPlace, ProtectedPlaces};
use moai_protocol::hook::HookInput;
use moai_protocol::hosts::edits::PATCH_START;

/// Folders whose files may belong to a loop's exam.
const EXAM_FOLDERS: [&str; 3] = [".moai", ".claude", ".git"];
/// A folder in these with their own worktrees.
const OTHER_TREES: &str = "worktrees";
/// A file at the root that belongs to a loop's exam.
const EXAM_FILE: &str = "RUBRIC.md";
/// The name of this program.
const PROGRAM: &str = "moai-ralph";
/// Its commands that are reserved for people and hosts. A hook that an agent calls itself would report an
/// event that has not happened.
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
/// The hosts' programs, and their commands that take a plugin away.
const HOST_PROGRAMS: [&str; 4] = ["claude", "codex", "copilot", "opencode"];
const PLUGIN_ENDS: [&str; 4] = ["disable", "remove", "rm", "uninstall"];
/// Arguments that make Codex run no hooks.
const HOOKS_END: [&str; 3] = ["features", "disable", "hooks"];
/// Options with which a command only shows something.
const SHOWING: [&str; 3] = ["--help", "--show", "-h"];
/// Names of arguments that hold the working directory of a shell tool's command.
const FOLDER_ARGUMENTS: [&str; 5] =
    ["cwd", "dir", "workdir", "workingDirectory", "working_directory"];

/// A file or folder that a tool call may write.
#[derive(Clone, Debug)]
pub struct WrittenPath {
    /// The path as the agent wrote it.
    pub named: String,
    /// Absolute and without links.
    pub path: PathBuf,
    /// True if everything below it is written too.
    pub is_whole_folder: bool,
    /// True if it comes from a patch, also one in a command.
    pub is_patched: bool,
}

/// The paths that a tool call may write, by its arguments.
#[must_use]
pub fn written_paths(
    input: &HookInput,
    protected: &ProtectedPlaces,
    cwd: &Path,
) -> Vec<WrittenPath> {
    let tool = &input.tool_input;
    let mut written = Vec::new();
    // A shell command may contain a patch; other tools read the files in their arguments.
    let is_patch = tool.command.as_deref().is_some_and(|command| command.contains(PATCH_START));
    let edits = if is_patch { tool.edits.as_slice() } else { input.edits() };
    // A patch in a command applies in the folder that the command has changed to.
    let command = command_of(input);
    let command = command.as_deref().unwrap_or_default();
    let named_folder = FOLDER_ARGUMENTS.iter().find_map(|name| tool.arguments[*name].as_str());
    let named_folder = named_folder.filter(|_| !command.is_empty());
    let cwd = &named_folder.map_or_else(|| cwd.to_path_buf(), |it| protected.resolve(cwd, it));
    let visited = calls_of("cd", command).into_iter().filter_map(|call| call.into_iter().next());
    let folders = visited.map(|folder| protected.resolve(cwd, &folder));
    let folders: Vec<PathBuf> = std::iter::once(cwd.clone()).chain(folders).collect();
    for edit in edits {
        let named = edit.path.to_string_lossy().into_owned();
        for (at, folder) in folders.iter().enumerate() {
            for spelling in spellings(&named) {
                let path = protected.resolve(folder, &spelling);
                let (named, is_patched) = (named.clone(), at + 1 == folders.len());
                written.push(WrittenPath { named, path, is_whole_folder: false, is_patched });
            }
        }
    }
    for named in mcp_written_files(input) {
        let path = protected.resolve(cwd, named);
        let is_whole_folder = takes_whole_folders(input);
        let named = named.clone();
        written.push(WrittenPath { named, path, is_whole_folder, is_patched: false });
    }
    add_shell_writes(shell_writes(command), protected, cwd, &mut written);
    for patch in applied_patches(command) {
        add_patch(&patch, protected, cwd, &mut written);
    }
    written.extend(protected_values(input, protected, cwd));
    written
}

/// The command of a shell tool, also one given as a list of words.
fn command_of(input: &HookInput) -> Option<String> {
    let words = || {
        let words = input.tool_input.arguments["command"].as_array()?;
        let words: Option<Vec<&str>> = words.iter().map(|word| word.as_str()).collect();
        Some(quoted_words(&words?))
    };
    input.tool_input.command.clone().or_else(words)
}

/// Possible meanings of an edit's path: hosts strip white space, read URIs, end at a zero byte, and compose
/// characters.
fn spellings(named: &str) -> Vec<String> {
    let mut found = vec![named.to_owned()];
    let plain = named.split('\0').next().unwrap_or_default().trim();
    let of_uri = plain.strip_prefix("file:").map(|rest| {
        let path =
            rest.strip_prefix("//").map_or(rest, |it| it.find('/').map_or(it, |at| &it[at..]));
        percent_decoded(path)
    });
    let composed = moai_memory::composed(plain).into_owned();
    for other in [Some(plain.to_owned()), of_uri, Some(composed)].into_iter().flatten() {
        if !other.is_empty() && !found.contains(&other) {
            found.push(other);
        }
    }
    found
}

fn add_shell_writes(
    writes: Vec<ShellWrite>,
    protected: &ProtectedPlaces,
    cwd: &Path,
    written: &mut Vec<WrittenPath>,
) {
    for ShellWrite { path: named, is_whole_folder, is_pattern, below, .. } in writes {
        let place = || protected.resolve(cwd, &named);
        let paths = match below {
            Some(WrittenBelow::Named { names, except }) => {
                protected.named_below(&place(), &names, &except)
            }
            Some(WrittenBelow::HeldBy { folder, is_mirrored }) => {
                let held_by = protected.resolve(cwd, &folder);
                protected.copied_below(&place(), &held_by, is_mirrored)
            }
            None if is_pattern => protected.resolve_pattern(cwd, &named),
            None => vec![place()],
        };
        for path in paths {
            let named = named.clone();
            written.push(WrittenPath { named, path, is_whole_folder, is_patched: false });
        }
    }
}

/// The files of a patch, if it is a file that exists. A command may make it first: then it is not known.
fn add_patch(
    applied: &AppliedPatch,
    protected: &ProtectedPlaces,
    cwd: &Path,
    written: &mut Vec<WrittenPath>,
) {
    let Ok(bytes) = read_regular(&protected.resolve(cwd, &applied.file), PATCH_BYTES_MAX) else {
        return;
    };
    let folder = protected.resolve(cwd, &applied.folder);
    for named in patched_paths(&String::from_utf8_lossy(&bytes)) {
        let path = protected.resolve(&folder, &named);
        written.push(WrittenPath { named, path, is_whole_folder: false, is_patched: true });
    }
}

/// Changes that git commands in a call make to files that they do not list.
#[must_use]
pub fn swept_by_git(input: &HookInput) -> Vec<GitSweep> {
    git_sweeps(&command_of(input).unwrap_or_default())
}

/// Paths in the argument values of a server's tool that may be protected: most values are not paths. Each may
/// be relative to another one.
fn protected_values(
    input: &HookInput,
    protected: &ProtectedPlaces,
    cwd: &Path,
) -> Vec<WrittenPath> {
    let Some(nature) = nature_of_call(input) else { return Vec::new() };
    let values = ArgumentValues::from_arguments(&input.tool_input.arguments, nature);
    let is_whole_folder = takes_whole_folders(input);
    let is_plain = |named: &&String| !named.contains(char::is_whitespace);
    let named_folders = values.paths.iter().filter(is_plain).take(ARGUMENT_FOLDERS_MAX);
    let folders = named_folders.map(|named| protected.resolve(cwd, named));
    let mut found = Vec::new();
    for folder in std::iter::once(cwd.to_path_buf()).chain(folders) {
        for named in &values.paths {
            let mut paths = vec![protected.resolve(&folder, named)];
            paths.retain(|path| is_in_existing_folder(path));
            if named.contains(['*', '?', '[', '{']) {
                paths.extend(protected.resolve_pattern(&folder, named));
            }
            for path in paths {
                let named = named.clone();
                found.push(WrittenPath { named, path, is_whole_folder, is_patched: false });
            }
        }
        add_shell_writes(values.shell_writes(), protected, &folder, &mut found);
        // The project may be in a folder such as `.claude/worktrees`.
        let outside = outside_of_exam(cwd);
        found.retain(|one| {
            let below = one.path.strip_prefix(outside).unwrap_or(&one.path);
            is_of_exam(below) || protected.place_of(&one.path, one.is_whole_folder).is_some()
        });
    }
    found
}

/// The folder itself, or the first one above it that is in no folder of an exam.
fn outside_of_exam(cwd: &Path) -> &Path {
    let is_other_tree = cwd.iter().any(|part| part == OTHER_TREES);
    let outside = cwd.ancestors().find(|folder| is_other_tree || !is_of_exam(folder));
    outside.unwrap_or(cwd)
}

/// True if the part of a path with white space exists: a sentence that ends with a path is not a path.
fn is_in_existing_folder(path: &Path) -> bool {
    let has_space = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().contains(char::is_whitespace))
    };
    path.ancestors().find(|path| has_space(path)).is_none_or(Path::exists)
}

/// The first command of a call that is reserved for people.
#[must_use]
pub fn person_only_call(input: &HookInput) -> Option<String> {
    let command = command_of(input);
    let values = nature_of_call(input)
        .map(|nature| ArgumentValues::from_arguments(&input.tool_input.arguments, nature).commands);
    let mut commands = command.iter().chain(values.iter().flatten());
    commands.find_map(|command| person_only_command(command))
}

fn person_only_command(command: &str) -> Option<String> {
    let is_ours = command.contains(PROGRAM);
    if !is_ours && !command.contains(HOOKS_END[0]) {
        return None;
    }
    for call in calls_of(PROGRAM, command) {
        let words = without_options(&call);
        let found = PERSON_ONLY.iter().find(|named| words.starts_with(named));
        let only_shows = call.iter().any(|word| SHOWING.contains(&word.as_str()));
        if let Some(found) = found.filter(|_| !only_shows) {
            return Some(format!("{PROGRAM} {}", found.join(" ")));
        }
    }
    let takes_away = |call: &Vec<String>| {
        let is_plugin =
            call.first().is_some_and(|word| matches!(word.as_str(), "plugin" | "plugins"));
        let is_own = call.iter().any(|word| word.starts_with(PROGRAM));
        let is_end = call.iter().any(|word| PLUGIN_ENDS.contains(&word.as_str()));
        is_plugin && is_own && is_end || without_options(call) == HOOKS_END
    };
    HOST_PROGRAMS.into_iter().filter(|program| command.contains(program)).find_map(|program| {
        let is_ended = calls_of(program, command).iter().any(takes_away);
        is_ended.then(|| format!("{program} plugin"))
    })
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
    protected: &ProtectedPlaces,
) -> Option<(&'w WrittenPath, ProtectedPlace)> {
    written.iter().find_map(|one| Some((one, protected.place_of(&one.path, one.is_whole_folder)?)))
}

/// True if a path may be protected, so that the daemon has to decide. Most calls write no such path, and then
/// the hook ends without a daemon.
#[must_use]
pub fn may_be_protected(written: &[WrittenPath], protected: &ProtectedPlaces) -> bool {
    let is_of_loop = |one: &WrittenPath| {
        is_of_exam(&one.path) || one.is_whole_folder && protected.holds_project(&one.path)
    };
    written.iter().any(is_of_loop) || first_protected(written, protected).is_some()
}

fn is_of_exam(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == EXAM_FILE)
        || path.iter().any(|part| EXAM_FOLDERS.iter().any(|folder| part == *folder))
}
