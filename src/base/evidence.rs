//! Evidence: what all sensors together said about a set of files, and what they could not say.

use super::finding::{Finding, Severity};
use super::path::RelPath;
use super::verdict::{Cause, Gap, Verdict};

/// The kinds of sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SensorKind {
    /// A language server.
    Lsp,
    /// The structural scan.
    Scan,
    /// A command of the project.
    Check,
    /// The detectors of weakened tests and checks.
    Guard,
    /// A model's opinion.
    Judge,
}

impl SensorKind {
    /// The word in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lsp => "lsp",
            Self::Scan => "scan",
            Self::Check => "check",
            Self::Guard => "guard",
            Self::Judge => "judge",
        }
    }
}

/// What one sensor said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensorReading {
    /// Language server id, `scan`, or the check's name.
    pub sensor: String,
    /// The kind of sensor.
    pub kind: SensorKind,
    /// Whether it found something at or above the threshold that was asked for.
    pub dirty: bool,
    /// What it could not measure; a dirty reading may have a gap beside its findings.
    pub gap: Option<Gap>,
    /// Its version, when it said one.
    pub version: Option<String>,
    /// Files it measured.
    pub files: usize,
    /// Its share of the time.
    pub elapsed_ms: u64,
    /// For checks: the kept head and tail of the output of a failed run.
    pub output: Option<String>,
    /// For checks: the tests that it says it ran.
    pub tests: Option<TestTotals>,
}

/// How many tests a check says it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestTotals {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed or broke.
    pub failed: u64,
}

impl TestTotals {
    /// Tests that were run.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

impl SensorReading {
    /// A reading of a sensor that found nothing and left nothing out.
    #[must_use]
    pub fn clean(sensor: &str, kind: SensorKind, files: usize) -> Self {
        Self {
            sensor: sensor.to_owned(),
            kind,
            dirty: false,
            gap: None,
            version: None,
            files,
            elapsed_ms: 0,
            output: None,
            tests: None,
        }
    }

    /// The verdict over all files the sensor was asked about.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.gap {
            _ if self.dirty => Verdict::Dirty,
            Some(gap) => Verdict::Unmeasured(gap.clone()),
            None => Verdict::Clean,
        }
    }
}

/// A file that was asked for and not looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// The path as it was asked for; relative to the root where it lies below it.
    pub path: String,
    /// Why, as a lower-case fragment: `larger than 1 MiB`.
    pub reason: String,
}

/// A comparison with a baseline; known findings have the state `Existing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BaselineComparison {
    /// Findings that are in it.
    pub known: usize,
    /// Findings that are not.
    pub new: usize,
    /// What is in it and was not found again, though it was looked for.
    pub fixed: usize,
}

/// What all sensors said. Files checked, skipped and excluded are all files asked for, always.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The files every sensor that handles them was asked about.
    pub files: Vec<RelPath>,
    /// The files that were asked for and not looked at.
    pub skipped: Vec<SkippedFile>,
    /// The files that options leave out of what was asked for: counted and shown, and no gap.
    pub excluded: Vec<SkippedFile>,
    /// One reading per sensor asked for, sorted by kind and name.
    pub readings: Vec<SensorReading>,
    /// All findings, fingerprinted and sorted by place.
    pub findings: Vec<Finding>,
    /// What a baseline says about them, where one was given.
    pub baseline: Option<BaselineComparison>,
    /// Findings that were left out because they are older and in files nobody touched.
    pub older: usize,
}

impl Evidence {
    /// The worst of the sensors asked for; skipped files are a gap; no sensor at all is a gap too.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut verdict = match self.skipped.as_slice() {
            [] if self.readings.is_empty() => {
                Verdict::Unmeasured(Gap::new(Cause::Nothing, "there was nothing to measure"))
            }
            [] => Verdict::Clean,
            [one] => {
                let detail = format!("{} was skipped ({})", one.path, one.reason);
                Verdict::Unmeasured(Gap::new(Cause::Skipped, detail))
            }
            many => {
                let detail = format!("{} files were skipped", many.len());
                Verdict::Unmeasured(Gap::new(Cause::Skipped, detail))
            }
        };
        for reading in &self.readings {
            verdict = verdict.worse(reading.verdict());
        }
        verdict
    }

    /// How many findings have this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// How many files were asked for.
    #[must_use]
    pub fn files_total(&self) -> usize {
        self.files.len() + self.skipped.len() + self.excluded.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_and_skipped_files_are_never_clean() {
        let empty = Evidence::default();
        assert_eq!(empty.verdict().gap().map(|gap| gap.cause), Some(Cause::Nothing));
        let skipped = Evidence {
            skipped: vec![SkippedFile {
                path: "big.py".into(),
                reason: "larger than 1 MiB".into(),
            }],
            readings: vec![SensorReading::clean("scan", SensorKind::Scan, 0)],
            ..Evidence::default()
        };
        assert_eq!(skipped.verdict().gap().map(|gap| gap.cause), Some(Cause::Skipped));
        assert_eq!(skipped.files_total(), 1);
        let dirty =
            SensorReading { dirty: true, ..SensorReading::clean("scan", SensorKind::Scan, 1) };
        let dirty = Evidence { readings: vec![dirty], ..skipped };
        assert_eq!(dirty.verdict(), Verdict::Dirty);
    }
}
