//! Source texts and rule files: the scan, searches, rewrites, fixes, and the guard.

use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_guard::{GuardInput, SourceChange, inspect};
use moai_lsp::impact::TouchedSymbols;
use moai_scan::comments::without_comments;
use moai_scan::fixes::{FixTrust, apply_fixes};
use moai_scan::search::{PatternQuery, PatternRewrite};
use moai_scan::{
    RuleSet, RuleSources, ScanCache, ScanFolders, assign_tests, parse_test_file, parse_trials,
    scan_text,
};

use crate::corpus::{files, texts};
use crate::runner::{fuzz, fuzz_costly, shown, text};

const SGCONFIG: &str = "ruleDirs: [rules]\nutilDirs: [utils]\ntestConfigs:\n- testDir: tests\n  snapshotDir: s\nlanguageGlobs:\n  html: ['*.vue', '*.{a,b}']\ncustomLanguages:\n  mojo: {libraryPath: m.so, extensions: [mojo]}\nlanguageInjections:\n- hostLanguage: js\n  rule: {pattern: styled.$TAG`$CONTENT`}\n  injected: css\n";

const TEST_FILE: &str =
    "id: no-eval\nvalid:\n- f(1)\ninvalid:\n- eval(x)\n---\nid: b\nvalid: [a]\n";

const RULES: [&str; 2] = [
    "id: a\nlanguage: python\nseverity: error\nmessage: x $A\nrule:\n  all:\n  - pattern: f($A, $$$B)\n  - not: {inside: {kind: class_definition, stopBy: end}}\n  - has: {regex: '^x+$', nthChild: {position: 2n+1, ofRule: {kind: identifier}}}\nconstraints:\n  A: {regex: '.*'}\ntransform:\n  C: {substring: {source: $A, startChar: 1, endChar: -1}}\n  D: {replace: {source: $C, replace: '(.)', by: '$1'}}\nutils:\n  u: {matches: v}\n  v: {any: [{kind: call}, {pattern: {context: 'a = $X', selector: identifier}}]}\nfix: g($C)\nfiles: ['**/*.py']\ntests:\n  valid: [g(1)]\n  invalid: [f(1)]\n",
    "id: b\nlanguage: typescript\nrewriters:\n- id: r\n  rule: {pattern: $X}\n  fix: $X\nrule: {pattern: 'eval($$$)'}\nfix: {template: '', expandEnd: {regex: ','}}\n---\nid: c\nlanguage: go\nrule: {kind: comment}\n",
];

const PATTERNS: [&str; 4] = ["f($A, $$$B)", "$X = $X", "class $_ { $$$ }", "if ($A) return $B;"];

const SOURCES: [&str; 5] = [
    "import os\n\ndef f(a, *, b=1):\n    '''doc'''\n    try:\n        eval(a)  # ast-grep-ignore: x\n    except Exception:\n        pass\n    return f\"{a!r:>{b}}\"\n\n@pytest.mark.skip\ndef test_x():\n    assert f(1) == 2\n",
    "export class A<T> { #x = 1; async *m() { try { eval(this.#x) } catch {} } }\ndescribe('a', () => { it.skip('b', async () => { expect(1).toBe(1) }) }) // eslint-disable-line\nconst t = `a${`b${c}`}`;\n",
    "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert_eq!(x::<u8>(), 1, \"{}\", r#\"a\"#); let _ = y.unwrap_or_default(); unsafe { z() } }\n}\n",
    "package a\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tt.Skip()\n\tif err != nil { _ = err }\n\tfor range 3 { t.Fatal(\"x\") } //nolint\n}\n",
    "<html><style>a{color:red}</style><script>eval(x)</script><body onload='x()'>한</body></html>\n",
];

/// Names that select every grammar with its detectors.
const NAMES: [&str; 12] = [
    "a.py",
    "test_a.py",
    "a.ts",
    "a.test.tsx",
    "a.rs",
    "a_test.go",
    "a.html",
    "a.sh",
    "a.yaml",
    "A.java",
    "a.rb",
    "a.php",
];

fn path(name: &str) -> RelPath {
    RelPath::parse(name).expect("a relative path")
}

/// A name that the bytes themselves choose, so that every grammar sees every sample.
fn name_of(input: &[u8]) -> &'static str {
    NAMES[usize::from(ContentHash::of_bytes(input).as_bytes()[0]) % NAMES.len()]
}

fn source_samples() -> Vec<Vec<u8>> {
    [texts(&SOURCES), files("crates/guard/tests/corpus", ".txt", 12)].concat()
}

#[test]
fn scans_of_any_text() {
    fuzz_costly("scan", &source_samples(), |input| {
        let (text, name) = (text(input), name_of(input));
        let (path, hash) = (path(name), ContentHash::of_bytes(input));
        let rules = RuleSet::built_in();
        let outcome = scan_text(rules, &path, &text, hash);
        let end = moai_base::text::LineIndex::new(&text).end();
        for finding in &outcome.findings {
            assert!(finding.range.start <= finding.range.end, "{finding:?}");
            assert!(finding.range.end <= end, "{finding:?} in {text:?}");
        }
        cached_outcome_is_the_same(&path, hash, &outcome);
        outcome.findings.len() + without_comments(&path, &text).map_or(0, |text| text.len())
    });
}

fn cached_outcome_is_the_same(path: &RelPath, hash: ContentHash, outcome: &moai_scan::ScanOutcome) {
    let Some(key) = RuleSet::built_in().scan_key(path, hash) else { return };
    let mut cache = ScanCache::default();
    cache.add(key, outcome);
    let bytes = cache.to_bytes(hash, 1 << 20);
    let stored = ScanCache::from_bytes(bytes, hash).get(key, path, hash);
    assert!(stored.is_none_or(|stored| stored == *outcome), "{outcome:?}");
}

#[test]
fn fixes_of_any_text() {
    fuzz_costly("fixes", &source_samples(), |input| {
        let (text, path) = (text(input), path(name_of(input)));
        match apply_fixes(RuleSet::built_in(), &path, &text, FixTrust::Any) {
            Ok(fixed) => fixed.edited.map_or(0, |edited| edited.text.len()),
            Err(error) => shown(&error),
        }
    });
}

#[test]
fn guarded_changes() {
    fuzz_costly("guard", &source_samples(), |input| {
        let text = text(input);
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let change = SourceChange {
            path: path(name_of(input)),
            old_path: None,
            before: Some(text[..half].to_owned()),
            after: Some(text[half..].to_owned()),
        };
        let manifests = ["package.json", "pyproject.toml", "tsconfig.json", ".github/w.yml"];
        let mut changes: Vec<SourceChange> = manifests
            .iter()
            .map(|name| SourceChange { path: path(name), ..change.clone() })
            .collect();
        changes.push(change);
        let outcome = inspect(&GuardInput { changes: &changes, goal: &text, base_findings: &[] });
        outcome.findings.len() + outcome.gaps.len()
    });
}

#[test]
fn impacts_of_any_edit() {
    fuzz("impact", &source_samples(), |input| {
        let text = text(input);
        let half = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        let (before, after) = text.split_at(half);
        let touched = TouchedSymbols::from_edit(&path(name_of(input)), Some(before), Some(after));
        shown(&touched) + shown(&touched.mentioned_in(&text))
    });
}

#[test]
fn rule_files() {
    let samples = [texts(&RULES), files("crates/scan/rules", ".yml", 24)].concat();
    fuzz_costly("rules", &samples, |input| {
        let text = text(input);
        let rules = RuleSet::load([("rules/a.yml".to_owned(), text.clone())]);
        let mut size = shown(&rules.broken());
        for (name, source) in ["a.py", "a.ts", "a.rs", "a.go"].iter().zip(SOURCES) {
            let hash = ContentHash::of_bytes(source.as_bytes());
            size += scan_text(&rules, &path(name), source, hash).findings.len();
        }
        let (trials, failures) = parse_trials("rules/a.yml", &text);
        size + trials.iter().map(moai_scan::RuleTrial::snippet_count).sum::<usize>()
            + shown(&failures)
    });
}

#[test]
fn scan_configurations() {
    fuzz("sgconfig", &texts(&[SGCONFIG]), |input| {
        let folders = ScanFolders::parse(&text(input));
        let sources = RuleSources {
            config: Some(("sgconfig.yml".to_owned(), text(input))),
            rules: vec![("r.yml".to_owned(), RULES[1].to_owned())],
            ..RuleSources::default()
        };
        let rules = RuleSet::new(sources);
        let source = "const a = styled.b`c: d`; eval(1)\n";
        let hash = ContentHash::of_bytes(source.as_bytes());
        let found = scan_text(&rules, &path("a.js"), source, hash).findings.len();
        shown(&folders) + shown(&rules.broken()) + found
    });
}

#[test]
fn rule_test_files() {
    fuzz_costly("rule-tests", &texts(&[TEST_FILE]), |input| match parse_test_file(&text(input)) {
        Ok(tests) => {
            let (mut trials, _) = parse_trials("a.yml", RULES[0]);
            shown(&assign_tests(&mut trials, tests))
        }
        Err(error) => error.len(),
    });
}

#[test]
fn patterns() {
    fuzz_costly("patterns", &texts(&PATTERNS), |input| {
        let pattern = text(input);
        let mut size = 0;
        for (language, name, source) in [
            ("python", "a.py", SOURCES[0]),
            ("typescript", "a.ts", SOURCES[1]),
            ("go", "a.go", SOURCES[3]),
        ] {
            let languages = [language.to_owned()];
            match PatternQuery::new(&pattern, &languages) {
                Ok(query) => {
                    let found = query.find(&path(name), source, 20);
                    size += shown(&query.kinds()) + found.map_or(0, |(found, _)| found.len());
                }
                Err(error) => size += error.to_string().len(),
            }
            let rewrite = PatternRewrite::new("f($A)", &pattern, &languages);
            if let Ok(Ok(Some(edited))) = rewrite.map(|it| it.rewrite(&path(name), "f(f(1))\n")) {
                size += edited.text.len();
            }
        }
        size
    });
}

#[test]
fn scan_caches() {
    let set = ContentHash::of_bytes(b"set");
    let mut cache = ScanCache::default();
    for source in SOURCES {
        let hash = ContentHash::of_bytes(source.as_bytes());
        cache.add(hash, &scan_text(RuleSet::built_in(), &path("a.py"), source, hash));
    }
    fuzz("scan-caches", &[cache.to_bytes(set, 1 << 20)], |input| {
        let cache = ScanCache::from_bytes(input.to_vec(), ContentHash::of_bytes(b"set"));
        let mut size = 0;
        for source in SOURCES {
            let hash = ContentHash::of_bytes(source.as_bytes());
            size += shown(&cache.get(hash, &path("a.py"), hash));
        }
        size
    });
}
