//! Tests with specifications as people write them, and of their links.

use super::{EarsPattern, SpecDocument, SpecId, SpecSources, check_links, spec_templates};
use crate::plan::PlanDocument;
use crate::scenario::AcceptanceDocument;

const SPEC: &str = "\
# SPEC-AUTH-001: Login

```yaml
SPEC-ID: SPEC-AUTH-001
Priority: HIGH
```

## 3. Requirements

#### REQ-AUTH-001: Login
- **EARS Pattern**: Event-Driven
- **WHEN** a user submits the form **THEN** the system shall create a session
- **Priority**: HIGH
- **Rationale**: it must be quick

#### REQ-AUTH-002: 세션 만료
- **EARS Pattern**: State-Driven
- **IF** 세션이 만료되었으면 **THEN** 시스템은 사용자를 로그아웃시켜야 한다
- **Priority**: MEDIUM

#### REQ-AUTH-003: 제한
- **EARS Pattern**: Unwanted
- 시스템은 시도 횟수(기본값: 10)를 **초과하지 않아야 한다**

## 6. Traceability

| Requirement | Source | Tests |
|---|---|---|
| REQ-AUTH-003 | `src/limit.rs` | `tests/limit.rs`, `tests/more.rs::limit` |
";

const PLAN: &str = "\
# PLAN: Login
### [x] TODO 1: Sessions
- Requirements: REQ-AUTH-001, REQ-AUTH-002
- [A] `cargo test session`
- [S] SC-1: a user logs in
### [x] TODO 2: Limit
- Requirements: REQ-AUTH-003
- [H] looks right
";

const ACCEPTANCE: &str = "\
## SC-1: A user logs in
- Requirements: REQ-AUTH-001
- When the form is submitted
- Then the user sees the page
";

fn check(spec: &str, plan: &str, acceptance: &str, expected: &[&str]) {
    let id = SpecId::parse("SPEC-AUTH-001").expect("an id");
    let sources = SpecSources {
        id: &id,
        spec: &SpecDocument::parse(spec),
        plan: &PlanDocument::parse(plan),
        acceptance: Some(&AcceptanceDocument::parse(acceptance)),
        exists: &|path| path.starts_with("tests/"),
    };
    let shown: Vec<String> = check_links(&sources).iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), expected.len(), "{shown:#?}");
    for (shown, expected) in shown.iter().zip(expected) {
        assert!(shown.contains(expected), "{shown}\n{expected}");
    }
}

#[test]
fn a_specification_is_read_in_both_languages() {
    let spec = SpecDocument::parse(SPEC);
    assert_eq!(spec.faults, []);
    assert_eq!(spec.ids.iter().map(|it| it.line).collect::<Vec<_>>(), [1, 4]);
    assert_eq!(spec.title.as_deref(), Some("Login"));
    let patterns: Vec<_> = spec.requirements.iter().filter_map(|it| it.pattern).collect();
    let expected = [EarsPattern::EventDriven, EarsPattern::StateDriven, EarsPattern::Unwanted];
    assert_eq!(patterns, expected);
    assert!(spec.requirements.iter().all(|it| it.statements.len() == 1), "{spec:#?}");
    assert!(spec.requirements[2].statements[0].is_prohibition);
    let tests: Vec<&str> = spec.traces.iter().map(|it| it.test.as_str()).collect();
    assert_eq!(tests, ["tests/limit.rs", "tests/more.rs::limit"]);
}

#[test]
fn a_specification_that_says_nothing_is_faulty() {
    let fault = |text: &str, line: usize, words: &str| {
        let faults = SpecDocument::parse(text).faults;
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].line == line && faults[0].reason.contains(words), "{}", faults[0]);
    };
    let with = |lines: &str| format!("### REQ-A-1: a\n{lines}");
    fault("", 1, "no requirement");
    fault(&with(""), 1, "does not say");
    fault(&with("- It works well\n"), 2, "states no obligation");
    fault(&with("- EARS Pattern: Sometimes\n- It shall work\n"), 2, "no EARS pattern");
    fault(&with("- EARS Pattern: Event-Driven\n- It shall work\n"), 1, "not Event-Driven: WHEN");
    fault(&with("- EARS Pattern: ubiquitous\n- WHEN asked it shall work\n"), 1, "not Ubiquitous");
    fault(&with("- It shall work\n### REQ-A-1: b\n- It shall work\n"), 3, "also on line 1");
    fault(&with("- It shall work\n### REQ-login: b\n- It works\n"), 3, "is not an id");
    fault("# SPEC-x: a\nSPEC-ID: SPEC-x\n### REQ-A-1: a\n- It must work\n", 2, "is not an id");
    fault(&with("- {WHEN x THEN y}\n"), 2, "not filled in");
}

#[test]
fn a_list_of_requirements_and_longer_sentences_are_understood() {
    let text = "- **REQ-A-1**: The system shall not\n  lose a byte\n- REQ-A-2: WHERE color: is on, it must warn\n";
    let spec = SpecDocument::parse(text);
    assert_eq!(spec.faults, []);
    assert_eq!(spec.requirements.len(), 2);
    let text = "### REQ-A-1: a\nThe system shall\n  keep all of this: every byte.\n";
    let spec = SpecDocument::parse(text);
    assert_eq!(spec.faults, []);
    assert_eq!(
        spec.requirements[0].statements[0].text,
        "The system shall keep all of this: every byte."
    );
}

#[test]
fn links_lead_from_each_requirement_to_a_test() {
    check(SPEC, PLAN, ACCEPTANCE, &[]);
    let unmet = PLAN.replace("REQ-AUTH-003", "none");
    check(SPEC, &unmet, ACCEPTANCE, &["spec.md:21: REQ-AUTH-003 is met by no TODO"]);
    let unknown = PLAN.replace("REQ-AUTH-003", "REQ-AUTH-003, REQ-AUTH-030");
    check(SPEC, &unknown, ACCEPTANCE, &["plan.md:6: TODO-2 names `REQ-AUTH-030`"]);
    let untested = SPEC.replace("| REQ-AUTH-003", "| none");
    check(&untested, PLAN, ACCEPTANCE, &["REQ-AUTH-003 has no test: none of TODO-2"]);
    let missing = SPEC.replace("`tests/limit.rs`", "`spec/limit.rs`");
    check(&missing, PLAN, ACCEPTANCE, &["`spec/limit.rs` of REQ-AUTH-003 does not exist"]);
    // Before the work is done, the test need not exist.
    check(&missing, &PLAN.replace("[x] TODO 2", "[ ] TODO 2"), ACCEPTANCE, &[]);
    check(
        SPEC,
        &PLAN.replace("SC-1", "SC-2"),
        ACCEPTANCE,
        &["plan.md:5: TODO-1 names SC-2", "acceptance.md:1: SC-1 is played by no"],
    );
    check(SPEC, &PLAN.replace("SC-1: ", ""), ACCEPTANCE, &["names no scenario", "played by no"]);
    check(
        SPEC,
        PLAN,
        &ACCEPTANCE.replace("REQ-AUTH-001", "REQ-X-1"),
        &["acceptance.md:1: SC-1 names REQ-X-1"],
    );
    let elsewhere = SPEC.replace("SPEC-ID: SPEC-AUTH-001", "SPEC-ID: SPEC-AUTH-002");
    check(&elsewhere, PLAN, ACCEPTANCE, &["spec.md:4: the document says SPEC-AUTH-002"]);
    check(
        SPEC,
        "prose",
        ACCEPTANCE,
        &["REQ-AUTH-001", "REQ-AUTH-002", "REQ-AUTH-003", "no TODO", "played by no"],
    );
}

#[test]
fn a_new_specification_says_what_must_be_filled_in() {
    for title in ["Login <!-- with `$(id)`", "로그인 기능"] {
        let id = SpecId::for_title(title, &[]);
        let templates = spec_templates(&id, title);
        let spec = SpecDocument::parse(&templates.spec);
        assert_eq!(spec.ids[0].id, id);
        assert_eq!(spec.requirements.len(), 1);
        let reasons = |faults: &[crate::document::DocumentFault]| {
            faults.iter().filter(|it| it.reason.contains("not filled in")).count() == faults.len()
                && !faults.is_empty()
        };
        assert!(reasons(&spec.faults), "{:?}", spec.faults);
        let plan = PlanDocument::parse(&templates.plan);
        assert!(reasons(&plan.faults), "{:?}", plan.faults);
        assert_eq!(plan.todos[0].items.len(), 2);
        assert!(plan.overall_risk.is_some() && plan.todos[0].risk.is_some());
        let acceptance = AcceptanceDocument::parse(&templates.acceptance);
        assert!(reasons(&acceptance.faults), "{:?}", acceptance.faults);
        assert_eq!((acceptance.scenarios.len(), acceptance.scenarios[0].steps.len()), (1, 3));
    }
}
