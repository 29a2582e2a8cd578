//! The three-valued verdict. Not measured is a value of its own, with its cause, and never clean.

use std::fmt;

use super::limits::GAP_CHARS_MAX;
use super::text::one_line;

/// What a sensor can say about exactly the bytes it was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Measured, nothing wrong.
    Clean,
    /// Measured, something wrong.
    Dirty,
    /// Not measured, or not wholly; the gap says why and what would mend it.
    Unmeasured(Gap),
}

impl Verdict {
    /// The worse of two verdicts: dirty > unmeasured > clean. Of two gaps, one that passes by
    /// itself is kept, because waiting may still help.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Dirty, _) | (_, Self::Dirty) => Self::Dirty,
            (Self::Unmeasured(a), Self::Unmeasured(b)) => {
                Self::Unmeasured(if b.cause.is_transient() && !a.cause.is_transient() {
                    b
                } else {
                    a
                })
            }
            (gap @ Self::Unmeasured(_), Self::Clean) | (Self::Clean, gap @ Self::Unmeasured(_)) => {
                gap
            }
            (Self::Clean, Self::Clean) => Self::Clean,
        }
    }

    /// The gap, if something was not measured.
    #[must_use]
    pub fn gap(&self) -> Option<&Gap> {
        match self {
            Self::Unmeasured(gap) => Some(gap),
            Self::Clean | Self::Dirty => None,
        }
    }
}

/// Why something was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// The kind of gap; decisions branch on this alone.
    pub cause: Cause,
    /// What happened, as a lower-case fragment for people: `no answer within 2500 ms`.
    pub detail: String,
    /// The one command or act that mends it, when there is one.
    pub remedy: Option<String>,
}

impl Gap {
    /// A gap without a remedy.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        let detail = one_line(&detail.into(), GAP_CHARS_MAX);
        Self { cause, detail, remedy: None }
    }

    /// The same gap with the act that mends it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.detail)?;
        match &self.remedy {
            Some(remedy) => write!(out, ": {remedy}"),
            None => Ok(()),
        }
    }
}

/// The kinds of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The tool is not on this machine.
    NotInstalled,
    /// No tool for this is known.
    NoTool,
    /// The project has tests, and nothing is known that runs them.
    NoCheck,
    /// The tool is still starting or loading the project.
    Loading,
    /// No answer before the deadline.
    TimedOut,
    /// The tool ended or broke its protocol.
    Crashed,
    /// The bytes changed while they were measured.
    Superseded,
    /// The tool never says that a file is clean, so silence proves nothing.
    Silent,
    /// The project lacks what the tool needs (interpreter, dependencies, configuration).
    ProjectFault,
    /// Files were skipped: too large, unreadable, not text.
    Skipped,
    /// A requested rule could not be used.
    BrokenRule,
    /// There was nothing to measure, which is not the same as nothing wrong.
    Nothing,
    /// The user switched it off.
    SwitchedOff,
    /// The tool refused what was asked of it.
    Refused,
    /// The project lacked what the tool needs before the work began, too.
    ExistingFault,
    /// What was wrong before the work is not known, so that older findings cannot be told from new
    /// ones.
    NoBaseline,
}

impl Cause {
    /// Whether waiting or asking again may close the gap without anyone acting.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Loading | Self::TimedOut | Self::Crashed | Self::Superseded)
    }

    /// Whether the agent itself can close the gap, once it is told.
    #[must_use]
    pub fn is_fixable_by_agent(self) -> bool {
        matches!(self, Self::ProjectFault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_verdict_wins_and_a_gap_is_never_covered_by_clean() {
        let gap = |cause| Verdict::Unmeasured(Gap::new(cause, "x"));
        assert_eq!(Verdict::Clean.worse(Verdict::Clean), Verdict::Clean);
        assert_eq!(Verdict::Clean.worse(gap(Cause::Silent)), gap(Cause::Silent));
        assert_eq!(gap(Cause::Silent).worse(Verdict::Clean), gap(Cause::Silent));
        assert_eq!(gap(Cause::Silent).worse(Verdict::Dirty), Verdict::Dirty);
        assert_eq!(gap(Cause::NotInstalled).worse(gap(Cause::Loading)), gap(Cause::Loading));
    }

    #[test]
    fn a_gap_reads_as_one_line_with_its_remedy() {
        let gap = Gap::new(Cause::NotInstalled, "not installed").with_remedy("pip install ruff");
        assert_eq!(gap.to_string(), "not installed: pip install ruff");
    }
}
