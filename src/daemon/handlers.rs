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
mod hook_call;
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
mod replies;
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
mod session_loop;
mod session_start;
mod stop;
mod symbols;
mod user_prompt_expansion;
mod user_prompt_submit;

use std::sync::Arc;

use self::replies::anyway;
use super::engine::{Engine, Outcome};
use crate::base::hash::ContentHash;
use crate::looping::stop_table::StopDelivery;
use crate::wire::control::{Caller, Reply, Request};

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
