//! A seeded simulation of the decision at a Stop: an agent, a user, other sessions and failing
//! sensors take random steps with a simulated clock. Invariants are checked after every step.

use std::collections::BTreeMap;

use super::control::{self, NewLimits};
use super::facts::{Consultation, ContextUse, JudgeOutcome, MergeOutcome, StopFacts, WorkChange};
use super::options::LoopOptions;
use super::samples::state;
use super::state::{LoopState, Mode, PauseReason, Status};
use super::step::{StopAdmission, StopDecision, StopInput, StopStep, admit_stop, next_step};
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::limits::RESEARCH_TRIES_MAX;
use moai_base::samples::finding;
use moai_base::verdict::{Cause, Gap, Verdict};

/// Number of simulated loops.
const LOOPS: u64 = 6_000;
/// Steps of one loop.
const STEPS: u32 = 40;
/// The host's cap of continuations.
const CAP: u32 = 8;

/// `SplitMix64`: the same numbers on every machine.
pub(crate) struct SimulationRng(u64);

impl SimulationRng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number_below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.number_below(sides) == 0
    }

    fn small(&mut self, most: u64) -> u32 {
        u32::try_from(self.number_below(most)).unwrap_or_default() + 1
    }
}

/// One loop with its project, agent and host.
struct SimulatedLoop {
    random: SimulationRng,
    /// The loop in the store; `None` after it was removed.
    stored: Option<LoopState>,
    /// A Stop that was measured and not decided yet.
    stale: Option<LoopState>,
    now_ms: u64,
    /// The codes of the errors in the project; `G` is a finding of the guard.
    errors: String,
    /// True if a file differs from the start of the loop; `None` if unknown.
    has_changed: Option<bool>,
    /// An agent that never changes a file.
    is_idle: bool,
    /// The checks of the project; true for those that can still be run.
    checks: [(&'static str, bool); 2],
    /// Continuations the host has counted since the last tool call.
    in_row: u32,
    has_acted: bool,
    /// Held Stops since the user last resumed the loop or raised its limits.
    blocks: u32,
    was_cancelled: bool,
    was_removed: bool,
    ends: BTreeMap<&'static str, u32>,
    /// The share of the context that may be filled, in thousandths; `None` without a budget.
    budget_permille: Option<u64>,
}

impl SimulatedLoop {
    fn new(seed: u64) -> Self {
        let mut random = SimulationRng::new(seed);
        let mode = Mode::NAMES[usize::try_from(random.number_below(3)).unwrap_or_default()].0;
        let options = LoopOptions {
            milestone_every: random.one_in(4).then(|| random.small(5)),
            hitl_threshold: random.small(4),
            max_minutes: random.one_in(5).then(|| random.small(60)),
            max_tokens: random.one_in(5).then(|| random.number_below(5_000) + 1),
            force_max: random.one_in(6),
            research: random.one_in(2),
            ..LoopOptions::defaults_for(mode)
        };
        let branch = (mode == Mode::Autonomous && random.one_in(2)).then(|| "auto".to_owned());
        let promise = random.one_in(2).then(|| "DONE".to_owned());
        let max_iterations = random.small(12);
        let is_idle = random.one_in(4);
        let errors = if is_idle && random.one_in(2) { String::new() } else { "abc".to_owned() };
        let budget_permille = random.one_in(3).then(|| random.number_below(1_000) + 1);
        let first = LoopState { mode, promise, options, branch, max_iterations, ..state() };
        Self {
            random,
            stored: Some(first),
            stale: None,
            now_ms: 1,
            errors,
            has_changed: Some(false),
            is_idle,
            checks: [("unit", true), ("build", true)],
            in_row: 0,
            has_acted: false,
            blocks: 0,
            was_cancelled: false,
            was_removed: false,
            ends: BTreeMap::new(),
            budget_permille,
        }
    }

    /// Like the store, writes `next` only over the state it was computed from.
    fn save(&mut self, before: &LoopState, next: LoopState) -> bool {
        if self.stored.as_ref() != Some(before) {
            return false;
        }
        self.stored = Some(next);
        true
    }

    fn play_one(&mut self) {
        self.now_ms += self.random.number_below(240_000);
        match self.random.number_below(20) {
            0 => self.change_by_user(|state, now| control::pause_loop(state, now).ok()),
            1 | 2 => self.resume(),
            3 if self.random.one_in(3) => self.cancel(),
            4 if self.random.one_in(20) => {
                self.stored = None;
                self.was_removed = true;
            }
            5..=9 => self.work(),
            10 => self.stale = self.stored.clone(),
            11 => self.late_stop(),
            12 => self.foreign_stop(),
            _ => self.stop(),
        }
        self.invariants();
    }

    fn change_by_user(&mut self, change: impl FnOnce(&LoopState, u64) -> Option<LoopState>) {
        let Some(before) = self.stored.clone() else { return };
        if let Some(next) = change(&before, self.now_ms) {
            assert!(self.save(&before, next));
        }
    }

    fn resume(&mut self) {
        let max_iterations = self.random.one_in(2).then(|| self.random.small(20));
        let raise = NewLimits { max_iterations, ..NewLimits::default() };
        self.change_by_user(|state, now| control::resume_loop(state, raise, now).ok());
        self.blocks = 0;
        self.in_row = 0;
    }

    fn cancel(&mut self) {
        let is_active = self.stored.as_ref().is_some_and(|state| state.status.is_active());
        self.change_by_user(|state, now| Some(control::cancel_loop(state, now)));
        self.was_cancelled |= is_active;
    }

    /// The agent edits: it fixes an error, introduces one or weakens a test.
    fn work(&mut self) {
        self.has_acted = true;
        for (_, can_run) in &mut self.checks {
            *can_run ^= self.random.one_in(12);
        }
        if self.is_idle {
            return;
        }
        // The change may be undone, and a checkpoint may be missing.
        self.has_changed = (!self.random.one_in(10)).then(|| !self.random.one_in(10));
        match self.random.number_below(6) {
            0 | 1 => drop(self.errors.pop()),
            2 => self.errors.push('x'),
            3 => self.errors.push('G'),
            4 => self.errors.clear(),
            _ => self.errors = if self.errors == "a" { "b".into() } else { "a".into() },
        }
    }

    fn evidence(&mut self) -> Evidence {
        let mut findings: Vec<Finding> =
            self.errors.chars().map(|code| finding("a.py", 1, &code.to_string())).collect();
        for guarded in findings.iter_mut().filter(|finding| finding.code == "G") {
            guarded.sensor = "guard".into();
        }
        assign_fingerprints(&mut findings);
        let causes = [Cause::Loading, Cause::NotInstalled, Cause::ProjectFault, Cause::Silent];
        let cause = causes.get(usize::try_from(self.random.number_below(16)).unwrap_or_default());
        let gap = cause.map(|cause| Gap::new(*cause, "why"));
        let dirty = !findings.is_empty();
        let reading =
            SensorReading { dirty, gap, ..SensorReading::clean("pyright", SensorKind::Lsp, 1) };
        if self.random.one_in(30) {
            return Evidence::default();
        }
        let mut readings = vec![reading];
        for (name, can_run) in self.checks {
            let reading = SensorReading::clean(name, SensorKind::Check, 0);
            let dirty = can_run && self.random.one_in(6);
            let cause = if self.random.one_in(2) { Cause::NotInstalled } else { Cause::TimedOut };
            let gap = (!can_run).then(|| Gap::new(cause, "why"));
            readings.push(SensorReading { dirty, gap, ..reading });
        }
        Evidence { readings, findings, ..Evidence::default() }
    }

    fn facts(&mut self) -> StopFacts {
        let lsp_required = self.random.one_in(5);
        let work = match self.has_changed {
            Some(true) => WorkChange::Changed,
            Some(false) => WorkChange::Unchanged,
            None => WorkChange::Unknown("no checkpoint".into()),
        };
        let missing = if self.random.one_in(2) { vec!["APPROACH".to_owned()] } else { Vec::new() };
        // Without a readable transcript the context is unknown.
        let budget_permille = self.budget_permille.filter(|_| !self.random.one_in(4));
        let context = budget_permille.map(|budget_permille| ContextUse {
            tokens: self.random.number_below(1_001),
            window: 1_000,
            budget_permille,
            line: "full".into(),
        });
        StopFacts {
            work,
            lsp_required,
            research_missing: missing,
            tree: self.random.one_in(2).then(|| self.errors.clone()),
            tokens: self.random.one_in(2).then_some(self.now_ms / 1_000),
            context,
            check_problems: self.random.one_in(2).then(|| self.random.number_below(30)),
            now_ms: self.now_ms,
            ..StopFacts::default()
        }
    }

    fn judge_outcome(&mut self) -> Option<JudgeOutcome> {
        match self.random.number_below(4) {
            0 => Some(JudgeOutcome::Approved),
            1 => Some(JudgeOutcome::Rejected { reasons: vec!["no".into()] }),
            2 => Some(JudgeOutcome::Unmeasured(Gap::new(Cause::TimedOut, "no answer"))),
            // There are no criteria.
            _ => None,
        }
    }

    fn merge_outcome(&mut self) -> MergeOutcome {
        match self.random.number_below(5) {
            0 | 1 => MergeOutcome::Merged,
            2 => MergeOutcome::Conflict("merge a.py".into()),
            3 => MergeOutcome::Impossible("no such branch".into()),
            _ => MergeOutcome::Unmeasured(Gap::new(Cause::TimedOut, "no answer")),
        }
    }

    /// Takes the steps of a Stop, each at most once, until it is decided.
    fn take_steps(
        &mut self,
        before: &LoopState,
        input: &StopInput<'_>,
        evidence: &Evidence,
        facts: &mut StopFacts,
    ) -> (LoopState, StopDecision) {
        loop {
            match next_step(before, input, evidence, facts) {
                StopStep::NeedsJudge => {
                    assert_eq!(facts.judge, Consultation::Open);
                    facts.judge = self.judge_outcome().into();
                }
                StopStep::NeedsClosingLook => {
                    assert_eq!(facts.closing_look, Consultation::Open);
                    let gap = Gap::new(Cause::Superseded, "files changed");
                    facts.closing_look = self.random.one_in(8).then_some(gap).into();
                }
                StopStep::NeedsMerge => {
                    assert_eq!(facts.merge, Consultation::Open);
                    facts.merge = Consultation::Done(self.merge_outcome());
                }
                StopStep::NeedsCheckpoint => {
                    assert_eq!(facts.checkpoint, Consultation::Open);
                    facts.checkpoint =
                        self.random.one_in(2).then(|| "checkpoint".to_owned()).into();
                }
                StopStep::Decided(outcome) => return (outcome.next, outcome.decision),
            }
        }
    }

    fn stop(&mut self) {
        let Some(before) = self.stored.clone() else { return };
        self.decide(&before);
    }

    /// Decides a Stop on an older state; later changes of the loop must win.
    fn late_stop(&mut self) {
        if let Some(before) = self.stale.take() {
            self.decide(&before);
        }
    }

    fn decide(&mut self, before: &LoopState) {
        let last_message =
            if self.random.one_in(3) { "on it" } else { "Done.\n<promise>DONE</promise>" };
        let input = StopInput {
            waiting_stops: 0,
            now_ms: self.now_ms,
            session_id: "s",
            last_message,
            must_end: self.random.one_in(12),
            is_continuation: self.in_row > 0,
            has_acted: self.has_acted,
            continuations_max: Some(CAP),
        };
        if self.has_acted {
            self.in_row = 0;
        }
        if admit_stop(Some(before), &input) != StopAdmission::Measure {
            assert!(input.must_end || before.status != Status::Running);
            self.in_row = 0;
            return;
        }
        self.has_acted = false;
        let evidence = self.evidence();
        let mut facts = self.facts();
        let (next, decision) = self.take_steps(before, &input, &evidence, &mut facts);
        check(before, &next, &decision, &input, &evidence, &facts);
        if !self.save(before, next.clone()) {
            // An overtaken decision gives no reply and writes nothing.
            return;
        }
        // The process may be killed here: the next Stop sees the saved state, and the lost reply lets
        // the turn end.
        let is_killed = self.random.one_in(15);
        match decision {
            StopDecision::Continue(_) if !is_killed => {
                self.in_row += 1;
                self.blocks += 1;
                assert!(self.in_row <= CAP, "the host would have ended this turn");
            }
            _ => self.in_row = 0,
        }
        assert!(self.blocks <= next.max_iterations + RESEARCH_TRIES_MAX, "unbounded");
        if next.pause_reason == Some(PauseReason::ContextBudget) {
            *self.ends.entry(PauseReason::ContextBudget.as_str()).or_default() += 1;
        }
        if !next.status.is_active() {
            *self.ends.entry(next.status.as_str()).or_default() += 1;
        }
    }

    fn foreign_stop(&mut self) {
        for session_id in ["other", "", "s "] {
            let input = StopInput { session_id, ..StopInput::default() };
            assert_eq!(
                admit_stop(self.stored.as_ref(), &input),
                StopAdmission::Allow,
                "{session_id:?}"
            );
        }
    }

    fn invariants(&self) {
        assert!(!self.was_removed || self.stored.is_none(), "a removed loop was restored");
        let Some(state) = &self.stored else { return };
        assert!(!self.was_cancelled || state.status == Status::Cancelled, "it was revived");
        assert!(state.iteration <= state.max_iterations || state.status != Status::Running);
        assert_eq!(state.pause_reason.is_some(), state.status == Status::Paused);
        let has_note = state.note.is_some();
        assert!(has_note || state.status != Status::CompletedUnverified, "an unnamed gap");
    }
}

/// Checks the invariants of a decided Stop.
fn check(
    before: &LoopState,
    next: &LoopState,
    decision: &StopDecision,
    input: &StopInput<'_>,
    evidence: &Evidence,
    facts: &StopFacts,
) {
    let is_claimed = before.promise.is_none() || input.last_message.contains("<promise>");
    let judgement = facts.judge.outcome();
    let is_approved = judgement == Some(&JudgeOutcome::Approved)
        || judgement.is_none() && before.mode != Mode::Judge;
    assert!(before.mode != Mode::Basic || judgement.is_none(), "a basic loop has no judge");
    let is_merged =
        before.branch.is_none() || facts.merge == Consultation::Done(MergeOutcome::Merged);
    let has_changed_since = facts.closing_look.outcome().is_some();
    let is_clean = evidence.verdict() == Verdict::Clean && !has_changed_since;
    let is_done = is_clean && is_claimed && is_approved && facts.work == WorkChange::Changed;
    let has_lost = evidence.readings.iter().any(|reading| {
        let key = format!("{}:{}", reading.kind.as_str(), reading.sensor);
        let has_gap = reading.gap.as_ref().is_some_and(|gap| gap.cause != Cause::Silent);
        has_gap && before.measured_sensors.contains(&key)
    });
    match next.status {
        Status::Completed => assert!(is_done && is_merged, "completed on less than all evidence"),
        Status::CompletedUnverified => {
            assert_ne!(evidence.verdict(), Verdict::Dirty);
            assert!(is_claimed);
            assert!(!has_lost, "it ended well without a sensor that measured before");
            let is_asked = before.counters.idle_holds > 0;
            let is_last = before.iteration + 1 == before.max_iterations;
            let is_idle = facts.work == WorkChange::Unchanged;
            assert!(
                !is_idle || is_asked || is_last,
                "the agent was not asked why nothing was changed"
            );
        }
        _ => {}
    }
    if is_done && is_merged && before.iteration + 1 == before.max_iterations {
        assert_eq!(next.status, Status::Completed, "the last iteration counts");
    }
    assert!(next.counters.idle_holds <= 1, "an idle loop is held once");
    let is_held = matches!(decision, StopDecision::Continue(_) | StopDecision::Yield(_));
    assert_eq!(is_held, next.status == Status::Running);
    let is_full = facts.context.as_ref().is_some_and(ContextUse::is_used_up);
    assert!(!(is_full && is_held), "it went on with a full context");
    let is_paused_for_context = next.pause_reason == Some(PauseReason::ContextBudget);
    assert!(is_full || !is_paused_for_context, "the context has room or is unknown");
    assert_eq!(next.id, before.id);
    let is_research = next.counters.research_tries > before.counters.research_tries;
    assert_eq!(next.iteration, before.iteration + u32::from(!is_research));
    assert_eq!(next.history.len(), before.history.len() + usize::from(!is_research));
}

#[test]
fn invariants_hold_in_every_seeded_world() {
    let (mut ends, mut steps) = (BTreeMap::<&str, u32>::new(), 0_u64);
    for seed in 0..LOOPS {
        let mut simulated_loop = SimulatedLoop::new(seed);
        for _ in 0..STEPS {
            simulated_loop.play_one();
            steps += 1;
        }
        for (status, count) in simulated_loop.ends {
            *ends.entry(status).or_default() += count;
        }
    }
    #[expect(clippy::print_stdout, reason = "a run of this test shows the summary")]
    {
        println!("{LOOPS} seeded loops, {steps} steps, ends: {ends:?}");
    }
    assert!(steps >= 100_000);
    let all = Status::NAMES.iter().filter(|row| !row.0.is_active() && row.0 != Status::Cancelled);
    for word in all.map(|row| row.1).chain([PauseReason::ContextBudget.as_str()]) {
        assert!(ends.contains_key(word), "no simulated loop ended as {word}");
    }
}
