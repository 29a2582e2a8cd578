//! The frozen exam: everything a loop is checked with, as of its start, and later differences
//! from it. A difference is a finding and never a new rule.

pub mod front_matter;
pub mod makefiles;
pub mod packages;
pub mod roles;
pub mod runners;

use std::collections::{BTreeMap, BTreeSet};

use super::criteria::counts::{RunAnomaly, TestCounts};
use super::criteria::{AUTOCHECKS, CheckPlan};
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::finding::{Finding, FindingPlace, Severity, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::TextRange;
use moai_base::verdict::{Cause, Gap};
pub use roles::{ExamRole, role};

/// The sensor of the findings, as of all findings about gaming.
pub const SENSOR: &str = "guard";
pub const READING: &str = "exam";
/// Code: a file that examines the loop was changed.
pub const TOUCHED: &str = "G19";
/// Code: a check runs fewer tests, or none.
pub const FEWER_TESTS: &str = "G17";

/// One file of the exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenFile {
    pub role: ExamRole,
    /// Hash of its relevant bytes; see [`roles::relevant_bytes`].
    pub hash: ContentHash,
    /// Its size in bytes and its change time in nanoseconds since the epoch. Configuration and
    /// tests with an equal stamp count as unchanged without being read, because the change time
    /// cannot be set back.
    pub stamp: (u64, i64),
}

/// An exam without its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exam {
    /// When it was frozen, in milliseconds since the epoch.
    pub frozen_ms: u64,
    /// The commands that decide.
    pub plan: CheckPlan,
    pub files: BTreeMap<RelPath, FrozenFile>,
    /// True if more files belong to it than are kept, not counting tests; the others are not
    /// compared.
    pub is_truncated: bool,
    /// The test counts of each check's best run, by the check's name.
    pub counts: BTreeMap<String, TestCounts>,
    /// The links out of the project that led to folders with code when it was frozen.
    pub code_links: BTreeSet<RelPath>,
}

/// The kind of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExamChange {
    /// Its text differs.
    Edited,
    Removed,
    Added,
}

impl ExamChange {
    /// The name for people and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::Removed => "removed",
            Self::Added => "added",
        }
    }
}

/// One file that differs from the exam.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExamDifference {
    pub path: RelPath,
    pub role: ExamRole,
    pub change: ExamChange,
    /// Its present bytes; `None` if it was removed.
    pub now: Option<ContentHash>,
}

/// The differences from the exam. `now` has the hash of every existing file of the exam, and of
/// those that would belong to it.
#[must_use]
pub fn exam_differences(exam: &Exam, now: &BTreeMap<RelPath, ContentHash>) -> Vec<ExamDifference> {
    let paths: BTreeSet<&RelPath> = exam.files.keys().chain(now.keys()).collect();
    let has_script = exam.files.keys().any(|path| path.as_str() == AUTOCHECKS);
    paths
        .into_iter()
        .filter_map(|path| file_difference(exam, path, now.get(path).copied(), has_script))
        .collect()
}

fn file_difference(
    exam: &Exam,
    path: &RelPath,
    now: Option<ContentHash>,
    has_script: bool,
) -> Option<ExamDifference> {
    let before = exam.files.get(path);
    let change = match (before, now) {
        (Some(before), Some(now)) if before.hash != now => ExamChange::Edited,
        (Some(_), None) => ExamChange::Removed,
        // In a truncated exam, a file that was not frozen need not be new.
        (None, Some(_)) if !exam.is_truncated => ExamChange::Added,
        _ => return None,
    };
    // An included makefile can have any name.
    let role = before.map_or_else(|| role(path).unwrap_or(ExamRole::Runner), |before| before.role);
    let is_relevant = match role {
        // Loops are supposed to add tests.
        ExamRole::Test => change != ExamChange::Added,
        ExamRole::Runner => {
            let is_work = change != ExamChange::Added && runners::is_own_module(path);
            let is_included = !runners::is_loaded(path);
            !is_work && (is_included || runners::is_loaded_by_checks(path, &exam.plan, has_script))
        }
        _ => true,
    };
    is_relevant.then(|| ExamDifference { path: path.clone(), role, change, now })
}

impl ExamDifference {
    /// True if it is a makefile that another one includes, which can have any name.
    #[must_use]
    pub fn is_included_makefile(&self) -> bool {
        let has_name = runners::is_startup_file(&self.path) || runners::is_loaded(&self.path);
        self.role == ExamRole::Runner && !has_name && role(&self.path).is_none()
    }

    /// Severity of the difference: an error must be reverted before the loop can complete. Changes
    /// of configuration and tests are evaluated by the guard. A new script or rubric does not
    /// weaken the exam: it does not run, which is reported. Installing packages may change what
    /// Python runs at its start, and the user's own files may be changed by the user, so that is a
    /// gap. So are files that a check uses, which may be the work.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        if runners::is_startup_file(&self.path) {
            return None;
        }
        match (self.role, self.change) {
            (ExamRole::Config | ExamRole::Used | ExamRole::Test, _) => None,
            (ExamRole::Rubric | ExamRole::Checks, ExamChange::Added) => Some(Severity::Warning),
            _ => Some(Severity::Error),
        }
    }

    /// The file and its change, for the user.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} ({}) was {}", self.path, self.role.words(), self.change.as_str())
    }

    fn finding(&self) -> Option<Finding> {
        let severity = self.severity()?;
        let (path, role) = (&self.path, self.role.words());
        let message = match (self.change, severity) {
            (ExamChange::Added, Severity::Warning) => {
                format!("{path} ({role}) was not there when the loop started, and does not count")
            }
            (ExamChange::Added, _) => format!(
                "{path} ({role}) was not there when the loop started: remove it; only the user \
                 can accept it (moai-ralph loop refreeze)"
            ),
            (change, _) => format!(
                "{path} ({role}) was {} since the loop started: restore it; only the user can \
                 accept it (moai-ralph loop refreeze)",
                change.as_str()
            ),
        };
        let content_hash = self.now.unwrap_or_else(|| ContentHash::of_bytes(b""));
        let place = FindingPlace { path: path.clone(), range: TextRange::default(), content_hash };
        Some(Finding::new(SENSOR, TOUCHED, severity, place, &message))
    }
}

/// The hash of each file of the exam after the last write of the loop's session; `None` if the
/// session removed it.
pub type SessionWrites = BTreeMap<RelPath, Option<ContentHash>>;

/// Differences by their author.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributedDifferences {
    /// Made by the loop's session, or not blocking.
    pub own: Vec<ExamDifference>,
    /// Not provably made by the session: the user is asked.
    pub foreign: Vec<ExamDifference>,
}

/// Attributes differences: the session made those whose file is as the session left it.
#[must_use]
pub fn attribute_differences(
    differences: Vec<ExamDifference>,
    writes: &SessionWrites,
) -> AttributedDifferences {
    let (own, foreign) = differences.into_iter().partition(|one| {
        one.severity() != Some(Severity::Error) || writes.get(&one.path) == Some(&one.now)
    });
    AttributedDifferences { own, foreign }
}

/// The reading of the differences, and the findings among them.
#[must_use]
pub fn exam_reading(exam: &Exam, differences: &[ExamDifference]) -> (SensorReading, Vec<Finding>) {
    let mut findings: Vec<Finding> =
        differences.iter().filter_map(ExamDifference::finding).collect();
    assign_fingerprints(&mut findings);
    let gap = exam.is_truncated.then(|| {
        let detail = "too many files examine this loop; not all are compared";
        Gap::new(Cause::Skipped, detail)
    });
    let dirty = findings.iter().any(|finding| finding.severity == Severity::Error);
    let clean = SensorReading::clean(READING, SensorKind::Guard, exam.files.len());
    (SensorReading { dirty, gap, ..clean }, findings)
}

/// The finding about an anomalous run of a check, which `source` defines.
#[must_use]
pub fn anomaly_finding(
    check: &str,
    source: &RelPath,
    anomaly: &RunAnomaly,
    content_hash: ContentHash,
) -> Finding {
    let severity = if anomaly.is_blocking() { Severity::Error } else { Severity::Warning };
    let message = format!(
        "{check}: {anomaly} in this loop; run them again, or let the user accept it (moai-ralph loop \
         refreeze)"
    );
    let path = source.clone();
    let place = FindingPlace { path, range: TextRange::default(), content_hash };
    let finding = Finding::new(SENSOR, FEWER_TESTS, severity, place, &message);
    // Without the numbers, which differ from run to run while the finding is the same.
    Finding { anchor: check.to_owned(), ..finding }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    fn hash(text: &str) -> ContentHash {
        ContentHash::of_bytes(text.as_bytes())
    }

    fn exam(files: &[(&str, &str)]) -> Exam {
        let frozen = |(name, text): &(&str, &str)| {
            let path = path(name);
            let role = role(&path).expect("part of the exam");
            (path, FrozenFile { role, hash: hash(text), stamp: (0, 0) })
        };
        Exam { files: files.iter().map(frozen).collect(), ..Exam::default() }
    }

    fn now(files: &[(&str, &str)]) -> BTreeMap<RelPath, ContentHash> {
        files.iter().map(|(name, text)| (path(name), hash(text))).collect()
    }

    /// Lines of `severity path change`; `-` for a difference without a finding.
    fn check(exam: &Exam, after: &[(&str, &str)], expected: &[&str]) {
        let line = |one: &ExamDifference| {
            let severity = one.severity().map_or("-", Severity::as_str);
            format!("{severity} {} {}", one.path, one.change.as_str())
        };
        let found: Vec<String> = exam_differences(exam, &now(after)).iter().map(line).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn changed_checks_are_errors_and_changed_configuration_and_tests_are_left_to_the_guard() {
        let files = [
            ("RUBRIC.md", "strict"),
            (".claude/autochecks.sh", "test"),
            (".claude/settings.json", "hooks"),
            (".moai/config/sections/ralph.yaml", "ralph: {}"),
            ("tsconfig.json", "strict"),
            ("tests/test_a.py", "assert a"),
        ];
        let exam = exam(&files);
        check(&exam, &files, &[]);
        check(
            &exam,
            &files.map(|(name, _)| (name, "other")),
            &[
                "error .claude/autochecks.sh edited",
                "error .claude/settings.json edited",
                "error .moai/config/sections/ralph.yaml edited",
                "error RUBRIC.md edited",
                "- tests/test_a.py edited",
                "- tsconfig.json edited",
            ],
        );
        check(
            &exam,
            &[],
            &[
                "error .claude/autochecks.sh removed",
                "error .claude/settings.json removed",
                "error .moai/config/sections/ralph.yaml removed",
                "error RUBRIC.md removed",
                "- tests/test_a.py removed",
                "- tsconfig.json removed",
            ],
        );
    }

    #[test]
    fn added_files_count_if_they_could_disable_a_check() {
        let added = [
            ("RUBRIC.md", ""),
            (".claude/settings.local.json", ""),
            ("tests/test_new.py", ""),
            ("ruff.toml", ""),
        ];
        check(
            &exam(&[]),
            &added,
            &[
                "error .claude/settings.local.json added",
                "warning RUBRIC.md added",
                "- ruff.toml added",
            ],
        );
        let cut = Exam { is_truncated: true, ..exam(&[]) };
        check(&cut, &added, &[]);
        assert!(exam_reading(&cut, &[]).0.verdict().gap().is_some());
    }

    #[test]
    fn a_difference_is_the_sessions_while_the_file_is_as_the_session_left_it() {
        let exam = exam(&[("RUBRIC.md", "strict"), (".claude/autochecks.sh", "test")]);
        let after = now(&[("RUBRIC.md", "weak"), ("ruff.toml", "")]);
        let check = |writes: &[(&str, Option<&str>)], foreign: &[&str]| {
            let writes = writes.iter().map(|(name, text)| (path(name), text.map(hash)));
            let found = attribute_differences(exam_differences(&exam, &after), &writes.collect());
            let lines: Vec<String> = found.foreign.iter().map(ExamDifference::line).collect();
            assert_eq!(lines, foreign);
        };
        let (script, rubric) = (
            ".claude/autochecks.sh (the project's checks) was removed",
            "RUBRIC.md (the rubric) was edited",
        );
        check(&[], &[script, rubric]);
        check(&[("RUBRIC.md", Some("weak"))], &[script]);
        check(&[("RUBRIC.md", Some("other")), (".claude/autochecks.sh", None)], &[rubric]);
        check(&[("RUBRIC.md", Some("weak")), (".claude/autochecks.sh", None)], &[]);
    }

    #[test]
    fn an_error_makes_the_reading_dirty_and_names_the_remedy() {
        let exam = exam(&[("RUBRIC.md", "strict")]);
        let (reading, findings) =
            exam_reading(&exam, &exam_differences(&exam, &now(&[("RUBRIC.md", "x")])));
        assert!(reading.dirty);
        assert_eq!((findings[0].sensor.as_str(), findings[0].code.as_str()), ("guard", "G19"));
        assert_eq!(
            findings[0].message,
            "RUBRIC.md (the rubric) was edited since the loop started: restore it; only the user \
             can accept it (moai-ralph loop refreeze)"
        );
        let (reading, findings) = exam_reading(&exam, &[]);
        assert!(!reading.dirty && findings.is_empty() && reading.gap.is_none());
    }

    #[test]
    fn an_anomalous_run_is_one_finding_whatever_its_numbers() {
        let odd = |now| {
            let anomaly = RunAnomaly::FewerRun { before: 30, now, newly_skipped: 0 };
            anomaly_finding("npm test", &path("package.json"), &anomaly, hash(""))
        };
        assert_eq!(odd(12).identity(), odd(13).identity());
        assert_eq!((odd(12).severity, odd(12).code.as_str()), (Severity::Error, "G17"));
        assert!(odd(12).message.starts_with("npm test: 12 tests ran, 30 ran before in"));
    }
}
