//! A project whose database is locked by another program delays only its own hooks.

use std::fs;

use serde_json::json;

use super::crashes::stop_beside;
use super::escapes::database;
use super::{DIRTY, blocked, git_in, looping, stop};
use crate::support::finish;

#[test]
fn a_locked_database_delays_no_hook_of_another_project() {
    let sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    let other = sandbox.base().join("other");
    fs::create_dir(&other).expect("ours");
    git_in(&sandbox, &other, &["init", "-q"]);
    let locking = rusqlite::Connection::open(database(&sandbox)).expect("a database");
    locking.execute_batch("BEGIN EXCLUSIVE").expect("it is not locked for long");
    let waiting = stop_beside(&sandbox);
    let mut input = sandbox.payload("Stop");
    input["cwd"] = json!(other);
    input["session_id"] = "22222222-0000-4000-8000-000000000000".into();
    // More than one, because the first may come before the other project's reaches its database.
    for _ in 0..5 {
        let mut command = sandbox.program();
        let output = finish(command.args(["hook", "stop"]).current_dir(&other), &input.to_string());
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:#?}");
    }
    assert!(!waiting.is_finished(), "the other project's Stop was answered first");
    locking.execute_batch("COMMIT").expect("the lock is ours");
    let output = waiting.join().expect("the hook ends");
    assert!(blocked(&output).is_some(), "{output:#?}");
}
