//! A hook event of the host. Whatever happens, the agent is not disturbed: exit code 0, at most
//! one JSON document, and one line in the log when something is wrong.

use std::sync::Arc;

use super::hook_call::HookCall;
use super::loop_elsewhere::active_loop_anywhere;
use super::{
    lost_loops, post_tool_batch, post_tool_use, session_end, session_start, stop,
    user_prompt_expansion, user_prompt_submit,
};
use crate::daemon::engine::{Engine, HandlerOutcome};
use crate::daemon::project::Project;
use crate::looping::framework::MessageLanguage;
use crate::looping::stop_table::StopDelivery;
use crate::report::notice as words;
use crate::store::loops::LoopQuery;
use crate::wire::control::{CallerContext, CommandReply};
use crate::wire::hook::{HookEvent, HookInput};

/// Reads the input and hands it to its event.
pub(super) async fn handle(
    engine: &Arc<Engine>,
    mut caller: CallerContext,
    (name, delivery): (&str, StopDelivery),
    input: &str,
) -> HandlerOutcome {
    let Some(event) = HookEvent::from_name(name) else {
        // Events of the contract that this version has no work for, and events of newer hosts.
        tracing::info!(event = name, "a hook event without a handler");
        return HandlerOutcome::default();
    };
    let input = match HookInput::parse(input) {
        Ok(input) => input,
        Err(error) => {
            tracing::warn!(event = name, %error, "a hook input could not be read");
            return HandlerOutcome::default();
        }
    };
    if let Some(folder) = project_folder(&caller, &input) {
        caller.cwd = folder;
    }
    // Tools of subagents do not count: it is the main agent that a Stop holds.
    let is_main_agent = input.agent_id.is_none() && !input.session_id.is_empty();
    let session = input.session_id.clone();
    note_tool_or_prompt(engine, &session, event, is_main_agent);
    let mut project = Project::load_unserved(engine, &caller);
    if !project.config.is_enabled {
        let held = match event {
            HookEvent::Stop | HookEvent::PostToolUse => {
                active_loop_anywhere(engine, &caller, &project, &input.session_id).await
            }
            _ => None,
        };
        let Some((there, _)) = held else { return HandlerOutcome::default() };
        project = there;
    }
    if event != HookEvent::Stop {
        project = project.without_unserved_languages(engine);
    }
    let notice = notice(engine, &caller, &project, &input, event).await;
    let lost = match event {
        HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::Stop => {
            lost_loops::marker_notice(engine, &project, &input.session_id).await
        }
        _ => None,
    };
    if matches!(event, HookEvent::PostToolUse | HookEvent::PostToolBatch) {
        learn_language(engine, &project, &input.session_id).await;
    }
    let stopped = (event == HookEvent::Stop).then(|| project.key.clone());
    let call = HookCall { engine, caller, project, input, delivery };
    let (output, told) = match event {
        HookEvent::SessionStart => (session_start::handle(call).await, None),
        HookEvent::UserPromptSubmit => Box::pin(user_prompt_submit::handle(call)).await,
        HookEvent::UserPromptExpansion => {
            (Box::pin(user_prompt_expansion::handle(call)).await, None)
        }
        HookEvent::PostToolUse => Box::pin(post_tool_use::handle(call)).await,
        HookEvent::PostToolBatch => post_tool_batch::handle(&call).await,
        HookEvent::Stop => (Box::pin(stop::handle(call)).await, None),
        HookEvent::SessionEnd => (session_end::handle(&call), None),
    };
    note_end_of_turn(engine, &session, event, is_main_agent && !output.is_held());
    let news = engine.ledger().take_user_notices(&session);
    let mut output = output.with_notice(notice).with_notice(lost).with_notice(news);
    if let Some(key) = stopped.filter(|_| engine.store.has_damage()) {
        // A loop that went with its store holds nobody any more, and that must not pass in silence.
        let damage = engine.store.take_recovery_notice(&key).await.ok().flatten();
        output = output.with_notice(damage.map(|damage| words::recovered(&damage)));
    }
    HandlerOutcome { reply: CommandReply::success(output.to_stdout(event)), deferred_reports: told }
}

/// Records whether the agents of a session are at work. A subagent works in the main agent's turn,
/// but only the main agent is held by a Stop.
fn note_tool_or_prompt(engine: &Engine, session: &str, event: HookEvent, is_main_agent: bool) {
    match event {
        HookEvent::PostToolUse | HookEvent::PostToolBatch => {
            engine.ledger().set_at_work(session, true);
            if is_main_agent {
                engine.ledger().record_tool_call(session);
            }
        }
        HookEvent::UserPromptSubmit => engine.ledger().set_at_work(session, false),
        _ => {}
    }
}

/// A Stop that the main agent is not held at ends the turn.
fn note_end_of_turn(engine: &Engine, session: &str, event: HookEvent, is_let_go: bool) {
    if event == HookEvent::Stop && is_let_go {
        engine.ledger().set_at_work(session, false);
    }
}

/// What the user must hear once per session: options that cannot be used, a damaged store that was
/// moved aside. Only where a session or a turn begins.
async fn notice(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    input: &HookInput,
    event: HookEvent,
) -> Option<String> {
    if !matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit) {
        return None;
    }
    if let Err(error) = Project::load(engine, caller)
        && engine.ledger().report_once(&input.session_id, &error)
    {
        return Some(words::default_options(&error));
    }
    let recovered = engine.store.take_recovery_notice(&project.key).await.ok().flatten()?;
    Some(words::recovered(&recovered))
}

/// The session's project: what the host names, else where the session is.
fn project_folder(caller: &CallerContext, input: &HookInput) -> Option<std::path::PathBuf> {
    let named = caller.env.get("CLAUDE_PROJECT_DIR").map(std::path::PathBuf::from);
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(input.cwd.clone()).filter(|folder| folder.is_absolute()))
}

/// Looks up the language of a session's loop, once for each life of the daemon; whoever starts or
/// ends a loop of the session sets it anew.
async fn learn_language(engine: &Engine, project: &Project, session: &str) {
    if session.is_empty() || engine.ledger().language(session).is_some() {
        return;
    }
    let which = LoopQuery::ActiveOf(session.to_owned());
    let found = engine.store.find_loop(&project.key, &project.root, which).await.ok().flatten();
    let language = found.map_or(MessageLanguage::English, |state| state.language());
    engine.ledger().set_language(session, language);
}
