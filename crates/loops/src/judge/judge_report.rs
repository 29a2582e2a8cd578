//! Results of a review by all judges, for the decision, reports and recorded files.

use super::decision::{JudgeOpinion, Judgement, ReviewVerdict, combine_judgements};
use super::rubric::RubricCriterion;
use super::verdict::{CriterionRuling, Ruling, Suspicion};
use moai_base::evidence::{SensorKind, SensorReading, SkippedFile};
use moai_base::verdict::Gap;

/// The part of a change that was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewCoverage {
    /// Number of changed files.
    pub files: usize,
    /// Number of files shown.
    pub shown: usize,
    /// Number of calls needed to show the change once.
    pub parts: usize,
    /// Files listed and not shown: binary, secret, generated.
    pub omitted: Vec<SkippedFile>,
    /// Files that should have been shown and were not, or not completely.
    pub unread: Vec<SkippedFile>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JudgeResult {
    /// Its name in the configuration.
    pub name: String,
    /// Kind of backend it runs on.
    pub backend: &'static str,
    /// The model that answered, if the backend reports it.
    pub model: Option<String>,
    /// Its conclusion.
    pub judgement: Judgement,
    /// Its opinion; `None` if no answer was usable.
    pub opinion: Option<JudgeOpinion>,
    /// Number of calls made.
    pub calls: usize,
    /// Their cost in US dollars, if the backend reports it.
    pub cost_usd: Option<f64>,
    /// True if the result is that of an earlier review of the same change.
    pub is_cached: bool,
}

/// Combined result of all judges.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeReport {
    /// The conclusion that counts.
    pub judgement: Judgement,
    /// The kind of review that led to it.
    pub review: ReviewVerdict,
    /// The criteria asked about.
    pub criteria: Vec<RubricCriterion>,
    /// One result per judge asked.
    pub judges: Vec<JudgeResult>,
    /// Suspicions found in the added lines without a model.
    pub suspicions: Vec<Suspicion>,
    /// The part of the change that was shown.
    pub coverage: ReviewCoverage,
}

impl JudgeReport {
    /// A report without asking any judge.
    #[must_use]
    pub fn unmeasured(criteria: Vec<RubricCriterion>, coverage: ReviewCoverage, gap: Gap) -> Self {
        let (review, judgement) = combine_judgements(&[Judgement::Unmeasured(gap)]);
        let (judges, suspicions) = (Vec::new(), Vec::new());
        Self { judgement, review, criteria, judges, suspicions, coverage }
    }

    /// Combines the judges' results.
    #[must_use]
    pub fn from_results(
        criteria: Vec<RubricCriterion>,
        judges: Vec<JudgeResult>,
        suspicions: Vec<Suspicion>,
        coverage: ReviewCoverage,
    ) -> Self {
        let judgements: Vec<Judgement> = judges.iter().map(|one| one.judgement.clone()).collect();
        let (review, judgement) = combine_judgements(&judgements);
        Self { judgement, review, criteria, judges, suspicions, coverage }
    }

    /// The gravest ruling on each criterion, with the judge that made it.
    #[must_use]
    pub fn rulings(&self) -> Vec<(&RubricCriterion, &JudgeResult, &CriterionRuling)> {
        let mut all = Vec::new();
        for criterion in &self.criteria {
            let rulings = self.judges.iter().flat_map(|judge| {
                let rulings = judge.opinion.iter().flat_map(|opinion| &opinion.rulings);
                rulings.map(move |ruling| (judge, ruling))
            });
            let gravest = rulings
                .filter(|(_, ruling)| ruling.id == criterion.id)
                .max_by_key(|(_, ruling)| ruling.ruling.gravity());
            all.extend(gravest.map(|(judge, ruling)| (criterion, judge, ruling)));
        }
        all
    }

    /// The rulings that prevent approval.
    #[must_use]
    pub fn open(&self) -> Vec<(&RubricCriterion, &JudgeResult, &CriterionRuling)> {
        let mut rulings = self.rulings();
        rulings.retain(|(_, _, one)| matches!(one.ruling, Ruling::Unmet | Ruling::Unclear));
        rulings
    }

    /// All suspicions, from the text search and the judges, without duplicates.
    #[must_use]
    pub fn suspicions(&self) -> Vec<&Suspicion> {
        let opinions = self.judges.iter().flat_map(|judge| judge.opinion.iter());
        let reported = opinions.flat_map(|opinion| &opinion.suspicions);
        let mut all: Vec<&Suspicion> = self.suspicions.iter().chain(reported).collect();
        all.sort_by(|a, b| (&a.path, a.kind, a.line).cmp(&(&b.path, b.kind, b.line)));
        all.dedup_by(|a, b| (&a.path, a.kind, a.line) == (&b.path, b.kind, b.line));
        all
    }

    /// Total cost in US dollars, as far as backends report it.
    #[must_use]
    pub fn cost_usd(&self) -> Option<f64> {
        self.judges.iter().filter_map(|judge| judge.cost_usd).reduce(|sum, one| sum + one)
    }

    /// The review as a sensor reading.
    #[must_use]
    pub fn reading(&self, elapsed_ms: u64) -> SensorReading {
        let clean = SensorReading::clean("judge", SensorKind::Judge, self.coverage.shown);
        let reading = SensorReading { elapsed_ms, ..clean };
        match &self.judgement {
            Judgement::Approved => reading,
            Judgement::Rejected => SensorReading { dirty: true, ..reading },
            Judgement::Unmeasured(gap) => SensorReading { gap: Some(gap.clone()), ..reading },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::SuspicionKind;
    use super::*;
    use moai_base::path::RelPath;

    fn judge_result(name: &str, rulings: &[(&str, Ruling)], cost_usd: Option<f64>) -> JudgeResult {
        let ruled = |(id, ruling): &(&str, Ruling)| CriterionRuling {
            id: (*id).to_owned(),
            ruling: *ruling,
            doubt: None,
            reason: String::new(),
            fix_hint: None,
            quotes: Vec::new(),
        };
        let suspicion = Suspicion {
            kind: SuspicionKind::Stub,
            path: RelPath::parse("a.py").expect("relative"),
            line: Some(1),
        };
        let opinion = JudgeOpinion {
            rulings: rulings.iter().map(ruled).collect(),
            suspicions: vec![suspicion],
            has_unread: false,
            confidence: 1.0,
        };
        JudgeResult {
            name: name.to_owned(),
            backend: "command",
            model: None,
            judgement: opinion.judgement(None),
            opinion: Some(opinion),
            calls: 1,
            cost_usd,
            is_cached: false,
        }
    }

    #[test]
    fn the_gravest_ruling_of_all_judges_counts() {
        let criteria =
            ["C1", "C2"].map(|id| RubricCriterion { id: id.into(), text: id.into() }).to_vec();
        let results = vec![
            judge_result("a", &[("C1", Ruling::Met), ("C2", Ruling::Met)], Some(0.25)),
            judge_result("b", &[("C1", Ruling::Met), ("C2", Ruling::Unmet)], None),
        ];
        let report =
            JudgeReport::from_results(criteria, results, Vec::new(), ReviewCoverage::default());
        let open: Vec<_> = report
            .open()
            .iter()
            .map(|(one, judge, _)| (one.id.as_str(), judge.name.as_str()))
            .collect();
        assert_eq!(open, [("C2", "b")]);
        assert_eq!(
            (report.judgement.as_str(), report.review.as_str()),
            ("rejected", "NEEDS_FIXES")
        );
        assert_eq!((report.suspicions().len(), report.cost_usd()), (1, Some(0.25)));
        assert!(report.reading(1).dirty);
    }
}
