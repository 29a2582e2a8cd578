//! Tests marked by an attribute or annotation: Rust, Java and C#.

use std::collections::BTreeSet;

use super::compiled::{ConditionValue, holds, parts as parts_of};
use super::{TestMarker, TestMarkerKind, TestNode, TestRows, parts, qualified, rows, tight};
use crate::facts::{SourceSide, attributes, normal};
use crate::suite::assertions::{Assertion, expected_error};
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

/// The features that are on, where they are known.
pub(super) type EnabledFeatures<'f> = Option<&'f BTreeSet<String>>;

pub(super) fn tests<'t>(side: &SourceSide<'t>, features: EnabledFeatures<'_>) -> Vec<TestNode<'t>> {
    let functions = side
        .functions
        .iter()
        .filter(|function| matches!(function.node.kind(), "function_item" | "method_declaration"));
    functions.filter_map(|function| test(function.node, function.body, (side, features))).collect()
}

/// An attribute by its last name, with its arguments as text without white space.
struct TestAttribute<'t> {
    node: SyntaxNode<'t>,
    name: String,
    arguments: String,
}

fn test<'t>(
    node: SyntaxNode<'t>,
    body: SyntaxNode<'t>,
    (side, features): (&SourceSide<'t>, EnabledFeatures<'_>),
) -> Option<TestNode<'t>> {
    let own = marked(node, side.language);
    let is_named = || is_by_name(node, side.language);
    if !own.iter().any(|it| makes_test(it, side.language)) && !is_named() {
        return None;
    }
    let mut names = vec![node.field("name")?.text().to_owned()];
    let mut marks: Vec<TestMarker> =
        own.iter().filter_map(|it| mark(it, side.language, features)).collect();
    for around in node.ancestors() {
        marks.extend(never_compiled(around, side));
        if matches!(
            around.kind(),
            "mod_item" | "class_declaration" | "record_declaration" | "impl_item"
        ) {
            let name = around.field("name").or_else(|| around.field("type"));
            names.extend(name.map(|name| name.text().to_owned()));
            let attributes = marked(around, side.language);
            marks.extend(attributes.iter().filter_map(|it| mark(it, side.language, features)));
        }
    }
    names.reverse();
    let rows = rows_of(node, &own, side);
    let assertions = own.iter().filter_map(expectation).collect();
    let (name, body, inner) = (qualified(&names), Some(body), Vec::new());
    Some(TestNode { name, node, body, marks, rows, assertions, inner, is_made: false })
}

fn marked(node: SyntaxNode<'_>, language: ScanLanguage) -> Vec<TestAttribute<'_>> {
    let nodes: Vec<SyntaxNode<'_>> = match language {
        ScanLanguage::Rust => attributes(node),
        ScanLanguage::Java => {
            let modifiers = node.named_children().into_iter().filter(|it| it.kind() == "modifiers");
            modifiers.flat_map(parts).filter(|it| it.kind().ends_with("annotation")).collect()
        }
        _ => {
            let lists =
                node.named_children().into_iter().filter(|it| it.kind() == "attribute_list");
            lists.flat_map(parts).filter(|it| it.kind() == "attribute").collect()
        }
    };
    nodes.into_iter().map(attribute).collect()
}

fn attribute(node: SyntaxNode<'_>) -> TestAttribute<'_> {
    let text = tight(node);
    let plain = text.trim_start_matches(['#', '@', '[']);
    let is_bracketed = text.starts_with(['#', '[']);
    let plain = if is_bracketed { plain.strip_suffix(']').unwrap_or(plain) } else { plain };
    let end = plain.find(['(', '=']).unwrap_or(plain.len());
    let (path, arguments) = plain.split_at(end);
    let name = path.rsplit([':', '.']).next().unwrap_or(path).to_owned();
    TestAttribute { node, name, arguments: arguments.to_owned() }
}

fn makes_test(attribute: &TestAttribute<'_>, language: ScanLanguage) -> bool {
    let name = attribute.name.as_str();
    match language {
        ScanLanguage::Rust => {
            matches!(name, "test" | "rstest" | "test_case" | "quickcheck" | "wasm_bindgen_test")
        }
        ScanLanguage::Java => matches!(
            name,
            "Test"
                | "ParameterizedTest"
                | "RepeatedTest"
                | "TestFactory"
                | "TestTemplate"
                | "Property"
        ),
        _ => matches!(
            name,
            "Fact"
                | "Theory"
                | "Test"
                | "TestCase"
                | "TestCaseSource"
                | "TestMethod"
                | "DataTestMethod"
                | "SkippableFact"
                | "SkippableTheory"
        ),
    }
}

/// A method that `JUnit` 3 runs.
fn is_by_name(node: SyntaxNode<'_>, language: ScanLanguage) -> bool {
    let class = node.ancestors().find(|it| it.kind() == "class_declaration");
    language == ScanLanguage::Java
        && node.field("name").is_some_and(|it| it.text().starts_with("test"))
        && class
            .and_then(|it| it.field("superclass"))
            .is_some_and(|it| it.text().ends_with("TestCase"))
}

/// `#if NEVER` of C# around a test: a symbol that the text does not define and that no platform is.
fn never_compiled(node: SyntaxNode<'_>, side: &SourceSide<'_>) -> Option<TestMarker> {
    let condition = node.field("condition").filter(|_| node.kind() == "preproc_if")?;
    let symbol = condition.text();
    let platforms = [
        "NET", "DEBUG", "RELEASE", "TRACE", "WINDOWS", "LINUX", "OSX", "MACOS", "UNIX", "ANDROID",
        "IOS", "MONO", "UNITY", "WASM", "BROWSER", "FEATURE", "ENABLE", "SUPPORT", "HAS", "USE",
    ];
    let is_symbol = symbol.chars().all(|it| it.is_alphanumeric() || it == '_');
    let is_platform = platforms.iter().any(|start| symbol.starts_with(start));
    let is_defined = || side.root.text().contains(&format!("#define {symbol}"));
    let is_never = is_symbol && !is_platform && symbol != "true" && !is_defined();
    let head = node.bytes().start..condition.bytes().end;
    is_never.then(|| TestMarker {
        kind: TestMarkerKind::Skip,
        text: format!("#if {symbol}"),
        bytes: head,
    })
}

fn mark(
    attribute: &TestAttribute<'_>,
    language: ScanLanguage,
    features: EnabledFeatures<'_>,
) -> Option<TestMarker> {
    let (name, arguments) = (attribute.name.as_str(), attribute.arguments.as_str());
    let kind = match language {
        ScanLanguage::Rust => rust_kind(name, arguments, features)?,
        ScanLanguage::Java => java_kind(name, arguments)?,
        _ => {
            let is_option = arguments.contains("Skip=") || arguments.contains("Ignore=");
            (matches!(name, "Ignore" | "Explicit") || is_option).then_some(TestMarkerKind::Skip)?
        }
    };
    let node = attribute.node;
    Some(TestMarker { kind, text: normal(node), bytes: node.bytes() })
}

/// What an attribute among the tokens of a macro does to its test. One that turns a failure into success without
/// naming it hides the assertions, which are not known there.
pub(super) fn mark_in_macro(
    node: SyntaxNode<'_>,
    features: EnabledFeatures<'_>,
) -> Option<TestMarker> {
    let attribute = attribute(node);
    let is_inverted = attribute.name == "should_panic" && attribute.arguments.is_empty();
    let inverted =
        || TestMarker { kind: TestMarkerKind::Skip, text: normal(node), bytes: node.bytes() };
    mark(&attribute, ScanLanguage::Rust, features).or_else(|| is_inverted.then(inverted))
}

fn rust_kind(name: &str, arguments: &str, features: EnabledFeatures<'_>) -> Option<TestMarkerKind> {
    let inner = arguments.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or_default();
    match name {
        "ignore" => Some(TestMarkerKind::Skip),
        "cfg" => match holds(inner, features) {
            ConditionValue::Never => Some(TestMarkerKind::Skip),
            ConditionValue::No => Some(TestMarkerKind::Conditional),
            ConditionValue::Depends => Some(TestMarkerKind::Machine),
            ConditionValue::Yes => None,
        },
        "cfg_attr" => {
            let (condition, given) = inner.split_at_checked(parts_of(inner).first()?.len())?;
            let ignores = parts_of(given).iter().any(|it| it.starts_with("ignore"));
            match holds(condition, features) {
                ConditionValue::Yes => Some(TestMarkerKind::Skip),
                ConditionValue::Depends => Some(TestMarkerKind::Machine),
                ConditionValue::Never | ConditionValue::No => None,
            }
            .filter(|_| ignores)
        }
        _ => None,
    }
}

fn java_kind(name: &str, arguments: &str) -> Option<TestMarkerKind> {
    let is_conditional =
        ["EnabledIf", "EnabledOn", "EnabledFor", "Disabled"].iter().any(|it| name.starts_with(it));
    if matches!(name, "Disabled" | "Ignore")
        || (name == "Test" && arguments.contains("enabled=false"))
    {
        Some(TestMarkerKind::Skip)
    } else if ["OnOs", "Jre", "NativeImage"].iter().any(|it| name.contains(it)) && is_conditional {
        Some(TestMarkerKind::Machine)
    } else {
        is_conditional.then_some(TestMarkerKind::Conditional)
    }
}

/// The assertion of an attribute: the test must throw.
fn expectation(attribute: &TestAttribute<'_>) -> Option<Assertion> {
    let arguments = attribute.arguments.trim_matches(['(', ')', '=']);
    let value = |name: &str| {
        let rest = &arguments[arguments.find(name)? + name.len()..];
        Some(rest.split(',').next().unwrap_or(rest))
    };
    match attribute.name.as_str() {
        "should_panic" => {
            let message = value("expected=").map(|text| format!("matching {text}"));
            let bare = (!arguments.is_empty()).then(|| format!("matching {arguments}"));
            Some(expected_error(attribute.node, &message.or(bare).unwrap_or_default()))
        }
        "Test" => {
            let class = value("expected=").or_else(|| value("expectedExceptions="))?;
            Some(expected_error(attribute.node, class.trim_end_matches(".class")))
        }
        "ExpectedException" => {
            let class = arguments.trim_start_matches("typeof(").trim_end_matches(')');
            Some(expected_error(attribute.node, class))
        }
        _ => None,
    }
}

/// Cases in attributes.
fn rows_of<'t>(
    node: SyntaxNode<'t>,
    attributes: &[TestAttribute<'t>],
    side: &SourceSide<'t>,
) -> TestRows {
    let mut rows = TestRows::default();
    for attribute in attributes {
        match attribute.name.as_str() {
            "case" | "test_case" | "InlineData" | "DataRow" | "TestCase"
                if !attribute.arguments.is_empty() =>
            {
                rows.texts.insert(attribute.arguments.clone());
            }
            "ValueSource" | "CsvSource" | "EnumSource" => {
                let list = attribute
                    .node
                    .descendants()
                    .into_iter()
                    .find(|it| matches!(it.kind(), "element_value_array_initializer"));
                match list {
                    Some(list) => rows.with(rows::of_list(list, side.root)),
                    None => rows.is_open = true,
                }
            }
            "MethodSource" | "ArgumentsSource" | "CsvFileSource" | "MemberData" | "ClassData"
            | "TestCaseSource" | "DynamicData" | "TestFactory" | "RepeatedTest" => {
                rows.is_open = true;
            }
            _ => {}
        }
    }
    if side.language == ScanLanguage::Rust {
        rows.with(values(node));
    }
    rows
}

/// `#[values(1, 2)]` of parameters.
fn values(node: SyntaxNode<'_>) -> TestRows {
    let mut rows = TestRows::default();
    let list = node.field("parameters");
    for attribute in list.map(SyntaxNode::named_children).unwrap_or_default() {
        if attribute.kind() == "attribute_item" && tight(attribute).starts_with("#[values(") {
            let tree = attribute.descendants().into_iter().find(|it| it.kind() == "token_tree");
            rows.with(tree.map(rows::of_tokens).unwrap_or_default());
        }
    }
    rows
}
