//! The texts about the approval of a plan: the plan as shown to the user, and the parts it freezes.

use crate::pipeline::{language, push_objections};
use crate::plan_objections::{named_parts, todos_ready};
use crate::wording;
use crate::wording::approvals as phrases;
use crate::wording::pipelines as course;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    ACCEPTED_LINES_MAX, LINE_CHARS_MAX, NAMED_COMMANDS_MAX, REASON_LINE_CHARS_MAX,
};
use moai_loops::framework::MessageLanguage;
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::objection::{PlanObjection, UnapprovedPart};
use moai_pipeline::plan::PlanDocument;
use moai_pipeline::shown_plan::{ShownPlan, command_names};
use moai_pipeline::state::PipelineState;

/// For the agent and the user: the plan was approved.
#[must_use]
pub fn approved(state: &PipelineState, commands: usize) -> String {
    let language = language(state);
    let plan = state.approved.as_ref().map(ApprovedPlan::document).unwrap_or_default();
    let names = named_commands(language, &command_names(&plan));
    let parts = [state.id.as_str(), &state.plan_path(), &commands.to_string(), &names];
    let mut lines = vec![phrases::PIPELINE_APPROVED.with(language, &parts)];
    if state.is_solo && !state.scenarios.is_empty() {
        lines.push(wording::SOLO_SCENARIOS.text_in(language).to_owned());
    }
    let ready = state.ready_todos();
    if !ready.is_empty() {
        lines.push(todos_ready(state, &ready));
    }
    lines.join("\n")
}

/// For the user: the turn ended because the plan waits for approval. `is_declined` says that the user did not
/// approve it as it is.
#[must_use]
pub fn awaits_approval(state: &PipelineState, is_declined: bool) -> String {
    let language = language(state);
    let (version, commands) = state
        .shown_plan
        .as_ref()
        .map(|shown| (shown.version.as_str(), shown.commands.as_slice()))
        .unwrap_or_default();
    let names = named_commands(language, commands);
    let phrase = if is_declined { course::PLAN_WAS_DECLINED } else { phrases::PIPELINE_WAITS };
    phrase.with(language, &[&state.id, &state.plan_path(), version, &names])
}

/// For the user before an approval: the acceptance items that it freezes, one line each, and the other parts
/// that it adds to an approved plan.
#[must_use]
pub fn items_to_approve(state: &PipelineState, text: &str) -> Vec<String> {
    let language = language(state);
    let approved = state.approved.as_ref().map(|plan| item_lines(plan.text())).unwrap_or_default();
    let mut items = item_lines(text);
    items.retain(|item| !approved.contains(item));
    let more = items.len().saturating_sub(ACCEPTED_LINES_MAX);
    items.truncate(ACCEPTED_LINES_MAX);
    let mut lines = items;
    if more > 0 {
        lines.push(course::MORE_FAULTS.with(language, &[&more.to_string()]));
    }
    if state.approved.is_some() {
        let parts = state.unapproved_parts(text);
        let named = named_parts(language, &parts);
        lines.extend(
            (!parts.is_empty()).then(|| course::PARTS_TO_APPROVE.with(language, &[&named])),
        );
    }
    lines
}

/// The acceptance items of a plan, each with its TODO: ``TODO-1 `test -f x` ``, `TODO-1 [H] the text reads well`.
fn item_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for todo in &PlanDocument::parse(text).todos {
        for item in &todo.items {
            let line = match &item.command {
                Some(command) => format!("{} `{command}`", todo.id),
                None => format!("{} [{}] {}", todo.id, item.kind.as_str(), item.text),
            };
            lines.push(one_line(&line, LINE_CHARS_MAX));
        }
    }
    lines
}

/// For the user before an approval: a document that has changed since the last one.
#[must_use]
pub fn changed_document(state: &PipelineState, path: &str) -> String {
    let path = one_line(path, REASON_LINE_CHARS_MAX);
    course::DOCUMENT_TO_APPROVE.with(language(state), &[&path])
}

/// For the user before an approval: the scripts that it freezes for the first time.
#[must_use]
pub fn scripts_to_approve(state: &PipelineState, paths: &[String]) -> Option<String> {
    let named = one_line(&paths.join(", "), LINE_CHARS_MAX);
    (!paths.is_empty()).then(|| phrases::SCRIPTS_TO_FREEZE.with(language(state), &[&named]))
}

/// Why a typed command approves nothing: the plan differs from the one that the user was shown.
#[must_use]
pub fn not_as_shown(state: &PipelineState, now: &ShownPlan) -> String {
    let language = language(state);
    let (path, version) = (state.plan_path(), now.version.as_str());
    let Some(known) = state.known_plan() else {
        let names = named_commands(language, &now.commands);
        return phrases::PLAN_NOT_SHOWN.with(language, &[&path, version, &names]);
    };
    let mut changes = Vec::new();
    for (phrase, commands) in [
        (&phrases::COMMANDS_NEW, now.commands_without(&known)),
        (&phrases::COMMANDS_GONE, known.commands_without(now)),
    ] {
        if !commands.is_empty() {
            changes.push(phrase.with(language, &[&named_commands(language, &commands)]));
        }
    }
    if changes.is_empty() {
        changes.push(phrases::COMMANDS_SAME.text_in(language).to_owned());
    }
    phrases::PLAN_NOT_AS_SHOWN.with(language, &[&path, version, &changes.join("; ")])
}

/// The line of a status about parts of the plan that no person has approved; empty without any. A plan with
/// faults cannot be approved.
#[must_use]
pub fn unapproved_line(state: &PipelineState, parts: &[UnapprovedPart], is_sound: bool) -> String {
    let language = language(state);
    let named = named_parts(language, parts);
    let phrase = if is_sound { course::STATUS_UNAPPROVED } else { course::STATUS_UNAPPROVED_YET };
    if parts.is_empty() { String::new() } else { phrase.with(language, &[&named]) + "\n" }
}

/// The lines of a status about faults of the plan; empty without any.
#[must_use]
pub fn plan_fault_lines(state: &PipelineState, objections: &[PlanObjection]) -> String {
    let language = language(state);
    let head = match objections {
        [] => return String::new(),
        [PlanObjection::Missing] if state.approved.is_none() => {
            return course::STATUS_NO_PLAN.with(language, &[&state.plan_path()]) + "\n";
        }
        _ if state.needs_approval() => course::STATUS_PLAN_FAULTS,
        _ => course::STATUS_PLAN_DIFFERS,
    };
    let mut text = head.text_in(language).to_owned();
    push_objections(&mut text, state, objections, "    ");
    text + "\n"
}

/// For the user: additions to an approved plan that keep its pipeline from ending.
#[must_use]
pub fn additions_wait(state: &PipelineState, parts: &[UnapprovedPart]) -> String {
    let language = language(state);
    phrases::ADDITIONS_WAIT.with(language, &[&named_parts(language, parts), &state.plan_path()])
}

/// For the agent: the user does not approve the plan as it is; in an approved plan, its additions, or else the
/// documents that have changed since. `None` if an approved plan has neither. `wish` is what the user typed
/// instead.
#[must_use]
pub fn declined(
    state: &PipelineState,
    parts: &[UnapprovedPart],
    documents: &[String],
    wish: Option<&str>,
) -> Option<String> {
    let (language, path) = (language(state), state.plan_path());
    let id = state.id.as_str();
    if state.approved.is_some() {
        let named = one_line(&documents.join(", "), LINE_CHARS_MAX);
        return match (parts, documents) {
            ([], []) => None,
            ([], _) => Some(phrases::DOCUMENTS_DECLINED.with(language, &[id, &named])),
            _ => {
                let parts = [id, &named_parts(language, parts), &path];
                Some(phrases::ADDITIONS_DECLINED.with(language, &parts))
            }
        };
    }
    Some(match wish.map(|wish| one_line(wish, LINE_CHARS_MAX)) {
        Some(wish) => phrases::PLAN_DECLINED_WITH.with(language, &[id, &path, &wish]),
        None => phrases::PLAN_DECLINED.with(language, &[id, &path]),
    })
}

/// Commands, the first ones by name.
fn named_commands(language: MessageLanguage, commands: &[String]) -> String {
    let shown = commands.iter().take(NAMED_COMMANDS_MAX);
    let shown: Vec<String> = shown.map(|name| one_line(name, REASON_LINE_CHARS_MAX)).collect();
    let mut names = one_line(&shown.join(", "), LINE_CHARS_MAX);
    let more = commands.len().saturating_sub(NAMED_COMMANDS_MAX);
    if more > 0 {
        names.push_str(&phrases::MORE_COMMANDS.with(language, &[&more.to_string()]));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_pipeline::state::{PipelineKind, PlanApprover};

    #[test]
    fn an_approved_plan_without_additions_is_not_to_be_changed_after_a_no() {
        let (id, goal) = ("pipeline-1".to_owned(), "parts".to_owned());
        let new = PipelineState::begin(id, PipelineKind::Small, goal, "SPEC-A-001".into(), 1);
        let plan = declined(&new, &[], &[], None);
        assert!(plan.is_some_and(|text| text.contains("change the plan")));
        let text = "### [ ] TODO 1: one\n- [A] `x`\n".to_owned();
        let approved = Some(ApprovedPlan::new(text, 1, PlanApprover::Person));
        let state = PipelineState { approved, ..new };
        assert_eq!(declined(&state, &[], &[], Some("no")), None);
        let documents = ["spec.md".to_owned()];
        let told = declined(&state, &[], &documents, None).expect("a text");
        assert!(told.contains("spec.md") && !told.contains("change the plan"), "{told}");
        let part = UnapprovedPart { name: "TODO-2".to_owned(), line: 3 };
        let told = declined(&state, &[part], &documents, None).expect("a text");
        assert!(told.contains("TODO-2"), "{told}");
    }
}
