//! Hook events that the host of a session did not send: an agent can call a hook of this program itself,
//! through a script that hides the call. They decide nothing, and the loop's report lists them.

use std::sync::Arc;

use crate::agent_session;
use crate::engine::{Engine, now_ms};
use crate::ledger::SessionState;
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::loops::loop_selection::change_loop;
use crate::project::Project;
use moai_host::store::loops::LoopQuery;
use moai_loops::control;
use moai_loops::state::ForeignEvent;
use moai_protocol::control::CallerContext;
use moai_protocol::hook::HookEvent;
use moai_report::loops;

/// Logs an event that did not come from the session's host, and reports it to the users of the session and of
/// the agent that sent it.
pub(crate) async fn ignore(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    session: &str,
    event: HookEvent,
) {
    tracing::warn!(
        event = event.host_name(),
        session,
        "ignored an event that the host did not send"
    );
    let project = Project::load_unserved(engine, caller);
    let noted =
        ForeignEvent { event: event.host_name().to_owned(), at_ms: now_ms(), is_obeyed: false };
    record(engine, caller, &project, session, noted).await;
    let notice = loops::ignored_event(event.host_name());
    let sender = agent_session::session_of_ancestor(engine, caller);
    let mut ledger = engine.ledger();
    if let Some(known) = ledger.known_session(session) {
        notify_once(known, &notice);
    }
    if let Some(sender) = sender.filter(|sender| sender != session) {
        notify_once(ledger.session(&sender), &notice);
    }
}

fn notify_once(session: &mut SessionState, notice: &str) {
    if session.report_once(notice) {
        session.user_notices.push(notice.to_owned());
    }
}

/// Reports in the loop's report that an event which decides about the loop came from a second host.
pub(crate) async fn note_second_host(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    session: &str,
    event: HookEvent,
) {
    if !matches!(event, HookEvent::Stop | HookEvent::UserPromptExpansion) {
        return;
    }
    tracing::warn!(event = event.host_name(), session, "a second host of a session");
    let noted =
        ForeignEvent { event: event.host_name().to_owned(), at_ms: now_ms(), is_obeyed: true };
    record(engine, caller, project, session, noted).await;
}

/// Records an event in the active loop of the session.
async fn record(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    session: &str,
    noted: ForeignEvent,
) {
    let found = active_loop_anywhere(engine, caller, project, session).await;
    let Some((project, state)) = found else { return };
    // Each change of a loop delays a Stop that is being decided.
    if !control::has_room_for(&state, &noted) {
        return;
    }
    let add = |state: &_| Ok::<_, String>(control::with_foreign_event(state, noted.clone()));
    if let Err(error) = change_loop(engine, &project, LoopQuery::Id(state.id), add).await {
        tracing::warn!(%error, session, "an event that the host did not send was not recorded");
    }
}
