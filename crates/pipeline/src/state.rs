//! The state of one pipeline. It owns a loop, which holds the agent, measures its work and ends;
//! the pipeline adds phases, TODOs and gates.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::approved_plan::ApprovedPlan;
use crate::commits::PipelineCommit;
use crate::convergence::FixRound;
use crate::ending::LoopEnding;
use crate::file_patterns::FileReach;
use crate::gate::PipelineGates;
use crate::plan::{PlanDocument, TodoId, TodoStatus};
use crate::review::CategoryReview;
use crate::scenario_runs::{FrozenScenario, ScenarioRun};
use crate::shown_plan::{ShownPlan, version_without_boxes};
use crate::worktrees::TodoWorktree;
use moai_base::limits::{BUGFIX_ATTEMPTS_MAX, LOOP_OVERRIDES_MAX, PIPELINE_ITERATIONS_MAX};
use moai_loops::criteria::SPECS_FOLDER;
use moai_loops::{named_variants, serialize_by_name};

/// Size of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineKind {
    /// A plan, the work, gates, and rounds of fixes.
    Full,
    /// A plan, the work, and its end.
    Small,
    /// A few attempts at one fault, without a plan.
    Bugfix,
}

named_variants!(PipelineKind { Full: "full", Small: "small", Bugfix: "bugfix" });
serialize_by_name!(PipelineKind);

impl PipelineKind {
    /// True if the user approves a plan before the work.
    #[must_use]
    pub fn has_plan(self) -> bool {
        self != Self::Bugfix
    }

    /// Stops that its loop may take.
    #[must_use]
    pub fn iterations_max(self) -> u32 {
        match self {
            Self::Full | Self::Small => PIPELINE_ITERATIONS_MAX,
            Self::Bugfix => BUGFIX_ATTEMPTS_MAX,
        }
    }

    fn first_phase(self) -> PipelinePhase {
        if self.has_plan() { PipelinePhase::Plan } else { PipelinePhase::Fix }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelinePhase {
    /// The agent writes the plan, and the user approves it.
    Plan,
    /// The agents work on the TODOs.
    Sprint,
    /// Every TODO passes; the gates decide.
    Gate,
    /// A gate failed, or a fault is fixed.
    Fix,
    /// Everything passes; the loop completes.
    Finalize,
    /// It has ended with an outcome.
    Ended,
}

named_variants!(PipelinePhase {
    Plan: "plan",
    Sprint: "sprint",
    Gate: "gate",
    Fix: "fix",
    Finalize: "finalize",
    Ended: "ended",
});
serialize_by_name!(PipelinePhase);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineOutcome {
    /// Every TODO passes the engine's own runs, and everything was measured.
    Completed,
    /// Every TODO passes, but something could not be measured.
    Unverified,
    /// Some TODOs do not pass.
    Partial,
    /// The attempts at a fault are used up; a pipeline with a plan is proposed.
    Escalated,
    /// The user cancelled it.
    Cancelled,
}

named_variants!(PipelineOutcome {
    Completed: "completed",
    Unverified: "completed_unverified",
    Partial: "partial",
    Escalated: "escalated",
    Cancelled: "cancelled",
});
serialize_by_name!(PipelineOutcome);

/// The way in which a person approved a plan or answered a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanApprover {
    /// By a command at a terminal, or by a slash command.
    Person,
    /// By choosing an answer to a question that the host showed.
    Question,
}

named_variants!(PlanApprover { Person: "person", Question: "question" });
serialize_by_name!(PlanApprover);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAnswer {
    /// True if the person agreed.
    pub is_yes: bool,
    /// Time in milliseconds since the epoch.
    pub at_ms: u64,
    pub by: PlanApprover,
}

/// The engine's record of a TODO.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TodoProgress {
    /// True if all its acceptance commands passed in the engine's last run.
    pub has_passed: bool,
    /// Time of their first pass, in milliseconds since the epoch.
    pub passed_ms: Option<u64>,
    /// The failure on one line; empty if it passes or was not run.
    pub failure: String,
    /// True if a command has no result because its program is not installed.
    pub lacks_program: bool,
    /// True if one of them failed in one of the engine's runs.
    pub has_failed: bool,
    /// True if they passed at a Stop before any change.
    pub has_passed_untouched: bool,
    /// Ends of workers at which its commands did not pass.
    pub attempts: u32,
    /// True if the limit of attempts is reached.
    pub is_given_up: bool,
    /// True if the limit was reached before the attempts were counted from 0 again, until the next Stop opens
    /// its box.
    pub was_given_up: bool,
}

impl TodoProgress {
    /// The state of its box.
    #[must_use]
    pub fn status(&self) -> TodoStatus {
        match (self.has_passed, self.is_given_up) {
            (true, _) => TodoStatus::Done,
            (false, true) => TodoStatus::Failed,
            (false, false) => TodoStatus::Open,
        }
    }
}

/// A claim that the engine's own run did not confirm: a checkbox that was set back, or a worker's
/// report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxCorrection {
    pub todo: String,
    /// Time in milliseconds since the epoch.
    pub at_ms: u64,
    /// The reason, on one line.
    pub reason: String,
}

/// A learning, decision or open issue of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptLearning {
    /// Name of its document: `learnings.md`.
    pub file: String,
    /// The text, on one line.
    pub text: String,
    /// The TODO that it comes from.
    pub todo: String,
}

/// A worker's additional proposal, checked against the project's pivot points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptDiscovery {
    /// The proposal, on one line.
    pub summary: String,
    /// The TODO of its worker.
    pub todo: String,
    /// `accepted`, `ask the user` or `rejected`.
    pub verdict: String,
    /// Ids of the pivot points that it conflicts with, with reasons.
    pub conflicts: Vec<String>,
    /// A person's decision, if the verdict requires one.
    #[serde(default)]
    pub answer: Option<PersonAnswer>,
}

/// The reaction to a file change by a shell command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellWriteOutcome {
    /// It was reported.
    #[default]
    Named,
    /// It was restored to its contents before the command.
    TakenBack {
        /// The loop's checkpoint with the version written by the command.
        checkpoint: String,
    },
    /// It should have been restored, but was not.
    Left {
        /// The reason, as a fragment.
        reason: String,
    },
}

/// A source file that a shell command changed, although its agent may not write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellWriteRecord {
    /// The file, relative to the root.
    pub path: String,
    /// Time of detection, in milliseconds since the epoch.
    pub at_ms: u64,
    /// True if a worker ran the command, false for the main agent.
    pub is_by_worker: bool,
    /// The reaction.
    #[serde(default)]
    pub outcome: ShellWriteOutcome,
}

/// A change of what the frozen checks say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOverride {
    /// `loop refreeze` accepted these changes, one line each.
    Refrozen(Vec<String>),
    /// `guard allow` waived this finding.
    Allowed(String),
    /// The pipeline ended because tests or checks were weakened, and was continued.
    EndedAsGaming,
}

/// A move of a loop to another session; a session that has read about it is no longer named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopMove {
    pub from: Option<String>,
    pub to: Option<String>,
}

impl LoopMove {
    /// The rest once this session has read that the loop was moved to it.
    #[must_use]
    pub fn without_arrival(self, session: &str) -> Self {
        Self { to: self.to.filter(|to| to != session), ..self }
    }

    /// The rest once this session has read that the loop was moved away from it.
    #[must_use]
    pub fn without_departure(self, session: &str) -> Self {
        Self { from: self.from.filter(|from| from != session), ..self }
    }
}

/// The verdict of a discovery that a person decides about.
pub const ASKS_THE_USER: &str = "ask the user";

/// Acceptance commands at one Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassCount {
    /// TODOs whose commands all passed.
    pub passed: usize,
    /// TODOs of the approved plan.
    pub total: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineState {
    /// `pipeline-` and 8 hex digits.
    pub id: String,
    pub kind: PipelineKind,
    pub phase: PipelinePhase,
    /// Set when it has ended.
    pub outcome: Option<PipelineOutcome>,
    /// The goal, without the secrets in it.
    pub goal: String,
    /// Id of its specification, the name of a folder below `.moai/specs`.
    pub spec: String,
    /// The loop that holds the agent.
    pub loop_id: String,
    /// The approved plan; `None` until then.
    pub approved: Option<ApprovedPlan>,
    /// The version of the plan that its user was last shown, until it is approved.
    #[serde(default)]
    pub shown_plan: Option<ShownPlan>,
    /// The last version of the plan that the user did not approve, regardless of its boxes.
    #[serde(default)]
    pub declined_plan: Option<String>,
    /// The TODOs of the approved plan, by id.
    #[serde(default)]
    pub todos: BTreeMap<String, TodoProgress>,
    #[serde(default)]
    pub gates: PipelineGates,
    /// Learnings from accepted reports, for later work.
    #[serde(default)]
    pub learnings: Vec<KeptLearning>,
    /// Additional proposals of workers.
    #[serde(default)]
    pub discoveries: Vec<KeptDiscovery>,
    /// Rounds of fixes, oldest first.
    #[serde(default)]
    pub fix_rounds: Vec<FixRound>,
    /// Rounds before the plan was last extended, which do not count against the current approach.
    #[serde(default)]
    pub earlier_rounds: usize,
    /// True if the plan must be extended and approved again before the work continues.
    #[serde(default)]
    pub is_replanning: bool,
    /// Number of times that failed gates returned it to its plan.
    #[serde(default)]
    pub replans: u32,
    /// Earlier approaches and their failures, one line each, oldest first.
    #[serde(default)]
    pub tried: Vec<String>,
    /// Ids of the workers that have reported.
    #[serde(default)]
    pub known_workers: BTreeSet<String>,
    /// Workers that must not write any more, because a fresh one tries a different approach.
    #[serde(default)]
    pub retired_workers: BTreeSet<String>,
    /// True if the main agent may write source files itself, because the host has no subagents.
    #[serde(default)]
    pub is_solo: bool,
    /// TODOs that may be worked on in worktrees of their own at the same time; 0: none.
    #[serde(default)]
    pub workers: u32,
    /// The worktrees, oldest first.
    #[serde(default)]
    pub worktrees: Vec<TodoWorktree>,
    /// Tokens that each of its loops may use.
    #[serde(default)]
    pub max_tokens: Option<u64>,
    /// Source files that shell commands changed against the rules, oldest first.
    #[serde(default)]
    pub shell_writes: Vec<ShellWriteRecord>,
    /// Changes of what its frozen checks say, oldest first.
    #[serde(default)]
    pub check_overrides: Vec<CheckOverride>,
    /// The first changes of tests that the guard only warned about at the last Stop that it measured, one line
    /// each.
    #[serde(default)]
    pub test_warnings: Vec<String>,
    /// Number of all these changes.
    #[serde(default)]
    pub test_warnings_total: usize,
    /// Number of holds of each worker for its report, by the host's id of the agent.
    #[serde(default)]
    pub worker_holds: BTreeMap<String, u32>,
    /// Consecutive Stops at which the agent was held for its plan.
    #[serde(default)]
    pub plan_holds: u32,
    /// Answers about `[H]` items, by the names of the questions: `TODO-2/AC-2`.
    #[serde(default)]
    pub human_answers: BTreeMap<String, PersonAnswer>,
    /// Consecutive Stops at which only a person's answers were missing.
    #[serde(default)]
    pub question_holds: u32,
    /// Consecutive Stops at which the agent was held only for programs that are not installed.
    #[serde(default)]
    pub program_holds: u32,
    /// Checkboxes that were set back, oldest first.
    #[serde(default)]
    pub corrections: Vec<BoxCorrection>,
    /// One entry for each measured Stop, oldest first.
    #[serde(default)]
    pub pass_counts: Vec<PassCount>,
    /// The scenarios of the approved plan.
    #[serde(default)]
    pub scenarios: Vec<FrozenScenario>,
    /// Their runs, oldest first, by key.
    #[serde(default)]
    pub scenario_runs: BTreeMap<String, Vec<ScenarioRun>>,
    /// Consecutive Stops at which the agent was held for scenarios without a new run.
    #[serde(default)]
    pub scenario_holds: u32,
    /// The last review in eight categories.
    #[serde(default)]
    pub review: Option<CategoryReview>,
    /// The place where gate 1 ran the commands in addition to a Stop's own runs, or the reason why
    /// it did not.
    #[serde(default)]
    pub sandbox: Option<String>,
    /// Hashes of the gates' documents as written, by name.
    #[serde(default)]
    pub gate_documents: BTreeMap<String, String>,
    /// Documents of gates that others changed, oldest first.
    #[serde(default)]
    pub changed_documents: Vec<String>,
    /// The commit that the changes count from; `None` without git.
    #[serde(default)]
    pub base: Option<String>,
    /// The branch on which it began.
    #[serde(default)]
    pub first_branch: Option<String>,
    /// Files that were in no commit when it began, relative to the root.
    #[serde(default)]
    pub uncommitted_at_start: Vec<String>,
    /// Commits since its base, oldest first, if they are checked.
    #[serde(default)]
    pub commits: Vec<PipelineCommit>,
    /// Number of faults of the commits at the last Stop that checked them.
    #[serde(default)]
    pub commit_faults: usize,
    /// The reason why the commits are not verified, although required.
    #[serde(default)]
    pub commit_gap: Option<String>,
    /// Consecutive Stops without enough time for the checks of the commits.
    #[serde(default)]
    pub commit_waits: u32,
    /// Hashes of the other documents of its specification when the plan was approved, by path.
    #[serde(default)]
    pub approved_documents: BTreeMap<String, String>,
    /// Names of the parts of the plan that were not approved at the last Stop.
    #[serde(default)]
    pub unapproved: Vec<String>,
    /// Scripts of acceptance commands that were written after the approval.
    #[serde(default)]
    pub late_scripts: Vec<String>,
    /// True if files were changed, by this loop or an earlier one of the pipeline.
    #[serde(default)]
    pub has_work: bool,
    /// True if it was continued after an end: files may have changed before its present loop.
    #[serde(default)]
    pub is_resumed: bool,
    /// True if its documents for later work are written.
    #[serde(default)]
    pub has_left_documents: bool,
    /// Texts about decisions of a person at a terminal that its agent has not read yet, oldest first.
    #[serde(default)]
    pub untold: Vec<String>,
    /// A move of its loop that not all sessions concerned have read about.
    #[serde(default)]
    pub moved: Option<LoopMove>,
    /// How its loop ended, once it has.
    #[serde(default)]
    pub ending: Option<LoopEnding>,
    /// Start, in milliseconds since the epoch.
    pub created_ms: u64,
    /// Last change, in milliseconds since the epoch.
    pub updated_ms: u64,
}

impl PipelineState {
    #[must_use]
    pub fn begin(id: String, kind: PipelineKind, goal: String, spec: String, now_ms: u64) -> Self {
        Self {
            id,
            kind,
            phase: kind.first_phase(),
            outcome: None,
            goal,
            spec,
            loop_id: String::new(),
            approved: None,
            shown_plan: None,
            declined_plan: None,
            todos: BTreeMap::new(),
            gates: PipelineGates::default(),
            learnings: Vec::new(),
            discoveries: Vec::new(),
            fix_rounds: Vec::new(),
            earlier_rounds: 0,
            is_replanning: false,
            replans: 0,
            tried: Vec::new(),
            known_workers: BTreeSet::new(),
            retired_workers: BTreeSet::new(),
            is_solo: false,
            workers: 0,
            worktrees: Vec::new(),
            max_tokens: None,
            shell_writes: Vec::new(),
            check_overrides: Vec::new(),
            test_warnings: Vec::new(),
            test_warnings_total: 0,
            worker_holds: BTreeMap::new(),
            plan_holds: 0,
            human_answers: BTreeMap::new(),
            question_holds: 0,
            program_holds: 0,
            corrections: Vec::new(),
            pass_counts: Vec::new(),
            scenarios: Vec::new(),
            scenario_runs: BTreeMap::new(),
            scenario_holds: 0,
            review: None,
            sandbox: None,
            gate_documents: BTreeMap::new(),
            changed_documents: Vec::new(),
            base: None,
            first_branch: None,
            uncommitted_at_start: Vec::new(),
            commits: Vec::new(),
            commit_faults: 0,
            commit_gap: None,
            commit_waits: 0,
            approved_documents: BTreeMap::new(),
            unapproved: Vec::new(),
            late_scripts: Vec::new(),
            has_work: false,
            is_resumed: false,
            has_left_documents: false,
            untold: Vec::new(),
            moved: None,
            ending: None,
            created_ms: now_ms,
            updated_ms: now_ms,
        }
    }

    /// The version of the plan that the user knows: the one shown last, else the approved one.
    #[must_use]
    pub fn known_plan(&self) -> Option<ShownPlan> {
        let approved = || self.approved.as_ref().map(|approved| ShownPlan::of(approved.text()));
        self.shown_plan.clone().or_else(approved)
    }

    /// True if the user was asked about this plan and did not approve it.
    #[must_use]
    pub fn is_declined(&self, text: &str) -> bool {
        let declined = self.declined_plan.as_ref();
        declined.is_some_and(|declined| *declined == version_without_boxes(text))
    }

    /// True if its plan awaits approval, for the first time or after an extension.
    #[must_use]
    pub fn needs_approval(&self) -> bool {
        self.kind.has_plan() && (self.approved.is_none() || self.is_replanning)
    }

    /// True if it still holds its session.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.phase != PipelinePhase::Ended
    }

    /// Path of its plan, relative to the root.
    #[must_use]
    pub fn plan_path(&self) -> String {
        format!("{SPECS_FOLDER}/{}/plan.md", self.spec)
    }

    /// TODOs that can be worked on now, at the same time: all their dependencies pass, and no file
    /// may belong to two of them. TODOs in worktrees are excluded.
    #[must_use]
    pub fn ready_todos(&self) -> Vec<TodoId> {
        let plan = self.approved.as_ref().map(ApprovedPlan::document);
        plan.map(|plan| self.ready_among(&plan)).unwrap_or_default()
    }

    /// The same, with the approved plan.
    pub(crate) fn ready_among(&self, plan: &PlanDocument) -> Vec<TodoId> {
        let has_passed = |id: &TodoId| self.todos.get(id.as_str()).is_some_and(|it| it.has_passed);
        let is_given_up =
            |id: &TodoId| self.todos.get(id.as_str()).is_some_and(|it| it.is_given_up);
        let is_in_worktree = |id: &TodoId| self.working_trees().any(|tree| tree.todo == *id);
        let mut taken = self.reach_of_worktrees(plan);
        let mut ready = Vec::new();
        for todo in &plan.todos {
            let is_open =
                !has_passed(&todo.id) && !is_given_up(&todo.id) && !is_in_worktree(&todo.id);
            if !is_open || !todo.dependencies.iter().all(has_passed) {
                continue;
            }
            let reach = FileReach::of(&todo.files);
            if !taken.iter().any(|other| other.meets(&reach)) {
                taken.push(reach);
                ready.push(todo.id.clone());
            }
        }
        ready
    }

    /// Ids of the TODOs at which workers failed too often.
    #[must_use]
    pub fn failed_todos(&self) -> Vec<String> {
        let failed = self.todos.iter().filter(|(_, it)| it.is_given_up && !it.has_passed);
        failed.map(|(id, _)| id.clone()).collect()
    }

    /// Records a change of what the frozen checks say.
    pub fn note_override(&mut self, one: CheckOverride) {
        if self.check_overrides.last() != Some(&one) {
            self.check_overrides.push(one);
        }
        let surplus = self.check_overrides.len().saturating_sub(LOOP_OVERRIDES_MAX);
        self.check_overrides.drain(..surplus);
    }

    /// Number of TODOs that passed in the engine's last run.
    #[must_use]
    pub fn passed_todos(&self) -> usize {
        self.todos.values().filter(|it| it.has_passed).count()
    }
}

#[cfg(test)]
mod tests {
    use super::LoopMove;

    #[test]
    fn a_session_that_reads_where_its_loop_is_has_not_read_about_another_move() {
        let moved = LoopMove { from: Some("a".to_owned()), to: Some("b".to_owned()) };
        assert_eq!(moved.clone().without_arrival("a"), moved);
        let read = moved.clone().without_arrival("b");
        assert_eq!(read, LoopMove { from: Some("a".to_owned()), to: None });
        assert_eq!(read.without_departure("a"), LoopMove::default());
    }
}
