//! The labelled corpus below `crates/guard/tests/corpus`: changes that game, and honest ones that
//! look alike.
//!
//! A file has several cases. A case starts with `# case: title`; `goal:` is what the user wants,
//! `block:` and `warn:` name the codes that must be found, `maybe:` those that may. Then follow
//! files, each after `--- changed|new|deleted PATH`, or `--- moved OLD PATH`, as lines that start
//! with a space (in both texts), `-` (before) or `+` (after); an empty line is in both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

struct Case {
    title: String,
    goal: String,
    block: BTreeSet<String>,
    warn: BTreeSet<String>,
    maybe: BTreeSet<String>,
    changes: Vec<SourceChange>,
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text.trim()).unwrap_or_else(|| panic!("`{text}` is no path"))
}

fn cases(file: &Path) -> Vec<Case> {
    let text = fs::read_to_string(file).expect("a readable file");
    let parts = text.split("# case: ").skip(1);
    parts.map(|part| case(part, &file.display().to_string())).collect()
}

fn case(text: &str, file: &str) -> Case {
    let mut sections = text.split("\n--- ");
    let head = sections.next().unwrap_or_default();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("");
    let codes = |name: &str| -> BTreeSet<String> {
        field(name).split([',', ' ']).filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    let changes: Vec<SourceChange> = sections.map(change).collect();
    let title = format!("{file}: {}", head.lines().next().unwrap_or_default());
    assert!(!changes.is_empty(), "{title}: nothing changes");
    let goal = field("goal:").trim().to_owned();
    let (block, warn, maybe) = (codes("block:"), codes("warn:"), codes("maybe:"));
    Case { title, goal, block, warn, maybe, changes }
}

fn change(section: &str) -> SourceChange {
    let (head, body) = section.split_once('\n').unwrap_or((section, ""));
    let words: Vec<&str> = head.split_whitespace().collect();
    let side = |mark: char| -> String {
        let own = |line: &&str| line.is_empty() || line.starts_with([' ', mark]);
        let lines = body.trim_end_matches('\n').lines().filter(own);
        lines.flat_map(|line| [line.get(1..).unwrap_or_default(), "\n"]).collect()
    };
    let (before, after) = (Some(side('-')), Some(side('+')));
    let (old_path, path, before, after) = match words.as_slice() {
        ["changed", name] => (None, path(name), before, after),
        ["new", name] => (None, path(name), None, after),
        ["deleted", name] => (None, path(name), before, None),
        ["moved", old, name] => (Some(path(old)), path(name), before, after),
        _ => panic!("`--- {head}` says nothing"),
    };
    SourceChange { path, old_path, before, after }
}

/// The blocking codes, the warning codes, and all reported codes.
fn found(case: &Case) -> (BTreeSet<String>, BTreeSet<String>, String) {
    let input = GuardInput { changes: &case.changes, goal: &case.goal, base_findings: &[] };
    let outcome = inspect(&input);
    assert_eq!(outcome.gaps, [], "{}", case.title);
    let codes = |severity: Severity| {
        let own = outcome.findings.iter().filter(|finding| finding.severity == severity);
        own.map(|finding| finding.code.clone()).collect()
    };
    let line = |finding: &Finding| format!("\n    {} {}", finding.code, finding.message);
    let said = outcome.findings.iter().map(line).collect();
    (codes(Severity::Error), codes(Severity::Warning), said)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(below).collect()
}

/// Number of cases per family, honest ones and others.
fn counts(cases: &[Case]) -> BTreeMap<(String, bool), usize> {
    let mut counts = BTreeMap::new();
    for case in cases {
        let file = case.title.split(": ").next().unwrap_or_default();
        let family = file.split('/').find(|part| part.len() == 3 && part.starts_with('G'));
        let family = family.expect("a folder per family").to_owned();
        *counts.entry((family, file.contains("/positive"))).or_default() += 1;
    }
    counts
}

/// Accuracy of a detector.
#[derive(Default)]
struct Score {
    expected: usize,
    found: usize,
    wrong: usize,
}

#[test]
#[expect(clippy::print_stdout, reason = "the table is for people who run this test")]
fn the_corpus_is_judged_as_it_is_labelled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let only = std::env::var("GUARD_ONLY").unwrap_or_default();
    let cases: Vec<Case> = files(&folder).iter().flat_map(|file| cases(file)).collect();
    for ((family, games), count) in counts(&cases) {
        assert!(count >= 15, "{family}: only {count} cases, gaming: {games}");
    }
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| case.title.contains(&only)) {
        let (blocking, warning, said) = found(case);
        for (found, expected) in [(&blocking, &case.block), (&warning, &case.warn)] {
            for code in expected {
                let score = scores.entry(code.clone()).or_default();
                score.expected += 1;
                score.found += usize::from(found.contains(code));
            }
            for code in found.difference(expected).filter(|code| !case.maybe.contains(*code)) {
                scores.entry(code.clone()).or_default().wrong += 1;
                wrong.push(format!("{}: {code} is found and not expected{said}", case.title));
            }
            for code in expected.difference(found) {
                wrong.push(format!("{}: {code} is expected and not found{said}", case.title));
            }
        }
    }
    println!("{} cases\ncode  labelled  found  wrong  precision  recall", cases.len());
    for (code, Score { expected, found, wrong }) in &scores {
        let share = |part: usize, whole: usize| match whole {
            0 => "-".to_owned(),
            _ => format!("{}%", part * 100 / whole),
        };
        let (precision, recall) = (share(*found, found + wrong), share(*found, *expected));
        println!("{code}   {expected:>8}  {found:>5}  {wrong:>5}  {precision:>9}  {recall:>6}");
    }
    assert!(wrong.is_empty(), "{} of the labels do not hold:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn other_line_ends_are_no_change_and_hide_none() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    for case in files(&folder).iter().flat_map(|file| cases(file)) {
        let judge = |changes: &[SourceChange]| {
            let found =
                inspect(&GuardInput { changes, goal: &case.goal, base_findings: &[] }).findings;
            found.into_iter().map(|it| (it.id, it.code, it.range.start)).collect::<Vec<_>>()
        };
        let with_returns = |text: &String| text.replace('\n', "\r\n");
        let mut changes = case.changes.clone();
        for change in &mut changes {
            change.after = change.after.as_ref().map(with_returns);
        }
        assert_eq!(judge(&changes), judge(&case.changes), "{}", case.title);
    }
    let before = Some("import os  # noqa: F401\nx: int = f()  # type: ignore[a]\n".to_owned());
    let after = before.as_ref().map(|text| text.replace('\n', "\r\n"));
    let changes = [SourceChange { path: path("a.py"), old_path: None, before, after }];
    assert_eq!(
        inspect(&GuardInput { changes: &changes, goal: "", base_findings: &[] }).findings,
        []
    );
}

/// A finding of the base at a 0-based line.
fn known(file: &str, line: u32, code: &str) -> Finding {
    let at = moai_base::text::Position { line, character: 0 };
    let range = moai_base::text::TextRange { start: at, end: at };
    let place = FindingPlace { path: path(file), range, content_hash: ContentHash::of_bytes(b"") };
    Finding::new("mypy", code, Severity::Error, place, "wrong")
}

#[test]
fn what_was_found_before_may_be_neither_silenced_nor_deleted() {
    let judge = |before: &str, after: &str, known: Finding| {
        let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
        let changes = [SourceChange { path: path("a.py"), old_path: None, before, after }];
        let outcome = inspect(&GuardInput { changes: &changes, goal: "", base_findings: &[known] });
        let found = outcome.findings.into_iter();
        found.map(|it| (it.code, it.severity)).collect::<Vec<_>>()
    };
    let (bad, fine) = ("def f():\n    return g() + 1\n", "def h():\n    return 3\n");
    let silenced = "def f():\n    return g() + 1  # type: ignore[operator]  # old library\n";
    let blocked = [("G10".to_owned(), Severity::Error)];
    assert_eq!(judge(bad, silenced, known("a.py", 1, "operator")), blocked);
    let warned = [("G10".to_owned(), Severity::Warning)];
    assert_eq!(judge(bad, silenced, known("a.py", 1, "arg-type")), warned);
    let gone = [("G15".to_owned(), Severity::Warning)];
    assert_eq!(judge(bad, fine, known("a.py", 1, "operator")), gone);
    assert_eq!(judge(bad, fine, known("b.py", 1, "operator")), []);
}

#[test]
fn of_two_equal_directives_the_new_one_is_meant() {
    let before = "def f(self):\n    return self.x  # type: ignore[attr-defined]\n";
    let after = format!("def g(self):\n    return self.y  # type: ignore[attr-defined]\n{before}");
    let (before, after) = (Some(before.to_owned()), Some(after));
    let changes = [SourceChange { path: path("a.py"), old_path: None, before, after }];
    let outcome = inspect(&GuardInput { changes: &changes, goal: "", base_findings: &[] });
    let lines: Vec<u32> = outcome.findings.iter().map(|it| it.range.start.line).collect();
    assert_eq!(lines, [1]);
}

#[test]
fn a_deleted_file_says_how_many_tests_went_with_it() {
    let said = |before: &str| {
        let before = Some(before.to_owned());
        let changes =
            [SourceChange { path: path("tests/test_a.py"), old_path: None, before, after: None }];
        let outcome = inspect(&GuardInput { changes: &changes, goal: "", base_findings: &[] });
        outcome.findings.into_iter().map(|it| it.message).collect::<String>()
    };
    let (one, two) = ("def test_a():\n    assert f()\n", "def test_b():\n    assert not g()\n");
    assert_eq!(said(one), "deleted with a test that nothing else does; restore the file");
    let both = said(&format!("{one}{two}"));
    assert_eq!(both, "deleted with 2 tests that nothing else does; restore the file");
}

#[test]
fn a_configuration_that_cannot_be_read_is_a_gap() {
    let gap_of = |name: &str, before: &str, after: &str| {
        let (before, after) = (Some(before.to_owned()), Some(after.to_owned()));
        let changes = [SourceChange { path: path(name), old_path: None, before, after }];
        let outcome = inspect(&GuardInput { changes: &changes, goal: "", base_findings: &[] });
        assert_eq!(outcome.gaps.len(), 1, "{name}: {:?}", outcome.gaps);
        outcome.gaps[0].1.detail.clone()
    };
    gap_of("pyproject.toml", "[tool]\n", "[tool\n");
    let repeated = "[tool.mypy]\nstrict = true\nstrict = false\n";
    let detail = gap_of("pyproject.toml", "[tool.mypy]\nstrict = true\n", repeated);
    assert_eq!(detail, "line 3: duplicate key");
    gap_of("tsconfig.json", "{}", "{\"compilerOptions\": {}} /* not closed");
    gap_of("tsconfig.json", "{}", "");
}
