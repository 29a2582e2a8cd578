//! The decisions of a pipeline: state and event in, next state and decisions out. The loop of the
//! pipeline holds and ends the agent's turn; a pipeline reports the open points of its plan.

mod gate_steps;
mod resumption;
mod rounds;
mod worker_end;
mod worktree_end;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use self::gate_steps::{SandboxFailure, SandboxReading};
use self::resumption::resume;
use self::rounds::{begin_round, forget_attempts, gate_failed, out_of_rounds, what_follows};
use self::worker_end::{hold_worker, worker_end};
use self::worktree_end::worktree_end;
use crate::approved_plan::{ApprovedPlan, unapproved_parts};
use crate::commits::CommitsReading;
use crate::convergence::FixStrategy;
use crate::ending::{EndReason, LoopEnding};
use crate::gate::{GateStatus, PipelineGates, ReviewReading};
use crate::objection::{PlanObjection, UnapprovedPart};
use crate::person_question;
use crate::person_question::{PersonQuestion, questions_of};
use crate::pivot::PivotDocument;
use crate::plan::{AcceptanceKind, PlanDocument, Todo, TodoId, TodoStatus};
use crate::review::CategoryReview;
use crate::scenario_runs::ScenarioRun;
use crate::shown_plan::{ShownPlan, version_without_boxes};
use crate::state::{
    BoxCorrection, PassCount, PipelineKind, PipelinePhase, PipelineState, PlanApprover,
    ShellWriteRecord,
};
use crate::todo_failure::{FailureKind, TodoFailure};
use crate::worker_report::WorkerReport;
use crate::worktrees::{TodoWorktree, WorktreeEnding};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    BOX_CORRECTIONS_MAX, GATE_ROUNDS_MAX, PASS_COUNTS_MAX, PLAN_FAULT_HOLDS_MAX, PLAN_HOLDS_MAX,
    QUESTION_HOLDS_MAX, SHELL_WRITES_KEPT_MAX, TEST_WARNINGS_MAX, TODO_FAILURE_CHARS_MAX,
    UNMEASURED_BLOCKS_MAX,
};

/// The result of the engine's own run of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandReading {
    Passed,
    /// It failed, with this output.
    Failed(String),
    /// It was not completed, with the reason.
    Unmeasured(String),
    /// Its program is not installed, with the remedy if one is known.
    NotInstalled(String),
}

/// The readings of a Stop after the approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReading {
    /// The current plan; `None` if it is missing or unreadable.
    pub plan: Option<String>,
    /// The reason why it cannot be read, as a fragment.
    pub plan_gap: Option<String>,
    /// The engine's runs, by program and arguments.
    pub commands: BTreeMap<Vec<String>, CommandReading>,
    /// Hash of all problems apart from the acceptance commands; `None` if there are none.
    pub problems: Option<String>,
    /// True if files differ from the beginning of the loop.
    pub has_work: bool,
    /// True if it is certain that no file differs.
    pub is_untouched: bool,
    /// Documents of the specification that differ from their approved versions.
    pub changed_documents: Vec<String>,
    /// Scripts of acceptance commands that are not in the exam.
    pub late_scripts: Vec<String>,
    /// Changes of tests that the guard only warns about; `None` if it did not run.
    pub test_warnings: Option<Vec<String>>,
}

/// The end of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReading {
    /// The host's id of the agent.
    pub agent: String,
    /// Its report, or the reason why it has none, as a fragment.
    pub report: Result<WorkerReport, String>,
    /// The project's pivot points.
    pub pivots: PivotDocument,
    /// The engine's runs of its TODO's commands, by program and arguments.
    pub commands: BTreeMap<Vec<String>, CommandReading>,
    /// True if weakened tests and checks could not be looked for, so that no run counts as passed.
    pub is_unguarded: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineEvent {
    /// A Stop before the approval.
    PlanReviewed {
        /// The current plan; `None` if there is none.
        text: Option<String>,
        /// Faults of the other documents, and of the links between them.
        documents: Vec<PlanObjection>,
    },
    /// The user was shown a plan that may be approved.
    PlanShown {
        text: String,
    },
    /// The user does not approve this plan.
    PlanDeclined {
        text: String,
    },
    /// The user approved this plan.
    PlanApproved {
        text: String,
        by: PlanApprover,
    },
    /// A Stop after the approval.
    WorkMeasured(WorkReading),
    /// A worker is about to end.
    WorkerEnded(Box<WorkerReading>),
    /// The loop decided a Stop after the approval, having asked the judges or not.
    ReviewGiven(ReviewReading),
    /// A person answered a question.
    PersonAnswered {
        /// The name of the question.
        name: String,
        /// True if the person agreed.
        is_yes: bool,
        by: PlanApprover,
    },
    /// Shell commands of the main agent changed source files.
    ShellWrote(Vec<ShellWriteRecord>),
    LoopEnded(LoopEnding),
    /// The user continues a pipeline that has ended, with this loop.
    Resumed {
        /// The new loop.
        loop_id: String,
    },
    /// Everything passes, and the options require commits: the state of the commits.
    CommitsMeasured(CommitsReading),
    /// An agent that helps the pipeline is about to end.
    HelperEnded {
        /// The host's id of the agent.
        agent: String,
        /// Faults of its answer, as fragments.
        faults: Vec<String>,
    },
    /// A plan was approved: the text of the specification's `acceptance.md`, if there is one.
    ScenariosFrozen(Option<String>),
    /// An agent has played a scenario once.
    ScenarioPlayed {
        /// The host's id of the agent.
        agent: String,
        /// Key of the scenario.
        scenario: String,
        run: ScenarioRun,
        /// True if the agent reports that it passed.
        is_claimed: bool,
    },
    /// Every test passes: the identity of the source files, for the scenarios' runs.
    ScenariosReviewed(Option<String>),
    /// Every test passes: the judges' review in eight categories.
    CategoriesReviewed(CategoryReview),
    /// Every test passes on the host: the runs in a container.
    SandboxMeasured(SandboxReading),
    /// TODOs got worktrees.
    WorktreesMade(Vec<TodoWorktree>),
    /// The loop of a worktree has ended.
    WorktreeEnded {
        loop_id: String,
        ending: WorktreeEnding,
    },
    /// Paths of documents of gates that were changed after they were written.
    DocumentsChanged(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineDecision {
    /// The turn continues.
    Hold(Vec<PlanObjection>),
    /// The turn may end: the user must approve the plan.
    AwaitApproval,
    /// The turn may end: the agent was held often enough for a plan.
    GiveUpPlan(Vec<PlanObjection>),
    /// Pause for the user.
    Pause(Vec<PlanObjection>),
    /// Pause until a person has answered.
    AwaitPerson(Vec<PersonQuestion>),
    /// Pause until a person has approved these additions to the plan, or they are removed.
    AwaitAdditions(Vec<UnapprovedPart>),
    /// A different approach begins: earlier Stops do not count as a lack of progress.
    BeginAnew,
    /// The pipeline cannot be finished: the loop's next decision is its last.
    EndWithFailures(EndReason),
    /// Write this state into the checkbox of a TODO.
    SetBox {
        todo: TodoId,
        /// Its state.
        status: TodoStatus,
    },
}

/// The next state of a pipeline, and the decisions.
#[must_use]
pub fn step(
    state: &PipelineState,
    event: PipelineEvent,
    now_ms: u64,
) -> (PipelineState, Vec<PipelineDecision>) {
    let mut next = PipelineState { updated_ms: now_ms, ..state.clone() };
    let is_resumed = matches!(event, PipelineEvent::Resumed { .. });
    if state.is_active() == is_resumed {
        return (state.clone(), Vec::new());
    }
    let decisions = match event {
        PipelineEvent::PlanReviewed { text, documents } => {
            review_plan(&mut next, text.as_deref(), documents)
        }
        PipelineEvent::PlanShown { text } => {
            next.shown_plan = Some(ShownPlan::of(&text));
            Vec::new()
        }
        PipelineEvent::PlanDeclined { text } => {
            next.declined_plan = Some(version_without_boxes(&text));
            Vec::new()
        }
        PipelineEvent::PlanApproved { text, by } => approve_plan(&mut next, text, by, now_ms),
        PipelineEvent::WorkMeasured(reading) => measure_work(&mut next, &reading, now_ms),
        PipelineEvent::WorkerEnded(reading) => worker_end(&mut next, &reading, now_ms),
        PipelineEvent::ReviewGiven(review) => note_review(&mut next, review),
        PipelineEvent::PersonAnswered { name, is_yes, by } => {
            person_question::note_answer(&mut next, &name, is_yes, by, now_ms);
            Vec::new()
        }
        PipelineEvent::ShellWrote(records) => {
            next.shell_writes.extend(records);
            let surplus = next.shell_writes.len().saturating_sub(SHELL_WRITES_KEPT_MAX);
            next.shell_writes.drain(..surplus);
            Vec::new()
        }
        PipelineEvent::LoopEnded(ending) => end(&mut next, ending),
        PipelineEvent::Resumed { loop_id } => resume(&mut next, loop_id),
        PipelineEvent::CommitsMeasured(reading) => gate_steps::measure_commits(&mut next, reading),
        PipelineEvent::HelperEnded { agent, faults } => {
            gate_steps::helper_end(&mut next, &agent, faults)
        }
        PipelineEvent::ScenariosFrozen(acceptance) => {
            gate_steps::freeze_scenarios(&mut next, acceptance.as_deref())
        }
        PipelineEvent::ScenarioPlayed { agent, scenario, run, is_claimed } => {
            gate_steps::note_scenario_run(&mut next, &agent, &scenario, run, is_claimed, now_ms)
        }
        PipelineEvent::ScenariosReviewed(work) => {
            gate_steps::review_scenarios(&mut next, work.as_deref())
        }
        PipelineEvent::CategoriesReviewed(review) => {
            gate_steps::review_categories(&mut next, review)
        }
        PipelineEvent::SandboxMeasured(reading) => gate_steps::note_sandbox(&mut next, reading),
        PipelineEvent::WorktreesMade(made) => {
            next.add_worktrees(made);
            Vec::new()
        }
        PipelineEvent::WorktreeEnded { loop_id, ending } => {
            worktree_end(&mut next, &loop_id, &ending, now_ms)
        }
        PipelineEvent::DocumentsChanged(changed) => {
            gate_steps::note_changed_documents(&mut next, changed)
        }
    };
    (next, decisions)
}

/// The objections to the approval of a plan.
#[must_use]
pub fn approval_objections(state: &PipelineState, text: Option<&str>) -> Vec<PlanObjection> {
    let Some(text) = text else { return vec![PlanObjection::Missing] };
    let plan = match &state.approved {
        Some(approved) => approved.document_on_disk(text),
        None => Arc::new(PlanDocument::parse(text)),
    };
    let mut objections = plan_faults(state, &plan);
    // A fault of a line is more precise.
    let is_sound = |line: usize| plan.faults.iter().all(|fault| fault.line != line);
    for todo in &plan.todos {
        let mut commands = todo.items_of(AcceptanceKind::Automatic).peekable();
        if commands.peek().is_none() && is_sound(todo.line) {
            objections.push(PlanObjection::NoCommand { todo: todo.id.clone(), line: todo.line });
        }
        let shell = commands.filter(|item| item.argv.is_empty() && is_sound(item.line));
        objections.extend(shell.map(|item| PlanObjection::ShellCommand {
            todo: todo.id.clone(),
            line: item.line,
            command: item.command.clone().unwrap_or_else(|| item.text.clone()),
        }));
    }
    if let Some(approved) = &state.approved {
        let approved = approved.document();
        let changes = plan.unapproved_changes(&approved);
        objections.extend(changes.into_iter().map(PlanObjection::Changed));
        if state.is_replanning && !plan.has_grown_since(&approved) {
            objections.push(PlanObjection::NothingNew { tried: state.tried.clone() });
        }
    }
    objections
}

/// The faults of a plan. One that was emptied since its approval has only this fault.
fn plan_faults(state: &PipelineState, plan: &PlanDocument) -> Vec<PlanObjection> {
    if plan.todos.is_empty() && plan.faults.len() <= 1 && state.approved.is_some() {
        return vec![PlanObjection::NoTodo];
    }
    plan.faults.iter().cloned().map(PlanObjection::Fault).collect()
}

fn review_plan(
    next: &mut PipelineState,
    text: Option<&str>,
    documents: Vec<PlanObjection>,
) -> Vec<PipelineDecision> {
    let mut objections = approval_objections(next, text);
    objections.extend(documents);
    if objections.is_empty() {
        next.plan_holds = 0;
        next.shown_plan = text.map(ShownPlan::of);
        return vec![PipelineDecision::AwaitApproval];
    }
    next.plan_holds += 1;
    if next.plan_holds > PLAN_HOLDS_MAX {
        next.plan_holds = 0;
        return vec![PipelineDecision::GiveUpPlan(objections)];
    }
    vec![PipelineDecision::Hold(objections)]
}

fn approve_plan(
    next: &mut PipelineState,
    text: String,
    by: PlanApprover,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    let plan = PlanDocument::parse(&text);
    for todo in &plan.todos {
        next.todos.entry(todo.id.to_string()).or_default();
    }
    next.approved = Some(ApprovedPlan::new(text, now_ms, by));
    next.shown_plan = None;
    next.declined_plan = None;
    next.unapproved.clear();
    next.phase = PipelinePhase::Sprint;
    next.plan_holds = 0;
    next.question_holds = 0;
    if next.is_replanning {
        next.is_replanning = false;
        next.gates = PipelineGates::default();
        forget_attempts(next);
    }
    Vec::new()
}

/// The result of the runs for one TODO.
enum TodoReading {
    Passed,
    Failed(String),
    Unmeasured(String),
    NotInstalled(String),
}

fn measure_work(
    next: &mut PipelineState,
    reading: &WorkReading,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    next.has_work |= reading.has_work;
    if let Some(warnings) = &reading.test_warnings {
        next.test_warnings_total = warnings.len();
        next.test_warnings = warnings.iter().take(TEST_WARNINGS_MAX).cloned().collect();
    }
    let Some(approved) = next.approved.clone() else { return Vec::new() };
    let agreed = approved.document();
    next.late_scripts.clone_from(&reading.late_scripts);
    next.late_scripts.retain(|path| !agreed.todos.iter().any(|todo| todo.names(path)));
    let before = next.todos.clone();
    let is_untouched = reading.is_untouched && !next.has_work && !next.is_resumed;
    for todo in &agreed.todos {
        note_run(next, todo, &reading.commands, now_ms);
    }
    let proves_nothing =
        if is_untouched { note_passing_already(next, &agreed) } else { Vec::new() };
    let (passed, total) = (next.passed_todos(), next.todos.len());
    next.pass_counts.push(PassCount { passed, total });
    let surplus = next.pass_counts.len().saturating_sub(PASS_COUNTS_MAX);
    next.pass_counts.drain(..surplus);
    let Some(text) = &reading.plan else {
        let unreadable =
            reading.plan_gap.clone().map(|reason| PlanObjection::Unreadable { reason });
        return hold_for_plan(next, vec![unreadable.unwrap_or(PlanObjection::Missing)]);
    };
    let plan = approved.document_on_disk(text);
    let faults = plan_faults(next, &plan);
    if !faults.is_empty() {
        return hold_for_plan(next, faults);
    }
    next.plan_holds = 0;
    let strategy = enter_phase(next, passed == total, reading);
    let changes = plan.unapproved_changes(&agreed).into_iter();
    let mut objections: Vec<PlanObjection> = changes.map(PlanObjection::Changed).collect();
    let documents = reading.changed_documents.iter().cloned();
    objections.extend(documents.map(|path| PlanObjection::DocumentChanged { path }));
    let mut decisions = Vec::new();
    let added = unapproved_parts(&agreed, &plan);
    next.unapproved = added.iter().map(|part| part.name.clone()).collect();
    for todo in &plan.todos {
        let has_passed = before.get(todo.id.as_str()).is_some_and(|it| it.has_passed);
        let (expected, objection) = review_box(next, todo, has_passed, now_ms);
        if expected != todo.status {
            decisions.push(PipelineDecision::SetBox { todo: todo.id.clone(), status: expected });
        }
        objections.extend(objection);
    }
    if let Some(strategy) = strategy {
        objections.push(gate_failed(next, strategy));
    }
    let is_rest_done = objections.is_empty() && passed == total && reading.problems.is_none();
    let questions = questions_of(next, &agreed);
    let asks = !questions.is_empty() || !added.is_empty();
    if is_rest_done && has_asked_enough(next, asks) {
        if !added.is_empty() {
            decisions.push(PipelineDecision::AwaitAdditions(added));
        }
        if !questions.is_empty() {
            decisions.push(PipelineDecision::AwaitPerson(questions));
        }
        return decisions;
    }
    if !added.is_empty() {
        let is_declined = next.is_declined(text);
        let added =
            if is_declined { PlanObjection::Declined } else { PlanObjection::Unapproved }(added);
        objections.push(added);
    }
    objections.extend(questions.into_iter().map(PlanObjection::NeedsPerson));
    let ready = next.ready_among(&agreed);
    let has_failed = reading.commands.values().any(|it| matches!(it, CommandReading::Failed(_)));
    if objections.is_empty() && !has_failed && reading.problems.is_none() {
        objections.extend(hold_for_programs(next));
    }
    // If nothing else holds the pipeline, it ends, and its end reports them.
    if (has_failed || !objections.is_empty()) && !proves_nothing.is_empty() {
        objections.push(PlanObjection::PassesAlready { todos: proves_nothing });
    }
    let given_up = next.failed_todos();
    if has_failed && !given_up.is_empty() && !next.is_replanning {
        objections.push(PlanObjection::GivenUp { todos: given_up });
    }
    if has_failed && !ready.is_empty() && !next.is_replanning {
        objections.push(PlanObjection::Ready { todos: ready });
    }
    if !objections.is_empty() {
        decisions.push(PipelineDecision::Hold(objections));
    }
    decisions.extend(strategy.iter().flat_map(|strategy| what_follows(next, *strategy)));
    let failed = next.failed_todos();
    if !failed.is_empty() && passed + failed.len() == total {
        decisions.push(PipelineDecision::EndWithFailures(EndReason::AttemptsUsedUp(failed)));
    } else if next.fix_rounds.len() >= GATE_ROUNDS_MAX {
        decisions.push(out_of_rounds());
    }
    decisions
}

/// Records the TODOs whose commands pass without any change; returns the newly found ones.
fn note_passing_already(next: &mut PipelineState, agreed: &PlanDocument) -> Vec<TodoId> {
    let mut new = Vec::new();
    for todo in &agreed.todos {
        let progress = next.todos.get_mut(todo.id.as_str());
        let progress =
            progress.filter(|it| it.has_passed && !it.has_failed && !it.has_passed_untouched);
        if let Some(progress) = progress {
            progress.has_passed_untouched = true;
            new.push(todo.id.clone());
        }
    }
    new
}

/// True if the agent was held often enough to ask a person, when nothing else is missing.
fn has_asked_enough(next: &mut PipelineState, asks: bool) -> bool {
    if !asks {
        next.question_holds = 0;
        return false;
    }
    next.question_holds += 1;
    if next.question_holds <= QUESTION_HOLDS_MAX {
        return false;
    }
    next.question_holds = 0;
    true
}

/// The TODOs whose programs are not installed, until the agent was held for them often enough.
fn hold_for_programs(next: &mut PipelineState) -> Vec<PlanObjection> {
    let lacking = next.todos.iter().filter(|(_, progress)| progress.lacks_program);
    let missing = lacking.map(|(id, progress)| PlanObjection::NotInstalled {
        todo: id.clone(),
        failure: progress.failure.clone(),
    });
    let missing: Vec<PlanObjection> = missing.collect();
    next.program_holds = if missing.is_empty() { 0 } else { next.program_holds + 1 };
    if next.program_holds <= UNMEASURED_BLOCKS_MAX {
        return missing;
    }
    next.program_holds = 0;
    Vec::new()
}

/// Enters the phase that the runs lead to. In a full pipeline a failing gate begins a round of
/// fixes; returns its strategy.
fn enter_phase(
    next: &mut PipelineState,
    have_all_passed: bool,
    reading: &WorkReading,
) -> Option<FixStrategy> {
    if next.kind != PipelineKind::Full {
        next.phase = if have_all_passed { PipelinePhase::Finalize } else { PipelinePhase::Sprint };
        return None;
    }
    let is_clean = have_all_passed && reading.problems.is_none();
    let was_gated = next.phase != PipelinePhase::Sprint;
    if is_clean {
        next.gates.tests = GateStatus::Passed;
        next.gates.scenarios = scenario_gate(next);
        next.phase = PipelinePhase::Gate;
        return None;
    }
    // Before all TODOs have passed once, failures are unfinished work.
    if !have_all_passed && !was_gated {
        return None;
    }
    next.gates.tests = GateStatus::Failed;
    next.phase = PipelinePhase::Fix;
    Some(begin_round(next, reading.problems.clone()))
}

/// Before their runs are evaluated, scenarios are open.
fn scenario_gate(next: &PipelineState) -> GateStatus {
    let plan = next.approved.as_ref().map(ApprovedPlan::document);
    let todos = plan.iter().flat_map(|plan| &plan.todos);
    let has_scenario = |todo: &Todo| todo.items_of(AcceptanceKind::Scenario).next().is_some();
    if todos.into_iter().any(has_scenario) { GateStatus::Open } else { GateStatus::Absent }
}

/// Records the judges' review. A rejection begins a round of fixes.
fn note_review(next: &mut PipelineState, review: ReviewReading) -> Vec<PipelineDecision> {
    let is_reviewed = matches!(next.phase, PipelinePhase::Gate | PipelinePhase::Finalize);
    if next.kind != PipelineKind::Full || !is_reviewed {
        return Vec::new();
    }
    let own = match review {
        ReviewReading::NotAsked => return Vec::new(),
        ReviewReading::Approved => Some(GateStatus::Passed),
        ReviewReading::Rejected => Some(GateStatus::Failed),
        ReviewReading::Unmeasured => Some(GateStatus::Degraded),
        ReviewReading::Absent if next.gates.categories == GateStatus::Open => {
            Some(GateStatus::Skipped)
        }
        ReviewReading::Absent => None,
    };
    next.gates.review = next.gates.whole_review(own);
    if review == ReviewReading::Rejected {
        next.phase = PipelinePhase::Fix;
        begin_round(next, Some("review".to_owned()));
    }
    Vec::new()
}

/// The required state of a TODO's checkbox, and the objection to its present state.
fn review_box(
    next: &mut PipelineState,
    todo: &Todo,
    has_passed: bool,
    now_ms: u64,
) -> (TodoStatus, Option<PlanObjection>) {
    // One that was not approved has no run.
    let Some(progress) = next.todos.get_mut(todo.id.as_str()) else {
        return (TodoStatus::Open, None);
    };
    let was_given_up = std::mem::take(&mut progress.was_given_up);
    if progress.has_passed {
        return (TodoStatus::Done, None);
    }
    let expected = if progress.is_given_up { TodoStatus::Failed } else { TodoStatus::Open };
    if todo.status == expected || todo.status == TodoStatus::Open || was_given_up {
        return (expected, None);
    }
    let failure = progress.failure.clone();
    let (id, status) = (todo.id.clone(), todo.status);
    if has_passed && status == TodoStatus::Done {
        return (expected, Some(PlanObjection::FailsAgain { todo: id, failure }));
    }
    let claim = format!("was marked [{}]: {failure}", status.mark());
    note_correction(next, todo, claim, now_ms);
    let objection = PlanObjection::BoxTakenBack { todo: id, status, failure };
    (expected, Some(objection))
}

/// Holds the agent for an unreadable approved plan; if that does not help, asks the user.
fn hold_for_plan(
    next: &mut PipelineState,
    objections: Vec<PlanObjection>,
) -> Vec<PipelineDecision> {
    next.plan_holds += 1;
    if next.plan_holds > PLAN_FAULT_HOLDS_MAX {
        next.plan_holds = 0;
        return vec![PipelineDecision::Pause(objections)];
    }
    vec![PipelineDecision::Hold(objections)]
}

fn note_correction(next: &mut PipelineState, todo: &Todo, reason: String, now_ms: u64) {
    next.corrections.push(BoxCorrection { todo: todo.id.to_string(), at_ms: now_ms, reason });
    let surplus = next.corrections.len().saturating_sub(BOX_CORRECTIONS_MAX);
    next.corrections.drain(..surplus);
}

fn note_run(
    next: &mut PipelineState,
    todo: &Todo,
    commands: &BTreeMap<Vec<String>, CommandReading>,
    now_ms: u64,
) {
    let progress = next.todos.entry(todo.id.to_string()).or_default();
    let reading = read_todo(todo, commands);
    progress.lacks_program = matches!(reading, TodoReading::NotInstalled(_));
    match reading {
        TodoReading::Passed => {
            progress.has_passed = true;
            progress.passed_ms.get_or_insert(now_ms);
            progress.failure.clear();
        }
        TodoReading::Failed(failure) => {
            progress.has_passed = false;
            progress.has_failed = true;
            progress.failure = failure;
            person_question::forget_answers(next, &todo.id);
        }
        TodoReading::Unmeasured(failure) | TodoReading::NotInstalled(failure) => {
            progress.has_passed = false;
            progress.failure = failure;
        }
    }
}

/// A TODO passes only if all its commands ran and passed.
fn read_todo(todo: &Todo, commands: &BTreeMap<Vec<String>, CommandReading>) -> TodoReading {
    let mut is_run = false;
    for item in todo.items_of(AcceptanceKind::Automatic).filter(|item| !item.argv.is_empty()) {
        let name = item.failure_name();
        let failure = |kind: FailureKind, reason: &str| {
            let failure = TodoFailure { command: name.clone(), kind, reason: reason.to_owned() };
            one_line(&failure.to_string(), TODO_FAILURE_CHARS_MAX)
        };
        match commands.get(&item.argv) {
            Some(CommandReading::Passed) => is_run = true,
            Some(CommandReading::Failed(output)) => {
                return TodoReading::Failed(failure(FailureKind::Fails, output));
            }
            Some(CommandReading::Unmeasured(reason)) => {
                return TodoReading::Unmeasured(failure(FailureKind::NoResult, reason));
            }
            Some(CommandReading::NotInstalled(reason)) => {
                return TodoReading::NotInstalled(failure(FailureKind::NoResult, reason));
            }
            None => return TodoReading::Unmeasured(failure(FailureKind::NotRun, "")),
        }
    }
    if is_run {
        TodoReading::Passed
    } else {
        TodoReading::Unmeasured("it has no command".to_owned())
    }
}

fn end(next: &mut PipelineState, ending: LoopEnding) -> Vec<PipelineDecision> {
    next.outcome = Some(next.outcome_of(&ending));
    next.ending = Some(ending);
    next.close_worktrees();
    // They ask the agent to continue.
    next.untold.clear();
    next.moved = None;
    next.phase = PipelinePhase::Ended;
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::approved_plan;

    #[test]
    fn warnings_about_tests_are_kept_up_to_a_bound_and_counted() {
        let state = approved_plan("# PLAN: a\n\n### [ ] TODO 1: one\n- [A] `check 1`\n");
        let warnings = vec!["a.py:1 x".to_owned(); TEST_WARNINGS_MAX + 3];
        let reading = WorkReading { test_warnings: Some(warnings), ..WorkReading::default() };
        let (next, _) = step(&state, PipelineEvent::WorkMeasured(reading), 2);
        let counts = (next.test_warnings.len(), next.test_warnings_total);
        assert_eq!(counts, (TEST_WARNINGS_MAX, TEST_WARNINGS_MAX + 3));
        let unguarded = WorkReading::default();
        let (next, _) = step(&next, PipelineEvent::WorkMeasured(unguarded), 3);
        assert_eq!(next.test_warnings_total, TEST_WARNINGS_MAX + 3);
    }
}
