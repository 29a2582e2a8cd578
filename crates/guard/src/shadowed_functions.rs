//! Part of G16: a test that defines a function with the name of the one under test, and calls its own.

use super::facts::{ParsedFiles, SourceSide, is_function, normal};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G16";

/// Calls that make a function without the real one.
const DOUBLES: &[&str] =
    &["MagicMock", "Mock", "jest.fn", "mock.MagicMock", "mock.Mock", "mock.fn", "vi.fn"];

pub(super) fn shadow_hits(_: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    new_occurrences(files, definitions).iter().filter_map(hit).collect()
}

fn definitions<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    occurrences(side, |node| {
        let (name, _) = definition(node).filter(|_| side.is_test_at(node.bytes().start))?;
        Some(format!("{name}\0{}", normal(node)))
    })
}

fn hit(new: &NewOccurrence<'_, '_>) -> Option<Detection> {
    let node = new.occurrence.node;
    let (name, value) = definition(node)?;
    let was_called = || {
        let before = new.file.before.as_ref();
        before.is_some_and(|it| {
            let start = it.root.bytes().start;
            calls(it.root.text(), name).iter().any(|at| it.is_test_at(start + at))
        })
    };
    let around = node.ancestors().find(|it| is_function(*it));
    let scope = around.unwrap_or(new.side.root).bytes();
    let start = new.side.root.bytes().start;
    let behind = node.bytes().end - start..scope.end - start;
    let behind = new.side.root.text().get(behind).unwrap_or_default();
    // A wrapper calls the real one.
    let is_wrapper = || {
        let mut inner = value.descendants().into_iter().filter_map(callee);
        inner.any(|it| it.rsplit(['.', ':']).next() == Some(name))
    };
    // Its import may have gone; a helper of tests that moves here is a whole function.
    let has_lost_import = || {
        let is_other = value.kind() == "lambda"
            || value.kind() == "identifier" && !imports(new.side, value.text());
        let before = new.file.before.as_ref();
        new.side.language == ScanLanguage::Python
            && is_other
            && before.is_some_and(|it| imports(it, name))
    };
    let is_of_code = is_taken(new.side, node, name) || has_lost_import();
    let is_hit = is_of_code && was_called() && !calls(behind, name).is_empty() && !is_wrapper();
    is_hit.then(|| Detection {
        code: CODE,
        severity: Severity::Error,
        path: new.file.change.path.clone(),
        bytes: node.bytes(),
        message: format!("`{name}`, which the tests call, is replaced here: call the real one"),
        anchor: normal(node),
    })
}

/// The name and the value of a function that a node defines outside of classes.
fn definition(node: SyntaxNode<'_>) -> Option<(&str, SyntaxNode<'_>)> {
    let (target, value) = match node.kind() {
        "assignment" | "short_var_declaration" => (node.field("left")?, node.field("right")?),
        "let_declaration" => (node.field("pattern")?, node.field("value")?),
        "variable_declarator" => (node.field("name")?, node.field("value")?),
        "function_declaration" | "function_definition" | "function_item" => {
            (node.field("name")?, node.field("body")?)
        }
        _ => return None,
    };
    let name = target.text();
    let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_');
    let value = Some(value)
        .filter(|it| it.kind() == "expression_list")
        .map_or(value, |list| list.named_children().first().copied().unwrap_or(list));
    let is_double = || callee(value).is_some_and(|it| DOUBLES.contains(&it));
    let is_own = is_function(node)
        || is_function(value)
        || matches!(value.kind(), "identifier" | "lambda")
        || is_double();
    // A decorator may make something else of it, and a branch may define what is not there.
    let is_elsewhere = node.parent().is_some_and(|it| it.kind() == "decorated_definition")
        || node.ancestors().take_while(|it| !is_function(*it)).any(|it| {
            matches!(it.kind(), "class_definition" | "if_statement" | "impl_item" | "try_statement")
        });
    (is_name && is_own && !is_elsewhere).then_some((name, value))
}

/// True if a name is that of a function of another file, or of the code that the tests of this one are for.
fn is_taken(side: &SourceSide<'_>, node: SyntaxNode<'_>, name: &str) -> bool {
    let is_inner = node.ancestors().any(is_function);
    match side.language {
        ScanLanguage::Go => is_inner && name.starts_with(char::is_uppercase),
        ScanLanguage::Rust => {
            let own = side.functions.iter().filter(|it| !side.is_test_at(it.node.bytes().start));
            is_inner && (own.into_iter().any(|it| it.name == name) || imports(side, name))
        }
        _ => imports(side, name),
    }
}

/// True if a text imports a name.
fn imports(side: &SourceSide<'_>, name: &str) -> bool {
    let is_import = |it: &SyntaxNode<'_>| match it.kind() {
        "import_from_statement" => it.parent().is_some_and(|it| it.parent().is_none()),
        "import_statement" => side.language != ScanLanguage::Python,
        "use_declaration" => true,
        "variable_declarator" => {
            it.field("value").is_some_and(|it| it.text().starts_with("require("))
        }
        _ => false,
    };
    let names = |it: SyntaxNode<'_>| {
        let text = it.text().split(" import ").last().unwrap_or_default();
        let list = text.split(" from ").next().unwrap_or(text).split('=').next().unwrap_or(text);
        list.split(',').any(|one| {
            let word = |it: &char| it.is_alphanumeric() || *it == '_';
            let one = one.trim_end_matches(|it| !word(&it));
            one.rsplit(|it| !word(&it)).next() == Some(name)
        })
    };
    side.root.descendants().into_iter().filter(is_import).any(names)
}

/// The places where a text calls a plain name, also in macros.
fn calls(text: &str, name: &str) -> Vec<usize> {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let is_call = |at: &usize| {
        let (before, behind) = (text[..*at].trim_end(), &text[at + name.len()..]);
        let is_definition = ["def", "fn", "func", "function"].iter().any(|it| before.ends_with(it));
        !text[..*at].ends_with(is_word)
            && !before.ends_with(['.', ':'])
            && behind.starts_with('(')
            && !is_definition
    };
    text.match_indices(name).map(|(at, _)| at).filter(is_call).collect()
}

fn callee(node: SyntaxNode<'_>) -> Option<&str> {
    let is_call = matches!(node.kind(), "call" | "call_expression");
    node.field("function").filter(|_| is_call).map(SyntaxNode::text)
}
