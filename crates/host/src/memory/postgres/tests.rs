//! The memory of a team on a real server.

mod encryption;
mod faults;
mod offline;
mod retention;
mod server;
mod team;

use std::collections::BTreeMap;

use moai_memory::database::{ObservationFilter, StoredAs};

use self::server::{ADMIN, PostgresServer};
use super::super::conformance::{CASES, observation};
use super::*;

/// For operations that are not tests of time limits.
const PATIENCE: Duration = Duration::from_secs(20);

fn memory_at(url: &str) -> PostgresMemory {
    let settings = PostgresSettings::from_url(url, &BTreeMap::new());
    PostgresMemory::start(settings.expect("a valid URL"))
}

fn memory(server: &PostgresServer, role: &str) -> PostgresMemory {
    memory_at(&server.url(role))
}

fn everything() -> ObservationFilter {
    ObservationFilter::default()
}

async fn count(memory: &PostgresMemory) -> Result<u64, StoreError> {
    memory.read(PATIENCE, |database| database.count(&everything())).await
}

async fn add(memory: &PostgresMemory, title: &str) -> Result<Vec<StoredAs>, StoreError> {
    let observation = observation(title);
    memory.write(PATIENCE, move |database| database.add(&[observation])).await
}

fn reason<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    result.expect_err("it is refused").to_string()
}

#[tokio::test]
async fn postgresql_does_what_every_store_does() {
    let server = PostgresServer::start();
    server.psql(ADMIN, "CREATE ROLE ann LOGIN; GRANT CREATE ON DATABASE postgres TO ann");
    for role in [ADMIN, "ann"] {
        for (name, check) in CASES {
            server.psql(ADMIN, "DROP SCHEMA IF EXISTS moai_ralph CASCADE");
            let checked = memory(&server, role).write(PATIENCE, check).await;
            assert_eq!(checked, Ok(()), "{name} as {role}");
        }
    }
}

#[tokio::test]
async fn reading_changes_nothing_and_a_failed_change_is_undone() {
    let server = PostgresServer::start();
    let memory = memory(&server, ADMIN);
    let refused = memory.read(PATIENCE, |database| database.add(&[observation("one")])).await;
    assert!(refused.is_err());
    let undone: Result<(), StoreError> = memory
        .write(PATIENCE, |database| {
            database.add(&[observation("two")])?;
            Err(StoreError::Conflict("changed its mind".to_owned()))
        })
        .await;
    assert_eq!(undone, Err(StoreError::Conflict("changed its mind".to_owned())));
    let panicked: Result<(), StoreError> = memory
        .write(PATIENCE, |database| {
            database.add(&[observation("three")])?;
            panic!("on purpose");
        })
        .await;
    assert!(panicked.is_err());
    let memory = memory_at(&server.url(ADMIN));
    assert_eq!(count(&memory).await, Ok(0));
}

#[tokio::test]
async fn all_who_connect_at_once_find_one_schema() {
    let server = PostgresServer::start();
    let memories: Vec<PostgresMemory> = (0..6).map(|_| memory(&server, ADMIN)).collect();
    let adding: Vec<_> = memories
        .into_iter()
        .enumerate()
        .map(|(at, memory)| tokio::spawn(async move { add(&memory, &format!("text {at}x")).await }))
        .collect();
    for added in adding {
        let added = added.await.expect("no panic");
        assert!(matches!(added.as_deref(), Ok([StoredAs::New(_)])), "{added:?}");
    }
    assert_eq!(server.psql(ADMIN, "SELECT * FROM moai_ralph.schema_version"), "3");
}

#[tokio::test]
async fn goals_of_an_older_schema_belong_to_their_observations() {
    let server = PostgresServer::start();
    let first = concat!(include_str!("schema_1.sql"), include_str!("schema_1_retention.sql"));
    server.psql(
        ADMIN,
        &format!(
            "CREATE SCHEMA moai_ralph;
             CREATE TABLE moai_ralph.schema_version (version integer NOT NULL);
             {first}
             INSERT INTO moai_ralph.schema_version VALUES (1);
             CREATE FUNCTION moai_ralph.touch_session(text, text, text, bigint, text, text) RETURNS void
                 LANGUAGE sql AS '';
             SELECT moai_ralph.project_number('kweb', 'web');
             INSERT INTO moai_ralph.sessions (author, project, host_id, started_ms, last_ms, goal)
                 SELECT session_user, p.id, s.id, s.at, s.at, s.goal FROM moai_ralph.projects AS p
                 CROSS JOIN (VALUES ('s1', 1, 'zebra plan'), ('s2', 2, 'of nothing')) AS s (id, at, goal);
             INSERT INTO moai_ralph.observations (author, visibility, project, session, kind, at_ms,
                 importance, tokens, provenance, hash, title, body, files, codes, shapes)
                 SELECT session_user, 'private', p.id, s.host_id, 'prompt', 1, 0.5, 1, 'user',
                 convert_to(s.host_id, 'UTF8'), 'zebra plan', '', '{{}}', '{{}}', '{{}}'
                 FROM moai_ralph.projects AS p CROSS JOIN moai_ralph.sessions AS s"
        ),
    );
    let memory = memory(&server, ADMIN);
    let sessions = memory.read(PATIENCE, |database| database.sessions("kweb", 5)).await;
    let goals: Vec<String> =
        sessions.expect("they are read").into_iter().map(|session| session.goal).collect();
    assert_eq!(goals, ["", "zebra plan"], "the newest first");
}
