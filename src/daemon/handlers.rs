//! One handler per request: the list of files below is the list of what can be asked.

mod answers;
mod changed_on_disk;
mod check;
mod daemon_status;
mod definition;
mod doctor;
mod earlier_findings;
mod guard;
mod guard_allow;
mod held_by;
mod hook;
mod hover;
mod judge;
mod late_answers;
mod loop_adopt;
mod loop_cancel;
mod loop_checks;
mod loop_forget;
mod loop_history;
mod loop_pause;
mod loop_refreeze;
mod loop_replies;
mod loop_report;
mod loop_restore;
mod loop_resume;
mod loop_start;
mod loop_status;
mod lost_loops;
mod mcp_tools;
mod override_log;
mod post_tool_batch;
mod post_tool_use;
mod references;
mod rename;
mod reported;
mod rewrite;
mod scan;
mod scan_test;
mod search;
mod server_list;
mod server_logs;
mod server_restart;
mod server_start;
mod server_stop;
mod session_end;
mod session_start;
mod stop;
mod symbols;
mod user_prompt_expansion;
mod user_prompt_submit;

use std::sync::Arc;
use std::time::Instant;

use super::engine::{Engine, Outcome, now_ms};
use super::project::Project;
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::looping::control;
use crate::looping::criteria::AUTOCHECKS;
use crate::looping::exam::Role;
use crate::looping::state::LoopState;
use crate::looping::stop_table::StopDelivery;
use crate::report::answers::{Asked, No, no_json, no_text};
use crate::report::tools;
use crate::store::StoreError;
use crate::store::loops::{Saved, Which};
use crate::wire::control::{Caller, Reply, Request};

/// Exit code of a refusal or a failure.
const REFUSED: u8 = 1;
/// Exit code of unusable input or options.
const INVALID: u8 = 3;
/// Exit code when something asked for could not be measured.
const UNMEASURED: u8 = 4;

/// Answers one request.
pub(super) async fn handle(engine: &Arc<Engine>, caller: Caller, request: Request) -> Outcome {
    match request {
        Request::Hook { event, input, id, begun_ms } => {
            let delivery = StopDelivery { call: id, content: content_of(&input), begun_ms };
            Box::pin(hook::handle(engine, caller, (&event, delivery), &input)).await
        }
        Request::Check(check) => check::handle(engine, &caller, check).await.into(),
        Request::Scan(scan) => scan::handle(engine, &caller, scan).await.into(),
        Request::ScanTest(wished) => scan_test::handle(engine, &caller, wished).await.into(),
        Request::Guard(wished) => guard::handle(engine, &caller, wished).await.into(),
        Request::GuardAllow(wished) => guard_allow::handle(engine, &caller, wished).await.into(),
        Request::References(lookup) => references::handle(engine, &caller, lookup).await.into(),
        Request::Definition(lookup) => definition::handle(engine, &caller, lookup).await.into(),
        Request::Hover(lookup) => hover::handle(engine, &caller, lookup).await.into(),
        Request::Symbols(wish) => symbols::handle(engine, &caller, wish).await.into(),
        Request::Rename(wish) => rename::handle(engine, &caller, wish).await.into(),
        Request::Search(wish) => search::handle(engine, &caller, wish).await.into(),
        Request::Rewrite(wish) => rewrite::handle(engine, &caller, wish).await.into(),
        Request::Judge(wish) => judge::handle(engine, &caller, wish).await.into(),
        Request::LoopStart(start) => loop_start::handle(engine, &caller, start).await.into(),
        Request::LoopStatus(select) => {
            anyway(engine, &caller, loop_status::handle(engine, &caller, select).await)
        }
        Request::LoopRestore(wish) => loop_restore::handle(engine, &caller, wish).await.into(),
        Request::LoopCancel(select) => {
            anyway(engine, &caller, loop_cancel::handle(engine, &caller, select).await)
        }
        Request::LoopPause(select) => {
            anyway(engine, &caller, loop_pause::handle(engine, &caller, select).await)
        }
        Request::LoopResume(wish) => {
            anyway(engine, &caller, loop_resume::handle(engine, &caller, wish).await)
        }
        Request::LoopHistory(wish) => {
            anyway(engine, &caller, loop_history::handle(engine, &caller, wish).await)
        }
        Request::LoopReport(select) => {
            anyway(engine, &caller, loop_report::handle(engine, &caller, select).await)
        }
        Request::LoopChecks { select, list } => {
            loop_checks::handle(engine, &caller, select, list).await.into()
        }
        Request::LoopAdopt(adopt) => {
            anyway(engine, &caller, loop_adopt::handle(engine, &caller, adopt).await)
        }
        Request::LoopForget(select) => loop_forget::handle(engine, &caller, select).await.into(),
        Request::LoopRefreeze(select) => {
            loop_refreeze::handle(engine, &caller, select).await.into()
        }
        Request::Doctor(asked) => doctor::handle(engine, &caller, asked).await.into(),
        Request::McpTools => mcp_tools::handle(engine, &caller).into(),
        Request::ServerList { json } => server_list::handle(engine, json).await.into(),
        Request::ServerStart { what, json } => {
            server_start::handle(engine, &caller, &what, json).await.into()
        }
        Request::ServerStop(select) => server_stop::handle(engine, &caller, select).await.into(),
        Request::ServerRestart(select) => {
            server_restart::handle(engine, &caller, select).await.into()
        }
        Request::ServerLogs(select) => server_logs::handle(engine, &caller, select).await.into(),
        Request::DaemonStatus { json } => daemon_status::handle(engine, json).await.into(),
        // Stopping is the lifecycle's own business; an engine without a daemon has nothing to stop.
        Request::DaemonStop => Reply::done("no daemon is running\n".to_owned()).into(),
    }
}

/// What tells hook inputs apart.
fn content_of(input: &str) -> String {
    ContentHash::of(input.trim().as_bytes()).to_string()
}

/// The caller's project; the error is the reply that names file, line and key.
fn load(engine: &Engine, caller: &Caller) -> Result<Project, Reply> {
    Project::load(engine, caller)
        .map_err(|error| Reply::failed(INVALID, &format!("moai-ralph: {error}")))
}

/// The reply of a command that works with default options while a file of options is broken: a loop
/// holds its session then as well. What is broken is named all the same.
fn anyway(engine: &Engine, caller: &Caller, mut reply: Reply) -> Outcome {
    if let Err(error) = Project::load(engine, caller) {
        reply.stderr.insert_str(0, &format!("moai-ralph: {error}; default options are used\n"));
    }
    reply.into()
}

/// What a question begins with.
fn asked(command: &'static str, project: &Project, caller: &Caller) -> Asked {
    let (root, is_tool) = (project.root.clone(), caller.is_tool);
    Asked { command, root, is_tool, server: None, at: None, elapsed_ms: 0 }
}

/// The reply of a question that has no answer.
fn no_reply(schema: &str, asked: &Asked, no: &No, json: bool) -> Reply {
    let code = match no {
        No::Invalid(_) => INVALID,
        No::Refused { .. } => REFUSED,
        No::Unmeasured { .. } => UNMEASURED,
    };
    if json {
        let stdout = format!("{:#}\n", no_json(schema, asked, no));
        return Reply { stdout, code, ..Reply::default() };
    }
    let document = asked.is_tool.then(|| tools::no(no).into());
    Reply { document, ..Reply::failed(code, &no_text(no)) }
}

/// Milliseconds since a request began.
fn ended(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The active loop of a session; an unclaimed one of the root becomes this session's. Whether it
/// did comes with it.
async fn loop_of_session(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Result<(Option<LoopState>, bool), StoreError> {
    let (last, is_claimed) = last_loop_of_session(engine, project, session).await?;
    Ok((last.filter(|state| state.status.is_active()), is_claimed))
}

/// The same; without an active one the session's last, which is over.
async fn last_loop_of_session(
    engine: &Engine,
    project: &Project,
    session: &str,
) -> Result<(Option<LoopState>, bool), StoreError> {
    if session.is_empty() {
        return Ok((None, false));
    }
    let (store, root) = (&engine.store, &project.root);
    let found = store.find_loop(&project.key, root, Which::For(session.to_owned())).await?;
    let unclaimed = match found {
        Some(unclaimed) if unclaimed.session_id.is_none() => unclaimed,
        own => return Ok((own, false)),
    };
    let claimed = control::claim(&unclaimed, session, now_ms());
    match store.advance_loop(&project.key, &unclaimed, claimed.clone()).await? {
        Saved::Yes => {
            engine.ledger().bind_to_loop(session, root, claimed.language());
            Ok((Some(claimed), true))
        }
        // Another session was quicker.
        Saved::Overtaken => Ok((None, false)),
    }
}

/// The commands that a Stop of this loop runs, by name, as they were frozen at its start.
async fn checks_of_loop(engine: &Engine, project: &Project, state: &LoopState) -> Vec<String> {
    let exam = engine.store.find_exam(&project.key, &state.id, Role::STRICT).await;
    let Ok(Some(exam)) = exam else { return Vec::new() };
    let autochecks = RelPath::parse(AUTOCHECKS).filter(|path| exam.files.contains_key(path));
    let autochecks = autochecks.map(|path| path.to_string());
    let commands = exam.plan.commands.into_iter().map(|command| command.name);
    autochecks.into_iter().chain(commands).collect()
}

/// A new loop id.
fn loop_id() -> String {
    let seed = format!("{:?} {}", std::time::SystemTime::now(), std::process::id());
    format!("loop-{}", &ContentHash::of(seed.as_bytes()).to_string()[..8])
}
