//! Turns answers into a decision. Approval is computed only here: every criterion is met with valid
//! quotes, or not applicable with at least one met; two calls agree; and the whole change was
//! shown.

use std::collections::BTreeMap;

use super::change::ReviewChange;
use super::parts::FileOrder;
use super::quotes;
use super::verdict::{CriterionRuling, JudgeAnswer, Ruling, RulingDoubt, Suspicion};
use moai_base::limits::JUDGE_CONFIDENCE_MIN;
use moai_base::verdict::{Cause, Gap};

/// Conclusion of one judge, or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Every criterion is met and the whole change was shown.
    Approved,
    /// Some criterion is unmet or unclear.
    Rejected,
    /// Nothing was judged, or not all of it.
    Unmeasured(Gap),
}

impl Judgement {
    /// Name in JSON.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Unmeasured(_) => "unmeasured",
        }
    }
}

/// Summary of several judges; distinguishes a judge that could not judge from one that approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// No judge gave a usable opinion.
    Skipped,
    /// Some approved; others could not judge.
    Degraded,
    /// All approved.
    Ship,
    /// At least one rejected.
    NeedsFixes,
}

impl ReviewVerdict {
    /// Name in JSON and in texts.
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

/// One judge's opinion about a whole change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JudgeOpinion {
    /// One ruling per criterion, in rubric order.
    pub rulings: Vec<CriterionRuling>,
    /// Suspicions it reported.
    pub suspicions: Vec<Suspicion>,
    /// True if it could not assess everything it was shown.
    pub has_unread: bool,
    /// Lowest confidence of its answers, from 0 to 1.
    pub confidence: f64,
}

/// The judge approved the planted wrong function, so its answers are worthless, now and in later
/// calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanaryApproved;

impl From<CanaryApproved> for Gap {
    fn from(_: CanaryApproved) -> Self {
        let detail = "the judge trusts comments: it approved a planted wrong function";
        Self::new(Cause::Refused, detail)
            .with_remedy("configure another model; this one is not used for this change again")
    }
}

/// Validates an answer: the canary, the list of unread files and the quotes.
pub fn check_answer(
    mut answer: JudgeAnswer,
    canary: Option<&str>,
    change: &ReviewChange,
) -> Result<JudgeAnswer, CanaryApproved> {
    if let Some(canary) = canary {
        if answer.rulings.iter().any(|ruled| ruled.id == canary && ruled.ruling == Ruling::Met) {
            return Err(CanaryApproved);
        }
        answer.rulings.retain(|ruled| ruled.id != canary);
    }
    // Files that are omitted on purpose do not count as unread.
    answer.unread.retain(|path| change.omitted.iter().all(|file| file.path != *path));
    quotes::verify_quotes(&mut answer, change);
    Ok(answer)
}

impl JudgeOpinion {
    /// Merges the answers about all parts: unmet in any part is unmet; met needs one part that
    /// shows it.
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

    /// True if the rulings alone would approve the change.
    #[must_use]
    pub fn would_approve(&self) -> bool {
        self.rulings.iter().all(|ruled| matches!(ruled.ruling, Ruling::Met | Ruling::NotApplicable))
            && self.rulings.iter().any(|ruled| ruled.ruling == Ruling::Met)
    }

    /// True if a second, independent call must confirm the opinion.
    #[must_use]
    pub fn needs_second(&self) -> bool {
        self.would_approve() || self.confidence < JUDGE_CONFIDENCE_MIN
    }

    /// Merges a second call: rulings that differ become unclear.
    #[must_use]
    pub fn merge_second(mut self, other: Self) -> Self {
        for ruled in &mut self.rulings {
            let same = other.rulings.iter().find(|it| it.id == ruled.id);
            if same.is_none_or(|it| it.ruling != ruled.ruling) {
                ruled.doubt = Some(ruled.doubt.unwrap_or(RulingDoubt::Disagreement));
                ruled.ruling = Ruling::Unclear;
            }
        }
        self.suspicions.extend(other.suspicions);
        self.has_unread |= other.has_unread;
        self.confidence = self.confidence.min(other.confidence);
        self
    }

    /// The conclusion; `gap` says which part of the change was not shown.
    #[must_use]
    pub fn judgement(&self, gap: Option<Gap>) -> Judgement {
        if self.rulings.iter().any(|ruled| matches!(ruled.ruling, Ruling::Unmet | Ruling::Unclear))
        {
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
        let detail = "no criterion applies to this change";
        Judgement::Unmeasured(Gap::new(Cause::Nothing, detail))
    }
}

fn graver_ruling(a: CriterionRuling, b: CriterionRuling) -> CriterionRuling {
    let is_first = a.ruling.gravity() >= b.ruling.gravity();
    let (mut kept, other) = if is_first { (a, b) } else { (b, a) };
    if kept.ruling == other.ruling {
        kept.quotes.extend(other.quotes);
    }
    kept
}

/// File orders of the first call and of the confirming second one.
pub const ORDERS: [FileOrder; 2] = [FileOrder::Risk, FileOrder::Reversed];

/// Combines all judges; without any, the result is unmeasured.
#[must_use]
pub fn combine_judgements(judgements: &[Judgement]) -> (ReviewVerdict, Judgement) {
    let gap = judgements.iter().find_map(|judgement| match judgement {
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
    use moai_base::evidence::SkippedFile;

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

    fn ruling_names(opinion: &JudgeOpinion) -> Vec<String> {
        opinion
            .rulings
            .iter()
            .map(|ruled| format!("{} {}", ruled.id, ruled.ruling.as_str()))
            .collect()
    }

    fn gap() -> Gap {
        Gap::new(Cause::TimedOut, "no answer")
    }

    use Ruling::{Met, NotApplicable, Unclear, Unmet};

    #[test]
    fn approval_needs_met_criteria_and_a_complete_view() {
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
        assert_eq!(ruling_names(&agreed), ["C1 met", "C2 unclear"]);
        assert_eq!(agreed.rulings[1].doubt, Some(RulingDoubt::Disagreement));
        assert_eq!(agreed.judgement(None), Judgement::Rejected);
        let lost = opinion(&[("C1", Met)]).merge_second(opinion(&[]));
        assert_eq!(ruling_names(&lost), ["C1 unclear"]);
    }

    #[test]
    fn parts_merge_into_one_review_in_rubric_order() {
        let part = |rulings: &[(&str, Ruling)]| {
            let JudgeOpinion { rulings: ruled, suspicions, confidence, .. } = opinion(rulings);
            JudgeAnswer { rulings: ruled, suspicions, unread: Vec::new(), confidence }
        };
        let all = JudgeOpinion::from_answers(vec![
            part(&[("C10", NotApplicable), ("C2", Met), ("C1", NotApplicable)]),
            part(&[("C10", NotApplicable), ("C2", Unmet), ("C1", Met)]),
        ]);
        assert_eq!(ruling_names(&all), ["C1 met", "C2 unmet", "C10 not_applicable"]);
    }

    #[test]
    fn a_judge_that_approves_the_canary_is_refused() {
        let change = change(vec![file("a.py", None, Some("value = 1\n"))]);
        let evidence =
            json!([{"path": "a.py", "line_start": 1, "line_end": 1, "quote": "value = 1"}]);
        let answer_json = answer(&["C1", "C2"], &evidence);
        let believing = parse(&answer_json.to_string(), &["C1", "C2"]).expect("usable");
        assert!(check_answer(believing.clone(), Some("C2"), &change).is_err());
        let mut wary = believing;
        wary.rulings[1].ruling = Unmet;
        let wary = check_answer(wary, Some("C2"), &change).expect("reliable");
        assert_eq!((wary.rulings.len(), wary.rulings[0].ruling), (1, Met));
    }

    #[test]
    fn omitted_files_do_not_count_as_unread() {
        let mut change = change(vec![file("a.py", None, Some("value = 1\n"))]);
        let reason = "binary".to_owned();
        change.omitted.push(SkippedFile { path: "logo.png".into(), reason });
        let has_unread = |paths: Value| {
            let mut answer_json = answer(&["C1"], &json!([]));
            answer_json["unread"] = paths;
            let answer = parse(&answer_json.to_string(), &["C1"]).expect("usable");
            JudgeOpinion::from_answers(vec![check_answer(answer, None, &change).expect("reliable")])
                .has_unread
        };
        assert!(!has_unread(json!([])) && !has_unread(json!(["logo.png"])));
        assert!(has_unread(json!(["a.py"])) && has_unread(json!(["logo.png", "most of it"])));
    }

    #[test]
    fn judges_that_could_not_judge_are_distinguished_from_approving_ones() {
        use Judgement::{Approved, Rejected, Unmeasured};
        let check = |judgements: &[Judgement], review: ReviewVerdict, word: &str| {
            let (verdict, judgement) = combine_judgements(judgements);
            assert_eq!((verdict, judgement.as_str()), (review, word), "{judgements:?}");
        };
        check(&[], ReviewVerdict::Skipped, "unmeasured");
        check(&[Unmeasured(gap())], ReviewVerdict::Skipped, "unmeasured");
        check(&[Approved, Unmeasured(gap())], ReviewVerdict::Degraded, "unmeasured");
        check(&[Approved, Approved], ReviewVerdict::Ship, "approved");
        check(&[Approved, Rejected, Unmeasured(gap())], ReviewVerdict::NeedsFixes, "rejected");
    }
}
