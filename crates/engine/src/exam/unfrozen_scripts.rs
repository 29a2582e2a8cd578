//! Scripts that acceptance commands run and that no exam has, because they did not exist when it was frozen.

use super::check_files::{check_files, named_scripts};
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use moai_loops::criteria::{CheckCommand, CheckPlan};
use moai_loops::exam::ExamRole;

/// Scripts of the acceptance commands that are not in the exam of a loop.
#[derive(Debug, Default)]
pub(crate) struct UnfrozenScripts {
    /// Those that do not exist.
    pub(crate) missing: Vec<String>,
    /// Those that were written since.
    pub(crate) late: Vec<String>,
}

/// The scripts that could not be frozen. Nothing if the exam cannot be read, which its own reading reports.
pub(crate) async fn unfrozen_scripts(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> UnfrozenScripts {
    let found = engine.store.find_exam(&project.key, loop_id, ExamRole::ALL).await;
    let Ok(Some(exam)) = found else { return UnfrozenScripts::default() };
    let root = project.root.clone();
    let compared = run_blocking(move || {
        let mut plan = exam.plan;
        plan.commands.retain(CheckCommand::is_acceptance);
        let missing = named_scripts(&root, &plan).into_iter();
        let late = check_files(&root, &plan).scripts.into_iter();
        UnfrozenScripts {
            missing: missing
                .filter(|path| path.under(&root).symlink_metadata().is_err())
                .map(|path| path.to_string())
                .collect(),
            late: late
                .filter(|path| !exam.files.contains_key(path))
                .map(|path| path.to_string())
                .collect(),
        }
    });
    compared.await.unwrap_or_default()
}

/// The scripts of acceptance commands that an approval adds to the exam of a loop. Nothing if the exam
/// cannot be read, which refuses the approval.
pub(crate) async fn scripts_to_freeze(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    commands: Vec<CheckCommand>,
) -> Vec<String> {
    let found = engine.store.find_exam(&project.key, loop_id, ExamRole::ALL).await;
    let Ok(exam) = found else { return Vec::new() };
    let frozen = exam.map(|exam| exam.files).unwrap_or_default();
    let root = project.root.clone();
    let compared = run_blocking(move || {
        let scripts = check_files(&root, &CheckPlan { commands, ..CheckPlan::default() }).scripts;
        let new = scripts.into_iter().filter(|path| !frozen.contains_key(path));
        new.map(|path| path.to_string()).collect()
    });
    compared.await.unwrap_or_default()
}
