//! Prepares untrusted text for a judge: invisible characters are escaped, encoded data is replaced
//! by length and hash, and no line is cut, because cut text would not be judged.

use std::fmt::Write as _;

use moai_base::foreign_text::escape_hidden;
use moai_base::hash::ContentHash;
use moai_base::limits::{JUDGE_BLOB_CHARS_MIN, JUDGE_LINE_CHARS_MAX};

/// Escapes a name to one line.
#[must_use]
pub fn escape_name(text: &str) -> String {
    escape_hidden(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// One line as rows: escaped, encoded data elided, wrapped.
#[must_use]
pub fn display_lines(text: &str) -> Vec<String> {
    let text = elided(&escape_hidden(text));
    let mut lines = vec![String::new()];
    for (at, character) in text.chars().enumerate() {
        if at > 0 && at % JUDGE_LINE_CHARS_MAX == 0 {
            lines.push(String::new());
        }
        if let Some(last) = lines.last_mut() {
            last.push(character);
        }
    }
    lines
}

/// Replaces long runs of base64 and hexadecimal digits by a note.
fn elided(text: &str) -> String {
    let is_part =
        |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '/' | '=' | '-' | '_');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let run = &rest[start..];
        let end = run.find(|it| !is_part(it)).unwrap_or(run.len());
        let (run, behind) = run.split_at(end);
        out.push_str(&rest[..start]);
        if is_blob(run) {
            let hash = ContentHash::of_bytes(run.as_bytes()).short_hex();
            let _ = write!(out, "[{} characters of encoded data, hash {hash}]", run.len());
        } else {
            out.push_str(run);
        }
        rest = behind;
    }
    out + rest
}

/// Code of this length contains brackets, dots or spaces; encoded data mixes digits and letters.
fn is_blob(run: &str) -> bool {
    run.len() >= JUDGE_BLOB_CHARS_MIN
        && run.contains(|it: char| it.is_ascii_digit())
        && run.contains(|it: char| it.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_data_is_elided_and_code_is_not() {
        let blob = "QUJD0a".repeat(60);
        let shown = display_lines(&format!("key = \"{blob}\"")).concat();
        assert!(shown.starts_with("key = \"[360 characters of encoded data, hash "), "{shown}");
        let code = "call(one, two);".repeat(30);
        assert_eq!(display_lines(&code).concat(), code);
        let rule = "-".repeat(300);
        assert_eq!(display_lines(&rule).concat(), rule);
    }

    #[test]
    fn a_long_line_is_wrapped_and_not_cut() {
        let text = "f(가);".repeat(1_000);
        let lines = display_lines(&text);
        assert!(
            lines.len() > 1 && lines.iter().all(|it| it.chars().count() <= JUDGE_LINE_CHARS_MAX)
        );
        assert_eq!(lines.concat(), text);
        assert_eq!(display_lines(""), [""]);
    }
}
