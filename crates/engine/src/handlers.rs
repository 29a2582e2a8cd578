//! One handler for each request of the daemon.

use std::sync::Arc;

use crate::engine::{Engine, HandlerOutcome};
use crate::hooks::hook::HookRegistration;
use crate::replies::with_options_warning;
use crate::servers;
use moai_base::hash::ContentHash;
use moai_loops::stop_table::StopDelivery;
use moai_protocol::control::{CallerContext, CommandReply, DaemonRequest};

#[expect(clippy::too_many_lines, reason = "a table with a row for each request")]
pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: CallerContext,
    request: DaemonRequest,
) -> HandlerOutcome {
    match request {
        DaemonRequest::Hook { event, host, input, id, begun_ms } => {
            let content = content_of(&input);
            let delivery = StopDelivery { call: id, content, start_ms: begun_ms, is_unique: false };
            let registered = HookRegistration { event: &event, host: host.as_deref() };
            Box::pin(crate::hooks::hook::handle(engine, caller, registered, delivery, &input)).await
        }
        DaemonRequest::Check(check) => crate::check::handle(engine, &caller, check).await.into(),
        DaemonRequest::Scan(scan) => crate::code::scan::handle(engine, &caller, scan).await.into(),
        DaemonRequest::ScanTest(request) => {
            crate::code::scan_test::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Guard(request) => {
            crate::guard::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::GuardAllow(request) => {
            crate::guard::guard_allow::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::References(lookup) => {
            crate::query::references::handle(engine, &caller, lookup).await.into()
        }
        DaemonRequest::Definition(lookup) => {
            crate::query::definition::handle(engine, &caller, lookup).await.into()
        }
        DaemonRequest::Hover(lookup) => {
            crate::query::hover::handle(engine, &caller, lookup).await.into()
        }
        DaemonRequest::Symbols(request) => {
            crate::query::symbols::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Rename(request) => {
            crate::query::rename::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Search(request) => {
            crate::code::search::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Rewrite(request) => {
            crate::code::rewrite::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Judge(request) => {
            crate::judge::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::LoopStart(start) => {
            crate::loops::loop_start::handle(engine, &caller, start).await.into()
        }
        DaemonRequest::LoopStatus(select) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_status::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopRestore(request) => {
            crate::restore::loop_restore::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::LoopCancel(select) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_cancel::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopPause(select) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_pause::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopResume(request) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_resume::handle(engine, &caller, request).await,
        ),
        DaemonRequest::LoopHistory(request) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_history::handle(engine, &caller, request).await,
        ),
        DaemonRequest::LoopReport(select) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_report::handle(engine, &caller, select).await,
        ),
        DaemonRequest::LoopChecks { select, list } => {
            crate::loops::loop_checks::handle(engine, &caller, select, list).await.into()
        }
        DaemonRequest::LoopAdopt(adopt) => with_options_warning(
            engine,
            &caller,
            crate::loops::loop_adopt::handle(engine, &caller, adopt).await,
        ),
        DaemonRequest::LoopForget(select) => {
            crate::loops::loop_forget::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::LoopRefreeze(request) => {
            crate::loops::loop_refreeze::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Memory(request) => {
            crate::memory::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Spec(request) => crate::specs::handle(engine, &caller, request).await.into(),
        DaemonRequest::Pipeline(request) => with_options_warning(
            engine,
            &caller,
            Box::pin(crate::pipeline::handle(engine, &caller, request)).await,
        ),
        DaemonRequest::Doctor(request) => {
            crate::doctor::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Trust(request) => {
            crate::trust::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::Config(request) => {
            crate::options::handle(engine, &caller, request).await.into()
        }
        DaemonRequest::McpTools => crate::project::mcp_tools::handle(engine, &caller).into(),
        DaemonRequest::ServerList { json } => {
            servers::server_list::handle(engine, json).await.into()
        }
        DaemonRequest::ServerStart { what, json } => {
            servers::server_start::handle(engine, &caller, &what, json).await.into()
        }
        DaemonRequest::ServerStop(select) => {
            servers::server_stop::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::ServerRestart(select) => {
            servers::server_restart::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::ServerLogs(select) => {
            servers::server_logs::handle(engine, &caller, select).await.into()
        }
        DaemonRequest::DaemonStatus { json } => {
            servers::daemon_status::handle(engine, json).await.into()
        }
        // The daemon's lifecycle answers this itself; an engine without a daemon has nothing to stop.
        DaemonRequest::DaemonStop => CommandReply::success("no daemon is running\n".into()).into(),
    }
}

/// Hash of a hook input, to recognize a Stop that was delivered twice.
fn content_of(input: &str) -> String {
    ContentHash::of_bytes(input.trim().as_bytes()).to_string()
}
