//! Writes noted events to the memory: as observations, and as changes to earlier ones.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::engine::run_blocking;
use crate::recall::recorder::{NotedCommand, NotedEdit, NotedEvent, NotedEventKind, NotedSession};
use moai_base::finding::{Finding, FindingState};
use moai_base::limits::{
    DIGEST_ROWS_MAX, EDIT_NAMES_READ_MAX, RECORDED_SESSIONS_MAX, SESSION_FIXES_MAX,
};
use moai_host::memory::{MemoryStore, ObservationPlace};
use moai_host::store::StoreError;
use moai_loops::framework::{MessageLanguage, language_of};
use moai_lsp::impact::TouchedSymbols;
use moai_memory::clean::CleanText;
use moai_memory::database::{MemoryDatabase, ObservationFilter, StoredAs};
use moai_memory::observation::{FixOutcome, NewObservation, Provenance, SessionGoal};
use moai_memory::observe::commands::FailedCommand;
use moai_memory::observe::edits::{
    EditTexts, is_remembered, may_be_quoted, measured_fixes, shape_of,
};
use moai_memory::observe::prompts::ObservedPrompt;
use moai_memory::observe::trace::{EditTrace, written_lines};
use moai_memory::observe::{ObservationDraft, ObservationOrigin};
use moai_memory::ranking::ObservationKind;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::observed;

type MemoryHandle<'d> = &'d mut dyn MemoryDatabase<Error = StoreError>;

/// Writes events, and keeps the state that later ones depend on.
pub(super) struct EventStore {
    store: MemoryStore,
    /// The least recently used first.
    sessions: VecDeque<RecordedSession>,
}

/// State of a session while it runs.
#[derive(Debug, Default)]
struct RecordedSession {
    id: String,
    fixes: VecDeque<SessionFix>,
    /// Decisions that were stored.
    decisions: BTreeSet<String>,
    /// True if this daemon knows its goal.
    has_goal: bool,
    /// True if observations were shown to it, or may have been before this daemon started.
    may_have_injections: bool,
}

/// A fix of a session whose end is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SessionFix {
    row: i64,
    shape: String,
    path: String,
}

/// A draft with its row in the store.
struct StoredDraft<'d> {
    draft: &'d ObservationDraft,
    row: i64,
}

/// Observations made of an edit.
struct EditObservations {
    drafts: Vec<ObservationDraft>,
    /// For later edits that may use observations shown before.
    trace: EditTrace,
    /// Ids of the shapes of introduced findings.
    introduced: Vec<String>,
    path: String,
}

impl EventStore {
    pub(super) fn new(store: MemoryStore) -> Self {
        Self { store, sessions: VecDeque::new() }
    }

    /// Writes one event; a failure is logged.
    pub(super) async fn write(&mut self, event: NotedEvent) {
        let NotedEvent { origin, language, kind } = event;
        let written = match kind {
            NotedEventKind::Prompt(prompt) => self.write_prompt(origin, &prompt).await,
            NotedEventKind::Goal(goal) => self.write_goal(origin, &goal).await,
            NotedEventKind::Edit(edit) => self.write_edit(origin, language, *edit).await,
            NotedEventKind::FailedCommand(NotedCommand { command, description, error }) => {
                let failed = FailedCommand::read(&command, &description, &error);
                let draft = failed.map(|failed| observed::command(&failed, language));
                self.write_drafts(&origin, draft.as_slice()).await.map(drop)
            }
            NotedEventKind::Decisions(entries) => self.write_decisions(&origin, entries).await,
            NotedEventKind::Drafts(drafts) => self.write_drafts(&origin, &drafts).await.map(drop),
            NotedEventKind::Shown(shown) => {
                self.session(&origin.session).may_have_injections = true;
                self.store.write(move |database| database.record_injections(&shown)).await
            }
            NotedEventKind::EarlierSession(earlier) => self.write_earlier(origin, *earlier).await,
            NotedEventKind::SessionEnd => self.end_session(origin).await,
        };
        if let Err(error) = written {
            tracing::warn!(%error, "an event could not be noted");
        }
    }

    fn session(&mut self, id: &str) -> &mut RecordedSession {
        let at = self.sessions.iter().position(|session| session.id == id);
        let session = at.and_then(|at| self.sessions.remove(at)).unwrap_or_else(|| {
            // State that the store has from an earlier daemon is looked up once.
            RecordedSession { id: id.to_owned(), may_have_injections: true, ..Default::default() }
        });
        if self.sessions.len() >= RECORDED_SESSIONS_MAX {
            self.sessions.pop_front();
        }
        self.sessions.push_back(session);
        self.sessions.back_mut().expect("a session was pushed")
    }

    /// Stores observations and the session's sign of life. Returns the stored ones: drafts without a text are
    /// dropped, and others may wait for the store.
    async fn write_drafts<'d>(
        &self,
        origin: &ObservationOrigin,
        drafts: &'d [ObservationDraft],
    ) -> Result<Vec<StoredDraft<'d>>, StoreError> {
        let (mut kept, mut cleaned) = (Vec::new(), Vec::<NewObservation>::new());
        for draft in drafts {
            if let Some(observation) = draft.cleaned(origin) {
                kept.push(draft);
                cleaned.push(observation);
            }
        }
        let stored = if cleaned.is_empty() {
            Vec::new()
        } else {
            match self.store.add_or_spool(cleaned).await? {
                ObservationPlace::Store(stored) => stored,
                ObservationPlace::Spool { reason } => {
                    tracing::warn!(%reason, "observations wait for the memory");
                    return Ok(Vec::new());
                }
            }
        };
        self.touch(origin, None).await?;
        let rows = stored.into_iter().map(StoredAs::row);
        Ok(kept.into_iter().zip(rows).map(|(draft, row)| StoredDraft { draft, row }).collect())
    }

    async fn touch(
        &self,
        origin: &ObservationOrigin,
        goal: Option<SessionGoal>,
    ) -> Result<(), StoreError> {
        if origin.session.is_empty() {
            return Ok(());
        }
        let ObservationOrigin { project, session, at_ms } = origin.clone();
        let touch = move |database: MemoryHandle<'_>| {
            // The name of a project is that of the folder; worktrees share the rest.
            let worktree = CleanText::of(&project.name);
            database.touch_session(&project, &session, at_ms, goal.as_ref(), worktree.as_ref())
        };
        self.store.write(touch).await
    }

    async fn write_prompt(
        &mut self,
        origin: ObservationOrigin,
        prompt: &str,
    ) -> Result<(), StoreError> {
        let Some(prompt) = ObservedPrompt::read(prompt) else { return Ok(()) };
        self.write_with_goal(&origin, prompt.draft(), prompt.goal()).await
    }

    /// The goal of a loop is noted at each of its Stops, and stored unless the session has one. It may
    /// be an agent's text.
    async fn write_goal(
        &mut self,
        origin: ObservationOrigin,
        goal: &str,
    ) -> Result<(), StoreError> {
        if origin.session.is_empty() || self.session(&origin.session).has_goal {
            return Ok(());
        }
        let Some(goal) = ObservedPrompt::read(goal) else { return Ok(()) };
        let draft = ObservationDraft {
            kind: ObservationKind::Prompt,
            provenance: Provenance::Agent,
            ..goal.draft()
        };
        self.write_with_goal(&origin, draft, goal.goal()).await
    }

    /// Stores an observation whose first sentence is the goal of a session that has none.
    async fn write_with_goal(
        &mut self,
        origin: &ObservationOrigin,
        draft: ObservationDraft,
        goal: Option<CleanText>,
    ) -> Result<(), StoreError> {
        let drafts = [draft];
        let stored = self.write_drafts(origin, &drafts).await?;
        let (Some(stored), Some(text)) = (stored.first(), goal) else { return Ok(()) };
        self.touch(origin, Some(SessionGoal { text, row: stored.row })).await?;
        self.session(&origin.session).has_goal = true;
        Ok(())
    }

    async fn write_edit(
        &mut self,
        origin: ObservationOrigin,
        language: MessageLanguage,
        edit: NotedEdit,
    ) -> Result<(), StoreError> {
        let Some(edit) = run_blocking(move || edit_observations(&edit, language)).await else {
            return Ok(());
        };
        self.settle_undone(&origin.session, &edit).await?;
        self.mark_used(&origin.session, edit.trace).await?;
        let stored = self.write_drafts(&origin, &edit.drafts).await?;
        let session = self.session(&origin.session);
        for StoredDraft { draft, row } in stored {
            let shape = draft.shapes.first().filter(|_| draft.kind == ObservationKind::Fix);
            if let Some(shape) = shape {
                let fix = SessionFix { row, shape: shape.clone(), path: edit.path.clone() };
                session.fixes.push_back(fix);
                if session.fixes.len() > SESSION_FIXES_MAX {
                    session.fixes.pop_front();
                }
            }
        }
        Ok(())
    }

    /// Stores the decisions that are new to the session.
    async fn write_decisions(
        &mut self,
        origin: &ObservationOrigin,
        mut entries: Vec<String>,
    ) -> Result<(), StoreError> {
        let known = &self.session(&origin.session).decisions;
        let mut new = BTreeSet::new();
        entries.retain(|entry| !known.contains(entry) && new.insert(entry.clone()));
        if entries.is_empty() {
            return Ok(());
        }
        let drafts: Vec<ObservationDraft> =
            entries.iter().map(|entry| observed::decision(entry)).collect();
        self.write_drafts(origin, &drafts).await?;
        self.session(&origin.session).decisions.append(&mut new);
        Ok(())
    }

    /// Fixes of the session whose finding reappeared in the same file did not hold.
    async fn settle_undone(
        &mut self,
        session: &str,
        edit: &EditObservations,
    ) -> Result<(), StoreError> {
        let fixes = &mut self.session(session).fixes;
        let is_back =
            |fix: &SessionFix| fix.path == edit.path && edit.introduced.contains(&fix.shape);
        let undone: Vec<i64> = fixes.iter().filter(|fix| is_back(fix)).map(|fix| fix.row).collect();
        fixes.retain(|fix| !is_back(fix));
        self.set_outcomes(undone, FixOutcome::Undone).await
    }

    async fn set_outcomes(&self, rows: Vec<i64>, outcome: FixOutcome) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let set = move |database: MemoryHandle<'_>| {
            rows.iter().try_for_each(|row| database.set_outcome(*row, outcome))
        };
        self.store.write(set).await
    }

    async fn mark_used(&mut self, session: &str, trace: EditTrace) -> Result<(), StoreError> {
        if !self.session(session).may_have_injections {
            return Ok(());
        }
        let id = session.to_owned();
        let open = self.store.read(move |database| database.open_injections(&id)).await?;
        self.session(session).may_have_injections = !open.is_empty();
        let used = trace.used(&open);
        if used.is_empty() {
            return Ok(());
        }
        self.store.write(move |database| database.mark_used(&used)).await
    }

    /// Stores the digest of an ended session, and that its fixes held.
    async fn write_earlier(
        &self,
        origin: ObservationOrigin,
        earlier: NotedSession,
    ) -> Result<(), StoreError> {
        let NotedSession { id, last_ms, digest } = earlier;
        let language = language_of(&digest.goal);
        self.settle_held(&id).await?;
        let origin = ObservationOrigin { session: id, at_ms: last_ms, ..origin };
        let digest = observed::session(&digest, language);
        let Some(digest) = digest.and_then(|draft| draft.cleaned(&origin)) else { return Ok(()) };
        let store = move |database: MemoryHandle<'_>| {
            let older =
                database.newest(&of_session(&origin.session, ObservationKind::Digest), 8)?;
            let stored = database.add(&[digest])?;
            if let [StoredAs::New(row)] = stored.as_slice() {
                let older: Vec<i64> = older.into_iter().map(|one| one.row).collect();
                database.supersede(&older, *row)?;
            }
            Ok(())
        };
        self.store.write(store).await
    }

    /// The fixes of an ended session of which nothing else is known held.
    async fn settle_held(&self, session: &str) -> Result<(), StoreError> {
        let filter = of_session(session, ObservationKind::Fix);
        let settle = move |database: MemoryHandle<'_>| {
            let fixes = database.newest(&filter, DIGEST_ROWS_MAX)?;
            let unknown = fixes.into_iter().filter(|fix| fix.outcome.is_none());
            unknown
                .map(|fix| fix.row)
                .try_for_each(|row| database.set_outcome(row, FixOutcome::Held))
        };
        self.store.write(settle).await
    }

    async fn end_session(&mut self, origin: ObservationOrigin) -> Result<(), StoreError> {
        let held = self.session(&origin.session).fixes.iter().map(|fix| fix.row).collect();
        self.sessions.retain(|session| session.id != origin.session);
        self.set_outcomes(held, FixOutcome::Held).await?;
        self.settle_held(&origin.session).await?;
        let ObservationOrigin { session, at_ms, .. } = origin;
        self.store.write(move |database| database.end_session(&session, at_ms)).await
    }
}

fn of_session(session: &str, kind: ObservationKind) -> ObservationFilter {
    ObservationFilter {
        session: Some(session.to_owned()),
        kinds: vec![kind],
        ..ObservationFilter::default()
    }
}

/// The observations of an edit. Takes milliseconds for a large file.
fn edit_observations(edit: &NotedEdit, language: MessageLanguage) -> EditObservations {
    let NotedEdit { has_sensor, feedback, before, after } = edit;
    let path = feedback.path.to_string();
    let mut feedback = feedback.clone();
    if after.trim().is_empty() {
        // Emptying a file does not fix its findings; they disappeared with the rest of the text.
        feedback.delta.disappeared.clear();
    }
    let before = match before {
        TextBeforeEdit::Text(text) => Some(text.as_str()),
        TextBeforeEdit::Absent => Some(""),
        TextBeforeEdit::Unknown => None,
    };
    let texts = EditTexts { before: before.unwrap_or_default(), after };
    // Names and messages contain text of the file.
    let is_quotable = may_be_quoted(&path, texts);
    let touched = TouchedSymbols::from_edit(&feedback.path, before, Some(after));
    let mut names = if is_quotable { touched.names } else { BTreeSet::new() };
    if !has_sensor {
        // In an unknown language, words of prose are not symbols.
        names.retain(|name| is_compound(name));
    }
    let names: Vec<String> = names.into_iter().take(EDIT_NAMES_READ_MAX).collect();
    let mut drafts = Vec::new();
    let delta = &feedback.delta;
    let is_news =
        !delta.disappeared.is_empty() || delta.in_state(FindingState::Introduced).next().is_some();
    // A late result without news is about an edit that is noted already.
    if feedback.deferred_sensor.is_none() || is_news {
        let observe = if *has_sensor { observed::edit } else { observed::unmeasured_edit };
        let mut draft = observe(&feedback, &names, language);
        if !is_quotable {
            draft.body.clear();
        }
        drafts.push(draft);
    }
    if before.is_some() {
        let fixes = measured_fixes(&path, &delta.disappeared, &delta.findings, texts);
        drafts.extend(fixes.iter().map(|fix| observed::fix(&path, fix, language)));
    }
    let introduced = introduced(&delta.findings);
    let codes: Vec<String> = introduced.values().cloned().collect();
    EditObservations {
        drafts,
        trace: EditTrace::new(&path, &codes, &written_lines(before.unwrap_or_default(), after)),
        introduced: introduced.into_keys().collect(),
        path,
    }
}

/// True if a name consists of several words: `parse_token`, `parseToken`.
fn is_compound(name: &str) -> bool {
    name.trim_matches('_').contains('_') || name.chars().skip(1).any(char::is_uppercase)
}

/// The shapes of introduced findings, with their codes.
fn introduced(findings: &[Finding]) -> BTreeMap<String, String> {
    let introduced = findings.iter().filter(|finding| finding.is_introduced());
    introduced
        .filter(|finding| is_remembered(finding))
        .map(|finding| (shape_of(finding).id(), finding.code.clone()))
        .collect()
}

#[cfg(test)]
mod tests;
