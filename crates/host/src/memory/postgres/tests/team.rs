//! Visibility of observations, and the right to forget them.

use moai_memory::clean::CleanText;
use moai_memory::database::{ForgetSelection, MemoryDatabase};
use moai_memory::glossary::Glossary;
use moai_memory::observation::{NewObservation, SessionGoal, Visibility};
use moai_memory::query::Query;
use moai_memory::unit_rows::UnitRows;

use super::*;

const SECRET: &str = "the salary table of the board";

/// A server whose tables ann has made, and that bob uses too.
fn server_of_ann_and_bob() -> PostgresServer {
    let server = PostgresServer::start();
    server.psql(ADMIN, "CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN");
    server.psql(ADMIN, "GRANT CREATE ON DATABASE postgres TO ann");
    server
}

fn team(title: &str) -> NewObservation {
    NewObservation { visibility: Visibility::Team, ..observation(title) }
}

async fn add_one(memory: &PostgresMemory, new: NewObservation) -> i64 {
    let added = memory.write(PATIENCE, move |database| database.add(&[new])).await;
    match added.as_deref() {
        Ok([StoredAs::New(row) | StoredAs::Repeated(row)]) => *row,
        other => panic!("{other:?}"),
    }
}

async fn found(memory: &PostgresMemory, text: &'static str) -> Vec<i64> {
    let find = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let query = Query::parse(text, Glossary::built_in());
        let in_project = ObservationFilter { projects: vec!["kweb".to_owned()], ..everything() };
        let strictest = query.stages[0];
        let found = UnitRows::of_stage(database, &everything(), &query, strictest, 10)?;
        let found: Vec<i64> = found.fulfilling(&query, strictest).map(|(row, _)| row).collect();
        let same = UnitRows::of_stage(database, &in_project, &query, strictest, 10)?;
        let same: Vec<i64> = same.fulfilling(&query, strictest).map(|(row, _)| row).collect();
        assert_eq!(same, found);
        assert_eq!(database.describe(&found)?.len(), found.len());
        Ok(found)
    };
    memory.read(PATIENCE, find).await.expect("found")
}

async fn forget(memory: &PostgresMemory, selection: ForgetSelection) -> Result<u64, StoreError> {
    memory.write(PATIENCE, move |database| database.forget(&selection)).await
}

#[tokio::test]
async fn private_rows_are_their_authors_alone() {
    let server = server_of_ann_and_bob();
    let (ann, bob) = (memory(&server, "ann"), memory(&server, "bob"));
    let root = memory(&server, ADMIN);
    let of_ann = add_one(&ann, observation(SECRET)).await;
    let of_bob = add_one(&bob, observation("the salary of bob")).await;
    assert_ne!(of_ann, of_bob);
    for (memory, own) in [(&ann, vec![of_ann]), (&bob, vec![of_bob]), (&root, vec![])] {
        assert_eq!(found(memory, "salary").await, own);
        assert_eq!(count(memory).await, Ok(own.len() as u64));
        let seen = memory.read(PATIENCE, move |database| {
            let newest = database.newest(&everything(), 10)?;
            let loaded = database.load(&[of_ann, of_bob])?;
            assert_eq!(newest, loaded);
            let ids = database.rows_of_ids(&[of_ann, of_bob].map(|row| format!("obs-{row}")))?;
            assert_eq!(ids.into_iter().flatten().count(), loaded.len());
            Ok(loaded.iter().map(|it| it.row).collect::<Vec<_>>())
        });
        assert_eq!(seen.await, Ok(own));
    }
    // Not even with their own client program; ann made the tables.
    for (role, other) in [("bob", "salary table"), ("ann", "salary of bob")] {
        let all = "SELECT string_agg(title, ',') FROM moai_ralph.observations";
        assert!(!server.psql(role, all).contains(other), "{role}");
        let names = "SELECT count(*) FROM moai_ralph.projects, moai_ralph.sessions";
        assert_eq!(server.psql(role, names), "1", "{role} sees one project and one session");
    }
    let index = server.try_psql("bob", "SELECT tokens FROM moai_ralph.entries");
    assert!(index.0.contains("permission denied"), "{index:?}");
    let forged = "INSERT INTO moai_ralph.observations (author) VALUES ('ann')";
    assert!(server.try_psql("bob", forged).0.contains("permission denied"));
}

#[tokio::test]
async fn rows_of_the_team_are_read_by_all_and_forgotten_by_their_author() {
    let server = server_of_ann_and_bob();
    let (ann, bob) = (memory(&server, "ann"), memory(&server, "bob"));
    let shared = add_one(&ann, team("we decided on postgres")).await;
    let private = add_one(&ann, observation("postgres is slow today")).await;
    assert_eq!(found(&bob, "postgres").await, [shared]);
    assert_eq!(found(&ann, "postgres").await, [private, shared]);
    assert_eq!(count(&bob).await, Ok(1));
    let projects = bob.read(PATIENCE, |database| database.projects_named("web")).await;
    assert_eq!(projects.map(|it| it.len()), Ok(1));
    let refused = forget(&bob, ForgetSelection::Rows(vec![shared, private])).await;
    let expected = format!("only its author forgets a row: obs-{shared} of ann");
    assert!(reason(refused).ends_with(&expected));
    assert_eq!(forget(&bob, ForgetSelection::Rows(vec![private])).await, Ok(0));
    assert_eq!(forget(&bob, ForgetSelection::Filter(everything())).await, Ok(0));
    bob.write(PATIENCE, move |database| database.supersede(&[shared], 99)).await.expect("ignored");
    let unchanged = ann.read(PATIENCE, move |database| database.load(&[shared])).await;
    assert!(!unchanged.expect("loaded")[0].is_superseded);
    // The same text again, for the team this time.
    assert_eq!(add_one(&ann, team("postgres is slow today")).await, private);
    assert_eq!(found(&bob, "postgres").await, [private, shared]);
    assert_eq!(count(&bob).await, Ok(2));
    assert_eq!(forget(&ann, ForgetSelection::Filter(everything())).await, Ok(2));
    assert_eq!(found(&bob, "postgres").await, [0_i64; 0]);
}

#[tokio::test]
async fn what_is_forgotten_is_in_no_table() {
    let server = server_of_ann_and_bob();
    let ann = memory(&server, "ann");
    let goal = CleanText::of("find the salary table").expect("a text");
    let private = NewObservation {
        files: vec![CleanText::of("board/salary.csv").expect("a path")],
        ..observation(SECRET)
    };
    let project = private.project.clone();
    let row = add_one(&ann, private).await;
    ann.write(PATIENCE, move |database| {
        let goal = SessionGoal { text: goal, row };
        database.touch_session(&project, "s1", 1, Some(&goal), None)
    })
    .await
    .expect("touched");
    assert_eq!(forget(&ann, ForgetSelection::Rows(vec![row, row])).await, Ok(1));
    let tables = "SELECT string_agg(query_to_xml('SELECT * FROM moai_ralph.' || relname, true, false,
        '')::text, '') FROM pg_class WHERE relnamespace = 'moai_ralph'::regnamespace AND relkind = 'r'";
    let left = server.psql(ADMIN, tables);
    assert!(!left.contains("salary") && !left.contains("board"), "{left}");
    assert!(left.contains("version"), "tables were read: {left}");
}
