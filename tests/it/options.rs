//! Options: each documented key has a visible effect, from the file or the environment, and an
//! invalid one is reported with file, line and key.

use serde_json::{Value, json};

use crate::support::{PATIENCE, SESSION, Sandbox, eventually};
use crate::terminal;

const FILE: &str = ".moai/config/sections/ralph.yaml";
const DIRTY: &str = "word = 'BAD'\nprint(eval(word))\n";

/// A dirty file for both sensors, and a scripted server that finds `BAD`.
fn project(mut script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox.write("app.py", DIRTY);
    sandbox
}

fn set(sandbox: &Sandbox, options: &str) {
    sandbox.write(FILE, &format!("ralph: {options}\n"));
}

/// The names of the sensors that were asked.
fn sensors(sandbox: &Sandbox) -> Vec<String> {
    let report = sandbox.run(&["check", "--all", "--json"]).json();
    let sensors = report["sensors"].as_array().expect("a report lists its sensors");
    sensors.iter().filter_map(|sensor| sensor["name"].as_str()).map(str::to_owned).collect()
}

fn start(sandbox: &Sandbox) -> Value {
    let arguments = ["loop", "start", "--session", SESSION, "--prompt", "fix it", "--json"];
    let output = sandbox.run(&arguments);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

fn stop(sandbox: &Sandbox) -> Value {
    assert_eq!(sandbox.hook("stop", &sandbox.payload("Stop")).code, 0);
    sandbox.run(&["loop", "status", "--json"]).json()
}

#[test]
fn disabled_hooks_say_nothing() {
    let sandbox = project(json!({}));
    set(&sandbox, "{enabled: false}");
    assert_eq!(sandbox.tool_write("app.py", DIRTY).stdout, "");
    set(&sandbox, "{enabled: true}");
    assert_ne!(sandbox.tool_write("new.py", DIRTY).stdout, "");
}

#[test]
fn sensors_are_switched_off_one_by_one() {
    let sandbox = project(json!({}));
    assert_eq!(sensors(&sandbox), ["pyright", "scan"]);
    set(&sandbox, "{lsp: {enabled: false}}");
    assert_eq!(sensors(&sandbox), ["scan"]);
    set(&sandbox, "{scan: {enabled: false}}");
    assert_eq!(sensors(&sandbox), ["pyright"]);
    set(&sandbox, "{lsp: {languages: [go]}}");
    assert_eq!(sensors(&sandbox), ["scan"]);
    set(&sandbox, "{lsp: {languages: [python]}}");
    assert_eq!(sensors(&sandbox), ["pyright", "scan"]);
}

#[test]
fn the_inline_budget_bounds_the_wait_of_a_hook() {
    let sandbox = project(json!({"delay_ms": 1500}));
    set(&sandbox, "{lsp: {inline_budget_ms: 1}}");
    let told = sandbox.tool_write("new.py", DIRTY).context();
    assert!(told.contains("no answer within 1 ms") && !told.contains("bad word"), "{told}");
    set(&sandbox, "{lsp: {inline_budget_ms: 9000}}");
    let told = sandbox.tool_write("new.py", &format!("{DIRTY}# more\n")).context();
    assert!(told.contains("bad word"), "{told}");
}

#[test]
fn a_required_server_that_is_missing_pauses_the_loop() {
    let sandbox = Sandbox::new();
    set(&sandbox, "{lsp: {required: true}}");
    start(&sandbox);
    sandbox.write("app.py", "word = 'good'\n");
    let status = stop(&sandbox);
    assert_eq!(status["status"], "paused", "{status:#}");
    assert_eq!(status["pause_reason"], "lsp_required");
    assert!(status["note"].as_str().is_some_and(|note| note.contains("pyright")), "{status:#}");
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    set(&sandbox, "{lsp: {required: false}}");
    start(&sandbox);
    sandbox.write("app.py", "word = 'fine'\n");
    assert_eq!(stop(&sandbox)["status"], "completed_unverified");
}

#[test]
fn a_loop_has_the_configured_bound_and_the_variable_wins_over_the_file() {
    let mut sandbox = project(json!({}));
    set(&sandbox, "{loop: {max_iterations: 7}}");
    assert_eq!(start(&sandbox)["max_iterations"], 7);
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    sandbox.set("MOAI_RALPH_LOOP_MAX_ITERATIONS", "3");
    assert_eq!(start(&sandbox)["max_iterations"], 3);
}

#[test]
fn the_stop_budget_bounds_the_wait_for_language_servers() {
    let sandbox = project(json!({"never_answer": ["textDocument/diagnostic"]}));
    sandbox.write("app.py", "word = 'good'\n");
    set(&sandbox, "{loop: {stop_budget_ms: 1000}}");
    start(&sandbox);
    let blocked = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    let reason = blocked["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("Not measured: pyright (no answer within"), "{reason}");
}

#[test]
fn checks_are_ended_at_their_timeout_and_prove_nothing() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", "word = 'good'\n");
    let script = sandbox.path(".claude/autochecks.sh");
    sandbox.write(".claude/autochecks.sh", "#!/bin/sh\nsleep 600\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).expect("the script is ours");
    set(&sandbox, "{loop: {check_timeout_secs: 1}}");
    start(&sandbox);
    let status = stop(&sandbox);
    assert_eq!(status["status"], "running", "{status:#}");
    assert_eq!(status["history"][0]["checks"], "unmeasured", "{status:#}");
}

#[test]
fn an_idle_server_and_an_idle_daemon_end_by_themselves() {
    let mut sandbox = project(json!({}));
    sandbox.set("MOAI_RALPH_LSP_IDLE_SECS", "1");
    sensors(&sandbox);
    let servers = |sandbox: &Sandbox| {
        let status = sandbox.run(&["daemon", "status", "--json"]).json();
        status["servers"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(servers(&sandbox), 1);
    let gone = eventually(PATIENCE, || (servers(&sandbox) == 0).then_some(()));
    assert!(gone.is_some(), "the idle server still runs");
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    sandbox.set("MOAI_RALPH_DAEMON_IDLE_SECS", "1");
    sensors(&sandbox);
    let gone = eventually(PATIENCE, || sandbox.survivors().is_empty().then_some(()));
    assert!(gone.is_some(), "{:#?}", sandbox.survivors());
}

#[test]
fn the_users_own_file_counts_below_the_projects() {
    let mut sandbox = project(json!({}));
    let config = sandbox.base().join("config");
    let file = config.join("moai-ralph/ralph.yaml");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("the sandbox is writable");
    let options = "ralph: {scan: {enabled: false}, loop: {max_iterations: 4}}\n";
    std::fs::write(file, options).expect("the sandbox is writable");
    sandbox.set("XDG_CONFIG_HOME", config.into_os_string());
    set(&sandbox, "{loop: {max_iterations: 5}}");
    assert_eq!(sensors(&sandbox), ["pyright"]);
    assert_eq!(start(&sandbox)["max_iterations"], 5);
}

#[test]
fn a_broken_option_is_named_with_file_line_and_key() {
    let sandbox = project(json!({}));
    sandbox.write(FILE, "ralph:\n  lsp:\n    inline_budget_ms: soon\n");
    // A loop can still be shown, because it still holds its session.
    let commands = [
        (&["check"][..], 3),
        (&["loop", "checks"], 3),
        (&["loop", "start", "--prompt", "x"], 3),
        (&["loop", "status"], 0),
    ];
    for (command, code) in commands {
        let output = sandbox.run(command);
        assert_eq!(output.code, code, "{command:?}: {output:#?}");
        assert!(output.stderr.contains("sections/ralph.yaml:3"), "{output:#?}");
        assert!(output.stderr.contains("ralph.lsp.inline_budget_ms"), "{output:#?}");
    }
    // A hook uses the defaults, and the user is notified once, at the start of a session.
    assert!(sandbox.tool_write("new.py", DIRTY).context().contains("bad word"));
    let notice = sandbox.hook("session-start", &sandbox.payload("SessionStart-startup")).json();
    assert!(notice["systemMessage"].as_str().is_some_and(|text| text.contains("ralph.yaml:3")));
}

#[test]
fn a_projects_own_server_is_used_and_a_broken_entry_is_named() {
    let sandbox = project(json!({}));
    sandbox.fake_server("my-server", json!({"errors": [{"needle": "word", "message": "mine"}]}));
    let own = json!({"servers": {"mine": {"command": "my-server", "diagnostics": "pull"}},
        "languages": {"python": {"name": "Python", "extensions": {"py": "python"},
            "servers": ["mine"]}}});
    sandbox.write(".moai/config/lsp.json", &own.to_string());
    assert_eq!(sensors(&sandbox), ["mine", "scan"]);
    sandbox.write(".moai/config/lsp.json", "{\n \"servers\": {\"mine\": {\"command\": 1}}\n}\n");
    let output = sandbox.run(&["check"]);
    assert_eq!(output.code, 3, "{output:#?}");
    assert!(output.stderr.contains("line 2, key servers.mine.command"), "{output:#?}");
    sandbox.write(".moai/config/lsp.json", r#"{"languages": {"python": {"name": "P", "extensions": {"py": "python"}, "servers": ["none"]}}}"#);
    let output = sandbox.run(&["check"]);
    assert_eq!(output.code, 3, "{output:#?}");
    assert!(output.stderr.contains("server none is not described"), "{output:#?}");
}

#[test]
fn options_are_shown_with_their_origins() {
    let mut sandbox = project(json!({}));
    set(&sandbox, "{loop: {max_iterations: 4}}");
    sandbox.set("MOAI_RALPH_LOOP_BASELINE", "none");
    let shown = sandbox.run(&["config", "show", "loop"]).stdout;
    for line in [
        &format!("loop.max_iterations: 4 ({})", sandbox.path(FILE).display()),
        "loop.baseline: none (environment variable MOAI_RALPH_LOOP_BASELINE)",
        "loop.cooldown_ms: 0 (default)",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line} is not in {shown}");
    }
    assert!(!shown.contains("scan.enabled"), "{shown}");
    let document = sandbox.run(&["config", "show", "scan.enabled", "--json"]).json();
    let option = json!({"key": "scan.enabled", "value": "true", "origin": "default"});
    assert_eq!(document["options"], json!([option]));
    let unknown = sandbox.run(&["config", "show", "loop.iterations"]);
    assert_eq!(unknown.code, 3, "{unknown:#?}");
    assert!(unknown.stderr.contains("config show"), "{unknown:#?}");
}

#[test]
fn an_option_is_set_in_the_file_of_the_project() {
    let sandbox = project(json!({}));
    let is_set = |key: &str, value: &str| terminal::run(&sandbox, &["config", "set", key, value]);
    assert_eq!(is_set("loop.max_iterations", "4").code, 0);
    sandbox.write(FILE, &(sandbox.read(FILE) + "  # mine\n"));
    assert_eq!(is_set("loop.max_iterations", "5").code, 0);
    assert_eq!(sandbox.read(FILE), "ralph:\n  loop:\n    max_iterations: 5\n  # mine\n");
    assert_eq!(start(&sandbox)["max_iterations"], 5);
    let before = sandbox.read(FILE);
    for (key, value, named) in [
        ("loop.max_iterations", "0", "max_iterations"),
        ("loop.max_iterations", "many", "max_iterations"),
        ("loop.iterations", "3", "unknown option"),
        ("loop.baseline", "none # or not", "one line"),
    ] {
        let refused = is_set(key, value);
        assert_eq!(refused.code, 3, "{refused:#?}");
        assert!(refused.stderr.contains(named), "{refused:#?}");
    }
    assert_eq!(sandbox.read(FILE), before);
}

#[test]
fn an_option_is_not_written_through_a_link_of_a_clone() {
    let sandbox = Sandbox::new();
    let outside = sandbox.base().join("outside");
    std::fs::create_dir(&outside).expect("the sandbox is ours");
    std::fs::create_dir_all(sandbox.path(".moai/config")).expect("the sandbox is ours");
    std::os::unix::fs::symlink(&outside, sandbox.path(".moai/config/sections")).expect("free");
    let refused = terminal::run(&sandbox, &["config", "set", "loop.max_iterations", "90"]);
    assert!(refused.stderr.contains("is a link out of the project"), "{refused:#?}");
    assert_eq!(std::fs::read_dir(&outside).expect("ours").count(), 0);
}

#[test]
fn an_agent_sets_no_option() {
    let mut sandbox = project(json!({}));
    // As a process that the agent has detached.
    let without_terminal = sandbox.run(&["config", "set", "loop.max_iterations", "900"]);
    assert_eq!(without_terminal.code, 1, "{without_terminal:#?}");
    sandbox.set("CLAUDECODE", "1");
    let refused = terminal::run(&sandbox, &["config", "set", "loop.max_iterations", "900"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(!sandbox.path(FILE).exists());
}
