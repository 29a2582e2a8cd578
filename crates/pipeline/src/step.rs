//! The decisions of a pipeline: state and event in, next state and decisions out. The loop of the
//! pipeline holds and ends the agent's turn; a pipeline says what its plan still lacks.

mod gate_steps;

use std::collections::BTreeMap;

pub use self::gate_steps::{SandboxFailure, SandboxReading};
use crate::commits::CommitsReading;
use crate::convergence::{FixRound, FixStrategy, fix_strategy};
use crate::gate::{GateStatus, PipelineGates, ReviewReading};
use crate::learnings::entries_of;
use crate::objection::PlanObjection;
use crate::pivot::{DiscoveryVerdict, PIVOT_FILE, PivotDocument, check_discovery};
use crate::plan::{AcceptanceKind, PlanDocument, Todo, TodoId, TodoStatus};
use crate::review::CategoryReview;
use crate::scenario_runs::ScenarioRun;
use crate::state::{
    ApprovedPlan, BoxCorrection, KeptDiscovery, KeptLearning, PassCount, PipelineKind,
    PipelineOutcome, PipelinePhase, PipelineState, PlanApprover,
};
use crate::worker_report::{WorkerReport, WorkerStatus};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    ACCEPTANCE_OUTPUT_CHARS_MAX, BOX_CORRECTIONS_MAX, GATE_ROUNDS_MAX, LEARNINGS_KEPT_MAX,
    PASS_COUNTS_MAX, PLAN_FAULT_HOLDS_MAX, PLAN_HOLDS_MAX, TODO_ATTEMPTS_MAX, WORKER_HOLDS_MAX,
    WORKERS_COUNTED_MAX,
};

/// What the engine's own run of a command showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandReading {
    /// It passed.
    Passed,
    /// It failed, with this output.
    Failed(String),
    /// It was not run to its end, for this reason.
    Unmeasured(String),
}

/// The readings of a Stop after the approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReading {
    /// The plan as it is; `None` if it is missing or cannot be read.
    pub plan: Option<String>,
    /// The engine's runs, by program and arguments.
    pub commands: BTreeMap<Vec<String>, CommandReading>,
    /// Hash over everything that is wrong apart from the acceptance commands; `None` if nothing is.
    pub problems: Option<String>,
}

/// The end of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReading {
    /// The host's id of the agent.
    pub agent: String,
    /// Its report, or why it has none, as a fragment.
    pub report: Result<WorkerReport, String>,
    /// The project's pivot points.
    pub pivots: PivotDocument,
    /// The engine's runs of its TODO's commands, by program and arguments.
    pub commands: BTreeMap<Vec<String>, CommandReading>,
}

/// The end of the pipeline's loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopEnding {
    /// Complete and measured.
    Completed,
    /// Complete as far as it was measured; what was not, as the loop names it.
    Unverified(Option<String>),
    /// The user cancelled it.
    Cancelled,
    /// At a limit, without success: the name of the loop's status.
    Limit(String),
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineEvent {
    /// A Stop before the approval; the plan as it is, if there is one.
    PlanReviewed(Option<String>),
    /// The user agreed to this plan.
    PlanApproved {
        /// Its text.
        text: String,
        /// Who ran the command.
        by: PlanApprover,
    },
    /// A Stop after the approval.
    WorkMeasured(WorkReading),
    /// A worker is about to end.
    WorkerEnded(Box<WorkerReading>),
    /// The loop decided a Stop after the approval, having asked the judges or not.
    ReviewGiven(ReviewReading),
    /// The loop ended.
    LoopEnded(LoopEnding),
    /// The user continues a pipeline that has ended, with this loop.
    Resumed {
        /// The new loop.
        loop_id: String,
    },
    /// Everything passes, and the options ask for commits: what is committed.
    CommitsMeasured(CommitsReading),
    /// An agent that helps the pipeline is about to end.
    HelperEnded {
        /// The host's id of the agent.
        agent: String,
        /// What is wrong with its answer, as fragments; empty if nothing is.
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
        /// The run.
        run: ScenarioRun,
        /// Whether the agent reports that it passed.
        is_claimed: bool,
    },
    /// Every test passes: what identifies the files of the work, for the scenarios' runs.
    ScenariosReviewed(Option<String>),
    /// Every test passes: the judges' review in eight categories.
    CategoriesReviewed(CategoryReview),
    /// Every test passes on the host: what a container showed.
    SandboxMeasured(SandboxReading),
    /// Paths of documents of gates that were changed after they were written.
    DocumentsChanged(Vec<String>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PipelineDecision {
    /// The turn goes on.
    Hold(Vec<PlanObjection>),
    /// The turn may end: the user is to approve the plan.
    AwaitApproval,
    /// The turn may end: the agent was held often enough for a plan.
    GiveUpPlan(Vec<PlanObjection>),
    /// Pause for the user.
    Pause(Vec<PlanObjection>),
    /// Nothing is left but TODOs that failed: the loop's next decision is its last.
    EndWithFailures,
    /// Write this state into the checkbox of a TODO.
    SetBox {
        /// The TODO.
        todo: TodoId,
        /// Its state.
        status: TodoStatus,
    },
}

/// The next state of a pipeline, and what is to be done.
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
        PipelineEvent::PlanReviewed(text) => review_plan(&mut next, text.as_deref()),
        PipelineEvent::PlanApproved { text, by } => approve_plan(&mut next, text, by, now_ms),
        PipelineEvent::WorkMeasured(reading) => measure_work(&mut next, &reading, now_ms),
        PipelineEvent::WorkerEnded(reading) => worker_end(&mut next, &reading, now_ms),
        PipelineEvent::ReviewGiven(review) => note_review(&mut next, review),
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
        PipelineEvent::DocumentsChanged(changed) => {
            gate_steps::note_changed_documents(&mut next, changed)
        }
    };
    (next, decisions)
}

/// What keeps a plan from being approved; empty if nothing does.
#[must_use]
pub fn approval_objections(state: &PipelineState, text: Option<&str>) -> Vec<PlanObjection> {
    let Some(text) = text else { return vec![PlanObjection::Missing] };
    let plan = PlanDocument::parse(text);
    if plan.todos.is_empty() && plan.faults.is_empty() {
        return vec![PlanObjection::NoTodo];
    }
    let mut objections: Vec<PlanObjection> =
        plan.faults.iter().cloned().map(PlanObjection::Fault).collect();
    // A fault of a line says more precisely what is wrong with it.
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
        let changes = plan.unapproved_changes(&PlanDocument::parse(&approved.text));
        objections.extend(changes.into_iter().map(PlanObjection::Changed));
    }
    objections
}

fn review_plan(next: &mut PipelineState, text: Option<&str>) -> Vec<PipelineDecision> {
    let objections = approval_objections(next, text);
    if objections.is_empty() {
        next.plan_holds = 0;
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
    next.approved = Some(ApprovedPlan { text, at_ms: now_ms, by });
    next.phase = PipelinePhase::Sprint;
    next.plan_holds = 0;
    Vec::new()
}

/// What the runs show about one TODO.
enum TodoReading {
    Passed,
    Failed(String),
}

fn measure_work(
    next: &mut PipelineState,
    reading: &WorkReading,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    let Some(approved) = next.approved.clone() else { return Vec::new() };
    let agreed = PlanDocument::parse(&approved.text);
    for todo in &agreed.todos {
        note_run(next, todo, &reading.commands, now_ms);
    }
    let (passed, total) = (next.passed_todos(), next.todos.len());
    next.pass_counts.push(PassCount { passed, total });
    let surplus = next.pass_counts.len().saturating_sub(PASS_COUNTS_MAX);
    next.pass_counts.drain(..surplus);
    let Some(text) = &reading.plan else {
        return hold_for_plan(next, vec![PlanObjection::Missing]);
    };
    let plan = PlanDocument::parse(text);
    if !plan.faults.is_empty() {
        let faults = plan.faults.into_iter().map(PlanObjection::Fault).collect();
        return hold_for_plan(next, faults);
    }
    next.plan_holds = 0;
    let strategy = enter_phase(next, passed == total, reading);
    let changes = plan.unapproved_changes(&agreed).into_iter();
    let mut objections: Vec<PlanObjection> = changes.map(PlanObjection::Changed).collect();
    let mut decisions = Vec::new();
    for todo in &plan.todos {
        let (expected, objection) = review_box(next, todo, now_ms);
        if expected != todo.status {
            decisions.push(PipelineDecision::SetBox { todo: todo.id.clone(), status: expected });
        }
        objections.extend(objection);
    }
    if let Some(strategy) = strategy {
        let round = next.fix_rounds.len();
        objections.push(PlanObjection::GateFailed { round, strategy });
    }
    if !objections.is_empty() {
        decisions.push(PipelineDecision::Hold(objections));
    }
    let is_without_rounds = next.fix_rounds.len() >= GATE_ROUNDS_MAX;
    if is_without_rounds || next.failed_todos() > 0 && passed + next.failed_todos() == total {
        decisions.push(PipelineDecision::EndWithFailures);
    }
    decisions
}

/// Enters the phase that the runs lead to. In a full pipeline a gate that fails begins a round of
/// fixes; returns how it goes on.
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
    // Before all TODOs have passed once, what fails is the work itself.
    if !have_all_passed && !was_gated {
        return None;
    }
    next.gates.tests = GateStatus::Failed;
    next.phase = PipelinePhase::Fix;
    Some(begin_round(next, reading.problems.clone()))
}

fn begin_round(next: &mut PipelineState, problems: Option<String>) -> FixStrategy {
    let (passed, total) = (next.passed_todos(), next.todos.len());
    next.fix_rounds.push(FixRound { passed, total, problems });
    fix_strategy(&next.fix_rounds)
}

/// Before their runs are looked at, scenarios are open and never passed.
fn scenario_gate(next: &PipelineState) -> GateStatus {
    let plan = next.approved.as_ref().map(|approved| PlanDocument::parse(&approved.text));
    let todos = plan.iter().flat_map(|plan| &plan.todos);
    let has_scenario = |todo: &Todo| todo.items_of(AcceptanceKind::Scenario).next().is_some();
    if todos.into_iter().any(has_scenario) { GateStatus::Open } else { GateStatus::Absent }
}

/// Notes what the judges said. A rejection begins a round of fixes.
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

/// The state that the checkbox of a TODO must show, and the objection to what it shows.
fn review_box(
    next: &mut PipelineState,
    todo: &Todo,
    now_ms: u64,
) -> (TodoStatus, Option<PlanObjection>) {
    let Some(progress) = next.todos.get(todo.id.as_str()) else {
        let objection = PlanObjection::New { todo: todo.id.clone(), line: todo.line };
        return (TodoStatus::Open, Some(objection));
    };
    if progress.has_passed {
        return (TodoStatus::Done, None);
    }
    let expected = if progress.is_given_up { TodoStatus::Failed } else { TodoStatus::Open };
    if todo.status == expected || todo.status == TodoStatus::Open {
        return (expected, None);
    }
    let failure = progress.failure.clone();
    let (id, status) = (todo.id.clone(), todo.status);
    note_correction(next, todo, failure.clone(), now_ms);
    let objection = PlanObjection::BoxTakenBack { todo: id, status, failure };
    (expected, Some(objection))
}

/// Holds for an approved plan that cannot be read; if that does not help, the user is asked.
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
    match read_todo(todo, commands) {
        TodoReading::Passed => {
            progress.has_passed = true;
            progress.passed_ms.get_or_insert(now_ms);
            progress.failure.clear();
        }
        TodoReading::Failed(failure) => {
            progress.has_passed = false;
            progress.failure = failure;
        }
    }
}

/// A TODO passes only if all its commands ran and passed.
fn read_todo(todo: &Todo, commands: &BTreeMap<Vec<String>, CommandReading>) -> TodoReading {
    let mut is_run = false;
    for item in todo.items_of(AcceptanceKind::Automatic).filter(|item| !item.argv.is_empty()) {
        let name = item.command.clone().unwrap_or_else(|| item.argv.join(" "));
        let failure = match commands.get(&item.argv) {
            Some(CommandReading::Passed) => {
                is_run = true;
                continue;
            }
            Some(CommandReading::Failed(output)) => format!("`{name}` fails: {output}"),
            Some(CommandReading::Unmeasured(reason)) => format!("`{name}` was not run: {reason}"),
            None => format!("`{name}` was not run"),
        };
        return TodoReading::Failed(one_line(&failure, ACCEPTANCE_OUTPUT_CHARS_MAX));
    }
    if is_run { TodoReading::Passed } else { TodoReading::Failed("it has no command".to_owned()) }
}

/// A worker may end when the engine's own run of its TODO's commands passes, or when it has failed
/// often enough.
fn worker_end(
    next: &mut PipelineState,
    reading: &WorkerReading,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    let Some(approved) = next.approved.clone() else { return Vec::new() };
    let plan = PlanDocument::parse(&approved.text);
    let report = match &reading.report {
        Ok(report) => report,
        Err(reason) => {
            let objection = PlanObjection::NoReport { reason: reason.clone() };
            return hold_worker(next, &reading.agent, vec![objection]);
        }
    };
    let Some(todo) = plan.todo(&report.todo) else {
        let objection = PlanObjection::UnknownTodo { todo: report.todo.clone() };
        return hold_worker(next, &reading.agent, vec![objection]);
    };
    note_run(next, todo, &reading.commands, now_ms);
    let progress = next.todos.entry(todo.id.to_string()).or_default();
    if progress.has_passed {
        let contradictions = report.contradictions(todo);
        if contradictions.is_empty() {
            keep_learnings(next, report);
            keep_discoveries(next, report, &reading.pivots);
        }
        let mut decisions =
            vec![PipelineDecision::SetBox { todo: todo.id.clone(), status: TodoStatus::Done }];
        if !contradictions.is_empty() {
            let objections = contradictions.into_iter();
            let objections = objections.map(|what| PlanObjection::Contradiction { what });
            decisions.extend(hold_worker(next, &reading.agent, objections.collect()));
        }
        return decisions;
    }
    progress.attempts += 1;
    let (attempt, failure) = (progress.attempts, progress.failure.clone());
    progress.is_given_up |= attempt >= TODO_ATTEMPTS_MAX;
    let is_given_up = progress.is_given_up;
    if report.status == WorkerStatus::Pass {
        note_correction(next, todo, format!("its worker reported PASS: {failure}"), now_ms);
    }
    if is_given_up {
        return vec![PipelineDecision::SetBox {
            todo: todo.id.clone(),
            status: TodoStatus::Failed,
        }];
    }
    let objection = PlanObjection::WorkFails { todo: todo.id.clone(), failure, attempt };
    vec![PipelineDecision::Hold(vec![objection])]
}

/// Keeps what an accepted report says for later work.
fn keep_learnings(next: &mut PipelineState, report: &WorkerReport) {
    for entry in entries_of(std::slice::from_ref(report)) {
        let kept = KeptLearning {
            file: entry.file.as_str().to_owned(),
            text: entry.text,
            todo: entry.source,
        };
        if next.learnings.len() < LEARNINGS_KEPT_MAX && !next.learnings.contains(&kept) {
            next.learnings.push(kept);
        }
    }
}

/// Keeps what an accepted report proposes in addition, with the verdict of the pivot points.
fn keep_discoveries(next: &mut PipelineState, report: &WorkerReport, pivots: &PivotDocument) {
    for discovery in &report.discoveries {
        let (verdict, conflicts) = match check_discovery(&pivots.points, discovery) {
            DiscoveryVerdict::Rejected(conflicts) => ("rejected", conflicts),
            DiscoveryVerdict::AskUser(conflicts) => ("ask the user", conflicts),
            // A fault may hide a point.
            DiscoveryVerdict::Accepted if !pivots.faults.is_empty() => ("ask the user", Vec::new()),
            DiscoveryVerdict::Accepted => ("accepted", Vec::new()),
        };
        let faults = pivots.faults.iter().map(|fault| format!("{PIVOT_FILE}: {fault}"));
        let conflicts =
            conflicts.iter().map(|one| format!("{} ({})", one.id, one.why)).chain(faults);
        let kept = KeptDiscovery {
            summary: discovery.summary.clone(),
            todo: report.todo.to_string(),
            verdict: verdict.to_owned(),
            conflicts: conflicts.collect(),
        };
        if next.discoveries.len() < LEARNINGS_KEPT_MAX && !next.discoveries.contains(&kept) {
            next.discoveries.push(kept);
        }
    }
}

/// Holds a worker for its report a few times.
fn hold_worker(
    next: &mut PipelineState,
    agent: &str,
    objections: Vec<PlanObjection>,
) -> Vec<PipelineDecision> {
    if !next.worker_holds.contains_key(agent) && next.worker_holds.len() >= WORKERS_COUNTED_MAX {
        return Vec::new();
    }
    let holds = next.worker_holds.entry(agent.to_owned()).or_default();
    if *holds >= WORKER_HOLDS_MAX {
        return Vec::new();
    }
    *holds += 1;
    vec![PipelineDecision::Hold(objections)]
}

fn resume(next: &mut PipelineState, loop_id: String) -> Vec<PipelineDecision> {
    next.phase = match (next.kind.has_plan(), next.approved.is_some()) {
        (false, _) => PipelinePhase::Fix,
        (true, true) => PipelinePhase::Sprint,
        (true, false) => PipelinePhase::Plan,
    };
    next.loop_id = loop_id;
    for progress in next.todos.values_mut() {
        progress.attempts = 0;
        progress.is_given_up = false;
    }
    next.worker_holds.clear();
    next.fix_rounds.clear();
    next.gates = PipelineGates::default();
    next.scenario_holds = 0;
    next.commit_faults = 0;
    next.commit_gap = None;
    next.commit_waits = 0;
    next.has_left_documents = false;
    next.outcome = None;
    next.note = None;
    next.plan_holds = 0;
    Vec::new()
}

/// The gates and their states: `review skipped, scenarios skipped`.
fn gate_words(gates: &[(&str, GateStatus)]) -> String {
    let words = gates.iter().map(|(name, status)| format!("{name} {}", status.as_str()));
    words.collect::<Vec<_>>().join(", ")
}

fn end(next: &mut PipelineState, ending: LoopEnding) -> Vec<PipelineDecision> {
    let (passed, total) = (next.passed_todos(), next.todos.len());
    let is_whole = !next.needs_approval() && passed == total;
    let unproven = if next.kind == PipelineKind::Full { next.gates.unproven() } else { Vec::new() };
    let unproven = (!unproven.is_empty()).then(|| gate_words(&unproven));
    let commits = next.commit_gap.as_ref().map(|gap| format!("commits: {gap}"));
    let missing: Vec<String> = unproven.into_iter().chain(commits).collect();
    let faults = next.commit_faults;
    let (outcome, note) = match ending {
        LoopEnding::Completed if is_whole && !missing.is_empty() => {
            (PipelineOutcome::Unverified, Some(missing.join("; ")))
        }
        LoopEnding::Completed if is_whole => (PipelineOutcome::Completed, None),
        LoopEnding::Cancelled => (PipelineOutcome::Cancelled, None),
        LoopEnding::Unverified(unmeasured) if is_whole => {
            let note: Vec<String> = missing.into_iter().chain(unmeasured).collect();
            (PipelineOutcome::Unverified, (!note.is_empty()).then(|| note.join("; ")))
        }
        LoopEnding::Limit(status) if is_whole && faults > 0 => {
            let note = format!("{status}; {faults} faults of the commits are left");
            (PipelineOutcome::Partial, Some(note))
        }
        LoopEnding::Limit(_) if next.failed_todos() > 0 => {
            let failed = next.failed_todos();
            (PipelineOutcome::Partial, Some(format!("workers failed at {failed} of {total} TODOs")))
        }
        LoopEnding::Limit(status) if !next.kind.has_plan() => {
            (PipelineOutcome::Escalated, Some(status))
        }
        LoopEnding::Limit(status) => (PipelineOutcome::Partial, Some(status)),
        LoopEnding::Completed | LoopEnding::Unverified(_) => {
            (PipelineOutcome::Partial, Some(format!("{passed} of {total} TODOs pass")))
        }
    };
    next.phase = PipelinePhase::Ended;
    next.outcome = Some(outcome);
    next.note = note;
    Vec::new()
}
