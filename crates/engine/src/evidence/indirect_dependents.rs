//! Measures the files that a change may break although they do not mention it, after the changed files
//! themselves.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::Engine;
use crate::evidence::gather::{CountedGaps, GapRank, MeasureRequest, gather_evidence};
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::limits::MEASURE_RETRIES_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_host::files::Snapshot;

/// Measures the requested files and then their indirect dependents: a search by name misses some files, such as
/// users of a type that is inferred through a third one. With `stops_at_errors`, errors of the requested files
/// are reported without them.
pub(crate) async fn gather_with_indirect(
    engine: &Arc<Engine>,
    project: &Project,
    request: MeasureRequest,
    indirect: BTreeSet<RelPath>,
    stops_at_errors: bool,
) -> Evidence {
    let verdicts = engine.ledger().root(&project.root).measuring_verdicts();
    let _measuring = verdicts.begin();
    let mut tries = 0;
    loop {
        let first = Box::pin(gather_evidence(engine, project, request.clone())).await;
        let is_enough = stops_at_errors && first.evidence.verdict() == Verdict::Dirty;
        if indirect.is_empty() || !request.run_lsp || is_enough {
            return first.evidence;
        }
        let added = request.clone().of_indirect(&indirect, &first.snapshots);
        let added = Box::pin(gather_evidence(engine, project, added)).await;
        let is_same_disk = added.disk == first.disk;
        let mut evidence = with_indirect(first.evidence, added.evidence);
        if is_same_disk {
            return evidence;
        }
        tries += 1;
        if tries > MEASURE_RETRIES_MAX || Instant::now() >= request.deadline {
            for reading in evidence.readings.iter_mut().filter(|it| it.kind == SensorKind::Lsp) {
                let detail = "files changed while others were measured";
                reading.gap.get_or_insert_with(|| Gap::new(Cause::Superseded, detail));
            }
            return evidence;
        }
    }
}

impl MeasureRequest {
    /// The request for the indirect dependents of the measured files of this one.
    fn of_indirect(mut self, indirect: &BTreeSet<RelPath>, measured: &Arc<[Snapshot]>) -> Self {
        let touches_symbol = !self.dependents.affected.touched.is_empty();
        self.dependents.files.extend(indirect.iter().cloned());
        Self {
            measured_before: Arc::clone(measured),
            files: indirect.iter().cloned().collect(),
            skipped: Vec::new(),
            run_scan: false,
            conflicts: Vec::new(),
            counted_gaps: CountedGaps::OfIndirectDependents { touches_symbol },
            ..self
        }
    }
}

/// Adds the results of the indirect dependents, all of language servers: errors that the work introduced there, the
/// gaps that count, and the number of measured files. Without such errors, the listed files are those of the work.
fn with_indirect(mut evidence: Evidence, added: Evidence) -> Evidence {
    let mut new: Vec<SensorReading> = Vec::new();
    for reading in added.readings {
        let is_same = |known: &&mut SensorReading| {
            (known.kind, &known.sensor) == (reading.kind, &reading.sensor)
        };
        let Some(known) = evidence.readings.iter_mut().find(is_same) else {
            if reading.dirty || reading.gap.is_some() {
                // No file of the change has this sensor.
                new.push(reading);
            }
            continue;
        };
        known.dirty |= reading.dirty;
        known.files += reading.files;
        known.elapsed_ms += reading.elapsed_ms;
        let gaps = known.gap.take().into_iter().chain(reading.gap);
        known.gap = gaps.min_by_key(|gap| GapRank::of(gap.cause));
        // A sensor that measured other files has measured everything that the project wants checked.
        known.gap.take_if(|gap| gap.cause == Cause::SwitchedOff && known.files > 0);
    }
    let has_errors = !added.findings.is_empty();
    add_readings(&mut evidence, new, added.findings);
    if has_errors {
        evidence.files.extend(added.files);
        evidence.older += added.older;
    }
    evidence
}

/// Adds readings, ordered by kind and sensor, and their findings, each once.
pub(crate) fn add_readings(
    evidence: &mut Evidence,
    readings: Vec<SensorReading>,
    findings: Vec<Finding>,
) {
    evidence.readings.extend(readings);
    evidence.readings.sort_by(|left, right| {
        (left.kind, left.sensor.as_str()).cmp(&(right.kind, right.sensor.as_str()))
    });
    evidence.findings.extend(findings);
    assign_fingerprints(&mut evidence.findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(files: usize, cause: Option<Cause>) -> Evidence {
        let gap = cause.map(|cause| Gap::new(cause, format!("{cause:?}")));
        let reading = SensorReading { gap, ..SensorReading::clean("s", SensorKind::Lsp, files) };
        Evidence { readings: vec![reading], ..Evidence::default() }
    }

    #[test]
    fn the_more_urgent_of_two_gaps_counts() {
        let check = |first: Option<Cause>, files: usize, added: Option<Cause>, expected| {
            let combined = with_indirect(evidence(files, first), evidence(1, added));
            let reading = &combined.readings[0];
            let cause = reading.gap.as_ref().map(|gap| gap.cause);
            assert_eq!((cause, reading.files), (expected, files + 1), "{first:?} and {added:?}");
        };
        let (off, old) = (Some(Cause::SwitchedOff), Some(Cause::ExistingFault));
        let (late, doubt) = (Some(Cause::TimedOut), Some(Cause::NoBaseline));
        check(off, 0, late, late);
        check(off, 0, doubt, doubt);
        check(old, 1, late, late);
        check(doubt, 1, late, late);
        check(late, 1, doubt, late);
        check(off, 0, None, None);
        check(old, 1, None, old);
        check(None, 1, None, None);
    }

    #[test]
    fn a_sensor_that_no_file_of_the_work_has_is_added_only_with_a_finding_or_a_gap() {
        let added = |cause| with_indirect(Evidence::default(), evidence(1, cause)).readings.len();
        assert_eq!((added(None), added(Some(Cause::TimedOut))), (0, 1));
    }
}
