//! Measures the files that a change may break although they do not mention it, after the changed files
//! themselves.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::Engine;
use crate::evidence::gather::{CountedGaps, MeasureRequest, gather_evidence};
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::limits::MEASURE_RETRIES_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap, Verdict};

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
    let mut tries = 0;
    loop {
        let first = Box::pin(gather_evidence(engine, project, request.clone())).await;
        let is_enough = stops_at_errors && first.evidence.verdict() == Verdict::Dirty;
        if indirect.is_empty() || !request.run_lsp || is_enough {
            return first.evidence;
        }
        let added = request.clone().of_indirect(&indirect);
        let added = Box::pin(gather_evidence(engine, project, added)).await;
        let is_same_disk = added.disk == first.disk;
        let mut evidence = with_indirect(first.evidence, added.evidence);
        if is_same_disk {
            return evidence;
        }
        tries += 1;
        if tries > MEASURE_RETRIES_MAX || Instant::now() >= request.deadline {
            for reading in evidence.readings.iter_mut().filter(|it| it.kind == SensorKind::Lsp) {
                let detail = "files kept changing while others were measured";
                reading.gap.get_or_insert_with(|| Gap::new(Cause::Superseded, detail));
            }
            return evidence;
        }
    }
}

impl MeasureRequest {
    /// The request for the indirect dependents of the files of this one.
    fn of_indirect(mut self, indirect: &BTreeSet<RelPath>) -> Self {
        let touches_symbol = !self.dependents.affected.touched.is_empty();
        self.dependents.files.extend(indirect.iter().cloned());
        Self {
            measured_before: self.files,
            files: indirect.iter().cloned().collect(),
            skipped: Vec::new(),
            run_scan: false,
            conflicts: Vec::new(),
            counted_gaps: CountedGaps::OfIndirectDependents { touches_symbol },
            ..self
        }
    }
}

/// Adds the results of the indirect dependents: errors that the work introduced there, the gaps that count, and
/// the number of measured files.
fn with_indirect(mut evidence: Evidence, added: Evidence) -> Evidence {
    let mut new: Vec<SensorReading> = Vec::new();
    let mut servers: BTreeSet<String> = BTreeSet::new();
    for reading in added.readings.into_iter().filter(|it| it.kind == SensorKind::Lsp) {
        servers.insert(reading.sensor.clone());
        let known = evidence.readings.iter_mut().find(|known| known.sensor == reading.sensor);
        if let Some(known) = known {
            known.dirty |= reading.dirty;
            if reading.gap.is_none() {
                known.files += reading.files;
                known.elapsed_ms += reading.elapsed_ms;
            }
            known.gap = known.gap.take().or(reading.gap);
        } else if reading.dirty || reading.gap.is_some() {
            // No file of the change has this sensor.
            new.push(reading);
        }
    }
    let count = evidence.findings.len();
    let findings = added.findings.into_iter().filter(|it| servers.contains(&it.sensor)).collect();
    add_readings(&mut evidence, new, findings);
    if evidence.findings.len() > count {
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
