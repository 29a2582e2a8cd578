//! `doctor`: the servers of a project, and the conformance probes against scripted servers.

use serde_json::{Value, json};

use crate::support::Sandbox;

/// The rows of the probes, played against a scripted server in the place of the TOML one.
fn probed(script: Value) -> (i32, Value) {
    let sandbox = Sandbox::new();
    sandbox.fake_server("tombi", script);
    let output = sandbox.run(&["doctor", "--servers", "toml", "--json"]);
    let document = output.json();
    assert_eq!(document["schema"], "moai-ralph/doctor@1");
    (output.code, document["probes"][0].clone())
}

fn outcomes(row: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let acts = row["acts"].as_array().expect("the acts");
    acts.iter().map(|act| (text(&act["name"]), text(&act["outcome"]))).collect()
}

#[test]
fn a_server_that_tells_the_truth_passes() {
    let (code, row) =
        probed(json!({"mode": "push", "errors": [{"needle": "count = ", "message": "no value"}]}));
    assert_eq!(row["server"], "tombi");
    assert!(outcomes(&row).iter().all(|(_, outcome)| outcome == "right"), "{row:#}");
    assert_eq!((code, outcomes(&row).len()), (0, 5));
}

#[test]
fn a_server_that_finds_nothing_is_called_a_liar() {
    let (code, row) = probed(json!({"mode": "push", "errors": []}));
    let of = |name: &str| {
        let outcomes = outcomes(&row);
        outcomes.iter().find(|(act, _)| act == name).map(|(_, outcome)| outcome.clone())
    };
    assert_eq!(of("cold").as_deref(), Some("false clean"), "{row:#}");
    assert_eq!(of("fix").as_deref(), Some("right"));
    assert_eq!(code, 1);
}

#[test]
fn a_server_that_dies_is_not_measured() {
    let (code, row) = probed(json!({"mode": "push", "fail_initialize": true}));
    assert!(outcomes(&row).iter().all(|(_, outcome)| outcome == "unmeasured"), "{row:#}");
    assert_eq!(code, 4);
}

#[test]
fn a_project_is_told_what_serves_it_and_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "x = 1\n");
    sandbox.write("main.toml", "x = 1\n");
    sandbox.fake_server("tombi", json!({"mode": "push", "errors": []}));
    let output = sandbox.run(&["doctor"]);
    assert_eq!(output.code, 1, "{output:#?}");
    let line = |start: &str| output.stdout.lines().find(|line| line.starts_with(start));
    let missing = line("missing  Python").expect("pyright is not installed here");
    assert!(missing.contains("moai-ralph server install python"), "{missing}");
    assert!(line("ok       TOML").is_some_and(|line| line.contains("tombi")), "{output:#?}");
    let unknown = sandbox.run(&["doctor", "--servers", "pascal"]);
    assert_eq!(unknown.code, 3, "{unknown:#?}");
    assert!(unknown.stderr.contains("pascal") && unknown.stderr.contains("python"));
}

#[test]
fn daemon_loops_and_memory_are_examined_and_left_as_they_are() {
    let sandbox = Sandbox::new();
    let doctor = || sandbox.run(&["doctor", "--json"]);
    let memory_of = |document: &Value| document["stores"][0].clone();
    let new = doctor();
    assert_eq!(new.code, 0, "{new:#?}");
    let document = new.json();
    assert!(document["daemon"]["pid"].is_u64(), "{document:#}");
    assert_eq!(
        (&document["stores"][0]["state"], &document["stores"][1]["name"]),
        (&json!("none"), &json!("loops"))
    );
    assert_eq!(sandbox.run(&["memory", "add", "giraffes stay here"]).code, 0);
    assert_eq!(sandbox.run(&["memory", "backup"]).code, 0);
    let sound = doctor();
    let memory = memory_of(&sound.json());
    assert_eq!((sound.code, &memory["state"], &memory["rows"]), (0, &json!("ok"), &json!(1)));
    assert_eq!(memory["waiting"], 0);
    for key in ["checked_at", "backup_at"] {
        assert!(memory[key].as_str().is_some_and(|at| at.ends_with('Z')), "{memory:#}");
    }
    let text = sandbox.run(&["doctor"]).stdout;
    assert!(text.contains("1 observation, schema 3, checked now, last backup 20"), "{text}");
    sandbox.run(&["daemon", "stop"]);
    let path = sandbox.base().join("state/memory/memory.db");
    let newer = rusqlite::Connection::open(&path).expect("it exists");
    newer.pragma_update(None, "user_version", 99).expect("changed");
    drop(newer);
    let named = sandbox.run(&["doctor"]);
    assert_eq!(named.code, 1, "{named:#?}");
    assert!(named.stdout.contains("schema 99 (this program knows 3)"), "{named:#?}");
    assert!(named.stdout.contains("update moai-ralph"), "{named:#?}");
    let junk = "no database ".repeat(900);
    std::fs::write(&path, &junk).expect("ours");
    let damaged = doctor();
    let memory = memory_of(&damaged.json());
    assert_eq!((damaged.code, &memory["state"]), (1, &json!("damaged")), "{memory:#}");
    assert!(memory["remedy"].as_str().is_some_and(|it| it.contains("newest sound backup")));
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), junk);
}

#[test]
fn a_team_that_does_not_answer_is_named() {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_MEMORY_URL", "postgres://ann@127.0.0.1:1/team");
    let output = sandbox.run(&["doctor", "--json"]);
    assert_eq!(output.code, 1, "{output:#?}");
    let team = &output.json()["team_memory"];
    assert_eq!(team["reachable"], false, "{team:#}");
    assert!(team["reason"].is_string() && team["place"].is_string(), "{team:#}");
}
