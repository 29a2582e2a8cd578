//! A pipeline whose TODOs are done at the same time, each by a session of the host in a separate worktree.

use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use crate::host::{Run, checkout, resume, run, run_in};
use crate::model::Turn;
use crate::support::Sandbox;

const PLAN: &str = "\
# PLAN: greetings

### [ ] TODO 1: say hello
- Files: src/hello.txt
- [A] `grep -q hello src/hello.txt`

### [ ] TODO 2: say bye
- Files: src/bye.txt
- [A] `grep -q bye src/bye.txt`
";

fn status(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["pipeline", "status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

/// The worktree of a TODO.
fn worktree(sandbox: &Sandbox, todo: &str) -> PathBuf {
    let now = status(sandbox);
    let trees = now["worktrees"].as_array().cloned().unwrap_or_default();
    let tree = trees.iter().find(|tree| tree["todo"] == todo && tree["stage"] == "working");
    let root = tree.and_then(|tree| tree["root"].as_str());
    root.unwrap_or_else(|| panic!("{todo} has no worktree: {now:#}")).into()
}

/// A session in the worktree of a TODO: it forgets the commit at first, and tries to write a file of the other.
fn play(sandbox: &Sandbox, todo: &str, own: &str, other: &str) -> Run {
    let root = worktree(sandbox, todo);
    let turns = vec![
        Turn::write(&root.join(format!("src/{other}.txt")), "mine\n"),
        Turn::write(&root.join(format!("src/{own}.txt")), &format!("{own}\n")),
        Turn::text("It is done."),
        Turn::bash("git add -A && git commit -qm 'Greet'"),
        Turn::text("It is committed."),
    ];
    run_in(sandbox, &root, "do your part", turns)
}

#[test]
fn two_sessions_do_two_todos_in_worktrees_and_both_are_merged() {
    let sandbox = Sandbox::new();
    sandbox.write("src/readme.txt", "greetings\n");
    sandbox.commit();
    let start = "/moai-ralph:alfred --kind small --workers 2 greet people";
    let plan = sandbox.path(".moai/specs/SPEC-GREET-001/plan.md");
    let planning = vec![Turn::write(&plan, PLAN), Turn::text("The plan is ready.")];
    let begun = run(&sandbox, checkout(), start, planning);
    begun.assert_finished();
    assert_eq!(status(&sandbox)["phase"], "plan");

    let session = begun.session_id();
    let turns = vec![
        Turn::write(&sandbox.path("src/hello.txt"), "hello\n"),
        Turn::text("Others are at work."),
    ];
    let approved = resume(&sandbox, &session, "/moai-ralph:moai-run", turns);
    approved.assert_finished();
    approved.assert_first_told_in(1, "TODO-2 in ");
    approved.assert_first_told_in(2, "blocked: ");

    let trees = [worktree(&sandbox, "TODO-1"), worktree(&sandbox, "TODO-2")];
    let runs = thread::scope(|scope| {
        let one = scope.spawn(|| play(&sandbox, "TODO-1", "hello", "bye"));
        let two = scope.spawn(|| play(&sandbox, "TODO-2", "bye", "hello"));
        [one.join().expect("a run"), two.join().expect("a run")]
    });
    for (run, todo) in runs.iter().zip(["TODO-1", "TODO-2"]) {
        run.assert_finished();
        run.assert_first_told_in(1, &format!("Do {todo} of the plan"));
        run.assert_first_told_in(2, "It belongs to no open TODO");
        run.assert_first_told_in(4, "Commit the files of this work");
    }
    for (name, word) in [("src/hello.txt", "hello\n"), ("src/bye.txt", "bye\n")] {
        assert_eq!(sandbox.read(name), word, "merged");
    }

    let ended = resume(&sandbox, &session, "go on", vec![Turn::text("Everything is merged.")]);
    ended.assert_finished();
    let now = status(&sandbox);
    if (&now["outcome"], &now["todos"]["done"]) != (&json!("completed"), &json!(2)) {
        ended.fail(&format!("the pipeline is not completed: {now:#}"));
    }
    assert_eq!(sandbox.read(".moai/specs/SPEC-GREET-001/plan.md"), PLAN.replace("[ ]", "[x]"));
    assert!(trees.iter().all(|tree| !tree.exists()), "nothing is left but merged work");
}
