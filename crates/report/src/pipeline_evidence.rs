//! The evidence of a pipeline for people: requirement → TODO → acceptance → run → commit. Also the text of
//! a pull request, which is made of the same evidence.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::pipeline::language;
use crate::pipeline_end::more_test_warnings;
use crate::pipeline_end::{end_note, passed_todos};
use crate::pipeline_status::scenario_words;
use crate::wording::statuses as phrases;
use moai_base::foreign_text::one_line;
use moai_base::limits::{LINE_CHARS_MAX, REASON_LINE_CHARS_MAX, TASK_CHARS_MAX};
use moai_loops::framework::MessageLanguage;
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::commits::{PipelineCommit, not_yet_passing};
use moai_pipeline::evidence_chain::{
    ItemEvidence, ItemResult, RequirementEvidence, TodoEvidence, evidence_chain,
};
use moai_pipeline::plan::{AcceptanceItem, AcceptanceKind, TodoStatus};
use moai_pipeline::spec::SpecDocument;
use moai_pipeline::state::{CheckOverride, PipelineOutcome, PipelineState};
use moai_protocol::documents::pipelines::{AcceptanceEntry, RequirementEntry, TodoEvidenceEntry};
use moai_protocol::observation_lines::moment_text;

/// The evidence for each requirement, indented like `pipeline report`; empty before the approval.
#[must_use]
pub fn evidence_lines(state: &PipelineState, spec: Option<&SpecDocument>) -> String {
    let mut text = String::new();
    for requirement in evidence_chain(state, spec) {
        let _ = writeln!(text, "{}", requirement_line(state, &requirement));
        for todo in &requirement.todos {
            push_todo(&mut text, state, todo);
        }
    }
    push_commits(&mut text, state);
    push_overrides(&mut text, state);
    push_test_warnings(&mut text, state);
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
        result: match item.result {
            ItemResult::Passed => "passed",
            ItemResult::Failed => "failed",
            ItemResult::Undecided => "undecided",
            ItemResult::NotRun => "not_run",
            ItemResult::Scenario(_) => "gate",
            ItemResult::Person(None) => "unanswered",
            ItemResult::Person(Some(answer)) if answer.is_yes => "met",
            ItemResult::Person(Some(_)) => "not_met",
        },
    });
    TodoEvidenceEntry {
        todo: todo.id,
        status: match todo.progress.status() {
            TodoStatus::Done => "done",
            TodoStatus::Failed => "failed",
            TodoStatus::Open => "open",
        },
        passed: todo.progress.has_passed,
        failure: todo.progress.failure,
        items: items.collect(),
        commits: todo.commits.into_iter().map(|commit| commit.id).collect(),
    }
}

fn requirement_line(state: &PipelineState, requirement: &RequirementEvidence) -> String {
    let language = language(state);
    let open: Vec<String> = requirement.todos.iter().flat_map(open_parts).collect();
    let verdict = if requirement.todos.is_empty() {
        phrases::NO_TODO.text_in(language).to_owned()
    } else if open.is_empty() {
        phrases::TODOS_PASS.text_in(language).to_owned()
    } else {
        let named = one_line(&open.join(", "), REASON_LINE_CHARS_MAX);
        phrases::TODOS_OPEN.with(language, &[&named])
    };
    let title = one_line(&requirement.title, REASON_LINE_CHARS_MAX);
    match (requirement.id.as_str(), title.as_str()) {
        ("", _) => phrases::WITHOUT_REQUIREMENT.text_in(language).to_owned(),
        (id, "") => phrases::REQUIREMENT.with(language, &[id, &verdict]),
        (id, title) => phrases::REQUIREMENT_TITLED.with(language, &[id, title, &verdict]),
    }
}

/// What keeps a TODO from being accepted: itself, or items that a person has not accepted.
fn open_parts(todo: &TodoEvidence) -> Vec<String> {
    if !todo.progress.has_passed {
        return vec![todo.id.clone()];
    }
    let is_open = |item: &&ItemEvidence| match &item.result {
        ItemResult::Person(answer) => !answer.is_some_and(|answer| answer.is_yes),
        _ => false,
    };
    todo.items.iter().filter(is_open).map(|item| format!("{}/{}", todo.id, item.id)).collect()
}

fn push_todo(text: &mut String, state: &PipelineState, todo: &TodoEvidence) {
    let mark = todo.progress.status().mark();
    let title = one_line(&todo.title, REASON_LINE_CHARS_MAX);
    let _ = writeln!(text, "    [{mark}] {} {title}", todo.id);
    for item in &todo.items {
        let shown = one_line(&item.text, REASON_LINE_CHARS_MAX);
        let (id, kind) = (&item.id, item.kind.as_str());
        let result = item_result(state, todo, &item.result);
        let _ = writeln!(text, "      {id} [{kind}] {shown}: {result}");
    }
    let named: Vec<String> = todo.commits.iter().map(PipelineCommit::named).collect();
    if !named.is_empty() {
        let line = phrases::COMMITS_OF_TODO.with(language(state), &[&named.join(", ")]);
        let _ = writeln!(text, "{line}");
    }
}

/// The known result of an acceptance item, as a fragment.
fn item_result(state: &PipelineState, todo: &TodoEvidence, result: &ItemResult) -> String {
    let language = language(state);
    let moment = |ms: u64| i64::try_from(ms).map(moment_text).unwrap_or_default();
    let phrase = match result {
        ItemResult::Passed => {
            let since = todo.progress.passed_ms.filter(|_| todo.progress.has_passed).map(moment);
            let since = since.map(|at| phrases::FIRST_AT.with(language, &[&at]));
            return phrases::ITEM_PASSED.text_in(language).to_owned() + &since.unwrap_or_default();
        }
        ItemResult::Scenario(key) => return scenario_words(state, key),
        ItemResult::Person(Some(answer)) => {
            let phrase =
                if answer.is_yes { phrases::ANSWERED_MET } else { phrases::ANSWERED_NOT_MET };
            return phrase.with(language, &[&moment(answer.at_ms)]);
        }
        ItemResult::Failed => phrases::ITEM_FAILS,
        ItemResult::Undecided => phrases::ITEM_AFTER_FAILURE,
        ItemResult::NotRun => phrases::ITEM_NOT_RUN,
        ItemResult::Person(None) => phrases::NOT_ANSWERED,
    };
    phrase.text_in(language).to_owned()
}

fn push_commits(text: &mut String, state: &PipelineState) {
    let language = language(state);
    if !state.commits.is_empty() {
        let _ = writeln!(text, "{}", phrases::COMMITS_SINCE.text_in(language));
    }
    let plan = state.approved.as_ref().map(ApprovedPlan::document);
    let todos = plan.iter().flat_map(|plan| &plan.todos);
    let items = todos.flat_map(|todo| todo.items_of(AcceptanceKind::Automatic));
    let acceptance: BTreeSet<String> = items.filter_map(AcceptanceItem::check_name).collect();
    for (at, commit) in state.commits.iter().enumerate() {
        let later = not_yet_passing(&state.commits, at, &acceptance);
        let result = commit_result(language, commit, &later);
        let _ = writeln!(text, "    {}: {result}", commit.named());
    }
}

fn push_overrides(text: &mut String, state: &PipelineState) {
    let language = language(state);
    if !state.check_overrides.is_empty() {
        let _ = writeln!(text, "{}", phrases::CHECK_OVERRIDES.text_in(language));
    }
    for one in &state.check_overrides {
        let line = match one {
            CheckOverride::Refrozen(lines) => {
                let named = one_line(&lines.join(", "), LINE_CHARS_MAX);
                phrases::REFROZEN.with(language, &[&named])
            }
            CheckOverride::Allowed(finding) => {
                let finding = one_line(finding, REASON_LINE_CHARS_MAX);
                phrases::FINDING_ALLOWED.with(language, &[&finding])
            }
            CheckOverride::EndedAsGaming => phrases::ENDED_AS_GAMING.text_in(language).to_owned(),
        };
        let _ = writeln!(text, "{line}");
    }
}

fn push_test_warnings(text: &mut String, state: &PipelineState) {
    if !state.test_warnings.is_empty() {
        let _ = writeln!(text, "{}", phrases::TEST_WARNINGS.text_in(language(state)));
    }
    for warning in &state.test_warnings {
        let _ = writeln!(text, "    {}", one_line(warning, REASON_LINE_CHARS_MAX));
    }
    if let Some(more) = more_test_warnings(state) {
        let _ = writeln!(text, "    {more}");
    }
}

/// The results of a commit's checks, as a fragment. The commands in `later` need not pass there.
fn commit_result(
    language: MessageLanguage,
    commit: &PipelineCommit,
    later: &BTreeSet<&str>,
) -> String {
    let Some(check) = &commit.check else {
        return phrases::COMMIT_UNCHECKED.text_in(language).to_owned();
    };
    let failed = check.failed.keys().map(String::as_str);
    let (later, failed): (Vec<&str>, Vec<&str>) = failed.partition(|name| later.contains(name));
    let unmeasured = check.unmeasured.keys().map(String::as_str).collect();
    let lists = [
        (phrases::COMMIT_FAILS, failed),
        (phrases::COMMIT_LATER, later),
        (phrases::COMMIT_UNMEASURED, unmeasured),
    ];
    let parts = lists.into_iter().filter(|(_, names)| !names.is_empty()).map(|(phrase, names)| {
        phrase.with(language, &[&one_line(&names.join(", "), REASON_LINE_CHARS_MAX)])
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        phrases::COMMIT_PASSES.text_in(language).to_owned()
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
    let language = language(state);
    let mut body = String::new();
    for line in goal.lines() {
        let _ = writeln!(body, "> {line}");
    }
    let _ = writeln!(body, "\n{}", result_sentence(state));
    if let Some(note) = end_note(state) {
        let is_unverified = state.outcome == Some(PipelineOutcome::Unverified);
        let phrase = if is_unverified { phrases::PR_NOT_VERIFIED } else { phrases::PR_UNFINISHED };
        let _ = writeln!(body, "\n{}", phrase.with(language, &[&note]));
    }
    // A fence that the evidence cannot close.
    let evidence = evidence_lines(state, spec).replace("````", "'''");
    if !evidence.is_empty() {
        let _ = write!(body, "\n````text\n{evidence}````\n");
    }
    if state.approved.is_some() {
        let _ = writeln!(body, "\n{}", phrases::PR_SPECIFICATION.with(language, &[&state.spec]));
    }
    PullRequestText { title: one_line(&title, REASON_LINE_CHARS_MAX), body }
}

/// What the engine's own runs say about the work.
fn result_sentence(state: &PipelineState) -> String {
    let language = language(state);
    let unfinished = phrases::PR_NOT_ENDED.text_in(language);
    let outcome = state.outcome.map_or(unfinished, PipelineOutcome::as_str);
    let is_done =
        matches!(state.outcome, Some(PipelineOutcome::Completed | PipelineOutcome::Unverified));
    match (state.kind.has_plan(), is_done) {
        (true, _) => phrases::PR_TODOS.with(language, &[&passed_todos(state), outcome]),
        (false, true) => phrases::PR_FIXED.with(language, &[outcome]),
        (false, false) => phrases::PR_NOT_FIXED.with(language, &[outcome]),
    }
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
        let expected = "  REQ-A-001: not met, because of TODO-1/AC-2\n    [x] TODO-1 one ````\n      AC-1 [A] check one: passed in the \
                        engine's last run, first at 1970-01-01T00:00:00.003Z\n      AC-2 [H] nice: \
                        nobody has answered\n      commits: 1234567890 (core: one)\n  commits since the pipeline \
                        began:\n    1234567890 (core: one): not checked on its own\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_pull_request_shows_the_same_evidence_as_data() {
        let text = pull_request(&state(), None);
        assert_eq!(text.title, "files");
        assert!(text.body.starts_with(
            "> two files\n> ````\n> more\n\nmoai-ralph\'s own runs: its only TODO passes"
        ));
        assert_eq!(text.body.matches("\n````").count(), 2, "{}", text.body);
    }
}
