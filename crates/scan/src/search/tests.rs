//! Patterns and replacements over real grammars.

use std::fmt::Write as _;

use super::*;

fn path(language: &str) -> RelPath {
    let extension = match language {
        "python" => "py",
        "typescript" => "ts",
        "javascript" => "js",
        "csharp" => "cs",
        "kotlin" => "kt",
        "ruby" => "rb",
        "rust" => "rs",
        "bash" => "sh",
        other => other,
    };
    RelPath::parse(&format!("a.{extension}")).expect("a relative path")
}

fn languages(language: &str) -> Vec<String> {
    vec![language.to_owned()]
}

fn matched_texts(language: &str, pattern: &str, text: &str) -> Vec<String> {
    let query = PatternQuery::new(pattern, &languages(language)).expect("a valid pattern");
    let (hits, _) = query.find(&path(language), text, 100).expect("searchable");
    hits.into_iter().map(|hit| hit.text).collect()
}

fn refusal(language: &str, pattern: &str) -> String {
    let Err(error) = PatternQuery::new(pattern, &languages(language)) else {
        panic!("{pattern}: taken");
    };
    error.to_string()
}

fn rewritten(language: &str, pattern: &str, replacement: &str, text: &str) -> String {
    let rewrite = PatternRewrite::new(pattern, replacement, &languages(language)).expect("valid");
    let edited = rewrite.rewrite(&path(language), text).expect("it can be rewritten");
    edited.map_or_else(|| text.to_owned(), |edited| edited.text)
}

#[test]
fn a_pattern_reports_matches_and_captured_variables() {
    let query = PatternQuery::new("f($A, $$$REST)", &languages("python")).expect("a valid pattern");
    let text = "x = '한'; f(1,)\ny = f('🦀', b, c)  # end\n";
    let (hits, _) = query.find(&path("python"), text, 100).expect("searchable");
    let mut shown = String::new();
    for hit in &hits {
        let start = hit.range.start;
        let _ = writeln!(shown, "{}:{} {} | {}", start.line, start.character, hit.text, hit.line);
        for CapturedText { name, is_list, place } in &hit.variables {
            let _ = writeln!(shown, "  {name} {is_list} {:?}", place.as_ref().map(|it| &it.1));
        }
    }
    insta::assert_snapshot!(shown, @r#"
    0:9 f(1,) | x = '한'; f(1,)
      A false Some("1")
      REST true None
    1:4 f('🦀', b, c) | y = f('🦀', b, c)  # end
      A false Some("'🦀'")
      REST true Some("b, c")
    "#);
}

#[test]
fn every_language_can_be_searched() {
    let check = |language: &str, pattern: &str, text: &str, expected: &str| {
        assert_eq!(matched_texts(language, pattern, text), [expected], "{language}");
    };
    check("go", "$A = $B", "package p\nfunc f() { x = 1 }\n", "x = 1");
    check("java", "System.exit($X)", "class A { void f() { System.exit(1); } }", "System.exit(1)");
    check("rust", "$A.unwrap()", "fn f() { g().unwrap(); }", "g().unwrap()");
    check("r", "system($C)", "system('ls')\n", "system('ls')");
    check("php", "eval($X)", "<?php eval($code);", "eval($code)");
    check("ruby", "eval($X)", "eval(code)\n", "eval(code)");
    check("typescript", "$A as any", "const x = y as any;", "y as any");
    check("kotlin", "println($X)", "fun f() { println(1) }", "println(1)");
    check("c", "gets($A)", "void f(char *s) { gets(s); }", "gets(s)");
    check("c", "strcpy($A, $B)", "void f() { strcpy(a, b); }", "strcpy(a, b)");
    check("cpp", "f($A)", "int g() { return f(1); }", "f(1)");
    check("csharp", "F($A)", "class A { void G() { F(1); } }", "F(1)");
    check("swift", "f($A)", "f(1)\n", "f(1)");
    check("java", "class $A { $$$ }", "class A { int a; }", "class A { int a; }");
    check("bash", "rm -rf $A", "rm -rf x\n", "rm -rf x");
}

#[test]
fn an_unusable_pattern_is_refused_with_advice() {
    let check = |language: &str, pattern: &str, part: &str| {
        let reason = refusal(language, pattern);
        assert!(reason.contains(part), "{pattern}: {reason}");
    };
    check("python", "", "it is empty");
    check("python", " \n", "it is empty");
    check("python", "f(1); g(2)", "more than one expression or statement; write one");
    check("python", "f($A", "it is not python code at 1:");
    check("python", "f(\n  )) + 1", "it is not python code at 2:");
    check("javascript", "if (", "it is not javascript code at 1:");
    check("python", "$A", "matches everything");
    check("javascript", "$$$", "matches everything");
    check("klingon", "f($A)", "unknown language klingon; known: bash, c, cpp");
    let long = format!("f({})", "1,".repeat(PATTERN_BYTES));
    check("python", &long, "longer than");
    let deep = format!("{}1{}", "(".repeat(1_010), ")".repeat(1_010));
    check("python", &deep, "nested deeper than");
    assert!(matches!(PatternQuery::new("f()", &[]), Err(PatternQueryError::NoLanguage)));
}

const PATTERN_BYTES: usize = moai_base::limits::PATTERN_BYTES_MAX;

#[test]
fn an_unsearchable_text_has_a_reason() {
    let query = PatternQuery::new("f($A)", &languages("python")).expect("a valid pattern");
    let deep = format!("{}f(1){}", "(".repeat(100_000), ")".repeat(100_000));
    let gap = query.find(&path("python"), &deep, 1).expect_err("too deep");
    assert!(gap.detail.contains("nested deeper"), "{gap}");
    let text = "f(1)\ndef )(\nf(2)\n";
    let (hits, _) = query.find(&path("python"), text, 100).expect("partly parsed");
    let other = deep.replace('f', "g");
    assert_eq!(query.find(&path("python"), &other, 1).map(|it| it.1), Ok(0), "no f in it");
    assert_eq!(hits.first().map(|hit| hit.text.as_str()), Some("f(1)"));
}

#[test]
fn long_texts_are_truncated_and_omitted_matches_counted() {
    let query = PatternQuery::new("f($A)", &languages("python")).expect("a valid pattern");
    let text = format!("f('{}'); f(1)\n", "한".repeat(MATCH_CHARS_MAX));
    let (hits, total) = query.find(&path("python"), &text, 1).expect("searchable");
    assert_eq!((hits.len(), total), (1, 2));
    for cut in [&hits[0].text, &hits[0].line] {
        assert_eq!(cut.chars().count(), MATCH_CHARS_MAX + 1);
        assert!(cut.ends_with('…'), "{cut}");
    }
}

#[test]
fn one_pattern_searches_the_files_of_each_of_its_languages() {
    let languages = ["ts".to_owned(), "tsx".to_owned(), "ts".to_owned()];
    let query = PatternQuery::new("f($A)", &languages).expect("valid in both");
    for (name, is_covered) in [("a.ts", true), ("b.tsx", true), ("c.js", false)] {
        let path = RelPath::parse(name).expect("a path");
        assert_eq!(query.covers_path(&path), is_covered, "{name}");
        let (_, total) = query.find(&path, "f(1);", 100).expect("searchable");
        assert_eq!(total, usize::from(is_covered), "{name}");
    }
}

#[test]
fn nested_matches_are_each_replaced_once() {
    let check = |pattern: &str, replacement: &str, text: &str, expected: &str| {
        assert_eq!(rewritten("python", pattern, replacement, text), expected, "{text}");
    };
    check("f($A)", "g($A)", "f(f(1) + f(2))\n", "g(g(1) + g(2))\n");
    check("log($$$A)", "log(ctx, $$$A)", "log(a, log())\n", "log(ctx, a, log(ctx, ))\n");
    check("$A + $B", "add($A, $B)", "a + b + c\n", "add(add(a, b), c)\n");
    check("f(f($A))", "g($A)", "f(f(f(1)))\n", "g(f(1))\n");
    check("f($A)", "None", "f(f(1))\n", "None\n");
    check("f($A)", "f($A)", "f(1)\n", "f(1)\n");
    check("f($A)", "g($A, $A)", "f(f(1))\n", "g(g(1, 1), g(1, 1))\n");
}

#[test]
fn a_replacement_keeps_indentation_and_line_endings() {
    let text = "\u{feff}def f():\r\n    g(1)\r\n";
    let expected = "\u{feff}def f():\r\n    a = 1\r\n    h(a)\r\n";
    assert_eq!(rewritten("python", "g($A)", "a = $A\nh(a)", text), expected);
    let several = "f(\n  [\n    1,\n  ]\n)\n";
    assert_eq!(rewritten("python", "f($A)", "g($A)", several), "g([\n  1,\n])\n");
}

#[test]
fn a_replacement_with_an_uncaptured_variable_is_refused() {
    let check = |pattern: &str, replacement: &str, part: &str| {
        let Err(error) = PatternRewrite::new(pattern, replacement, &languages("python")) else {
            panic!("{replacement}: taken");
        };
        assert!(error.to_string().contains(part), "{error}");
    };
    check("f($A, $$$B)", "g($C)", "$C is not in the pattern; the pattern has $A, $$$B");
    check("f($A, $$$B)", "g($B)", "the pattern has B as $$$B");
    check("f($A)", "g($$$A)", "the pattern has A as $A");
    check("f()", "g($A)", "the pattern has no variables");
}

#[test]
fn a_rewrite_is_refused_for_a_new_syntax_error_and_not_for_an_old_one() {
    let rewrite = |replacement: &str, text: &str| {
        let rewrite =
            PatternRewrite::new("f($A)", replacement, &languages("python")).expect("valid");
        rewrite.rewrite(&path("python"), text)
    };
    assert_eq!(rewrite("g($A", "x = 1\nf(1)\n"), Err(RewriteError::SyntaxError { line: 2 }));
    let edited = rewrite("g($A)", "f(1)\n\nx = )\n").expect("no new error").expect("a change");
    assert_eq!(edited.text, "g(1)\n\nx = )\n");
    assert!(matches!(rewrite("g($A", "f(1)\n\nx = )\n"), Err(RewriteError::SyntaxError { .. })));
}
