//! Servers that hang, vanish, refuse or are newer than this program.

use moai_memory::database::MemoryDatabase;
use rustix::process::Signal;

use super::*;

/// A hook's time limit.
const WAIT: Duration = Duration::from_millis(300);
/// More than a caller waits, even on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(5);

async fn count_soon(memory: &PostgresMemory) -> Result<u64, StoreError> {
    memory.read(WAIT, |database| database.count(&everything())).await
}

/// Waits until the memory answers again.
async fn comes_back(memory: &PostgresMemory) -> u64 {
    let start = Instant::now();
    loop {
        match count_soon(memory).await {
            Ok(count) => return count,
            Err(error) => {
                assert!(start.elapsed() < PATIENCE * 3, "it does not come back: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_or_vanishes_costs_no_more_than_the_wait() {
    let mut server = PostgresServer::start();
    let memory = memory(&server, ADMIN);
    add(&memory, "before").await.expect("stored");
    server.signal(Signal::STOP);
    let start = Instant::now();
    assert!(count_soon(&memory).await.is_err());
    assert!(start.elapsed() >= WAIT && start.elapsed() < WAIT_MAX, "{:?}", start.elapsed());
    let observed = observation("while it hangs");
    let refused = memory.write(WAIT, move |database| database.add(&[observed])).await;
    assert!(reason(refused).contains("in time"));
    assert!(
        memory.fault().is_some(),
        "the server is known to be gone, so calls no longer wait for it"
    );
    assert!(memory.take_outage().is_some_and(|text| text.contains("the database postgres at")));
    assert_eq!(memory.take_outage(), None, "told once");
    server.signal(Signal::CONT);
    assert_eq!(comes_back(&memory).await, 1, "what was given up is not stored");
    server.kill();
    let start = Instant::now();
    while count_soon(&memory).await.is_ok() {
        assert!(start.elapsed() < PATIENCE);
    }
    assert!(memory.take_outage().is_some(), "the next outage is told again");
    server.start_again();
    assert_eq!(comes_back(&memory).await, 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let memory = memory_at("postgres://ann:secret@127.0.0.1:1/team");
    let reason = reason(count(&memory).await);
    assert!(reason.contains("the database team at 127.0.0.1"), "{reason}");
    assert!(reason.contains("refused") && !reason.contains("secret"), "{reason}");
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    let port = silent.local_addr().expect("an address").port();
    let memory = memory_at(&format!("postgres://ann@127.0.0.1:{port}/team"));
    let start = Instant::now();
    assert!(count_soon(&memory).await.is_err());
    assert!(start.elapsed() < WAIT_MAX);
    let reason = reason(count(&memory).await);
    assert!(reason.contains("does not answer"), "{reason}");
}

#[tokio::test]
async fn a_wrong_password_is_not_repeated() {
    let server = PostgresServer::start();
    server.psql(ADMIN, "CREATE ROLE ann LOGIN PASSWORD 'right' IN ROLE pg_read_all_data");
    server.psql(ADMIN, "GRANT CREATE ON DATABASE postgres TO ann");
    let at =
        |password: &str| format!("postgres://ann:{password}@127.0.0.1:{}/postgres", server.port);
    let reason = reason(count(&memory_at(&at("secretwrong"))).await);
    assert!(reason.contains("password authentication failed for user \"ann\""), "{reason}");
    assert!(!reason.contains("secretwrong"));
    assert_eq!(count(&memory_at(&at("right"))).await, Ok(0));
}

#[tokio::test]
async fn a_role_that_may_not_write_reads() {
    let server = PostgresServer::start();
    server.psql(ADMIN, "CREATE ROLE guest LOGIN");
    let uninvited = memory(&server, "guest");
    let no_schema = reason(count(&uninvited).await);
    assert!(no_schema.contains("permission denied for database"), "{no_schema}");
    add(&memory(&server, ADMIN), "private").await.expect("stored");
    server.psql(ADMIN, "ALTER ROLE guest SET default_transaction_read_only = on");
    let guest = memory(&server, "guest");
    assert_eq!(count(&guest).await, Ok(0));
    let refused = reason(add(&guest, "of a guest").await);
    assert!(refused.contains("read-only transaction"), "{refused}");
    assert_eq!(count(&guest).await, Ok(0), "the connection is still good");
}

#[tokio::test]
async fn a_newer_schema_is_read_and_not_changed() {
    let server = PostgresServer::start();
    add(&memory(&server, ADMIN), "one").await.expect("stored");
    server.psql(ADMIN, "UPDATE moai_ralph.schema_version SET version = 99");
    let memory = memory(&server, ADMIN);
    let refused = add(&memory, "two").await;
    assert!(matches!(refused, Err(StoreError::Newer { found: 99, known: 3, .. })), "{refused:?}");
    assert_eq!(count(&memory).await, Ok(1));
}

#[tokio::test]
async fn a_full_disk_loses_the_change_and_not_the_connection() {
    let server = PostgresServer::start();
    let memory = memory(&server, ADMIN);
    add(&memory, "one").await.expect("stored");
    // The server's error when a file cannot be extended.
    server.psql(
        ADMIN,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
         END $$;
         CREATE TRIGGER full_disk BEFORE INSERT ON moai_ralph.entries EXECUTE FUNCTION full_disk()",
    );
    let refused = add(&memory, "two").await;
    assert!(matches!(&refused, Err(StoreError::Unavailable(it)) if it.contains("No space")));
    assert_eq!(count(&memory).await, Ok(1));
    server.psql(ADMIN, "DROP TRIGGER full_disk ON moai_ralph.entries");
    assert!(add(&memory, "two").await.is_ok());
}

#[tokio::test]
async fn a_database_in_another_encoding_is_refused() {
    let server = PostgresServer::start();
    server.psql(ADMIN, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    let memory = memory_at(&server.url(ADMIN).replace("/postgres?", "/latin?"));
    let reason = reason(count(&memory).await);
    assert!(reason.contains("the database latin at") && reason.contains("UTF-8"), "{reason}");
}

#[tokio::test]
async fn abandoned_work_is_not_committed() {
    let server = PostgresServer::start();
    let memory = memory(&server, ADMIN);
    add(&memory, "one").await.expect("stored");
    let (entered, is_entered) = std::sync::mpsc::channel::<()>();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let late = observation("late");
    let slow = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let _ = entered.send(());
        let added = database.add(&[late])?;
        // Until the caller has given up.
        let _ = released.recv();
        Ok(added)
    };
    let given_up = memory.write(Duration::from_secs(2), slow).await;
    is_entered.recv().expect("it began");
    assert!(given_up.is_err());
    drop(release);
    assert_eq!(comes_back(&memory).await, 1);
}
