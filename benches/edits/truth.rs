//! The truth: the errors that a batch tool finds in the whole tree, from scratch.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::past::problems::ProblemSet;

/// 0-based line and code of each error, by file; a code is empty if the tool reports none that the language
/// server would report as well.
#[derive(Clone, Debug, Default)]
pub(crate) struct Truth(BTreeMap<String, BTreeSet<(u32, String)>>);

impl Truth {
    /// The errors among the findings of a batch tool.
    pub(crate) fn of_errors(problems: ProblemSet) -> Self {
        let mut truth = Self::default();
        for problem in problems.into_iter().filter(|problem| problem.is_error) {
            truth.add(&problem.path, problem.line, &problem.code);
        }
        truth
    }

    pub(crate) fn add(&mut self, path: &str, line: u32, code: &str) {
        self.0.entry(path.to_owned()).or_default().insert((line, code.to_owned()));
    }

    /// True if this error exists.
    pub(crate) fn has(&self, path: &str, line: u32, code: &str) -> bool {
        let agrees = |known: &str| known.is_empty() || code.is_empty() || known == code;
        self.errors_in(path).any(|(at, known)| at == line && agrees(known))
    }

    /// The errors of one file.
    pub(crate) fn errors_in(&self, path: &str) -> impl Iterator<Item = (u32, &str)> {
        let errors = self.0.get(path).into_iter().flatten();
        errors.map(|(line, code)| (*line, code.as_str()))
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Files that have more errors than before; lines may have moved, so only numbers count.
    pub(crate) fn worse_than(&self, before: &Self) -> BTreeSet<String> {
        let number = |truth: &Self, path: &str| truth.0.get(path).map_or(0, BTreeSet::len);
        let worse = self.files().filter(|path| number(self, path) > number(before, path));
        worse.map(str::to_owned).collect()
    }
}

/// Stdout and stderr of a batch tool, whatever its exit code.
pub(crate) fn output_of(command: &mut Command) -> (String, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// `path:line:column…` or `path(line,column)…` at the start of a line; the line becomes 0-based.
pub(crate) fn place(text: &str) -> Option<(&str, u32, &str)> {
    let at = text.find([':', '('])?;
    let (path, rest) = (&text[..at], &text[at + 1..]);
    let digits = rest.find(|character: char| !character.is_ascii_digit())?;
    let line: u32 = rest[..digits].parse().ok()?;
    Some((path, line.checked_sub(1)?, &rest[digits + 1..]))
}

/// A number of a JSON document as a line.
pub(crate) fn line_in(value: &Value) -> u32 {
    value.as_u64().and_then(|line| u32::try_from(line).ok()).unwrap_or(u32::MAX)
}
