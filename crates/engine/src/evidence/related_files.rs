//! Measures the files that a change may break without mentioning them, after those of the change.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::Engine;
use crate::evidence::gather::{MeasureRequest, gather_evidence};
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::path::RelPath;
use moai_base::verdict::Cause;

/// Adds `others` to the evidence about the requested files: a search by name misses some dependents,
/// such as users of a type that is inferred through a third file.
pub(crate) async fn gather_others(
    engine: &Arc<Engine>,
    project: &Project,
    request: MeasureRequest,
    others: BTreeSet<RelPath>,
    evidence: Evidence,
) -> Evidence {
    if others.is_empty() || !request.run_lsp {
        return evidence;
    }
    let mut wider = MeasureRequest { skipped: Vec::new(), run_scan: false, ..request };
    wider.files.extend(others.iter().cloned());
    wider.dependents.files.extend(others);
    let wider = Box::pin(gather_evidence(engine, project, wider)).await;
    with_others(evidence, wider)
}

/// Adds the results of the other files: errors that the work introduced there, and the number of
/// measured files. Gaps there are dropped, because nothing suggests that the work affects them; but
/// not those of files that changed meanwhile, which may be the work's own, nor of errors that may be the
/// work's.
fn with_others(mut evidence: Evidence, wider: Evidence) -> Evidence {
    let mut new: Vec<SensorReading> = Vec::new();
    let mut servers: BTreeSet<String> = BTreeSet::new();
    for other in wider.readings.into_iter().filter(|it| it.kind == SensorKind::Lsp) {
        servers.insert(other.sensor.clone());
        let gap = other
            .gap
            .clone()
            .filter(|gap| matches!(gap.cause, Cause::Superseded | Cause::NoBaseline));
        let known = evidence.readings.iter_mut().find(|reading| reading.sensor == other.sensor);
        if let Some(reading) = known {
            reading.dirty |= other.dirty;
            if other.gap.is_none() {
                reading.files = other.files;
                reading.elapsed_ms += other.elapsed_ms;
            }
            reading.gap = reading.gap.take().or(gap);
        } else if other.dirty || gap.is_some() {
            // No file of the change has this sensor.
            new.push(SensorReading { gap, ..other });
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
