//! The exam that was frozen when a plan was approved: its differences, and its continuation in a later loop.

use std::sync::Arc;

use crate::engine::Engine;
use crate::exam::{self, attributed_differences, is_of_sensors};
use crate::guard::guard_run::run_loop_guard;
use crate::project::Project;
use moai_base::evidence::Evidence;
use moai_base::finding::{Finding, Severity};
use moai_host::store::StoreError;
use moai_loops::charter::Charter;
use moai_loops::exam::{AttributedDifferences, ExamDifference, ExamRole, TOUCHED};

/// Codes of the guard whose warnings are about tests.
const TEST_CODES: [&str; 8] = ["G01", "G02", "G03", "G04", "G05", "G06", "G07", "G16"];

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
    Ok(exam.map(|exam| exam::check_plan::check_names(project, &exam.plan)))
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

/// Changes of a loop's exam, and weakened tests and checks in the changes since it began, one line each.
/// The error names the measurement that is missing.
pub(super) async fn objections(
    engine: &Arc<Engine>,
    project: &Project,
    charter: &Charter,
) -> Result<Vec<String>, String> {
    let compared = attributed_differences(engine, project, charter).await;
    let (_, AttributedDifferences { own, foreign }) =
        compared.map_err(|gap| format!("exam: {gap}"))?;
    let mut lines = lines_of(&[own, foreign].concat());
    let guarded = run_loop_guard(engine, project, charter).await;
    let Evidence { readings, findings, .. } =
        guarded.map_err(|error| format!("guard: {error}"))?.evidence;
    lines.extend(weakening_lines(&findings));
    let gap = readings.into_iter().find_map(|reading| reading.gap);
    match gap.filter(|_| lines.is_empty()) {
        Some(gap) => Err(format!("guard: {gap}")),
        None => Ok(lines),
    }
}

/// The errors of the guard among some findings, one line each.
pub(super) fn weakening_lines(findings: &[Finding]) -> Vec<String> {
    let errors = findings.iter().filter(|it| {
        it.sensor == moai_guard::SENSOR && it.severity >= Severity::Error && it.code != TOUCHED
    });
    errors.map(|it| format!("{} (guard({}): {})", it.path, it.code, it.message)).collect()
}

/// Changed expectations and other changes of tests that the guard only warns about, one line each; `None` if it
/// did not run.
pub(super) fn test_warnings(evidence: &Evidence) -> Option<Vec<String>> {
    let guard = evidence.readings.iter().find(|reading| reading.sensor == moai_guard::SENSOR);
    guard.filter(|reading| reading.gap.is_none())?;
    let warnings = evidence.findings.iter().filter(|it| {
        it.sensor == moai_guard::SENSOR
            && it.severity == Severity::Warning
            && TEST_CODES.contains(&it.code.as_str())
    });
    let lines = warnings.map(|it| {
        format!("{}:{} {}", it.path, it.range.start.line + 1, without_remedy(&it.message))
    });
    Some(lines.collect())
}

/// The problem that a message names. One with a quotation in its last part stays whole, because a quoted code
/// may have a semicolon itself.
fn without_remedy(message: &str) -> &str {
    let parts = message.rsplit_once("; ").filter(|(_, remedy)| !remedy.contains('`'));
    parts.map_or(message, |(problem, _)| problem)
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

#[cfg(test)]
mod tests {
    use super::without_remedy;

    #[test]
    fn a_quoted_code_stays_whole_without_the_remedy() {
        for (message, problem) in [
            ("test `a` asserts less; restore it", "test `a` asserts less"),
            ("test `a` runs `x; y` no more; restore it", "test `a` runs `x; y` no more"),
            ("test `a` runs `x; y`", "test `a` runs `x; y`"),
            ("`a` is replaced; mock `b` instead", "`a` is replaced; mock `b` instead"),
            ("it is skipped", "it is skipped"),
        ] {
            assert_eq!(without_remedy(message), problem);
        }
    }
}
