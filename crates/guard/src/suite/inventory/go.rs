//! Tests as `go test` collects them.

use super::{TestMarker, TestMarkerKind, TestNode, TestRows, parts};
use crate::facts::SourceSide;
use moai_scan::syntax::SyntaxNode;

pub(super) fn tests<'t>(side: &SourceSide<'t>) -> Vec<TestNode<'t>> {
    if !side.path.as_str().ends_with("_test.go") || is_passed_over(side.path.as_str()) {
        return Vec::new();
    }
    let mut marks = constraints(side);
    marks.extend(system_of_name(side));
    let functions =
        parts(side.root).into_iter().filter(|node| node.kind() == "function_declaration");
    let methods = parts(side.root).into_iter().filter(|node| node.kind() == "method_declaration");
    let mut found: Vec<TestNode<'t>> = Vec::new();
    for node in functions.chain(methods) {
        let Some(name) = node.field("name").map(SyntaxNode::text) else { continue };
        let is_unrun = !is_test(name) && looks_like_test(name, node);
        if !is_test(name) && !is_unrun {
            continue;
        }
        let receiver = node.field("receiver").map(|it| it.text().trim_matches(['(', ')', '*']));
        let kind = receiver.and_then(|it| it.rsplit([' ', '*']).next());
        let name = kind.map_or_else(|| name.to_owned(), |kind| format!("{kind} > {name}"));
        let (body, mut marks) = (node.field("body"), marks.clone());
        if is_unrun {
            let (text, bytes) = (format!("func {name}"), node.bytes());
            marks.push(TestMarker { kind: TestMarkerKind::Skip, text, bytes });
        }
        let (rows, assertions) = (TestRows::default(), Vec::new());
        let inner = Vec::new();
        found.push(TestNode { name, node, body, marks, rows, assertions, inner });
    }
    found
}

/// True if the tool of Go passes a file over, or its folder.
fn is_passed_over(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with(['_', '.']) || part == "testdata")
}

/// A function that `go test` runs: `Test`, `Fuzz` or `Example` and no small letter behind.
fn is_test(name: &str) -> bool {
    ["Test", "Fuzz", "Example"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
            && name != "TestMain"
    })
}

/// A function with the signature of a test that `go test` does not run: `Testadd`.
fn looks_like_test(name: &str, node: SyntaxNode<'_>) -> bool {
    let parameters = node.field("parameters").map_or("", SyntaxNode::text);
    let is_alone = parameters.ends_with("*testing.T)") && !parameters.contains(',');
    name.starts_with("Test")
        && name != "TestMain"
        && is_alone
        && node.kind() == "function_declaration"
}

/// Systems, processors and other facts about a toolchain.
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
            line if is_about_machine(line) && may_be_present(line) => TestMarkerKind::Machine,
            _ => TestMarkerKind::Conditional,
        };
        Some(TestMarker { kind, text: text.to_owned(), bytes: comment.bytes() })
    });
    lines.collect()
}

/// `a_windows_test.go`: compiled for one system or processor alone, which may not be the present one.
fn system_of_name(side: &SourceSide<'_>) -> Option<TestMarker> {
    let name = side.path.as_str().rsplit('/').next().unwrap_or_default();
    let words = name.strip_suffix("_test.go")?.split('_').skip(1);
    // The last two words count.
    let mut words = words.collect::<Vec<&str>>().into_iter().rev().take(2);
    let tag = words.find(|word| TAGS.contains(word) && !NO_FILE_TAGS.contains(word))?;
    let kind = if is_present(tag) { TestMarkerKind::Machine } else { TestMarkerKind::Conditional };
    Some(TestMarker { kind, text: name.to_owned(), bytes: 0..0 })
}

/// Tags that mean nothing in the name of a file.
const NO_FILE_TAGS: &[&str] = &["unix", "cgo", "gc", "gccgo", "race", "msan", "asan"];

/// True for the tag of the current system or processor.
fn is_present(tag: &str) -> bool {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    let known = [("macos", "darwin"), ("x86_64", "amd64"), ("aarch64", "arm64"), ("x86", "386")];
    let own =
        |name: &str| known.iter().find(|it| it.0 == name).map_or(tag == name, |it| it.1 == tag);
    own(system) || own(processor)
}

/// True if a constraint about machines may hold on the present one.
fn may_be_present(constraint: &str) -> bool {
    let may_hold = |tag: &str| {
        let tag = tag.trim_matches(['(', ')', ' ']);
        let is_system = |tag: &str| TAGS.contains(&tag) && !NO_FILE_TAGS.contains(&tag);
        match tag.strip_prefix('!') {
            Some(tag) => !is_system(tag) || !is_present(tag),
            None => !is_system(tag) || is_present(tag),
        }
    };
    // With brackets inside, one of the tags is enough.
    let is_plain = !constraint.contains("!(");
    let mut ways = constraint.split("||");
    !is_plain || ways.any(|way| way.split("&&").all(may_hold))
}

/// The last part of the newest version that tests may require.
const GO_VERSION_MAX: u32 = 60;

/// True if the file is compiled by default and other tags only exclude it.
fn is_about_machine(constraint: &str) -> bool {
    let tags = constraint.split([' ', '(', ')', '|', '&', ',']).filter(|tag| !tag.is_empty());
    tags.into_iter().all(|tag| {
        TAGS.contains(&tag.trim_start_matches('!'))
            || tag.starts_with('!')
            || tag
                .strip_prefix("go1.")
                .is_some_and(|it| it.parse::<u32>().is_ok_and(|it| it < GO_VERSION_MAX))
    })
}
