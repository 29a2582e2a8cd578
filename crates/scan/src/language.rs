//! The languages that the scan supports, and the language of a file by its name.

use moai_base::path::RelPath;

/// A supported language. TypeScript and TSX are separate, as are C and C++, because their grammars
/// differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScanLanguage {
    /// Bash and other Bourne shells.
    Bash,
    C,
    Cpp,
    CSharp,
    /// CSS and SCSS.
    Css,
    Dart,
    Elixir,
    Go,
    Html,
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    Json,
    Kotlin,
    Php,
    Python,
    R,
    Ruby,
    Rust,
    Scala,
    Swift,
    /// TypeScript with JSX.
    Tsx,
    TypeScript,
    Yaml,
}

struct LanguageRow {
    language: ScanLanguage,
    /// Name in messages and rule files.
    name: &'static str,
    /// Other names in rule files.
    aliases: &'static [&'static str],
    /// Lower-case file extensions: those of the ast-grep program, plus those of R.
    extensions: &'static [&'static str],
}

const fn language_row(
    language: ScanLanguage,
    word: &'static str,
    aliases: &'static [&'static str],
    extensions: &'static [&'static str],
) -> LanguageRow {
    LanguageRow { language, name: word, aliases, extensions }
}

/// In declaration order, as `index` requires.
const LANGUAGE_TABLE: [LanguageRow; 23] = [
    language_row(
        ScanLanguage::Bash,
        "bash",
        &["sh"],
        &["bash", "bats", "cgi", "command", "env", "fcgi", "ksh", "sh", "tmux", "tool", "zsh"],
    ),
    language_row(ScanLanguage::C, "c", &[], &["c", "h"]),
    language_row(
        ScanLanguage::Cpp,
        "cpp",
        &["c++", "cc", "cxx"],
        &["cc", "hpp", "cpp", "c++", "hh", "cxx", "cu", "ino"],
    ),
    language_row(ScanLanguage::CSharp, "csharp", &["cs", "c#"], &["cs"]),
    language_row(ScanLanguage::Css, "css", &[], &["css", "scss"]),
    language_row(ScanLanguage::Dart, "dart", &[], &["dart"]),
    language_row(ScanLanguage::Elixir, "elixir", &["ex"], &["ex", "exs"]),
    language_row(ScanLanguage::Go, "go", &["golang"], &["go"]),
    language_row(ScanLanguage::Html, "html", &[], &["html", "htm", "xhtml"]),
    language_row(ScanLanguage::Java, "java", &[], &["java"]),
    language_row(
        ScanLanguage::JavaScript,
        "javascript",
        &["js", "jsx"],
        &["cjs", "js", "mjs", "jsx"],
    ),
    language_row(ScanLanguage::Json, "json", &[], &["json"]),
    language_row(ScanLanguage::Kotlin, "kotlin", &["kt"], &["kt", "ktm", "kts"]),
    language_row(ScanLanguage::Php, "php", &[], &["php"]),
    language_row(ScanLanguage::Python, "python", &["py"], &["py", "py3", "pyi", "bzl", "bazel"]),
    language_row(ScanLanguage::R, "r", &[], &["r"]),
    language_row(ScanLanguage::Ruby, "ruby", &["rb"], &["rb", "rbw", "gemspec"]),
    language_row(ScanLanguage::Rust, "rust", &["rs"], &["rs"]),
    language_row(ScanLanguage::Scala, "scala", &[], &["scala", "sc", "sbt"]),
    language_row(ScanLanguage::Swift, "swift", &[], &["swift"]),
    language_row(ScanLanguage::Tsx, "tsx", &[], &["tsx"]),
    language_row(ScanLanguage::TypeScript, "typescript", &["ts"], &["ts", "cts", "mts"]),
    language_row(ScanLanguage::Yaml, "yaml", &["yml"], &["yaml", "yml"]),
];

impl ScanLanguage {
    /// All languages, in declaration order.
    pub(super) const ALL: [Self; LANGUAGE_TABLE.len()] = {
        let mut all = [Self::Bash; LANGUAGE_TABLE.len()];
        let mut at = 0;
        while at < LANGUAGE_TABLE.len() {
            all[at] = LANGUAGE_TABLE[at].language;
            assert!(all[at] as usize == at, "the table is in the order of the declaration");
            at += 1;
        }
        all
    };

    /// The language of a file by its extension. Minified files have none, because they are not
    /// edited by hand.
    #[must_use]
    pub fn from_path(path: &RelPath) -> Option<Self> {
        if path.as_str().ends_with(".min.js") {
            return None;
        }
        let extension = path.extension()?;
        let row = LANGUAGE_TABLE.iter().find(|row| row.extensions.contains(&extension.as_str()))?;
        Some(row.language)
    }

    /// The language with this name or alias, ignoring case.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        LANGUAGE_TABLE
            .iter()
            .find(|row| row.name == name || row.aliases.contains(&name.as_str()))
            .map(|row| row.language)
    }

    /// Name in messages and rule files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        LANGUAGE_TABLE[self.index()].name
    }

    /// The most common extension of its files.
    pub(super) fn extension(self) -> &'static str {
        LANGUAGE_TABLE[self.index()].extensions[0]
    }

    /// Index into an array with one entry per language.
    pub(super) fn index(self) -> usize {
        self as usize
    }
}

/// A language that ast-grep supports and this program cannot parse; its files are not measured.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnsupportedLanguage {
    pub(super) name: &'static str,
    aliases: &'static [&'static str],
    pub(super) extensions: &'static [&'static str],
}

/// The languages of the ast-grep program that are not in [`LANGUAGE_TABLE`].
const UNSUPPORTED_LANGUAGES: [UnsupportedLanguage; 7] = [
    UnsupportedLanguage { name: "haskell", aliases: &["hs"], extensions: &["hs"] },
    UnsupportedLanguage {
        name: "hcl",
        aliases: &[],
        extensions: &["hcl", "nomad", "tf", "tfvars", "workflow"],
    },
    UnsupportedLanguage { name: "lua", aliases: &[], extensions: &["lua"] },
    UnsupportedLanguage { name: "markdown", aliases: &["md"], extensions: &["markdown", "md"] },
    UnsupportedLanguage { name: "nix", aliases: &[], extensions: &["nix"] },
    UnsupportedLanguage { name: "solidity", aliases: &["sol"], extensions: &["sol"] },
    UnsupportedLanguage { name: "zig", aliases: &[], extensions: &["zig"] },
];

impl UnsupportedLanguage {
    /// The unsupported language with this name or alias, ignoring case.
    pub(super) fn from_name(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_lowercase();
        UNSUPPORTED_LANGUAGES
            .iter()
            .find(|it| it.name == name || it.aliases.contains(&name.as_str()))
    }
}
