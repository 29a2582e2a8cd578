//! The notes of loops in the worktrees of TODOs: they hold no merge, keep no worktree, and reach no later task.

use super::worktrees::{ONE, PLAN, TWO, TWO_TODOS, parallel, parallel_with, tree};
use super::{notice, pipeline, plan_path, status, stop_output};

fn notes(todo: &str) -> String {
    format!(
        "ORIGINAL_GOAL: {todo}\nDECISIONS:\n- chose: {todo}, rejected: b, reason: c\nREMAINING_GAP:\n- read {todo}\n"
    )
}

#[test]
fn notes_that_two_todos_committed_do_not_hold_their_merges() {
    let sandbox = parallel(TWO_TODOS);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, todo) in [(&one, "one"), (&two, "two")] {
        tree.prompt(&sandbox);
        tree.write("progress.txt", &notes(todo));
        tree.write("decisions.md", todo);
        tree.work(&sandbox, &format!("{todo}.txt"));
        tree.write("progress.txt", &format!("{}- again\n", notes(todo)));
        tree.work(&sandbox, &format!("docs/{todo}.md"));
    }
    for tree in [&one, &two] {
        assert_eq!(tree.stop(&sandbox), None);
    }
    assert_eq!(sandbox.read("two.txt"), "two\n", "merged");
    for name in ["progress.txt", "decisions.md"] {
        assert!(!sandbox.path(name).exists(), "{name}");
    }
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("2 of 2 TODOs pass"), "{answer}");
    assert!(!notice(&answer).contains("stays in"), "{answer}");
    assert!(!one.root.exists() && !two.root.exists(), "they hold nothing but notes");
}

#[test]
fn notes_that_the_project_tracks_stay_as_the_base_has_them() {
    let sandbox = parallel_with(TWO_TODOS, |sandbox| {
        sandbox.write("progress.txt", "of the project\n");
    });
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, todo) in [(&one, "one"), (&two, "two")] {
        tree.prompt(&sandbox);
        tree.write("progress.txt", &notes(todo));
        tree.work(&sandbox, &format!("{todo}.txt"));
        assert_eq!(tree.stop(&sandbox), None);
    }
    assert_eq!(sandbox.read("progress.txt"), "of the project\n");
    assert_eq!(sandbox.read("two.txt"), "two\n");
}

#[test]
fn a_reused_worktree_has_no_notes_of_the_earlier_todo() {
    let sandbox = parallel(PLAN);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.write("progress.txt", &notes("the first"));
    one.work(&sandbox, "one.txt");
    one.write("progress.txt", &notes("the first, again"));
    assert_eq!(one.stop(&sandbox), None);
    let answer = stop_output(&sandbox);
    assert!(!notice(&answer).contains("stays in"), "{answer}");
    let three = tree(&sandbox, "TODO-3", TWO);
    assert_eq!(three.root, one.root, "it is free");
    for name in ["progress.txt", "decisions.md", ".claude/gulf-align.md"] {
        assert!(!three.root.join(name).exists(), "{name}");
    }
    three.prompt(&sandbox);
    let held = three.stop(&sandbox).expect("three.txt is missing");
    assert!(!held.contains("read the first"), "{held}");
}

#[test]
fn a_resumed_pipeline_knows_what_was_merged_before_it_was_cancelled() {
    let sandbox = parallel(TWO_TODOS);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    assert_eq!(one.stop(&sandbox), None);
    assert_eq!(sandbox.read("one.txt"), "two\n", "merged");
    for command in ["cancel", "report", "resume"] {
        let output = pipeline(&sandbox, &[command]);
        assert_eq!(output.code, 0, "{output:#?}");
        assert!(!output.stdout.contains("folder is gone"), "{output:#?}");
        let is_unmerged = |line: &str| line.contains("TODO-1 in ") && line.contains("not merged");
        assert!(!output.stdout.lines().any(is_unmerged), "{output:#?}");
        let trees = status(&sandbox)["worktrees"].as_array().cloned().unwrap_or_default();
        let of_one = trees.iter().find(|tree| tree["todo"] == "TODO-1").expect("it had one");
        assert_eq!(of_one["stage"], "merged", "{command}");
    }
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("merged; the next Stop of the project's session"), "{shown}");
    let input = sandbox.payload("UserPromptSubmit");
    sandbox.hook("user-prompt-submit", &input);
    let answer = stop_output(&sandbox);
    assert!(!notice(&answer).contains("TODO-1"), "{answer}");
    assert!(sandbox.read(&plan_path(&sandbox)).contains("### [x] TODO 1"));
    let trees = status(&sandbox)["worktrees"].as_array().cloned().unwrap_or_default();
    let of_one: Vec<_> = trees.iter().filter(|tree| tree["todo"] == "TODO-1").collect();
    assert_eq!(of_one.len(), 1, "it was not given out again: {trees:?}");
    assert_eq!(of_one[0]["stage"], "merged");
}
