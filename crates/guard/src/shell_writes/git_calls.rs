//! Writes by git commands and by patches.

use moai_base::limits::WRITTEN_PATHS_MAX;

use super::readers::git_reads;
use super::shell_reader::SimpleCommand;
use super::{AppliedPatch, WriteSearch, base_name, calls_of, joined, quoted_words};

/// Commands of git that write files of the work tree that they are given.
const GIT_WRITERS: [&str; 6] = ["checkout", "checkout-index", "clean", "mv", "restore", "rm"];
/// Options with which these change only the index.
const GIT_INDEX_ONLY: [&str; 3] = ["--cached", "--staged", "-S"];
/// Options with which they change the work tree after all.
const GIT_WORK_TREE: [&str; 2] = ["--worktree", "-W"];
/// Options of git whose value it runs, and those with the value in the same word.
const RUN_OPTIONS: [&str; 5] = ["--exec", "--extcmd", "-c", "-x", "--upload-pack"];
const RUN_PREFIXES: [&str; 4] = ["--exec=", "--extcmd=", "--open-files-in-pager=", "-O"];
/// Names of the whole work tree.
const WHOLE_TREES: [&str; 6] = [".", "./", "*", ":/", ":/*", "./*"];
/// Options of git before its command that take a value.
const GIT_VALUE_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// The effect of a git command on files that it does not name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitSweep {
    /// Changed files become as they are in this commit.
    Reverts(String),
    /// Files that git does not track are removed.
    Cleans {
        /// True if this includes those that it ignores.
        with_ignored: bool,
        /// Patterns of files that stay.
        except: Vec<String>,
    },
}

/// The effects of the git commands in a shell command on the whole working tree.
#[must_use]
pub fn git_sweeps(command: &str) -> Vec<GitSweep> {
    let calls = if command.contains("git") { calls_of("git", command) } else { Vec::new() };
    calls.iter().flat_map(|call| sweeps_of_call(call)).collect()
}

fn sweeps_of_call(call: &[String]) -> Vec<GitSweep> {
    let words: Vec<&str> = call.iter().map(String::as_str).collect();
    let Some(GitCall { command, rest, .. }) = git_call(&words) else { return Vec::new() };
    let has = |letter: char, long: &str| {
        rest.iter().any(|word| {
            *word == long
                || word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
        })
    };
    let operands: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let names_all = operands.iter().any(|word| is_whole_tree(word));
    let first = operands.iter().copied().find(|word| !is_whole_tree(word));
    let reverts = |to: Option<&str>| GitSweep::Reverts(to.unwrap_or("HEAD").to_owned());
    let source = rest.iter().find_map(|word| word.strip_prefix("--source="));
    match command {
        "checkout" if names_all || has('f', "--force") => vec![reverts(first)],
        "restore" if names_all && (has('W', "--worktree") || !has('S', "--staged")) => {
            let behind = rest.windows(2).find(|pair| matches!(pair[0], "--source" | "-s"));
            vec![reverts(source.or(behind.map(|pair| pair[1])))]
        }
        "reset" if rest.contains(&"--hard") || rest.contains(&"--merge") => vec![reverts(first)],
        "stash" => sweeps_of_stash(
            &without_message(rest),
            has('u', "--include-untracked"),
            has('a', "--all"),
        ),
        "clean" if has('f', "--force") && !has('n', "--dry-run") => {
            let except = excepted(rest);
            let is_whole =
                operands.iter().all(|word| names_all || except.iter().any(|it| it == word));
            let with_ignored = has('x', "-x") || has('X', "-X");
            is_whole.then_some(GitSweep::Cleans { with_ignored, except }).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The words that are neither options nor a message.
fn without_message<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    let is_message = |at: usize| at > 0 && matches!(rest[at - 1], "--message" | "-m");
    let words = rest.iter().enumerate().filter(|(at, _)| !is_message(*at));
    words.map(|(_, word)| *word).filter(|word| !word.starts_with('-')).collect()
}

/// `git stash` with these words takes the changes of all files away.
fn sweeps_of_stash(operands: &[&str], with_untracked: bool, with_ignored: bool) -> Vec<GitSweep> {
    if !matches!(operands, [] | ["push" | "save", ..]) || operands.len() > 1 {
        return Vec::new();
    }
    let mut sweeps = vec![GitSweep::Reverts("HEAD".to_owned())];
    if with_untracked || with_ignored {
        sweeps.push(GitSweep::Cleans { with_ignored, except: Vec::new() });
    }
    sweeps
}

/// The patterns that `git clean` leaves out.
pub(super) fn excepted(rest: &[&str]) -> Vec<String> {
    let behind = rest.windows(2).filter(|pair| matches!(pair[0], "--exclude" | "-e"));
    let inside = rest.iter().filter_map(|word| word.strip_prefix("--exclude="));
    behind.map(|pair| pair[1]).chain(inside).map(str::to_owned).collect()
}

pub(super) struct GitCall<'a> {
    command: &'a str,
    /// The words after the command.
    rest: &'a [&'a str],
    /// Its folder from `-C` or a similar option.
    pub(super) folder: Option<String>,
}

impl WriteSearch {
    /// The commands that git runs for a call: as values of settings, and of some options.
    pub(super) fn git_commands(&mut self, arguments: &[&str]) {
        for pair in arguments.windows(2).filter(|pair| RUN_OPTIONS.contains(&pair[0])) {
            // As in `-c alias.x='!rm a'`.
            let value = pair[1].split_once('=').filter(|_| pair[0] == "-c");
            let text = value.map_or(pair[1], |(_, value)| value).trim_start_matches('!');
            if text.contains(char::is_whitespace) {
                self.in_subshell(text);
            }
        }
        let joined = arguments
            .iter()
            .filter_map(|word| RUN_PREFIXES.iter().find_map(|option| word.strip_prefix(option)));
        for text in joined.filter(|text| !text.is_empty()) {
            let operands = arguments.iter().filter(|word| !word.starts_with('-')).copied();
            let operands: Vec<&str> = operands.collect();
            self.in_subshell(&format!("{text} {}", quoted_words(&operands)));
        }
        // A transport that runs a command.
        for command in arguments.iter().filter_map(|word| word.strip_prefix("ext::")) {
            self.in_subshell(command);
        }
        for pair in arguments.windows(2).filter(|pair| pair[0] == "-o") {
            self.push(pair[1], false);
            self.push(&format!("{}/0001.patch", pair[1].trim_end_matches('/')), false);
        }
    }

    /// A command of git that is not known to write.
    pub(super) fn git(&mut self, arguments: &[&str]) {
        let Some(GitCall { command, rest, .. }) = git_call(arguments) else { return };
        let next = rest.iter().find(|word| !word.starts_with('-')).copied();
        let is_index_only = GIT_WRITERS.contains(&command);
        if !git_reads(command, next) && !is_index_only {
            self.unknown_operands(rest);
        }
    }

    /// The files that a pipeline may apply as patches: all that its commands name.
    pub(super) fn applied_patches(&mut self, pipeline: &[SimpleCommand]) {
        let applies = |simple: &SimpleCommand| {
            let Some(at) = simple.program() else { return false };
            let rest: Vec<&str> = simple.words[at + 1..].iter().map(String::as_str).collect();
            let git = || git_call(&rest).is_some_and(|call| matches!(call.command, "am" | "apply"));
            match base_name(&simple.words[at]) {
                "git" => git(),
                program => matches!(program, "gpatch" | "patch"),
            }
        };
        let Some(applying) = pipeline.iter().find(|simple| applies(simple)) else { return };
        let words = &applying.words;
        let behind = |option: &str| words.iter().skip_while(move |word| *word != option).nth(1);
        let inside = words.iter().find_map(|word| word.strip_prefix("--directory="));
        let folder = behind("-d").or_else(|| behind("-C")).map(String::as_str).or(inside);
        let folder = joined(&self.folder, folder.unwrap_or("."));
        let all = pipeline.iter().flat_map(|simple| simple.words.iter().chain(&simple.inputs));
        let values = all.map(|word| word.split_once('=').map_or(word.as_str(), |(_, value)| value));
        for file in values.filter(|word| !word.is_empty() && !word.starts_with('-')) {
            if self.patches.len() < WRITTEN_PATHS_MAX {
                let file = joined(&self.folder, file);
                self.patches.push(AppliedPatch { file, folder: folder.clone() });
            }
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
    let (mut at, mut folder) = (0, None::<String>);
    let inner = |outer: &Option<String>, inner: &str| match outer {
        Some(outer) => joined(outer, inner),
        None => inner.to_owned(),
    };
    while let Some(word) = arguments.get(at) {
        let value = arguments.get(at + 1).copied();
        if GIT_VALUE_OPTIONS.contains(word) {
            if let Some(value) = value.filter(|_| matches!(*word, "-C" | "--work-tree")) {
                folder = Some(inner(&folder, value));
            }
            at += 2;
        } else if let Some(named) = word.strip_prefix("--work-tree=") {
            folder = Some(inner(&folder, named));
            at += 1;
        } else if word.starts_with('-') {
            at += 1;
        } else {
            return Some(GitCall { command: word, rest: &arguments[at + 1..], folder });
        }
    }
    None
}

/// True if a path of git means all files.
pub(super) fn is_whole_tree(path: &str) -> bool {
    WHOLE_TREES.contains(&path) || without_magic(path) == "."
}

/// A path of git without its magic prefix.
pub(super) fn without_magic(path: &str) -> &str {
    let Some(rest) = path.strip_prefix(':') else { return path };
    let plain = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((signs, _)) if signs.contains("exclude") => "",
        Some((_, plain)) => plain,
        None if rest.starts_with(['!', '^']) => "",
        None => rest.trim_start_matches('/'),
    };
    // Only exclusions mean all other files.
    if plain.is_empty() { "." } else { plain }
}

/// True if a command of git is known to write the files that it is given.
pub(super) fn writes_by_git(words: &[String]) -> bool {
    let rest = words.iter().skip_while(|word| base_name(word) != "git").skip(1);
    let rest: Vec<&str> = rest.map(String::as_str).collect();
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let is_index_only = has(&GIT_INDEX_ONLY) && !has(&GIT_WORK_TREE);
    git_call(&rest).is_some_and(|call| GIT_WRITERS.contains(&call.command)) && !is_index_only
}
