//! Blanks the comments of a text, so that comments cannot influence a judge. Line numbers stay the
//! same.

use super::engine;
use super::language::ScanLanguage;
use moai_base::path::RelPath;

/// The text with comments and docstrings blanked; `None` for an unknown language or a text with a
/// syntax error.
#[must_use]
pub fn without_comments(path: &RelPath, text: &str) -> Option<String> {
    let comments = engine::comment_ranges(ScanLanguage::from_path(path)?, text)?;
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for comment in comments {
        // A nested comment was blanked with its outer one.
        if comment.start < at {
            continue;
        }
        out.push_str(&text[at..comment.start]);
        out.extend(
            text[comment.clone()]
                .chars()
                .map(|it| if matches!(it, '\n' | '\r') { it } else { ' ' }),
        );
        at = comment.end;
    }
    out.push_str(&text[at..]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: Option<&str>) {
        let path = RelPath::parse(path).expect("a relative path");
        let stripped = without_comments(&path, text);
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(stripped.as_deref().map(trimmed).as_deref(), expected, "{path}");
        assert!(stripped.is_none_or(|stripped| stripped.lines().count() == text.lines().count()));
    }

    #[test]
    fn comments_are_blanked_and_lines_and_strings_kept() {
        check("a.py", "x = '# no'  # yes\n# 한글\ny = 1\n", Some("x = '# no'\n\ny = 1"));
        check(
            "a.py",
            "def f():\n    \"\"\"Expert\n    code.\"\"\"\n    return 'x'\n",
            Some("def f():\n    \"\"\"\n         \"\"\"\n    return 'x'"),
        );
        check("a.rs", "fn f() { /* a\n b */ g(); } // c\n", Some("fn f() {\n      g(); }"));
        check("a.ts", "// a\nconst u = 'http://x';\n", Some("\nconst u = 'http://x';"));
        check(
            "a.go",
            "package a\n\n// F is right.\nfunc F() {}\n",
            Some("package a\n\n\nfunc F() {}"),
        );
        check("notes.txt", "# a\n", None);
        check("a.py", "def f(:\n  # c\n", None);
    }
}
