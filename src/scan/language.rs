//! The languages rules may speak about, and which file is written in which. It must not know how
//! a language is parsed.

use crate::base::path::RelPath;

/// A language of the scan. TypeScript and TSX are two, because their grammars differ, and so are C
/// and C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Bash and other Bourne shells.
    Bash,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// CSS and SCSS.
    Css,
    /// Dart.
    Dart,
    /// Elixir.
    Elixir,
    /// Go.
    Go,
    /// HTML.
    Html,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// JSON.
    Json,
    /// Kotlin.
    Kotlin,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// R.
    R,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
    /// Scala.
    Scala,
    /// Swift.
    Swift,
    /// TypeScript with JSX.
    Tsx,
    /// TypeScript.
    TypeScript,
    /// YAML.
    Yaml,
}

/// What is known of a language.
struct Row {
    language: Language,
    /// The word in messages.
    word: &'static str,
    /// Other words for it in rule files.
    aliases: &'static [&'static str],
    /// Extensions of its files, in lower case; those of the ast-grep program, and those of R.
    extensions: &'static [&'static str],
}

const fn row(
    language: Language,
    word: &'static str,
    aliases: &'static [&'static str],
    extensions: &'static [&'static str],
) -> Row {
    Row { language, word, aliases, extensions }
}

/// In the order of the declaration.
const TABLE: [Row; 23] = [
    row(
        Language::Bash,
        "bash",
        &["sh"],
        &["bash", "bats", "cgi", "command", "env", "fcgi", "ksh", "sh", "tmux", "tool", "zsh"],
    ),
    row(Language::C, "c", &[], &["c", "h"]),
    row(
        Language::Cpp,
        "cpp",
        &["c++", "cc", "cxx"],
        &["cc", "hpp", "cpp", "c++", "hh", "cxx", "cu", "ino"],
    ),
    row(Language::CSharp, "csharp", &["cs", "c#"], &["cs"]),
    row(Language::Css, "css", &[], &["css", "scss"]),
    row(Language::Dart, "dart", &[], &["dart"]),
    row(Language::Elixir, "elixir", &["ex"], &["ex", "exs"]),
    row(Language::Go, "go", &["golang"], &["go"]),
    row(Language::Html, "html", &[], &["html", "htm", "xhtml"]),
    row(Language::Java, "java", &[], &["java"]),
    row(Language::JavaScript, "javascript", &["js", "jsx"], &["cjs", "js", "mjs", "jsx"]),
    row(Language::Json, "json", &[], &["json"]),
    row(Language::Kotlin, "kotlin", &["kt"], &["kt", "ktm", "kts"]),
    row(Language::Php, "php", &[], &["php"]),
    row(Language::Python, "python", &["py"], &["py", "py3", "pyi", "bzl", "bazel"]),
    row(Language::R, "r", &[], &["r"]),
    row(Language::Ruby, "ruby", &["rb"], &["rb", "rbw", "gemspec"]),
    row(Language::Rust, "rust", &["rs"], &["rs"]),
    row(Language::Scala, "scala", &[], &["scala", "sc", "sbt"]),
    row(Language::Swift, "swift", &[], &["swift"]),
    row(Language::Tsx, "tsx", &[], &["tsx"]),
    row(Language::TypeScript, "typescript", &["ts"], &["ts", "cts", "mts"]),
    row(Language::Yaml, "yaml", &["yml"], &["yaml", "yml"]),
];

impl Language {
    /// All, in the order of their declaration.
    pub(super) const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Bash; TABLE.len()];
        let mut at = 0;
        while at < TABLE.len() {
            all[at] = TABLE[at].language;
            assert!(all[at] as usize == at, "the table is in the order of the declaration");
            at += 1;
        }
        all
    };

    /// The language of a file by its extension. Minified files have none: nobody edits them.
    #[must_use]
    pub fn of(path: &RelPath) -> Option<Self> {
        if path.as_str().ends_with(".min.js") {
            return None;
        }
        let extension = path.extension()?;
        let row = TABLE.iter().find(|row| row.extensions.contains(&extension.as_str()))?;
        Some(row.language)
    }

    /// The language a rule file means by this word; upper and lower case are the same.
    pub(super) fn named(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let is_meant = |row: &&Row| row.word == word || row.aliases.contains(&word.as_str());
        TABLE.iter().find(is_meant).map(|row| row.language)
    }

    /// The word in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        TABLE[self.index()].word
    }

    /// The commonest extension of its files.
    pub(super) fn extension(self) -> &'static str {
        TABLE[self.index()].extensions[0]
    }

    /// The place in an array with one entry per language.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// A language that rule files of others name and nothing here can parse: its files are not measured.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    pub(super) word: &'static str,
    aliases: &'static [&'static str],
    pub(super) extensions: &'static [&'static str],
}

/// The languages of the ast-grep program that are not in [`TABLE`].
const FOREIGN: [Foreign; 7] = [
    Foreign { word: "haskell", aliases: &["hs"], extensions: &["hs"] },
    Foreign {
        word: "hcl",
        aliases: &[],
        extensions: &["hcl", "nomad", "tf", "tfvars", "workflow"],
    },
    Foreign { word: "lua", aliases: &[], extensions: &["lua"] },
    Foreign { word: "markdown", aliases: &["md"], extensions: &["markdown", "md"] },
    Foreign { word: "nix", aliases: &[], extensions: &["nix"] },
    Foreign { word: "solidity", aliases: &["sol"], extensions: &["sol"] },
    Foreign { word: "zig", aliases: &[], extensions: &["zig"] },
];

impl Foreign {
    /// The one a rule file means by this word.
    pub(super) fn named(word: &str) -> Option<&'static Self> {
        let word = word.to_ascii_lowercase();
        FOREIGN.iter().find(|it| it.word == word || it.aliases.contains(&word.as_str()))
    }
}
