//! When each host last called a hook in a project, and where the hooks are registered: `doctor --hosts`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, now_ms, run_blocking};
use crate::ledger::host_calls::CallTimes;
use crate::project::Project;
use crate::replies::REFUSED;
use moai_base::limits::HOST_CALLS_BYTES_MAX;
use moai_host::codex_approvals::{EventApproval, codex_approvals};
use moai_host::files;
use moai_host::registrations::{RegistrationSearch, UnreadableRegistration, find_registrations};
use moai_host::store::ProjectKey;
use moai_protocol::control::{CallerContext, CommandReply};
use moai_protocol::documents::hosts::{
    HostDocumentEntry, HostEventEntry, HostsDocument, UnreadableHostFile,
};
use moai_protocol::documents::json_text;
use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::HostKind;
use moai_protocol::hosts::registration::registered_events;
use moai_report::hosts::{approval, hosts_text};

/// Records in the background that a host called a hook.
pub(crate) fn note(engine: &Arc<Engine>, project: &Project, host: HostKind, event: HookEvent) {
    if !engine.ledger().root(&project.root).host_calls.add(host, event, now_ms()) {
        return;
    }
    let (owned, root, key) = (Arc::clone(engine), project.root.clone(), project.key.clone());
    tokio::spawn(async move {
        let _job = owned.job();
        let engine = Arc::clone(&owned);
        run_blocking(move || {
            let times = all_times(&engine, &root, &key);
            let bytes = serde_json::to_vec(&times).unwrap_or_default();
            if let Err(error) = files::write_private_unsynced(&times_file(&engine, &key), &bytes) {
                tracing::info!(%error, "the times of hooks were not saved");
            }
        })
        .await;
    });
}

fn times_file(engine: &Engine, key: &ProjectKey) -> PathBuf {
    key.folder(&engine.dirs.state).join("host-calls.json")
}

/// The saved times of a project and those of this daemon.
fn all_times(engine: &Engine, root: &Path, key: &ProjectKey) -> CallTimes {
    let saved = files::read_private(&times_file(engine, key), HOST_CALLS_BYTES_MAX);
    let mut times: CallTimes =
        saved.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    for (host, events) in &engine.ledger().root(root).host_calls.times {
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
    project: &Project,
    json: bool,
) -> CommandReply {
    let (owned, root, key) = (Arc::clone(engine), project.root.clone(), project.key.clone());
    let home = caller.env.get("HOME").map(PathBuf::from);
    let read = run_blocking(move || {
        let times = all_times(&owned, &root, &key);
        let entries = HostKind::ALL.into_iter().map(|host| {
            let found = find_registrations(host, &root, home.as_deref());
            let approvals = match (host, &home) {
                (HostKind::Codex, Some(home)) => codex_approvals(&root, home),
                _ => Vec::new(),
            };
            host_entry(host, found, &approvals, times.get(host.profile().name))
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
    search: RegistrationSearch,
    approvals: &[EventApproval],
    times: Option<&BTreeMap<String, u64>>,
) -> HostDocumentEntry {
    let RegistrationSearch { found, unreadable } = search;
    let events = registered_events(host).map(|event| HostEventEntry {
        event: event.name(),
        registered: found.iter().any(|place| place.events.contains(&event)),
        approval: approvals.iter().find(|it| it.event == event).map(|it| it.approval.name()),
        last_ms: times.and_then(|times| times.get(event.name()).copied()),
    });
    HostDocumentEntry {
        host: host.profile().name,
        approval: approval(host).filter(|_| !found.is_empty()),
        events: events.collect(),
        registered_in: found.into_iter().map(|place| place.place).collect(),
        unreadable: unreadable.into_iter().map(unreadable_file).collect(),
    }
}

fn unreadable_file(found: UnreadableRegistration) -> UnreadableHostFile {
    let UnreadableRegistration { path, reason } = found;
    UnreadableHostFile { file: path.display().to_string(), reason }
}
