//! G16: faked results: success reported unconditionally, by a test or by the code that it loads, equality
//! that is always true, a clock or random source replaced in non-test code, a replaced test runner.

use super::blocks::{is_class, statements};
use super::child_exits::{ReachingProcess, follows_success, reaching};
use super::ended_runs;
use super::facts::{FunctionNode, ParsedFiles, SourceSide, attributes, is_string, normal};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::{Detection, GuardInput, SourceChange};
use moai_base::finding::Severity;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G16";

const EXIT: &str = "a test ends the run with success: let the runner decide";
const EXIT_IF_ASKED: &str = "a test ends the run with success where the environment asks for it: start that process in this file, or let the runner decide";
const EXIT_UNLESS_ASKED: &str = "a test ends the run with success unless the environment asks for more: skip the tests that need it";
const STATUS: &str = "the status of the test run is overwritten: let the runner decide";
const OUTCOME: &str = "a test report is rewritten to pass: let the runner decide";
const REPORTED: &str =
    "the tested code reports results of tests and ends the run with success: let the tests run";
const SKIPS: &str = "the tested code skips the test that calls it: let the test decide";
const ENDED_COMMENT: &str =
    "a carriage return ends this comment, and what follows runs: end lines with a line feed";
const ENCODED: &str = "in this encoding a comment can hold code that runs: use UTF-8";
const RUNNER: &str = "a part of the test runner is replaced: let the runner decide";
const FILTERED: &str = "collected tests are left out by their names: run them";
const UNRUN: &str = "`TestMain` runs no test: call `m.Run()`";
const EQUAL: &str = "this equality always holds: compare the real values";
const PATCHED: &str =
    "a clock, a random source or a built-in is replaced outside of tests: pass it in instead";

/// Calls that end a process; without argument or with zero they report success.
const EXITS: &[&str] = &[
    "Environment.Exit",
    "System.exit",
    "exit",
    "os.Exit",
    "os._exit",
    "process.exit",
    "process.reallyExit",
    "process::exit",
    "std::process::exit",
    "sys.exit",
    "quit",
];

/// Functions that only tests may replace.
const REPLACED: &[&str] = &[
    "Date",
    "Date.now",
    "Math.random",
    "builtins.hash",
    "builtins.isinstance",
    "builtins.len",
    "builtins.open",
    "builtins.print",
    "builtins.sum",
    "crypto.randomUUID",
    "datetime.date",
    "datetime.datetime",
    "datetime.now",
    "global.Date",
    "global.setTimeout",
    "globalThis.Date",
    "globalThis.setTimeout",
    "os.urandom",
    "performance.now",
    "random.choice",
    "random.randint",
    "random.random",
    "time.monotonic",
    "time.perf_counter",
    "time.sleep",
    "time.time",
    "uuid.uuid4",
];

/// Types and modules of runners, and their parts that decide about a test.
const RUNNERS: &[&str] = &["TestCase", "TestResult", "TextTestResult", "pytest", "unittest"];
const DECIDING: &[&str] = &[
    "__call__",
    "addError",
    "addFailure",
    "debug",
    "fail",
    "main",
    "raises",
    "run",
    "runTest",
    "wasSuccessful",
];

/// Errors and calls with which Python's runners skip a test.
const SKIPPING_ERRORS: &[&str] = &["SkipTest", "Skipped", "XFailed"];
const SKIPPING_CALLS: &[&str] = &["pytest.skip", "pytest.xfail"];

/// Encodings of Python files in which ASCII characters always mean themselves.
const PLAIN_ENCODINGS: &[&str] =
    &["ascii", "iso-8859-1", "iso-8859-15", "latin-1", "us-ascii", "utf-8", "utf-8-sig", "utf8"];

/// Functions that implement equality.
const EQUALITY: &[&str] = &["Equal", "Equals", "__eq__", "eq", "equals", "isEqual"];

pub(super) fn fake_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    new_occurrences(files, fakes).iter().filter_map(|new| hit(new, files)).collect()
}

fn fakes<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    occurrences(side, |node| fake(side, node).map(|what| format!("{what}\0{}", normal(node))))
}

fn hit(new: &NewOccurrence<'_, '_>, files: &ParsedFiles<'_>) -> Option<Detection> {
    let (what, text) = new.occurrence.key.split_once('\0')?;
    let name = new.side.function_at(new.occurrence.node).map(|it| it.name.as_str());
    let was_there = || {
        let before = new.file.before.as_ref();
        before.is_some_and(|before| {
            name.is_some_and(|name| before.function(name).is_some() || derived(before, name))
        })
    };
    // Rust requires the function for types without fields too, and tests define their own value
    // types.
    let may_be = new.side.language == ScanLanguage::Rust
        || new.side.is_test_at(new.occurrence.node.bytes().start);
    let is_new = new.file.before.is_none();
    let had_result = |name: &str| files.before().any(|it| ended_runs::had_result(it, name));
    // A result is lost in a function that had one, or that such a function calls.
    let loses_result = || {
        let simple = name?.rsplit('.').next()?;
        let call = format!("{simple} (");
        let calls =
            |it: &FunctionNode<'_>| had_result(&it.name) && it.normal_body().contains(&call);
        Some(had_result(name?) || new.side.functions.iter().any(calls))
    };
    if matches!(what, ended_runs::ENDS_ALONE | ended_runs::ENDS_RESULT)
        && loses_result() != Some(true)
    {
        return None;
    }
    let had_exports = || new.file.before.as_ref().is_some_and(|before| ended_runs::exports(before));
    if what == ended_runs::ENDS_IN_PLACE && !had_exports() {
        return None;
    }
    if what == EQUAL && may_be && !was_there() {
        return None;
    }
    // A new program of Rust below `tests` is a test of its own.
    let is_new_program =
        || is_new && new.side.language == ScanLanguage::Rust && name == Some("main");
    let is_exit = matches!(what, EXIT | EXIT_IF_ASKED | EXIT_UNLESS_ASKED);
    if what == EXIT && is_new_program() || is_exit && is_started_script(new, files) {
        return None;
    }
    let is_doubtful = match what {
        EXIT_IF_ASKED => true,
        // If its tests are new as well, nothing that ran before is lost.
        EXIT_UNLESS_ASKED => {
            is_new
                && name == Some("TestMain")
                && holds_tests(new.side)
                && !follows_tests(new.side, new.occurrence.node)
        }
        REPORTED => ended_runs::is_entry_point(new.side),
        _ => false,
    };
    Some(Detection {
        code: CODE,
        severity: if is_doubtful { Severity::Warning } else { Severity::Error },
        path: new.file.change.path.clone(),
        bytes: new.occurrence.node.bytes(),
        message: what.to_owned(),
        anchor: text.to_owned(),
    })
}

fn fake(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> Option<&'static str> {
    let is_test = side.is_test_at(node.bytes().start);
    match node.kind() {
        "call" if is_test && is_skipped(side, node) => Some(FILTERED),
        "raise_statement" | "call" if !is_test && skips_caller(side, node) => Some(SKIPS),
        "call" | "call_expression" | "method_invocation" | "invocation_expression" => {
            faked_call(side, node, is_test)
        }
        "assignment" if is_test && is_passed(node) => Some(OUTCOME),
        "assignment" if is_test && is_filtered(side, node) => Some(FILTERED),
        "member_expression" if !is_test => ended_runs::inner_exit(side, node),
        "comment" => running_comment(side, node),
        "macro_definition" => is_assertion_macro(node).then_some(RUNNER),
        "function_declaration" => (is_test && runs_none(side, node)).then_some(UNRUN),
        "assignment_statement" if !is_test => ended_runs::argument_change(side, node),
        "assignment" | "assignment_expression" => assigned(node, is_test),
        "function_definition" | "function_item" | "method_declaration" | "method_definition" => {
            (is_equality(side, node) && !is_wildcard(node)).then_some(EQUAL)
        }
        _ => None,
    }
}

/// True if a call ends the process with success. In Go the status returned by the tests is fine,
/// and so is a script passed as text to a test.
fn ends_well(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    is_success(side, node) && (side.language != ScanLanguage::Python || is_of_test(side, node))
}

/// True if a call ends the process with success, outside of a program's main part.
fn is_success(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let head = node.text().split('(').next().unwrap_or_default().trim();
    let arguments = node.text()[head.len().min(node.text().len())..]
        .trim()
        .trim_start_matches('(')
        .trim_end_matches(')')
        .trim();
    let is_plain = matches!(head, "exit" | "quit");
    let is_known = || side.language == ScanLanguage::Python || imports_exit(side);
    let is_exit = EXITS.contains(&head) && (!is_plain || is_known());
    // A program started by a test may end itself; it is recognized by its position below
    // `__main__`.
    let is_main =
        node.ancestors().any(|it| it.kind() == "if_statement" && it.text().contains("__main__"));
    let is_success = arguments == "0" || arguments.is_empty() && head != "os._exit";
    is_exit && is_success && !is_main
}

/// True if a module of JavaScript takes `exit` out of `process`.
fn imports_exit(side: &SourceSide<'_>) -> bool {
    side.root.text().lines().any(|line| {
        let words: Vec<&str> = line.split(|it: char| !it.is_alphanumeric()).collect();
        matches!(words.first(), Some(&("const" | "import" | "let" | "var")))
            && line.contains('{')
            && words.contains(&"exit")
            && words.contains(&"process")
    })
}

/// The fault of a call.
fn faked_call(side: &SourceSide<'_>, node: SyntaxNode<'_>, is_test: bool) -> Option<&'static str> {
    let is_harmless = || {
        follows_success(node)
            || is_after_event(node, &["SIG"])
            || keeps_status(side, node)
            || is_stopped(node)
            || is_of_started_program(side, node)
    };
    if is_test && ends_well(side, node) && !is_harmless() {
        return match reaching(side, node) {
            ReachingProcess::Child => None,
            ReachingProcess::Asked => Some(EXIT_IF_ASKED),
            ReachingProcess::Unasked => Some(EXIT_UNLESS_ASKED),
            ReachingProcess::Any => Some(EXIT),
        };
    }
    if !is_test {
        let is_success = is_success(side, node);
        if is_success && has_totals(side.root.text()) {
            return Some(REPORTED);
        }
        let ended = is_success.then(|| ended_runs::ending(side, node)).flatten();
        if let Some(what) = ended.or_else(|| ended_runs::replacing(side, node)) {
            return Some(what);
        }
    }
    sets_runner(node).then_some(RUNNER)
}

/// True if a call ends a process of Node's own runner after its tests, with the status that they
/// had.
fn keeps_status(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let is_of_hook = |around: SyntaxNode<'_>| {
        let called = around.field("function").map_or("", SyntaxNode::text);
        around.kind() == "call_expression" && matches!(called, "after" | "test.after")
    };
    node.text() == "process.exit()"
        && side.root.text().contains("node:test")
        && node.ancestors().any(is_of_hook)
}

/// True if an exit is in a program that tests start: what no test runner runs, compiles or loads.
fn is_of_started_program(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let path = side.path.as_str();
    let function = side.function_at(node).map_or("", |it| it.name.as_str());
    let is_main = function.rsplit('.').next().is_some_and(|name| matches!(name, "main" | "Main"));
    let below_tests = path.rsplit_once("tests/").map_or("", |(_, below)| below);
    // Cargo takes `tests/x.rs` and `tests/x/main.rs` for tests.
    let is_rust_test = match below_tests.matches('/').count() {
        0 => true,
        1 => below_tests.ends_with("/main.rs"),
        _ => false,
    };
    let is_top_level = || node.ancestors().any(|it| it.kind() == "global_statement");
    match side.language {
        ScanLanguage::Go => !path.ends_with("_test.go"),
        ScanLanguage::Rust => is_main && !is_rust_test,
        ScanLanguage::Java => is_main,
        ScanLanguage::CSharp => is_main || is_top_level(),
        _ => false,
    }
}

/// True if a script is among the data of tests, or new and started by another file by its name, and no file
/// loads it.
fn is_started_script(new: &NewOccurrence<'_, '_>, files: &ParsedFiles<'_>) -> bool {
    let side = new.side;
    let path = side.path.as_str();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name);
    let folders = || folder.split('/');
    let is_data =
        folders().any(|it| matches!(it, "fixtures" | "fixture" | "__fixtures__" | "testdata"));
    let loads = |line: &str| {
        let is_load = line.contains("require(")
            || line.trim_start().starts_with("import")
            || line.contains("import(");
        is_load && line.contains(&format!("/{stem}"))
    };
    let is_script = matches!(side.language, ScanLanguage::JavaScript | ScanLanguage::TypeScript);
    let is_loaded = || {
        files.after().any(|it| it.root.text().lines().any(loads))
            || files.files.iter().any(|it| is_configuration_with(it.change, name))
    };
    // Runners load every file of such a folder. A message comes only from the starter.
    let is_run = name.contains(".test.")
        || name.contains(".spec.")
        || folders().any(|it| it == "__tests__")
        || folders().next_back().is_some_and(|it| matches!(it, "" | "spec" | "test" | "tests"))
            && !is_after_event(new.occurrence.node, &["disconnect", "message"]);
    let is_started = || {
        let mut others = files.after().filter(|it| it.path != side.path);
        new.file.before.is_none() && !is_run && others.any(|it| starts_script(it, name))
    };
    is_script && (is_data || is_started()) && !is_loaded()
}

/// True if a file of JavaScript starts programs or workers, and names a script.
fn starts_script(side: &SourceSide<'_>, name: &str) -> bool {
    let text = side.root.text();
    let names = |it: SyntaxNode<'_>| {
        let path = it.text().trim_matches(['"', '\'', '`']);
        is_string(it)
            && path.strip_suffix(name).is_some_and(|it| it.is_empty() || it.ends_with('/'))
    };
    ["exec", "fork(", "new Worker(", "spawn"].iter().any(|start| text.contains(start))
        && side.root.descendants().into_iter().any(names)
}

/// True if the configuration of a tool names a script, which it may load into the tests.
fn is_configuration_with(change: &SourceChange, name: &str) -> bool {
    let path = change.path.as_str();
    let file = path.rsplit('/').next().unwrap_or(path);
    let is_configuration = file == "package.json"
        || file.starts_with(".mocharc")
        || file.contains(".config.")
        || file.contains("vitest.workspace.");
    is_configuration && change.after.as_deref().is_some_and(|text| text.contains(name))
}

/// True if an exit of a test ends nothing: the test has replaced the function, or expects the error that
/// `sys.exit` raises.
fn is_stopped(node: SyntaxNode<'_>) -> bool {
    let mut inner = node;
    node.ancestors().any(|around| {
        let from = std::mem::replace(&mut inner, around);
        let head = around.named_children().into_iter().take_while(|it| *it != from);
        let is_with = around.kind() == "with_statement";
        let is_block = matches!(
            around.kind(),
            "block" | "decorated_definition" | "program" | "statement_block" | "with_statement"
        );
        let is_expected = |head: &str| {
            head.contains("SystemExit")
                && ["raises", "assertRaises"].iter().any(|it| head.contains(it))
        };
        // What another test replaces is its own again afterwards.
        let is_other = |head: &str| {
            let name = head.split(['(', '.']).next().unwrap_or(head);
            matches!(name, "context" | "describe" | "it" | "suite" | "test")
        };
        let mut texts = head.map(SyntaxNode::text).filter(|it| !is_other(it));
        is_block && texts.any(|it| replaces_exit(it) || is_with && is_expected(it))
    })
}

/// True if an exit follows an event of the process, or of the port of a worker, whose name starts so.
fn is_after_event(node: SyntaxNode<'_>, events: &[&str]) -> bool {
    node.ancestors().any(|around| {
        let called = around.field("function").map_or("", SyntaxNode::text);
        let is_handler =
            matches!(called, "parentPort.on" | "parentPort.once" | "process.on" | "process.once");
        let first = around.field("arguments").map(SyntaxNode::named_children);
        let event = first.and_then(|it| it.first().copied()).filter(|it| is_string(*it));
        let event = event.map_or("", |it| it.text().trim_matches(['"', '\'', '`']));
        is_handler && events.iter().any(|it| event.starts_with(it))
    })
}

/// True if a statement puts another function in the place of one that ends the process.
fn replaces_exit(statement: &str) -> bool {
    let text: String = statement.split_whitespace().collect::<String>().replace('\'', "\"");
    let is_given =
        ["(process,\"exit\",", "process.exit=", "setattr(sys,\"exit\",", "setattr(os,\"_exit\","];
    let is_spied = text.contains("(process,\"exit\")")
        && ["stub(", ".mockImplementation", ".mockReturnValue"].iter().any(|it| text.contains(it));
    let is_patched = [
        "patch(\"sys.exit\"",
        "patch(\"os._exit\"",
        "patch.object(sys,\"exit\"",
        "patch.object(os,\"_exit\"",
    ];
    is_spied || is_given.iter().chain(&is_patched).any(|it| text.contains(it))
}

/// True if a macro of Rust takes the name of an assertion.
fn is_assertion_macro(node: SyntaxNode<'_>) -> bool {
    let name = node.field("name").map_or("", SyntaxNode::text);
    matches!(name, "assert" | "assert_eq" | "assert_ne" | "panic")
}

/// The fault of a Python comment that holds code: a lone carriage return ends it, and so does an
/// escape in another encoding of the file.
fn running_comment(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> Option<&'static str> {
    if side.language != ScanLanguage::Python {
        return None;
    }
    if node.text().trim_end_matches('\r').contains('\r') {
        return Some(ENDED_COMMENT);
    }
    let before = &side.root.text()[..node.bytes().start.min(side.root.text().len())];
    let is_at_top = before.bytes().filter(|byte| *byte == b'\n').count() < 2;
    let named = node.text().split_once("coding").filter(|_| is_at_top);
    let named = named.and_then(|(_, rest)| rest.strip_prefix([':', '=']))?.trim_start();
    let end = named.find(|it: char| !it.is_ascii_alphanumeric() && !"-_.".contains(it));
    let name = named[..end.unwrap_or(named.len())].to_ascii_lowercase().replace('_', "-");
    (!name.is_empty() && !PLAIN_ENCODINGS.contains(&name.as_str())).then_some(ENCODED)
}

/// True if Python code makes the test that calls it a skipped one. Test support may do this.
fn skips_caller(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let text = node.text();
    let head = text.split('(').next().unwrap_or_default();
    let is_skipping = match head.strip_prefix("raise ") {
        Some(raised) => {
            let name = raised.trim().rsplit('.').next();
            name.is_some_and(|name| SKIPPING_ERRORS.contains(&name))
        }
        None => SKIPPING_CALLS.contains(&head),
    };
    side.language == ScanLanguage::Python && is_skipping && !side.path.as_str().contains("test")
}

/// True if a text has a quoted line in which a runner reports how many tests ran or passed, with a
/// number.
fn has_totals(text: &str) -> bool {
    let is_number = |word: &str| word.parse::<u32>().is_ok();
    text.lines().filter(|line| line.contains(['"', '\'', '`'])).any(|line| {
        let words = line.split(|it: char| !it.is_ascii_alphanumeric() && it != '#');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_ran = |words: &[&str]| match words {
            ["Ran" | "ran", number, "test" | "tests"] | ["#", "pass" | "tests", number] => {
                is_number(number)
            }
            _ => words == ["test", "result", "ok"],
        };
        let is_passed = |words: &[&str]| words[1] == "passed" && is_number(words[0]);
        words.windows(3).any(is_ran) || words.windows(2).any(is_passed)
    })
}

/// True if a call such as `setattr(TestCase, "run", …)` replaces a part of a test runner.
fn sets_runner(node: SyntaxNode<'_>) -> bool {
    let Some(arguments) = node.text().strip_prefix("setattr(") else { return false };
    let mut arguments = arguments.split(',').map(|it| it.trim().trim_matches(['"', '\'']));
    arguments.next().zip(arguments.next()).is_some_and(|(object, name)| decides(object, name))
}

/// True if a part of a test runner decides about a test.
fn decides(object: &str, name: &str) -> bool {
    let is_of_runner = object.rsplit('.').next().is_some_and(|it| RUNNERS.contains(&it));
    is_of_runner && (DECIDING.contains(&name) || name.starts_with("assert"))
}

/// True if Python code is run by the test runner and not by a program that a test starts.
fn is_of_test(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let file = side.path.file_name();
    let Some(function) = side.function_at(node) else {
        return file.starts_with("test_") || file == "conftest.py";
    };
    let name = function.name.rsplit('.').next().unwrap_or_default();
    let is_hook = ["test", "pytest_", "setup", "setUp", "teardown", "tearDown"];
    let is_fixture =
        function.node.parent().is_some_and(|it| it.text().starts_with("@pytest.fixture"));
    // A forked child must exit without the runner's teardown.
    let is_child = function.node.text().contains("fork(");
    (is_fixture || is_hook.iter().any(|start| name.starts_with(start))) && !is_child
}

fn assigned(node: SyntaxNode<'_>, is_test: bool) -> Option<&'static str> {
    let (left, right) = (node.field("left")?.text(), node.field("right")?);
    let name = left.rsplit('.').next().unwrap_or_default();
    let is_part = left.rsplit_once('.').is_some_and(|(object, name)| decides(object, name));
    // Another error than that of a failed assertion makes failures something else.
    if is_part || name == "failureException" {
        return Some(RUNNER);
    }
    let is_zero = right.text().rsplit('.').next().is_some_and(|it| matches!(it, "0" | "OK"));
    let is_status = matches!(name, "exitstatus" | "exitCode" | "testsfailed" | "ExitCode")
        && left.contains('.');
    if is_test && is_status && is_zero {
        return Some(STATUS);
    }
    let is_replaced = REPLACED.contains(&left);
    let is_prototype = ["Array.prototype.", "Object.prototype.", "String.prototype."]
        .iter()
        .any(|it| left.starts_with(it));
    // Restoring a saved built-in is fine, and a polyfill checks first.
    let asks_first =
        node.ancestors().any(|it| it.kind() == "if_statement" && it.text().contains(name))
            || matches!(right.kind(), "identifier" | "member_expression");
    (!is_test && (is_replaced || is_prototype) && !asks_first).then_some(PATCHED)
}

/// `report.outcome = "passed"`.
fn is_passed(node: SyntaxNode<'_>) -> bool {
    let text = |name: &str| node.field(name).map_or("", SyntaxNode::text);
    text("left").ends_with(".outcome") && text("right").trim_matches(['"', '\'']) == "passed"
}

/// The pytest hook that may change which tests run.
const COLLECTED: &str = "pytest_collection_modifyitems";

/// Conditions under which such a hook may exclude tests: they cannot run here, or were not
/// requested.
const ASKED: &[&str] =
    &["getoption", "config.", "environ", "getenv", "platform", "version", "which(", "find_spec"];

/// True if the hook excludes tests unconditionally.
fn leaves_out(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let hook = side.function_at(node).filter(|it| it.name == COLLECTED);
    let names = [".name", ".nodeid", "\"test_", "'test_"];
    hook.is_some_and(|hook| {
        let text = hook.body.text();
        !ASKED.iter().any(|word| text.contains(word)) && names.iter().any(|it| text.contains(it))
    })
}

/// `items[:] = [… if …]`.
fn is_filtered(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let is_all = node.field("left").is_some_and(|it| it.text().ends_with("[:]"));
    let is_part = node.field("right").is_some_and(|it| it.text().contains(" if "));
    is_all && is_part && leaves_out(side, node)
}

/// `item.add_marker(pytest.mark.skip)`.
fn is_skipped(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let is_mark = node.field("function").is_some_and(|it| it.text().ends_with(".add_marker"));
    let is_skip = node.field("arguments").is_some_and(|it| it.text().contains("skip"));
    is_mark && is_skip && leaves_out(side, node)
}

/// True if a file of Go has tests besides its `TestMain`.
fn holds_tests(side: &SourceSide<'_>) -> bool {
    side.functions.iter().any(|it| it.name.starts_with("Test") && it.name != "TestMain")
}

/// True if the tests of Go have run before a node of their `TestMain`.
fn follows_tests(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let main = side.function_at(node);
    main.is_some_and(|main| {
        let start = main.node.bytes().start;
        main.node.text()[..node.bytes().start - start].contains(".Run()")
    })
}

/// `func TestMain(m *testing.M)` that does nothing with `m`.
fn runs_none(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let is_main = node.field("name").is_some_and(|it| it.text() == "TestMain");
    let parameters = node.field("parameters").map(SyntaxNode::named_children).unwrap_or_default();
    let Some(name) = parameters.first().and_then(|it| it.field("name")) else { return false };
    let body = node.field("body").map(SyntaxNode::descendants).unwrap_or_default();
    let is_used = body.iter().any(|it| it.kind() == "identifier" && it.text() == name.text());
    side.language == ScanLanguage::Go && is_main && !is_used
}

/// True if the equality of a Rust type was derived.
fn derived(side: &SourceSide<'_>, function: &str) -> bool {
    let Some((name, _)) = function.rsplit_once('.') else { return false };
    let name = name.rsplit('.').next().unwrap_or(name);
    let is_type = |node: SyntaxNode<'_>| {
        matches!(node.kind(), "struct_item" | "enum_item")
            && node.field("name").is_some_and(|it| it.text() == name)
    };
    side.language == ScanLanguage::Rust
        && side
            .root
            .descendants()
            .into_iter()
            .filter(|it| is_type(*it))
            .any(|it| attributes(it).iter().any(|it| it.text().contains("PartialEq")))
}

fn is_equality(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let name = node.field("name").map_or("", SyntaxNode::text);
    let Some(body) = node.field("body") else { return false };
    let statements = statements(body);
    let [one] = statements.as_slice() else { return false };
    let text = one.text().trim_end_matches(';').trim();
    let value = text.strip_prefix("return ").unwrap_or(text).trim();
    let is_whole = text.starts_with("return ")
        || side.language == ScanLanguage::Rust
        || body.kind() == "arrow_expression_clause";
    let takes_other = node.field("parameters").is_some_and(|it| {
        it.named_children().len() > usize::from(side.language == ScanLanguage::Python)
    });
    let is_compared = EQUALITY.contains(&name) && value.eq_ignore_ascii_case("true")
        || name == "__ne__" && value == "False"
        || matches!(name, "compareTo" | "CompareTo" | "__cmp__") && value == "0";
    is_whole && takes_other && is_compared
}

/// True if the type is meant to equal everything, or has nothing to compare.
fn is_wildcard(node: SyntaxNode<'_>) -> bool {
    let around = node.ancestors().find(|it| is_class(*it) || it.kind() == "impl_item");
    let Some(around) = around else { return false };
    let name = around.field("name").or_else(|| around.field("type")).map_or("", SyntaxNode::text);
    let is_called_so = [
        "Any", "Anything", "Whatever", "Wildcard", "Ignore", "Marker", "Phantom", "Unit", "Matcher",
    ]
    .iter()
    .any(|word| name.contains(word));
    let plain = name.split('<').next().unwrap_or(name);
    let root = node.ancestors().last();
    let is_unit = root.is_some_and(|root| {
        let text = root.text();
        text.contains(&format!("struct {plain};")) || text.contains("PhantomData")
    });
    is_called_so || around.kind() == "impl_item" && is_unit
}
