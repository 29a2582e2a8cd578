//! Gates and commits of simulated pipelines: judges that find faults or do not answer, agents that
//! play scenarios and lie about it, containers that are unavailable, and commits that do not fit.

use super::SimulatedPipeline;
use crate::commits::{CommitFault, CommitsReading, PipelineCommit};
use crate::gate::GateStatus;
use crate::review::CategoryReview;
use crate::scenario_runs::ScenarioRun;
use crate::state::{PipelineKind, PipelineOutcome};
use crate::step::{PipelineDecision, PipelineEvent, SandboxFailure, SandboxReading};
use moai_base::limits::{SCENARIO_PASS_PERCENT_MIN, SCENARIO_RUNS_MIN, WORKER_HOLDS_MAX};

impl SimulatedPipeline {
    /// The engine's gates at a Stop with a complete plan, in their order.
    pub(super) fn pass_gates(&mut self, decisions: &mut Vec<PipelineDecision>) {
        if self.pipeline.kind == PipelineKind::Full {
            if self.lacks_nothing(decisions) {
                let reading = self.sandbox();
                decisions.extend(self.apply(PipelineEvent::SandboxMeasured(reading)));
            }
            if self.lacks_nothing(decisions) {
                let review = self.review();
                decisions.extend(self.apply(PipelineEvent::CategoriesReviewed(review)));
            }
            if self.lacks_nothing(decisions) && !self.pipeline.scenarios.is_empty() {
                let work = self.work_digest();
                decisions.extend(self.apply(PipelineEvent::ScenariosReviewed(work)));
                self.check_scenarios();
            }
        }
        if self.lacks_nothing(decisions) && self.wants_commits {
            let reading = self.commits();
            let is_faulty =
                matches!(&reading, CommitsReading::Surveyed { faults, .. } if !faults.is_empty());
            let measured = self.apply(PipelineEvent::CommitsMeasured(reading));
            assert_eq!(self.pipeline.commit_faults > 0, !measured.is_empty());
            assert!(is_faulty || measured.is_empty(), "sound commits hold nothing");
            decisions.extend(measured);
        }
    }

    fn lacks_nothing(&self, decisions: &[PipelineDecision]) -> bool {
        let is_open = |decision: &PipelineDecision| {
            matches!(
                decision,
                PipelineDecision::Hold(_)
                    | PipelineDecision::Pause(_)
                    | PipelineDecision::AwaitPerson(_)
                    | PipelineDecision::AwaitAdditions(_)
                    | PipelineDecision::EndWithFailures(_)
            )
        };
        !decisions.iter().any(is_open)
            && self.pipeline.kind.has_plan()
            && self.pipeline.passed_todos() == self.pipeline.todos.len()
    }

    /// Identifies the state of the work; sometimes unknown.
    fn work_digest(&self) -> Option<String> {
        self.has_git.then(|| format!("{:?}", self.done))
    }

    fn sandbox(&mut self) -> SandboxReading {
        match self.random.number_below(8) {
            0 => SandboxReading::InContainer {
                image: "i".to_owned(),
                failed: vec![SandboxFailure { command: "check 1".into(), output: "x".into() }],
                gap: None,
            },
            1..=3 => SandboxReading::OnHost("no engine answers".to_owned()),
            _ => SandboxReading::InContainer {
                image: "i".to_owned(),
                failed: Vec::new(),
                gap: self.random.one_in(3).then(|| "no answer in time".to_owned()),
            },
        }
    }

    fn review(&mut self) -> CategoryReview {
        let verdict = match self.random.number_below(8) {
            0 => "NEEDS_FIXES",
            1 => "DEGRADED",
            2 => "SKIPPED",
            _ => "SHIP",
        };
        CategoryReview {
            verdict: verdict.to_owned(),
            critical: usize::from(verdict == "NEEDS_FIXES"),
            warnings: 0,
            findings: Vec::new(),
            judges: Vec::new(),
            gap: None,
        }
    }

    fn commits(&mut self) -> CommitsReading {
        let fault = match self.random.number_below(8) {
            0 => return CommitsReading::Unavailable("no repository".to_owned()),
            1 => Some(CommitFault::Uncommitted { files: vec!["a".to_owned()], total: 1 }),
            2 => Some(CommitFault::Unfinished { checked: 0, total: 1 }),
            3 => Some(CommitFault::Message("commit 1 has no subject".to_owned())),
            _ => None,
        };
        let commits = vec![PipelineCommit::new("1".to_owned(), "a: b", Vec::new())];
        CommitsReading::Surveyed { commits, faults: fault.into_iter().collect(), gap: None }
    }

    /// An agent ends that helps without a TODO: it plays a scenario or proposes commits.
    pub(super) fn help(&mut self) {
        if self.pipeline.approved.is_none() || !self.held.status.is_active() {
            return;
        }
        let agent = format!("agent-{}", self.random.number_below(4));
        let holds = self.pipeline.worker_holds.get(&agent).copied().unwrap_or_default();
        let number = usize::try_from(self.random.number_below(3)).unwrap_or_default();
        let event = if let Some(scenario) = self.pipeline.scenarios.get(number) {
            let is_claimed = !self.random.one_in(5);
            let run = ScenarioRun {
                agent: String::new(),
                work: self.work_digest(),
                has_passed: is_claimed && !self.random.one_in(8),
                commands_run: 0,
                failure: String::new(),
            };
            let scenario = scenario.key.clone();
            PipelineEvent::ScenarioPlayed { agent, scenario, run, is_claimed }
        } else {
            let faults = if self.random.one_in(2) { vec!["x".to_owned()] } else { Vec::new() };
            PipelineEvent::HelperEnded { agent, faults }
        };
        let is_held = self.apply(event).iter().any(|it| matches!(it, PipelineDecision::Hold(_)));
        assert!(!is_held || holds < WORKER_HOLDS_MAX, "a helper is held a bounded number of times");
    }

    /// A scenario passes only by enough runs with the current files.
    fn check_scenarios(&self) {
        if self.pipeline.gates.scenarios != GateStatus::Passed {
            return;
        }
        let work = self.work_digest();
        for scenario in &self.pipeline.scenarios {
            let runs = self.pipeline.scenario_runs[&scenario.key].iter();
            let runs: Vec<&ScenarioRun> = runs.filter(|run| run.work == work).collect();
            let passed = runs.iter().filter(|run| run.has_passed).count();
            assert!(runs.len() >= SCENARIO_RUNS_MIN, "{runs:?}");
            assert!(passed * 100 >= runs.len() * SCENARIO_PASS_PERCENT_MIN, "{runs:?}");
        }
    }

    /// A completed pipeline passed every gate, and its commits fit.
    pub(super) fn check_gates_at_end(&self) {
        if self.pipeline.outcome != Some(PipelineOutcome::Completed) {
            return;
        }
        if self.pipeline.kind == PipelineKind::Full {
            assert_eq!(self.pipeline.gates.unproven(), []);
        }
        assert_eq!((self.pipeline.commit_faults, &self.pipeline.commit_gap), (0, &None));
    }
}
