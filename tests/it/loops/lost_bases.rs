//! Projects with an unusable history: rewritten history, lost checkpoints, shallow clones, no
//! commit, no git, and binary files. Older findings are known from the loop's own copy, or the Stop
//! reports that they are unknown.

use std::fs;
use std::path::Path;

use super::{DIRTY, FIXED, git, git_in, notice, project, start, status, stop};
use crate::support::Sandbox;

const OPTIONS: [&str; 4] = ["--until", "diagnostics", "--max-iterations", "9"];
/// The committed finding, and a change that leaves it alone.
const EDITED: &str = "word = 'BAD'\nmore = 'good'\n";

/// A project with an older finding.
fn with_past() -> Sandbox {
    let sandbox = project();
    sandbox.write("app.py", DIRTY);
    sandbox.commit();
    sandbox
}

fn begin(sandbox: &Sandbox) {
    let begun = start(sandbox, &OPTIONS);
    assert_eq!(begun.code, 0, "{begun:#?}");
}

/// The commit that the loop began at goes, with all that only it held.
fn rewrite_history(sandbox: &Sandbox) {
    git(sandbox, &["commit", "-q", "--amend", "-m", "another past"]);
    git(sandbox, &["reflog", "expire", "--expire=now", "--all"]);
    git(sandbox, &["gc", "-q", "--prune=now"]);
}

fn delete_checkpoints(sandbox: &Sandbox) {
    let refs = git(sandbox, &["for-each-ref", "--format=%(refname)", "refs/moai-ralph"]);
    assert_ne!(refs, "");
    for name in refs.lines() {
        git(sandbox, &["update-ref", "-d", name]);
    }
}

/// An honest edit completes, and a finding of the work holds.
fn knows_what_is_older(sandbox: &Sandbox) {
    sandbox.tool_write("app.py", &format!("{EDITED}new = 'BAD'\n"));
    let reason = stop(sandbox, "finished").expect("a new finding holds");
    assert!(reason.contains("app.py:3:8") && !reason.contains("app.py:1:9"), "{reason}");
    sandbox.tool_write("app.py", EDITED);
    let told = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(status(sandbox)["status"], "completed", "{told:#?}");
}

#[test]
fn a_rewritten_history_leaves_the_loops_own_copy() {
    let sandbox = with_past();
    begin(&sandbox);
    rewrite_history(&sandbox);
    knows_what_is_older(&sandbox);
}

#[test]
fn a_reset_to_before_the_start_leaves_it_as_well() {
    let sandbox = with_past();
    begin(&sandbox);
    git(&sandbox, &["reset", "-q", "--soft", "HEAD~2"]);
    git(&sandbox, &["reflog", "expire", "--expire=now", "--all"]);
    git(&sandbox, &["gc", "-q", "--prune=now"]);
    knows_what_is_older(&sandbox);
}

#[test]
fn without_its_checkpoint_a_loop_compares_with_the_commit_and_says_so() {
    let sandbox = with_past();
    begin(&sandbox);
    delete_checkpoints(&sandbox);
    sandbox.tool_write("app.py", EDITED);
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{told}");
    assert!(told.contains("the checkpoint of its beginning is missing"), "{told}");
}

#[test]
fn without_checkpoint_and_commit_the_stop_says_that_what_is_older_is_not_known() {
    let sandbox = with_past();
    begin(&sandbox);
    delete_checkpoints(&sandbox);
    rewrite_history(&sandbox);
    sandbox.tool_write("app.py", EDITED);
    let reason = stop(&sandbox, "finished").expect("nothing shows that the finding is older");
    assert!(reason.contains("older findings are unknown"), "{reason}");
    sandbox.tool_write("app.py", FIXED);
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{told}");
    assert!(told.contains("older findings are unknown"), "{told}");
}

#[test]
fn a_shallow_clone_has_a_base() {
    let sandbox = with_past();
    let (root, clone) = (sandbox.root(), sandbox.base().join("clone"));
    let from = format!("file://{}", root.display());
    let to = clone.to_str().expect("a path");
    git_in(&sandbox, &sandbox.base(), &["clone", "-q", "--depth", "1", &from, to]);
    fs::remove_dir_all(&root).expect("ours");
    fs::rename(&clone, &root).expect("ours");
    assert_eq!(git(&sandbox, &["rev-parse", "--is-shallow-repository"]), "true");
    begin(&sandbox);
    knows_what_is_older(&sandbox);
}

#[test]
fn a_repository_without_a_commit_and_a_folder_without_git_have_a_base() {
    for is_repository in [true, false] {
        let sandbox = with_past();
        fs::remove_dir_all(sandbox.path(".git")).expect("there");
        if is_repository {
            git(&sandbox, &["init", "-q"]);
        }
        begin(&sandbox);
        knows_what_is_older(&sandbox);
    }
}

#[test]
fn a_repository_that_vanishes_under_a_loop_completes_nothing() {
    let sandbox = with_past();
    begin(&sandbox);
    // At once: the daemon may be writing in it.
    fs::rename(sandbox.path(".git"), sandbox.base().join("gone")).expect("there");
    sandbox.tool_write("app.py", FIXED);
    let told = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(told.code, 0, "{told:#?}");
    assert_ne!(status(&sandbox)["status"], "completed", "{told:#?}");
    assert!(told.stdout.contains("older findings are unknown"), "{told:#?}");
}

/// Bytes that no sensor can read, with the reason.
fn unreadable() -> [(&'static str, Vec<u8>, &'static str); 4] {
    [
        ("binary.py", vec![0x7f, b'E', b'L', b'F', 0, 1], "binary"),
        ("nul.py", b"word = 'a\0b'\n".to_vec(), "binary"),
        ("latin.py", b"word = 'caf\xe9'\n".to_vec(), "not UTF-8"),
        ("huge.py", vec![b'#'; 1024 * 1024 + 1], "larger than 1 MiB"),
    ]
}

fn write_bytes(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("ours");
}

#[test]
fn texts_that_become_unreadable_are_named_and_end_unverified() {
    let sandbox = with_past();
    for (name, ..) in unreadable() {
        sandbox.write(name, "word = 'good'\n");
    }
    sandbox.commit();
    begin(&sandbox);
    sandbox.tool_write("app.py", EDITED);
    for (name, bytes, _) in unreadable() {
        write_bytes(&sandbox.path(name), &bytes);
    }
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{told}");
    for (name, _, reason) in unreadable() {
        assert!(told.contains(&format!("{name} ({reason})")), "{name}: {told}");
    }
}

#[test]
fn what_was_unreadable_at_the_base_is_measured_once_it_is_text() {
    let sandbox = with_past();
    for (name, bytes, _) in unreadable() {
        write_bytes(&sandbox.path(name), &bytes);
    }
    sandbox.commit();
    begin(&sandbox);
    sandbox.tool_write("app.py", EDITED);
    for (name, ..) in unreadable() {
        sandbox.tool_write(name, DIRTY);
    }
    let reason = stop(&sandbox, "finished").expect("all of them are dirty");
    assert!(reason.contains("4 errors") && !reason.contains("error app.py"), "{reason}");
    for (name, ..) in unreadable() {
        sandbox.tool_write(name, FIXED);
    }
    // The guard could not compare the tests.
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{told}");
    for (name, _, reason) in unreadable() {
        assert!(told.contains(&format!("{name} (was {reason})")), "{name}: {told}");
    }
}
