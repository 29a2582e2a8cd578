//! The session of the agent that calls, and the sender of a hook event. Hooks show which process is a
//! host and name its session; a variable counts only where no ancestor of the caller is such a process.

use moai_base::limits::ANCESTORS_MAX;
use moai_host::callers::{self, HookRoute, ProcessIdentity};
use moai_protocol::control::CallerContext;
use moai_protocol::hook::HookInput;
use moai_protocol::hosts::session_variables;
use moai_report::loops;

use crate::engine::Engine;
use crate::ledger::SessionLife;
use crate::ledger::host_sessions::{AncestorSession, HookSender};

/// Determines who sent a hook event of a session, and records which host process it comes from.
pub(crate) fn hook_sender(engine: &Engine, caller: &CallerContext, session: &str) -> HookSender {
    let Some(hook) = caller.process.filter(|_| !session.is_empty()) else {
        return HookSender::Unknown;
    };
    let ancestors = callers::ancestors(hook);
    let known_at = engine.ledger().hosts.position(&ancestors);
    let is_new = known_at.is_none()
        && callers::has_host_as_parent(&ancestors, &caller.env)
        && !is_adopted(caller, hook, ancestors[0]);
    let Some(host_at) = known_at.or_else(|| is_new.then_some(0)) else {
        // Its ancestors have ended or do not belong to a host. One-shot runs end before their last hook is
        // answered, but while the session's host runs, it sends its hooks itself.
        let is_other = has_other_host(engine, session, None);
        return if is_other { HookSender::NotHost } else { HookSender::Unknown };
    };
    let host = ancestors[host_at];
    let route = HookRoute::between(host, host_at, hook, caller.input_maker);
    let sender = engine.ledger().hosts.note_hook(host, session, route);
    store_hosts(engine);
    match sender {
        HookSender::Host if has_other_host(engine, session, Some(host)) => HookSender::SecondHost,
        sender => sender,
    }
}

/// True if a hook has outlived the process that started it, so that `parent` is not a host. In a container
/// the host may be the process that adopts orphans; then it has made the input of its own hooks.
fn is_adopted(caller: &CallerContext, hook: i32, parent: ProcessIdentity) -> bool {
    let daemon = callers::own_process();
    hook != daemon
        && callers::is_adopter(parent.id, daemon)
        && caller.input_maker != Some(parent.id)
}

/// The session of an event, under a name that no other client has.
pub(crate) fn own_name(engine: &Engine, input: &HookInput) -> String {
    if input.session_id.is_empty() {
        return String::new();
    }
    let (client, transcript) = (input.host.profile().name, input.transcript_path.as_deref());
    let name = engine.ledger().hosts.own_name(&input.session_id, client, transcript);
    store_hosts(engine);
    name
}

/// True if a host that had the session before `host` still runs.
fn has_other_host(engine: &Engine, session: &str, host: Option<ProcessIdentity>) -> bool {
    let others = engine.ledger().hosts.earlier_hosts(session, host);
    others.into_iter().any(callers::is_running)
}

/// Stores the known hosts for the next daemon, if anything about them is new.
fn store_hosts(engine: &Engine) {
    let Some(record) = engine.ledger().hosts.take_changes() else { return };
    if let Err(error) = record.write(&engine.dirs.state) {
        tracing::warn!(%error, "the known hosts could not be stored");
    }
}

/// True if a known host started the caller or an ancestor of it.
pub(crate) fn is_below_host(engine: &Engine, caller: &CallerContext) -> bool {
    session_of_host(engine, caller).is_some()
}

/// The session of the nearest host above the caller.
pub(crate) fn session_of_ancestor(engine: &Engine, caller: &CallerContext) -> Option<String> {
    session_of_host(engine, caller).map(|known| known.session)
}

/// The session that the caller claims, for operations that every process may do. A server that the host
/// started keeps its variables while the user continues in a different session.
pub(crate) fn named_session(engine: &Engine, caller: &CallerContext) -> Option<String> {
    let known = session_of_host(engine, caller).filter(|known| known.is_child_of_host);
    known.map(|known| known.session).or_else(|| variable(caller))
}

/// The session of an agent that calls a tool; users name theirs.
pub(crate) fn session_of_tool(engine: &Engine, caller: &CallerContext) -> Option<String> {
    caller.is_tool().then(|| named_session(engine, caller)).flatten()
}

/// The session whose loops the calling agent may change; the error is the reason for a refusal.
pub(crate) fn proven_session(
    engine: &Engine,
    caller: &CallerContext,
) -> Result<Option<String>, String> {
    let named = variable(caller);
    let ancestors = caller.process.map(callers::ancestors).unwrap_or_default();
    let known = engine.ledger().hosts.nearest(&ancestors);
    match known {
        Some(known) if known.is_child_of_host => Ok(Some(known.session)),
        Some(known) => match named {
            Some(named) if named != known.session => {
                Err(loops::session_contradicted(&named, &known.session))
            }
            _ => Ok(Some(known.session)),
        },
        // Too many processes hide the host.
        None if ancestors.len() >= ANCESTORS_MAX => Ok(None),
        // A daemon that has just started knows no host yet.
        None => match named {
            Some(named) if engine.ledger().session_life(&named) == SessionLife::Unknown => {
                Err(loops::session_unknown(&named))
            }
            named => Ok(named),
        },
    }
}

fn session_of_host(engine: &Engine, caller: &CallerContext) -> Option<AncestorSession> {
    let ancestors = callers::ancestors(caller.process?);
    engine.ledger().hosts.nearest(&ancestors)
}

/// The session that the variables of a host name. Where a host was started in the shell of another,
/// they name two, and only the processes tell which of them is meant.
fn variable(caller: &CallerContext) -> Option<String> {
    let named = session_variables().filter_map(|name| caller.env.get(name));
    let mut named = named.filter(|session| !session.is_empty());
    let session = named.next()?;
    named.next().is_none().then(|| session.clone())
}
