//! `pipeline approve`: freezes the acceptance commands of the plan into the exam of the loop. After
//! the first approval the plan may only grow, and what was added is approved the same way.

use super::PipelineCall;
use super::escalations::size_lines;
use super::plan_commands::acceptance_commands;
use crate::engine::now_ms;
use crate::exam;
use crate::loops::loop_files;
use crate::loops::loop_selection::change_loop;
use moai_host::store::loops::LoopQuery;
use moai_loops::state::LoopState;
use moai_pipeline::plan::PlanDocument;
use moai_pipeline::spec::{SPECS_FOLDER, SpecFile};
use moai_pipeline::state::PlanApprover;
use moai_pipeline::step::{PipelineEvent, approval_objections, step};
use moai_protocol::control::CommandReply;
use moai_report::pipeline as words;

pub(super) async fn approve(
    call: &PipelineCall<'_>,
    id: Option<String>,
    by: PlanApprover,
) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    if !state.kind.has_plan() {
        return Err(format!("pipeline {} has no plan", state.id));
    }
    if !state.is_active() {
        return Err(format!("pipeline {} has ended; resume it first", state.id));
    }
    let text = loop_files::file_text(&call.project, &state.plan_path()).await;
    let objections = approval_objections(&state, text.as_deref());
    let text = match text {
        Some(text) if objections.is_empty() => text,
        _ => return Err(words::not_approved(&state, &objections)),
    };
    let count = freeze_plan(call, &state.loop_id, &text, &state.plan_path()).await?;
    let (next, _) = step(&state, PipelineEvent::PlanApproved { text, by }, now_ms());
    let acceptance = format!("{SPECS_FOLDER}/{}/{}", state.spec, SpecFile::Acceptance.as_str());
    let acceptance = loop_files::file_text(&call.project, &acceptance).await;
    let (next, _) = step(&next, PipelineEvent::ScenariosFrozen(acceptance), now_ms());
    call.save(&state, &next).await?;
    let lines = [vec![words::approved(&next, count)], size_lines(&call.project, &next)].concat();
    call.reply(&next, lines.join("\n")).await
}

/// Freezes the commands of a plan into the exam of an active loop; returns their number.
pub(super) async fn freeze_plan(
    call: &PipelineCall<'_>,
    loop_id: &str,
    text: &str,
    path: &str,
) -> Result<usize, String> {
    let (engine, project) = (call.engine, &call.project);
    let which = LoopQuery::Id(loop_id.to_owned());
    let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
    let found = found.map_err(|error| error.to_string())?;
    let held = found.filter(|held| held.status.is_active());
    let held = held.ok_or_else(|| format!("loop {loop_id} of the pipeline has ended"))?;
    let commands = acceptance_commands(&PlanDocument::parse(text), path);
    let count = commands.len();
    let names = exam::freeze_exam_with(engine, project, &held.charter(), commands).await;
    let names = names.map_err(|error| error.to_string())?;
    let changed = change_loop(engine, project, which, |held: &LoopState| {
        let checks = names.clone();
        Ok::<_, String>(LoopState { checks, updated_ms: now_ms(), ..held.clone() })
    });
    changed.await.map_err(|error| error.to_string())?;
    Ok(count)
}
