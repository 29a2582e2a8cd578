//! The plugin's slash commands: arguments arrive as JSON, exactly as typed, and never pass a shell. A
//! refusal stops the command and shows its reason to the user.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::run_blocking;
use crate::hooks::hook_call::HookCall;
use crate::hooks::{memory_commands, pivot_command};
use crate::loops::loop_files;
use crate::loops::loop_start::LoopStartOutcome;
use crate::loops::session_loop::checks_of_loop;
use crate::loops::{loop_adopt, loop_cancel, loop_resume, loop_start};
use crate::options;
use crate::pipeline::commands as pipeline_commands;
use crate::pipeline::pipeline_of_loop::instructions_of_loop;
use crate::recall::note_loop::note_goal;
use crate::stop;
use moai_base::limits::FIX_LIST_MS_MAX;
use moai_base::path::RelPath;
use moai_host::store::loops::LoopQuery;
use moai_loops::arguments;
use moai_loops::options::BaselineMode;
use moai_loops::start::LoopRequest;
use moai_loops::state::UntilCondition;
use moai_protocol::hook::HookOutput;
use moai_report::hosts::host_note;
use moai_report::{agent, loops, workers};

/// Goal of `/moai-fix` when the user gives none.
const FIX_ALL: &str = "Fix everything that the language servers, the structural scan and the \
                       project's checks report, at its cause.";

/// Answer to an unknown subcommand of `/ralph`.
const RALPH_USAGE: &str = "[moai-ralph] /moai-ralph:ralph takes start GOAL, stop, status or config [OPTION]; options of start are those of /moai-ralph:moai-loop";

/// Refusal to start or resume a loop.
const NO_SESSION: &str = "[moai-ralph] the host named no session, so no loop can own it";

pub(crate) async fn handle(call: HookCall<'_>) -> HookOutput {
    match call.input.own_command() {
        Some("moai-loop") => begin(&call, LoopCommandKind::Loop, &call.input.command_args).await,
        Some("moai-fix") => begin(&call, LoopCommandKind::Fix, &call.input.command_args).await,
        Some("ralph") => ralph(&call).await,
        Some("moai-status") => status(&call).await,
        Some("moai-resume") => resume(&call).await,
        Some("moai-adopt") => adopt(&call).await,
        Some("cancel-loop") => cancel(&call).await,
        Some("moai-align") => {
            HookOutput::Context(loop_files::align(&call.project, &call.input.command_args).await)
        }
        Some("moai-pivot") => pivot_command::handle(&call).await,
        Some(name @ ("mem-search" | "mem-inject" | "mem-forget" | "mem-status")) => {
            memory_commands::handle(&call, name).await
        }
        Some(name) => Box::pin(pipeline_commands::handle(&call, name)).await.unwrap_or_default(),
        None => HookOutput::Silent,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopCommandKind {
    Loop,
    Fix,
}

/// Promise of `/moai-fix` if the project requires one and the user gives none.
const FIX_PROMISE: &str = "FIXED";

/// A fix ends when everything measured is clean, unless the user or the project sets another end.
fn fix(mut request: LoopRequest, needs_promise: bool) -> LoopRequest {
    // The existing findings are the task.
    request.options.baseline.get_or_insert(BaselineMode::None);
    if needs_promise {
        request.options.completion_promise.get_or_insert_with(|| FIX_PROMISE.to_owned());
    }
    if request.prompt.trim().is_empty() {
        FIX_ALL.clone_into(&mut request.prompt);
        if !request.paths.is_empty() {
            let _ = write!(request.prompt, "\nOnly in: {}", request.paths.join(", "));
        }
    }
    if request.options.completion_promise.is_none() {
        request.options.until.get_or_insert(UntilCondition::Diagnostics);
    }
    request
}

/// The path below the root that a word refers to, relative to the session's folder or to the root.
fn path_named(call: &HookCall<'_>, word: &str) -> Option<String> {
    let root = &call.project.root;
    let starts = [call.input.cwd.as_path(), root.as_path()];
    let found = starts.into_iter().map(|start| start.join(word)).find(|path| path.exists())?;
    if found.canonicalize().ok()? == root.canonicalize().ok()? {
        return Some(".".to_owned());
    }
    let below = RelPath::below(root, &found)?;
    Some(below.to_string())
}

/// Another name for the commands of a loop: `start GOAL`, `stop`, `status`, `config [KEY]`.
async fn ralph(call: &HookCall<'_>) -> HookOutput {
    let typed = call.input.command_args.trim();
    let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    match word {
        "start" => begin(call, LoopCommandKind::Loop, rest).await,
        "stop" => cancel(call).await,
        "status" | "" => status(call).await,
        "config" => loop_options(call, rest.trim()).await,
        _ => HookOutput::Block(RALPH_USAGE.to_owned()),
    }
}

/// Shows the options of loops. A value is set at a terminal, because a hook cannot tell a person from
/// an agent.
async fn loop_options(call: &HookCall<'_>, typed: &str) -> HookOutput {
    let mut words = typed.split_whitespace();
    let named = words.next().unwrap_or_default();
    let key = match named {
        "" | "loop" => "loop".to_owned(),
        name if name.starts_with("loop.") => name.to_owned(),
        name => format!("loop.{name}"),
    };
    let (engine, caller) = (Arc::clone(call.engine), call.caller.clone());
    let shown_key = key.clone();
    let shown = run_blocking(move || options::shown_options(&engine, &caller, &shown_key)).await;
    let list = match shown {
        Some(Ok(list)) => list,
        Some(Err(error)) => return HookOutput::Block(format!("[moai-ralph] {error}")),
        None => return HookOutput::Silent,
    };
    let remedy = match words.next() {
        Some(_) => "Not changed: this command only shows options. ",
        None => "",
    };
    HookOutput::Context(agent::join_contexts(&[format!(
        "[moai-ralph] options of loops:\n{list}{remedy}To change one, the user runs at a terminal: \
         moai-ralph config set {} VALUE",
        if key == "loop" { "loop.NAME" } else { &key }
    )]))
}

async fn begin(call: &HookCall<'_>, kind: LoopCommandKind, typed: &str) -> HookOutput {
    let session = &call.input.session_id;
    if session.is_empty() {
        return HookOutput::Block(NO_SESSION.to_owned());
    }
    let request = match kind {
        LoopCommandKind::Loop => arguments::parse_start(typed),
        LoopCommandKind::Fix => arguments::parse_fix(typed, &|word| path_named(call, word))
            .map(|request| fix(request, loop_start::needs_promise(&call.project))),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return HookOutput::Block(format!("[moai-ralph] {error}")),
    };
    match loop_start::start_loop(
        call.engine,
        &call.project,
        request,
        Some(session),
        &call.delivery.call,
    )
    .await
    {
        Ok(LoopStartOutcome::Workers(begun)) => HookOutput::Context(format!(
            "[moai-ralph] {}This session has no loop of its own: tell the user, and end your turn.",
            workers::started(&begun)
        )),
        Ok(LoopStartOutcome::Loop(state)) => {
            note_goal(call.engine, &call.project, &state);
            let checks = checks_of_loop(call.engine, &call.project, &state).await;
            let mut texts = vec![loops::start_instructions(&state, &checks)];
            texts.extend(host_note(call.input.host.profile()));
            if kind == LoopCommandKind::Fix {
                let budget = Duration::from_millis(FIX_LIST_MS_MAX);
                let paths = &state.options.paths;
                let evidence =
                    stop::measure_stop_files(call, None, stop::StopBase::default(), paths, budget)
                        .await;
                texts.push(loops::initial_problems(&evidence, state.language()));
            }
            let notice = Some(loops::started_notice(&state, &checks));
            HookOutput::Context(agent::join_contexts(&texts)).with_notice(notice)
        }
        Err(refusal) => HookOutput::Block(format!("[moai-ralph] {}", refusal.reason)),
    }
}

async fn status(call: &HookCall<'_>) -> HookOutput {
    let (project, session) = (&call.project, call.input.session_id.clone());
    let which = LoopQuery::LatestOf(session);
    let text = match call.engine.store.find_loop(&project.key, &project.root, which).await {
        Ok(Some(state)) if state.status.is_active() => loops::loop_status(&state),
        Ok(Some(state)) => loops::loop_report(&state, None),
        Ok(None) => "this session had no loop".to_owned(),
        Err(error) => return HookOutput::Block(format!("[moai-ralph] {error}")),
    };
    let head = if text.starts_with('[') { "" } else { "[moai-ralph] " };
    HookOutput::Context(agent::join_contexts(&[format!("{head}{text}")]))
}

/// Takes the options of `loop resume`; anything else is reported as a mistake.
async fn resume(call: &HookCall<'_>) -> HookOutput {
    let raise = match arguments::parse_raise(&call.input.command_args) {
        Ok(raise) => raise,
        Err(error) => return HookOutput::Block(format!("[moai-ralph] {error}")),
    };
    let which = LoopQuery::LatestOf(call.input.session_id.clone());
    match loop_resume::resume_loop(call.engine, &call.project, which, raise).await {
        Ok(Some(state)) => {
            let text = instructions_of_loop(call.engine, &call.project, &state).await;
            HookOutput::Context(text)
        }
        Ok(None) => HookOutput::Block("[moai-ralph] this session had no loop".to_owned()),
        Err(error) => HookOutput::Block(format!("[moai-ralph] {error}")),
    }
}

/// Takes one argument, the loop's id, if several are active.
async fn adopt(call: &HookCall<'_>) -> HookOutput {
    let session = call.input.session_id.as_str();
    if session.is_empty() {
        return HookOutput::Block(NO_SESSION.to_owned());
    }
    let id = Some(call.input.command_args.trim()).filter(|id| !id.is_empty());
    match loop_adopt::adopt_loop(call.engine, &call.project, id, Some(session)).await {
        Ok(state) => {
            let text = instructions_of_loop(call.engine, &call.project, &state).await;
            HookOutput::Context(text)
        }
        Err(reason) => HookOutput::Block(format!("[moai-ralph] {reason}")),
    }
}

async fn cancel(call: &HookCall<'_>) -> HookOutput {
    let which = LoopQuery::ActiveOf(call.input.session_id.clone());
    let text = match loop_cancel::cancel_loop(call.engine, &call.project, which).await {
        Ok(Some(state)) => loop_cancel::cancel_notice(call.engine, &call.project, &state).await,
        Ok(None) => "[moai-ralph] no loop of this session is active".to_owned(),
        Err(error) => return HookOutput::Block(format!("[moai-ralph] not cancelled: {error}")),
    };
    HookOutput::Context(text)
}
