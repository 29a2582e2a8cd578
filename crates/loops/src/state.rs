//! What is known about one loop.

use super::criteria::CheckScope;
use super::framework::{MessageLanguage, language_of};
use super::options::LoopOptions;
use super::progress;
use crate::named_enum::{named_variants, serialize_by_name};

/// How a loop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The next Stop of its session is decided by it.
    Running,
    /// It waits for the user.
    Paused,
    /// Done, and everything asked for was measured.
    Completed,
    /// Nothing wrong was found, but something could not be measured.
    CompletedUnverified,
    /// The bound of iterations was reached first.
    MaxIterations,
    /// The bound of time was reached first.
    TimedOut,
    /// The bound of tokens was reached first.
    Budget,
    /// Nothing got better for too long.
    Stalled,
    /// It went back and forth between the same states.
    Oscillating,
    /// Tests or checks were weakened in the same way again, after it was told.
    Gaming,
    /// The user ended it.
    Cancelled,
    /// The work is done, but what belongs to its end could not be.
    Failed,
}

named_variants!(Status {
    Running: "running",
    Paused: "paused",
    Completed: "completed",
    CompletedUnverified: "completed_unverified",
    MaxIterations: "max_iterations",
    TimedOut: "timed_out",
    Budget: "budget",
    Stalled: "stalled",
    Oscillating: "oscillating",
    Gaming: "gaming",
    Cancelled: "cancelled",
    Failed: "failed",
});

impl Status {
    /// Whether the loop still holds its session.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// Why a loop is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// As many iterations as the user wanted to look at have passed.
    Milestone,
    /// The judge rejected too often in a row; a person should look.
    Hitl,
    /// A language server that is required could not measure.
    LspRequired,
    /// The session fills more of the model's context than it may.
    ContextBudget,
    /// What examines the loop changed, and its session did not write it.
    ExamChanged,
    /// A finding was allowed or the exam frozen anew while its agent was at work.
    Overridden,
    /// The user works where the base branch is checked out, so only the user can move it.
    BaseInUse,
    /// The user paused it.
    User,
}

named_variants!(PauseReason {
    Milestone: "milestone",
    Hitl: "hitl",
    LspRequired: "lsp_required",
    ContextBudget: "context_budget",
    ExamChanged: "exam_changed",
    Overridden: "overridden",
    BaseInUse: "base_in_use",
    User: "user",
});

/// How a loop decides, beyond the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Evidence alone.
    #[default]
    Basic,
    /// A judge looks at what the evidence cannot tell, once all of it is clean.
    Judge,
    /// On a branch of its own, without waiting for people; merged at the end.
    Autonomous,
}

named_variants!(Mode { Basic: "basic", Judge: "judge", Autonomous: "autonomous" });
serialize_by_name!(Mode);

/// What ends a loop, beside clean evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntilCondition {
    /// Language servers and scan are clean, and the project's own checks pass: the user's, else
    /// those that its files suggest.
    Clean,
    /// Language servers and scan are clean, and the user's checks pass if there are any.
    Diagnostics,
    /// The same, but without any check the loop is refused.
    Checks,
    /// The agent claims completion with the promise tag.
    Promise,
}

named_variants!(UntilCondition {
    Clean: "clean",
    Diagnostics: "diagnostics",
    Checks: "checks",
    Promise: "promise"
});
serialize_by_name!(UntilCondition);

impl UntilCondition {
    /// Which of the project's checks a Stop runs.
    #[must_use]
    pub fn check_scope(self) -> CheckScope {
        match self {
            Self::Clean | Self::Promise => CheckScope::Proposed,
            Self::Diagnostics | Self::Checks => CheckScope::Configured,
        }
    }
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopState {
    /// Its id, `loop-` and 8 hex digits.
    pub id: String,
    /// The only session it decides for; `None` until one claims it. Never an empty text.
    pub session_id: Option<String>,
    /// How it decides.
    pub mode: Mode,
    /// How it stands.
    pub status: Status,
    /// Why it is paused, if it is.
    pub pause_reason: Option<PauseReason>,
    /// What ends it.
    pub until: UntilCondition,
    /// The task, byte for byte.
    pub prompt: String,
    /// The text inside the promise tag.
    pub promise: Option<String>,
    /// What it was started with.
    pub options: LoopOptions,
    /// Names of the project's checks that each of its Stops runs.
    pub checks: Vec<String>,
    /// Sensors and checks that have measured at one of its Stops, as `kind:name`.
    pub measured_sensors: Vec<String>,
    /// The iteration behind which stalls and oscillation are counted: 0, or where a person resumed
    /// a loop that had ended by them.
    pub counted_from: u32,
    /// What it started from, as git's owner names it; what was committed since is measured, too.
    pub base: Option<String>,
    /// The branch of its own that an autonomous loop works on.
    pub branch: Option<String>,
    /// Stops decided so far.
    pub iteration: u32,
    /// The bound of `iteration`.
    pub max_iterations: u32,
    /// What is counted from one Stop to the next.
    pub counters: LoopCounters,
    /// What the last Stop left to do.
    pub remaining: RemainingWork,
    /// One entry per decided Stop.
    pub history: Vec<Iteration>,
    /// What the last Stop rested on.
    pub basis: StopBasis,
    /// Why it is paused, or what a terminal state has to say.
    pub note: Option<String>,
    /// What was taken over or allowed by hand, the oldest first.
    pub overrides: Vec<ManualOverride>,
    /// What the last decided Stop was answered.
    pub answer: Option<StopAnswer>,
    /// Start, in milliseconds since the epoch.
    pub created_ms: u64,
    /// Where its counted time begins, in milliseconds since the epoch: its start, or when a session
    /// claimed it, moved by the time it was paused.
    pub clock_ms: u64,
    /// Last change, in milliseconds since the epoch.
    pub updated_ms: u64,
}

/// The answer to a Stop, kept with what was decided: when it is lost on its way, it is given again
/// instead of deciding the same Stop twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopAnswer {
    /// The call that asked.
    pub call: String,
    /// Hash of what the host said with it; empty when it was not the host that asked.
    pub content: String,
    /// When it was saved, in milliseconds since the epoch.
    pub at_ms: u64,
    /// What was said.
    pub text: String,
    /// Whether it held the turn; else it was for the user.
    pub is_held: bool,
}

/// An override by hand: a finding allowed, or the exam frozen anew, at a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManualOverride {
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The finding that was allowed; `None` when the exam was frozen anew.
    pub finding: Option<String>,
    /// Whether a person did it, as far as can be told: the agent was not at work, or a person resumed
    /// the loop afterwards.
    pub is_confirmed: bool,
}

/// What is counted from one Stop to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopCounters {
    /// Blocks in a row that only waited for a measurement.
    pub unmeasured_blocks: u32,
    /// Rejections by the judge without an approval or a person between them.
    pub consecutive_rejections: u32,
    /// Blocks in a row without a tool call of the agent; the host has a cap for them.
    pub continuations: u32,
    /// Stops that the research gate held.
    pub research_tries: u32,
    /// Stops that were held because no file had been changed.
    pub idle_holds: u32,
    /// Tokens used since the start; `None` when nobody knows.
    pub tokens: Option<u64>,
}

/// What the last measured Stop rested on, for its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopBasis {
    /// What the agent said last, as one bounded line.
    pub last_words: String,
    /// Whether the promise was claimed, where one is asked for.
    pub is_claimed: Option<bool>,
    /// What each sensor said.
    pub sensors: Vec<SensorSummary>,
    /// What was not measured, one line each.
    pub gaps: Vec<String>,
    /// What the agent said and the measurements deny, one line each.
    pub contradictions: Vec<String>,
    /// Files that every sensor was asked about.
    pub files: usize,
    /// What a person should look at although nothing objects, one line each.
    pub observations: Vec<String>,
    /// Criteria that the project has commands for and that were not asked, by their words.
    pub unrequested_criteria: Vec<String>,
}

/// What one sensor said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SensorSummary {
    /// Its name and, where it said one, its version.
    pub sensor: String,
    /// Its kind, by its word.
    pub kind: String,
    /// `clean`, `dirty` or `unmeasured`.
    pub verdict: String,
    /// Files it measured.
    pub files: usize,
    /// The tests that passed, where it counted some.
    pub tests_passed: Option<u64>,
}

/// What one Stop left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingWork {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Errors from before the loop; they do not hold a Stop.
    pub older: usize,
    /// Checks that failed.
    pub checks_failed: Vec<String>,
}

/// One decided Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    /// Its number, from 1.
    pub number: u32,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// `clean`, `dirty`, `unmeasured` or `none`.
    pub checks: String,
    /// `continue` or the status it led to.
    pub verdict: String,
    /// How bad it was, in one number; `None` when it was not wholly measured and may be measured
    /// yet.
    pub weight: Option<u64>,
    /// Hash over everything that was wrong, with multiplicity; `None` when nothing was.
    pub wrong: Option<String>,
    /// Fingerprints of the errors, sorted and bounded; only the latest iterations keep them.
    pub errors_seen: Vec<String>,
    /// Codes of blocking findings of the guard.
    pub guard_codes: Vec<String>,
    /// Hash of the work tree.
    pub tree: Option<String>,
    /// Where the work tree is kept.
    pub checkpoint: Option<String>,
    /// Tokens used up to here since the start; `None` when nobody knew.
    pub tokens: Option<u64>,
    /// Whether it is better than every one before it.
    pub is_better: bool,
    /// Whether the agent was told that it goes back and forth.
    pub told_oscillation: bool,
}

impl LoopState {
    /// First line of the task.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.prompt.trim_start().lines().next().unwrap_or_default().trim_end()
    }

    /// The iteration to show: the one that runs now, or the last one of a loop that ended.
    #[must_use]
    pub fn current_iteration(&self) -> u32 {
        let completed = self.iteration;
        if self.status.is_active() { (completed + 1).min(self.max_iterations) } else { completed }
    }

    /// The language of the task, in which all texts of the loop are written.
    #[must_use]
    pub fn language(&self) -> MessageLanguage {
        language_of(&self.prompt)
    }

    /// Whether its time is used up.
    #[must_use]
    pub fn is_out_of_time(&self, now_ms: u64) -> bool {
        let most = self.options.max_minutes.map(|minutes| u64::from(minutes) * 60_000);
        most.is_some_and(|most| now_ms.saturating_sub(self.clock_ms) >= most)
    }

    /// Whether its tokens are used up; as long as nobody counts them, they are not.
    #[must_use]
    pub fn is_out_of_tokens(&self) -> bool {
        let used = self.options.max_tokens.zip(self.counters.tokens);
        used.is_some_and(|(most, used)| used >= most)
    }

    /// The number of the iteration with the least wrong; `None` before anything was measured.
    #[must_use]
    pub fn best(&self) -> Option<u32> {
        progress::best(&self.history).map(|one| one.number)
    }

    /// How many more iterations it takes at the pace of the last one; `None` without progress.
    #[must_use]
    pub fn forecast_iterations(&self) -> Option<usize> {
        let [.., before, last] = self.history.as_slice() else { return None };
        if !self.status.is_active() || last.errors == 0 {
            return None;
        }
        let pace = before.errors.checked_sub(last.errors).filter(|pace| *pace > 0)?;
        Some(last.errors.div_ceil(pace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::state;

    #[test]
    fn every_word_is_read_back_and_no_other_is_taken() {
        for (status, word) in Status::NAMES {
            assert_eq!((status.as_str(), Status::from_name(word)), (word, Some(status)));
        }
        assert_eq!((Status::MaxIterations.as_str(), Status::NAMES.len()), ("max_iterations", 12));
        assert_eq!(Status::from_name("Running"), None);
    }

    #[test]
    fn the_forecast_follows_the_last_pace_and_is_silent_without_progress() {
        let at = |errors| Iteration { number: 1, errors, ..Iteration::default() };
        let forecast = |errors: &[usize]| {
            let history = errors.iter().copied().map(at).collect();
            LoopState { history, ..state() }.forecast_iterations()
        };
        assert_eq!(forecast(&[7, 4]), Some(2));
        assert_eq!(forecast(&[4, 4]), None);
        assert_eq!(forecast(&[2, 5]), None);
        assert_eq!(forecast(&[3]), None);
        assert_eq!(forecast(&[3, 0]), None);
    }
}
