//! The memory over real files.

mod retention;

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use moai_memory::clean::CleanText;
use moai_memory::database::ObservationFilter;

use super::conformance::{CASES, observation};
use super::*;

fn everything() -> ObservationFilter {
    ObservationFilter::default()
}

async fn count(store: &MemoryStore) -> Result<u64, StoreError> {
    store.read(|database| database.count(&everything())).await
}

#[tokio::test]
async fn sqlite_does_what_every_store_does() {
    for (name, check) in CASES {
        let home = tempfile::tempdir().expect("a folder");
        let store = MemoryStore::start(home.path().to_path_buf());
        let checked = store.write(check).await;
        assert_eq!(checked, Ok(()), "{name}");
    }
}

#[tokio::test]
async fn the_database_survives_the_process_and_is_private() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    assert!(!store.exists());
    let placed = store.add_or_spool(vec![observation("one")]).await;
    assert_eq!(placed, Ok(ObservationPlace::Store(vec![StoredAs::New(1)])));
    let mode = |path: PathBuf| fs::metadata(path).expect("it exists").mode() & 0o777;
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(home.path().join("memory")), 0o700);
    drop(store);
    let store = MemoryStore::start(home.path().to_path_buf());
    assert_eq!(count(&store).await, Ok(1));
}

#[tokio::test]
async fn reading_changes_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    let refused = store.read(|database| database.add(&[observation("one")])).await;
    assert!(refused.is_err());
    assert_eq!(count(&store).await, Ok(0));
}

#[tokio::test]
async fn observations_wait_in_the_spool_until_the_store_can_be_written() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    fs::create_dir(home.path().join("memory")).expect("made");
    fs::create_dir(store.path()).expect("a folder where the file should be");
    for title in ["하나", "둘"] {
        let placed = store.add_or_spool(vec![observation(title)]).await;
        assert!(matches!(placed, Ok(ObservationPlace::Spool { .. })), "{placed:?}");
    }
    let spool = home.path().join("memory/spool.jsonl");
    assert_eq!(fs::metadata(&spool).expect("it exists").mode() & 0o777, 0o600);
    let mut lines = fs::read_to_string(&spool).expect("text");
    assert_eq!(lines.lines().count(), 2);
    lines += "{\"cut off";
    fs::write(&spool, lines).expect("written");
    let placed = store.add_or_spool(vec![observation("셋")]).await;
    assert!(matches!(placed, Ok(ObservationPlace::Spool { .. })), "{placed:?}");
    fs::remove_dir(store.path()).expect("removed");
    let placed = store.add_or_spool(vec![observation("넷")]).await;
    assert_eq!(placed, Ok(ObservationPlace::Store(vec![StoredAs::New(4)])));
    assert!(!spool.exists());
    assert_eq!(count(&store).await, Ok(4), "only the line that was cut off is lost");
}

#[tokio::test]
async fn a_newer_memory_is_read_and_not_changed() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    store.add_or_spool(vec![observation("one")]).await.expect("stored");
    let path = store.path();
    drop(store);
    crate::store::set_schema_version(&path, 99);
    let store = MemoryStore::start(home.path().to_path_buf());
    let placed = store.add_or_spool(vec![observation("two")]).await;
    let Ok(ObservationPlace::Spool { reason: StoreError::Newer { found: 99, .. } }) = placed else {
        panic!("{placed:?}");
    };
    assert_eq!(count(&store).await, Ok(1));
}

#[tokio::test]
async fn a_log_that_is_removed_meanwhile_loses_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    for (number, title) in ["one", "two", "three"].into_iter().enumerate() {
        let added = store.add_or_spool(vec![observation(title)]).await;
        assert!(matches!(added, Ok(ObservationPlace::Store(_))), "{added:?}");
        fs::remove_file(home.path().join("memory/memory.db-wal")).expect("a log");
        assert_eq!(count(&store).await, Ok(number as u64 + 1));
        fs::remove_file(home.path().join("memory/memory.db-wal")).expect("a new log");
    }
    assert_eq!(count(&store).await, Ok(3));
    drop(store);
    let store = MemoryStore::start(home.path().to_path_buf());
    assert_eq!(count(&store).await, Ok(3));
    assert_eq!(store.take_recovery(), None);
}

#[tokio::test]
async fn forgetting_without_a_match_removes_no_copy() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("memory");
    let store = MemoryStore::start(home.path().to_path_buf());
    store.add_or_spool(vec![observation("zebracorn"), observation("owl")]).await.expect("stored");
    store.back_up(None).await.expect("a backup");
    let damaged = [folder.join("backups/day-1.db"), folder.join("memory.db.corrupt-1")];
    for path in &damaged {
        fs::write(path, "junk ".repeat(2_000)).expect("written");
    }
    let forget = |rows: Vec<i64>| store.forget(move |_| Ok(ForgetSelection::Rows(rows.clone())));
    let nothing = forget(vec![999]).await.expect("no error");
    assert_eq!((nothing.observations, nothing.is_in_backups), (0, false));
    assert_eq!((nothing.removed_copies.as_slice(), nothing.unread_copies.len()), (&[][..], 2));
    assert!(damaged.iter().all(|path| path.exists()));
    let one = forget(vec![1]).await.expect("no error");
    assert_eq!((one.observations, one.is_in_backups), (1, true));
    assert_eq!((one.removed_copies.len(), one.unread_copies.as_slice()), (2, &[][..]));
    assert!(!damaged.iter().any(|path| path.exists()));
    assert_eq!(count(&store).await, Ok(1));
}
