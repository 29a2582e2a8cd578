//! The store over real files.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, Instant};

use super::*;
use moai_base::limits::{STORE_CHECKED_BYTES_MAX, STORE_CORRUPT_COPIES_MAX, STORE_OPEN_MAX};

struct Home {
    temp: tempfile::TempDir,
    project: ProjectKey,
}

impl Home {
    fn new() -> Self {
        let project = ProjectKey::from_folder(Path::new("/p/.git"));
        Self { temp: tempfile::tempdir().unwrap(), project }
    }

    fn store(&self) -> Store {
        Store::start(self.temp.path().join("state"))
    }

    fn folder(&self) -> PathBuf {
        self.temp.path().join("state/projects").join(&self.project.0)
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.folder().join(format!("store.db{suffix}"))
    }

    /// Ends a store and waits until its database is closed.
    fn close(&self, store: Store) {
        drop(store);
        let started = Instant::now();
        while self.file("-wal").exists() {
            assert!(started.elapsed() < Duration::from_secs(20), "the database was never closed");
            std::thread::yield_now();
        }
    }

    async fn save(&self, store: &Store, id: &str, session: Option<&str>) -> Result<(), StoreError> {
        let (id, session) = (id.to_owned(), session.map(str::to_owned));
        let sql = "INSERT INTO loops VALUES (?1, '/p', ?2, 'running', '{}', 1, 1)";
        store
            .write(&self.project, move |transaction| {
                transaction.execute(sql, (id, session))?;
                Ok(())
            })
            .await
    }

    async fn count(&self, store: &Store) -> Result<i64, StoreError> {
        store
            .read(&self.project, |transaction| {
                Ok(transaction.query_row("SELECT count(*) FROM loops", [], |row| row.get(0))?)
            })
            .await
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[tokio::test]
async fn what_was_written_is_there_for_the_next_process_and_for_nobody_else() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    assert_eq!(mode(&home.folder()), 0o700);
    assert_eq!(mode(&home.temp.path().join("state")), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&home.file(suffix)), 0o600, "{suffix}");
    }
    home.close(store);
    let store = home.store();
    assert_eq!(home.count(&store).await, Ok(1));
    assert_eq!(store.take_recovery(&home.project).await, Ok(None));
}

#[tokio::test]
async fn projects_do_not_see_each_other_however_many_there_are() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    for n in 0..=STORE_OPEN_MAX {
        let project = ProjectKey::from_folder(Path::new(&format!("/other-{n}")));
        let other = Home { temp: tempfile::tempdir().unwrap(), project };
        assert_eq!(other.count(&store).await, Ok(0));
    }
    assert_eq!(home.count(&store).await, Ok(1));
}

#[tokio::test]
async fn a_locked_database_delays_no_other_project() {
    let home = Home::new();
    let other = Home { temp: tempfile::tempdir().unwrap(), ..Home::new() };
    let other = Home { project: ProjectKey::from_folder(Path::new("/other")), ..other };
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    let locking = rusqlite::Connection::open(home.file("")).unwrap();
    locking.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let mut waiting = Box::pin(home.save(&store, "b", Some("s")));
    tokio::select! {
        biased;
        saved = &mut waiting => panic!("the other project had to wait: {saved:?}"),
        count = other.count(&store) => assert_eq!(count, Ok(0)),
    }
    locking.execute_batch("COMMIT").unwrap();
    assert_eq!(waiting.await, Ok(()));
    assert_eq!(home.count(&store).await, Ok(2));
}

#[tokio::test]
async fn an_error_and_a_panic_roll_back_and_the_thread_lives_on() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    let delete = "DELETE FROM loops";
    let refused: Result<(), _> = store
        .write(&home.project, move |transaction| {
            transaction.execute(delete, [])?;
            Err(StoreError::Conflict("changed its mind".to_owned()))
        })
        .await;
    assert_eq!(refused, Err(StoreError::Conflict("changed its mind".to_owned())));
    let panicked: Result<(), _> = store
        .write(&home.project, move |transaction| {
            transaction.execute(delete, [])?;
            panic!("inside work")
        })
        .await;
    assert!(matches!(panicked, Err(StoreError::Unavailable(_))), "{panicked:?}");
    assert_eq!(home.count(&store).await, Ok(1));
}

#[tokio::test]
async fn reading_cannot_write() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    let delete = |transaction: &Transaction<'_>| Ok(transaction.execute("DELETE FROM loops", [])?);
    assert!(store.read(&home.project, delete).await.is_err());
    assert_eq!(home.count(&store).await, Ok(1));
    assert_eq!(store.write(&home.project, delete).await, Ok(1));
}

#[tokio::test]
async fn a_session_has_one_active_loop_and_so_has_nobody() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", Some("s")).await.unwrap();
    let second = home.save(&store, "b", Some("s")).await;
    assert!(matches!(second, Err(StoreError::Conflict(_))), "{second:?}");
    home.save(&store, "c", None).await.unwrap();
    let unclaimed = home.save(&store, "d", None).await;
    assert!(matches!(unclaimed, Err(StoreError::Conflict(_))), "{unclaimed:?}");
    let end = "UPDATE loops SET status = 'completed' WHERE id = 'a'";
    store.write(&home.project, move |it| Ok(it.execute(end, [])?)).await.unwrap();
    home.save(&store, "b", Some("s")).await.unwrap();
}

#[tokio::test]
async fn two_stores_over_one_folder_lose_no_update() {
    let home = Home::new();
    let (one, two) = (home.store(), home.store());
    home.save(&one, "a", None).await.unwrap();
    let add = |transaction: &Transaction<'_>| {
        // Without BEGIN IMMEDIATE, updates are lost because a transaction reads before it writes.
        let read = "SELECT updated_ms FROM loops";
        let value: i64 = transaction.query_row(read, [], |row| row.get(0))?;
        Ok(transaction.execute("UPDATE loops SET updated_ms = ?1", [value + 1])?)
    };
    for _ in 0..20 {
        let (a, b) = tokio::join!(one.write(&home.project, add), two.write(&home.project, add));
        assert_eq!((a, b), (Ok(1), Ok(1)));
    }
    let read = "SELECT updated_ms FROM loops";
    let value = one.read(&home.project, move |it| Ok(it.query_row(read, [], |row| row.get(0))?));
    assert_eq!(value.await, Ok(41_i64));
}

#[tokio::test]
async fn a_transaction_for_reading_changes_nothing() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    let delete = |it: &Transaction<'_>| Ok(it.execute("DELETE FROM loops", [])?);
    let refused = store.read(&home.project, delete).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert_eq!(home.count(&store).await, Ok(1));
}

#[tokio::test]
async fn a_database_of_a_newer_program_is_named_and_left_alone() {
    let home = Home::new();
    let store = home.store();
    let newer = |it: &Transaction<'_>| Ok(it.pragma_update(None, "user_version", 999)?);
    store.write(&home.project, newer).await.unwrap();
    home.close(store);
    let before = fs::read(home.file("")).unwrap();
    let store = home.store();
    let refused = home.count(&store).await.unwrap_err();
    let known = PROJECT_SCHEMA.migrations.len();
    assert_eq!(refused, StoreError::Newer { path: home.file(""), found: 999, known });
    home.close(store);
    assert_eq!(fs::read(home.file("")).unwrap(), before);
}

#[tokio::test]
async fn a_damaged_database_is_moved_aside_with_one_notice_and_work_goes_on() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    home.close(store);
    for n in 1..=STORE_CORRUPT_COPIES_MAX + 1 {
        let junk = format!("no database, number {n}; ").repeat(400);
        fs::write(home.file(""), &junk).unwrap();
        fs::write(home.file("-wal"), "no log").unwrap();
        let store = home.store();
        home.save(&store, "b", None).await.unwrap();
        assert_eq!(home.count(&store).await, Ok(1));
        let aside = home.file(&format!(".corrupt-{}", n.min(STORE_CORRUPT_COPIES_MAX)));
        assert_eq!(fs::read_to_string(&aside).unwrap(), junk);
        let recovery = store.take_recovery(&home.project).await.unwrap().unwrap();
        assert_eq!((recovery.moved_to, recovery.backup_ms), (Some(aside), None));
        assert_eq!(store.take_recovery(&home.project).await, Ok(None));
        home.close(store);
    }
}

/// A backup of some day, with a loop of this id.
fn save_backup(home: &Home, day: u64, id: &str) {
    let folder = home.folder().join("backups");
    let path = folder.join(format!("day-{day}.db"));
    backups::back_up_day(&home.file(""), 0).unwrap();
    let newest = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let made = newest.filter(|it| it.extension().is_some_and(|kind| kind == "db"));
    let made = made.max_by_key(|it| fs::metadata(it).unwrap().modified().unwrap()).unwrap();
    fs::rename(made, &path).unwrap();
    let copy = rusqlite::Connection::open(&path).unwrap();
    copy.execute("UPDATE loops SET id = ?1", [id]).unwrap();
    drop(copy);
    let made_at = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400);
    fs::File::open(&path).unwrap().set_modified(made_at).unwrap();
}

#[tokio::test]
async fn the_newest_sound_backup_replaces_a_damaged_database() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "now", None).await.unwrap();
    home.close(store);
    for (day, id) in [(100, "older"), (101, "old"), (102, "broken")] {
        save_backup(&home, day, id);
    }
    let newest = home.folder().join("backups/day-102.db");
    let mut bytes = fs::read(&newest).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(&newest, bytes).unwrap();
    fs::write(home.file(""), "").unwrap();
    let store = home.store();
    let id = store.read(&home.project, |it| {
        Ok(it.query_row("SELECT id FROM loops", [], |row| row.get::<_, String>(0))?)
    });
    assert_eq!(id.await, Ok("old".to_owned()));
    let recovery = store.take_recovery(&home.project).await.unwrap().unwrap();
    assert_eq!(recovery.backup_ms, Some(101 * 86_400_000));
    assert_eq!(recovery.moved_to, Some(home.file(".corrupt-1")));
    assert_eq!(mode(&home.file("")), 0o600);
}

#[tokio::test]
async fn backups_are_few_and_private() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    for day in 100..105 {
        save_backup(&home, day, "a");
    }
    backups::back_up_day(&home.file(""), 0).unwrap();
    let folder = home.folder().join("backups");
    assert_eq!(mode(&folder), 0o700);
    let paths = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let mut days: Vec<String> = paths
        .inspect(|path| assert_eq!(mode(path), 0o600, "{}", path.display()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "db"))
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    days.sort();
    assert_eq!(days.len(), moai_base::limits::STORE_BACKUPS_KEPT_MAX, "{days:?}");
    assert_eq!(days[..2], ["day-103.db", "day-104.db"]);
}

#[tokio::test]
async fn a_damaged_database_is_not_copied_over_a_sound_backup() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    home.close(store);
    backups::back_up_day(&home.file(""), 0).unwrap();
    let mut bytes = fs::read(home.file("")).unwrap();
    bytes[4096..].fill(0xa5);
    fs::write(home.file(""), bytes).unwrap();
    let refused = backups::back_up_day(&home.file(""), 0);
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    assert_eq!(home.count(&home.store()).await, Ok(1), "restored");
}

#[tokio::test]
async fn damage_inside_a_large_database_is_noticed_when_it_is_met() {
    let home = Home::new();
    let store = home.store();
    let row = i64::try_from(STORE_CHECKED_BYTES_MAX / 64).unwrap();
    let fill = "INSERT INTO loops VALUES (?1, '/p', NULL, 'cancelled', hex(zeroblob(?2)), 1, 1)";
    let write = store.write(&home.project, move |it| {
        for id in 0..48_i64 {
            it.execute(fill, (id.to_string(), row))?;
        }
        Ok(())
    });
    write.await.unwrap();
    home.close(store);
    let mut bytes = fs::read(home.file("")).unwrap();
    assert!(bytes.len() as u64 > STORE_CHECKED_BYTES_MAX);
    // Everything but the pages of the schema and the first leaves.
    bytes[64 * 1024..].fill(0xff);
    fs::write(home.file(""), bytes).unwrap();
    let store = home.store();
    let sum = |it: &Transaction<'_>| {
        let sql = "SELECT coalesce(sum(length(state)), 0) FROM loops";
        Ok(it.query_row(sql, [], |row| row.get::<_, i64>(0))?)
    };
    let met = store.read(&home.project, sum).await;
    assert!(matches!(met, Err(StoreError::Corrupt(_))), "{met:?}");
    assert_eq!(store.read(&home.project, sum).await, Ok(0));
    assert!(store.take_recovery(&home.project).await.unwrap().is_some());
}

#[tokio::test]
async fn a_full_disk_refuses_the_write_and_keeps_the_rest() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    // SQLite's own bound on pages gives the error of a full disk.
    let full: Result<(), _> = store
        .write(&home.project, |transaction| {
            transaction.query_row("PRAGMA max_page_count = 1", [], |_| Ok(()))?;
            transaction.execute("UPDATE loops SET state = hex(zeroblob(1000000))", [])?;
            Ok(())
        })
        .await;
    assert!(matches!(full, Err(StoreError::Unavailable(_))), "{full:?}");
    home.save(&store, "b", Some("s")).await.unwrap();
    assert_eq!(home.count(&store).await, Ok(2));
}

#[tokio::test]
async fn a_place_that_cannot_be_written_is_unavailable_until_it_can() {
    let home = Home::new();
    let state = home.temp.path().join("state");
    fs::write(&state, "a file where the folder should be").unwrap();
    let store = home.store();
    let refused = home.count(&store).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    fs::remove_file(&state).unwrap();
    assert_eq!(home.count(&store).await, Ok(0));
}

#[tokio::test]
async fn work_after_the_folder_was_removed_goes_into_a_database_with_a_name() {
    let home = Home::new();
    let store = home.store();
    home.save(&store, "a", None).await.unwrap();
    fs::remove_dir_all(home.temp.path().join("state")).unwrap();
    home.save(&store, "b", None).await.unwrap();
    home.close(store);
    assert_eq!(home.count(&home.store()).await, Ok(1));
}
