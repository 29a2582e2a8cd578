//! Worktrees of TODOs in which something is not as the engine made it: the exam, the branch, the folder.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::worktrees::{ONE, PLAN, TWO, TWO_TODOS, Tree, branch_of, parallel, parallel_with, tree};
use super::{notice, pipeline, plan_path, status, stop_output};
use crate::loops::escapes::database;
use crate::support::{SESSION, Sandbox, await_later_file_time, finish};

/// Three TODOs, of which the last is accepted by a script of the project.
fn with_script() -> Sandbox {
    let plan = PLAN.replace("test -f three.txt", "sh check3.sh");
    parallel_with(&plan, |sandbox| {
        sandbox.write("check3.sh", "grep -q ok three.txt\n");
    })
}

/// A shell command of the session in a worktree, with its changes.
fn shell(sandbox: &Sandbox, tree: &Tree, work: impl FnOnce()) {
    let begun = Instant::now();
    tree.hook(sandbox, "pre-tool-use", sandbox.payload("PreToolUse-Bash"));
    work();
    let mut input = sandbox.payload("PostToolUse-Bash");
    // The host's own time around the command is longer.
    let took = begun.elapsed() + Duration::from_secs(3);
    input["duration_ms"] = json!(u64::try_from(took.as_millis()).expect("short"));
    tree.hook(sandbox, "post-tool-use", input);
}

#[test]
fn a_worktree_cannot_weaken_the_check_of_a_later_todo() {
    let sandbox = with_script();
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    shell(&sandbox, &one, || {
        one.write("check3.sh", "true\n");
        one.commit(&sandbox);
    });
    let held = one.stop(&sandbox).expect("the exam of the plan is changed");
    assert!(held.contains("check3.sh") && held.contains("restore it"), "{held}");
    assert!(sandbox.read("check3.sh").contains("grep"), "not merged");
    shell(&sandbox, &one, || {
        one.git(&sandbox, &["revert", "--no-edit", "HEAD"]);
    });
    assert_eq!(one.stop(&sandbox), None);
    assert_eq!(sandbox.read("one.txt"), "two\n", "merged");

    // Another program commits the weak script on the commit where the worktrees begin.
    sandbox.write("check3.sh", "true\n");
    sandbox.git(&["commit", "-q", "-a", "-m", "weak"]);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("check3.sh (the project's checks) was edited"), "{answer}");
    let shown = [pipeline(&sandbox, &["status"]).stdout, pipeline(&sandbox, &["report"]).stdout];
    let id = status(&sandbox)["loop_id"].as_str().unwrap_or_default().to_owned();
    for shown in shown {
        assert!(shown.contains("paused (exam_changed)"), "{shown}");
        assert!(shown.contains("check3.sh (the project's checks) was edited"), "{shown}");
        assert!(shown.contains(&format!("`moai-ralph loop resume {id}`")), "{shown}");
        assert!(!shown.contains("TODO-3 in "), "{shown}");
    }
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(sandbox.run(&["loop", "resume", &id]).code, 0);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("TODO-3 in "), "{answer}");
    // A change by no tool call of its session is for the user to decide.
    let three = tree(&sandbox, "TODO-3", ONE);
    three.prompt(&sandbox);
    three.write("check3.sh", "true\n");
    three.work(&sandbox, "three.txt");
    assert_eq!(three.stop(&sandbox), None, "it is paused");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("paused (exam_changed)") && shown.contains("check3.sh"), "{shown}");
}

#[test]
fn a_pipeline_that_goes_on_keeps_the_exam_that_was_approved() {
    let sandbox = with_script();
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    sandbox.write("check3.sh", "true\n");
    sandbox.write(".moai/config/sections/ralph.yaml", "ralph: {}\n");
    sandbox.git(&["add", "-f", "check3.sh", ".moai/config"]);
    sandbox.git(&["commit", "-q", "-m", "weak"]);
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    // Its worktrees begin with the weak script.
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    assert_eq!(one.stop(&sandbox), None, "it is paused");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("paused (exam_changed)") && shown.contains("check3.sh"), "{shown}");
    let answer = stop_output(&sandbox);
    for changed in ["check3.sh (the project's checks) was edited", "ralph.yaml"] {
        assert!(notice(&answer).contains(changed), "{answer}");
    }
}

#[test]
fn a_worktree_that_left_its_branch_is_named_with_the_way_back() {
    // The change in the worktree, and the command that checks its branch out again.
    let cases: [(&[&str], &str); 4] = [
        (&["checkout", "-q", "--detach"], "git switch gulf/auto-"),
        (&["switch", "-q", "-c", "mine"], "git switch gulf/auto-"),
        (&["branch", "-m", "mine"], "git branch -m gulf/auto-"),
        (&["update-ref", "-d", "HEAD"], "git update-ref refs/heads/gulf/auto-"),
    ];
    for (change, way) in cases {
        let sandbox = parallel(TWO_TODOS);
        let one = tree(&sandbox, "TODO-1", ONE);
        let branch = branch_of(&sandbox, "TODO-1");
        one.prompt(&sandbox);
        one.work(&sandbox, "one.txt");
        let commit = one.git(&sandbox, &["rev-parse", "HEAD"]).stdout.trim().to_owned();
        one.git(&sandbox, change);
        let held = one.stop(&sandbox);
        // A branch that git no longer has cannot be measured.
        assert_eq!(held.is_some(), change[0] != "update-ref", "{change:?}");
        let shown = pipeline(&sandbox, &["status"]).stdout;
        for text in held.iter().chain([&shown]) {
            assert!(text.contains(way), "{change:?}: {text}");
        }
        let output = pipeline(&sandbox, &["cancel"]).stdout;
        let place = match change {
            [_, _, _, _] | ["branch", ..] => "HEAD mine".to_owned(),
            _ => format!("HEAD {commit}"),
        };
        assert!(output.contains(&place) && output.contains("1 commit not merged"), "{output}");
        let output = pipeline(&sandbox, &["resume", "--session", SESSION]).stdout;
        assert!(output.contains(&place) && output.contains("TODO-1 in "), "{output}");
        assert!(tree(&sandbox, "TODO-1", ONE).root != one.root);
        // The way back works, too.
        let start = shown.find("git ").expect("a command");
        let command = shown[start..].lines().next().unwrap_or_default();
        let command = command.split(" (").next().unwrap_or_default();
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        one.git(&sandbox, &words);
        let now = one.git(&sandbox, &["branch", "--show-current"]).stdout;
        assert_eq!(now.trim(), branch, "{command}");
    }
}

#[test]
fn a_freed_worktree_with_work_is_not_given_to_another_todo() {
    let sandbox = parallel(PLAN);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    assert_eq!(one.stop(&sandbox), None);
    one.git(&sandbox, &["checkout", "-q", "--detach"]);
    one.work(&sandbox, "later.txt");
    let commit = one.git(&sandbox, &["rev-parse", "HEAD"]).stdout.trim().to_owned();
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("1 commit made since are not merged"), "{shown}");
    let answer = stop_output(&sandbox);
    let named = format!("HEAD {commit}): 1 commit not merged (made after its merge)");
    assert!(notice(&answer).contains(&named), "{answer}");
    assert!(tree(&sandbox, "TODO-3", ONE).root != one.root);
    // The user undoes the merge.
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("no longer contains the merge"), "{shown}");
}

#[test]
fn what_keeps_a_merged_worktree_is_named() {
    let cases: [(&str, &[&str]); 2] = [
        ("readme.txt differs there", &["update-index", "--assume-unchanged", "readme.txt"]),
        ("`git worktree unlock FOLDER`", &["worktree", "lock", "."]),
    ];
    for (named, change) in cases {
        let sandbox = parallel(TWO_TODOS);
        let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
        for (tree, name) in [(&one, "one.txt"), (&two, "two.txt")] {
            tree.prompt(&sandbox);
            tree.work(&sandbox, name);
            assert_eq!(tree.stop(&sandbox), None);
        }
        one.git(&sandbox, change);
        if named.starts_with("readme") {
            one.write("readme.txt", "edited by a person\n");
        }
        let answer = stop_output(&sandbox);
        assert_eq!(status(&sandbox)["outcome"], "completed", "{answer}");
        assert!(notice(&answer).contains(named), "{answer}");
        assert!(one.root.is_dir() && !two.root.exists());
    }
}

#[test]
fn a_clone_in_the_place_of_a_worktree_is_left_alone() {
    let sandbox = parallel(TWO_TODOS);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    one.work(&sandbox, "one.txt");
    std::fs::remove_dir_all(&one.root).expect("ours");
    let places =
        [sandbox.root(), one.root.clone()].map(|it| it.to_str().expect("UTF-8").to_owned());
    sandbox.git(&["clone", "-q", &places[0], &places[1]]);
    one.write("mine.txt", "mine\n");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains("no worktree of this repository any more"), "{shown}");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("1 commit not merged"), "{answer}");
    assert!(tree(&sandbox, "TODO-1", ONE).root != one.root);
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    assert!(one.root.join("mine.txt").is_file());
}

#[test]
fn the_session_of_a_worktree_learns_that_its_pipeline_ended_alone() {
    for event in ["stop", "user-prompt-submit"] {
        let sandbox = parallel(TWO_TODOS);
        let one = tree(&sandbox, "TODO-1", ONE);
        one.prompt(&sandbox);
        one.work(&sandbox, "one.txt");
        let database = rusqlite::Connection::open(database(&sandbox)).expect("a database");
        let id = status(&sandbox)["loop_id"].as_str().unwrap_or_default().to_owned();
        let read = |sql: &str, id: &str| -> String {
            database.query_row(sql, [id], |row| row.get(0)).expect("a row")
        };
        let pipeline_row = read("SELECT state FROM pipelines WHERE loop_id = ?", &id);
        let own =
            status(&sandbox)["worktrees"][0]["loop_id"].as_str().unwrap_or_default().to_owned();
        let loop_row = read("SELECT state FROM loops WHERE id = ?", &own);
        assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        // As if the daemon had been killed once the loop of the pipeline was cancelled.
        let sql = "UPDATE pipelines SET is_active = 1, state = ?";
        assert_eq!(database.execute(sql, [&pipeline_row]), Ok(1));
        let sql = "UPDATE loops SET status = 'running', state = ?1 WHERE id = ?2";
        assert_eq!(database.execute(sql, [&loop_row, &own]), Ok(1));
        let input = sandbox.payload(if event == "stop" { "Stop" } else { "UserPromptSubmit" });
        let answer = one.hook(&sandbox, event, input).json();
        let text = notice(&answer);
        assert!(text.contains("has ended (cancelled)"), "{event}: {answer}");
        assert_eq!(status(&sandbox)["outcome"], "cancelled");
        assert_eq!(one.run(&sandbox, &["loop", "status", "--json"]).json()["status"], "cancelled");
    }
}

#[test]
fn a_worktree_has_no_pipeline_of_its_own_and_one_session() {
    let sandbox = parallel(TWO_TODOS);
    let one = tree(&sandbox, "TODO-1", ONE);
    one.prompt(&sandbox);
    let id = status(&sandbox)["id"].as_str().unwrap_or_default().to_owned();
    let nested = one.run(&sandbox, &["pipeline", "start", "--goal", "nested"]);
    assert!(nested.code == 1 && nested.stderr.contains(&id), "{nested:#?}");
    let other = Tree { root: one.root.clone(), session: TWO };
    let told = other.prompt(&sandbox);
    let loop_id =
        status(&sandbox)["worktrees"][0]["loop_id"].as_str().unwrap_or_default().to_owned();
    assert!(told.contains("another session works on TODO-1"), "{told}");
    assert!(told.contains(&format!("loop adopt {loop_id}")), "{told}");
    assert!(other.is_denied(&sandbox, "src/x.py") && !other.is_denied(&sandbox, "docs/x.md"));
    assert_eq!(other.prompt(&sandbox), "", "once");
}

#[test]
fn worktrees_are_made_behind_no_link() {
    let sandbox = Sandbox::new();
    sandbox.write("readme.txt", "a project\n");
    sandbox.commit();
    let root = sandbox.root();
    let name = root.file_name().expect("a name").to_string_lossy().into_owned();
    let folder = root.with_file_name(format!("{name}.moai-workers"));
    let elsewhere = root.with_file_name("elsewhere");
    std::fs::create_dir(&elsewhere).expect("ours");
    std::os::unix::fs::symlink(&elsewhere, &folder).expect("ours");
    let started = pipeline(&sandbox, &["start", "--goal", "x", "--workers", "2"]);
    assert!(started.code == 1 && started.stderr.contains("is a symbolic link"), "{started:#?}");
}

#[test]
fn a_moved_project_names_the_loop_that_stays_behind() {
    let sandbox = parallel(TWO_TODOS);
    let root = sandbox.root();
    let moved = Tree { root: root.with_file_name("moved"), session: SESSION };
    std::fs::rename(&root, &moved.root).expect("ours");
    let answer = moved.hook(&sandbox, "stop", sandbox.payload("Stop")).json();
    let text = notice(&answer).to_owned();
    std::fs::rename(&moved.root, &root).expect("ours");
    assert!(
        text.contains(&root.display().to_string()) && text.contains("move it back"),
        "{answer}"
    );
}

#[test]
fn an_interrupted_resume_leaves_no_loop_behind() {
    let sandbox = parallel(TWO_TODOS);
    let database = rusqlite::Connection::open(database(&sandbox)).expect("a database");
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    let ended: String = database
        .query_row("SELECT state FROM pipelines", [], |row| row.get(0))
        .expect("there is one pipeline");
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    let forgotten = status(&sandbox)["loop_id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    // As if the daemon had been killed between the new loop and the pipeline.
    let changed = database.execute("UPDATE pipelines SET is_active = 0, state = ?", [ended]);
    assert_eq!(changed, Ok(1));
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    let now: Value = status(&sandbox);
    assert_ne!(now["loop_id"], forgotten.as_str());
    let old = sandbox.run(&["loop", "status", &forgotten, "--json"]);
    assert_eq!(old.json()["status"], "cancelled", "{old:#?}");
}

#[test]
fn a_plan_that_is_deleted_while_worktrees_are_at_work_is_named() {
    let sandbox = parallel(TWO_TODOS);
    let path = plan_path(&sandbox);
    std::fs::remove_file(sandbox.path(&path)).expect("ours");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains(&format!("{path} is missing")), "{answer}");
    let shown = pipeline(&sandbox, &["status"]).stdout;
    assert!(shown.contains(&format!("{path} is missing")), "{shown}");
}

#[test]
fn commits_in_a_submodule_of_a_worktree_are_named() {
    let inner = Sandbox::new();
    inner.write("lib.txt", "lib\n");
    inner.commit();
    let url = inner.root().display().to_string();
    let allowed = ["-c", "protocol.file.allow=always"];
    let sandbox = parallel_with(TWO_TODOS, |sandbox| {
        sandbox.git(&[&allowed[..], &["submodule", "add", "-q", &url, "sub"]].concat());
    });
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, name) in [(&one, "one.txt"), (&two, "two.txt")] {
        tree.prompt(&sandbox);
        tree.work(&sandbox, name);
        assert_eq!(tree.stop(&sandbox), None);
    }
    one.git(&sandbox, &[&allowed[..], &["submodule", "update", "-q", "--init"]].concat());
    one.git(&sandbox, &["-C", "sub", "switch", "-q", "-c", "mine"]);
    one.write("sub/lib.txt", "changed\n");
    one.git(&sandbox, &["-C", "sub", "commit", "-q", "-a", "-m", "lib: changed"]);
    one.git(&sandbox, &["-C", "sub", "checkout", "-q", "--detach", "HEAD~1"]);
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("its submodule sub has commits"), "{answer}");
    assert!(one.root.join("sub/lib.txt").is_file() && !two.root.exists());
}

#[test]
fn a_worktree_with_an_edited_package_stays() {
    let sandbox = parallel_with(TWO_TODOS, |sandbox| sandbox.write(".gitignore", "node_modules\n"));
    let (one, two) = (tree(&sandbox, "TODO-1", ONE), tree(&sandbox, "TODO-2", TWO));
    for (tree, name) in [(&one, "one.txt"), (&two, "two.txt")] {
        tree.prompt(&sandbox);
        tree.write("node_modules/x/index.js", "installed\n");
        await_later_file_time(&sandbox);
        tree.write("node_modules/.package-lock.json", "{}\n");
        tree.work(&sandbox, name);
        assert_eq!(tree.stop(&sandbox), None);
    }
    await_later_file_time(&sandbox);
    one.write("node_modules/x/index.js", "patched\n");
    two.write("node_modules/.cache/x", "made by a tool\n");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("node_modules"), "{answer}");
    assert!(one.root.join("node_modules/x/index.js").is_file());
    assert!(!two.root.exists(), "an installation makes the same again");
}

#[test]
fn the_session_of_the_pipeline_stays_itself_in_the_folder_of_a_worktree() {
    let sandbox = parallel(TWO_TODOS);
    let one = tree(&sandbox, "TODO-1", ONE);
    // Its host tells the project, and the folder that its shell has changed to.
    let visit = |event: &str, mut input: Value| {
        input["cwd"] = one.root.to_str().into();
        let mut command = sandbox.program();
        command.current_dir(&one.root).env("CLAUDE_PROJECT_DIR", sandbox.root());
        let output = finish(command.args(["hook", event]), &input.to_string());
        assert_eq!(output.code, 0, "{output:#?}");
        output
    };
    visit("user-prompt-submit", sandbox.payload("UserPromptSubmit"));
    let answer = visit("stop", sandbox.payload("Stop")).json();
    assert!(notice(&answer).contains("TODOs are worked on in worktrees"), "{answer}");
    let mut input = sandbox.payload("PreToolUse-Edit");
    input["tool_name"] = "Write".into();
    input["tool_input"] = json!({"file_path": one.root.join("one.txt"), "content": "x"});
    assert!(visit("pre-tool-use", input).stdout.contains("deny"), "the worktree is another's");
    one.prompt(&sandbox);
    assert!(!one.is_denied(&sandbox, "one.txt"));
    one.work(&sandbox, "one.txt");
    assert_eq!(one.stop(&sandbox), None);
    assert!(sandbox.path("one.txt").is_file(), "merged");
}
