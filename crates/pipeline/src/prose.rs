//! The prose of a user's text, without code, quotes and identifiers.

use moai_base::limits::QUOTE_BYTES_MAX;
use moai_loops::fences::FenceTracker;

/// The beginning of a text, of at most `bytes_max` bytes.
pub(crate) fn beginning_of(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text without code blocks, quoted lines, code spans and quotes; they are replaced by a
/// separate mark.
pub(crate) fn prose_of(prompt: &str) -> String {
    let mut fences = FenceTracker::default();
    let mut prose = String::with_capacity(prompt.len());
    for line in prompt.lines() {
        let is_quoted = line.trim_start().starts_with('>');
        if !fences.is_code(line) && !is_quoted {
            prose.push_str(line);
        }
        prose.push('\n');
    }
    without_quotes(&prose)
}

/// Opening and closing marks of quotes. An apostrophe opens one only at the start of a word.
const QUOTES: [(char, char); 9] = [
    ('`', '`'),
    ('"', '"'),
    ('\'', '\''),
    ('“', '”'),
    ('‘', '’'),
    ('「', '」'),
    ('『', '』'),
    ('«', '»'),
    ('《', '》'),
];

fn without_quotes(prose: &str) -> String {
    let mut text = String::with_capacity(prose.len());
    let mut rest = prose;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        let quote = QUOTES.iter().find(|(open, _)| *open == character);
        let is_apostrophe = character == '\'' && text.ends_with(char::is_alphanumeric);
        // A quote must end soon and within its paragraph.
        let paragraph =
            beginning_of(after, QUOTE_BYTES_MAX).split("\n\n").next().unwrap_or_default();
        let end = quote.filter(|_| !is_apostrophe).and_then(|(_, close)| paragraph.find(*close));
        if let (Some(end), Some((_, close))) = (end, quote) {
            text.push_str(" … ");
            rest = &after[end + close.len_utf8()..];
        } else {
            text.push(character);
            rest = after;
        }
    }
    text
}

/// Marks at the edges of a word of prose.
const PUNCTUATION: [char; 12] = [',', '.', ';', ':', '!', '?', '(', ')', '…', '-', '"', '\''];

/// The words of the prose. Substitutions of a shell, paths, addresses, options and identifiers are
/// skipped.
pub(crate) fn prose_words(text: &str) -> Vec<String> {
    let prose = without_substitutions(&prose_of(text));
    let is_letter = |it: char| it.is_alphanumeric() || "-'’".contains(it);
    let tokens = prose.split_whitespace().filter(|token| !token.starts_with('-'));
    let words = tokens.map(|token| token.trim_matches(PUNCTUATION));
    let words = words.filter(|word| !word.is_empty() && word.chars().all(is_letter));
    words.map(str::to_owned).collect()
}

/// The text without `$(…)` and `${…}`, which may be nested.
fn without_substitutions(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut before = ' ';
    for character in text.chars() {
        let is_opening = "({".contains(character) && (before == '$' || depth > 0);
        before = character;
        if is_opening {
            depth += 1;
        } else if depth == 0 {
            kept.push(character);
        } else if ")}".contains(character) {
            depth -= 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_prose_are_neither_code_nor_names() {
        assert_eq!(
            prose_words("Add a \"login\" page (fast), please."),
            ["Add", "a", "page", "fast", "please"]
        );
        for text in [
            "$(touch x)",
            "`touch x`",
            "$(touch ${HOME}/x)",
            "src/touch.rs",
            "touch_x",
            "--touch=x",
            "https://touch.example",
            "```\ntouch x\n```",
        ] {
            assert_eq!(prose_words(&format!("{text}\n한국어")), ["한국어"], "{text}");
        }
    }
}
