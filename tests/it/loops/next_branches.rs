//! The start of a loop's branch when another loop ran or still runs here.

use super::{DIRTY, FIXED, commit_in, git, project, start, status, stop};
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

#[test]
fn a_second_autonomous_loop_in_one_work_tree_is_refused() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &AUTONOMOUS).code, 0);
    let (id, branch) =
        (status(&sandbox)["id"].clone(), git(&sandbox, &["branch", "--show-current"]));
    sandbox.write("app.py", DIRTY);
    let other = ["loop", "start", "--session", "22222222-0000-4000-8000-000000000000"];
    let arguments = [&other[..], &["--prompt", "x", "--base-branch", "main"], &AUTONOMOUS].concat();
    let output = sandbox.run(&arguments);
    let said = refused(&output);
    assert!(said.contains(id.as_str().expect("an id")), "{said}");
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), branch);
    assert_eq!(git(&sandbox, &["branch", "--list", "gulf/*"]).lines().count(), 1);
    assert_eq!(sandbox.read("app.py"), DIRTY);
    let workers = sandbox.run(&[&arguments[..], &["--workers", "1"]].concat());
    assert_eq!(workers.code, 0, "work trees of their own: {workers:#?}");
    sandbox.run(&["loop", "cancel"]);
    git(&sandbox, &["checkout", "-q", "app.py"]);
    let output = sandbox.run(&arguments);
    assert_eq!(output.code, 0, "nobody is at work any more: {output:#?}");
}

#[test]
fn one_that_is_over_does_not_come_back_beside_another_with_a_branch() {
    let sandbox = project();
    assert_eq!(start(&sandbox, &[&AUTONOMOUS[..], &["--max-iterations", "1"]].concat()).code, 0);
    sandbox.write("app.py", DIRTY);
    assert_eq!(stop(&sandbox, "finished"), None);
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "max_iterations");
    git(&sandbox, &["checkout", "-q", "app.py"]);
    let other = ["loop", "start", "--session", "22222222-0000-4000-8000-000000000000"];
    let arguments = [&other[..], &["--prompt", "x", "--base-branch", "main"], &AUTONOMOUS].concat();
    assert_eq!(sandbox.run(&arguments).code, 0);
    let second = sandbox.run(&["loop", "status", "--json"]).json();
    let id = |of: &serde_json::Value| of["id"].as_str().expect("an id").to_owned();
    let back = ["loop", "resume", &id(&ended), "--max-iterations", "5"];
    let output = sandbox.run(&back);
    assert!(refused(&output).contains(&id(&second)), "{output:#?}");
    assert_eq!(sandbox.run(&["loop", "cancel", &id(&second)]).code, 0);
    let output = sandbox.run(&back);
    assert_eq!(output.code, 0, "nobody is at work any more: {output:#?}");
}
