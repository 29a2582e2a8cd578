//! TODOs that are worked on in worktrees of their own, as loops, and merged as the loop merges.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{GOAL, approve, notice, pipeline, plan_path, slash, status, stop, stop_output};
use crate::support::{Output, SESSION, Sandbox, finish, write_file};

const PLAN: &str = "\
# PLAN: three files

### [ ] TODO 1: the first file
- Files: one.txt
- [A] `test -f one.txt`

### [ ] TODO 2: the second file
- Files: two.txt
- [A] `grep -q two two.txt`

### [ ] TODO 3: the third file
- Dependencies: TODO-1
- Files: three.txt
- [A] `test -f three.txt`
";

/// A worktree with the session that is opened in it.
struct Tree {
    root: PathBuf,
    session: &'static str,
}

impl Tree {
    fn command(&self, sandbox: &Sandbox) -> std::process::Command {
        let mut command = sandbox.program();
        command.current_dir(&self.root).env("CLAUDE_PROJECT_DIR", &self.root);
        command
    }

    fn hook(&self, sandbox: &Sandbox, event: &str, mut input: Value) -> Output {
        input["session_id"] = self.session.into();
        input["cwd"] = self.root.to_str().into();
        let output = finish(self.command(sandbox).args(["hook", event]), &input.to_string());
        assert_eq!(output.code, 0, "{output:#?}");
        output
    }

    /// The first prompt, with which the session takes the loop.
    fn prompt(&self, sandbox: &Sandbox) -> String {
        let input = sandbox.payload("UserPromptSubmit");
        self.hook(sandbox, "user-prompt-submit", input).context()
    }

    /// The reason when its Stop is held.
    fn stop(&self, sandbox: &Sandbox) -> Option<String> {
        let output = self.hook(sandbox, "stop", sandbox.payload("Stop"));
        let answer = if output.stdout.trim().is_empty() { Value::Null } else { output.json() };
        (answer["decision"] == "block").then(|| answer["reason"].to_string())
    }

    /// Whether a write of this file is denied.
    fn is_denied(&self, sandbox: &Sandbox, file: &str) -> bool {
        let mut input = sandbox.payload("PreToolUse-Edit");
        input["tool_name"] = "Write".into();
        input["tool_input"] = json!({"file_path": self.root.join(file), "content": "x"});
        !self.hook(sandbox, "pre-tool-use", input).stdout.trim().is_empty()
    }

    fn write(&self, file: &str, text: &str) {
        write_file(&self.root.join(file), text);
    }

    fn commit(&self, sandbox: &Sandbox) {
        for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", "work"]] {
            let mut command = std::process::Command::new("git");
            sandbox.prepare(&mut command);
            let output = finish(command.current_dir(&self.root).args(arguments), "");
            assert_eq!(output.code, 0, "{output:#?}");
        }
    }

    fn run(&self, sandbox: &Sandbox, arguments: &[&str]) -> Output {
        finish(self.command(sandbox).args(arguments), "")
    }
}

/// A pipeline with this plan, which is approved and committed, for two workers.
fn parallel(plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("readme.txt", "a project\n");
    sandbox.commit();
    let arguments =
        ["start", "--kind", "small", "--goal", GOAL, "--workers", "2", "--session", SESSION];
    let output = pipeline(&sandbox, &arguments);
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox.write(&plan_path(&sandbox), plan);
    sandbox.commit();
    approve(&sandbox);
    sandbox
}

/// The worktree at work on a TODO.
fn tree(sandbox: &Sandbox, todo: &str, session: &'static str) -> Tree {
    let status = status(sandbox);
    let trees = status["worktrees"].as_array().cloned().unwrap_or_default();
    let is_it = |tree: &&Value| tree["todo"] == todo && tree["stage"] == "working";
    let tree = trees.iter().find(is_it).unwrap_or_else(|| panic!("{todo}: {status:#}"));
    Tree { root: tree["root"].as_str().expect("a root").into(), session }
}

const ONE: &str = "11111111-0000-4000-8000-000000000001";
const TWO: &str = "22222222-0000-4000-8000-000000000002";

/// Whether the main agent is kept from writing a file.
fn main_denial(sandbox: &Sandbox, file: &str) -> String {
    let mut input = sandbox.payload("PreToolUse-Edit");
    input["tool_name"] = "Write".into();
    input["tool_input"] = json!({"file_path": sandbox.path(file), "content": "x"});
    sandbox.hook("pre-tool-use", &input).stdout
}

#[test]
fn independent_todos_go_through_worktrees_into_the_branch_of_the_pipeline() {
    let sandbox = parallel(PLAN);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("TODO-1 in ") && shown.contains("waits for a session"), "{shown}");
    // The main session waits: it is not held, and no agent may write source files there.
    for _ in 0..3 {
        let answer = stop_output(&sandbox);
        assert!(notice(&answer).contains("TODO-2 in "), "{answer}");
    }
    assert!(main_denial(&sandbox, "one.txt.py").contains("worktrees"));
    assert_eq!(main_denial(&sandbox, "docs/a.md"), "");

    let told = one.prompt(&sandbox);
    assert!(told.contains("TODO-1") && told.contains("test -f one.txt"), "{told}");
    assert!(!told.contains("two.txt"), "{told}");
    assert!(two.prompt(&sandbox).contains("TODO-2"));
    assert!(one.is_denied(&sandbox, "two.txt.py") && two.is_denied(&sandbox, "src/x.py"));
    assert!(!one.is_denied(&sandbox, "one.txt"));
    // A full path leads out of the worktree.
    for outside in [sandbox.path("one.txt"), sandbox.path("check.sh"), two.root.join("one.txt")] {
        let outside = outside.to_string_lossy();
        assert!(one.is_denied(&sandbox, &outside), "{outside}");
    }
    assert!(!one.is_denied(&sandbox, "/tmp/notes.txt"));
    let held = one.stop(&sandbox).expect("one.txt is missing");
    assert!(held.contains("one.txt"), "{held}");
    one.write("one.txt", "one\n");
    one.commit(&sandbox);
    assert_eq!(one.stop(&sandbox), None);
    assert_eq!(sandbox.read("one.txt"), "one\n", "merged");

    // The pipeline's own run sets the box, and what became ready goes to the worktree that is free.
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("TODO-3 in "), "{answer}");
    assert!(sandbox.read(&plan_path(&sandbox)).contains("### [x] TODO 1"));
    let three = tree(&sandbox, "TODO-3", ONE);
    assert_eq!(three.root, one.root);
    assert!(three.prompt(&sandbox).contains("TODO-3"));
    assert!(three.is_denied(&sandbox, "one.txt.py"));
    three.write("three.txt", "three\n");
    three.commit(&sandbox);
    assert_eq!(three.stop(&sandbox), None);
    // The plan has a box that is not committed, which is no obstacle.
    two.write("two.txt", "two\n");
    two.commit(&sandbox);
    assert_eq!(two.stop(&sandbox), None);
    assert_eq!(sandbox.read("two.txt"), "two\n");

    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("3 of 3 TODOs pass"), "{answer}");
    assert_eq!(status(&sandbox)["outcome"], "completed");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert_eq!(report.matches(": merged").count(), 3, "{report}");
}

#[test]
fn a_loop_that_ends_without_a_merge_is_a_failed_attempt_and_its_worktree_stays() {
    let sandbox = parallel(PLAN);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.write("wrong.txt", "wrong\n");
    one.commit(&sandbox);
    assert_eq!(one.run(&sandbox, &["loop", "cancel"]).code, 0);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("TODO-1 in "), "there is a new one: {answer}");
    let again = tree(&sandbox, "TODO-1", ONE);
    assert!(again.root != one.root && one.root.is_dir());
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("not merged: cancelled"), "{report}");
    assert!(report.contains("its worktree was not merged"), "{report}");
}

#[test]
fn work_that_conflicts_with_what_was_merged_is_the_task_of_its_worktree() {
    let plan = PLAN.replace("- Files: one.txt\n", "").replace("- Files: two.txt\n", "");
    let sandbox = parallel(&plan);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, text) in [(&one, "one\n"), (&two, "two\n")] {
        tree.prompt(&sandbox);
        tree.write("shared.txt", text);
        tree.write(if text == "one\n" { "one.txt" } else { "two.txt" }, text);
        tree.commit(&sandbox);
    }
    assert_eq!(one.stop(&sandbox), None);
    let held = two.stop(&sandbox).expect("a conflict");
    assert!(held.contains("shared.txt"), "{held}");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("TODO-2 in "), "it is still at work: {answer}");
}

#[test]
fn a_cancelled_pipeline_ends_its_worktrees_and_names_those_with_unmerged_work() {
    let sandbox = parallel(PLAN);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    one.prompt(&sandbox);
    one.write("one.txt", "one\n");
    one.commit(&sandbox);
    let output = pipeline(&sandbox, &["cancel"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stdout.contains("TODO-1 stays in "), "{output:#?}");
    assert!(!output.stdout.contains("TODO-2"), "{output:#?}");
    assert!(one.root.join("one.txt").is_file() && !two.root.exists());
    assert_eq!(one.stop(&sandbox), None, "nothing holds it any more");
    assert!(!one.is_denied(&sandbox, "other.py"));
    assert_eq!(one.run(&sandbox, &["loop", "status", "--json"]).json()["status"], "cancelled");
}

#[test]
fn worktrees_are_refused_where_they_cannot_be_sound() {
    let sandbox = Sandbox::new();
    let start = |options: &[&str]| {
        pipeline(&sandbox, &[&["start", "--goal", "x", "--workers", "2"], options].concat())
    };
    std::fs::remove_dir_all(sandbox.path(".git")).expect("the sandbox has a repository");
    assert!(start(&[]).stderr.contains("git"), "{:#?}", start(&[]));
    sandbox.write("readme.txt", "a project\n");
    sandbox.git(&["init", "-q", "-b", "main"]);
    sandbox.commit();
    for (options, reason) in [(["--solo", "--"], "--solo"), (["--kind", "bugfix"], "bugfix")] {
        let options: Vec<&str> = options.into_iter().filter(|it| *it != "--").collect();
        let output = start(&options);
        assert_eq!(output.code, 1, "{output:#?}");
        assert!(output.stderr.contains(reason), "{output:#?}");
    }
    for number in ["0", "9"] {
        let arguments = ["start", "--goal", "x", "--workers", number];
        assert_eq!(pipeline(&sandbox, &arguments).code, 3);
        let answer = slash(&sandbox, "alfred", &format!("--workers {number} a goal"));
        assert!(answer["reason"].to_string().contains("between 1 and 8"), "{answer}");
    }
    sandbox.write("readme.txt", "changed\n");
    let output = start(&[]);
    assert!(output.stderr.contains("readme.txt is not committed"), "{output:#?}");
    assert_eq!(pipeline(&sandbox, &["status", "--json"]).stdout.trim(), "null");
}

#[test]
fn without_room_for_worktrees_the_todos_are_for_workers_in_place() {
    let sandbox = parallel(PLAN);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, name, text) in [(&one, "one.txt", "one\n"), (&two, "two.txt", "two\n")] {
        tree.prompt(&sandbox);
        tree.write(name, text);
        tree.commit(&sandbox);
        assert_eq!(tree.stop(&sandbox), None);
    }
    sandbox.write("readme.txt", "not committed\n");
    let reason = stop(&sandbox).expect("TODO-3 is open, and nobody works on it");
    assert!(reason.contains("three.txt") && reason.contains("TODO-3"), "{reason}");
    let answer = slash(&sandbox, "pipeline-status", "").to_string();
    assert!(answer.contains("[x] TODO-2"), "{answer}");
}
