//! Tests with plans as people and agents write them.

mod edits;

use super::{AcceptanceKind, PlanDocument, RiskLevel, TodoId, TodoSize, TodoStatus};

const PLAN: &str = r#"# PLAN: Login with tokens

## Risk Assessment
- Overall: HIGH

## TODOs

### [x] TODO 1: Table of sessions
- Description: a table
  with an index
- Dependencies: none
- Requirements: REQ-AUTH-001, REQ-AUTH-002
- Files: `src/session.rs`, migrations/**
- Risk: LOW
- Estimated complexity: S
- Acceptance Criteria:
  - [A] `cargo test session` passes
    on every platform
  - [S] SC-1: a user logs in
  - [H] the form looks right

### [ ] TODO-2: Middleware
- Dependencies: TODO-1
- Acceptance Criteria:
  - [A] AC-7: `npm test -- --grep "JWT"` passes

### [FAILED] TODO 3: Routes
- Dependencies: TODO 1 and TODO-2 (the middleware)
- Acceptance Criteria:
  - [A] `npm test`

## Test Strategy

### A-items
- [A] something that belongs to no TODO
"#;

fn id(text: &str) -> TodoId {
    TodoId::parse(text).expect("an id")
}

/// The only fault of a plan.
fn fault(text: &str) -> String {
    let faults = PlanDocument::parse(text).faults;
    assert_eq!(faults.len(), 1, "{text}: {faults:?}");
    faults[0].to_string()
}

/// A plan with these lines below a sound TODO.
fn with_lines(lines: &str) -> String {
    format!("### [ ] TODO 1: a\n- [A] `true`\n{lines}")
}

#[test]
fn a_plan_is_read_with_all_its_fields() {
    let plan = PlanDocument::parse(PLAN);
    assert_eq!(plan.faults, []);
    assert_eq!(plan.title.as_deref(), Some("Login with tokens"));
    assert_eq!(plan.overall_risk, Some(RiskLevel::High));
    let first = &plan.todos[0];
    assert_eq!((first.id.as_str(), first.line, first.status), ("TODO-1", 8, TodoStatus::Done));
    assert_eq!(
        (first.title.as_str(), first.description.as_str()),
        ("Table of sessions", "a table with an index")
    );
    assert_eq!(first.requirements, ["REQ-AUTH-001", "REQ-AUTH-002"]);
    assert_eq!(first.files, ["src/session.rs", "migrations/**"]);
    assert_eq!((first.risk, first.size), (Some(RiskLevel::Low), Some(TodoSize::Small)));
    let kinds: Vec<_> = first.items.iter().map(|item| (item.id.as_str(), item.kind)).collect();
    let expected = [
        ("AC-1", AcceptanceKind::Automatic),
        ("AC-2", AcceptanceKind::Scenario),
        ("AC-3", AcceptanceKind::Human),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(first.items[0].argv, ["cargo", "test", "session"]);
    assert_eq!(first.items[0].text, "`cargo test session` passes on every platform");
    let second = &plan.todos[1].items[0];
    assert_eq!((second.id.as_str(), second.argv.len()), ("AC-7", 5));
    assert_eq!(plan.todos[2].dependencies, [id("1"), id("2")]);
    assert_eq!(plan.count(TodoStatus::Failed), 1);
}

#[test]
fn korean_windows_and_careless_plans_mean_the_same() {
    let text = "\u{feff}# 계획: 로그인\r\n\r\n## [X] **TODO 1: 세션 테이블**\r\n* **의존성:** 없음\r\n\
                * **위험도**: 낮음 (되돌릴 수 있음)\r\n* 복잡도: S\r\n#### 인수 조건\r\n1. [ ] **[A]** `pytest -q`\r\n\
                \r\n- [] TODO 2 — 화면\r\n- depends on:\r\n  - #1\r\n- Acceptance:\r\n  - [h] 사람이 본다\r\n";
    let plan = PlanDocument::parse(text);
    assert_eq!(plan.faults, []);
    assert_eq!(plan.title.as_deref(), Some("로그인"));
    assert_eq!(
        (plan.todos[0].title.as_str(), plan.todos[0].status),
        ("세션 테이블", TodoStatus::Done)
    );
    assert_eq!(
        (plan.todos[0].risk, plan.todos[0].size),
        (Some(RiskLevel::Low), Some(TodoSize::Small))
    );
    assert_eq!(plan.todos[0].items[0].argv, ["pytest", "-q"]);
    assert_eq!(
        (plan.todos[1].title.as_str(), &plan.todos[1].dependencies[..]),
        ("화면", &[id("1")][..])
    );
}

#[test]
fn code_and_comments_are_not_part_of_the_plan() {
    let text = with_lines("```\n### [ ] TODO 2: b\n```\n<!--\n### [ ] TODO 3: c\n-->\n");
    let plan = PlanDocument::parse(&text);
    assert_eq!((plan.todos.len(), plan.faults), (1, vec![]));
}

#[test]
fn fields_of_other_names_are_ignored() {
    let lines = "- Notes: whatever\n  - more: of it\n- Acceptance:\n  - [H] fine\n- Owner: me\n";
    let plan = PlanDocument::parse(&with_lines(lines));
    assert_eq!((plan.todos[0].items.len(), plan.faults), (2, vec![]));
}

#[test]
fn nonsense_names_its_line() {
    let check = |lines: &str, line: usize, words: &str| {
        let shown = fault(&with_lines(lines));
        assert!(shown.starts_with(&format!("line {line}: ")) && shown.contains(words), "{shown}");
    };
    check("### [done] TODO 2: b\n- [A] `true`\n", 3, "`done` is not a state");
    check("### [ TODO 2: b\n- [A] `true`\n", 3, "checkbox of TODO-2 is not closed");
    check("### TODO 2: b\n- [A] `true`\n", 3, "TODO-2 has no checkbox");
    check("### [ ] TODO: b\n- [A] `true`\n", 3, "no number");
    check("### [x] the rest\n- [A] `true`\n", 3, "no number");
    check("### [ ] TODO 2:\n- [A] `true`\n", 3, "no title");
    check("### [ ] TODO 2: {title}\n- [A] `true`\n", 3, "not filled in");
    check("### [ ] TODO 01: b\n- [A] `true`\n", 3, "TODO-1 is also on line 1");
    check("### [ ] TODO 2: b\n", 3, "no acceptance item");
    check("### [ ] TODO 2: b\n- [A] it works\n", 4, "without a command");
    check("### [ ] TODO 2: b\n- [A] `npm test && rm -rf /`\n", 4, "uses &");
    check("### [ ] TODO 2: b\n- [H]\n", 4, "says nothing");
    check("- [A] AC-1: `false`\n", 3, "TODO-1 has AC-1 twice");
    check("- Acceptance Criteria:\n  - it is good\n", 4, "no [A], [S] or [H]");
    check("- Dependencies: TODO-9\n", 1, "TODO-9, which does not exist");
    check("- Dependencies: the first one\n", 3, "names no TODO");
    check("- Dependancies: TODO-1\n", 3, "did you mean dependencies?");
    check("- Risk: enormous\n", 3, "not a risk");
    check("- Estimated complexity: S|M|L\n", 3, "not a complexity");
    check("- Files: ../other/a.rs\n", 3, "not a path below the root");
    check("- Files: /etc/passwd\n", 3, "not a path below the root");
    check("```\n", 3, "not closed");
    check("<!-- later\n### [ ] TODO 2: b\n", 3, "not closed");
    assert!(fault("just prose\n").contains("no TODO"));
    assert!(fault("").contains("no TODO"));
}

#[test]
fn a_cycle_is_named_with_its_todos() {
    let todo = |number: usize, needs: &str| {
        format!("### [ ] TODO {number}: t\n- Dependencies: {needs}\n- [A] `true`\n")
    };
    let text = [todo(1, "3"), todo(2, "1"), todo(3, "2"), todo(4, "3")].concat();
    assert!(fault(&text).contains("TODO-1 -> TODO-3 -> TODO-2 -> TODO-1"), "{}", fault(&text));
    assert!(fault(&todo(1, "1")).contains("TODO-1 -> TODO-1"));
}

#[test]
fn an_approved_plan_may_only_grow() {
    let approved = PlanDocument::parse(PLAN);
    let changes = |text: &str| -> Vec<String> {
        let changes = PlanDocument::parse(text).unapproved_changes(&approved);
        changes.iter().map(ToString::to_string).collect()
    };
    let grown = PLAN.replace(
        "## Test Strategy",
        "  - [A] `npm run lint`\n### [ ] TODO 4: Docs\n- [H] readable\n## Test Strategy",
    );
    assert_eq!(changes(&grown), [""; 0]);
    assert_eq!(changes(&PLAN.replace("[ ] TODO-2", "[x] TODO-2")), [""; 0]);
    let weaker = PLAN.replace("cargo test session", "true").replace("`src/session.rs`", "**");
    let shown = changes(&weaker);
    assert_eq!(
        shown,
        ["line 8: TODO-1: its files were changed", "line 8: TODO-1: AC-1 was changed"]
    );
    assert_eq!(
        changes(&PLAN.replace("### [FAILED] TODO 3", "### [FAILED] TODO 5")),
        ["TODO-3: it was removed"]
    );
}

#[test]
fn a_paragraph_at_the_margin_below_a_list_belongs_to_no_item() {
    let plan = PlanDocument::parse(&with_lines("  on every platform\n\nA NOTE: of a person\n"));
    assert_eq!(plan.faults, []);
    assert_eq!(plan.todos[0].items[0].text, "`true` on every platform");
    let plan = PlanDocument::parse(&with_lines("\nNOTE OF A PERSON\n- [A] `false`\n"));
    assert_eq!(plan.todos[0].items[0].text, "`true`");
    assert_eq!(plan.todos[0].items.len(), 2);
}

#[test]
fn a_command_with_a_shell_belongs_into_a_script() {
    for command in ["a | b", "[sh, -c, a]"] {
        let fault = fault(&format!("### [ ] TODO 1: a\n- [A] `{command}`\n"));
        assert!(fault.contains("put it into a script of the project"), "{fault}");
        assert!(!fault.contains("autochecks"), "{fault}");
    }
    assert_eq!(PlanDocument::parse("### [ ] TODO 1: a\n- [A] `[ -f a ]`\n").faults, []);
}
