//! Hooks without an answer from a daemon: the next one starts a new daemon, and the second failure in a row
//! is reported.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::{Output, Sandbox, silent_daemon};

const BLIND: &str = "[moai-ralph] no answer from the daemon (";
const ADVICE: &str = "). Until there is one, ";
/// Without a daemon the hook does as much as it can by itself.
const PARTLY: &str = "only checks without language servers run; see moai-ralph doctor";
const NOTHING: &str = "nothing is checked; see moai-ralph doctor";
const HARMFUL: &str = "import pickle\nword = pickle.loads(b'')\n";

fn edit(sandbox: &Sandbox) -> Output {
    sandbox.tool_write("app.py", HARMFUL)
}

fn is_told(output: &Output) -> bool {
    assert_eq!(output.code, 0, "{output:#?}");
    let is_blind = output.stdout.contains(BLIND);
    assert_eq!(output.stdout.contains(ADVICE), is_blind, "{output:#?}");
    is_blind
}

fn stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

/// Something else is where the daemon's socket belongs, so no daemon can start.
fn obstruct(sandbox: &Sandbox) {
    sandbox.run(&["daemon", "stop"]);
    let folder = sandbox.base().join("run/moai-ralph");
    let _ = fs::remove_dir_all(&folder);
    fs::write(&folder, "in the way").expect("ours");
}

fn clear(sandbox: &Sandbox) {
    fs::remove_file(sandbox.base().join("run/moai-ralph")).expect("ours");
}

#[test]
fn the_hook_after_a_kill_is_answered() {
    let sandbox = Sandbox::new();
    let first = edit(&sandbox).context();
    assert!(first.contains("app.py: introduced"), "{first}");
    for _ in 0..3 {
        let status = sandbox.run(&["daemon", "status", "--json"]).json();
        let pid = status["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        kill_process(pid.and_then(Pid::from_raw).expect("a daemon"), Signal::KILL).expect("ours");
        sandbox.write("app.py", "word = 1\n");
        let output = edit(&sandbox);
        assert!(output.context().contains("app.py: introduced"), "{output:#?}");
        assert!(!is_told(&output), "{output:#?}");
    }
    assert!(!sandbox.base().join("state/blind").exists());
}

#[test]
fn the_second_hook_without_an_answer_says_so_once() {
    let sandbox = Sandbox::new();
    edit(&sandbox);
    for _ in 0..2 {
        obstruct(&sandbox);
        assert!(!is_told(&edit(&sandbox)));
        let second = edit(&sandbox);
        assert!(is_told(&second), "{second:#?}");
        let told = second.context();
        assert!(told.starts_with(BLIND) && told.contains("run/moai-ralph"), "{told}");
        assert!(told.contains(PARTLY), "{told}");
        let message = second.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert!(message.starts_with(BLIND), "{second:#?}");
        assert!(!is_told(&edit(&sandbox)) && !is_told(&stop(&sandbox)), "it is said once");
        let folder = sandbox.base().join("state/blind");
        let marker = fs::read_dir(&folder).expect("there").flatten().next().expect("a marker");
        assert_eq!(marker.metadata().expect("there").mode() & 0o777, 0o600);
        clear(&sandbox);
        assert!(!is_told(&edit(&sandbox)), "it is answered again");
        assert!(!folder.exists());
    }
}

#[test]
fn each_session_is_told_and_a_stop_tells_the_user() {
    let sandbox = Sandbox::new();
    obstruct(&sandbox);
    let stop_of = |session: &str| {
        let mut input = sandbox.payload("Stop");
        input["session_id"] = json!(session);
        sandbox.hook("stop", &input)
    };
    assert!(!is_told(&stop_of("a")) && !is_told(&stop_of("b")));
    let output = stop_of("a");
    assert!(is_told(&output) && output.json()["hookSpecificOutput"].is_null(), "{output:#?}");
    assert!(is_told(&stop_of("b")));
    assert!(!is_told(&stop_of("a")));
    clear(&sandbox);
}

#[test]
fn where_nothing_can_be_noted_every_stop_says_it_and_nothing_else() {
    let mut sandbox = Sandbox::new();
    let file = sandbox.base().join("no-folder");
    fs::write(&file, "").expect("ours");
    sandbox.set("MOAI_RALPH_HOME", file.join("state").into_os_string());
    sandbox.set("XDG_RUNTIME_DIR", file.join("run").into_os_string());
    for _ in 0..2 {
        assert!(!is_told(&edit(&sandbox)));
        assert!(is_told(&stop(&sandbox)));
    }
    sandbox.set("MOAI_RALPH_HOME", "relative");
    sandbox.set("XDG_STATE_HOME", "");
    sandbox.set("HOME", "");
    assert!(!is_told(&edit(&sandbox)));
    let told = stop(&sandbox);
    assert!(is_told(&told) && told.stdout.contains("MOAI_RALPH_HOME"), "{told:#?}");
    assert!(told.stdout.contains(NOTHING), "{told:#?}");
}

#[test]
fn hooks_do_without_a_daemon_that_answers_nobody() {
    let sandbox = Sandbox::new();
    edit(&sandbox);
    let _silent = silent_daemon(&sandbox);
    let prompt = || sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    let outputs = [prompt(), prompt()];
    assert!(!is_told(&outputs[0]), "{outputs:#?}");
    let told = outputs[1].context();
    assert!(is_told(&outputs[1]) && told.contains(PARTLY), "{outputs:#?}");
    sandbox.write("app.py", "word = 1\n");
    let measured = edit(&sandbox).context();
    assert!(measured.contains("app.py: introduced"), "{measured}");
}
