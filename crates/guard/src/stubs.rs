//! G14: functions that declare themselves unimplemented, and bodies replaced by a constant. Code
//! that is abstract by its language or its location is not reported.

use super::blocks::{is_class, statements};
use super::facts::{
    FunctionNode, ParsedFiles, SourceSide, is_comment, is_number, is_string, normal, tokens,
};
use super::new_occurrences::{NewOccurrence, NodeOccurrence, new_occurrences, occurrences};
use super::suite::goal::removes;
use super::{Detection, GuardInput};
use moai_base::finding::Severity;
use moai_base::limits::STUB_TOKENS_MIN;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

const CODE: &str = "G14";

pub(super) fn stub_hits(input: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut hits: Vec<Detection> = new_occurrences(files, placeholders)
        .iter()
        .filter_map(|new| placeholder(new, files))
        .collect();
    for file in &files.files {
        let Some(side) = &file.after else { continue };
        for function in &side.functions {
            let old = file.before.as_ref().and_then(|it| it.function(&function.name));
            let is_known = hits.iter().any(|hit| {
                hit.path == file.change.path && function.node.bytes().contains(&hit.bytes.start)
            });
            let is_gutted = old.is_some_and(|old| is_gutted(old, function)) && !is_known;
            if !is_gutted
                || side.is_test_at(function.node.bytes().start)
                || removes(input.goal, &function.name)
            {
                continue;
            }
            if old.is_some_and(|old| is_moved(old, files)) {
                continue;
            }
            let what =
                format!("the body of `{}` was replaced by {}", function.name, shown(function));
            hits.push(Detection {
                code: CODE,
                severity: Severity::Error,
                path: file.change.path.clone(),
                bytes: function.node.bytes(),
                message: format!("{what}: implement it"),
                anchor: what,
            });
        }
    }
    hits.extend(new_occurrences(files, remarks).iter().filter_map(remark));
    hits
}

fn shown(function: &FunctionNode<'_>) -> String {
    match statements(function.body).as_slice() {
        [one] => format!("`{}`", one.text().lines().next().unwrap_or_default()),
        _ => "nothing".to_owned(),
    }
}

/// True if a body that computed something became a constant or empty.
fn is_gutted(old: &FunctionNode<'_>, new: &FunctionNode<'_>) -> bool {
    let did = tokens(old.body);
    let works = old.body.descendants().into_iter().any(|node| {
        let kind = node.kind();
        kind.contains("call")
            || kind.contains("invocation")
            || kind.contains("binary")
            || kind.contains("comparison")
            || kind.starts_with("if_")
            || kind.starts_with("for_")
    });
    did.len() >= STUB_TOKENS_MIN && works && is_constant(new.body) && !is_constant(old.body)
}

fn is_constant(body: SyntaxNode<'_>) -> bool {
    if !is_block(body) {
        return is_plain(body);
    }
    match statements(body).as_slice() {
        [] => true,
        [one] => match one.kind() {
            "pass_statement" => true,
            "return_statement" => {
                one.named_children().into_iter().filter(|it| !is_comment(*it)).all(is_plain)
            }
            "expression_statement" => {
                let inner = one.named_children();
                one.text() == "..."
                    || inner.len() == 1
                        && inner[0].kind() == "return_expression"
                        && inner[0].named_children().into_iter().all(is_plain)
            }
            // The value of a Rust block.
            _ => one.next_sibling().is_none() && is_plain(*one),
        },
        _ => false,
    }
}

fn is_block(node: SyntaxNode<'_>) -> bool {
    matches!(node.kind(), "block" | "statement_block" | "constructor_body" | "compound_statement")
}

/// True if a value is written literally and computed from nothing.
fn is_plain(node: SyntaxNode<'_>) -> bool {
    let text = node.text().trim();
    let is_word = matches!(
        text,
        "None"
            | "null"
            | "nil"
            | "undefined"
            | "True"
            | "true"
            | "False"
            | "false"
            | "[]"
            | "{}"
            | "()"
            | "..."
            | "default"
            | "Ok(())"
            | "vec![]"
            | "Vec::new()"
            | "String::new()"
            | "Default::default()"
            | "string.Empty"
            | "Optional.empty()"
    );
    is_word
        || is_number(node)
        || is_string(node) && !text.contains('{')
        || text
            .strip_prefix("Ok(")
            .or_else(|| text.strip_prefix("Some("))
            .and_then(|it| it.strip_suffix(')'))
            .is_some_and(|it| {
                matches!(it, "true" | "false" | "0" | "1")
                    || it.starts_with('"') && it.ends_with('"')
            })
        || matches!(
            node.kind(),
            "expression_list" | "unary_expression" | "unary_operator" | "parenthesized_expression"
        ) && node.named_children().into_iter().all(is_plain)
}

/// True if most of the code of a function is in another function now.
fn is_moved(old: &FunctionNode<'_>, files: &ParsedFiles<'_>) -> bool {
    let was = normal(old.body);
    let lines = tokens(old.body);
    let sides = files.files.iter().filter_map(|file| file.after.as_ref());
    sides.flat_map(|side| &side.functions).any(|other| {
        let is = normal(other.body);
        is.contains(was.trim_matches(['{', '}', ' '])) || {
            let others = tokens(other.body);
            let shared = lines.iter().filter(|it| others.contains(it)).count();
            others.len() * 2 > lines.len() && shared * 10 >= lines.len() * 8
        }
    })
}

/// Expressions and statements that mark missing code.
fn placeholders<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    occurrences(side, |node| unwritten(side.language, node).then(|| normal(node)))
}

/// Words that mark missing code.
const UNWRITTEN: &[&str] = &[
    "not implemented",
    "notimplemented",
    "not yet implemented",
    "unimplemented",
    "todo",
    "to be implemented",
    "구현되지",
    "미구현",
];

fn unwritten(language: ScanLanguage, node: SyntaxNode<'_>) -> bool {
    let text = || node.text().to_lowercase();
    let says = |text: &str| UNWRITTEN.iter().any(|word| text.contains(word));
    match (language, node.kind()) {
        (ScanLanguage::Rust, "macro_invocation") => {
            node.field("macro").is_some_and(|it| matches!(it.text(), "todo" | "unimplemented"))
        }
        (ScanLanguage::Python, "raise_statement") => {
            let raised = node.text().trim_start_matches("raise").trim_start();
            let why = raised.strip_prefix("NotImplementedError").map(str::to_lowercase);
            // Other words declare a case impossible.
            why.is_some_and(|why| !why.contains(['"', '\'']) || says(&why))
        }
        (ScanLanguage::Java, "throw_statement") => {
            text().contains("unsupportedoperationexception") && says(&text())
        }
        (ScanLanguage::CSharp, "throw_statement" | "throw_expression") => {
            node.text().contains("NotImplementedException")
        }
        (ScanLanguage::Go, "call_expression") => {
            let name = node.field("function").map_or("", SyntaxNode::text);
            name == "panic" && says(&text())
        }
        (ScanLanguage::Go, "return_statement") => text().contains("errors.new(") && says(&text()),
        (
            ScanLanguage::JavaScript | ScanLanguage::TypeScript | ScanLanguage::Tsx,
            "throw_statement",
        ) => says(&text()),
        _ => false,
    }
}

fn placeholder(new: &NewOccurrence<'_, '_>, files: &ParsedFiles<'_>) -> Option<Detection> {
    let node = new.occurrence.node;
    if new.side.is_test_at(node.bytes().start) || is_abstract(new.side, node, files) {
        return None;
    }
    let function = new.side.function_at(node)?;
    let is_whole = statements(function.body).len() <= 1 || new.side.language == ScanLanguage::Rust;
    // One unimplemented branch among several is an error that callers see.
    let is_case = new.side.language != ScanLanguage::Rust && is_in_branch(node, function);
    let is_new_branch = is_case || !is_whole && new.file.before.is_some();
    let is_probe = is_probe(new.side);
    // A new method without more code may be meant for subclasses in unchanged files.
    let old = new.file.before.as_ref().and_then(|it| it.function(&function.name));
    let text = node.text().to_lowercase().replace("notimplementederror", "");
    let may_be_abstract = new.side.language == ScanLanguage::Python
        && old.is_none()
        && node.ancestors().any(is_class)
        && !UNWRITTEN.iter().any(|word| text.contains(word));
    Some(Detection {
        code: CODE,
        severity: if is_new_branch || may_be_abstract || is_probe {
            Severity::Warning
        } else {
            Severity::Error
        },
        path: new.file.change.path.clone(),
        bytes: node.bytes(),
        message: format!("`{}` is not implemented: implement it", function.name),
        anchor: format!("{} {}", function.name, new.occurrence.key),
    })
}

/// True if the position is on one of several paths through its function.
fn is_in_branch(node: SyntaxNode<'_>, function: &FunctionNode<'_>) -> bool {
    let around = node.ancestors().take_while(|it| it.bytes() != function.node.bytes());
    let words = ["if_", "switch_", "case_", "match_", "elif_", "else_", "conditional_"];
    let mut kinds = around.map(SyntaxNode::kind);
    kinds.any(|kind| words.iter().any(|word| kind.starts_with(word)))
}

/// True if the build compiles the file only to probe the compiler.
fn is_probe(side: &SourceSide<'_>) -> bool {
    let path = side.path.as_str();
    side.language == ScanLanguage::Rust && (path.starts_with("build/") || path.contains("probe"))
}

/// True if the function is meant to be overridden: it is marked abstract, or its class is a base
/// class or is named like one.
fn is_abstract(side: &SourceSide<'_>, node: SyntaxNode<'_>, files: &ParsedFiles<'_>) -> bool {
    let Some(function) = side.function_at(node) else { return true };
    let marked = |node: SyntaxNode<'_>| {
        let head = node.text().lines().take(3).collect::<Vec<_>>().join(" ");
        ["abstract", "@overload", "Protocol", "ABC", "interface "]
            .iter()
            .any(|word| head.contains(word))
    };
    let mut around = function.node.ancestors();
    let decorated = function.node.parent().filter(|it| it.kind() == "decorated_definition");
    if decorated.is_some_and(|it| {
        it.text()
            .split("def ")
            .next()
            .is_some_and(|it| it.contains("abstract") || it.contains("overload"))
    }) {
        return true;
    }
    let class = around.find(|it| is_class(*it));
    let Some(class) = class else { return side.path.extension().as_deref() == Some("pyi") };
    let name = class.field("name").map_or("", SyntaxNode::text);
    let is_called_base =
        ["Base", "Abstract", "Mixin", "Interface", "Protocol", "Backend", "Template"]
            .iter()
            .any(|word| name.contains(word));
    class.kind() == "trait_item" || marked(class) || is_called_base || has_heirs(name, files)
}

/// True if a changed file names the class as a base.
fn has_heirs(name: &str, files: &ParsedFiles<'_>) -> bool {
    let sides = files.files.iter().filter_map(|file| file.after.as_ref());
    let is_base = |node: SyntaxNode<'_>| {
        let heritage =
            node.field("superclasses").or_else(|| node.field("superclass")).or_else(|| {
                node.named_children()
                    .into_iter()
                    .find(|it| matches!(it.kind(), "class_heritage" | "base_list"))
            });
        heritage.is_some_and(|it| moai_base::text::contains_identifier(it.text(), name))
    };
    let mut found = false;
    for side in sides {
        side.root.walk(&mut |node| {
            found |= is_class(node) && is_base(node);
            !found
        });
    }
    !name.is_empty() && found
}

/// Comments that postpone work.
fn remarks<'t>(side: &SourceSide<'t>) -> Vec<NodeOccurrence<'t>> {
    let says = |text: &str| {
        let is_mark = ["TODO", concat!("FIX", "ME"), concat!("XX", "X")]
            .iter()
            .any(|mark| text.contains(mark));
        let text = text.to_lowercase();
        let words = [
            "implement",
            "real ",
            "proper",
            "hardcod",
            "hard-cod",
            "stub",
            "placeholder",
            "fake",
            "temporary",
            "for now",
            "구현",
            "임시",
            "하드코딩",
        ];
        is_mark && words.iter().any(|word| text.contains(word))
    };
    let found = side.comments.iter().filter(|it| says(it.text()));
    found.map(|node| NodeOccurrence { key: normal_comment(*node), node: *node }).collect()
}

fn normal_comment(node: SyntaxNode<'_>) -> String {
    node.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn remark(new: &NewOccurrence<'_, '_>) -> Option<Detection> {
    let node = new.occurrence.node;
    (!new.side.is_test_at(node.bytes().start)).then(|| Detection {
        code: CODE,
        severity: Severity::Warning,
        path: new.file.change.path.clone(),
        bytes: node.bytes(),
        message: "a comment postpones the work: do it, or tell the user".to_owned(),
        anchor: new.occurrence.key.clone(),
    })
}
