//! The report of `check`, `scan` and `guard`. Positions are 0-based LSP positions, paths relative to
//! the root with `/`.

use serde::Serialize;

use moai_base::evidence::{
    BaselineComparison, SensorKind, SensorReading, SkippedFile, SwitchedOffFile,
};
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::path::RelPath;
use moai_base::text::TextRange;

/// `moai-ralph/report@1`.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "schema", rename = "moai-ralph/report@1")]
pub struct ReportDocument {
    /// Absolute path of the root.
    pub root: String,
    /// `clean`, `dirty` or `unmeasured`.
    pub verdict: &'static str,
    /// Time from request to report.
    pub elapsed_ms: u64,
    pub files_total: usize,
    /// Files given to every sensor that handles them.
    pub files_checked: usize,
    /// Requested files that were not measured or are excluded by the options.
    pub files_skipped: Vec<SkippedFile>,
    /// Files that the project's configuration excludes from a server's checks; among the checked
    /// ones, because other sensors measure them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_switched_off: Vec<SwitchedOffEntry>,
    /// One entry per sensor.
    pub sensors: Vec<SensorEntry>,
    /// All findings, sorted by place.
    pub findings: Vec<FindingEntry>,
    /// Number of findings by severity.
    pub summary: SeverityTotals,
    /// Comparison with a baseline, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineComparison>,
}

/// A file that the project's configuration excludes from a server's checks.
#[derive(Clone, Debug, Serialize)]
pub struct SwitchedOffEntry {
    pub path: RelPath,
    pub sensor: String,
    /// The disabled checks and how to enable them.
    pub reason: String,
}

impl From<&SwitchedOffFile> for SwitchedOffEntry {
    fn from(file: &SwitchedOffFile) -> Self {
        let SwitchedOffFile { path, sensor, gap } = file;
        Self { path: path.clone(), sensor: sensor.clone(), reason: gap.to_string() }
    }
}

/// One sensor of a report.
#[derive(Clone, Debug, Serialize)]
pub struct SensorEntry {
    /// Language server id, `scan`, or the name of the check.
    pub name: String,
    pub kind: SensorKind,
    /// `clean`, `dirty` or `unmeasured`.
    pub verdict: &'static str,
    pub reason: Option<String>,
    pub version: Option<String>,
    /// Files it measured.
    pub files: usize,
    pub elapsed_ms: u64,
    /// Head and tail of the output of a failed run; only checks have the field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Option<String>>,
}

impl From<&SensorReading> for SensorEntry {
    fn from(reading: &SensorReading) -> Self {
        Self {
            name: reading.sensor.clone(),
            kind: reading.kind,
            verdict: reading.verdict().as_str(),
            reason: reading.gap.as_ref().map(ToString::to_string),
            version: reading.version.clone(),
            files: reading.files,
            elapsed_ms: reading.elapsed_ms,
            output: (reading.kind == SensorKind::Check).then(|| reading.output.clone()),
        }
    }
}

/// One finding of a report.
#[derive(Clone, Debug, Serialize)]
pub struct FindingEntry {
    /// Fingerprint: stays the same when unrelated lines move.
    pub id: String,
    pub sensor: String,
    /// The sensor's own code or rule id; may be empty.
    pub code: String,
    pub severity: Severity,
    pub path: RelPath,
    /// The range in the file.
    pub range: TextRange,
    pub message: String,
    pub state: FindingState,
    /// Weakness ids such as `CWE-89`.
    pub cwe: Vec<String>,
    pub url: Option<String>,
    /// A short remedy, or the replacement text of a safe fix.
    pub fix: Option<String>,
    /// Reserved; always empty.
    pub related: [(); 0],
    /// Hash of the bytes that the finding is about.
    pub content_hash: String,
}

impl From<&Finding> for FindingEntry {
    fn from(finding: &Finding) -> Self {
        Self {
            id: finding.id.clone(),
            sensor: finding.sensor.clone(),
            code: finding.code.clone(),
            severity: finding.severity,
            path: finding.path.clone(),
            range: finding.range,
            message: finding.message.clone(),
            state: finding.state,
            cwe: finding.cwe.clone(),
            url: finding.url.clone(),
            fix: finding.fix.clone(),
            related: [],
            content_hash: finding.content_hash.to_string(),
        }
    }
}

/// Number of findings of each severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SeverityTotals {
    pub error: usize,
    pub warning: usize,
    pub info: usize,
    pub hint: usize,
}
