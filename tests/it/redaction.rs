//! Secrets leave the machine in no question to a model, and are not written to logs, stores and
//! notes of a loop.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;

use crate::support::{PATIENCE, SESSION, Sandbox, eventually, write_file};

const OPTIONS: &str = ".moai/config/sections/ralph.yaml";
const QUOTE: &str = "return api_call";

/// Made when the test runs, so that this file holds no secret.
fn secret() -> String {
    ["gh", "p_", &"q7Zk3Xw9Rt2Lm8Vb5Nc1Yp6Hs4Jd".repeat(2)[..36]].concat()
}

fn executable(path: &Path, text: &str) {
    write_file(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
}

/// Files below a folder that hold a text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is ours").flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_with(&path, text));
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_judge_is_shown_no_secret_and_can_quote_the_line_that_holds_one() {
    let sandbox = Sandbox::new();
    let options = "{backend: command, command: [ask-model]}";
    sandbox.write(OPTIONS, &format!("ralph: {{judge: {options}}}\n"));
    sandbox.write("RUBRIC.md", "## Judge criteria\n- The service is called.\n");
    sandbox.write("src/app.py", "def call():\n    return None\n");
    sandbox.commit();
    let secret = secret();
    sandbox.write("src/app.py", &format!("def call():\n    {QUOTE}('{secret}')\n"));
    let quote = format!("{QUOTE}('[redacted: GitHub token]')");
    let met = json!({"id": "C1", "verdict": "met", "reason": "it is", "fix_hint": null,
        "evidence": [{"path": "src/app.py", "line_start": 2, "line_end": 2, "quote": quote}]});
    // Some calls have a second criterion, a planted one, which no change meets.
    let unmet = json!({"id": "C2", "verdict": "unmet", "reason": "no", "fix_hint": null,
        "evidence": []});
    let log = sandbox.base().join("prompts");
    let script = format!(
        r#"#!/bin/sh
prompt=$(cat)
printf '%s\n' "$prompt" >> '{log}'
nonce=$(printf '%s\n' "$prompt" | sed -n 's/^<evidence \([0-9a-f]*\)>$/\1/p')
planted=
case $prompt in *'
C2: '*) planted=',{unmet}';; esac
rulings='{met}'$planted
printf '{{"schema":1,"nonce":"%s","criteria":[%s],"suspicions":[],"unread":[],"confidence":0.9}}' "$nonce" "$rulings"
"#,
        log = log.display(),
        met = met.to_string().replace('\'', "'\\''"),
    );
    executable(&sandbox.base().join("bin/ask-model"), &script);
    let document = sandbox.run(&["judge", "--json"]).json();
    let shown = fs::read_to_string(&log).expect("the judge was asked");
    assert!(!shown.contains(&secret), "{shown}");
    assert!(shown.contains("[redacted: GitHub token]"), "{shown}");
    assert_eq!(document["verdict"], "approved", "{document:#}");
}

#[test]
fn a_loop_keeps_no_secret_in_its_store_and_notes() {
    let sandbox = Sandbox::new();
    let secret = secret();
    sandbox.write("app.py", "x = 1\n");
    // The exam keeps an exact copy of the script, which therefore does not hold the secret itself.
    let (begin, end) = secret.split_at(10);
    let check = format!("#!/bin/sh\nbegin={begin}\necho \"FAILED with ${{begin}}{end}\"\nexit 1\n");
    executable(&sandbox.path(".claude/autochecks.sh"), &check);
    sandbox.commit();
    let prompt = format!("call the service with {secret}");
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", &prompt]);
    assert_eq!(started.code, 0, "{started:#?}");
    sandbox.write(
        "progress.txt",
        &format!("DECISIONS:\n- chose: {secret}, rejected: none, reason: it works\n"),
    );
    let mut stop = sandbox.payload("Stop");
    stop["last_assistant_message"] = json!(format!("All checks pass with {secret}"));
    let held = sandbox.hook("stop", &stop).json();
    assert_eq!(held["decision"], "block", "{held:#}");
    let status = sandbox.run(&["loop", "status", "--json"]).stdout;
    assert!(status.contains("[redacted: GitHub token]"), "{status}");
    let decisions = sandbox.read("decisions.md");
    assert!(decisions.contains("chose: [redacted: GitHub token]"), "{decisions}");
    let reason = held["reason"].as_str().expect("a reason");
    assert!(reason.contains("FAILED with [redacted: GitHub token]"), "{reason}");
    let again = sandbox.hook("stop", &stop).json();
    assert_eq!(again["decision"], "block", "the loop goes on: {again:#}");
    sandbox.run(&["daemon", "stop"]);
    assert_eq!(files_with(&sandbox.base().join("state"), &secret), Vec::<String>::new());
}

#[test]
fn the_logs_hold_no_secret() {
    let sandbox = Sandbox::new();
    let secret = secret();
    sandbox.hook(&secret, &sandbox.payload("Stop"));
    sandbox.run_with(&["hook", &secret], "");
    let logs = sandbox.base().join("state");
    let marks = eventually(PATIENCE, || {
        let found = files_with(&logs, "[redacted: GitHub token]");
        (found.len() > 1).then_some(found)
    });
    assert!(marks.is_some(), "both logs name the event: {:?}", files_with(&logs, &secret));
    assert_eq!(files_with(&logs, &secret), Vec::<String>::new());
}
