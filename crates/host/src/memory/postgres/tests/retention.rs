//! Retention in the memory of a team: each person's own private rows, and entries of older programs.

use moai_memory::observation::{NewObservation, Provenance, Visibility};
use moai_memory::ranking::ObservationKind;

use super::super::super::MemoryStore;
use super::super::super::conformance::found;
use super::super::super::retention::RetentionPace;
use super::*;

const NOW_MS: i64 = 1_900_000_000_000;
const AT_ONCE: RetentionPace = RetentionPace { quiet: Duration::ZERO, step: Duration::ZERO };

fn store(server: &PostgresServer, role: &str, home: &tempfile::TempDir) -> MemoryStore {
    let settings = PostgresSettings::from_url(&server.url(role), &BTreeMap::new());
    let store = MemoryStore::start(home.path().to_path_buf());
    // A command waits longer than a hook.
    store.with_team(settings.expect("a valid URL")).for_command()
}

#[tokio::test]
async fn retention_touches_only_private_rows_of_its_caller() {
    let server = PostgresServer::start();
    server.psql(
        ADMIN,
        "CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN; GRANT CREATE ON DATABASE postgres TO ann",
    );
    let home = tempfile::tempdir().expect("a folder");
    let edit = |title: &str, visibility| NewObservation {
        kind: ObservationKind::Edit,
        provenance: Provenance::Measured,
        visibility,
        ..observation(title)
    };
    for role in ["ann", "bob"] {
        let rows = [
            edit("a.ts: edited x", Visibility::Private),
            edit("b.ts: edited y", Visibility::Private),
            edit("c.ts: edited z", Visibility::Team),
        ];
        let memory = memory(&server, role);
        memory.write(PATIENCE, move |database| database.add(&rows)).await.expect("stored");
    }
    let ann = store(&server, "ann", &home);
    assert_eq!(ann.retain(1 << 40, NOW_MS, AT_ONCE).await, Ok(Some(2)));
    assert_eq!(ann.retain(1 << 40, NOW_MS, AT_ONCE).await, Ok(None));
    let per_author = "SELECT string_agg(author || ' ' || title, ', ' ORDER BY author, title)
                      FROM moai_ralph.observations";
    let expected = "ann Σ 2: a.ts: edited x, b.ts: edited y, ann c.ts: edited z, \
                    bob a.ts: edited x, bob b.ts: edited y, bob c.ts: edited z";
    let mut rows: Vec<String> =
        server.psql(ADMIN, per_author).split(", ").map(str::to_owned).collect();
    let mut expected: Vec<String> = expected.split(", ").map(str::to_owned).collect();
    rows.sort();
    expected.sort();
    assert_eq!(rows, expected);
    // However little is left of it.
    let later = NOW_MS + 2 * 24 * 60 * 60 * 1_000;
    assert_eq!(ann.retain(1, later, AT_ONCE).await, Ok(Some(1)));
    let left = "SELECT string_agg(author || ' ' || visibility, ', ' ORDER BY author, id)
                FROM moai_ralph.observations";
    assert_eq!(server.psql(ADMIN, left), "ann team, bob private, bob private, bob team");
    // The functions refuse rows of other users too.
    let of_bob = "(SELECT array_agg(id) FROM moai_ralph.observations WHERE author = 'bob')";
    let bobs = server.psql(ADMIN, &format!("SELECT {of_bob}"));
    for call in [
        format!("SELECT moai_ralph.drop_rows('{bobs}')"),
        format!("SELECT moai_ralph.fold('{bobs}', NULL, '{{\"at_ms\": {NOW_MS}}}')"),
    ] {
        let (answer, is_success) = server.try_psql("ann", &call);
        assert!(is_success && answer == "0", "{answer}");
    }
    assert_eq!(server.psql(ADMIN, left), "ann team, bob private, bob private, bob team");
}

#[tokio::test]
async fn entries_of_an_older_tokenizer_are_made_again() {
    let server = PostgresServer::start();
    let home = tempfile::tempdir().expect("a folder");
    let store = store(&server, ADMIN, &home);
    let rows: Vec<NewObservation> = (0..120)
        .map(|number| observation(&format!("결제 모듈의 validateToken 번호{number}x")))
        .collect();
    store.write(move |database| database.add(&rows).map(drop)).await.expect("stored");
    let outdate = |version: i64| {
        let sql = format!("UPDATE moai_ralph.entries SET tokens = '', tokenizer = {version}");
        server.psql(ADMIN, &sql);
    };
    let hits = || {
        let store = store.clone();
        async move {
            let found = store.read(|database| found(database, &everything(), "validate_token"));
            found.await.expect("answered").len()
        }
    };
    outdate(0);
    assert_eq!(hits().await, 0);
    assert_eq!(store.retain(1 << 40, NOW_MS, AT_ONCE).await, Ok(Some(120)));
    assert_eq!(hits().await, 100);
    // Rows of a newer program are left unchanged.
    outdate(9_999);
    let later = NOW_MS + 2 * 24 * 60 * 60 * 1_000;
    assert_eq!(store.retain(1 << 40, later, AT_ONCE).await, Ok(Some(0)));
    assert_eq!(hits().await, 0);
}
