//! Loops that would be lost silently: the store and a mark disagree, or a loop's session is gone. It
//! must not know which hooks call it.

use super::hook_call::HookCall;
use crate::base::limits::OFFERED_LOOPS_MAX;
use crate::daemon::engine::Engine;
use crate::daemon::ledger::SessionLife;
use crate::daemon::project::Project;
use crate::report::agent::EditText;
use crate::report::loops;
use crate::store::loops::LoopQuery;

/// A notice for the user of a session about marks that disagree with the store, each told once.
pub(super) async fn marker_notice(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Option<String> {
    // Differences are reported once per session.
    if session.is_empty() {
        return None;
    }
    engine.ledger().set_alive(session);
    let compared = engine.store.compare_markers(&project.key, &project.root, session).await;
    let differences = match compared {
        Ok(differences) => differences,
        Err(error) => {
            tracing::warn!(%error, "marks could not be compared with the store");
            return None;
        }
    };
    let texts: Vec<String> = differences.iter().map(loops::mark_difference).collect();
    let mut ledger = engine.ledger();
    let news: Vec<String> =
        texts.into_iter().filter(|text| ledger.report_once(session, text)).collect();
    Some(news.join("\n")).filter(|text| !text.is_empty())
}

/// The active loops whose session is gone, offered to a session that has none, each once. `source`
/// says how the session began, where it begins.
pub(super) async fn offer(call: &HookCall<'_>, source: &str) -> Option<EditText> {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    if session.is_empty() {
        return None;
    }
    let active = engine.store.active_loops(&project.key, &project.root).await.ok()?;
    let is_meant = |owner: &String| is_offered(engine.ledger().session_life(owner), source);
    let meant = active.into_iter().filter(|(_, owner)| owner.as_ref().is_some_and(is_meant));
    let (mut texts, mut notices) = (Vec::new(), Vec::new());
    for (id, _) in meant.take(OFFERED_LOOPS_MAX) {
        let found = engine.store.find_loop(&project.key, &project.root, LoopQuery::Id(id)).await;
        let Ok(Some(state)) = found else { continue };
        let notice = loops::adoption_offer(&state);
        if engine.ledger().report_once(session, &notice) {
            texts.push(loops::adoption_offer_for_agent(&state, session));
            notices.push(notice);
        }
    }
    let offer = EditText { text: texts.join("\n"), notice: Some(notices.join("\n")) };
    (!texts.is_empty()).then_some(offer)
}

/// Two sessions may work in one project, so only the loop of a session that ended is offered. After
/// `/clear`, a session whose hooks this daemon has not seen is most likely the one that was cleared.
fn is_offered(life: SessionLife, source: &str) -> bool {
    match life {
        SessionLife::Ended => true,
        SessionLife::Unknown => source == "clear",
        SessionLife::Alive => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loop_of_a_session_that_is_gone_is_offered() {
        for (life, source, expected) in [
            (SessionLife::Ended, "clear", true),
            (SessionLife::Ended, "startup", true),
            (SessionLife::Ended, "", true),
            (SessionLife::Unknown, "clear", true),
            (SessionLife::Unknown, "startup", false),
            (SessionLife::Unknown, "resume", false),
            (SessionLife::Unknown, "", false),
            (SessionLife::Alive, "clear", false),
        ] {
            assert_eq!(is_offered(life, source), expected, "{life:?} {source}");
        }
    }
}
