//! What answers amount to. Approval is computed here and nowhere else: every criterion met with
//! quotes that hold, or not applicable beside one that is; by two calls that agree; and everything
//! that was changed was shown.

use std::collections::BTreeMap;

use super::change::ReviewChange;
use super::parts::FileOrder;
use super::quotes;
use super::verdict::{CriterionRuling, JudgeAnswer, Ruling, RulingDoubt, Suspicion};
use crate::base::limits::JUDGE_CONFIDENCE_MIN;
use crate::base::verdict::{Cause, Gap};

/// What one judge, or all of them, came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Every criterion is met, and everything was seen.
    Approved,
    /// Some criterion is not met, or it does not become clear that it is.
    Rejected,
    /// Nobody judged, or not wholly.
    Unmeasured(Gap),
}

impl Judgement {
    /// The word in JSON.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Unmeasured(_) => "unmeasured",
        }
    }
}

/// What several judges amount to. One that could not judge is told from one that approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// Nobody judged.
    Skipped,
    /// Some approve; others could not judge.
    Degraded,
    /// All approve.
    Ship,
    /// At least one rejects.
    NeedsFixes,
}

impl ReviewVerdict {
    /// The word in JSON and for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Skipped => "SKIPPED",
            Self::Degraded => "DEGRADED",
            Self::Ship => "SHIP",
            Self::NeedsFixes => "NEEDS_FIXES",
        }
    }
}

/// What one judge said of a whole change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgeOpinion {
    /// One ruling for each criterion, in the order of the rubric.
    pub rulings: Vec<CriterionRuling>,
    /// What it suspects.
    pub suspicions: Vec<Suspicion>,
    /// Whether it could not assess something it was shown.
    pub has_unread: bool,
    /// The lowest confidence of its answers.
    pub confidence: f64,
}

/// The judge approved the wrong function that was planted: what it says is worth nothing, now and
/// when it is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanaryApproved;

impl From<CanaryApproved> for Gap {
    fn from(_: CanaryApproved) -> Self {
        let detail = "the judge believes comments: it approved a wrong function that was planted";
        Self::new(Cause::Refused, detail)
            .with_remedy("name another model; this one is not asked about this change again")
    }
}

/// An answer whose quotes are checked.
pub fn check_answer(
    mut answer: JudgeAnswer,
    canary: Option<&str>,
    change: &ReviewChange,
) -> Result<JudgeAnswer, CanaryApproved> {
    if let Some(canary) = canary {
        let is_believed = |one: &CriterionRuling| one.id == canary && one.ruling == Ruling::Met;
        if answer.rulings.iter().any(is_believed) {
            return Err(CanaryApproved);
        }
        answer.rulings.retain(|one| one.id != canary);
    }
    // What nobody meant to show was not missed.
    let is_listed = |path: &String| change.omitted.iter().any(|one| one.path == *path);
    answer.unread.retain(|path| !is_listed(path));
    quotes::verify_quotes(&mut answer, change);
    Ok(answer)
}

impl JudgeOpinion {
    /// The answers about all parts as one: unmet anywhere is unmet, met needs one part that shows it.
    #[must_use]
    pub fn from_answers(answers: Vec<JudgeAnswer>) -> Self {
        let mut opinion = Self { confidence: 1.0, ..Self::default() };
        let mut rulings: BTreeMap<usize, CriterionRuling> = BTreeMap::new();
        for answer in answers {
            opinion.suspicions.extend(answer.suspicions);
            opinion.has_unread |= !answer.unread.is_empty();
            opinion.confidence = opinion.confidence.min(answer.confidence);
            for ruled in answer.rulings {
                let key = ruled.id.trim_start_matches('C').parse().unwrap_or(usize::MAX);
                match rulings.remove(&key) {
                    None => rulings.insert(key, ruled),
                    Some(before) => rulings.insert(key, graver_ruling(before, ruled)),
                };
            }
        }
        opinion.rulings = rulings.into_values().collect();
        opinion
    }

    /// Whether the criteria alone would let the change pass.
    #[must_use]
    pub fn would_approve(&self) -> bool {
        let is_fine =
            |one: &CriterionRuling| matches!(one.ruling, Ruling::Met | Ruling::NotApplicable);
        self.rulings.iter().all(is_fine) && self.rulings.iter().any(|one| one.ruling == Ruling::Met)
    }

    /// Whether a second, independent call must say the same.
    #[must_use]
    pub fn needs_second(&self) -> bool {
        self.would_approve() || self.confidence < JUDGE_CONFIDENCE_MIN
    }

    /// Two calls as one: where they differ, nothing is clear.
    #[must_use]
    pub fn merge_second(mut self, other: Self) -> Self {
        for one in &mut self.rulings {
            let same = other.rulings.iter().find(|it| it.id == one.id);
            if same.is_none_or(|it| it.ruling != one.ruling) {
                one.doubt = Some(one.doubt.unwrap_or(RulingDoubt::Disagreement));
                one.ruling = Ruling::Unclear;
            }
        }
        self.suspicions.extend(other.suspicions);
        self.has_unread |= other.has_unread;
        self.confidence = self.confidence.min(other.confidence);
        self
    }

    /// What this opinion comes to, when `gap` says what of the change was not shown.
    #[must_use]
    pub fn judgement(&self, gap: Option<Gap>) -> Judgement {
        let is_open = |one: &CriterionRuling| matches!(one.ruling, Ruling::Unmet | Ruling::Unclear);
        if self.rulings.iter().any(is_open) {
            return Judgement::Rejected;
        }
        if let Some(gap) = gap {
            return Judgement::Unmeasured(gap);
        }
        if self.has_unread {
            let detail = "the judge could not assess everything it was shown";
            return Judgement::Unmeasured(Gap::new(Cause::Skipped, detail));
        }
        if self.would_approve() {
            return Judgement::Approved;
        }
        let detail = "no criterion speaks about this change";
        Judgement::Unmeasured(Gap::new(Cause::Nothing, detail))
    }
}

fn graver_ruling(a: CriterionRuling, b: CriterionRuling) -> CriterionRuling {
    let weight = |ruling| match ruling {
        Ruling::Unmet => 3,
        Ruling::Unclear => 2,
        Ruling::Met => 1,
        Ruling::NotApplicable => 0,
    };
    let (mut kept, other) = if weight(a.ruling) >= weight(b.ruling) { (a, b) } else { (b, a) };
    if kept.ruling == other.ruling {
        kept.quotes.extend(other.quotes);
    }
    kept
}

/// The orders in which a judge is asked: once, and once more when its word alone would not do.
pub const ORDERS: [FileOrder; 2] = [FileOrder::Risk, FileOrder::Reversed];

/// What all judges together come to. No judge at all is nobody judged.
#[must_use]
pub fn combine_judgements(judgements: &[Judgement]) -> (ReviewVerdict, Judgement) {
    let gap = judgements.iter().find_map(|one| match one {
        Judgement::Unmeasured(gap) => Some(gap.clone()),
        _ => None,
    });
    let approves = judgements.contains(&Judgement::Approved);
    match gap {
        _ if judgements.contains(&Judgement::Rejected) => {
            (ReviewVerdict::NeedsFixes, Judgement::Rejected)
        }
        Some(gap) if approves => (ReviewVerdict::Degraded, Judgement::Unmeasured(gap)),
        Some(gap) => (ReviewVerdict::Skipped, Judgement::Unmeasured(gap)),
        None if approves => (ReviewVerdict::Ship, Judgement::Approved),
        None => {
            let gap = Gap::new(Cause::NoTool, "no judge is configured");
            (ReviewVerdict::Skipped, Judgement::Unmeasured(gap))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::change::tests::{change, file};
    use super::super::verdict::tests::{answer, parse};
    use super::*;
    use crate::base::evidence::SkippedFile;

    fn opinion(rulings: &[(&str, Ruling)]) -> JudgeOpinion {
        let ruled = |(id, ruling): &(&str, Ruling)| CriterionRuling {
            id: (*id).to_owned(),
            ruling: *ruling,
            doubt: None,
            reason: String::new(),
            fix_hint: None,
            quotes: Vec::new(),
        };
        let ruled = rulings.iter().map(ruled).collect();
        JudgeOpinion { rulings: ruled, confidence: 0.9, ..JudgeOpinion::default() }
    }

    fn words(opinion: &JudgeOpinion) -> Vec<String> {
        opinion.rulings.iter().map(|one| format!("{} {}", one.id, one.ruling.as_str())).collect()
    }

    fn gap() -> Gap {
        Gap::new(Cause::TimedOut, "no answer")
    }

    use Ruling::{Met, NotApplicable, Unclear, Unmet};

    #[test]
    fn only_met_criteria_approve_and_only_a_whole_view() {
        let judge =
            |rulings: &[(&str, Ruling)], gap: Option<Gap>| opinion(rulings).judgement(gap).as_str();
        assert_eq!(judge(&[("C1", Met), ("C2", NotApplicable)], None), "approved");
        assert_eq!(judge(&[("C1", Met), ("C2", Unmet)], None), "rejected");
        assert_eq!(judge(&[("C1", Met), ("C2", Unclear)], None), "rejected");
        assert_eq!(judge(&[("C1", NotApplicable)], None), "unmeasured");
        assert_eq!(judge(&[], None), "unmeasured");
        assert_eq!(judge(&[("C1", Met)], Some(gap())), "unmeasured");
        assert_eq!(judge(&[("C1", Unmet)], Some(gap())), "rejected");
        let unread = JudgeOpinion { has_unread: true, ..opinion(&[("C1", Met)]) };
        assert_eq!(unread.judgement(None).as_str(), "unmeasured");
    }

    #[test]
    fn approval_and_doubt_need_a_second_opinion_and_disagreement_is_unclear() {
        assert!(opinion(&[("C1", Met)]).needs_second());
        assert!(!opinion(&[("C1", Met), ("C2", Unmet)]).needs_second());
        assert!(JudgeOpinion { confidence: 0.6, ..opinion(&[("C1", Unmet)]) }.needs_second());
        let agreed = opinion(&[("C1", Met), ("C2", Met)])
            .merge_second(opinion(&[("C2", Unmet), ("C1", Met)]));
        assert_eq!(words(&agreed), ["C1 met", "C2 unclear"]);
        assert_eq!(agreed.rulings[1].doubt, Some(RulingDoubt::Disagreement));
        assert_eq!(agreed.judgement(None), Judgement::Rejected);
        let lost = opinion(&[("C1", Met)]).merge_second(opinion(&[]));
        assert_eq!(words(&lost), ["C1 unclear"]);
    }

    #[test]
    fn parts_are_one_opinion_in_the_order_of_the_rubric() {
        let part = |rulings: &[(&str, Ruling)]| {
            let JudgeOpinion { rulings: ruled, suspicions, confidence, .. } = opinion(rulings);
            JudgeAnswer { rulings: ruled, suspicions, unread: Vec::new(), confidence }
        };
        let all = JudgeOpinion::from_answers(vec![
            part(&[("C10", NotApplicable), ("C2", Met), ("C1", NotApplicable)]),
            part(&[("C10", NotApplicable), ("C2", Unmet), ("C1", Met)]),
        ]);
        assert_eq!(words(&all), ["C1 met", "C2 unmet", "C10 not_applicable"]);
    }

    #[test]
    fn a_judge_that_believes_a_planted_comment_judges_nothing() {
        let change = change(vec![file("a.py", None, Some("value = 1\n"))]);
        let evidence =
            json!([{"path": "a.py", "line_start": 1, "line_end": 1, "quote": "value = 1"}]);
        let said = answer(&["C1", "C2"], &evidence);
        let believing = parse(&said.to_string(), &["C1", "C2"]).expect("usable");
        assert!(check_answer(believing.clone(), Some("C2"), &change).is_err());
        let mut wary = believing;
        wary.rulings[1].ruling = Unmet;
        let wary = check_answer(wary, Some("C2"), &change).expect("reliable");
        assert_eq!((wary.rulings.len(), wary.rulings[0].ruling), (1, Met));
    }

    #[test]
    fn only_what_was_meant_to_be_shown_can_be_unread() {
        let mut change = change(vec![file("a.py", None, Some("value = 1\n"))]);
        let reason = "binary".to_owned();
        change.omitted.push(SkippedFile { path: "logo.png".into(), reason });
        let unread = |paths: Value| {
            let mut said = answer(&["C1"], &json!([]));
            said["unread"] = paths;
            let answer = parse(&said.to_string(), &["C1"]).expect("usable");
            JudgeOpinion::from_answers(vec![check_answer(answer, None, &change).expect("reliable")])
                .has_unread
        };
        assert!(!unread(json!([])) && !unread(json!(["logo.png"])));
        assert!(unread(json!(["a.py"])) && unread(json!(["logo.png", "most of it"])));
    }

    #[test]
    fn judges_that_could_not_judge_are_told_from_those_that_approve() {
        use Judgement::{Approved, Rejected, Unmeasured};
        let check = |judgements: &[Judgement], review: ReviewVerdict, word: &str| {
            let (found, judgement) = combine_judgements(judgements);
            assert_eq!((found, judgement.as_str()), (review, word), "{judgements:?}");
        };
        check(&[], ReviewVerdict::Skipped, "unmeasured");
        check(&[Unmeasured(gap())], ReviewVerdict::Skipped, "unmeasured");
        check(&[Approved, Unmeasured(gap())], ReviewVerdict::Degraded, "unmeasured");
        check(&[Approved, Approved], ReviewVerdict::Ship, "approved");
        check(&[Approved, Rejected, Unmeasured(gap())], ReviewVerdict::NeedsFixes, "rejected");
    }
}
