//! `loop restore`: previews or writes the files of a loop's checkpoint, after it kept a checkpoint of
//! the current files.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::code::change_journal;
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use crate::replies::{REFUSED, load_project};
use crate::restore::checkpoints;
use crate::restore::checkpoints::CheckpointStore;
use crate::restore::interrupted_restore::RestoreRecord;
use crate::restore::restore_plan::{CheckpointRestore, RestoreChanges, plan_restore};
use moai_base::tree::Checkpoint;
use moai_host::files::transaction::{ApplyError, WriteReach};
use moai_host::store::loops::LoopQuery;
use moai_protocol::control::{CallerContext, CommandReply, LoopRestoreRequest};
use moai_protocol::documents::json_text;
use moai_report::restore::{RestoreReport, restore_document, restore_text};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: LoopRestoreRequest,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let is_json = request.json;
    match restore_checkpoint(engine, &project, request).await {
        Ok(restored) if is_json => CommandReply::success(json_text(&restore_document(&restored))),
        Ok(restored) => CommandReply::success(restore_text(&restored)),
        Err(reason) => CommandReply::failure(REFUSED, &format!("moai-ralph: {reason}")),
    }
}

/// Previews or restores; after an error, which is the reason for the user, no file was written.
async fn restore_checkpoint(
    engine: &Arc<Engine>,
    project: &Project,
    request: LoopRestoreRequest,
) -> Result<RestoreReport, String> {
    let which = LoopQuery::Id(request.id.clone());
    let found = engine.store.find_loop(&project.key, &project.root, which).await;
    let best = found.map_err(|error| error.to_string())?.and_then(|state| state.best());
    let (root, folder) = (project.root.clone(), checkpoints::folder(engine, project));
    let is_preview = !request.apply;
    let prepared = run_blocking(move || {
        let keeper = CheckpointStore::find(root, folder)?;
        let all = keeper.list()?;
        let checkpoint = choose(&keeper, &all, &request, best)?;
        let plan = plan_restore(&keeper, &all, &checkpoint)?;
        let texts = if is_preview { plan.texts(&keeper) } else { Vec::new() };
        // Computed for a preview as well, which must not promise to restore files that are unreadable or too
        // large.
        let first = plan.clearing_changes(&keeper)?;
        let rest = plan.remaining_changes(&keeper)?;
        let steps = plan.actions.clone();
        let restored = RestoreReport { checkpoint, steps, texts, saved: None };
        let changes = OrderedChanges { first, rest };
        Ok::<_, String>((PreparedRestore { keeper, all, plan }, changes, restored))
    });
    let prepared = prepared.await.unwrap_or_else(|| Err("internal error".to_owned()))?;
    let (prepared, changes, mut restored) = prepared;
    if !is_preview && !restored.steps.steps.is_empty() {
        write_restore(engine, project, prepared, changes, &mut restored).await?;
    }
    Ok(restored)
}

/// A checkpoint to restore.
struct PreparedRestore {
    keeper: CheckpointStore,
    all: Vec<Checkpoint>,
    plan: CheckpointRestore,
}

/// A restore that is recorded, so that the next process settles it if this one ends.
struct BegunRestore {
    restore: Arc<PreparedRestore>,
    /// The checkpoint of the present files.
    saved: String,
    record: RestoreRecord,
}

impl PreparedRestore {
    fn begin(self, project_folder: &Path, checkpoint: &Checkpoint) -> Result<BegunRestore, String> {
        let saved = self.plan.keep_present(&self.keeper, &self.all, &checkpoint.owner)?;
        match RestoreRecord::begin(project_folder, checkpoint, &saved, &self.plan) {
            Ok(record) => Ok(BegunRestore { restore: Arc::new(self), saved, record }),
            Err(error) => {
                let unused = Checkpoint { name: saved, ..checkpoint.clone() };
                self.keeper.forget(&[unused])?;
                Err(format!("the restore could not be recorded: {error}; nothing was written"))
            }
        }
    }
}

/// The changes of a restore, in their order.
struct OrderedChanges {
    /// Those that make room for the rest; undone if the rest fails.
    first: RestoreChanges,
    rest: RestoreChanges,
}

/// Saves the present state and records the restore, then changes the files, all or none; executable
/// bits and links come last.
async fn write_restore(
    engine: &Arc<Engine>,
    project: &Project,
    restore: PreparedRestore,
    changes: OrderedChanges,
    restored: &mut RestoreReport,
) -> Result<(), String> {
    let (checkpoint, folder) =
        (restored.checkpoint.clone(), project.key.folder(&engine.dirs.state));
    let kept = run_blocking(move || restore.begin(&folder, &checkpoint));
    let begun = kept.await.unwrap_or_else(|| Err("internal error".to_owned()))?;
    let BegunRestore { restore, saved, record } = begun;
    let applied = apply_in_order(engine, project, &restore, changes).await;
    run_blocking(move || record.remove()).await;
    let failed = match applied {
        Ok(failed) => failed,
        Err(RestoreError { reason, is_unchanged: false }) => {
            let owner = &restored.checkpoint.owner;
            let command = format!("moai-ralph loop restore {owner} --to {saved} --apply");
            return Err(format!("{reason}\nwhat was there before: {command}"));
        }
        Err(RestoreError { reason, .. }) => {
            let unused = Checkpoint { name: saved, ..restored.checkpoint.clone() };
            let forgotten = run_blocking(move || restore.keeper.forget(&[unused])).await;
            if let Some(Err(error)) = forgotten {
                tracing::warn!(error, "an unused checkpoint stays");
            }
            return Err(reason);
        }
    };
    for (path, reason) in failed {
        restored.steps.steps.retain(|step, _| step.as_str() != path);
        restored.steps.untouched.insert(path, reason);
    }
    restored.saved = Some(saved);
    Ok(())
}

/// Why a restore failed.
struct RestoreError {
    reason: String,
    /// True if every file is unchanged.
    is_unchanged: bool,
}

/// Applies the first changes and then the rest; returns the executable bits and links that failed.
async fn apply_in_order(
    engine: &Arc<Engine>,
    project: &Project,
    restore: &Arc<PreparedRestore>,
    changes: OrderedChanges,
) -> Result<BTreeMap<String, String>, RestoreError> {
    let failed = apply_restore_changes(engine, project, restore, changes.first).await?;
    let failure = match failed.into_iter().next() {
        Some((path, reason)) => {
            let reason = format!("{path}: {reason}; nothing was written");
            RestoreError { reason, is_unchanged: true }
        }
        None => match apply_restore_changes(engine, project, restore, changes.rest).await {
            Ok(failed) => return Ok(failed),
            Err(failure) => failure,
        },
    };
    let is_back = undo_clearing(engine, project, restore).await;
    Err(RestoreError { is_unchanged: failure.is_unchanged && is_back, ..failure })
}

/// Restores the paths that were removed first; returns whether that succeeded.
async fn undo_clearing(
    engine: &Arc<Engine>,
    project: &Project,
    restore: &Arc<PreparedRestore>,
) -> bool {
    let planned = Arc::clone(restore);
    match run_blocking(move || planned.plan.undo_clearing(&planned.keeper)).await {
        Some(Ok(back)) => apply_restore_changes(engine, project, restore, back)
            .await
            .is_ok_and(|failed| failed.is_empty()),
        _ => false,
    }
}

/// Changes all files or none, then executable bits and links; returns those that failed.
async fn apply_restore_changes(
    engine: &Arc<Engine>,
    project: &Project,
    restore: &Arc<PreparedRestore>,
    changes: RestoreChanges,
) -> Result<BTreeMap<String, String>, RestoreError> {
    if !changes.set.changes.is_empty() {
        // Without git, repositories below the root are part of a checkpoint.
        let reach = WriteReach::AllRepositories;
        let applied =
            change_journal::apply_changes(engine, project, changes.set.clone(), reach).await;
        applied.ok_or_else(internal_error)?.map_err(|error| {
            // If another program wrote in the meantime, only our checkpoint may hold the earlier content.
            let is_as_before = !matches!(error, ApplyError::HalfDone(_) | ApplyError::Mixed(_));
            RestoreError { reason: error.to_string(), is_unchanged: is_as_before }
        })?;
    }
    let restore = Arc::clone(restore);
    run_blocking(move || changes.finish(&restore.keeper)).await.ok_or_else(internal_error)
}

fn internal_error() -> RestoreError {
    RestoreError { reason: "internal error".to_owned(), is_unchanged: false }
}

/// The checkpoint with the requested name, or the best one.
fn choose(
    keeper: &CheckpointStore,
    all: &[Checkpoint],
    request: &LoopRestoreRequest,
    best: Option<u32>,
) -> Result<Checkpoint, String> {
    let id = &request.id;
    let own: Vec<&Checkpoint> = all.iter().filter(|checkpoint| checkpoint.owner == *id).collect();
    let Some(first) = own.first() else {
        let damage = keeper.damage(id, &request.to);
        return Err(damage.unwrap_or_else(|| format!("{id} has no checkpoints")));
    };
    if first.root != keeper.root {
        let root = first.root.display();
        return Err(format!("{id} worked in {root}: --root {root}"));
    }
    let name = match request.to.as_str() {
        "best" => best.ok_or_else(|| format!("{id} was never measured: --to N"))?.to_string(),
        name => name.to_owned(),
    };
    if let Some(checkpoint) = own.iter().find(|checkpoint| checkpoint.name == name) {
        return Ok((*checkpoint).clone());
    }
    if let Some(reason) = keeper.damage(id, &name) {
        return Err(reason);
    }
    let names: Vec<&str> = own.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
    Err(format!("{id} has no checkpoint {name}; there are: {}", names.join(", ")))
}
