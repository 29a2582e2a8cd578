//! The languages rules may speak about, and which file is written in which. It must not know how
//! a language is parsed.

use crate::base::path::RelPath;

/// A language of the scan. TypeScript and TSX are two, because their grammars differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Go,
    JavaScript,
    Python,
    Rust,
    Tsx,
    TypeScript,
}

impl Language {
    /// All, in the order of their declaration.
    pub(super) const ALL: [Self; 6] =
        [Self::Go, Self::JavaScript, Self::Python, Self::Rust, Self::Tsx, Self::TypeScript];

    /// The language of a file by its extension. Minified files have none: nobody edits them.
    pub(super) fn of(path: &RelPath) -> Option<Self> {
        if path.as_str().ends_with(".min.js") {
            return None;
        }
        Some(match path.extension()?.as_str() {
            "go" => Self::Go,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "py" | "pyi" => Self::Python,
            "rs" => Self::Rust,
            "tsx" => Self::Tsx,
            "ts" | "mts" | "cts" => Self::TypeScript,
            _ => return None,
        })
    }

    /// The language a rule file means by this word; upper and lower case are the same.
    pub(super) fn named(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "go" | "golang" => Self::Go,
            "javascript" | "js" | "jsx" => Self::JavaScript,
            "python" | "py" => Self::Python,
            "rust" | "rs" => Self::Rust,
            "tsx" => Self::Tsx,
            "typescript" | "ts" => Self::TypeScript,
            _ => return None,
        })
    }

    /// The word in messages.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::JavaScript => "javascript",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Tsx => "tsx",
            Self::TypeScript => "typescript",
        }
    }

    /// The place in an array with one entry per language.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}
