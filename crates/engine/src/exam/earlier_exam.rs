//! The exam of a worktree: the files frozen for the loop of its pipeline decide there, too.

use std::collections::BTreeMap;

use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_base::path::RelPath;
use moai_host::store::StoreError;
use moai_host::store::exams::ExamTexts;
use moai_loops::exam::{Exam, ExamRole, FrozenFile};

/// Copies the deciding files in the exam of the `earlier` loop into a new exam, as they were frozen. Files
/// that are missing in the folder of the new loop are left out, such as settings that are not committed.
pub(super) async fn keep_files(
    engine: &Engine,
    project: &Project,
    earlier: &str,
    exam: &mut Exam,
    texts: &mut ExamTexts,
) -> Result<(), StoreError> {
    let found = engine.store.find_exam(&project.key, earlier, ExamRole::STRICT).await?;
    let Some(found) = found else { return Ok(()) };
    let root = project.root.clone();
    let kept: Option<BTreeMap<RelPath, FrozenFile>> = run_blocking(move || {
        let is_there = |path: &RelPath| path.under(&root).is_file();
        found.files.into_iter().filter(|(path, _)| is_there(path)).collect()
    })
    .await;
    for (path, frozen) in kept.ok_or_else(unreadable)? {
        if exam.files.get(&path).is_some_and(|now| now.hash == frozen.hash) {
            continue;
        }
        match engine.store.exam_text(&project.key, earlier, &path).await? {
            Some(text) => texts.insert(path.clone(), text),
            None => texts.remove(&path),
        };
        exam.files.insert(path, frozen);
    }
    Ok(())
}

fn unreadable() -> StoreError {
    StoreError::Unavailable("the files could not be read".to_owned())
}
