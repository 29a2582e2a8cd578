//! G01, too: tests that still exist but are no longer found by any runner.

use std::collections::BTreeSet;

use super::goal::stem;
use crate::Detection;
use crate::facts::{ParsedFile, ParsedFiles, SourceSide, attributes, normal};
use moai_base::finding::Severity;
use moai_scan::syntax::{ScanLanguage, SyntaxNode};

pub(super) fn inspect(files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut hits = Vec::new();
    for file in &files.files {
        let Some(after) = &file.after else { continue };
        hits.extend(uncollected(file.before.as_ref(), after));
        let Some(before) = &file.before else { continue };
        hits.extend(modules(file, before, after, files));
    }
    hits
}

/// Test modules of Rust that are not declared any more.
fn modules(
    file: &ParsedFile<'_>,
    before: &SourceSide<'_>,
    after: &SourceSide<'_>,
    files: &ParsedFiles<'_>,
) -> Vec<Detection> {
    if before.language != ScanLanguage::Rust {
        return Vec::new();
    }
    let declared = |side: &SourceSide<'_>| -> BTreeSet<String> {
        let modules = side.root.named_children().into_iter().filter(|it| it.kind() == "mod_item");
        modules.filter_map(|it| Some(it.field("name")?.text().to_owned())).collect()
    };
    let kept = declared(after);
    let is_elsewhere = |name: &str| {
        // Its own file went or came with it, so its tests are counted there.
        files.files.iter().any(|other| {
            let path = &other.change.path;
            let is_named =
                stem(path) == name || path.as_str().ends_with(&format!("/{name}/mod.rs"));
            is_named && *path != file.change.path
        })
    };
    let gone = before.root.named_children().into_iter().filter(|node| is_test_module(*node));
    let names = gone.filter_map(|node| node.field("name").map(SyntaxNode::text));
    let names = names.filter(|name| !kept.contains(*name) && !is_elsewhere(name));
    names
        .map(|name| Detection {
            code: "G01",
            severity: Severity::Error,
            path: after.path.clone(),
            bytes: 0..0,
            message: format!(
                "test module `{name}` is not declared any more, so its tests do not run; declare it"
            ),
            anchor: name.to_owned(),
        })
        .collect()
}

/// `#[cfg(test)] mod x;`, or a module file named after tests.
fn is_test_module(node: SyntaxNode<'_>) -> bool {
    let is_file = node.kind() == "mod_item" && node.field("body").is_none();
    let name = node.field("name").map_or("", SyntaxNode::text);
    let is_marked = attributes(node).iter().any(|it| normal(*it).contains("test"));
    is_file
        && (is_marked || name == "tests" || name.ends_with("_tests") || name.starts_with("test_"))
}

/// `collect_ignore` of a `conftest.py` that is about tests, as far as can be read.
fn uncollected(before: Option<&SourceSide<'_>>, after: &SourceSide<'_>) -> Vec<Detection> {
    // Examples in documentation are shown and not run.
    let is_documentation =
        after.path.as_str().split('/').any(|part| matches!(part, "doc" | "docs"));
    if stem(after.path) != "conftest" || is_documentation {
        return Vec::new();
    }
    let lists = |side: &SourceSide<'_>| -> Vec<String> {
        let statements = side.root.named_children().into_iter();
        let texts = statements.filter(|it| it.kind() == "expression_statement").map(normal);
        texts.filter(|text| text.starts_with("collect_ignore") && is_about_tests(text)).collect()
    };
    let known = before.map(lists).unwrap_or_default();
    let new = lists(after).into_iter().filter(|text| !known.contains(text));
    new.map(|text| Detection {
        code: "G01",
        severity: Severity::Error,
        path: after.path.clone(),
        bytes: 0..0,
        message: format!("`{text}` keeps tests from being collected; take it back"),
        anchor: text,
    })
    .collect()
}

/// True if a name in a list is a test's, or if it has no readable names; a build script is not a
/// test.
fn is_about_tests(list: &str) -> bool {
    let mut names = list.split(['"', '\'']).skip(1).step_by(2).peekable();
    let is_test = |name: &str| name.contains("test") || matches!(name, "*" | "*.py" | "**");
    names.peek().is_none() || names.any(is_test)
}
