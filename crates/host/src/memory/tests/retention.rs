//! Retention over a real file: when it runs, and that the file gets smaller.

use std::time::Duration;

use moai_memory::observation::Provenance;
use moai_memory::ranking::ObservationKind;

use super::*;
use crate::memory::retention::RetentionPace;
use crate::store::run_sql;

const NOW_MS: i64 = 1_800_000_000_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const PLENTY: u64 = 1 << 40;
const AT_ONCE: RetentionPace = RetentionPace { quiet: Duration::ZERO, step: Duration::ZERO };

/// Failed commands of long ago, each with about a kilobyte.
fn commands(count: usize) -> Vec<NewObservation> {
    let numbers = 0..count;
    numbers
        .map(|number| NewObservation {
            kind: ObservationKind::Command,
            provenance: Provenance::Tool,
            session: format!("s{number}"),
            at_ms: NOW_MS - 90 * DAY_MS,
            body: CleanText::of(&format!("reason{number}x ").repeat(80)),
            ..observation(&format!("step{number}x failed"))
        })
        .collect()
}

#[tokio::test]
async fn a_memory_above_its_ceiling_shrinks_on_disk_too() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    assert_eq!(store.retain(PLENTY, NOW_MS, AT_ONCE).await, Ok(None), "nothing is made");
    assert!(!store.exists());
    let commands = commands(3_000);
    store.write(move |database| database.add(&commands).map(drop)).await.expect("stored");
    let counts = |store: &MemoryStore| {
        let store = store.clone();
        async move { store.read(|database| database.counts(&everything())).await.expect("counted") }
    };
    let before = counts(&store).await;
    let max = before.largest_project_bytes / 10;
    let removed = store.retain(max, NOW_MS, AT_ONCE).await.expect("done").expect("it was time");
    let after = counts(&store).await;
    assert_eq!((after.dropped, after.folded), (removed, 0));
    assert!(after.largest_project_bytes <= max && after.largest_project_bytes > max / 2);
    assert!(after.bytes < before.bytes / 4, "{} of {} bytes", after.bytes, before.bytes);
    drop(store);
    let store = MemoryStore::start(home.path().to_path_buf());
    let checked = run_sql(&store.path(), "PRAGMA integrity_check");
    assert_eq!(checked, "ok");
    assert!(count(&store).await.expect("counted") > 0);
}

#[tokio::test]
async fn a_pass_is_due_once_a_day_and_when_the_clock_was_wrong() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    store.add_or_spool(vec![observation("one")]).await.expect("stored");
    for (now_ms, is_due) in [
        (NOW_MS, true),
        (NOW_MS + DAY_MS - 1, false),
        (NOW_MS + 400 * DAY_MS, true),
        (NOW_MS + DAY_MS, true),
        (NOW_MS + DAY_MS + 1, false),
        (NOW_MS + 2 * DAY_MS, true),
    ] {
        let retained = store.retain(PLENTY, now_ms, AT_ONCE).await.expect("done");
        assert_eq!(retained.is_some(), is_due, "{now_ms}");
    }
    assert_eq!(count(&store).await, Ok(1));
}

#[tokio::test]
async fn hooks_write_and_read_while_retention_goes_on() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    let commands = commands(600);
    store.write(move |database| database.add(&commands).map(drop)).await.expect("stored");
    let other = MemoryStore::start(home.path().to_path_buf());
    let retaining = tokio::spawn({
        let store = store.clone();
        async move { store.retain(100_000, NOW_MS, AT_ONCE).await }
    });
    for number in 0..60 {
        // From this process, and from another one with its own connection.
        for (from, store) in [("own", &store), ("other", &other)] {
            let title = format!("{from}{number}x decided");
            let placed = store.add_or_spool(vec![observation(&title)]).await;
            assert!(matches!(placed, Ok(ObservationPlace::Store(_))), "{placed:?}");
            assert!(count(store).await.is_ok());
        }
    }
    let dropped = retaining.await.expect("no panic").expect("done").expect("it was time");
    assert_eq!(count(&store).await, Ok(600 + 120 - dropped));
}

#[tokio::test]
async fn the_index_of_an_older_tokenizer_is_made_again_before_the_next_change() {
    let home = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::start(home.path().to_path_buf());
    store.add_or_spool(vec![observation("결제 모듈의 validateToken")]).await.expect("stored");
    let path = store.path();
    drop(store);
    run_sql(&path, "INSERT INTO entries (entries) VALUES ('delete-all')");
    run_sql(&path, "UPDATE meta SET value = 0 WHERE name = 'tokenizer'");
    let store = MemoryStore::start(home.path().to_path_buf());
    let found = |query: &'static str| {
        let store = store.clone();
        async move { store.read(|database| conformance::found(database, &everything(), query)).await }
    };
    assert_eq!(found("validate_token").await, Ok(Vec::new()));
    store.add_or_spool(vec![observation("two")]).await.expect("stored");
    for query in ["validate_token", "모듈은"] {
        assert_eq!(found(query).await, Ok(vec![1]), "{query}");
    }
    assert_eq!(found("two").await, Ok(vec![2]));
    let version = run_sql(&path, "SELECT value FROM meta WHERE name = 'tokenizer'");
    assert_ne!(version, "0", "it is made once");
}
