//! JSON by programs that cut texts in UTF-16 units and so leave lone surrogates (`"\\ud83d"`),
//! which Rust strings cannot represent.

use serde::de::DeserializeOwned;

/// Parses JSON; a lone surrogate counts as the replacement character.
///
/// # Errors
///
/// The syntax error, with its position.
pub fn parse_with_lone_surrogates<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| {
        let repaired = without_lone_surrogates(text);
        if repaired == text { Err(error) } else { serde_json::from_str(&repaired) }
    })
}

/// The text with every escape of a lone surrogate replaced by that of the replacement character.
fn without_lone_surrogates(line: &str) -> String {
    const ESCAPE: usize = 6;
    let unit = |at: usize| {
        let digits = line.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let is_high = |unit: u16| (0xd800..0xdc00).contains(&unit);
    let is_low = |unit: u16| (0xdc00..0xe000).contains(&unit);
    let mut out = String::new();
    let mut at = 0;
    while let Some(found) = line[at..].find('\\') {
        out.push_str(&line[at..at + found]);
        at += found;
        match unit(at) {
            Some(first) if is_high(first) && unit(at + ESCAPE).is_some_and(is_low) => {
                out.push_str(&line[at..at + 2 * ESCAPE]);
                at += 2 * ESCAPE;
            }
            Some(first) if is_high(first) || is_low(first) => {
                out.push_str("\\ufffd");
                at += ESCAPE;
            }
            _ => {
                let length = line[at + 1..].chars().next().map_or(1, |next| 1 + next.len_utf8());
                out.push_str(&line[at..at + length]);
                at += length;
            }
        }
    }
    out.push_str(&line[at..]);
    out
}
