//! Keeps loop markers in step with their rows, and compares them. Before a change of a row is
//! committed, the marker gets the digests before and after it; the first is dropped after the
//! commit. So a kill at any point leaves marker and row in agreement.

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::stored_loop::decode;
use super::{ACTIVE_CONDITION, text};
use crate::store::open::TransactionMode;
use crate::store::threads::StoreThread;
use crate::store::{ProjectKey, Store, StoreError, markers};
use moai_base::hash::ContentHash;
use moai_loops::marker::{
    LoopMarker, LoopSummary, MarkedRow, MarkerDifference, MarkerDifferenceKind, MarkerVerdict,
    NO_ROW, compare_marker,
};
use moai_loops::state::{LoopState, Status};

impl Store {
    /// [`Store::write`] for a change of a row, with the change of its marker.
    pub(super) async fn write_with_marker<T: Send + 'static>(
        &self,
        project: &ProjectKey,
        work: impl FnOnce(&Transaction<'_>) -> Result<(T, Option<MarkerChange>), StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.run(project, move |thread| {
            let store = thread.key.database(&thread.home);
            let (value, change) =
                thread.transact(TransactionMode::Write, |transaction: &Transaction<'_>| {
                    let (value, mut change) = work(transaction)?;
                    if let Some(change) = &mut change {
                        change.announce(store);
                    }
                    Ok((value, change))
                })?;
            if let Some(change) = change {
                change.settle();
            }
            Ok(value)
        })
        .await
    }

    /// Compares the markers of a root, and those of a session in the same working tree, with the store. The
    /// missing marker of an active loop is written, and that of a changed row is updated: each difference is
    /// returned once.
    pub async fn compare_markers(
        &self,
        project: &ProjectKey,
        root: &Path,
        session: &str,
    ) -> Result<Vec<MarkerDifference>, StoreError> {
        let (at, owner) = (root.to_path_buf(), session.to_owned());
        let written = move |thread: &mut StoreThread| {
            let marks = markers::read_markers(&at);
            let found = write_missing_markers(thread, &at, &owner, &marks)?;
            Ok((marks, found))
        };
        let (marks, mut found) = self.run(project, written).await?;
        let (moved, mut marks): (Vec<_>, Vec<_>) =
            marks.into_iter().partition(|mark| !mark.root.exists());
        found.extend(moved.into_iter().map(|mark| MarkerDifference {
            id: mark.id,
            language: mark.language,
            kind: MarkerDifferenceKind::RootMoved(mark.root),
        }));
        marks.retain(|mark| mark.root == root || mark.session_id.as_deref() == Some(session));
        for mark in marks {
            let (id, language) = (mark.id.clone(), mark.language);
            let kind = self.marker_difference(project, mark).await?;
            found.extend(kind.map(|kind| MarkerDifference { id, language, kind }));
        }
        Ok(found)
    }

    /// The difference between a marker and the database that it refers to.
    async fn marker_difference(
        &self,
        project: &ProjectKey,
        mark: LoopMarker,
    ) -> Result<Option<MarkerDifferenceKind>, StoreError> {
        let home = self.threads.home();
        let Some(key) = ProjectKey::of_database(&mark.store, home) else {
            let kind = MarkerDifferenceKind::OtherStore(mark.store, project.database(home));
            return Ok(Some(kind));
        };
        self.run(&key, move |thread| compare_with_row(thread, &mark)).await
    }

    /// Removes the marker of a loop that is missing in the store. Returns the database that the marker refers
    /// to; `None` if there was no marker.
    pub async fn remove_marker(
        &self,
        project: &ProjectKey,
        root: &Path,
        id: String,
    ) -> Result<Option<PathBuf>, StoreError> {
        let root = root.to_path_buf();
        self.run(project, move |_| {
            let mark = markers::read_markers(&root).into_iter().find(|mark| mark.id == id);
            let removed = mark.filter(|_| markers::remove_marker_file(&root, &id));
            Ok(removed.map(|mark| mark.store))
        })
        .await
    }
}

/// The part of a row that a marker needs.
pub(super) struct LoopRow {
    root: PathBuf,
    session_id: Option<String>,
    stored: MarkedRow,
}

impl LoopRow {
    fn is_active(&self) -> bool {
        self.stored.standing.is_some_and(|standing| standing.status.is_active())
    }
}

/// The current row of a loop.
pub(super) fn read_loop_row(at: &Transaction<'_>, id: &str) -> Result<Option<LoopRow>, StoreError> {
    let sql = "SELECT root, session_id, status, state FROM loops WHERE id = ?1";
    let row = at.prepare_cached(sql)?.query_row(params![id], |row| {
        let columns: [Option<String>; 4] = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        Ok(columns)
    });
    let Some(columns) = row.optional()? else { return Ok(None) };
    let digest = ContentHash::of_bytes(format!("{id} {columns:?}").as_bytes()).short_hex();
    let [root, session_id, status, state] = columns;
    let status = Status::from_name(&status.unwrap_or_default());
    let state = decode(&state.unwrap_or_default()).ok();
    let standing =
        status.zip(state).map(|(status, state)| LoopSummary { status, ..LoopSummary::of(&state) });
    let root = PathBuf::from(root.unwrap_or_default());
    Ok(Some(LoopRow { root, session_id, stored: MarkedRow { digest, standing } }))
}

/// Change of a marker for a change of its row.
pub(super) struct MarkerChange {
    root: PathBuf,
    id: String,
    /// The marker with the digests before and after; `None` if the row is removed or set aside.
    next: Option<LoopMarker>,
    is_end: bool,
    is_start: bool,
}

impl MarkerChange {
    /// The change from the row `before` to the current state.
    pub(super) fn between(
        at: &Transaction<'_>,
        before: Option<&LoopRow>,
        state: &LoopState,
    ) -> Result<Option<Self>, StoreError> {
        let Some(now) = read_loop_row(at, &state.id)? else { return Ok(None) };
        if !now.is_active() && !before.is_some_and(LoopRow::is_active) {
            return Ok(None);
        }
        let digest_before = before.map_or(NO_ROW, |row| &row.stored.digest);
        let mut mark = marker_of(&now, state);
        mark.digests.insert(0, digest_before.to_owned());
        Ok(Some(Self {
            root: now.root.clone(),
            id: state.id.clone(),
            is_end: !now.is_active(),
            is_start: before.is_none(),
            next: Some(mark),
        }))
    }

    /// For a row that is about to be removed or set aside.
    pub(super) fn end(at: &Transaction<'_>, id: &str) -> Result<Option<Self>, StoreError> {
        Ok(read_loop_row(at, id)?.map(|row| Self {
            root: row.root,
            id: id.to_owned(),
            next: None,
            is_end: true,
            is_start: false,
        }))
    }

    /// Runs before the commit. A marker that already disagrees with the row is kept until the difference has
    /// been reported to the user.
    fn announce(&mut self, store: PathBuf) {
        let Some(next) = &mut self.next else { return };
        next.store = store;
        let known = markers::read_markers(&self.root).into_iter().find(|mark| mark.id == self.id);
        let before = next.digests.first();
        if known.is_none_or(|mark| before.is_some_and(|before| mark.digests.contains(before))) {
            write(next, true);
        }
    }

    /// Runs after the commit.
    fn settle(mut self) {
        if self.is_end {
            markers::remove_marker_file(&self.root, &self.id);
            return;
        }
        let Some(mut next) = self.next.take() else { return };
        for known in markers::read_markers(&self.root) {
            if known.id == self.id {
                if known.digests == next.digests {
                    next.digests.remove(0);
                    write(&next, false);
                }
            } else if self.is_start
                && known.root == next.root
                && known.session_id == next.session_id
            {
                // This is the session's only active loop.
                markers::remove_marker_file(&self.root, &known.id);
            }
        }
    }
}

/// The marker of a row; the database is filled in later.
fn marker_of(row: &LoopRow, state: &LoopState) -> LoopMarker {
    LoopMarker {
        id: state.id.clone(),
        root: row.root.clone(),
        session_id: row.session_id.clone(),
        store: PathBuf::new(),
        pipeline: state.options.pipeline.clone(),
        language: state.language(),
        standing: row.stored.standing.unwrap_or_else(|| LoopSummary::of(state)),
        digests: vec![row.stored.digest.clone()],
    }
}

/// Returns whether the marker was written; a loop continues without one.
fn write(mark: &LoopMarker, is_durable: bool) -> bool {
    let written = markers::write_marker(mark, is_durable);
    if let Err(error) = &written {
        tracing::warn!(%error, id = mark.id, "the marker of a loop could not be written");
    }
    written.is_ok()
}

fn compare_with_row(
    thread: &mut StoreThread,
    mark: &LoopMarker,
) -> Result<Option<MarkerDifferenceKind>, StoreError> {
    // Opening a missing database would create it.
    let row = if mark.store.exists() {
        thread.transact(TransactionMode::Read, |at| read_loop_row(at, &mark.id))?
    } else {
        None
    };
    Ok(match compare_marker(mark, row.as_ref().map(|row| &row.stored)) {
        MarkerVerdict::Agrees => None,
        MarkerVerdict::Spent => {
            markers::remove_marker_file(&mark.root, &mark.id);
            None
        }
        MarkerVerdict::RowGone => {
            let (standing, store) = (mark.standing, mark.store.clone());
            Some(match mark.pipeline.clone() {
                Some(pipeline) => MarkerDifferenceKind::PipelineGone(pipeline, standing, store),
                None => MarkerDifferenceKind::RowGone(standing, store),
            })
        }
        MarkerVerdict::RowChanged => {
            let stored = row.map(|row| row.stored);
            let now = stored.as_ref().and_then(|stored| stored.standing);
            if let (Some(stored), Some(now)) = (stored, now)
                && now.status.is_active()
            {
                let digests = vec![stored.digest];
                write(&LoopMarker { standing: now, digests, ..mark.clone() }, false);
            }
            Some(MarkerDifferenceKind::RowChanged(mark.standing, now))
        }
    })
}

/// Writes missing markers of a session's active loops.
fn write_missing_markers(
    thread: &mut StoreThread,
    root: &Path,
    session: &str,
    marks: &[LoopMarker],
) -> Result<Vec<MarkerDifference>, StoreError> {
    let store = thread.key.database(&thread.home);
    if !store.exists() {
        return Ok(Vec::new());
    }
    let lacking = thread.transact(TransactionMode::Read, |at| {
        let sql = format!(
            "SELECT id FROM loops WHERE root = ?1 AND session_id = ?2 AND {ACTIVE_CONDITION}"
        );
        let mut statement = at.prepare_cached(&sql)?;
        let ids = statement.query_map(params![text(root), session], |row| row.get(0))?;
        let ids: Vec<String> = ids.collect::<Result<_, _>>()?;
        let mut lacking = Vec::new();
        for id in ids.into_iter().filter(|id| marks.iter().all(|mark| mark.id != *id)) {
            let state = super::find(at, "id = ?1", &id);
            if let (Some(row), Ok(Some(state))) = (read_loop_row(at, &id)?, state) {
                lacking.push(LoopMarker { store: store.clone(), ..marker_of(&row, &state) });
            }
        }
        Ok(lacking)
    })?;
    // A marker that cannot be written was not removed by anyone.
    let written = lacking.into_iter().filter(|mark| write(mark, false));
    Ok(written
        .map(|mark| MarkerDifference {
            kind: MarkerDifferenceKind::MarkGone(markers::marker_folder(root)),
            id: mark.id,
            language: mark.language,
        })
        .collect())
}
