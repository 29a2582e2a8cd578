//! Top-level types of Java sources, found without a parser.

use std::collections::BTreeSet;

/// Words that are followed by the name of a type.
const DECLARATIONS: [&str; 4] = ["class", "enum", "interface", "record"];

/// The types that a source declares at its top level, with their package: `shop.Cart`.
#[must_use]
pub fn java_types(text: &str) -> BTreeSet<String> {
    let (mut types, mut package, mut depth, mut before) = (BTreeSet::new(), "", 0_usize, "");
    let mut rest = text;
    while let Some(token) = next_token(&mut rest) {
        match token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            name if depth == 0 && before == "package" => package = name,
            name if depth == 0 && DECLARATIONS.contains(&before) => {
                let is_named = !package.is_empty();
                types.insert(if is_named { format!("{package}.{name}") } else { name.to_owned() });
            }
            _ => {}
        }
        before = token;
    }
    types
}

/// Takes a name with its dots, or another character, from the beginning; skips comments and literals.
fn next_token<'t>(rest: &mut &'t str) -> Option<&'t str> {
    loop {
        *rest = rest.trim_start();
        let text = *rest;
        let end_of = |start: usize, end: &str| {
            text[start..].find(end).map_or(text.len(), |at| start + at + end.len())
        };
        let skipped = if text.starts_with("//") {
            end_of(2, "\n")
        } else if text.starts_with("/*") {
            end_of(2, "*/")
        } else if text.starts_with("\"\"\"") {
            end_of(3, "\"\"\"")
        } else if text.starts_with(['"', '\'']) {
            literal_length(text)
        } else {
            let is_name = |it: char| it.is_alphanumeric() || matches!(it, '_' | '$' | '.');
            let first = text.chars().next()?;
            let length = text.find(|it| !is_name(it)).unwrap_or(text.len()).max(first.len_utf8());
            *rest = &text[length..];
            return Some(&text[..length]);
        };
        *rest = &text[skipped..];
    }
}

/// The length in bytes of the string or character at the beginning; one that is not closed ends with its line.
fn literal_length(text: &str) -> usize {
    let quote = text.chars().next();
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' => return at,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if Some(character) == quote => return at + character.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_at_the_top_level_are_found() {
        let text = "/* class A {} */ package shop.cart; // class B\n\
                    import java.util.List;\n\
                    @Deprecated public final class Cart<T extends Comparable<T>> {\n\
                      String text = \"class C {\"; char open = '{'; char quote = '\\'';\n\
                      static class Inner {}\n\
                      String block = \"\"\"\n class D { \"\"\";\n\
                    }\n\
                    record Point(int x) {}\nsealed interface Shape permits Circle {}\n@interface Mark {}\nenum Kind { ONE }\n";
        let found: Vec<String> = java_types(text).into_iter().collect();
        let names = ["Cart", "Kind", "Mark", "Point", "Shape"];
        assert_eq!(found, names.map(|name| format!("shop.cart.{name}")));
        assert_eq!(java_types("class A {}").into_iter().collect::<Vec<_>>(), ["A"]);
        for cut in ["class", "class A { \"", "/*", "'", "package"] {
            assert!(java_types(cut).is_empty() || cut.starts_with("class A"), "{cut}");
        }
    }
}
