//! Recognizes passwords among the values after a name such as `password`: short ones and those made
//! of words have no distinctive form, so the notation around them decides.

use super::is_placeholder;

/// Parts of names of types, formats and procedures, in lower case.
const TECHNICAL: [&str; 16] = [
    "aes", "argon", "array", "base64", "bcrypt", "crypt", "float", "hash", "int16", "int32",
    "int64", "md5", "sha1", "sha2", "sha5", "uint",
];
/// Values that describe a password instead of being one.
const STATES: [&str; 12] = [
    "false",
    "input",
    "none",
    "null",
    "optional",
    "prompt",
    "required",
    "string",
    "text",
    "true",
    "undefined",
    "unset",
];
/// Characters that words and names of code lack.
const SPECIAL: [char; 10] = ['!', '@', '#', '%', '^', '&', '?', '~', '+', '='];
/// Minimum length of a password in quotes.
const QUOTED_CHARS_MIN: usize = 4;
/// The same without quotes.
const PLAIN_CHARS_MIN: usize = 6;
/// Names that are also suffixes of other words.
const SHORT_NAMES: [&str; 2] = ["pass", "pw"];

/// A value that may be a secret, in its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecretPlace<'t> {
    /// The line up to the match.
    pub(super) before: &'t str,
    /// The match up to the value: a name and the text after it.
    pub(super) name: &'t str,
    pub(super) value: &'t str,
    /// The line after the value.
    pub(super) after: &'t str,
}

/// The text between a name and its value.
struct Notation<'t> {
    /// The rest of the name after the matched word.
    key: &'t str,
    is_quoted: bool,
    is_equals: bool,
    has_space: bool,
}

/// True if the value of `name = value`, `name: value` or the like is a password.
pub(super) fn is_assigned_password(place: SecretPlace<'_>) -> bool {
    let Some(notation) = notation(place.name) else { return false };
    let key = notation.key.trim_end_matches(|it: char| it.is_ascii_digit() || it == '_');
    let is_short = SHORT_NAMES.contains(&key.to_ascii_lowercase().as_str());
    let is_word = is_short || key.eq_ignore_ascii_case("pwd");
    if is_word && place.before.ends_with(|it: char| it.is_ascii_alphabetic()) || !is_given(place) {
        return false;
    }
    if notation.is_quoted {
        return is_strong(place.value, QUOTED_CHARS_MIN);
    }
    let is_strong = is_strong(place.value, PLAIN_CHARS_MIN) && !place.after.starts_with(',');
    let is_environment = key.chars().all(|it| !it.is_ascii_lowercase());
    let is_at_start = place.before.trim_start_matches([' ', '\t', '-']).chars().all(is_of_key);
    // The text before the whole key: `host1 ansible_ssh_pass=…`.
    let before_key = place.before.trim_end_matches(is_of_key);
    match (notation.is_equals, notation.has_space) {
        (true, false) if is_environment => true,
        (true, false)
            if place.before.ends_with(['?', '&', ';']) || place.before.ends_with("--") =>
        {
            true
        }
        (true, false) if is_at_start && !place.before.starts_with([' ', '\t']) => {
            is_strong && !is_of_object(place.before)
        }
        (true, false) => {
            is_strong
                && !is_of_object(place.before)
                && (place.before.ends_with(['"', '\'', '=', '/'])
                    || before_key.ends_with([' ', '\t']))
        }
        (true, true) => is_strong && is_special(place.value),
        (false, true) => is_strong && (is_at_start || is_special(place.value)),
        (false, false) => is_strong,
    }
}

/// True if a value is in a place where only a password can be.
pub(super) fn is_given(place: SecretPlace<'_>) -> bool {
    let value = place.value;
    let lower = value.to_ascii_lowercase();
    let is_path = value.starts_with(['/', '~', '.', '-', '=']) || value.contains("://");
    let is_tag = value.strip_prefix('!').is_some_and(|tag| tag.chars().all(char::is_alphabetic));
    let is_code = value.contains("::") || value.contains("->") || value.contains("||");
    value.chars().count() >= 3
        && !is_path
        && !is_tag
        && !is_code
        && !is_placeholder(value)
        && !STATES.contains(&lower.as_str())
}

/// True if a value is neither a word of a sentence nor a name in code.
pub(super) fn is_strong_password(place: SecretPlace<'_>) -> bool {
    is_given(place) && is_strong(place.value, PLAIN_CHARS_MIN)
}

/// The same in quotes, where a shorter value is enough.
pub(super) fn is_quoted_password(place: SecretPlace<'_>) -> bool {
    is_given(place) && is_strong(place.value, QUOTED_CHARS_MIN)
}

/// The same for a value in an XML element, which may be shorter and a word.
pub(super) fn is_element_password(place: SecretPlace<'_>) -> bool {
    is_given(place) && place.value.is_ascii() && !is_technical(place.value)
}

fn is_strong(value: &str, chars_min: usize) -> bool {
    let has_letter = value.contains(|it: char| it.is_ascii_alphabetic());
    let has_other = value.contains(|it: char| it.is_ascii_digit()) || is_special(value);
    let is_number = value.chars().all(|it| it.is_ascii_digit());
    let is_long = value.chars().count() >= chars_min;
    is_long && !is_number && has_letter && has_other && !is_technical(value)
}

fn is_special(value: &str) -> bool {
    value.contains(SPECIAL)
}

fn is_technical(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    TECHNICAL.iter().any(|word| lower.contains(word))
}

/// True if a character can be a part of the key of a setting.
fn is_of_key(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

/// True if a name belongs to an object of a program.
fn is_of_object(before: &str) -> bool {
    ["self.", "this."].iter().any(|object| before.ends_with(object))
}

/// Splits the match up to the value; `None` if the name continues with another word.
fn notation(name: &str) -> Option<Notation<'_>> {
    let is_quoted = name.ends_with(['"', '\'', '`']);
    let unquoted = name.trim_end_matches(['"', '\'', '`', '\\']);
    let has_space = unquoted.ends_with([' ', '\t']);
    let operator = unquoted.trim_end_matches([' ', '\t']);
    let is_equals = operator.ends_with('=') || operator.ends_with('>');
    let key = operator.trim_end_matches([' ', '\t', ':', '：', '=', '>', '"', '\'', '\\', ']']);
    let word_end = key.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(key.len());
    let (word, rest) = key.split_at(word_end);
    let is_whole = rest.chars().all(|it| it.is_ascii_digit() || it == '_');
    let is_known = ["password", "passwd", "passphrase", "passcode", "pwd", "pass", "pw"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known));
    (is_whole && is_known).then_some(Notation { key, is_quoted, is_equals, has_space })
}
