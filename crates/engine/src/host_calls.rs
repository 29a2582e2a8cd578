//! When each host last called a hook, and where the hooks are registered: `doctor --hosts`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, now_ms, run_blocking};
use crate::ledger::host_calls::CallTimes;
use crate::replies::REFUSED;
use moai_base::limits::HOST_CALLS_BYTES_MAX;
use moai_host::codex_approvals::{EventApproval, codex_approvals};
use moai_host::files;
use moai_host::registrations::{FoundRegistration, find_registrations};
use moai_protocol::control::{CallerContext, CommandReply};
use moai_protocol::documents::hosts::{HostDocumentEntry, HostEventEntry, HostsDocument};
use moai_protocol::documents::json_text;
use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::HostKind;
use moai_protocol::hosts::registration::registered_events;
use moai_report::hosts::{approval, hosts_text};

/// Records in the background that a host called a hook.
pub(crate) fn note(engine: &Arc<Engine>, host: HostKind, event: HookEvent) {
    if !engine.ledger().host_calls.add(host, event, now_ms()) {
        return;
    }
    let owned = Arc::clone(engine);
    tokio::spawn(async move {
        let _job = owned.job();
        let engine = Arc::clone(&owned);
        run_blocking(move || {
            let times = all_times(&engine);
            let bytes = serde_json::to_vec(&times).unwrap_or_default();
            if let Err(error) = files::write_private_unsynced(&times_file(&engine), &bytes) {
                tracing::info!(%error, "the times of hooks were not saved");
            }
        })
        .await;
    });
}

fn times_file(engine: &Engine) -> PathBuf {
    engine.dirs.state.join("host-calls.json")
}

/// The saved times and those of this daemon.
fn all_times(engine: &Engine) -> CallTimes {
    let saved = files::read_private(&times_file(engine), HOST_CALLS_BYTES_MAX);
    let mut times: CallTimes =
        saved.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    for (host, events) in &engine.ledger().host_calls.times {
        let known = times.entry(host.clone()).or_default();
        for (event, at_ms) in events {
            let last = known.entry(event.clone()).or_default();
            *last = (*last).max(*at_ms);
        }
    }
    times
}

/// Shows for each host where hooks are registered, and when each last ran.
pub(crate) async fn show(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    root: &Path,
    json: bool,
) -> CommandReply {
    let (owned, root) = (Arc::clone(engine), root.to_path_buf());
    let home = caller.env.get("HOME").map(PathBuf::from);
    let read = run_blocking(move || {
        let times = all_times(&owned);
        let entries = HostKind::ALL.into_iter().map(|host| {
            let found = find_registrations(host, &root, home.as_deref());
            let approvals = match (host, &home) {
                (HostKind::Codex, Some(home)) => codex_approvals(&root, home),
                _ => Vec::new(),
            };
            host_entry(host, &found, &approvals, times.get(host.profile().name))
        });
        HostsDocument { hosts: entries.collect() }
    });
    let Some(document) = read.await else {
        return CommandReply::failure(REFUSED, "moai-ralph: internal error");
    };
    let stdout = if json { json_text(&document) } else { hosts_text(&document, now_ms()) };
    CommandReply::success(stdout)
}

fn host_entry(
    host: HostKind,
    found: &[FoundRegistration],
    approvals: &[EventApproval],
    times: Option<&BTreeMap<String, u64>>,
) -> HostDocumentEntry {
    let events = registered_events(host).map(|event| HostEventEntry {
        event: event.name(),
        registered: found.iter().any(|place| place.events.contains(&event)),
        approval: approvals.iter().find(|it| it.event == event).map(|it| it.approval.name()),
        last_ms: times.and_then(|times| times.get(event.name()).copied()),
    });
    HostDocumentEntry {
        host: host.profile().name,
        registered_in: found.iter().map(|place| place.place.clone()).collect(),
        approval: approval(host).filter(|_| !found.is_empty()),
        events: events.collect(),
    }
}
