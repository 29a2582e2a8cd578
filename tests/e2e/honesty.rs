//! Loops whose end must be honest: the old findings of a real project do not hold a Stop, and a
//! promise without any work completes nothing.

use serde_json::json;

use crate::host::{Run, checkout, run};
use crate::model::Turn;
use crate::requests::lay_requests;
use crate::servers::project_in;
use crate::support::Sandbox;

/// The line that the agent writes below the head of the function.
const DOCSTRING: &str = "    \"\"\"Return how many bytes of ``o`` are left to be read.\"\"\"\n";
const HEAD: &str = "def super_len(o):\n";

/// `requests` as its source distribution has it: a few hundred type errors, none of them new.
fn requests() -> Sandbox {
    let sandbox = project_in(&["python"]);
    lay_requests(&sandbox.base(), &sandbox.root());
    sandbox.commit();
    sandbox
}

/// Bytes of hook texts in the model's context, with repetitions.
#[expect(clippy::print_stdout, reason = "captured by the test runner")]
fn print_bytes(run: &Run) {
    let bytes = run.told_by_hooks().iter().map(String::len).sum::<usize>();
    println!("the model was told {bytes} bytes by hooks:");
    for text in run.told_by_hooks() {
        println!("--- {} bytes\n{text}", text.len());
    }
}

#[test]
fn a_docstring_in_a_project_with_old_errors_takes_one_iteration() {
    let sandbox = requests();
    let file = sandbox.path("src/requests/utils.py");
    let read = json!({"file_path": file, "offset": 130, "limit": 20});
    let edit = json!({
        "file_path": file, "old_string": HEAD, "new_string": format!("{HEAD}{DOCSTRING}"),
    });
    let turns = vec![
        Turn::Tool { name: "Read", input: read },
        Turn::Tool { name: "Edit", input: edit },
        Turn::text("The docstring is there."),
    ];
    let prompt = "/moai-ralph:moai-loop Add a docstring to super_len --until diagnostics";
    let run = run(&sandbox, checkout(), prompt, turns);
    print_bytes(&run);
    run.assert_finished();
    assert!(sandbox.read("src/requests/utils.py").contains(DOCSTRING));
    let requests = run.model.requests().len();
    if requests != 3 {
        run.fail(&format!("a loop that is not held asks 3 times, not {requests} times"));
    }
    let output = sandbox.run(&["loop", "status", "--json"]);
    let status = output.json();
    // The imports of requests are not installed here, so pyright alone may be a gap.
    let is_import_gap = status["status"] == "completed_unverified"
        && status["note"].to_string().contains("imports cannot be resolved");
    if status["iteration"] != 1 || !(is_import_gap || status["status"] == "completed") {
        run.fail(&format!("the loop has not ended well after one iteration: {status:#}"));
    }
}

#[test]
fn a_promise_without_any_work_completes_nothing() {
    let sandbox = project_in(&["python"]);
    sandbox.write("app.py", "def total(items: list[int]) -> int:\n    return sum(items)\n");
    sandbox.commit();
    let claim = "Everything is done.\n\n<promise>DONE</promise>";
    let turns = vec![Turn::text(claim), Turn::text(claim)];
    let prompt = "/moai-ralph:moai-loop Make total faster --completion-promise DONE \
                  --until diagnostics";
    let run = run(&sandbox, checkout(), prompt, turns);
    print_bytes(&run);
    run.assert_first_told_in(2, "Stop hook feedback");
    run.assert_first_told_in(2, "No file changed since the loop started");
    run.assert_finished();
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    if status["status"] != "completed_unverified" || status["iteration"] != 2 {
        run.fail(&format!("the loop has not ended as unverified: {status:#}"));
    }
    let report = sandbox.run(&["loop", "report"]);
    assert!(report.stdout.contains("nothing was changed"), "{report:#?}");
}
