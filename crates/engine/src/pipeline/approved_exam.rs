//! The exam that was frozen when a plan was approved: its differences, and its continuation in a later loop.

use crate::engine::Engine;
use crate::exam::{self, attributed_differences, is_of_sensors};
use crate::project::Project;
use moai_base::finding::Severity;
use moai_host::store::StoreError;
use moai_loops::charter::Charter;
use moai_loops::exam::{AttributedDifferences, ExamDifference, ExamRole};

/// Gives a loop the exam of an earlier one. Returns the names of its checks; `None` if the earlier exam no
/// longer exists.
pub(super) async fn continue_exam(
    engine: &Engine,
    project: &Project,
    earlier: &str,
    loop_id: &str,
) -> Result<Option<Vec<String>>, StoreError> {
    if !engine.store.continue_exam(&project.key, earlier, loop_id).await? {
        return Ok(None);
    }
    let exam = engine.store.find_exam(&project.key, loop_id, ExamRole::STRICT).await?;
    Ok(exam.map(|exam| exam::criteria::names(project, &exam.plan)))
}

/// Changes of a loop's exam that its session did not make, one line each. Empty if that is unknown: the
/// measured Stop reports it.
pub(super) async fn foreign_changes(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
) -> Vec<String> {
    lines_of(&changes(engine, project, charter).await.foreign)
}

/// The same, including changes by the session.
pub(super) async fn all_changes(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
) -> Vec<String> {
    let AttributedDifferences { own, foreign } = changes(engine, project, charter).await;
    lines_of(&[own, foreign].concat())
}

async fn changes(engine: &Engine, project: &Project, charter: &Charter) -> AttributedDifferences {
    match attributed_differences(engine, project, charter).await {
        Ok((_, differences)) => differences,
        Err(gap) => {
            tracing::warn!(%gap, id = charter.id, "the exam of a pipeline was not compared");
            AttributedDifferences::default()
        }
    }
}

fn lines_of(differences: &[ExamDifference]) -> Vec<String> {
    let errors = differences.iter().filter(|one| one.severity() == Some(Severity::Error));
    errors.filter(|one| !is_of_sensors(one)).map(ExamDifference::line).collect()
}
