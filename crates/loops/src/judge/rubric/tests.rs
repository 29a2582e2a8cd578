//! Rubrics as people write them.

use super::*;

const SEED: &str = "---\nmodel: claude-opus-4-6\nhitl_threshold: 3\n---\n\n## Checks\n\
    # Dual role: fast gate.\n- npm test\n- `npx tsc --noEmit`\n\
    - node -e \"const {v} = require('./v'); process.exit(v(null) === false ? 0 : 1)\"\n\n\
    ## Judge criteria\n- Every function has a single responsibility.\n\
    - Error handling is explicit:\n  no empty catch blocks.\n\n## Notes\n- not a criterion\n";

#[test]
fn the_documented_format_is_parsed() {
    let rubric = Rubric::parse(SEED);
    assert_eq!(rubric.model.as_deref(), Some("claude-opus-4-6"));
    assert_eq!((rubric.hitl_threshold, &rubric.gap), (Some(3), &None));
    assert_eq!(rubric.checks.len(), 3);
    assert_eq!(rubric.checks[1], "npx tsc --noEmit");
    let criteria: Vec<_> =
        rubric.criteria.iter().map(|it| (it.id.as_str(), it.text.as_str())).collect();
    let expected = [
        ("C1", "Every function has a single responsibility."),
        ("C2", "Error handling is explicit: no empty catch blocks."),
    ];
    assert_eq!(criteria, expected);
    assert_eq!(Rubric::parse(&format!("\u{feff}{}", SEED.replace('\n', "\r\n"))), rubric);
}

#[test]
fn variants_of_the_format_are_parsed() {
    let text = "## judge criteria:\n1. one\n2) two\n* [ ] three\nfour\n### Errors\n- five\n\
                <!-- - six\n- seven -->\n## CHECKS\n```sh\ncargo test\n# not this\n```\nprose\n";
    let rubric = Rubric::parse(text);
    let texts: Vec<_> = rubric.criteria.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(texts, ["one", "two", "three", "four", "five"]);
    assert_eq!(rubric.checks, ["cargo test"]);
    let below_item = "## Checks\n1. ~~~sh\n   cargo test\n   ```\n   ~~~\n- cargo fmt --check\n";
    let rubric = Rubric::parse(below_item);
    assert_eq!(
        (rubric.checks.as_slice(), rubric.gap),
        (&["cargo test".to_owned(), "cargo fmt --check".to_owned()][..], None)
    );
}

#[test]
fn a_rubric_without_items_is_empty_and_an_invalid_one_is_a_gap() {
    for text in ["", "---\nmodel: x\n---\n", "## Checks\n\n## Judge criteria\n", "just prose"] {
        assert!(Rubric::parse(text).is_empty(), "{text:?}");
    }
    let gap = |text: &str| Rubric::parse(text).gap.map(|gap| gap.cause);
    assert_eq!(gap("---\nhitl_threshold: soon\n---\n"), Some(Cause::ProjectFault));
    let many = "- be good\n".repeat(RUBRIC_CRITERIA_MAX + 1);
    assert_eq!(gap(&format!("## Judge criteria\n{many}")), Some(Cause::ProjectFault));
    let long = "x".repeat(RUBRIC_LINE_CHARS_MAX + 1);
    assert_eq!(gap(&format!("## Judge criteria\n- {long}\n")), Some(Cause::ProjectFault));
}

#[test]
fn criteria_about_comments_are_recognized() {
    let about = |text: &str| {
        Rubric::parse(&format!("## Criteria\n- {text}\n")).criteria[0].is_about_words()
    };
    assert!(about("Public functions have docstrings") && about("주석은 이유를 말한다"));
    assert!(!about("No silent failures"));
}

fn texts(rubric: &Rubric) -> Vec<&str> {
    rubric.criteria.iter().map(|criterion| criterion.text.as_str()).collect()
}

#[test]
fn criteria_below_variant_headings_are_parsed() {
    for heading in [
        "## Judging criteria",
        "## 평가 기준",
        "## **Judge criteria**",
        "# Judge criteria",
        "##Judge criteria",
        " ## Judge criteria",
        "Judge criteria\n--------------",
        "**Judge criteria:**",
    ] {
        let rubric = Rubric::parse(&format!("## Checks\n- true\n\n{heading}\n- no empty catch\n"));
        assert_eq!(texts(&rubric), ["no empty catch"], "{heading}");
        assert_eq!((rubric.checks.len(), &rubric.gap), (1, &None), "{heading}");
    }
    let two = "## Judge criteria\n- one\n## Judge criteria (blocking)\n- two\n";
    assert_eq!(texts(&Rubric::parse(two)), ["one", "two"]);
    let grouped = "# Judge criteria\n## Errors\n- one\n## Style\n- two\n";
    assert_eq!(texts(&Rubric::parse(grouped)), ["one", "two"]);
    let returns = "## Judge criteria\r- one\r- two\r";
    assert_eq!(texts(&Rubric::parse(returns)), ["one", "two"]);
}

#[test]
fn constructs_that_may_hide_criteria_are_gaps() {
    let check = |text: &str, expected: Option<&str>| {
        let gap = Rubric::parse(&format!("## Checks\n- true\n\n{text}")).gap;
        let found = gap.as_ref().map(|gap| gap.detail.as_str());
        assert_eq!(found.is_some(), expected.is_some(), "{text:?}: {found:?}");
        assert!(found.unwrap_or_default().contains(expected.unwrap_or_default()), "{found:?}");
    };
    check("## How we judge\n- no empty catch\n", Some("\"How we judge\" is not known"));
    check("## Criteria (optional)\nno empty catch\n", Some("\"Criteria (optional)\""));
    check("<!-- note\n## Judge criteria\n- no empty catch\n", Some("remark"));
    check("```\n## Judge criteria\n- no empty catch\n", Some("block of code"));
    check("## Notes\n- ask the judge to check it\n", None);
    check("## Evaluation\n\n## Judge criteria\n- one\n", None);
    check("## Judge criteria\n### How we judge errors\n- one\n", None);
    let title = "# How the judge checks\nAll of it.\n\n## Judge criteria\n- one\n";
    assert_eq!(Rubric::parse(title).gap, None);
    assert!(Rubric::parse("# How the judge checks\n- one\n").gap.is_some());
    let open = "---\nmodel: x\nhitl_threshold: 2\n\n## Judge criteria\n- one\n";
    assert!(Rubric::parse(open).gap.is_some());
}

#[test]
fn comments_and_marks_drop_no_criterion() {
    let text = "## Judge criteria\n<!-- one --> - abc\n<!-- a --> <!-- b\nc --> - def\n\
                #5 must be fixed\n# a remark\n---\n- [ ]\n~~~\n- ghi\n~~~\n- jkl\n";
    let rubric = Rubric::parse(text);
    assert_eq!(texts(&rubric), ["abc", "def", "#5 must be fixed", "ghi", "jkl"]);
    assert_eq!(rubric.gap, None);
}

#[test]
fn criteria_about_comments_concern_their_words() {
    let about =
        |text: &str| RubricCriterion { id: "C1".into(), text: text.into() }.is_about_words();
    for text in [
        "No todo and no fixme is left",
        "No suppressions are added",
        "No `# noqa`, `@ts-ignore` or eslint-disable",
        "No commented-out code",
        "Exported functions have Javadoc",
        "No dead code",
        "새 억제 구문이 없다",
        "TODO를 남기지 않는다",
    ] {
        assert!(about(text), "{text}");
    }
    for text in ["No silent failures", "Errors are never ignored", "오류를 처리한다"] {
        assert!(!about(text), "{text}");
    }
}
