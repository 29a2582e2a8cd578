//! Start, resumption or compaction of a session: repeats the active loop's instructions, offers a
//! loop whose session ended, and recalls earlier sessions.

use crate::hooks::hook_call::{HookAnswer, HookCall, with_deferred_reports};
use crate::ledger::PendingStart;
use crate::loops::lost_loops;
use crate::pipeline::pipeline_of_loop::{instructions_of_loop, note_arrival};
use crate::recall::RecalledText;
use crate::recall::session_record::record_for;
use moai_host::store::loops::LoopQuery;
use moai_memory::budget::InjectionEvent;
use moai_report::agent::EditText;
use moai_report::contributions::ContributionOrigin;

pub(crate) async fn handle(call: HookCall<'_>) -> HookAnswer {
    if call.input.session_id.is_empty() {
        return HookAnswer::default();
    }
    let (of_loop, recalled) = tokio::join!(loop_text(&call), record(&call));
    let texts = of_loop.into_iter().collect();
    with_deferred_reports(&call, ContributionOrigin::Loop, texts, recalled).await
}

/// The instructions of the session's active loop, else the offer of one whose session ended.
async fn loop_text(call: &HookCall<'_>) -> Option<EditText> {
    let (session, project) = (&call.input.session_id, &call.project);
    let which = LoopQuery::ActiveOf(session.clone());
    match call.engine.store.find_loop(&project.key, &project.root, which).await {
        // The answer says it already.
        Ok(Some(_)) if is_told(call) => None,
        Ok(Some(state)) => {
            note_arrival(call.engine, project, session).await;
            let text = instructions_of_loop(call.engine, project, &state).await;
            Some(EditText::agent_only(text))
        }
        Ok(None) => lost_loops::offer(call, &call.input.source).await,
        Err(error) => {
            tracing::warn!(%error, "the session's loop could not be looked up");
            None
        }
    }
}

/// Whether this answer tells the session where its loop is, because a command started or moved it.
fn is_told(call: &HookCall<'_>) -> bool {
    let mut ledger = call.engine.ledger();
    let session = ledger.known_session(&call.input.session_id);
    let pending = session.and_then(|session| session.pending_start.as_ref());
    matches!(pending, Some(PendingStart::OfLoop { .. })) && call.input.agent_id.is_none()
}

/// The record of earlier sessions. A resumed session still has it.
async fn record(call: &HookCall<'_>) -> Option<RecalledText> {
    let event = match call.input.source.as_str() {
        "resume" | "fork" => {
            call.engine.ledger().session(&call.input.session_id).recall.has_record = true;
            return None;
        }
        "compact" => {
            call.engine.ledger().session(&call.input.session_id).recall.forget_shown();
            InjectionEvent::Compacted
        }
        _ => InjectionEvent::Start,
    };
    record_for(call, event).await
}
