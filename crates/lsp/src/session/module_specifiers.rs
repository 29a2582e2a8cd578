//! The names by which TypeScript and JavaScript sources refer to other files. While they stay the
//! same, an edit does not change which files a project reads.

/// Words after which a string names a file, perhaps after an opening parenthesis or, in a
/// `/// <reference …>` and in import attributes, an equals sign.
const INTRODUCERS: [&str; 7] = ["from", "import", "lib", "module", "path", "require", "types"];
/// Begins a comment that chooses the module of JSX factories.
const JSX_PRAGMA: &str = "@jsx";

/// The module specifiers of a text in text order, and its JSX pragmas. Strings that merely look
/// like specifiers are included.
pub(super) fn module_specifiers(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest_at = 0;
    while let Some(quote_at) = text[rest_at..].find(['"', '\'', '`', '@']).map(|at| rest_at + at) {
        let rest = &text[quote_at..];
        let line = rest.lines().next().unwrap_or_default();
        rest_at = quote_at + 1;
        if line.starts_with('@') {
            found.extend(line.starts_with(JSX_PRAGMA).then_some(line));
            continue;
        }
        if !is_introduced(&text[..quote_at]) {
            continue;
        }
        let quote = &line[..1];
        let specifier = line[1..].split(quote).next().unwrap_or_default();
        rest_at += specifier.len();
        found.push(specifier);
    }
    found
}

/// True if the code that ends here introduces a module specifier.
fn is_introduced(before: &str) -> bool {
    let code = without_last_comments(before);
    let code = code.strip_suffix(['(', '=']).map_or(code, without_last_comments);
    INTRODUCERS.iter().any(|word| {
        code.strip_suffix(word).is_some_and(|head| {
            !head.ends_with(|it: char| it.is_alphanumeric() || matches!(it, '_' | '$'))
        })
    })
}

/// The text without the blanks and comments at its end.
fn without_last_comments(text: &str) -> &str {
    let mut text = text;
    loop {
        let trimmed = text.trim_end();
        let line_at = trimmed.rfind('\n').map_or(0, |at| at + 1);
        let has_ended_line = text[trimmed.len()..].contains('\n');
        text = if let Some(comment) = trimmed.strip_suffix("*/") {
            comment.rfind("/*").map_or("", |at| &comment[..at])
        } else if let Some(at) = trimmed[line_at..].rfind("//").filter(|_| has_ended_line) {
            &trimmed[..line_at + at]
        } else {
            return trimmed;
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(module_specifiers(text), expected, "{text}");
    }

    #[test]
    fn all_forms_of_imports_are_found() {
        check(
            "import a, { b } from './a';\nexport * from \"./b\";\nimport './c';",
            &["./a", "./b", "./c"],
        );
        check("import {\n  a,\n  b, // see 'x'\n}\n  from\n  './d'", &["./d"]);
        check("const e = require('./e'), f = await import(`./f`);", &["./e", "./f"]);
        check("import(/* webpackChunkName: \"g\" */ /* two */\n  './g')", &["./g"]);
        check("import ( // it's lazy\n  './h')", &["./h"]);
        check("type I = typeof import('./i')\nimport j = require(\"./j\")", &["./i", "./j"]);
        check("declare module 'k' {}", &["k"]);
        check("/// <reference path='l.d.ts' />\n/// <reference types=\"m\" />", &["l.d.ts", "m"]);
        check("/** @jsxImportSource preact */", &["@jsxImportSource preact */"]);
    }

    #[test]
    fn other_strings_are_not_found() {
        check("const a = \"no\", b = 'imports';\n@Decorator('x') class C { d = `e` }", &[]);
        check("information('a'); $from('b'); // from the user's \"c\"", &[]);
        check("say('it is from there', 'me'); x = 'unclosed\nlet y = 1;", &[]);
        check("", &[]);
    }
}
