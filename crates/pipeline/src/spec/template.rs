//! The documents that a new specification begins with. Placeholders in braces must be filled in;
//! until then they are faults.

use super::SpecId;
use moai_base::foreign_text::one_line;
use moai_base::limits::PLAN_TITLE_CHARS_MAX;

/// The texts of the three documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecTemplates {
    /// `spec.md`
    pub spec: String,
    /// `plan.md`
    pub plan: String,
    /// `acceptance.md`
    pub acceptance: String,
}

/// The documents of a new specification, in Korean if its title is.
#[must_use]
pub fn spec_templates(id: &SpecId, title: &str) -> SpecTemplates {
    let is_korean = title.chars().any(|it| matches!(it, '가'..='힣'));
    // Text of the user in a document: a comment would hide the text after it.
    let title = one_line(title, PLAN_TITLE_CHARS_MAX).replace("<!--", "‹!--");
    let [spec, plan, acceptance] = if is_korean {
        [SPEC_KO, PLAN_KO, ACCEPTANCE_KO]
    } else {
        [SPEC_EN, PLAN_EN, ACCEPTANCE_EN]
    };
    let area = match id.area() {
        "" => "CORE",
        area => area,
    };
    let fill = |text: &str| {
        let text = text.replace("<SPEC>", id.as_str()).replace("<AREA>", area);
        text.replace("<TITLE>", &title)
    };
    SpecTemplates { spec: fill(spec), plan: fill(plan), acceptance: fill(acceptance) }
}

const SPEC_EN: &str = "\
# <SPEC>: <TITLE>

## Requirements

<!-- EARS patterns: Ubiquitous (The system shall …), Event-Driven (WHEN … THEN the system shall …),
State-Driven (WHILE …), Unwanted (IF … THEN …, or shall not), Optional (WHERE …). -->

### REQ-<AREA>-001: {title}
- EARS Pattern: Event-Driven
- {WHEN something happens THEN the system shall do something}
- Priority: HIGH
";

const PLAN_EN: &str = "\
# PLAN: <TITLE>

## Summary

## Risk Assessment
- Overall: LOW

## TODOs

<!-- [A] a command whose exit code decides; [S] a scenario of acceptance.md; [H] a person.
Files: what the worker of this TODO may write. -->

### [ ] TODO 1: {title}
- Description:
- Dependencies: none
- Requirements: REQ-<AREA>-001
- Files:
- Risk: LOW
- Estimated complexity: S
- Acceptance Criteria:
  - [A] {`command`}
  - [S] SC-1: {title}
";

const ACCEPTANCE_EN: &str = "\
# Acceptance: <SPEC>

## SC-1: {title}
- Requirements: REQ-<AREA>-001

```gherkin
Scenario: {title}
  Given {the state before}
  When {what the user does}
  Then {what the user sees}
```
";

const SPEC_KO: &str = "\
# <SPEC>: <TITLE>

## 요구사항

<!-- EARS 패턴: Ubiquitous(시스템은 항상 …해야 한다), Event-Driven(WHEN …하면 THEN …해야 한다),
State-Driven(WHILE …), Unwanted(IF … THEN …, 또는 …하지 않아야 한다), Optional(WHERE …). -->

### REQ-<AREA>-001: {제목}
- EARS Pattern: Event-Driven
- {WHEN 어떤 일이 일어나면 THEN 시스템은 무엇을 해야 한다}
- Priority: HIGH
";

const PLAN_KO: &str = "\
# PLAN: <TITLE>

## 요약

## 위험 평가
- 전체 위험도: 낮음

## TODOs

<!-- [A] 종료 코드로 판정하는 명령, [S] acceptance.md의 시나리오, [H] 사람이 확인.
파일: 이 TODO의 작업자가 쓸 수 있는 파일. -->

### [ ] TODO 1: {제목}
- 설명:
- 의존성: 없음
- 요구사항: REQ-<AREA>-001
- 파일:
- 위험도: 낮음
- 복잡도: S
- 인수 조건:
  - [A] {`명령`}
  - [S] SC-1: {제목}
";

const ACCEPTANCE_KO: &str = "\
# 인수 조건: <SPEC>

## SC-1: {제목}
- 요구사항: REQ-<AREA>-001

```gherkin
시나리오: {제목}
  조건 {이전 상태}
  만일 {사용자가 하는 일}
  그러면 {사용자가 보는 결과}
```
";
