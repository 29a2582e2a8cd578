//! Files with a merge conflict that is not resolved: no sensor needs to know their language, and git commits nothing
//! until they are.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::engine::run_blocking;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::finding::{Finding, FindingPlace, Severity};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::{Position, TextRange};
use moai_host::{files, git};

/// The sensor of these findings.
const SENSOR: &str = "git";
/// The line with which git begins a conflict.
const CONFLICT_START: &str = "<<<<<<< ";

/// One result with an error for each file below the root that git's index lists as unmerged. None if git's data cannot be
/// read: a caller that lists the changed files reports that.
pub(crate) async fn merge_conflicts(project: &Project) -> Vec<SensorResult> {
    let root = project.root.clone();
    let found = run_blocking(move || {
        let unmerged = git::unmerged_files(&root).unwrap_or_default();
        unmerged.into_iter().map(|path| conflict(&root, path)).collect()
    });
    found.await.unwrap_or_default()
}

fn conflict(root: &Path, path: RelPath) -> SensorResult {
    let started_at = Instant::now();
    let snapshot = files::read_snapshot(root, &path.under(root)).ok();
    let text = snapshot.as_ref().map_or("", |snapshot| &*snapshot.text);
    let line = text.lines().position(|line| line.starts_with(CONFLICT_START)).unwrap_or_default();
    let start = Position { line: u32::try_from(line).unwrap_or_default(), character: 0 };
    let hash = snapshot.map_or_else(|| ContentHash::of_bytes(b""), |snapshot| snapshot.hash);
    let range = TextRange { start, end: start };
    let place = FindingPlace { path: path.clone(), range, content_hash: hash };
    let message = "merge conflict: resolve it, then tell git with `git add` or `git rm`";
    SensorResult {
        sensor: SENSOR.to_owned(),
        kind: SensorKind::Scan,
        version: None,
        server: None,
        path,
        hash,
        findings: vec![Finding::new(SENSOR, "unmerged", Severity::Error, place, message)],
        gap: None,
        elapsed: Duration::ZERO,
        ended_at: started_at,
    }
}
