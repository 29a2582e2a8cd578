//! Tests with scenarios as people write them.

use super::StepKind::{Given, Then, When};
use super::{AcceptanceDocument, Scenario, StepKind};

fn kinds(scenario: &Scenario) -> Vec<StepKind> {
    scenario.steps.iter().map(|step| step.kind).collect()
}

#[test]
fn gherkin_in_code_blocks_is_read() {
    let text = "\
# Acceptance
```gherkin
Feature: Login
  Background:
    Given a user
  @REQ-A-1 @slow
  Scenario: SC-3: logs in
    When the form is sent
    And it is sent again
    Then the page is shown
    But only once
  Scenario Outline: many
    When <n> users come
    Then all are served
    Examples:
      | n |
      | 3 |
```
";
    let document = AcceptanceDocument::parse(text);
    assert_eq!(document.faults, []);
    let [first, second] = &document.scenarios[..] else { panic!("{document:#?}") };
    assert_eq!((first.id.as_str(), first.title.as_str()), ("SC-3", "logs in"));
    assert_eq!(first.requirements[0].as_str(), "REQ-A-1");
    assert_eq!(kinds(first), [Given, When, When, Then, Then]);
    assert_eq!((second.id.as_str(), second.steps.len()), ("SC-2", 3));
    assert_eq!(second.examples, ["| n |", "| 3 |"]);
}

#[test]
fn markdown_and_korean_scenarios_are_read() {
    let text = "\
## 시나리오 1: 로그인
- 요구사항: REQ-A-1
- 테스트: `tests/login.rs`
- **Given** 사용자가 있다
- **만일** 양식을 보내면
- **그러면** 페이지가 보인다

## 기타
- Then 이것은 단계가 아니다

## SC-7: 로그아웃
```gherkin
시나리오: 로그아웃
  조건 로그인한 사용자
  만일 로그아웃을 누르면
  그러면 첫 화면이 보인다
```
";
    let document = AcceptanceDocument::parse(text);
    assert_eq!(document.faults, []);
    let [first, second] = &document.scenarios[..] else { panic!("{document:#?}") };
    assert_eq!((first.id.as_str(), first.title.as_str(), first.steps.len()), ("SC-1", "로그인", 3));
    assert_eq!(
        (&first.tests[..], first.requirements.len()),
        (&["tests/login.rs".to_owned()][..], 1)
    );
    assert_eq!(
        (second.id.as_str(), second.title.as_str(), second.steps.len()),
        ("SC-7", "로그아웃", 3)
    );
}

#[test]
fn an_unusable_scenario_names_its_line() {
    let fault = |text: &str, line: usize, words: &str| {
        let faults = AcceptanceDocument::parse(text).faults;
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].line == line && faults[0].reason.contains(words), "{}", faults[0]);
    };
    fault("\nScenario: a\nGiven b\nWhen c\n", 2, "no step Then");
    fault("## SC-1: a\nWhen b\nThen c\n## SC-1: d\nWhen b\nThen c\n", 4, "also on line 1");
    fault("## SC-1: a\nWhen {b}\nThen c\n", 2, "not filled in");
    fault("```\nScenario: a\nWhen b\nThen c\n", 1, "not closed");
}
