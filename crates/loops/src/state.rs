//! The state of one loop.

use super::criteria::CheckScope;
use super::framework::{MessageLanguage, language_of};
use super::options::LoopOptions;
use super::progress;
use crate::named_enum::{named_variants, serialize_by_name};
use moai_base::redaction::redact;

/// Status of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Decides the next Stop of its session.
    Running,
    /// Waits for the user.
    Paused,
    /// Done, and everything required was measured.
    Completed,
    /// No problem was found, but something could not be measured.
    CompletedUnverified,
    /// Reached the maximum of iterations.
    MaxIterations,
    /// Reached the maximum running time.
    TimedOut,
    /// Reached the maximum of tokens.
    Budget,
    /// No progress over several iterations.
    Stalled,
    /// Alternated between the same states.
    Oscillating,
    /// Tests or checks were weakened again in a way the agent had been warned about.
    Gaming,
    /// Cancelled by the user.
    Cancelled,
    /// The work is done, but a final step such as the merge failed.
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
serialize_by_name!(Status);

impl Status {
    /// True if the loop can still hold its session.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// `milestone_every` iterations have passed.
    Milestone,
    /// Too many consecutive rejections by the judge: the user should review (human in the loop).
    Hitl,
    /// A required language server could not measure.
    LspRequired,
    /// The session uses more of the model's context than the budget allows.
    ContextBudget,
    /// The exam changed, and the loop's session did not write the change.
    ExamChanged,
    /// A finding was waived or the exam refrozen while the agent was working.
    Overridden,
    /// The user works where the base branch is checked out, so only the user can move it.
    BaseInUse,
    /// The plan of the loop's pipeline cannot be read, and the agent did not repair it.
    PlanUnusable,
    /// A person must answer questions of the loop's pipeline.
    AwaitsPerson,
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
    PlanUnusable: "plan_unusable",
    AwaitsPerson: "awaits_person",
    User: "user",
});

/// The basis of a loop's decisions, in addition to the evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Evidence only.
    #[default]
    Basic,
    /// A judge reviews the change once all evidence is clean.
    Judge,
    /// Works on its own branch without waiting for the user; merged at the end.
    Autonomous,
}

named_variants!(Mode { Basic: "basic", Judge: "judge", Autonomous: "autonomous" });
serialize_by_name!(Mode);

/// Completion condition of a loop, in addition to clean evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntilCondition {
    /// Language servers and scan are clean, and the project's checks pass: the configured ones, else
    /// those proposed from its files.
    Clean,
    /// Language servers and scan are clean, and the configured checks pass, if any.
    Diagnostics,
    /// Like `Diagnostics`, but a project without checks is refused.
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
    /// The project's checks that a Stop runs.
    #[must_use]
    pub fn check_scope(self) -> CheckScope {
        match self {
            Self::Clean | Self::Promise => CheckScope::Proposed,
            Self::Diagnostics | Self::Checks => CheckScope::Configured,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopState {
    /// `loop-` and 8 hex digits.
    pub id: String,
    /// The owning session; `None` until a session claims the loop. Never empty.
    pub session_id: Option<String>,
    /// The basis of its decisions.
    pub mode: Mode,
    pub status: Status,
    /// Set while the loop is paused.
    pub pause_reason: Option<PauseReason>,
    /// The completion condition.
    pub until: UntilCondition,
    /// The task, byte for byte.
    pub prompt: String,
    /// The text inside the promise tag.
    pub promise: Option<String>,
    pub options: LoopOptions,
    /// Names of the project's checks that every Stop runs.
    pub checks: Vec<String>,
    /// Sensors and checks that measured at an earlier Stop, as `kind:name`.
    pub measured_sensors: Vec<String>,
    /// Stalls and oscillation are counted after this iteration: 0, or where the user resumed a
    /// stalled or oscillating loop.
    pub counted_from: u32,
    /// The commit the loop started from, as `host::git` names it; later commits are measured, too.
    pub base: Option<String>,
    /// The branch of an autonomous loop.
    pub branch: Option<String>,
    /// Stops decided so far.
    pub iteration: u32,
    /// Upper bound of `iteration`.
    pub max_iterations: u32,
    /// Counters carried from one Stop to the next.
    pub counters: LoopCounters,
    /// Work that remains after the last Stop.
    pub remaining: RemainingWork,
    /// One entry per decided Stop.
    pub history: Vec<Iteration>,
    /// The basis of the last measured Stop.
    pub basis: StopBasis,
    /// Explains a pause or a final status.
    pub note: Option<String>,
    /// Waivers and refreezes by hand, oldest first.
    pub overrides: Vec<ManualOverride>,
    /// Events that the session's host did not send, oldest first.
    pub foreign_events: Vec<ForeignEvent>,
    /// Files that changed in the turn that completed the loop, after its last Stop.
    pub late_changes: Vec<String>,
    /// The loop that the agent cancelled before it started this one: exam and base are that one's.
    pub continues: Option<String>,
    /// The answer to the last decided Stop.
    pub answer: Option<StopAnswer>,
    /// Start, in milliseconds since the epoch.
    pub created_ms: u64,
    /// Start of the counted time, in milliseconds since the epoch: when the loop started or a session
    /// claimed it, plus the time it was paused.
    pub clock_ms: u64,
    /// Last change, in milliseconds since the epoch.
    pub updated_ms: u64,
}

/// The answer to a Stop, stored with the decision: if its delivery fails, it is repeated instead of
/// deciding the same Stop twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopAnswer {
    /// Id of the hook call.
    pub call: String,
    /// Hash of the host's input; empty when the call did not come from the host.
    pub content: String,
    /// When it was saved, in milliseconds since the epoch.
    pub at_ms: u64,
    pub text: String,
    /// True if the turn was held; otherwise the text is for the user.
    pub is_held: bool,
}

/// An override at a terminal: a finding was waived or the exam refrozen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManualOverride {
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The waived finding; `None` for a refreeze.
    pub finding: Option<String>,
    /// True if the user probably did it: the agent was not working, or the user resumed the loop
    /// afterwards.
    pub is_confirmed: bool,
}

/// A hook event of the loop's session that did not come from the session's host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignEvent {
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// The host's name of the event.
    pub event: String,
    /// True if it was handled: it came from a second host, which the user may have started.
    pub is_obeyed: bool,
}

/// Counters carried from one Stop to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoopCounters {
    /// Consecutive holds that only waited for a measurement.
    pub unmeasured_blocks: u32,
    /// Consecutive rejections by the judge, without an approval or a resume between them.
    pub consecutive_rejections: u32,
    /// Consecutive holds without a tool call of the agent; the host caps them.
    pub continuations: u32,
    /// Stops held by the research gate.
    pub research_tries: u32,
    /// Stops held because no file had changed.
    pub idle_holds: u32,
    /// Tokens used since the start; `None` when unknown.
    pub tokens: Option<u64>,
}

/// The basis of the last measured Stop, for its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopBasis {
    /// The agent's last message as one bounded line.
    pub last_words: String,
    /// True if the promise was claimed; `None` when no promise is required.
    pub is_claimed: Option<bool>,
    /// One summary per sensor.
    pub sensors: Vec<SensorSummary>,
    /// Gaps, one line each.
    pub gaps: Vec<String>,
    /// Claims of the agent that the measurements contradict, one line each.
    pub contradictions: Vec<String>,
    /// Number of files that every sensor was asked about.
    pub files: usize,
    /// Notes for the user that do not hold the Stop, one line each.
    pub observations: Vec<String>,
    /// Names of criteria that the project has commands for but the loop does not require.
    pub unrequested_criteria: Vec<String>,
}

/// Summary of one sensor's results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SensorSummary {
    /// Name and, if known, version.
    pub sensor: String,
    pub kind: String,
    /// `clean`, `dirty` or `unmeasured`.
    pub verdict: String,
    /// Number of files it measured.
    pub files: usize,
    /// Number of tests passed, if it counts tests.
    pub tests_passed: Option<u64>,
}

/// Work that remains after a Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemainingWork {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Older errors; they do not hold a Stop.
    pub older: usize,
    pub checks_failed: Vec<String>,
}

/// One decided Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iteration {
    /// From 1.
    pub number: u32,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// `clean`, `dirty`, `unmeasured` or `none`.
    pub checks: String,
    /// `continue` or the resulting status.
    pub verdict: String,
    /// Total weight of the problems; `None` when a measurement is missing that may still come.
    pub weight: Option<u64>,
    /// Hash over all problems, with multiplicity; `None` without problems.
    pub wrong: Option<String>,
    /// Fingerprints of errors, sorted and bounded; kept for the latest iterations only.
    pub errors_seen: Vec<String>,
    /// Codes of the guard's blocking findings.
    pub guard_codes: Vec<String>,
    /// Hash of the worktree's files.
    pub tree: Option<String>,
    /// The checkpoint of the worktree.
    pub checkpoint: Option<String>,
    /// Tokens used from the start of the loop; `None` when unknown.
    pub tokens: Option<u64>,
    /// True if it is better than all earlier iterations.
    pub is_better: bool,
    /// True if an oscillation was reported to the agent.
    pub oscillation_was_reported: bool,
}

impl LoopState {
    /// The state for the store: without the secrets in texts of the user, the agent and tools.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        self.prompt = redact(self.prompt);
        self.note = self.note.map(redact);
        self.basis.last_words = redact(self.basis.last_words);
        let basis = &mut self.basis;
        for lines in [&mut basis.gaps, &mut basis.contradictions, &mut basis.observations] {
            *lines = std::mem::take(lines).into_iter().map(redact).collect();
        }
        if let Some(answer) = &mut self.answer {
            answer.text = redact(std::mem::take(&mut answer.text));
        }
        self
    }

    /// First line of the task.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.prompt.trim_start().lines().next().unwrap_or_default().trim_end()
    }

    /// The iteration to display: the current one, or the last one of an ended loop.
    #[must_use]
    pub fn current_iteration(&self) -> u32 {
        if self.status.is_active() {
            (self.iteration + 1).min(self.max_iterations)
        } else {
            self.iteration
        }
    }

    /// The language of the task; all texts of the loop use it.
    #[must_use]
    pub fn language(&self) -> MessageLanguage {
        language_of(&self.prompt)
    }

    /// True if its time is used up.
    #[must_use]
    pub fn is_out_of_time(&self, now_ms: u64) -> bool {
        let limit_ms = self.options.max_minutes.map(|minutes| u64::from(minutes) * 60_000);
        limit_ms.is_some_and(|limit_ms| now_ms.saturating_sub(self.clock_ms) >= limit_ms)
    }

    /// True if its tokens are used up; false while they are unknown.
    #[must_use]
    pub fn is_out_of_tokens(&self) -> bool {
        let limit_and_used = self.options.max_tokens.zip(self.counters.tokens);
        limit_and_used.is_some_and(|(limit, used)| used >= limit)
    }

    /// Number of the best iteration; `None` before the first measurement.
    #[must_use]
    pub fn best(&self) -> Option<u32> {
        progress::best(&self.history).map(|iteration| iteration.number)
    }

    /// Remaining iterations at the pace of the last one; `None` without progress.
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
    fn status_names_round_trip_and_others_are_refused() {
        for (status, name) in Status::NAMES {
            assert_eq!((status.as_str(), Status::from_name(name)), (name, Some(status)));
        }
        assert_eq!((Status::MaxIterations.as_str(), Status::NAMES.len()), ("max_iterations", 12));
        assert_eq!(Status::from_name("Running"), None);
    }

    fn forecast(error_counts: &[usize]) -> Option<usize> {
        let history = error_counts
            .iter()
            .map(|&errors| Iteration { number: 1, errors, ..Iteration::default() })
            .collect();
        LoopState { history, ..state() }.forecast_iterations()
    }

    #[test]
    fn the_forecast_follows_the_last_pace_and_is_silent_without_progress() {
        assert_eq!(forecast(&[7, 4]), Some(2));
        assert_eq!(forecast(&[4, 4]), None);
        assert_eq!(forecast(&[2, 5]), None);
        assert_eq!(forecast(&[3]), None);
        assert_eq!(forecast(&[3, 0]), None);
    }
}
