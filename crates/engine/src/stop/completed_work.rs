//! What was complete at a Stop must be so at the end of the turn. A turn goes on after a Stop if another
//! program holds it, or if an agent has called the hook itself.

use crate::hooks::hook_call::HookCall;
use crate::ledger::completed_work::CompletedWork;
use crate::restore::checkpoints::{self, LOOP_FILES};
use crate::stop::evidence::StopEvidence;
use moai_base::path::RelPath;
use moai_loops::state::{LoopState, Status};
use moai_report::loops;

/// Folders in which the engine writes once a loop is complete.
const OWN_FOLDERS: [&str; 2] = [".moai/", "docs/learnings/"];

/// The files of a loop that is complete now; `None` if it is not, or its files are not known.
pub(crate) fn completed_work(
    call: &HookCall<'_>,
    next: &LoopState,
    stop: &StopEvidence,
) -> Option<CompletedWork> {
    let is_complete = matches!(next.status, Status::Completed | Status::CompletedUnverified);
    let measured = stop.measurement.work.tree.as_ref().ok().filter(|_| is_complete)?;
    Some(CompletedWork {
        id: next.id.clone(),
        language: next.language(),
        root: call.project.root.clone(),
        tree: measured.tree.clone(),
    })
}

/// What the user reads if the session goes on after a complete loop and has changed files since.
pub(crate) async fn changed_since(call: &HookCall<'_>) -> Option<String> {
    let completed = call.engine.ledger().session(&call.input.session_id).completed_work.take()?;
    if completed.root != call.project.root {
        return None;
    }
    let now = checkpoints::snapshot_tree(call.engine, &call.project).await.ok()?.tree;
    let is_own = |path: &RelPath| {
        OWN_FOLDERS.iter().chain(&LOOP_FILES).any(|own| path.as_str().starts_with(own))
    };
    let is_other = |path: &&RelPath| completed.tree.nodes.get(*path) != now.nodes.get(*path);
    let mut changed: Vec<&RelPath> =
        completed.tree.nodes.keys().chain(now.nodes.keys()).filter(is_other).collect();
    changed.retain(|path| !is_own(path));
    changed.sort_unstable();
    changed.dedup();
    if changed.is_empty() {
        call.engine.ledger().session(&call.input.session_id).completed_work = Some(completed);
        return None;
    }
    Some(loops::changed_since_completed(&completed.id, completed.language, &changed))
}
