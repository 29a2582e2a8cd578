//! Applies change sets with a journal on disk, and rolls back those that a killed process left
//! unfinished.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_base::change::ChangeSet;
use moai_host::files::transaction::{self, ApplyError, ChangeRecovery, WriteReach};
use moai_host::ipc::StateDirs;
use moai_host::store::PROJECTS_FOLDER;

/// The journal in a project's private folder.
pub(crate) const JOURNAL_FOLDER: &str = "changes";

/// Applies all changes in the project, or none. `None` after a panic; the next use rolls back.
pub(crate) async fn apply_changes(
    engine: &Arc<Engine>,
    project: &Project,
    set: ChangeSet,
    reach: WriteReach,
) -> Option<Result<(), ApplyError>> {
    let folder = journal_folder(engine, project);
    let root = project.root.clone();
    // The daemon must not end before the changes are applied, even if the caller has disconnected.
    let job = engine.job();
    run_blocking(move || {
        let _job = job;
        transaction::apply_change_set(&root, &folder, &set, reach)
    })
    .await
}

/// The folder where the changes of a project are recorded.
pub(crate) fn journal_folder(engine: &Engine, project: &Project) -> PathBuf {
    project.key.folder(&engine.dirs.state).join(JOURNAL_FOLDER)
}

/// Settles unfinished change sets in all projects. A project that another process is changing is
/// skipped.
pub(crate) fn recover_all(dirs: &StateDirs) {
    let Ok(projects) = std::fs::read_dir(dirs.state.join(PROJECTS_FOLDER)) else { return };
    for project in projects.flatten() {
        recover(&project.path().join(JOURNAL_FOLDER));
    }
}

/// The same in the project of this journal; where nothing is unfinished, it costs microseconds. A command that
/// is killed may leave its changes unfinished while the daemon runs on. Blocking.
pub(crate) fn recover(folder: &Path) {
    match transaction::recover_change_sets(folder) {
        Ok(recovered) => recovered.iter().for_each(log),
        Err(error) => log_failure(folder, &error),
    }
}

fn log(recovery: &ChangeRecovery) {
    let ChangeRecovery { root, was_complete, changed_by_others } = recovery;
    let left = changed_by_others.len();
    tracing::warn!(root = %root.display(), was_complete, left, "recovered an interrupted change");
}

fn log_failure(folder: &Path, error: &ApplyError) {
    tracing::error!(folder = %folder.display(), %error, "an interrupted change could not be recovered");
}
