//! Finds the active loop of a session that its current root does not lead to any more, because a
//! repository or root was created or hidden meanwhile, or the project's options were switched off.

use std::path::{Path, PathBuf};

use crate::engine::{Engine, run_blocking};
use crate::project;
use crate::project::Project;
use moai_host::git;
use moai_host::store::ProjectKey;
use moai_host::store::loops::LoopQuery;
use moai_host::store::peek;
use moai_loops::state::LoopState;
use moai_protocol::control::CallerContext;

/// A loop and its project.
pub(crate) type ProjectLoop = (Project, LoopState);

/// The session's loop in the project itself or as [`active_loop_elsewhere`], unless the user's own
/// options switch the program off: files that the agent can write must not end a loop.
pub(crate) async fn active_loop_anywhere(
    engine: &Engine,
    caller: &CallerContext,
    project: &Project,
    session: &str,
) -> Option<ProjectLoop> {
    let catalogue = moai_lsp::registry::Catalogue::built_in();
    let own = project::load_options(&engine.dirs.user_config, None, &caller.env, catalogue).ok()?;
    if !own.is_enabled || session.is_empty() {
        return None;
    }
    if project.key.database(&engine.dirs.state).exists() {
        let which = LoopQuery::ActiveOf(session.to_owned());
        let found = engine.store.find_loop(&project.key, &project.root, which).await;
        if let Ok(Some(state)) = found {
            return Some((project.clone(), state));
        }
    }
    active_loop_elsewhere(engine, caller, project, session).await
}

/// The session's loop in any project, for a session whose folder is not in a project.
pub(crate) async fn active_loop_of_any_project(
    engine: &Engine,
    caller: &CallerContext,
    session: &str,
) -> Option<ProjectLoop> {
    if session.is_empty() {
        return None;
    }
    let (state, named) = (engine.dirs.state.clone(), session.to_owned());
    let (key, root) = run_blocking(move || peek::project_of_session(&state, &named)).await??;
    let which = LoopQuery::ActiveOf(session.to_owned());
    let state = engine.store.find_loop(&key, &root, which).await.ok().flatten()?;
    let there = CallerContext { root: Some(root), ..caller.clone() };
    Some((Project { key, ..Project::load_or_default(engine, &there) }, state))
}

/// The loop of a session that has none in this project. Searched for only if there may be one, because that
/// opens the database of every project.
pub(crate) async fn loop_in_other_project(
    engine: &Engine,
    caller: &CallerContext,
    project: &Project,
    session: &str,
) -> Option<ProjectLoop> {
    if session.is_empty()
        || !engine.ledger().session(session).may_come_from_elsewhere(&project.root)
    {
        return None;
    }
    if project.key.database(&engine.dirs.state).exists() {
        let which = LoopQuery::ActiveOf(session.to_owned());
        let own = engine.store.find_loop(&project.key, &project.root, which).await;
        if !matches!(own, Ok(None)) {
            return None;
        }
    }
    let found = active_loop_of_any_project(engine, caller, session).await;
    // A root that no longer exists was moved, perhaps to here: its marker moved along and refers to the loop.
    let found = found.filter(|(there, _)| there.root.exists())?;
    engine.ledger().session(session).note_project(&found.0.root);
    Some(found)
}

/// The session's loop under another name of the root, or of a folder above it.
pub(crate) async fn active_loop_elsewhere(
    engine: &Engine,
    caller: &CallerContext,
    project: &Project,
    session: &str,
) -> Option<ProjectLoop> {
    if session.is_empty() {
        return None;
    }
    // Only a few names are checked: most Stops have no loop and need no blocking thread.
    // The current root may be above the one that the loop started in.
    let below = caller.cwd.canonicalize().ok().filter(|folder| folder.starts_with(&project.root));
    let folder = below.unwrap_or_else(|| project.root.clone());
    for (root, key) in loop_databases(&folder, &engine.dirs.state) {
        if (&root, &key) == (&project.root, &project.key) {
            continue;
        }
        let which = LoopQuery::ActiveOf(session.to_owned());
        if let Ok(Some(state)) = engine.store.find_loop(&key, &root, which).await {
            tracing::warn!(id = state.id, root = %root.display(), "the loop belongs to another root");
            let there = CallerContext { root: Some(root), ..caller.clone() };
            return Some((Project { key, ..Project::load_or_default(engine, &there) }, state));
        }
    }
    None
}

/// Roots that may hold the loop of a session in this folder, with each existing database.
fn loop_databases(folder: &Path, state: &Path) -> Vec<(PathBuf, ProjectKey)> {
    let mut found = Vec::new();
    for at in folder.ancestors() {
        let git = at.join(".git");
        let leads_on = git.is_file() || git.is_symlink() || (at == folder && !git.exists());
        let shared = if leads_on { git::common_dir(at) } else { None };
        for folder in [Some(at.to_path_buf()), Some(git), shared].into_iter().flatten() {
            let home = (at.to_path_buf(), ProjectKey::from_folder(&folder));
            if home.1.database(state).exists() && !found.contains(&home) {
                found.push(home);
            }
        }
    }
    found
}
