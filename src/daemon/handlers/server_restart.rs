//! `server restart`: ends language servers and starts them again.

use super::replies::REFUSED;
use crate::daemon::engine::Engine;
use crate::daemon::project;
use crate::report::servers::{self, Acted};
use crate::servers::{Done, Selection};
use crate::wire::control::{Caller, Reply, ServerSelect};

pub(super) async fn handle(engine: &Engine, caller: &Caller, select: ServerSelect) -> Reply {
    let done = engine.servers.restart(selection(caller, &select)).await;
    reply("restarted", &select, done)
}

/// The servers a command means: those of every project, unless it names a root.
pub(super) fn selection(caller: &Caller, select: &ServerSelect) -> Selection {
    let root = caller.root.as_ref().map(|_| project::root(caller));
    Selection { ids: select.ids.clone(), root }
}

/// What became of each, and of what was named but does not run.
pub(super) fn reply(act: &'static str, select: &ServerSelect, done: Vec<Done>) -> Reply {
    let missing: Vec<&String> =
        select.ids.iter().filter(|id| !done.iter().any(|one| one.id == **id)).collect();
    let acted = |one: Done| Acted {
        id: one.id,
        root: one.root.display().to_string(),
        act,
        reason: one.outcome.err().map(|gap| gap.to_string()),
    };
    let acted: Vec<Acted> = done.into_iter().map(acted).collect();
    let has_failed = !missing.is_empty() || acted.iter().any(|one| one.reason.is_some());
    let stdout = if select.json {
        format!("{:#}\n", servers::acted_json(&acted))
    } else if acted.is_empty() && !missing.is_empty() {
        // Others may run; those that were named are named below.
        String::new()
    } else {
        servers::acted(&acted)
    };
    let stderr = missing.iter().map(|id| format!("moai-ralph: no language server {id} runs\n"));
    let code = if has_failed { REFUSED } else { 0 };
    Reply { stdout, stderr: stderr.collect(), code, ..Reply::default() }
}
