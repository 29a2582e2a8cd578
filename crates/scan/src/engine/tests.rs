//! Compares the engine with ast-grep's own scan of the same tree: equal matches, with the prefilter
//! and without.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ast_grep_config::CombinedScan;
use proptest::prelude::*;
use serde_json::Value;

use super::prefilter::TextNeed;
use super::*;
use crate::builtin::FILES;
use crate::rules::{RuleSpec, parse_rule_file, read_yaml};

/// The rules of these files for a language.
fn engine(files: &[(&str, &str)], language: ScanLanguage) -> RuleEngine {
    let specs = files.iter().flat_map(|(name, text)| parse_rule_file(name, text).specs);
    let own = specs.filter(|spec| spec.languages.contains(&language));
    // ast-grep does not resolve imported names.
    let plain = own.map(|spec| RuleSpec { resolves: BTreeMap::new(), ..RuleSpec::clone(&spec) });
    let rules: Vec<Arc<EngineRule>> = plain
        .map(|spec| Arc::new(EngineRule::new(spec.into(), language, &UtilityRules::default())))
        .collect();
    assert!(!rules.is_empty() && rules.iter().all(|rule| rule.fault().is_none()));
    RuleEngine::new(language, rules)
}

fn path(language: ScanLanguage) -> RelPath {
    let name = match language {
        ScanLanguage::Go => "a.go",
        ScanLanguage::JavaScript => "a.js",
        ScanLanguage::Python => "a.py",
        ScanLanguage::Rust => "a.rs",
        _ => "a.ts",
    };
    RelPath::below("/r".as_ref(), &std::path::Path::new("/r").join(name)).expect("below the root")
}

/// `(rule, start, end)` of the matches, sorted.
type Places = Vec<(String, usize, usize)>;

fn places(engine: &RuleEngine, path: &RelPath, text: &str) -> Places {
    let (matches, _) = engine.matches(path, text, &CpuBound::for_matching(), &mut |_| {});
    let place = |matched: RuleMatch| (matched.id, matched.bytes.start, matched.bytes.end);
    let mut places: Places = matches.into_iter().map(place).collect();
    places.sort();
    places
}

fn places_of_ast_grep(engine: &RuleEngine, path: &RelPath, text: &str) -> Places {
    let grammar = Grammar::from(engine.language);
    let admitting = engine.rules.iter().filter(|rule| rule.admits(path));
    let rules = admitting.filter_map(|rule| rule.compiled().ok().map(|it| &it.rule)).collect();
    let unused = CombinedScan::unused_config(EngineSeverity::Hint, grammar);
    let mut scan = CombinedScan::new(rules);
    scan.set_unused_suppression_rule(&unused);
    let tree = AstGrep::doc(EngineDocument::try_new(text, grammar).expect("a tree"));
    let mut places = Places::new();
    for (rule, found) in scan.scan(&tree, false).matches {
        let place = |found: &NodeMatch<'_, EngineDocument>| {
            (rule.id.clone(), found.range().start, found.range().end)
        };
        places.extend(found.iter().map(place));
    }
    places.sort();
    places
}

/// The rules twice: with the prefilter and without.
struct EnginePair {
    plain: RuleEngine,
    unfiltered: RuleEngine,
}

impl EnginePair {
    fn new(files: &[(&str, &str)], language: ScanLanguage) -> Self {
        let unfiltered = engine(files, language);
        let unrestricted = Prefilter::new(vec![TextNeed::Nothing; unfiltered.rules.len()]);
        assert!(unfiltered.prefilter.set(unrestricted).is_ok());
        Self { plain: engine(files, language), unfiltered }
    }

    /// Asserts that both engines match the same as ast-grep's scan; returns the number of matches.
    #[track_caller]
    fn check_same(&self, text: &str) -> usize {
        let path = path(self.plain.language);
        let expected = places_of_ast_grep(&self.plain, &path, text);
        assert_eq!(places(&self.unfiltered, &path, text), expected, "without a prefilter: {text}");
        assert_eq!(places(&self.plain, &path, text), expected, "{text}");
        expected.len()
    }
}

/// The built-in rules of a language.
fn built_in(language: ScanLanguage) -> EnginePair {
    let files = FILES.iter().filter(|file| file.covers_language(language));
    EnginePair::new(&files.map(|file| (file.name, file.text)).collect::<Vec<_>>(), language)
}

/// The snippets of the built-in rules of a language.
fn snippets(language: ScanLanguage) -> Vec<String> {
    let mut snippets = Vec::new();
    for file in FILES.iter().filter(|file| file.covers_language(language)) {
        let rule = read_yaml(file.text).expect("a rule");
        for kind in ["valid", "invalid"] {
            let list = rule["tests"][kind].as_array().expect("snippets");
            snippets.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
        }
    }
    snippets
}

const LANGUAGES: [ScanLanguage; 5] = [
    ScanLanguage::Go,
    ScanLanguage::JavaScript,
    ScanLanguage::Python,
    ScanLanguage::Rust,
    ScanLanguage::TypeScript,
];

#[test]
fn built_in_rules_match_their_snippets_as_ast_grep_does() {
    for language in LANGUAGES {
        let (rules, snippets) = (built_in(language), snippets(language));
        let counts = snippets.iter().map(|snippet| rules.check_same(snippet));
        assert!(counts.sum::<usize>() > snippets.len() / 4, "{language:?}");
    }
}

#[test]
fn each_single_rule_matches_its_snippets_as_ast_grep_does() {
    // A single rule mostly knows where its matches can be, so the walk skips much.
    for language in LANGUAGES {
        for file in FILES.iter().filter(|file| file.covers_language(language)) {
            let single = EnginePair::new(&[(file.name, file.text)], language);
            let rule = read_yaml(file.text).expect("a rule");
            let invalid = rule["tests"]["invalid"].as_array().expect("snippets");
            let texts = invalid.iter().filter_map(Value::as_str);
            let counts = texts.map(|snippet| single.check_same(snippet));
            assert!(counts.sum::<usize>() > 0, "{}", file.name);
        }
    }
}

/// Whole lines of Python for the rules below, including confusing ones.
const LINES: &[&str] = &[
    "bad(1)",
    "bad(x, other=bad(2))",
    "if ready:",
    "    bad(3)",
    "    except ValueError:",
    "class Case(TestCase):",
    "    def setUp(self): pass",
    "PassWord = 'x'",
    "token = call(  # ast-grep-ignore: secret",
    "    1)",
    ")",
    "'''",
    "",
    "# ast-grep-ignore",
    "    # ast-grep-ignore: call",
    "# ast-grep-ignore: call, unknown  because",
    "x = bad(4)  # ast-grep-ignore: call",
    "bad(5)  # ast-grep-ignore call",
    "bad(6)  # see ast-grep-ignore: call",
    "#!ast-grep-ignore:secret,call",
];

const RULES: &str = "id: call\nlanguages: [python]\nrule: { pattern: 'bad($$$)' }\n---\n\
    id: secret\nlanguages: [python]\nrule: { pattern: $N = $V }\n\
    constraints: { N: { regex: '(?i)^(password|token)$' } }\n---\n\
    id: set-up\nlanguages: [python]\nutils:\n  case: { kind: class_definition, has: { regex: Case } }\n\
    rule: { kind: function_definition, inside: { matches: case, stopBy: end } }\n---\n\
    id: bare\nlanguages: [python]\nrule: { any: [{ kind: ERROR }, { kind: except_clause }] }\n---\n\
    id: none\nlanguages: [python]\nrule: { kind: identifier, not: { regex: a }, regex: '^[r-z]' }\n---\n\
    id: argument\nlanguages: [python]\nrule: { kind: integer, inside: { kind: argument_list } }\n---\n\
    id: in-class\nlanguages: [python]\n\
    rule: { kind: integer, all: [{ inside: { kind: class_definition, stopBy: end } }] }\n---\n\
    id: in-broken\nlanguages: [python]\n\
    rule: { kind: integer, inside: { kind: ERROR, stopBy: { kind: block } } }\n";

static OWN: LazyLock<EnginePair> =
    LazyLock::new(|| EnginePair::new(&[("r.yml", RULES)], ScanLanguage::Python));

static BUILT_IN: LazyLock<Vec<(EnginePair, Vec<String>)>> = LazyLock::new(|| {
    LANGUAGES.iter().map(|language| (built_in(*language), snippets(*language))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Suppressing comments in every position, broken code, and rules of every kind.
    #[test]
    fn generated_texts_are_matched_as_ast_grep_does(
        lines in proptest::collection::vec(0..LINES.len(), 0..14),
        cut in 0usize..30,
    ) {
        let mut text: String =
            lines.iter().flat_map(|line| [LINES[*line], "\n"]).collect();
        text.truncate(text.len().saturating_sub(cut.saturating_sub(20)));
        OWN.check_same(&text);
    }

    /// Random combinations of pieces of the built-in rules' snippets.
    #[test]
    fn mixed_snippets_are_matched_as_ast_grep_does(
        language in 0..LANGUAGES.len(),
        pieces in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..80), 1..5),
    ) {
        let (rules, snippets) = &BUILT_IN[language];
        let piece = |(which, cut): &(prop::sample::Index, usize)| {
            let text = which.get(snippets);
            let cut = if *cut < 40 { text.len() } else { text.floor_char_boundary(*cut) };
            [&text[..cut.min(text.len())], "\n"]
        };
        let text: String = pieces.iter().flat_map(piece).collect();
        rules.check_same(&text);
    }
}

#[test]
fn a_comment_between_the_words_of_an_operator_is_matched() {
    let rule = "id: comment\nlanguages: [python]\nrule: { kind: comment }\n";
    let rules = EnginePair::new(&[("r.yml", rule)], ScanLanguage::Python);
    assert_eq!(rules.check_same("x = (a not  # here\n     in b)\n"), 1);
}

#[test]
fn a_text_without_any_rules_words_is_not_parsed() {
    let engine = engine(
        &[("r.yml", "id: call\nlanguages: [python]\nrule: { pattern: 'bad($$$)' }\n")],
        ScanLanguage::Python,
    );
    let gap = |text: &str| {
        engine.matches(&path(ScanLanguage::Python), text, &CpuBound::for_matching(), &mut |_| {}).1
    };
    assert_eq!(gap(")"), None);
    assert!(gap("bad )").is_some());
}

#[test]
fn rules_that_search_the_whole_text_at_every_node_are_given_up() {
    // Each node searches all nodes below it, which search theirs.
    let rule = "id: slow\nlanguages: [python]\nrule:\n  kind: binary_operator\n  has:\n    stopBy: end\n    kind: binary_operator\n    has: { stopBy: end, kind: binary_operator, has: { stopBy: end, kind: dictionary } }\n";
    let engine = engine(&[("r.yml", rule)], ScanLanguage::Python);
    let text = format!("total = {}1\n", "1 + ".repeat(300));
    let bound = CpuBound::for_matching();
    let gap = engine.matches(&path(ScanLanguage::Python), &text, &bound, &mut |_| {}).1;
    let detail = gap.expect("a gap").detail;
    assert_eq!(detail, "matching took too long, last with rule `slow`");
}
