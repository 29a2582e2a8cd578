//! The texts about the exam of a pipeline, and where and by whom it is started or continued.

use crate::pipeline::language;
use crate::sanitized_name;
use crate::wording;
use crate::wording::endings;
use crate::wording::pipelines as course;
use crate::wording::worktrees as phrases;
use moai_base::foreign_text::one_line;
use moai_base::limits::REASON_LINE_CHARS_MAX;
use moai_loops::state::{LoopState, Status};
use moai_pipeline::state::PipelineState;

/// Why a run of acceptance commands does not count: files of the exam were changed, one line each.
#[must_use]
pub fn exam_changed(changes: &[String]) -> String {
    let named = one_line(&changes.join(", "), REASON_LINE_CHARS_MAX);
    format!("not run with what was approved: {named}; restore it")
}

/// Why passing runs of acceptance commands do not count: a measurement is missing.
#[must_use]
pub fn not_confirmed(gap: &str) -> String {
    let gap = one_line(gap, REASON_LINE_CHARS_MAX);
    format!("it passed, but weakened tests and checks were not looked for ({gap})")
}

/// For the user: a worker ended, and its TODO stays open because a measurement is missing.
#[must_use]
pub fn exam_not_measured(state: &PipelineState, gap: &str) -> String {
    let gap = one_line(gap, REASON_LINE_CHARS_MAX);
    course::EXAM_NOT_MEASURED.with(language(state), &[&state.id, &gap])
}

/// The refusal when an agent continues a pipeline that ended because its tests were weakened.
#[must_use]
pub fn resumed_by_person(state: &PipelineState) -> String {
    phrases::RESUMED_BY_PERSON.with(language(state), &[&state.id])
}

/// The refusal to resume a pipeline that has not ended; `held` is its loop, `session` that of the caller.
#[must_use]
pub fn not_ended(state: &PipelineState, held: &LoopState, session: Option<&str>) -> String {
    let owner = held.session_id.as_deref();
    let is_paused = held.status == Status::Paused;
    let phrase = match owner.filter(|owner| Some(*owner) != session) {
        // A person at a terminal has no session and resumes any loop.
        Some(_) if !is_paused || session.is_some() => course::RESUMED_ELSEWHERE,
        _ if is_paused => course::RESUMED_WHILE_PAUSED,
        _ => course::RESUMED_WHILE_ACTIVE,
    };
    let owner = sanitized_name(owner.unwrap_or_default());
    phrase.with(language(state), &[&state.id, &held.id, &owner])
}

/// The refusal to accept changes of the exam while the pipeline has ended.
#[must_use]
pub fn refreeze_after_resume(state: &PipelineState) -> String {
    endings::REFREEZE_AFTER_RESUME.with(language(state), &[&state.id])
}

/// The refusal if the exam of a pipeline no longer exists.
#[must_use]
pub fn exam_is_gone(state: &PipelineState) -> String {
    phrases::EXAM_IS_GONE.with(language(state), &[&state.id])
}

/// The refusal of a pipeline in a worktree of this one.
#[must_use]
pub fn in_worktree_of(state: &PipelineState) -> String {
    phrases::IN_WORKTREE_OF.with(language(state), &[&state.id])
}

/// For the user: scripts that acceptance commands run and that could not be frozen.
#[must_use]
pub fn missing_scripts(state: &PipelineState, paths: &[String]) -> Option<String> {
    let named = one_line(&paths.join(", "), REASON_LINE_CHARS_MAX);
    (!paths.is_empty()).then(|| wording::SCRIPTS_MISSING.with(language(state), &[&named]))
}

/// For the user: scripts that another approval has frozen for the first time.
#[must_use]
pub fn late_scripts(state: &PipelineState, paths: &[String]) -> Option<String> {
    let named = one_line(&paths.join(", "), REASON_LINE_CHARS_MAX);
    (!paths.is_empty()).then(|| wording::SCRIPTS_LATE.with(language(state), &[&named]))
}
