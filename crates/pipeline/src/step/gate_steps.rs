//! Steps after every TODO passes: the container, the review in categories, the scenarios and the
//! commits. Each may hold the turn; a gate that fails begins a round of fixes.

use super::rounds::{begin_round, gate_failed, out_of_rounds, what_follows};
use super::{PipelineDecision, hold_worker};
use crate::commits::{CommitFault, CommitsReading};
use crate::gate::GateStatus;
use crate::objection::{OpenScenario, PlanObjection};
use crate::review::{CategoryReview, ReviewSeverity};
use crate::scenario_runs::{
    FrozenScenario, ScenarioRun, ScenarioVerdict, frozen_scenarios, gate_of_verdicts,
    scenario_verdict,
};
use crate::state::{BoxCorrection, PipelineKind, PipelinePhase, PipelineState};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    BOX_CORRECTIONS_MAX, CHANGED_DOCUMENTS_MAX, COMMIT_CHECK_STOPS_MAX, GATE_ROUNDS_MAX,
    HELPER_FAULTS_MAX, REASON_LINE_CHARS_MAX, SCENARIO_HOLDS_MAX, SCENARIO_RUNS_KEPT_MAX,
    SCENARIO_RUNS_MAX,
};

/// The runs of the acceptance commands in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxReading {
    /// They ran only on the host, with the reason.
    OnHost(String),
    /// They ran in this image; those that failed, with the end of their output.
    InContainer {
        image: String,
        /// Command and output.
        failed: Vec<SandboxFailure>,
        /// Commands without a result, with the reasons, on one line.
        gap: Option<String>,
    },
}

/// A command that failed in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxFailure {
    pub command: String,
    /// The end of its output.
    pub output: String,
}

/// Freezes the scenarios of the approved plan. `acceptance` is the text of `acceptance.md`.
pub(super) fn freeze_scenarios(
    next: &mut PipelineState,
    acceptance: Option<&str>,
) -> Vec<PipelineDecision> {
    if let Some(approved) = &next.approved {
        next.scenarios = frozen_scenarios(&approved.document(), acceptance);
    }
    Vec::new()
}

/// Records a run of a scenario. A pass that the engine's own runs do not confirm is recorded as a
/// claim.
pub(super) fn note_scenario_run(
    next: &mut PipelineState,
    agent: &str,
    key: &str,
    mut run: ScenarioRun,
    is_claimed: bool,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    let Some(scenario) = next.scenarios.iter().find(|scenario| scenario.key == key).cloned() else {
        let what = format!("the approved plan has no scenario {key}");
        return hold_worker(next, agent, vec![PlanObjection::Answer { what }]);
    };
    let runs = next.scenario_runs.entry(scenario.key.clone()).or_default();
    let is_own = |known: &ScenarioRun| known.agent == agent && known.work == run.work;
    if !agent.is_empty() && runs.iter().any(is_own) {
        let what = format!("you have played {key} already: another agent plays the next run");
        return hold_worker(next, agent, vec![PlanObjection::Answer { what }]);
    }
    agent.clone_into(&mut run.agent);
    if runs.iter().filter(|known| known.work == run.work).count() >= SCENARIO_RUNS_MAX {
        let what = format!("{key} was played {SCENARIO_RUNS_MAX} times with these files");
        return hold_worker(next, agent, vec![PlanObjection::Answer { what }]);
    }
    if is_claimed && !run.has_passed {
        let failure = one_line(&run.failure, REASON_LINE_CHARS_MAX);
        let reason = format!("a run of {key} was reported as PASS: {failure}");
        next.corrections.push(BoxCorrection { todo: scenario.todo, at_ms: now_ms, reason });
        let surplus = next.corrections.len().saturating_sub(BOX_CORRECTIONS_MAX);
        next.corrections.drain(..surplus);
    }
    let runs = next.scenario_runs.entry(scenario.key).or_default();
    runs.push(run);
    let surplus = runs.len().saturating_sub(SCENARIO_RUNS_KEPT_MAX);
    runs.drain(..surplus);
    next.scenario_holds = 0;
    Vec::new()
}

/// Gate 3 at a Stop at which everything else passes. `work` identifies the source files.
pub(super) fn review_scenarios(
    next: &mut PipelineState,
    work: Option<&str>,
) -> Vec<PipelineDecision> {
    let verdicts: Vec<ScenarioVerdict> = next
        .scenarios
        .iter()
        .map(|scenario| scenario_verdict(runs_of(next, &scenario.key), work))
        .collect();
    next.gates.scenarios = gate_of_verdicts(&verdicts);
    let pairs: Vec<(FrozenScenario, ScenarioVerdict)> =
        next.scenarios.iter().cloned().zip(verdicts).collect();
    match next.gates.scenarios {
        GateStatus::Failed => {
            let mut objections = Vec::new();
            for (scenario, _) in pairs.iter().filter(|(_, it)| *it == ScenarioVerdict::Failed) {
                let failed = runs_of(next, &scenario.key).iter().rev().find(|run| !run.has_passed);
                let failure = failed.map(|run| run.failure.clone()).unwrap_or_default();
                let scenario = format!("{} ({})", scenario.key, scenario.title);
                objections.push(PlanObjection::ScenarioFails { scenario, failure });
            }
            let names: Vec<&str> = pairs.iter().map(|(one, _)| one.key.as_str()).collect();
            fail_gate(next, &format!("scenarios {}", names.join(" ")), objections)
        }
        // Without subagents, scenarios cannot be played.
        GateStatus::Open if next.is_solo || next.scenario_holds >= SCENARIO_HOLDS_MAX => {
            next.gates.scenarios = GateStatus::Skipped;
            Vec::new()
        }
        GateStatus::Open => {
            next.scenario_holds += 1;
            let open = pairs.iter().filter_map(|(scenario, verdict)| match verdict {
                ScenarioVerdict::Open(_) => Some(OpenScenario {
                    key: scenario.key.clone(),
                    title: scenario.title.clone(),
                    runs: runs_with(next, &scenario.key, work).count(),
                    passed: runs_with(next, &scenario.key, work)
                        .filter(|run| run.has_passed)
                        .count(),
                }),
                _ => None,
            });
            vec![PipelineDecision::Hold(vec![PlanObjection::PlayScenarios(open.collect())])]
        }
        _ => Vec::new(),
    }
}

fn runs_of<'s>(state: &'s PipelineState, key: &str) -> &'s [ScenarioRun] {
    state.scenario_runs.get(key).map(Vec::as_slice).unwrap_or_default()
}

/// The runs of a scenario with these files.
fn runs_with<'s>(
    state: &'s PipelineState,
    key: &str,
    work: Option<&'s str>,
) -> impl Iterator<Item = &'s ScenarioRun> {
    runs_of(state, key).iter().filter(move |run| run.work.as_deref() == work)
}

/// Gate 2 at a Stop at which every test passes.
pub(super) fn review_categories(
    next: &mut PipelineState,
    review: CategoryReview,
) -> Vec<PipelineDecision> {
    next.gates.categories = review.gate();
    next.gates.review = next.gates.whole_review(None);
    let decisions = if next.gates.categories == GateStatus::Failed {
        let mut findings = review.findings.clone();
        findings.sort_by_key(|finding| finding.severity == ReviewSeverity::Warning);
        let places: Vec<&str> = findings.iter().map(|finding| finding.category.as_str()).collect();
        let problems = format!("review {}", places.join(" "));
        let objections = findings.into_iter().take(HELPER_FAULTS_MAX);
        let objections = objections.map(PlanObjection::Reviewed).collect();
        fail_gate(next, &problems, objections)
    } else {
        Vec::new()
    };
    next.review = Some(review);
    decisions
}

/// Gate 1 in a container. Without a working container engine, only the runs on the host count; runs in one
/// that gave no result degrade the gate.
pub(super) fn note_sandbox(
    next: &mut PipelineState,
    reading: SandboxReading,
) -> Vec<PipelineDecision> {
    let failed = match reading {
        SandboxReading::OnHost(reason) => {
            next.sandbox = Some(format!("on the host: {reason}"));
            return Vec::new();
        }
        SandboxReading::InContainer { image, failed, gap } => {
            if gap.is_some() {
                next.gates.tests = GateStatus::Degraded;
            }
            next.sandbox = Some(match gap {
                Some(gap) => format!("in a container of {image}; on the host alone: {gap}"),
                None => format!("in a container of {image}"),
            });
            failed
        }
    };
    if failed.is_empty() {
        return Vec::new();
    }
    next.gates.tests = GateStatus::Failed;
    let names: Vec<String> = failed.iter().map(|one| one.command.clone()).collect();
    let objections = failed
        .into_iter()
        .take(HELPER_FAULTS_MAX)
        .map(|one| PlanObjection::SandboxFails { command: one.command, output: one.output });
    let objections = objections.collect();
    fail_gate(next, &format!("container {}", names.join(" ")), objections)
}

/// Records gate documents that were changed after they were written.
pub(super) fn note_changed_documents(
    next: &mut PipelineState,
    changed: Vec<String>,
) -> Vec<PipelineDecision> {
    for path in changed {
        if !next.changed_documents.contains(&path) {
            next.changed_documents.push(path);
        }
    }
    let surplus = next.changed_documents.len().saturating_sub(CHANGED_DOCUMENTS_MAX);
    next.changed_documents.drain(..surplus);
    Vec::new()
}

/// Begins a round of fixes for a gate that failed.
fn fail_gate(
    next: &mut PipelineState,
    problems: &str,
    mut objections: Vec<PlanObjection>,
) -> Vec<PipelineDecision> {
    debug_assert_eq!(next.kind, PipelineKind::Full, "others have no gates");
    next.phase = PipelinePhase::Fix;
    let strategy = begin_round(next, Some(problems.to_owned()));
    let round = next.fix_rounds.len();
    objections.push(gate_failed(next, strategy));
    let mut decisions = vec![PipelineDecision::Hold(objections)];
    decisions.extend(what_follows(next, strategy));
    if round >= GATE_ROUNDS_MAX {
        decisions.push(out_of_rounds());
    }
    decisions
}

/// Compares the commits with the work. This is the last check of a plan.
pub(super) fn measure_commits(
    next: &mut PipelineState,
    reading: CommitsReading,
) -> Vec<PipelineDecision> {
    next.phase = PipelinePhase::Finalize;
    let (commits, mut faults, gap) = match reading {
        CommitsReading::Unavailable(reason) => (Vec::new(), Vec::new(), Some(reason)),
        CommitsReading::Surveyed { commits, faults, gap } => (commits, faults, gap),
    };
    next.commits = commits;
    next.commit_gap = gap;
    let waits = |fault: &CommitFault| matches!(fault, CommitFault::Unfinished { .. });
    next.commit_waits = if faults.iter().any(waits) { next.commit_waits + 1 } else { 0 };
    if next.commit_waits > COMMIT_CHECK_STOPS_MAX {
        faults.retain(|fault| !waits(fault));
        next.commit_gap.get_or_insert("not all of them were checked in time".to_owned());
    }
    next.commit_faults = faults.len();
    if faults.is_empty() {
        return Vec::new();
    }
    vec![PipelineDecision::Hold(faults.into_iter().map(PlanObjection::Commits).collect())]
}

/// An agent with an unusable answer is held a few times.
pub(super) fn helper_end(
    next: &mut PipelineState,
    agent: &str,
    faults: Vec<String>,
) -> Vec<PipelineDecision> {
    if faults.is_empty() {
        return Vec::new();
    }
    let faults = faults.into_iter().take(HELPER_FAULTS_MAX);
    hold_worker(next, agent, faults.map(|what| PlanObjection::Answer { what }).collect())
}

#[cfg(test)]
mod tests;
