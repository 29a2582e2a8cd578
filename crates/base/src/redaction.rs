//! Removes secrets from a text before it is sent to a model, logged or stored. What a secret looks
//! like is data (`shapes`); values behind a name such as `password` are removed if they look random.

mod resident_number;
mod shapes;

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};

use crate::limits::{SECRET_ENTROPY_BITS_MIN, SECRET_WORD_CHARS_MAX};
use resident_number::is_resident_number;
use shapes::{
    CURL_PASSWORD, KOREAN_VALUE, PLAIN_VALUE, QUOTED_VALUE, RESIDENT_NUMBER, SHAPES, SecretShape,
    URL_PASSWORD, URL_TOKEN,
};

/// Parts of values that are placeholders and not secrets, in lower case.
const PLACEHOLDERS: [&str; 12] = [
    "changeme",
    "dummy",
    "example",
    "placeholder",
    "redacted",
    "sample",
    "secret",
    "test",
    "password",
    "xxxx",
    "your",
    "****",
];

/// The compiled table; `set` finds the shapes that occur, in one pass over the text.
struct SecretPatterns {
    set: RegexSet,
    patterns: Vec<SecretPattern>,
}

struct SecretPattern {
    name: &'static str,
    source: String,
    /// Compiled when it occurs for the first time.
    expression: OnceLock<Regex>,
    is_secret: fn(&str) -> bool,
}

static PATTERNS: LazyLock<SecretPatterns> = LazyLock::new(|| {
    let known = SHAPES.iter().map(|shape| pattern(*shape, |_| true));
    let judged = [
        pattern(URL_PASSWORD, |password| !is_placeholder(password)),
        pattern(QUOTED_VALUE, looks_random),
        pattern(PLAIN_VALUE, looks_random),
        pattern(KOREAN_VALUE, looks_random),
        pattern(URL_TOKEN, looks_random),
        pattern(CURL_PASSWORD, looks_random),
        pattern(RESIDENT_NUMBER, is_resident_number),
    ];
    let patterns: Vec<SecretPattern> = known.chain(judged).collect();
    let sources = patterns.iter().map(|pattern| &pattern.source);
    SecretPatterns { set: RegexSet::new(sources).expect("each expression compiles"), patterns }
});

impl SecretPattern {
    fn expression(&self) -> &Regex {
        self.expression.get_or_init(|| Regex::new(&self.source).expect("the set compiled it"))
    }
}

fn pattern(shape: SecretShape, is_secret: fn(&str) -> bool) -> SecretPattern {
    let source = shape.1.replace(r"\b", r"(?-u:\b)");
    SecretPattern { name: shape.0, source, expression: OnceLock::new(), is_secret }
}

/// The text with every secret replaced by `[redacted: NAME]`; the rest of the text is unchanged. A
/// second call changes nothing.
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    let found = PATTERNS.set.matches(text);
    let mut clean = Cow::Borrowed(text);
    for index in &found {
        let pattern = &PATTERNS.patterns[index];
        let replace = |captures: &Captures<'_>| replacement(pattern, captures);
        if let Cow::Owned(replaced) = pattern.expression().replace_all(&clean, replace) {
            clean = Cow::Owned(replaced);
        }
    }
    clean
}

/// [`redacted`] for an owned text.
#[must_use]
pub fn redact(text: String) -> String {
    match redacted(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

fn replacement(pattern: &SecretPattern, captures: &Captures<'_>) -> String {
    let whole = captures.get_match();
    let secret = captures.get(1).unwrap_or(whole);
    if !(pattern.is_secret)(secret.as_str()) {
        return whole.as_str().to_owned();
    }
    let (from, to) = (secret.start() - whole.start(), secret.end() - whole.start());
    let (before, after) = (&whole.as_str()[..from], &whole.as_str()[to..]);
    format!("{before}[redacted: {}]{after}", pattern.name)
}

/// Whether a value is a stand-in, or names a variable.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains(['$', '{', '}', '<', '>', '(', ')', '[', ']', '*'])
        || matches!(lower.as_str(), "pass" | "pwd" | "pw" | "token" | "key" | "xxx" | "...")
        || PLACEHOLDERS.iter().any(|word| lower.contains(word))
}

/// Whether a value is random rather than a word, a path or a name: letters and digits, at least
/// [`SECRET_ENTROPY_BITS_MIN`] for each character, and not made of words and numbers.
fn looks_random(value: &str) -> bool {
    let has_digit = value.contains(|it: char| it.is_ascii_digit());
    let has_letter = value.contains(|it: char| it.is_ascii_alphabetic());
    has_digit
        && has_letter
        && !is_placeholder(value)
        && !is_made_of_words(value)
        && entropy_bits(value) >= SECRET_ENTROPY_BITS_MIN
}

/// Whether each part of a value is a word or a number, perhaps with a number at its end.
fn is_made_of_words(value: &str) -> bool {
    value.split(|it: char| !it.is_ascii_alphanumeric()).all(|part| {
        let letters = part.trim_end_matches(|it: char| it.is_ascii_digit());
        letters.len() <= SECRET_WORD_CHARS_MAX && letters.bytes().all(|it| it.is_ascii_alphabetic())
    })
}

/// Shannon's entropy of the characters of a text, in bits for each of them.
#[expect(clippy::cast_precision_loss, reason = "a value has at most some hundred characters")]
fn entropy_bits(text: &str) -> f64 {
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    let length = characters.len() as f64;
    let shares =
        characters.chunk_by(|one, other| one == other).map(|same| same.len() as f64 / length);
    shares.map(|share| -share * share.log2()).sum()
}

#[cfg(test)]
mod tests;
