//! Where the branch of a loop starts when another loop was here before it, or is here still.

use super::{FIXED, commit_in, git, project, start, status, stop};
use crate::support::{Output, Sandbox};

const AUTONOMOUS: [&str; 3] = ["--mode", "autonomous", "--no-research"];

/// An autonomous loop that was merged; its branch, which is still checked out.
fn merged(sandbox: &Sandbox) -> String {
    assert_eq!(start(sandbox, &AUTONOMOUS).code, 0);
    sandbox.write("app.py", FIXED);
    commit_in(sandbox, &sandbox.root(), "a better word");
    assert_eq!(stop(sandbox, "finished"), None);
    assert_eq!(status(sandbox)["status"], "completed");
    git(sandbox, &["branch", "--show-current"])
}

fn refused(output: &Output) -> &str {
    assert_eq!(output.code, 1, "{output:#?}");
    &output.stderr
}

#[test]
fn after_a_merged_loop_the_next_one_goes_where_that_went() {
    let sandbox = project();
    let first = merged(&sandbox);
    let begun = start(&sandbox, &AUTONOMOUS);
    assert_eq!(begun.code, 0, "{begun:#?}");
    assert_ne!(git(&sandbox, &["branch", "--show-current"]), first);
    assert_eq!(git(&sandbox, &["rev-parse", "HEAD"]), git(&sandbox, &["rev-parse", "main"]));
    sandbox.write("second.py", FIXED);
    commit_in(&sandbox, &sandbox.root(), "more");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(git(&sandbox, &["show", "main:second.py"]), FIXED.trim());
    let begun = start(&sandbox, &[&AUTONOMOUS[..], &["--workers", "1"]].concat());
    assert_eq!(begun.code, 0, "{begun:#?}");
    let worker = begun.json()["workers"][0]["branch"].as_str().expect("a branch").to_owned();
    assert_eq!(git(&sandbox, &["rev-parse", &worker]), git(&sandbox, &["rev-parse", "main"]));
}

#[test]
fn on_the_branch_of_a_loop_that_is_not_merged_a_base_must_be_named() {
    let sandbox = project();
    let first = merged(&sandbox);
    sandbox.write("more.py", FIXED);
    commit_in(&sandbox, &sandbox.root(), "by a person, on top");
    let workers = [&AUTONOMOUS[..], &["--workers", "1"]].concat();
    for options in [&AUTONOMOUS[..], &workers] {
        let output = start(&sandbox, options);
        let said = refused(&output);
        assert!(said.contains(&first) && said.contains("--base-branch"), "{said}");
    }
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), first);
    assert_eq!(git(&sandbox, &["worktree", "list"]).lines().count(), 1);
    let named = start(&sandbox, &[&AUTONOMOUS[..], &["--base-branch", &first]].concat());
    assert_eq!(named.code, 0, "{named:#?}");
}

#[test]
fn a_branch_that_only_looks_like_one_of_a_loop_is_not_taken_as_a_base_unasked() {
    let sandbox = project();
    git(&sandbox, &["switch", "-q", "-c", "gulf/auto-1-ab"]);
    let output = start(&sandbox, &AUTONOMOUS);
    assert!(refused(&output).contains("git switch"), "{output:#?}");
}
