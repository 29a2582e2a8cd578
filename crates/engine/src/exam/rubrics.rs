//! The `RUBRIC.md` of a project, on disk and as frozen by a loop. `loops::judge::rubric` parses it.

use std::path::Path;

use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use crate::project::option_files::read_option_file;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_loops::criteria::RUBRIC;
use moai_loops::exam::ExamRole;
use moai_loops::judge::rubric::Rubric;

/// The rubric on disk. A missing one asks for nothing; an unreadable one has a gap.
pub(crate) fn rubric_on_disk(root: &Path) -> Rubric {
    match read_option_file(&root.join(RUBRIC)) {
        Ok(text) => text.as_deref().map(Rubric::parse).unwrap_or_default(),
        Err(error) => Rubric::unreadable(&format!("it cannot be read: {error}")),
    }
}

/// The rubric frozen at the start of a loop; without a frozen exam, the one on disk.
pub(crate) async fn frozen_rubric(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Result<Rubric, Gap> {
    let store = &engine.store;
    let exam = store.find_exam(&project.key, loop_id, &[ExamRole::Rubric]).await;
    let Some(exam) = exam.map_err(|error| Gap::new(Cause::Crashed, error.to_string()))? else {
        let root = project.root.clone();
        let rubric = run_blocking(move || rubric_on_disk(&root)).await;
        return rubric
            .ok_or_else(|| Gap::new(Cause::Crashed, format!("{RUBRIC} could not be read")));
    };
    let path = RelPath::parse(RUBRIC).filter(|path| exam.files.contains_key(path));
    let Some(path) = path else { return Ok(Rubric::default()) };
    let text = store.exam_text(&project.key, loop_id, &path).await;
    let Some(bytes) = text.map_err(|error| Gap::new(Cause::Crashed, error.to_string()))? else {
        let detail = format!("{RUBRIC} was too large to freeze when the loop started");
        return Err(Gap::new(Cause::Skipped, detail));
    };
    Ok(match std::str::from_utf8(&bytes) {
        Ok(text) => Rubric::parse(text),
        Err(_) => Rubric::unreadable("it was not UTF-8 when the loop started"),
    })
}
