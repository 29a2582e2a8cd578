//! The end of an agent that helps a pipeline without working on a TODO: its proposal is checked, and it must
//! continue while its answer cannot be used.

use std::time::{Duration, Instant};

use crate::exam::check_runs::run_commands;
use crate::hooks::hook_call::HookCall;
use crate::pipeline::commit_survey::survey_commits;
use crate::pipeline::gates::work_digest;
use crate::pipeline::saved_step::save_step;
use crate::project::Project;
use crate::stop::schedule::StopSchedule;
use moai_base::failure_lines::failure_summary;
use moai_base::foreign_text::one_line;
use moai_base::limits::{ACCEPTANCE_OUTPUT_CHARS_MAX, TODO_FAILURE_CHARS_MAX};
use moai_base::verdict::Verdict;
use moai_loops::criteria::{CheckCommand, CheckCriterion, SPECS_FOLDER};
use moai_pipeline::commit_proposal::CommitProposal;
use moai_pipeline::commits::CommitSurvey;
use moai_pipeline::scenario_runs::{FrozenScenario, ScenarioReport, ScenarioRun};
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::{PipelineDecision, PipelineEvent};
use moai_pipeline::worker_report::WorkerStatus;
use moai_protocol::hook::HookOutput;
use moai_report::pipeline as words;

/// Type of the agent that proposes commits, without the prefix of the plugin.
const COMMITTER: &str = "git-master";
/// Type of the agent that plays scenarios.
const PLAYER: &str = "scenario-runner";

/// The answer to the end of a helper; `None` if the agent is not a helper.
pub(super) async fn handle(
    call: &HookCall<'_>,
    project: &Project,
    pipeline: &PipelineState,
) -> Option<HookOutput> {
    let name = call.input.agent_type.rsplit(':').next().unwrap_or_default();
    let is = |known: &str| name == known || name.ends_with(&format!("-{known}"));
    let agent = call.input.agent_id.clone().unwrap_or_default();
    let answer = call.input.last_assistant_message.as_deref().unwrap_or_default();
    let event = if is(COMMITTER) {
        let faults = proposal_faults(project, pipeline, answer).await;
        PipelineEvent::HelperEnded { agent, faults }
    } else if is(PLAYER) {
        match scenario_run(call, project, pipeline, answer).await {
            Ok(played) => PipelineEvent::ScenarioPlayed {
                agent,
                scenario: played.scenario,
                run: played.run,
                is_claimed: played.is_claimed,
            },
            Err(faults) => PipelineEvent::HelperEnded { agent, faults },
        }
    } else {
        return None;
    };
    Some(take_step(call, project, pipeline.clone(), event).await)
}

/// One run of a scenario as reported and as the engine saw it.
struct PlayedRun {
    scenario: String,
    run: ScenarioRun,
    is_claimed: bool,
}

/// Runs the commands among the steps of the played scenario. The error is the reason why the report does not
/// count.
async fn scenario_run(
    call: &HookCall<'_>,
    project: &Project,
    pipeline: &PipelineState,
    answer: &str,
) -> Result<PlayedRun, Vec<String>> {
    let report = ScenarioReport::parse(answer).map_err(|reason| vec![reason])?;
    let known = pipeline.scenarios.iter().find(|scenario| scenario.key == report.scenario);
    let Some(scenario) = known else {
        return Err(vec![format!("the approved plan has no scenario {}", report.scenario)]);
    };
    let faults = report.faults(scenario);
    if !faults.is_empty() {
        return Err(faults);
    }
    let is_claimed = report.status == WorkerStatus::Pass;
    let work = work_digest(call.engine, project, pipeline).await;
    let mut run = ScenarioRun {
        agent: String::new(),
        work,
        has_passed: is_claimed,
        commands_run: 0,
        failure: report.failure(),
    };
    if is_claimed {
        confirm_run(call, project, scenario, &mut run).await?;
    }
    Ok(PlayedRun { scenario: report.scenario, run, is_claimed })
}

/// Compares a claimed pass with the engine's own runs of the commands among the steps.
async fn confirm_run(
    call: &HookCall<'_>,
    project: &Project,
    scenario: &FrozenScenario,
    run: &mut ScenarioRun,
) -> Result<(), Vec<String>> {
    let started_at = Instant::now();
    let deadline = StopSchedule::from_config(started_at, Duration::ZERO, &project.config).deadline;
    let commands = step_commands(scenario);
    run.commands_run = commands.len();
    let readings = run_commands(call.engine, project, &call.caller, commands, deadline).await;
    for reading in readings {
        let name = reading.sensor.clone();
        match reading.verdict() {
            Verdict::Clean => {}
            Verdict::Dirty => {
                run.has_passed = false;
                let output = reading.output.unwrap_or_default();
                let output = failure_summary(&output, ACCEPTANCE_OUTPUT_CHARS_MAX);
                run.failure = one_line(&format!("{name}: {output}"), TODO_FAILURE_CHARS_MAX);
                return Ok(());
            }
            Verdict::Unmeasured(gap) => {
                return Err(vec![format!("{name} was not run to its end: {gap}; play it again")]);
            }
        }
    }
    Ok(())
}

/// The commands that the steps of a scenario say to run, in their order.
fn step_commands(scenario: &FrozenScenario) -> Vec<CheckCommand> {
    let steps = scenario.steps.iter().enumerate().filter(|(_, step)| !step.argv.is_empty());
    let commands = steps.map(|(at, step)| CheckCommand {
        name: format!("{} step {}: {}", scenario.key, at + 1, step.argv.join(" ")),
        criterion: CheckCriterion::Custom,
        argv: step.argv.clone(),
        folder: String::new(),
        timeout_secs: None,
        source: SPECS_FOLDER.to_owned(),
        why: format!("a step of {}", scenario.key),
    });
    commands.collect()
}

/// Faults of a proposal of commits.
async fn proposal_faults(project: &Project, pipeline: &PipelineState, answer: &str) -> Vec<String> {
    let proposal = match CommitProposal::parse(answer) {
        Ok(proposal) => proposal,
        Err(error) => return vec![error.to_string()],
    };
    match survey_commits(project, pipeline).await {
        // Without a repository there is nothing to compare it with.
        Err(_) => Vec::new(),
        // Work that is already committed needs no proposal.
        Ok(survey) if survey.uncommitted.is_empty() && proposal.commits.is_empty() => Vec::new(),
        Ok(CommitSurvey { mut uncommitted, plan_with_boxes, style, .. }) => {
            // It needs no commit, and may have one.
            uncommitted.extend(plan_with_boxes.filter(|plan| proposal.names(plan)));
            proposal.faults(&uncommitted, style)
        }
    }
}

/// Takes a step, which is saved before the reply.
async fn take_step(
    call: &HookCall<'_>,
    project: &Project,
    before: PipelineState,
    event: PipelineEvent,
) -> HookOutput {
    let Some(saved) = Box::pin(save_step(call.engine, project, before, event)).await else {
        return HookOutput::Silent;
    };
    let held = saved.decisions.into_iter().find_map(|decision| match decision {
        PipelineDecision::Hold(objections) => Some(objections),
        _ => None,
    });
    held.map_or(HookOutput::Silent, |held| {
        HookOutput::Block(words::worker_held(&saved.next, &held))
    })
}
