//! `loop restore`: the files of a loop as one of its checkpoints holds them, previewed or written;
//! what stands there before is a checkpoint, too.

use std::sync::Arc;

use super::{REFUSED, load};
use crate::base::tree::Checkpoint;
use crate::daemon::changes;
use crate::daemon::checkpoints::{self, Keeper};
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::project::Project;
use crate::daemon::restoring::{Plan, plan};
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
        let way = plan.way.clone();
        let restored = Restored { checkpoint, way, texts, saved: None };
        Ok::<_, String>((keeper, all, plan, restored))
    });
    let prepared = prepared.await.unwrap_or_else(|| Err("internal error".to_owned()))?;
    let (keeper, all, plan, mut restored) = prepared;
    if is_preview || plan.way.steps.is_empty() {
        return Ok(restored);
    }
    write(engine, project, (keeper, all, plan), &mut restored).await?;
    Ok(restored)
}

/// Keeps what is there, then changes the files, all or none; programs and links come last.
async fn write(
    engine: &Arc<Engine>,
    project: &Project,
    (keeper, all, plan): (Keeper, Vec<Checkpoint>, Plan),
    restored: &mut Restored,
) -> Result<(), String> {
    let owner = restored.checkpoint.owner.clone();
    let kept = blocking(move || {
        let set = plan.changes(&keeper)?;
        let saved = plan.keep_present(&keeper, &all, &owner)?;
        Ok::<_, String>((keeper, plan, set, saved))
    });
    let (keeper, plan, set, saved) =
        kept.await.unwrap_or_else(|| Err("internal error".to_owned()))?;
    let applied = changes::apply(engine, project, set).await;
    applied.ok_or("internal error")?.map_err(|error| error.to_string())?;
    let failed = blocking(move || plan.finish(&keeper)).await;
    let failed = failed.unwrap_or_else(|| Err("internal error".to_owned()))?;
    for (path, reason) in failed {
        restored.way.steps.retain(|step, _| step.as_str() != path);
        restored.way.untouched.insert(path, reason);
    }
    restored.saved = Some(saved);
    Ok(())
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
    let Some(first) = own.first() else { return Err(format!("{id} has no checkpoints")) };
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
        let names: Vec<&str> = own.iter().map(|it| it.name.as_str()).collect();
        format!("{id} has no checkpoint {name}; there are: {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests;
