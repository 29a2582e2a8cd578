//! Files that register hooks with the other hosts: `init`, and their report by `doctor --hosts`.

use std::fs;

use serde_json::{Value, json};

use super::{DIRTY, HostSession, context, project};
use crate::support::finish;

#[test]
fn registrations_of_every_host_are_part_of_the_exam() {
    for path in [".codex/hooks.json", ".github/hooks/a.json", ".opencode/plugins/a.ts"] {
        let sandbox = project();
        let session = HostSession::new(&sandbox, "codex");
        session.prompt("/moai-loop fix it --max-iterations 5");
        sandbox.write("app.py", "word = 'better'\n");
        sandbox.write(path, "{\"hooks\": {}}");
        let stopped = session.stop("I am done.");
        assert!(stopped.to_string().contains("registration of hooks"), "{path}: {stopped}");
    }
}

#[test]
fn commands_of_others_that_name_the_program_stay() {
    let sandbox = project();
    let foreign = json!({"hooks": {"Stop": [{"hooks": [
        {"type": "command", "command": "./before; moai-ralph hook stop; ./after"},
        {"type": "command", "command": "grep -r 'moai-ralph hook' ."},
    ]}]}});
    sandbox.write(".codex/hooks.json", &foreign.to_string());
    let read =
        || -> Value { serde_json::from_str(&sandbox.read(".codex/hooks.json")).expect("JSON") };
    assert_eq!(sandbox.run(&["init", "--host", "codex", "--remove"]).code, 0);
    assert_eq!(read(), foreign);
    assert_eq!(sandbox.run(&["init", "--host", "codex"]).code, 0);
    assert_eq!(read()["hooks"]["Stop"][0], foreign["hooks"]["Stop"][0]);
    // Another program rewrites the file in a different form in between.
    sandbox.write(".codex/hooks.json", &read().to_string());
    assert_eq!(sandbox.run(&["init", "--host", "codex"]).code, 0);
    assert_eq!(sandbox.run(&["init", "--host", "codex", "--remove"]).code, 0);
    assert_eq!(read(), foreign);
}

#[test]
fn init_registers_the_hooks_and_takes_them_back() {
    let sandbox = project();
    let foreign =
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]}}";
    sandbox.write(".codex/hooks.json", foreign);
    for (host, path) in [
        ("codex", ".codex/hooks.json"),
        ("copilot", ".github/hooks/moai-ralph.json"),
        ("opencode", ".opencode/plugins/moai-ralph.ts"),
        ("claude-code", ".claude/settings.json"),
    ] {
        let written = sandbox.run(&["init", "--host", host]);
        assert_eq!(written.code, 0, "{host}: {written:#?}");
        assert!(written.stdout.contains(&format!("{path}: written")), "{written:#?}");
        let text = sandbox.read(path);
        assert!(text.contains("moai-ralph"), "{host}: {text}");
        let again = sandbox.run(&["init", "--host", host]);
        assert!(again.stdout.contains(&format!("{path}: unchanged")), "{again:#?}");
        assert_eq!(sandbox.read(path), text, "{host}");
        let shown = sandbox.run(&["doctor", "--hosts"]);
        assert!(shown.stdout.contains(path), "{shown:#?}");
        let removed = sandbox.run(&["init", "--host", host, "--remove"]);
        assert_eq!(removed.code, 0, "{removed:#?}");
        assert!(!sandbox.path(path).exists() || sandbox.read(path) == foreign, "{host}");
        let folder = sandbox.path(path.split('/').next().unwrap_or_default());
        assert_eq!(folder.exists(), host == "codex", "{host}: only its own folders go");
    }
    assert_eq!(sandbox.read(".codex/hooks.json"), foreign);
    let user = sandbox.run(&["init", "--host", "copilot", "--user"]);
    assert!(user.stdout.contains("home/.copilot/hooks/moai-ralph.json: written"), "{user:#?}");
}

#[test]
fn init_leaves_a_file_alone_that_it_cannot_read() {
    let sandbox = project();
    sandbox.write(".codex/hooks.json", "{ not JSON");
    sandbox.write(".github/hooks/moai-ralph.json", "theirs");
    for (host, path) in
        [("codex", ".codex/hooks.json"), ("copilot", ".github/hooks/moai-ralph.json")]
    {
        let before = sandbox.read(path);
        let refused = sandbox.run(&["init", "--host", host]);
        assert_eq!(refused.code, 1, "{refused:#?}");
        assert!(refused.stderr.contains(path), "{refused:#?}");
        assert_eq!(sandbox.read(path), before);
    }
    assert!(sandbox.run(&["init", "--host", "copilot"]).stderr.contains("move it away"));
}

#[test]
fn init_follows_no_link_out_of_a_clone_and_says_how_to_go_on_after_a_change() {
    let sandbox = project();
    let outside = sandbox.base().join("outside");
    fs::create_dir(&outside).expect("ours");
    std::os::unix::fs::symlink(&outside, sandbox.path(".codex")).expect("ours");
    let refused = sandbox.run(&["init", "--host", "codex"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("--user"), "{refused:#?}");
    assert_eq!(outside.read_dir().expect("there").count(), 0);
    let path = ".github/hooks/moai-ralph.json";
    assert_eq!(sandbox.run(&["init", "--host", "copilot"]).code, 0);
    sandbox.write(path, &format!("{} ", sandbox.read(path)));
    let again = sandbox.run(&["init", "--host", "copilot"]);
    assert!(again.stderr.contains("changed since moai-ralph wrote it"), "{again:#?}");
    let kept = sandbox.run(&["init", "--host", "copilot", "--remove"]);
    assert!(kept.stderr.contains("delete the file yourself"), "{kept:#?}");
}

#[test]
fn a_registered_command_works_as_the_host_starts_it() {
    let sandbox = project();
    sandbox.run(&["init", "--host", "codex"]);
    let hooks: Value = serde_json::from_str(&sandbox.read(".codex/hooks.json")).expect("JSON");
    let command = hooks["hooks"]["PostToolUse"][0]["hooks"][0]["command"].as_str().expect("a text");
    let session = HostSession::new(&sandbox, "codex");
    sandbox.write("app.py", DIRTY);
    let mut payload = session.payload("PostToolUse-apply_patch-update");
    payload["tool_input"]["command"] =
        "*** Begin Patch\n*** Add File: app.py\n+word = 'BAD'\n*** End Patch".into();
    let mut shell = std::process::Command::new("sh");
    sandbox.prepare(&mut shell);
    let output = finish(shell.args(["-c", command]), &payload.to_string());
    assert!(context("codex", &output).contains("introduced 1 error"), "{output:#?}");
    let shown = sandbox.run(&["doctor", "--hosts", "--json"]).json();
    let codex = &shown["hosts"][1];
    let events = codex["events"].as_array().expect("events");
    let of = |name: &str| events.iter().find(|event| event["event"] == name).expect("an event");
    assert!(
        of("post-tool-use")["last_ms"].is_u64() && of("stop")["last_ms"].is_null(),
        "{codex:#}"
    );
    assert_eq!(of("stop")["registered"], true);
    assert_eq!(of("stop")["approval"], "missing", "Codex has not asked yet");
    let text = sandbox.run(&["doctor", "--hosts"]).stdout;
    assert!(text.contains("registered, not approved, never ran here"), "{text}");
}

#[test]
fn doctor_tells_when_a_hook_ran_in_this_project() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    let elsewhere = sandbox.base().join("elsewhere");
    fs::create_dir_all(elsewhere.join(".git")).expect("ours");
    let mut prompt = session.payload("UserPromptSubmit");
    prompt["cwd"] = json!(elsewhere);
    session.call(&prompt);
    let last_ms = || {
        let shown = sandbox.run(&["doctor", "--hosts", "--json"]).json();
        let events = shown["hosts"][1]["events"].as_array().expect("events").clone();
        let of_prompt = events.iter().find(|event| event["event"] == "user-prompt-submit");
        of_prompt.expect("an event")["last_ms"].clone()
    };
    assert_eq!(last_ms(), Value::Null, "it ran in another project");
    session.prompt("go");
    assert!(last_ms().is_u64());
}

#[test]
fn doctor_names_a_registration_that_does_not_parse() {
    let sandbox = project();
    sandbox.write(".codex/hooks.json", "{\n  \"hooks\": {\n  ]\n");
    let shown = sandbox.run(&["doctor", "--hosts"]);
    let line = shown.stdout.lines().find(|line| line.contains(".codex/hooks.json"));
    let line = line.unwrap_or_else(|| panic!("not named: {shown:#?}"));
    assert!(line.contains("line 3") && line.contains("moai-ralph init --host codex"), "{line}");
    let document = sandbox.run(&["doctor", "--hosts", "--json"]).json();
    let named = document["hosts"][1]["unreadable"][0]["file"].as_str();
    assert!(named.is_some_and(|it| it.ends_with(".codex/hooks.json")), "{document}");
}
