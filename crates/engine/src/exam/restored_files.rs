//! Files that are as the exam of a loop has them.

use super::hash_as;
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_base::path::RelPath;
use moai_loops::exam::ExamRole;

/// Leaves out the files that are as they were frozen. All stay if the exam cannot be read.
pub(crate) async fn without_restored(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    mut changed: Vec<RelPath>,
) -> Vec<RelPath> {
    let found = engine.store.find_exam(&project.key, loop_id, ExamRole::ALL).await;
    let Ok(Some(exam)) = found else { return changed };
    let (root, all) = (project.root.clone(), changed.clone());
    let left = run_blocking(move || {
        changed.retain(|path| match exam.files.get(path) {
            Some(frozen) => hash_as(&root, path, Some(frozen.role)).as_ref() != Some(&frozen.hash),
            None => true,
        });
        changed
    });
    left.await.unwrap_or(all)
}
