//! One handler for each request of the daemon.

mod changed_on_disk;
mod check;
mod daemon_status;
mod deferred_reports;
mod definition;
mod doctor;
mod earlier_findings;
mod edit_measurement;
mod evidence_reply;
mod guard;
mod guard_allow;
mod hook;
mod hook_call;
mod hover;
mod judge;
mod loop_adopt;
mod loop_cancel;
mod loop_checks;
mod loop_elsewhere;
mod loop_forget;
mod loop_history;
mod loop_pause;
mod loop_refreeze;
mod loop_report;
mod loop_restore;
mod loop_resume;
mod loop_selection;
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

use self::replies::with_options_warning;
use super::engine::{Engine, HandlerOutcome};
use crate::base::hash::ContentHash;
use crate::looping::stop_table::StopDelivery;
use crate::wire::control::{CallerContext, CommandReply, DaemonRequest};

/// Answers one request.
pub(super) async fn handle(
    engine: &Arc<Engine>,
    caller: CallerContext,
    request: DaemonRequest,
) -> HandlerOutcome {
    match request {
        DaemonRequest::Hook { event, input, id, begun_ms } => {
            let delivery =
                StopDelivery { call: id, content: content_of(&input), start_ms: begun_ms };
            Box::pin(hook::handle(engine, caller, &event, delivery, &input)).await
        }
        DaemonRequest::Check(check) => check::handle(engine, &caller, check).await.into(),
        DaemonRequest::Scan(scan) => scan::handle(engine, &caller, scan).await.into(),
        DaemonRequest::ScanTest(request) => {
            scan_test::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Guard(request) => guard::handle(engine, &caller, request).await.into(),
        DaemonRequest::GuardAllow(request) => {
            guard_allow::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::References(lookup) => {
            references::handle(engine, &caller, lookup).await.into()
        }
        DaemonRequest::Definition(lookup) => {
            definition::handle(engine, &caller, lookup).await.into()
        }
        DaemonRequest::Hover(lookup) => hover::handle(engine, &caller, lookup).await.into(),
        DaemonRequest::Symbols(request) => symbols::handle(engine, &caller, request).await.into(),
        DaemonRequest::Rename(request) => rename::handle(engine, &caller, request).await.into(),
        DaemonRequest::Search(request) => search::handle(engine, &caller, request).await.into(),
        DaemonRequest::Rewrite(request) => rewrite::handle(engine, &caller, request).await.into(),
        DaemonRequest::Judge(request) => judge::handle(engine, &caller, request).await.into(),
        DaemonRequest::LoopStart(start) => loop_start::handle(engine, &caller, start).await.into(),
        DaemonRequest::LoopStatus(select) => with_options_warning(
            engine,
            &caller,
            loop_status::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopRestore(request) => {
            loop_restore::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::LoopCancel(select) => with_options_warning(
            engine,
            &caller,
            loop_cancel::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopPause(select) => {
            with_options_warning(engine, &caller, loop_pause::handle(engine, &caller, select).await)
        }
        DaemonRequest::LoopResume(request) => with_options_warning(
            engine,
            &caller,
            loop_resume::handle(engine, &caller, request).await,
        ),
        DaemonRequest::LoopHistory(request) => with_options_warning(
            engine,
            &caller,
            loop_history::handle(engine, &caller, request).await,
        ),
        DaemonRequest::LoopReport(select) => with_options_warning(
            engine,
            &caller,
            loop_report::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopChecks { select, list } => {
            loop_checks::handle(engine, &caller, select, list).await.into()
        }
        DaemonRequest::LoopAdopt(adopt) => {
            with_options_warning(engine, &caller, loop_adopt::handle(engine, &caller, adopt).await)
        }
        DaemonRequest::LoopForget(select) => {
            loop_forget::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::LoopRefreeze(select) => {
            loop_refreeze::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::Doctor(request) => doctor::handle(engine, &caller, request).await.into(),
        DaemonRequest::McpTools => mcp_tools::handle(engine, &caller).into(),
        DaemonRequest::ServerList { json } => server_list::handle(engine, json).await.into(),
        DaemonRequest::ServerStart { what, json } => {
            server_start::handle(engine, &caller, &what, json).await.into()
        }
        DaemonRequest::ServerStop(select) => {
            server_stop::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::ServerRestart(select) => {
            server_restart::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::ServerLogs(select) => {
            server_logs::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::DaemonStatus { json } => daemon_status::handle(engine, json).await.into(),
        // The daemon's lifecycle answers this itself; an engine without a daemon has nothing to stop.
        DaemonRequest::DaemonStop => {
            CommandReply::success("no daemon is running\n".to_owned()).into()
        }
    }
}

/// Hash of a hook input, to recognise a Stop that was delivered twice.
fn content_of(input: &str) -> String {
    ContentHash::of_bytes(input.trim().as_bytes()).to_string()
}
