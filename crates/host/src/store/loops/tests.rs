//! Loops in a real database.

use super::*;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_loops::control::cancel_loop;
use moai_loops::facts::{Consultation, JudgeOutcome, StopFacts};
use moai_loops::options::{BaselineMode, LoopOptions};
use moai_loops::samples::state;
use moai_loops::state::{
    ForeignEvent, Iteration, ManualOverride, Mode, PauseReason, Status, StopAnswer,
};
use moai_loops::step::{StopInput, StopStep, next_step};

fn store() -> (tempfile::TempDir, Store, ProjectKey) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::start(folder.path().join("home"));
    (folder, store, ProjectKey::from_folder(Path::new("/p")))
}

const ROOT: &str = "/p";

fn other(id: &str, session: Option<&str>) -> LoopState {
    LoopState { id: id.into(), session_id: session.map(str::to_owned), ..state() }
}

#[tokio::test]
async fn a_loop_comes_back_as_it_was() {
    let (_folder, store, key) = store();
    let root = Path::new(ROOT);
    let begun = LoopState {
        prompt: "한글 \"q\" '; DROP TABLE loops; --\r\n---".into(),
        ..everything_set()
    };
    store.insert_loop(&key, root, begun.clone()).await.expect("stored");
    let found = store.find_loop(&key, root, LoopQuery::ActiveOf("s".into())).await;
    assert_eq!(found.as_ref(), Ok(&Some(begun.clone())));
    let elsewhere = store.find_loop(&key, Path::new("/q"), LoopQuery::Latest).await;
    assert_eq!(elsewhere, Ok(None));
    let second = store.insert_loop(&key, root, other("loop-2", Some("s"))).await;
    assert!(matches!(second, Err(StoreError::Conflict(_))), "{second:?}");
}

#[tokio::test]
async fn a_cancelled_loop_never_comes_back() {
    let (_folder, store, key) = store();
    let begun = state();
    store.insert_loop(&key, Path::new(ROOT), begun.clone()).await.expect("stored");
    let cancelled = cancel_loop(&begun, 5);
    assert_eq!(store.advance_loop(&key, &begun, cancelled).await, Ok(SaveOutcome::Saved));
    // A Stop that was measured meanwhile.
    let late = LoopState { iteration: 1, ..begun.clone() };
    assert_eq!(store.advance_loop(&key, &begun, late).await, Ok(SaveOutcome::Overtaken));
    let now = store.find_loop(&key, Path::new(ROOT), LoopQuery::Id("loop-1".into())).await;
    assert_eq!(now.map(|now| now.map(|now| now.status)), Ok(Some(Status::Cancelled)));
}

#[tokio::test]
async fn two_stops_of_one_iteration_count_once() {
    let (_folder, store, key) = store();
    let begun = state();
    store.insert_loop(&key, Path::new(ROOT), begun.clone()).await.expect("stored");
    let next = LoopState { iteration: 1, ..begun.clone() };
    assert_eq!(store.advance_loop(&key, &begun, next.clone()).await, Ok(SaveOutcome::Saved));
    assert_eq!(store.advance_loop(&key, &begun, next).await, Ok(SaveOutcome::Overtaken));
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
    assert_eq!(id(LoopQuery::ActiveOf("t".into())).await.as_deref(), Some("loop-2"));
    assert_eq!(id(LoopQuery::ActiveUnclaimed).await.as_deref(), Some("loop-3"));
    assert_eq!(id(LoopQuery::ActiveOf(String::new())).await, None);
    assert_eq!(id(LoopQuery::ForStop("t".into())).await.as_deref(), Some("loop-2"));
    assert_eq!(id(LoopQuery::ForStop("other".into())).await.as_deref(), Some("loop-3"));
    assert_eq!(id(LoopQuery::LatestOf("s".into())).await.as_deref(), Some("loop-1"));
    // A finished loop comes last.
    let running = other("loop-2", Some("t"));
    let over = LoopState { status: Status::Cancelled, ..running.clone() };
    assert_eq!(store.advance_loop(&key, &running, over).await, Ok(SaveOutcome::Saved));
    assert_eq!(id(LoopQuery::ForStop("t".into())).await.as_deref(), Some("loop-3"));
}

/// Every field differs from its value in an empty state.
fn everything_set() -> LoopState {
    let judge = JudgeOutcome::Rejected { reasons: vec!["no".into()] };
    let facts = StopFacts {
        judge: Consultation::Done(judge),
        tree: Some("t1".into()),
        checkpoint: Consultation::Done("refs/x".into()),
        tokens: Some(u64::MAX),
        contradictions: vec!["it said 3".into()],
        now_ms: 9,
        ..StopFacts::default()
    };
    let judged = LoopState { mode: Mode::Judge, ..state() };
    let input = StopInput {
        session_id: "s",
        last_message: "<promise>DONE</promise>",
        ..StopInput::default()
    };
    let reading = SensorReading::clean("pyright", SensorKind::Lsp, 1);
    let evidence = Evidence { readings: vec![reading], ..Evidence::default() };
    let StopStep::Decided(measured) = next_step(&judged, &input, &evidence, &facts) else {
        panic!("every step was taken");
    };
    let measured = measured.next;
    let mut history = measured.history.clone();
    history.push(Iteration {
        number: 2,
        errors_seen: vec!["e".into()],
        guard_codes: vec!["G01".into()],
        oscillation_was_reported: true,
        wrong: Some("w".into()),
        ..Iteration::default()
    });
    LoopState {
        mode: Mode::Autonomous,
        status: Status::Paused,
        pause_reason: Some(PauseReason::Milestone),
        options: LoopOptions {
            milestone_every: Some(2),
            max_minutes: Some(3),
            max_tokens: Some(u64::MAX),
            force_max: true,
            structured_memory: true,
            base_branch: Some("main".into()),
            workers: 4,
            baseline: BaselineMode::None,
            paths: vec!["src".into()],
            ..LoopOptions::defaults_for(Mode::Autonomous)
        },
        checks: vec!["npm test".into()],
        counted_from: 1,
        base: Some("b".into()),
        branch: Some("auto".into()),
        note: Some("n".into()),
        overrides: vec![ManualOverride {
            at_ms: 3,
            finding: Some("guard(G01) in a.py".into()),
            is_confirmed: true,
        }],
        foreign_events: vec![ForeignEvent { at_ms: 4, event: "Stop".into(), is_obeyed: true }],
        late_changes: vec!["a.py".into()],
        continues: Some("loop-00000001".into()),
        answer: Some(StopAnswer {
            call: "c".into(),
            content: "h".into(),
            at_ms: 7,
            text: "a".into(),
            is_held: true,
        }),
        clock_ms: 3,
        history,
        ..measured
    }
}

#[test]
fn a_loop_that_an_older_version_stored_is_read() {
    let old = r#"{"version":1,"id":"loop-1","session_id":"s","status":"paused","until":"promise",
        "prompt":"fix it","promise":"DONE","base":null,"iteration":1,"max_iterations":3,
        "unmeasured_blocks":1,"errors":2,"warnings":1,"checks_failed":["t"],
        "history":[{"number":1,"at_ms":7,"errors":2,"warnings":1,"checks":"dirty",
        "verdict":"continue"}],"note":"pyright (not installed)","created_ms":5,"updated_ms":7}"#;
    let read = decode(old).expect("readable");
    assert_eq!(
        (read.mode, read.options.clone()),
        (Mode::Basic, LoopOptions::defaults_for(Mode::Basic))
    );
    assert_eq!((read.iteration, read.counters.unmeasured_blocks, read.clock_ms), (1, 1, 5));
    // The only pause that version knew.
    assert_eq!(read.pause_reason, Some(PauseReason::LspRequired));
    assert_eq!((read.remaining.errors, read.history[0].errors), (2, 2));
    // Version 2 had options, but neither a baseline nor paths.
    let second = old.replace(
        "\"base\":null",
        "\"base\":null,\"options\":{\"hitl_threshold\":5,\
        \"force_max\":false,\"research\":false,\"structured_memory\":false,\"workers\":0}",
    );
    let options = decode(&second).expect("readable").options;
    assert_eq!((options.baseline, options.paths), (BaselineMode::Base, Vec::new()));
    let newer = old.replace("\"version\":1", "\"version\":99");
    assert!(decode(&newer).is_err(), "a newer version may mean something else");
}

#[tokio::test]
async fn a_loop_that_cannot_be_read_is_named_and_set_aside() {
    let (_folder, store, key) = store();
    let root = Path::new(ROOT);
    store.insert_loop(&key, root, state()).await.expect("stored");
    let spoil = |transaction: &Transaction<'_>| {
        transaction.execute("UPDATE loops SET state = '{\"status\":\"odd\"}'", [])?;
        Ok(())
    };
    store.write(&key, spoil).await.expect("spoiled");
    let of_session = || store.find_loop(&key, root, LoopQuery::ActiveOf("s".into()));
    let met = of_session().await;
    assert!(matches!(&met, Err(StoreError::Unreadable { id, .. }) if id == "loop-1"), "{met:?}");
    assert_eq!(store.take_recovery(&key).await, Ok(None), "the database itself is sound");
    store.set_loop_aside(&key, "loop-1".into()).await.expect("set aside");
    assert_eq!(of_session().await, Ok(None));
    assert_eq!(store.list_loops(&key).await, Ok(Vec::new()));
    store.insert_loop(&key, root, other("loop-2", Some("s"))).await.expect("there is room again");
}
