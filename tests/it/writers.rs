//! All writers count: changes by shell commands, formatters, git and other sessions are reported once, after
//! the tool call. Errors that an edit causes in other files are reported with it and hold a Stop.

use std::fs;

use serde_json::{Value, json};

use crate::support::{PATIENCE, SESSION, Sandbox, eventually, json_lines};

const CLEAN: &str = "word = 'good'\n";
const DIRTY: &str = "word = 'BAD'\n";

/// A committed clean file, and a scripted server that finds `BAD`, and calls that lack an argument.
fn project(mut script: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    let unless = json!({"file": "prices.py", "has": "def half(number):"});
    script["errors"] = json!([
        {"needle": "BAD", "message": "bad word", "code": "badWord"},
        {"needle": "half(1)", "message": "argument missing", "code": "args", "unless": unless},
        {"needle": "LACK", "message": "argument missing", "code": "args"},
    ]);
    sandbox.fake_server("pyright-langserver", script);
    sandbox.write("app.py", CLEAN);
    sandbox.commit();
    sandbox
}

/// The same with a module, its user, and a file that has nothing to do with either.
fn shop() -> Sandbox {
    let sandbox = project(json!({}));
    sandbox.write("prices.py", "def half(number):\n    return number / 2\n");
    sandbox.write("cart.py", "from prices import half\n\ntotal = half(1)\n");
    sandbox.commit();
    sandbox
}

const OTHER_SIGNATURE: &str = "def half(number, by):\n    return number / by\n";
const THIRD: &str = "def third(number):\n    return number\n";
const SIGNATURE: &str = "def half(number):\n    return number / 2\n";

fn after_shell(sandbox: &Sandbox) -> String {
    sandbox.hook("post-tool-use", &sandbox.payload("PostToolUse-Bash")).context()
}

fn after_batch(sandbox: &Sandbox) -> String {
    sandbox.hook("post-tool-batch", &sandbox.payload("PostToolBatch")).context()
}

fn pulls(log: &std::path::Path, file: &str) -> usize {
    let is_pull = |message: &&Value| {
        let uri = message["uri"].as_str().unwrap_or_default();
        message["method"] == "textDocument/diagnostic" && uri.ends_with(file)
    };
    json_lines(log).iter().filter(is_pull).count()
}

#[test]
fn what_a_shell_command_wrote_is_told_once_in_the_form_of_an_edit() {
    let sandbox = project(json!({}));
    assert_eq!(sandbox.tool_write("app.py", "word = 'fine'\n").context(), "");
    assert_eq!(after_shell(&sandbox), "");
    sandbox.write("app.py", DIRTY);
    let expected = "[moai-ralph] app.py: introduced 1 error\n  \
                    error app.py:1:9 pyright(badWord): bad word";
    assert_eq!(after_shell(&sandbox), expected);
    assert_eq!((after_shell(&sandbox).as_str(), after_batch(&sandbox).as_str()), ("", ""));
    sandbox.write("app.py", CLEAN);
    assert_eq!(after_shell(&sandbox), "[moai-ralph] app.py: fixed 1; now clean");
    assert_eq!(after_batch(&sandbox), "");
}

#[test]
fn the_first_command_of_a_session_is_seen_as_well() {
    let sandbox = project(json!({}));
    sandbox.write("app.py", DIRTY);
    let told = after_shell(&sandbox);
    assert_eq!(told, "[moai-ralph] app.py: 1 may be older");
}

#[test]
fn a_command_that_failed_and_a_new_file_are_told_at_the_end_of_the_batch() {
    let sandbox = project(json!({}));
    assert_eq!(after_batch(&sandbox), "");
    sandbox.write("new.py", DIRTY);
    let told = after_batch(&sandbox);
    assert!(told.starts_with("[moai-ralph] new.py: introduced 1 error"), "{told}");
    assert_eq!(after_batch(&sandbox), "");
}

#[test]
fn of_many_changed_files_some_are_measured_and_the_rest_is_counted() {
    let sandbox = project(json!({}));
    sandbox.tool_write("app.py", "word = 'fine'\n");
    after_shell(&sandbox);
    for number in 0..20 {
        sandbox.write(&format!("a{number:02}.py"), DIRTY);
    }
    sandbox.write("app.py", DIRTY);
    let told = after_shell(&sandbox);
    // A known file comes first, whatever its name.
    assert!(told.starts_with("[moai-ralph] app.py: introduced 1 error"), "{told}");
    assert_eq!(told.matches("bad word").count(), 8, "{told}");
    assert!(told.contains("13 more files changed on disk; measured at the next Stop"), "{told}");
    assert_eq!(after_batch(&sandbox), "");
}

#[test]
fn a_move_of_head_is_one_line() {
    let sandbox = project(json!({}));
    after_shell(&sandbox);
    for number in 0..20 {
        sandbox.write(&format!("a{number:02}.py"), DIRTY);
    }
    sandbox.commit();
    let told = after_shell(&sandbox);
    assert!(told.starts_with("[moai-ralph] HEAD moved to "), "{told}");
    assert!(told.contains(": 20 files changed on disk") && told.lines().count() == 1, "{told}");
    assert_eq!(after_shell(&sandbox), "");
}

#[test]
fn a_commit_of_little_is_measured_like_any_change() {
    let sandbox = project(json!({}));
    sandbox.tool_write("app.py", "word = 'fine'\n");
    after_shell(&sandbox);
    sandbox.write("app.py", DIRTY);
    sandbox.commit();
    let told = after_shell(&sandbox);
    assert!(told.starts_with("[moai-ralph] app.py: introduced 1 error"), "{told}");
}

#[test]
fn ignored_files_and_files_of_no_language_are_not_commented_on() {
    let sandbox = project(json!({}));
    sandbox.write(".gitignore", "gen/\n");
    after_shell(&sandbox);
    sandbox.write("gen/made.py", DIRTY);
    sandbox.write("notes.txt", DIRTY);
    sandbox.write("app.json", "{}\n");
    assert_eq!(after_shell(&sandbox), "");
}

#[test]
fn an_edit_is_told_by_its_own_hook_alone() {
    let sandbox = project(json!({}));
    after_batch(&sandbox);
    sandbox.tool_write("app.py", "word = 'fine'\n");
    assert!(sandbox.tool_write("app.py", DIRTY).context().contains("bad word"));
    assert_eq!(after_batch(&sandbox), "");
    // A report to this session is not repeated to a different one.
    let mut input = sandbox.payload("PostToolBatch");
    input["session_id"] = "another".into();
    assert_eq!(sandbox.hook("post-tool-batch", &input).context(), "");
    sandbox.tool_write("app.py", &format!("{DIRTY}{DIRTY}"));
    assert_eq!(sandbox.hook("post-tool-batch", &input).context(), "");
}

#[test]
fn an_edit_that_changes_no_byte_asks_nobody_until_another_file_changes() {
    let sandbox = project(json!({}));
    let log = sandbox.base().join("pyright-langserver.jsonl");
    sandbox.tool_write("app.py", "word = 'fine'\n");
    let asked = pulls(&log, "app.py");
    for _ in 0..3 {
        assert_eq!(sandbox.tool_write("app.py", "word = 'fine'\n").context(), "");
    }
    assert_eq!(pulls(&log, "app.py"), asked, "nothing has changed");
    sandbox.write("other.py", "other = 1\n");
    sandbox.tool_write("app.py", "word = 'fine'\n");
    assert_eq!(pulls(&log, "app.py"), asked + 1, "another file has changed");
    sandbox.tool_write("app.py", "word = 'fine'\n");
    assert_eq!(pulls(&log, "app.py"), asked + 1);
}

#[test]
fn a_late_verdict_about_a_shell_command_is_told_exactly_once() {
    let sandbox = project(json!({"delay_ms": 4000}));
    after_shell(&sandbox);
    sandbox.write("new.py", DIRTY);
    let mut told = vec![after_shell(&sandbox)];
    assert!(told[0].contains("the result follows"), "{told:?}");
    let is_told = |texts: &[String]| texts.iter().any(|text| text.contains("bad word"));
    eventually(PATIENCE, || {
        if !is_told(&told) {
            told.push(after_batch(&sandbox));
        }
        is_told(&told).then_some(())
    });
    told.extend([after_batch(&sandbox), after_shell(&sandbox)]);
    assert_eq!(told.iter().filter(|text| text.contains("bad word")).count(), 1, "{told:#?}");
}

#[test]
fn what_an_edit_breaks_and_mends_elsewhere_is_told_with_it() {
    let sandbox = shop();
    let told = sandbox.tool_write("prices.py", OTHER_SIGNATURE).context();
    let expected = "[moai-ralph] prices.py: introduced 1 error in cart.py\n  error cart.py:3:9 \
                    pyright(args): argument missing [broken by this edit]";
    assert_eq!(told, expected);
    let again = format!("{OTHER_SIGNATURE}\n\nhalf(1, 2)\n");
    let told = sandbox.tool_write("prices.py", &again).context();
    assert!(!told.contains("cart.py"), "told before: {told}");
    let told = sandbox.tool_write("prices.py", SIGNATURE).context();
    assert_eq!(told, "[moai-ralph] prices.py: fixed 1 in cart.py");
}

#[test]
fn of_equal_errors_elsewhere_the_new_one_is_named() {
    let sandbox = shop();
    sandbox.write("cart.py", "from prices import half\n\ntotal = half(1)\nword = 'LACK'\n");
    assert_eq!(sandbox.run(&["check", "cart.py"]).code, 1);
    let told = sandbox.tool_write("prices.py", OTHER_SIGNATURE).context();
    assert!(told.contains("cart.py:3:9") && !told.contains("cart.py:4"), "{told}");
}

#[test]
fn what_was_wrong_before_is_not_the_edits_fault() {
    let sandbox = shop();
    sandbox.write("cart.py", "from prices import half\n\nword = 'BAD'\ntotal = half(1)\n");
    let told = sandbox.tool_write("prices.py", OTHER_SIGNATURE).context();
    assert!(told.contains("argument missing") && !told.contains("bad word"), "{told}");
}

#[test]
fn a_command_that_removes_a_module_breaks_its_importers() {
    let sandbox = shop();
    after_shell(&sandbox);
    fs::remove_file(sandbox.path("prices.py")).expect("the file is ours");
    let told = after_shell(&sandbox);
    let expected = "[moai-ralph] prices.py: introduced 1 error in cart.py\n  error cart.py:3:9 \
                    pyright(args): argument missing [broken by this edit]";
    assert_eq!(told, expected);
}

/// The same with a server that is so slow that the effect on other files comes late.
fn slow_shop() -> Sandbox {
    let sandbox = shop();
    let file = sandbox.base().join("pyright-langserver.json");
    let script = fs::read_to_string(&file).expect("the script is there");
    let mut script: Value = serde_json::from_str(&script).expect("a script is JSON");
    script["delay_ms"] = 1800.into();
    fs::write(&file, script.to_string()).expect("the sandbox is writable");
    sandbox
}

#[test]
fn a_late_effect_on_other_files_is_told_exactly_once() {
    let sandbox = slow_shop();
    let mut told = vec![sandbox.tool_write("prices.py", OTHER_SIGNATURE).context()];
    let is_told = |texts: &[String]| texts.iter().any(|text| text.contains("argument missing"));
    eventually(PATIENCE, || {
        if !is_told(&told) {
            told.push(after_batch(&sandbox));
        }
        is_told(&told).then_some(())
    });
    assert!(
        told.last().is_some_and(|text| text.contains("prices.py (pyright, late)")),
        "{told:#?}"
    );
    told.extend([after_batch(&sandbox), after_batch(&sandbox)]);
    let times = told.iter().filter(|text| text.contains("argument missing")).count();
    assert_eq!(times, 1, "{told:#?}");
}

#[test]
fn an_effect_that_the_next_edit_mended_is_not_told() {
    let sandbox = slow_shop();
    let log = sandbox.base().join("pyright-langserver.jsonl");
    let mut told = vec![sandbox.tool_write("prices.py", OTHER_SIGNATURE).context()];
    told.push(sandbox.tool_write("prices.py", SIGNATURE).context());
    let asked_twice = eventually(PATIENCE, || (pulls(&log, "cart.py") >= 2).then_some(()));
    assert!(asked_twice.is_some(), "{told:#?}");
    // The second answer is there when a third question is answered: the server keeps the order.
    sandbox.run(&["check", "cart.py"]);
    told.extend([after_batch(&sandbox), after_batch(&sandbox)]);
    assert!(!told.iter().any(|text| text.contains("argument missing")), "{told:#?}");
}

/// One Stop of this session; the reason if it is held, else the notice.
fn stop(sandbox: &Sandbox) -> Result<String, String> {
    let output = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    match output["reason"].as_str() {
        Some(reason) => Err(reason.to_owned()),
        None => Ok(output["systemMessage"].as_str().unwrap_or_default().to_owned()),
    }
}

fn start_loop(sandbox: &Sandbox) {
    let start = ["loop", "start", "--session", SESSION, "--prompt", "fix it"];
    assert_eq!(sandbox.run(&start).code, 0);
}

#[test]
fn a_file_that_an_edit_broke_holds_the_stop_although_nobody_touched_it() {
    let sandbox = shop();
    start_loop(&sandbox);
    sandbox.tool_write("prices.py", OTHER_SIGNATURE);
    let reason = stop(&sandbox).expect_err("cart.py is broken");
    assert!(reason.contains("cart.py:3:9 pyright(args)"), "{reason}");
    sandbox.tool_write("cart.py", "from prices import half\n\ntotal = half(1, 2)\n");
    let ended = stop(&sandbox).expect("all is clean");
    assert!(ended.contains("completed"), "{ended}");
}

#[test]
fn what_was_wrong_before_in_a_file_nobody_touched_holds_no_stop() {
    let sandbox = shop();
    sandbox.write("cart.py", "from prices import half\n\nword = 'BAD'\ntotal = half(9)\n");
    sandbox.commit();
    start_loop(&sandbox);
    sandbox.tool_write("prices.py", OTHER_SIGNATURE);
    let ended = stop(&sandbox).expect("what is wrong is older");
    assert!(ended.contains("1 error from before the loop"), "{ended}");
}

#[test]
fn a_check_of_what_changed_sees_what_a_deletion_broke() {
    let needle = json!({"file": "prices.py", "has": "def half(number):"});
    let sandbox = Sandbox::new();
    let errors = json!([
        {"needle": "prices", "message": "prices is not there", "code": "import", "unless": needle},
        {"needle": "BAD", "message": "bad word", "code": "badWord"},
    ]);
    sandbox.fake_server("pyright-langserver", json!({ "errors": errors }));
    sandbox.write("prices.py", SIGNATURE);
    sandbox.write("cart.py", "from prices import half\n\nword = 'BAD'\n");
    sandbox.write("other.py", DIRTY);
    sandbox.commit();
    assert_eq!(sandbox.run(&["check"]).code, 0);
    fs::remove_file(sandbox.path("prices.py")).expect("the file is there");
    let output = sandbox.run(&["check", "--json"]);
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stderr.contains("prices.py was deleted"), "{output:#?}");
    let report = output.json();
    let findings = report["findings"].as_array().expect("a report lists its findings");
    let told: Vec<&str> = findings.iter().filter_map(|it| it["message"].as_str()).collect();
    assert_eq!(told, ["prices is not there"], "what was wrong before is not the deletion's");
    sandbox.write("cart.py", CLEAN);
    sandbox.commit();
    assert_eq!(sandbox.run(&["check"]).code, 0);
}

#[test]
fn a_module_that_was_put_back_mends_its_importers() {
    let sandbox = shop();
    assert_eq!(
        sandbox.tool_write("cart.py", "from prices import half\n\ntotal = half(1)  #\n").context(),
        ""
    );
    assert_eq!(after_shell(&sandbox), "");
    let module = sandbox.path("prices.py");
    fs::remove_file(&module).expect("the module is there");
    assert!(after_shell(&sandbox).contains("argument missing"));
    sandbox.write("prices.py", SIGNATURE);
    let told = after_shell(&sandbox);
    assert!(told.contains("cart.py") && told.contains("fixed 1"), "{told}");
}

/// A measured shop whose server delays every answer.
fn slowly_measured_shop() -> Sandbox {
    let sandbox = project(json!({"delay_ms": 300}));
    sandbox.write("prices.py", SIGNATURE);
    sandbox.write("cart.py", "from prices import half\n\ntotal = half(1)\n");
    sandbox.commit();
    assert_eq!(sandbox.run(&["check", "cart.py"]).code, 0);
    sandbox
}

/// Runs `measure`, and changes the signature in prices.py once the server was asked about cart.py.
fn break_while_measuring<T: Send>(sandbox: &Sandbox, measure: impl FnOnce() -> T + Send) -> T {
    let log = sandbox.base().join("pyright-langserver.jsonl");
    let asked = pulls(&log, "cart.py");
    std::thread::scope(|scope| {
        let measuring = scope.spawn(measure);
        let is_asked = eventually(PATIENCE, || (pulls(&log, "cart.py") > asked).then_some(()));
        sandbox.write("prices.py", OTHER_SIGNATURE);
        assert!(is_asked.is_some(), "the server was never asked");
        measuring.join().expect("no panic")
    })
}

#[test]
fn what_breaks_while_the_server_works_is_in_the_result_of_a_check() {
    let sandbox = slowly_measured_shop();
    sandbox.write("cart.py", "from prices import half\n\ntotal = half(1)  #\n");
    let output = break_while_measuring(&sandbox, || sandbox.run(&["check", "cart.py", "--json"]));
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stdout.contains("argument missing"), "{output:#?}");
}

#[test]
fn what_breaks_while_the_server_works_is_in_the_feedback_of_an_edit() {
    let sandbox = slowly_measured_shop();
    let text = "from prices import half\n\ntotal = half(1)  #\n";
    let feedback = break_while_measuring(&sandbox, || sandbox.tool_write("cart.py", text));
    assert!(!feedback.context().is_empty(), "not clean: {feedback:#?}");
}

#[test]
fn an_importer_is_measured_again_if_it_was_measured_while_another_file_was_half_written() {
    let sandbox = Sandbox::new();
    let unless = json!({"file": "tax.py", "has": "def third"});
    let errors = json!([{"needle": "half(1)", "message": "tax is no module", "unless": unless}]);
    sandbox.fake_server("pyright-langserver", json!({"delay_ms": 700, "errors": errors}));
    sandbox.write("prices.py", SIGNATURE);
    sandbox.write("tax.py", THIRD);
    sandbox.write("cart.py", "import tax\nfrom prices import half\ntotal = half(1)\n");
    sandbox.commit();
    assert_eq!(sandbox.run(&["check", "cart.py"]).code, 0);
    let log = sandbox.base().join("pyright-langserver.jsonl");
    let asked = pulls(&log, "cart.py");
    sandbox.write("tax.py", "");
    sandbox.tool_write("prices.py", OTHER_SIGNATURE);
    let is_asked = |count: usize| {
        eventually(PATIENCE, || (pulls(&log, "cart.py") >= asked + count).then_some(()))
    };
    is_asked(1).expect("an importer of the edited file is measured");
    sandbox.write("tax.py", THIRD);
    is_asked(2).expect("what it was measured with is gone");
    assert_eq!(sandbox.run(&["check", "cart.py"]).code, 0);
    let reported = after_batch(&sandbox);
    assert!(!reported.contains("tax is no module"), "{reported}");
}

#[test]
fn a_file_that_is_as_before_again_is_measured_again_by_a_check() {
    let sandbox = slowly_measured_shop();
    let log = sandbox.base().join("pyright-langserver.jsonl");
    let text = "from prices import half\n\ntotal = half(1)  #\n";
    sandbox.write("cart.py", text);
    let asked = pulls(&log, "cart.py");
    let output = std::thread::scope(|scope| {
        let checking = scope.spawn(|| sandbox.run(&["check", "cart.py", "--json"]));
        eventually(PATIENCE, || (pulls(&log, "cart.py") > asked).then_some(())).expect("asked");
        sandbox.tool_write("cart.py", "total = 1\n");
        sandbox.tool_write("cart.py", text);
        checking.join().expect("no panic")
    });
    assert_eq!(output.code, 0, "{output:#?}");
}

#[test]
fn what_an_edit_broke_elsewhere_holds_the_stop_after_a_restart_of_the_daemon() {
    for baseline in ["base", "none"] {
        let sandbox = shop();
        let start =
            ["loop", "start", "--session", SESSION, "--baseline", baseline, "--prompt", "go"];
        assert_eq!(sandbox.run(&start).code, 0);
        let feedback = sandbox.tool_write("prices.py", OTHER_SIGNATURE).context();
        assert!(feedback.contains("cart.py:3:9"), "{feedback}");
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        let reason = stop(&sandbox).expect_err("cart.py is still broken");
        assert!(reason.contains("cart.py:3:9 pyright(args)"), "{baseline}: {reason}");
    }
}

/// The hook after the change finds the importer broken already, and the rename keeps the server from
/// showing the state before.
#[test]
fn what_broke_before_the_hook_of_a_change_holds_the_stop() {
    for baseline in ["base", "none"] {
        let sandbox = shop();
        sandbox.write("tax.py", "def third(number):\n    return number\n");
        let cart = "from prices import half\nfrom tax import third\ntotal = half(1)\n";
        sandbox.write("cart.py", cart);
        sandbox.commit();
        let start =
            ["loop", "start", "--session", SESSION, "--baseline", baseline, "--prompt", "go"];
        assert_eq!(sandbox.run(&start).code, 0);
        let command = sandbox.payload("PostToolUse-Bash");
        sandbox.hook("post-tool-use", &command);
        sandbox.write("prices.py", OTHER_SIGNATURE);
        assert_eq!(sandbox.run(&["check", "--all"]).code, 1);
        fs::rename(sandbox.path("tax.py"), sandbox.path("taxes.py")).expect("a file");
        sandbox.hook("post-tool-use", &command);
        let reason = stop(&sandbox).expect_err("cart.py is broken");
        assert!(reason.contains("cart.py:3:9 pyright(args)"), "{baseline}: {reason}");
    }
}

#[test]
fn names_of_one_or_two_letters_are_sought_in_importers() {
    for name in ["f", "at"] {
        let sandbox = Sandbox::new();
        let unless = json!({"file": "prices.py", "has": format!("def {name}(number):")});
        let call = format!("{name}(1)");
        let errors = json!([{"needle": call, "message": "argument missing", "unless": unless}]);
        sandbox.fake_server("pyright-langserver", json!({ "errors": errors }));
        sandbox.write("prices.py", &format!("def {name}(number):\n    return number\n"));
        sandbox.write("cart.py", &format!("from prices import {name}\n\ntotal = {name}(1)\n"));
        // Without an import it is another name.
        sandbox.write("other.py", &format!("def {name}(number): ...\n{name}(2)\n"));
        sandbox.commit();
        let changed = format!("def {name}(number, by):\n    return number / by\n");
        let feedback = sandbox.tool_write("prices.py", &changed).context();
        assert!(feedback.contains("cart.py:3:9"), "{name}: {feedback}");
        let log = sandbox.base().join("pyright-langserver.jsonl");
        assert_eq!(pulls(&log, "other.py"), 0, "{name}");
        let output = sandbox.run(&["check", "--json"]);
        assert_eq!(output.code, 1, "{name}: {output:#?}");
    }
}

#[test]
fn an_earlier_text_is_taken_back_from_the_server_of_another_package() {
    let sandbox = Sandbox::new();
    let prices = sandbox.path("prices/prices.py").display().to_string();
    let unless = json!({"file": prices, "has": "def half(number):"});
    let errors = json!([{"needle": "half(1)", "message": "argument missing", "code": "args", "unless": unless}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    for package in ["prices", "cart"] {
        sandbox.write(&format!("{package}/pyrightconfig.json"), "{}\n");
    }
    sandbox.write("prices/prices.py", SIGNATURE);
    sandbox.write("cart/cart.py", "from prices import half\n\ntotal = half(1)\n");
    sandbox.commit();
    let told = sandbox.tool_write("prices/prices.py", OTHER_SIGNATURE).context();
    assert!(told.contains("cart/cart.py:3:9 pyright(args): argument missing"), "{told}");
    let check = sandbox.run(&["check", "--no-scan", "cart/cart.py"]);
    assert_eq!(check.code, 1, "{check:#?}");
}
