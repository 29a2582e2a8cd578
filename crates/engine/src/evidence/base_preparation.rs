//! Measures a project in the background when a loop starts: findings before the first change are
//! older than the loop's work. Stops at the first change, because later findings may be due to it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;

use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::{BaseFile, BaseResult};
use crate::evidence::disk_poll;
use crate::evidence::snapshot_measurement;
use crate::evidence::snapshot_measurement::{SensorResult, select_servers};
use crate::evidence::unshown_files::changed_ignored;
use crate::evidence::verified_results;
use crate::evidence::work_base::{WorkBase, base_of_loop};
use crate::project::Project;
use crate::restore::checkpoints;
use moai_base::limits::{BASE_FILES_AT_ONCE_MAX, BASE_FILES_MAX, BASE_TRIES_MAX};
use moai_base::path::RelPath;
use moai_host::files::{self, Snapshot};
use moai_host::servers::ServerIdentity;
use moai_loops::charter::Charter;
use moai_lsp::session::MeasureLane;

/// Starts the measurement in the background.
pub(crate) fn prepare_base(engine: &Arc<Engine>, project: &Project, charter: Charter) {
    if !project.config.lsp_enabled || engine.lsp_gap.is_some() {
        return;
    }
    let (engine, project) = (Arc::clone(engine), project.clone());
    let job = engine.job();
    tokio::spawn(async move {
        let _job = job;
        let start = Instant::now();
        let project = project.without_unserved_languages(&engine);
        // Without a base there is nothing to store; the Stop reports why.
        let Ok(base) = base_of_loop(&engine, &project, &charter, charter.base.as_deref()).await
        else {
            return;
        };
        let measured = measure_base(&engine, &project, &base).await;
        let elapsed_ms = start.elapsed().as_millis();
        tracing::info!(id = charter.id, measured, elapsed_ms, "measured the base of a loop");
    });
}

/// Measures the source files; returns the number of files measured before the first change.
async fn measure_base(engine: &Arc<Engine>, project: &Project, base: &WorkBase) -> usize {
    let mut measured = 0;
    let Some(files) = source_files(project).await else { return measured };
    note_servers(engine, project, base, &files).await;
    let mut epoch = disk_poll::sync_disk(engine, project).await.epoch;
    // The first change may precede this poll.
    if epoch.is_none() || !is_base(engine, project, base).await {
        return measured;
    }
    let known = proven_results(engine, project, &files).await;
    if disk_poll::sync_disk(engine, project).await.epoch != epoch {
        return measured;
    }
    let files: Vec<RelPath> = files.into_iter().filter(|path| !known.contains_key(path)).collect();
    measured += known.len();
    for ProvenResult { file, server, result } in known.into_values().flatten() {
        engine.ledger().base_results.keep(&base.id, file, server, result);
    }
    for chunk in files.chunks(BASE_FILES_AT_ONCE_MAX) {
        let mut is_kept = false;
        for _ in 0..BASE_TRIES_MAX {
            let mut results = measure_files(engine, project, chunk).await;
            verified_results::discard_superseded(project, &mut results).await;
            // A change on disk may have reached the servers before this poll, and may be undone
            // already; therefore the chunk is measured again. The measurement itself causes some
            // changes: cargo writes its lock file.
            let poll = disk_poll::sync_disk(engine, project).await;
            is_kept = poll.epoch.is_some() && poll.epoch == epoch;
            epoch = poll.epoch;
            if is_kept {
                verified_results::record_results(engine, project, &mut results, poll);
                cache_results(engine, base, results);
                break;
            }
            if !is_base(engine, project, base).await {
                return measured;
            }
        }
        if !is_kept {
            return measured;
        }
        measured += chunk.len();
    }
    measured
}

/// Records which servers the files have, before the work can change installed packages.
async fn note_servers(engine: &Arc<Engine>, project: &Project, base: &WorkBase, files: &[RelPath]) {
    let (engine, project, files) = (Arc::clone(engine), project.clone(), files.to_vec());
    let id = base.id.clone();
    let noted = run_blocking(move || {
        for path in files {
            for choice in select_servers(&engine, &project, &path).into_iter().flatten() {
                let mut ledger = engine.ledger();
                ledger.base_results.note_server(&id, &path, &choice.id, choice.identity);
            }
        }
    });
    // After a panic the servers are unknown, so a later change of packages goes unnoticed.
    noted.await.unwrap_or_default();
}

/// A result that holds for the base state.
struct ProvenResult {
    file: BaseFile,
    server: ServerIdentity,
    result: BaseResult,
}

/// The results of files that all of their servers have measured since the last change: the first edit may
/// come before anything is measured again. Empty after a panic.
async fn proven_results(
    engine: &Arc<Engine>,
    project: &Project,
    files: &[RelPath],
) -> HashMap<RelPath, Vec<ProvenResult>> {
    let (engine, project, files) = (Arc::clone(engine), project.clone(), files.to_vec());
    let found = run_blocking(move || {
        let mut results = HashMap::new();
        for path in files {
            let file = snapshot_measurement::selected_file(&engine, &project, &path);
            let Ok(snapshot) = files::read_snapshot(&project.root, &path.under(&project.root))
            else {
                continue;
            };
            let (mut ledger, hash) = (engine.ledger(), snapshot.hash);
            let root = ledger.root(&project.root);
            let mut proven = Vec::new();
            for (sensor, known) in root.proven_findings(&file, hash) {
                if let Some(server) = known.server {
                    let result = BaseResult { findings: known.findings.clone(), has_fault: false };
                    let file = BaseFile { path: path.clone(), hash, sensor: sensor.to_owned() };
                    proven.push(ProvenResult { file, server, result });
                }
            }
            if !proven.is_empty() && proven.len() == file.servers.len() {
                results.insert(path, proven);
            }
        }
        results
    });
    found.await.unwrap_or_default()
}

async fn measure_files(
    engine: &Arc<Engine>,
    project: &Project,
    files: &[RelPath],
) -> Vec<SensorResult> {
    let mut measurements = JoinSet::new();
    for path in files {
        measurements.spawn(measure_file(Arc::clone(engine), project.clone(), path.clone()));
    }
    measurements.join_all().await.into_iter().flatten().collect()
}

fn cache_results(engine: &Engine, base: &WorkBase, results: Vec<SensorResult>) {
    for result in results {
        if let (Some(server), Some(base_result)) = (result.server, result.base_result()) {
            let file = BaseFile { path: result.path, hash: result.hash, sensor: result.sensor };
            engine.ledger().base_results.keep(&base.id, file, server, base_result);
        }
    }
}

/// True if all files that language servers read are as in the base: source files, their configuration, and
/// data that they import as modules. Generated code that git ignores must be older than the base.
async fn is_base(engine: &Arc<Engine>, project: &Project, base: &WorkBase) -> bool {
    let Ok(now) = checkpoints::snapshot_tree(engine, project).await else { return false };
    if !base.is_tree(&now.tree, |path| project.is_watched(path)) {
        return false;
    }
    let (engine, project, base) = (Arc::clone(engine), project.clone(), base.clone());
    let has_changed = run_blocking(move || !changed_ignored(&engine, &project, &base).is_empty());
    !has_changed.await.unwrap_or(true)
}

/// The files in programming languages; `None` after a panic.
async fn source_files(project: &Project) -> Option<Vec<RelPath>> {
    let project = project.clone();
    let listed = run_blocking(move || {
        let is_wanted = |path: &RelPath| project.is_program(path) && project.has_sensor(path);
        let root = &project.root;
        let mut files = files::walk_files(root, std::slice::from_ref(root), &is_wanted).files;
        files.truncate(BASE_FILES_MAX);
        files
    });
    listed.await
}

async fn measure_file(engine: Arc<Engine>, project: Project, path: RelPath) -> Vec<SensorResult> {
    let root = project.root.clone();
    let read =
        run_blocking(move || files::read_snapshot(&root, &path.under(&root)).ok()).await.flatten();
    let Some(snapshot): Option<Snapshot> = read else { return Vec::new() };
    let mut results = Vec::new();
    for chosen in select_servers(&engine, &project, &snapshot.path) {
        let lane = MeasureLane::Batch;
        let result =
            snapshot_measurement::measure_snapshot(&engine, &project, &snapshot, chosen, lane)
                .await;
        if !result.findings.is_empty() {
            engine.ledger().lines.keep(snapshot.hash, &snapshot.text);
        }
        results.push(result);
    }
    results
}
