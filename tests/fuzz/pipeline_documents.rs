//! Documents and answers of a pipeline: plans, specifications, scenarios, pivot points, reports of
//! workers, and prompts.

use moai_pipeline::commit_proposal::{CommitProposal, CommitStyle};
use moai_pipeline::pivot::{Discovery, PivotDocument, check_discovery};
use moai_pipeline::plan::{PlanDocument, TodoStatus};
use moai_pipeline::routing::routed_pipeline;
use moai_pipeline::scenario::AcceptanceDocument;
use moai_pipeline::spec::{SpecDocument, SpecId, SpecSources, check_links};
use moai_pipeline::worker_report::WorkerReport;

use crate::corpus::{files, texts};
use crate::runner::fuzz;

const PLAN: &str = "# PLAN: a\n- Overall: HIGH\n### [ ] TODO 1: b\n- Dependencies: TODO-2, 3\n- Files: src/**, `a.rs`\n\
                    - Risk: LOW\n- Estimated complexity: S\n- Acceptance Criteria:\n  - [A] AC-4: `npm test -- \"a b\"`\n\
                    \x20   more\n  - [S] SC-1: c\n  - [H] d\n```\n### [ ] TODO 9: x\n```\n<!-- y -->\n- [x] TODO-2.1 — e\r\n  * 의존성: 없음\r\n";
const SPEC: &str = "# SPEC-A-1: t\nSPEC-ID: SPEC-A-1\n### REQ-A-1: b\n- EARS Pattern: Event-Driven\n- **WHEN** c **THEN** it shall d\n\
                    - REQ-A-2: 시스템은 않아야 한다\n| REQ-A-1 | `src` | `tests/a.rs`, `b` |\n";
const ACCEPTANCE: &str = "Feature: f\nBackground:\n  Given g\n@REQ-A-1\nScenario Outline: SC-2: h\n  When i\n  Then j\n  And k\nExamples:\n  | l |\n\
                          ## 시나리오 3: m\n- **만일** n\n- **그러면** o\n";
const POINTS: &str = "## PP-1: a\n- Status: CONFIRMED\n- Forbids: redis, `x y`\n- Protects: src/**\n### PP-2: b\n* 상태: 잠정\n";
const COMMITS: &str = r#"{"commits": [{"message": "feat: a\n\nb", "files": ["a", "b"]}]}"#;
const REPORT: &str = r#"Done. {"todo_id": "TODO-1", "status": "PASS", "outputs": {"files_changed": ["a"], "summary": "b"}, "acceptance_criteria": [{"id": "AC-1", "status": "PASS"}], "learnings": ["c"], "issues": [], "decisions": [], "discoveries": ["d", {"summary": "e", "files": ["f"], "conflicts_with": ["PP-1"]}]}"#;

/// TODOs or pivot points of a document that are edited; each edit is parsed again.
const EDITED_MAX: usize = 2;

fn text_of(sample: &[u8]) -> String {
    String::from_utf8_lossy(sample).into_owned()
}

#[test]
fn plans() {
    let mut samples = texts(&[PLAN]);
    samples.extend(files("docs", "md", 4));
    fuzz("plans", &samples, |sample| {
        let text = text_of(sample);
        let plan = PlanDocument::parse(&text);
        let lines = text.split('\n').count();
        for todo in plan.todos.iter().take(EDITED_MAX) {
            assert!((1..=lines).contains(&todo.line));
            let Ok(edited) = PlanDocument::set_status(&text, &todo.id, TodoStatus::Done) else {
                continue;
            };
            let after = PlanDocument::parse(&edited);
            assert_eq!(after.todo(&todo.id).map(|it| it.status), Some(TodoStatus::Done));
            assert_eq!(after.todos.len(), plan.todos.len());
        }
        plan.todos.len()
    });
}

#[test]
fn specifications() {
    fuzz("specifications", &texts(&[SPEC, PLAN, ACCEPTANCE]), |sample| {
        let text = text_of(sample);
        let id = SpecId::parse("SPEC-A-1").expect("an id");
        let faults = check_links(&SpecSources {
            id: &id,
            spec: &SpecDocument::parse(&text),
            plan: &PlanDocument::parse(&text),
            acceptance: Some(&AcceptanceDocument::parse(&text)),
            exists: &|_| false,
        });
        faults.len()
    });
}

#[test]
fn pivot_points() {
    fuzz("pivot_points", &texts(&[POINTS]), |sample| {
        let text = text_of(sample);
        let document = PivotDocument::parse(&text);
        for point in document.points.iter().take(EDITED_MAX) {
            let Ok(edited) = PivotDocument::confirm(&text, &point.id) else { continue };
            assert_eq!(PivotDocument::parse(&edited).points.len(), document.points.len());
        }
        let files = vec!["src/a".to_owned()];
        let discovery = Discovery { summary: text, files, conflicts_with: Vec::new() };
        let _ = check_discovery(&document.points, &discovery);
        document.points.len()
    });
}

#[test]
fn answers_of_workers() {
    fuzz("answers_of_workers", &texts(&[REPORT, COMMITS]), |sample| {
        let text = text_of(sample);
        let todo = PlanDocument::parse(PLAN).todos.remove(0);
        let contradictions =
            WorkerReport::parse(&text).map_or(0, |report| report.contradictions(&todo).len());
        let changed = ["a".to_owned()];
        let faults = CommitProposal::parse(&text)
            .map_or(0, |proposal| proposal.faults(&changed, CommitStyle::Area).len());
        contradictions + faults
    });
}

#[test]
fn prompts() {
    let prompts = [
        "use uam small, please",
        "don't use `uam`",
        "\"uam bugfix\" 말고 uam으로 해 줘\n```\nuam\n```",
    ];
    fuzz("prompts", &texts(&prompts), |sample| {
        usize::from(routed_pipeline(&text_of(sample)).is_some())
    });
}
