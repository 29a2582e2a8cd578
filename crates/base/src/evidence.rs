//! Evidence: the results of all sensors for a set of files, with their gaps.

use std::collections::BTreeSet;

use serde::Serialize;

use super::finding::{Finding, Severity};
use super::path::RelPath;
use super::verdict::{Cause, Gap, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SensorKind {
    /// A language server.
    Lsp,
    /// The structural scan.
    Scan,
    /// A test or build command of the project.
    Check,
    /// The detectors of weakened tests and checks.
    Guard,
    /// A model's opinion.
    Judge,
}

impl SensorKind {
    /// The name in reports.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SensorReading {
    /// Language server id, `scan`, or the name of the check.
    pub sensor: String,
    pub kind: SensorKind,
    /// True if it has findings at or above the requested threshold.
    pub dirty: bool,
    /// Its gap; a dirty reading may have one too.
    pub gap: Option<Gap>,
    /// The sensor's version, if it reports one.
    pub version: Option<String>,
    /// Number of measured files.
    pub files: usize,
    pub elapsed_ms: u64,
    /// For checks: head and tail of the output of a failed run.
    pub output: Option<String>,
    /// For checks: test totals parsed from the output.
    pub tests: Option<TestTotals>,
}

/// Test totals that a check reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestTotals {
    pub passed: u64,
    /// Tests that failed or broke.
    pub failed: u64,
}

impl TestTotals {
    /// Tests run.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

impl SensorReading {
    /// A reading without findings and gaps.
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

    /// The reading of a sensor that measured nothing, for this reason.
    #[must_use]
    pub fn unmeasured(sensor: &str, kind: SensorKind, gap: Gap) -> Self {
        Self { gap: Some(gap), ..Self::clean(sensor, kind, 0) }
    }

    /// The verdict over all files given to the sensor.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.gap {
            _ if self.dirty => Verdict::Dirty,
            Some(gap) => Verdict::Unmeasured(gap.clone()),
            None => Verdict::Clean,
        }
    }

    /// True if it is a language server that measured nothing, because the project's configuration
    /// switched it off for every file.
    #[must_use]
    pub fn is_switched_off(&self) -> bool {
        self.kind == SensorKind::Lsp
            && !self.dirty
            && self.gap.as_ref().is_some_and(|gap| gap.cause == Cause::SwitchedOff)
    }
}

/// A file that the project's configuration excludes from a language server's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedOffFile {
    pub path: RelPath,
    pub sensor: String,
    /// The disabled checks and how to enable them.
    pub gap: Gap,
}

/// Files with the same gap of the same sensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedOffGroup<'a> {
    pub first: &'a SwitchedOffFile,
    pub files: usize,
}

impl SwitchedOffGroup<'_> {
    /// The first file, and how many more there are.
    #[must_use]
    pub fn file_names(&self) -> String {
        match self.files {
            1 => self.first.path.to_string(),
            2 => format!("{} and 1 more file", self.first.path),
            files => format!("{} and {} more files", self.first.path, files - 1),
        }
    }
}

/// A requested file that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// The requested path; relative to the root if below it.
    pub path: String,
    /// A lower-case fragment: `larger than 1 MiB`.
    pub reason: String,
}

/// Result of the comparison with a baseline; known findings have the state `Existing`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BaselineComparison {
    /// Findings in the baseline.
    pub known: usize,
    /// Findings not in the baseline.
    pub new: usize,
    /// Baseline entries that were measured again and not found.
    pub fixed: usize,
}

/// The results of all sensors. `files`, `skipped` and `excluded` together are always all requested
/// files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Files given to every sensor that handles them.
    pub files: Vec<RelPath>,
    /// Requested files that were not measured.
    pub skipped: Vec<SkippedFile>,
    /// Requested files that the options exclude: counted and shown, but not a gap.
    pub excluded: Vec<SkippedFile>,
    /// Files that the project's configuration excludes from a language server's checks: counted and
    /// shown. They are among `files`, because other sensors measure them.
    pub switched_off: Vec<SwitchedOffFile>,
    /// True if the only changed files that language servers handle are switched off.
    pub is_switched_off: bool,
    /// One reading per requested sensor, sorted by kind and name.
    pub readings: Vec<SensorReading>,
    /// All findings, fingerprinted and sorted by place.
    pub findings: Vec<Finding>,
    /// Comparison with a baseline, if one was given.
    pub baseline: Option<BaselineComparison>,
    /// Number of older findings in unchanged files, which are not listed.
    pub older: usize,
}

impl Evidence {
    /// True if exactly one sensor has a gap.
    #[must_use]
    pub fn has_one_gap(&self) -> bool {
        self.readings.iter().filter(|reading| reading.gap.is_some()).count() == 1
    }

    /// The worst verdict of all sensors. Skipped files are a gap, and so is having no sensor at
    /// all. A server disabled by the project's configuration leaves the verdict to the other
    /// sensors, and is a gap if only scan and guard measured.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let mut verdict = match self.skipped.as_slice() {
            [] if self.readings.is_empty() => {
                Verdict::Unmeasured(Gap::new(Cause::Nothing, "nothing to measure"))
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
            let is_listed = self.switched_off.iter().any(|file| file.sensor == reading.sensor);
            if !(reading.is_switched_off() && is_listed) {
                verdict = verdict.worse(reading.verdict());
            }
        }
        match self.switched_off.first().filter(|_| self.is_unexamined()) {
            Some(file) => verdict.worse(Verdict::Unmeasured(file.gap.clone())),
            None => verdict,
        }
    }

    /// True if the changed files are switched off and no check of the project ran either.
    fn is_unexamined(&self) -> bool {
        let is_check =
            |reading: &SensorReading| reading.kind == SensorKind::Check && reading.gap.is_none();
        self.is_switched_off && !self.readings.iter().any(is_check)
    }

    /// The switched-off files by sensor and gap.
    #[must_use]
    pub fn switched_off_groups(&self) -> Vec<SwitchedOffGroup<'_>> {
        let mut groups: Vec<SwitchedOffGroup<'_>> = Vec::new();
        for file in &self.switched_off {
            let known = groups
                .iter_mut()
                .find(|group| group.first.sensor == file.sensor && group.first.gap == file.gap);
            match known {
                Some(group) => group.files += 1,
                None => groups.push(SwitchedOffGroup { first: file, files: 1 }),
            }
        }
        groups
    }

    /// Number of findings with this severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Number of files that the project's configuration excludes from checks.
    #[must_use]
    pub fn switched_off_total(&self) -> usize {
        let paths: BTreeSet<&RelPath> = self.switched_off.iter().map(|file| &file.path).collect();
        paths.len()
    }

    /// Number of requested files.
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

    fn switched_off(path: &str) -> SwitchedOffFile {
        let gap = Gap::new(Cause::SwitchedOff, "checkJs is off");
        let path = RelPath::parse(path).expect("relative");
        SwitchedOffFile { path, sensor: "tsserver".into(), gap }
    }

    /// Evidence of two switched-off files and a scan.
    fn unexamined() -> Evidence {
        let gap = Some(switched_off("a.js").gap);
        let scan = SensorReading::clean("scan", SensorKind::Scan, 2);
        let server = SensorReading { gap, ..SensorReading::clean("tsserver", SensorKind::Lsp, 0) };
        Evidence {
            switched_off: vec![switched_off("a.js"), switched_off("b.js")],
            is_switched_off: true,
            readings: vec![server, scan],
            ..Evidence::default()
        }
    }

    #[test]
    fn switched_off_files_alone_are_never_clean() {
        let alone = unexamined();
        let cause = |evidence: &Evidence| evidence.verdict().gap().map(|gap| gap.cause);
        assert_eq!(cause(&alone), Some(Cause::SwitchedOff));
        assert_eq!(alone.switched_off_groups()[0].file_names(), "a.js and 1 more file");
        let mut with = alone.clone();
        with.readings.push(SensorReading::clean("npm test", SensorKind::Check, 0));
        assert_eq!(with.verdict(), Verdict::Clean);
        let mixed = Evidence { is_switched_off: false, ..alone.clone() };
        assert_eq!(mixed.verdict(), Verdict::Clean);
        let mut missing = alone;
        let gap = Some(Gap::new(Cause::NotInstalled, "not installed"));
        missing.readings.push(SensorReading { gap, ..missing.readings[1].clone() });
        assert_eq!(cause(&missing), Some(Cause::NotInstalled));
    }
}
