//! A loop that was complete at a Stop must still be so at the end of the turn. A turn continues after a Stop
//! if another program holds it, or if an agent has called the hook itself.

use std::collections::BTreeSet;

use crate::engine::{Engine, run_blocking};
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_selection::change_loop;
use crate::project::Project;
use crate::restore::checkpoints::{self, CheckpointStore, LOOP_FILES};
use moai_base::path::RelPath;
use moai_host::completion_records::CompletionRecords;
use moai_host::store::loops::LoopQuery;
use moai_loops::control;
use moai_loops::state::{LoopState, Status};
use moai_report::loops;

/// Folders in which the engine writes once a loop is complete.
const OWN_FOLDERS: [&str; 2] = [".moai", "docs/learnings"];

/// Records a loop that is complete now, until the next prompt of its session.
pub(crate) fn remember(engine: &Engine, project: &Project, session: &str, ended: &LoopState) {
    let is_complete = matches!(ended.status, Status::Completed | Status::CompletedUnverified);
    if !is_complete || session.is_empty() {
        return;
    }
    if let Err(error) = records(engine, project).add(session, &ended.id) {
        tracing::warn!(%error, id = ended.id, "a completed loop was not recorded");
    }
}

/// Forgets the completions of a session, because a new turn begins.
pub(crate) fn forget(engine: &Engine, project: &Project, session: &str) {
    if let Err(error) = records(engine, project).remove(session) {
        tracing::warn!(%error, "the record of a completed loop was not removed");
    }
}

/// The notice for the user if the session continues after its loop was complete and has changed files since;
/// the loop's report lists them too.
pub(crate) async fn changed_since(call: &HookCall<'_>, last: Option<&LoopState>) -> Option<String> {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    let ended = last?;
    if records(engine, project).find(session)? != ended.id {
        return None;
    }
    let changed = changes_after_end(call, ended).await?;
    if changed.is_empty() {
        return None;
    }
    forget(engine, project, session);
    let names: Vec<String> = changed.iter().map(ToString::to_string).collect();
    let add = |state: &_| Ok::<_, String>(control::with_late_changes(state, &names));
    if let Err(error) = change_loop(engine, project, LoopQuery::Id(ended.id.clone()), add).await {
        tracing::warn!(%error, id = ended.id, "late changes of a loop were not recorded");
    }
    Some(loops::changed_since_completed(ended, &names))
}

/// The files that differ from the last checkpoint of a loop; `None` if they cannot be compared.
async fn changes_after_end(call: &HookCall<'_>, ended: &LoopState) -> Option<Vec<RelPath>> {
    let (root, folder) =
        (call.project.root.clone(), checkpoints::folder(call.engine, &call.project));
    let (owner, name) = (ended.id.clone(), ended.history.last()?.number.to_string());
    let job = call.engine.job();
    let compared = run_blocking(move || {
        let _job = job;
        let store = CheckpointStore::find(root, folder)?;
        let all = store.list()?;
        let at_end = all.iter().find(|it| it.owner == owner && it.name == name);
        let at_end = at_end.ok_or_else(|| "its last checkpoint is missing".to_owned())?;
        let (before, now) =
            (store.tree(at_end)?.nodes, store.snapshot(&BTreeSet::new())?.tree.nodes);
        let paths: BTreeSet<&RelPath> = before.keys().chain(now.keys()).collect();
        let is_changed = |path: &&RelPath| !is_own(path) && before.get(*path) != now.get(*path);
        Ok::<_, String>(paths.into_iter().filter(is_changed).cloned().collect())
    });
    match compared.await.unwrap_or_else(|| Err("internal error".to_owned())) {
        Ok(changed) => Some(changed),
        Err(error) => {
            tracing::warn!(error, id = ended.id, "changes after the end of a loop are not known");
            None
        }
    }
}

fn is_own(path: &RelPath) -> bool {
    OWN_FOLDERS.iter().chain(&LOOP_FILES).any(|own| path.is_in(own))
}

fn records(engine: &Engine, project: &Project) -> CompletionRecords {
    CompletionRecords::new(&project.key.folder(&engine.dirs.state))
}
