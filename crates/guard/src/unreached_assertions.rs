//! Part of G03: assertions in a loop that never runs.

use super::facts::{ParsedFiles, SourceSide, normal};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_scan::syntax::SyntaxNode;

const CODE: &str = "G03";

/// The beginnings of assertions in the languages of the guard.
const ASSERTIONS: &[&str] =
    &["Assert", "Should", "assert", "check", "expect", "require", "t.Error", "t.Fail", "t.Fatal"];

pub(super) fn unreached_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    new_occurrences(files, idle_loops).iter().map(hit).collect()
}

fn idle_loops<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    occurrences(side, |node| {
        let is_idle = || side.is_test_at(node.bytes().start) && never_runs(node);
        let asserts = || ASSERTIONS.iter().any(|word| node.text().contains(word));
        (is_idle() && asserts()).then(|| normal(node))
    })
}

fn hit(new: &NewOccurrence<'_, '_>) -> Detection {
    let node = new.occurrence.node;
    Detection {
        code: CODE,
        severity: Severity::Error,
        path: new.file.change.path.clone(),
        bytes: node.bytes(),
        message:
            "no assertion in this loop ever runs; give it the values or the condition that it needs"
                .to_owned(),
        anchor: normal(node),
    }
}

/// True if a loop goes through an empty literal, or its condition is false.
fn never_runs(node: SyntaxNode<'_>) -> bool {
    let source = match node.kind() {
        "for_statement"
        | "for_in_statement"
        | "enhanced_for_statement"
        | "foreach_statement"
        | "for_expression" => {
            let clause = node.named_children().into_iter().find(|it| it.kind() == "range_clause");
            let source = clause.unwrap_or(node);
            source.field("right").or_else(|| source.field("value"))
        }
        "while_statement" | "while_expression" => node.field("condition"),
        // `it.each([])("…", …)`
        "call_expression" => {
            let table = node.field("function").filter(|it| it.kind() == "call_expression");
            let is_each = |it: &SyntaxNode<'_>| {
                it.field("function").is_some_and(|it| it.text().rsplit('.').next() == Some("each"))
            };
            table.filter(is_each).and_then(|it| it.field("arguments"))
        }
        _ => None,
    };
    let text: String = source.map_or("", SyntaxNode::text).split_whitespace().collect();
    let is_empty = matches!(
        text.as_str(),
        "()" | "[]"
            | "{}"
            | "([])"
            | "\"\""
            | "''"
            | "0..0"
            | "dict()"
            | "list()"
            | "range(0)"
            | "set()"
            | "tuple()"
            | "vec![]"
    );
    let is_empty_slice = ["[:0]", "[..0]", ".slice(0,0)"].iter().any(|end| text.ends_with(end));
    // `[]int{}` and `map[string]int{}`
    let is_empty_go = (text.starts_with("[]") || text.starts_with("map[")) && text.ends_with("{}");
    let is_false = matches!(text.trim_matches(['(', ')']), "0" | "False" | "false")
        && node.kind().starts_with("while");
    is_empty || is_empty_slice || is_empty_go || is_false
}
