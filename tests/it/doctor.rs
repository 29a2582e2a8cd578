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
        probed(json!({"mode": "pull", "errors": [{"needle": "count = ", "message": "no value"}]}));
    assert_eq!(row["server"], "tombi");
    assert!(outcomes(&row).iter().all(|(_, outcome)| outcome == "right"), "{row:#}");
    assert_eq!((code, outcomes(&row).len()), (0, 5));
}

#[test]
fn a_server_that_finds_nothing_is_called_a_liar() {
    let (code, row) = probed(json!({"mode": "pull", "errors": []}));
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
    let (code, row) = probed(json!({"mode": "pull", "fail_initialize": true}));
    assert!(outcomes(&row).iter().all(|(_, outcome)| outcome == "unmeasured"), "{row:#}");
    assert_eq!(code, 4);
}

#[test]
fn a_project_is_told_what_serves_it_and_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "x = 1\n");
    sandbox.write("main.toml", "x = 1\n");
    sandbox.fake_server("tombi", json!({"mode": "pull", "errors": []}));
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
