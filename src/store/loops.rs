//! The table of loops. A change is written only over the state it was computed from, so that a
//! loop cancelled meanwhile never comes back.

use std::path::Path;

use rusqlite::{OptionalExtension as _, Row, Transaction, params};
use serde::{Deserialize, Serialize};

use super::{ProjectKey, Store, StoreError};
use crate::looping::state::{Iteration, LoopState, Remaining, Status, Until};

/// Which loop of a root is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The active one of a session.
    ActiveOf(String),
    /// The active one that no session has claimed.
    ActiveUnclaimed,
    /// The active one of a session; when it has none, the one that no session has claimed. Asked
    /// at every Stop, so it is one question and not two.
    ActiveFor(String),
    /// By id.
    Id(String),
    /// The last of a session, active or not.
    LatestOf(String),
    /// The last one, an active one before those that are over.
    Latest,
}

/// What happened to a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It is durable.
    Yes,
    /// Somebody else changed or ended the loop first; nothing was written.
    Overtaken,
}

impl Store {
    /// Adds a loop. [`StoreError::Conflict`] when its session has an active one.
    pub async fn insert_loop(
        &self,
        project: &ProjectKey,
        root: &Path,
        state: LoopState,
    ) -> Result<(), StoreError> {
        let root = text(root);
        self.write(project, move |transaction| {
            transaction.execute(
                "INSERT INTO loops (id, root, session_id, status, state, created_ms, updated_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    state.id,
                    root,
                    state.session_id,
                    state.status.as_str(),
                    encode(&state)?,
                    whole(state.created_ms),
                    whole(state.updated_ms)
                ],
            )?;
            Ok(())
        })
        .await
    }

    /// Writes `next` over `before`, if the loop is still active and at the same iteration.
    pub async fn advance_loop(
        &self,
        project: &ProjectKey,
        before: &LoopState,
        next: LoopState,
    ) -> Result<Saved, StoreError> {
        let was = (before.iteration, before.session_id.clone());
        self.write(project, move |transaction| {
            let now = find(transaction, "id = ?1", &next.id)?;
            let is_same = now.is_some_and(|now| {
                now.status.is_active() && (now.iteration, now.session_id) == was
            });
            if !is_same {
                return Ok(Saved::Overtaken);
            }
            transaction.execute(
                "UPDATE loops SET session_id = ?2, status = ?3, state = ?4, updated_ms = ?5
                 WHERE id = ?1",
                params![
                    next.id,
                    next.session_id,
                    next.status.as_str(),
                    encode(&next)?,
                    whole(next.updated_ms)
                ],
            )?;
            Ok(Saved::Yes)
        })
        .await
    }

    /// Finds a loop of a root; by id, of any root of the project.
    pub async fn find_loop(
        &self,
        project: &ProjectKey,
        root: &Path,
        which: Which,
    ) -> Result<Option<LoopState>, StoreError> {
        let root = text(root);
        self.read(project, move |transaction| match which {
            Which::Id(id) => find(transaction, "id = ?1", &id),
            Which::ActiveOf(session) => active_of(transaction, &root, &session),
            Which::LatestOf(session) => {
                find_two(transaction, "root = ?1 AND session_id = ?2", &root, &session)
            }
            Which::ActiveUnclaimed => active_unclaimed(transaction, &root),
            Which::ActiveFor(session) => match active_of(transaction, &root, &session)? {
                None => active_unclaimed(transaction, &root),
                own => Ok(own),
            },
            Which::Latest => find(transaction, "root = ?1", &root),
        })
        .await
    }
}

const ACTIVE: &str = "status IN ('running', 'paused')";

/// Active loops first, then the latest.
const ORDER: &str =
    "ORDER BY status IN ('running', 'paused') DESC, created_ms DESC, rowid DESC LIMIT 1";

fn find(
    at: &Transaction<'_>,
    condition: &str,
    value: &str,
) -> Result<Option<LoopState>, StoreError> {
    let sql = format!("SELECT state FROM loops WHERE {condition} {ORDER}");
    decode(at.query_row(&sql, params![value], first).optional()?)
}

fn active_of(
    at: &Transaction<'_>,
    root: &str,
    session: &str,
) -> Result<Option<LoopState>, StoreError> {
    find_two(at, &format!("root = ?1 AND session_id = ?2 AND {ACTIVE}"), root, session)
}

fn active_unclaimed(at: &Transaction<'_>, root: &str) -> Result<Option<LoopState>, StoreError> {
    find(at, &format!("root = ?1 AND session_id IS NULL AND {ACTIVE}"), root)
}

fn find_two(
    at: &Transaction<'_>,
    condition: &str,
    root: &str,
    session: &str,
) -> Result<Option<LoopState>, StoreError> {
    let sql = format!("SELECT state FROM loops WHERE {condition} {ORDER}");
    decode(at.query_row(&sql, params![root, session], first).optional()?)
}

fn first(row: &Row<'_>) -> rusqlite::Result<String> {
    row.get(0)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn whole(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

/// The stored form, apart from the state itself, so that the state's design stays free. `version`
/// is raised when a field changes its meaning.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    id: String,
    session_id: Option<String>,
    status: String,
    until: String,
    prompt: String,
    promise: Option<String>,
    base: Option<String>,
    iteration: u32,
    max_iterations: u32,
    unmeasured_blocks: u32,
    errors: usize,
    warnings: usize,
    /// Not written when there are none, as in the first version: a state is compared as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    older: Option<usize>,
    checks_failed: Vec<String>,
    history: Vec<StoredIteration>,
    note: Option<String>,
    created_ms: u64,
    updated_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredIteration {
    number: u32,
    at_ms: u64,
    errors: usize,
    warnings: usize,
    checks: String,
    verdict: String,
}

const VERSION: u32 = 1;

fn encode(state: &LoopState) -> Result<String, StoreError> {
    let state = state.clone();
    let stored = Stored {
        version: VERSION,
        id: state.id,
        session_id: state.session_id,
        status: state.status.as_str().to_owned(),
        until: state.until.as_str().to_owned(),
        prompt: state.prompt,
        promise: state.promise,
        base: state.base,
        iteration: state.iteration,
        max_iterations: state.max_iterations,
        unmeasured_blocks: state.unmeasured_blocks,
        errors: state.remaining.errors,
        warnings: state.remaining.warnings,
        older: Some(state.remaining.older).filter(|count| *count > 0),
        checks_failed: state.remaining.checks_failed,
        history: state.history.into_iter().map(stored_iteration).collect(),
        note: state.note,
        created_ms: state.created_ms,
        updated_ms: state.updated_ms,
    };
    serde_json::to_string(&stored).map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn stored_iteration(one: Iteration) -> StoredIteration {
    let Iteration { number, at_ms, errors, warnings, checks, verdict } = one;
    StoredIteration { number, at_ms, errors, warnings, checks, verdict }
}

fn decode(json: Option<String>) -> Result<Option<LoopState>, StoreError> {
    let Some(json) = json else { return Ok(None) };
    let broken = |reason: String| StoreError::Corrupt(format!("a loop cannot be read: {reason}"));
    let stored: Stored = serde_json::from_str(&json).map_err(|error| broken(error.to_string()))?;
    let status = Status::from_word(&stored.status).ok_or_else(|| broken(stored.status.clone()))?;
    let until = Until::from_word(&stored.until).ok_or_else(|| broken(stored.until.clone()))?;
    let iteration = |one: StoredIteration| {
        let StoredIteration { number, at_ms, errors, warnings, checks, verdict } = one;
        Iteration { number, at_ms, errors, warnings, checks, verdict }
    };
    Ok(Some(LoopState {
        id: stored.id,
        session_id: stored.session_id,
        status,
        until,
        prompt: stored.prompt,
        promise: stored.promise,
        base: stored.base,
        iteration: stored.iteration,
        max_iterations: stored.max_iterations,
        unmeasured_blocks: stored.unmeasured_blocks,
        remaining: Remaining {
            errors: stored.errors,
            warnings: stored.warnings,
            older: stored.older.unwrap_or_default(),
            checks_failed: stored.checks_failed,
        },
        history: stored.history.into_iter().map(iteration).collect(),
        note: stored.note,
        created_ms: stored.created_ms,
        updated_ms: stored.updated_ms,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::step::tests::state;

    fn store() -> (tempfile::TempDir, Store, ProjectKey) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::start(folder.path().join("home"));
        (folder, store, ProjectKey::of(Path::new("/p")))
    }

    const ROOT: &str = "/p";

    fn other(id: &str, session: Option<&str>) -> LoopState {
        LoopState { id: id.into(), session_id: session.map(str::to_owned), ..state() }
    }

    #[tokio::test]
    async fn a_loop_comes_back_as_it_was() {
        let (_folder, store, key) = store();
        let root = Path::new(ROOT);
        let iteration = Iteration {
            number: 1,
            at_ms: 7,
            errors: 2,
            warnings: 1,
            checks: "dirty".into(),
            verdict: "continue".into(),
        };
        let begun = LoopState {
            prompt: "한글 \"q\" '; DROP TABLE loops; --\r\n---".into(),
            history: vec![iteration],
            remaining: Remaining {
                errors: 2,
                warnings: 1,
                older: 3,
                checks_failed: vec!["t".into()],
            },
            note: Some("n".into()),
            ..state()
        };
        store.insert_loop(&key, root, begun.clone()).await.expect("stored");
        let found = store.find_loop(&key, root, Which::ActiveOf("s".into())).await;
        assert_eq!(found.as_ref(), Ok(&Some(begun.clone())));
        let elsewhere = store.find_loop(&key, Path::new("/q"), Which::Latest).await;
        assert_eq!(elsewhere, Ok(None));
        let second = store.insert_loop(&key, root, other("loop-2", Some("s"))).await;
        assert!(matches!(second, Err(StoreError::Conflict(_))), "{second:?}");
    }

    #[tokio::test]
    async fn a_cancelled_loop_never_comes_back() {
        let (_folder, store, key) = store();
        let begun = state();
        store.insert_loop(&key, Path::new(ROOT), begun.clone()).await.expect("stored");
        let cancelled = crate::looping::step::cancel(&begun, 5);
        assert_eq!(store.advance_loop(&key, &begun, cancelled).await, Ok(Saved::Yes));
        // A Stop that was measured meanwhile.
        let late = LoopState { iteration: 1, ..begun.clone() };
        assert_eq!(store.advance_loop(&key, &begun, late).await, Ok(Saved::Overtaken));
        let now = store.find_loop(&key, Path::new(ROOT), Which::Id("loop-1".into())).await;
        assert_eq!(now.map(|now| now.map(|now| now.status)), Ok(Some(Status::Cancelled)));
    }

    #[tokio::test]
    async fn two_stops_of_one_iteration_count_once() {
        let (_folder, store, key) = store();
        let begun = state();
        store.insert_loop(&key, Path::new(ROOT), begun.clone()).await.expect("stored");
        let next = LoopState { iteration: 1, ..begun.clone() };
        assert_eq!(store.advance_loop(&key, &begun, next.clone()).await, Ok(Saved::Yes));
        assert_eq!(store.advance_loop(&key, &begun, next).await, Ok(Saved::Overtaken));
    }

    #[tokio::test]
    async fn sessions_of_one_root_have_loops_of_their_own() {
        let (_folder, store, key) = store();
        let root = Path::new(ROOT);
        for (id, session) in [("loop-1", Some("s")), ("loop-2", Some("t")), ("loop-3", None)] {
            store.insert_loop(&key, root, other(id, session)).await.expect("stored");
        }
        let id = async |which| {
            store.find_loop(&key, root, which).await.expect("readable").map(|found| found.id)
        };
        assert_eq!(id(Which::ActiveOf("t".into())).await.as_deref(), Some("loop-2"));
        assert_eq!(id(Which::ActiveUnclaimed).await.as_deref(), Some("loop-3"));
        assert_eq!(id(Which::ActiveOf(String::new())).await, None);
        assert_eq!(id(Which::ActiveFor("t".into())).await.as_deref(), Some("loop-2"));
        assert_eq!(id(Which::ActiveFor("other".into())).await.as_deref(), Some("loop-3"));
        assert_eq!(id(Which::LatestOf("s".into())).await.as_deref(), Some("loop-1"));
    }
}
