//! OpenCode, with the plugin that `init` writes.

use serde_json::json;

use crate::client::{Client, HostProject};
use crate::model::ScriptedTurn;
use crate::support::{PATIENCE, eventually};

fn project() -> HostProject {
    HostProject::with_clean_file(Client::OpenCode)
}

fn edit(project: &HostProject, path: &str, old: &str, new: &str) -> ScriptedTurn {
    let path = project.sandbox.path(path);
    ScriptedTurn::tool("edit", json!({"filePath": path, "oldString": old, "newString": new}))
}

#[test]
fn an_edit_is_told_what_it_introduced_and_settings_are_refused() {
    let project = project();
    let turns = vec![
        edit(&project, "app.py", "good", "BAD"),
        edit(&project, ".opencode/plugins/other.ts", "", "x"),
        ScriptedTurn::text("done"),
    ];
    let run = project.run("break it", turns);
    run.assert_first_told_in(2, "app.py: introduced 1 error");
    run.assert_first_told_in(3, "[moai-ralph] denied");
    run.assert_requests(3);
    assert!(!project.sandbox.path(".opencode/plugins/other.ts").exists());
}

#[test]
fn a_command_starts_a_loop_which_says_that_a_one_shot_run_cannot_be_held() {
    let project = project();
    let turns = vec![
        edit(&project, "app.py", "good", "BAD"),
        ScriptedTurn::text("<promise>DONE</promise>"),
    ];
    let run = project.run("/moai-loop fix it --completion-promise DONE --max-iterations 5", turns);
    run.assert_first_told_in(1, "[moai-ralph] loop ");
    run.assert_first_told_in(1, "a one-shot run cannot be held");
    // The Stop is decided, whether or not the host asks again.
    let history = project.sandbox.run(&["loop", "history"]);
    assert!(history.stdout.contains("continue"), "{history:#?}");
}

#[test]
fn a_session_that_stays_open_is_held_with_a_new_prompt_and_then_released() {
    let project = project();
    let server = project.serve(vec![
        edit(&project, "app.py", "good", "BAD"),
        ScriptedTurn::text("<promise>DONE</promise>"),
        edit(&project, "app.py", "BAD", "better"),
        ScriptedTurn::text("Fixed.\n\n<promise>DONE</promise>"),
    ]);
    let session = server.post("/session", &json!({}));
    let id = session["id"].as_str().expect("a session has an id");
    let arguments = "fix it --completion-promise DONE --max-iterations 5";
    let command = json!({"command": "moai-loop", "arguments": arguments});
    server.post(&format!("/session/{id}/command"), &command);
    server.wait_for_requests(4);
    let requests = server.model.requests();
    assert!(!requests[1].contains("not done yet"), "{}", server.model.transcript());
    assert!(requests[2].contains("not done yet"), "{}", server.model.transcript());
    let is_complete =
        || project.sandbox.run(&["loop", "history"]).stdout.contains("complete").then_some(());
    let ended = eventually(PATIENCE, is_complete);
    assert!(ended.is_some(), "{}", server.model.transcript());
    // Nothing holds the session that has no loop any more.
    let asked = json!({"parts": [{"type": "text", "text": "thank you"}]});
    server.post(&format!("/session/{id}/message"), &asked);
    // If the end is not verified, the agent was held once more to pass that on.
    let count = server.model.requests().len();
    assert!((5..=6).contains(&count), "{}", server.model.transcript());
}

#[test]
fn a_file_with_the_line_ends_of_dos_keeps_its_older_mistakes() {
    let project = project();
    project.commit_older_mistake();
    let edit = edit(&project, "app.py", "other = 1\nlast", "other = 2\nlast");
    let run = project.run("change it", vec![edit, ScriptedTurn::text("done")]);
    run.assert_nothing_is_blamed();
    assert!(project.sandbox.read("app.py").contains("other = 2"));
}

#[test]
fn a_command_in_a_prompt_starts_a_loop_too() {
    let project = project();
    let turns = vec![ScriptedTurn::text("not yet")];
    let run = project.run(" /moai-loop fix it --completion-promise DONE --max-iterations 5", turns);
    run.assert_first_told_in(1, "[moai-ralph] loop ");
}

#[test]
fn with_two_registrations_everything_is_said_once() {
    let project = project();
    let registered = project.sandbox.run(&["init", "--host", "opencode", "--user"]);
    assert_eq!(registered.code, 0, "{registered:#?}");
    let server = project.serve(vec![
        edit(&project, "app.py", "good", "BAD"),
        ScriptedTurn::text("<promise>DONE</promise>"),
        edit(&project, "app.py", "BAD", "better"),
        ScriptedTurn::text("Fixed.\n\n<promise>DONE</promise>"),
    ]);
    let session = server.post("/session", &json!({}));
    let id = session["id"].as_str().expect("a session has an id");
    let arguments = "fix it --completion-promise DONE --max-iterations 5";
    let command = json!({"command": "moai-loop", "arguments": arguments});
    server.post(&format!("/session/{id}/command"), &command);
    server.wait_for_requests(4);
    let requests = server.model.requests();
    for (at, said) in [(1, "introduced 1 error"), (2, "not done yet")] {
        let times = requests[at].matches(said).count();
        assert_eq!(times, 1, "{said}: {}", server.model.transcript());
    }
    let is_complete =
        || project.sandbox.run(&["loop", "history"]).stdout.contains("complete").then_some(());
    assert!(eventually(PATIENCE, is_complete).is_some(), "{}", server.model.transcript());
}
