//! Selects the observations that a command applies to.

use std::path::Path;
use std::sync::Arc;

use super::replies::MemoryRefusal;
use crate::engine::{Engine, memory_now_ms};
use crate::project::Project;
use moai_memory::database::ObservationFilter;
use moai_memory::observation::MemoryProject;
use moai_memory::ranking::ObservationKind;
use moai_protocol::control::{CallerContext, MemoryScope};
use moai_protocol::observation_lines::{last_moment_ms, moment_ms};

/// The caller's project as the memory knows it.
pub(super) fn caller_project(engine: &Engine, caller: &CallerContext) -> MemoryProject {
    Project::load_unserved(engine, caller).in_memory()
}

/// The filter of a scope.
pub(super) async fn filter(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    scope: &MemoryScope,
) -> Result<ObservationFilter, MemoryRefusal> {
    let now_ms = memory_now_ms();
    let since_ms = scope
        .since
        .as_deref()
        .map(|text| moment_ms(text, now_ms).ok_or_else(|| not_a_time("--since")));
    let until_ms = scope
        .until
        .as_deref()
        .map(|text| last_moment_ms(text, now_ms).ok_or_else(|| not_a_time("--until")));
    let kinds = scope.kinds.iter().map(|word| kind_named(word)).collect::<Result<Vec<_>, _>>()?;
    Ok(ObservationFilter {
        projects: project_keys(engine, caller, scope).await?,
        kinds,
        session: None,
        worktree: scope.worktree.as_deref().map(|named| worktree_name(engine, caller, named)),
        since_ms: since_ms.transpose()?,
        until_ms: until_ms.transpose()?,
        path: scope.path.as_deref().map(|path| path.trim_start_matches("./").to_owned()),
        code: scope.code.clone(),
    })
}

/// Parses a kind: by its name or a word of another system.
pub(super) fn kind_named(word: &str) -> Result<ObservationKind, MemoryRefusal> {
    let known = ObservationKind::from_name(word);
    let other = Some(ObservationKind::from_foreign_name(word))
        .filter(|kind| *kind != ObservationKind::Note);
    known.or(other).ok_or_else(|| {
        let names = ObservationKind::ALL.map(ObservationKind::name);
        MemoryRefusal::Invalid(format!("unknown type; one of {}", names.join(", ")))
    })
}

/// The name of a worktree, given as such or as a folder in it.
fn worktree_name(engine: &Engine, caller: &CallerContext, named: &str) -> String {
    let folder = caller.cwd.join(named);
    if !folder.is_dir() {
        return named.trim_end_matches('/').to_owned();
    }
    let there = CallerContext { cwd: folder, root: None, ..caller.clone() };
    caller_project(engine, &there).name
}

fn not_a_time(option: &str) -> MemoryRefusal {
    MemoryRefusal::Invalid(format!(
        "{option}: invalid time; use an age (7d, 12h), a date (2026-11-24) or RFC 3339"
    ))
}

/// Keys of the projects that a scope means; none for all. A project that is unknown has a key that no
/// observation has.
async fn project_keys(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    scope: &MemoryScope,
) -> Result<Vec<String>, MemoryRefusal> {
    if scope.all_projects {
        return Ok(Vec::new());
    }
    let Some(asked) = scope.project.clone() else {
        let own = caller_project(engine, caller);
        // Observations imported under the name of the folder belong to it.
        let imported = MemoryProject::named(&own.name);
        return Ok(vec![own.key, imported.key]);
    };
    let mut keys = vec![MemoryProject::named(&asked).key];
    let root = caller.cwd.join(Path::new(&asked));
    if root.is_dir() {
        let at_root = CallerContext { cwd: root.clone(), root: Some(root), ..caller.clone() };
        let project = caller_project(engine, &at_root);
        keys.push(MemoryProject::named(&project.name).key);
        keys.push(project.key);
    }
    if engine.memory.exists() {
        let named = engine
            .memory
            .for_command()
            .read(move |database| database.projects_named(&asked))
            .await?;
        keys.extend(named.into_iter().map(|project| project.key));
    }
    keys.sort();
    keys.dedup();
    Ok(keys)
}
