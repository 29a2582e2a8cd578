//! Selects the files that a Stop measures.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::evidence::attribution::BaseComparison;
use crate::evidence::dependents::{DependentFiles, RelatedPrograms};
use crate::evidence::gather::UntouchedDependents;
use crate::evidence::hidden_files::HiddenFiles;
use crate::evidence::moved_files::{MoveSearch, vanished_texts};
use crate::evidence::work_base::WorkBase;
use crate::hooks::hook_call::HookCall;
use crate::project::{NOTEBOOK_UNMEASURED, Project};
use moai_base::evidence::SkippedFile;
use moai_base::limits::{RELATED_FILES_MAX, SESSION_FILES_MAX, STOP_FILES_MAX};
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
    /// Programs that the changes may break without being mentioned there.
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
    /// Whether older findings are excluded; otherwise all findings must be fixed.
    pub(crate) is_compared: bool,
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
    let project = call.project.clone();
    let session = &call.input.session_id;
    let StopBase { state, is_compared } = base;
    let hidden_search = HiddenFileSearch {
        engine: Arc::clone(call.engine),
        project: project.clone(),
        session: session.clone(),
        base: state.clone(),
    };
    if !paths.is_empty() {
        return narrowed(hidden_search, paths.to_vec()).await;
    }
    let commit = commit.map(str::to_owned);
    let (written, is_written_cut) = call.engine.ledger().session(session).written(&project.root);
    let affected = call.engine.ledger().session(session).affected_files(&project.root);
    let found = run_blocking(move || {
        let mut found = changed_files(&project, commit.as_deref());
        let is_there = |path: &RelPath| path.under(&project.root).symlink_metadata().is_ok();
        found.files.extend(written.into_iter().filter(is_there));
        let gone = hidden_search.reveal(&mut found, &|_| true);
        if found.files.is_empty() && found.skipped.is_empty() && !is_compared {
            found = all_files(&project);
        }
        found.files.sort();
        found.files.dedup();
        // From the difference in git, because the ledger forgets affected files with the daemon.
        let concerned = state.as_ref().map(|base| {
            let gone: Vec<RelPath> =
                gone.iter().filter(|path| project.has_sensor(path)).cloned().collect();
            DependentFiles::find(&project, base, &found.files, &gone)
        });
        let concerned = concerned.unwrap_or_default();
        let base = state.filter(|_| is_compared);
        let related = base
            .as_ref()
            .map(|_| RelatedPrograms::find(&project, &found.changed, &found.configuration));
        let related = related.unwrap_or_default();
        let is_cut = affected.is_cut || concerned.is_cut;
        let own: BTreeSet<&RelPath> = found.files.iter().collect();
        let all = affected.files.keys().chain(&concerned.files).chain(&related.configured);
        let files: BTreeSet<RelPath> =
            all.filter(|path| !own.contains(path) && is_there(path)).cloned().collect();
        found.files.extend(files.iter().cloned());
        let measured: BTreeSet<&RelPath> = found.files.iter().collect();
        found.related_programs =
            related.others.into_iter().filter(|path| !measured.contains(path)).collect();
        let mut affected = affected;
        affected.touched.extend(concerned.touched);
        found.dependents = UntouchedDependents { files, affected };
        let configuration = std::mem::take(&mut found.configuration);
        found.comparison = base.map(|base| BaseComparison {
            base,
            deleted: gone,
            configuration,
            includes_changed: true,
        });
        found.bound();
        if is_written_cut {
            found.skip(format!("more than {SESSION_FILES_MAX} files were written"));
        }
        if is_cut {
            found.skip("more files mention what was changed than are looked at".to_owned());
        }
        if related.is_cut {
            let reason =
                format!("their configuration changed, and they are more than {RELATED_FILES_MAX}");
            found.skipped.push(SkippedFile { path: "other programs".to_owned(), reason });
        }
        found
    });
    found.await.unwrap_or_else(StopScope::after_internal_error)
}

/// A loop limited to paths measures all files there, changed or not, and no others.
async fn narrowed(hidden_search: HiddenFileSearch, paths: Vec<String>) -> StopScope {
    let found = run_blocking(move || {
        let project = &hidden_search.project;
        let is_wanted = |path: &RelPath| project.has_sensor(path);
        let starts: Vec<PathBuf> = paths.iter().map(|path| project.root.join(path)).collect();
        let walk = files::walk_files(&project.root, &starts, &is_wanted);
        let mut scope =
            StopScope { files: walk.files, skipped: walk.skipped, ..StopScope::default() };
        hidden_search.reveal(&mut scope, &|path| {
            starts.iter().any(|start| path.under(&project.root).starts_with(start))
        });
        scope.files.sort();
        scope.files.dedup();
        scope.bound();
        scope
    });
    found.await.unwrap_or_else(StopScope::after_internal_error)
}

/// Search for files that were moved out of sight of git or of the sensors.
struct HiddenFileSearch {
    engine: Arc<Engine>,
    project: Project,
    session: String,
    base: Option<Arc<WorkBase>>,
}

impl HiddenFileSearch {
    /// Adds the hidden files that `is_in_scope` accepts, and reports those that cannot be measured as
    /// skipped. Returns the deleted files of the base.
    fn reveal(
        &self,
        scope: &mut StopScope,
        is_in_scope: &dyn Fn(&RelPath) -> bool,
    ) -> Vec<RelPath> {
        let (project, base) = (&self.project, self.base.as_deref());
        let gone = base.map_or_else(|| Ok(Vec::new()), WorkBase::deleted_files);
        let gone = gone.unwrap_or_else(|gap| {
            scope.skipped.push(SkippedFile { path: ".git".to_owned(), reason: gap.to_string() });
            Vec::new()
        });
        if let Some(base) = base {
            let hidden = HiddenFiles::find(project, base, &gone);
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
        let mut vanished = vanished_texts(project, base, &gone, seen);
        vanished.retain(|_, path| is_in_scope(path));
        let measured = scope.files.iter().cloned().collect();
        let (root, copies) = (&*project.root, &*self.engine.dirs.state);
        let search = MoveSearch { root, base, measured: &measured, copies };
        scope.skipped.extend(search.unmeasured(&vanished));
        gone
    }
}

fn changed_files(project: &Project, base: Option<&str>) -> StopScope {
    match git::files_changed_since(&project.root, base) {
        Ok(Some(changed)) => {
            let all: Vec<RelPath> = changed.files.iter().chain(&changed.deleted).cloned().collect();
            let configuration =
                all.iter().filter(|path| project.is_configuration(path)).cloned().collect();
            let notebooks = changed.files.iter().filter(|path| Project::is_notebook(path));
            let notebooks = notebooks.filter(|path| path.under(&project.root).is_file());
            let mut skipped: Vec<SkippedFile> = notebooks
                .map(|path| SkippedFile {
                    path: path.to_string(),
                    reason: NOTEBOOK_UNMEASURED.to_owned(),
                })
                .collect();
            skipped.extend(changed.skipped);
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
        let mut lost = Self::default();
        lost.skip("internal error; see the daemon's log".to_owned());
        lost
    }

    /// Skips the files beyond the bound; changed files come first.
    fn bound(&mut self) {
        let reason = format!("more than {STOP_FILES_MAX} files");
        let beyond = self.files.split_off(self.files.len().min(STOP_FILES_MAX));
        let beyond = beyond.into_iter().map(|path| (path.to_string(), reason.clone()));
        self.skipped.extend(beyond.map(|(path, reason)| SkippedFile { path, reason }));
    }

    fn skip(&mut self, reason: String) {
        self.skipped.push(SkippedFile { path: ".".to_owned(), reason });
    }
}
