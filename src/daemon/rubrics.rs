//! `RUBRIC.md` of a project, as it is and as a loop has frozen it. What stands in it is read in
//! `judge::rubric`.

use std::path::Path;

use super::engine::{Engine, blocking};
use super::project::{Project, read};
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::judge::rubric::Rubric;
use crate::looping::criteria::RUBRIC;
use crate::looping::exam::Role;

/// The rubric on disk; one that is not there asks for nothing.
pub(super) fn on_disk(root: &Path) -> Rubric {
    let text = read(&root.join(RUBRIC)).ok().flatten();
    text.as_deref().map(Rubric::parse).unwrap_or_default()
}

/// The rubric that a loop began with; without a frozen exam the one on disk.
pub(super) async fn frozen(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Result<Rubric, Gap> {
    let lost = |error: String| Gap::new(Cause::Crashed, error);
    let store = &engine.store;
    let exam = store.find_exam(&project.key, loop_id, &[Role::Rubric]).await;
    let Some(exam) = exam.map_err(|error| lost(error.to_string()))? else {
        let root = project.root.clone();
        let rubric = blocking(move || on_disk(&root)).await;
        return rubric.ok_or_else(|| lost(format!("{RUBRIC} could not be read")));
    };
    let path = RelPath::parse(RUBRIC).filter(|path| exam.files.contains_key(path));
    let Some(path) = path else { return Ok(Rubric::default()) };
    let text = store.exam_text(&project.key, loop_id, &path).await;
    match text.map_err(|error| lost(error.to_string()))? {
        Some(bytes) => Ok(Rubric::parse(&String::from_utf8_lossy(&bytes))),
        None => {
            let detail = format!("{RUBRIC} was too large to be kept when the loop started");
            Err(Gap::new(Cause::Skipped, detail))
        }
    }
}
