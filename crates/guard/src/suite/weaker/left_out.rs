//! G03, too: rows that are still in a test's table but skipped by its loop.

use crate::Detection;
use crate::facts::{is_comment, normal, tokens};
use crate::suite::expression::is_value;
use crate::suite::hit;
use crate::suite::inventory::TestCase;
use moai_base::finding::Severity;
use moai_scan::syntax::SyntaxNode;

pub(super) fn inspect(before: &TestCase<'_>, after: &TestCase<'_>) -> Vec<Detection> {
    let is_table = |test: &TestCase<'_>| {
        test.assertions.iter().any(|assertion| assertion.is_repeated && !assertion.is_open)
    };
    if !is_table(before) || !is_table(after) {
        return Vec::new();
    }
    let known: Vec<String> = conditions(before.node).into_iter().map(normal).collect();
    let new = conditions(after.node).into_iter().filter(|it| !known.contains(&normal(*it)));
    new.map(|condition| {
        let message = format!(
            "test `{}` leaves rows out (`{}`); let it run with all of them",
            after.name,
            normal(condition)
        );
        let bytes = condition.bytes();
        Detection {
            bytes,
            anchor: normal(condition),
            ..hit("G03", Severity::Error, after, &message)
        }
    })
    .collect()
}

/// The conditions at the head of a loop that skip a row by one of its values.
fn conditions(test: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    let mut found = Vec::new();
    test.walk(&mut |node| {
        if let Some(body) = node.field("body").filter(|_| is_loop(node)) {
            let variables = variables(node, body);
            let first = statements(body).into_iter().next();
            found.extend(first.and_then(|first| condition(first, &variables)));
        }
        true
    });
    found
}

fn is_loop(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "for_statement"
            | "for_in_statement"
            | "foreach_statement"
            | "for_expression"
            | "enhanced_for_statement"
    )
}

/// The tokens of a loop's head: its variables, and what it goes through.
fn variables<'t>(node: SyntaxNode<'t>, body: SyntaxNode<'t>) -> Vec<&'t str> {
    let children = node.named_children().into_iter();
    children.take_while(|child| *child != body).flat_map(tokens).collect()
}

fn statements(body: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    let children: Vec<SyntaxNode<'_>> =
        body.named_children().into_iter().filter(|it| !is_comment(*it)).collect();
    match children.as_slice() {
        // Go has a list of statements in its block.
        [list] if list.kind() == "statement_list" => statements(*list),
        _ => children,
    }
}

/// `if x == 2: continue`, when `x` is a variable of the loop.
fn condition<'t>(statement: SyntaxNode<'t>, variables: &[&str]) -> Option<SyntaxNode<'t>> {
    let inner = match statement.kind() {
        "expression_statement" => *statement.named_children().first()?,
        _ => statement,
    };
    if !matches!(inner.kind(), "if_statement" | "if_expression")
        || inner.field("alternative").is_some()
    {
        return None;
    }
    let condition = inner.field("condition")?;
    let all = tokens(condition);
    let compares = all.iter().any(|it| matches!(*it, "==" | "===" | "in" | "is"));
    let is_of_row = all.first().is_some_and(|first| {
        let first = if *first == "(" { all.get(1) } else { Some(first) };
        first.is_some_and(|first| variables.contains(first))
    });
    let is_fixed = all.iter().any(|it| is_value(it));
    let ends = inner.field("consequence").map(tokens).unwrap_or_default();
    let continues: Vec<&str> =
        ends.into_iter().filter(|it| !matches!(*it, "{" | "}" | ";" | ":")).collect();
    (compares && is_of_row && is_fixed && continues == ["continue"]).then_some(condition)
}
