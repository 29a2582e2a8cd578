//! Feedback on edits that only move code, and on edits that arrive faster than the answers.

use std::thread;

use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually};

/// A scripted server that finds `BAD` and `WORSE`.
fn project(mut script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    script["errors"] = json!([
        {"needle": "BAD", "message": "bad word", "code": "badWord"},
        {"needle": "WORSE", "message": "worse word", "code": "worseWord"},
    ]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox
}

fn budget(sandbox: &Sandbox, budget_ms: u64) {
    let text = format!("ralph:\n  lsp: {{inline_budget_ms: {budget_ms}}}\n");
    sandbox.write(".moai/config/sections/ralph.yaml", &text);
}

/// Collects deferred texts, until one of them has `word`.
fn until_told(sandbox: &Sandbox, word: &str) -> Vec<String> {
    let batch = sandbox.payload("PostToolBatch");
    let mut told = Vec::new();
    let found = eventually(PATIENCE, || {
        told.push(sandbox.hook("post-tool-batch", &batch).context());
        told.last().is_some_and(|text| text.contains(word)).then_some(())
    });
    told.retain(|text| !text.is_empty());
    assert!(found.is_some(), "never told: {word}: {told:#?}");
    told
}

#[test]
fn an_old_error_that_moved_is_not_news_and_an_equal_one_is() {
    let sandbox = project(json!({}));
    let first = "a = 'BAD'\nb = 1\nc = 2\n";
    sandbox.tool_write("app.py", first);
    let moved = format!("import os\n\n{first}");
    assert_eq!(sandbox.tool_write("app.py", &moved).context(), "");
    // The same error again, above the old one: the new one is reported with its line.
    let told = sandbox.tool_write("app.py", &format!("d = 'BAD'\n{moved}")).context();
    let expected = "[moai-ralph] app.py: introduced 1 error; 1 older remaining\n  \
                    error app.py:1:6 pyright(badWord): bad word";
    assert_eq!(told.trim_end(), expected);
    // One error fixed and an equal one introduced elsewhere.
    let told = sandbox.tool_write("app.py", &format!("d = 'BAD'\n{moved}e = 'BAD'\n"));
    assert!(told.context().contains("introduced 1 error; 2 older remaining"), "{told:#?}");
    let swapped = format!("d = 'WORSE'\n{moved}e = 'BAD'\n");
    let told = sandbox.tool_write("app.py", &swapped).context();
    assert!(told.contains("introduced 1 error; fixed 1\n"), "2 older were told: {told}");
}

#[test]
fn an_error_that_an_edit_puts_back_is_introduced_whoever_removed_it() {
    let sandbox = project(json!({}));
    let right = "a = 1\nc = 3\n";
    let wrong = "a = 1\nb = 'BAD'\nc = 3\n";
    sandbox.tool_write("app.py", right);
    let edited = |text: &str| sandbox.tool_write("app.py", text).context();
    assert!(edited(wrong).contains("introduced 1 error"));
    // No hook reports this write; the last verified set is that of the wrong text.
    sandbox.write("app.py", right);
    let told = edited(wrong);
    assert!(told.contains("introduced 1 error") && told.contains("app.py:2:6"), "{told}");
    sandbox.write("app.py", right);
    sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash"));
    let told = edited(wrong);
    assert!(told.contains("introduced 1 error") && told.contains("app.py:2:6"), "{told}");
    // Nor are changes by other programs attributed to the edit.
    sandbox.write("app.py", &format!("{wrong}d = 'WORSE'\n"));
    let told = edited(&format!("z = 0\n{wrong}d = 'WORSE'\n"));
    assert!(told.contains("app.py: 1 may be older; 1 older remaining"), "{told}");
}

#[test]
fn an_error_that_an_edit_writes_back_into_a_replaced_line_is_listed_each_time() {
    let sandbox = project(json!({}));
    sandbox.tool_write("app.py", "a = 1\nb = 'BAD'\nc = 3\n");
    for _ in 0..2 {
        // No hook reports this write, so the text without the error is never measured.
        sandbox.write("app.py", "a = 1\nb = 2\nc = 3\n");
        let told = sandbox.tool_write("app.py", "a = 1\nb = 'BAD'\nc = 3\n").context();
        let expected = "[moai-ralph] app.py: 1 may be older\n  \
                        error app.py:2:6 pyright(badWord): bad word [may be older]";
        assert_eq!(told.trim_end(), expected);
    }
}

#[test]
fn an_edit_is_not_blamed_for_what_another_file_does() {
    let sandbox = Sandbox::new();
    let unless = json!({"file": "prices.py", "has": "def half(number):"});
    let errors = json!([
        {"needle": "half(1)", "message": "argument missing", "code": "args", "unless": unless},
    ]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("prices.py", "def half(number):\n    return number\n");
    let cart = "total = half(1)\n";
    sandbox.write("cart.py", cart);
    assert_eq!(sandbox.run(&["check", "--all"]).code, 0);
    sandbox.write("prices.py", "def half(number, by):\n    return number\n");
    let told = sandbox.tool_write("cart.py", &format!("{cart}other = 2\n")).context();
    assert!(told.contains("cart.py: 1 may be older"), "{told}");
    // The edit's own text is attributed to it.
    let told = sandbox.tool_write("cart.py", &format!("{cart}other = 2\nmore = half(1)\n"));
    assert!(told.context().contains("introduced 1 error; 1 older remaining"), "{told:#?}");
}

#[test]
fn of_a_storm_of_edits_only_the_newest_is_told_and_once() {
    let sandbox = project(json!({"delay_ms": 300}));
    sandbox.tool_write("app.py", "word = 'good'\n");
    let mut told: Vec<String> = thread::scope(|scope| {
        let hooks: Vec<_> = (0..10)
            .map(|number| {
                let sandbox = &sandbox;
                let text = format!("word = 'BAD'  # {number}\n");
                sandbox.write("app.py", &text);
                let mut input = sandbox.payload("PostToolUse-Write");
                input["tool_input"]["file_path"] = json!(sandbox.path("app.py"));
                input["tool_response"]["filePath"] = json!(sandbox.path("app.py"));
                input["tool_response"]["type"] = "update".into();
                scope.spawn(move || sandbox.hook("post-tool-use", &input).context())
            })
            .collect();
        hooks.into_iter().map(|hook| hook.join().expect("the hook ends")).collect()
    });
    if !told.iter().any(|text| text.contains("bad word")) {
        told.extend(until_told(&sandbox, "bad word"));
    }
    told.push(sandbox.tool_write("app.py", "word = 'BAD'  # at rest\n").context());
    let times = told.iter().filter(|text| text.contains("bad word")).count();
    assert_eq!(times, 1, "{told:#?}");
    assert!(!told.iter().any(|text| text.contains("changed while")), "{told:#?}");
}

#[test]
fn a_slow_server_makes_later_edits_wait_less_and_is_told_late_exactly_once() {
    let sandbox = project(json!({"delay_ms": 3000}));
    budget(&sandbox, 900);
    let write = |text: &str| sandbox.tool_write("app.py", text).context();
    // Nothing is known yet.
    let told = write("word = 1\n");
    assert!(told.contains("no answer within 900 ms; the result follows"), "{told}");
    // It has been silent for a while.
    let told = write("word = 'BAD'\n");
    assert!(told.contains("no answer within 300 ms; the result follows"), "{told}");
    let mut all = until_told(&sandbox, "bad word");
    // Warm, and not yet known to be slow when warm.
    all.push(write("word = 'BAD'\n'WORSE'\n"));
    all.extend(until_told(&sandbox, "worse word"));
    all.push(write("word = 'BAD'\n'WORSE'\n1\n"));
    assert!(all.last().is_some_and(|text| text.contains("within 300 ms")), "{all:#?}");
    all.extend(until_told(&sandbox, "nothing new"));
    for word in ["bad word", "worse word"] {
        let times = all.iter().filter(|text| text.contains(word)).count();
        assert_eq!(times, 1, "{word}: {all:#?}");
    }
}

#[test]
fn an_edit_that_overtakes_an_untold_one_tells_both() {
    let sandbox = project(json!({"first_delay_ms": 2500}));
    budget(&sandbox, 700);
    sandbox.tool_write("app.py", "a = 'BAD'\n");
    let told = sandbox.tool_write("app.py", "a = 'BAD'\nb = 'WORSE'\n").context();
    assert_eq!(told.matches("bad word").count(), 1, "{told}");
    assert!(told.contains("2 errors"), "{told}");
}

#[test]
fn an_unread_report_of_a_fault_does_not_make_older_errors_new() {
    let missing =
        json!({"needle": "import numpy", "message": "no numpy", "code": "reportMissingImports"});
    let bad = json!({"needle": "BAD", "message": "bad word", "code": "badWord"});
    let sandbox = Sandbox::new();
    let script = json!({"delay_ms": 2000, "errors": [missing, bad]});
    sandbox.fake_server("pyright-langserver", script);
    sandbox.write("requirements.txt", "numpy\n");
    budget(&sandbox, 500);
    let before = "a = 'BAD'\n";
    sandbox.write("app.py", before);
    assert_eq!(sandbox.run(&["check", "app.py"]).code, 1);
    // The result of this edit is incomplete, and its report is queued when the check has ended.
    let told = sandbox.tool_write("app.py", "import numpy\na = 'BAD' + numpy.e\n").context();
    assert!(told.contains("the result follows"), "{told}");
    sandbox.run(&["check", "app.py"]);
    let told = sandbox.tool_write("app.py", before).context();
    assert!(told.contains("the result follows"), "{told}");
    let told = until_told(&sandbox, "app.py").concat();
    assert!(!told.contains("introduced") && !told.contains("may be older"), "{told}");
}
