//! Unresolved merge conflicts, in files of any language.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::{panic_gap, run_blocking};
use crate::evidence::snapshot_measurement::SensorResult;
use crate::project::Project;
use moai_base::evidence::{SensorKind, SkippedFile};
use moai_base::finding::{Finding, FindingPlace, Severity};
use moai_base::hash::ContentHash;
use moai_base::path::{RelPath, normalize};
use moai_base::text::{Position, TextRange};
use moai_host::git::GitError;
use moai_host::{files, git};

/// The sensor of these findings.
const SENSOR: &str = "git";
/// The line with which git begins a conflict.
const CONFLICT_START: &str = "<<<<<<< ";

/// One result with an error for each file that git's index lists as unmerged, below the root or, if there are
/// `starts`, at or below one of these. If git's data cannot be read, an entry that says so.
pub(crate) async fn merge_conflicts(
    project: &Project,
    starts: Vec<PathBuf>,
) -> Result<Vec<SensorResult>, SkippedFile> {
    let root = project.root.clone();
    let found = run_blocking(move || {
        let mut unmerged = git::unmerged_files(&root)?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| normalize(path));
        let real_root = real(&root);
        let starts: Vec<PathBuf> = starts.iter().map(|start| real(start)).collect();
        unmerged.retain(|path| {
            let file = path.under(&real_root);
            starts.is_empty() || starts.iter().any(|start| file.starts_with(start))
        });
        Ok(unmerged.into_iter().map(|path| conflict(&root, path)).collect())
    });
    let skipped = |reason| SkippedFile { path: "merge conflicts".to_owned(), reason };
    match found.await {
        Some(found) => found.map_err(|error: GitError| {
            let remedy = error.remedy.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            skipped(format!("{error}{remedy}"))
        }),
        None => Err(skipped(panic_gap().detail)),
    }
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
