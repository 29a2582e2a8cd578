//! The memory that hooks see while the team's server does not answer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::*;
use crate::memory::{MemoryStore, ObservationPlace};
use moai_base::limits::POSTGRES_WAITED_MS_MIN;

/// More than a hook takes without a server, even on a busy machine.
const HOOK_MAX: Duration = Duration::from_secs(3);

fn store(home: &Path, server: &PostgresServer) -> MemoryStore {
    let settings = PostgresSettings::from_url(&server.url(ADMIN), &BTreeMap::new());
    MemoryStore::start(home.to_path_buf()).with_team(settings.expect("a valid URL"))
}

async fn titles(store: &MemoryStore) -> Result<Vec<String>, StoreError> {
    let newest = store.read(|database| database.newest(&everything(), 10)).await?;
    let mut titles: Vec<String> = newest.into_iter().map(|it| it.title).collect();
    titles.sort();
    Ok(titles)
}

fn owned(titles: &[&str]) -> Vec<String> {
    titles.iter().map(|title| (*title).to_owned()).collect()
}

/// Adds like a hook until the server takes it.
async fn add_until_stored(store: &MemoryStore, title: &str) {
    let start = Instant::now();
    loop {
        let placed = store.add_or_spool(vec![observation(title)]).await.expect("kept");
        if matches!(placed, ObservationPlace::Store(_)) {
            return;
        }
        assert!(start.elapsed() < PATIENCE * 3, "{placed:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn eventually_has(store: &MemoryStore, expected: &[&str]) {
    let start = Instant::now();
    loop {
        // Spooled observations are stored after the next change, and on a busy machine the first attempt may
        // fail.
        let _ = store.write(|_| Ok(())).await;
        let found = titles(store).await;
        if found == Ok(owned(expected)) {
            return;
        }
        assert!(start.elapsed() < PATIENCE * 3, "{found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn hooks_go_on_while_the_server_hangs_and_lose_nothing() {
    let server = PostgresServer::start();
    let home = tempfile::tempdir().expect("a folder");
    let local = MemoryStore::start(home.path().to_path_buf());
    local.add_or_spool(vec![observation("of this machine")]).await.expect("stored");
    let store = store(home.path(), &server);
    add_until_stored(&store, "before").await;
    assert_eq!(titles(&store.for_command()).await, Ok(owned(&["before"])));
    assert_eq!(store.take_outage(), None);
    server.signal(Signal::STOP);
    for title in ["while it hangs", "while it is known to hang"] {
        let start = Instant::now();
        let placed = store.add_or_spool(vec![observation(title)]).await.expect("kept");
        assert!(matches!(placed, ObservationPlace::Spool { .. }), "{placed:?}");
        assert_eq!(titles(&store).await, Ok(owned(&["of this machine"])));
        assert!(start.elapsed() < HOOK_MAX, "{:?}", start.elapsed());
    }
    let start = Instant::now();
    while store.take_outage().is_none() {
        assert!(start.elapsed() < PATIENCE, "the user is told");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(store.take_outage(), None, "once");
    let folder = fs::read_dir(home.path().join("memory")).expect("listed");
    let names = folder.flatten().filter_map(|file| file.file_name().into_string().ok());
    // A spool that is being stored has the same name with another ending.
    let spools: BTreeSet<String> = names
        .filter(|name| name.starts_with("spool-"))
        .filter_map(|name| Some(name.split_once('.')?.0.to_owned()))
        .collect();
    assert_eq!(spools.len(), 1, "of this server alone: {spools:?}");
    server.signal(Signal::CONT);
    add_until_stored(&store, "afterwards").await;
    let all = ["afterwards", "before", "while it hangs", "while it is known to hang"];
    eventually_has(&store, &all).await;
    assert_eq!(titles(&local).await, Ok(owned(&["of this machine"])));
}

#[tokio::test]
async fn only_the_first_hook_waits_for_a_server_that_never_answers() {
    // It accepts connections and sends nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = silent.local_addr().expect("an address");
    let url = format!("postgres://ann@{address}/team");
    let home = tempfile::tempdir().expect("a folder");
    let local = MemoryStore::start(home.path().to_path_buf());
    local.add_or_spool(vec![observation("of this machine")]).await.expect("stored");
    let settings = PostgresSettings::from_url(&url, &BTreeMap::new()).expect("a valid URL");
    let store = MemoryStore::start(home.path().to_path_buf()).with_team(settings);
    // The hook gives up before the look-up does.
    let wait = Duration::from_millis(2 * POSTGRES_WAITED_MS_MIN);
    let first = tokio::time::timeout(wait, titles(&store)).await;
    assert!(first.is_err(), "{first:?}");
    assert_eq!(store.take_outage(), None, "it may still answer");
    // Only the local database is asked.
    let second = tokio::time::timeout(wait, titles(&store)).await;
    assert_eq!(second, Ok(Ok(owned(&["of this machine"]))));
    let start = Instant::now();
    while store.take_outage().is_none() {
        assert!(start.elapsed() < PATIENCE, "the user is told");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn what_waits_for_one_server_is_not_sent_to_another() {
    let (mut first, second) = (PostgresServer::start(), PostgresServer::start());
    let home = tempfile::tempdir().expect("a folder");
    let of_first = store(home.path(), &first);
    add_until_stored(&of_first, "before").await;
    first.kill();
    let placed = of_first.add_or_spool(vec![observation("for the first")]).await.expect("kept");
    assert!(matches!(placed, ObservationPlace::Spool { .. }), "{placed:?}");
    let of_second = store(home.path(), &second);
    add_until_stored(&of_second, "for the second").await;
    eventually_has(&of_second, &["for the second"]).await;
    first.start_again();
    // A process that ended while it stored the spool has left it like this.
    for file in fs::read_dir(home.path().join("memory")).expect("listed").flatten() {
        if file.file_name().as_encoded_bytes().starts_with(b"spool-") {
            fs::rename(file.path(), file.path().with_extension("taken")).expect("renamed");
        }
    }
    let of_first = store(home.path(), &first);
    add_until_stored(&of_first, "afterwards").await;
    eventually_has(&of_first, &["afterwards", "before", "for the first"]).await;
}
