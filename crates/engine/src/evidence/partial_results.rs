//! Results with incomplete findings, because the project has a fault or its configuration excludes the file
//! from a language server's checking.

use std::collections::BTreeSet;

use crate::evidence::base_results::BaseResult;
use crate::evidence::snapshot_measurement::SensorResult;
use moai_base::evidence::{SensorKind, SwitchedOffFile};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

impl SensorResult {
    /// True if the server reported a fault of the project along with the findings.
    pub(crate) fn has_project_fault(&self) -> bool {
        self.gap.as_ref().is_some_and(|gap| gap.cause == Cause::ProjectFault)
    }

    /// True if the findings count despite a gap: a fault or a setting of the project explains why others are
    /// missing, and beyond a limit of polls they may be outdated.
    pub(crate) fn has_usable_findings(&self) -> bool {
        let cause = self.gap.as_ref().map(|gap| gap.cause);
        cause.is_none_or(|cause| cause == Cause::Skipped || cause.leaves_findings())
    }

    /// Replaces the findings by the gap, because they do not count.
    pub(crate) fn discard(&mut self, gap: Gap) {
        self.findings.clear();
        self.gap = Some(gap);
    }

    /// This result as a baseline; `None` for a gap that leaves nothing to compare with.
    pub(crate) fn base_result(&self) -> Option<BaseResult> {
        let has_fault = self.has_project_fault();
        self.has_usable_findings()
            .then(|| BaseResult { findings: self.findings.clone(), has_fault })
    }

    /// True if the findings are real, but incomplete.
    pub(crate) fn is_partial(&self) -> bool {
        self.gap.as_ref().is_some_and(|gap| gap.cause.leaves_findings())
    }

    /// True if the project's configuration excludes the file from the server's checking.
    pub(crate) fn is_switched_off(&self) -> bool {
        self.gap.as_ref().is_some_and(|gap| gap.cause == Cause::SwitchedOff)
    }
}

/// The files that the project's configuration takes out of a server's checking.
pub(crate) fn switched_off_files(results: &[SensorResult]) -> Vec<SwitchedOffFile> {
    let mut files = Vec::new();
    for result in results.iter().filter(|result| result.is_switched_off()) {
        if let Some(gap) = result.gap.clone() {
            let (path, sensor) = (result.path.clone(), result.sensor.clone());
            files.push(SwitchedOffFile { path, sensor, gap });
        }
    }
    files.sort_by(|left, right| (&left.sensor, &left.path).cmp(&(&right.sensor, &right.path)));
    files
}

/// True if changed files are switched off and language servers measured no other changed file. A companion's
/// verdict on a switched-off file does not replace that of its main server.
pub(crate) fn is_work_switched_off(
    results: &[SensorResult],
    dependents: &BTreeSet<RelPath>,
) -> bool {
    let changed = results
        .iter()
        .filter(|result| result.kind == SensorKind::Lsp && !dependents.contains(&result.path));
    let (off, others): (Vec<_>, Vec<_>) = changed.partition(|result| result.is_switched_off());
    let is_off = |path: &RelPath| off.iter().any(|result| result.path == *path);
    !off.is_empty() && !others.iter().any(|result| result.gap.is_none() && !is_off(&result.path))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use moai_base::hash::ContentHash;
    use moai_base::verdict::Gap;

    fn measured(sensor: &str, name: &str, cause: Option<Cause>) -> SensorResult {
        SensorResult {
            sensor: sensor.to_owned(),
            kind: SensorKind::Lsp,
            version: None,
            server: None,
            path: RelPath::parse(name).unwrap(),
            hash: ContentHash::of_bytes(b""),
            findings: Vec::new(),
            gap: cause.map(|cause| Gap::new(cause, "why")),
            elapsed: Duration::ZERO,
            ended_at: std::time::Instant::now(),
        }
    }

    #[test]
    fn only_work_whose_changed_files_are_all_switched_off_is_switched_off() {
        let off = Some(Cause::SwitchedOff);
        let dependents = BTreeSet::from([RelPath::parse("dependent.py").unwrap()]);
        let check = |results: &[SensorResult], expected: bool| {
            assert_eq!(is_work_switched_off(results, &dependents), expected, "{results:?}");
        };
        let ignored = measured("pyright", "a.py", off);
        check(std::slice::from_ref(&ignored), true);
        check(&[ignored.clone(), measured("ruff", "a.py", None)], true);
        check(&[ignored.clone(), measured("pyright", "dependent.py", None)], true);
        check(&[ignored.clone(), measured("pyright", "b.py", None)], false);
        check(&[ignored, measured("pyright", "b.py", Some(Cause::TimedOut))], true);
        check(&[measured("pyright", "dependent.py", off)], false);
        check(&[], false);
    }
}
