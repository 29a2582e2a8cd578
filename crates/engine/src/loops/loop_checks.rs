//! `loop checks`: runs or lists the project's commands that a Stop runs.

use std::time::{Duration, Instant};

use crate::engine::{Engine, run_blocking};
use crate::exam;
use crate::exam::check_plan::check_plan;
use crate::exam::check_runs::{CheckReadings, CheckResults, run_checks};
use crate::loops::loop_selection::select_loop;
use crate::project::Project;
use crate::replies::{REFUSED, UNMEASURED, load_project};
use moai_base::evidence::Evidence;
use moai_base::limits::CHECKS_MS_MAX;
use moai_base::verdict::Verdict;
use moai_loops::charter::Charter;
use moai_loops::criteria::{AUTOCHECKS, CheckScope};
use moai_loops::exam::{Exam, ExamDifference, ExamRole};
use moai_loops::state::LoopState;
use moai_protocol::control::{CallerContext, CommandReply, LoopSelector};
use moai_protocol::documents::json_text;
use moai_report::checks_report::{ChecksReport, checks_document, checks_text};

pub(crate) async fn handle(
    engine: &Engine,
    caller: &CallerContext,
    select: LoopSelector,
    list: bool,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let refused = |error: &str| CommandReply::failure(REFUSED, &format!("moai-ralph: {error}"));
    let found = engine
        .store
        .find_loop(&project.key, &project.root, select_loop(engine, &select, caller))
        .await;
    let is_named = select.id.is_some() || select.session.is_some();
    let state = match found {
        Ok(None) if is_named => return refused("there is no such loop"),
        // A loop that has ended does not describe the project's current checks, unless it was requested by
        // id.
        Ok(found) => found.filter(|state| is_named || state.status.is_active()),
        Err(error) => return refused(&error.to_string()),
    };
    let before = match &state {
        Some(state) => exam::exam_differences(engine, &project, &state.id, ExamRole::ALL).await,
        None => Ok(None),
    };
    let before = match before {
        Ok(before) => before,
        Err(error) => return refused(&error.to_string()),
    };
    let evidence = if list {
        None
    } else {
        let charter = state.as_ref().map(LoopState::charter);
        Some(run_checks_and_exam(engine, &project, caller, charter.as_ref()).await)
    };
    let (exam, differences) = before.unzip();
    answer(&project, state.as_ref(), exam, differences, evidence, select.json).await
}

async fn run_checks_and_exam(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    charter: Option<&Charter>,
) -> Evidence {
    let end = Instant::now() + Duration::from_millis(CHECKS_MS_MAX);
    let CheckResults { readings, findings, .. } =
        run_checks(engine, project, caller, charter, end, &CheckReadings::new()).await;
    let mut evidence = Evidence { readings, findings, ..Evidence::default() };
    // After the commands, because they may write files.
    if let Some(charter) = charter {
        let (reading, findings) = exam::all_exam_findings(engine, project, charter).await;
        evidence.readings.push(reading);
        evidence.findings.extend(findings);
    }
    evidence
}

async fn answer(
    project: &Project,
    state: Option<&LoopState>,
    exam: Option<Exam>,
    differences: Option<Vec<ExamDifference>>,
    evidence: Option<Evidence>,
    as_json: bool,
) -> CommandReply {
    let project = project.clone();
    let frozen_ms = exam.as_ref().map(|exam| exam.frozen_ms);
    let found = run_blocking(move || {
        let has_autochecks = project.root.join(AUTOCHECKS).symlink_metadata().is_ok();
        (
            exam.map_or_else(|| check_plan(&project, CheckScope::Proposed), |exam| exam.plan),
            has_autochecks,
        )
    });
    let Some((plan, has_autochecks)) = found.await else {
        return CommandReply::failure(REFUSED, "moai-ralph: the project's files could not be read");
    };
    let found = ChecksReport {
        loop_id: state.map(|state| state.id.as_str()),
        frozen_ms,
        plan: &plan,
        has_autochecks,
        differences: differences.as_deref().unwrap_or_default(),
        evidence: evidence.as_ref(),
    };
    let stdout = if as_json { json_text(&checks_document(&found)) } else { checks_text(&found) };
    let code = match evidence.as_ref().map(Evidence::verdict) {
        None | Some(Verdict::Clean) => 0,
        Some(Verdict::Dirty) => REFUSED,
        Some(Verdict::Unmeasured(_)) => UNMEASURED,
    };
    CommandReply { stdout, code, ..CommandReply::default() }
}
