//! Tests as `go test` collects them.

use std::collections::BTreeSet;

use super::{TestMarker, TestMarkerKind, TestNode, TestRows, parts};
use crate::facts::{FunctionNode, SourceSide};
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

pub(super) fn tests<'t>(side: &SourceSide<'t>) -> Vec<TestNode<'t>> {
    if !side.path.as_str().ends_with("_test.go") || is_passed_over(side.path.as_str()) {
        return Vec::new();
    }
    let mut marks = constraints(side);
    marks.extend(system_of_name(side));
    let functions =
        parts(side.root).into_iter().filter(|node| node.kind() == "function_declaration");
    let methods = parts(side.root).into_iter().filter(|node| node.kind() == "method_declaration");
    let subtests = subtests(side);
    let mut found: Vec<TestNode<'t>> = Vec::new();
    for node in functions.chain(methods) {
        let Some(name) = node.field("name").map(SyntaxNode::text) else { continue };
        let is_run = is_test(name) || (subtests.contains(name) && takes_test_alone(node));
        let is_unrun = !is_run && name.starts_with("Test") && takes_test_alone(node);
        if !is_run && !is_unrun {
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
        found.push(TestNode { name, node, body, marks, rows, assertions, inner, is_made: false });
    }
    found
}

/// True if the tool of Go passes a file over, or its folder.
fn is_passed_over(path: &str) -> bool {
    path.split('/')
        .any(|part| part.starts_with(['_', '.']) || matches!(part, "testdata" | "vendor"))
}

/// A function that `go test` runs: `Test`, `Fuzz` or `Example` and no small letter behind.
fn is_test(name: &str) -> bool {
    ["Test", "Fuzz", "Example"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|rest| !rest.starts_with(char::is_lowercase))
            && name != "TestMain"
    })
}

/// The names of the functions that tests of this file run: `t.Run("small", testSmall)`.
fn subtests<'t>(side: &SourceSide<'t>) -> BTreeSet<&'t str> {
    let is_in_test = |node: SyntaxNode<'_>| {
        let mut functions = node.ancestors().filter(|it| it.kind() == "function_declaration");
        functions.any(|it| it.field("name").is_some_and(|name| is_test(name.text())))
    };
    let calls = side.root.descendants().into_iter().filter(|node| {
        let function = node.field("function").map_or("", SyntaxNode::text);
        node.kind() == "call_expression" && function.ends_with(".Run") && is_in_test(*node)
    });
    let arguments = calls.filter_map(|call| call.field("arguments"));
    let functions = arguments.filter_map(|all| all.named_children().into_iter().nth(1));
    functions.filter(|node| node.kind() == "identifier").map(SyntaxNode::text).collect()
}

/// True for a function with the signature of a test, which need not have the name of one: `go test` does not run
/// `Testadd`.
fn takes_test_alone(node: SyntaxNode<'_>) -> bool {
    let parameters = node.field("parameters").map_or("", SyntaxNode::text);
    let is_alone = parameters.ends_with("*testing.T)") && !parameters.contains(',');
    let is_main = node.field("name").is_some_and(|name| name.text() == "TestMain");
    is_alone && !is_main && node.kind() == "function_declaration"
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
    let name = side.path.file_name();
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

/// True if a constraint about machines may hold on the present one. Tags that are neither a system nor a
/// processor may be given or not; one of the project is not.
fn may_be_present(constraint: &str) -> bool {
    let expression = BuildExpression::parse(constraint);
    let mut open: Vec<&str> = tags(constraint).filter(|tag| is_open(tag)).collect();
    open.sort_unstable();
    open.dedup();
    let open = &open[..open.len().min(OPEN_TAGS_MAX)];
    (0..1_usize << open.len()).any(|choice| {
        expression.holds(&|tag| match open.iter().position(|it| *it == tag) {
            Some(at) => choice >> at & 1 == 1,
            None => tag == "unix" && cfg!(unix) || TAGS.contains(&tag) && is_present(tag),
        })
    })
}

/// More tags than these are never given by a person.
const OPEN_TAGS_MAX: usize = 8;

/// True for a tag that does not follow from the machine.
fn is_open(tag: &str) -> bool {
    tag.starts_with("go1.") || NO_FILE_TAGS.contains(&tag) && tag != "unix"
}

/// The tags in a constraint of either form.
fn tags(constraint: &str) -> impl Iterator<Item = &str> {
    constraint.split([' ', '(', ')', '|', '&', ',', '!', '\t']).filter(|tag| !tag.is_empty())
}

/// The expression behind `//go:build`, or the alternatives behind `// +build`.
#[derive(Debug, PartialEq, Eq)]
enum BuildExpression<'t> {
    Tag(&'t str),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

impl<'t> BuildExpression<'t> {
    fn parse(text: &'t str) -> Self {
        let text = text.trim();
        let is_old = !text.contains("&&") && !text.contains("||");
        let by = |mark: &str| parts_outside_brackets(text, mark);
        let each = |parts: Vec<&'t str>| parts.into_iter().map(Self::parse).collect();
        let any = by("||");
        let all = by("&&");
        if any.len() > 1 {
            Self::Any(each(any))
        } else if all.len() > 1 {
            Self::All(each(all))
        } else if let Some(inner) = text.strip_prefix('!') {
            Self::Not(Box::new(Self::parse(inner)))
        } else if let Some(inner) = text.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
            Self::parse(inner)
        } else if is_old && text.contains([' ', '\t']) {
            Self::Any(text.split_whitespace().map(Self::parse).collect())
        } else if is_old && text.contains(',') {
            Self::All(text.split(',').map(Self::parse).collect())
        } else {
            Self::Tag(text)
        }
    }

    fn holds(&self, is_given: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Tag(tag) => is_given(tag),
            Self::Not(inner) => !inner.holds(is_given),
            Self::All(parts) => parts.iter().all(|it| it.holds(is_given)),
            Self::Any(parts) => parts.iter().any(|it| it.holds(is_given)),
        }
    }
}

/// The parts between marks of two letters outside all brackets.
fn parts_outside_brackets<'t>(text: &'t str, mark: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(mark) => {
                parts.push(&text[start..at]);
                start = at + mark.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The last part of the newest version that tests may require.
const GO_VERSION_MAX: u32 = 60;

/// True if the file is compiled by default and other tags only exclude it.
fn is_about_machine(constraint: &str) -> bool {
    let mut tags = constraint.split([' ', '(', ')', '|', '&', ',']).filter(|tag| !tag.is_empty());
    tags.all(|tag| {
        TAGS.contains(&tag.trim_start_matches('!'))
            || tag.starts_with('!')
            || tag
                .strip_prefix("go1.")
                .is_some_and(|it| it.parse::<u32>().is_ok_and(|it| it < GO_VERSION_MAX))
    })
}

/// True if a function of Go outside tests takes the test that it may fail.
pub(super) fn takes_test(side: &SourceSide<'_>, function: &FunctionNode<'_>) -> bool {
    let parameters = function.node.field("parameters").map(SyntaxNode::named_children);
    let first = parameters.and_then(|it| it.first().and_then(|it| it.field("type")));
    let types = ["*testing.B", "*testing.F", "*testing.T", "testing.TB"];
    side.language == ScanLanguage::Go && first.is_some_and(|it| types.contains(&it.text()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constraint_may_hold_on_this_machine_or_never_does() {
        let here = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
        let check = |constraint: &str, expected: bool| {
            let constraint = constraint.replace("HERE", here);
            assert_eq!(may_be_present(&constraint), expected, "{constraint}");
        };
        check("HERE", true);
        check("!HERE", false);
        check("HERE || plan9", true);
        check("!(HERE || plan9)", false);
        check("!(HERE && race)", true);
        check("HERE && (plan9 || cgo)", true);
        check("cgo && !cgo", false);
        check("!race && go1.18", true);
        check("HERE plan9,race", true);
        check("plan9,race aix", false);
    }
}
