//! Remains of a loop: checkpoints without secrets, and nothing once it is forgotten.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{DIRTY, FIXED, blocked, commit_in, git, looping, notice, project, start, status, stop};
use crate::support::{Sandbox, write_file};

fn id(sandbox: &Sandbox) -> String {
    status(sandbox)["id"].as_str().expect("a loop has an id").to_owned()
}

/// Files of the last checkpoint.
fn kept(sandbox: &Sandbox) -> Vec<String> {
    let iterations = status(sandbox)["history"].as_array().cloned().expect("a history");
    let last = iterations.last().expect("an iteration");
    let checkpoint = last["checkpoint"].as_str().expect("a checkpoint");
    let files = git(sandbox, &["ls-tree", "-r", "--name-only", checkpoint]);
    files.lines().map(str::to_owned).collect()
}

#[test]
fn an_active_loop_stays_and_one_that_is_over_leaves_nothing() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    let id = id(&sandbox);
    let refused = sandbox.run(&["loop", "forget", &id]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains(&format!("moai-ralph loop cancel {id}")), "{refused:#?}");
    assert!(!git(&sandbox, &["for-each-ref", "refs/moai-ralph"]).is_empty());
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    let forgotten = sandbox.run(&["loop", "forget", &id]);
    assert_eq!(forgotten.code, 0, "{forgotten:#?}");
    assert!(forgotten.stdout.contains("2 checkpoints"), "{forgotten:#?}");
    assert_eq!(git(&sandbox, &["for-each-ref", "refs/moai-ralph"]), "");
    let history = sandbox.run(&["loop", "history", "--all"]);
    assert!(!history.stdout.contains(&id), "{history:#?}");
    assert_eq!(sandbox.read("app.py"), DIRTY);
    let again = sandbox.run(&["loop", "forget", &id]);
    assert_eq!(again.code, 1, "{again:#?}");
    assert!(again.stderr.contains("no such loop"), "{again:#?}");
}

#[test]
fn checkpoints_hold_no_secrets_that_git_does_not_track() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    sandbox.write(".env", "TOKEN=secret\n");
    sandbox.write("deploy/id_rsa", "secret\n");
    sandbox.write("new.py", FIXED);
    assert!(stop(&sandbox, "finished").is_some());
    let kept = kept(&sandbox);
    assert!(kept.contains(&"new.py".to_owned()), "{kept:?}");
    assert!(!kept.iter().any(|file| file == ".env" || file.contains("id_rsa")), "{kept:?}");
}

#[test]
fn checkpoints_leave_out_what_a_filter_decrypts() {
    let sandbox = project();
    let tool = sandbox.base().join("bin/crypt");
    write_file(&tool, "#!/bin/sh\ntr 'a-z' 'n-za-m'\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("the tool is ours");
    git(&sandbox, &["config", "filter.crypt.clean", "crypt"]);
    git(&sandbox, &["config", "filter.crypt.smudge", "crypt"]);
    sandbox.write(".gitattributes", "*.secret filter=crypt\n");
    sandbox.write("keys.secret", "plain\n");
    commit_in(&sandbox, &sandbox.root(), "encrypted");
    assert_eq!(git(&sandbox, &["show", "HEAD:keys.secret"]), "cynva");
    assert_eq!(start(&sandbox, &["--until", "diagnostics", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", DIRTY);
    sandbox.write("keys.secret", "plainer\n");
    sandbox.write("more.secret", "plain as well\n");
    assert!(stop(&sandbox, "finished").is_some());
    let kept = kept(&sandbox);
    assert!(kept.contains(&"app.py".to_owned()), "{kept:?}");
    assert!(!kept.iter().any(|file| file.ends_with(".secret")), "{kept:?}");
    let all = git(&sandbox, &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!all.contains("plain"), "nothing decrypted is in git");
}

#[test]
fn checkpoints_hold_little_that_git_does_not_track() {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "5"]);
    sandbox.write("app.py", DIRTY);
    for name in ["a.bin", "b.bin", "c.bin"] {
        let file = fs::File::create(sandbox.path(name)).expect("the sandbox is writable");
        file.set_len(15 * 1024 * 1024).expect("there is room");
    }
    let first = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert!(blocked(&first).is_some(), "{first:#?}");
    let told = notice(&first);
    assert!(told.contains("c.bin (more than 32 MiB"), "{told}");
    let second = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(second.json()["systemMessage"], serde_json::Value::Null, "it is said once");
    let kept = kept(&sandbox);
    assert!(kept.contains(&"b.bin".to_owned()) && !kept.contains(&"c.bin".to_owned()), "{kept:?}");
}
