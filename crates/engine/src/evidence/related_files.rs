//! Measures the files of a change first, and then those that it may break without mentioning them.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::Engine;
use crate::evidence::gather::{MeasureRequest, gather_evidence};
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Verdict};

/// Evidence about the requested files and, if nothing is wrong there, about `others`: a search by
/// name misses some dependents, such as users of a type that is inferred through a third file.
pub(crate) async fn gather_with_others(
    engine: &Arc<Engine>,
    project: &Project,
    request: MeasureRequest,
    others: BTreeSet<RelPath>,
) -> Evidence {
    let evidence = gather_evidence(engine, project, request.clone()).await;
    if others.is_empty() || !request.run_lsp || evidence.verdict() == Verdict::Dirty {
        return evidence;
    }
    let mut wider = MeasureRequest { skipped: Vec::new(), run_scan: false, ..request };
    wider.files.extend(others.iter().cloned());
    wider.dependents.files.extend(others);
    let wider = gather_evidence(engine, project, wider).await;
    with_others(evidence, wider)
}

/// Adds the results of the other files: errors that the work introduced there, and the number of
/// measured files. Gaps there are dropped, because nothing suggests that the work affects them; but
/// not those of files that changed meanwhile, which may be the work's own, nor of errors that may be the
/// work's.
fn with_others(mut evidence: Evidence, wider: Evidence) -> Evidence {
    if wider.verdict() == Verdict::Dirty {
        let servers = wider.readings.iter().filter(|reading| reading.kind == SensorKind::Lsp);
        let servers: BTreeSet<String> = servers.map(|reading| reading.sensor.clone()).collect();
        evidence.readings.retain(|reading| reading.kind != SensorKind::Lsp);
        evidence.findings.retain(|finding| !servers.contains(&finding.sensor));
        evidence.files = wider.files;
        evidence.older = wider.older;
        add_readings(&mut evidence, wider.readings, wider.findings);
        return evidence;
    }
    let mut new: Vec<SensorReading> = Vec::new();
    for other in wider.readings.into_iter().filter(|other| other.kind == SensorKind::Lsp) {
        let counts = other
            .gap
            .as_ref()
            .is_some_and(|gap| matches!(gap.cause, Cause::Superseded | Cause::NoBaseline));
        let known = evidence.readings.iter_mut().find(|reading| reading.sensor == other.sensor);
        match (known, &other.gap) {
            (Some(reading), None) => {
                reading.files = other.files;
                reading.elapsed_ms += other.elapsed_ms;
            }
            (Some(reading), gap) if counts && reading.gap.is_none() => reading.gap.clone_from(gap),
            // No file of the change has this sensor.
            (None, _) if counts => new.push(other),
            _ => {}
        }
    }
    add_readings(&mut evidence, new, Vec::new());
    evidence
}

/// Adds readings, ordered by kind and sensor, and their findings.
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
