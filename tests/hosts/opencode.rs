//! OpenCode, with the plugin that `init` writes.

use serde_json::json;

use crate::client::{Client, HostProject};
use crate::model::ScriptedTurn;
use crate::support::Sandbox;

/// A committed clean file, and a scripted server that finds `BAD`.
fn project() -> HostProject {
    let sandbox = Sandbox::new();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.commit();
    HostProject::new(sandbox, Client::OpenCode)
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
