//! `RUBRIC.md` of a project, as it is and as a loop has frozen it. What stands in it is read in
//! `loops::judge::rubric`.

use std::path::Path;

use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use crate::project::option_files::read_option_file;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_loops::criteria::RUBRIC;
use moai_loops::exam::ExamRole;
use moai_loops::judge::rubric::Rubric;

/// The rubric on disk; one that is not there asks for nothing, and one that cannot be read for
/// nobody knows what.
pub(crate) fn rubric_on_disk(root: &Path) -> Rubric {
    match read_option_file(&root.join(RUBRIC)) {
        Ok(text) => text.as_deref().map(Rubric::parse).unwrap_or_default(),
        Err(error) => Rubric::unreadable(&format!("it cannot be read: {error}")),
    }
}

/// The rubric that a loop began with; without a frozen exam the one on disk.
pub(crate) async fn frozen_rubric(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Result<Rubric, Gap> {
    let lost = |error: String| Gap::new(Cause::Crashed, error);
    let store = &engine.store;
    let exam = store.find_exam(&project.key, loop_id, &[ExamRole::Rubric]).await;
    let Some(exam) = exam.map_err(|error| lost(error.to_string()))? else {
        let root = project.root.clone();
        let rubric = run_blocking(move || rubric_on_disk(&root)).await;
        return rubric.ok_or_else(|| lost(format!("{RUBRIC} could not be read")));
    };
    let path = RelPath::parse(RUBRIC).filter(|path| exam.files.contains_key(path));
    let Some(path) = path else { return Ok(Rubric::default()) };
    let text = store.exam_text(&project.key, loop_id, &path).await;
    let too_large = || {
        let detail = format!("{RUBRIC} was too large to freeze when the loop started");
        Gap::new(Cause::Skipped, detail)
    };
    let bytes = text.map_err(|error| lost(error.to_string()))?.ok_or_else(too_large)?;
    Ok(match std::str::from_utf8(&bytes) {
        Ok(text) => Rubric::parse(text),
        Err(_) => Rubric::unreadable("it was not UTF-8 when the loop started"),
    })
}
