//! Reads the frozen commands of a loop.

use crate::engine::Engine;
use crate::project::Project;
use moai_loops::criteria::CheckCommand;
use moai_loops::exam::ExamRole;

/// The frozen commands of a loop. None of them counts as run if they cannot be read, which is logged.
pub(crate) async fn frozen_commands(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Vec<CheckCommand> {
    match engine.store.find_exam(&project.key, loop_id, ExamRole::STRICT).await {
        Ok(exam) => exam.map(|exam| exam.plan.commands).unwrap_or_default(),
        Err(error) => {
            tracing::warn!(%error, loop_id, "the frozen commands of a loop cannot be read");
            Vec::new()
        }
    }
}
