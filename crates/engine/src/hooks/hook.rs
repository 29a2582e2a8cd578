//! Dispatches a hook event of the host. A failure never disturbs the agent: exit code 0, at most one
//! JSON document, and one line in the log.

use std::sync::Arc;

use crate::agent_session;
use crate::edit::{post_tool_batch, post_tool_use};
use crate::engine::{Engine, HandlerOutcome, now_ms};
use crate::hooks::hook_call::{HookAnswer, HookCall, with_deferred_reports};
use crate::hooks::{
    foreign_event, pre_compact, pre_tool_use, session_end, session_start, user_prompt_expansion,
    user_prompt_submit,
};
use crate::host_calls;
use crate::ledger::SessionState;
use crate::ledger::host_sessions::HookSender;
use crate::loops::loop_elsewhere::{
    active_loop_anywhere, active_loop_of_any_project, loop_in_other_project,
};
use crate::loops::lost_loops;
use crate::memory;
use crate::pipeline::worker_stop;
use crate::project::Project;
use crate::stop;
use moai_host::store::StoreRecovery;
use moai_host::store::loops::LoopQuery;
use moai_loops::framework::MessageLanguage;
use moai_loops::stop_table::StopDelivery;
use moai_protocol::control::{CallerContext, CommandReply};
use moai_protocol::hook::{HookEvent, HookInput, HookOutput};
use moai_protocol::hosts::HostKind;
use moai_protocol::hosts::answer::answer_text;
use moai_report::contributions::ContributionOrigin;

/// Event and host named in a hook's registration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookRegistration<'n> {
    /// The event, such as `post-tool-use`.
    pub(crate) event: &'n str,
    /// The host, such as `codex`; without one the payload tells.
    pub(crate) host: Option<&'n str>,
}

/// Parses the input and runs the handler of its event.
pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: CallerContext,
    registered: HookRegistration<'_>,
    mut delivery: StopDelivery,
    input: &str,
) -> HandlerOutcome {
    let name = registered.event;
    let Some(event) = HookEvent::from_name(name) else {
        // Events without work in this version, and events of newer hosts.
        tracing::info!(event = name, "a hook event without a handler");
        return HandlerOutcome::default();
    };
    let input = match HookInput::parse_from(input, registered.host.and_then(HostKind::from_name)) {
        Ok(input) => input,
        Err(error) => {
            tracing::warn!(event = name, %error, "a hook input could not be read");
            return HandlerOutcome::default();
        }
    };
    // A hook registered by a skill or a settings file under another event carries the payload of its real
    // event.
    if HookEvent::from_host_name(&input.hook_event_name)
        .is_some_and(|of_payload| of_payload != event)
    {
        tracing::warn!(event = name, "a hook input of another event is ignored");
        return HandlerOutcome::default();
    }
    let host = input.host;
    delivery.is_unique = host.profile().has_event_times;
    let delivered_call = delivery.call.clone();
    let answered = Box::pin(answer_event(engine, caller, event, delivery, input)).await;
    engine.ledger().event_claims.answer(&delivered_call, now_ms());
    let HookAnswer { output, deferred_reports, recalled, memory_recovery } = answered;
    let reply = CommandReply::success(answer_text(host, event, &output));
    HandlerOutcome { reply, deferred_reports, recalled, memory_recovery }
}

/// Runs the handler of an event in the session's project.
async fn answer_event(
    engine: &Arc<Engine>,
    mut caller: CallerContext,
    event: HookEvent,
    delivery: StopDelivery,
    mut input: HookInput,
) -> HookAnswer {
    input.session_id = agent_session::own_name(engine, &input);
    if let Some(folder) = project_folder(&caller, &input) {
        caller.cwd = folder;
    }
    let sender = agent_session::hook_sender(engine, &caller, &input.session_id);
    if sender == HookSender::NotHost {
        Box::pin(foreign_event::ignore(engine, &caller, &input.session_id, event)).await;
        return HookAnswer::default();
    }
    // After the sender is known, because a played event must not silence the host's own.
    if !engine.ledger().event_claims.claim(event, &delivery, now_ms()) {
        return HookAnswer::default();
    }
    // Tool calls of subagents do not count, because a Stop holds only the main agent.
    let is_main_agent = input.agent_id.is_none() && !input.session_id.is_empty();
    let session = input.session_id.clone();
    if !input.is_returned_reason(event) {
        note_tool_or_prompt(engine, &session, event, is_main_agent);
    }
    let project = Project::load_unserved(engine, &caller);
    host_calls::note(engine, &project, input.host, event);
    let mut project = match answering_project(engine, &caller, project, event, &input).await {
        Ok(project) => project,
        Err(output) => return output.into(),
    };
    if sender == HookSender::SecondHost {
        foreign_event::note_second_host(engine, &caller, &project, &input.session_id, event).await;
    }
    if !matches!(event, HookEvent::Stop | HookEvent::PreToolUse) {
        project = project.without_unserved_languages(engine);
    }
    let notice = notice(engine, &caller, &project, &input, event).await;
    let lost_loop = match event {
        HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::Stop => {
            lost_loops::marker_notice(engine, &project, &input.session_id).await
        }
        _ => None,
    };
    if matches!(event, HookEvent::PostToolUse | HookEvent::PostToolBatch) {
        learn_language(engine, &project, &input.session_id).await;
    }
    let stop_key = (event == HookEvent::Stop).then(|| project.key.clone());
    let call = HookCall { engine, caller, project, input, sender, delivery };
    let HookAnswer { output, deferred_reports, recalled, .. } = match event {
        HookEvent::SessionStart => Box::pin(session_start::handle(call)).await,
        HookEvent::UserPromptSubmit => Box::pin(answer_prompt(call)).await,
        HookEvent::UserPromptExpansion => {
            Box::pin(user_prompt_expansion::handle(call)).await.into()
        }
        HookEvent::PreToolUse => Box::pin(pre_tool_use::handle(&call)).await.into(),
        HookEvent::PostToolUse => Box::pin(post_tool_use::handle(call)).await,
        HookEvent::PostToolBatch => post_tool_batch::handle(&call).await,
        HookEvent::Stop => Box::pin(stop::handle(call)).await.into(),
        HookEvent::SubagentStop => Box::pin(worker_stop::handle(call)).await.into(),
        HookEvent::PreCompact => pre_compact::handle(&call).await.into(),
        HookEvent::SessionEnd => session_end::handle(&call).into(),
    };
    note_end_of_turn(engine, &session, event, is_main_agent && !output.is_held());
    let user_notices =
        engine.ledger().known_session(&session).and_then(SessionState::take_user_notices);
    let mut output = output.with_notice(notice).with_notice(lost_loop).with_notice(user_notices);
    if let Some(key) = stop_key.filter(|_| engine.store.has_damage()) {
        // A loop that was lost with its store no longer holds the agent; the user must learn that.
        let recovery = engine.store.take_recovery(&key).await.ok().flatten();
        output = output.with_notice(recovery.as_ref().map(recovery_notice));
    }
    let output = output.with_notice(memory_outage_notice(engine));
    let memory_recovery = match event {
        HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::Stop => {
            engine.memory.take_recovery()
        }
        _ => None,
    };
    let output = output.with_notice(memory_recovery.as_ref().map(memory::recovery_notice));
    HookAnswer { output, deferred_reports, recalled, memory_recovery }
}

/// The project that an event is answered in: the session's own. The project of its loop is used instead where
/// hooks are switched off, where the session's folder is not a project, or if a Stop or a tool call comes
/// from a different project. The error is the answer without a project.
async fn answering_project(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: Project,
    event: HookEvent,
    input: &HookInput,
) -> Result<Project, HookOutput> {
    let session = &input.session_id;
    let is_of_loop =
        matches!(event, HookEvent::Stop | HookEvent::PreToolUse | HookEvent::PostToolUse);
    if !project.config.is_enabled {
        if !is_of_loop {
            return Err(HookOutput::Silent);
        }
        let found = active_loop_anywhere(engine, caller, &project, session).await;
        return found.map(|(project, _)| project).ok_or(HookOutput::Silent);
    }
    if !project.is_unbounded(engine).await || is_command(event, input) {
        let mut elsewhere = None;
        if matches!(event, HookEvent::Stop | HookEvent::PreToolUse) {
            elsewhere = loop_in_other_project(engine, caller, &project, session).await;
        }
        return Ok(elsewhere.map_or(project, |(elsewhere, _)| elsewhere));
    }
    if is_of_loop {
        let found = active_loop_of_any_project(engine, caller, session).await;
        return match found {
            Some((project, _)) => Ok(project),
            // It examines only the paths of the call.
            None if event == HookEvent::PreToolUse => Ok(project),
            None => Err(HookOutput::Silent),
        };
    }
    let is_told = matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit);
    let notice = moai_report::notice::measures_nothing(&project.root);
    let is_new = is_told && engine.ledger().session(session).report_once(&notice);
    Err(if is_new { HookOutput::Notice(notice) } else { HookOutput::Silent })
}

/// True if an event is a command of the user.
fn is_command(event: HookEvent, input: &HookInput) -> bool {
    match event {
        HookEvent::UserPromptExpansion => true,
        HookEvent::UserPromptSubmit => input.clone().take_typed_command(),
        _ => false,
    }
}

/// A prompt, which is a command where the host has no event for commands.
async fn answer_prompt(mut call: HookCall<'_>) -> HookAnswer {
    if call.input.is_returned_reason(HookEvent::UserPromptSubmit) {
        return with_deferred_reports(&call, ContributionOrigin::Loop, Vec::new(), None).await;
    }
    if call.input.take_typed_command() {
        return Box::pin(user_prompt_expansion::handle(call)).await.into();
    }
    Box::pin(user_prompt_submit::handle(call)).await
}

/// Records whether the agents of a session are working. A subagent works in the main agent's turn, but a Stop
/// holds only the main agent.
fn note_tool_or_prompt(engine: &Engine, session: &str, event: HookEvent, is_main_agent: bool) {
    match event {
        HookEvent::PostToolUse | HookEvent::PostToolBatch => {
            engine.ledger().session(session).is_at_work = Some(true);
            if is_main_agent {
                engine.ledger().session(session).has_called_tool = true;
            }
        }
        HookEvent::UserPromptSubmit => {
            let mut ledger = engine.ledger();
            let known = ledger.session(session);
            known.is_at_work = Some(false);
            known.answered_stop = None;
        }
        _ => {}
    }
}

/// A Stop that does not hold the main agent ends the turn.
fn note_end_of_turn(engine: &Engine, session: &str, event: HookEvent, is_released: bool) {
    if event == HookEvent::Stop && is_released {
        engine.ledger().session(session).is_at_work = Some(false);
    }
}

/// Notice for the user once per session, at the start of a session or turn: unusable options, or a
/// damaged store that was moved aside.
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
        && engine.ledger().session(&input.session_id).report_once(&error)
    {
        return Some(moai_report::notice::default_options(&error));
    }
    let recovery = engine.store.take_recovery(&project.key).await.ok().flatten()?;
    Some(recovery_notice(&recovery))
}

/// Why the memory of the team is not used, once.
fn memory_outage_notice(engine: &Engine) -> Option<String> {
    let reason = engine.memory.take_outage()?;
    let notice = if engine.memory.team_refusal().is_some() {
        moai_report::notice::team_memory_refused
    } else {
        moai_report::notice::team_memory_lost
    };
    Some(notice(&reason))
}

fn recovery_notice(recovery: &StoreRecovery) -> String {
    let StoreRecovery { database, damage, moved_to, backup_ms } = recovery;
    moai_report::notice::recovered(database, damage, moved_to.as_deref(), *backup_ms)
}

/// The project folder that the host reports, else the session's working directory.
fn project_folder(caller: &CallerContext, input: &HookInput) -> Option<std::path::PathBuf> {
    let variable = input.host.profile().project_variable;
    let named = variable.and_then(|name| caller.env.get(name)).map(std::path::PathBuf::from);
    named
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(input.cwd.clone()).filter(|folder| folder.is_absolute()))
}

/// Looks up the language of a session's loop once per daemon process; starting or ending a loop of
/// the session sets it again.
async fn learn_language(engine: &Engine, project: &Project, session: &str) {
    if session.is_empty() || engine.ledger().session(session).language.is_some() {
        return;
    }
    let which = LoopQuery::ActiveOf(session.to_owned());
    let found = engine.store.find_loop(&project.key, &project.root, which).await.ok().flatten();
    let language = found.map_or(MessageLanguage::English, |state| state.language());
    engine.ledger().session(session).language = Some(language);
}
