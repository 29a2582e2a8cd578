//! Scan outcomes as bytes, for the cache and for workers. Path and hash are left out, because the
//! reader knows them. A clean outcome has no bytes.

use serde::{Deserialize, Serialize};

use super::{SENSOR, ScanOutcome};
use moai_base::finding::{Finding, FindingPlace, Severity, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::{Position, TextRange};
use moai_base::verdict::{Cause, Gap};

/// `None` if another scan might not reproduce the outcome.
pub(super) fn outcome_to_bytes(outcome: &ScanOutcome) -> Option<Vec<u8>> {
    let gap = match &outcome.gap {
        Some(gap) => Some(SerializedGap::from_gap(gap)?),
        None => None,
    };
    if gap.is_none() && outcome.findings.is_empty() {
        return Some(Vec::new());
    }
    let findings = outcome.findings.iter().map(SerializedFinding::from_finding).collect();
    serde_json::to_vec(&SerializedOutcome { findings, gap }).ok()
}

/// The outcome for a file; `None` if the bytes are damaged.
pub(super) fn outcome_from_bytes(
    bytes: &[u8],
    path: &RelPath,
    hash: ContentHash,
) -> Option<ScanOutcome> {
    if bytes.is_empty() {
        return Some(ScanOutcome::default());
    }
    let outcome: SerializedOutcome = serde_json::from_slice(bytes).ok()?;
    let findings = outcome.findings.into_iter().map(|finding| finding.into_finding(path, hash));
    let mut findings = findings.collect::<Option<Vec<Finding>>>()?;
    assign_fingerprints(&mut findings);
    let gap = match outcome.gap {
        Some(gap) => Some(gap.into_gap()?),
        None => None,
    };
    Some(ScanOutcome { findings, gap })
}

/// A gap as bytes; `None` if another parse might not reproduce it.
pub(super) fn gap_to_bytes(gap: &Gap) -> Option<Vec<u8>> {
    serde_json::to_vec(&SerializedGap::from_gap(gap)?).ok()
}

/// The gap; `None` if the bytes are damaged.
pub(super) fn gap_from_bytes(bytes: &[u8]) -> Option<Gap> {
    serde_json::from_slice::<SerializedGap>(bytes).ok()?.into_gap()
}

#[derive(Serialize, Deserialize)]
struct SerializedOutcome {
    findings: Vec<SerializedFinding>,
    gap: Option<SerializedGap>,
}

/// A finding without path and hash.
#[derive(Serialize, Deserialize)]
struct SerializedFinding {
    code: String,
    severity: String,
    /// Line and column of start and end, as in [`TextRange`].
    place: [u32; 4],
    message: String,
    cwe: Vec<String>,
    url: Option<String>,
    fix: Option<String>,
    anchor: String,
}

impl SerializedFinding {
    fn from_finding(finding: &Finding) -> Self {
        let (start, end) = (finding.range.start, finding.range.end);
        Self {
            code: finding.code.clone(),
            severity: finding.severity.as_str().to_owned(),
            place: [start.line, start.character, end.line, end.character],
            message: finding.message.clone(),
            cwe: finding.cwe.clone(),
            url: finding.url.clone(),
            fix: finding.fix.clone(),
            anchor: finding.anchor.clone(),
        }
    }

    fn into_finding(self, path: &RelPath, hash: ContentHash) -> Option<Finding> {
        let severity = Severity::ALL.into_iter().find(|it| it.as_str() == self.severity)?;
        let [line, character, end_line, end_character] = self.place;
        let start = Position { line, character };
        let end = Position { line: end_line, character: end_character };
        let range = TextRange { start, end };
        let place = FindingPlace { path: path.clone(), range, content_hash: hash };
        Some(Finding {
            cwe: self.cwe,
            url: self.url,
            fix: self.fix,
            anchor: self.anchor,
            ..Finding::new(SENSOR, &self.code, severity, place, &self.message)
        })
    }
}

#[derive(Serialize, Deserialize)]
struct SerializedGap {
    cause: String,
    detail: String,
    remedy: Option<String>,
}

/// Causes that depend on nothing but text and rules.
const REPRODUCIBLE_CAUSES: [(Cause, &str); 3] =
    [(Cause::Skipped, "skipped"), (Cause::BrokenRule, "broken rule"), (Cause::NoTool, "no tool")];

impl SerializedGap {
    /// `None` for a gap that another scan might not reproduce.
    fn from_gap(gap: &Gap) -> Option<Self> {
        let (_, cause) = REPRODUCIBLE_CAUSES.iter().find(|(cause, _)| *cause == gap.cause)?;
        let cause = (*cause).to_owned();
        Some(Self { cause, detail: gap.detail.clone(), remedy: gap.remedy.clone() })
    }

    fn into_gap(self) -> Option<Gap> {
        let (cause, _) = REPRODUCIBLE_CAUSES.iter().find(|(_, word)| *word == self.cause)?;
        let gap = Gap::new(*cause, self.detail);
        Some(match self.remedy {
            Some(remedy) => gap.with_remedy(remedy),
            None => gap,
        })
    }
}
