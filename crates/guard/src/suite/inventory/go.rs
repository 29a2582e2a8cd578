//! Tests as `go test` collects them. It must not know what they assert.

use super::{TestMarker, TestMarkerKind, TestNode, TestRows, parts};
use crate::facts::SourceSide;
use moai_scan::syntax::SyntaxNode;

pub(super) fn tests<'t>(side: &SourceSide<'t>) -> Vec<TestNode<'t>> {
    if !side.path.as_str().ends_with("_test.go") {
        return Vec::new();
    }
    let marks = constraints(side);
    let functions =
        parts(side.root).into_iter().filter(|node| node.kind() == "function_declaration");
    let methods = parts(side.root).into_iter().filter(|node| node.kind() == "method_declaration");
    let mut found: Vec<TestNode<'t>> = Vec::new();
    for node in functions.chain(methods) {
        let Some(name) = node.field("name").map(SyntaxNode::text).filter(|name| is_test(name))
        else {
            continue;
        };
        let receiver = node.field("receiver").map(|it| it.text().trim_matches(['(', ')', '*']));
        let kind = receiver.and_then(|it| it.rsplit([' ', '*']).next());
        let name = kind.map_or_else(|| name.to_owned(), |kind| format!("{kind} > {name}"));
        let (body, marks) = (node.field("body"), marks.clone());
        let (rows, assertions) = (TestRows::default(), Vec::new());
        let inner = Vec::new();
        found.push(TestNode { name, node, body, marks, rows, assertions, inner });
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

/// Systems and processors, and what else a toolchain says about itself.
const TAGS: &[&str] = &[
    "aix",
    "android",
    "darwin",
    "dragonfly",
    "freebsd",
    "illumos",
    "ios",
    "js",
    "linux",
    "netbsd",
    "openbsd",
    "plan9",
    "solaris",
    "wasip1",
    "windows",
    "unix",
    "386",
    "amd64",
    "arm",
    "arm64",
    "loong64",
    "mips",
    "mips64",
    "mips64le",
    "mipsle",
    "ppc64",
    "ppc64le",
    "riscv64",
    "s390x",
    "wasm",
    "cgo",
    "gc",
    "gccgo",
    "race",
    "msan",
    "asan",
];

/// `//go:build ignore`
fn constraints(side: &SourceSide<'_>) -> Vec<TestMarker> {
    let lines = side.comments.iter().filter_map(|comment| {
        let text = comment.text();
        let line = text.strip_prefix("//go:build").or_else(|| text.strip_prefix("// +build"))?;
        let kind = match line.trim() {
            "ignore" => TestMarkerKind::Skip,
            line if is_about_machine(line) => TestMarkerKind::Machine,
            _ => TestMarkerKind::Conditional,
        };
        Some(TestMarker { kind, text: text.to_owned(), bytes: comment.bytes() })
    });
    lines.collect()
}

/// Whether nobody has to ask for what is compiled: other tags only turn it off.
fn is_about_machine(constraint: &str) -> bool {
    let tags = constraint.split([' ', '(', ')', '|', '&', ',']).filter(|tag| !tag.is_empty());
    tags.into_iter().all(|tag| {
        TAGS.contains(&tag.trim_start_matches('!'))
            || tag.starts_with('!')
            || tag.starts_with("go1.")
    })
}
