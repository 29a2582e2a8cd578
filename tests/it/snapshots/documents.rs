//! One JSON document of every schema that a command prints.

use std::fs;

use serde_json::{Value, json};

use super::{Case, DIRTY, FEWER, FIXED, TESTS, assert_snapshots, project, redacted, stop};
use crate::support::{Output, SESSION, Sandbox};
use crate::terminal;

const INJECTION: &str = "def run(text):\n    return eval(text)\n";
const RULE: &str = "id: own\nlanguage: Python\nseverity: error\nmessage: leave it\n\
                    rule:\n  pattern: bad($X)\ntests:\n  valid: [good(1)]\n  invalid: [bad(1)]\n";
const PLAN: &str = "### [ ] TODO 1: write it\n- [A] `test -f it.txt`\n";
const CHECKS: &str = "ralph: {loop: {checks: [{name: unit, command: ['true']}]}}\n";

fn assert_documents(folder: &str, cases: &[Case]) {
    let text_of = |(name, steps): &Case| {
        let sandbox = project();
        let mut document = steps(&sandbox).json();
        redact_measures(&mut document);
        ((*name).to_owned(), redacted(&format!("{document:#}"), &sandbox))
    };
    assert_snapshots(folder, cases.iter().map(text_of).collect());
}

/// Replaces the numbers that differ between two runs.
fn redact_measures(value: &mut Value) {
    for part in value.as_array_mut().into_iter().flatten() {
        redact_measures(part);
    }
    for (key, part) in value.as_object_mut().into_iter().flatten() {
        let is_measure = ["pid", "uptime_secs"].contains(&key.as_str())
            || key.ends_with("_ms")
            || key == "bytes"
            || key.ends_with("_bytes");
        if is_measure && part.is_number() {
            *part = "[number]".into();
        }
        redact_measures(part);
    }
}

/// Starts a loop with one check that passes.
fn start(sandbox: &Sandbox) -> Output {
    sandbox.write(".moai/config/sections/ralph.yaml", CHECKS);
    sandbox.commit();
    sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it", "--json"])
}

/// A loop that was held once and then completed.
fn complete(sandbox: &Sandbox) {
    start(sandbox);
    sandbox.write("app.py", DIRTY);
    stop(sandbox);
    sandbox.write("app.py", FIXED);
    stop(sandbox);
}

fn loop_id(sandbox: &Sandbox) -> String {
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    status["id"].as_str().expect("a loop has an id").to_owned()
}

#[test]
fn of_measurements() {
    assert_documents(
        "documents_measurements",
        &[
            ("check", |sandbox| {
                sandbox.write("app.py", DIRTY);
                sandbox.run(&["check", "--json"])
            }),
            ("check_unmeasured", |sandbox| {
                fs::remove_file(sandbox.base().join("bin/pyright-langserver"))
                    .expect("it was there");
                sandbox.write("app.py", DIRTY);
                sandbox.run(&["check", "--json"])
            }),
            ("scan", |sandbox| {
                sandbox.write("app.py", INJECTION);
                sandbox.run(&["scan", "--changed", "--json"])
            }),
            ("scan_test", |sandbox| {
                sandbox.write("mine/own.yml", RULE);
                sandbox.run(&["scan", "test", "mine", "--json"])
            }),
            ("scan_test_failed", |sandbox| {
                sandbox.write("mine/own.yml", &RULE.replace("good(1)", "bad(1)"));
                let untested = RULE.split_once("tests:").expect("a rule with tests").0;
                sandbox.write("mine/untested.yml", &untested.replace("own", "untested"));
                sandbox.run(&["scan", "test", "mine", "--json"])
            }),
            ("guard", |sandbox| {
                sandbox.write("tests/test_app.py", TESTS);
                sandbox.commit();
                sandbox.write("tests/test_app.py", FEWER);
                sandbox.run(&["guard", "--json"])
            }),
            ("judge_unmeasured", |sandbox| {
                sandbox.write("RUBRIC.md", "## Judge criteria\n- The word is sensible.\n");
                sandbox.write(
                    ".moai/config/sections/ralph.yaml",
                    "ralph: {judge: {backend: command, command: ['false']}}\n",
                );
                sandbox.commit();
                sandbox.write("app.py", FIXED);
                sandbox.run(&["judge", "--json"])
            }),
            ("baseline_file", |sandbox| {
                sandbox.write("app.py", DIRTY);
                sandbox.run(&["check", "--write-baseline", "known.json"]);
                Output { code: 0, stdout: sandbox.read("known.json"), stderr: String::new() }
            }),
        ],
    );
}

#[test]
fn of_code_queries() {
    assert_documents(
        "documents_code",
        &[
            ("references", |sandbox| sandbox.run(&["references", "prices.py:1:5", "--json"])),
            ("definition", |sandbox| sandbox.run(&["definition", "cart.py:1:20", "--json"])),
            ("hover", |sandbox| sandbox.run(&["hover", "prices.py:1:5", "--json"])),
            ("hover_unmeasured", |sandbox| {
                fs::remove_file(sandbox.base().join("bin/pyright-langserver"))
                    .expect("it was there");
                sandbox.run(&["hover", "prices.py:1:5", "--json"])
            }),
            ("symbols", |sandbox| sandbox.run(&["symbols", "prices.py", "--json"])),
            ("search", |sandbox| {
                sandbox.run(&["search", "half($X)", "--lang", "python", "--json"])
            }),
            ("rewrite", |sandbox| {
                sandbox.run(&["rewrite", "half($X)", "$X / 2", "--lang", "python", "--json"])
            }),
            ("rename", |sandbox| sandbox.run(&["rename", "prices.py:1:5", "halved", "--json"])),
            ("rename_applied", |sandbox| {
                sandbox.run(&["rename", "prices.py:1:5", "halved", "--apply", "--json"])
            }),
        ],
    );
}

/// A pipeline whose plan is approved.
fn approved_pipeline(sandbox: &Sandbox) -> Output {
    let goal = ["pipeline", "start", "--session", SESSION, "--goal", "write it", "--json"];
    let begun = sandbox.run(&goal).json();
    let plan = begun["plan"].as_str().expect("a plan").to_owned();
    sandbox.write(&plan, PLAN);
    terminal::with_code(sandbox, &["pipeline", "approve", "--json"])
}

#[test]
fn of_loops() {
    assert_documents(
        "documents_loops",
        &[
            ("start", start),
            ("pipeline", approved_pipeline),
            ("pipeline_plan", |sandbox| {
                approved_pipeline(sandbox);
                sandbox.run(&["pipeline", "plan", "--json"])
            }),
            ("pipeline_report", |sandbox| {
                approved_pipeline(sandbox);
                sandbox.run(&["pipeline", "report", "--json"])
            }),
            ("pull_request", |sandbox| {
                approved_pipeline(sandbox);
                sandbox.run(&["pipeline", "pr", "--json"])
            }),
            ("status", |sandbox| {
                complete(sandbox);
                sandbox.run(&["loop", "status", "--json"])
            }),
            ("history", |sandbox| {
                complete(sandbox);
                sandbox.run(&["loop", "history", "--json"])
            }),
            ("history_of_all", |sandbox| {
                complete(sandbox);
                sandbox.run(&["loop", "history", "--all", "--json"])
            }),
            ("report", |sandbox| {
                complete(sandbox);
                sandbox.run(&["loop", "report", "--json"])
            }),
            ("checks", |sandbox| {
                start(sandbox);
                sandbox.run(&["loop", "checks", "--json"])
            }),
            ("restore", |sandbox| {
                complete(sandbox);
                sandbox.run(&["loop", "restore", &loop_id(sandbox), "--to", "1", "--json"])
            }),
            ("forget", |sandbox| {
                complete(sandbox);
                sandbox.run(&["loop", "forget", &loop_id(sandbox), "--json"])
            }),
            ("refreeze", |sandbox| {
                start(sandbox);
                sandbox.write(".moai/config/sections/ralph.yaml", &CHECKS.replace("true", "false"));
                terminal::with_code(sandbox, &["loop", "refreeze", "--now", "--json"])
            }),
            ("start_workers", |sandbox| {
                sandbox.run(&[
                    "loop",
                    "start",
                    "--mode",
                    "autonomous",
                    "--no-research",
                    "--workers",
                    "2",
                    "--prompt",
                    "fix it",
                    "--json",
                ])
            }),
        ],
    );
}

#[test]
fn of_servers() {
    assert_documents(
        "documents_servers",
        &[
            ("daemon_stopped", |sandbox| sandbox.run(&["daemon", "status", "--json"])),
            ("daemon_running", |sandbox| {
                sandbox.run(&["server", "start", "pyright", "--json"]);
                sandbox.run(&["daemon", "status", "--json"])
            }),
            ("server_start", |sandbox| sandbox.run(&["server", "start", "pyright", "--json"])),
            ("server_list", |sandbox| {
                sandbox.run(&["check", "--all", "--json"]);
                sandbox.run(&["server", "list", "--json"])
            }),
            ("server_logs", |sandbox| {
                sandbox.run(&["check", "--all", "--json"]);
                let list = sandbox.run(&["server", "list", "--json"]).json();
                let id = list["servers"][0]["id"].as_str().expect("a server has an id").to_owned();
                sandbox.run(&["server", "logs", &id, "--json"])
            }),
            ("config", |sandbox| sandbox.run(&["config", "show", "scan", "--json"])),
            ("trust", |sandbox| {
                sandbox.write("package.json", r#"{"scripts": {"test": "node test.js"}}"#);
                sandbox.run(&["trust", "--show", "--json"])
            }),
            ("doctor", |sandbox| sandbox.run(&["doctor", "--json"])),
            ("hosts", |sandbox| {
                sandbox.write("README.md", "x\n");
                sandbox.run(&["init", "--host", "codex"]);
                sandbox.run(&["doctor", "--hosts", "--json"])
            }),
            ("doctor_probes", |sandbox| {
                let errors = json!([{"needle": "count = ", "message": "no value"}]);
                sandbox.fake_server("tombi", json!({"mode": "push", "errors": errors}));
                sandbox.run(&["doctor", "--servers", "toml", "--json"])
            }),
        ],
    );
}

/// A memory with two imported observations of one session.
fn import_memory(sandbox: &Sandbox) -> Output {
    let line = |id: &str, ts: u64, title: &str| {
        json!({"id": id, "project": "web", "session": "s-1", "type": "fix", "ts": ts, "title": title,
            "body": "src/token.py raised E101"})
        .to_string()
    };
    let lines = [
        line("x-1", 1_700_000_000_000, "토큰 만료를 고쳤다"),
        line("x-2", 1_700_000_060_000, "the cache is refreshed"),
        "no object".to_owned(),
    ];
    sandbox.write("memory.jsonl", &lines.join("\n"));
    sandbox.run(&["memory", "import", "memory.jsonl", "--json"])
}

#[test]
fn of_the_memory() {
    assert_documents(
        "documents_memory",
        &[
            ("memory_import", import_memory),
            ("memory_search", |sandbox| {
                import_memory(sandbox);
                let search =
                    ["memory", "search", "토큰은", "--project", "web", "--explain", "--json"];
                sandbox.run(&search)
            }),
            ("memory_search_nothing", |sandbox| {
                import_memory(sandbox);
                sandbox.run(&["memory", "search", "webhook", "--project", "web", "--json"])
            }),
            ("memory_get", |sandbox| {
                import_memory(sandbox);
                sandbox.run(&["memory", "get", "x-1", "x-9", "--json"])
            }),
            ("memory_timeline", |sandbox| {
                import_memory(sandbox);
                sandbox.run(&["memory", "timeline", "x-1", "--json"])
            }),
            ("memory_status", |sandbox| {
                import_memory(sandbox);
                sandbox.run(&["memory", "status", "--project", "web", "--json"])
            }),
        ],
    );
}

const LOGIN_SPEC: &str =
    "# SPEC-AUTH-001: Login\n### REQ-AUTH-001: Session\n- The system shall create a session\n";
const LOGIN_PLAN: &str = "# PLAN: Login\n### [x] TODO 1: Sessions\n- Requirements: REQ-AUTH-002\n\
                          - [A] `true`\n";

fn write_spec(sandbox: &Sandbox) {
    sandbox.write(".moai/specs/SPEC-AUTH-001/spec.md", LOGIN_SPEC);
    sandbox.write(".moai/specs/SPEC-AUTH-001/plan.md", LOGIN_PLAN);
}

fn add_point(sandbox: &Sandbox) -> Output {
    let point = ["One binary", "--reason", "size", "--forbids", "docker", "--protects", "src/api"];
    let add: Vec<&str> =
        ["spec", "pivot", "add"].into_iter().chain(point).chain(["--json"]).collect();
    sandbox.run(&add)
}

#[test]
fn of_specifications() {
    assert_documents(
        "documents_specs",
        &[
            ("spec_new", |sandbox| sandbox.run(&["spec", "new", "Login", "--json"])),
            ("spec_list", |sandbox| {
                write_spec(sandbox);
                sandbox.run(&["spec", "list", "--json"])
            }),
            ("spec_check", |sandbox| {
                write_spec(sandbox);
                sandbox.run(&["spec", "check", "--json"])
            }),
            ("spec_pivot_add", add_point),
            ("spec_pivot_check", |sandbox| {
                add_point(sandbox);
                sandbox.run(&["spec", "pivot", "check", "Run it in Docker", "--json"])
            }),
        ],
    );
}
