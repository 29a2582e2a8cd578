//! Checks the shape of a symbol's new name, because few language servers do, and some write any
//! text they are given.

use super::keywords::is_reserved;

/// Rejects names that no symbol can have: those with control characters (including line breaks) or
/// invisible characters.
#[must_use]
pub fn invalid_name_reason(name: &str) -> Option<String> {
    let hidden = name.chars().find(|it| it.is_control() || is_hidden(*it));
    match hidden {
        _ if name.trim().is_empty() => Some("the new name is empty".to_owned()),
        Some(found) => {
            Some(format!("the new name contains the character U+{:04X}", u32::from(found)))
        }
        None => None,
    }
}

/// Rejects a name that is not shaped like an identifier. Punctuation and spaces are allowed where
/// the language server's own text of the old name, or the file's LSP language, has them.
#[must_use]
pub fn malformed_identifier_reason(
    name: &str,
    old: Option<&str>,
    language_id: &str,
) -> Option<String> {
    let old = old.unwrap_or_default();
    let punctuation = name_punctuation(language_id);
    for character in name.chars() {
        let is_allowed = character.is_alphanumeric()
            || "_$".contains(character)
            || punctuation.contains(character)
            || old.contains(character);
        // Combining marks of many scripts are not letters; other non-ASCII characters are left to
        // the server.
        let is_foreign = !character.is_ascii() && !character.is_whitespace();
        if !is_allowed && !is_foreign {
            return Some(format!("{name:?} is not a valid name: it contains {character:?}"));
        }
    }
    if begins_with_digit(name) && !begins_with_digit(old) {
        return Some(format!("{name:?} is not a valid name: it begins with a digit"));
    }
    if is_reserved(name, language_id) {
        return Some(format!("{name:?} is not a valid name: the language reserves it"));
    }
    None
}

fn begins_with_digit(text: &str) -> bool {
    text.bytes().next().is_some_and(|first| first.is_ascii_digit())
}

/// Punctuation allowed in names of a language.
fn name_punctuation(language_id: &str) -> &'static str {
    match language_id {
        "css" | "scss" | "less" | "html" | "yaml" | "toml" | "shellscript" => "-",
        "ruby" | "elixir" => "!?",
        "r" => ".",
        _ => "",
    }
}

/// Characters, besides control characters, that invisibly change the direction or width of a text.
/// The two joiners are part of words in some scripts.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{200B}' | '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}')
        || matches!(character, '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_not_allowed_in_names() {
        for name in ["", " ", "a\nb", "a\tb", "a\0", "a\u{202E}b", "\u{FEFF}a", "a\u{2028}"] {
            assert!(invalid_name_reason(name).is_some(), "{name:?}");
        }
        for name in ["a", "a b", "नमस्ते", "می\u{200C}خواهم", "größe", "名前"]
        {
            assert_eq!(invalid_name_reason(name), None);
        }
    }

    #[test]
    fn a_name_has_the_shape_of_an_identifier() {
        for name in ["a b", "a;b", "1x", "a-b", "a.b", "a()", "a\u{A0}b", "'a", "a!"] {
            let reason = malformed_identifier_reason(name, Some("total"), "python").expect(name);
            assert!(reason.contains("is not a valid name"), "{reason}");
        }
        for name in ["_", "$x", "x1", "größe", "名前", "नमस्ते", "__init__", "été"]
        {
            assert_eq!(malformed_identifier_reason(name, Some("total"), "python"), None);
            assert_eq!(malformed_identifier_reason(name, None, "python"), None);
        }
    }

    #[test]
    fn a_reserved_word_is_not_a_name() {
        let cases = [
            ("class", "python"),
            ("delete", "typescript"),
            ("new", "javascriptreact"),
            ("func", "go"),
            ("self", "rust"),
        ];
        for (name, language_id) in cases {
            assert!(
                malformed_identifier_reason(name, Some("total"), language_id).is_some(),
                "{name}"
            );
        }
        for (name, language_id) in [("match", "python"), ("of", "typescript"), ("new", "go")] {
            assert_eq!(
                malformed_identifier_reason(name, Some("total"), language_id),
                None,
                "{name}"
            );
        }
    }

    #[test]
    fn punctuation_is_allowed_where_the_old_name_or_the_language_has_it() {
        let cases = [
            ("'b", "'a", "rust"),
            ("a title", "the title", "markdown"),
            ("b(c:)", "a(b:)", "swift"),
            ("2nd", "1st", "yaml"),
            ("a-b", "a", "css"),
            ("empty?", "full", "ruby"),
        ];
        for (name, old, language_id) in cases {
            assert_eq!(malformed_identifier_reason(name, Some(old), language_id), None, "{name}");
        }
        assert!(malformed_identifier_reason("empty?", Some("full"), "rust").is_some());
    }
}
