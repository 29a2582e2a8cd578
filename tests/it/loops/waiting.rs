//! A Stop during the agent's background tasks is not held, but only a limited number of times.

use serde_json::json;

use super::escapes::database;
use super::{DIRTY, blocked, iteration, looping, notice, status};
use crate::support::{Output, Sandbox};

fn stop_waiting(sandbox: &Sandbox, task: &str) -> Output {
    let mut input = sandbox.payload("Stop-bgtask");
    input["background_tasks"][0]["id"] = task.into();
    sandbox.hook("stop", &input)
}

#[test]
fn the_user_hears_once_of_running_tasks_and_the_fourth_stop_is_measured() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    let first = stop_waiting(&sandbox, "one");
    assert_eq!(blocked(&first), None);
    assert!(notice(&first).contains("background task"), "{first:#?}");
    for task in ["two", "three"] {
        assert_eq!(stop_waiting(&sandbox, task).stdout, "");
    }
    assert_eq!(iteration(&status(&sandbox)), 0);
    let reason = blocked(&stop_waiting(&sandbox, "four")).expect("it is measured all the same");
    assert!(reason.contains("bad word"), "{reason}");
    assert_eq!(iteration(&status(&sandbox)), 1);
    assert_eq!(blocked(&stop_waiting(&sandbox, "another")), None, "it waits for something else");
}

#[test]
fn the_time_of_a_loop_ends_it_although_tasks_are_running() {
    let sandbox = looping(&["--until", "diagnostics", "--max-minutes", "1"]);
    sandbox.write("app.py", DIRTY);
    assert_eq!(blocked(&stop_waiting(&sandbox, "one")), None);
    let connection = rusqlite::Connection::open(database(&sandbox)).expect("a database");
    let earlier = "UPDATE loops SET state =
         json_set(state, '$.clock_ms', json_extract(state, '$.clock_ms') - 61000)";
    assert_eq!(connection.execute(earlier, []).expect("a loop"), 1);
    let ended = stop_waiting(&sandbox, "one");
    assert_eq!(blocked(&ended), None);
    assert!(notice(&ended).contains("time"), "{ended:#?}");
    assert_eq!(status(&sandbox)["status"], json!("timed_out"));
}
