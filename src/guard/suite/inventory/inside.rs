//! What ends a test as skipped from inside its body. It must not know what stands around a test.

use super::{Mark, MarkKind};
use crate::guard::facts::normal;
use crate::guard::suite::calls::Call;
use crate::scan::syntax::{Language, Node};

/// Calls in a test's body that end it as skipped.
pub(super) fn skips<'t>(body: Node<'t>, inner: &[Node<'t>], language: Language) -> Vec<Mark> {
    let mut marks = Vec::new();
    body.walk(&mut |node| {
        if inner.contains(&node) {
            return false;
        }
        let text = if node.kind() == "raise_statement" {
            node.text().contains("SkipTest").then_some("SkipTest")
        } else {
            Call::read(node).filter(|call| is_skip(call, language)).map(|call| call.name)
        };
        if text.is_some() {
            let depth = node.ancestors().take_while(|around| *around != body);
            let is_conditional = depth.into_iter().any(|around| {
                matches!(
                    around.kind(),
                    "if_statement"
                        | "if_expression"
                        | "switch_statement"
                        | "except_clause"
                        | "catch_clause"
                )
            });
            let kind = if is_conditional || is_assumption(node) {
                MarkKind::Conditional
            } else {
                MarkKind::Skip
            };
            marks.push(Mark { kind, text: normal(node), bytes: node.bytes() });
        }
        true
    });
    marks
}

fn is_assumption(node: Node<'_>) -> bool {
    Call::read(node).is_some_and(|call| {
        let never = call.arguments().first().is_some_and(|it| matches!(it, ["false"]));
        !never
            && (call.name.starts_with("assum")
                || call.name == "importorskip"
                || call.name.contains("If"))
    })
}

fn is_skip(call: &Call<'_>, language: Language) -> bool {
    let path = call.path();
    match language {
        Language::Python => {
            matches!(
                path.as_slice(),
                ["pytest", "skip" | "xfail" | "importorskip"] | ["self", "skipTest"]
            )
        }
        Language::Go => {
            matches!(path.as_slice(), ["t" | "b" | "s" | "tb", "Skip" | "Skipf" | "SkipNow"])
        }
        Language::Java => {
            matches!(call.name, "assumeTrue" | "assumeFalse" | "assumingThat" | "assumeThat")
        }
        Language::CSharp => matches!(
            path.as_slice(),
            ["Assert", "Ignore" | "Inconclusive" | "Skip" | "SkipWhen" | "SkipUnless"]
                | ["Skip", "If" | "IfNot"]
                | ["Assume", "That"]
        ),
        Language::Rust => false,
        _ => matches!(
            path.as_slice(),
            ["t" | "this" | "ctx" | "context" | "test", "skip" | "todo" | "fixme"] | ["pending"]
        ),
    }
}
