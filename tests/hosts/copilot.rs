//! GitHub Copilot CLI.

use serde_json::json;

use crate::client::{Client, HostProject};
use crate::model::ScriptedTurn;

fn project() -> HostProject {
    HostProject::with_clean_file(Client::Copilot)
}

fn edit(project: &HostProject, old: &str, new: &str) -> ScriptedTurn {
    let path = project.sandbox.path("app.py");
    ScriptedTurn::tool("edit", json!({"path": path, "old_str": old, "new_str": new}))
}

#[test]
fn an_edit_is_told_what_it_introduced_in_the_next_request() {
    let project = project();
    let turns = vec![edit(&project, "good", "BAD"), ScriptedTurn::text("done")];
    let run = project.run("break it", turns);
    run.assert_first_told_in(2, "app.py: introduced 1 error");
    run.assert_requests(2);
}

#[test]
fn a_loop_holds_the_stop_until_the_work_is_done() {
    let project = project();
    let turns = vec![
        edit(&project, "good", "BAD"),
        ScriptedTurn::text("<promise>DONE</promise>"),
        edit(&project, "BAD", "better"),
        ScriptedTurn::text("Fixed.\n\n<promise>DONE</promise>"),
    ];
    let run = project.run("/moai-loop fix it --completion-promise DONE --max-iterations 5", turns);
    run.assert_first_told_in(1, "[moai-ralph] loop ");
    run.assert_first_told_in(3, "not done yet");
    run.assert_requests(4);
    let history = project.sandbox.run(&["loop", "history"]);
    assert!(history.stdout.contains("complete"), "{history:#?}");
}

#[test]
fn hooks_of_claude_code_that_it_runs_too_act_once() {
    let project = project();
    let seen = project.sandbox.base().join("seen");
    let foreign = json!({"type": "command", "command": format!("touch '{}'", seen.display())});
    let settings = json!({"hooks": {"PostToolUse": [{"hooks": [foreign]}]}});
    project.sandbox.write(".claude/settings.json", &settings.to_string());
    let registered = project.sandbox.run(&["init", "--host", "claude-code"]);
    assert_eq!(registered.code, 0, "{registered:#?}");
    let turns = vec![
        edit(&project, "good", "BAD"),
        ScriptedTurn::text("first"),
        edit(&project, "BAD", "better"),
        ScriptedTurn::text("<promise>DONE</promise>"),
    ];
    let run = project.run("/moai-loop fix it --completion-promise DONE --max-iterations 9", turns);
    run.assert_requests(4);
    let times = run.model.requests()[1].matches("introduced 1 error").count();
    if times != 1 {
        run.fail(&format!("told {times} times"));
    }
    assert!(seen.exists(), "the client does not run this file");
}

#[test]
fn a_file_with_the_line_ends_of_dos_keeps_its_older_mistakes() {
    let project = project();
    project.commit_older_mistake();
    let edit = edit(&project, "other = 1\nlast", "other = 2\nlast");
    let run = project.run("change it", vec![edit, ScriptedTurn::text("done")]);
    run.assert_nothing_is_blamed();
    assert!(project.sandbox.read("app.py").contains("other = 2"));
}
