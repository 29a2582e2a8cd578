//! Part of G16: code under test that ends the process with success, or replaces it by another test run, so
//! that no test decides. Ordinary programs also exit, so an exit counts only where they have no reason for
//! one: while a module is loaded, in a function that returns a result, in a panic hook.

use super::blocks::statements;
use super::child_exits::{is_of_main_part, is_of_worker};
use super::facts::{FunctionNode, SourceSide, is_function, is_string};
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

pub(super) const ENDS: &str =
    "this ends the run of the tests that load or call it, with success: return or fail instead";
pub(super) const ENDS_RESULT: &str = "this ends the run of the tests that call it, with success, in place of a result: return or fail instead";
pub(super) const ENDS_ALONE: &str = "this ends the run of the tests that call it, with success, in place of its result: return or fail instead";
pub(super) const ENDS_IN_PLACE: &str =
    "this ends the run of the tests that load it, with success, in place of what it exported";
pub(super) const REPLACES: &str = "this puts another test run in place of the one that loads it";
pub(super) const ARGUMENTS: &str =
    "the arguments of the program that loads this are replaced: leave the selection of tests alone";

/// Words of calls that print; output before the end of a program is for its user.
const PRINTS: &[&str] =
    &["print", "help", "usage", "version", "write", "log", "fprint", "flush", "stdout", "stderr"];
/// Modules of Python that run tests.
const TEST_RUNNERS: &[&str] = &["doctest", "nose", "nose2", "pytest", "unittest"];

/// The fault of a call that ends the process with success, outside of tests.
pub(super) fn ending(side: &SourceSide<'_>, call: SyntaxNode<'_>) -> Option<&'static str> {
    let function = side.function_at(call);
    let is_of_program = is_program(side)
        || is_of_main_part(call)
        || has_main_part(side) && function.is_some()
        || is_of_worker(call);
    if is_of_program {
        return None;
    }
    let ends_load = match side.language {
        ScanLanguage::Go => is_in_init(function),
        ScanLanguage::Rust => is_in_panic_hook(call),
        ScanLanguage::Python => is_when_loaded(call),
        _ if is_javascript(side) => exports(side) && may_end_load(side, call),
        _ => false,
    };
    if ends_load {
        return Some(ENDS);
    }
    if side.language != ScanLanguage::Python && has_result(side, function, call) {
        return Some(ENDS_RESULT);
    }
    if is_javascript(side) && may_end_load(side, call) {
        return Some(ENDS_IN_PLACE);
    }
    function.is_some_and(|it| statements(it.body).len() == 1).then_some(ENDS_ALONE)
}

/// True if a function of this name has a result.
pub(super) fn had_result(side: &SourceSide<'_>, name: &str) -> bool {
    side.function(name).is_some_and(|function| is_for_result(side, function))
}

/// The fault of a call of the function behind `process.exit`.
pub(super) fn inner_exit(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> Option<&'static str> {
    (node.text() == "process.reallyExit" && !is_entry_point(side)).then_some(ENDS)
}

/// The fault of a Python call that replaces the process.
pub(super) fn replacing(side: &SourceSide<'_>, call: SyntaxNode<'_>) -> Option<&'static str> {
    let name = call.field("function").map_or("", SyntaxNode::text);
    let is_exec = name.starts_with("os.exec") || name.starts_with("os.spawn");
    if side.language != ScanLanguage::Python || !is_exec || is_entry_point(side) {
        return None;
    }
    let words = call.descendants().into_iter().filter(|it| is_string(*it));
    let mut words = words.map(|it| it.text().trim_matches(['"', '\'']));
    words.any(|word| TEST_RUNNERS.contains(&word)).then_some(REPLACES)
}

/// The fault of an assignment to `os.Args` outside of a program.
pub(super) fn argument_change(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> Option<&'static str> {
    let left = node.field("left").map_or("", SyntaxNode::text);
    let is_wrong = side.language == ScanLanguage::Go && left == "os.Args" && !is_entry_point(side);
    is_wrong.then_some(ARGUMENTS)
}

/// True if a file is a program, or has a main part.
pub(super) fn is_entry_point(side: &SourceSide<'_>) -> bool {
    is_program(side) || has_main_part(side)
}

/// True if a file is a program: by its package or name, or its first line.
fn is_program(side: &SourceSide<'_>) -> bool {
    let path = side.path.as_str();
    let name = path.rsplit('/').next().unwrap_or(path);
    let text = side.root.text();
    let is_script = text.starts_with("#!")
        || path.split('/').any(|part| {
            matches!(part, "bin" | "cmd" | "cli" | "examples" | "hack" | "scripts" | "tools")
        });
    is_script
        || match side.language {
            ScanLanguage::Go => {
                text.lines().any(|line| matches!(line.trim(), "package main" | "package cmd"))
            }
            ScanLanguage::Rust => matches!(name, "main.rs" | "build.rs"),
            ScanLanguage::Python => name == "__main__.py",
            _ => false,
        }
}

/// True if a module of JavaScript has a part that runs when it is the program.
fn has_main_part(side: &SourceSide<'_>) -> bool {
    let text = side.root.text();
    is_javascript(side) && (text.contains("require.main") || text.contains("import.meta.main"))
}

/// True if a node always runs when its module is loaded.
fn is_when_loaded(node: SyntaxNode<'_>) -> bool {
    node.ancestors().all(is_always_run)
}

/// True if a node may run when its module of JavaScript is loaded. Under a condition, or in a function that
/// the module calls, it may not say anything.
fn may_end_load(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let called = side.function_at(node).filter(|it| is_called_when_loaded(side, it.node));
    let is_reached = |around: SyntaxNode<'_>| {
        let is_choice = matches!(
            around.kind(),
            "binary_expression" | "else_clause" | "if_statement" | "ternary_expression"
        );
        is_choice
            || is_always_run(around)
            || called.is_some_and(|it| it.node == around)
            || is_run_at_once(around)
    };
    is_when_loaded(node) || node.ancestors().all(is_reached) && !says_something(node)
}

/// True if what is in a node runs when the node is reached.
fn is_always_run(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "module"
            | "program"
            | "expression_statement"
            | "try_statement"
            | "statement_block"
            | "block"
            | "parenthesized_expression"
    )
}

/// True for a function that is called where it is written, or handed to the next round of events, and for
/// that call.
fn is_run_at_once(node: SyntaxNode<'_>) -> bool {
    let is_immediate = |call: SyntaxNode<'_>| {
        let called = call.field("function").map_or("", SyntaxNode::text);
        let is_timer =
            matches!(called, "process.nextTick" | "queueMicrotask" | "setImmediate" | "setTimeout");
        call.kind() == "call_expression" && (is_timer || called.starts_with('('))
    };
    match node.kind() {
        "arguments" => node.parent().is_some_and(is_immediate),
        "arrow_function" | "function_expression" => node
            .ancestors()
            .find(|it| !matches!(it.kind(), "arguments" | "parenthesized_expression"))
            .is_some_and(is_immediate),
        _ => is_immediate(node),
    }
}

/// True if a module of JavaScript calls a function when it is loaded, and not as the program.
fn is_called_when_loaded(side: &SourceSide<'_>, function: SyntaxNode<'_>) -> bool {
    let name = function.field("name").map_or("", SyntaxNode::text);
    let calls = side.root.descendants().into_iter().filter(|it| it.kind() == "call_expression");
    let mut own = calls.filter(|it| it.field("function").is_some_and(|it| it.text() == name));
    own.any(is_when_loaded)
}

fn is_javascript(side: &SourceSide<'_>) -> bool {
    matches!(side.language, ScanLanguage::JavaScript | ScanLanguage::TypeScript | ScanLanguage::Tsx)
}

/// True if a script offers something to other modules.
pub(super) fn exports(side: &SourceSide<'_>) -> bool {
    let text = side.root.text();
    text.contains("module.exports")
        || side.root.named_children().into_iter().any(|it| it.kind() == "export_statement")
        || text.lines().any(|line| line.starts_with("exports."))
}

/// True if a function of Go runs when its package is loaded.
fn is_in_init(function: Option<&FunctionNode<'_>>) -> bool {
    function.is_some_and(|function| function.name == "init")
}

/// True if a call is the hook that runs when a test fails.
fn is_in_panic_hook(call: SyntaxNode<'_>) -> bool {
    call.ancestors().any(|around| {
        around.kind() == "call_expression"
            && around.field("function").is_some_and(|it| it.text().ends_with("set_hook"))
    })
}

/// True if a call ends a function that is called for its result, and says nothing before.
fn has_result(
    side: &SourceSide<'_>,
    function: Option<&FunctionNode<'_>>,
    call: SyntaxNode<'_>,
) -> bool {
    function.is_some_and(|function| {
        let is_own = !call.ancestors().take_while(|it| *it != function.node).any(is_function);
        is_own && is_for_result(side, function) && !says_something(call)
    })
}

/// True if a function has a declared result, or returns a value.
fn is_for_result(side: &SourceSide<'_>, function: &FunctionNode<'_>) -> bool {
    match side.language {
        ScanLanguage::Go => function.node.field("result").is_some(),
        ScanLanguage::Rust => {
            function.node.field("return_type").is_some_and(|it| it.text().trim() != "!")
        }
        _ => function.body.descendants().iter().any(|it| {
            it.kind() == "return_statement"
                && !it.named_children().is_empty()
                && !it.ancestors().take_while(|at| *at != function.node).any(is_function)
        }),
    }
}

/// True if a call ends a program that was asked for help, or follows something that is printed.
fn says_something(call: SyntaxNode<'_>) -> bool {
    let around = call.ancestors().find(|it| {
        let is_choice = it.kind().starts_with("if_") || it.kind().ends_with("_case");
        is_choice || it.kind() == "match_arm" || is_function(*it)
    });
    let text = around.unwrap_or(call).text().to_lowercase();
    PRINTS.iter().any(|word| text.contains(word))
}
