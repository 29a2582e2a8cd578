//! The part of a test that runs: unreachable code, functions that nothing calls or waits for, and
//! failures that nothing reports.

use super::{python, tight};
use crate::facts::{attributes, tokens};
use crate::suite::expression::{TokenSlice, bare, is_truth, split};
use moai_scan::syntax::SyntaxNode;

/// The children of a node that can be reached.
pub(super) fn reached_children(node: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    match node.kind() {
        "if_statement" | "if_expression" if truth_of(node) == Some(false) => {
            node.field("alternative").into_iter().collect()
        }
        "if_statement" | "if_expression" if asks_environment(node) => {
            node.field("alternative").into_iter().collect()
        }
        "binary_expression" | "boolean_operator" if is_left_decisive(node) => {
            node.field("left").into_iter().collect()
        }
        "let_declaration" | "expression_statement" if drops_panic(node) => Vec::new(),
        "go_statement" if !is_awaited(node) => Vec::new(),
        "with_statement" if python::suppresses(node) => Vec::new(),
        "try_statement" if swallows(node) => {
            let body = node.field("body");
            node.named_children().into_iter().filter(|child| Some(*child) != body).collect()
        }
        _ => {
            let mut reached = Vec::new();
            for child in node.named_children() {
                reached.push(child);
                if ends(child) {
                    break;
                }
            }
            reached
        }
    }
}

/// True if the right side of `false && …` or `true || …` is never evaluated.
fn is_left_decisive(node: SyntaxNode<'_>) -> bool {
    let left = node.field("left").and_then(|left| truth(&tokens(left)));
    match node.field("operator").map(SyntaxNode::text) {
        Some("&&" | "and") => left == Some(false),
        Some("||" | "or") => left == Some(true),
        _ => false,
    }
}

/// True if a function has no name, or one that the test never uses again.
pub(super) fn is_never_called<'t>(node: SyntaxNode<'t>, body: SyntaxNode<'t>) -> bool {
    let is_function = |value: Option<SyntaxNode<'t>>| {
        value.is_some_and(|it| {
            matches!(
                it.kind(),
                "arrow_function" | "closure_expression" | "lambda" | "lambda_expression"
            )
        })
    };
    if node.kind() == "expression_statement" && is_function(node.named_children().first().copied())
    {
        return true;
    }
    // Go rejects unused variables other than `_`.
    if node.kind() == "assignment_statement"
        && node.field("left").is_some_and(|it| it.text() == "_")
    {
        let values = node.field("right").map(SyntaxNode::named_children).unwrap_or_default();
        return values.iter().all(|value| value.kind() == "func_literal");
    }
    let name = match node.kind() {
        "let_declaration" if is_function(node.field("value")) => node.field("pattern"),
        "variable_declarator" if is_function(node.field("value")) => node.field("name"),
        "assignment" if is_function(node.field("right")) => node.field("left"),
        "function_definition" | "function_declaration" | "function_item" if node != body => {
            let mut around = node.ancestors().take_while(|it| *it != body);
            // Methods are called through their objects, decorated functions by their decorators.
            let is_other = around.any(|it| {
                matches!(it.kind(), "class_definition" | "decorated_definition" | "impl_item")
            });
            node.field("name").filter(|_| !is_other && attributes(node).is_empty())
        }
        _ => None,
    };
    let name = name.filter(|name| name.kind().ends_with("identifier")).map(SyntaxNode::text);
    name.is_some_and(|name| tokens(body).iter().filter(|token| **token == name).count() == 1)
}

/// True if a condition depends on an environment variable, which may be unset everywhere.
fn asks_environment(node: SyntaxNode<'_>) -> bool {
    let condition = node.field("condition").map_or("", SyntaxNode::text);
    ["env::var", "os.environ", "os.getenv", "process.env.", "os.Getenv"]
        .iter()
        .any(|name| condition.contains(name))
}

/// True if a Rust statement discards the result that reports a panic: `let _ = catch_unwind(…);`,
/// `spawn(…).join().ok();`
fn drops_panic(node: SyntaxNode<'_>) -> bool {
    let text = node.text();
    let catches = text.contains("catch_unwind(") || text.contains(".join()");
    let is_ignored = node.field("pattern").is_some_and(|it| it.text() == "_")
        || [".ok();", ".is_ok();", ".is_err();"].iter().any(|end| text.ends_with(end));
    catches && is_ignored
}

/// True if nothing waits for a function of Go that runs on its own: one for `time.AfterFunc`, or a named one that
/// is only called with `go`.
pub(super) fn is_left_running(node: SyntaxNode<'_>) -> bool {
    let is_late = node.kind() == "call_expression"
        && node.field("function").is_some_and(|it| it.text() == "time.AfterFunc");
    let is_function = |it: SyntaxNode<'_>| it.kind() == "func_literal";
    let one = |field: &str| node.field(field).map(SyntaxNode::named_children).unwrap_or_default();
    let named = match (node.kind(), one("left").as_slice(), one("right").as_slice()) {
        ("short_var_declaration", [name], [value]) if is_function(*value) => Some(name.text()),
        _ => None,
    };
    let around = node.ancestors().find(|it| it.kind() == "function_declaration");
    let only_runs_alone = |name: &str| {
        let all = around.map(tokens).unwrap_or_default();
        let uses = all.iter().filter(|token| **token == name).count();
        uses > 1 && all.windows(2).filter(|two| *two == ["go", name]).count() == uses - 1
    };
    (is_late || named.is_some_and(only_runs_alone)) && !is_awaited(node)
}

/// True if the function around a `go` statement waits for anything outside of it.
fn is_awaited(node: SyntaxNode<'_>) -> bool {
    let Some(function) = node.ancestors().find(|it| it.kind() == "function_declaration") else {
        return true;
    };
    let (text, own) = (function.text(), node.bytes());
    let start = own.start - function.bytes().start;
    let outside = [text.get(..start), text.get(start + own.len()..)];
    let waits = ["<-", "Wait", "wait", "select", "Sleep", "Eventually", "range ", "Done", "Join"];
    outside.iter().flatten().any(|text| waits.iter().any(|word| text.contains(word)))
}

/// True if the code after a statement is unreachable.
fn ends(node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "return_statement" | "raise_statement" | "throw_statement" | "break_statement"
        | "continue_statement" => true,
        "expression_statement" => {
            let first = node.named_children().first().copied();
            first.is_some_and(|it| {
                matches!(it.kind(), "return_expression" | "break_expression" | "if_expression")
                    && ends_inside(it)
            })
        }
        "if_statement" => ends_inside(node),
        _ => false,
    }
}

fn ends_inside(node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "if_statement" | "if_expression" => {
            let last = node.field("consequence").and_then(|block| block.named_children().pop());
            truth_of(node) == Some(true)
                && last.is_some_and(|last| ends(last) || last.kind() == "return_expression")
        }
        _ => true,
    }
}

/// The truth of a condition that is a literal.
pub(super) fn truth_of(node: SyntaxNode<'_>) -> Option<bool> {
    truth(&tokens(node.field("condition")?))
}

fn truth(all: TokenSlice<'_, '_>) -> Option<bool> {
    let all = bare(all);
    let choices = split(all, |token| matches!(token, "||" | "or"));
    if choices.len() > 1 {
        let truths: Vec<Option<bool>> = choices.into_iter().map(truth).collect();
        let is_true = truths.contains(&Some(true));
        return (is_true || truths.iter().all(|it| *it == Some(false))).then_some(is_true);
    }
    let parts = split(all, |token| matches!(token, "&&" | "and"));
    if parts.len() > 1 {
        let truths: Vec<Option<bool>> = parts.into_iter().map(truth).collect();
        let is_false = truths.contains(&Some(false));
        return (is_false || truths.iter().all(|it| *it == Some(true))).then_some(!is_false);
    }
    match all {
        ["!" | "not", rest @ ..] => truth(rest).map(|it| !it),
        ["0" | "TYPE_CHECKING"] => Some(false),
        // Python sets it unless it runs with -O, which ignores `assert` as well.
        ["1" | "__debug__"] => Some(true),
        [word] => is_truth(word),
        _ => None,
    }
}

/// True if nothing waits for an assertion about a promise, so that its failure is lost:
/// `expect(load()).rejects.toThrow();`
pub(super) fn is_promise_dropped(node: SyntaxNode<'_>) -> bool {
    let text = tight(node);
    let is_about_promise = text.starts_with("expect(")
        && [").rejects.", ").resolves."].iter().any(|it| text.contains(it));
    is_about_promise && node.parent().is_some_and(|it| it.kind() == "expression_statement")
}

/// True if a `try` swallows the exception of a failing assertion.
fn swallows(node: SyntaxNode<'_>) -> bool {
    let handlers = node
        .named_children()
        .into_iter()
        .filter(|child| matches!(child.kind(), "except_clause" | "catch_clause"));
    handlers.into_iter().any(|handler| {
        let tokens = tokens(handler);
        let head: Vec<&str> =
            tokens.iter().take_while(|it| !matches!(**it, ":" | "{")).copied().collect();
        let is_bare = head.len() <= 1;
        let is_script = handler.field("parameter").is_some_and(|it| it.kind() == "identifier");
        let catches = is_bare
            || is_script
            || head.iter().any(|it| {
                matches!(
                    *it,
                    "Exception"
                        | "BaseException"
                        | "AssertionError"
                        | "Throwable"
                        | "Error"
                        | "AssertionFailedError"
                        | "AssertionException"
                        | "XunitException"
                )
            });
        let reacts = tokens.iter().any(|token| {
            let word = token.to_lowercase();
            let words = ["raise", "throw", "fail", "assert", "expect", "error"];
            words.iter().any(|it| word.starts_with(it)) && !head.contains(token)
                || matches!(*token, "done" | "reject")
        });
        catches && !reacts
    })
}
