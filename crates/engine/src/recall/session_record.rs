//! The record of earlier sessions for a session that starts or was compacted: the digest of the last session,
//! and the most important observations of the project.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::engine::{Engine, memory_now_ms};
use crate::hooks::hook_call::HookCall;
use crate::ledger::SessionLife;
use crate::project::Project;
use crate::recall::note::{note, record_language, stored_session};
use crate::recall::recorder::{NotedEventKind, NotedSession};
use crate::recall::{RecalledText, of_project};
use moai_base::limits::{
    CONTEXT_WINDOW_TOKENS_ASSUMED, DIGEST_ROWS_MAX, INDEX_ROWS_READ_MAX, RECALL_MS_MAX,
    SESSIONS_COMPARED_MAX,
};
use moai_host::store::StoreError;
use moai_loops::framework::{MessageLanguage, language_of};
use moai_loops::state::LoopState;
use moai_memory::budget::InjectionEvent;
use moai_memory::database::{MemoryDatabase, ObservationFilter};
use moai_memory::observation::{StoredObservation, StoredSession};
use moai_memory::observe::digest::SessionDigest;
use moai_memory::ranking::{ObservationKind, standing};
use moai_report::recall::{RecallContext, RecalledSession, session_record};

/// Kinds that the index of a session's start shows.
const INDEX_KINDS: [ObservationKind; 4] = [
    ObservationKind::Decision,
    ObservationKind::Note,
    ObservationKind::Verdict,
    ObservationKind::Fix,
];

/// Rows of the store for a session that starts.
#[derive(Debug, Default)]
struct RecordRows {
    /// The session itself, if it has observations.
    own: Option<StoredSession>,
    own_observations: Vec<StoredObservation>,
    /// The last other session.
    last: Option<StoredSession>,
    last_observations: Vec<StoredObservation>,
    /// The newest observations of the project that an index may show.
    index: Vec<StoredObservation>,
}

/// The record for a session that starts, or that the host has shortened. `None` without anything to
/// recall, and if the memory is too slow.
pub(crate) async fn record_for(call: &HookCall<'_>, event: InjectionEvent) -> Option<RecalledText> {
    if !call.project.config.memory_enabled || call.input.agent_id.is_some() {
        return None;
    }
    let bound = Duration::from_millis(RECALL_MS_MAX);
    let stored = tokio::time::timeout(bound, read_record(call, event)).await;
    let Ok(stored) = stored else {
        tracing::warn!("the memory is too slow for the start of a session");
        return None;
    };
    let Ok(record) = stored.inspect_err(|error| tracing::warn!(%error, "the memory is unreadable"))
    else {
        return None;
    };
    call.engine.ledger().session(&call.input.session_id).recall.has_record = true;
    tell(call, event, record?)
}

/// The record for the first prompt of a session whose start this program missed.
pub(crate) async fn missed_record(call: &HookCall<'_>) -> Option<RecalledText> {
    let session = &call.input.session_id;
    if call.engine.ledger().session(session).recall.has_record {
        return None;
    }
    record_for(call, InjectionEvent::Start).await
}

/// Reads the rows of the record; `None` if the memory does not exist, or if the session is not new.
async fn read_record(
    call: &HookCall<'_>,
    event: InjectionEvent,
) -> Result<Option<RecordRows>, StoreError> {
    let HookCall { engine, project, input, .. } = call;
    engine.recorder.flush(Duration::from_millis(RECALL_MS_MAX)).await;
    if !engine.memory.exists() {
        return Ok(None);
    }
    let (session, key) = (stored_session(&input.session_id), project.memory_key());
    let at_work = sessions_in_other_trees(call).await;
    let filter = ObservationFilter { kinds: INDEX_KINDS.to_vec(), ..of_project(project) };
    let read = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let sessions = database.sessions(&key, SESSIONS_COMPARED_MAX)?;
        let (own, others): (Vec<StoredSession>, Vec<StoredSession>) =
            sessions.into_iter().partition(|one| one.id == session);
        let last = others.into_iter().find(|other| !at_work.contains(&other.id));
        let own = own.into_iter().next();
        let own_observations = observations_of(database, own.as_ref())?;
        let last_observations = observations_of(database, last.as_ref())?;
        let index = database.newest(&filter, INDEX_ROWS_READ_MAX)?;
        Ok(RecordRows { own, own_observations, last, last_observations, index })
    };
    let record = engine.memory.read(read).await?;
    // A daemon that has just started sees the session for the first time, but it is not new.
    let is_known = event == InjectionEvent::Start && record.own.is_some();
    Ok((!is_known).then_some(record))
}

/// Sessions that work on their own loops in other worktrees of the project at the same time: they are still
/// running, so they are not recalled.
async fn sessions_in_other_trees(call: &HookCall<'_>) -> BTreeSet<String> {
    let HookCall { engine, project, .. } = call;
    if !project.key.database(&engine.dirs.state).exists() {
        return BTreeSet::new();
    }
    let all = engine.store.list_loops(&project.key).await.unwrap_or_default();
    let here = engine.store.active_loops(&project.key, &project.root).await.unwrap_or_default();
    let is_here = |held: &LoopState| here.iter().any(|(id, _)| *id == held.id);
    let elsewhere = all.into_iter().filter(|held| held.status.is_active() && !is_here(held));
    elsewhere.filter_map(|held| held.session_id).map(|id| stored_session(&id)).collect()
}

fn observations_of(
    database: &mut dyn MemoryDatabase<Error = StoreError>,
    session: Option<&StoredSession>,
) -> Result<Vec<StoredObservation>, StoreError> {
    let Some(session) = session else { return Ok(Vec::new()) };
    let filter = ObservationFilter {
        projects: vec![session.project.key.clone()],
        session: Some(session.id.clone()),
        ..ObservationFilter::default()
    };
    database.newest(&filter, DIGEST_ROWS_MAX)
}

/// The text of the record; also notes an earlier session that has ended.
fn tell(call: &HookCall<'_>, event: InjectionEvent, stored: RecordRows) -> Option<RecalledText> {
    let now_ms = memory_now_ms();
    let RecordRows { own, own_observations, last, last_observations, mut index } = stored;
    let earlier = last.map(|last| {
        let digest = SessionDigest::of(&last.goal, &last_observations);
        note_earlier(call, &last, &digest);
        RecalledSession { digest, last_ms: Some(last.last_ms) }
    });
    let shown = match (event, own) {
        (InjectionEvent::Compacted, Some(own)) => {
            let digest = SessionDigest::of(&own.goal, &own_observations);
            // The host tells the goal itself.
            digest.has_events().then_some(RecalledSession { digest, last_ms: None })
        }
        _ => earlier,
    };
    let session = &call.input.session_id;
    index.retain(|one| !call.engine.ledger().session(session).recall.is_shown(one.row));
    index.sort_by(|one, other| {
        let standing = |one: &StoredObservation| standing(one, now_ms);
        standing(other).total_cmp(&standing(one))
    });
    let language = language_of_record(call, shown.as_ref(), &index);
    let tokens_max = tokens_max(call.engine, &call.project, &call.input.session_id, event);
    let context = RecallContext { language, now_ms, event, tokens_max };
    let recall = session_record(shown.as_ref(), &index, context);
    RecalledText::new(recall, &call.input.session_id, event, now_ms)
}

/// A session has ended if its host ended it, or if no hook of this daemon has seen it.
fn note_earlier(call: &HookCall<'_>, earlier: &StoredSession, digest: &SessionDigest) {
    let is_alive = call.engine.ledger().session_life(&earlier.id) == SessionLife::Alive;
    if is_alive && !earlier.has_ended || digest.is_empty() {
        return;
    }
    let (id, last_ms, digest) = (earlier.id.clone(), earlier.last_ms, digest.clone());
    let noted = NotedEventKind::EarlierSession(Box::new(NotedSession { id, last_ms, digest }));
    note(call.engine, &call.project, &call.input.session_id, noted);
}

/// The language of the session; for a new one, that of the recalled observations.
fn language_of_record(
    call: &HookCall<'_>,
    session: Option<&RecalledSession>,
    index: &[StoredObservation],
) -> MessageLanguage {
    let of_session = call
        .engine
        .ledger()
        .known_session(&call.input.session_id)
        .and_then(|session| session.recall.language());
    if let Some(language) = of_session {
        return language;
    }
    if language_of_reader(call) == MessageLanguage::Korean {
        return MessageLanguage::Korean;
    }
    let mut words = session.map(|session| session.digest.goal.clone()).unwrap_or_default();
    let decisions = session.iter().flat_map(|session| &session.digest.decisions);
    for title in decisions.map(|line| &line.title).chain(index.iter().map(|one| &one.title)).take(4)
    {
        words.push(' ');
        words.push_str(title);
    }
    language_of(&words)
}

/// The language of texts for the session's agent.
pub(super) fn language_of_reader(call: &HookCall<'_>) -> MessageLanguage {
    record_language(call.engine, &call.input.session_id)
}

/// Tokens that an injection may cost now.
pub(super) fn tokens_max(
    engine: &Engine,
    project: &Project,
    session: &str,
    event: InjectionEvent,
) -> usize {
    let window = project.config.context_window.unwrap_or(CONTEXT_WINDOW_TOKENS_ASSUMED);
    let injected = engine.ledger().session(session).recall.injected_tokens();
    event.tokens_max(usize::try_from(window).unwrap_or(usize::MAX), injected)
}
