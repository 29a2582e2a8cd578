//! `pipeline report` with the evidence for each requirement, and `pipeline pr`: the text of
//! a pull request, which `gh` opens when a person asks for it.

use std::fmt::Write as _;
use std::time::Duration;

use super::gate_files::document_faults;
use super::pipeline_call::PipelineCall;
use super::worktree_end::{missed_base, worktree_statuses};
use crate::loops::loop_files;
use crate::person;
use crate::pipeline::plan_documents::plan_objections;
use moai_base::foreign_text::one_line;
use moai_base::limits::{COMMAND_KILL_GRACE_MS, GIT_REMOTE_MS_MAX, LINE_CHARS_MAX};
use moai_base::verdict::Cause;
use moai_host::files::private_temporary;
use moai_host::programs::{self, CommandOutcome, ProgramCall};
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::spec::{SPECS_FOLDER, SpecDocument, SpecFile};
use moai_pipeline::state::PipelineState;
use moai_protocol::control::CommandReply;
use moai_protocol::documents::json_text;
use moai_protocol::documents::pipelines::{ApprovedPlanDocument, PullRequestDocument};
use moai_report::pipeline as words;
use moai_report::pipeline_evidence::{
    PullRequestText, evidence_entries, evidence_lines, pull_request as text_of,
};
use moai_report::pipeline_status::{
    gate_file_lines, pipeline_report, pipeline_status, tokens_line,
};
use moai_report::pipeline_worktrees::{
    TodoWorktreeStatus, ended_lines, left_lines, on_other_branch, paused_lines, working_lines,
};
use moai_report::plan_approval::{plan_fault_lines, unapproved_line};

/// The program that opens pull requests on GitHub.
const GH: &str = "gh";

/// One screen: the phase, the TODOs, the gates, the progress and the tokens.
pub(super) async fn status(
    call: &PipelineCall<'_>,
    id: Option<String>,
) -> Result<CommandReply, String> {
    let tokens = match call.find(id.clone()).await? {
        Some(state) => call.tokens(&state).await,
        None => return call.show(id, pipeline_status).await,
    };
    let state = call.require(id).await?;
    let statuses = worktree_statuses(call.engine, &call.project, &state).await;
    let text = format!(
        "{}{}{}",
        pipeline_status(&state),
        standing_text(call, &state, &statuses).await,
        tokens_line(&state, tokens)
    );
    call.reply(&state, text).await
}

/// The state of its loop, faults of the plan and its parts that are not approved, the worktrees in use, the
/// remains of the others, and whether the right branch is checked out here.
async fn standing_text(
    call: &PipelineCall<'_>,
    state: &PipelineState,
    statuses: &[TodoWorktreeStatus],
) -> String {
    let objections = plan_objections(&call.project, state).await;
    // Another approval takes over changes of the other documents.
    let is_changed =
        |objection: &PlanObjection| matches!(objection, PlanObjection::DocumentChanged { .. });
    let is_sound = objections.iter().all(is_changed);
    let held = call.held(state).await;
    let paused = held.map(|held| paused_lines(state, &held, is_sound));
    let mut text = paused.unwrap_or_default();
    text.push_str(&plan_fault_lines(state, &objections));
    if state.is_active()
        && let Some(plan) = loop_files::file_text(&call.project, &state.plan_path()).await
    {
        let parts = state.unapproved_parts(&plan);
        text.push_str(&unapproved_line(state, &parts, is_sound));
    }
    text.push_str(&working_lines(state, statuses));
    for line in left_lines(state, statuses) {
        let _ = writeln!(text, "{line}");
    }
    let missed = if state.is_active() { missed_base(&call.project, statuses).await } else { None };
    if let Some(missed) = missed {
        let _ =
            writeln!(text, "{}", on_other_branch(state, &missed.base, missed.branch.as_deref()));
    }
    text
}

/// The plan as it was approved, byte for byte apart from its boxes.
pub(super) async fn approved_text(
    call: &PipelineCall<'_>,
    id: Option<String>,
) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    let Some(text) = state.approved_text() else { return Err(words::no_approved_plan(&state)) };
    if call.json {
        let document = ApprovedPlanDocument { id: &state.id, path: state.plan_path(), text };
        return Ok(CommandReply::success(json_text(&document)));
    }
    Ok(CommandReply::success(text))
}

/// The results of the engine's runs, for each TODO and for each requirement.
pub(super) async fn report(
    call: &PipelineCall<'_>,
    id: Option<String>,
) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    let spec = spec_of(call, &state).await;
    if call.json {
        let document = words::report_document(&state, evidence_entries(&state, spec.as_ref()));
        return Ok(CommandReply::success(json_text(&document)));
    }
    let mut text = pipeline_report(&state);
    let statuses = worktree_statuses(call.engine, &call.project, &state).await;
    text.push_str(&ended_lines(&state, &statuses));
    text.push_str(&standing_text(call, &state, &statuses).await);
    text.push_str(&evidence_lines(&state, spec.as_ref()));
    let faults = document_faults(&call.project, &state).await;
    text.push_str(&gate_file_lines(&state, &faults.changed, &faults.foreign, &faults.missing));
    call.reply(&state, text).await
}

async fn spec_of(call: &PipelineCall<'_>, state: &PipelineState) -> Option<SpecDocument> {
    let path = format!("{SPECS_FOLDER}/{}/{}", state.spec, SpecFile::Spec.as_str());
    let text = loop_files::file_text(&call.project, &path).await?;
    Some(SpecDocument::parse(&text))
}

/// Shows the text of a pull request; `create` lets `gh` open it, which only a person may ask for.
pub(super) async fn pull_request(
    call: &PipelineCall<'_>,
    id: Option<String>,
    create: bool,
) -> Result<CommandReply, String> {
    if create && person::is_agent(call.engine, call.caller) {
        let text =
            "--create is for a person: an agent started this shell; show the text without it";
        return Err(text.to_owned());
    }
    let state = call.require(id).await?;
    let spec = spec_of(call, &state).await;
    let text = text_of(&state, spec.as_ref());
    if create {
        return open_pull_request(call, &text).await;
    }
    if call.json {
        let document = PullRequestDocument { id: &state.id, title: &text.title, body: &text.body };
        return Ok(CommandReply::success(json_text(&document)));
    }
    call.reply(&state, format!("{}\n\n{}", text.title, text.body)).await
}

/// Opens the pull request that a person asked for.
async fn open_pull_request(
    call: &PipelineCall<'_>,
    text: &PullRequestText,
) -> Result<CommandReply, String> {
    let folder = call.project.key.folder(&call.engine.dirs.state);
    let file = private_temporary(&folder, text.body.as_bytes());
    let file = file.map_err(|error| format!("the text could not be written: {error}"))?;
    let body = file.path().to_string_lossy().into_owned();
    let run = programs::run_command(ProgramCall {
        program: GH.into(),
        args: ["pr", "create", "--title", &text.title, "--body-file", &body]
            .map(str::to_owned)
            .to_vec(),
        cwd: call.project.root.clone(),
        env: call.caller.env.clone().into_iter().collect(),
        timeout: Duration::from_millis(GIT_REMOTE_MS_MAX),
        kill_grace: Duration::from_millis(COMMAND_KILL_GRACE_MS),
        parent: None,
    });
    let run = run.await;
    match run.outcome {
        CommandOutcome::Passed => Ok(CommandReply::success(format!("{}\n", run.output.trim()))),
        CommandOutcome::Unmeasured(gap) if gap.cause == Cause::NotInstalled => {
            Err("gh is not installed; use the text of moai-ralph pipeline pr".to_owned())
        }
        CommandOutcome::Unmeasured(gap) => Err(format!("gh: {gap}")),
        CommandOutcome::Failed(how) => {
            Err(format!("gh: {} ({how})", one_line(&run.output, LINE_CHARS_MAX)))
        }
    }
}
