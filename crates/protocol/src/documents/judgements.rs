//! The document of `judge`.

use serde::Serialize;

use moai_base::evidence::SkippedFile;
use moai_base::text::TextRange;

/// `moai-ralph/judge@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/judge@1")]
pub struct JudgeDocument<'s> {
    /// Absolute path of the root.
    pub root: String,
    /// `approved`, `rejected` or `unmeasured`.
    pub verdict: &'static str,
    /// How the change was reviewed.
    pub review: &'static str,
    /// Reason for a missing judgement.
    pub reason: Option<String>,
    /// Time from request to answer.
    pub elapsed_ms: u64,
    pub criteria: Vec<RulingEntry<'s>>,
    pub suspicions: Vec<SuspicionEntry<'s>>,
    pub judges: Vec<JudgeEntry<'s>>,
    /// The part of the change shown to the judges.
    pub coverage: JudgeCoverageEntry<'s>,
}

/// A judge's ruling on one criterion.
#[derive(Clone, Debug, Serialize)]
pub struct RulingEntry<'s> {
    pub id: &'s str,
    /// The criterion.
    pub text: &'s str,
    /// `met`, `unmet` or `unmeasured`.
    pub verdict: &'static str,
    pub judge: &'s str,
    /// Reason why the ruling does not count.
    pub doubt: Option<&'static str>,
    pub reason: &'s str,
    pub fix_hint: Option<&'s str>,
    /// The quotes that support it.
    pub evidence: Vec<QuoteEntry<'s>>,
}

/// A quote from the source.
#[derive(Clone, Debug, Serialize)]
pub struct QuoteEntry<'s> {
    pub path: &'s str,
    pub quote: &'s str,
    /// The first and the last line.
    pub range: TextRange,
}

#[derive(Clone, Debug, Serialize)]
pub struct SuspicionEntry<'s> {
    pub kind: &'static str,
    pub path: &'s str,
    /// The 0-based line.
    pub line: Option<u32>,
}

#[derive(Clone, Debug, Serialize)]
pub struct JudgeEntry<'s> {
    pub name: &'s str,
    /// The program or API that runs it.
    pub backend: &'static str,
    pub model: Option<&'s str>,
    /// Its judgement.
    pub verdict: &'static str,
    /// Reason for a missing judgement.
    pub reason: Option<String>,
    pub calls: usize,
    /// Cost in US dollars; `None`: unknown.
    pub cost_usd: Option<f64>,
    /// True if the judgement is an earlier one of the same change.
    pub cached: bool,
    pub confidence: Option<f64>,
}

/// The part of the change shown to the judges.
#[derive(Clone, Debug, Serialize)]
pub struct JudgeCoverageEntry<'s> {
    /// Changed files.
    pub files: usize,
    /// Files that were shown.
    pub shown: usize,
    /// Number of parts in which the change was shown.
    pub parts: usize,
    /// Files that were only listed.
    pub listed: &'s [SkippedFile],
    /// Files that were not shown in full.
    pub unread: &'s [SkippedFile],
}
