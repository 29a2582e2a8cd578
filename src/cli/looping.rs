//! `loop …`: converts arguments to requests.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use super::args::CliArgs;
use super::args::looping::{
    AdoptArgs, ForgetArgs, LoopCommand, LoopSelectArgs, LoopStartArgs, RestoreArgs,
};
use super::{INVALID, REFUSED, agent_detection, client};
use moai_base::limits::PROMPT_BYTES_MAX;
use moai_protocol::control::{
    CommandReply, DaemonRequest, LoopAdoptRequest, LoopHistoryRequest, LoopRestoreRequest,
    LoopResumeRequest, LoopSelector, LoopStartRequest,
};

pub(super) fn run(args: &CliArgs, command: &LoopCommand) -> CommandReply {
    let select = |select: &LoopSelectArgs| LoopSelector {
        id: select.id.clone(),
        session: select.session.clone(),
        json: args.json,
    };
    let request = match command {
        LoopCommand::Start(start) => match start_request(start, args.json) {
            Ok(start) => DaemonRequest::LoopStart(start),
            Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        },
        LoopCommand::Status(which) => DaemonRequest::LoopStatus(select(which)),
        LoopCommand::Cancel(which) => DaemonRequest::LoopCancel(select(which)),
        LoopCommand::Pause(which) => DaemonRequest::LoopPause(select(which)),
        LoopCommand::Resume(arguments) => DaemonRequest::LoopResume(LoopResumeRequest {
            select: select(&arguments.select),
            max_iterations: arguments.max_iterations,
            max_minutes: arguments.max_minutes,
            max_tokens: arguments.max_tokens,
        }),
        LoopCommand::History(arguments) => DaemonRequest::LoopHistory(LoopHistoryRequest {
            select: select(&arguments.select),
            all: arguments.all,
        }),
        LoopCommand::Report(which) => DaemonRequest::LoopReport(select(which)),
        LoopCommand::Restore(RestoreArgs { id, to, apply }) => {
            let (id, to, apply) = (id.clone(), to.clone(), *apply);
            DaemonRequest::LoopRestore(LoopRestoreRequest { id, to, apply, json: args.json })
        }
        LoopCommand::Checks(arguments) => {
            DaemonRequest::LoopChecks { select: select(&arguments.select), list: arguments.list }
        }
        LoopCommand::Adopt(AdoptArgs { id, session }) => {
            let (id, session) = (id.clone(), session.clone());
            let select = LoopSelector { id, session, json: args.json };
            DaemonRequest::LoopAdopt(LoopAdoptRequest {
                select,
                is_agent: agent_detection::is_agent(),
            })
        }
        LoopCommand::Forget(ForgetArgs { id }) => DaemonRequest::LoopForget(LoopSelector {
            id: Some(id.clone()),
            session: None,
            json: args.json,
        }),
        // The agent must not choose its own exam; an agent's shell has no terminal.
        LoopCommand::Refreeze(_) if !std::io::stdin().is_terminal() => {
            let text = "moai-ralph: loop refreeze is for a person: stdin is no terminal";
            return CommandReply::failure(REFUSED, text);
        }
        LoopCommand::Refreeze(_) if agent_detection::is_agent() => {
            let text = "moai-ralph: loop refreeze is for a person: an agent started this shell";
            return CommandReply::failure(REFUSED, text);
        }
        LoopCommand::Refreeze(which) => DaemonRequest::LoopRefreeze(select(which)),
    };
    client::send_request(args.root.as_deref(), request, false)
}

fn start_request(start: &LoopStartArgs, json: bool) -> Result<LoopStartRequest, String> {
    let research = if start.research { Some(true) } else { start.no_research.then_some(false) };
    Ok(LoopStartRequest {
        session: start.session.clone(),
        prompt: read_prompt(start.prompt.as_deref(), start.prompt_file.as_deref())?,
        mode: Some(start.mode.as_str().to_owned()),
        max_iterations: start.max_iterations,
        completion_promise: start.completion_promise.clone(),
        until: start.until.map(|until| until.as_str().to_owned()),
        milestone_every: start.milestone_every,
        hitl_threshold: start.hitl_threshold,
        max_minutes: start.max_minutes,
        max_tokens: start.max_tokens,
        force_max: start.force_max,
        research,
        structured_memory: start.structured_memory,
        base_branch: start.base_branch.clone(),
        workers: start.workers,
        baseline: start.baseline.map(|baseline| baseline.as_str().to_owned()),
        json,
        call: String::new(),
    })
}

/// The task text from the command line, a file, or stdin (`-`).
fn read_prompt(text: Option<&str>, file: Option<&Path>) -> Result<String, String> {
    let Some(file) = file else { return Ok(text.unwrap_or_default().to_owned()) };
    let mut bytes = Vec::new();
    // One byte more than allowed, so that an oversized task is detected instead of cut.
    let bound = PROMPT_BYTES_MAX as u64 + 1;
    let read = if file == Path::new("-") {
        std::io::stdin().take(bound).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|open| open.take(bound).read_to_end(&mut bytes))
    };
    read.map_err(|error| format!("--prompt-file {}: {error}", file.display()))?;
    String::from_utf8(bytes)
        .map_err(|_| format!("--prompt-file {}: the task is not UTF-8", file.display()))
}
