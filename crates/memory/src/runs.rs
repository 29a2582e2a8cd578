//! A text as runs of one kind of writing: Korean syllables, other East Asian characters, and names
//! (words, identifiers, paths and codes) of letters and digits.

use std::borrow::Cow;

use moai_base::foreign_text::is_hidden;
use moai_base::limits::{INDEX_TOKEN_CHARS_MAX, NAME_PARTS_MAX};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::hangul::is_syllable;

/// Characters that join letters to one name, path or address.
const CONNECTORS: [char; 7] = ['_', '-', '.', '/', ':', '@', '\\'];
/// Longest extension of a file, in characters.
const EXTENSION_CHARS_MAX: usize = 5;

/// One run, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// Korean syllables; `is_after_name` if they directly follow a name.
    Hangul { word: String, is_after_name: bool },
    /// Chinese characters and kana.
    Ideographs(String),
    /// Anything else with letters or digits.
    Name(Name),
}

/// An identifier, a path, a code or a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// As written, without connectors at its ends and without a position (`:12:5`).
    pub(crate) raw: String,
    /// The parts between connectors other than `_` and `-`.
    pub(crate) segments: Vec<Segment>,
}

/// One identifier of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// As written.
    pub(crate) raw: String,
    /// Its words in lower case: split at changes of case, at digits, `_` and `-`.
    pub(crate) parts: Vec<String>,
}

impl Segment {
    fn new(raw: &str) -> Self {
        Self { raw: raw.to_owned(), parts: parts(raw) }
    }

    /// The parts without anything between them: equal in all styles of writing.
    pub(crate) fn joined(&self) -> String {
        bounded(&self.parts.concat())
    }
}

/// True if an identifier has the shape of an error code, such as `TS2345`, `ORA-00942`,
/// `ECONNRESET` or `CVE-2024-3094`.
pub(crate) fn is_code(identifier: &str) -> bool {
    let letters = identifier.bytes().take_while(u8::is_ascii_uppercase).count();
    let rest = &identifier[letters..];
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    let is_numbered = (1..=6).contains(&letters) && (2..=6).contains(&digits.len());
    let is_errno = rest.is_empty() && letters > 4 && identifier.starts_with('E');
    is_numbered && is_number
        || is_errno
        || ["CVE-", "GHSA-"].iter().any(|start| identifier.starts_with(start))
}

impl Name {
    fn new(run: &str) -> Option<Self> {
        let raw = without_position(run.trim_matches(CONNECTORS));
        let segments: Vec<Segment> = raw
            .split(|it| CONNECTORS.contains(&it) && it != '_' && it != '-')
            .map(|segment| segment.trim_matches(CONNECTORS))
            .filter(|segment| !segment.is_empty())
            .take(NAME_PARTS_MAX)
            .map(Segment::new)
            .collect();
        (!segments.is_empty()).then(|| Self { raw: raw.to_owned(), segments })
    }

    /// The words of all segments in lower case.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &str> {
        let parts = self.segments.iter().flat_map(|segment| &segment.parts);
        parts.take(NAME_PARTS_MAX).map(String::as_str)
    }

    /// The last part of a path with its extension, as letters and digits in lower case.
    pub(crate) fn base_name(&self) -> Option<String> {
        let base = self.raw.rsplit(['/', '\\']).next()?;
        (self.is_path() || has_extension(base)).then(|| {
            bounded(&base.chars().filter(|it| it.is_alphanumeric()).collect::<String>())
                .to_lowercase()
        })
    }

    /// True if it has folders.
    pub(crate) fn is_path(&self) -> bool {
        self.raw.contains(['/', '\\'])
    }
}

/// The runs of a text in composed form (NFC); invisible characters do not count.
pub(crate) fn runs(text: &str) -> Vec<Run> {
    let composed = composed(text);
    let mut runs = Vec::new();
    let mut current = String::new();
    let mut kind = Kind::Other;
    for character in composed.chars().filter(|it| !is_hidden(*it)).chain([' ']) {
        let next = kind_after(character, kind);
        if next != kind {
            push_run(&mut runs, kind, &current);
            if next == Kind::Other {
                runs.push(None);
            }
            current.clear();
            kind = next;
        }
        if kind != Kind::Other {
            current.push(character);
        }
    }
    runs.into_iter().flatten().collect()
}

/// In composed form (NFC), which most texts have already.
#[must_use]
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hangul,
    Ideographs,
    Name,
    Other,
}

fn kind_after(character: char, before: Kind) -> Kind {
    if is_syllable(character) {
        Kind::Hangul
    } else if is_ideograph(character) {
        Kind::Ideographs
    } else if is_name_character(character, before == Kind::Name) {
        Kind::Name
    } else {
        Kind::Other
    }
}

/// Letters and digits; connectors and accents only inside a name.
fn is_name_character(character: char, is_inside: bool) -> bool {
    character.is_alphanumeric() && !is_jamo(character)
        || is_inside && (CONNECTORS.contains(&character) || is_combining_mark(character))
}

/// Separated runs have a `None` between them.
fn push_run(runs: &mut Vec<Option<Run>>, kind: Kind, text: &str) {
    let run = match kind {
        Kind::Other => return,
        Kind::Hangul => {
            let is_after_name = matches!(runs.last(), Some(Some(Run::Name(_))));
            Some(Run::Hangul { word: text.to_owned(), is_after_name })
        }
        Kind::Ideographs => Some(Run::Ideographs(text.to_owned())),
        Kind::Name => Name::new(text).map(Run::Name),
    };
    runs.push(run);
}

/// Chinese characters, kana and their marks.
pub(crate) fn is_ideograph(character: char) -> bool {
    is_han(character)
        || matches!(character, '\u{3041}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9d}')
}

/// Chinese characters.
pub(crate) fn is_han(character: char) -> bool {
    matches!(character,
        '\u{3005}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3fffd}')
}

/// Hiragana, which writes the endings of Japanese words.
pub(crate) fn is_hiragana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309f}')
}

/// Letters of syllables that are not complete, such as ㅋㅋ.
fn is_jamo(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}'
        | '\u{d7b0}'..='\u{d7ff}' | '\u{ffa0}'..='\u{ffdc}')
}

/// `src/a.rs` of `src/a.rs:12:5`.
fn without_position(raw: &str) -> &str {
    let mut rest = raw;
    while let Some((before, digits)) = rest.rsplit_once(':') {
        let is_position = digits.bytes().all(|it| it.is_ascii_digit()) && before.contains('.');
        if !is_position {
            break;
        }
        rest = before.trim_end_matches(':');
    }
    rest
}

fn has_extension(base: &str) -> bool {
    base.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && extension.len() <= EXTENSION_CHARS_MAX
            && extension.starts_with(|it: char| it.is_ascii_alphabetic())
            && extension.bytes().all(|it| it.is_ascii_alphanumeric())
    })
}

fn parts(raw: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut before = None;
    let mut characters = raw.chars().peekable();
    while let Some(character) = characters.next() {
        let is_connector = CONNECTORS.contains(&character);
        let after = characters.peek();
        let is_start = before.is_some_and(|before| begins_part(before, character, after));
        if (is_connector || is_start) && !part.is_empty() {
            parts.push(bounded(&part));
            part.clear();
        }
        if !is_connector {
            part.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    if !part.is_empty() {
        parts.push(bounded(&part));
    }
    parts.truncate(NAME_PARTS_MAX);
    parts
}

/// `getURLPath` is `get`, `url`, `path`; `utf8` is `utf`, `8`.
fn begins_part(before: char, character: char, after: Option<&char>) -> bool {
    let is_digit_change =
        before.is_numeric() != character.is_numeric() && !CONNECTORS.contains(&before);
    let is_capital = character.is_uppercase();
    let ends_capitals = before.is_uppercase() && after.is_some_and(|it| it.is_lowercase());
    is_digit_change || is_capital && (before.is_lowercase() || ends_capitals)
}

/// The beginning of a token that is too long.
pub(crate) fn bounded(token: &str) -> String {
    let end = token.char_indices().nth(INDEX_TOKEN_CHARS_MAX).map_or(token.len(), |(at, _)| at);
    token[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<Vec<String>> {
        let found = runs(text).into_iter().filter_map(|run| match run {
            Run::Name(name) => Some(name.parts().map(str::to_owned).collect()),
            _ => None,
        });
        found.collect()
    }

    #[test]
    fn names_are_split_at_changes_of_case_and_digits() {
        let check = |name: &str, parts: &[&str]| assert_eq!(names(name), [parts], "{name}");
        check("validateToken", &["validate", "token"]);
        check("HTTPServerError", &["http", "server", "error"]);
        check("MAX_RETRY_COUNT", &["max", "retry", "count"]);
        check("sha256_sum", &["sha", "256", "sum"]);
        check("src/auth/token-store.rs:12:5", &["src", "auth", "token", "store", "rs"]);
        check("std::fs::read_dir", &["std", "fs", "read", "dir"]);
        check("__init__", &["init"]);
        check(r"C:\app\main.go", &["c", "app", "main", "go"]);
    }

    #[test]
    fn scripts_are_separate_runs() {
        let found = runs("JWT토큰을 認証 src/결제.rs에서");
        let kinds: Vec<String> = found
            .into_iter()
            .map(|run| match run {
                Run::Hangul { word, is_after_name } => format!("{word} {is_after_name}"),
                Run::Ideographs(run) => run,
                Run::Name(name) => name.raw,
            })
            .collect();
        assert_eq!(kinds, ["JWT", "토큰을 true", "認証", "src", "결제 true", "rs", "에서 true"]);
    }

    #[test]
    fn codes_are_recognized() {
        for code in ["TS2345", "E0308", "ORA-00942", "ECONNRESET", "CVE-2024-3094"] {
            assert!(is_code(code), "{code}");
        }
        for other in ["EACH", "Utf8", "token", "A1", "validate_token", "ERROR_12"] {
            assert!(!is_code(other), "{other}");
        }
    }

    #[test]
    fn base_names_are_those_of_files() {
        let base = |text: &str| match &runs(text)[0] {
            Run::Name(name) => name.base_name(),
            _ => None,
        };
        assert_eq!(base("src/auth/token_store.rs").as_deref(), Some("tokenstorers"));
        assert_eq!(base("token_store.rs:8").as_deref(), Some("tokenstorers"));
        assert_eq!(base("src/auth").as_deref(), Some("auth"));
        assert_eq!(base("validateToken"), None);
    }
}
