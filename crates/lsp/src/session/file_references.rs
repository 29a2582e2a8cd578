//! Whether an edit of a TypeScript or JavaScript source may change to which files it refers, and so
//! which files its project reads. Decided by whole lines and without a lexer: an edit that might move
//! code into or out of a comment or a string counts.

use moai_base::path::RelPath;

/// Lowercase parts of what imports, exports, references or pragmas consist of.
const REFERENCE_WORDS: [&str; 8] =
    ["import", "require", "export", "from", "reference", "module", "types", "@jsx"];
/// Parts that may turn code on other lines into a comment or a template, or back.
const MULTI_LINE_MARKS: [&str; 3] = ["`", "/*", "*/"];
/// Lowercase parts of comments that hold only above the first statement of a file.
const HEAD_PRAGMAS: [&str; 2] = ["<reference", "@jsx"];

/// True if the two texts of the file may refer to different files.
pub(super) fn may_change_references(path: &RelPath, before: &str, after: &str) -> bool {
    let before: Vec<&str> = before.lines().collect();
    let after: Vec<&str> = after.lines().collect();
    let first_count = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let (before, after) = (&before[first_count..], &after[first_count..]);
    let from_end = before.iter().rev().zip(after.iter().rev());
    let last_count = from_end.take_while(|(old, new)| old == new).count();
    let (old_lines, last_lines) = before.split_at(before.len() - last_count);
    let new_lines = &after[..after.len() - last_count];
    if old_lines.is_empty() && new_lines.is_empty() {
        return false;
    }
    let has_jsx = may_contain_jsx(path);
    old_lines.iter().chain(new_lines).any(|line| may_affect_references(line, has_jsx))
        || last_lines.iter().any(|line| contains_any(line, &HEAD_PRAGMAS))
}

/// JSX may import the module of its factories.
fn may_contain_jsx(path: &RelPath) -> bool {
    !matches!(path.extension().as_deref(), Some("ts" | "mts" | "cts"))
}

/// True if the presence of this line may matter to a reference, on this line or another.
fn may_affect_references(line: &str, has_jsx: bool) -> bool {
    contains_any(line, &REFERENCE_WORDS)
        || contains_any(line, &MULTI_LINE_MARKS)
        || line.ends_with('\\')
        || has_jsx && line.contains('<')
        || ['"', '\''].iter().any(|quote| !line.matches(*quote).count().is_multiple_of(2))
        || begins_with_string(line)
}

/// The word that makes a specifier of the string may be on a line above.
fn begins_with_string(line: &str) -> bool {
    line.trim_start_matches(|it: char| it.is_whitespace() || matches!(it, '(' | '='))
        .starts_with(['"', '\''])
}

fn contains_any(line: &str, parts: &[&str]) -> bool {
    let line = line.to_ascii_lowercase();
    parts.iter().any(|part| line.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_change(path: &str, before: &str, after: &str) -> bool {
        let path = RelPath::parse(path).expect("a path");
        let answer = may_change_references(&path, before, after);
        assert_eq!(may_change_references(&path, after, before), answer, "{before:?} {after:?}");
        answer
    }

    #[test]
    fn an_edit_that_may_concern_an_import_changes_references() {
        for (path, before, after) in [
            ("a.ts", "import './b'\nx();\n", "// import './b'\nx();\n"),
            ("a.ts", "import './b'\r\nx();\r\n", "// import './b'\r\nx();\r\n"),
            ("a.ts", "import './b'\n", "const text = \"import './b'\";\n"),
            ("a.ts", "import {\n  a,\n} from './b';\n", "// import {\n  a,\n} from './b';\n"),
            ("a.ts", "import './b'\n", "/*\nimport './b'\n"),
            ("a.ts", "/*\nimport './b'\n*/\n", "/*\nimport './b'\n\n"),
            ("a.ts", "x();\nimport './b'\n", "x(`\nimport './b'\n"),
            ("a.ts", "x();\nrequire('./b')\n", "x('\\\nrequire('./b')\n"),
            ("a.ts", "x();\r\nrequire('./b')\r\n", "x(\\\r\nrequire('./b')\r\n"),
            ("a.ts", "load(import('./b'))\n", "load(import('./c'))\n"),
            ("a.ts", "import(\n  './b'\n)\n", "import(\n  './c'\n)\n"),
            ("a.ts", "const a = require\n( \"./b\")\n", "const a = require\n( \"./c\")\n"),
            ("a.ts", "export function f(a) {}\n", "export function f(b) {}\n"),
            ("a.ts", "import a from './b'\n", "import a from './b'\nimport c from './c'\n"),
            ("a.ts", "", "import './b'\n"),
            ("a.ts", "/// <Reference path='b.d.ts' />\n", "/// <Reference path='c.d.ts' />\n"),
            ("a.ts", "/// <reference types='b' />\n", "x();\n/// <reference types='b' />\n"),
            ("a.ts", "declare module 'b' {}\n", "declare module 'c' {}\n"),
            ("a.ts", "// don't\n", "// do\n"),
            ("a.tsx", "/**\n * @jsxImportSource b\n */\n", "/**\n * @jsxImportSource c\n */\n"),
            ("a.tsx", "/**\n * @jsxRuntime classic\n */\n", "/**\n */\n"),
            ("a.tsx", "return null;\n", "return <b />;\n"),
            ("a.jsx", "return null;\n", "return <b />;\n"),
            ("a.js", "return null;\n", "return <b />;\n"),
            ("a.mjs", "return null;\n", "return <b />;\n"),
        ] {
            assert!(may_change(path, before, after), "{path}: {before:?} {after:?}");
        }
    }

    #[test]
    fn a_local_edit_keeps_references() {
        let function = |body: &str| format!("import b from './b';\nfunction f() {{\n{body}}}\n");
        for (path, before, after) in [
            ("a.ts", "", "  const bench_1_: number = \"no\";\n"),
            ("a.tsx", "", "  const bench_1_: number = \"no\";\n"),
            ("a.ts", "  b(1);\n", "  b(2);\n  b(3);\n"),
            ("a.ts", "  b('one');\n", "  b(\"two\", 'three');\n"),
            ("a.ts", "  b(1 < 2);\n", "  b(2 < 1);\n"),
            ("a.ts", "  b(1);\n", "  // b(1);\n"),
            ("a.ts", "  b(1);\r\n", "  b(2);\r\n"),
            ("a.ts", "  b(1);\r\n", "  b(1);\n"),
            ("a.ts", "  b(1);\n  b(1);\n", "  b(1);\n"),
        ] {
            let (before, after) = (function(before), function(after));
            assert!(!may_change(path, &before, &after), "{path}: {before:?} {after:?}");
        }
        assert!(!may_change("a.ts", "", ""));
        assert!(!may_change("a.ts", "", "x();\n"));
    }
}
