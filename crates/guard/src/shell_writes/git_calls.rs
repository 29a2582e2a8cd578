//! What commands of git write, and patches.

use super::readers::git_reads;
use super::{WriteSearch, base_name};

/// Commands of git that write files of the work tree that they are given.
const GIT_WRITERS: [&str; 6] = ["checkout", "checkout-index", "clean", "mv", "restore", "rm"];
/// Options with which these change only the index.
const GIT_INDEX_ONLY: [&str; 3] = ["--cached", "--staged", "-S"];
/// Options with which they change the work tree after all.
const GIT_WORK_TREE: [&str; 2] = ["--worktree", "-W"];
/// Options of git before its command that take a value.
const GIT_VALUE_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// A call of git.
pub(super) struct GitCall<'a> {
    command: &'a str,
    /// The words after the command.
    rest: &'a [&'a str],
    /// The folder that it is told to work in.
    pub(super) folder: Option<&'a str>,
}

impl WriteSearch {
    /// A command of git that is not known to write.
    pub(super) fn git(&mut self, arguments: &[&str]) {
        let Some(GitCall { command, rest, .. }) = git_call(arguments) else { return };
        let next = rest.iter().find(|word| !word.starts_with('-')).copied();
        let is_index_only = GIT_WRITERS.contains(&command);
        if !git_reads(command, next) && !is_index_only {
            self.unknown_operands(rest);
        }
    }

    /// The files of a patch in the input of a program.
    pub(super) fn patched(&mut self, input: &str) {
        let headers = ["+++ ", "--- ", "rename to ", "rename from "];
        for line in input.lines() {
            let named = headers.iter().find_map(|header| line.strip_prefix(header));
            if let Some(named) = named.and_then(|named| named.split('\t').next()) {
                self.push(named, false);
                // As in `a/src/x.py`.
                if let Some((_, bare)) = named.split_once('/') {
                    self.push(bare, false);
                }
            }
        }
    }
}

/// The command among the arguments of git.
pub(super) fn git_call<'a>(arguments: &'a [&'a str]) -> Option<GitCall<'a>> {
    let (mut at, mut folder) = (0, None);
    while let Some(word) = arguments.get(at) {
        let value = arguments.get(at + 1).copied();
        if GIT_VALUE_OPTIONS.contains(word) {
            folder = if matches!(*word, "-C" | "--work-tree") { value } else { folder };
            at += 2;
        } else if let Some(named) = word.strip_prefix("--work-tree=") {
            folder = Some(named);
            at += 1;
        } else if word.starts_with('-') {
            at += 1;
        } else {
            return Some(GitCall { command: word, rest: &arguments[at + 1..], folder });
        }
    }
    None
}

/// Whether a command of git is known to write the files that it is given.
pub(super) fn writes_by_git(words: &[String]) -> bool {
    let rest = words.iter().skip_while(|word| base_name(word) != "git").skip(1);
    let rest: Vec<&str> = rest.map(String::as_str).collect();
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let is_index_only = has(&GIT_INDEX_ONLY) && !has(&GIT_WORK_TREE);
    git_call(&rest).is_some_and(|call| GIT_WRITERS.contains(&call.command)) && !is_index_only
}
