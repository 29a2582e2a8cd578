//! Removes secrets from a text before it is sent to a model, logged or stored. The shapes of
//! secrets are data (`shapes`); values after a name such as `password` are removed if they look
//! random.

mod colors;
mod kubernetes;
mod passwords;
mod payment_card;
mod resident_number;
mod shapes;

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};

use crate::limits::{SECRET_ENTROPY_BITS_MIN, SECRET_WORD_CHARS_MAX};
use colors::without_colors;
use kubernetes::without_secret_values;
use passwords::{
    SecretPlace, is_assigned_password, is_element_password, is_given, is_quoted_password,
    is_strong_password,
};
use payment_card::is_payment_card;
use resident_number::{is_plain_resident_number, is_resident_number};
use shapes::{
    ASSIGNED_PASSWORD, COMMAND_PASSWORDS, ELEMENT_PASSWORD, KOREAN_VALUE, NAMED_VALUES,
    PASSED_PASSWORD, PAYMENT_CARD, PLAIN_RESIDENT_NUMBER, PLAIN_VALUE, QUOTED_VALUE,
    RESIDENT_NUMBER, SHAPES, SPOKEN_PASSWORDS, SecretShape, SurroundedShape, URL_PASSWORD,
    URL_TOKEN,
};

/// Words that make a value a placeholder, in lower case, if all of its other words are among
/// [`PLACEHOLDER_FILLERS`]: `your-password-here`, but not `MySecretPassw0rd`.
const PLACEHOLDERS: [&str; 11] = [
    "changeme",
    "dummy",
    "example",
    "password",
    "placeholder",
    "redacted",
    "sample",
    "secret",
    "test",
    "xxxx",
    "your",
];
/// Words around those.
const PLACEHOLDER_FILLERS: [&str; 40] = [
    "access", "an", "api", "app", "client", "com", "db", "ed", "fake", "for", "from", "goes",
    "here", "in", "ing", "insert", "is", "key", "me", "my", "new", "not", "of", "old", "or",
    "pass", "put", "pwd", "replace", "s", "some", "string", "the", "this", "to", "token", "user",
    "value", "with", "x",
];
/// Digits of a placeholder, such as the one in `password1`.
const PLACEHOLDER_DIGITS_MAX: usize = 1;

/// The table; `set` finds the shapes that occur, in one pass over the text.
struct SecretPatterns {
    set: RegexSet,
    in_set: Vec<SecretPattern>,
    surrounded: Vec<SecretPattern>,
    /// Any word of the shapes that are recognized by their context.
    words: Regex,
}

struct SecretPattern {
    name: &'static str,
    source: String,
    /// Compiled when it occurs for the first time.
    expression: OnceLock<Regex>,
    /// Words of which a text must have at least one; empty for a shape of the set.
    words: &'static [&'static str],
    is_secret: fn(SecretPlace<'_>) -> bool,
}

static PATTERNS: LazyLock<SecretPatterns> = LazyLock::new(|| {
    let known = SHAPES.iter().map(|shape| pattern(*shape, |_| true));
    let judged = [
        pattern(URL_PASSWORD, |place| !is_placeholder(place.value)),
        pattern(QUOTED_VALUE, |place| looks_random(place.value)),
        pattern(PLAIN_VALUE, |place| looks_random(place.value)),
        pattern(KOREAN_VALUE, |place| looks_random(place.value)),
        pattern(URL_TOKEN, |place| looks_random(place.value)),
        pattern(RESIDENT_NUMBER, is_resident_number),
        pattern(PLAIN_RESIDENT_NUMBER, is_plain_resident_number),
        pattern(PAYMENT_CARD, is_payment_card),
    ];
    let in_set: Vec<SecretPattern> = known.chain(judged).collect();
    let sources = in_set.iter().map(|pattern| &pattern.source);
    let set = RegexSet::new(sources).expect("each expression compiles");
    let surrounded = surrounded_patterns();
    let words = surrounded.iter().flat_map(|pattern| pattern.words);
    let words: Vec<String> = words.map(|word| regex::escape(word)).collect();
    let words = Regex::new(&format!("(?i-u:{})", words.join("|"))).expect("escaped words");
    SecretPatterns { set, in_set, surrounded, words }
});

fn surrounded_patterns() -> Vec<SecretPattern> {
    let all = |shapes: &[SurroundedShape], is_secret| {
        shapes.iter().map(|shape| surrounded(*shape, is_secret)).collect::<Vec<_>>()
    };
    let mut patterns = all(COMMAND_PASSWORDS, is_given);
    patterns.push(surrounded(ASSIGNED_PASSWORD, is_assigned_password));
    patterns.push(surrounded(ELEMENT_PASSWORD, is_element_password));
    patterns.push(surrounded(PASSED_PASSWORD, is_quoted_password));
    patterns.extend(all(SPOKEN_PASSWORDS, is_strong_password));
    patterns.extend(all(NAMED_VALUES, |place| looks_random(place.value)));
    patterns
}

impl SecretPattern {
    fn expression(&self) -> &Regex {
        self.expression.get_or_init(|| Regex::new(&self.source).expect("a row of the table"))
    }

    fn replace(&self, text: &mut Cow<'_, str>) {
        let replace = |captures: &Captures<'_>| replacement(self, text, captures);
        if let Cow::Owned(replaced) = self.expression().replace_all(text, replace) {
            *text = Cow::Owned(replaced);
        }
    }
}

fn pattern(shape: SecretShape, is_secret: fn(SecretPlace<'_>) -> bool) -> SecretPattern {
    surrounded((shape.0, shape.1, &[]), is_secret)
}

fn surrounded(shape: SurroundedShape, is_secret: fn(SecretPlace<'_>) -> bool) -> SecretPattern {
    let (name, source, words) = shape;
    let source = source.replace(r"\b", r"(?-u:\b)");
    SecretPattern { name, source, expression: OnceLock::new(), words, is_secret }
}

/// The text with every secret replaced by `[redacted: NAME]`; the rest of the text is unchanged,
/// except that color sequences are removed if they split a secret. A second call changes nothing.
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    let clean = without_known_secrets(text);
    if let Cow::Owned(plain) = without_colors(&clean) {
        let split = without_known_secrets(&plain);
        if *split != plain {
            return Cow::Owned(split.into_owned());
        }
    }
    clean
}

fn without_known_secrets(text: &str) -> Cow<'_, str> {
    let mut clean = without_secret_values(text);
    for index in &PATTERNS.set.matches(text) {
        PATTERNS.in_set[index].replace(&mut clean);
    }
    if !PATTERNS.words.is_match(text) {
        return clean;
    }
    let lower = text.to_ascii_lowercase();
    for pattern in &PATTERNS.surrounded {
        if pattern.words.iter().any(|word| lower.contains(word)) {
            pattern.replace(&mut clean);
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

fn replacement(pattern: &SecretPattern, text: &str, captures: &Captures<'_>) -> String {
    let whole = captures.get_match();
    let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
    let line_start = text[..whole.start()].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[secret.end()..].find('\n').map_or(text.len(), |at| secret.end() + at);
    let place = SecretPlace {
        before: &text[line_start..whole.start()],
        name: &text[whole.start()..secret.start()],
        value: secret.as_str(),
        after: &text[secret.end()..line_end],
    };
    if !(pattern.is_secret)(place) {
        return whole.as_str().to_owned();
    }
    let behind = &text[secret.end()..whole.end()];
    format!("{}[redacted: {}]{behind}", place.name, pattern.name)
}

/// True if a value is a placeholder or the name of a variable.
fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    value.contains(['$', '{', '}', '<', '>', '(', ')', '[', ']', '*'])
        || matches!(lower.as_str(), "pass" | "pwd" | "pw" | "token" | "key" | "xxx" | "...")
        || is_made_of_placeholders(&lower)
}

/// True if one of [`PLACEHOLDERS`] is in a lower-case value, and nothing but such words and their fillers.
fn is_made_of_placeholders(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let mut runs = value.split(|it: char| !it.is_alphabetic());
    digits <= PLACEHOLDER_DIGITS_MAX
        && PLACEHOLDERS.iter().any(|word| value.contains(word))
        && runs.all(|run| {
            // Whether the words fit up to each byte of the run.
            let mut fits = vec![false; run.len() + 1];
            fits[0] = true;
            for at in 0..run.len() {
                if !fits[at] {
                    continue;
                }
                for word in PLACEHOLDERS.iter().chain(&PLACEHOLDER_FILLERS) {
                    if run.as_bytes()[at..].starts_with(word.as_bytes()) {
                        fits[at + word.len()] = true;
                    }
                }
            }
            fits[run.len()]
        })
}

/// True if a value is random rather than a word, a path or a name: letters and digits, at least
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

/// True if each part of a value is a word or a number, perhaps with a number at its end.
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
