//! Files that no sensor can read: reported after the write and at the Stop, and never clean.

use std::fs;

use serde_json::json;

use super::{FIXED, looping, notice, project, status};
use crate::support::Sandbox;

const BROKEN: [(&str, &[u8], &str); 2] =
    [("nul.py", b"word = 'a\0b'\n", "binary"), ("latin.py", b"word = 'caf\xe9'\n", "not UTF-8")];

fn write_broken(sandbox: &Sandbox) {
    for (name, bytes, _) in BROKEN {
        fs::write(sandbox.path(name), bytes).expect("ours");
    }
    fs::write(sandbox.path("huge.py"), vec![b'#'; 1024 * 1024 + 1]).expect("ours");
}

#[test]
fn what_a_command_writes_and_nobody_can_read_is_named_with_its_reason() {
    let sandbox = project();
    sandbox.hook("post-tool-batch", &sandbox.payload("PostToolBatch"));
    write_broken(&sandbox);
    let told = sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash")).context();
    for (name, _, reason) in BROKEN {
        assert!(told.contains(&format!("{name}: ")), "{told}");
        assert!(told.contains(&format!("not measured: all sensors ({reason})")), "{told}");
    }
    assert!(told.contains("huge.py: ") && told.contains("larger than 1 MiB"), "{told}");
    assert!(!told.contains("changed on disk"), "all of them are named: {told}");
}

#[test]
fn what_an_edit_writes_and_nobody_can_read_is_named_and_ends_unverified() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    sandbox.write("app.py", FIXED);
    write_broken(&sandbox);
    for (name, _, reason) in BROKEN {
        let mut input = sandbox.payload("PostToolUse-Write");
        input["tool_input"] = json!({"file_path": sandbox.path(name), "content": ""});
        let told = sandbox.hook("post-tool-use", &input).context();
        assert!(told.contains(&format!("not measured: all sensors ({reason})")), "{told}");
    }
    let end = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{end}");
    for name in ["nul.py (binary)", "latin.py (not UTF-8)", "huge.py (larger than 1 MiB)"] {
        assert!(end.contains(name), "{end}");
    }
}

#[test]
fn a_notebook_is_said_to_be_unmeasured_once_and_never_completes() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    sandbox.write("app.py", FIXED);
    // Broken as JSON, too: it is not taken apart.
    sandbox.write("a.ipynb", "{\"cells\": [");
    let mut input = sandbox.payload("PostToolUse-Write");
    input["tool_name"] = "NotebookEdit".into();
    input["tool_input"] = json!({"notebook_path": sandbox.path("a.ipynb"), "new_source": "x = 1"});
    let told = sandbox.hook("post-tool-use", &input).context();
    assert!(told.contains("a.ipynb") && told.contains("the cells of a notebook"), "{told}");
    assert_eq!(sandbox.hook("post-tool-use", &input).stdout, "", "it was said");
    let end = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{end}");
    assert!(end.contains("a.ipynb (the cells of a notebook are not measured)"), "{end}");
}
