//! Measures the files that a change may break although they do not mention it, after the changed files
//! themselves.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::Engine;
use crate::evidence::gather::{CountedGaps, MeasureRequest, gather_evidence};
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::path::RelPath;

/// Adds the indirect dependents to the evidence about the requested files: a search by name misses some
/// files, such as users of a type that is inferred through a third one.
pub(crate) async fn add_indirect_dependents(
    engine: &Arc<Engine>,
    project: &Project,
    request: MeasureRequest,
    indirect: BTreeSet<RelPath>,
    evidence: Evidence,
) -> Evidence {
    if indirect.is_empty() || !request.run_lsp {
        return evidence;
    }
    let touches_symbol = !request.dependents.affected.touched.is_empty();
    let counted_gaps = CountedGaps::OfIndirectDependents { touches_symbol };
    let mut wider =
        MeasureRequest { skipped: Vec::new(), run_scan: false, counted_gaps, ..request };
    wider.files.extend(indirect.iter().cloned());
    wider.dependents.files.extend(indirect);
    let wider = Box::pin(gather_evidence(engine, project, wider)).await;
    with_indirect(evidence, wider)
}

/// Adds the results of the indirect dependents: errors that the work introduced there, the gaps that count, and
/// the number of measured files.
fn with_indirect(mut evidence: Evidence, wider: Evidence) -> Evidence {
    let mut new: Vec<SensorReading> = Vec::new();
    let mut servers: BTreeSet<String> = BTreeSet::new();
    for wide in wider.readings.into_iter().filter(|it| it.kind == SensorKind::Lsp) {
        servers.insert(wide.sensor.clone());
        let known = evidence.readings.iter_mut().find(|reading| reading.sensor == wide.sensor);
        if let Some(reading) = known {
            reading.dirty |= wide.dirty;
            if wide.gap.is_none() {
                reading.files = wide.files;
                reading.elapsed_ms += wide.elapsed_ms;
            }
            reading.gap = reading.gap.take().or(wide.gap);
        } else if wide.dirty || wide.gap.is_some() {
            // No file of the change has this sensor.
            new.push(wide);
        }
    }
    let count = evidence.findings.len();
    let findings = wider.findings.into_iter().filter(|it| servers.contains(&it.sensor)).collect();
    add_readings(&mut evidence, new, findings);
    if evidence.findings.len() > count {
        evidence.files = wider.files;
        evidence.older = wider.older;
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
