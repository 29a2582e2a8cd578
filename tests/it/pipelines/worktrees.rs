//! TODOs with a worktree each, worked on as loops, and merged like a loop.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::{GOAL, approve, notice, pipeline, plan_path, slash, status, stop, stop_output};
use crate::loops::escapes::database;
use crate::support::{Output, SESSION, Sandbox, eventually, finish, write_file};

pub(super) const PLAN: &str = "\
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

pub(super) const TWO_TODOS: &str = "\
# PLAN: two files

### [ ] TODO 1: the first file
- Files: one.txt
- [A] `test -f one.txt`

### [ ] TODO 2: the second file
- Files: two.txt
- [A] `grep -q two two.txt`
";

/// A worktree with the session that is opened in it.
pub(super) struct Tree {
    pub(super) root: PathBuf,
    pub(super) session: &'static str,
}

impl Tree {
    fn command(&self, sandbox: &Sandbox) -> std::process::Command {
        let mut command = sandbox.program();
        command.current_dir(&self.root).env("CLAUDE_PROJECT_DIR", &self.root);
        command
    }

    pub(super) fn hook(&self, sandbox: &Sandbox, event: &str, mut input: Value) -> Output {
        input["session_id"] = self.session.into();
        input["cwd"] = self.root.to_str().into();
        let output = finish(self.command(sandbox).args(["hook", event]), &input.to_string());
        assert_eq!(output.code, 0, "{output:#?}");
        output
    }

    /// The first prompt, with which the session takes the loop.
    pub(super) fn prompt(&self, sandbox: &Sandbox) -> String {
        let input = sandbox.payload("UserPromptSubmit");
        self.hook(sandbox, "user-prompt-submit", input).context()
    }

    /// The reason when its Stop is held.
    pub(super) fn stop(&self, sandbox: &Sandbox) -> Option<String> {
        let output = self.hook(sandbox, "stop", sandbox.payload("Stop"));
        let answer = if output.stdout.trim().is_empty() { Value::Null } else { output.json() };
        (answer["decision"] == "block").then(|| answer["reason"].to_string())
    }

    /// True if a write of this file is denied.
    pub(super) fn is_denied(&self, sandbox: &Sandbox, file: &str) -> bool {
        let mut input = sandbox.payload("PreToolUse-Edit");
        input["tool_name"] = "Write".into();
        input["tool_input"] = json!({"file_path": self.root.join(file), "content": "x"});
        !self.hook(sandbox, "pre-tool-use", input).stdout.trim().is_empty()
    }

    pub(super) fn write(&self, file: &str, text: &str) {
        write_file(&self.root.join(file), text);
    }

    /// Writes and commits a file.
    pub(super) fn work(&self, sandbox: &Sandbox, name: &str) {
        self.write(name, "two\n");
        self.commit(sandbox);
    }

    pub(super) fn commit(&self, sandbox: &Sandbox) {
        for arguments in [&["add", "-A"][..], &["commit", "-q", "-m", "work"]] {
            self.git(sandbox, arguments);
        }
    }

    pub(super) fn git(&self, sandbox: &Sandbox, arguments: &[&str]) -> Output {
        let mut command = std::process::Command::new("git");
        sandbox.prepare(&mut command);
        let output = finish(command.current_dir(&self.root).args(arguments), "");
        assert_eq!(output.code, 0, "{output:#?}");
        output
    }

    pub(super) fn run(&self, sandbox: &Sandbox, arguments: &[&str]) -> Output {
        finish(self.command(sandbox).args(arguments), "")
    }
}

/// A pipeline with this plan, which is approved and committed, for two workers.
pub(super) fn parallel(plan: &str) -> Sandbox {
    parallel_with(plan, |_| {})
}

/// The same in a project with other files.
pub(super) fn parallel_with(plan: &str, make: impl FnOnce(&Sandbox)) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("readme.txt", "a project\n");
    make(&sandbox);
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

/// The worktree in use for a TODO.
pub(super) fn tree(sandbox: &Sandbox, todo: &str, session: &'static str) -> Tree {
    let status = status(sandbox);
    let trees = status["worktrees"].as_array().cloned().unwrap_or_default();
    let is_it = |tree: &&Value| tree["todo"] == todo && tree["stage"] == "working";
    let tree = trees.iter().find(is_it).unwrap_or_else(|| panic!("{todo}: {status:#}"));
    Tree { root: tree["root"].as_str().expect("a root").into(), session }
}

/// The branch of the last worktree of a TODO.
pub(super) fn branch_of(sandbox: &Sandbox, todo: &str) -> String {
    let status = status(sandbox);
    let trees = status["worktrees"].as_array().cloned().unwrap_or_default();
    let tree = trees.iter().rfind(|tree| tree["todo"] == todo).expect("a worktree");
    tree["branch"].as_str().expect("a branch").to_owned()
}

pub(super) const ONE: &str = "11111111-0000-4000-8000-000000000001";
pub(super) const TWO: &str = "22222222-0000-4000-8000-000000000002";

/// The denial of the main agent's write of a file; empty if it is allowed.
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

    // The pipeline's own run sets the box, and the TODO that became ready goes to the free worktree.
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
    // The plan has a box that is not committed; this does not block the merge.
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
    let sandbox = parallel(PLAN);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, text) in [(&one, "one\n"), (&two, "two\n")] {
        tree.prompt(&sandbox);
        // Documents belong to no TODO.
        tree.write("docs/shared.md", text);
        tree.write(if text == "one\n" { "one.txt" } else { "two.txt" }, text);
        tree.commit(&sandbox);
    }
    assert_eq!(one.stop(&sandbox), None);
    let held = two.stop(&sandbox).expect("a conflict");
    assert!(held.contains("docs/shared.md"), "{held}");
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
    // Nothing holds its session any more, which reads once why its work is not merged.
    let answer = one.hook(&sandbox, "stop", sandbox.payload("Stop")).json();
    assert!(notice(&answer).contains("has ended (cancelled)"), "{answer}");
    let branch = branch_of(&sandbox, "TODO-1");
    assert!(notice(&answer).contains(&format!("`git merge {branch}`")), "{answer}");
    assert_eq!(one.hook(&sandbox, "stop", sandbox.payload("Stop")).stdout.trim(), "");
    assert!(!one.is_denied(&sandbox, "other.py"));
    assert_eq!(one.run(&sandbox, &["loop", "status", "--json"]).json()["status"], "cancelled");
}

#[test]
fn a_worktree_that_is_deleted_is_a_failed_attempt_and_its_branch_is_named() {
    let sandbox = parallel(PLAN);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    let branch = branch_of(&sandbox, "TODO-1");
    std::fs::remove_dir_all(&one.root).expect("ours");
    let moved = two.root.with_file_name("elsewhere");
    std::fs::rename(&two.root, &moved).expect("ours");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("the folder is gone"), "{shown}");

    let answer = stop_output(&sandbox);
    let text = notice(&answer);
    assert!(
        text.contains(&format!("branch {branch}")) && text.contains("1 commit not merged"),
        "{answer}"
    );
    let again = tree(&sandbox, "TODO-1", ONE);
    assert!(again.root != one.root && again.root.is_dir(), "there is a new one");
    assert!(tree(&sandbox, "TODO-2", TWO).root != two.root);
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("not merged: the folder is gone; branch "), "{report}");
    assert!(report.contains("its worktree was not merged: the folder is gone"), "{report}");

    let output = pipeline(&sandbox, &["cancel"]);
    assert!(output.stdout.contains(&format!("branch {branch}")), "{output:#?}");
    sandbox.git(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
}

#[test]
fn a_todo_that_failed_with_its_third_lost_worktree_is_named_at_that_stop() {
    let sandbox = parallel(TWO_TODOS);
    for attempt in 1..=3 {
        std::fs::remove_dir_all(tree(&sandbox, "TODO-1", "worker-1").root).expect("ours");
        let answer = stop_output(&sandbox);
        let told = notice(&answer);
        let failed = "TODO-1 is [FAILED] now, after 3 attempts";
        assert_eq!(told.contains(failed), attempt == 3, "{attempt}: {told}");
    }
    let answer = stop_output(&sandbox);
    assert!(!notice(&answer).contains("[FAILED]"), "it is said once: {answer}");
}

#[test]
fn a_pipeline_whose_loop_was_cancelled_without_it_is_over() {
    let sandbox = parallel(TWO_TODOS);
    let database = rusqlite::Connection::open(database(&sandbox)).expect("a database");
    let active: String = database
        .query_row("SELECT state FROM pipelines", [], |row| row.get(0))
        .expect("there is one pipeline");
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    // As if the daemon had been killed between the loop and the pipeline.
    let changed = database.execute("UPDATE pipelines SET is_active = 1, state = ?", [active]);
    assert_eq!(changed, Ok(1));
    assert_eq!(status(&sandbox)["outcome"], "cancelled");
    assert_eq!(pipeline(&sandbox, &["resume"]).code, 0);
}

#[test]
fn commits_outside_the_branch_of_a_worktree_are_named_to_the_user_who_cancels() {
    for checkout in [&["checkout", "-q", "--detach"][..], &["switch", "-q", "-c", "mine"]] {
        let sandbox = parallel(TWO_TODOS);
        let one = tree(&sandbox, "TODO-1", ONE);
        one.prompt(&sandbox);
        one.git(&sandbox, checkout);
        one.work(&sandbox, "one.txt");
        let commit = one.git(&sandbox, &["rev-parse", "HEAD"]).stdout;
        let output = pipeline(&sandbox, &["cancel"]);
        let head = if checkout.contains(&"mine") { "mine" } else { commit.trim() };
        let named = format!(", HEAD {head}): 1 commit not merged");
        assert!(output.stdout.contains(&named), "{output:#?}");
        assert!(!output.stdout.contains("all of it is merged"), "{output:#?}");
    }
}

#[test]
fn a_deleted_worktree_does_not_hide_its_commits_from_the_user_who_cancels() {
    let sandbox = parallel(PLAN);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    let branch = branch_of(&sandbox, "TODO-1");
    let moved = one.root.with_file_name("elsewhere");
    let places = [&one.root, &moved].map(|place| place.to_str().expect("UTF-8").to_owned());
    sandbox.git(&["worktree", "move", &places[0], &places[1]]);
    let output = pipeline(&sandbox, &["cancel"]);
    let named = format!("was moved to {} (branch {branch}): 1 commit not merged", places[1]);
    assert!(output.stdout.contains(&named), "{output:#?}");
    assert!(moved.join("one.txt").is_file());
}

#[test]
fn merged_worktrees_are_removed_with_the_pipeline_unless_a_program_is_there() {
    let sandbox = parallel(TWO_TODOS);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, name) in [(&one, "one.txt"), (&two, "two.txt")] {
        tree.prompt(&sandbox);
        tree.work(&sandbox, name);
        assert_eq!(tree.stop(&sandbox), None);
    }
    let mut shell = std::process::Command::new("sleep");
    let mut shell = shell.arg("600").current_dir(&two.root).spawn().expect("`sleep`");
    let answer = stop_output(&sandbox);
    assert_eq!(status(&sandbox)["outcome"], "completed");
    assert!(!one.root.exists(), "everything in it is merged");
    if std::path::Path::new("/proc/self").exists() {
        assert!(two.root.join("two.txt").is_file());
        assert!(notice(&answer).contains("TODO-2 stays in "), "{answer}");
    }
    // Its session ends, and soon afterwards the program that ran there.
    two.hook(&sandbox, "session-end", sandbox.payload("SessionEnd"));
    shell.kill().expect("ours");
    shell.wait().expect("ours");
    let removed = eventually(Duration::from_secs(20), || (!two.root.exists()).then_some(()));
    assert!(removed.is_some(), "nobody is there any more");
}

#[test]
fn a_worktree_with_work_of_someone_stays_when_the_pipeline_ends() {
    let sandbox = parallel(TWO_TODOS);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, name) in [(&one, "one.txt"), (&two, "two.txt")] {
        tree.prompt(&sandbox);
        tree.work(&sandbox, name);
        assert_eq!(tree.stop(&sandbox), None);
    }
    one.write("more.txt", "not committed\n");
    two.work(&sandbox, "later.txt");
    let branch = branch_of(&sandbox, "TODO-2");
    let answer = stop_output(&sandbox);
    let ended = status(&sandbox);
    assert_eq!(ended["outcome"], "completed", "a commit after the merge fails nothing: {answer}");
    assert!(one.root.join("more.txt").is_file() && two.root.join("later.txt").is_file());
    let text = notice(&answer);
    let named = format!("(branch {branch}): 1 commit not merged (made after its merge)");
    assert!(text.contains(&named), "{answer}");
    assert!(text.contains("changes that are not committed"), "{answer}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains(&named) && !report.contains("was not merged"), "{report}");
}

#[test]
fn nothing_is_measured_on_a_branch_that_lacks_what_was_merged() {
    let sandbox = parallel(TWO_TODOS);
    sandbox.git(&["branch", "other"]);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, name) in [(&one, "one.txt"), (&two, "two.txt")] {
        tree.prompt(&sandbox);
        tree.work(&sandbox, name);
        assert_eq!(tree.stop(&sandbox), None);
    }
    sandbox.git(&["switch", "-q", "other"]);
    for name in ["one.txt", "two.txt"] {
        sandbox.write(name, "two\n");
    }
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("`git switch main`"), "{answer}");
    let now = status(&sandbox);
    assert_eq!((&now["outcome"], &now["todos"]["done"]), (&Value::Null, &json!(0)), "{now:#}");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("other is checked out here"), "{shown}");
    for name in ["one.txt", "two.txt"] {
        std::fs::remove_file(sandbox.path(name)).expect("ours");
    }
    // A branch with the merged work is as good as the one into which it was merged. Later changes on the
    // other branch are not work of the pipeline.
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("later.txt", "later\n");
    sandbox.commit();
    sandbox.git(&["switch", "-q", "-c", "feature", "main~1"]);
    let answer = stop_output(&sandbox);
    assert_eq!(status(&sandbox)["outcome"], "completed", "{answer}");
}

#[test]
fn a_paused_worktree_is_shown_with_its_reason_and_what_to_do() {
    let sandbox = parallel(TWO_TODOS);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    // The merge would move files of the user that are not committed.
    sandbox.write("readme.txt", "changed\n");
    assert_eq!(one.stop(&sandbox), None);
    let id = status(&sandbox)["worktrees"][0]["loop_id"].as_str().unwrap_or_default().to_owned();
    let answer = stop_output(&sandbox);
    for shown in [notice(&answer).to_owned(), pipeline(&sandbox, &["status"]).stdout] {
        assert!(shown.contains("paused (base_in_use)"), "{shown}");
        assert!(shown.contains("the work is done and merged, but main"), "{shown}");
        assert!(shown.contains(&format!("`moai-ralph loop resume {id}`")), "{shown}");
    }
}

#[test]
fn a_session_in_a_worktree_is_not_told_what_others_do_at_the_same_time() {
    let sandbox = parallel(TWO_TODOS);
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    let mut input = sandbox.payload("UserPromptSubmit");
    input["prompt"] = "paint the first file green".into();
    one.hook(&sandbox, "user-prompt-submit", input);
    one.stop(&sandbox);
    let mut told = String::new();
    for event in ["session-start", "user-prompt-submit"] {
        let name =
            if event == "session-start" { "SessionStart-startup" } else { "UserPromptSubmit" };
        told += &two.hook(&sandbox, event, sandbox.payload(name)).context();
    }
    assert!(told.contains("TODO-2") && !told.contains("green"), "{told}");
    assert!(!told.contains("Last session"), "{told}");
}

#[test]
fn another_session_of_the_project_writes_no_source_while_a_pipeline_runs() {
    let sandbox = parallel(TWO_TODOS);
    let write = |session: &str, file: &str| {
        let mut input = sandbox.payload("PreToolUse-Edit");
        input["session_id"] = session.into();
        input["tool_name"] = "Write".into();
        input["tool_input"] = json!({"file_path": sandbox.path(file), "content": "x"});
        sandbox.hook("pre-tool-use", &input).stdout
    };
    let refused = write(ONE, "src/a.py");
    assert!(
        refused.contains("loop adopt loop-") && refused.contains("pipeline cancel"),
        "{refused}"
    );
    assert_eq!(write(ONE, "docs/a.md"), "");
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    assert_eq!(write(ONE, "src/a.py"), "");
}

#[test]
fn todos_whose_patterns_overlap_are_worked_on_one_after_the_other() {
    let plan = TWO_TODOS
        .replace("Files: one.txt", "Files: x/**, one.txt")
        .replace("Files: two.txt", "Files: two.txt, x/y/*.txt");
    let sandbox = parallel(&plan);
    let trees = status(&sandbox)["worktrees"].clone();
    assert_eq!(trees.as_array().map(Vec::len), Some(1), "{trees}");
}

#[test]
fn a_pipeline_that_goes_on_takes_up_the_worktrees_that_it_left() {
    let sandbox = parallel(PLAN);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    one.write("half.txt", "half\n");
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    let output = pipeline(&sandbox, &["resume", "--session", SESSION]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stdout.contains("waits for a session"), "{output:#?}");
    let again = tree(&sandbox, "TODO-1", "33333333-0000-4000-8000-000000000003");
    assert_eq!(again.root, one.root);
    assert!(again.prompt(&sandbox).contains("TODO-1"));
    let held = again.stop(&sandbox).expect("half.txt is not committed");
    assert!(held.contains("half.txt"), "{held}");
    std::fs::remove_file(again.root.join("half.txt")).expect("ours");
    assert_eq!(again.stop(&sandbox), None);
    assert_eq!(sandbox.read("one.txt"), "two\n", "merged");
}

#[test]
fn a_worktree_that_cannot_be_taken_up_is_named_when_the_pipeline_goes_on() {
    let sandbox = parallel(PLAN);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    let branch = branch_of(&sandbox, "TODO-1");
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    // It would be merged into another branch.
    sandbox.git(&["switch", "-q", "-c", "next"]);
    let output = pipeline(&sandbox, &["resume", "--session", SESSION]);
    let named = format!("(branch {branch}): 1 commit not merged");
    assert!(output.stdout.contains(&named) && output.stdout.contains("git merge"), "{output:#?}");
    assert!(tree(&sandbox, "TODO-1", ONE).root != one.root);
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
    let refused = [
        (["--solo", "--"], "Leave one of them out"),
        (["--kind", "bugfix"], "--kind small or full"),
    ];
    for (options, reason) in refused {
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
    let place = sandbox.root().to_string_lossy().into_owned();
    for part in ["readme.txt has changes that are not committed", "git stash", &place] {
        assert!(output.stderr.contains(part), "{part}: {output:#?}");
    }
    let twice = ["start", "--goal", "x", "--workers", "2", "--workers", "3"];
    assert_eq!(pipeline(&sandbox, &twice).code, 3);
    let answer = slash(&sandbox, "alfred", "--workers 2 --workers 3 a goal");
    assert!(answer["reason"].to_string().contains("--workers was given twice"), "{answer}");
    sandbox.write("readme.txt", "a project\n");
    sandbox.git(&["checkout", "-q", "--detach"]);
    assert!(start(&[]).stderr.contains("git switch"), "{:#?}", start(&[]));
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
