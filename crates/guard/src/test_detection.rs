//! G09: code that behaves differently when tests run it.

use super::facts::{ParsedFiles, SourceSide, attributes, is_string, normal};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_base::path::RelPath;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G09";

/// Environment variables set by test runners.
const VARIABLES: &[&str] = &[
    "CARGO_TARGET_TMPDIR",
    "CYPRESS",
    "JEST_WORKER_ID",
    "MOCHA_FILE",
    "NEXTEST",
    "NEXTEST_RUN_ID",
    "NODE_TEST_CONTEXT",
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_WORKER",
    "VITEST",
    "VITEST_WORKER_ID",
    "PLAYWRIGHT_TEST",
];

/// Modules of runners whose presence shows that a test runs.
const RUNNERS: &[&str] = &["pytest", "_pytest", "unittest", "nose", "doctest"];

/// Globals that JavaScript runners define in every test file.
const GLOBALS: &[&str] = &["jasmine", "jest", "mocha", "vi", "vitest"];

/// Parts of names that occur only in code of runners.
const FRAMES: &[&str] = &[
    "org.junit",
    "org.testng",
    "xunit",
    "nunit",
    "testhost",
    "mstest",
    "surefire",
    "jest",
    "pytest",
    "unittest",
    "mocha",
];

pub(super) fn detection_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    new_occurrences(files, detections).iter().map(hit).collect()
}

fn hit(new: &NewOccurrence<'_, '_>) -> Detection {
    Detection {
        code: CODE,
        severity: if may_be_fine(new.occurrence.node) {
            Severity::Warning
        } else {
            Severity::Error
        },
        path: new.file.change.path.clone(),
        bytes: new.occurrence.node.bytes(),
        message: format!(
            "`{}` tells a test from the real thing: do the same for both",
            new.occurrence.key
        ),
        anchor: new.occurrence.key.clone(),
    }
}

fn detections<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    if is_configuration(side.path) || side.is_test {
        return Vec::new();
    }
    occurrences(side, |node| {
        let is_one = detects(side.language, node) && !side.is_test_at(node.bytes().start);
        is_one.then(|| normal(node))
    })
}

/// True if there is a legitimate use: a test library queries its runner, and test support replaces
/// what tests cannot have.
fn may_be_fine(node: SyntaxNode<'_>) -> bool {
    matches!(node.kind(), "unary_expression" | "function_item" | "attribute_item")
}

/// True if a file configures tools, judged by its name.
fn is_configuration(path: &RelPath) -> bool {
    let name = path.file_name();
    let is_folder = path.as_str().split('/').any(|part| {
        matches!(
            part,
            "config" | "configs" | "settings" | "scripts" | "tools" | "testutil" | "testutils"
        )
    });
    let stem = name.split('.').next().unwrap_or_default();
    is_folder
        || name.contains(".config.")
        || name.starts_with('.')
        || ["setup.", "setupTest", "setup-test", "setup_test", "test-setup", "test_setup"]
            .iter()
            .any(|start| name.starts_with(start))
        || name.contains(".setup.")
        || matches!(
            stem,
            "config"
                | "settings"
                | "knexfile"
                | "gulpfile"
                | "noxfile"
                | "conf"
                | "environment"
                | "env"
                | "testing"
        )
}

fn detects(language: ScanLanguage, node: SyntaxNode<'_>) -> bool {
    match language {
        ScanLanguage::Python => python(node),
        ScanLanguage::JavaScript | ScanLanguage::TypeScript | ScanLanguage::Tsx => script(node),
        ScanLanguage::Go => go(node),
        ScanLanguage::Rust => rust(node),
        ScanLanguage::Java | ScanLanguage::CSharp => frames(node),
        _ => false,
    }
}

fn unquoted(node: SyntaxNode<'_>) -> &str {
    node.text().trim_matches(['"', '\'', '`'])
}

fn python(node: SyntaxNode<'_>) -> bool {
    let text = node.text();
    match node.kind() {
        "string" => VARIABLES.contains(&unquoted(node)),
        // `"pytest" in sys.modules`
        "comparison_operator" => {
            let asks = text.contains(" in ")
                && (text.contains("sys.modules") || text.contains("sys.argv"));
            asks && strings(node).iter().any(|it| RUNNERS.iter().any(|runner| it.contains(runner)))
        }
        "call" => {
            let name = node.field("function").map_or("", SyntaxNode::text);
            let is_modules =
                name == "sys.modules.get" && strings(node).iter().any(|it| RUNNERS.contains(it));
            let looks = looks_at_stack(node) || looks_at_modules(node);
            is_modules || matches!(name, "any" | "next") && looks
        }
        "subscript" => {
            text.starts_with("sys.modules[") && strings(node).iter().any(|it| RUNNERS.contains(it))
        }
        _ => false,
    }
}

/// True if the call stack is searched for a test.
fn looks_at_stack(node: SyntaxNode<'_>) -> bool {
    let text = node.text();
    let is_stack =
        ["inspect.stack", "extract_stack", "sys._getframe", "getStackTrace", "StackTrace"]
            .iter()
            .any(|it| text.contains(it));
    is_stack && strings(node).iter().any(|it| it.to_lowercase().contains("test"))
}

fn looks_at_modules(node: SyntaxNode<'_>) -> bool {
    node.text().contains("sys.modules")
        && strings(node).iter().any(|it| RUNNERS.iter().any(|runner| it.contains(runner)))
}

fn strings(node: SyntaxNode<'_>) -> Vec<&str> {
    node.descendants().into_iter().filter(|it| is_string(*it)).map(unquoted).collect()
}

fn script(node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "member_expression" => {
            let property = node.field("property").map_or("", SyntaxNode::text);
            node.text().starts_with("process.env.") && VARIABLES.contains(&property)
        }
        "subscript_expression" => {
            node.text().starts_with("process.env[")
                && strings(node).iter().any(|it| VARIABLES.contains(it))
        }
        "binary_expression" => is_environment(node) && !is_start(node),
        "unary_expression" => {
            let asked = node.field("argument").map_or("", SyntaxNode::text);
            node.text().starts_with("typeof") && GLOBALS.contains(&asked)
        }
        "call_expression" => looks_at_stack_of_script(node),
        _ => false,
    }
}

/// `process.env.NODE_ENV === 'test'`, with either operand order.
fn is_environment(node: SyntaxNode<'_>) -> bool {
    let operator = node.field("operator").map_or("", SyntaxNode::text);
    let (Some(left), Some(right)) = (node.field("left"), node.field("right")) else { return false };
    let is_name = |node: SyntaxNode<'_>| {
        node.text().ends_with(".NODE_ENV") || node.text().ends_with("['NODE_ENV']")
    };
    let is_test =
        |node: SyntaxNode<'_>| is_string(node) && matches!(unquoted(node), "test" | "testing");
    operator.contains('=') && (is_name(left) && is_test(right) || is_name(right) && is_test(left))
}

/// Not starting a server that tests import, and log output, are fine.
fn is_start(node: SyntaxNode<'_>) -> bool {
    let around = node.ancestors().find(|it| {
        matches!(
            it.kind(),
            "if_statement" | "expression_statement" | "variable_declarator" | "pair"
        )
    });
    let words =
        [".listen(", "logger", "log(", "morgan", "silent", "level", ".connect(", "console."];
    around.is_some_and(|it| {
        words.iter().any(|word| it.text().contains(word)) && !it.text().contains("return ")
    })
}

fn looks_at_stack_of_script(node: SyntaxNode<'_>) -> bool {
    let text = node.text();
    let asks = text.contains(".stack")
        && (text.contains(".includes(") || text.contains(".match(") || text.contains(".indexOf("));
    let called = node.field("function").is_some_and(|it| it.text().contains(".stack"));
    asks && called && strings(node).iter().any(|it| it.contains("test") || FRAMES.contains(it))
}

fn go(node: SyntaxNode<'_>) -> bool {
    let name = node.field("function").map_or("", SyntaxNode::text);
    if node.kind() != "call_expression" {
        return false;
    }
    match name {
        "testing.Testing" => true,
        "flag.Lookup" => strings(node).iter().any(|it| it.starts_with("test.")),
        "strings.HasSuffix" | "strings.Contains" => {
            node.text().contains("os.Args") && strings(node).iter().any(|it| it.contains("test"))
        }
        "os.Getenv" | "os.LookupEnv" => strings(node)
            .iter()
            .any(|it| matches!(*it, "GO_TEST" | "GO_TESTING" | "TESTING" | "UNDER_TEST")),
        _ => false,
    }
}

fn rust(node: SyntaxNode<'_>) -> bool {
    match node.kind() {
        "function_item" => has_double(node),
        "attribute_item" => {
            let next = node.next_sibling().filter(|it| it.kind() == "expression_statement");
            is_for_tests(node) && next.is_some_and(|it| it.text().starts_with("return"))
        }
        "macro_invocation" => {
            let is_cfg = node.field("macro").is_some_and(|it| it.text() == "cfg");
            let inner: String = node.text().split_whitespace().collect();
            is_cfg && matches!(inner.as_str(), "cfg!(test)" | "cfg!(not(test))")
        }
        "call_expression" => {
            let name = node.field("function").map_or("", SyntaxNode::text);
            let asks = name.ends_with("env::var") || name.ends_with("env::var_os");
            asks && strings(node)
                .iter()
                .any(|it| VARIABLES.contains(it) || *it == "RUST_TEST_THREADS")
        }
        _ => false,
    }
}

fn is_for_tests(attribute: SyntaxNode<'_>) -> bool {
    attribute.text().split_whitespace().collect::<String>() == "#[cfg(test)]"
}

/// True if a function is left out of tests and another one of its name takes its place there.
fn has_double(node: SyntaxNode<'_>) -> bool {
    let is_left_out =
        attributes(node).iter().any(|it| normal(*it).replace(' ', "") == "#[cfg(not(test))]");
    let name = node.field("name").map(SyntaxNode::text);
    let around = node.parent().map(SyntaxNode::named_children).unwrap_or_default();
    is_left_out
        && around.into_iter().any(|other| {
            other.kind() == "function_item"
                && other.field("name").map(SyntaxNode::text) == name
                && attributes(other).iter().any(|it| is_for_tests(*it))
        })
}

/// A class or an assembly of a runner, looked for by its name.
fn frames(node: SyntaxNode<'_>) -> bool {
    let name = node.field("name").or_else(|| node.field("function")).map_or("", SyntaxNode::text);
    if !matches!(node.kind(), "method_invocation" | "invocation_expression") {
        return false;
    }
    let asks = [
        "forName",
        "startsWith",
        "StartsWith",
        "contains",
        "Contains",
        "GetType",
        "Load",
        "GetEnvironmentVariable",
    ]
    .iter()
    .any(|it| name.ends_with(it));
    let arguments = node.field("arguments").map(strings).unwrap_or_default();
    asks && arguments.iter().any(|it| {
        let it = it.to_lowercase();
        FRAMES.iter().take(7).any(|frame| it.contains(frame))
    })
}
