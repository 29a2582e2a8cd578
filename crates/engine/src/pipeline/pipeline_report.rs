//! `pipeline report` with the evidence for each requirement, and `pipeline pr`: the text of
//! a pull request, which `gh` opens when a person asks for it.

use std::fmt::Write as _;
use std::time::Duration;

use super::gate_files::document_faults;
use super::pipeline_call::PipelineCall;
use super::todo_worktrees::missing_plan;
use super::worktree_end::{missed_base, worktree_statuses};
use crate::loops::loop_files;
use crate::person;
use moai_base::foreign_text::one_line;
use moai_base::limits::{COMMAND_KILL_GRACE_MS, GIT_REMOTE_MS_MAX, LINE_CHARS_MAX};
use moai_base::verdict::Cause;
use moai_host::files::private_temporary;
use moai_host::programs::{self, CommandOutcome, ProgramCall};
use moai_pipeline::spec::{SPECS_FOLDER, SpecDocument, SpecFile};
use moai_pipeline::state::PipelineState;
use moai_protocol::control::CommandReply;
use moai_protocol::documents::json_text;
use moai_report::pipeline as words;
use moai_report::pipeline_evidence::{
    PullRequestText, evidence_entries, evidence_lines, pull_request as text_of,
};
use moai_report::pipeline_worktrees::{
    ended_lines, left_lines, on_other_branch, paused_lines, working_lines,
};
use moai_report::plan_approval::unapproved_line;

/// The program that opens pull requests on GitHub.
const GH: &str = "gh";

/// One screen: the phase, the TODOs, the gates, the progress and the tokens.
pub(super) async fn status(
    call: &PipelineCall<'_>,
    id: Option<String>,
) -> Result<CommandReply, String> {
    let tokens = match call.find(id.clone()).await? {
        Some(state) => call.tokens(&state).await,
        None => return call.show(id, words::pipeline_status).await,
    };
    let state = call.require(id).await?;
    let text = format!(
        "{}{}{}",
        words::pipeline_status(&state),
        standing_text(call, &state).await,
        words::tokens_line(tokens)
    );
    call.reply(&state, text).await
}

/// The state of its loop, the parts of the plan that are not approved, the worktrees in use, the remains of the
/// others, and whether the right branch is checked out here.
async fn standing_text(call: &PipelineCall<'_>, state: &PipelineState) -> String {
    let statuses = worktree_statuses(call.engine, &call.project, state).await;
    let held = call.held(state).await;
    let mut text = held.map(|held| paused_lines(state, &held)).unwrap_or_default();
    if let Some(line) = missing_plan(&call.project, state).await {
        let _ = writeln!(text, "{line}");
    }
    if state.is_active()
        && let Some(plan) = loop_files::file_text(&call.project, &state.plan_path()).await
        && let Some(line) = unapproved_line(state, &state.unapproved_parts(&plan))
    {
        let _ = writeln!(text, "{line}");
    }
    text.push_str(&working_lines(state, &statuses));
    for line in left_lines(state, &statuses) {
        let _ = writeln!(text, "{line}");
    }
    let missed = if state.is_active() { missed_base(&call.project, &statuses).await } else { None };
    if let Some(missed) = missed {
        let _ =
            writeln!(text, "{}", on_other_branch(state, &missed.base, missed.branch.as_deref()));
    }
    text
}

/// The results of the engine's runs, for each TODO and for each requirement.
pub(super) async fn report(
    call: &PipelineCall<'_>,
    id: Option<String>,
) -> Result<CommandReply, String> {
    if id.is_none() && call.find(None).await?.is_none() {
        return call.show(None, words::pipeline_report).await;
    }
    let state = call.require(id).await?;
    let spec = spec_of(call, &state).await;
    if call.json {
        let mut document = words::pipeline_document(&state, call.tokens(&state).await);
        document.requirements = evidence_entries(&state, spec.as_ref());
        return Ok(CommandReply::success(json_text(&document)));
    }
    let mut text = words::pipeline_report(&state);
    text.push_str(&ended_lines(&state));
    text.push_str(&standing_text(call, &state).await);
    text.push_str(&evidence_lines(&state, spec.as_ref()));
    let faults = document_faults(&call.project, &state).await;
    for (paths, what) in [
        (faults.changed, "is not as its gate wrote it"),
        (faults.foreign, "was written by no gate"),
        (faults.missing, "is not there: it could not be written, or was taken away"),
    ] {
        for path in paths {
            let _ = writeln!(text, "  {path} {what}");
        }
    }
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
