//! The evidence of a pipeline for people: requirement → TODO → acceptance → run → commit. Also the text of
//! a pull request, which is made of the same evidence.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::pipeline_end::end_note;
use moai_base::foreign_text::one_line;
use moai_base::limits::{REASON_LINE_CHARS_MAX, TASK_CHARS_MAX};
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::commits::{PipelineCommit, not_yet_passing};
use moai_pipeline::evidence_chain::{RequirementEvidence, TodoEvidence, evidence_chain};
use moai_pipeline::plan::{AcceptanceItem, AcceptanceKind};
use moai_pipeline::spec::SpecDocument;
use moai_pipeline::state::{PipelineOutcome, PipelineState};
use moai_protocol::documents::pipelines::{AcceptanceEntry, RequirementEntry, TodoEvidenceEntry};
use moai_protocol::observation_lines::moment_text;

/// The evidence for each requirement, indented like `pipeline report`; empty before the approval.
#[must_use]
pub fn evidence_lines(state: &PipelineState, spec: Option<&SpecDocument>) -> String {
    let mut text = String::new();
    for requirement in evidence_chain(state, spec) {
        let _ = writeln!(text, "  {}", requirement_line(&requirement));
        if requirement.todos.is_empty() {
            text.push_str("    no TODO of the approved plan names it\n");
        }
        for todo in &requirement.todos {
            push_todo(&mut text, todo);
        }
    }
    push_commits(&mut text, state);
    text
}

/// The same evidence for programs.
#[must_use]
pub fn evidence_entries(
    state: &PipelineState,
    spec: Option<&SpecDocument>,
) -> Vec<RequirementEntry> {
    let entries = evidence_chain(state, spec).into_iter().map(|requirement| RequirementEntry {
        id: requirement.id,
        title: requirement.title,
        todos: requirement.todos.into_iter().map(todo_entry).collect(),
    });
    entries.collect()
}

fn todo_entry(todo: TodoEvidence) -> TodoEvidenceEntry {
    let items = todo.items.into_iter().map(|item| AcceptanceEntry {
        id: item.id,
        kind: item.kind.as_str(),
        text: item.text,
    });
    TodoEvidenceEntry {
        todo: todo.id,
        passed: todo.progress.has_passed,
        failure: todo.progress.failure,
        items: items.collect(),
        commits: todo.commits.into_iter().map(|commit| commit.id).collect(),
    }
}

fn requirement_line(requirement: &RequirementEvidence) -> String {
    let title = one_line(&requirement.title, REASON_LINE_CHARS_MAX);
    match (requirement.id.as_str(), title.as_str()) {
        ("", _) => "without a requirement:".to_owned(),
        (id, "") => format!("{id}:"),
        (id, title) => format!("{id} ({title}):"),
    }
}

fn push_todo(text: &mut String, todo: &TodoEvidence) {
    let mark = if todo.progress.has_passed { "x" } else { " " };
    let title = one_line(&todo.title, REASON_LINE_CHARS_MAX);
    let _ = writeln!(text, "    [{mark}] {} {title}", todo.id);
    for item in &todo.items {
        let shown = one_line(&item.text, REASON_LINE_CHARS_MAX);
        let (id, kind) = (&item.id, item.kind.as_str());
        let _ = writeln!(text, "      {id} [{kind}] {shown}: {}", item_result(todo, item.kind));
    }
    let named: Vec<String> = todo.commits.iter().map(PipelineCommit::named).collect();
    if !named.is_empty() {
        let _ = writeln!(text, "      commits: {}", named.join(", "));
    }
}

/// The known results of an acceptance item, as a fragment.
fn item_result(todo: &TodoEvidence, kind: AcceptanceKind) -> String {
    match (kind, todo.progress.passed_ms) {
        (AcceptanceKind::Scenario, _) => "see the gate for scenarios".to_owned(),
        (AcceptanceKind::Human, _) => "for a person".to_owned(),
        (AcceptanceKind::Automatic, since) if todo.progress.has_passed => {
            let since = since.and_then(|ms| i64::try_from(ms).ok()).map(moment_text);
            let since = since.map(|at| format!(", first at {at}")).unwrap_or_default();
            format!("passed in the engine's last run{since}")
        }
        (AcceptanceKind::Automatic, _) if todo.progress.failure.is_empty() => "not run".to_owned(),
        (AcceptanceKind::Automatic, _) => "does not pass".to_owned(),
    }
}

fn push_commits(text: &mut String, state: &PipelineState) {
    if !state.commits.is_empty() {
        text.push_str("  commits since the pipeline began:\n");
    }
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let todos = plan.iter().flat_map(|plan| &plan.todos);
    let items = todos.flat_map(|todo| todo.items_of(AcceptanceKind::Automatic));
    let acceptance: BTreeSet<String> = items.filter_map(AcceptanceItem::check_name).collect();
    for (at, commit) in state.commits.iter().enumerate() {
        let later = not_yet_passing(&state.commits, at, &acceptance);
        let _ = writeln!(text, "    {}: {}", commit.named(), commit_result(commit, &later));
    }
}

/// The results of a commit's checks, as a fragment. The commands in `later` need not pass there.
fn commit_result(commit: &PipelineCommit, later: &BTreeSet<&str>) -> String {
    let Some(check) = &commit.check else { return "not checked on its own".to_owned() };
    let failed = check.failed.keys().map(String::as_str);
    let (later, failed): (Vec<&str>, Vec<&str>) = failed.partition(|name| later.contains(name));
    let unmeasured = check.unmeasured.keys().map(String::as_str).collect();
    let lists = [
        ("does not pass there", failed),
        ("passes from a later commit on", later),
        ("not measured", unmeasured),
    ];
    let parts = lists.into_iter().filter(|(_, names)| !names.is_empty()).map(|(word, names)| {
        format!("{word}: {}", one_line(&names.join(", "), REASON_LINE_CHARS_MAX))
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        "every command passes in a checkout of it".to_owned()
    } else {
        parts.join("; ")
    }
}

/// Title and body of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestText {
    /// One line.
    pub title: String,
    /// Markdown.
    pub body: String,
}

/// The pull request of a pipeline.
#[must_use]
pub fn pull_request(state: &PipelineState, spec: Option<&SpecDocument>) -> PullRequestText {
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let title = plan.and_then(|plan| plan.title.clone()).filter(|title| !title.trim().is_empty());
    let title = title.unwrap_or_else(|| state.goal.lines().next().unwrap_or_default().to_owned());
    let goal: String = state.goal.chars().take(TASK_CHARS_MAX).collect();
    let outcome = state.outcome.map_or("not ended yet", PipelineOutcome::as_str);
    let mut body = String::new();
    for line in goal.lines() {
        let _ = writeln!(body, "> {line}");
    }
    let (passed, total) = (state.passed_todos(), state.todos.len());
    let _ = writeln!(body, "\n{passed} of {total} TODOs pass the engine's own runs ({outcome}).");
    if let Some(note) = end_note(state) {
        let _ = writeln!(body, "\nNot verified: {note}");
    }
    // A fence that the evidence cannot close.
    let evidence = evidence_lines(state, spec).replace("````", "'''");
    let _ = write!(body, "\n````text\n{evidence}````\n\nSpecification: `{}`\n", state.spec);
    PullRequestText { title: one_line(&title, REASON_LINE_CHARS_MAX), body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_pipeline::state::{PipelineKind, PlanApprover, TodoProgress};

    fn state() -> PipelineState {
        let (id, goal) = ("pipeline-1".to_owned(), "two files\n````\nmore".to_owned());
        let mut state = PipelineState::begin(id, PipelineKind::Full, goal, "SPEC-A-001".into(), 1);
        let text = "# PLAN: files\n### [ ] TODO 1: one ````\n- Requirements: REQ-A-001\n\
                    - Files: one.txt\n- [A] `check one`\n- [H] nice\n";
        let by = PlanApprover::Person;
        state.approved = Some(ApprovedPlan::new(text.to_owned(), 2, by));
        let progress =
            TodoProgress { has_passed: true, passed_ms: Some(3), ..TodoProgress::default() };
        state.todos.insert("TODO-1".to_owned(), progress);
        let files = vec!["one.txt".to_owned()];
        state.commits = vec![PipelineCommit::new("12345678901234".into(), "core: one", files)];
        state
    }

    #[test]
    fn the_evidence_goes_from_a_requirement_to_its_commits() {
        let text = evidence_lines(&state(), None);
        let expected = "  REQ-A-001:\n    [x] TODO-1 one ````\n      AC-1 [A] check one: passed in the \
                        engine's last run, first at 1970-01-01T00:00:00.003Z\n      AC-2 [H] nice: for a \
                        person\n      commits: 1234567890 (core: one)\n  commits since the pipeline \
                        began:\n    1234567890 (core: one): not checked on its own\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_pull_request_shows_the_same_evidence_as_data() {
        let text = pull_request(&state(), None);
        assert_eq!(text.title, "files");
        assert!(text.body.starts_with("> two files\n> ````\n> more\n\n1 of 1 TODOs pass"));
        assert_eq!(text.body.matches("\n````").count(), 2, "{}", text.body);
    }
}
