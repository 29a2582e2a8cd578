//! The links of a specification: requirement → TODO → acceptance → test. Each requirement must be
//! met by a TODO and verified by a measurement.

use std::fmt;

use super::{Requirement, RequirementId, SpecDocument, SpecFile, SpecId};
use crate::document::{DocumentFault, quoted_words};
use crate::plan::{AcceptanceKind, PlanDocument, Todo, TodoStatus};
use crate::scenario::{AcceptanceDocument, ScenarioId};
use moai_base::limits::DOCUMENT_FAULTS_MAX;

/// A fault of one of the documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFault {
    /// The document.
    pub file: SpecFile,
    pub fault: DocumentFault,
}

impl fmt::Display for SpecFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file.as_str(), self.fault.line, self.fault.reason)
    }
}

/// The documents of a specification.
#[derive(Clone, Copy)]
pub struct SpecSources<'a> {
    /// The name of its folder.
    pub id: &'a SpecId,
    /// `spec.md`.
    pub spec: &'a SpecDocument,
    /// `plan.md`.
    pub plan: &'a PlanDocument,
    /// `acceptance.md`; `None` if there is none.
    pub acceptance: Option<&'a AcceptanceDocument>,
    /// Tests if a path below the root exists.
    pub exists: &'a dyn Fn(&str) -> bool,
}

/// All faults of a specification: of its documents, and of the links between them.
#[must_use]
pub fn check_links(sources: &SpecSources<'_>) -> Vec<SpecFault> {
    let mut faults = LinkFaults::default();
    faults.extend(SpecFile::Spec, &sources.spec.faults);
    faults.extend(SpecFile::Plan, &sources.plan.faults);
    if let Some(acceptance) = sources.acceptance {
        faults.extend(SpecFile::Acceptance, &acceptance.faults);
    }
    for own in sources.spec.ids.iter().filter(|own| own.id != *sources.id) {
        let reason = format!("the document says {}, but its folder is {}", own.id, sources.id);
        faults.add(SpecFile::Spec, own.line, reason);
    }
    for requirement in &sources.spec.requirements {
        check_requirement(sources, requirement, &mut faults);
    }
    check_named_requirements(sources, &mut faults);
    check_scenarios(sources, &mut faults);
    faults.0.sort_by_key(|one| (one.file, one.fault.line));
    faults.0.truncate(DOCUMENT_FAULTS_MAX);
    faults.0
}

#[derive(Default)]
struct LinkFaults(Vec<SpecFault>);

impl LinkFaults {
    fn add(&mut self, file: SpecFile, line: usize, reason: String) {
        self.0.push(SpecFault { file, fault: DocumentFault { line, reason } });
    }

    fn extend(&mut self, file: SpecFile, faults: &[DocumentFault]) {
        self.0.extend(faults.iter().map(|fault| SpecFault { file, fault: fault.clone() }));
    }
}

/// Requirement → TODO → acceptance → test.
fn check_requirement(
    sources: &SpecSources<'_>,
    requirement: &Requirement,
    faults: &mut LinkFaults,
) {
    let Requirement { id, line, .. } = requirement;
    let todos: Vec<&Todo> = todos_of(sources.plan, id);
    if todos.is_empty() {
        let reason = format!("{id} is met by no TODO: name it under Requirements in plan.md");
        return faults.add(SpecFile::Spec, *line, reason);
    }
    let has_command =
        todos.iter().any(|todo| todo.items_of(AcceptanceKind::Automatic).next().is_some());
    let tests = tests_of(sources, id);
    if !has_command && tests.is_empty() {
        let names: Vec<&str> = todos.iter().map(|todo| todo.id.as_str()).collect();
        let names = names.join(", ");
        let reason = format!(
            "{id} has no test: none of {names} has an [A] item, and no scenario or table row \
             names a test"
        );
        faults.add(SpecFile::Spec, *line, reason);
    }
    // Tests are written together with the code, so they must exist once the work is done.
    if !todos.iter().all(|todo| todo.status == TodoStatus::Done) {
        return;
    }
    for test in tests {
        // A test may be addressed inside its file: `tests/a.py::test_b`.
        let path = test.split("::").next().unwrap_or(test);
        if !(sources.exists)(path) {
            let test = quoted_words(test);
            let reason =
                format!("the test {test} of {id} does not exist, though its TODOs are done");
            faults.add(SpecFile::Spec, *line, reason);
        }
    }
}

fn todos_of<'p>(plan: &'p PlanDocument, id: &RequirementId) -> Vec<&'p Todo> {
    let names_it = |todo: &&Todo| todo.requirements.iter().any(|it| it == id.as_str());
    plan.todos.iter().filter(names_it).collect()
}

/// Tests listed for a requirement in the table of the specification and in the scenarios.
fn tests_of<'a>(sources: &SpecSources<'a>, id: &RequirementId) -> Vec<&'a str> {
    let traces = sources.spec.traces.iter().filter(|trace| trace.requirement == *id);
    let mut tests: Vec<&str> = traces.map(|trace| trace.test.as_str()).collect();
    for scenario in sources.acceptance.iter().flat_map(|it| &it.scenarios) {
        if scenario.requirements.contains(id) {
            tests.extend(scenario.tests.iter().map(String::as_str));
        }
    }
    tests
}

/// Requirements referred to by a TODO, a scenario or a table row must exist.
fn check_named_requirements(sources: &SpecSources<'_>, faults: &mut LinkFaults) {
    let is_known = |id: &str| sources.spec.requirements.iter().any(|it| it.id.as_str() == id);
    for todo in &sources.plan.todos {
        for id in todo.requirements.iter().filter(|id| !is_known(id)) {
            let reason =
                format!("{} names {}, which spec.md does not have", todo.id, quoted_words(id));
            faults.add(SpecFile::Plan, todo.line, reason);
        }
    }
    for scenario in sources.acceptance.iter().flat_map(|it| &it.scenarios) {
        for id in scenario.requirements.iter().filter(|id| !is_known(id.as_str())) {
            let reason = format!("{} names {id}, which spec.md does not have", scenario.id);
            faults.add(SpecFile::Acceptance, scenario.line, reason);
        }
    }
    for trace in sources.spec.traces.iter().filter(|it| !is_known(it.requirement.as_str())) {
        let reason = format!("the table names {}, which does not exist", trace.requirement);
        faults.add(SpecFile::Spec, trace.line, reason);
    }
}

/// Each [S] item must refer to a scenario, and each scenario must belong to an [S] item; otherwise
/// it is never run.
fn check_scenarios(sources: &SpecSources<'_>, faults: &mut LinkFaults) {
    let Some(acceptance) = sources.acceptance else { return };
    let mut played: Vec<ScenarioId> = Vec::new();
    for todo in &sources.plan.todos {
        for item in todo.items_of(AcceptanceKind::Scenario) {
            let Some((id, _)) = ScenarioId::leading(&item.text) else {
                let words = quoted_words(&item.text);
                let reason = format!("{} {words} names no scenario, such as SC-1", todo.id);
                faults.add(SpecFile::Plan, item.line, reason);
                continue;
            };
            if acceptance.scenario(&id).is_none() {
                let reason = format!("{} names {id}, which acceptance.md does not have", todo.id);
                faults.add(SpecFile::Plan, item.line, reason);
            }
            played.push(id);
        }
    }
    for scenario in acceptance.scenarios.iter().filter(|it| !played.contains(&it.id)) {
        let reason = format!("{} is played by no [S] item of plan.md", scenario.id);
        faults.add(SpecFile::Acceptance, scenario.line, reason);
    }
}
