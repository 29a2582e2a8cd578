//! Texts for the user about a loop that may be lost: its two records differ, or its session has
//! ended.

use std::path::Path;

use crate::wording;
use moai_base::foreign_text::one_line;
use moai_base::limits::{GOAL_CHARS_MAX, LINE_CHARS_MAX};
use moai_loops::framework::MessageLanguage;
use moai_loops::marker::{LoopSummary, MarkerDifference, MarkerDifferenceKind};
use moai_loops::state::LoopState;

/// The difference between a loop's mark and the store, and the remedy.
#[must_use]
pub fn mark_difference(difference: &MarkerDifference) -> String {
    let (id, language) = (difference.id.as_str(), difference.language);
    match &difference.kind {
        MarkerDifferenceKind::RowGone(was, store) => {
            wording::ROW_GONE.with(language, &[id, &standing(language, *was), &path(store)])
        }
        MarkerDifferenceKind::PipelineGone(pipeline, was, store) => {
            let parts = [id, &standing(language, *was), &path(store), pipeline];
            wording::PIPELINE_GONE.with(language, &parts)
        }
        MarkerDifferenceKind::RowChanged(was, now) => {
            let now_words = now.map(|now| standing(language, now));
            let now_words =
                now_words.unwrap_or_else(|| wording::UNREADABLE.text_in(language).into());
            let goes_on = now.is_some_and(|now| now.status.is_active());
            let advice = if goes_on { &wording::CHANGED_GOES_ON } else { &wording::CHANGED_ENDS };
            let changed = wording::ROW_CHANGED;
            let changed = changed.with(language, &[id, &standing(language, *was), &now_words]);
            format!("{changed} {}", advice.with(language, &[id]))
        }
        MarkerDifferenceKind::OtherStore(theirs, ours) => {
            wording::OTHER_STORE.with(language, &[id, &path(theirs), &path(ours)])
        }
        MarkerDifferenceKind::MarkGone(folder) => {
            wording::MARK_GONE.with(language, &[id, &path(folder)])
        }
        MarkerDifferenceKind::RootMoved(root) => {
            wording::ROOT_MOVED.with(language, &[id, &path(root)])
        }
    }
}

fn standing(language: MessageLanguage, it: LoopSummary) -> String {
    let numbers = [it.iteration.to_string(), it.max_iterations.to_string()];
    wording::STANDING.with(language, &[it.status.as_str(), &numbers[0], &numbers[1]])
}

fn path(path: &Path) -> String {
    one_line(&path.to_string_lossy(), LINE_CHARS_MAX)
}

/// For the user: a loop whose session has ended, and how to continue it.
#[must_use]
pub fn adoption_offer(state: &LoopState) -> String {
    offer_text(&wording::OFFERED, state, "")
}

/// For the agent of a session: the same, with the command that binds the loop to this session.
#[must_use]
pub fn adoption_offer_for_agent(state: &LoopState, session: &str) -> String {
    offer_text(&wording::OFFERED_TO_AGENT, state, session)
}

fn offer_text(phrase: &wording::BilingualPhrase, state: &LoopState, session: &str) -> String {
    let goal = one_line(state.goal(), GOAL_CHARS_MAX);
    let (iteration, max) =
        (state.current_iteration().to_string(), state.max_iterations.to_string());
    let parts = [state.id.as_str(), &goal, &iteration, &max, session];
    phrase.with(state.language(), &parts)
}
