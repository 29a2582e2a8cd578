//! Codex CLI.

use std::fs;

use serde_json::json;

use crate::client::{Client, HostProject, HostRun};
use crate::model::ScriptedTurn;
use crate::support::{CHECKOUT, write_file};

fn project() -> HostProject {
    HostProject::with_clean_file(Client::Codex)
}

fn patch(old: &str, new: &str) -> ScriptedTurn {
    let patch = format!(
        "*** Begin Patch\n*** Update File: app.py\n@@\n-word = '{old}'\n+word = '{new}'\n*** End Patch\n"
    );
    ScriptedTurn::tool("apply_patch", patch.into())
}

#[test]
fn the_plugin_is_installed_without_the_sources() {
    let project = project();
    let cache = project.home().join(".codex/plugins/cache/moai-ralph/moai-ralph");
    let version = fs::read_dir(&cache).expect("installed").flatten().next().expect("a version");
    let mut names: Vec<String> = fs::read_dir(version.path())
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.contains(&"bin".to_owned()) && names.contains(&"hooks".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name == "target" || name == ".git"), "{names:?}");
}

#[test]
fn an_edit_is_told_what_it_introduced_in_the_next_request() {
    let project = project();
    let run = project.run("break it", vec![patch("good", "BAD"), ScriptedTurn::text("done")]);
    run.assert_first_told_in(2, "app.py: introduced 1 error");
    run.assert_requests(2);
}

#[test]
fn a_loop_holds_the_stop_until_the_work_is_done() {
    let project = project();
    let run = project.run(
        "$moai-ralph:moai-loop fix it --completion-promise DONE --max-iterations 5",
        vec![
            patch("good", "BAD"),
            ScriptedTurn::text("<promise>DONE</promise>"),
            patch("BAD", "better"),
            ScriptedTurn::text("Fixed.\n\n<promise>DONE</promise>"),
        ],
    );
    run.assert_first_told_in(1, "[moai-ralph] loop ");
    run.assert_first_told_in(3, "<hook_prompt");
    run.assert_requests(4);
    let history = project.sandbox.run(&["loop", "history"]);
    assert!(history.stdout.contains("complete"), "{history:#?}");
}

#[test]
fn a_command_in_a_prompt_cancels_the_loop() {
    let project = project();
    let session_of = |run: &HostRun| run.model.requests().len();
    let begun = project.run(
        "$moai-ralph:moai-loop fix it --max-iterations 2 --completion-promise X",
        vec![ScriptedTurn::text("not yet"), ScriptedTurn::text("nor now")],
    );
    assert!(session_of(&begun) >= 2, "{}", begun.model.transcript());
    let cancelled = project.resume("$moai-ralph:cancel-loop", vec![ScriptedTurn::text("ok")]);
    cancelled.assert_requests(1);
    if !cancelled.model.requests()[0].contains("[moai-ralph] loop ") {
        cancelled.fail("the end of the loop is not told");
    }
}

#[test]
fn another_writer_is_noticed_after_the_next_call() {
    let project = project();
    let shell = json!({"cmd": "printf \"word = 'BAD'\\n\" > app.py"});
    let run = project.run(
        "break it",
        vec![ScriptedTurn::tool("exec_command", shell), ScriptedTurn::text("done")],
    );
    run.assert_first_told_in(2, "[moai-ralph] app.py: ");
}

#[test]
fn hooks_in_two_places_act_once() {
    let project = project();
    let command = format!("sh '{CHECKOUT}/bin/moai-ralph' hook");
    let hook = |timeout: u32| json!([{"hooks": [{"type": "command", "command": command, "timeout": timeout}]}]);
    let hooks = json!({"hooks": {
        "UserPromptSubmit": hook(10), "PostToolUse": hook(15), "Stop": hook(600),
    }});
    write_file(&project.sandbox.path(".codex/hooks.json"), &hooks.to_string());
    let run = project.run(
        "$moai-ralph:moai-loop fix it --completion-promise DONE --max-iterations 9",
        vec![
            patch("good", "BAD"),
            ScriptedTurn::text("first"),
            patch("BAD", "better"),
            ScriptedTurn::text("<promise>DONE</promise>"),
        ],
    );
    let requests = run.model.requests();
    let times = requests[1].matches("introduced 1 error").count();
    if times != 1 {
        run.fail(&format!("told {times} times"));
    }
    run.assert_requests(4);
}

#[test]
fn every_command_is_a_skill_that_only_the_user_starts() {
    let project = project();
    let run = project.run("hello", vec![ScriptedTurn::text("done")]);
    run.assert_requests(1);
    // The model is not offered commands that start work without the user.
    assert!(!run.model.requests()[0].contains("moai-ralph:moai-loop"));
    let run = project.run("$moai-ralph:cancel-loop", vec![ScriptedTurn::text("There is no loop.")]);
    // The text of the skill follows the prompt.
    run.assert_first_told_in(1, "The user cancels the loop of this session.");
}

#[test]
fn a_file_with_the_line_ends_of_dos_keeps_its_older_mistakes() {
    let project = project();
    project.commit_older_mistake();
    let patch =
        "*** Begin Patch\n*** Update File: app.py\n@@\n-other = 1\n+other = 2\n*** End Patch\n";
    let edit = ScriptedTurn::tool("apply_patch", patch.into());
    let run = project.run("change it", vec![edit, ScriptedTurn::text("done")]);
    run.assert_nothing_is_blamed();
    assert!(project.sandbox.read("app.py").contains("other = 2"));
}
