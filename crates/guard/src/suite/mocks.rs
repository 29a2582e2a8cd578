//! G07: tests that replace the code under test.

use std::collections::BTreeSet;

use super::calls::{CallNode, calls};
use super::expression::{is_name, unquoted};
use super::goal::stem;
use crate::Detection;
use crate::facts::{ParsedFiles, SourceSide, tokens};
use moai_base::finding::Severity;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// An object replaced by a test.
struct MockTarget<'t> {
    /// The last name of it: a function, class or module.
    name: String,
    /// Its required receiver; `None`: any.
    owner: Option<String>,
    node: SyntaxNode<'t>,
    /// True if it is the subject of the whole file.
    is_subject: bool,
}

pub(super) fn inspect(files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut hits = Vec::new();
    for file in &files.files {
        let Some(after) = file.after.as_ref().filter(|side| side.is_test) else { continue };
        let known: BTreeSet<String> =
            file.before.iter().flat_map(replaced).map(|it| it.name).collect();
        for found in replaced(after).into_iter().filter(|it| !known.contains(&it.name)) {
            if found.is_subject || is_called_beside(&found, after) {
                hits.push(told(after, &found));
            }
        }
    }
    hits
}

fn told(side: &SourceSide<'_>, found: &MockTarget<'_>) -> Detection {
    let name = &found.name;
    Detection {
        code: "G07",
        severity: Severity::Warning,
        path: side.path.clone(),
        bytes: found.node.bytes(),
        message: format!(
            "`{name}` is what this tests, and it is replaced by a mock; mock what it uses instead"
        ),
        anchor: name.clone(),
    }
}

/// True if the test that replaces something calls it as well.
fn is_called_beside<'t>(found: &MockTarget<'t>, side: &SourceSide<'t>) -> bool {
    let around = found.node.ancestors().find(|it| it.kind() == "decorated_definition");
    let scope = around.or_else(|| side.function_at(found.node).map(|it| it.body));
    let scope = scope.or_else(|| callback(found.node));
    let tokens = scope.map(tokens).unwrap_or_default();
    let is_on_owner = |at: usize| {
        let Some(owner) = &found.owner else { return true };
        at > 1 && tokens[at - 2] == owner && tokens[at - 1] == "."
    };
    let is_call = |at: usize| tokens[at] == found.name && tokens[at + 1] == "(" && is_on_owner(at);
    (1..tokens.len().saturating_sub(1)).any(|at| is_call(at) && tokens[at - 1] != "def")
}

/// The callback that a test of JavaScript is.
fn callback(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    node.ancestors().find(|it| matches!(it.kind(), "arrow_function" | "function_expression"))
}

fn replaced<'t>(side: &SourceSide<'t>) -> Vec<MockTarget<'t>> {
    calls(side.root)
        .iter()
        .filter_map(|call| match side.language {
            ScanLanguage::Python => of_python(call),
            ScanLanguage::JavaScript | ScanLanguage::TypeScript | ScanLanguage::Tsx => {
                of_javascript(call, side)
            }
            ScanLanguage::Java => of_java(call, side),
            ScanLanguage::CSharp => of_csharp(call, side),
            _ => None,
        })
        .chain(fields(side))
        .collect()
}

/// `patch("app.orders.total")`, `patch.object(orders, "total")`, `monkeypatch.setattr(orders, "total", …)`
fn of_python<'t>(call: &CallNode<'t>) -> Option<MockTarget<'t>> {
    let path = call.path();
    let arguments = call.arguments();
    let is_patch = path.last() == Some(&"patch") || path.ends_with(&["patch", "object"]);
    if !is_patch && path.as_slice() != ["monkeypatch", "setattr"] {
        return None;
    }
    let target = arguments.iter().take(2).filter(|it| it.len() == 1).map(|it| it[0]);
    let target = target.rev().find(|it| it.starts_with(['"', '\'']))?;
    let name = unquoted(target).rsplit('.').next().unwrap_or_default().to_owned();
    is_name(&name).then_some(MockTarget { name, node: call.node, owner: None, is_subject: false })
}

/// `jest.mock("./orders")` in `orders.test.ts`, `jest.spyOn(orders, "total")` with a result.
fn of_javascript<'t>(call: &CallNode<'t>, side: &SourceSide<'t>) -> Option<MockTarget<'t>> {
    let path = call.path();
    let arguments = call.arguments();
    match path.as_slice() {
        ["jest" | "vi", "mock" | "doMock"] => {
            let module = unquoted(arguments.first()?.first()?);
            let name = module.rsplit('/').next()?.split('.').next()?.to_owned();
            let is_partial = call.node.text().contains("Actual");
            let is_subject = name == stem(side.path) && module.starts_with('.') && !is_partial;
            is_subject.then_some(MockTarget { name, node: call.node, owner: None, is_subject })
        }
        ["jest" | "vi", "spyOn"] => {
            let name = unquoted(arguments.get(1)?.first()?).to_owned();
            let whole = call.node.parent()?.parent()?;
            let is_replaced = whole.text().contains(".mock");
            let owner = arguments.first()?.last().map(|it| (*it).to_owned());
            is_replaced.then_some(MockTarget { name, node: call.node, owner, is_subject: false })
        }
        _ => None,
    }
}

/// The class that a test class is about, by its name.
fn subject(side: &SourceSide<'_>) -> Option<String> {
    let stem = stem(side.path);
    let name = ["Tests", "Test", "Spec", "IT"].iter().find_map(|end| stem.strip_suffix(end))?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// `mock(OrderService.class)` in `OrderServiceTest`.
fn of_java<'t>(call: &CallNode<'t>, side: &SourceSide<'t>) -> Option<MockTarget<'t>> {
    let name = subject(side)?;
    let arguments = call.arguments();
    let is_mock = call.name == "mock" && arguments.first()?.first() == Some(&name.as_str());
    is_mock.then_some(MockTarget { name, node: call.node, owner: None, is_subject: true })
}

/// `new Mock<OrderService>()` and `Substitute.For<OrderService>()` in `OrderServiceTests`.
fn of_csharp<'t>(call: &CallNode<'t>, side: &SourceSide<'t>) -> Option<MockTarget<'t>> {
    let name = subject(side)?;
    let is_mock = matches!(call.name, "Mock" | "For" | "ForPartsOf" | "Of" | "A" | "Fake")
        && call.generics == Some(name.as_str());
    is_mock.then_some(MockTarget { name, node: call.node, owner: None, is_subject: true })
}

/// `@Mock OrderService service;` in `OrderServiceTest`.
fn fields<'t>(side: &SourceSide<'t>) -> Vec<MockTarget<'t>> {
    let Some(name) = subject(side).filter(|_| side.language == ScanLanguage::Java) else {
        return Vec::new();
    };
    let fields = side.root.descendants().into_iter().filter(|it| it.kind() == "field_declaration");
    let mocked = fields.filter(|field| {
        let is_marked = field.named_children().first().is_some_and(|it| {
            it.kind() == "modifiers"
                && (it.text().contains("@Mock") || it.text().contains("@MockBean"))
        });
        is_marked && field.field("type").is_some_and(|it| it.text() == name)
    });
    mocked
        .map(|node| MockTarget { name: name.clone(), node, owner: None, is_subject: true })
        .collect()
}
