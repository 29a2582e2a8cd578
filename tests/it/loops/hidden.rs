//! Files that a `.gitignore` written during a loop excludes are measured all the same.

use super::{DIRTY, looping, shell, status, stop};

fn held(ignore_file: &str, rules: &str) {
    let sandbox = looping(&["--until", "diagnostics", "--max-iterations", "9"]);
    shell(&sandbox, || {
        sandbox.write("part/bad.py", DIRTY);
        sandbox.write(ignore_file, rules);
    });
    let reason = stop(&sandbox, "finished").expect("the hidden file holds the loop");
    assert!(reason.contains("part/bad.py:1:9"), "{reason}");
    assert_eq!(status(&sandbox)["status"], "running");
}

#[test]
fn a_file_that_the_loop_made_and_then_ignored_is_measured() {
    held(".gitignore", "bad.py\n");
}

#[test]
fn rules_that_exclude_themselves_hide_nothing() {
    held("part/.gitignore", "*\n");
}

#[test]
fn a_file_that_was_ignored_before_the_loop_is_not_measured() {
    let sandbox = super::project();
    sandbox.write(".gitignore", "local.py\n");
    sandbox.write("local.py", DIRTY);
    sandbox.commit();
    let options = ["--until", "diagnostics", "--max-iterations", "9"];
    assert_eq!(super::start(&sandbox, &options).code, 0);
    shell(&sandbox, || {
        sandbox.write("app.py", super::FIXED);
        sandbox.write(".gitignore", "local.py\nother.py\n");
    });
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}
