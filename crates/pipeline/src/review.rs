//! Gate 2: the judges rule on eight categories, and the numbers of critical findings and warnings
//! decide. Without judges or usable answers, the gate does not pass.

use serde::{Deserialize, Serialize};

use crate::gate::GateStatus;
use moai_base::foreign_text::one_line;
use moai_base::limits::{PLAN_TEXT_CHARS_MAX, REVIEW_WARNINGS_MAX};
use moai_base::verdict::{Cause, Gap};
use moai_loops::judge::decision::{Judgement, ReviewVerdict};
use moai_loops::judge::judge_report::{JudgeReport, JudgeResult};
use moai_loops::judge::rubric::{Rubric, RubricCriterion};
use moai_loops::judge::verdict::Ruling;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReviewCategory {
    pub name: &'static str,
    /// The question to the judges.
    question: &'static str,
    /// True if a violation is critical, false if it is a warning.
    is_critical: bool,
}

/// The categories, in the order of their criteria `C1` to `C8`.
pub const REVIEW_CATEGORIES: [ReviewCategory; 8] = [
    ReviewCategory {
        name: "side effects",
        question: "Side effects: the change alters nothing beyond its goal that existing code relies on, \
                   such as shared state, defaults, files or the order of calls.",
        is_critical: true,
    },
    ReviewCategory {
        name: "design impact",
        question: "Design impact: the change fits the structure of the code around it and adds no second \
                   way to do what exists.",
        is_critical: false,
    },
    ReviewCategory {
        name: "structural improvement",
        question: "Structure: the changed code is not needlessly repeated, nested or hard to follow.",
        is_critical: false,
    },
    ReviewCategory {
        name: "API contract",
        question: "Interface contract: callers of changed functions, routes and formats still get what \
                   they were promised.",
        is_critical: true,
    },
    ReviewCategory {
        name: "integration",
        question: "Integration: every part that the change touches is connected: new code is called, and \
                   renamed or removed names are followed everywhere.",
        is_critical: true,
    },
    ReviewCategory {
        name: "hidden bugs",
        question: "Correctness: no input, boundary, error path or concurrency makes the changed code \
                   fail or give a wrong result.",
        is_critical: true,
    },
    ReviewCategory {
        name: "security",
        question: "Security: input of others is checked before it is used, no secret is written down, and \
                   no permission is widened.",
        is_critical: true,
    },
    ReviewCategory {
        name: "production readiness",
        question: "Production: errors are handled and reported, resources are released, and work is \
                   bounded.",
        is_critical: false,
    },
];

/// Severity of a review finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewSeverity {
    /// The change must not ship with it.
    Critical,
    /// A few of them are tolerated.
    Warning,
}

impl ReviewSeverity {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// A category that a judge found unmet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFinding {
    pub category: String,
    pub severity: ReviewSeverity,
    pub judge: String,
    /// `path:line` of the first quote; empty without one.
    pub place: String,
    /// The judge's reason, on one line.
    pub reason: String,
}

/// The review of one state of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryReview {
    /// `SHIP`, `NEEDS_FIXES`, `DEGRADED` or `SKIPPED`.
    pub verdict: String,
    /// Critical findings.
    pub critical: usize,
    pub warnings: usize,
    pub findings: Vec<ReviewFinding>,
    /// Each judge with its own result: `local: approved`.
    pub judges: Vec<String>,
    /// The reason for being degraded or skipped, on one line.
    pub gap: Option<String>,
}

/// The criteria of the eight categories.
#[must_use]
pub fn category_rubric() -> Rubric {
    let criteria = REVIEW_CATEGORIES.iter().enumerate().map(|(at, category)| RubricCriterion {
        id: format!("C{}", at + 1),
        text: category.question.to_owned(),
    });
    Rubric { criteria: criteria.collect(), ..Rubric::default() }
}

impl CategoryReview {
    /// Counts the judges' findings.
    #[must_use]
    pub fn of_report(report: &JudgeReport) -> Self {
        let mut findings = Vec::new();
        for (criterion, judge, ruling) in report.open() {
            let at = report.criteria.iter().position(|one| one.id == criterion.id);
            let Some(category) = at.and_then(|at| REVIEW_CATEGORIES.get(at)) else { continue };
            // An uncertain ruling does not prove a defect.
            let is_sure = ruling.ruling == Ruling::Unmet;
            let severity = if category.is_critical && is_sure {
                ReviewSeverity::Critical
            } else {
                ReviewSeverity::Warning
            };
            let quote = ruling.quotes.first();
            findings.push(ReviewFinding {
                category: category.name.to_owned(),
                severity,
                judge: judge.name.clone(),
                place: quote.map(|it| format!("{}:{}", it.path, it.line_start)).unwrap_or_default(),
                reason: one_line(&ruling.reason, PLAN_TEXT_CHARS_MAX),
            });
        }
        let count = |severity: ReviewSeverity| {
            findings.iter().filter(|finding| finding.severity == severity).count()
        };
        let (critical, warnings) =
            (count(ReviewSeverity::Critical), count(ReviewSeverity::Warning));
        let (verdict, gap) = verdict(report, critical, warnings);
        let named = |judge: &JudgeResult| format!("{}: {}", judge.name, judge.judgement.as_str());
        Self {
            verdict: verdict.as_str().to_owned(),
            critical,
            warnings,
            findings,
            judges: report.judges.iter().map(named).collect(),
            gap: gap.map(|gap| one_line(&gap.to_string(), PLAN_TEXT_CHARS_MAX)),
        }
    }

    #[must_use]
    pub fn gate(&self) -> GateStatus {
        match self.verdict.as_str() {
            "SHIP" => GateStatus::Passed,
            "NEEDS_FIXES" => GateStatus::Failed,
            "DEGRADED" => GateStatus::Degraded,
            _ => GateStatus::Skipped,
        }
    }
}

/// The verdict, and the gap that degrades or skips the gate.
fn verdict(report: &JudgeReport, critical: usize, warnings: usize) -> (ReviewVerdict, Option<Gap>) {
    if critical > 0 || warnings > REVIEW_WARNINGS_MAX {
        return (ReviewVerdict::NeedsFixes, None);
    }
    let mut missing = Vec::new();
    let mut answered = 0;
    for judge in &report.judges {
        match &judge.judgement {
            Judgement::Unmeasured(gap) => missing.push(gap.clone()),
            Judgement::Approved | Judgement::Rejected => answered += 1,
        }
    }
    if report.judges.is_empty()
        && let Judgement::Unmeasured(gap) = &report.judgement
    {
        missing.push(gap.clone());
    }
    // A missing judge proves nothing about the change; one that failed to answer was needed.
    let failed = missing.iter().find(|gap| !is_absent(gap)).cloned();
    match (answered, failed) {
        (_, Some(gap)) => (ReviewVerdict::Degraded, Some(gap)),
        (0, None) => (ReviewVerdict::Skipped, missing.into_iter().next()),
        (_, None) => (ReviewVerdict::Ship, None),
    }
}

/// True if a gap means that there is no judge at all.
fn is_absent(gap: &Gap) -> bool {
    matches!(
        gap.cause,
        Cause::NotInstalled
            | Cause::NoTool
            | Cause::SwitchedOff
            | Cause::NotTrusted
            | Cause::Nothing
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_loops::judge::decision::JudgeOpinion;
    use moai_loops::judge::judge_report::ReviewCoverage;
    use moai_loops::judge::verdict::CriterionRuling;

    fn judge(name: &str, unmet: &[usize], unclear: &[usize]) -> JudgeResult {
        let ruling = |number: usize| CriterionRuling {
            id: format!("C{number}"),
            ruling: if unmet.contains(&number) {
                Ruling::Unmet
            } else if unclear.contains(&number) {
                Ruling::Unclear
            } else {
                Ruling::Met
            },
            doubt: None,
            reason: "because".to_owned(),
            fix_hint: None,
            quotes: Vec::new(),
        };
        let rulings = (1..=8).map(ruling).collect();
        let opinion = JudgeOpinion { rulings, confidence: 1.0, ..JudgeOpinion::default() };
        JudgeResult {
            name: name.to_owned(),
            backend: "command",
            model: None,
            judgement: opinion.judgement(None),
            opinion: Some(opinion),
            calls: 1,
            cost_usd: None,
            is_cached: false,
        }
    }

    fn absent(name: &str, cause: Cause) -> JudgeResult {
        let judgement = Judgement::Unmeasured(Gap::new(cause, "no answer"));
        JudgeResult { judgement, opinion: None, ..judge(name, &[], &[]) }
    }

    fn reviewed(judges: Vec<JudgeResult>) -> String {
        let criteria = category_rubric().criteria;
        let coverage = ReviewCoverage::default();
        let report = JudgeReport::from_results(criteria, judges, Vec::new(), coverage);
        let review = CategoryReview::of_report(&report);
        format!("{} {} {}", review.verdict, review.critical, review.warnings)
    }

    #[test]
    fn no_critical_finding_and_at_most_two_warnings_may_ship() {
        assert_eq!(reviewed(vec![judge("a", &[], &[])]), "SHIP 0 0");
        assert_eq!(reviewed(vec![judge("a", &[2, 8], &[])]), "SHIP 0 2");
        assert_eq!(reviewed(vec![judge("a", &[2, 3, 8], &[])]), "NEEDS_FIXES 0 3");
        assert_eq!(reviewed(vec![judge("a", &[7], &[])]), "NEEDS_FIXES 1 0");
        assert_eq!(reviewed(vec![judge("a", &[], &[6, 7])]), "SHIP 0 2", "unsure is a warning");
        assert_eq!(reviewed(vec![judge("a", &[], &[]), judge("b", &[6], &[])]), "NEEDS_FIXES 1 0");
    }

    #[test]
    fn judges_that_are_not_there_are_told_from_judges_that_failed_to_answer() {
        assert_eq!(reviewed(vec![absent("a", Cause::NotInstalled)]), "SKIPPED 0 0");
        assert_eq!(reviewed(vec![absent("a", Cause::TimedOut)]), "DEGRADED 0 0");
        let one_of_two = vec![judge("a", &[], &[]), absent("b", Cause::NotInstalled)];
        assert_eq!(reviewed(one_of_two), "SHIP 0 0");
        assert_eq!(
            reviewed(vec![judge("a", &[], &[]), absent("b", Cause::Crashed)]),
            "DEGRADED 0 0"
        );
        assert_eq!(
            reviewed(vec![judge("a", &[7], &[]), absent("b", Cause::Crashed)]),
            "NEEDS_FIXES 1 0"
        );
        assert_eq!(reviewed(Vec::new()), "SKIPPED 0 0");
    }

    #[test]
    fn no_category_is_about_words_so_that_no_words_of_the_change_sway_a_judge() {
        for criterion in category_rubric().criteria {
            assert!(!criterion.is_about_words(), "{}", criterion.text);
        }
    }
}
