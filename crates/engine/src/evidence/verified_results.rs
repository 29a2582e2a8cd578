//! Results become verified findings only if their bytes are still on disk and the servers had been
//! notified of every change.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::{Engine, measure_blocking, panic_gap};
use crate::evidence::outside_poll::add_limit_gaps;
use crate::evidence::poll_gate::DiskEpoch;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::ledger::VerifiedFindings;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files;

/// Turns a result into a gap, because other files kept changing while the server worked.
pub(crate) fn discard_behind(result: &mut SensorResult) {
    if result.gap.is_none() || result.is_partial() {
        let detail = format!("other files changed while {} was measured", result.path);
        result.discard(Gap::new(Cause::Superseded, detail));
    }
}

/// Reads every file again: a result for bytes that have changed since becomes a gap.
pub(crate) async fn discard_superseded(project: &Project, results: &mut [SensorResult]) {
    let root = project.root.clone();
    let paths: BTreeSet<RelPath> = results.iter().map(|result| result.path.clone()).collect();
    let now = measure_blocking(move || {
        let mut hashes = BTreeMap::new();
        for path in paths {
            let snapshot = files::read_snapshot(&root, &path.under(&root)).ok();
            hashes.insert(path, snapshot.map(|snapshot| snapshot.hash));
        }
        hashes
    });
    discard_unproven(results, &now.await);
}

/// Turns results into gaps unless the present hashes prove that their bytes are still there.
fn discard_unproven(
    results: &mut [SensorResult],
    now: &Result<BTreeMap<RelPath, Option<ContentHash>>, Gap>,
) {
    for result in results {
        let gap = match now {
            Err(gap) => gap.clone(),
            Ok(now) if now.get(&result.path).copied().flatten() == Some(result.hash) => continue,
            Ok(_) => superseded_gap(&result.path),
        };
        result.discard(gap);
    }
}

/// The gap of a result whose bytes are not on disk any more.
pub(crate) fn superseded_gap(path: &RelPath) -> Gap {
    Gap::new(Cause::Superseded, format!("{path} changed while it was measured"))
}

/// Stores every verdict as the file's last verified findings, as proven at the epoch: the servers had
/// been notified of every change up to it. Incomplete findings are stored under another key, because
/// they are a baseline and no verdict.
pub(crate) fn store_verified(
    engine: &Engine,
    project: &Project,
    results: &[SensorResult],
    epoch: Option<u64>,
) {
    let mut ledger = engine.ledger();
    for result in results {
        let sensor = match &result.gap {
            None => result.sensor.clone(),
            Some(gap) if gap.cause.leaves_findings() => partial_sensor_key(&result.sensor),
            Some(_) => continue,
        };
        let verified = VerifiedFindings {
            hash: result.hash,
            server: result.server,
            findings: result.findings.clone(),
            epoch: epoch.filter(|_| result.gap.is_none()),
        };
        ledger.root(&project.root).set_verified(&result.path, &sensor, verified);
    }
}

/// The key of a sensor's incomplete results.
pub(crate) fn partial_sensor_key(sensor: &str) -> String {
    format!("{sensor} (partly)")
}

/// Stores and proves the results measured at a disk epoch. Without an epoch, the results of language
/// servers become gaps, because the file versions they saw are unknown.
pub(crate) fn record_results(
    engine: &Engine,
    project: &Project,
    results: &mut [SensorResult],
    disk: DiskEpoch,
) {
    if disk.epoch.is_none() {
        for result in results.iter_mut().filter(|result| result.kind == SensorKind::Lsp) {
            result.findings.clear();
            // A gap that keeps its findings would store the empty list.
            result.gap = Some(panic_gap());
        }
    }
    let proof_epoch = disk.epoch.filter(|_| disk.limit.is_none());
    store_verified(engine, project, results, proof_epoch);
    if let Some(limit) = disk.limit {
        add_limit_gaps(results, limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn result(name: &str, text: &str) -> SensorResult {
        SensorResult {
            sensor: "server".to_owned(),
            kind: SensorKind::Lsp,
            version: None,
            server: None,
            path: RelPath::parse(name).unwrap(),
            hash: ContentHash::of_bytes(text.as_bytes()),
            findings: Vec::new(),
            gap: None,
            elapsed: Duration::ZERO,
            ended_at: std::time::Instant::now(),
        }
    }

    /// The causes of the gaps in results for `same.py`, `edited.py` and `deleted.py`.
    fn causes(now: &Result<BTreeMap<RelPath, Option<ContentHash>>, Gap>) -> Vec<Option<Cause>> {
        let mut results = ["same.py", "edited.py", "deleted.py"].map(|name| result(name, "old"));
        discard_unproven(&mut results, now);
        results.iter().map(|result| result.gap.as_ref().map(|gap| gap.cause)).collect()
    }

    #[test]
    fn results_for_other_bytes_or_unread_bytes_are_gaps() {
        let hash = |text: &str| Some(ContentHash::of_bytes(text.as_bytes()));
        let now = [("same.py", hash("old")), ("edited.py", hash("new")), ("deleted.py", None)];
        let now = now.map(|(name, hash)| (RelPath::parse(name).unwrap(), hash));
        let superseded = Some(Cause::Superseded);
        assert_eq!(causes(&Ok(BTreeMap::from(now))), [None, superseded, superseded]);
        assert_eq!(causes(&Err(panic_gap())), [Some(Cause::Crashed); 3]);
    }
}
