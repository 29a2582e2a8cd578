//! Resolves names by the imports of a text: `h.md5` after `import hashlib as h` is `hashlib.md5`. A
//! rule lists the qualified names that a capture must resolve to (`resolves`), so it finds aliases
//! and ignores unrelated items with the same name.
//!
//! Qualified names: Python `hashlib.md5`, JavaScript and TypeScript `child_process.exec` (without
//! `node:`), Go `crypto/md5.New`, Java and Kotlin `javax.crypto.Cipher.getInstance`. Scopes are
//! ignored: an import applies to the whole text, and two imports of one name both count.

use std::collections::HashMap;

use ast_grep_core::{AstGrep, Node};

use super::EngineDocument;
use super::matching::{TooDeep, WalkDescent, WalkNodes, for_each_node};
use super::prefilter::AnchorStarts;
use crate::language::ScanLanguage;

/// One of these is in the text of everything that imports a name.
const IMPORT_WORDS: &[&str] = &["import", "require"];

type EngineNode<'t> = Node<'t, EngineDocument>;

/// The imports of one text.
#[derive(Default)]
pub(super) struct ImportedNames {
    /// Qualified names by local name.
    imported: HashMap<String, Vec<String>>,
    /// Packages imported with a wildcard, whose names are unknown.
    wildcard_packages: Vec<String>,
}

impl ImportedNames {
    /// Reads the imports of a text; empty for languages that do not import names.
    pub(super) fn from_tree(language: ScanLanguage, tree: &AstGrep<EngineDocument>) -> Self {
        let mut names = Self::default();
        let read: fn(&mut Self, &EngineNode<'_>) = match language {
            ScanLanguage::Python => Self::read_python,
            ScanLanguage::JavaScript | ScanLanguage::TypeScript | ScanLanguage::Tsx => {
                Self::read_javascript
            }
            ScanLanguage::Go => Self::read_go,
            ScanLanguage::Java => Self::read_java,
            ScanLanguage::Kotlin => Self::read_kotlin,
            _ => return names,
        };
        let mut words = AnchorStarts::of_words(tree.source(), IMPORT_WORDS);
        // Go's import specs in parentheses do not contain the word.
        let is_listed = language == ScanLanguage::Go;
        let visited = for_each_node(tree, WalkNodes::Named, |node, _| {
            if !is_listed && !words.is_next_in(&node.byte_range()) {
                return WalkDescent::Skip;
            }
            read(&mut names, &tree.adopt(node));
            WalkDescent::Visit
        });
        // Nothing matches in such a tree, so that no name of it is looked up.
        visited.map_or_else(|TooDeep| Self::default(), |()| names)
    }

    /// True if a captured expression may be one of these qualified names. If its first part is
    /// imported, it stands for the import; otherwise for itself: a name written in full, or one
    /// from a wildcard import.
    pub(super) fn may_stand_for(&self, captured: &str, qualified: &[String]) -> bool {
        let written: String = captured.split_whitespace().collect();
        let (first, rest) = first_part(&written);
        let is_any = |name: &str| qualified.iter().any(|it| it == name);
        if let Some(module) = required_module(first) {
            return is_any(&format!("{module}{rest}"));
        }
        if let Some(meanings) = self.imported.get(first) {
            return meanings.iter().any(|meaning| is_any(&format!("{meaning}{rest}")));
        }
        is_any(&written)
            || self.wildcard_packages.iter().any(|package| is_any(&format!("{package}.{written}")))
            || is_last_of_path(&written, qualified)
    }

    fn add(&mut self, local: &str, qualified: String) {
        let meanings = self.imported.entry(local.to_owned()).or_default();
        if !meanings.contains(&qualified) {
            meanings.push(qualified);
        }
    }

    fn read_python(&mut self, node: &EngineNode<'_>) {
        match &*node.kind() {
            "import_statement" => {
                for name in node.field_children("name") {
                    if let Some((name, alias)) = alias_of(&name) {
                        self.add(&alias, name);
                    } else {
                        // `import a.b` binds `a`, and `a.b.c` is written in full.
                        let text = name.text();
                        let first = text.split('.').next().unwrap_or_default();
                        self.add(first, first.to_owned());
                    }
                }
            }
            "import_from_statement" => {
                let Some(module) = node.field("module_name") else { return };
                let module = module.text();
                for name in node.field_children("name") {
                    let (name, local) =
                        alias_of(&name).unwrap_or_else(|| (name.text().into(), name.text().into()));
                    self.add(&local, format!("{module}.{name}"));
                }
                if node.children().any(|child| child.kind() == "wildcard_import") {
                    self.wildcard_packages.push(module.into_owned());
                }
            }
            _ => {}
        }
    }

    fn read_javascript(&mut self, node: &EngineNode<'_>) {
        match &*node.kind() {
            "import_statement" => {
                let Some(source) = node.field("source") else { return };
                let module = module_name(&source.text());
                for clause in node.children().filter(|child| child.kind() == "import_clause") {
                    self.read_import_clause(&clause, &module);
                }
            }
            "variable_declarator" => {
                let (Some(name), Some(value)) = (node.field("name"), node.field("value")) else {
                    return;
                };
                let text: String = value.text().split_whitespace().collect();
                let (first, rest) = first_part(&text);
                let Some(module) = required_module(first.trim_start_matches("await")) else {
                    return;
                };
                self.read_pattern(&name, &format!("{module}{rest}"));
            }
            _ => {}
        }
    }

    fn read_import_clause(&mut self, clause: &EngineNode<'_>, module: &str) {
        for part in clause.children() {
            match &*part.kind() {
                "identifier" => self.add(&part.text(), module.to_owned()),
                "namespace_import" => {
                    if let Some(name) = part.children().find(|it| it.kind() == "identifier") {
                        self.add(&name.text(), module.to_owned());
                    }
                }
                "named_imports" => {
                    for specifier in part.children() {
                        let Some(name) = specifier.field("name") else { continue };
                        let local = specifier.field("alias").unwrap_or_else(|| name.clone());
                        self.add(&local.text(), member_name(module, &name.text()));
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads the names bound by the pattern of a declaration.
    fn read_pattern(&mut self, pattern: &EngineNode<'_>, qualified: &str) {
        if pattern.kind() == "identifier" {
            self.add(&pattern.text(), qualified.to_owned());
        }
        for part in pattern.children() {
            match &*part.kind() {
                "shorthand_property_identifier_pattern" => {
                    self.add(&part.text(), member_name(qualified, &part.text()));
                }
                "pair_pattern" => {
                    let (Some(key), Some(value)) = (part.field("key"), part.field("value")) else {
                        continue;
                    };
                    self.read_pattern(&value, &member_name(qualified, &key.text()));
                }
                _ => {}
            }
        }
    }

    fn read_go(&mut self, node: &EngineNode<'_>) {
        if node.kind() != "import_spec" {
            return;
        }
        let Some(path) = node.field("path") else { return };
        let path = unquoted(&path.text()).to_owned();
        match node.field("name").map(|name| name.text().into_owned()) {
            Some(name) if name == "." => self.wildcard_packages.push(path),
            Some(name) => self.add(&name, path),
            None => self.add(package_of(&path), path.clone()),
        }
    }

    fn read_java(&mut self, node: &EngineNode<'_>) {
        if node.kind() != "import_declaration" {
            return;
        }
        let name = node.children().find(|it| it.kind().contains("identifier"));
        let Some(name) = name.map(|it| it.text().into_owned()) else { return };
        self.read_package(&name, node.children().any(|it| it.kind() == "asterisk"), None);
    }

    fn read_kotlin(&mut self, node: &EngineNode<'_>) {
        if node.kind() != "import_header" {
            return;
        }
        let Some(name) = node.children().find(|it| it.kind() == "identifier") else { return };
        let alias = node.children().find(|it| it.kind() == "import_alias");
        let alias = alias.and_then(|it| it.children().last().map(|it| it.text().into_owned()));
        let is_wildcard = node.children().any(|it| it.kind() == "wildcard_import");
        self.read_package(&name.text(), is_wildcard, alias.as_deref());
    }

    fn read_package(&mut self, name: &str, is_wildcard: bool, alias: Option<&str>) {
        if is_wildcard {
            self.wildcard_packages.push(name.to_owned());
        } else {
            let last = name.rsplit('.').next().unwrap_or(name);
            self.add(alias.unwrap_or(last), name.to_owned());
        }
    }
}

/// Words that a text contains wherever it uses this qualified name: the module, or the class or
/// package written before the last part, and the last part. A default export is used under any
/// name.
pub(super) fn words_of_name(language: ScanLanguage, qualified: &str) -> [&str; 2] {
    let (path, last) = qualified.rsplit_once('.').unwrap_or((qualified, qualified));
    let first = match language {
        ScanLanguage::Go => package_of(path),
        ScanLanguage::Java | ScanLanguage::Kotlin => path.rsplit('.').next().unwrap_or(path),
        _ => qualified.split(['.', '/']).next().unwrap_or(qualified),
    };
    [first, if last == "default" { first } else { last }]
}

/// Name and alias of Python's `a.b as c`.
fn alias_of(node: &EngineNode<'_>) -> Option<(String, String)> {
    let (name, alias) = (node.field("name")?, node.field("alias")?);
    Some((name.text().into_owned(), alias.text().into_owned()))
}

/// A member of a module; the default export counts as the module itself.
fn member_name(module: &str, name: &str) -> String {
    if name == "default" { module.to_owned() } else { format!("{module}.{name}") }
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(|quote| matches!(quote, '"' | '\'' | '`'))
}

/// The module in a string literal.
fn module_name(text: &str) -> String {
    let name = unquoted(text);
    name.strip_prefix("node:").unwrap_or(name).replace('/', ".")
}

/// The module of `require("…")`.
fn required_module(text: &str) -> Option<String> {
    let inner = text.strip_prefix("require(")?.strip_suffix(')')?;
    inner.starts_with(['"', '\'', '`']).then(|| module_name(inner))
}

/// Splits `a.b.c` into `a` and `.b.c`; a call of `require` counts as one part.
fn first_part(text: &str) -> (&str, &str) {
    let start = match text.find("require(").filter(|at| matches!(&text[..*at], "" | "await")) {
        Some(at) => text[at..].find(')').map_or(text.len(), |end| at + end + 1),
        None => 0,
    };
    let end = text[start..].find('.').map_or(text.len(), |at| start + at);
    text.split_at(end)
}

/// The name that an import of this Go package binds: the last path element that is not a version.
fn package_of(path: &str) -> &str {
    let is_version = |part: &&str| {
        part.strip_prefix('v').is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let name = path.rsplit('/').find(|part| !is_version(part)).unwrap_or(path);
    name.split_once(".v").map_or(name, |(name, _)| name)
}

/// True if Go's `md5.New` means `crypto/md5.New` in a text without such an import, such as a part
/// of a file.
fn is_last_of_path(written: &str, qualified: &[String]) -> bool {
    qualified.iter().any(|it| it.rsplit_once('/').is_some_and(|(_, last)| last == written))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `yes` lists captures that may be the qualified name, `no` those that may not.
    #[track_caller]
    fn check(language: ScanLanguage, text: &str, qualified: &str, yes: &[&str], no: &[&str]) {
        let document = EngineDocument::try_new(text, language.into()).expect("a parser");
        let names = ImportedNames::from_tree(language, &AstGrep::doc(document));
        let qualified_names = [qualified.to_owned()];
        for (captured, expected) in
            yes.iter().map(|it| (it, true)).chain(no.iter().map(|it| (it, false)))
        {
            assert_eq!(
                names.may_stand_for(captured, &qualified_names),
                expected,
                "{captured} after
{text}"
            );
        }
    }

    #[test]
    fn python_names_are_followed_to_their_module() {
        let check = |text: &str, yes: &[&str], no: &[&str]| {
            check(ScanLanguage::Python, text, "hashlib.md5", yes, no);
        };
        check("import hashlib", &["hashlib.md5", "hashlib . md5"], &["md5", "other.md5"]);
        check("import hashlib as h, os", &["h.md5"], &["os.md5", "h.sha1"]);
        check("from hashlib import md5, sha1", &["md5"], &["sha1"]);
        check("from hashlib import md5 as weak", &["weak"], &["md5"]);
        check("def f():\n    from hashlib import (md5 as weak,)\n", &["weak"], &[]);
        check("from hashlib import *", &["md5"], &["sha1"]);
        check("from mine import hashlib", &[], &["hashlib.md5"]);
        check("x = 1", &["hashlib.md5"], &["md5", "mine.hashlib.md5"]);
        check(
            "try:\n  import fast as h\nexcept ImportError:\n  import hashlib as h",
            &["h.md5"],
            &[],
        );
    }

    #[test]
    fn python_names_lead_through_packages() {
        let parse = "xml.etree.ElementTree.parse";
        let check = |text: &str, yes: &[&str]| check(ScanLanguage::Python, text, parse, yes, &[]);
        check("import xml.etree.ElementTree", &["xml.etree.ElementTree.parse"]);
        check("import xml.etree.ElementTree as ET", &["ET.parse"]);
        check("from xml.etree import ElementTree as ET", &["ET.parse"]);
        check("from xml.etree.ElementTree import parse", &["parse"]);
    }

    #[test]
    fn javascript_names_are_followed_to_their_module() {
        for language in [ScanLanguage::JavaScript, ScanLanguage::TypeScript, ScanLanguage::Tsx] {
            let check = |text: &str, yes: &[&str], no: &[&str]| {
                check(language, text, "child_process.exec", yes, no);
            };
            check("import * as cp from 'node:child_process'", &["cp.exec"], &["exec", "cp.fork"]);
            check("import cp from \"child_process\"", &["cp.exec"], &[]);
            check("import { exec, fork as f } from 'child_process'", &["exec"], &["f", "f.exec"]);
            check("import { exec as run } from 'child_process'", &["run"], &["exec"]);
            check("import { default as cp } from 'child_process'", &["cp.exec"], &[]);
            check("const cp = require('child_process')", &["cp.exec"], &["regex.exec"]);
            check("const { exec } = require(`child_process`)", &["exec"], &["x.exec"]);
            check(
                "var { exec: run, fork } = require('child_process')",
                &["run"],
                &["exec", "fork"],
            );
            check("const run = require('node:child_process').exec;", &["run"], &["exec"]);
            check("f()", &["require('child_process').exec", "child_process.exec"], &["a.exec"]);
            check("import child_process from './mine'", &[], &["child_process.exec"]);
            check("const x = require(name)", &[], &["x.exec", "require(name).exec"]);
        }
    }

    #[test]
    fn javascript_names_lead_through_parts_of_modules() {
        let read = "fs.promises.readFile";
        let check =
            |text: &str, yes: &[&str]| check(ScanLanguage::JavaScript, text, read, yes, &[]);
        check("import { readFile } from 'fs/promises'", &["readFile"]);
        check("const { promises: { readFile } } = require('fs')", &["readFile"]);
        check("const files = require('fs').promises", &["files.readFile"]);
    }

    #[test]
    fn go_names_are_followed_to_their_package() {
        let check = |text: &str, yes: &[&str], no: &[&str]| {
            let text = format!("package a\n{text}\n");
            check(ScanLanguage::Go, &text, "crypto/md5.New", yes, no);
        };
        check("import \"crypto/md5\"", &["md5.New"], &["md5.Sum", "New"]);
        check("import (\n\t\"fmt\"\n\tweak \"crypto/md5\"\n)", &["weak.New"], &["fmt.New"]);
        check("import . \"crypto/md5\"", &["New"], &["Sum"]);
        check("import \"mine/md5\"", &[], &["md5.New"]);
        check("", &["md5.New"], &["New", "other.New"]);
        assert_eq!(package_of("example.com/yaml/v3"), "yaml");
        assert_eq!(package_of("gopkg.in/yaml.v3"), "yaml");
    }

    #[test]
    fn java_and_kotlin_names_are_followed_to_their_class() {
        let name = "javax.crypto.Cipher.getInstance";
        let yes = ["Cipher.getInstance", name];
        check(ScanLanguage::Java, "import javax.crypto.Cipher;", name, &yes, &["getInstance"]);
        check(ScanLanguage::Java, "import javax.crypto.*;", name, &yes, &["Mac.getInstance"]);
        check(ScanLanguage::Java, "import mine.Cipher;", name, &[name], &["Cipher.getInstance"]);
        let fixed = "import static javax.crypto.Cipher.getInstance;";
        check(ScanLanguage::Java, fixed, name, &["getInstance"], &["Cipher.getInstance"]);
        check(ScanLanguage::Kotlin, "import javax.crypto.Cipher\n", name, &yes, &["getInstance"]);
        check(ScanLanguage::Kotlin, "import javax.crypto.*\n", name, &yes, &[]);
        let alias = "import javax.crypto.Cipher as C\n";
        check(ScanLanguage::Kotlin, alias, name, &["C.getInstance"], &["Cipher.getInstance"]);
    }
}
