//! Why a TODO does not pass, as it is kept: on one line, with the command first.

use std::fmt;

/// The failure of one command of a TODO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoFailure {
    /// The command as it is written in the plan.
    pub command: String,
    pub kind: FailureKind,
    /// Its output or the reason; empty if it was not run.
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Fails,
    /// It was not completed.
    NoResult,
    NotRun,
}

const FAILS: &str = "` fails: ";
const NO_RESULT: &str = "` has no result: ";
const NOT_RUN: &str = "` was not run";

impl fmt::Display for TodoFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, kind, reason } = self;
        match kind {
            FailureKind::Fails => write!(formatter, "`{command}{FAILS}{reason}"),
            FailureKind::NoResult => write!(formatter, "`{command}{NO_RESULT}{reason}"),
            FailureKind::NotRun => write!(formatter, "`{command}{NOT_RUN}"),
        }
    }
}

impl TodoFailure {
    /// The parts of a text that this type has written; `None` for other texts.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('`')?;
        let split = |mark: &str, kind| {
            let (command, reason) = rest.split_once(mark)?;
            Some(Self { command: command.to_owned(), kind, reason: reason.to_owned() })
        };
        let found = [
            split(FAILS, FailureKind::Fails),
            split(NO_RESULT, FailureKind::NoResult),
            split(NOT_RUN, FailureKind::NotRun),
        ];
        // The reason may quote such a text again.
        found.into_iter().flatten().min_by_key(|failure| failure.command.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_was_kept_is_read_back() {
        for (kind, reason) in [
            (FailureKind::Fails, "FAIL: `x` has no result: y"),
            (FailureKind::NoResult, "no time"),
            (FailureKind::NotRun, ""),
        ] {
            let failure = TodoFailure {
                command: "npm test -- a".to_owned(),
                kind,
                reason: reason.to_owned(),
            };
            assert_eq!(TodoFailure::parse(&failure.to_string()), Some(failure));
        }
        assert_eq!(TodoFailure::parse("its worktree was not merged: stalled"), None);
    }
}
