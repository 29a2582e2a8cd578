//! The end of a worker: the engine's own run decides, and the contents of the report are kept.

use super::rounds::note_tried;
use super::{CommandReading, PipelineDecision, WorkerReading, note_correction, note_run};
use crate::learnings::entries_of;
use crate::objection::PlanObjection;
use crate::pivot::{DiscoveryVerdict, PIVOT_FILE, PivotDocument, check_discovery};
use crate::plan::{TodoId, TodoStatus};
use crate::state::{ASKS_THE_USER, KeptDiscovery, KeptLearning, PipelineState};
use crate::worker_report::{WorkerReport, WorkerStatus};
use moai_base::limits::{
    LEARNINGS_KEPT_MAX, TODO_ATTEMPTS_MAX, WORKER_HOLDS_MAX, WORKERS_COUNTED_MAX,
};

/// A worker may end when the engine's own run of its TODO's commands passes, or when it has failed
/// often enough.
pub(super) fn worker_end(
    next: &mut PipelineState,
    reading: &WorkerReading,
    now_ms: u64,
) -> Vec<PipelineDecision> {
    let Some(approved) = next.approved.clone() else { return Vec::new() };
    let plan = approved.document();
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
    if next.known_workers.len() < WORKERS_COUNTED_MAX {
        next.known_workers.insert(reading.agent.clone());
    }
    note_run(next, todo, &reading.commands, now_ms);
    if next.todos.get(todo.id.as_str()).is_some_and(|progress| progress.has_passed) {
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
    let is_failure = |it: &CommandReading| matches!(it, CommandReading::Failed(_));
    if reading.is_unguarded && !reading.commands.values().any(is_failure) {
        // The worker can do nothing about it; the next Stop measures again.
        keep_learnings(next, report);
        return Vec::new();
    }
    let FailedAttempt { attempt, failure, is_given_up } = count_attempt(next, &todo.id);
    note_tried(next, &format!("{}: {}; then {failure}", todo.id, report.summary));
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

/// A failed attempt at a TODO.
pub(super) struct FailedAttempt {
    /// Its number, from 1.
    pub(super) attempt: u32,
    /// The failure, on one line.
    pub(super) failure: String,
    /// True if the limit of attempts is reached.
    pub(super) is_given_up: bool,
}

/// Counts an attempt at a TODO that has failed.
pub(super) fn count_attempt(next: &mut PipelineState, todo: &TodoId) -> FailedAttempt {
    let progress = next.todos.entry(todo.to_string()).or_default();
    progress.attempts += 1;
    progress.is_given_up |= progress.attempts >= TODO_ATTEMPTS_MAX;
    let (attempt, is_given_up) = (progress.attempts, progress.is_given_up);
    FailedAttempt { attempt, failure: progress.failure.clone(), is_given_up }
}

/// Keeps the learnings of an accepted report for later work.
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

/// Keeps the discoveries of an accepted report, with the verdict of the pivot points.
fn keep_discoveries(next: &mut PipelineState, report: &WorkerReport, pivots: &PivotDocument) {
    for discovery in &report.discoveries {
        let (verdict, conflicts) = match check_discovery(&pivots.points, discovery) {
            DiscoveryVerdict::Rejected(conflicts) => ("rejected", conflicts),
            DiscoveryVerdict::AskUser(conflicts) => (ASKS_THE_USER, conflicts),
            // A fault may hide a point.
            DiscoveryVerdict::Accepted if !pivots.faults.is_empty() => (ASKS_THE_USER, Vec::new()),
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
            answer: None,
        };
        let is_known = next.discoveries.iter().any(|known| is_same_discovery(known, &kept));
        if next.discoveries.len() < LEARNINGS_KEPT_MAX && !is_known {
            next.discoveries.push(kept);
        }
    }
}

/// True if a worker proposes the same again, answered or not.
fn is_same_discovery(known: &KeptDiscovery, new: &KeptDiscovery) -> bool {
    known.summary == new.summary && known.todo == new.todo && known.verdict == new.verdict
}

/// Holds a worker for its report a few times.
pub(super) fn hold_worker(
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::samples::approved_plan;
    use crate::step::{PipelineEvent, step};

    const PLAN: &str = "# PLAN: a\n\n### [ ] TODO 1: one\n- [A] `check 1`\n";
    const REPORT: &str = r#"{"todo_id": "TODO-1", "status": "PASS",
        "outputs": {"files_changed": [], "summary": "done"},
        "acceptance_criteria": [{"id": "AC-1", "status": "PASS"}],
        "learnings": [], "issues": [], "decisions": []}"#;

    fn ended(command: CommandReading) -> (PipelineState, Vec<PipelineDecision>) {
        let argv = vec!["check".to_owned(), "1".to_owned()];
        let reading = WorkerReading {
            agent: "a".to_owned(),
            report: WorkerReport::parse(REPORT).map_err(|error| error.to_string()),
            pivots: PivotDocument::default(),
            commands: BTreeMap::from([(argv, command)]),
            is_unguarded: true,
        };
        step(&approved_plan(PLAN), PipelineEvent::WorkerEnded(Box::new(reading)), 2)
    }

    #[test]
    fn without_the_guard_a_todo_stays_open_and_no_attempt_counts() {
        let missing = "it passed, but weakened tests were not looked for (guard: no git)";
        let (next, decisions) = ended(CommandReading::Unmeasured(missing.to_owned()));
        let todo = &next.todos["TODO-1"];
        assert_eq!((decisions.len(), todo.has_passed, todo.attempts), (0, false, 0));
        assert!(todo.failure.contains("(guard: no git)"), "{}", todo.failure);
        assert!(next.corrections.is_empty());
        let (next, decisions) = ended(CommandReading::Failed("no".to_owned()));
        assert_eq!((decisions.len(), next.todos["TODO-1"].attempts), (1, 1));
    }
}
