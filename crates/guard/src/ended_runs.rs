//! Part of G16: code under test that ends the process with success, or replaces it by another test run, so
//! that no test decides. Ordinary programs also exit, so an exit counts only where they have no reason for
//! one: while a module is loaded, in a function that returns a result, in a panic hook.

use super::blocks::statements;
use super::facts::{FunctionNode, SourceSide, is_string};
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

pub(super) const ENDS: &str =
    "this ends the run of the tests that load or call it, with success: return or fail instead";
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
    if is_entry_point(side) {
        return None;
    }
    let function = side.function_at(call);
    let is_wrong = match side.language {
        ScanLanguage::Go => is_in_init(function) || has_result(side, function, call),
        ScanLanguage::Rust => is_in_panic_hook(call) || has_result(side, function, call),
        ScanLanguage::Python => is_when_loaded(call),
        _ if is_javascript(side) => {
            exports(side) && (is_when_loaded(call) || may_end_load(call))
                || has_result(side, function, call)
        }
        _ => false,
    };
    if is_wrong {
        return Some(ENDS);
    }
    if is_javascript(side) && is_when_loaded(call) {
        return Some(ENDS_IN_PLACE);
    }
    function.is_some_and(|it| statements(it.body).len() == 1).then_some(ENDS_ALONE)
}

/// True if a function of this name has a result.
pub(super) fn had_result(side: &SourceSide<'_>, name: &str) -> bool {
    side.function(name).is_some_and(|function| returns_value(function))
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

/// True if a file is a program: by its package or name, its first line, or a main part.
pub(super) fn is_entry_point(side: &SourceSide<'_>) -> bool {
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
            _ => text.contains("require.main") || text.contains("import.meta.main"),
        }
}

/// True if a node always runs when its module is loaded.
fn is_when_loaded(node: SyntaxNode<'_>) -> bool {
    node.ancestors().all(|around| {
        matches!(
            around.kind(),
            "module"
                | "program"
                | "expression_statement"
                | "try_statement"
                | "statement_block"
                | "block"
        )
    })
}

/// True if a node may run when its module is loaded, under a condition, and says nothing.
fn may_end_load(node: SyntaxNode<'_>) -> bool {
    let is_reached = |around: SyntaxNode<'_>| {
        let kind = around.kind();
        matches!(kind, "else_clause" | "expression_statement" | "if_statement" | "program")
            || kind == "statement_block"
    };
    node.ancestors().all(is_reached) && !says_something(node)
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
    let Some(function) = function else { return false };
    let is_own = !call.ancestors().take_while(|it| *it != function.node).any(is_function);
    let is_typed = match side.language {
        ScanLanguage::Go => function.node.field("result").is_some(),
        ScanLanguage::Rust => {
            function.node.field("return_type").is_some_and(|it| it.text().trim() != "!")
        }
        _ => returns_value(function),
    };
    is_own && is_typed && !says_something(call)
}

/// True if a function without a declared result returns a value.
fn returns_value(function: &FunctionNode<'_>) -> bool {
    function.body.descendants().iter().any(|it| {
        it.kind() == "return_statement"
            && !it.named_children().is_empty()
            && !it.ancestors().take_while(|at| *at != function.node).any(is_function)
    })
}

fn is_function(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function"
            | "closure_expression"
            | "func_literal"
            | "function_declaration"
            | "function_expression"
            | "method_definition"
    )
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
