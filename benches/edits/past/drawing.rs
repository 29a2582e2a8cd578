//! Seeded edits of a project's files: honest ones, after which nothing more is wrong, and breaking
//! ones.

use std::collections::BTreeMap;

use super::projects::{LocalName, PastProject, WrittenStyle};
use crate::play::seeded_random::SeededRandom;

/// Draws of a breaking edit until one fits.
const DRAWS_MAX: usize = 200;

/// One edit of one file.
#[derive(Clone, Debug)]
pub(crate) struct DrawnEdit {
    pub(crate) kind: &'static str,
    pub(crate) path: String,
    pub(crate) before: String,
    pub(crate) after: String,
}

/// Draws edits from the present state of the files.
pub(crate) struct EditDrawing {
    project: &'static PastProject,
    random: SeededRandom,
    number: usize,
    renamed: Vec<usize>,
}

/// A function at the start of a file's lines.
struct FunctionHead {
    path: String,
    name: String,
    line: usize,
}

impl EditDrawing {
    pub(crate) fn new(project: &'static PastProject, seed: u64) -> Self {
        Self { project, random: SeededRandom::new(seed), number: 0, renamed: Vec::new() }
    }

    /// An edit that introduces no error. The kinds take turns.
    pub(crate) fn honest(&mut self, texts: &BTreeMap<String, String>) -> DrawnEdit {
        self.number += 1;
        let renamed = if self.number.is_multiple_of(4) { self.rename_local(texts) } else { None };
        if let Some(edit) = renamed {
            return edit;
        }
        let style = self.project.style;
        let (path, before) = self.any_file(texts);
        let number = self.number.to_string();
        let heads = style.heads(&before);
        let head = *self.random.one_of(&heads).expect("files without functions are left out");
        let (kind, after) = match self.number % 3 {
            0 => ("documentation", style.documented(&before, head, &number)),
            1 => ("comment", style.commented(&before, head, &number)),
            _ => ("new function", format!("{before}{}", style.function.replace('%', &number))),
        };
        DrawnEdit { kind, path, before, after }
    }

    /// An edit that should break something: in its own file or in others.
    pub(crate) fn breaking(&mut self, texts: &BTreeMap<String, String>) -> DrawnEdit {
        self.number += 1;
        let is_shared = self.number.is_multiple_of(2);
        let drawn = if is_shared { self.break_shared(texts) } else { None };
        drawn.unwrap_or_else(|| self.break_own(texts))
    }

    fn any_file(&mut self, texts: &BTreeMap<String, String>) -> (String, String) {
        let style = self.project.style;
        let all: Vec<_> = texts.iter().filter(|(_, text)| !style.heads(text).is_empty()).collect();
        let (path, text) = *self.random.one_of(&all).expect("a project has functions");
        (path.clone(), text.clone())
    }

    fn rename_local(&mut self, texts: &BTreeMap<String, String>) -> Option<DrawnEdit> {
        let left: Vec<usize> =
            (0..self.project.locals.len()).filter(|at| !self.renamed.contains(at)).collect();
        let at = *self.random.one_of(&left)?;
        self.renamed.push(at);
        let LocalName { file, function, name, other } = self.project.locals[at];
        let before = texts.get(file)?.clone();
        let line = before.lines().position(|line| line.contains(function))?;
        let after = renamed_in(&before, function_lines(&before, line), name, other);
        assert_ne!(before, after, "{file}: {function} has no {name}");
        Some(DrawnEdit { kind: "local name", path: file.to_owned(), before, after })
    }

    /// Changes a function or class whose name other files mention: renames it, adds a parameter, or removes
    /// it.
    fn break_shared(&mut self, texts: &BTreeMap<String, String>) -> Option<DrawnEdit> {
        let shared = self.shared(texts);
        for _ in 0..DRAWS_MAX {
            let head = self.random.one_of(&shared)?;
            let before = texts[&head.path].clone();
            let number = self.number.to_string();
            let lines: Vec<&str> = before.split_inclusive('\n').collect();
            let line = lines[head.line];
            let (kind, changed) = match self.random.below(3) {
                0 => ("renamed", line.replacen(&head.name, &format!("{}_moved", head.name), 1)),
                1 => {
                    let parameter = self.project.style.parameter.replace('%', &number);
                    ("new parameter", line.replacen('(', &format!("({parameter}"), 1))
                }
                _ => ("removed", String::new()),
            };
            let end =
                if kind == "removed" { function_lines(&before, head.line).1 } else { head.line };
            let after =
                format!("{}{changed}{}", lines[..head.line].concat(), lines[end + 1..].concat());
            if after != before {
                return Some(DrawnEdit { kind, path: head.path.clone(), before, after });
            }
        }
        None
    }

    /// Functions that other files call by name.
    fn shared(&self, texts: &BTreeMap<String, String>) -> Vec<FunctionHead> {
        let mut shared = Vec::new();
        for (path, text) in texts {
            for (line, head) in text.lines().enumerate() {
                let Some(name) = self.project.style.exported(head) else { continue };
                let called = format!("{name}{}", self.project.style.use_mark);
                let is_called =
                    texts.iter().any(|(other, text)| other != path && has_word(text, &called));
                if is_called {
                    shared.push(FunctionHead { path: path.clone(), name: name.to_owned(), line });
                }
            }
        }
        shared
    }

    fn break_own(&mut self, texts: &BTreeMap<String, String>) -> DrawnEdit {
        let (path, before) = self.any_file(texts);
        let number = self.number.to_string();
        let style = self.project.style;
        let wrong = *self.random.one_of(style.wrong).expect("a style has wrong functions");
        let after = format!("{before}{}", wrong.replace('%', &number));
        DrawnEdit { kind: "wrong type", path, before, after }
    }
}

impl WrittenStyle {
    /// 0-based lines at which a function begins.
    fn heads(&self, text: &str) -> Vec<usize> {
        let heads = text.lines().enumerate().filter(|(_, line)| (self.is_head)(line));
        heads.map(|(at, _)| at).collect()
    }

    fn documented(&self, text: &str, head: usize, number: &str) -> String {
        let at = if self.is_documented_inside { head + 1 } else { head };
        let step = if self.is_documented_inside { "    " } else { "" };
        inserted(text, at, head, &format!("{step}{}", self.documentation.replace('%', number)))
    }

    fn commented(&self, text: &str, head: usize, number: &str) -> String {
        inserted(text, head, head, &self.comment.replace('%', number))
    }

    /// The name of a function that other files can use, when this line begins one.
    fn exported<'l>(&self, line: &'l str) -> Option<&'l str> {
        let rest = self.exports.iter().find_map(|prefix| line.strip_prefix(prefix))?;
        let name = rest.split(|it: char| !it.is_alphanumeric() && it != '_').next()?;
        (!name.is_empty() && (self.is_head)(line)).then_some(name)
    }
}

/// The text with a line inserted, indented like line `like`.
fn inserted(text: &str, at: usize, like: usize, words: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let is_indent = |it: &char| it.is_whitespace() && *it != '\n';
    let indent: String = lines[like].chars().take_while(is_indent).collect();
    let indented = format!("{indent}{words}\n");
    lines.insert(at, &indented);
    lines.concat()
}

/// First and last line (0-based) of the function that begins here: everything deeper below it, and
/// the bracket that closes it.
fn function_lines(text: &str, head: usize) -> (usize, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let outer = depth(lines[head]);
    let is_inside = |line: &&str| line.trim().is_empty() || depth(line) > outer;
    let mut end = head + lines[head + 1..].iter().take_while(|line| is_inside(line)).count();
    if lines.get(end + 1).is_some_and(|line| line.trim_start().starts_with(['}', ')'])) {
        end += 1;
    }
    while end > head && lines[end].trim().is_empty() {
        end -= 1;
    }
    (head, end)
}

/// The text with a name replaced by `other` in some lines.
fn renamed_in(text: &str, lines: (usize, usize), name: &str, other: &str) -> String {
    let renamed = text.split_inclusive('\n').enumerate().map(|(at, line)| {
        if (lines.0..=lines.1).contains(&at) {
            replaced_word(line, name, other)
        } else {
            line.to_owned()
        }
    });
    renamed.collect()
}

fn replaced_word(line: &str, name: &str, other: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = word_at(rest, name) {
        out.push_str(&rest[..at]);
        out.push_str(other);
        rest = &rest[at + name.len()..];
    }
    out + rest
}

fn has_word(text: &str, word: &str) -> bool {
    word_at(text, word).is_some()
}

/// Where a word begins that is not part of a longer one; of a word that ends with a bracket only its start
/// matters.
fn word_at(text: &str, word: &str) -> Option<usize> {
    let is_part = |it: char| it.is_alphanumeric() || it == '_';
    let mut matches = text.match_indices(word);
    let found = matches.find(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + word.len()..].chars().next().filter(|_| !word.ends_with('('));
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    });
    found.map(|(at, _)| at)
}
