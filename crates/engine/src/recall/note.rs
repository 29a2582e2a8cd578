//! Notes the events of a session. A note costs the hook only a copy: [`super::recorder`] writes it.

use crate::engine::{Engine, memory_now_ms};
use crate::project::Project;
use crate::recall::recorder::{NotedEvent, NotedEventKind};
use moai_loops::framework::MessageLanguage;
use moai_memory::clean::CleanText;
use moai_memory::observe::{ObservationDraft, ObservationOrigin};

/// Notes something about a session, unless the memory is switched off.
pub(crate) fn note(engine: &Engine, project: &Project, session: &str, kind: NotedEventKind) {
    if project.config.memory_enabled {
        engine.recorder.note(noted_event(engine, project, session, kind));
    }
}

/// Something about a session, as of now.
pub(crate) fn noted_event(
    engine: &Engine,
    project: &Project,
    session: &str,
    kind: NotedEventKind,
) -> NotedEvent {
    let origin = ObservationOrigin {
        project: project.in_memory(),
        session: stored_session(session),
        at_ms: memory_now_ms(),
    };
    NotedEvent { origin, language: record_language(engine, session), kind }
}

/// The id under which the memory knows a session: that of the host without private passages and secrets.
pub(crate) fn stored_session(session: &str) -> String {
    CleanText::of(session).map(|id| id.as_str().to_owned()).unwrap_or_default()
}

/// Observations that need nothing else.
pub(crate) fn note_drafts(
    engine: &Engine,
    project: &Project,
    session: &str,
    drafts: Vec<ObservationDraft>,
) {
    if !drafts.is_empty() {
        note(engine, project, session, NotedEventKind::Drafts(drafts));
    }
}

/// The language of a session's observations: that of its loop, else that of its user.
pub(crate) fn record_language(engine: &Engine, session: &str) -> MessageLanguage {
    let mut ledger = engine.ledger();
    let Some(session) = ledger.known_session(session) else { return MessageLanguage::default() };
    match session.language {
        Some(MessageLanguage::Korean) => MessageLanguage::Korean,
        of_loop => session.recall.language().or(of_loop).unwrap_or_default(),
    }
}
