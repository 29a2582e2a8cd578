//! The documents of a pipeline's gates, written next to its plan. Equal results give equal bytes,
//! so that the hash reveals a later edit.

use serde::Serialize;

use crate::gate::GateStatus;
use crate::review::CategoryReview;
use crate::scenario_runs::ScenarioRun;
use crate::state::PipelineState;
use moai_loops::criteria::SPECS_FOLDER;

/// Folder of the documents, below that of the specification.
const GATES_FOLDER: &str = "gates";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateDocument {
    /// Its path, relative to the root.
    pub path: String,
    pub text: String,
}

/// `moai-ralph/gate@1`.
#[derive(Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/gate@1")]
struct GateResult<'s, R: Serialize> {
    pipeline: &'s str,
    gate: &'static str,
    status: &'static str,
    result: R,
}

#[derive(Serialize)]
struct TestsResult<'s> {
    place: &'s str,
    todos: Vec<TodoResult<'s>>,
}

#[derive(Serialize)]
struct TodoResult<'s> {
    todo: &'s str,
    passed: bool,
    failure: &'s str,
}

#[derive(Serialize)]
struct ScenarioResult<'s> {
    scenario: &'s str,
    title: &'s str,
    steps: usize,
    commands: usize,
    runs: &'s [ScenarioRun],
}

/// The documents of the gates that have a result.
#[must_use]
pub fn gate_documents(state: &PipelineState) -> Vec<GateDocument> {
    let mut documents = Vec::new();
    let is_decided = |status: GateStatus| !matches!(status, GateStatus::Open | GateStatus::Absent);
    if is_decided(state.gates.tests) {
        let todos = state.todos.iter().map(|(todo, progress)| TodoResult {
            todo,
            passed: progress.has_passed,
            failure: &progress.failure,
        });
        let place = state.sandbox.as_deref().unwrap_or("on the host");
        let result = TestsResult { place, todos: todos.collect() };
        documents.extend(document(state, "tests", state.gates.tests, result));
    }
    if is_decided(state.gates.review) {
        let result: Option<&CategoryReview> = state.review.as_ref();
        documents.extend(document(state, "review", state.gates.review, result));
    }
    if is_decided(state.gates.scenarios) {
        let results = state.scenarios.iter().map(|scenario| ScenarioResult {
            scenario: &scenario.key,
            title: &scenario.title,
            steps: scenario.steps.len(),
            commands: scenario.steps.iter().filter(|step| !step.argv.is_empty()).count(),
            runs: state.scenario_runs.get(&scenario.key).map(Vec::as_slice).unwrap_or_default(),
        });
        let results: Vec<ScenarioResult<'_>> = results.collect();
        documents.extend(document(state, "scenarios", state.gates.scenarios, results));
    }
    documents
}

fn document(
    state: &PipelineState,
    gate: &'static str,
    status: GateStatus,
    result: impl Serialize,
) -> Option<GateDocument> {
    let value = GateResult { pipeline: &state.id, gate, status: status.as_str(), result };
    let text = serde_json::to_string_pretty(&value).ok()?;
    let path = document_path(state, gate);
    Some(GateDocument { path, text: format!("{text}\n") })
}

fn document_path(state: &PipelineState, gate: &str) -> String {
    format!("{SPECS_FOLDER}/{}/{GATES_FOLDER}/{gate}.json", state.spec)
}

/// The paths of the documents of all gates, with or without a result.
#[must_use]
pub fn document_paths(state: &PipelineState) -> [String; 3] {
    ["tests", "review", "scenarios"].map(|gate| document_path(state, gate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::approved;
    use crate::state::PlanApprover;

    #[test]
    fn only_gates_with_a_result_leave_a_document() {
        let mut state = approved(PlanApprover::Person);
        assert_eq!(gate_documents(&state), []);
        state.gates.tests = GateStatus::Failed;
        state.gates.scenarios = GateStatus::Absent;
        let documents = gate_documents(&state);
        assert_eq!(documents.len(), 1);
        assert_eq!(documents[0].path, ".moai/specs/SPEC-FILES-001/gates/tests.json");
        let value: serde_json::Value = serde_json::from_str(&documents[0].text).expect("JSON");
        assert_eq!(
            (&value["schema"], &value["status"]),
            (&"moai-ralph/gate@1".into(), &"failed".into())
        );
        assert_eq!(value["result"]["todos"].as_array().map(Vec::len), Some(2));
        assert_eq!(gate_documents(&state), documents, "the same bytes again");
    }
}
