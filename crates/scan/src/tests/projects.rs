//! Rule sets as projects compose them: rule files of the ast-grep program, utility rules,
//! `sgconfig.yml`, options, and texts with embedded languages.

use super::*;

fn owned(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// A set of these rules and utility rules.
fn with_utils(files: &[(&str, &str)], utils: &[(&str, &str)]) -> RuleSet {
    RuleSet::new(RuleSources { rules: owned(files), utils: owned(utils), ..RuleSources::default() })
}

/// A set of these rules and an `sgconfig.yml`.
fn with_config(files: &[(&str, &str)], config: &str) -> RuleSet {
    let config = Some(("sgconfig.yml".to_owned(), config.to_owned()));
    RuleSet::new(RuleSources { rules: owned(files), config, ..RuleSources::default() })
}

#[track_caller]
fn assert_broken(rules: &RuleSet, expected: &[&str]) {
    let named = |broken: &BrokenRule| format!("{}: {}", broken.source, broken.reason);
    let broken: Vec<String> = rules.broken().iter().map(named).collect();
    assert_eq!(broken.len(), expected.len(), "{broken:#?}");
    for (broken, expected) in broken.iter().zip(expected) {
        assert!(broken.contains(expected), "{broken}\nlacks\n{expected}");
    }
}

/// Every key that the ast-grep program supports.
const FULL: &str = "id: 'full: rule'\nlanguage: JavaScript\nseverity: info\nmessage: use $NEW\n\
                    note: |\n  Two\n  lines.\nurl: https://example.com\n\
                    metadata: { any: [1, { 2: x }], cwe: CWE-1 }\n\
                    rule: { any: [{ pattern: old($A) }, { matches: two }] }\n\
                    utils: { two: { pattern: 'old($A, $B)' } }\n\
                    constraints: { A: { kind: string } }\n\
                    rewriters: [{ id: quote, rule: { pattern: $Q, kind: string }, fix: q }]\n\
                    transform: { NEW: { substring: { source: $A, startChar: 1, endChar: -1 } } }\n\
                    labels: { A: { style: primary, message: here } }\n\
                    files: [{ glob: '**/*.JS', caseInsensitive: true }]\nignores: ['vendor/**']\n\
                    fix:\n- { title: one, template: new($A), expandEnd: { regex: ';' } }\n\
                    - { title: two, template: $NEW }\n";

#[test]
fn a_rule_file_of_the_ast_grep_program_works_unchanged() {
    let rules = check_broken(&[("r.yml", FULL)], &[]);
    let outcome = check(
        &rules,
        "a.js",
        "old('x');\nold(y);\nold('a', 1)\n",
        &["0:0-0:8 full: rule", "2:0-2:11 full: rule"],
    );
    let finding = &outcome.findings[0];
    assert_eq!((finding.message.as_str(), finding.severity), ("use x", Severity::Info));
    assert_eq!((finding.fix.as_deref(), finding.cwe.len()), (Some("Two lines."), 1));
    assert!(!rules.handles(&path("vendor/a.js")) && !rules.handles(&path("a.ts")));
}

#[test]
fn a_rule_without_an_id_is_named_after_its_file() {
    let text = "language: python\nrule: { pattern: bad($X) }\n";
    let both = format!("{text}---\n{}", text.replace("bad", "worse"));
    let rules = check_broken(&[("a/one.yml", text), ("two.yaml", &both)], &[]);
    check(&rules, "a.py", "bad(1)\nworse(2)\n", &["0:0-0:6 one", "0:0-0:6 two-0", "1:0-1:8 two-1"]);
}

#[test]
fn one_id_may_be_used_once_in_every_language() {
    let go = "id: call\nlanguage: go\nrule: { kind: call_expression }\n";
    let rules = check_broken(&[("a.yml", CALL), ("b.yml", go)], &[]);
    check(&rules, "a.py", "bad(1)\n", &["0:0-0:6 call"]);
    check(&rules, "a.go", "package a\nvar x = f()\n", &["1:8-1:11 call"]);
    let broken = check_broken(&[("a.yml", CALL), ("b.yml", go), ("c.yml", go)], &["already taken"]);
    assert_eq!(cause(&outcome(&broken, "a.go", "package a\n")), Some(Cause::BrokenRule));
    assert_eq!(cause(&outcome(&broken, "a.py", "x\n")), None);
}

#[test]
fn a_language_that_cannot_be_parsed_leaves_its_files_unmeasured_and_no_others() {
    let lua = "id: x\nlanguage: lua\nrule: { kind: function_call }\n";
    let rules = check_broken(&[("a.yml", CALL), ("b.yml", lua)], &[]);
    assert_eq!(check(&rules, "a.py", "bad(1)\n", &["0:0-0:6 call"]).gap, None);
    let gap = outcome(&rules, "a.lua", "f()\n").gap.expect("nothing parses it");
    assert_eq!(gap.cause, Cause::NoTool);
    assert!(gap.detail.contains("rule `x` needs a parser of lua"), "{}", gap.detail);
    assert!(rules.handles(&path("a.lua")) && !rules.handles(&path("a.zig")));
}

const UTIL: &str = "id: named\nlanguage: python\narguments: [NAME]\nrule:\n  kind: call\n\
                    \x20 has: { field: function, matches: NAME }\n";
const CALLER: &str =
    "id: call\nlanguage: python\nrule: { matches: { named: { NAME: { regex: ^bad$ } } } }\n";

#[test]
fn utility_rules_are_shared_and_take_arguments() {
    let plain = "id: bad-call\nlanguage: python\nrule: { matches: { named: { NAME: { regex: ^bad$ } } } }\n";
    let user =
        "id: user\nlanguage: python\nrule: { all: [{ matches: bad-call }, { regex: '2' }] }\n";
    let rules =
        with_utils(&[("a.yml", CALLER), ("b.yml", user)], &[("u.yml", UTIL), ("v.yml", plain)]);
    assert_broken(&rules, &[]);
    check(
        &rules,
        "a.py",
        "bad(1)\nbad(2)\ngood(2)\n",
        &["0:0-0:6 call", "1:0-1:6 call", "1:0-1:6 user"],
    );
}

#[test]
fn a_broken_utility_rule_breaks_only_the_rules_that_use_it() {
    let cyclic = |id: &str, other: &str| {
        format!("id: {id}\nlanguage: python\nrule: {{ matches: {other} }}\n")
    };
    let (one, two) = (cyclic("one", "two"), cyclic("two", "one"));
    let lost = cyclic("lost", "nowhere");
    let (of_one, of_lost) = (cyclic("of-one", "one"), cyclic("of-lost", "lost"));
    let utils = [("u.yml", UTIL), ("one.yml", &one), ("two.yml", &two), ("lost.yml", &lost)];
    let rules = with_utils(&[("a.yml", CALLER), ("b.yml", &of_one), ("c.yml", &of_lost)], &utils);
    assert_broken(
        &rules,
        &[
            "b.yml:3: rule `of-one` (python): ",
            "c.yml:3: rule `of-lost` (python): ",
            "lost.yml:1: rule `lost` (python): utility rule `nowhere` cannot be used",
            "one.yml:1: rule `one` (python): utility rule `two` cannot be used",
            "two.yml:1: rule `two` (python): utility rule `one` cannot be used",
        ],
    );
    let outcome = check(&rules, "a.py", "bad(1)\n", &["0:0-0:6 call"]);
    assert_eq!(cause(&outcome), Some(Cause::BrokenRule));
}

#[test]
fn an_oversized_regex_is_a_broken_rule() {
    let text = "id: x\nlanguage: python\nrule: { kind: string, regex: '(a{1000}){1000}' }\n";
    let rules = check_broken(&[("r.yml", text)], &["r.yml:3: rule `x` (python): "]);
    assert_eq!(cause(&outcome(&rules, "a.py", "x\n")), Some(Cause::BrokenRule));
    // A pattern on which backtracking engines hang.
    let text = "id: x\nlanguage: python\nrule: { kind: string, regex: '^.(a+)+$' }\n";
    let rules = check_broken(&[("r.yml", text)], &[]);
    check(&rules, "a.py", &format!("'{}'\n", "a".repeat(50_000)), &[]);
}

#[test]
fn language_globs_decide_a_files_language() {
    let config = "languageGlobs: { python: ['*.star', BUILD] }\n";
    let rules = with_config(&[("r.yml", CALL)], config);
    for name in ["deep/x.star", "BUILD", "a.py"] {
        check(&rules, name, "bad(1)\n", &["0:0-0:6 call"]);
    }
    assert!(!rules.handles(&path("star")) && !rules.handles(&path("BUILD.txt")));
    let broken =
        with_config(&[("r.yml", CALL)], "languageGlobs: { python: ['a{'], cobol: ['*.x'] }\n");
    assert_broken(&broken, &["`languageGlobs`: error", "unknown language cobol"]);
    assert_eq!(cause(&outcome(&broken, "a.py", "x\n")), Some(Cause::BrokenRule));
}

const JS: &str = "id: js\nlanguages: [javascript]\nrule: { pattern: bad($X) }\n";

#[test]
fn scripts_and_styles_in_html_are_scanned_in_their_languages() {
    let css = "id: red\nlanguage: css\nrule: { kind: color_value }\n";
    let ts = "id: ts\nlanguage: ts\nrule: { kind: as_expression }\n";
    let rules = check_broken(&[("a.yml", JS), ("b.yml", css), ("c.yml", ts)], &[]);
    let text = "<p>bad(0)</p>\n<script>bad(1); '한'; bad(2)</script>\n<script>\n  bad(3)\n  \
                // ast-grep-ignore: js\n  bad(4)\n</script>\n<style>a { color: #f00 }</style>\n\
                <script lang=\"ts\">x as any</script>\n";
    let outcome = check(
        &rules,
        "a.html",
        text,
        &["1:8-1:14 js", "1:21-1:27 js", "3:2-3:8 js", "7:18-7:22 red", "8:18-8:26 ts"],
    );
    assert_eq!(outcome.gap, None);
    assert_eq!(outcome.findings[1].anchor, "bad(2)");
}

#[test]
fn data_in_a_script_element_is_not_scanned() {
    let rules = rules(&[("a.yml", JS)]);
    let text = "<script type=\"application/ld+json\">{\"a\": [1, }</script>\n\
                <script type='text/template'>{{ bad(1) }}</script>\n\
                <script type=module>bad(2)</script>\n";
    assert_eq!(check(&rules, "a.html", text, &["2:20-2:26 js"]).gap, None);
    let deep = format!("<script>{}bad(1){}</script>\n", "(".repeat(2_000), ")".repeat(2_000));
    assert_eq!(cause(&check(&rules, "a.html", &deep, &[])), Some(Cause::Skipped));
}

#[test]
fn a_project_can_declare_injections() {
    let config = "languageInjections:\n- hostLanguage: python\n  rule: { pattern: js($CONTENT) }\n  \
                  injected: js\n- hostLanguage: python\n  rule: { pattern: 'lang(\"$LANG\", $CONTENT)' }\n  \
                  injected: [javascript, go]\n";
    let rules = with_config(&[("a.yml", JS)], config);
    assert_broken(&rules, &[]);
    let text = "x = 1\njs(bad(1))\nlang(\"js\", bad(2))\nlang(\"perl\", bad(3))\n";
    check(&rules, "a.py", text, &["1:3-1:9 js", "2:11-2:17 js"]);
    for (config, reason) in [
        ("languageInjections: [{ hostLanguage: cobol }]\n", "unknown hostLanguage `cobol`"),
        ("languageInjections: [{ hostLanguage: go, injected: [x] }]\n", "unknown language in"),
        ("languageInjections: [{ hostLanguage: go, injected: js }]\n", "missing field `rule`"),
        ("languageInjections: [\n", "line "),
        ("- x\n", "it must be a mapping"),
    ] {
        assert_broken(&with_config(&[], config), &[reason]);
    }
}

#[test]
fn options_disable_replace_and_reweigh_rules() {
    let eval = "id: py-eval\nlanguage: python\nseverity: info\nrule: { pattern: bad($X) }\n";
    let set = |rules: &[(&str, &str)], disabled: &[&str], severities: &[(&str, &str)]| {
        RuleSet::new(RuleSources {
            built_in: true,
            rules: owned(rules),
            disabled: disabled.iter().map(|id| (*id).to_owned()).collect(),
            severities: owned(severities).into_iter().collect(),
            ..RuleSources::default()
        })
    };
    let text = "eval(x)\nbad(1)\n";
    check(&set(&[], &[], &[]), "a.py", text, &["0:0-0:7 py-eval"]);
    check(&set(&[], &["py-eval"], &[]), "a.py", text, &[]);
    check(&set(&[], &[], &[("py-eval", "off")]), "a.py", text, &[]);
    check(&set(&[("r.yml", eval)], &["py-eval"], &[]), "a.py", text, &["1:0-1:6 py-eval"]);
    let taken = set(&[("r.yml", eval)], &[], &[("py-eval", "hint")]);
    let weighed = check(&taken, "a.py", text, &["0:0-0:7 py-eval"]);
    assert_eq!(weighed.findings[0].severity, Severity::Hint);
    assert_eq!(cause(&weighed), Some(Cause::BrokenRule));
    // A rule of severity `off` can be enabled by the options.
    let off = CALL.replace("severity: warning", "severity: off");
    check(
        &set(&[("r.yml", &off)], &[], &[("call", "error")]),
        "a.py",
        text,
        &["0:0-0:7 py-eval", "1:0-1:6 call"],
    );
    let unknown = set(&[], &["py-evil"], &[("nothing", "error")]);
    assert_broken(&unknown, &["no rule has the id `py-evil`", "no rule has the id `nothing`"]);
    assert_eq!(outcome(&unknown, "a.py", "x\n").gap, None);
}

#[test]
fn listed_rules_reflect_the_options() {
    let set = RuleSet::new(RuleSources {
        built_in: true,
        rules: owned(&[("r.yml", FULL)]),
        disabled: ["py-exec".to_owned()].into(),
        severities: [("py-eval".to_owned(), "hint".to_owned())].into(),
        ..RuleSources::default()
    });
    let rules = set.rules();
    let find = |id: &str| rules.iter().find(|rule| rule.id == id);
    let full = find("full: rule").expect("listed");
    assert_eq!((full.languages.as_slice(), full.is_built_in), (["javascript"].as_slice(), false));
    assert_eq!((full.message.as_str(), full.cwe.len()), ("use $NEW", 1));
    let eval = find("py-eval").expect("listed");
    assert_eq!((eval.severity, eval.is_built_in), (Severity::Hint, true));
    assert_eq!(eval.source, "rules/python/py-eval.yml");
    assert_eq!(eval.category.as_deref(), Some("security"));
    assert!(!eval.owasp.is_empty() && eval.confidence.is_some() && eval.url.is_some());
    assert!(find("py-exec").is_none());
}

#[test]
fn sets_that_differ_have_different_identities() {
    let one = || RuleSources { rules: owned(&[("r.yml", CALL)]), ..RuleSources::default() };
    let id = |sources: RuleSources| RuleSet::new(sources).identity();
    assert_eq!(id(one()), id(one()));
    let others = [
        RuleSources { built_in: true, ..one() },
        RuleSources { utils: owned(&[("r.yml", CALL)]), ..RuleSources::default() },
        RuleSources { rules: owned(&[("s.yml", CALL)]), ..RuleSources::default() },
        RuleSources { unreadable: owned(&[("x", "y")]), ..one() },
        RuleSources { config: Some(("sgconfig.yml".to_owned(), String::new())), ..one() },
        RuleSources { disabled: ["call".to_owned()].into(), ..one() },
        RuleSources { severities: [("call".to_owned(), "off".to_owned())].into(), ..one() },
    ];
    let mut ids: Vec<ContentHash> = others.into_iter().map(id).collect();
    ids.push(id(one()));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
