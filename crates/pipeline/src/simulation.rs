//! A seeded simulation of pipelines with the loops that hold them: agents that lie, workers that fail,
//! report wrongly, write outside their files or crash, daemons that end between any two writes, users
//! who approve, answer, cancel, repair and continue. After every step the invariants are checked.

mod gates;
mod worktrees;

use std::collections::{BTreeMap, BTreeSet};

use crate::ending::LoopEnding;
use crate::gate::{GateStatus, ReviewReading};
use crate::person_question::{missing_answers, open_questions};
use crate::pivot::{PivotDocument, PivotDraft, PivotStatus};
use crate::plan::{PlanDocument, TodoId, TodoStatus};
use crate::state::{PipelineKind, PipelineOutcome, PipelinePhase, PipelineState, PlanApprover};
use crate::step::{
    CommandReading, PipelineDecision, PipelineEvent, WorkReading, WorkerReading,
    approval_objections, step,
};
use crate::worker_report::WorkerReport;
use crate::write_rules::{PipelineWriter, write_objection};
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::limits::{
    GATE_ROUNDS_MAX, PIPELINE_ITERATIONS_MAX, PLAN_FAULT_HOLDS_MAX, PLAN_HOLDS_MAX,
    TODO_ATTEMPTS_MAX, WORKER_HOLDS_MAX,
};
use moai_base::verdict::{Cause, Gap};
use moai_loops::control;
use moai_loops::facts::{Consultation, StopFacts, WorkChange};
use moai_loops::samples::state as sample_loop;
use moai_loops::state::{LoopState, Status, UntilCondition};
use moai_loops::step::{HoldReasons, StopDecision, StopInput, StopStep, next_step};

/// Simulated pipelines.
const PIPELINES: u64 = 2_000;
/// Steps of one pipeline.
const STEPS: u32 = 40;

/// `SplitMix64`: the same numbers on every machine.
struct PipelineRng(u64);

impl PipelineRng {
    fn number_below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.number_below(sides) == 0
    }
}

/// A pipeline with its loop, its plan on disk, and the truth about its TODOs.
struct SimulatedPipeline {
    random: PipelineRng,
    pipeline: PipelineState,
    held: LoopState,
    /// The plan on disk; `None` if it is missing.
    plan: Option<String>,
    /// TODOs that are really done.
    done: BTreeSet<usize>,
    count: usize,
    now_ms: u64,
    ends: BTreeMap<&'static str, u32>,
    plan_holds: u32,
    resumes: u32,
    /// A provisional constraint.
    pivots: String,
    /// The pipeline as it was stored before a crash.
    saved: Option<PipelineState>,
    /// True if versions of the files can be distinguished.
    has_git: bool,
    wants_commits: bool,
    /// Worktrees made so far.
    trees_made: u32,
}

fn argv(todo: usize) -> Vec<String> {
    vec!["check".to_owned(), todo.to_string()]
}

fn plan_of(count: usize) -> String {
    let person = "- [H] it looks right\n";
    let played = "- [S] SC-1: a user adds a part\n";
    let todos = (1..=count).map(|number| {
        let item = match number {
            1 if count.is_multiple_of(2) => person,
            1 if count == 3 => played,
            _ => "",
        };
        format!("{}{item}\n", todo_text(number))
    });
    format!("# PLAN: parts\n\n{}", todos.collect::<String>())
}

fn todo_text(number: usize) -> String {
    let needs_another = number.is_multiple_of(2);
    let before = if needs_another { format!("TODO-{}", number - 1) } else { "none".to_owned() };
    let shared = match number {
        1 => ", shared/**",
        3 => ", shared/one.rs",
        _ => "",
    };
    format!(
        "### [ ] TODO {number}: part\n- Dependencies: {before}\n- Files: src/{number}.rs{shared}\n\
         - [A] `check {number}`\n"
    )
}

impl SimulatedPipeline {
    fn new(seed: u64) -> Self {
        let mut random = PipelineRng(seed);
        let kind = match random.number_below(5) {
            0 | 1 => PipelineKind::Full,
            2 | 3 => PipelineKind::Small,
            _ => PipelineKind::Bugfix,
        };
        let count = usize::try_from(random.number_below(5)).unwrap_or_default() + 1;
        let (id, goal) = ("pipeline-1".to_owned(), "parts".to_owned());
        let begun = PipelineState::begin(id, kind, goal, "SPEC-A-001".into(), 1);
        let (has_git, wants_commits) = (!random.one_in(8), random.one_in(2));
        let mut simulated = Self {
            random,
            has_git,
            wants_commits,
            trees_made: 0,
            pipeline: PipelineState { loop_id: "loop-1".to_owned(), ..begun },
            held: sample_loop(),
            plan: None,
            done: BTreeSet::new(),
            count,
            now_ms: 1,
            ends: BTreeMap::new(),
            plan_holds: 0,
            resumes: 0,
            pivots: pivot_text(),
            saved: None,
        };
        if kind.has_plan() && simulated.random.one_in(3) {
            simulated.pipeline.workers =
                1 + u32::try_from(simulated.random.number_below(3)).unwrap_or(0);
        }
        simulated.held = simulated.new_loop("loop-1");
        simulated
    }

    fn new_loop(&self, id: &str) -> LoopState {
        LoopState {
            id: id.to_owned(),
            max_iterations: self.pipeline.kind.iterations_max(),
            until: UntilCondition::Clean,
            promise: None,
            clock_ms: self.now_ms,
            ..sample_loop()
        }
    }

    fn apply(&mut self, event: PipelineEvent) -> Vec<PipelineDecision> {
        let (next, decisions) = step(&self.pipeline, event, self.now_ms);
        self.pipeline = next;
        decisions
    }

    fn some_todo(&mut self) -> usize {
        usize::try_from(self.random.number_below(self.count as u64)).unwrap_or_default() + 1
    }

    /// The agents' work between two Stops.
    fn work(&mut self) {
        let todo = self.some_todo();
        match self.random.number_below(16) {
            14..=15 => self.help(),
            0..=4 => drop(self.done.insert(todo)),
            5 => drop(self.done.remove(&todo)),
            6 => self.mark(todo, TodoStatus::Done),
            7 => self.mark(todo, TodoStatus::Failed),
            // A user would not approve a plan that checks nothing.
            8 if self.pipeline.approved.is_some() => {
                self.plan =
                    self.plan.take().map(|plan| plan.replace("[A] `check 1`", "[A] `true`"));
            }
            9 => self.plan = self.plan.take().map(|plan| plan.replace("TODO 1", "TODO one")),
            10 => self.plan = None,
            11..=12 => self.worker(todo),
            _ => {
                if let Some(plan) = &mut self.plan {
                    plan.push_str("### [x] TODO 99: more\n- [A] `check 99`\n");
                }
            }
        }
        if self.random.one_in(3) {
            self.plan = Some(self.sound_plan());
        }
        if self.random.one_in(4) {
            self.write(todo);
        }
        if self.random.one_in(2) {
            self.end_worktree();
        }
    }

    /// A plan that can be approved; one with another TODO if the old one was not enough.
    fn sound_plan(&mut self) -> String {
        let Some(approved) = &self.pipeline.approved else { return plan_of(self.count) };
        let text = approved.text().to_owned();
        if !self.pipeline.is_replanning {
            return text;
        }
        let agreed = approved.document().todos.len();
        self.count = agreed + 1;
        format!("{text}{}\n", todo_text(self.count))
    }

    /// Agents write source files, within their task or not.
    fn write(&mut self, todo: usize) {
        let other = self.some_todo();
        let path = format!("src/{other}.rs");
        let by_main = write_objection(&self.pipeline, PipelineWriter::Orchestrator, &path);
        let has_plan = self.pipeline.kind.has_plan() && self.pipeline.is_active();
        assert_eq!(by_main.is_none(), !has_plan, "the main agent leaves source to workers");
        let agent = format!("agent-{}", self.random.number_below(4));
        let task = format!("Do TODO-{todo}");
        let writer = PipelineWriter::Worker { agent: &agent, task: Some(&task) };
        let is_written = write_objection(&self.pipeline, writer, &path).is_none();
        let is_known = self.pipeline.todos.contains_key(&format!("TODO-{todo}"));
        let is_retired = self.pipeline.retired_workers.contains(&agent);
        if has_plan && is_written {
            assert!(!self.pipeline.needs_approval() && !is_retired);
            assert!(!is_known || todo == other, "a worker writes the files of its own TODO");
        }
    }

    /// An agent writes a checkbox itself.
    fn mark(&mut self, todo: usize, status: TodoStatus) {
        let id = TodoId::parse(&todo.to_string()).expect("a number");
        if let Some(plan) = &self.plan
            && let Ok(marked) = PlanDocument::set_status(plan, &id, status)
        {
            self.plan = Some(marked);
        }
    }

    /// A worker ends: with prose, a wrong TODO, or a report that may be a lie.
    fn worker(&mut self, todo: usize) {
        if self.pipeline.approved.is_none() || !self.held.status.is_active() {
            return;
        }
        if self.random.one_in(8) {
            // It crashed: no end is reported.
            return;
        }
        let agent = format!("agent-{}", self.random.number_below(4));
        let report = match self.random.number_below(5) {
            0 => "I am done.".to_owned(),
            1 => report_text("TODO-77", todo),
            _ => report_text(&format!("TODO-{todo}"), todo),
        };
        let report = WorkerReport::parse(&report).map_err(|error| error.to_string());
        let before = self.pipeline.todos.clone();
        let holds = self.pipeline.worker_holds.get(&agent).copied().unwrap_or_default();
        let is_report = report.is_ok();
        let commands = self.runs();
        let decisions = self.apply(PipelineEvent::WorkerEnded(Box::new(WorkerReading {
            agent,
            report,
            commands,
            pivots: PivotDocument::parse(&self.pivots),
            is_unguarded: false,
        })));
        self.write_boxes(&decisions);
        let is_held = decisions.iter().any(|it| matches!(it, PipelineDecision::Hold(_)));
        if is_held && !is_report {
            assert!(
                holds < WORKER_HOLDS_MAX,
                "a worker is held for its report a bounded number of times"
            );
        }
        for (id, progress) in &self.pipeline.todos {
            assert!(progress.attempts <= before[id].attempts + 1);
            if progress.is_given_up && !before[id].is_given_up {
                assert_eq!(progress.attempts, TODO_ATTEMPTS_MAX);
                assert!(!is_held, "a worker whose TODO failed may end");
            }
        }
    }

    /// The engine's runs: TODOs that are really done pass; rarely a run is not finished.
    fn runs(&mut self) -> BTreeMap<Vec<String>, CommandReading> {
        let mut runs = BTreeMap::new();
        // Only approved parts are frozen into the exam.
        let agreed = self.pipeline.todos.len();
        for todo in 1..=if agreed > 0 { agreed } else { self.count } {
            let reading = match (self.done.contains(&todo), self.random.one_in(25)) {
                (_, true) => CommandReading::Unmeasured("no answer in time".to_owned()),
                (true, false) => CommandReading::Passed,
                (false, false) => CommandReading::Failed("1 failed".to_owned()),
            };
            runs.insert(argv(todo), reading);
        }
        runs
    }

    fn write_boxes(&mut self, decisions: &[PipelineDecision]) {
        let boxes = decisions.iter().filter_map(|decision| match decision {
            PipelineDecision::SetBox { todo, status } => Some((todo.clone(), *status)),
            _ => None,
        });
        let boxes: Vec<(TodoId, TodoStatus)> = boxes.collect();
        if let Some(plan) = self.plan.as_mut().filter(|_| !boxes.is_empty()) {
            *plan = PlanDocument::set_statuses(plan, &boxes);
        }
    }

    /// A Stop of the main agent.
    fn stop(&mut self) {
        if self.held.status != Status::Running || !self.pipeline.is_active() {
            return;
        }
        if self.pipeline.needs_approval() {
            let text = self.plan.clone();
            let documents = Vec::new();
            let decisions = self.apply(PipelineEvent::PlanReviewed { text, documents });
            let is_held = matches!(decisions.first(), Some(PipelineDecision::Hold(_)));
            self.plan_holds = if is_held { self.plan_holds + 1 } else { 0 };
            assert!(
                self.plan_holds <= PLAN_HOLDS_MAX,
                "a session without a plan is held a bounded number of times"
            );
            return;
        }
        if self.make_worktrees() {
            return;
        }
        let runs = self.runs();
        let is_dirty = runs.values().any(|run| matches!(run, CommandReading::Failed(_)));
        let problems = is_dirty.then(|| "problems".to_owned());
        let (plan, commands) = (self.plan.clone(), runs.clone());
        let reading =
            WorkReading { plan, commands, problems, has_work: true, ..WorkReading::default() };
        let holds = self.pipeline.plan_holds;
        let before = self.pipeline.clone();
        let mut decisions = self.apply(PipelineEvent::WorkMeasured(reading));
        if !is_dirty {
            self.pass_gates(&mut decisions);
        }
        // The daemon ends before it writes the boxes, or even before the pipeline is saved.
        let is_crashed = self.random.one_in(12);
        if !is_crashed {
            self.write_boxes(&decisions);
            self.check_boxes(&runs);
        }
        self.saved = (is_crashed && self.random.one_in(2)).then_some(before);
        if decisions.iter().any(|it| matches!(it, PipelineDecision::Pause(_))) {
            assert_eq!(holds, PLAN_FAULT_HOLDS_MAX);
        }
        let is_open = decisions.iter().any(|it| matches!(it, PipelineDecision::Hold(_)));
        let is_ended = self.decide(&decisions, &runs);
        if is_ended {
            assert!(!is_open || self.held.status != Status::Completed, "an open plan holds");
        }
    }

    /// The loop decides, given the open points of the plan. Returns true if it ended.
    fn decide(
        &mut self,
        decisions: &[PipelineDecision],
        runs: &BTreeMap<Vec<String>, CommandReading>,
    ) -> bool {
        let evidence = Evidence {
            readings: runs.iter().map(|(argv, run)| sensor_reading(argv, run)).collect(),
            ..Evidence::default()
        };
        let changed = Gap::new(Cause::Superseded, "files changed");
        let changed = self.random.one_in(10).then_some(changed);
        let mut facts = StopFacts {
            work: WorkChange::Changed,
            closing_look: changed.into(),
            checkpoint: Consultation::Empty,
            now_ms: self.now_ms,
            ..StopFacts::default()
        };
        let mut before = self.held.clone();
        for decision in decisions {
            match decision {
                PipelineDecision::Hold(_) => facts.plan_open.push("open".to_owned()),
                PipelineDecision::Pause(_) => facts.plan_unusable.push("unusable".to_owned()),
                PipelineDecision::AwaitPerson(_) | PipelineDecision::AwaitAdditions(_) => {
                    facts.person_questions.push("asked".to_owned());
                }
                PipelineDecision::BeginAnew => before.counted_from = before.iteration,
                PipelineDecision::EndWithFailures(reason) => {
                    facts.plan_failure = Some(format!("{reason:?}"));
                }
                _ => {}
            }
        }
        let input = StopInput { session_id: "s", now_ms: self.now_ms, ..StopInput::default() };
        let StopStep::Decided(outcome) = next_step(&before, &input, &evidence, &facts) else {
            panic!("a basic loop needs no judge and no merge");
        };
        assert_ne!(outcome.decision, StopDecision::Yield(HoldReasons::default()));
        self.held = outcome.next;
        let review = match self.random.number_below(3) {
            0 => ReviewReading::Approved,
            1 => ReviewReading::Absent,
            _ => ReviewReading::Unmeasured,
        };
        match self.saved.take() {
            Some(before) => self.pipeline = before,
            None => drop(self.apply(PipelineEvent::ReviewGiven(review))),
        }
        assert!(self.pipeline.fix_rounds.len() <= GATE_ROUNDS_MAX);
        let Some(ending) = ending_of(self.held.status) else { return false };
        self.apply(PipelineEvent::LoopEnded(ending));
        self.check_end(runs);
        true
    }

    /// No box is checked without a passing run of this Stop.
    fn check_boxes(&self, runs: &BTreeMap<Vec<String>, CommandReading>) {
        let (Some(plan), Some(approved)) = (&self.plan, &self.pipeline.approved) else { return };
        let plan = approved.document_on_disk(plan);
        if !plan.faults.is_empty() {
            return;
        }
        for todo in &plan.todos {
            let number = todo.id.as_str().trim_start_matches("TODO-").parse().unwrap_or_default();
            let has_passed = runs.get(&argv(number)) == Some(&CommandReading::Passed);
            match todo.status {
                TodoStatus::Done => assert!(has_passed, "{todo:?}"),
                TodoStatus::Failed => {
                    let progress = &self.pipeline.todos[todo.id.as_str()];
                    assert!(progress.is_given_up && !has_passed, "{todo:?}");
                }
                TodoStatus::Open => {
                    let is_agreed = self.pipeline.todos.contains_key(todo.id.as_str());
                    assert!(!has_passed || !is_agreed, "{todo:?}");
                }
            }
        }
    }

    /// Every end has an outcome that the runs agree with.
    fn check_end(&mut self, runs: &BTreeMap<Vec<String>, CommandReading>) {
        assert_eq!(self.pipeline.phase, PipelinePhase::Ended);
        let outcome = self.pipeline.outcome.expect("every end has a name");
        let all_passed = runs.values().all(|run| *run == CommandReading::Passed);
        if outcome == PipelineOutcome::Completed {
            assert!(all_passed, "completed means that every command passed just now");
            let is_full = self.pipeline.kind == PipelineKind::Full;
            let review = self.pipeline.gates.review;
            assert!(!is_full || review == GateStatus::Passed, "skipped has not passed");
            assert_eq!(missing_answers(&self.pipeline), [""; 0], "only a person accepts");
        }
        self.check_gates_at_end();
        *self.ends.entry(outcome.as_str()).or_default() += 1;
    }

    /// The user's actions.
    fn user(&mut self) {
        if self.pipeline.is_active() {
            let questions =
                if self.random.one_in(3) { open_questions(&self.pipeline) } else { Vec::new() };
            for question in questions {
                let (name, by) = (question.name(), PlanApprover::Question);
                let is_yes = !self.random.one_in(3);
                self.apply(PipelineEvent::PersonAnswered { name, is_yes, by });
            }
            if self.held.status == Status::Paused {
                self.plan = self.pipeline.approved.as_ref().map(|plan| plan.text().to_owned());
                let raise = control::NewLimits::default();
                self.held = control::resume_loop(&self.held, raise, self.now_ms).expect("resumed");
            }
            match self.random.number_below(30) {
                0 => {
                    self.held = control::cancel_loop(&self.held, self.now_ms);
                    self.apply(PipelineEvent::LoopEnded(LoopEnding::Cancelled));
                    *self.ends.entry("cancelled").or_default() += 1;
                }
                1..=9 if approval_objections(&self.pipeline, self.plan.as_deref()).is_empty() => {
                    let text = self.plan.clone().unwrap_or_default();
                    // TODO 99 is never done, so it is not approved here.
                    if !text.contains("TODO 99") {
                        let by = PlanApprover::Person;
                        self.apply(PipelineEvent::PlanApproved { text, by });
                        self.apply(PipelineEvent::ScenariosFrozen(None));
                    }
                }
                _ => {}
            }
        } else if self.pipeline.outcome != Some(PipelineOutcome::Completed)
            && self.resumes < 3
            && self.random.one_in(4)
        {
            self.resumes += 1;
            let loop_id = format!("loop-{}", self.resumes + 1);
            self.held = self.new_loop(&loop_id);
            self.apply(PipelineEvent::Resumed { loop_id });
            self.plan_holds = 0;
            assert!(self.pipeline.is_active());
        }
    }

    fn run(mut self) -> BTreeMap<&'static str, u32> {
        for _ in 0..STEPS {
            self.now_ms += 1_000;
            self.user();
            self.work();
            self.stop();
            self.restart();
            self.check_state();
        }
        self.finish()
    }

    /// The daemon ends and a new one reads the stored state, which must be complete.
    fn restart(&mut self) {
        if self.random.one_in(3) {
            let text = serde_json::to_string(&self.pipeline).expect("it can be stored");
            let read: PipelineState = serde_json::from_str(&text).expect("it can be read");
            assert_eq!(read, self.pipeline);
            self.pipeline = read;
        }
    }

    /// With an idle agent, every pipeline ends or waits for the user.
    fn finish(mut self) -> BTreeMap<&'static str, u32> {
        let most = PIPELINE_ITERATIONS_MAX + PLAN_HOLDS_MAX + PLAN_FAULT_HOLDS_MAX + 1;
        let attempts = TODO_ATTEMPTS_MAX * u32::try_from(self.count).unwrap_or_default();
        let (mut stops, mut plan_reviews) = (0, 0);
        // A Stop after the last one changes nothing; a plan is requested repeatedly.
        while self.pipeline.is_active()
            && self.held.status == Status::Running
            && plan_reviews <= 2 * PLAN_HOLDS_MAX
        {
            stops += 1;
            assert!(stops <= most + attempts, "{:?}", self.pipeline);
            plan_reviews += u32::from(self.pipeline.needs_approval());
            self.now_ms += 1_000;
            self.fail_worktrees();
            self.stop();
        }
        self.ends
    }

    /// An end has an outcome, and the loop and the pipeline end together.
    fn check_state(&self) {
        assert_eq!(self.pipeline.is_active(), self.pipeline.outcome.is_none());
        assert!(self.held.iteration <= PIPELINE_ITERATIONS_MAX);
        assert_eq!(self.held.status.is_active(), self.pipeline.is_active());
    }
}

fn pivot_text() -> String {
    let draft = PivotDraft {
        title: "no server".to_owned(),
        status: PivotStatus::Provisional,
        reason: Some("it is small".to_owned()),
        protects: Vec::new(),
        forbids: vec!["server".to_owned()],
    };
    PivotDocument::append(None, &draft).expect("a constraint").0
}

fn report_text(id: &str, todo: usize) -> String {
    format!(
        r#"{{"todo_id": "{id}", "status": "PASS", "outputs": {{"files_changed": [], "summary": "x"}},
        "acceptance_criteria": [{{"id": "AC-{todo}", "status": "PASS"}}],
        "learnings": [], "issues": [], "decisions": [], "discoveries": ["a server {todo}"]}}"#
    )
}

fn sensor_reading(argv: &[String], run: &CommandReading) -> SensorReading {
    let clean = SensorReading::clean(&argv.join(" "), SensorKind::Check, 0);
    match run {
        CommandReading::Passed => clean,
        CommandReading::Failed(output) => {
            SensorReading { dirty: true, output: Some(output.clone()), ..clean }
        }
        CommandReading::Unmeasured(reason) | CommandReading::NotInstalled(reason) => {
            SensorReading { gap: Some(Gap::new(Cause::TimedOut, reason.clone())), ..clean }
        }
    }
}

fn ending_of(status: Status) -> Option<LoopEnding> {
    match status {
        Status::Running | Status::Paused => None,
        Status::Completed => Some(LoopEnding::Completed),
        Status::CompletedUnverified => Some(LoopEnding::Unverified(None)),
        Status::Cancelled => Some(LoopEnding::Cancelled),
        Status::Failed => Some(LoopEnding::Failed(None)),
        status => Some(LoopEnding::Limit(status)),
    }
}

#[test]
fn no_pipeline_checks_a_box_without_a_passing_run_or_ends_without_a_name() {
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..PIPELINES {
        for (name, count) in SimulatedPipeline::new(seed).run() {
            *ends.entry(name).or_default() += count;
        }
    }
    for outcome in ["completed", "completed_unverified", "partial", "cancelled", "escalated"] {
        assert!(ends.get(outcome).is_some_and(|count| *count > 50), "{outcome}: {ends:?}");
    }
}
