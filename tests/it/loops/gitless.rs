//! Loops with a judge in a folder without git: the judge sees the changes since the start.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

use super::judged::{judge, prompts, says};
use super::{CLEAN, DIRTY, FIXED, project, start, status, stop};
use crate::support::{PATIENCE, Sandbox, eventually};

/// A loop in a folder without git, judged by a script.
fn judged() -> Sandbox {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    sandbox.write(
        ".moai/config/sections/ralph.yaml",
        "ralph: {judge: {backend: command, command: [ask-model]}}\n",
    );
    sandbox.write("RUBRIC.md", "## Judge criteria\n- The word is sensible.\n");
    judge(&sandbox);
    sandbox
}

fn begin(sandbox: &Sandbox) {
    let output = start(sandbox, &["--mode", "judge", "--no-research"]);
    assert_eq!(output.code, 0, "{output:#?}");
}

#[test]
fn the_judge_is_shown_what_changed_since_the_start_and_its_approval_completes() {
    let sandbox = judged();
    sandbox.write("same.py", "unchanged = 1\n");
    sandbox.write("gone.py", "going = 1\n");
    begin(&sandbox);
    sandbox.write("app.py", FIXED);
    sandbox.write("new.py", "coming = 1\n");
    fs::remove_file(sandbox.path("gone.py")).expect("there");
    let reason = stop(&sandbox, "finished").expect("it is rejected");
    assert!(reason.contains("The judge did not approve:"), "{reason}");
    says(&sandbox, "met");
    sandbox.write("new.py", "coming = 2\n");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
    let shown = prompts(&sandbox);
    for part in [CLEAN.trim(), FIXED.trim(), "coming = 2", "going = 1"] {
        assert!(shown.contains(part), "{part} was not shown: {shown}");
    }
    for part in ["same.py", "RUBRIC.md", "JUDGE_FEEDBACK"] {
        assert!(!shown.contains(part), "{part} was shown: {shown}");
    }
}

#[test]
fn a_loop_that_changed_nothing_is_not_approved() {
    let sandbox = judged();
    says(&sandbox, "met");
    begin(&sandbox);
    let reason = stop(&sandbox, "finished").expect("it is asked why");
    assert!(reason.contains("No file changed"), "{reason}");
    assert_eq!(stop(&sandbox, "finished"), None);
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "completed_unverified", "{ended:#}");
    assert_eq!(prompts(&sandbox), "");
}

#[test]
fn a_file_too_large_to_be_kept_is_missed_when_it_was_touched_and_only_then() {
    for (is_touched, expected) in [(false, "completed"), (true, "completed_unverified")] {
        let sandbox = judged();
        says(&sandbox, "met");
        let large = fs::File::create(sandbox.path("large.bin")).expect("the sandbox is ours");
        large.set_len(17 * 1024 * 1024).expect("it is sparse");
        // A file changed in the second of the start may have changed after it.
        let at = large.metadata().expect("there").ctime();
        let is_over = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch");
            (since.as_secs() > at.unsigned_abs()).then_some(())
        };
        eventually(PATIENCE, is_over).expect("time goes by");
        begin(&sandbox);
        sandbox.write("app.py", FIXED);
        if is_touched {
            large.set_len(18 * 1024 * 1024).expect("it is sparse");
        }
        for _ in 0..3 {
            if stop(&sandbox, "finished").is_none() {
                break;
            }
        }
        let ended = status(&sandbox);
        assert_eq!(ended["status"], expected, "{ended:#}");
    }
}

#[test]
fn a_restore_brings_back_the_files_of_a_repository_below() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    sandbox.write("part/.git/HEAD", "ref: refs/heads/main\n");
    sandbox.write("part/b.py", CLEAN);
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", DIRTY);
    sandbox.write("part/b.py", FIXED);
    assert!(stop(&sandbox, "finished").is_some());
    sandbox.write("part/b.py", "word = 'other'\n");
    let id = status(&sandbox)["id"].as_str().expect("an id").to_owned();
    let output = sandbox.run(&["loop", "restore", &id, "--to", "1", "--apply"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(sandbox.read("part/b.py"), FIXED);
}
