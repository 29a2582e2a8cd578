//! Autonomous loops on their own branches, and workers next to the project.

use std::fs;

use serde_json::json;

use super::{DIRTY, FIXED, blocked, git, project, start, status, stop};
use crate::support::{SESSION, Sandbox};

const AUTONOMOUS: [&str; 3] = ["--mode", "autonomous", "--no-research"];

fn commit_all(sandbox: &Sandbox, message: &str) {
    git(sandbox, &["add", "-A"]);
    git(sandbox, &["commit", "-q", "-m", message]);
}

#[test]
fn an_autonomous_loop_works_on_its_branch_and_is_merged_when_it_is_done() {
    let sandbox = project();
    let base = git(&sandbox, &["branch", "--show-current"]);
    let begun = start(&sandbox, &AUTONOMOUS);
    assert_eq!(begun.code, 0, "{begun:#?}");
    let branch = begun.json()["branch"].as_str().expect("a branch").to_owned();
    assert!(branch.starts_with("gulf/auto-"), "{branch}");
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), branch);
    sandbox.write("app.py", DIRTY);
    commit_all(&sandbox, "a try");
    assert!(stop(&sandbox, "finished").expect("dirty").contains("nobody is watching"));
    sandbox.write("app.py", FIXED);
    let reason = stop(&sandbox, "finished").expect("it is not committed");
    assert!(reason.contains("is not merged into") && reason.contains("app.py"), "{reason}");
    commit_all(&sandbox, "a better word");
    assert_eq!(stop(&sandbox, "finished"), None);
    let ended = status(&sandbox);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_eq!(git(&sandbox, &["show", &format!("{base}:app.py")]), FIXED.trim());
    let parents = git(&sandbox, &["log", "-1", "--format=%p", &base]);
    assert_eq!(parents.split_whitespace().count(), 2, "merged with a commit of its own: {parents}");
}

#[test]
fn a_base_that_moved_is_rebased_onto_and_a_conflict_is_the_next_task() {
    let sandbox = project();
    let base = git(&sandbox, &["branch", "--show-current"]);
    let begun = start(&sandbox, &AUTONOMOUS).json();
    let branch = begun["branch"].as_str().expect("a branch").to_owned();
    git(&sandbox, &["switch", "-q", &base]);
    sandbox.write("app.py", "word = 'fine'\n");
    commit_all(&sandbox, "somebody else");
    git(&sandbox, &["switch", "-q", &branch]);
    sandbox.write("app.py", FIXED);
    commit_all(&sandbox, "a better word");
    let reason = stop(&sandbox, "finished").expect("both changed the line");
    assert!(reason.contains("app.py") && reason.contains(&base), "{reason}");
    assert_eq!(sandbox.read("app.py"), FIXED, "the files are as the agent left them");
    assert_eq!(status(&sandbox)["status"], "running");
}

#[test]
fn without_git_no_autonomous_loop_begins() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    sandbox.write("app.py", FIXED);
    let refused = start(&sandbox, &AUTONOMOUS);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert_eq!(sandbox.run(&["loop", "status", "--json"]).stdout.trim(), "null");
}

#[test]
fn workers_have_a_tree_a_branch_and_a_loop_that_a_session_there_claims() {
    let sandbox = project();
    let before = git(&sandbox, &["branch", "--show-current"]);
    let options = [&AUTONOMOUS[..], &["--workers", "2"]].concat();
    let begun = start(&sandbox, &options);
    assert_eq!(begun.code, 0, "{begun:#?}");
    let workers = begun.json();
    assert_eq!(workers["schema"], "moai-ralph/workers@1");
    let roots: Vec<&str> = workers["workers"]
        .as_array()
        .expect("workers")
        .iter()
        .filter_map(|worker| worker["root"].as_str())
        .collect();
    assert_eq!(roots.len(), 2);
    assert_eq!(git(&sandbox, &["branch", "--show-current"]), before, "this tree stays");
    let shown = sandbox.run(&["loop", "status"]).stdout;
    assert_eq!(shown.matches("worker ").count(), 2, "{shown}");
    let there = std::path::Path::new(roots[0]);
    crate::support::write_file(&there.join("app.py"), DIRTY);
    let mut input = sandbox.payload("Stop");
    input["cwd"] = json!(there);
    let mut other = sandbox.program();
    other.current_dir(there).env("CLAUDE_PROJECT_DIR", there).args(["hook", "stop"]);
    let output = crate::support::finish(&mut other, &input.to_string());
    let reason = blocked(&output).expect("the session owns the loop of this worker");
    assert!(reason.contains("bad word"), "{reason}");
    let running = sandbox.run(&["--root", roots[0], "loop", "status", "--json"]).json();
    assert_eq!((&running["session_id"], &running["status"]), (&json!(SESSION), &json!("running")));
}
