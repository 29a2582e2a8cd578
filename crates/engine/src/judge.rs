//! `judge`: one run of the judges over the current change.

pub(crate) mod judge_run;
pub(crate) mod judged_change;
pub(crate) mod model_calls;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::{Engine, now_ms};
use crate::evidence::work_base::base_of_changes;
use crate::exam::rubrics;
use crate::judge::judge_run::JudgeRequest;
use crate::project::Project;
use crate::project::option_files::read_option_file;
use crate::replies::{INVALID, REFUSED, UNMEASURED, load_project, millis_since};
use moai_base::limits::{COMMAND_SECS_MAX, JUDGE_PARTS_MAX};
use moai_loops::judge::decision::Judgement;
use moai_loops::judge::rubric::Rubric;
use moai_protocol::control::{CallerContext, CommandReply, JudgeChangeRequest};
use moai_protocol::documents::json_text;
use moai_report::judging::{self as report, JudgementContext};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: JudgeChangeRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let rubric = match rubric(&project, caller, request.rubric.as_deref()) {
        Ok(rubric) => rubric,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let base = match base_of_changes(&project, request.base).await {
        Ok(base) => base,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let calls = u32::try_from(project.config.judge.judges().len() * JUDGE_PARTS_MAX);
    let limit = project.config.judge.timeout.saturating_mul(calls.unwrap_or(u32::MAX));
    let judge_request = JudgeRequest {
        rubric,
        goal: String::new(),
        base,
        loop_id: None,
        checks: Vec::new(),
        deadline: started_at + limit.min(Duration::from_secs(COMMAND_SECS_MAX)),
    };
    let judged = judge_run::run_judges(engine, &project, judge_request).await;
    let mut stderr = String::new();
    if request.record {
        let moment = JudgementContext { at_ms: now_ms(), ..JudgementContext::default() };
        for notice in judge_run::record_judgement(engine, &project, &judged, moment).await {
            stderr.push_str(&notice);
            stderr.push('\n');
        }
    }
    let stdout = if request.json {
        json_text(&report::judge_document(&project.root, &judged, millis_since(started_at)))
    } else {
        report::judge_text(&judged)
    };
    let code = match judged.judgement {
        Judgement::Approved => 0,
        Judgement::Rejected => REFUSED,
        Judgement::Unmeasured(_) => UNMEASURED,
    };
    CommandReply { stdout, stderr, code, ..CommandReply::default() }
}

/// The requested rubric, else the project's; empty if the project has none.
fn rubric(
    project: &Project,
    caller: &CallerContext,
    named: Option<&Path>,
) -> Result<Rubric, String> {
    let Some(named) = named else { return Ok(rubrics::rubric_on_disk(&project.root)) };
    let path = project.resolve_path(caller, named);
    match read_option_file(&path)? {
        Some(text) => Ok(Rubric::parse(&text)),
        None => Err(format!("{}: there is no such file", path.display())),
    }
}
