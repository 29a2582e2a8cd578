//! Attempts to escape a loop: failures to measure, save or look up are reported, and the agent's
//! writes do not switch the loop off.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::crashes::{daemon, kill};
use super::{
    DIRTY, FIXED, autochecks, blocked, git, looping, notice, project, shell, start, status, stop,
};
use crate::support::{Output, PATIENCE, SESSION, Sandbox, eventually, finish, write_file};

const OTHER: &str = "22222222-0000-4000-8000-000000000000";
const OPTIONS: &str = ".moai/config/sections/ralph.yaml";

/// The database of the only project.
pub(crate) fn database(sandbox: &Sandbox) -> PathBuf {
    let projects = sandbox.base().join("state/projects");
    let mut found = fs::read_dir(projects).expect("it was used").flatten();
    found.next().expect("one project").path().join("store.db")
}

fn sql(sandbox: &Sandbox, statement: &str) {
    let connection = rusqlite::Connection::open(database(sandbox)).expect("a database");
    connection.execute_batch(statement).expect("it is not locked for long");
}

fn raw_stop(sandbox: &Sandbox) -> Output {
    sandbox.hook("stop", &sandbox.payload("Stop"))
}

#[test]
fn a_loop_whose_exam_cannot_be_kept_does_not_begin() {
    let sandbox = project();
    assert_eq!(sandbox.run(&["loop", "status"]).code, 0);
    let full = "CREATE TRIGGER full BEFORE INSERT ON exams
                BEGIN SELECT RAISE(ABORT, 'disk is full'); END";
    sql(&sandbox, full);
    let begun = start(&sandbox, &["--mode", "autonomous", "--no-research"]);
    assert!(begun.code == 1 && begun.stderr.contains("disk is full"), "{begun:#?}");
    assert_eq!(status(&sandbox), json!(null));
    assert_eq!(git(&sandbox, &["branch", "--list", "gulf/*"]), "");
}

#[test]
fn a_loop_without_an_exam_is_never_completed() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sql(&sandbox, "DELETE FROM exam_files; DELETE FROM exams");
    sandbox.write("app.py", FIXED);
    let told = notice(&raw_stop(&sandbox));
    assert!(told.contains("exam (the checks were not frozen when the loop started"), "{told}");
    assert_eq!(status(&sandbox)["status"], "completed_unverified");
}

#[test]
fn where_no_sensor_speaks_nothing_is_completed() {
    let sandbox = Sandbox::new();
    sandbox.write("x.zig", "const a = 1;\n");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    sandbox.write("x.zig", "const a = ;\n");
    let told = notice(&raw_stop(&sandbox));
    assert!(told.contains("no changed file is covered by a sensor"), "{told}");
    assert_eq!(status(&sandbox)["status"], "completed_unverified");
    // The project's own checks do.
    autochecks(&sandbox, "exit 0");
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    sandbox.write("x.zig", "const b = ;\n");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_folder_in_the_place_of_the_checks_is_named() {
    let sandbox = project();
    sandbox.write(".claude/autochecks.sh/run.sh", "exit 1\n");
    assert_eq!(start(&sandbox, &["--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    let reason = stop(&sandbox, "finished").expect("the agent can mend it");
    assert!(reason.contains("autochecks.sh (it is not a file"), "{reason}");
}

#[test]
fn a_check_that_kills_its_parent_ends_itself_alone() {
    let sandbox = project();
    autochecks(&sandbox, "kill -9 $PPID; exit 0");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "5"]).code, 0);
    sandbox.write("app.py", FIXED);
    let before = daemon(&sandbox);
    let reason = stop(&sandbox, "finished").expect("nothing is known of the checks");
    assert!(reason.contains("Not measured: .claude/autochecks.sh"), "{reason}");
    assert_eq!(daemon(&sandbox), before, "the daemon lives");
}

#[test]
fn the_agent_cannot_switch_the_program_off_during_a_loop() {
    let mut sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    shell(&sandbox, || sandbox.write(OPTIONS, "ralph: {enabled: false}\n"));
    let reason = stop(&sandbox, "finished").expect("the loop goes on");
    assert!(reason.contains("guard(G19)") && reason.contains(OPTIONS), "{reason}");
    // Without a loop, and by the user, it is off.
    assert_eq!(sandbox.run(&["loop", "pause"]).code, 0);
    sandbox.set("MOAI_RALPH_ENABLED", "false");
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    let output = raw_stop(&sandbox);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
}

#[test]
fn the_users_own_options_belong_to_the_exam() {
    let sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", FIXED);
    let own = sandbox.base().join("home/.config/moai-ralph/ralph.yaml");
    shell(&sandbox, || write_file(&own, "ralph: {scan: {disable: [py-eval]}}\n"));
    let reason = stop(&sandbox, "finished").expect("the options were changed");
    assert!(reason.contains("guard(G19)") && reason.contains("moai-ralph/ralph.yaml"), "{reason}");
    fs::remove_file(own).expect("there");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_repository_that_is_made_during_a_loop_does_not_hide_it() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    kill(daemon(&sandbox));
    git(&sandbox, &["init", "-q"]);
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
    assert_eq!(status(&sandbox)["status"], "running");
    // And the other way round: the repository is hidden.
    let sandbox = looping(&["--max-iterations", "9"]);
    kill(daemon(&sandbox));
    fs::rename(sandbox.path(".git"), sandbox.base().join("hidden")).expect("ours");
    sandbox.write("app.py", DIRTY);
    assert!(stop(&sandbox, "finished").is_some());
}

#[test]
fn a_root_that_is_made_below_does_not_hide_the_loop_of_the_session() {
    let sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    let folder = sandbox.path("sub");
    fs::create_dir_all(folder.join(".moai")).expect("ours");
    let stop_of = |session: &str| {
        let mut input = sandbox.payload("Stop");
        input["session_id"] = session.into();
        input["cwd"] = json!(folder);
        let mut command = sandbox.program();
        finish(command.args(["hook", "stop"]).current_dir(&folder), &input.to_string())
    };
    let reason = blocked(&stop_of(SESSION)).expect("it is held by its loop");
    assert!(reason.contains("app.py:1:9"), "{reason}");
    assert_eq!(blocked(&stop_of(OTHER)), None);
}

#[test]
fn a_folder_outside_the_project_does_not_release_the_session_or_its_exam() {
    let sandbox = looping(&["--max-iterations", "9"]);
    sandbox.write("app.py", DIRTY);
    sandbox.write("RUBRIC.md", "# Rubric\n");
    let elsewhere = sandbox.base().join("elsewhere");
    fs::create_dir(&elsewhere).expect("ours");
    let hook_there = |event: &str, mut input: Value, session: &str| {
        input["session_id"] = session.into();
        input["cwd"] = json!(elsewhere);
        let mut command = sandbox.program();
        command.args(["hook", event]).current_dir(&elsewhere).env_remove("CLAUDE_PROJECT_DIR");
        finish(&mut command, &input.to_string())
    };
    let mut removal = sandbox.payload("PreToolUse-Bash");
    removal["tool_input"]["command"] = format!("rm {}", sandbox.path("RUBRIC.md").display()).into();
    for is_restarted in [false, true] {
        if is_restarted {
            kill(daemon(&sandbox));
        }
        let reason = blocked(&hook_there("stop", sandbox.payload("Stop"), SESSION));
        assert!(reason.expect("it is held by its loop").contains("app.py:1:9"));
        assert_eq!(blocked(&hook_there("stop", sandbox.payload("Stop"), OTHER)), None);
        let denied = hook_there("pre-tool-use", removal.clone(), SESSION);
        assert!(denied.stdout.contains("RUBRIC.md"), "{denied:#?}");
    }
}

#[test]
fn a_command_that_names_no_loop_touches_none_of_several() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let second = ["loop", "start", "--session", OTHER, "--prompt", "other work", "--json"];
    let second = sandbox.run(&second).json();
    for command in ["cancel", "pause", "resume"] {
        let refused = sandbox.run(&["loop", command]);
        assert_eq!(refused.code, 1, "{refused:#?}");
        for part in [second["id"].as_str().expect("an id"), OTHER, SESSION] {
            assert!(refused.stderr.contains(part), "{refused:#?}");
        }
    }
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["loop", "cancel", "--session", OTHER]).code, 0);
    }
    assert_eq!(status(&sandbox)["status"], "running");
    for _ in 0..2 {
        let output = sandbox.run(&["loop", "cancel"]);
        assert!(output.code == 0 && output.stdout.contains("was cancelled"), "{output:#?}");
    }
}

#[test]
fn broken_options_keep_nobody_from_looking_at_a_loop_or_ending_it() {
    let sandbox = looping(&["--max-iterations", "5"]);
    sandbox.write(OPTIONS, "ralph: {enabled: [}\n");
    for command in ["status", "report", "history", "pause", "resume", "cancel"] {
        let output = sandbox.run(&["loop", command]);
        assert_eq!(output.code, 0, "{command}: {output:#?}");
    }
    assert_eq!(status(&sandbox)["status"], "cancelled");
}

#[test]
fn a_damaged_store_is_told_at_once() {
    let sandbox = looping(&["--max-iterations", "5"]);
    kill(daemon(&sandbox));
    let path = database(&sandbox);
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(path.with_file_name(format!("store.db{suffix}")));
    }
    // No backup was made yet, or it is lost too.
    let _ = fs::remove_dir_all(path.with_file_name("backups"));
    fs::write(&path, "no database at all ".repeat(300)).expect("ours");
    let output = sandbox.run(&["loop", "status"]);
    assert!(output.stdout.contains("damaged") && output.stdout.contains("corrupt"), "{output:#?}");
    let told = notice(&raw_stop(&sandbox));
    assert!(told.contains("damaged"), "{told}");
    assert_eq!(raw_stop(&sandbox).stdout, "", "once");
}

#[test]
fn the_user_is_told_what_was_not_kept_also_when_the_turn_goes_on() {
    let sandbox = looping(&["--max-iterations", "5"]);
    let has_begun = || sandbox.path(".git/refs/moai-ralph").is_dir().then_some(());
    eventually(PATIENCE, has_begun).expect("the first checkpoint");
    fs::remove_dir_all(sandbox.path(".git/refs/moai-ralph")).expect("ours");
    sandbox.write(".git/refs/moai-ralph", "in the way\n");
    sandbox.write("app.py", DIRTY);
    let output = raw_stop(&sandbox);
    assert!(blocked(&output).is_some());
    let told = notice(&output);
    assert!(told.contains("[moai-ralph] loop loop-"), "{told}");
}

#[test]
fn a_marker_that_is_asked_for_holds_every_loop_to_its_promise() {
    let sandbox = project();
    sandbox.write(OPTIONS, "ralph: {loop: {success_criteria: [marker]}}\n");
    sandbox.commit();
    for options in [&[][..], &["--until", "diagnostics"]] {
        let refused = start(&sandbox, options);
        assert!(refused.code == 1 && refused.stderr.contains("--completion-promise"));
    }
    let promise = ["--until", "diagnostics", "--completion-promise", "DONE"];
    assert_eq!(start(&sandbox, &promise).code, 0);
    sandbox.write("app.py", FIXED);
    assert!(stop(&sandbox, "finished").is_some());
    assert_eq!(stop(&sandbox, "<promise>DONE</promise>"), None);
    let mut input = sandbox.payload("UserPromptExpansion");
    input["command_name"] = "moai-fix".into();
    input["command_args"] = "".into();
    let output = sandbox.hook("user-prompt-expansion", &input);
    assert!(output.context().contains("<promise>FIXED</promise>"), "{output:#?}");
    sandbox.write("app.py", "word = 'best'\n");
    assert!(stop(&sandbox, "finished").is_some());
    assert_eq!(stop(&sandbox, "<promise>FIXED</promise>"), None);
}

#[test]
fn the_user_learns_once_that_the_writes_of_a_session_are_not_recorded() {
    let sandbox = looping(&["--until", "diagnostics"]);
    sql(&sandbox, "ALTER TABLE session_writes RENAME TO lost_writes");
    let test = "def test_app():\n    assert True\n";
    let first = notice(&sandbox.tool_write("tests/test_app.py", test));
    assert!(first.contains("the writes of this tool call were not recorded"), "{first}");
    let second = sandbox.tool_write("tests/test_app.py", &format!("{test}\n"));
    assert!(!second.stdout.contains("were not recorded"), "{second:#?}");
}
