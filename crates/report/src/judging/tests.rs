//! The text of a judgement, as readers see it.

use serde_json::{Value, json};

use super::*;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_loops::judge::decision::JudgeOpinion;
use moai_loops::judge::judge_report::ReviewCoverage;
use moai_loops::judge::verdict::{Ruling, SuspicionKind};
use moai_protocol::documents::json_value;

const MOMENT: JudgementContext =
    JudgementContext { iteration: Some(7), rejections: 3, at_ms: 1_772_202_721_000 };

fn path() -> RelPath {
    RelPath::parse("src/a.py").expect("relative")
}

fn judged(ruling: Ruling) -> JudgeReport {
    let ruled = |id: &str, ruling, doubt| CriterionRuling {
        id: id.to_owned(),
        ruling,
        doubt,
        reason: "swallows\u{202e} the error".to_owned(),
        fix_hint: Some("raise it".to_owned()),
        quotes: vec![SourceQuote { path: path(), line_start: 3, line_end: 5, text: "pass".into() }],
    };
    let opinion = JudgeOpinion {
        rulings: vec![ruled("C1", Ruling::Met, None), ruled("C2", ruling, None)],
        suspicions: Vec::new(),
        has_unread: false,
        confidence: 0.9,
    };
    let said = JudgeResult {
        name: "local".into(),
        backend: "openai",
        model: Some("m-1".into()),
        judgement: opinion.judgement(None),
        opinion: Some(opinion),
        calls: 2,
        cost_usd: None,
        is_cached: false,
    };
    let criteria = [("C1", "small functions"), ("C2", "no silent failures")]
        .map(|(id, text)| RubricCriterion { id: id.into(), text: text.into() });
    let kind = SuspicionKind::InstructionInData;
    let suspicion = Suspicion { kind, path: path(), line: Some(9) };
    let listed = vec![SkippedFile { path: "logo.png".into(), reason: "binary".into() }];
    let coverage = ReviewCoverage {
        files: 2,
        shown: 1,
        parts: 1,
        omitted: listed,
        ..ReviewCoverage::default()
    };
    JudgeReport::from_results(criteria.to_vec(), vec![said], vec![suspicion], coverage)
}

#[test]
fn people_see_every_ruling_and_what_was_not_shown() {
    let expected = "judge: NEEDS_FIXES\n\
        C1 met (local): small functions\n  reason: swallows\\u{202e} the error\n  at src/a.py:3-5\n  \
        hint: raise it\n\
        C2 unmet (local): no silent failures\n  reason: swallows\\u{202e} the error\n  \
        at src/a.py:3-5\n  hint: raise it\n\
        suspicion: instruction_in_data at src/a.py:9\nnot shown: logo.png (binary)\n\
        local (m-1): rejected, 2 calls\n1 of 2 changed files shown\n";
    assert_eq!(judge_text(&judged(Ruling::Unmet)), expected);
    let gap = Gap::new(Cause::NotInstalled, "claude was not found");
    let none = JudgeReport::unmeasured(Vec::new(), ReviewCoverage::default(), gap);
    assert!(judge_text(&none).starts_with("judge: SKIPPED\nnot measured: claude was not found\n"));
}

#[test]
fn the_agent_gets_one_line_for_each_open_criterion() {
    let lines = rejection_reasons(&judged(Ruling::Unclear));
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("C2 unclear (local): no silent failures; reason: "), "{lines:?}");
    assert!(rejection_reasons(&judged(Ruling::Met)).is_empty());
}

#[test]
fn the_document_counts_lines_from_zero() {
    let document = json_value(&judge_document(Path::new("/p"), &judged(Ruling::Unmet), 12));
    assert_eq!(document["schema"], "moai-ralph/judge@1");
    assert_eq!(
        (&document["verdict"], &document["review"]),
        (&json!("rejected"), &json!("NEEDS_FIXES"))
    );
    assert_eq!(document["criteria"][1]["evidence"][0]["range"]["start"]["line"], 2);
    assert_eq!(document["suspicions"][0]["line"], 8);
    assert_eq!(document["judges"][0]["cost_usd"], Value::Null);
}

#[test]
fn rejections_are_kept_for_the_agent_and_the_oldest_go_first() {
    let first = feedback_file("", &judged(Ruling::Unmet), MOMENT).expect("a rejection");
    let head =
        "---\n## Iteration 7 — REJECTED (3 consecutive) — 2026-02-27 14:32:01 UTC\n\nC2 unmet";
    assert!(first.starts_with(head), "{first}");
    assert!(!first.contains("C1"));
    let mut file = first.clone();
    for iteration in 8..400 {
        let moment = JudgementContext { iteration: Some(iteration), ..MOMENT };
        file = feedback_file(&file, &judged(Ruling::Unmet), moment).expect("a rejection");
    }
    assert!(file.len() <= JUDGE_FEEDBACK_BYTES_MAX + 1, "{}", file.len());
    assert!(file.starts_with("---\n## Iteration ") && file.contains("Iteration 399"));
    assert_eq!(feedback_file("", &judged(Ruling::Met), MOMENT), None);
    let own = "# my notes";
    assert!(
        feedback_file(own, &judged(Ruling::Unmet), MOMENT)
            .expect("one")
            .starts_with("# my notes\n---")
    );
}

#[test]
fn forty_decisions_are_kept_one_line_each() {
    let mut file = String::new();
    for number in 1..=60 {
        let ruling = if number % 2 == 0 { Ruling::Met } else { Ruling::Unmet };
        let moment = JudgementContext { iteration: Some(number), ..MOMENT };
        file = evolution_file(&file, &judged(ruling), moment).expect("a decision");
    }
    assert_eq!(file.lines().count(), JUDGE_HISTORY_MAX);
    assert!(file.starts_with("[iter 21] REJECTED — C2 unmet, C1 met\n"), "{file}");
    assert!(file.ends_with("[iter 60] APPROVED — C1 C2 met\n"), "{file}");
    let gap = Gap::new(Cause::TimedOut, "late");
    let none = JudgeReport::unmeasured(Vec::new(), ReviewCoverage::default(), gap);
    assert_eq!(evolution_file("", &none, MOMENT), None);
}

#[test]
fn what_somebody_else_wrote_stays() {
    let own = "# my notes\n\n[ ] ask about C2\n- a line\n";
    let mut decisions = format!("{own}[iter 1] APPROVED — C1 met\n");
    let mut rejections = format!("{own}---\nmore\n");
    for number in 2..400 {
        let moment = JudgementContext { iteration: Some(number), ..MOMENT };
        decisions = evolution_file(&decisions, &judged(Ruling::Unmet), moment).expect("a decision");
        rejections =
            feedback_file(&rejections, &judged(Ruling::Unmet), moment).expect("a rejection");
    }
    assert!(decisions.starts_with(&format!("{own}[iter 360] ")), "{decisions}");
    assert_eq!(decisions.lines().count(), own.lines().count() + JUDGE_HISTORY_MAX);
    assert!(rejections.starts_with(&format!("{own}---\nmore\n---\n## Iteration ")));
    let large = format!("{}\n", "mine ".repeat(JUDGE_FEEDBACK_BYTES_MAX));
    let kept = feedback_file(&large, &judged(Ruling::Unmet), MOMENT).expect("a rejection");
    assert!(kept.starts_with(&large) && kept.contains("Iteration 7"));
}
