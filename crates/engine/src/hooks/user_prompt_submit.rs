//! The user sent a prompt: claims an unclaimed loop, offers one whose session ended, delivers deferred
//! reports, and recalls observations about the same subject. Records the prompt, and the state of the disk,
//! so that later writes of the session are known as new.

use std::sync::Arc;

use crate::evidence::disk_poll::{self, FirstLook};
use crate::hooks::hook_call::{HookAnswer, HookCall, with_deferred_reports};
use crate::loops::lost_loops;
use crate::loops::session_loop::{checks_of_loop, loop_of_session};
use crate::pipeline::commands as pipeline_commands;
use crate::pipeline::pipeline_of_loop::instructions_of_loop;
use crate::pipeline::shell_undo::note_interruption;
use crate::pipeline::worktree_end::{closed_notice, ended_with_pipeline, taken_text};
use crate::recall::prompt_record::recall_for_prompt;
use crate::stop::completed_work;
use moai_loops::state::{LoopState, PauseReason, Status};
use moai_report::agent::EditText;
use moai_report::contributions::ContributionOrigin;
use moai_report::loops;

pub(crate) async fn handle(call: HookCall<'_>) -> HookAnswer {
    completed_work::forget(call.engine, &call.project, &call.input.session_id);
    note_interruption(&call);
    poll_in_background(&call);
    let routed = Box::pin(pipeline_commands::start_by_keyword(&call)).await;
    let routed = routed.map(EditText::agent_only);
    let (mut texts, recalled) = tokio::join!(loop_texts(&call), recall_for_prompt(&call));
    texts.extend(routed);
    with_deferred_reports(&call, ContributionOrigin::Loop, texts, recalled).await
}

/// The instructions of a loop that was claimed just now, else the offer of one whose session ended.
async fn loop_texts(call: &HookCall<'_>) -> Vec<EditText> {
    let claimed = loop_of_session(call.engine, &call.project, &call.input.session_id).await;
    if let Ok((Some(state), _)) = &claimed
        && let Some(ended) = ended_with_pipeline(call, state).await
    {
        let notice = closed_notice(call, Some(&ended)).await;
        return notice
            .into_iter()
            .map(|text| EditText { text: text.clone(), notice: Some(text) })
            .collect();
    }
    match claimed {
        Ok((Some(state), true)) => {
            let notice = if state.history.is_empty() {
                let checks = checks_of_loop(call.engine, &call.project, &state).await;
                Some(loops::started_notice(&state, &checks))
            } else {
                None
            };
            let text = instructions_of_loop(call.engine, &call.project, &state).await;
            vec![EditText { text, notice }]
        }
        Ok((Some(state), false)) => pause_text(call, &state).into_iter().collect(),
        Ok((None, _)) => match lost_loops::offer(call, "").await {
            Some(offer) => vec![offer],
            None => taken_text(call).await.into_iter().collect(),
        },
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            Vec::new()
        }
    }
}

/// Reports to the agent once that its loop has paused by itself: a Stop shows this only to the user.
fn pause_text(call: &HookCall<'_>, state: &LoopState) -> Option<EditText> {
    if state.status != Status::Paused || state.pause_reason == Some(PauseReason::User) {
        return None;
    }
    let text = loops::end_notice(state);
    let mut ledger = call.engine.ledger();
    let is_new = ledger.session(&call.input.session_id).report_once(&text);
    is_new.then(|| EditText::agent_only(text))
}

/// In the background, because nothing waits for the poll: the agent's first tool call follows only after a
/// model's answer.
fn poll_in_background(call: &HookCall<'_>) {
    let (engine, project) = (Arc::clone(call.engine), call.project.clone());
    let (session, job) = (call.input.session_id.clone(), call.engine.job());
    tokio::spawn(async move {
        let _job = job;
        if !engine.ledger().session(&session).has_polled(&project.root) {
            let nothing = FirstLook::Nothing;
            disk_poll::take_unseen_files(&engine, &project, &session, nothing).await;
        }
    });
}
