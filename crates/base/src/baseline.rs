//! A baseline: known and accepted findings with their numbers of occurrences. It contains no line
//! numbers, so it survives moved lines; entries of a deleted file are matched with the file's new
//! name.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{BaselineComparison, Evidence};
use super::finding::{Finding, FindingState, Severity};

/// Identity of a finding across runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaselineKey {
    /// Path relative to the root.
    pub path: String,
    pub sensor: String,
    /// The sensor's code; may be empty.
    pub code: String,
    /// Hash of the anchor, 16 hex digits; a hash, because the anchor may contain a secret.
    pub anchor: String,
}

impl BaselineKey {
    fn from_finding(finding: &Finding) -> Self {
        Self {
            path: finding.path.to_string(),
            sensor: finding.sensor.clone(),
            code: finding.code.clone(),
            anchor: finding.anchor_hash(),
        }
    }

    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// True if everything but the path is equal.
    fn equals_except_path(&self, other: &Self) -> bool {
        (&self.sensor, &self.code, &self.anchor) == (&other.sensor, &other.code, &other.anchor)
    }
}

/// Known findings with their numbers of occurrences, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<BaselineKey, usize>);

impl Baseline {
    /// A baseline that accepts these findings.
    #[must_use]
    pub fn from_findings(findings: &[Finding]) -> Self {
        let mut baseline = Self::default();
        for finding in findings {
            baseline.add(BaselineKey::from_finding(finding), 1);
        }
        baseline
    }

    /// Adds occurrences of a finding.
    pub fn add(&mut self, known: BaselineKey, count: usize) {
        let total = self.0.entry(known).or_default();
        *total = total.saturating_add(count);
    }

    /// Entries with their counts, sorted.
    pub fn entries(&self) -> impl Iterator<Item = (&BaselineKey, usize)> {
        self.0.iter().map(|(known, count)| (known, *count))
    }

    /// Keeps the old entries that this run cannot judge: those of existing files that their sensor
    /// did not measure.
    pub fn retain_unmeasured(&mut self, old: &Self, evidence: &Evidence, exists: &FileExists<'_>) {
        let scope = MeasuredScope::from_evidence(evidence);
        for (known, count) in old.entries() {
            if !scope.covers_file(known) && exists(&known.path) {
                self.0.entry(known.clone()).or_insert(count);
            }
        }
    }

    /// Marks every finding as existing or introduced. Known findings at or above the threshold no
    /// longer make their sensor dirty.
    pub fn apply(&self, evidence: &mut Evidence, threshold: Severity, exists: &FileExists<'_>) {
        let mut left = self.clone();
        for finding in &mut evidence.findings {
            let is_known = left.remove_one(&BaselineKey::from_finding(finding));
            finding.state =
                if is_known { FindingState::Existing } else { FindingState::Introduced };
        }
        self.follow_renamed(&mut left, &mut evidence.findings, exists);
        let scope = MeasuredScope::from_evidence(evidence);
        let fixed = left.entries().filter(|(known, _)| {
            scope.covers_file(known) || scope.covers_sensor(known) && !exists(&known.path)
        });
        let fixed = fixed.map(|(_, count)| count).sum();
        let new = evidence.findings.iter().filter(|finding| finding.is_introduced()).count();
        let known = evidence.findings.len() - new;
        evidence.baseline = Some(BaselineComparison { known, new, fixed });
        for reading in &mut evidence.readings {
            let counted = evidence.findings.iter().filter(|finding| {
                finding.sensor == reading.sensor && finding.severity >= threshold
            });
            let mut counted = counted.peekable();
            // A reading that is dirty without a finding, such as a failed check, stays dirty.
            if counted.peek().is_some() {
                reading.dirty = counted.any(Finding::is_introduced);
            }
        }
    }

    /// Matches files that the baseline does not contain with its entries of missing files; files
    /// with the same name are matched first.
    fn follow_renamed(&self, left: &mut Self, findings: &mut [Finding], exists: &FileExists<'_>) {
        let known_files: BTreeSet<&str> = self.0.keys().map(|known| known.path.as_str()).collect();
        let missing: BTreeSet<String> = known_files
            .iter()
            .filter(|path| !exists(path))
            .map(|path| (*path).to_owned())
            .collect();
        if missing.is_empty() {
            return;
        }
        for is_name_kept in [true, false] {
            let unknown = findings.iter_mut().filter(|finding| {
                finding.is_introduced() && !known_files.contains(finding.path.as_str())
            });
            for finding in unknown {
                let key = BaselineKey::from_finding(finding);
                let old = left.0.keys().find(|known| {
                    missing.contains(&known.path)
                        && known.equals_except_path(&key)
                        && (!is_name_kept || known.name() == key.name())
                });
                let Some(old) = old.cloned() else { continue };
                left.remove_one(&old);
                finding.state = FindingState::Existing;
            }
        }
    }

    /// Removes one occurrence; false if there is none.
    fn remove_one(&mut self, known: &BaselineKey) -> bool {
        let Some(count) = self.0.get_mut(known) else { return false };
        *count -= 1;
        if *count == 0 {
            self.0.remove(known);
        }
        true
    }
}

/// Tests if a file exists, by its path relative to the root.
pub type FileExists<'f> = dyn Fn(&str) -> bool + 'f;

/// The sensors and files measured by a run.
struct MeasuredScope<'e> {
    files: BTreeSet<&'e str>,
    sensors: BTreeSet<&'e str>,
}

impl<'e> MeasuredScope<'e> {
    fn from_evidence(evidence: &'e Evidence) -> Self {
        let whole = evidence.readings.iter().filter(|reading| reading.gap.is_none());
        Self {
            files: evidence.files.iter().map(super::path::RelPath::as_str).collect(),
            sensors: whole.map(|reading| reading.sensor.as_str()).collect(),
        }
    }

    /// True if the entry's sensor ran without a gap.
    fn covers_sensor(&self, known: &BaselineKey) -> bool {
        self.sensors.contains(known.sensor.as_str())
    }

    /// True if the entry's sensor ran without a gap and measured the entry's file.
    fn covers_file(&self, known: &BaselineKey) -> bool {
        self.covers_sensor(known) && self.files.contains(known.path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{SensorKind, SensorReading};
    use crate::samples::finding;
    use crate::verdict::{Cause, Gap, Verdict};

    fn evidence(findings: Vec<Finding>) -> Evidence {
        let mut files: Vec<_> = findings.iter().map(|finding| finding.path.clone()).collect();
        files.dedup();
        let reading =
            SensorReading { dirty: true, ..SensorReading::clean("pyright", SensorKind::Lsp, 1) };
        Evidence { files, findings, readings: vec![reading], ..Evidence::default() }
    }

    fn compared(
        old: &[Finding],
        now: Vec<Finding>,
        there: &[&str],
    ) -> (BaselineComparison, Verdict) {
        let mut evidence = evidence(now);
        let exists = |path: &str| there.contains(&path);
        Baseline::from_findings(old).apply(&mut evidence, Severity::Error, &exists);
        (evidence.baseline.expect("it was compared"), evidence.verdict())
    }

    #[test]
    fn moved_findings_are_older_and_an_additional_occurrence_is_introduced() {
        let old = [finding("a.py", 3, "x"), finding("a.py", 9, "x"), finding("a.py", 1, "y")];
        let now = vec![finding("a.py", 30, "x"), finding("a.py", 90, "x")];
        let (counts, verdict) = compared(&old, now.clone(), &["a.py"]);
        assert_eq!(counts, BaselineComparison { known: 2, new: 0, fixed: 1 });
        assert_eq!(verdict, Verdict::Clean);
        let more = [now, vec![finding("a.py", 95, "x")]].concat();
        let (counts, verdict) = compared(&old, more, &["a.py"]);
        assert_eq!(counts, BaselineComparison { known: 2, new: 1, fixed: 1 });
        assert_eq!(verdict, Verdict::Dirty);
    }

    #[test]
    fn a_renamed_file_keeps_its_entries_and_a_copy_does_not() {
        let old = [finding("old/a.py", 3, "x"), finding("old/b.py", 3, "x")];
        let moved = || vec![finding("new/a.py", 3, "x")];
        let (counts, _) = compared(&old, moved(), &["new/a.py", "old/b.py"]);
        assert_eq!(counts, BaselineComparison { known: 1, new: 0, fixed: 0 });
        let (counts, _) = compared(&old, moved(), &["new/a.py", "old/a.py", "old/b.py"]);
        assert_eq!(counts, BaselineComparison { known: 0, new: 1, fixed: 0 });
        // Each occurrence matches one finding, under any new name.
        let twice = vec![finding("c.py", 3, "x"), finding("d.py", 3, "x"), finding("e.py", 1, "x")];
        let (counts, _) = compared(&old, twice, &["c.py", "d.py", "e.py"]);
        assert_eq!(counts, BaselineComparison { known: 2, new: 1, fixed: 0 });
    }

    #[test]
    fn unmeasured_entries_are_neither_fixed_nor_dropped() {
        let old = Baseline::from_findings(&[finding("a.py", 3, "x"), finding("b.py", 3, "x")]);
        let exists = |path: &str| path != "gone.py";
        let mut now = evidence(vec![finding("b.py", 3, "z")]);
        old.apply(&mut now, Severity::Error, &exists);
        assert_eq!(now.baseline, Some(BaselineComparison { known: 0, new: 1, fixed: 1 }));
        let written = |now: &Evidence| {
            let mut new = Baseline::from_findings(&now.findings);
            new.retain_unmeasured(&old, now, &exists);
            new.entries().map(|(known, _)| format!("{} {}", known.path, known.code)).collect()
        };
        let kept: Vec<String> = written(&now);
        assert_eq!(kept, ["a.py x", "b.py z"]);
        now.readings[0].gap = Some(Gap::new(Cause::Crashed, "it ended"));
        let kept: Vec<String> = written(&now);
        assert_eq!(kept, ["a.py x", "b.py x", "b.py z"]);
    }
}
