//! The impact of a change on other files. Files that mention the touched symbols are searched for
//! during the measurement of the changed file and measured after it: a few while the hook waits,
//! more in the background. All of them are measured again at the session's Stop.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout_at;

use crate::engine::{Engine, run_blocking};
use crate::evidence::dependents::{package_names, retain_own_files};
use crate::evidence::earlier_texts::{
    EarlierCaller, EarlierState, EarlierSubject, OtherTexts, measure_earlier,
};
use crate::evidence::poll_gate::DiskEpoch;
use crate::evidence::settled_measurement::{MeasuredServers, measure_settled, read_snapshots};
use crate::evidence::snapshot_measurement;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::evidence::verified_results;
use crate::evidence::verified_results::partial_sensor_key;
use crate::ledger::pending_reports::StateBefore;
use crate::ledger::{DeferredReport, SelectedFile, SessionAgent};
use crate::project::Project;
use moai_base::finding::{Finding, Severity, has_errors};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    EARLIER_DEFERRED_MS_MAX, IMPACT_DEFERRED_AT_ONCE_MAX, IMPACT_DEFERRED_FILES_MAX,
    IMPACT_INLINE_FILES_MAX, IMPACT_INLINE_MS_MAX, IMPACT_SEARCH_MS_MAX, SESSION_DEPENDENTS_MAX,
};
use moai_base::path::RelPath;
use moai_base::text::TextRange;
use moai_host::files::{self, Snapshot};
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::impact::{TouchedSymbols, rank_by_impact};
use moai_lsp::session::MeasureLane;
use moai_report::agent::{self, CrossFileEffect};

/// A change, and the agent to which its impact is reported.
#[derive(Clone, Debug)]
pub(crate) struct ImpactContext {
    pub(crate) engine: Arc<Engine>,
    pub(crate) project: Project,
    pub(crate) reader: SessionAgent,
    /// The change in the report: `src/a.py`, `3 changed files`.
    pub(crate) label: String,
    /// The changed files with their present bytes; `None` for a deleted file.
    pub(crate) changed: Vec<(RelPath, Option<ContentHash>)>,
    /// The earlier texts of the changed files, as far as they are known.
    pub(crate) earlier: EarlierState,
    /// Other changed files, which are measured on their own.
    pub(crate) measured_separately: Vec<RelPath>,
    pub(crate) touched: TouchedSymbols,
    /// The number of the session's first measurement after the change.
    pub(crate) measurement: u64,
}

/// A running search for the files that a change affects.
#[derive(Debug)]
pub(crate) struct ImpactSearch {
    change: Arc<ImpactContext>,
    search: JoinHandle<Vec<RelPath>>,
}

impl ImpactSearch {
    /// Starts the search as soon as the poll of the root is done; `None` if no symbol was touched or
    /// no available server reads the changed files.
    pub(crate) fn begin(
        change: ImpactContext,
        poll: impl Future<Output = ()> + Send + 'static,
    ) -> Option<Self> {
        let is_enabled = change.engine.lsp_gap.is_none() && change.project.config.lsp_enabled;
        let has_server = is_enabled
            && !change.touched.is_empty()
            && change.changed.iter().any(|(path, _)| {
                let catalogue = &change.project.workspace.catalogue;
                path.extension().is_some_and(|extension| catalogue.is_data(&extension))
                    || snapshot_measurement::select_servers(&change.engine, &change.project, path)
                        .iter()
                        .any(Result::is_ok)
            });
        if !has_server {
            return None;
        }
        let change = Arc::new(change);
        let searching = find_affected_files(Arc::clone(&change));
        let search = tokio::spawn(async move {
            poll.await;
            searching.await
        });
        Some(Self { change, search })
    }

    /// The effects known by the deadline; a later hook delivers the rest.
    pub(crate) async fn impacts_until(self, deadline: Instant) -> Vec<CrossFileEffect> {
        let Self { change, mut search } = self;
        let deadline = deadline.min(Instant::now() + Duration::from_millis(IMPACT_INLINE_MS_MAX));
        let Ok(found) = timeout_at(deadline.into(), &mut search).await else {
            let owned = Arc::clone(&change);
            let files = async move { owned.searched_files(search.await) };
            measure_in_background(&change, files, Vec::new());
            return Vec::new();
        };
        let mut first = change.searched_files(found);
        let later = first.split_off(first.len().min(IMPACT_INLINE_FILES_MAX));
        let measurements: Vec<JoinHandle<Vec<FileImpact>>> = first
            .into_iter()
            .map(|path| tokio::spawn(measure_affected_files(Arc::clone(&change), vec![path])))
            .collect();
        let (mut impacts, mut pending) = (Vec::new(), Vec::new());
        for mut measurement in measurements {
            match timeout_at(deadline.into(), &mut measurement).await {
                // Effects lost to a panic are measured again at the session's Stop.
                Ok(effects) => impacts.extend(effects.unwrap_or_default()),
                Err(_) => pending.push(measurement),
            }
        }
        if !pending.is_empty() || !later.is_empty() {
            measure_in_background(&change, async move { later }, pending);
        }
        merge_by_file(impacts)
    }
}

/// The effect of the change on one file, as measured by one language server.
#[derive(Debug)]
struct FileImpact {
    sensor: String,
    hash: ContentHash,
    elsewhere: CrossFileEffect,
    baseline: Option<Vec<Finding>>,
}

/// Merges the effects of several servers into one entry per file.
fn merge_by_file(effects: Vec<FileImpact>) -> Vec<CrossFileEffect> {
    let mut all: Vec<CrossFileEffect> = Vec::new();
    for FileImpact { elsewhere, .. } in effects {
        match all.iter_mut().find(|known| known.path == elsewhere.path) {
            Some(known) => {
                known.broken.extend(elsewhere.broken);
                known.fixed += elsewhere.fixed;
            }
            None => all.push(elsewhere),
        }
    }
    all
}

/// Awaits pending measurements, measures the other files, and queues the results for the reader's
/// next hook. Ends early if the changed files change again.
fn measure_in_background(
    change: &Arc<ImpactContext>,
    files: impl Future<Output = Vec<RelPath>> + Send + 'static,
    pending: Vec<JoinHandle<Vec<FileImpact>>>,
) {
    let (change, job) = (Arc::clone(change), change.engine.job());
    tokio::spawn(async move {
        let _job = job;
        for measurement in pending {
            change.queue_reports(measurement.await.unwrap_or_default());
        }
        let mut files = files.await;
        files.truncate(IMPACT_DEFERRED_FILES_MAX);
        for chunk in files.chunks(IMPACT_DEFERRED_AT_ONCE_MAX) {
            if !change.is_current().await {
                return;
            }
            change.queue_reports(measure_affected_files(Arc::clone(&change), chunk.to_vec()).await);
        }
    });
}

/// Files that mention touched symbols, the likeliest first. They are recorded for the session's Stop.
async fn find_affected_files(change: Arc<ImpactContext>) -> Vec<RelPath> {
    let deadline = Instant::now() + Duration::from_millis(IMPACT_SEARCH_MS_MAX);
    let searched = Arc::clone(&change);
    let found = run_blocking(move || {
        let ImpactContext { engine, project, reader, changed, touched, .. } = &*searched;
        let (root, catalogue) = (&project.root, &project.workspace.catalogue);
        let edited: Vec<RelPath> = changed.iter().map(|(path, _)| path.clone()).collect();
        let packages = package_names(root, edited.iter());
        let mut touched = touched.clone();
        for path in &edited {
            touched = touched.in_package(&packages, path);
        }
        let languages = catalogue.languages_that_see(edited.iter());
        let excluded: HashSet<&RelPath> =
            edited.iter().chain(&searched.measured_separately).collect();
        let stamps = engine.ledger().root(root).disk.stamps().unwrap_or_default();
        let mut files: Vec<RelPath> = Vec::new();
        for path in stamps.keys().filter(|path| !excluded.contains(path)) {
            let language = catalogue.language_of(path).map(|language| language.id);
            if language.is_some_and(|language| languages.contains(language)) {
                files.push(path.clone());
            }
        }
        let found = files::search_files(root, &files, deadline, &|text| touched.mentioned_in(text));
        let mut is_cut = found.is_truncated;
        let mut files = rank_by_impact(&edited, found.files);
        is_cut |= files.len() > SESSION_DEPENDENTS_MAX;
        files.truncate(SESSION_DEPENDENTS_MAX);
        retain_own_files(root, &edited, &mut files);
        let selected: Vec<SelectedFile> = files
            .iter()
            .map(|path| snapshot_measurement::selected_file(engine, project, path))
            .collect();
        engine.ledger().record_affected(&reader.session, root, &selected, &touched, is_cut);
        files
    });
    found.await.unwrap_or_else(|| change.record_lost_search())
}

/// Affected files of one language server, which share the polls of the root around their measurement.
#[derive(Debug)]
struct ServerBatch {
    server: ResolvedServer,
    snapshots: Vec<Snapshot>,
}

/// The effects of the change on some files, one per file and language server with a verdict.
async fn measure_affected_files(
    change: Arc<ImpactContext>,
    paths: Vec<RelPath>,
) -> Vec<FileImpact> {
    let (snapshots, _) = read_snapshots(&change.project, paths).await;
    let mut batches: Vec<ServerBatch> = Vec::new();
    for snapshot in snapshots {
        for server in change.servers_of(&snapshot.path) {
            match batches.iter_mut().find(|batch| batch.server.identity == server.identity) {
                Some(batch) => batch.snapshots.push(snapshot.clone()),
                None => batches.push(ServerBatch { server, snapshots: vec![snapshot.clone()] }),
            }
        }
    }
    let mut effects = Vec::new();
    for batch in batches {
        effects.extend(measure_batch(&change, batch).await);
    }
    effects
}

async fn measure_batch(change: &Arc<ImpactContext>, batch: ServerBatch) -> Vec<FileImpact> {
    let ImpactContext { engine, project, reader, .. } = &**change;
    let ServerBatch { server, snapshots } = batch;
    let (root, sensor) = (&project.root, &server.id);
    // An undelivered earlier report passes its baseline on to the new one.
    let mut undelivered: HashMap<RelPath, Vec<DeferredReport>> = HashMap::new();
    for Snapshot { path, hash, .. } in &snapshots {
        let reports = engine.ledger().take_impact_reports(reader, root, path, *hash, sensor);
        undelivered.insert(path.clone(), reports);
    }
    // A file that another program changes meanwhile may be half written when the server reads it.
    let epoch = Some(engine.ledger().root(root).disk.announced_epoch);
    let asked_at = DiskEpoch { epoch, limit: None };
    let selection = Box::new(Ok(server.clone()));
    let servers = MeasuredServers::One { selection, lane: MeasureLane::Batch };
    let settled = measure_settled(engine, project, &snapshots, servers, asked_at).await;
    // A result from before a newer change must not become the baseline: its findings would never be
    // reported.
    let are_usable = settled.disk.epoch.is_some() && change.is_current().await;
    let changed = settled.changed_since_read(&snapshots);
    let mut effects = Vec::new();
    for snapshot in &snapshots {
        let path = &snapshot.path;
        let reports = undelivered.remove(path).unwrap_or_default();
        let is_same = changed.iter().all(|now| now.path != *path);
        let result = settled.results.iter().find(|result| {
            let is_measured = result.gap.is_none() || result.is_switched_off();
            result.path == *path && is_measured && is_same && are_usable
        });
        let Some(result) = result else {
            engine.ledger().requeue_reports(reader, reports);
            continue;
        };
        let key = if result.is_partial() { partial_sensor_key(sensor) } else { sensor.clone() };
        let before =
            engine.ledger().root(root).verified(path, &key, Some(server.identity)).cloned();
        verified_results::store_verified(engine, project, std::slice::from_ref(result), None);
        let before = before.filter(|last| last.hash == snapshot.hash).map(|last| last.findings);
        let mut baseline =
            reports.into_iter().next().map_or(before, |report| report.baseline.complete);
        if baseline.is_none() && has_errors(&result.findings) {
            baseline = change.findings_before(snapshot, server.clone()).await;
        }
        let elsewhere = change.compare_errors(result, baseline.as_deref(), snapshot);
        let (sensor, hash) = (sensor.clone(), snapshot.hash);
        effects.push(FileImpact { sensor, hash, elsewhere, baseline });
    }
    effects
}

impl ImpactContext {
    /// Servers whose findings in a file may be caused by an edit of another file; linters are not among them.
    fn servers_of(&self, path: &RelPath) -> Vec<ResolvedServer> {
        snapshot_measurement::select_servers(&self.engine, &self.project, path)
            .into_iter()
            .flatten()
            .filter(|server| self.project.is_checker(path, &server.id))
            .collect()
    }

    /// The files that a finished search found.
    fn searched_files(&self, search: Result<Vec<RelPath>, JoinError>) -> Vec<RelPath> {
        search.unwrap_or_else(|_| self.record_lost_search())
    }

    /// Records that affected files may be unknown, because the search panicked; the Stop reports it.
    fn record_lost_search(&self) -> Vec<RelPath> {
        let root = &self.project.root;
        let mut ledger = self.engine.ledger();
        ledger.record_affected(&self.reader.session, root, &[], &self.touched, true);
        Vec::new()
    }

    /// The server's findings in an unchanged file while the changed ones are overlaid with their
    /// earlier texts.
    async fn findings_before(
        &self,
        snapshot: &Snapshot,
        choice: ResolvedServer,
    ) -> Option<Vec<Finding>> {
        let subjects = vec![EarlierSubject { snapshot: snapshot.clone(), choice }];
        let latest = Instant::now() + Duration::from_millis(EARLIER_DEFERRED_MS_MAX);
        let (engine, project) = (&self.engine, &self.project);
        let state = self.earlier.clone().with_selected_servers(engine, project).await?;
        let caller = EarlierCaller::Edit;
        let measured = measure_earlier(engine, project, &state, subjects, caller, latest).await;
        measured
            .into_iter()
            .flatten()
            .next()
            .filter(|earlier| earlier.others != OtherTexts::Present)
            .map(|earlier| earlier.result)
            .filter(|result| result.gap.is_none() || result.is_switched_off())
            .map(|result| result.findings)
    }

    /// Compares errors by place, because the file's bytes are the same before and after, while checkers word
    /// one error differently depending on the files they read before. Without an earlier result, only errors
    /// that mention touched symbols count as broken.
    fn compare_errors(
        &self,
        result: &SensorResult,
        before: Option<&[Finding]>,
        snapshot: &Snapshot,
    ) -> CrossFileEffect {
        // Only errors: an edit seldom causes a warning in another file.
        let errors = result.findings.iter().filter(|finding| finding.severity >= Severity::Error);
        let path = snapshot.path.clone();
        let Some(before) = before else {
            let related =
                errors.filter(|finding| self.touched.concerns_finding(finding, &snapshot.text));
            return CrossFileEffect { path, broken: related.cloned().collect(), fixed: 0 };
        };
        let mut known: HashMap<FindingKey<'_>, usize> = HashMap::new();
        for finding in before.iter().filter(|finding| finding.severity >= Severity::Error) {
            *known.entry(finding_key(finding)).or_default() += 1;
        }
        let mut broken = Vec::new();
        for finding in errors {
            match known.get_mut(&finding_key(finding)) {
                Some(left @ 1..) => *left -= 1,
                _ => broken.push(finding.clone()),
            }
        }
        // Others that disappeared may be due to another program, such as git.
        let mut fixed = 0;
        for finding in before {
            if let Some(left @ 1..) = known.get_mut(&finding_key(finding)) {
                *left -= 1;
                fixed += usize::from(self.touched.concerns_finding(finding, &snapshot.text));
            }
        }
        CrossFileEffect { path, broken, fixed }
    }

    /// True if the changed files still have the bytes whose impact is measured.
    async fn is_current(&self) -> bool {
        let (root, changed) = (self.project.root.clone(), self.changed.clone());
        run_blocking(move || files_match_hashes(&root, &changed)).await.unwrap_or(false)
    }

    fn queue_reports(&self, effects: Vec<FileImpact>) {
        for FileImpact { sensor, hash, elsewhere, baseline } in effects {
            let (root, path) = (self.project.root.clone(), elsewhere.path.clone());
            let language =
                self.engine.ledger().session(&self.reader.session).language.unwrap_or_default();
            if let Some(text) =
                agent::cross_file_text(&self.label, &[elsewhere], Some(&sensor), language)
            {
                let (measurement, depends_on) = (self.measurement, self.changed.clone());
                let baseline = StateBefore::from_findings(baseline);
                let report = DeferredReport {
                    root,
                    path,
                    sensor,
                    hash,
                    text,
                    baseline,
                    measurement,
                    depends_on,
                };
                self.engine.ledger().queue_report(&self.reader, report);
            }
        }
    }
}

type FindingKey<'f> = (TextRange, &'f str);

fn finding_key(finding: &Finding) -> FindingKey<'_> {
    (finding.range, &finding.code)
}

/// True if files have these bytes; `None` stands for a missing file.
pub(crate) fn files_match_hashes(
    root: &std::path::Path,
    changed: &[(RelPath, Option<ContentHash>)],
) -> bool {
    changed.iter().all(|(path, hash)| {
        files::read_snapshot(root, &path.under(root)).map(|snapshot| snapshot.hash).ok() == *hash
    })
}
