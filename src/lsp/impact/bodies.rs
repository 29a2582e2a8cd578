//! Lines that no other file can notice: they stand in the body of a function whose header says all
//! there is to know of it, or give another value to what has a type of its own. Told by the shape of
//! lines, and only in languages where a header says so much; whatever is doubtful can be noticed. It
//! must not know names.

use std::collections::{BTreeMap, BTreeSet};

use super::words::{strip_comment, word_ranges};
use super::{ChangedLines, InvisibleLines};
use crate::base::path::RelPath;

/// How headers of functions look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderStyle {
    C,
    Go,
    Java,
    Python,
    Rust,
    TypeScript,
}

/// What opens a block: a line and, of a header over several lines, those that close brackets.
#[derive(Debug)]
struct BlockFrame {
    indent: usize,
    header: String,
}

/// The changed lines of two texts that nobody else can notice, as indices; none when the changes
/// do not leave the structure of the text alone.
pub(super) fn invisible_lines(
    path: &RelPath,
    (old, gone): ChangedLines<'_>,
    (new, came): ChangedLines<'_>,
) -> InvisibleLines {
    let Some(dialect) = header_style(path) else { return Default::default() };
    let is_plain = |lines: &[&str]| !lines.iter().any(|line| dialect.exposes_bodies(line));
    if !is_plain(old) || !is_plain(new) {
        return Default::default();
    }
    let (declared, redeclared) =
        (dialect.count_declarations(old, gone), dialect.count_declarations(new, came));
    let (mut gone, mut came) = (dialect.body_lines(old, gone), dialect.body_lines(new, came));
    for (declaration, at) in declared {
        if let Some(now) = redeclared.get(declaration) {
            gone.insert(at);
            came.insert(*now);
        }
    }
    let weight = |lines: &[&str], of: &BTreeSet<usize>| balance(of.iter().map(|at| lines[*at]));
    if weight(old, &gone) == weight(new, &came) { (gone, came) } else { Default::default() }
}

/// The languages whose headers are explicit. What is wrong in a header of C shows in all that
/// include it.
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

/// How many brackets stay open, and whether a string or a comment does.
fn balance<'l>(lines: impl Iterator<Item = &'l str>) -> [isize; 7] {
    let mut open = [0; 7];
    for line in lines {
        let count = |mark: &str| isize::try_from(line.matches(mark).count()).unwrap_or(0);
        for (at, (begin, end)) in
            [("(", ")"), ("[", "]"), ("{", "}"), ("/*", "*/")].iter().enumerate()
        {
            open[at] += count(begin) - count(end);
        }
        for (at, quote) in ["\"", "'", "`"].iter().enumerate() {
            open[4 + at] = (open[4 + at] + count(quote)) % 2;
        }
    }
    open
}

impl HeaderStyle {
    /// Of the changed lines those in the body of an explicit function.
    fn body_lines(self, lines: &[&str], changed: &[usize]) -> BTreeSet<usize> {
        let (mut found, mut open) = (BTreeSet::new(), Vec::<BlockFrame>::new());
        let mut changed = changed.iter().copied().peekable();
        for (at, line) in lines.iter().enumerate() {
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

    /// Of the changed lines those that give a variable of the module a value, by what they say of it
    /// before the value: its name and type, which are all that others see of it.
    fn count_declarations<'l>(
        self,
        lines: &[&'l str],
        changed: &[usize],
    ) -> BTreeMap<&'l str, usize> {
        let said = changed.iter().filter_map(|at| Some((self.declaration(lines[*at])?, *at)));
        said.collect()
    }

    /// `name: type` of a line at the beginning of which a variable with a type gets its value.
    fn declaration(self, line: &str) -> Option<&str> {
        // What is no class and no enumeration begins where the line does.
        let starts = line.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let (declaration, value) = line.split_once('=')?;
        let (name, kind) = declaration.split_once(':')?;
        let is_said = match self {
            // A type that is left to the value, and what `import *` is governed by.
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
        (starts && is_said && is_whole && is_value).then_some(declaration)
    }

    /// Whether what stands below these blocks is in the body of a function that says everything.
    fn is_body(self, open: &[BlockFrame]) -> bool {
        // What a macro makes of a function is not known.
        let outside = open.iter().take_while(|frame| !frame.header.contains('!'));
        outside.into_iter().any(|frame| self.is_explicit(frame.header.trim_end()))
    }

    /// Whether a header is a function's, is complete, and leaves nothing to be read in the body.
    fn is_explicit(self, header: &str) -> bool {
        let has = |words: &[&str]| {
            word_ranges(header).any(|(start, end)| words.contains(&&header[start..end]))
        };
        let is_open = header.ends_with('{');
        let behind = header.rfind(')').map_or("", |at| header[at + 1..].trim_start());
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
                is_open && is_function && !behind.is_empty() && !has(&OTHER)
            }
            Self::Go => {
                let is_type = ["struct {", "interface {"].iter().any(|it| header.ends_with(it));
                is_open && has(&["func"]) && !is_type
            }
            Self::Java => {
                const OTHER: [&str; 4] = ["class", "enum", "interface", "record"];
                is_open && !behind.is_empty() && !has(&OTHER)
            }
            Self::Python => header.ends_with(':') && has(&["def"]) && header.contains("->"),
            Self::Rust => is_open && has(&["fn"]) && !has(&["async", "const", "impl"]),
            Self::TypeScript => {
                let result = behind.strip_prefix(':').and_then(|it| it.strip_suffix('{'));
                result.is_some_and(is_whole_type) && !header.contains(" ? ")
            }
        }
    }

    /// Whether a line may set something of the object around, where that declares it.
    fn sets_member(self, code: &str) -> bool {
        let has_object = match self {
            Self::Python => code.contains("self.") || code.contains("cls."),
            Self::TypeScript => code.contains("this."),
            Self::C | Self::Go | Self::Java | Self::Rust => false,
        };
        has_object && code.contains('=')
    }

    /// Whether a line lets the bodies of its file be seen from elsewhere.
    fn exposes_bodies(self, line: &str) -> bool {
        match self {
            Self::Python => line.trim_start().starts_with("global "),
            Self::Rust => line.contains("proc_macro"),
            _ => false,
        }
    }
}

/// Whether a type of TypeScript ends where the line does.
fn is_whole_type(text: &str) -> bool {
    let text = text.trim();
    let text = text.strip_suffix("=>").unwrap_or(text).trim_end();
    let is_closed = text.matches('<').count() == text.matches('>').count();
    let ends = text.ends_with(|last: char| last.is_alphanumeric() || "_$]>\"'}".contains(last));
    is_closed && ends && !text.contains('(')
}
