//! The end of a worker: its report is read, the engine runs the acceptance commands of its TODO itself, and
//! the worker continues until they pass, or until it has failed often enough.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::exam::check_runs::run_commands;
use crate::exam::frozen_commands::frozen_commands;
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::loops::loop_files;
use crate::pipeline::approved_exam;
use crate::pipeline::helper_stop;
use crate::pipeline::pipeline_of_loop::pipeline_of_loop;
use crate::pipeline::pipeline_stop::{command_reading, with_boxes};
use crate::pipeline::saved_step::{SavedStep, save_step};
use crate::pipeline::shell_undo::note_interruption;
use crate::project::Project;
use crate::stop::schedule::StopSchedule;
use moai_loops::state::LoopState;
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::pivot::{PIVOT_FILE, PivotDocument};
use moai_pipeline::plan::{AcceptanceKind, TodoId};
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::{CommandReading, PipelineDecision, PipelineEvent, WorkerReading};
use moai_pipeline::worker_report::WorkerReport;
use moai_protocol::hook::HookOutput;
use moai_report::pipeline as words;
use moai_report::pipeline_exam::{exam_changed, exam_not_measured, not_confirmed};

/// Types of agents that must end with a report, without the prefix of the plugin.
const WORKER_TYPES: [&str; 2] = ["worker", "frontend"];

pub(crate) async fn handle(call: HookCall<'_>) -> HookOutput {
    let started_at = Instant::now();
    note_interruption(&call);
    let HookCall { engine, caller, project, input, .. } = &call;
    // Agents of the host itself, such as the one that compacts a session, have no type.
    if input.agent_type.is_empty() || input.must_end() {
        return HookOutput::Silent;
    }
    let found = active_loop_anywhere(engine, caller, project, &input.session_id).await;
    let Some((project, state)) = found else { return HookOutput::Silent };
    let Some(pipeline) = pipeline_of_loop(engine, &project, &state).await else {
        return HookOutput::Silent;
    };
    if pipeline.approved.is_none() {
        return HookOutput::Silent;
    }
    if let Some(output) = helper_stop::handle(&call, &project, &pipeline).await {
        return output;
    }
    let message = input.last_assistant_message.as_deref().unwrap_or_default();
    let report = WorkerReport::parse(message).map_err(|error| error.to_string());
    // Other agents, such as those that explore, end as they like.
    if report.is_err() && !is_worker(&input.agent_type) {
        return HookOutput::Silent;
    }
    let deadline = StopSchedule::from_config(started_at, Duration::ZERO, &project.config).deadline;
    let TodoRuns { commands, gap } = match &report {
        Ok(report) => run_todo(&call, &project, &state, &pipeline, &report.todo, deadline).await,
        Err(_) => TodoRuns::default(),
    };
    let agent = input.agent_id.clone().unwrap_or_default();
    let text = loop_files::file_text(&project, PIVOT_FILE).await.unwrap_or_default();
    let pivots = PivotDocument::parse(&text);
    let is_unguarded = gap.is_some();
    let reading = WorkerReading { agent, report, pivots, commands, is_unguarded };
    let event = PipelineEvent::WorkerEnded(Box::new(reading));
    match Box::pin(save_step(engine, &project, pipeline, event)).await {
        Some(saved) => {
            let missing = gap.map(|gap| exam_not_measured(&saved.next, &gap));
            answer(&call, &project, saved).await.with_notice(missing)
        }
        None => HookOutput::Silent,
    }
}

/// True if agents of this type must end with a report: `moai-ralph:worker`, `uam-worker`.
fn is_worker(agent_type: &str) -> bool {
    let name = agent_type.rsplit(':').next().unwrap_or_default();
    let name = name.rsplit('-').next().unwrap_or_default();
    WORKER_TYPES.contains(&name)
}

/// The engine's own runs of the frozen commands of one TODO.
#[derive(Debug, Default)]
pub(super) struct TodoRuns {
    /// By program and arguments.
    pub(super) commands: BTreeMap<Vec<String>, CommandReading>,
    /// The measurement of weakened tests and checks that is missing; without it no run accepts the TODO.
    gap: Option<String>,
}

pub(super) async fn run_todo(
    call: &HookCall<'_>,
    project: &Project,
    state: &LoopState,
    pipeline: &PipelineState,
    todo: &TodoId,
    deadline: Instant,
) -> TodoRuns {
    let plan = pipeline.approved.as_ref().map(ApprovedPlan::document);
    let Some(todo) = plan.as_ref().and_then(|plan| plan.todo(todo)) else {
        return TodoRuns::default();
    };
    let mut commands = frozen_commands(call.engine, project, &state.id).await;
    commands.retain(|command| {
        let mut items = todo.items_of(AcceptanceKind::Automatic);
        command.is_acceptance() && items.any(|item| item.argv == command.argv)
    });
    let argvs: Vec<(String, Vec<String>)> =
        commands.iter().map(|command| (command.name.clone(), command.argv.clone())).collect();
    let charter = state.charter();
    let (changes, gap) = match approved_exam::objections(call.engine, project, &charter).await {
        Ok(changes) => (changes, None),
        Err(gap) => {
            tracing::warn!(gap, id = charter.id, "a run of a TODO's commands accepts nothing");
            (Vec::new(), Some(gap))
        }
    };
    if !changes.is_empty() {
        // Only a run of the frozen files and of the tests as they were accepts a TODO.
        let failure = exam_changed(&changes);
        let failed = |(_, argv)| (argv, CommandReading::Failed(failure.clone()));
        return TodoRuns { commands: argvs.into_iter().map(failed).collect(), gap };
    }
    let readings = run_commands(call.engine, project, &call.caller, commands, deadline).await;
    let mut commands = BTreeMap::new();
    for (name, argv) in argvs {
        if let Some(reading) = readings.iter().find(|reading| reading.sensor == name) {
            let reading = match (command_reading(reading), &gap) {
                (CommandReading::Passed, Some(gap)) => {
                    CommandReading::Unmeasured(not_confirmed(gap))
                }
                (reading, _) => reading,
            };
            commands.insert(argv, reading);
        }
    }
    TodoRuns { commands, gap }
}

async fn answer(
    call: &HookCall<'_>,
    project: &Project,
    SavedStep { next, decisions }: SavedStep,
) -> HookOutput {
    let mut held = Vec::new();
    let mut boxes = Vec::new();
    for decision in decisions {
        match decision {
            PipelineDecision::Hold(objections) => held.extend(objections),
            PipelineDecision::SetBox { todo, status } => boxes.push((todo, status)),
            _ => {}
        }
    }
    let mut notice = None;
    if !boxes.is_empty() {
        let change = move |text: &str| with_boxes(text, &boxes);
        let path = next.plan_path();
        notice = loop_files::change_file(call.engine, project, &path, change).await;
    }
    let output = if held.is_empty() {
        HookOutput::Silent
    } else {
        HookOutput::Block(words::worker_held(&next, &held))
    };
    output.with_notice(notice)
}

#[cfg(test)]
mod tests {
    use super::is_worker;

    #[test]
    fn workers_are_known_by_their_type_whatever_the_prefix() {
        for name in ["worker", "moai-ralph:worker", "uam-worker", "moai-ralph:moai-frontend"] {
            assert!(is_worker(name), "{name}");
        }
        for name in ["", "explore", "moai-ralph:pm", "coworkers"] {
            assert!(!is_worker(name), "{name}");
        }
    }
}
