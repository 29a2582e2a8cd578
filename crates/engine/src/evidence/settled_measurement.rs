//! Measurements that hold for the files on disk: files that change while servers work are measured again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout_at;

use crate::engine::{Engine, measure_blocking, panic_gap, run_blocking};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::poll_gate::DiskEpoch;
use crate::evidence::snapshot_measurement::{
    SensorResult, measure_snapshot, select_servers, unmeasured,
};
use crate::evidence::verified_results::{discard_behind, superseded_gap};
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::hash::ContentHash;
use moai_base::limits::{MEASURE_RETRIES_MAX, MEASURE_RETRY_MS, MEASUREMENTS_AT_ONCE_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_host::servers::ServerSelection;
use moai_lsp::session::MeasureLane;

/// The servers that measure each file.
#[derive(Clone, Debug)]
pub(crate) enum MeasuredServers {
    /// All that are selected for it, in the batch lane, until the deadline.
    All { deadline: Instant },
    /// One, in this lane.
    One { selection: Box<ServerSelection>, lane: MeasureLane },
}

/// The results of servers that had been notified of every change.
pub(crate) struct SettledMeasurement {
    /// The measured texts: those of a file that changed in the meantime are its last ones.
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) results: Vec<SensorResult>,
    /// The poll that found no further change.
    pub(crate) disk: DiskEpoch,
}

impl SettledMeasurement {
    /// The texts that replaced those read first.
    pub(crate) fn changed_since_read(&self, first: &[Snapshot]) -> Arc<[Snapshot]> {
        let pairs = first.iter().zip(&self.snapshots);
        let changed = pairs.filter(|(first, now)| first.hash != now.hash);
        changed.map(|(_, now)| now.clone()).collect()
    }
}

/// Measures files until their results hold for the disk: a file is measured again if it changed
/// while the servers worked, since the poll `asked_at`, if other files did, or if another request
/// replaced its own. After [`MEASURE_RETRIES_MAX`] attempts, or past the deadline, such results are
/// gaps.
pub(crate) async fn measure_settled(
    engine: &Arc<Engine>,
    project: &Project,
    first: &[Snapshot],
    servers: MeasuredServers,
    mut asked_at: DiskEpoch,
) -> SettledMeasurement {
    let mut snapshots = first.to_vec();
    let mut results = measure_all(engine, project, &snapshots, &servers).await;
    let mut tries = 0;
    let disk = loop {
        tries += 1;
        // A poll after the answers finds changes that the servers had not been notified of, and changes made
        // while they worked.
        let disk = sync_disk(engine, project).await;
        let (Some(before), Some(_)) = (asked_at.epoch, disk.epoch) else {
            break DiskEpoch::default();
        };
        let outdated = outdated_paths(engine, project, &snapshots, &results, before);
        // Read after the poll: the write that this measurement is about may have been unpolled when the servers
        // were asked.
        let present = read_present(project, &snapshots, outdated).await;
        let behind = match present {
            Ok(PresentFiles { unreadable, behind }) => {
                for result in results.iter_mut().filter(|it| unreadable.contains(&it.path)) {
                    result.discard(superseded_gap(&result.path));
                }
                behind
            }
            Err(gap) => {
                for result in &mut results {
                    result.discard(gap.clone());
                }
                break disk;
            }
        };
        if behind.is_empty() {
            break disk;
        }
        if tries > MEASURE_RETRIES_MAX || servers.is_past_deadline() {
            for now in &behind {
                for result in results.iter_mut().filter(|result| result.path == now.path) {
                    if result.hash == now.hash {
                        discard_behind(result);
                    } else {
                        result.discard(superseded_gap(&result.path));
                    }
                }
            }
            break disk;
        }
        asked_at = disk;
        let paths: BTreeSet<&RelPath> = behind.iter().map(|snapshot| &snapshot.path).collect();
        results.retain(|result| !paths.contains(&result.path));
        results.extend(measure_all(engine, project, &behind, &servers).await);
        for now in behind {
            if let Some(snapshot) = snapshots.iter_mut().find(|it| it.path == now.path) {
                *snapshot = now;
            }
        }
    };
    SettledMeasurement { snapshots, results, disk }
}

impl MeasuredServers {
    fn is_past_deadline(&self) -> bool {
        matches!(self, Self::All { deadline } if Instant::now() >= *deadline)
    }
}

/// The measured files as they are on disk now.
#[derive(Debug, Default)]
struct PresentFiles {
    /// Those that must be measured again, with their present texts.
    behind: Vec<Snapshot>,
    /// Those that are deleted or cannot be read any more: nothing is left to measure.
    unreadable: BTreeSet<RelPath>,
}

/// Reads the measured files again. `outdated` are behind whatever their bytes are.
async fn read_present(
    project: &Project,
    snapshots: &[Snapshot],
    outdated: BTreeSet<RelPath>,
) -> Result<PresentFiles, Gap> {
    let root = project.root.clone();
    let measured: Vec<(RelPath, ContentHash)> =
        snapshots.iter().map(|snapshot| (snapshot.path.clone(), snapshot.hash)).collect();
    let read = measure_blocking(move || {
        let mut present = PresentFiles::default();
        for (path, hash) in measured {
            match files::read_snapshot(&root, &path.under(&root)) {
                Ok(now) if now.hash != hash || outdated.contains(&path) => present.behind.push(now),
                Ok(_) => {}
                Err(_) => drop(present.unreadable.insert(path)),
            }
        }
        present
    });
    read.await
}

/// The measured files for which another file changed since the epoch, or whose request was replaced.
fn outdated_paths(
    engine: &Engine,
    project: &Project,
    snapshots: &[Snapshot],
    results: &[SensorResult],
    epoch: u64,
) -> BTreeSet<RelPath> {
    let mut outdated = BTreeSet::new();
    for result in results {
        if result.gap.as_ref().is_some_and(|gap| gap.cause == Cause::Superseded) {
            outdated.insert(result.path.clone());
        }
    }
    let mut ledger = engine.ledger();
    let disk = &ledger.root(&project.root).disk;
    for Snapshot { path, .. } in snapshots {
        if disk.others_changed_since(path, epoch) {
            outdated.insert(path.clone());
        }
    }
    outdated
}

/// Reads the files of a root; those that cannot be read as source are listed with the reason.
pub(crate) async fn read_snapshots(
    project: &Project,
    files: Vec<RelPath>,
) -> (Vec<Snapshot>, Vec<SkippedFile>) {
    let root = project.root.clone();
    let all = files.clone();
    let read = run_blocking(move || {
        let mut snapshots = Vec::with_capacity(files.len());
        let mut skipped = Vec::new();
        let reader = files::RootReader::open(&root);
        for file in files {
            match reader.read(&file) {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(file) => skipped.push(file),
            }
        }
        (snapshots, skipped)
    });
    read.await.unwrap_or_else(|| {
        let skipped = all
            .into_iter()
            .map(|path| SkippedFile { path: path.to_string(), reason: panic_gap().detail });
        (Vec::new(), skipped.collect())
    })
}

async fn measure_all(
    engine: &Arc<Engine>,
    project: &Project,
    snapshots: &[Snapshot],
    servers: &MeasuredServers,
) -> Vec<SensorResult> {
    let deadline = match servers {
        MeasuredServers::All { deadline } => *deadline,
        MeasuredServers::One { selection, lane } => {
            let mut tasks = JoinSet::new();
            for snapshot in snapshots {
                let (engine, project) = (Arc::clone(engine), project.clone());
                let (snapshot, lane) = (snapshot.clone(), *lane);
                let selection = ServerSelection::clone(selection);
                tasks.spawn(async move {
                    measure_snapshot(&engine, &project, &snapshot, selection, lane).await
                });
            }
            return tasks.join_all().await;
        }
    };
    let turns = Arc::new(Semaphore::new(MEASUREMENTS_AT_ONCE_MAX));
    let mut tasks = JoinSet::new();
    let Some(selected) = select_for_all(engine, project, snapshots).await else {
        let unknown = Err(("language servers".to_owned(), panic_gap()));
        let without_result = |snapshot| unmeasured(snapshot, &unknown, panic_gap(), Duration::ZERO);
        return snapshots.iter().map(without_result).collect();
    };
    for ServerTask { snapshot, chosen } in selected {
        let (engine, project) = (Arc::clone(engine), project.clone());
        let turns = Arc::clone(&turns);
        tasks.spawn(async move {
            let waited_from = Instant::now();
            let _turn = turns.acquire().await;
            let start = Instant::now();
            if start >= deadline && chosen.is_ok() {
                let detail = "the time was used up before it was measured";
                let gap = Gap::new(Cause::TimedOut, detail);
                return unmeasured(&snapshot, &chosen, gap, waited_from.elapsed());
            }
            let measuring = measure_with_retries(&engine, &project, &snapshot, &chosen);
            timeout_at(deadline.into(), measuring)
                .await
                .unwrap_or_else(|_| timed_out_result(&snapshot, &chosen, start))
        });
    }
    tasks.join_all().await
}

/// A file and a server that is to measure it.
struct ServerTask {
    snapshot: Snapshot,
    chosen: ServerSelection,
}

/// The servers of all files, which are sought on the disk; `None` after a panic.
async fn select_for_all(
    engine: &Arc<Engine>,
    project: &Project,
    snapshots: &[Snapshot],
) -> Option<Vec<ServerTask>> {
    let (engine, project, snapshots) = (Arc::clone(engine), project.clone(), snapshots.to_vec());
    let selected = run_blocking(move || {
        let mut selected = Vec::new();
        for snapshot in snapshots {
            for chosen in select_servers(&engine, &project, &snapshot.path) {
                selected.push(ServerTask { snapshot: snapshot.clone(), chosen });
            }
        }
        selected
    });
    selected.await
}

/// Measures again, a few times, when a server could not answer for a transient reason: it crashed
/// and is being started, or all servers were busy.
async fn measure_with_retries(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    chosen: &ServerSelection,
) -> SensorResult {
    for _ in 0..MEASURE_RETRIES_MAX {
        let result =
            measure_snapshot(engine, project, snapshot, chosen.clone(), MeasureLane::Batch).await;
        let cause = result.gap.as_ref().map(|gap| gap.cause);
        let is_transient = matches!(cause, Some(Cause::Crashed | Cause::Loading));
        if !is_transient || engine.lsp_gap.is_some() {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(MEASURE_RETRY_MS)).await;
    }
    measure_snapshot(engine, project, snapshot, chosen.clone(), MeasureLane::Batch).await
}

fn timed_out_result(snapshot: &Snapshot, chosen: &ServerSelection, start: Instant) -> SensorResult {
    let elapsed = start.elapsed();
    let detail = format!("no answer within {} ms", elapsed.as_millis());
    let gap = match chosen {
        Ok(_) => Gap::new(Cause::TimedOut, detail),
        Err((_, gap)) => gap.clone(),
    };
    unmeasured(snapshot, chosen, gap, elapsed)
}
