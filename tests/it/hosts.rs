//! Hooks of the other hosts, with their recorded inputs: answers in the format that each host reads, and a
//! loop from its start to its end.

mod registrations;

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{CHECKOUT, Output, SESSION, Sandbox, finish, finish_bytes, write_file};

const CLEAN: &str = "word = 'good'\n";
const DIRTY: &str = "word = 'BAD'\n";

/// The keys of an answer that a host knows, by event. Codex drops an answer with another.
const KNOWN_KEYS: &[(&str, &str, &[&str])] = &[
    ("codex", "SessionStart", &["systemMessage", "hookSpecificOutput"]),
    ("codex", "UserPromptSubmit", &["decision", "reason", "systemMessage", "hookSpecificOutput"]),
    ("codex", "PreToolUse", &["systemMessage", "hookSpecificOutput"]),
    ("codex", "PostToolUse", &["systemMessage", "hookSpecificOutput"]),
    ("codex", "Stop", &["decision", "reason", "systemMessage"]),
    ("codex", "SessionEnd", &[]),
    ("copilot", "SessionStart", &["additionalContext"]),
    ("copilot", "UserPromptSubmit", &["decision", "reason", "additionalContext"]),
    ("copilot", "PreToolUse", &["hookSpecificOutput"]),
    ("copilot", "PostToolUse", &["additionalContext"]),
    ("copilot", "Stop", &["decision", "reason"]),
];

/// A committed clean file, and a scripted server that finds `BAD`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    for path in ["app.py", "old.py", "gone.py", "pkg/sub/mod.py"] {
        sandbox.write(path, CLEAN);
    }
    sandbox.commit();
    sandbox
}

/// A session of a host in a sandbox.
struct HostSession<'s> {
    sandbox: &'s Sandbox,
    host: &'static str,
    count: Cell<u32>,
}

impl<'s> HostSession<'s> {
    fn new(sandbox: &'s Sandbox, host: &'static str) -> Self {
        Self { sandbox, host, count: Cell::new(0) }
    }

    /// A recorded input. Each event of Copilot has its own time.
    fn payload(&self, name: &str) -> Value {
        let mut payload = self.sandbox.payload(&format!("{}/{name}", self.host));
        if payload.get("timestamp").is_some() {
            self.count.set(self.count.get() + 1);
            payload["timestamp"] = format!("2026-01-01T00:00:00.{:03}Z", self.count.get()).into();
        }
        payload
    }

    /// A hook as the host calls it: the registration has no event.
    fn call(&self, payload: &Value) -> Output {
        self.sandbox.run_with(&["hook"], &payload.to_string())
    }

    fn prompt(&self, text: &str) -> Output {
        let mut payload = self.payload("UserPromptSubmit");
        payload["prompt"] = text.into();
        self.call(&payload)
    }

    /// A patch as the host's tool reports it, after it was applied.
    fn patched(&self, patch: &str) -> Output {
        let (name, is_text) = match self.host {
            "codex" => ("PostToolUse-apply_patch-update", false),
            _ => ("PostToolUse-Edit-patch-several", true),
        };
        let mut payload = self.payload(name);
        payload["tool_input"] = if is_text { patch.into() } else { json!({"command": patch}) };
        self.call(&payload)
    }

    /// A Stop with this final message.
    fn stop(&self, words: &str) -> Value {
        let mut payload = self.payload("Stop");
        if self.host == "copilot" {
            let transcript = self.sandbox.base().join("home/events.jsonl");
            let said = json!({"type": "assistant.message", "data": {"content": words}});
            let asked = json!({"type": "hook.start", "timestamp": payload["timestamp"]});
            write_file(&transcript, &format!("{said}\n{asked}\n"));
            payload["transcript_path"] = json!(transcript);
        } else {
            payload["last_assistant_message"] = words.into();
        }
        answer(&self.call(&payload))
    }
}

/// A payload as the plugin of OpenCode makes it.
fn opencode(sandbox: &Sandbox, event: &str, fields: &Value) -> Value {
    let mut payload =
        json!({"hook_event_name": event, "session_id": SESSION, "cwd": sandbox.root()});
    let fields = fields.as_object().expect("an object").clone();
    payload.as_object_mut().expect("an object").extend(fields);
    answer(&sandbox.run_with(&["hook", "--host", "opencode"], &payload.to_string()))
}

/// The answer of a hook; null without one.
fn answer(output: &Output) -> Value {
    assert_eq!(output.code, 0, "a hook always exits 0: {output:#?}");
    if output.stdout.is_empty() { Value::Null } else { output.json() }
}

/// The text for the agent, where this host reads it.
fn context(host: &str, output: &Output) -> String {
    let answer = answer(output);
    let text = match host {
        "copilot" => &answer["additionalContext"],
        _ => &answer["hookSpecificOutput"]["additionalContext"],
    };
    text.as_str().unwrap_or_default().to_owned()
}

fn log_lines(sandbox: &Sandbox) -> Vec<String> {
    let log = find(&sandbox.base().join("state"), "hook.log");
    let text = log.map(|log| fs::read_to_string(log).expect("the log is ours"));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = find(&path, name) {
                return Some(found);
            }
        } else if entry.file_name() == name {
            return Some(path);
        }
    }
    None
}

#[test]
fn every_recorded_input_is_answered_with_known_keys_or_silence() {
    let sandbox = project();
    for host in ["codex", "copilot"] {
        let session = HostSession::new(&sandbox, host);
        let folder = Path::new(CHECKOUT).join("tests/it/payloads").join(host);
        for entry in fs::read_dir(folder).expect("a folder of the checkout").flatten() {
            let file = entry.path();
            let name = file.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
            let payload = session.payload(name);
            let answer = answer(&session.call(&payload));
            let event = payload["hook_event_name"].as_str().unwrap_or_default();
            let known = KNOWN_KEYS.iter().find(|row| (row.0, row.1) == (host, event));
            let known = known.map_or(&[][..], |row| row.2);
            let mut keys = answer.as_object().into_iter().flat_map(serde_json::Map::keys);
            assert!(keys.all(|key| known.contains(&key.as_str())), "{host}/{name}: {answer}");
        }
    }
}

#[test]
fn an_edit_is_told_what_it_introduced() {
    let expected = "[moai-ralph] app.py: introduced 1 error\n  \
                    error app.py:1:9 pyright(badWord): bad word";
    let patch = "*** Begin Patch\n*** Update File: app.py\n@@\n-word = 'good'\n+word = 'BAD'\n\
                 *** End Patch\n";
    for host in ["codex", "copilot"] {
        let sandbox = project();
        let session = HostSession::new(&sandbox, host);
        sandbox.write("app.py", DIRTY);
        let output = session.patched(patch);
        assert_eq!(context(host, &output).trim_end(), expected, "{output:#?}");
        sandbox.write("app.py", CLEAN);
        let back = patch.replace("good", "x").replace("BAD", "good").replace("'x'", "'BAD'");
        let told = context(host, &session.patched(&back));
        assert!(told.starts_with("[moai-ralph] app.py: fixed 1; now clean"), "{told}");
    }
}

#[test]
fn copilots_own_edit_tools_are_understood() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "copilot");
    sandbox.write("app.py", DIRTY);
    let mut edit = session.payload("PostToolUse-Edit");
    edit["tool_input"] =
        json!({"path": sandbox.path("app.py"), "old_str": "'good'", "new_str": "'BAD'"});
    let told = context("copilot", &session.call(&edit));
    assert!(told.starts_with("[moai-ralph] app.py: introduced 1 error"), "{told}");
    sandbox.write("new.py", DIRTY);
    let write = session.payload("PostToolUse-Write");
    let told = context("copilot", &session.call(&write));
    assert!(told.starts_with("[moai-ralph] new.py: introduced 1 error"), "{told}");
}

#[test]
fn older_findings_are_not_blamed_on_an_edit_whose_text_before_follows_from_it() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    sandbox.write("app.py", "word = 'BAD'\nother = 2\n");
    let patch =
        "*** Begin Patch\n*** Update File: app.py\n@@\n-other = 1\n+other = 2\n*** End Patch";
    let told = context("codex", &session.patched(patch));
    assert!(!told.contains("introduced"), "{told}");
}

#[test]
fn older_findings_of_a_file_with_other_line_ends_are_not_blamed_on_a_patch() {
    for (line_end, patched_end) in [("\r\n", "\r\n"), ("\r\n", "\n"), ("\n", "\n")] {
        let sandbox = project();
        let session = HostSession::new(&sandbox, "codex");
        let now = format!("word = 'BAD'{line_end}other = 2{patched_end}last = 3{line_end}");
        sandbox.write("app.py", &now);
        let patch =
            "*** Begin Patch\n*** Update File: app.py\n@@\n-other = 1\n+other = 2\n*** End Patch";
        for patch in [patch.to_owned(), patch.replace('\n', "\r\n")] {
            let told = context("codex", &session.patched(&patch));
            assert!(!told.contains("introduced") && !told.contains("may be"), "{now:?}: {told}");
        }
    }
}

#[test]
fn every_file_of_a_patch_is_measured() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    session.prompt("go");
    sandbox.write("app.py", DIRTY);
    sandbox.write("b.py", DIRTY);
    sandbox.write("pkg/new.py", DIRTY);
    for gone in ["old.py", "gone.py"] {
        fs::remove_file(sandbox.path(gone)).expect("it was there");
    }
    let told = context(
        "codex",
        &session.patched(
            "*** Begin Patch\n*** Add File: b.py\n+word = 'BAD'\n*** Update File: app.py\n@@\n\
             -word = 'good'\n+word = 'BAD'\n*** Update File: old.py\n*** Move to: pkg/new.py\n@@\n\
             -word = 'good'\n+word = 'BAD'\n*** Delete File: gone.py\n*** End Patch\n",
        ),
    );
    for path in ["b.py", "app.py", "pkg/new.py"] {
        assert!(told.contains(&format!("{path}: introduced 1 error")), "{path}: {told}");
    }
}

#[test]
fn a_relative_path_belongs_to_the_folder_of_the_session() {
    for (host, name) in [
        ("codex", "PostToolUse-apply_patch-update-in-subdirectory"),
        ("copilot", "PostToolUse-Edit-in-subdirectory"),
    ] {
        let sandbox = project();
        sandbox.write("pkg/sub/mod.py", DIRTY);
        let session = HostSession::new(&sandbox, host);
        let told = context(host, &session.call(&session.payload(name)));
        assert!(told.contains("pkg/sub/mod.py"), "{host}: {told}");
    }
}

#[test]
fn a_patch_that_names_no_file_or_leaves_the_project_is_no_reason_to_fail() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    for patch in [
        "",
        "*** Begin Patch",
        "*** Begin Patch\n*** Add File: \n*** Move to: x\n*** End Patch",
        "*** Begin Patch\n*** Update File: ../../../etc/passwd\n@@\n-a\n+b\n*** End Patch",
        "*** Begin Patch\n*** Add File: gone/away.py\n+x\n*** End Patch",
    ] {
        let output = session.patched(patch);
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{patch:?}: {output:#?}");
    }
    for tool_input in [json!(null), json!(5), json!([]), json!({"path": null}), json!("x")] {
        let mut payload = session.payload("PostToolUse-apply_patch-update");
        payload["tool_input"] = tool_input;
        assert_eq!(answer(&session.call(&payload)), Value::Null, "{payload}");
    }
}

#[test]
fn a_loop_runs_from_the_typed_command_to_the_promise() {
    for (host, command) in [("codex", "$moai-ralph:moai-loop"), ("copilot", "/moai-loop")] {
        let sandbox = project();
        let session = HostSession::new(&sandbox, host);
        let typed = format!("{command} fix it --completion-promise DONE --max-iterations 5");
        let begun = context(host, &session.prompt(&typed));
        assert!(begun.starts_with("[moai-ralph]") && begun.contains("DONE"), "{host}: {begun}");
        sandbox.write("app.py", DIRTY);
        let held = session.stop("<promise>DONE</promise>");
        assert_eq!(held["decision"], "block", "{host}: {held}");
        let reason = held["reason"].as_str().expect("a reason").to_owned();
        assert!(reason.contains("bad word"), "{host}: {reason}");
        // Copilot sends the reason back as a prompt, which is not a request of the user.
        let again = session.prompt(&reason);
        if host == "copilot" {
            assert_eq!(answer(&again), Value::Null, "{again:#?}");
        }
        sandbox.write("app.py", "word = 'better'\n");
        let held = session.stop("It is done.");
        assert_eq!(held["decision"], "block", "the promise is missing: {host}: {held}");
        let released = session.stop("All fixed.\n\n<promise>DONE</promise>");
        assert_ne!(released["decision"], "block", "{host}: {released}");
        let status = sandbox.run(&["loop", "history", "--session", SESSION]);
        assert!(status.stdout.contains("complete"), "{host}: {status:#?}");
    }
}

#[test]
fn a_promise_in_a_transcript_that_is_not_complete_yet_is_not_given() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "copilot");
    session.prompt("/moai-loop fix it --completion-promise DONE --max-iterations 5");
    sandbox.write("app.py", "word = 'better'\n");
    let mut stop = session.payload("Stop");
    let transcript = sandbox.base().join("home/events.jsonl");
    let said = json!({"type": "assistant.message", "data": {"content": "<promise>DONE</promise>"}});
    let earlier = json!({"type": "hook.start", "timestamp": "2026-01-01T00:00:00.000Z"});
    write_file(&transcript, &format!("{said}\n{earlier}\n"));
    stop["transcript_path"] = json!(transcript);
    let held = answer(&session.call(&stop));
    assert_eq!(held["decision"], "block", "{held}");
    assert_ne!(session.stop("<promise>DONE</promise>")["decision"], "block");
}

#[test]
fn a_refused_command_shows_why_and_another_command_is_left_alone() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "copilot");
    let refused = answer(&session.prompt("/moai-loop fix it --no-such-option"));
    assert_eq!(refused["decision"], "block", "{refused}");
    assert!(refused["reason"].as_str().is_some_and(|it| it.contains("--no-such-option")));
    assert_eq!(answer(&session.prompt("/other fix it")), Value::Null);
}

#[test]
fn a_hook_that_is_registered_twice_acts_once() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "copilot");
    session.prompt("/moai-loop fix it --max-iterations 9 --completion-promise DONE");
    sandbox.write("app.py", DIRTY);
    let mut edit = session.payload("PostToolUse-Edit");
    edit["tool_input"] = json!({"path": "app.py", "old_str": "'good'", "new_str": "'BAD'"});
    assert!(context("copilot", &session.call(&edit)).contains("introduced 1 error"));
    assert_eq!(answer(&session.call(&edit)), Value::Null, "the other registration");
    let stop = session.payload("Stop");
    let first = answer(&session.call(&stop));
    assert_eq!(first["decision"], "block", "{first}");
    assert_eq!(answer(&session.call(&stop)), first, "the last answer counts in Copilot");
    let status = sandbox.run(&["loop", "status", "--session", SESSION, "--json"]).json();
    assert_eq!(status["iteration"], 1, "{status}");
}

#[test]
fn unknown_hosts_and_events_are_met_with_silence_and_a_line_in_the_log() {
    let sandbox = project();
    let stop = HostSession::new(&sandbox, "codex").payload("Stop").to_string();
    for (arguments, input) in [
        (&["hook", "--host", "cursor"][..], stop.as_str()),
        (&["hook", "--host", "cursor", "stop"][..], stop.as_str()),
        (&["hook"][..], r#"{"hook_event_name": "Interrupt", "session_id": "s"}"#),
        (&["hook"][..], r#"{"sessionId": "s", "toolName": "edit"}"#),
        (&["hook"][..], "{"),
        (&["hook", "--host"][..], stop.as_str()),
    ] {
        let before = log_lines(&sandbox).len();
        let output = sandbox.run_with(arguments, input);
        assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{arguments:?}: {output:#?}");
        let is_usage_error = *arguments == ["hook", "--host"];
        let logged = log_lines(&sandbox).len() - before;
        assert_eq!(logged, usize::from(!is_usage_error), "{arguments:?} {input}");
    }
}

#[test]
fn a_host_that_drops_the_arguments_still_reaches_the_hook() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    sandbox.write("app.py", DIRTY);
    let mut payload = session.payload("PostToolUse-apply_patch-update");
    payload["tool_input"]["command"] =
        "*** Begin Patch\n*** Add File: app.py\n+word = 'BAD'\n*** End Patch".into();
    let output = sandbox.run_with(&[], &payload.to_string());
    assert!(context("codex", &output).contains("introduced 1 error"), "{output:#?}");
    // Anything else on stdin is not a hook input.
    assert_eq!(sandbox.run_with(&[], "{}").code, 3);
    // An agent's shell starts no hooks.
    let mut command = sandbox.program();
    command.env("CODEX_SESSION_ID", SESSION);
    let output = finish(&mut command, &payload.to_string());
    assert_eq!(output.code, 3, "{output:#?}");
}

#[test]
fn an_agent_does_not_change_the_settings_that_register_hooks() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    let mut payload = session.payload("PreToolUse-apply_patch-update");
    for (path, is_denied) in [
        (".codex/hooks.json", true),
        (".github/hooks/moai-ralph.json", true),
        (".opencode/plugins/moai-ralph.ts", true),
        ("app.py", false),
    ] {
        payload["tool_input"]["command"] =
            format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch").into();
        let answer = answer(&session.call(&payload));
        let decision = &answer["hookSpecificOutput"]["permissionDecision"];
        assert_eq!(decision == "deny", is_denied, "{path}: {answer}");
    }
    // Codex and Copilot accept white space before a header.
    payload["tool_input"]["command"] =
        "*** Begin Patch\n*** Add File: a.py\n+a = 1\n  *** Add File: .codex/hooks.json\n+{}\n\
         *** End Patch"
            .into();
    assert_denied(&session.call(&payload));
    let mut shell = session.payload("PreToolUse-Bash-here-document-patch");
    for (folder, path) in [("", ".codex/hooks.json"), ("cd .codex && ", "hooks.json")] {
        let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch");
        for command in [
            format!("{folder}apply_patch <<'E'\n{patch}\nE"),
            format!("bash -lc \"{folder}apply_patch <<'E'\n{patch}\nE\""),
            format!("{folder}apply_patch '{patch}'"),
            format!("{folder}apply_patch $'{}'", patch.replace('\n', "\\n")),
            format!("{folder}printf '%s\\n' '{patch}' | apply_patch"),
        ] {
            shell["tool_input"]["command"] = command.into();
            assert_denied(&session.call(&shell));
        }
    }
}

fn assert_denied(output: &Output) {
    let answer = answer(output);
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
}

#[test]
fn two_hosts_in_one_project_have_loops_of_their_own() {
    let sandbox = project();
    let (codex, copilot) =
        (HostSession::new(&sandbox, "codex"), HostSession::new(&sandbox, "copilot"));
    let mut prompt = codex.payload("UserPromptSubmit");
    prompt["session_id"] = "codex-session".into();
    prompt["prompt"] = "/moai-loop fix it --completion-promise DONE".into();
    assert!(context("codex", &codex.call(&prompt)).starts_with("[moai-ralph]"));
    // The other host has no loop, so its turn ends silently.
    assert_eq!(copilot.stop("I am done."), Value::Null);
    let mut stop = codex.payload("Stop");
    stop["session_id"] = "codex-session".into();
    assert_eq!(answer(&codex.call(&stop))["decision"], "block");
}

#[test]
fn a_pause_for_the_exam_is_told_once_where_each_host_reads_it() {
    for host in ["codex", "copilot", "opencode"] {
        let sandbox = project();
        sandbox.write("RUBRIC.md", "# Rubric\n\n- [ ] it works\n");
        sandbox.commit();
        let session = HostSession::new(&sandbox, if host == "copilot" { host } else { "codex" });
        let stop = |words: &str| match host {
            "opencode" => opencode(&sandbox, "Stop", &json!({"last_assistant_message": words})),
            _ => session.stop(words),
        };
        let prompt = |text: &str| match host {
            "opencode" => opencode(&sandbox, "UserPromptSubmit", &json!({"prompt": text})),
            _ => answer(&session.prompt(text)),
        };
        let begun = sandbox.run(&["loop", "start", "--prompt", "fix it", "--session", SESSION]);
        assert_eq!(begun.code, 0, "{begun:#?}");
        sandbox.write("app.py", "word = 'better'\n");
        // Another program changes a file of the loop's exam.
        sandbox.write("RUBRIC.md", "# Rubric\n\n- [ ] something else\n");
        let told = stop("I am done.");
        assert!(told.to_string().contains("RUBRIC.md"), "{host}: {told}");
        let is_held = told["decision"] == "block";
        assert_eq!(is_held, host != "codex", "held where only the agent can tell: {told}");
        let status = sandbox.run(&["loop", "status", "--session", SESSION, "--json"]).json();
        assert_eq!(status["pause_reason"], "exam_changed", "{host}: {status}");
        if is_held {
            let reason = told["reason"].as_str().expect("a reason");
            assert!(reason.contains("Tell the user"), "{host}: {reason}");
            prompt(reason);
        }
        assert_ne!(stop("It is paused.")["decision"], "block", "{host}");
        let next = prompt("what now?").to_string();
        assert_eq!(next.contains("is paused"), host == "codex", "{host}: {next}");
        assert!(!prompt("and now?").to_string().contains("is paused"), "{host}");
    }
}

/// A folder that is not a project, and too large to scan.
fn vast_folder(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.base().join("vast");
    for at in 0..251 {
        let below = folder.join(at.to_string());
        fs::create_dir_all(&below).expect("ours");
        for file in 0..200 {
            fs::write(below.join(format!("{file}.py")), "").expect("ours");
        }
    }
    folder
}

#[test]
fn a_folder_without_end_is_no_project_and_does_not_release_a_loop() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    let home = sandbox.base().join("home");
    for folder in [PathBuf::from("/"), home, vast_folder(&sandbox)] {
        let at = |name: &str, fields: Value| {
            let mut payload = session.payload(name);
            payload["cwd"] = json!(folder);
            payload["session_id"] = json!(format!("in {}", folder.display()));
            for (key, value) in fields.as_object().expect("an object") {
                payload[key] = value.clone();
            }
            answer(&session.call(&payload))
        };
        let told = at("UserPromptSubmit", json!({"prompt": "go"})).to_string();
        assert!(told.contains("is not a project"), "{}: {told}", folder.display());
        let told = at("UserPromptSubmit", json!({"prompt": "go on"}));
        assert_eq!(told, Value::Null, "once is enough");
        let refused = at("UserPromptSubmit", json!({"prompt": "/moai-loop fix it"}));
        assert!(refused["reason"].to_string().contains("is not a project"), "{refused}");
        assert_eq!(at("Stop", json!({})), Value::Null);
        let mut doctor = sandbox.program();
        let doctor = finish(doctor.current_dir(&folder).arg("doctor"), "");
        assert!(doctor.stderr.contains("is not a project"), "{doctor:#?}");
    }
    session.prompt("/moai-loop fix it --max-iterations 5 --completion-promise DONE");
    let mut stop = session.payload("Stop");
    stop["cwd"] = json!("/");
    let held = answer(&session.call(&stop));
    assert_eq!(held["decision"], "block", "the loop of the session runs elsewhere: {held}");
}

#[test]
fn inputs_in_other_encodings_are_read() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    let mut prompt = session.payload("UserPromptSubmit");
    prompt["prompt"] = "/moai-loop fix it --max-iterations 9 --completion-promise DONE".into();
    session.call(&prompt);
    sandbox.write("app.py", DIRTY);
    let mut stop = session.payload("Stop");
    let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    for (at, mark, is_wide) in
        [(0, &b"\xef\xbb\xbf"[..], false), (1, b"\xff\xfe", true), (2, b"", true)]
    {
        stop["last_assistant_message"] = format!("Stop {at}").into();
        let text = stop.to_string();
        let bytes = if is_wide { units(&text) } else { text.into_bytes() };
        let mut hook = sandbox.program();
        let output = finish_bytes(hook.arg("hook"), &[mark, &bytes].concat());
        assert_eq!(answer(&output)["decision"], "block", "{mark:?}");
    }
}

#[test]
fn a_stop_with_an_input_beyond_the_bound_still_holds_and_is_logged() {
    let sandbox = project();
    let session = HostSession::new(&sandbox, "codex");
    session.prompt("/moai-loop fix it --max-iterations 9 --completion-promise DONE");
    sandbox.write("app.py", DIRTY);
    let before = log_lines(&sandbox).len();
    let held = session.stop(&"x".repeat(17 * 1024 * 1024));
    assert_eq!(held["decision"], "block", "{held}");
    assert_eq!(log_lines(&sandbox).len(), before + 1);
}

#[test]
fn two_hosts_with_the_same_session_id_do_not_share_a_loop() {
    let sandbox = project();
    let (codex, copilot) =
        (HostSession::new(&sandbox, "codex"), HostSession::new(&sandbox, "copilot"));
    codex.prompt("$moai-ralph:moai-loop fix it --completion-promise DONE");
    let at_once = "<promise>DONE</promise>";
    assert_eq!(copilot.stop(at_once), Value::Null);
    assert_eq!(
        opencode(&sandbox, "Stop", &json!({"last_assistant_message": at_once})),
        Value::Null
    );
    let begun = context("copilot", &copilot.prompt("/moai-loop other --max-iterations 5"));
    assert!(begun.starts_with("[moai-ralph]"), "a loop of its own: {begun}");
    // A different daemon knows whose session it is.
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    sandbox.write("app.py", DIRTY);
    assert_eq!(
        opencode(&sandbox, "Stop", &json!({"last_assistant_message": at_once})),
        Value::Null
    );
    assert_eq!(codex.stop("not yet")["decision"], "block");
    assert_eq!(copilot.stop("not yet")["decision"], "block");
    let iteration = |session: &str| {
        let status = sandbox.run(&["loop", "status", "--session", session, "--json"]);
        status.json()["iteration"].clone()
    };
    let other = format!("copilot:{SESSION}");
    assert_eq!((iteration(SESSION), iteration(&other)), (json!(1), json!(1)));
}

#[test]
fn a_command_that_opencode_passes_on_as_text_is_one() {
    let sandbox = project();
    let typed = json!({"prompt": "/moai-loop fix it --completion-promise DONE"});
    let begun = opencode(&sandbox, "UserPromptSubmit", &typed);
    let text = begun["additionalContext"].as_str().unwrap_or_default();
    assert!(text.starts_with("[moai-ralph] loop "), "{begun}");
    let refused =
        opencode(&sandbox, "UserPromptSubmit", &json!({"prompt": "/moai-loop x --no-such-option"}));
    let text = refused["additionalContext"].as_str().unwrap_or_default();
    assert!(text.contains("--no-such-option"), "{refused}");
}

#[test]
fn the_first_change_by_a_shell_in_a_session_without_a_prompt_is_told() {
    for host in ["codex", "copilot"] {
        let sandbox = project();
        let session = HostSession::new(&sandbox, host);
        sandbox.write("app.py", DIRTY);
        let told = context(host, &session.call(&session.payload("PostToolUse-Bash")));
        assert!(told.contains("author unknown") && told.contains("app.py"), "{host}: {told}");
        assert!(!told.contains("introduced"), "nobody knows: {told}");
    }
}
