//! The three-valued verdict. "Unmeasured" is a value of its own, with a cause, and never counts as
//! clean.

use std::fmt;

use super::foreign_text::one_line;
use super::limits::{GAP_CHARS_MAX, LINE_CHARS_MAX};

/// A sensor's verdict on exactly the bytes it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Measured, no findings.
    Clean,
    /// Measured, with findings.
    Dirty,
    /// Not measured, or only in part; the gap gives the cause and the remedy.
    Unmeasured(Gap),
}

impl Verdict {
    /// The name in reports.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Dirty => "dirty",
            Self::Unmeasured(_) => "unmeasured",
        }
    }

    /// The worse of two verdicts: dirty > unmeasured > clean. Of two gaps a transient one wins,
    /// because waiting may still close it, and one that the user chose loses.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        match (self, other) {
            (Self::Dirty, _) | (_, Self::Dirty) => Self::Dirty,
            (Self::Unmeasured(a), Self::Unmeasured(b)) => {
                Self::Unmeasured(if b.cause.urgency() > a.cause.urgency() { b } else { a })
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

/// The reason why something was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gap {
    /// Kind of the gap; decisions depend on this alone.
    pub cause: Cause,
    /// The event, as a lower-case fragment: `no answer within 2500 ms`.
    pub detail: String,
    /// The command or action that closes the gap, if there is one.
    pub remedy: Option<String>,
}

impl Gap {
    /// A gap without a remedy.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        let detail = one_line(&detail.into(), GAP_CHARS_MAX);
        Self { cause, detail, remedy: None }
    }

    /// Adds the remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(one_line(&remedy.into(), LINE_CHARS_MAX));
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

/// Kinds of gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The tool is not installed.
    NotInstalled,
    /// No tool is known for this.
    NoTool,
    /// The project has tests, but no known command runs them.
    NoCheck,
    /// The tool is still starting or loading the project.
    Loading,
    /// No answer before the deadline.
    TimedOut,
    /// The tool exited or violated its protocol.
    Crashed,
    /// The file changed while it was measured.
    Superseded,
    /// The tool never reports that a file is clean, so its silence proves nothing.
    Silent,
    /// The project lacks a requirement of the tool (interpreter, dependencies, configuration).
    ProjectFault,
    /// Files were skipped: too large, unreadable, not text.
    Skipped,
    /// A requested rule could not be used.
    BrokenRule,
    /// Nothing to measure, which is not the same as no findings.
    Nothing,
    /// The user or the project's configuration disabled it.
    SwitchedOff,
    /// The program is set or contained in an untrusted project, or runs its code.
    NotTrusted,
    /// The tool refused the request.
    Refused,
    /// A project fault that existed before the work began.
    ExistingFault,
    /// The state before the work is unknown, so older findings cannot be distinguished from new
    /// ones.
    NoBaseline,
}

impl Cause {
    /// True if waiting or retrying may close the gap without any action.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Loading | Self::TimedOut | Self::Crashed | Self::Superseded)
    }

    /// True if a server's findings next to such a gap are real, but incomplete.
    #[must_use]
    pub fn leaves_findings(self) -> bool {
        matches!(self, Self::ProjectFault | Self::SwitchedOff | Self::NotTrusted)
    }

    /// Decides which of two gaps is reported: a transient one first, one chosen by the user last.
    fn urgency(self) -> u8 {
        match self {
            Self::SwitchedOff => 0,
            cause if cause.is_transient() => 2,
            _ => 1,
        }
    }

    /// True if the agent can close the gap itself once it knows about it.
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
        assert_eq!(gap(Cause::SwitchedOff).worse(gap(Cause::NoTool)), gap(Cause::NoTool));
        assert_eq!(gap(Cause::NoTool).worse(gap(Cause::SwitchedOff)), gap(Cause::NoTool));
        assert_eq!(Verdict::Clean.worse(gap(Cause::SwitchedOff)), gap(Cause::SwitchedOff));
    }

    #[test]
    fn a_gap_reads_as_one_line_with_its_remedy() {
        let gap = Gap::new(Cause::NotInstalled, "not installed").with_remedy("pip install ruff");
        assert_eq!(gap.to_string(), "not installed: pip install ruff");
    }
}
