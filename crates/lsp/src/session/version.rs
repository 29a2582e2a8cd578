//! Shortens a server's version, which may be a sentence (clangd) or a JSON text (gopls).

use serde_json::Value;

/// The version number in a server's version text; the text itself where there is none.
pub(super) fn short_version(text: &str) -> String {
    let build = serde_json::from_str::<Value>(text).unwrap_or_default();
    // Go's build information; the inner one is that of the module.
    let versions = [&build["Version"], &build["Main"]["Version"]];
    let mut named = versions.into_iter().filter_map(Value::as_str).filter(|it| !it.is_empty());
    let first = named.next();
    let text = first.filter(|it| is_number(it)).or_else(|| named.next()).or(first).unwrap_or(text);
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', ';'])).collect();
    let number = words.iter().find(|word| is_number(word));
    number.map_or_else(|| words.join(" "), |number| (*number).to_owned())
}

fn is_number(word: &str) -> bool {
    word.strip_prefix('v').unwrap_or(word).starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_word_of_the_servers_version_text() {
        let go = |own: &str, module: &str| {
            let main = format!(r#"{{"Path": "golang.org/x/tools/gopls", "Version": "{module}"}}"#);
            format!(r#"{{"GoVersion": "go1.19.8", "Main": {main}, "Version": "{own}"}}"#)
        };
        for (text, expected) in [
            ("1.1.414", "1.1.414"),
            ("clangd version 22.1.1 (https://example.org/llvm abc) linux", "22.1.1"),
            ("Debian clangd version 14.0.6", "14.0.6"),
            ("1.95.0 (59807616 2026-04-14)", "1.95.0"),
            (&go("v0.16.1", "v0.16.1"), "v0.16.1"),
            (&go("master", "v0.11.0"), "v0.11.0"),
            (&go("master", "(devel)"), "devel"),
            (&go("master", ""), "master"),
            ("nightly", "nightly"),
            ("", ""),
        ] {
            assert_eq!(short_version(text), expected, "{text}");
        }
    }
}
