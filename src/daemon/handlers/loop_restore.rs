//! `loop restore`: the files of a loop as one of its checkpoints holds them, previewed or written;
//! what stands there before is a checkpoint, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::replies::{REFUSED, load};
use crate::base::tree::Checkpoint;
use crate::daemon::changes;
use crate::daemon::checkpoints::{self, Keeper};
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::project::Project;
use crate::daemon::restoring::{Changes, Plan, plan};
use crate::files::transaction::ApplyError;
use crate::report::restore::{Restored, json, text};
use crate::store::loops::Which;
use crate::wire::control::{Caller, LoopRestore, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wish: LoopRestore) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let is_json = wish.json;
    match restore(engine, &project, wish).await {
        Ok(restored) if is_json => Reply::done(format!("{:#}\n", json(&restored))),
        Ok(restored) => Reply::done(text(&restored)),
        Err(reason) => Reply::failed(REFUSED, &format!("moai-ralph: {reason}")),
    }
}

/// The error is the reason for the user; then no file was written.
async fn restore(
    engine: &Arc<Engine>,
    project: &Project,
    wish: LoopRestore,
) -> Result<Restored, String> {
    let which = Which::Id(wish.id.clone());
    let found = engine.store.find_loop(&project.key, &project.root, which).await;
    let best = found.map_err(|error| error.to_string())?.and_then(|state| state.best());
    let (root, folder) = (project.root.clone(), checkpoints::folder(engine, project));
    let is_preview = !wish.apply;
    let prepared = blocking(move || {
        let keeper = Keeper::find(root, folder)?;
        let all = keeper.list()?;
        let checkpoint = choose(&keeper, &all, &wish, best)?;
        let plan = plan(&keeper, &all, &checkpoint)?;
        let texts = if is_preview { plan.texts(&keeper) } else { Vec::new() };
        // What cannot be read or is too much is no promise.
        let changes = [plan.first(&keeper)?, plan.rest(&keeper)?];
        let way = plan.way.clone();
        let restored = Restored { checkpoint, way, texts, saved: None };
        Ok::<_, String>((Restore { keeper, all, plan }, changes, restored))
    });
    let prepared = prepared.await.unwrap_or_else(|| Err("internal error".to_owned()))?;
    let (prepared, changes, mut restored) = prepared;
    if !is_preview && !restored.way.steps.is_empty() {
        write(engine, project, (prepared, changes), &mut restored).await?;
    }
    Ok(restored)
}

/// A checkpoint that is about to be brought back.
struct Restore {
    keeper: Keeper,
    all: Vec<Checkpoint>,
    plan: Plan,
}

/// Keeps what is there, then changes the files, all or none; programs and links come last. What is
/// in the way of others goes before them, and comes back when they fail.
async fn write(
    engine: &Arc<Engine>,
    project: &Project,
    (restore, [first, rest]): (Restore, [Changes; 2]),
    restored: &mut Restored,
) -> Result<(), String> {
    let owner = restored.checkpoint.owner.clone();
    let kept = blocking(move || {
        let saved = restore.plan.keep_present(&restore.keeper, &restore.all, &owner)?;
        Ok::<_, String>((Arc::new(restore), saved))
    });
    let (restore, saved) = kept.await.unwrap_or_else(|| Err("internal error".to_owned()))?;
    let failed = match make_both(engine, project, &restore, [first, rest]).await {
        Ok(failed) => failed,
        Err(Failure { reason, is_as_before: false }) => {
            let owner = &restored.checkpoint.owner;
            let way = format!("moai-ralph loop restore {owner} --to {saved} --apply");
            return Err(format!("{reason}\nwhat was there before: {way}"));
        }
        Err(Failure { reason, .. }) => {
            let unused = Checkpoint { name: saved, ..restored.checkpoint.clone() };
            let forgotten = blocking(move || restore.keeper.forget(&[unused])).await;
            if let Some(Err(error)) = forgotten {
                tracing::warn!(error, "an unused checkpoint stays");
            }
            return Err(reason);
        }
    };
    for (path, reason) in failed {
        restored.way.steps.retain(|step, _| step.as_str() != path);
        restored.way.untouched.insert(path, reason);
    }
    restored.saved = Some(saved);
    Ok(())
}

/// Why files were not changed.
struct Failure {
    reason: String,
    /// Whether every file is as it was.
    is_as_before: bool,
}

/// Makes what goes first and then the rest; returns which programs and links could not be made.
async fn make_both(
    engine: &Arc<Engine>,
    project: &Project,
    restore: &Arc<Restore>,
    [first, rest]: [Changes; 2],
) -> Result<BTreeMap<String, String>, Failure> {
    let stuck = make(engine, project, restore, first).await?;
    let failure = match stuck.into_iter().next() {
        Some((path, reason)) => {
            let reason = format!("{path}: {reason}; nothing was written");
            Failure { reason, is_as_before: true }
        }
        None => match make(engine, project, restore, rest).await {
            Ok(failed) => return Ok(failed),
            Err(failure) => failure,
        },
    };
    let is_back = put_back(engine, project, restore).await;
    Err(Failure { is_as_before: failure.is_as_before && is_back, ..failure })
}

/// Puts back what went first; whether all of it is there again.
async fn put_back(engine: &Arc<Engine>, project: &Project, restore: &Arc<Restore>) -> bool {
    let planned = Arc::clone(restore);
    match blocking(move || planned.plan.back(&planned.keeper)).await {
        Some(Ok(back)) => {
            make(engine, project, restore, back).await.is_ok_and(|failed| failed.is_empty())
        }
        _ => false,
    }
}

/// Makes changes, all files or none, then programs and links; returns those that could not be made.
async fn make(
    engine: &Arc<Engine>,
    project: &Project,
    restore: &Arc<Restore>,
    changes: Changes,
) -> Result<BTreeMap<String, String>, Failure> {
    let internal = || Failure { reason: "internal error".to_owned(), is_as_before: false };
    if !changes.set.changes.is_empty() {
        let applied = changes::apply(engine, project, changes.set.clone()).await;
        applied.ok_or_else(internal)?.map_err(|error| {
            // What stood where others wrote meanwhile may be in our checkpoint alone.
            let is_as_before = !matches!(error, ApplyError::HalfDone(_) | ApplyError::Mixed(_));
            Failure { reason: error.to_string(), is_as_before }
        })?;
    }
    let restore = Arc::clone(restore);
    blocking(move || changes.finish(&restore.keeper)).await.ok_or_else(internal)
}

/// The checkpoint that is meant: by its name, or the best one.
fn choose(
    keeper: &Keeper,
    all: &[Checkpoint],
    wish: &LoopRestore,
    best: Option<u32>,
) -> Result<Checkpoint, String> {
    let id = &wish.id;
    let own: Vec<&Checkpoint> = all.iter().filter(|it| it.owner == *id).collect();
    let damage = |name: &str| keeper.damage(id, name);
    let Some(first) = own.first() else {
        let none = || format!("{id} has no checkpoints");
        return Err(damage(&wish.to).unwrap_or_else(none));
    };
    if first.root != keeper.root {
        let root = first.root.display();
        return Err(format!("{id} worked in {root}: --root {root}"));
    }
    let name = match wish.to.as_str() {
        "best" => best.ok_or_else(|| format!("{id} was never measured: --to N"))?.to_string(),
        name => name.to_owned(),
    };
    let found = own.iter().find(|it| it.name == name).map(|it| (*it).clone());
    found.ok_or_else(|| {
        if let Some(reason) = damage(&name) {
            return reason;
        }
        let names: Vec<&str> = own.iter().map(|it| it.name.as_str()).collect();
        format!("{id} has no checkpoint {name}; there are: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests;
