//! Two clients at the same time in one project.

use std::sync::Arc;
use std::thread;

use serde_json::json;

use crate::client::{Client, HostProject};
use crate::model::{Gate, ScriptedTurn};
use crate::support::Sandbox;

/// A loop that ends with a promise.
const OPTIONS: &str = "fix it --completion-promise DONE --max-iterations 5";

fn patch(old: &str, new: &str) -> ScriptedTurn {
    let patch = format!(
        "*** Begin Patch\n*** Update File: app.py\n@@\n-word = '{old}'\n+word = '{new}'\n*** End Patch\n"
    );
    ScriptedTurn::tool("apply_patch", patch.into())
}

/// Ids of the loops with a status.
fn loops(sandbox: &Sandbox, status: &str) -> Vec<String> {
    let shown = sandbox.run(&["loop", "history", "--all"]).stdout;
    let lines = shown.lines().filter(|line| line.contains(status));
    lines.filter_map(|line| Some(line.split_once(' ')?.0.to_owned())).collect()
}

#[test]
fn each_has_a_loop_of_its_own_and_ends_no_other() {
    let sandbox = Sandbox::new();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", "word = 'good'\n");
    sandbox.write("other.py", "word = 'good'\n");
    sandbox.commit();
    let sandbox = Arc::new(sandbox);
    let codex = HostProject::in_project(&sandbox, Client::Codex);
    let copilot = HostProject::in_project(&sandbox, Client::Copilot);
    let (begun, held, finished) = (Gate::new(2), Gate::new(2), Gate::new(2));
    let of_codex = vec![
        patch("good", "BAD").after(&begun),
        ScriptedTurn::text("<promise>DONE</promise>"),
        patch("BAD", "better").after(&held),
        ScriptedTurn::text("Fixed.\n\n<promise>DONE</promise>"),
    ];
    let edit = json!({"path": sandbox.path("other.py"), "old_str": "good", "new_str": "fine"});
    let of_copilot = vec![
        ScriptedTurn::tool("edit", edit).after(&begun),
        ScriptedTurn::text("Not yet.").after(&held),
        ScriptedTurn::text("Done.\n\n<promise>DONE</promise>").after(&finished),
    ];
    thread::scope(|scope| {
        let of_copilot = scope.spawn(|| copilot.run(&format!("/moai-loop {OPTIONS}"), of_copilot));
        let run = codex.run(&format!("$moai-ralph:moai-loop {OPTIONS}"), of_codex);
        run.assert_requests(4);
        run.assert_first_told_in(3, "<hook_prompt");
        assert_eq!(loops(&sandbox, "complete").len(), 1, "{}", run.model.transcript());
        assert_eq!(loops(&sandbox, "running").len(), 1, "{}", run.model.transcript());
        finished.arrive();
        let run = of_copilot.join().expect("the run ends");
        run.assert_first_told_in(3, "not done yet");
        run.assert_requests(3);
    });
    assert_eq!(loops(&sandbox, "complete").len(), 2);
}
