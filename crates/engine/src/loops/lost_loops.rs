//! Notices about loops that would be lost silently: the store disagrees with a loop marker, or the
//! loop's session ended.

use crate::engine::Engine;
use crate::hooks::hook_call::HookCall;
use crate::ledger::SessionLife;
use crate::project::Project;
use moai_base::limits::OFFERED_LOOPS_MAX;
use moai_host::store::loops::LoopQuery;
use moai_report::agent::EditText;
use moai_report::loops;

/// Notice for a session's user about loop markers that disagree with the store, once each.
pub(crate) async fn marker_notice(
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
            tracing::warn!(%error, "loop markers could not be compared with the store");
            return None;
        }
    };
    let texts: Vec<String> = differences.iter().map(loops::mark_difference).collect();
    let mut ledger = engine.ledger();
    let new_notices: Vec<String> =
        texts.into_iter().filter(|text| ledger.session(session).report_once(text)).collect();
    Some(new_notices.join("\n")).filter(|text| !text.is_empty())
}

/// Offers active loops whose session ended to a session without a loop, once each. `source` is the host's
/// reason for a session start, if this is one.
pub(crate) async fn offer(call: &HookCall<'_>, source: &str) -> Option<EditText> {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    if session.is_empty() {
        return None;
    }
    let active = engine.store.active_loops(&project.key, &project.root).await.ok()?;
    let offered = active.into_iter().filter(|(_, owner)| {
        owner.as_ref().is_some_and(|owner| is_offered(engine.ledger().session_life(owner), source))
    });
    let (mut texts, mut notices) = (Vec::new(), Vec::new());
    for (id, _) in offered.take(OFFERED_LOOPS_MAX) {
        let found = engine.store.find_loop(&project.key, &project.root, LoopQuery::Id(id)).await;
        let Ok(Some(state)) = found else { continue };
        let notice = loops::adoption_offer(&state);
        if engine.ledger().session(session).report_once(&notice) {
            texts.push(loops::adoption_offer_for_agent(&state, session));
            notices.push(notice);
        }
    }
    let offer = EditText { text: texts.join("\n"), notice: Some(notices.join("\n")) };
    (!texts.is_empty()).then_some(offer)
}

/// Only the loop of an ended session is offered, because two sessions may work in one project. After
/// `/clear`, a session whose hooks this daemon has not seen is most likely the cleared one.
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
