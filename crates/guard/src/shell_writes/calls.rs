//! The programs that a shell text calls, with the folder and the arguments of each call.

use moai_base::limits::WRITTEN_PATHS_MAX;

use super::shell_reader::is_wrapper;
use super::{SHELLS, ShellWrite, WriteSearch, base_name};

/// A program that a text of the shell calls, with the values of the variables that the text sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledProgram {
    /// The folder in which it is called.
    pub folder: String,
    /// The words before the program, such as `xargs` with its options.
    pub wrappers: Vec<String>,
    pub program: String,
    pub arguments: Vec<String>,
}

/// The calls and writes of a shell text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCalls {
    /// In order, at most [`WRITTEN_PATHS_MAX`].
    pub calls: Vec<CalledProgram>,
    /// The paths that it writes or may write.
    pub writes: Vec<ShellWrite>,
}

/// The calls and writes of a shell text that begins in this folder, with these variables.
#[must_use]
pub fn shell_calls(text: &str, folder: &str, variables: &[(&str, &str)]) -> ShellCalls {
    let mut search = WriteSearch {
        folder: folder.to_owned(),
        calls: Some(Vec::new()),
        ..WriteSearch::default()
    };
    for (name, value) in variables {
        search.variables.add(name, [(*value).to_owned()]);
    }
    search.shell_text(text);
    ShellCalls { calls: search.calls.unwrap_or_default(), writes: search.found }
}

/// The arguments of each call of a program in a command.
#[must_use]
pub fn calls_of(program: &str, command: &str) -> Vec<Vec<String>> {
    let mut search = WriteSearch::default();
    search.shell_text(command);
    let called = search.programs.into_iter().filter_map(|call| {
        let at = call.words.iter().position(|word| base_name(word) == program)?;
        (at == 0 || call.runs_argument).then(|| call.words[at + 1..].to_vec())
    });
    called.collect()
}

/// A program with its arguments.
pub(super) struct ShellCall {
    words: Vec<String>,
    /// True if one of the arguments may be the program: a shell runs a script, and options of a
    /// wrapper may have values that look like a program.
    runs_argument: bool,
}

impl WriteSearch {
    pub(super) fn record_program(&mut self, named: &str, words: &[&str], at: usize) {
        self.record_calls(named, words, at);
        if self.programs.len() >= WRITTEN_PATHS_MAX {
            return;
        }
        let is_wrapped = words[..at].iter().any(|word| is_wrapper(word));
        let runs_argument = is_wrapped || SHELLS.contains(&base_name(named));
        let arguments = words[at + 1..].iter().copied();
        let words = [named].into_iter().chain(arguments).map(str::to_owned).collect();
        self.programs.push(ShellCall { words, runs_argument });
    }

    /// Records the program with each value of its arguments.
    fn record_calls(&mut self, named: &str, words: &[&str], at: usize) {
        let Some(mut calls) = self.calls.take() else { return };
        let expanded: Vec<Vec<String>> =
            words[at + 1..].iter().map(|word| self.expanded(word)).collect();
        let values = expanded.iter().map(Vec::len).max().unwrap_or(1);
        for value in 0..values.min(WRITTEN_PATHS_MAX.saturating_sub(calls.len())) {
            let arguments =
                expanded.iter().filter_map(|all| all.get(value).or(all.last()).cloned());
            calls.push(CalledProgram {
                folder: self.folder.clone(),
                wrappers: words[..at].iter().map(|word| (*word).to_owned()).collect(),
                program: named.to_owned(),
                arguments: arguments.collect(),
            });
        }
        self.calls = Some(calls);
    }
}
