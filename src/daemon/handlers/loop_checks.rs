//! `loop checks`: runs or lists the project's commands that a Stop runs.

use std::time::{Duration, Instant};

use super::loop_selection::select_loop;
use super::replies::{REFUSED, UNMEASURED, load_project};
use crate::base::evidence::Evidence;
use crate::base::limits::CHECKS_MS_MAX;
use crate::base::verdict::Verdict;
use crate::daemon::engine::{Engine, run_blocking};
use crate::daemon::project::Project;
use crate::daemon::{criteria, exam};
use crate::looping::criteria::{AUTOCHECKS, CheckScope};
use crate::looping::exam::{Exam, ExamDifference, ExamRole};
use crate::looping::state::LoopState;
use crate::report::checks_report::{ChecksReport, checks_json, checks_text};
use crate::wire::control::{CallerContext, CommandReply, LoopSelector};

pub(super) async fn handle(
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
    let found =
        engine.store.find_loop(&project.key, &project.root, select_loop(&select, caller)).await;
    let is_named = select.id.is_some() || select.session.is_some();
    let state = match found {
        Ok(None) if is_named => return refused("there is no such loop"),
        // A loop that has ended does not describe the project's current checks, unless it is named.
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
    let evidence =
        if list { None } else { Some(run(engine, &project, caller, state.as_ref()).await) };
    let (exam, differences) = before.unzip();
    answer(&project, state.as_ref(), exam, differences, evidence, select.json).await
}

async fn run(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    state: Option<&LoopState>,
) -> Evidence {
    let end = Instant::now() + Duration::from_millis(CHECKS_MS_MAX);
    let criteria::CheckResults { readings, findings, .. } =
        criteria::run_checks(engine, project, caller, state, end).await;
    let mut evidence = Evidence { readings, findings, ..Evidence::default() };
    // After the commands, because they may write files.
    if let Some(state) = state {
        let (reading, findings) = exam::all_exam_findings(engine, project, state).await;
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
        let plan = || criteria::check_plan(&project, CheckScope::Proposed);
        (exam.map_or_else(plan, |exam| exam.plan), has_autochecks)
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
    let stdout = if as_json { format!("{:#}\n", checks_json(&found)) } else { checks_text(&found) };
    let code = match evidence.as_ref().map(Evidence::verdict) {
        None | Some(Verdict::Clean) => 0,
        Some(Verdict::Dirty) => REFUSED,
        Some(Verdict::Unmeasured(_)) => UNMEASURED,
    };
    CommandReply { stdout, code, ..CommandReply::default() }
}
