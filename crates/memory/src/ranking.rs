//! Ranks hits by how exactly they match the query, their age relative to their kind, their
//! proximity to the current work, and their importance.

use moai_base::limits::RANKED_ROWS_MAX;
use moai_base::time_units::MS_PER_DAY;

use crate::database::MatchedRow;
use crate::exactness::exactness;
use crate::observation::StoredObservation;
use crate::query::{Query, StageHit, StageKind};

const EXACTNESS_WEIGHT: f64 = 0.55;
const RECENCY_WEIGHT: f64 = 0.20;
const PROXIMITY_WEIGHT: f64 = 0.15;
const IMPORTANCE_WEIGHT: f64 = 0.10;
/// Difference in exactness between the first and the last row of a stage.
const ORDER_SPREAD: f64 = 0.2;
/// Weight of [`prior`] relative to a unit.
const PRIOR_WEIGHT: f64 = 0.2;
/// Weight of a text's brevity, while nothing else is known of it.
const BREVITY_WEIGHT: f64 = 0.3;
/// Tokens of a text that is neither short nor long.
const TYPICAL_TOKENS: f64 = 120.0;
/// Factor for a row that a later one has replaced.
const SUPERSEDED_SHARE: f64 = 0.5;

/// Names of kinds in other systems, in lower case with `_`.
const SYNONYMS: [(&str, ObservationKind); 34] = [
    ("bugfix", ObservationKind::Fix),
    ("bug_fix", ObservationKind::Fix),
    ("fixed", ObservationKind::Fix),
    ("solution", ObservationKind::Fix),
    ("resolution", ObservationKind::Fix),
    ("change", ObservationKind::Edit),
    ("file_edit", ObservationKind::Edit),
    ("write", ObservationKind::Edit),
    ("refactor", ObservationKind::Edit),
    ("feature", ObservationKind::Edit),
    ("tool_use", ObservationKind::Command),
    ("tool", ObservationKind::Command),
    ("bash", ObservationKind::Command),
    ("shell", ObservationKind::Command),
    ("log", ObservationKind::Command),
    ("error", ObservationKind::Diagnostic),
    ("warning", ObservationKind::Diagnostic),
    ("bug", ObservationKind::Diagnostic),
    ("problem", ObservationKind::Diagnostic),
    ("test_failure", ObservationKind::Test),
    ("test_run", ObservationKind::Test),
    ("tests", ObservationKind::Test),
    ("choice", ObservationKind::Decision),
    ("architecture", ObservationKind::Decision),
    ("adr", ObservationKind::Decision),
    ("rule", ObservationKind::Decision),
    ("denied", ObservationKind::Blocked),
    ("judgement", ObservationKind::Verdict),
    ("review", ObservationKind::Verdict),
    ("request", ObservationKind::Prompt),
    ("user_prompt", ObservationKind::Prompt),
    ("question", ObservationKind::Prompt),
    ("summary", ObservationKind::Digest),
    ("session_summary", ObservationKind::Digest),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObservationKind {
    /// A change of a file.
    Edit,
    /// A command and its result.
    Command,
    /// A problem that a sensor found.
    Diagnostic,
    /// A run of tests.
    Test,
    /// A change that removed a problem.
    Fix,
    /// A decision and its reason.
    Decision,
    /// A call that was refused.
    Blocked,
    /// The end of a loop or a ruling of a judge.
    Verdict,
    /// A text that a user asked to remember.
    Note,
    /// A user's request.
    Prompt,
    /// Summary of a session.
    Digest,
}

impl ObservationKind {
    pub const ALL: [Self; 11] = [
        Self::Edit,
        Self::Command,
        Self::Diagnostic,
        Self::Test,
        Self::Fix,
        Self::Decision,
        Self::Blocked,
        Self::Verdict,
        Self::Note,
        Self::Prompt,
        Self::Digest,
    ];

    /// Its name in the store and in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Command => "command",
            Self::Diagnostic => "diagnostic",
            Self::Test => "test",
            Self::Fix => "fix",
            Self::Decision => "decision",
            Self::Blocked => "blocked",
            Self::Verdict => "verdict",
            Self::Note => "note",
            Self::Prompt => "prompt",
            Self::Digest => "digest",
        }
    }

    /// True for events of a session: the same text in another session is a different observation.
    /// Decisions, notes, prompts and fixes with the same text are one observation.
    #[must_use]
    pub fn is_of_one_session(self) -> bool {
        match self {
            Self::Edit
            | Self::Command
            | Self::Diagnostic
            | Self::Test
            | Self::Blocked
            | Self::Verdict
            | Self::Digest => true,
            Self::Fix | Self::Decision | Self::Note | Self::Prompt => false,
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind for another system's name, ignoring case; [`Self::Note`] for unknown names.
    #[must_use]
    pub fn from_foreign_name(word: &str) -> Self {
        let word = word.trim().to_lowercase().replace(['-', ' '], "_");
        let synonym = SYNONYMS.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
        Self::from_name(&word).or(synonym).unwrap_or(Self::Note)
    }

    /// Days after which its recency has halved.
    #[must_use]
    pub fn half_life_days(self) -> f64 {
        match self {
            Self::Decision | Self::Note => 180.0,
            Self::Fix | Self::Verdict | Self::Digest => 60.0,
            Self::Diagnostic | Self::Test | Self::Blocked | Self::Prompt => 21.0,
            Self::Edit | Self::Command => 7.0,
        }
    }
}

/// Proximity of an observation to the current work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Proximity {
    /// Nothing in common.
    Elsewhere,
    SameBranch,
    /// The same code of a finding.
    SameCode,
    /// A file in the same folder.
    SameFolder,
    SameFile,
}

impl Proximity {
    /// Two paths relative to one root, with `/`.
    #[must_use]
    pub fn of_paths(one: &str, other: &str) -> Self {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        if one == other {
            Self::SameFile
        } else if folder(one).is_some() && folder(one) == folder(other) {
            Self::SameFolder
        } else {
            Self::Elsewhere
        }
    }

    fn score(self) -> f64 {
        match self {
            Self::SameFile => 1.0,
            Self::SameFolder => 0.7,
            Self::SameCode => 0.5,
            Self::SameBranch => 0.4,
            Self::Elsewhere => 0.0,
        }
    }
}

/// A row of the index with the facts that its rank depends on.
#[derive(Clone, Copy, Debug)]
pub struct RankingCandidate<'t> {
    /// Row, stage, and order within the stage.
    pub hit: StageHit,
    /// Title and body.
    pub text: &'t str,
    pub kind: ObservationKind,
    /// Time of writing, in milliseconds since 1970.
    pub at_ms: i64,
    /// Its closest proximity.
    pub proximity: Proximity,
    /// From 0 to 1: a fix of a failing check has 1, an undone fix 0.2.
    pub importance: f64,
    /// Number of repetitions.
    pub repeats: u32,
    /// True if a later observation replaces it.
    pub is_superseded: bool,
    pub session: i64,
    /// [`crate::dedupe::simhash`] of its text.
    pub simhash: Option<u64>,
}

/// The parts of a score, each before it is weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreParts {
    /// How exactly the text matches the whole query: from 0 to 1.2.
    pub exactness: f64,
    /// How exactly it matches the units that it has, from 0 to 1.2; not part of the score.
    pub found_exactness: f64,
    /// From 0 to 1.
    pub recency: f64,
    /// From 0 to 1.
    pub proximity: f64,
    /// From 0 to 1.
    pub importance: f64,
}

/// A row with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedHit {
    pub id: i64,
    /// The strictest stage that found it.
    pub stage: StageKind,
    pub session: i64,
    /// Of its text.
    pub simhash: Option<u64>,
    /// The weighted sum; comparable within one list only.
    pub score: f64,
    /// Its components.
    pub parts: ScoreParts,
}

/// The candidates with their scores, the best first; of equal ones the most recently stored. No age
/// excludes anything; an observation with a future time counts as new.
#[must_use]
pub fn rank(query: &Query, candidates: &[RankingCandidate<'_>], now_ms: i64) -> Vec<RankedHit> {
    let mut ranked: Vec<RankedHit> =
        candidates.iter().map(|candidate| ranked_hit(query, candidate, now_ms)).collect();
    let most = ranked.iter().map(|hit| hit.parts.exactness).fold(0.0, f64::max);
    for hit in &mut ranked {
        hit.score = score(&hit.parts, most);
    }
    ranked.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then(one.stage.cmp(&other.stage)).then(other.id.cmp(&one.id))
    });
    ranked
}

fn ranked_hit(query: &Query, candidate: &RankingCandidate<'_>, now_ms: i64) -> RankedHit {
    let exactness = exactness(query, candidate.text);
    RankedHit {
        id: candidate.hit.id,
        stage: candidate.hit.stage,
        session: candidate.session,
        simhash: candidate.simhash,
        score: 0.0,
        parts: ScoreParts {
            exactness: (exactness.of_query - order_loss(candidate)).max(0.0),
            found_exactness: exactness.of_found,
            recency: recency(candidate.kind, candidate.at_ms, now_ms),
            proximity: candidate.proximity.score(),
            importance: importance(candidate),
        },
    }
}

/// The weighted sum. Without an exact match, the best text counts as exact; otherwise age would
/// decide.
fn score(parts: &ScoreParts, most_exact: f64) -> f64 {
    let scale = if most_exact > 0.0 { most_exact.min(1.0) } else { 1.0 };
    EXACTNESS_WEIGHT * parts.exactness / scale
        + RECENCY_WEIGHT * parts.recency
        + PROXIMITY_WEIGHT * parts.proximity
        + IMPORTANCE_WEIGHT * parts.importance
}

/// The penalty for a text's position in the index order. Rarer words and shorter texts come first
/// there, which exactness ignores.
#[expect(clippy::cast_precision_loss, reason = "at most some dozen rows")]
fn order_loss(candidate: &RankingCandidate<'_>) -> f64 {
    ORDER_SPREAD * candidate.hit.order.min(RANKED_ROWS_MAX) as f64 / RANKED_ROWS_MAX as f64
}

/// 1 for a new observation, halved with every half-life of its kind.
#[expect(clippy::cast_precision_loss, reason = "an age in milliseconds is far below 2^53")]
fn recency(kind: ObservationKind, at_ms: i64, now_ms: i64) -> f64 {
    let age_days = now_ms.saturating_sub(at_ms).max(0) as f64 / MS_PER_DAY as f64;
    (-age_days / kind.half_life_days()).exp2()
}

/// Current importance of an observation for a list without a query: from 0 to 1.
#[must_use]
pub fn standing(one: &StoredObservation, now_ms: i64) -> f64 {
    let own = if one.importance.is_nan() { 0.0 } else { one.importance.clamp(0.0, 1.0) };
    let share = if one.is_superseded { SUPERSEDED_SHARE } else { 1.0 };
    own * share * recency(one.kind, one.at_ms, now_ms)
}

/// Weight of a row before its text is known: less than a unit of a query, and more for a short
/// text.
#[must_use]
pub(crate) fn prior(row: &MatchedRow, now_ms: i64) -> f64 {
    let importance = if row.importance.is_nan() { 0.0 } else { row.importance.clamp(0.0, 1.0) };
    let tokens = f64::from(u32::try_from(row.tokens).unwrap_or(u32::MAX));
    let brevity = TYPICAL_TOKENS / (TYPICAL_TOKENS + tokens);
    PRIOR_WEIGHT
        * (RECENCY_WEIGHT * recency(row.kind, row.at_ms, now_ms)
            + IMPORTANCE_WEIGHT * importance
            + BREVITY_WEIGHT * brevity)
}

fn importance(candidate: &RankingCandidate<'_>) -> f64 {
    let repeated = 1.0 + (1.0 + f64::from(candidate.repeats)).log2() / 4.0;
    let share = if candidate.is_superseded { SUPERSEDED_SHARE } else { 1.0 };
    // A number from a damaged row must not come first.
    let own = if candidate.importance.is_nan() { 0.0 } else { candidate.importance };
    (own.clamp(0.0, 1.0) * repeated).min(1.0) * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glossary::Glossary;

    const DAY_MS: i64 = MS_PER_DAY;
    const NOW_MS: i64 = 1_800_000_000_000;

    fn candidate(id: i64, text: &str) -> RankingCandidate<'_> {
        RankingCandidate {
            hit: StageHit { id, stage: StageKind::Exact, order: 0 },
            text,
            kind: ObservationKind::Fix,
            at_ms: NOW_MS,
            proximity: Proximity::Elsewhere,
            importance: 0.5,
            repeats: 0,
            is_superseded: false,
            session: id,
            simhash: None,
        }
    }

    fn order(query: &str, candidates: &[RankingCandidate<'_>]) -> Vec<i64> {
        let query = Query::parse(query, Glossary::built_in());
        rank(&query, candidates, NOW_MS).into_iter().map(|hit| hit.id).collect()
    }

    #[test]
    fn the_same_style_comes_before_another_and_before_a_part() {
        let texts = [
            candidate(1, "validate_token_expiry was slow"),
            candidate(2, "validate_token was slow"),
            candidate(3, "validateToken was slow"),
        ];
        assert_eq!(order("validateToken", &texts), [3, 2, 1]);
    }

    #[test]
    fn a_word_of_its_own_comes_before_a_part() {
        let texts = [
            candidate(1, "인증토큰저장소를 고쳤다"),
            candidate(2, "refreshTokenStore"),
            candidate(3, "토큰을 고쳤다, token"),
        ];
        assert_eq!(order("토큰", &texts)[0], 3);
        assert_eq!(order("token", &texts)[0], 3);
    }

    #[test]
    fn decisions_age_slowly_and_nothing_is_too_old() {
        let at_ms = NOW_MS - 90 * DAY_MS;
        let edit =
            RankingCandidate {
                kind: ObservationKind::Edit, at_ms, ..candidate(1, "캐시 정책")
            };
        let decision = RankingCandidate {
            kind: ObservationKind::Decision,
            at_ms,
            ..candidate(2, "캐시 정책")
        };
        let ancient = RankingCandidate { at_ms: 0, ..candidate(3, "캐시 정책") };
        assert_eq!(order("캐시", &[edit, decision, ancient]), [2, 1, 3]);
    }

    #[test]
    fn the_future_counts_as_now() {
        let later = RankingCandidate { at_ms: i64::MAX, ..candidate(1, "cache") };
        let query = Query::parse("cache", Glossary::built_in());
        for now_ms in [i64::MIN, 0, NOW_MS, i64::MAX] {
            let ranked = rank(&query, &[later], now_ms);
            assert!((ranked[0].parts.recency - 1.0).abs() < f64::EPSILON);
            assert!(ranked[0].score.is_finite());
        }
    }

    #[test]
    fn what_is_near_or_mattered_comes_first() {
        let here = RankingCandidate { proximity: Proximity::SameFile, ..candidate(1, "cache") };
        let important = RankingCandidate { importance: 1.0, ..candidate(2, "cache") };
        let replaced =
            RankingCandidate { importance: 1.0, is_superseded: true, ..candidate(3, "cache") };
        let undone = RankingCandidate { importance: 0.2, ..candidate(4, "cache") };
        assert_eq!(order("cache", &[undone, replaced, important, here]), [1, 2, 3, 4]);
        assert_eq!(Proximity::of_paths("src/a.rs", "src/b.rs"), Proximity::SameFolder);
        assert_eq!(Proximity::of_paths("a.rs", "b.rs"), Proximity::Elsewhere);
    }

    #[test]
    fn odd_importance_does_not_come_first() {
        let odd = RankingCandidate { importance: f64::NAN, ..candidate(1, "cache") };
        let endless = RankingCandidate { importance: f64::INFINITY, ..candidate(2, "cache") };
        assert_eq!(order("cache", &[odd, endless, candidate(3, "cache")]), [2, 3, 1]);
    }

    #[test]
    fn texts_without_any_unit_are_ranked_by_the_rest() {
        assert_eq!(order("어떻게 했더라", &[candidate(1, "cache"), candidate(2, "cache")]), [2, 1]);
        assert!(order("cache", &[]).is_empty());
    }

    #[test]
    fn kinds_have_names() {
        for kind in ObservationKind::ALL {
            assert_eq!(ObservationKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(ObservationKind::from_name("edits"), None);
        assert_eq!(ObservationKind::from_foreign_name("Bugfix"), ObservationKind::Fix);
        assert_eq!(ObservationKind::from_foreign_name("test-failure"), ObservationKind::Test);
        assert_eq!(ObservationKind::from_foreign_name("decision"), ObservationKind::Decision);
        assert_eq!(ObservationKind::from_foreign_name("discovery"), ObservationKind::Note);
    }
}
