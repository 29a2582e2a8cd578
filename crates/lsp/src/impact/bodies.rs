//! Finds changed lines with no effect on other files: those in the body of a function with an
//! explicit signature, and new values of variables with an explicit type. Works on the shape of
//! lines, and only in languages with explicit signatures; doubtful lines count as noticeable.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{strip_comment, word_ranges};
use super::{ChangedLines, InvisibleLines};
use moai_base::path::RelPath;

/// The syntax of function headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderStyle {
    C,
    Go,
    Java,
    Python,
    Rust,
    TypeScript,
}

/// A header of a block: a line and, if it spans several lines, those that close its brackets.
#[derive(Debug)]
struct BlockFrame {
    indent: usize,
    header: String,
}

/// Indices of the changed lines of two texts that no other file can notice; empty when the changes
/// affect the structure of the text.
pub(super) fn invisible_lines(
    path: &RelPath,
    old: ChangedLines<'_>,
    new: ChangedLines<'_>,
) -> InvisibleLines {
    let Some(style) = header_style(path) else { return InvisibleLines::default() };
    if old.lines.iter().chain(new.lines).any(|line| style.exposes_bodies(line)) {
        return InvisibleLines::default();
    }
    let mut invisible =
        InvisibleLines { before: style.body_lines(old), after: style.body_lines(new) };
    let redeclared = style.count_declarations(new);
    for (declaration, at) in style.count_declarations(old) {
        if let Some(now) = redeclared.get(declaration) {
            invisible.before.insert(at);
            invisible.after.insert(*now);
        }
    }
    let brackets_before = balance(invisible.before.iter().map(|at| old.lines[*at]));
    let brackets_after = balance(invisible.after.iter().map(|at| new.lines[*at]));
    if brackets_before == brackets_after { invisible } else { InvisibleLines::default() }
}

/// The languages with explicit signatures. Problems in a C header show in all files that include
/// it.
fn header_style(path: &RelPath) -> Option<HeaderStyle> {
    Some(match path.extension()?.as_str() {
        "c" | "cc" | "cpp" | "cxx" => HeaderStyle::C,
        "go" => HeaderStyle::Go,
        "java" => HeaderStyle::Java,
        "py" | "pyi" => HeaderStyle::Python,
        "rs" => HeaderStyle::Rust,
        "ts" | "tsx" | "mts" | "cts" => HeaderStyle::TypeScript,
        _ => return None,
    })
}

/// Number of brackets left open, and whether a string or comment is left open.
fn balance<'l>(lines: impl Iterator<Item = &'l str>) -> [isize; 7] {
    let mut open = [0; 7];
    for line in lines {
        for (at, (begin, end)) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("/*", "*/")].iter().enumerate()
        {
            open[at] += occurrences(line, begin) - occurrences(line, end);
        }
        for (at, quote) in ["\"", "'", "`"].iter().enumerate() {
            open[4 + at] = (open[4 + at] + occurrences(line, quote)) % 2;
        }
    }
    open
}

fn occurrences(line: &str, mark: &str) -> isize {
    isize::try_from(line.matches(mark).count()).unwrap_or(0)
}

fn has_any_word(text: &str, words: &[&str]) -> bool {
    word_ranges(text).any(|(start, end)| words.contains(&&text[start..end]))
}

impl HeaderStyle {
    /// The changed lines in the body of an explicit function.
    fn body_lines(self, text: ChangedLines<'_>) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), Vec::<BlockFrame>::new());
        let mut changed = text.changed.iter().copied().peekable();
        for (at, line) in text.lines.iter().enumerate() {
            let code = line.trim_start();
            if code.is_empty() {
                continue;
            }
            let indent = line.len() - code.len();
            let continues = code.starts_with([')', ']', '}', '{']);
            while open
                .last()
                .is_some_and(|it| it.indent > indent || (it.indent == indent && !continues))
            {
                open.pop();
            }
            let is_changed = changed.next_if_eq(&at).is_some();
            if is_changed && self.is_body(&open) && !self.sets_member(code) {
                found.insert(at);
            }
            let header = strip_comment(line).unwrap_or_default();
            match open.last_mut() {
                Some(last) if continues => last.header.extend([" ", header]),
                _ if continues => {}
                _ => open.push(BlockFrame { indent, header: header.to_owned() }),
            }
        }
        found
    }

    /// The changed lines that assign a module's variable, with their text before the value: name
    /// and type, which is all that other files see.
    fn count_declarations(self, text: ChangedLines<'_>) -> BTreeMap<&str, usize> {
        let changed = text.changed.iter();
        changed.filter_map(|at| Some((self.declaration(text.lines[*at])?, *at))).collect()
    }

    /// `name: type` of a line that begins with an assignment to a typed variable.
    fn declaration(self, line: &str) -> Option<&str> {
        // Except for classes and enumerations, the declaration begins where the line does.
        let starts = line.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let (declaration, value) = line.split_once('=')?;
        let (name, kind) = declaration.split_once(':')?;
        let is_declared = match self {
            // A type inferred from the value, and the variable that controls `import *`.
            Self::Python => {
                let is_name = name.chars().all(|it| it.is_alphanumeric() || it == '_');
                let is_open = ["Final", "TypeAlias"].iter().any(|word| kind.contains(word));
                is_name && !is_open && !name.starts_with("__")
            }
            Self::TypeScript => {
                let words = name.trim_start_matches("export ").split_whitespace();
                words.take(1).all(|word| matches!(word, "const" | "let" | "var"))
            }
            Self::C | Self::Go | Self::Java | Self::Rust => false,
        };
        let is_whole = balance(std::iter::once(declaration)) == [0; 7]
            && kind.matches('<').count() == kind.matches('>').count();
        let is_value = !value.starts_with(['=', '>']) && !kind.trim().is_empty();
        (starts && is_declared && is_whole && is_value).then_some(declaration)
    }

    /// True if lines below these headers are in the body of a function with an explicit signature.
    fn is_body(self, open: &[BlockFrame]) -> bool {
        // A macro may turn a function into anything.
        let outside = open.iter().take_while(|frame| !frame.header.contains('!'));
        outside.into_iter().any(|frame| self.is_explicit(frame.header.trim_end()))
    }

    /// True if a header is a complete function header, so that nothing is inferred from the body.
    fn is_explicit(self, header: &str) -> bool {
        let is_open = header.ends_with('{');
        let after = header.rfind(')').map_or("", |at| header[at + 1..].trim_start());
        match self {
            Self::C => {
                const OTHER: [&str; 9] = [
                    "auto",
                    "class",
                    "consteval",
                    "constexpr",
                    "enum",
                    "namespace",
                    "struct",
                    "template",
                    "union",
                ];
                let is_function = header.starts_with(|first: char| first.is_ascii_alphabetic());
                is_open && is_function && !after.is_empty() && !has_any_word(header, &OTHER)
            }
            Self::Go => {
                let is_type = ["struct {", "interface {"].iter().any(|it| header.ends_with(it));
                is_open && has_any_word(header, &["func"]) && !is_type
            }
            Self::Java => {
                const OTHER: [&str; 4] = ["class", "enum", "interface", "record"];
                is_open && !after.is_empty() && !has_any_word(header, &OTHER)
            }
            Self::Python => {
                header.ends_with(':') && has_any_word(header, &["def"]) && header.contains("->")
            }
            Self::Rust => {
                is_open
                    && has_any_word(header, &["fn"])
                    && !has_any_word(header, &["async", "const", "impl"])
            }
            Self::TypeScript => {
                let result = after.strip_prefix(':').and_then(|it| it.strip_suffix('{'));
                result.is_some_and(is_whole_type) && !header.contains(" ? ")
            }
        }
    }

    /// True if a line may set an attribute of the object, in languages where that declares it.
    fn sets_member(self, code: &str) -> bool {
        let has_object = match self {
            Self::Python => code.contains("self.") || code.contains("cls."),
            Self::TypeScript => code.contains("this."),
            Self::C | Self::Go | Self::Java | Self::Rust => false,
        };
        has_object && code.contains('=')
    }

    /// True if a line exposes function bodies of its file to other files.
    fn exposes_bodies(self, line: &str) -> bool {
        match self {
            Self::Python => line.trim_start().starts_with("global "),
            Self::Rust => line.contains("proc_macro"),
            _ => false,
        }
    }
}

/// True if a TypeScript type ends at the end of the line.
fn is_whole_type(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_suffix("=>").unwrap_or(text).trim_end();
    let is_closed = text.matches('<').count() == text.matches('>').count();
    let ends = text.ends_with(|last: char| last.is_alphanumeric() || "_$]>\"'}".contains(last));
    is_closed && ends && !text.contains('(')
}
