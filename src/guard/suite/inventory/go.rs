//! Tests as `go test` collects them. It must not know what they assert.

use super::{Found, Mark, MarkKind, Rows, parts};
use crate::guard::facts::Side;
use crate::scan::syntax::Node;

pub(super) fn tests<'t>(side: &Side<'t>) -> Vec<Found<'t>> {
    if !side.path.as_str().ends_with("_test.go") {
        return Vec::new();
    }
    let marks = constraints(side);
    let functions =
        parts(side.root).into_iter().filter(|node| node.kind() == "function_declaration");
    let methods = parts(side.root).into_iter().filter(|node| node.kind() == "method_declaration");
    let mut found: Vec<Found<'t>> = Vec::new();
    for node in functions.chain(methods) {
        let Some(name) = node.field("name").map(Node::text).filter(|name| is_test(name)) else {
            continue;
        };
        let receiver = node.field("receiver").map(|it| it.text().trim_matches(['(', ')', '*']));
        let kind = receiver.and_then(|it| it.rsplit([' ', '*']).next());
        let name = kind.map_or_else(|| name.to_owned(), |kind| format!("{kind} > {name}"));
        let (body, marks) = (node.field("body"), marks.clone());
        let (rows, assertions) = (Rows::default(), Vec::new());
        let inner = Vec::new();
        found.push(Found { name, node, body, marks, rows, assertions, inner });
    }
    found
}

/// A function that `go test` runs: `Test`, `Fuzz` or `Example` and no small letter behind.
fn is_test(name: &str) -> bool {
    ["Test", "Fuzz", "Example"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
            && name != "TestMain"
    })
}

/// `//go:build ignore`
fn constraints(side: &Side<'_>) -> Vec<Mark> {
    let lines = side.comments.iter().filter_map(|comment| {
        let text = comment.text();
        let line = text.strip_prefix("//go:build").or_else(|| text.strip_prefix("// +build"))?;
        let kind = if line.trim() == "ignore" { MarkKind::Skip } else { MarkKind::Conditional };
        Some(Mark { kind, text: text.to_owned(), bytes: comment.bytes() })
    });
    lines.collect()
}
