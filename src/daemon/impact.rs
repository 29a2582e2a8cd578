//! What a change broke or mended in other files: the files that mention what was touched are
//! searched for beside the measurement of the changed one, and measured after it; a few while the
//! hook waits, more in the background. All of them are measured again at the session's Stop.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout_at;

use super::earlier_texts::{EarlierState, EarlierSubject, measure_earlier};
use super::engine::{Engine, run_blocking};
use super::gather::{self, SensorResult};
use super::ledger::{DeferredReport, SessionAgent};
use super::project::Project;
use crate::base::finding::{Finding, Severity};
use crate::base::hash::ContentHash;
use crate::base::limits::{
    AFFECTED_FILES_MAX, BLAST_INLINE_FILES_MAX, BLAST_INLINE_MS_MAX, BLAST_LATE_AT_ONCE_MAX,
    BLAST_LATE_FILES_MAX, BLAST_SEARCH_MS_MAX, EARLIER_LATE_MS_MAX,
};
use crate::base::path::RelPath;
use crate::base::text::TextRange;
use crate::files::{self, Snapshot};
use crate::git;
use crate::lsp::impact::{TouchedSymbols, rank_by_impact};
use crate::report::agent::{self, CrossFileEffect};
use crate::servers::ServerSelection;
use crate::servers::resolve::ResolvedServer;

/// What was changed, and for whom its effect is looked for.
#[derive(Clone, Debug)]
pub(super) struct ImpactContext {
    pub(super) engine: Arc<Engine>,
    pub(super) project: Project,
    pub(super) reader: SessionAgent,
    /// How the change is named: `src/a.py`, `3 changed files`.
    pub(super) label: String,
    /// The changed files with their bytes of now; none for a vanished one.
    pub(super) changed: Vec<(RelPath, Option<ContentHash>)>,
    /// The changed files as they were before, as far as that is known.
    pub(super) earlier: EarlierState,
    /// Files that were changed as well, and are measured in their own right.
    pub(super) measured_separately: Vec<RelPath>,
    /// What is looked for.
    pub(super) touched: TouchedSymbols,
}

/// The search for files that a change concerns.
#[derive(Debug)]
pub(super) struct ImpactSearch {
    change: Arc<ImpactContext>,
    search: JoinHandle<Vec<RelPath>>,
}

impl ImpactSearch {
    /// Begins the search, once the look at the root is done; `None` when there is nothing to look
    /// for, or nobody to ask.
    pub(super) fn begin(
        change: ImpactContext,
        look: impl Future<Output = ()> + Send + 'static,
    ) -> Option<Self> {
        let is_asked = |(path, _): &(RelPath, _)| {
            !gather::select_servers(&change.engine, &change.project, path).is_empty()
        };
        let can_ask = change.engine.lsp_gap.is_none() && change.project.config.lsp_enabled;
        if change.touched.is_empty() || !can_ask || !change.changed.iter().any(is_asked) {
            return None;
        }
        let change = Arc::new(change);
        let searching = find_affected_files(Arc::clone(&change));
        let search = tokio::spawn(async move {
            look.await;
            searching.await
        });
        Some(Self { change, search })
    }

    /// What is known by the deadline of other files; the rest is told by a later hook.
    pub(super) async fn impacts_until(self, deadline: Instant) -> Vec<CrossFileEffect> {
        let Self { change, mut search } = self;
        let deadline = deadline.min(Instant::now() + Duration::from_millis(BLAST_INLINE_MS_MAX));
        let Ok(found) = timeout_at(deadline.into(), &mut search).await else {
            in_background(&change, async move { search.await.unwrap_or_default() }, Vec::new());
            return Vec::new();
        };
        let mut now = found.unwrap_or_default();
        let later = now.split_off(now.len().min(BLAST_INLINE_FILES_MAX));
        let mut asked: Vec<JoinHandle<Vec<FileImpact>>> = now
            .into_iter()
            .map(|path| tokio::spawn(measure_affected_file(Arc::clone(&change), path)))
            .collect();
        let (mut told, mut pending) = (Vec::new(), Vec::new());
        for mut one in asked.drain(..) {
            match timeout_at(deadline.into(), &mut one).await {
                Ok(effects) => told.extend(effects.unwrap_or_default()),
                Err(_) => pending.push(one),
            }
        }
        if !pending.is_empty() || !later.is_empty() {
            in_background(&change, async move { later }, pending);
        }
        merged(told)
    }
}

/// What one language server says of one file that the change concerns.
#[derive(Debug)]
struct FileImpact {
    sensor: String,
    hash: ContentHash,
    elsewhere: CrossFileEffect,
    baseline: Option<Vec<Finding>>,
}

/// One entry per file.
fn merged(effects: Vec<FileImpact>) -> Vec<CrossFileEffect> {
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

/// Waits for what is pending, measures the rest, and keeps what it finds for the reader's next
/// hook; ends early when the change itself was changed again.
fn in_background(
    change: &Arc<ImpactContext>,
    files: impl Future<Output = Vec<RelPath>> + Send + 'static,
    pending: Vec<JoinHandle<Vec<FileImpact>>>,
) {
    let (change, job) = (Arc::clone(change), change.engine.job());
    tokio::spawn(async move {
        let _job = job;
        for one in pending {
            change.queue_reports(one.await.unwrap_or_default());
        }
        let mut files = files.await;
        files.truncate(BLAST_LATE_FILES_MAX);
        for some in files.chunks(BLAST_LATE_AT_ONCE_MAX) {
            if !change.is_current().await {
                return;
            }
            let asked =
                some.iter().map(|path| measure_affected_file(Arc::clone(&change), path.clone()));
            for effects in asked.collect::<JoinSet<_>>().join_all().await {
                change.queue_reports(effects);
            }
        }
    });
}

/// Files of the same languages that mention what was touched, the likeliest first. They belong to
/// the session's Stop from now on.
async fn find_affected_files(change: Arc<ImpactContext>) -> Vec<RelPath> {
    let deadline = Instant::now() + Duration::from_millis(BLAST_SEARCH_MS_MAX);
    let searched = Arc::clone(&change);
    let found = run_blocking(move || {
        let ImpactContext {
            engine,
            project,
            reader,
            changed,
            measured_separately: apart,
            touched: sought,
            ..
        } = &*searched;
        let root = &project.root;
        let language =
            |path: &RelPath| project.workspace.catalogue.language_of(path).map(|it| it.0);
        let languages: HashSet<&str> =
            changed.iter().filter_map(|(path, _)| language(path)).collect();
        let edited: Vec<RelPath> = changed.iter().map(|(path, _)| path.clone()).collect();
        let own: HashSet<&RelPath> = edited.iter().chain(apart).collect();
        let is_other = |path: &RelPath| {
            language(path).is_some_and(|it| languages.contains(it)) && !own.contains(path)
        };
        let files: Vec<RelPath> = engine.ledger().files(root, is_other);
        let found = files::search_files(root, &files, deadline, &|text| sought.mentioned_in(text));
        let mut is_cut = found.is_truncated;
        let mut files = rank_by_impact(&edited, found.files);
        is_cut |= files.len() > AFFECTED_FILES_MAX;
        files.truncate(AFFECTED_FILES_MAX);
        // Where git's data cannot be used, more is measured.
        let ignored = git::ignored_paths(root, &files).unwrap_or_default();
        files.retain(|path| !ignored.contains(path) && files::is_real_path(root, path));
        engine.ledger().record_affected(&reader.session, root, &files, sought, is_cut);
        files
    });
    found.await.unwrap_or_else(|| {
        // What was not found is not nothing: the Stop says that there may be more.
        let ImpactContext { engine, project, reader, touched: sought, .. } = &*change;
        engine.ledger().record_affected(&reader.session, &project.root, &[], sought, true);
        Vec::new()
    })
}

/// What the change did to one file, by each language server that has a verdict.
async fn measure_affected_file(change: Arc<ImpactContext>, path: RelPath) -> Vec<FileImpact> {
    let (root, file) = (change.project.root.clone(), path.under(&change.project.root));
    let Some(Ok(snapshot)) = run_blocking(move || files::read_snapshot(&root, &file)).await else {
        return Vec::new();
    };
    let mut effects = Vec::new();
    for chosen in gather::select_servers(&change.engine, &change.project, &path) {
        effects.extend(measure_impact(&change, &snapshot, chosen).await);
    }
    effects
}

async fn measure_impact(
    change: &Arc<ImpactContext>,
    snapshot: &Snapshot,
    chosen: ServerSelection,
) -> Option<FileImpact> {
    let ImpactContext { engine, project, reader, .. } = &**change;
    let Ok(choice) = chosen.clone() else { return None };
    let (root, path, sensor) = (&project.root, &snapshot.path, choice.id.clone());
    // A linter's findings in a file never come from an edit of another one.
    let catalogue = &project.workspace.catalogue;
    let language = catalogue.language_of(path).map_or("", |it| it.0);
    if catalogue.is_companion(&sensor, language) {
        return None;
    }
    let before = engine.ledger().verified(root, path, &sensor);
    // What was found before and not told yet is compared with the same as then.
    let of_bytes = (path, snapshot.hash);
    let untold = engine.ledger().take_impact_reports(reader, root, of_bytes, &sensor);
    let mut words = [gather::measure_snapshot(engine, project, snapshot, chosen).await];
    gather::discard_superseded(project, &mut words).await;
    // A verdict from before a newer change is no set to compare with: what it found first would
    // never be told.
    if words[0].gap.is_some() || !change.is_current().await {
        engine.ledger().requeue_reports(reader, untold);
        return None;
    }
    gather::store_verified(engine, project, &words);
    let [word] = words;
    let before = before.filter(|(hash, _)| *hash == snapshot.hash).map(|(_, findings)| findings);
    let mut baseline = untold.into_iter().next().map_or(before, |late| late.baseline);
    if baseline.is_none() && has_errors(&word) {
        baseline = change.findings_before(snapshot, choice).await;
    }
    let elsewhere = change.compare_errors(&word, baseline.as_deref(), snapshot);
    Some(FileImpact { sensor, hash: snapshot.hash, elsewhere, baseline })
}

/// Whether there is anything that the change may have broken.
fn has_errors(word: &SensorResult) -> bool {
    word.findings.iter().any(|finding| finding.severity >= Severity::Error)
}

impl ImpactContext {
    /// What the server finds in an untouched file while it is shown the changed ones as they were.
    async fn findings_before(
        &self,
        snapshot: &Snapshot,
        choice: ResolvedServer,
    ) -> Option<Vec<Finding>> {
        let subjects = vec![EarlierSubject { snapshot: snapshot.clone(), choice }];
        let latest = Instant::now() + Duration::from_millis(EARLIER_LATE_MS_MAX);
        let (engine, project) = (&self.engine, &self.project);
        let measured = measure_earlier(engine, project, &self.earlier, subjects, latest).await;
        measured
            .into_iter()
            .flatten()
            .next()
            .filter(|word| word.gap.is_none())
            .map(|word| word.findings)
    }

    /// The file's bytes are the same before and after, so places tell what is new: checkers word
    /// one error differently, depending on what they read before. Where nothing is known from
    /// before, only what names what was touched is the change's.
    fn compare_errors(
        &self,
        word: &SensorResult,
        before: Option<&[Finding]>,
        snapshot: &Snapshot,
    ) -> CrossFileEffect {
        // Only errors: an edit seldom causes a warning in another file.
        let errors = word.findings.iter().filter(|finding| finding.severity >= Severity::Error);
        let path = snapshot.path.clone();
        let Some(before) = before else {
            let meant =
                errors.filter(|finding| self.touched.concerns_finding(finding, &snapshot.text));
            return CrossFileEffect { path, broken: meant.cloned().collect(), fixed: 0 };
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
        CrossFileEffect { path, broken, fixed: known.into_values().sum() }
    }

    /// Whether the changed files still have the bytes whose effect is looked for.
    async fn is_current(&self) -> bool {
        let (root, changed) = (self.project.root.clone(), self.changed.clone());
        run_blocking(move || files_match_hashes(&root, &changed)).await.unwrap_or(false)
    }

    fn queue_reports(&self, effects: Vec<FileImpact>) {
        for FileImpact { sensor, hash, elsewhere, baseline } in effects {
            let (root, path) = (self.project.root.clone(), elsewhere.path.clone());
            let because = self.changed.clone();
            let language = self.engine.ledger().language(&self.reader.session).unwrap_or_default();
            if let Some(text) =
                agent::cross_file_text(&self.label, &[elsewhere], Some(&sensor), language)
            {
                let late = DeferredReport {
                    root,
                    path,
                    sensor,
                    hash,
                    text,
                    baseline,
                    depends_on: because,
                };
                self.engine.ledger().queue_report(&self.reader, late);
            }
        }
    }
}

type FindingKey<'f> = (TextRange, &'f str);

fn finding_key(finding: &Finding) -> FindingKey<'_> {
    (finding.range, &finding.code)
}

/// Whether files have these bytes; none stands for a file that is not there.
pub(super) fn files_match_hashes(
    root: &std::path::Path,
    changed: &[(RelPath, Option<ContentHash>)],
) -> bool {
    changed.iter().all(|(path, hash)| {
        files::read_snapshot(root, &path.under(root)).map(|snapshot| snapshot.hash).ok() == *hash
    })
}
