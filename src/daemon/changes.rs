//! Where sets of file changes are recorded while they are made, and taking back what a process
//! that was killed left half done.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::engine::{Engine, blocking};
use super::project::Project;
use crate::base::change::ChangeSet;
use crate::files::transaction::{self, ApplyError, Recovery};
use crate::ipc::Places;
use crate::store::PROJECTS;

/// The folder of records in a project's private folder.
const RECORDS: &str = "changes";

/// Makes all changes in the project, or none. `None` when it panicked: the next use takes back
/// what it had done.
pub(super) async fn apply(
    engine: &Arc<Engine>,
    project: &Project,
    set: ChangeSet,
) -> Option<Result<(), ApplyError>> {
    let folder: PathBuf = project.key.folder(&engine.places.state).join(RECORDS);
    let root = project.root.clone();
    // Counts as work until it is done, also when nobody waits for it any more.
    let job = engine.job();
    blocking(move || {
        let _job = job;
        transaction::apply(&root, &folder, &set)
    })
    .await
}

/// Takes back, in all projects, what was left half done. A project in which somebody is at work is
/// left alone.
pub(super) fn recover_all(places: &Places) {
    let Ok(projects) = std::fs::read_dir(places.state.join(PROJECTS)) else { return };
    for project in projects.flatten() {
        let folder = project.path().join(RECORDS);
        match transaction::recover(&folder) {
            Ok(recovered) => recovered.iter().for_each(log),
            Err(error) => log_failure(&folder, &error),
        }
    }
}

fn log(recovery: &Recovery) {
    let Recovery { root, was_complete, left } = recovery;
    let left = left.len();
    tracing::warn!(root = %root.display(), was_complete, left, "an unfinished change was settled");
}

fn log_failure(folder: &Path, error: &ApplyError) {
    tracing::error!(folder = %folder.display(), %error, "an unfinished change stays");
}
