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
    let touches_symbol = !wider.dependents.affected.touched.is_empty();
    let wider = Box::pin(gather_evidence(engine, project, wider)).await;
    with_others(evidence, wider, touches_symbol)
}

/// Adds the results of the other files: errors that the work introduced there, and the number of
/// measured files. Of the gaps there, those of files that changed meanwhile count, which may be the work's
/// own, and those of errors that may be the work's; where the work touches a symbol, also those of servers
/// that did not answer. Others, such as a missing configuration, are no effect of the work.
fn with_others(mut evidence: Evidence, wider: Evidence, touches_symbol: bool) -> Evidence {
    let counts = |cause: Cause| match cause {
        Cause::Superseded | Cause::NoBaseline => true,
        cause => touches_symbol && cause.is_transient(),
    };
    let mut new: Vec<SensorReading> = Vec::new();
    let mut servers: BTreeSet<String> = BTreeSet::new();
    for other in wider.readings.into_iter().filter(|it| it.kind == SensorKind::Lsp) {
        servers.insert(other.sensor.clone());
        let gap = other.gap.clone().filter(|gap| counts(gap.cause));
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

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::verdict::{Gap, Verdict};

    fn evidence(gap: Option<Cause>) -> Evidence {
        let gap = gap.map(|cause| Gap::new(cause, "why"));
        let reading = SensorReading { gap, ..SensorReading::clean("pyright", SensorKind::Lsp, 1) };
        Evidence { readings: vec![reading], ..Evidence::default() }
    }

    #[test]
    fn servers_that_do_not_answer_count_if_the_work_touches_a_symbol() {
        let verdict = |cause, touches_symbol| {
            with_others(evidence(None), evidence(Some(cause)), touches_symbol).verdict()
        };
        assert!(matches!(verdict(Cause::TimedOut, true), Verdict::Unmeasured(_)));
        assert_eq!(verdict(Cause::TimedOut, false), Verdict::Clean);
        assert!(matches!(verdict(Cause::Superseded, false), Verdict::Unmeasured(_)));
        assert_eq!(verdict(Cause::ProjectFault, true), Verdict::Clean);
    }
}
