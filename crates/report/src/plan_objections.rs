//! Missing parts of a plan or of its work, in texts for agents and users.

use crate::person_questions::question_to_ask;
use crate::pipeline::language;
use crate::pipeline_status::{failure_words, run_words};
use crate::pipeline_worktrees::plan_is_missing;
use crate::wording;
use crate::wording::faults::fault_words;
use crate::wording::pipelines as phrases;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    COMMITS_MAX, GATE_ROUNDS_MAX, INSTRUCTION_CHARS_MAX, LINE_CHARS_MAX, REASON_LINE_CHARS_MAX,
    TODO_ATTEMPTS_MAX, TRIED_CHARS_MAX,
};
use moai_loops::framework::MessageLanguage;
use moai_pipeline::commits::CommitFault;
use moai_pipeline::convergence::FixStrategy;
use moai_pipeline::objection::{PlanObjection, UnapprovedPart};
use moai_pipeline::plan::{PlanChange, TodoId, TodoStatus};
use moai_pipeline::state::PipelineState;

/// The objections, one bounded line each.
#[must_use]
pub fn objection_lines(state: &PipelineState, objections: &[PlanObjection]) -> Vec<String> {
    let lines = objections.iter().map(|objection| objection_line(state, objection));
    lines.map(|line| one_line(&line, LINE_CHARS_MAX)).collect()
}

fn objection_line(state: &PipelineState, objection: &PlanObjection) -> String {
    let (language, path) = (language(state), state.plan_path());
    let path = path.as_str();
    match objection {
        PlanObjection::Missing if state.approved.is_some() => plan_is_missing(state),
        PlanObjection::Missing => wording::PLAN_MISSING.with(language, &[path]),
        PlanObjection::Unreadable { reason } => {
            phrases::PLAN_UNREADABLE.with(language, &[path, reason])
        }
        PlanObjection::PassesAlready { todos } => {
            phrases::PASSES_ALREADY.with(language, &[&todo_names(todos)])
        }
        PlanObjection::Fault(fault) => {
            let reason = fault_words(language, &fault.reason);
            let parts = [path, &fault.line.to_string(), &reason];
            wording::PLAN_FAULT.with(language, &parts)
        }
        PlanObjection::NoTodo => phrases::PLAN_EMPTIED.with(language, &[path]),
        PlanObjection::NoCommand { todo, line } => {
            let parts = [path, &line.to_string(), todo.as_str()];
            wording::PLAN_WITHOUT_COMMAND.with(language, &parts)
        }
        PlanObjection::ShellCommand { todo, line, command } => {
            let command = one_line(command, REASON_LINE_CHARS_MAX);
            let parts = [path, &line.to_string(), todo.as_str(), &command];
            wording::PLAN_SHELL_COMMAND.with(language, &parts)
        }
        PlanObjection::Changed(change) => {
            wording::PLAN_CHANGED.with(language, &[path, &change_words(language, change)])
        }
        PlanObjection::DocumentChanged { path } => {
            wording::DOCUMENT_NOT_APPROVED.with(language, &[path])
        }
        PlanObjection::Unapproved(parts) => {
            phrases::PLAN_UNAPPROVED.with(language, &[path, &named_parts(language, parts)])
        }
        PlanObjection::Declined(parts) => {
            phrases::PLAN_DECLINED.with(language, &[path, &named_parts(language, parts)])
        }
        PlanObjection::FailsAgain { todo, failure } => {
            let failure = failure_words(language, failure);
            wording::PLAN_FAILS_AGAIN.with(language, &[todo.as_str(), &failure])
        }
        PlanObjection::NoReport { reason } => {
            wording::WORKER_WITHOUT_REPORT.with(language, &[&fault_words(language, reason)])
        }
        PlanObjection::UnknownTodo { todo } => {
            wording::WORKER_UNKNOWN_TODO.with(language, &[todo.as_str(), path])
        }
        PlanObjection::Contradiction { what } => {
            wording::WORKER_CONTRADICTS.with(language, &[&fault_words(language, what)])
        }
        PlanObjection::WorkFails { todo, failure, attempt } => {
            let (attempt, max) = (attempt.to_string(), TODO_ATTEMPTS_MAX.to_string());
            let failure = failure_words(language, failure);
            let parts = [todo.as_str(), attempt.as_str(), &max, &failure];
            wording::WORKER_FAILS.with(language, &parts)
        }
        PlanObjection::GateFailed { round, strategy, tried } => {
            let (round, max) = (round.to_string(), GATE_ROUNDS_MAX.to_string());
            let phrase = match strategy {
                FixStrategy::FixNow => wording::FIX_NOW,
                FixStrategy::FreshContext if state.is_solo => phrases::FIX_AFRESH_ALONE,
                FixStrategy::FreshContext => phrases::FIX_AFRESH,
                FixStrategy::Replan if state.is_replanning => phrases::FIX_BY_PLAN,
                FixStrategy::Replan => phrases::FIX_PLANNED_OUT,
            };
            phrase.with(language, &[&round, &max]) + &tried_words(language, tried)
        }
        PlanObjection::NothingNew { tried } => {
            phrases::PLAN_NOT_EXTENDED.with(language, &[path]) + &tried_words(language, tried)
        }
        PlanObjection::NotInstalled { todo, failure } => {
            phrases::PROGRAM_MISSING.with(language, &[todo, &failure_words(language, failure)])
        }
        PlanObjection::BoxTakenBack { todo, status: TodoStatus::Failed, failure } => {
            let failure = failure_words(language, failure);
            phrases::FAILED_TAKEN_BACK.with(language, &[todo.as_str(), &failure])
        }
        PlanObjection::BoxTakenBack { todo, status, failure } => {
            let failure = failure_words(language, failure);
            let parts = [todo.as_str(), status.mark(), &failure];
            wording::PLAN_BOX_TAKEN_BACK.with(language, &parts)
        }
        PlanObjection::Document { path, line, reason } => {
            let reason = fault_words(language, reason);
            wording::PLAN_FAULT.with(language, &[path, &line.to_string(), &reason])
        }
        PlanObjection::Ready { todos } => todos_ready(state, todos),
        PlanObjection::NeedsPerson(question) => question_to_ask(state, question),
        PlanObjection::Commits(fault) => commit_fault_line(state, fault),
        PlanObjection::Answer { what } => {
            wording::HELPER_ANSWER.with(language, &[&fault_words(language, what)])
        }
        PlanObjection::PlayScenarios(open) => {
            let named = open.iter().map(|scenario| {
                let runs = run_words(language, scenario.passed, scenario.runs);
                format!("{} ({}; {runs})", scenario.key, scenario.title)
            });
            let named = named.collect::<Vec<_>>().join(", ");
            wording::PLAY_SCENARIOS.with(language, &[&named])
        }
        PlanObjection::GivenUp { todos } => {
            let named = one_line(&todos.join(", "), REASON_LINE_CHARS_MAX);
            phrases::GIVEN_UP.with(language, &[&named, &TODO_ATTEMPTS_MAX.to_string()])
        }
        PlanObjection::ScenarioFails { scenario, failure } => {
            wording::SCENARIO_FAILS.with(language, &[scenario, failure])
        }
        PlanObjection::Reviewed(found) => {
            let severity = found.severity.as_str();
            let parts = [found.category.as_str(), severity, &found.place, &found.reason];
            wording::REVIEWED.with(language, &parts)
        }
        PlanObjection::SandboxFails { command, output } => {
            wording::SANDBOX_FAILS.with(language, &[command, output])
        }
    }
}

/// A change of an approved plan, as a fragment.
fn change_words(language: MessageLanguage, change: &PlanChange) -> String {
    let what = fault_words(language, &change.what);
    match change.line {
        Some(line) => {
            let parts = [&line.to_string(), change.id.as_str(), &what];
            phrases::CHANGE_ON_LINE.with(language, &parts)
        }
        None => format!("{}: {what}", change.id),
    }
}

fn commit_fault_line(state: &PipelineState, fault: &CommitFault) -> String {
    let language = language(state);
    match fault {
        CommitFault::Uncommitted { files, total } => {
            let phrase = if state.is_solo { phrases::COMMIT_ALONE } else { wording::COMMIT_FILES };
            phrase.with(language, &[&files.join(", "), &wording::FILES.count(language, *total)])
        }
        CommitFault::TooMany => {
            wording::COMMIT_TOO_MANY.with(language, &[&COMMITS_MAX.to_string()])
        }
        CommitFault::OnFirstBranch { branch } => {
            wording::COMMIT_ON_BRANCH.with(language, &[branch, &state.spec])
        }
        CommitFault::Message(what) => {
            wording::COMMIT_MESSAGE.with(language, &[&fault_words(language, what)])
        }
        CommitFault::Breaks { commit, command, output } => {
            wording::COMMIT_BREAKS.with(language, &[commit, command, output])
        }
        CommitFault::Unfinished { checked, total } => {
            let parts = [checked.to_string(), total.to_string()];
            wording::COMMIT_UNFINISHED.with(language, &[&parts[0], &parts[1]])
        }
    }
}

/// Earlier attempts, the latest first, as a sentence that follows another one; empty without attempts.
fn tried_words(language: MessageLanguage, tried: &[String]) -> String {
    let latest: Vec<&str> = tried.iter().rev().map(String::as_str).collect();
    if latest.is_empty() {
        return String::new();
    }
    phrases::TRIED.with(language, &[&one_line(&latest.join("; "), TRIED_CHARS_MAX)])
}

/// For the agent: the TODOs that can be worked on now, and by whom.
pub(crate) fn todos_ready(state: &PipelineState, todos: &[TodoId]) -> String {
    let phrase = match todos {
        _ if state.is_solo => phrases::READY_ALONE,
        [_] => phrases::READY_ONE,
        _ => phrases::READY_TOGETHER,
    };
    phrase.with(language(state), &[&todo_names(todos)])
}

/// The parts of a plan that no person has approved, each with its line.
pub(crate) fn named_parts(language: MessageLanguage, parts: &[UnapprovedPart]) -> String {
    let named = parts.iter().map(|part| {
        let name = one_line(&part.name, REASON_LINE_CHARS_MAX);
        phrases::PART_ON_LINE.with(language, &[&name, &part.line.to_string()])
    });
    one_line(&named.collect::<Vec<_>>().join(", "), INSTRUCTION_CHARS_MAX)
}

fn todo_names(todos: &[TodoId]) -> String {
    let names: Vec<&str> = todos.iter().map(TodoId::as_str).collect();
    one_line(&names.join(", "), REASON_LINE_CHARS_MAX)
}
