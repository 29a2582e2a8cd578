//! The session of the agent that calls. Hooks show which process is a host and name its session; a
//! variable counts only where no ancestor of the caller is such a process.

use moai_base::limits::ANCESTORS_MAX;
use moai_host::callers;
use moai_protocol::control::CallerContext;
use moai_report::loops;

use crate::engine::Engine;
use crate::ledger::SessionLife;
use crate::ledger::host_sessions::AncestorSession;

/// The host's variable with the session id, set for processes it starts.
const SESSION: &str = "CLAUDE_CODE_SESSION_ID";

/// Records which host process a session's hook comes from.
pub(crate) fn note_host(engine: &Engine, caller: &CallerContext, session: &str) {
    let host = caller.process.and_then(|hook| callers::host_of_hook(hook, &caller.env));
    if let Some(host) = host.filter(|_| !session.is_empty()) {
        engine.ledger().hosts.record(&host, session);
    }
}

/// Whether a known host started the caller or an ancestor of it.
pub(crate) fn is_below_host(engine: &Engine, caller: &CallerContext) -> bool {
    session_of_host(engine, caller).is_some()
}

/// The session that the caller says it belongs to, for what every process may do. A server that the
/// host started keeps its variables while the user goes on to another session.
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

fn variable(caller: &CallerContext) -> Option<String> {
    caller.env.get(SESSION).filter(|session| !session.is_empty()).cloned()
}
