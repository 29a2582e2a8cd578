//! Read-only check of all databases by a process that owns none of them and must not wait: whether
//! a loop runs for a session. Creates and changes no database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use super::schema::PROJECT_SCHEMA;
use super::{PROJECTS_FOLDER, ProjectKey};
use moai_base::limits::STORE_READ_WAIT_MS_MAX;

/// True if a loop of exactly this session is running. False if the database is unreadable.
#[must_use]
pub fn holds_session(state: &Path, session: &str) -> bool {
    let query = SessionQuery { session, folders: &[], since_ms: u64::MAX };
    databases(state).any(|database| database_may_hold(&database, &query).unwrap_or(false))
}

/// The project whose database has the running loop of exactly this session, with the loop's root.
#[must_use]
pub fn project_of_session(state: &Path, session: &str) -> Option<(ProjectKey, PathBuf)> {
    databases(state).find_map(|database| {
        let key = database.parent()?.file_name()?.to_str()?;
        let root = root_of_session(&database, session).ok().flatten()?;
        Some((ProjectKey(key.to_owned()), root))
    })
}

fn root_of_session(database: &Path, session: &str) -> rusqlite::Result<Option<PathBuf>> {
    let sql = "SELECT root FROM loops WHERE status = 'running' AND session_id = ?1";
    let connection = open(database)?;
    let root: Option<String> = connection.query_row(sql, [session], |row| row.get(0)).optional()?;
    Ok(root.map(PathBuf::from))
}

/// A question about the loops of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionQuery<'q> {
    pub session: &'q str,
    /// Folders in which the session would claim a loop that waits for a session.
    pub folders: &'q [PathBuf],
    /// A loop that changed since this time, in milliseconds since the epoch, counts as well: it may have
    /// ended without a notice.
    pub since_ms: u64,
}

/// True if a loop of the session may be running, or one that it would claim. Also true if a database is
/// unreadable.
#[must_use]
pub fn may_hold_session(state: &Path, query: &SessionQuery<'_>) -> bool {
    databases(state).any(|database| database_may_hold(&database, query).unwrap_or(true))
}

fn databases(state: &Path) -> impl Iterator<Item = PathBuf> {
    let projects = state.join(PROJECTS_FOLDER).read_dir().into_iter().flatten().flatten();
    let databases = projects.map(|project| project.path().join(PROJECT_SCHEMA.file_name));
    databases.filter(|database| database.exists())
}

fn open(database: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(Duration::from_millis(STORE_READ_WAIT_MS_MAX))?;
    Ok(connection)
}

fn database_may_hold(database: &Path, query: &SessionQuery<'_>) -> rusqlite::Result<bool> {
    let connection = open(database)?;
    let sql = "SELECT root, session_id IS NULL FROM loops
               WHERE (status = 'running' OR updated_ms >= ?2)
               AND (session_id = ?1 OR session_id IS NULL)";
    let mut statement = connection.prepare(sql)?;
    let since_ms = i64::try_from(query.since_ms).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![query.session, since_ms])?;
    while let Some(row) = rows.next()? {
        let (root, is_unclaimed): (String, bool) = (row.get(0)?, row.get(1)?);
        if !is_unclaimed || query.folders.iter().any(|folder| folder.starts_with(&root)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ProjectKey, Store};
    use moai_loops::samples::state;
    use moai_loops::state::{LoopState, Status};

    #[tokio::test]
    async fn only_a_running_loop_that_the_session_has_or_may_claim_counts() {
        let home = tempfile::tempdir().expect("a folder");
        let (root, key) = (Path::new("/p/a"), ProjectKey::from_folder(Path::new("/p/a")));
        let holds = |session: &str, folder: &str| {
            let folders = [PathBuf::from(folder)];
            let query = SessionQuery { session, folders: &folders, since_ms: 8 };
            may_hold_session(home.path(), &query)
        };
        assert!(!holds("s", "/p/a"), "there is no store");
        let store = Store::start(home.path().to_path_buf());
        let claimed = LoopState { session_id: Some("s".into()), ..state() };
        store.insert_loop(&key, root, claimed.clone()).await.expect("stored");
        assert!(holds("s", "/elsewhere"));
        assert!(holds_session(home.path(), "s") && !holds_session(home.path(), "t"));
        assert_eq!(project_of_session(home.path(), "s"), Some((key.clone(), "/p/a".into())));
        assert_eq!(project_of_session(home.path(), "t"), None);
        assert!(!holds("t", "/p/a"));
        let ended = LoopState {
            id: "loop-3".into(),
            session_id: Some("u".into()),
            status: Status::Completed,
            updated_ms: 7,
            ..claimed.clone()
        };
        store.insert_loop(&key, root, ended.clone()).await.expect("stored");
        assert!(!holds("u", "/p/a"));
        let just_now = LoopState { id: "loop-4".into(), updated_ms: 8, ..ended };
        store.insert_loop(&key, root, just_now).await.expect("stored");
        assert!(holds("u", "/p/a"), "its end is still to be told");
        assert!(!holds_session(home.path(), "u"));
        let unclaimed = LoopState { id: "loop-2".into(), session_id: None, ..claimed };
        store.insert_loop(&key, root, unclaimed).await.expect("stored");
        assert!(holds("t", "/p/a/below"));
        assert!(!holds_session(home.path(), "t"), "a loop that waits is nobody's");
        assert!(!holds("t", "/p/ab"));
        let other = ProjectKey::from_folder(Path::new("/p/b"));
        std::fs::create_dir_all(other.folder(home.path())).expect("made");
        std::fs::write(other.database(home.path()), "broken").expect("written");
        assert!(holds("t", "/elsewhere"), "what cannot be read may hold it");
    }
}
