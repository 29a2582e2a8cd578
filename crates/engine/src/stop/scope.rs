//! Selects the files that a Stop measures.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::evidence::attribution::BaseComparison;
use crate::evidence::dependents::{DependentFiles, OTHER_FILES, RelatedSources};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::gather::UntouchedDependents;
use crate::evidence::hidden_files::HiddenFiles;
use crate::evidence::moved_files::{MoveSearch, vanished_texts};
use crate::evidence::unshown_files::{UnshownFiles, changed_ignored};
use crate::evidence::work_base::WorkBase;
use crate::hooks::hook_call::HookCall;
use crate::ledger::AffectedFiles;
use crate::project::{NOTEBOOK_UNMEASURED, Project};
use crate::stop::check_outputs::CheckOutputs;
use crate::stop::run_as_code::files_run_as_code;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{SESSION_FILES_MAX, STOP_FILES_MAX};
use moai_base::path::RelPath;
use moai_host::{files, git};

/// The files of a Stop.
#[derive(Default)]
pub(crate) struct StopScope {
    pub(crate) files: Vec<RelPath>,
    pub(crate) skipped: Vec<SkippedFile>,
    /// Unchanged files that are measured only because an edit may affect them.
    pub(crate) dependents: UntouchedDependents,
    /// The baseline of their findings.
    pub(crate) comparison: Option<BaseComparison>,
    /// Source files that the changes may break although they mention no changed symbol.
    pub(crate) related_programs: BTreeSet<RelPath>,
    /// All changed and deleted files.
    changed: Vec<RelPath>,
    /// The changed files that configure servers.
    configuration: Vec<RelPath>,
}

/// The state that a Stop is compared with.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopBase {
    /// The state, if it can be read.
    pub(crate) state: Option<Arc<WorkBase>>,
    /// True if older findings are excluded; otherwise all findings must be fixed.
    pub(crate) is_compared: bool,
    /// Files of the checks, which are no work.
    pub(crate) outputs: CheckOutputs,
}

/// The files that differ from HEAD, were committed since `commit` or written by the session, and
/// their dependents; with `paths`, the files below these. If all findings must be fixed and nothing
/// changed, the whole project.
pub(crate) async fn files_of_stop(
    call: &HookCall<'_>,
    commit: Option<&str>,
    base: StopBase,
    paths: &[String],
) -> StopScope {
    let (session, root) = (&call.input.session_id, &call.project.root);
    let hidden_search = HiddenFileSearch {
        engine: Arc::clone(call.engine),
        project: call.project.clone(),
        session: session.clone(),
        base: base.state,
        outputs: base.outputs,
    };
    if !paths.is_empty() {
        let paths = paths.to_vec();
        let scope = run_blocking(move || files_below_paths(&hidden_search, &paths)).await;
        return scope.unwrap_or_else(StopScope::after_internal_error);
    }
    if base.is_compared {
        // Changes of generated code that git ignores are known from the last poll.
        sync_disk(call.engine, &call.project).await;
    }
    let (written, is_written_cut) = call.engine.ledger().session(session).written(root);
    let work = SessionWork {
        commit: commit.map(str::to_owned),
        written,
        is_written_cut,
        affected: call.engine.ledger().session(session).affected_files(root),
    };
    let scope = run_blocking(move || files_of_work(&hidden_search, work, base.is_compared)).await;
    scope.unwrap_or_else(StopScope::after_internal_error)
}

/// A session's changes by git and by the ledger.
struct SessionWork {
    /// The commit that the changes count from.
    commit: Option<String>,
    written: BTreeSet<RelPath>,
    is_written_cut: bool,
    affected: AffectedFiles,
}

/// The changed files and their dependents. Blocking.
fn files_of_work(
    hidden_search: &HiddenFileSearch,
    work: SessionWork,
    is_compared: bool,
) -> StopScope {
    let project = &hidden_search.project;
    let mut scope = changed_files(project, work.commit.as_deref());
    let outputs = hidden_search.new_outputs(&scope.files);
    scope.files.retain(|path| !outputs.contains(path));
    let mut written = work.written;
    written.retain(|path| !outputs.contains(path));
    let written = hidden_search.differing_files(written, &scope.files);
    scope.files.extend(written);
    let deleted = hidden_search.reveal(&mut scope, &|_| true);
    let mut unshown = UnshownFiles::behind_links(&project.root, &scope.changed);
    if scope.files.is_empty() && scope.skipped.is_empty() && !is_compared {
        scope = all_files(project);
    }
    scope.files.sort();
    scope.files.dedup();
    let mut affected = work.affected;
    let mut unchanged: BTreeSet<RelPath> = affected.files.keys().cloned().collect();
    let mut is_cut = affected.is_cut;
    // From the difference in git, because the ledger forgets affected files with the daemon.
    if let Some(base) = hidden_search.base_of_dependents(work.commit.as_deref(), is_compared) {
        let deleted =
            if is_compared { deleted.clone() } else { base.deleted_files().unwrap_or_default() };
        let deleted = deleted.into_iter().chain(unshown.files.iter().cloned());
        let deleted: Vec<RelPath> = deleted.filter(|path| project.has_sensor(path)).collect();
        let dependents = DependentFiles::find(project, &base, &scope.files, &deleted);
        unchanged.extend(dependents.files);
        affected.touched.extend(dependents.touched);
        is_cut |= dependents.is_cut;
    }
    let mut related = RelatedSources::find(project, &scope.changed, &scope.configuration);
    if is_compared {
        unchanged.append(&mut related.configured);
    } else {
        // All their findings count, like those of changed files.
        scope.files.extend(std::mem::take(&mut related.configured));
        scope.files.sort();
        scope.files.dedup();
        related.others.clear();
    }
    unchanged.retain(|path| scope.files.binary_search(path).is_err() && is_in_tree(project, path));
    scope.files.extend(unchanged.iter().cloned());
    let known: BTreeSet<&RelPath> = scope.files.iter().chain(&outputs).collect();
    let (others, unmeasured_importers) = related.take_others(&known, &affected.touched);
    scope.related_programs = others;
    scope.dependents = UntouchedDependents { files: unchanged, affected };
    let configuration = std::mem::take(&mut scope.configuration);
    scope.comparison = hidden_search.base.clone().filter(|_| is_compared).map(|base| {
        unshown.files.extend(changed_ignored(&hidden_search.engine, project, &base));
        BaseComparison { base, deleted, configuration, unshown, includes_changed: true }
    });
    scope.bound();
    if work.is_written_cut {
        scope.skip(format!("more than {SESSION_FILES_MAX} files were written"));
    }
    if is_cut {
        let reason = "too many of them mention the changed symbols".to_owned();
        scope.skipped.push(SkippedFile { path: OTHER_FILES.to_owned(), reason });
    } else if is_compared {
        scope.skipped.extend(unmeasured_importers);
    }
    scope.skipped.extend(related.left_out);
    scope
}

fn is_in_tree(project: &Project, path: &RelPath) -> bool {
    path.under(&project.root).symlink_metadata().is_ok()
}

/// All files below the paths that a loop is limited to, changed or not. Blocking.
fn files_below_paths(hidden_search: &HiddenFileSearch, paths: &[String]) -> StopScope {
    let project = &hidden_search.project;
    let starts: Vec<PathBuf> = paths.iter().map(|path| project.root.join(path)).collect();
    let walk = files::walk_files(&project.root, &starts, &|path| project.has_sensor(path));
    let mut scope = StopScope { files: walk.files, skipped: walk.skipped, ..StopScope::default() };
    hidden_search.reveal(&mut scope, &|path| {
        starts.iter().any(|start| path.under(&project.root).starts_with(start))
    });
    scope.files.sort();
    scope.files.dedup();
    scope.bound();
    scope
}

/// Search for files that were hidden from git or from the sensors.
struct HiddenFileSearch {
    engine: Arc<Engine>,
    project: Project,
    session: String,
    base: Option<Arc<WorkBase>>,
    outputs: CheckOutputs,
}

impl HiddenFileSearch {
    /// The files of the checks among these, without those that stood there at the base.
    fn new_outputs(&self, files: &[RelPath]) -> BTreeSet<RelPath> {
        let outputs = files.iter().filter(|path| self.outputs.contains(path)).cloned();
        let mut outputs: BTreeSet<RelPath> = outputs.collect();
        match self.base.as_deref().filter(|_| !outputs.is_empty()) {
            Some(base) => {
                for (path, before) in base.texts(&outputs.clone()) {
                    if before.hash().is_some() {
                        outputs.remove(&path);
                    }
                }
                outputs
            }
            None => BTreeSet::new(),
        }
    }

    /// The written files that exist and that git does not list as changed, without those that are as in
    /// the base again: a session that switches branches and back writes thousands.
    fn differing_files(
        &self,
        mut written: BTreeSet<RelPath>,
        listed: &[RelPath],
    ) -> BTreeSet<RelPath> {
        for path in listed {
            written.remove(path);
        }
        written.retain(|path| is_in_tree(&self.project, path));
        if let Some(base) = self.base.as_deref().filter(|_| !written.is_empty()) {
            for (path, before) in base.texts(&written) {
                let file = path.under(&self.project.root);
                let now = files::read_snapshot(&self.project.root, &file).ok();
                let now = now.map(|snapshot| snapshot.hash);
                if now.is_some() && now == before.hash() {
                    written.remove(&path);
                }
            }
        }
        written
    }

    /// The state whose difference from the present decides which files are dependents. If all findings must
    /// be fixed, changes from before the loop count as well.
    fn base_of_dependents(&self, commit: Option<&str>, is_compared: bool) -> Option<Arc<WorkBase>> {
        match commit {
            Some(commit) if !is_compared => {
                Some(Arc::new(WorkBase::at_commit(&self.project, commit)))
            }
            _ => self.base.clone(),
        }
    }

    /// Adds the hidden files that `is_in_scope` accepts, and reports those that cannot be measured as
    /// skipped. Returns the deleted files of the base.
    fn reveal(
        &self,
        scope: &mut StopScope,
        is_in_scope: &dyn Fn(&RelPath) -> bool,
    ) -> Vec<RelPath> {
        let (project, base) = (&self.project, self.base.as_deref());
        let deleted = base.map_or_else(|| Ok(Vec::new()), WorkBase::deleted_files);
        let deleted = deleted.unwrap_or_else(|gap| {
            scope.skipped.push(SkippedFile { path: ".git".to_owned(), reason: gap.to_string() });
            Vec::new()
        });
        if let Some(base) = base {
            let hidden = HiddenFiles::find(project, base, &deleted);
            // Hooks do not record the texts of files that git ignores.
            for path in &hidden.files {
                if let Ok(snapshot) =
                    files::read_snapshot(&project.root, &path.under(&project.root))
                {
                    self.engine
                        .ledger()
                        .session(&self.session)
                        .record_text(&project.root, &snapshot);
                }
            }
            scope.files.extend(hidden.files.into_iter().filter(is_in_scope));
            scope.skipped.extend(hidden.skipped);
        }
        let seen = self.engine.ledger().session(&self.session).seen_texts(&project.root);
        let mut vanished = vanished_texts(project, base, &deleted, seen);
        vanished.retain(|_, path| is_in_scope(path));
        let measured = scope.files.iter().cloned().collect();
        let (root, copies) = (&*project.root, &*self.engine.dirs.state);
        let search = MoveSearch { root, base, measured: &measured, copies };
        scope.skipped.extend(search.unmeasured(&vanished));
        deleted
    }
}

fn changed_files(project: &Project, base: Option<&str>) -> StopScope {
    match git::files_changed_since(&project.root, base) {
        Ok(Some(changed)) => {
            let all: Vec<RelPath> = changed.files.iter().chain(&changed.deleted).cloned().collect();
            let configuration = project.configuration_among(&all);
            let notebooks = changed.files.iter().filter(|path| Project::is_notebook(path));
            let notebooks = notebooks.filter(|path| path.under(&project.root).is_file());
            let mut skipped: Vec<SkippedFile> = notebooks
                .map(|path| SkippedFile {
                    path: path.to_string(),
                    reason: NOTEBOOK_UNMEASURED.to_owned(),
                })
                .collect();
            skipped.extend(changed.skipped);
            skipped.extend(files_run_as_code(project, &changed.files));
            let files = changed.files.into_iter().filter(|path| project.has_sensor(path)).collect();
            StopScope { files, skipped, changed: all, configuration, ..StopScope::default() }
        }
        // Without git the changed files are unknown.
        Ok(None) => all_files(project),
        Err(error) => {
            let reason = format!("changed files cannot be listed: {error}");
            let skipped = vec![SkippedFile { path: ".git".to_owned(), reason }];
            StopScope { skipped, ..StopScope::default() }
        }
    }
}

fn all_files(project: &Project) -> StopScope {
    let walk = files::walk_files(&project.root, std::slice::from_ref(&project.root), &|path| {
        project.has_sensor(path)
    });
    StopScope { files: walk.files, skipped: walk.skipped, ..StopScope::default() }
}

impl StopScope {
    fn after_internal_error() -> Self {
        let mut scope = Self::default();
        scope.skip("internal error; see the daemon's log".to_owned());
        scope
    }

    /// Skips the files beyond the bound; changed files come first.
    fn bound(&mut self) {
        let reason = format!("more than {STOP_FILES_MAX} files");
        for path in self.files.split_off(self.files.len().min(STOP_FILES_MAX)) {
            self.skipped.push(SkippedFile { path: path.to_string(), reason: reason.clone() });
        }
    }

    fn skip(&mut self, reason: String) {
        self.skipped.push(SkippedFile { path: ".".to_owned(), reason });
    }
}
