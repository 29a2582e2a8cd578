//! Runs the checks of a Stop: the frozen plan of its loop, or the project's present one.

use std::collections::BTreeMap;
use std::time::Instant;

use super::check_plan::{check_names, check_plan, still_unanswered};
use super::check_runner::CheckRunner;
use super::proposals::proposals;
use crate::engine::{Engine, measure_blocking, run_blocking};
use crate::project::Project;
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::verdict::{Cause, Gap};
use moai_loops::charter::Charter;
use moai_loops::criteria::counts::{TestCounts, next_baseline_counts};
use moai_loops::criteria::{
    AUTOCHECKS, CheckCommand, CheckCriterion, CheckPlan, CheckScope, unrequested_criteria,
};
use moai_loops::exam::{Exam, ExamRole};
use moai_protocol::control::CallerContext;

/// The results of all check commands.
#[derive(Debug, Default)]
pub(crate) struct CheckResults {
    /// One for each command, and one for each criterion without a command.
    pub(crate) readings: Vec<SensorReading>,
    /// Anomalies of the test runs.
    pub(crate) findings: Vec<Finding>,
    /// Criteria for which the project has commands that were not run.
    pub(crate) not_asked: Vec<CheckCriterion>,
    /// The problems of failing commands: failed tests, else error lines, else one per command.
    pub(crate) problems: u64,
}

impl CheckResults {
    pub(super) fn add_gap(&mut self, name: &str, gap: Gap) {
        self.readings.push(SensorReading::unmeasured(name, SensorKind::Check, gap));
    }
}

/// Readings of checks, by name.
pub(crate) type CheckReadings = BTreeMap<String, SensorReading>;

/// Runs the frozen plan of the loop, or the project's current plan without a loop or an exam.
/// Commands that do not finish by `deadline` are unmeasured; those that have `passed` with the same files are
/// not run again.
pub(crate) async fn run_checks(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    charter: Option<&Charter>,
    deadline: Instant,
    passed: &CheckReadings,
) -> CheckResults {
    let PlanToRun { exam, plan } = match frozen_or_current_plan(engine, project, charter).await {
        Ok(plan_to_run) => plan_to_run,
        Err(gap) => {
            let mut results = CheckResults::default();
            results.add_gap("checks", gap);
            return results;
        }
    };
    if let Some(gap) = project.trust.gap() {
        return withheld_checks(project, plan, &gap);
    }
    let mut runs = CheckRunner::new(engine, project, caller, deadline);
    let before = exam.as_ref().and_then(|exam| exam.counts.get(AUTOCHECKS));
    let now = runs.autochecks(engine, exam.as_ref(), charter, before).await;
    let mut counts = BTreeMap::new();
    counts.extend(now.map(|now| (AUTOCHECKS.to_owned(), next_baseline_counts(before, &now))));
    for command in &plan.commands {
        if let Some(reading) = passed.get(&command.name) {
            runs.results.readings.push(reading.clone());
            continue;
        }
        let before = exam.as_ref().and_then(|exam| exam.counts.get(&command.name));
        let now = runs.command(command, before).await;
        counts.extend(now.map(|now| (command.name.clone(), next_baseline_counts(before, &now))));
    }
    runs.add_missing_tests().await;
    let with_tests = acceptance_commands_with_tests(&plan, exam.as_ref(), &counts);
    for criterion in &plan.unanswered {
        if let Some(criterion) = still_unanswered(project, criterion.clone(), &with_tests).await {
            runs.results.add_gap(&criterion.name, criterion.gap);
        }
    }
    if let (Some(charter), Some(_), false) = (charter, exam, counts.is_empty()) {
        let kept = engine.store.set_exam_counts(&project.key, &charter.id, counts).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "the counts of tests were not kept");
        }
    }
    let proposing = project.clone();
    match measure_blocking(move || proposals(&proposing)).await {
        Ok(proposed) => runs.results.not_asked = unrequested_criteria(&plan, &proposed),
        Err(gap) => runs.results.add_gap("checks", gap),
    }
    assign_fingerprints(&mut runs.results.findings);
    runs.results
}

/// The acceptance commands that have run a test, now or earlier in the loop.
fn acceptance_commands_with_tests(
    plan: &CheckPlan,
    exam: Option<&Exam>,
    counts: &BTreeMap<String, TestCounts>,
) -> Vec<CheckCommand> {
    let has_run = |counts: &BTreeMap<String, TestCounts>, name: &str| {
        counts.get(name).is_some_and(|tests| tests.run() > 0)
    };
    let commands = plan.commands.iter().filter(|command| {
        let name = command.name.as_str();
        command.is_acceptance()
            && (has_run(counts, name) || exam.is_some_and(|exam| has_run(&exam.counts, name)))
    });
    commands.cloned().collect()
}

/// Runs these commands alone, without comparing their tests with earlier runs.
pub(crate) async fn run_commands(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    commands: Vec<CheckCommand>,
    deadline: Instant,
) -> Vec<SensorReading> {
    if let Some(gap) = project.trust.gap() {
        let plan = CheckPlan { commands, unanswered: Vec::new() };
        return withheld_checks(project, plan, &gap).readings;
    }
    let mut runs = CheckRunner::new(engine, project, caller, deadline);
    for command in &commands {
        runs.command(command, None).await;
    }
    runs.results.readings
}

/// The results in a project that is not trusted: every command is a gap.
fn withheld_checks(project: &Project, plan: CheckPlan, gap: &Gap) -> CheckResults {
    let mut results = CheckResults::default();
    for name in check_names(project, &plan) {
        results.add_gap(&name, gap.clone());
    }
    for criterion in plan.unanswered {
        results.add_gap(&criterion.name, criterion.gap);
    }
    results
}

/// What a Stop runs.
struct PlanToRun {
    /// The exam of the loop, whose plan it is; `None` for the project's present plan.
    exam: Option<Exam>,
    plan: CheckPlan,
}

async fn frozen_or_current_plan(
    engine: &Engine,
    project: &Project,
    charter: Option<&Charter>,
) -> Result<PlanToRun, Gap> {
    if let Some(charter) = charter {
        let found = engine.store.find_exam(&project.key, &charter.id, ExamRole::STRICT).await;
        let found = found.map_err(|error| Gap::new(Cause::Crashed, error.to_string()))?;
        if let Some(exam) = found {
            let plan = exam.plan.clone();
            return Ok(PlanToRun { exam: Some(exam), plan });
        }
    }
    let project = project.clone();
    let scope = charter.map_or(CheckScope::Proposed, |charter| charter.until.check_scope());
    let plan = run_blocking(move || check_plan(&project, scope))
        .await
        .ok_or_else(|| Gap::new(Cause::Crashed, "the project's files could not be read"))?;
    Ok(PlanToRun { exam: None, plan })
}
