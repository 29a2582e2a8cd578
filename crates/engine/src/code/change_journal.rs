//! Where sets of file changes are recorded while they are made, and taking back what a process
//! that was killed left half done.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_base::change::ChangeSet;
use moai_host::files::transaction::{self, ApplyError, ChangeRecovery};
use moai_host::ipc::StateDirs;
use moai_host::store::PROJECTS_FOLDER;

/// The folder of records in a project's private folder.
const RECORDS: &str = "changes";

/// Makes all changes in the project, or none. `None` when it panicked: the next use takes back
/// what it had done.
pub(crate) async fn apply_changes(
    engine: &Arc<Engine>,
    project: &Project,
    set: ChangeSet,
) -> Option<Result<(), ApplyError>> {
    let folder: PathBuf = project.key.folder(&engine.dirs.state).join(RECORDS);
    let root = project.root.clone();
    // Counts as work until it is done, also when nobody waits for it any more.
    let job = engine.job();
    run_blocking(move || {
        let _job = job;
        transaction::apply_change_set(&root, &folder, &set)
    })
    .await
}

/// Takes back, in all projects, what was left half done. A project in which somebody is at work is
/// left alone.
pub(crate) fn recover_all(places: &StateDirs) {
    let Ok(projects) = std::fs::read_dir(places.state.join(PROJECTS_FOLDER)) else { return };
    for project in projects.flatten() {
        let folder = project.path().join(RECORDS);
        match transaction::recover_change_sets(&folder) {
            Ok(recovered) => recovered.iter().for_each(log),
            Err(error) => log_failure(&folder, &error),
        }
    }
}

fn log(recovery: &ChangeRecovery) {
    let ChangeRecovery { root, was_complete, changed_by_others: left } = recovery;
    let left = left.len();
    tracing::warn!(root = %root.display(), was_complete, left, "an unfinished change was settled");
}

fn log_failure(folder: &Path, error: &ApplyError) {
    tracing::error!(folder = %folder.display(), %error, "an unfinished change stays");
}
