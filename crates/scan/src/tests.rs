//! Behavior of the scan for its callers: findings, gaps and broken rules. The rules themselves are
//! tested in `tests/rule_files.rs`.

mod projects;
mod rule_files;

use std::path::Path;

use super::*;
use moai_base::finding::Severity;
use moai_base::limits::{BRACKETS_DEPTH_MAX, TREE_DEPTH_MAX};

const CALL: &str = "id: call\nlanguages: [python]\nseverity: warning\nmessage: do not call it\n\
                    note: leave it out\nrule: { pattern: bad($X) }\n\
                    metadata: { cwe: [CWE-1], references: [\"https://example.com\"] }\n";

fn path(name: &str) -> RelPath {
    RelPath::below(Path::new("/r"), &Path::new("/r").join(name)).expect("a name below the root")
}

fn rules(files: &[(&str, &str)]) -> RuleSet {
    RuleSet::load(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
}

fn outcome(rules: &RuleSet, name: &str, text: &str) -> ScanOutcome {
    scan_text(rules, &path(name), text, ContentHash::of_bytes(text.as_bytes()))
}

/// Scans a text and compares the findings, written as `line:column-line:column code` (0-based).
#[track_caller]
fn check(rules: &RuleSet, name: &str, text: &str, expected: &[&str]) -> ScanOutcome {
    let outcome = outcome(rules, name, text);
    let place = |finding: &Finding| {
        let (start, end) = (finding.range.start, finding.range.end);
        let (from, to) = ((start.line, start.character), (end.line, end.character));
        format!("{}:{}-{}:{} {}", from.0, from.1, to.0, to.1, finding.code)
    };
    assert_eq!(outcome.findings.iter().map(place).collect::<Vec<_>>(), expected, "{text}");
    outcome
}

/// Loads rule files and compares the broken ones, written as `source: reason`.
#[track_caller]
fn check_broken(files: &[(&str, &str)], expected: &[&str]) -> RuleSet {
    let rules = rules(files);
    let named = |broken: &BrokenRule| format!("{}: {}", broken.source, broken.reason);
    let broken: Vec<String> = rules.broken().iter().map(named).collect();
    assert_eq!(broken.len(), expected.len(), "{broken:#?}");
    for (broken, expected) in broken.iter().zip(expected) {
        assert!(broken.contains(expected), "{broken}\nlacks\n{expected}");
    }
    rules
}

fn cause(outcome: &ScanOutcome) -> Option<Cause> {
    outcome.gap.as_ref().map(|gap| gap.cause)
}

#[test]
fn a_finding_carries_its_rules_data() {
    let outcome = check(&rules(&[("r.yml", CALL)]), "a.py", "x = bad( 1 )\n", &["0:4-0:12 call"]);
    let [finding] = outcome.findings.as_slice() else { panic!("one finding") };
    assert_eq!((finding.sensor.as_str(), finding.severity), ("scan", Severity::Warning));
    assert_eq!((finding.message.as_str(), finding.anchor.as_str()), ("do not call it", "bad( 1 )"));
    assert_eq!(finding.cwe, ["CWE-1"]);
    assert_eq!(finding.url.as_deref(), Some("https://example.com"));
    assert_eq!(finding.fix.as_deref(), Some("leave it out"));
    assert_eq!(finding.content_hash, ContentHash::of_bytes(b"x = bad( 1 )\n"));
    assert_eq!((finding.id.len(), outcome.gap), (16, None));
}

#[test]
fn a_message_may_quote_what_was_matched() {
    let quoting = CALL.replace("do not call it", "leave $X alone");
    let outcome = outcome(&rules(&[("r.yml", &quoting)]), "a.py", "bad(1 +\n  2)\n");
    assert_eq!(outcome.findings[0].message, "leave 1 + 2 alone");
}

#[test]
fn columns_count_utf16_units() {
    let rules = rules(&[("r.yml", CALL)]);
    check(&rules, "a.py", "한글 = '🦀'; bad(1)\n", &["0:11-0:17 call"]);
    check(&rules, "a.py", "# 가\r\nbad('나')\r\n", &["1:0-1:8 call"]);
}

#[test]
fn two_occurrences_differ_and_moved_lines_do_not() {
    let rules = rules(&[("r.yml", CALL)]);
    let ids = |text: &str| {
        let findings = outcome(&rules, "a.py", text).findings;
        findings.into_iter().map(|finding| finding.id).collect::<Vec<_>>()
    };
    let before = ids("bad(1)\nbad(1)\nbad(2)\n");
    assert_eq!(before, ids("import x\n\nbad(1)\nif x:\n    bad(1)\n    bad(2)\n"));
    assert!(before[0] != before[1] && before[1] != before[2]);
}

#[test]
fn a_comment_suppresses_only_the_rule_it_names() {
    let other = CALL.replace("id: call", "id: other");
    let rules = rules(&[("r.yml", CALL), ("s.yml", &other)]);
    let both = ["1:0-1:6 call", "1:0-1:6 other"];
    check(&rules, "a.py", "\nbad(1)\n", &both);
    check(&rules, "a.py", "\nbad(1)  # ast-grep-ignore: call\n", &both[1..]);
    check(&rules, "a.py", "x\n# ast-grep-ignore: call, other\nbad(1)\n", &[]);
    let unused = [both[0], both[1], "2:0-2:23 unused-suppression"];
    check(&rules, "a.py", "\nbad(1)\n# ast-grep-ignore: call\n", &unused);
    check(&rules, "a.py", "\nbad(1)  # about ast-grep-ignore: call\n", &both);
}

#[test]
fn an_unused_suppression_is_reported_unless_the_rule_is_disabled() {
    let text = "# ast-grep-ignore: py-eval\nx = 1\n\n# ast-grep-ignore: py-eval\neval(x)\n";
    let found = outcome(RuleSet::built_in(), "a.py", text).findings;
    let [comment] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((comment.code.as_str(), comment.severity), ("unused-suppression", Severity::Hint));
    assert_eq!((comment.range.start.line, comment.range.end.line), (0, 0));
    let disabled = RuleSources {
        built_in: true,
        disabled: ["unused-suppression".to_owned()].into(),
        ..RuleSources::default()
    };
    let quiet = RuleSet::new(disabled);
    assert_eq!(quiet.broken(), []);
    assert_eq!(outcome(&quiet, "a.py", text).findings, []);
}

#[test]
fn one_rule_covers_several_languages_under_one_id() {
    let text = "id: loud\nlanguages: [typescript, tsx, JavaScript]\nmessage: quiet\n\
                rule: { pattern: shout($X) }\n";
    let rules = check_broken(&[("r.yml", text)], &[]);
    assert_eq!(rules.rule_count(), 1);
    for extension in ["ts", "mts", "cts", "tsx", "js", "mjs", "cjs", "jsx", "JS"] {
        let name = format!("src/a.{extension}");
        check(&rules, &name, "shout(1);\n", &["0:0-0:8 loud"]);
        check(&rules, &name, "shout(1); // ast-grep-ignore: loud\n", &[]);
    }
    assert!(!rules.handles(&path("a.py")) && !rules.handles(&path("a.min.js")));
}

#[test]
fn a_capture_can_be_required_to_resolve_to_an_imported_name() {
    let text = "id: weak\nlanguages: [python]\nmessage: choose another\n\
                rule: { pattern: $H($$$) }\nresolves: { H: [hashlib.md5] }\n";
    let rules = check_broken(&[("r.yml", text)], &[]);
    check(&rules, "a.py", "import hashlib as h\nh.md5(x)\nh.sha512(x)\n", &["1:0-1:8 weak"]);
    check(&rules, "a.py", "from hashlib import md5 as m\nm(x)\n", &["1:0-1:4 weak"]);
    check(&rules, "a.py", "from mine import hashlib\nhashlib.md5(x)\n", &[]);
    check(&rules, "a.py", "hashlib.md5(x)  # ast-grep-ignore: weak\n", &[]);
    // A comment on a line without a finding suppresses nothing.
    let spared = "hashlib.sha512(x)  # ast-grep-ignore: weak\n";
    check(&rules, "a.py", spared, &["0:19-0:42 unused-suppression"]);
    let wrong = |resolves: &str| text.replace("{ H: [hashlib.md5] }", resolves);
    check_broken(&[("r.yml", &wrong("hashlib"))], &["`resolves` must map captures to lists"]);
    check_broken(&[("r.yml", &wrong("{ H: [] }"))], &["`resolves` has no names for H"]);
    check_broken(&[("r.yml", &wrong("{ X: [a.b] }"))], &["`resolves` names X, which nothing"]);
}

#[test]
fn globs_limit_the_files_a_rule_covers() {
    let text = format!("{CALL}files: [\"src/**\"]\nignores: [\"**/test_*.py\"]\n");
    let rules = rules(&[("r.yml", &text)]);
    check(&rules, "src/a.py", "bad(1)\n", &["0:0-0:6 call"]);
    for name in ["src/test_a.py", "a.py", "src/a.pyx", "src/a.txt", "src/Makefile"] {
        assert!(!rules.handles(&path(name)), "{name}");
        assert_eq!(cause(&check(&rules, name, "bad(1)\n", &[])), Some(Cause::NoTool));
    }
}

#[test]
fn a_broken_rule_is_reported_and_the_others_still_run() {
    let stream = format!("id: first\nlanguages: [cobol]\n---\n{CALL}---\nid: [\n");
    let unknown_key = CALL.replace("id: call", "id: second") + "rules: {}\n";
    let bad_pattern = "id: third\nlanguages: [python, go]\nrule: { kind: call_expression }\n";
    let bad_glob = CALL.replace("id: call", "id: fourth") + "files: [\"a{\"]\n";
    let files = [
        ("a.yml", stream.as_str()),
        ("b.yml", &unknown_key),
        ("c.yml", bad_pattern),
        ("d.yml", &bad_glob),
        ("e.yml", "languages: [go]\n"),
        ("f.yml", "id: [a]\nlanguages: [go]\n"),
        ("g.yml", CALL),
    ];
    let expected = [
        "a.yml: unclosed bracket '[' at line 12",
        "a.yml:1: rule `first`: unknown language \"cobol\"",
        "b.yml:8: rule `second` (python): unknown field `rules`",
        "c.yml:3: rule `third` (python): ",
        "d.yml:8: rule `fourth` (python): ",
        "e.yml:1: rule `e` (go): missing field `rule`",
        "f.yml:1: the `id` must be text",
        "g.yml:1: rule `call` (python): the id is already taken",
    ];
    let rules = check_broken(&files, &expected);
    assert_eq!(rules.rule_count(), 2);
    let outcome = check(&rules, "a.py", "bad(1)\n", &["0:0-0:6 call"]);
    let gap = outcome.gap.expect("broken rules leave a gap");
    assert_eq!(gap.cause, Cause::BrokenRule);
    assert!(gap.detail.starts_with("7 rules could not be used (a.yml"), "{}", gap.detail);
}

#[test]
fn a_rule_broken_in_one_language_leaves_a_gap_in_that_language_only() {
    let text = "id: some\nlanguages: [python, go]\nrule: { kind: call_expression }\n";
    let rules = rules(&[("r.yml", text)]);
    assert_eq!(cause(&check(&rules, "a.py", "f()\n", &[])), Some(Cause::BrokenRule));
    assert!(rules.handles(&path("a.py")) && !rules.handles(&path("a.rs")));
    let go = check(&rules, "a.go", "package a\nvar x = f()\n", &["1:8-1:11 some"]);
    assert_eq!(go.gap, None);
}

#[test]
fn a_rule_switched_off_is_neither_used_nor_broken() {
    let off = CALL.replace("severity: warning", "severity: off");
    let rules = check_broken(&[("r.yml", &off)], &[]);
    assert!(rules.rule_count() == 0 && !rules.handles(&path("a.py")));
}

#[test]
fn a_syntax_error_is_a_gap_only_when_nothing_parses() {
    let rules = rules(&[("r.yml", CALL)]);
    let partly = check(&rules, "a.py", "def f(:\n    pass\nbad(1)\n", &["2:0-2:6 call"]);
    assert_eq!(partly.gap, None);
    assert_eq!(cause(&outcome(&rules, "a.py", "bad )")), Some(Cause::Skipped));
    assert_eq!(check(&rules, "a.py", "", &[]).gap, None);
}

#[test]
fn deeply_nested_text_is_a_gap_and_does_not_crash() {
    // A rule that is tried on every text, because a text that no rule can match is not parsed.
    let languages = "[python, javascript, typescript, tsx, go, rust]";
    let name = format!("id: name\nlanguages: {languages}\nrule: {{ kind: identifier }}\n");
    let rules = &rules(&[("r.yml", &name)]);
    let count = 100_000;
    let deep = [
        ("a.py", "(".repeat(count) + &")".repeat(count)),
        ("a.py", "[".repeat(count) + &"]".repeat(count)),
        ("a.js", "[".repeat(count) + &"]".repeat(count)),
        ("a.ts", "f(".repeat(count) + &")".repeat(count)),
        ("a.tsx", "a+".repeat(count) + "a"),
        ("a.go", "package a\nvar x = ".to_owned() + &"(".repeat(count) + "1" + &")".repeat(count)),
        ("a.rs", "const X: u8 = ".to_owned() + &"(".repeat(count) + "1" + &")".repeat(count) + ";"),
    ];
    for (name, text) in deep {
        let outcome = check(rules, name, &text, &[]);
        let gap = outcome.gap.expect("not measured");
        assert_eq!(gap.detail, format!("code nested deeper than {TREE_DEPTH_MAX} levels"));
    }
    // Unclosed brackets do not nest; the parser gives up on them quickly.
    for open in ["(", "[", "{", "f(", "if a:\n "] {
        outcome(RuleSet::built_in(), "a.py", &open.repeat(count));
    }
}

#[test]
fn very_deep_brackets_are_a_gap_in_every_language() {
    for language in ScanLanguage::ALL {
        let rule = format!("id: x\nlanguages: [{}]\nrule: {{ kind: ERROR }}\n", language.as_str());
        let rules = rules(&[("r.yml", &rule)]);
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("[({", "})]")] {
            for count in [BRACKETS_DEPTH_MAX, 100_000] {
                let text = open.repeat(count) + &close.repeat(count);
                let name = format!("a.{}", language.extension());
                let outcome = outcome(&rules, &name, &text);
                let is_seen = outcome.gap.is_some() || !outcome.findings.is_empty();
                assert!(is_seen || count < 100_000, "{language:?}: {count} {open}");
            }
        }
    }
}

#[test]
fn nesting_at_the_limit_is_scanned() {
    let rules = rules(&[("r.yml", CALL)]);
    // The module, the statement and the innermost name add to the depth.
    let nested = |depth: usize| "(".repeat(depth) + "bad" + &")".repeat(depth);
    assert_eq!(outcome(&rules, "a.py", &nested(TREE_DEPTH_MAX - 2)).gap, None);
    let beyond = outcome(&rules, "a.py", &nested(TREE_DEPTH_MAX - 1));
    assert_eq!(cause(&beyond), Some(Cause::Skipped));
}

#[test]
fn a_text_above_the_size_limit_is_not_measured() {
    let rules = rules(&[("r.yml", CALL)]);
    let limit = usize::try_from(SOURCE_BYTES_MAX).expect("a small limit");
    let text = "bad(1)\n".to_owned() + &" ".repeat(limit - 7);
    check(&rules, "a.py", &text, &["0:0-0:6 call"]);
    let beyond = check(&rules, "a.py", &(text + " "), &[]);
    assert_eq!(cause(&beyond), Some(Cause::Skipped));
}

#[test]
fn the_same_text_gives_the_same_outcome_from_every_thread() {
    let text = "import os, hashlib\nos.system('a ' + b)\nhashlib.md5(x)\neval(y)\n".repeat(5);
    let once = outcome(RuleSet::built_in(), "a.py", &text);
    assert_eq!(once.findings.len(), 15);
    std::thread::scope(|scope| {
        let scans: Vec<_> =
            (0..4).map(|_| scope.spawn(|| outcome(RuleSet::built_in(), "a.py", &text))).collect();
        for scan in scans {
            assert_eq!(scan.join().expect("no panic"), once);
        }
    });
}
