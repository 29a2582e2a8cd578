//! A loop is not lost silently: neither a marked folder above its root nor a new session id
//! detaches it from its session without a notice.

use std::fs;

use super::{DIRTY, looping, project, start, status, stop};

#[test]
fn a_marked_folder_above_the_repository_does_not_take_the_loop_away() {
    let sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    let above = sandbox.root().parent().expect("the base").join(".moai");
    fs::create_dir(above).expect("ours");
    assert_eq!(status(&sandbox)["status"], "running");
    let reason = stop(&sandbox, "finished").expect("the loop holds its session");
    assert!(reason.contains("app.py:1:9"), "{reason}");
}

#[test]
fn without_git_a_marked_folder_above_does_not_take_the_loop_away() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", DIRTY);
    fs::create_dir(sandbox.root().parent().expect("the base").join(".moai")).expect("ours");
    let reason = stop(&sandbox, "finished").expect("the loop holds its session");
    assert!(reason.contains("app.py:1:9"), "{reason}");
}
