//! Commits at the end of a pipeline: proposed by an agent, compared with the work, and checked one by
//! one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use super::{PLAN, approve, notice, pipeline, plan_path, status, stop, stop_output};
use crate::support::{SESSION, Sandbox, eventually, write_file};

/// An approved small pipeline in a project with these options and a history of `area: …` subjects.
fn approved(options: &str, plan: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".moai/config/sections/ralph.yaml", &format!("ralph:\n{options}"));
    sandbox.write(".gitignore", "*.local\n");
    sandbox.git(&["add", "-A"]);
    for subject in ["core: begin", "core: more", "web: page", "web: form", "docs: how"] {
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }
    // The user's own file is not part of the work.
    sandbox.write("mine.txt", "notes\n");
    let arguments = ["start", "--kind", "small", "--goal", "write two files", "--session", SESSION];
    let output = pipeline(&sandbox, &arguments);
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox.write(&plan_path(&sandbox), plan);
    approve(&sandbox);
    sandbox
}

fn commit(sandbox: &Sandbox, subject: &str, files: &[&str]) {
    sandbox.git(&[&["add", "--"], files].concat());
    sandbox.git(&["commit", "-q", "-m", subject]);
}

/// Both files of the plan are written, and one Stop has said that they are not committed.
fn worked(options: &str, plan: &str) -> Sandbox {
    let sandbox = approved(options, plan);
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    let reason = stop(&sandbox).expect("the work is not committed");
    assert!(reason.contains("one.txt") && reason.contains("git-master"), "{reason}");
    assert!(!reason.contains("mine.txt"), "{reason}");
    assert_eq!(status(&sandbox)["phase"], "finalize");
    sandbox
}

#[test]
fn a_pipeline_ends_when_its_work_is_committed_in_the_style_of_the_project() {
    let sandbox = worked("  sync: {commits: true}\n", PLAN);
    commit(&sandbox, "Add the first file.", &["one.txt"]);
    let reason = stop(&sandbox).expect("the second file is not committed");
    assert!(reason.contains("two.txt") && reason.contains("full stop"), "{reason}");
    assert!(reason.contains("an area and a colon"), "{reason}");
    sandbox.git(&["commit", "-q", "--amend", "-m", "core: the first file"]);
    commit(&sandbox, "core: the second file", &["two.txt", ".moai/specs"]);
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("core: the second file"), "{report}");
    assert!(report.contains("AC-1 [A] test -f one.txt: passed"), "{report}");
    let document = pipeline(&sandbox, &["report", "--json"]).json();
    let todo = &document["requirements"][0]["todos"][0];
    assert_eq!((&todo["todo"], &todo["passed"]), (&json!("TODO-1"), &json!(true)), "{document}");
    assert_eq!(sandbox.read("mine.txt"), "notes\n");
}

#[test]
fn boxes_that_the_engine_sets_are_no_uncommitted_work() {
    let sandbox = worked("  sync: {commits: true}\n", PLAN);
    let path = plan_path(&sandbox);
    sandbox.write(&path, PLAN);
    commit(&sandbox, "both files", &["one.txt", "two.txt", ".moai/specs"]);
    let reason = stop(&sandbox).expect("the subject has no area");
    assert!(sandbox.read(&path).contains("### [x] TODO 1"));
    sandbox.git(&["commit", "-q", "--amend", "-m", "core: both files"]);
    // Anything else in it is work.
    let boxes = sandbox.read(&path);
    sandbox.write(&path, &format!("{boxes}\nA note.\n"));
    let again = stop(&sandbox).expect("the note is not committed");
    assert!(!reason.contains("plan.md") && again.contains("plan.md"), "{reason}\n{again}");
    sandbox.write(&path, &boxes);
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn an_instruction_is_whole_however_many_files_it_is_about() {
    let sandbox = worked("  sync: {commits: true}\n", PLAN);
    for number in 0..40 {
        sandbox.write(&format!("folder/a-file-with-a-rather-long-name-{number}.txt"), "x\n");
    }
    let reason = stop(&sandbox).expect("nothing is committed");
    assert!(reason.contains("then make them with git; nothing else is missing"), "{reason}");
}

/// A plan whose commands check the whole, so that single commits can break it.
const WHOLE: &str = "\
# PLAN: whole

### [ ] TODO 1: the first file
- [A] `grep -q one one.txt`

### [ ] TODO 2: the second file
- Dependencies: TODO-1
- [A] `sh -c 'grep -q one one.txt && grep -q two two.txt'`
";

#[test]
fn a_commit_that_breaks_what_passed_before_it_is_found_in_a_checkout_of_its_own() {
    let options = "  sync: {verify_each: true}\n  loop:\n    checks: [{name: unit, command: [sh, \
                   -c, 'date >> runs.local; test ! -e broken.txt']}]\n";
    let sandbox = worked(options, WHOLE);
    commit(&sandbox, "core: the first file", &["one.txt"]);
    sandbox.write("broken.txt", "");
    commit(&sandbox, "core: half of it", &["broken.txt"]);
    fs::remove_file(sandbox.path("broken.txt")).expect("ours");
    commit(&sandbox, "core: the second file", &["broken.txt", "two.txt", ".moai/specs"]);
    let reason = stop(&sandbox).expect("the commit in between fails the project's check");
    assert!(reason.contains("`unit`") && reason.contains("core: half of it"), "{reason}");
    assert!(!reason.contains("core: the first file"), "{reason}");
    let runs = sandbox.read("runs.local");
    // One run for each Stop: those of the commits are elsewhere.
    assert_eq!(runs.lines().count(), 2, "{runs}");

    sandbox.git(&["reset", "-q", "--soft", "HEAD~3"]);
    sandbox.git(&["commit", "-q", "-m", "core: both files"]);
    assert_eq!(stop(&sandbox), None);
    let ended = status(&sandbox);
    assert_eq!((&ended["outcome"], &ended["note"]), (&json!("completed"), &Value::Null));
}

#[test]
fn an_acceptance_command_need_not_pass_before_its_commit_but_stays_passed() {
    let sandbox = worked("  sync: {verify_each: true}\n", WHOLE);
    commit(&sandbox, "core: the first file", &["one.txt"]);
    fs::rename(sandbox.path("one.txt"), sandbox.path("other.txt")).expect("ours");
    commit(&sandbox, "core: moved away", &["one.txt", "other.txt"]);
    fs::rename(sandbox.path("other.txt"), sandbox.path("one.txt")).expect("ours");
    commit(&sandbox, "core: the rest", &["one.txt", "other.txt", "two.txt", ".moai/specs"]);
    let reason = stop(&sandbox).expect("a commit takes the first file away again");
    assert!(reason.contains("grep -q one one.txt") && reason.contains("moved away"), "{reason}");
    assert!(!reason.contains("core: the first file"), "{reason}");
}

#[test]
fn what_needs_files_without_a_commit_is_a_gap_and_no_verified_commit() {
    let plan = PLAN.replace("test -f one.txt", "test -f installed.local");
    let sandbox = approved("  sync: {verify_each: true}\n", &plan);
    sandbox.write("installed.local", "a package\n");
    sandbox.write("two.txt", "two\n");
    assert!(stop(&sandbox).is_some());
    commit(&sandbox, "core: the second file", &["two.txt", ".moai/specs"]);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("completed_unverified"), "{answer}");
    let note = status(&sandbox)["note"].as_str().unwrap_or_default().to_owned();
    assert!(note.contains("installed.local") && note.contains("in no commit"), "{note}");
}

#[test]
fn commits_can_be_asked_to_be_on_a_branch_of_their_own() {
    let sandbox = worked("  sync: {branch: true}\n", PLAN);
    commit(&sandbox, "core: both files", &["one.txt", "two.txt", ".moai/specs"]);
    let reason = stop(&sandbox).expect("it is the branch of the beginning");
    assert!(reason.contains("git switch --create moai/SPEC-"), "{reason}");
    sandbox.git(&["switch", "-q", "--create", "moai/two-files"]);
    assert_eq!(stop(&sandbox), None);
    assert_eq!(status(&sandbox)["outcome"], "completed");
}

#[test]
fn a_proposal_of_commits_is_compared_with_the_changed_files() {
    let sandbox = worked("  sync: {commits: true}\n", PLAN);
    let plan = plan_path(&sandbox);
    let ends = |answer: &str| {
        let mut input = sandbox.payload("SubagentStop");
        input["agent_type"] = "moai-ralph:git-master".into();
        input["last_assistant_message"] = answer.into();
        let output = sandbox.hook("subagent-stop", &input);
        assert_eq!(output.code, 0, "{output:#?}");
        let is_silent = output.stdout.trim().is_empty();
        (!is_silent).then(|| output.json()["reason"].as_str().unwrap_or_default().to_owned())
    };
    let reason = ends("I would commit everything at once.").expect("no proposal");
    assert!(reason.contains("no JSON object"), "{reason}");
    let proposal = |message: &str, files: &[&str]| {
        json!({"commits": [{"message": message, "files": files}]}).to_string()
    };
    let reason = ends(&proposal("Add files", &["one.txt", "gone.txt"])).expect("incomplete");
    for part in ["two.txt is in no commit", "gone.txt, which was not changed", "an area"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert_eq!(ends(&proposal("core: both files", &["one.txt", "two.txt", &plan])), None);
    // The boxes that the engine set may be in a commit, and need not be.
    let boxes = sandbox.read(&plan);
    sandbox.write(&plan, PLAN);
    commit(&sandbox, "docs: the plan", &[".moai/specs"]);
    sandbox.write(&plan, &boxes);
    for files in [&["one.txt", "two.txt", plan.as_str()][..], &["one.txt", "two.txt"]] {
        assert_eq!(ends(&proposal("core: both files", files)), None, "{files:?}");
    }
}

#[test]
fn a_pull_request_is_opened_only_when_a_person_asks_for_it() {
    let mut sandbox = approved("  sync: {commits: true}\n", PLAN);
    let shown = pipeline(&sandbox, &["pr"]);
    assert!(shown.stdout.starts_with("two files\n\n> write two files\n"), "{shown:#?}");
    let gh = sandbox.base().join("bin/gh");
    let calls = sandbox.base().join("gh-calls");
    let script = format!(
        "#!/bin/sh\necho \"$1 $2 $4\" >> {0}\ncat \"$6\" >> {0}\necho opened\n",
        calls.display()
    );
    write_file(&gh, &script);
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).expect("ours");
    let opened = pipeline(&sandbox, &["pr", "--create"]);
    assert_eq!((opened.code, opened.stdout.as_str()), (0, "opened\n"), "{opened:#?}");
    let called = fs::read_to_string(&calls).expect("gh was called");
    assert!(called.starts_with("pr create two files\n> write two files\n"), "{called}");
    sandbox.set("CLAUDECODE", "1");
    let refused = pipeline(&sandbox, &["pr", "--create"]);
    assert!(refused.code == 1 && refused.stderr.contains("for a person"), "{refused:#?}");
    assert_eq!(fs::read_to_string(&calls).expect("there"), called, "it was not called again");
}

#[test]
fn what_workers_learned_is_in_the_memory_when_a_pipeline_ends() {
    let sandbox = approved("  sync: {commits: false}\n", PLAN);
    sandbox.write("one.txt", "one\n");
    let mut input = sandbox.payload("SubagentStop");
    input["agent_type"] = "moai-ralph:worker".into();
    let report = json!({
        "todo_id": "TODO-1", "status": "PASS",
        "outputs": {"files_changed": ["one.txt"], "summary": "written"},
        "acceptance_criteria": [{"id": "AC-1", "status": "PASS"}],
        "learnings": ["names of greetings end with txt"], "issues": [],
        "decisions": ["plain files instead of a zeppelin database"],
    });
    input["last_assistant_message"] = report.to_string().into();
    assert_eq!(sandbox.hook("subagent-stop", &input).stdout.trim(), "");
    sandbox.write("two.txt", "two\n");
    assert_eq!(stop(&sandbox), None);
    let found = eventually(Duration::from_secs(20), || {
        let output = sandbox.run(&["memory", "search", "zeppelin", "--json"]);
        let hits = output.json()["hits"].clone();
        hits.as_array().is_some_and(|hits| !hits.is_empty()).then_some(hits)
    });
    let found = found.expect("the decision is in the memory");
    assert_eq!(found[0]["type"], "decision", "{found}");
}

#[test]
fn work_that_git_does_not_show_is_not_committed() {
    let plan = PLAN.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- Files: two.txt");
    let sandbox = worked("  sync: {commits: true}\n", &plan);
    commit(&sandbox, "core: one and two", &["one.txt", "two.txt", ".moai/specs"]);
    sandbox.write("two.txt", "another two\n");
    sandbox.git(&["update-index", "--skip-worktree", "two.txt"]);
    let reason = stop(&sandbox).expect("the last change is in no commit");
    assert!(reason.contains("two.txt"), "{reason}");
    sandbox.git(&["update-index", "--no-skip-worktree", "two.txt"]);
    sandbox.git(&["rm", "-q", "--cached", "two.txt"]);
    sandbox.write(".gitignore", "*.local\ntwo.txt\n");
    commit(&sandbox, "core: less", &[".gitignore"]);
    let reason = stop(&sandbox).expect("the file is in no commit");
    assert!(reason.contains("two.txt"), "{reason}");
}

#[test]
fn a_history_that_was_rewritten_is_named() {
    let sandbox = worked("  sync: {commits: true}\n", PLAN);
    sandbox.git(&["checkout", "-q", "--orphan", "other"]);
    commit(&sandbox, "core: all of it", &["one.txt", "two.txt", ".moai", ".gitignore"]);
    assert_eq!(stop(&sandbox), None);
    let ended = status(&sandbox);
    assert_eq!(ended["outcome"], "completed_unverified", "{ended}");
    let note = ended["note"].as_str().unwrap_or_default();
    assert!(note.contains("HEAD does not come after"), "{note}");
}
