//! What a run of all judges left: for the decision, for readers, for the files in the tree. Only
//! data and what can be read off it.

use super::decision::{JudgeOpinion, Judgement, ReviewVerdict, combine_judgements};
use super::rubric::RubricCriterion;
use super::verdict::{CriterionRuling, Ruling, Suspicion};
use crate::base::evidence::{SensorKind, SensorReading, SkippedFile};
use crate::base::verdict::Gap;

/// What was shown of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewCoverage {
    /// Changed files.
    pub files: usize,
    /// Those that were shown.
    pub shown: usize,
    /// Calls that one look at the change takes.
    pub parts: usize,
    /// Named and not shown: binary, secret, made by a tool.
    pub omitted: Vec<SkippedFile>,
    /// What should have been shown.
    pub unread: Vec<SkippedFile>,
}

/// What one judge said.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeResult {
    /// Its name in the options.
    pub name: String,
    /// How it is reached.
    pub backend: &'static str,
    /// The model that answered, where that is told.
    pub model: Option<String>,
    /// What it amounts to.
    pub judgement: Judgement,
    /// What it said; `None` when it said nothing that can be used.
    pub opinion: Option<JudgeOpinion>,
    /// Calls that were made.
    pub calls: usize,
    /// What they cost in US dollars, where that is told.
    pub cost_usd: Option<f64>,
    /// The same change was judged before.
    pub is_cached: bool,
}

/// What all judges came to.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeReport {
    /// What counts.
    pub judgement: Judgement,
    /// How it came about.
    pub review: ReviewVerdict,
    /// What was asked about.
    pub criteria: Vec<RubricCriterion>,
    /// One entry for each judge that was asked.
    pub judges: Vec<JudgeResult>,
    /// What a search of the added lines found.
    pub suspicions: Vec<Suspicion>,
    /// What was shown.
    pub coverage: ReviewCoverage,
}

impl JudgeReport {
    /// Nobody was asked.
    #[must_use]
    pub fn unmeasured(criteria: Vec<RubricCriterion>, coverage: ReviewCoverage, gap: Gap) -> Self {
        let (review, judgement) = combine_judgements(&[Judgement::Unmeasured(gap)]);
        let (judges, suspicions) = (Vec::new(), Vec::new());
        Self { judgement, review, criteria, judges, suspicions, coverage }
    }

    /// Puts the judges' words together.
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

    /// The gravest ruling about each criterion, with the judge that made it.
    #[must_use]
    pub fn rulings(&self) -> Vec<(&RubricCriterion, &JudgeResult, &CriterionRuling)> {
        let grave = |ruling| match ruling {
            Ruling::Unmet => 3,
            Ruling::Unclear => 2,
            Ruling::Met => 1,
            Ruling::NotApplicable => 0,
        };
        let of = |criterion: &'_ RubricCriterion| {
            let said = self.judges.iter().flat_map(|judge| {
                let ruled = judge.opinion.iter().flat_map(|opinion| &opinion.rulings);
                ruled.map(move |ruled| (judge, ruled))
            });
            said.filter(|(_, ruled)| ruled.id == criterion.id)
                .max_by_key(|(_, ruled)| grave(ruled.ruling))
        };
        let found = self.criteria.iter().map(|one| (one, of(one)));
        found.filter_map(|(one, said)| said.map(|(judge, ruled)| (one, judge, ruled))).collect()
    }

    /// What stands in the way of approval.
    #[must_use]
    pub fn open(&self) -> Vec<(&RubricCriterion, &JudgeResult, &CriterionRuling)> {
        let is_open = |ruling| matches!(ruling, Ruling::Unmet | Ruling::Unclear);
        self.rulings().into_iter().filter(|(_, _, ruled)| is_open(ruled.ruling)).collect()
    }

    /// All suspicions, of the search and of the judges, each once.
    #[must_use]
    pub fn suspicions(&self) -> Vec<&Suspicion> {
        let said = self.judges.iter().flat_map(|judge| judge.opinion.iter());
        let said = said.flat_map(|opinion| &opinion.suspicions);
        let mut all: Vec<&Suspicion> = self.suspicions.iter().chain(said).collect();
        let key = |one: &&Suspicion| (one.path.clone(), one.kind, one.line);
        all.sort_by_key(key);
        all.dedup_by_key(|one| key(one));
        all
    }

    /// What the judges cost, as far as they tell.
    #[must_use]
    pub fn cost_usd(&self) -> Option<f64> {
        self.judges.iter().filter_map(|judge| judge.cost_usd).reduce(|sum, one| sum + one)
    }

    /// The judges as one sensor's reading.
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
    use crate::base::path::RelPath;

    fn said(name: &str, rulings: &[(&str, Ruling)], cost_usd: Option<f64>) -> JudgeResult {
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
        let said = vec![
            said("a", &[("C1", Ruling::Met), ("C2", Ruling::Met)], Some(0.25)),
            said("b", &[("C1", Ruling::Met), ("C2", Ruling::Unmet)], None),
        ];
        let judged =
            JudgeReport::from_results(criteria, said, Vec::new(), ReviewCoverage::default());
        let open: Vec<_> = judged
            .open()
            .iter()
            .map(|(one, judge, _)| (one.id.as_str(), judge.name.as_str()))
            .collect();
        assert_eq!(open, [("C2", "b")]);
        assert_eq!(
            (judged.judgement.as_str(), judged.review.as_str()),
            ("rejected", "NEEDS_FIXES")
        );
        assert_eq!((judged.suspicions().len(), judged.cost_usd()), (1, Some(0.25)));
        assert!(judged.reading(1).dirty);
    }
}
