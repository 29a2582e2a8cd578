//! Language-independent facts about one text for detectors: tests, functions, imports, comments and
//! literals.

use std::ops::Range;

use super::SourceChange;
use moai_base::path::RelPath;
use moai_scan::syntax::{ScanLanguage, SyntaxNode, SyntaxTree};

/// The parsed files of one inspection.
pub(super) struct ParsedFiles<'t> {
    pub(super) files: Vec<ParsedFile<'t>>,
}

impl<'t> ParsedFiles<'t> {
    /// All parsed texts at the base.
    pub(super) fn before(&self) -> impl Iterator<Item = &SourceSide<'t>> + Clone {
        self.files.iter().filter_map(|file| file.before.as_ref())
    }

    /// All parsed current texts.
    pub(super) fn after(&self) -> impl Iterator<Item = &SourceSide<'t>> + Clone {
        self.files.iter().filter_map(|file| file.after.as_ref())
    }
}

/// One changed file. A side is `None` when there is no text, when the guard does not support its
/// language, or when it does not parse; the texts themselves are in the change.
pub(super) struct ParsedFile<'t> {
    pub(super) change: &'t SourceChange,
    pub(super) before: Option<SourceSide<'t>>,
    pub(super) after: Option<SourceSide<'t>>,
}

/// One text of a file in a supported language.
pub(super) struct SourceSide<'t> {
    pub(super) path: &'t RelPath,
    pub(super) language: ScanLanguage,
    pub(super) root: SyntaxNode<'t>,
    /// True if the file contains tests or test support, by its path. Rust has tests next to the
    /// code: use [`SourceSide::is_test_at`] there.
    pub(super) is_test: bool,
    /// Every function and method with a body, in text order, including nested ones.
    pub(super) functions: Vec<FunctionNode<'t>>,
    /// True if the text has a syntax error.
    pub(super) has_error: bool,
    /// Every comment, in text order.
    pub(super) comments: Vec<SyntaxNode<'t>>,
    /// Byte ranges of code that is compiled for tests only, in files with other code.
    test_parts: Vec<Range<usize>>,
}

/// A function or method.
pub(super) struct FunctionNode<'t> {
    /// Qualified by the enclosing names: `Class.method`, `module::function`.
    pub(super) name: String,
    pub(super) node: SyntaxNode<'t>,
    pub(super) body: SyntaxNode<'t>,
}

impl FunctionNode<'_> {
    /// The tokens of the body without comments, joined by single spaces: equal for bodies that
    /// differ only in formatting.
    pub(super) fn normal_body(&self) -> String {
        normal(self.body)
    }
}

/// The tokens of a node without comments, joined by single spaces.
pub(super) fn normal(node: SyntaxNode<'_>) -> String {
    tokens(node).join(" ")
}

/// The tokens of a node, without comments; a string is one token.
pub(super) fn tokens(node: SyntaxNode<'_>) -> Vec<&str> {
    let mut tokens = Vec::new();
    node.walk(&mut |node| {
        if is_comment(node) {
            return false;
        }
        let is_token = node.is_leaf() || is_string(node);
        if is_token && !node.text().trim().is_empty() {
            tokens.push(node.text());
        }
        !is_token
    });
    tokens
}

/// True if a node is a comment.
pub(super) fn is_comment(node: SyntaxNode<'_>) -> bool {
    matches!(node.kind(), "comment" | "line_comment" | "block_comment")
}

/// True if a node is a string literal, including one with interpolation.
pub(super) fn is_string(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "string"
            | "string_literal"
            | "raw_string_literal"
            | "interpreted_string_literal"
            | "verbatim_string_literal"
            | "interpolated_string_expression"
            | "template_string"
            | "char_literal"
            | "character_literal"
            | "rune_literal"
            | "text_block"
    )
}

/// True if a node is a number.
pub(super) fn is_number(node: SyntaxNode<'_>) -> bool {
    matches!(
        node.kind(),
        "integer"
            | "float"
            | "number"
            | "int_literal"
            | "float_literal"
            | "imaginary_literal"
            | "integer_literal"
            | "real_literal"
            | "decimal_integer_literal"
            | "hex_integer_literal"
            | "octal_integer_literal"
            | "binary_integer_literal"
            | "decimal_floating_point_literal"
    )
}

/// True if a node is a function, with or without a name.
pub(super) fn is_function(node: SyntaxNode<'_>) -> bool {
    FUNCTIONS.contains(&node.kind())
}

/// True if the guard supports a language.
pub(super) fn is_known(language: ScanLanguage) -> bool {
    matches!(
        language,
        ScanLanguage::Python
            | ScanLanguage::JavaScript
            | ScanLanguage::TypeScript
            | ScanLanguage::Tsx
            | ScanLanguage::Go
            | ScanLanguage::Rust
            | ScanLanguage::Java
            | ScanLanguage::CSharp
    )
}

impl<'t> SourceSide<'t> {
    pub(super) fn new(path: &'t RelPath, tree: &'t SyntaxTree) -> Self {
        let (root, language) = (tree.root(), tree.language());
        let mut side = Self {
            path,
            language,
            root,
            is_test: is_test_path(path, language),
            functions: Vec::new(),
            has_error: false,
            comments: Vec::new(),
            test_parts: Vec::new(),
        };
        root.walk(&mut |node| {
            if is_comment(node) {
                side.comments.push(node);
            } else if language == ScanLanguage::Rust && is_test_only(node) {
                side.test_parts.push(node.bytes());
            }
            side.has_error |= node.is_error();
            side.functions.extend(function(node));
            true
        });
        side
    }

    /// True if the code at a byte offset is for tests only.
    pub(super) fn is_test_at(&self, byte: usize) -> bool {
        self.is_test || self.test_parts.iter().any(|part| part.contains(&byte))
    }

    pub(super) fn function(&self, name: &str) -> Option<&FunctionNode<'t>> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The innermost function around a node.
    pub(super) fn function_at(&self, node: SyntaxNode<'_>) -> Option<&FunctionNode<'t>> {
        let bytes = node.bytes();
        self.functions.iter().rev().find(|function| {
            let around = function.node.bytes();
            around.start <= bytes.start && bytes.end <= around.end
        })
    }
}

/// Node kinds of functions with a body.
const FUNCTIONS: [&str; 16] = [
    "function_definition",
    "function_declaration",
    "generator_function_declaration",
    "function_expression",
    "generator_function",
    "arrow_function",
    "method_definition",
    "method_declaration",
    "constructor_declaration",
    "local_function_statement",
    "function_item",
    "func_literal",
    "lambda_expression",
    "anonymous_method_expression",
    "compact_constructor_declaration",
    "closure_expression",
];

/// Node kinds whose names qualify the names inside.
const CONTAINERS: [&str; 12] = [
    "class_definition",
    "class_declaration",
    "abstract_class_declaration",
    "class",
    "interface_declaration",
    "enum_declaration",
    "record_declaration",
    "struct_declaration",
    "mod_item",
    "impl_item",
    "trait_item",
    "internal_module",
];

/// The function that a node defines; an anonymous one that is not assigned to a variable or
/// property belongs to the enclosing function.
fn function(node: SyntaxNode<'_>) -> Option<FunctionNode<'_>> {
    if !FUNCTIONS.contains(&node.kind()) {
        return None;
    }
    let body = node.field("body")?;
    let own = node.field("name").or_else(|| name_from_outside(node))?;
    let mut names = vec![own.text().to_owned()];
    names.extend(receiver(node));
    for around in node.ancestors() {
        if CONTAINERS.contains(&around.kind()) {
            let name = around.field("name").or_else(|| around.field("type"));
            names.extend(name.map(|name| without_generics(name.text())));
        } else if FUNCTIONS.contains(&around.kind()) {
            let name = around.field("name").or_else(|| name_from_outside(around));
            names.extend(name.map(|name| name.text().to_owned()));
        }
    }
    names.reverse();
    Some(FunctionNode { name: names.join("."), node, body })
}

/// Name of the variable or property that an anonymous function is assigned to.
fn name_from_outside(node: SyntaxNode<'_>) -> Option<SyntaxNode<'_>> {
    let parent = node.parent()?;
    match parent.kind() {
        "variable_declarator" | "public_field_definition" => parent.field("name"),
        "field_definition" => parent.field("property"),
        "pair" => parent.field("key"),
        "assignment_expression" => parent.field("left"),
        _ => None,
    }
}

/// The type of a Go method's receiver.
fn receiver(node: SyntaxNode<'_>) -> Option<String> {
    let list = node.field("receiver")?;
    let kind = list.named_children().first()?.field("type")?;
    Some(without_generics(kind.text().trim_start_matches('*')))
}

fn without_generics(name: &str) -> String {
    name.split(['<', '[']).next().unwrap_or(name).trim().to_owned()
}

/// True if a node of Rust is compiled for tests only.
fn is_test_only(node: SyntaxNode<'_>) -> bool {
    let is_item =
        matches!(node.kind(), "mod_item" | "function_item" | "impl_item" | "use_declaration");
    is_item
        && attributes(node).iter().any(|attribute| {
            let text: String = attribute.text().split_whitespace().collect();
            let is_cfg = text.starts_with("#[cfg(test") || text.starts_with("#[cfg(all(test");
            is_cfg || text.trim_end_matches(']').ends_with("test")
        })
}

/// Attributes of a Rust item: the nodes directly before it, skipping comments.
pub(super) fn attributes(node: SyntaxNode<'_>) -> Vec<SyntaxNode<'_>> {
    std::iter::successors(node.previous_sibling(), |node| node.previous_sibling())
        .take_while(|node| node.kind() == "attribute_item" || is_comment(*node))
        .filter(|node| node.kind() == "attribute_item")
        .collect()
}

/// True if a file is for tests only, by the conventions of test runners and build tools.
pub(super) fn is_test_path(path: &RelPath, language: ScanLanguage) -> bool {
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let folders =
        ["test", "tests", "__tests__", "testing", "spec", "specs", "e2e", "testdata", "fixtures"];
    let is_below = parts.iter().any(|part| folders.contains(part) || part.ends_with(".Tests"));
    match language {
        ScanLanguage::Go => stem.ends_with("_test") || parts.contains(&"testdata"),
        ScanLanguage::Python => {
            is_below || stem.starts_with("test_") || stem.ends_with("_test") || stem == "conftest"
        }
        ScanLanguage::Java => {
            is_below || ["Test", "Tests", "TestCase", "IT"].iter().any(|end| stem.ends_with(end))
        }
        ScanLanguage::CSharp => is_below || ["Test", "Tests"].iter().any(|end| stem.ends_with(end)),
        ScanLanguage::Rust => is_below || stem == "tests" || stem == "test",
        _ => is_below || name.contains(".test.") || name.contains(".spec."),
    }
}
