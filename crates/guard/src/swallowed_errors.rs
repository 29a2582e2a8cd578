//! G13: errors that are dropped: empty handlers and discarded results. A handler that logs, wraps
//! or returns the error is fine.

use super::blocks::statements;
use super::facts::{FunctionNode, ParsedFiles, SourceSide, is_comment, normal};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::suppressions::is_reason;
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G13";

/// The way in which a handler drops the error.
const EMPTY: &str = "an error is caught and dropped";
const DEFAULT: &str = "any error becomes a default value";
const DISCARDED: &str = "a result that may be an error is discarded";

/// Exception types that catch everything.
const BROAD: [&str; 6] =
    ["BaseException", "Error", "Exception", "RuntimeException", "System.Exception", "Throwable"];

pub(super) fn swallowed_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut hits: Vec<Detection> =
        new_occurrences(files, handlers).iter().filter_map(hit).collect();
    for file in &files.files {
        let (Some(before), Some(after)) = (&file.before, &file.after) else { continue };
        for function in &after.functions {
            let Some(old) = before.function(&function.name) else { continue };
            if after.is_test_at(function.node.bytes().start) {
                continue;
            }
            if !passes_errors(after.language, old, function) {
                continue;
            }
            let Some(node) = discarded(after.language, old.body, function.body) else { continue };
            let is_explained = is_explained_beside(after, node);
            hits.push(Detection {
                code: CODE,
                severity: if is_explained { Severity::Warning } else { Severity::Error },
                path: file.change.path.clone(),
                bytes: node.bytes(),
                message: message(DISCARDED),
                anchor: format!("{} {}", function.name, node.text()),
            });
        }
    }
    hits
}

fn message(what: &str) -> String {
    format!("{what}: handle it, pass it on, or let the user decide")
}

fn hit(new: &NewOccurrence<'_, '_>) -> Option<Detection> {
    let node = new.occurrence.node;
    if new.side.is_test_at(node.bytes().start) {
        return None;
    }
    let function = new.side.function_at(node);
    let old = function.and_then(|it| new.file.before.as_ref()?.function(&it.name));
    let (what, has_comment) = handler_fault(node)?;
    let is_statement = matches!(node.kind(), "expression_statement" | "assignment_statement");
    let is_explained = has_comment || is_statement && is_explained_beside(new.side, node);
    let is_blocking = what == EMPTY && !is_explained && old.is_some();
    Some(Detection {
        code: CODE,
        severity: if is_blocking { Severity::Error } else { Severity::Warning },
        path: new.file.change.path.clone(),
        bytes: node.bytes(),
        message: message(what),
        anchor: format!("{} {}", function.map_or("", |it| &it.name), normal(node)),
    })
}

/// The handlers that drop errors.
fn handlers<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    occurrences(side, |node| handler_fault(node).map(|_| key(node)))
}

/// A handler in the form in which handlers are compared; JavaScript may omit the unused variable.
fn key(node: SyntaxNode<'_>) -> String {
    match node.field("body").filter(|_| node.kind() == "catch_clause") {
        Some(body) if node.field("parameter").is_some() => format!("catch {}", normal(body)),
        _ => normal(node),
    }
}

/// True if a comment on the lines above, or after it, gives a reason.
fn is_explained_beside(side: &SourceSide<'_>, node: SyntaxNode<'_>) -> bool {
    let is_beside = |comment: &SyntaxNode<'_>| {
        comment.end_line() + 1 == node.line() || comment.line() == node.end_line()
    };
    side.comments.iter().any(|it| is_beside(it) && is_reason(it.text()))
}

/// The way in which a handler drops the error; true if a comment in it gives a reason.
fn handler_fault(node: SyntaxNode<'_>) -> Option<(&'static str, bool)> {
    let what = match node.kind() {
        "except_clause" => python(node)?,
        "catch_clause" => caught(node)?,
        "with_statement" => suppressing(node)?,
        "call_expression" => promise(node)?,
        "match_arm" => arm(node)?,
        "if_statement" => unchecked_go_error(node)?,
        "expression_statement" => discarded_ok(node)?,
        "assignment_statement" => blank(node)?,
        _ => return None,
    };
    let is_explained = node.descendants().into_iter().any(is_comment);
    Some((what, is_explained))
}

fn python(node: SyntaxNode<'_>) -> Option<&'static str> {
    let body = node.named_children().into_iter().rev().find(|it| it.kind() == "block")?;
    let caught: Vec<SyntaxNode<'_>> = node
        .named_children()
        .into_iter()
        .filter(|it| it.kind() != "block" && !is_comment(*it))
        .collect();
    let text = caught.iter().map(|it| it.text()).collect::<Vec<_>>().join(" ");
    let names: Vec<&str> =
        text.split(|it: char| !(it.is_alphanumeric() || it == '_' || it == '.')).collect();
    let is_broad = text.is_empty() || names.iter().any(|it| BROAD.contains(it));
    let whole = node.parent()?;
    // Code that runs only without an error is in the `else` block.
    let has_else = whole.named_children().iter().any(|it| it.kind() == "else_clause");
    if !is_broad || has_else {
        return None;
    }
    let what = drops(&statements(body))?;
    Some(if has_default(whole) { DEFAULT } else { what })
}

/// Target of a Python assignment.
fn target(statement: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    let inner = *statement.named_children().first()?;
    inner.field("left").filter(|_| inner.kind() == "assignment")
}

/// True if the only statement in the `try` sets a variable that the statement before set to a
/// default.
fn has_default(tried: SyntaxNode<'_>) -> bool {
    let body = tried.field("body").map(statements).unwrap_or_default();
    let before = tried.previous_sibling().and_then(target);
    let [one] = body.as_slice() else { return false };
    before.is_some_and(|it| target(*one).is_some_and(|own| own.text() == it.text()))
}

/// The way in which a block drops an error, if it does.
fn drops(statements: &[SyntaxNode<'_>]) -> Option<&'static str> {
    match statements {
        [] => Some(EMPTY),
        [one] => match one.kind() {
            "pass_statement" | "continue_statement" | "empty_statement" => Some(EMPTY),
            "expression_statement" if one.text() == "..." => Some(EMPTY),
            "return_statement" => {
                let value = one.named_children().first().copied();
                value.is_none_or(is_default).then_some(if value.is_none() {
                    EMPTY
                } else {
                    DEFAULT
                })
            }
            _ => None,
        },
        _ => None,
    }
}

/// True if a value carries no information about an error.
fn is_default(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.text().trim(),
        "None"
            | "null"
            | "nil"
            | "undefined"
            | "False"
            | "false"
            | "True"
            | "true"
            | "0"
            | "-1"
            | "\"\""
            | "''"
            | "[]"
            | "{}"
            | "()"
            | "default"
            | "string.Empty"
            | "Optional.empty()"
    )
}

/// A handler in JavaScript, Java or C#.
fn caught(node: SyntaxNode<'_>) -> Option<&'static str> {
    let body = node.field("body")?;
    let what = drops(&statements(body))?;
    let head: &str = &node.text()[..body.bytes().start - node.bytes().start];
    let words: Vec<&str> = head
        .split(|it: char| !(it.is_alphanumeric() || it == '_' || it == '.'))
        .filter(|it| !it.is_empty())
        .collect();
    // Names that Java's conventions give to variables that are ignored on purpose.
    if words.iter().any(|it| it.starts_with("ignore") || it.starts_with("expected")) {
        return None;
    }
    let is_typed =
        words.len() > 2 || node.named_children().iter().any(|it| it.kind() == "catch_declaration");
    let is_broad = !is_typed || words.iter().any(|it| BROAD.contains(it));
    // JavaScript has one handler for all errors, and many handlers provide a default.
    let is_script =
        words.len() < 3 && what == DEFAULT && !is_typed && words.first() == Some(&"catch");
    (is_broad && !is_script).then_some(what)
}

/// `with suppress(Exception)`.
fn suppressing(node: SyntaxNode<'_>) -> Option<&'static str> {
    let body = node.field("body")?;
    let head = &node.text()[..body.bytes().start - node.bytes().start];
    let inner = head.split_once("suppress(").and_then(|(_, it)| it.split_once(')'))?.0;
    inner.split(',').any(|it| BROAD.contains(&it.trim())).then_some(EMPTY)
}

/// `.catch(() => {})`.
fn promise(node: SyntaxNode<'_>) -> Option<&'static str> {
    let called = node.field("function").filter(|it| it.kind() == "member_expression")?;
    let name = called.field("property")?.text();
    let arguments = node.field("arguments")?.named_children();
    let [one] = arguments.as_slice() else { return None };
    if name != "catch" || one.kind() != "arrow_function" {
        return None;
    }
    let body = one.field("body")?;
    match body.kind() {
        "statement_block" => drops(&statements(body)).filter(|what| *what == EMPTY),
        _ => matches!(body.text(), "undefined" | "null" | "void 0").then_some(EMPTY),
    }
}

/// `Err(_) => {}`.
fn arm(node: SyntaxNode<'_>) -> Option<&'static str> {
    let pattern = node.field("pattern")?.text();
    let value = node.field("value")?;
    let is_error = pattern.starts_with("Err(") && !pattern.contains("::");
    let is_empty = value.text() == "()" || value.kind() == "block" && statements(value).is_empty();
    (is_error && is_empty).then_some(EMPTY)
}

/// `if err != nil {}`, and `if err != nil { return 0, nil }`.
fn unchecked_go_error(node: SyntaxNode<'_>) -> Option<&'static str> {
    let condition: String = node.field("condition")?.text().split_whitespace().collect();
    let body = node.field("consequence").filter(|it| it.kind() == "block")?;
    let asks = condition.ends_with("!=nil") && condition.to_lowercase().contains("err");
    if !asks || node.field("alternative").is_some() {
        return None;
    }
    match statements(body).as_slice() {
        [] => Some(EMPTY),
        [one] => (one.kind() == "return_statement" && answers_nil(node, *one)).then_some(DEFAULT),
        _ => None,
    }
}

/// True if a function with an error result returns none here.
fn answers_nil(node: SyntaxNode<'_>, answer: SyntaxNode<'_>) -> bool {
    let function = node.ancestors().find(|it| it.field("result").is_some());
    let result = function.and_then(|it| it.field("result")).map_or("", SyntaxNode::text);
    let result = result.trim_end_matches(')').trim_end();
    let last = answer.text().rsplit([',', ' ', '\t']).next().unwrap_or_default();
    result.ends_with("error") && last == "nil" && !node.descendants().into_iter().any(is_comment)
}

/// `result.ok();` as a statement.
fn discarded_ok(node: SyntaxNode<'_>) -> Option<&'static str> {
    let inner = *node.named_children().first()?;
    let called = inner.field("function").filter(|it| it.kind() == "field_expression")?;
    let is_ok = called.field("field").is_some_and(|it| it.text() == "ok")
        && inner.text().ends_with(".ok()");
    (is_ok && node.text().ends_with(';')).then_some(DISCARDED)
}

/// `_ = err`.
fn blank(node: SyntaxNode<'_>) -> Option<&'static str> {
    let (left, right) = (node.field("left")?.text(), node.field("right")?.text());
    let is_error =
        right == "err" || right.ends_with("Err") && right.chars().all(char::is_alphanumeric);
    (left == "_" && is_error).then_some(EMPTY)
}

/// True if a function passes errors to its callers, before and after: in Rust by its return type,
/// because `?` also passes `None` on.
fn passes_errors(language: ScanLanguage, old: &FunctionNode<'_>, new: &FunctionNode<'_>) -> bool {
    let result = |function: &FunctionNode<'_>| {
        function.node.field("return_type").map_or("", SyntaxNode::text).to_owned()
    };
    language != ScanLanguage::Rust || result(new).contains("Result") && result(old) == result(new)
}

/// The first position where a function that passed errors on discards one now.
fn discarded<'t>(
    language: ScanLanguage,
    old: SyntaxNode<'_>,
    new: SyntaxNode<'t>,
) -> Option<SyntaxNode<'t>> {
    let passed = |body: SyntaxNode<'_>| match language {
        ScanLanguage::Rust => count(body, |it| it.kind() == "try_expression"),
        ScanLanguage::Go => count(body, |it| {
            it.kind() == "if_statement"
                && it.field("condition").is_some_and(|it| it.text().ends_with("!= nil"))
        }),
        _ => 0,
    };
    let is_discard = |node: SyntaxNode<'_>| match (language, node.kind()) {
        (ScanLanguage::Rust, "let_declaration") => {
            let is_blank = node.field("pattern").is_some_and(|it| it.text() == "_");
            let value = node.field("value").map_or("", SyntaxNode::kind);
            is_blank && matches!(value, "call_expression" | "await_expression" | "macro_invocation")
        }
        (ScanLanguage::Rust, "call_expression") => {
            ["unwrap_or_default", "unwrap_or", "ok"].iter().any(|name| {
                node.field("function")
                    .is_some_and(|it| it.field("field").is_some_and(|field| field.text() == *name))
            })
        }
        (ScanLanguage::Go, "assignment_statement" | "short_var_declaration") => {
            let left = node.field("left").map_or("", SyntaxNode::text);
            let right = node.field("right").map_or("", SyntaxNode::text);
            left.split(',').any(|it| it.trim() == "_") && right.contains('(')
        }
        _ => false,
    };
    let is_worse = passed(new) < passed(old) && count(new, is_discard) > count(old, is_discard);
    let known: Vec<&str> =
        old.descendants().into_iter().filter(|it| is_discard(*it)).map(SyntaxNode::text).collect();
    let mut found =
        new.descendants().into_iter().filter(|it| is_discard(*it) && !known.contains(&it.text()));
    found.next().filter(|_| is_worse)
}

fn count(body: SyntaxNode<'_>, is_one: impl Fn(SyntaxNode<'_>) -> bool) -> usize {
    body.descendants().into_iter().filter(|it| is_one(*it)).count()
}
