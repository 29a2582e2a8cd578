//! `rename`: a symbol gets another name wherever it is spoken of, in all files or in none.

mod measured;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use self::measured::Before;
use super::replies::{REFUSED, UNMEASURED, asked, ended, load, no_reply};
use crate::base::finding::Severity;
use crate::base::limits::RENAME_TRIES_MAX;
use crate::base::path::RelPath;
use crate::base::text::{LineIndex, Range};
use crate::base::verdict::{Cause, Gap};
use crate::daemon::changes;
use crate::daemon::edit_tree;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::project::Project;
use crate::daemon::queries::{self, Target, Wanted};
use crate::files::{self, Stamp};
use crate::lsp::edits::{EditPlan, Refusal, Tree, WorkspaceEdit, misshapen, never_a_name, plan};
use crate::lsp::session::Replied;
use crate::report::answers::{Asked, No};
use crate::report::rename::{self as report, ChangedFile, Renamed};
use crate::report::tools;
use crate::wire::control::{Caller, Rename, Reply};
use crate::wire::lsp::answers::{Renameable, renameable};

const SCHEMA: &str = "moai-ralph/rename@1";

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wish: Rename) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut asked = asked("rename", &project, caller);
    let deadline = begun + Duration::from_secs(wish.timeout_secs);
    let renamed = rename(engine, caller, &project, &wish, (&mut asked, deadline)).await;
    asked.elapsed_ms = ended(begun);
    let renamed = match renamed {
        Ok(renamed) => renamed,
        Err(no) => return no_reply(SCHEMA, &asked, &no, wish.json),
    };
    let stdout = if wish.json {
        format!("{:#}\n", report::json(&asked, &renamed))
    } else {
        report::text(&asked, &renamed)
    };
    let code = match &renamed.outcome {
        Some(it) if it.introduced().any(|one| one.severity == Severity::Error) => REFUSED,
        Some(it) if !it.is_all_measured() || it.unknown().next().is_some() => UNMEASURED,
        _ => 0,
    };
    let document = caller.is_tool.then(|| tools::rename(&asked, &renamed).into());
    Reply { stdout, document, code, ..Reply::default() }
}

/// A plan, and what it was made from.
struct Planned {
    plan: EditPlan,
    tree: Tree,
    old_name: Option<String>,
}

async fn rename(
    engine: &Arc<Engine>,
    caller: &Caller,
    project: &Project,
    wish: &Rename,
    (asked, deadline): (&mut Asked, Instant),
) -> Result<Renamed, No> {
    if let Some(reason) = never_a_name(&wish.new_name) {
        return Err(No::Invalid(reason));
    }
    let mut tries = 0;
    let planned = loop {
        tries += 1;
        // Before anything is read: whatever is written from here on is noticed.
        let stamps = stamps(project).await;
        let target = queries::target(engine, project, caller, &wish.at).await?;
        asked.server = Some(target.choice.id.clone());
        asked.at = Some((target.snapshot.path.to_string(), Some(target.position)));
        let planned = propose(engine, project, &target, wish, deadline).await?;
        if is_as_seen(project, &planned, stamps).await {
            break planned;
        }
        if tries >= RENAME_TRIES_MAX {
            let gap = Gap::new(Cause::Superseded, "files changed while it was asked");
            return Err(No::Unmeasured { server: target.choice.id, gap });
        }
    };
    let mut renamed = Renamed {
        old_name: planned.old_name.clone(),
        new_name: wish.new_name.clone(),
        edits: planned.plan.edits,
        files: changed_files(&planned),
        outcome: None,
    };
    if wish.apply {
        let before = Before::measure(engine, project, &planned.plan.set, deadline).await;
        let set = planned.plan.set.clone();
        let refused = |kind, reason| Err(No::Refused { kind, reason });
        match changes::apply(engine, project, set).await {
            Some(Ok(())) => {}
            Some(Err(error)) => return refused("not_written", error.to_string()),
            None => return refused("not_written", "internal error; the next use mends it".into()),
        }
        renamed.outcome = Some(before.compare(engine, project, &renamed, deadline).await);
    }
    Ok(renamed)
}

/// The server's proposal, planned on the files as they are on disk.
async fn propose(
    engine: &Arc<Engine>,
    project: &Project,
    target: &Target,
    wish: &Rename,
    deadline: Instant,
) -> Result<Planned, No> {
    if let Some(gap) = queries::partial_knowledge(project, target) {
        let reason = format!("{}: {gap}", target.choice.id);
        return Err(No::Refused { kind: "partial_knowledge", reason });
    }
    let old_name = prepare(engine, project, target, deadline).await?;
    let (new_name, language_id) = (&wish.new_name, &target.choice.language_id);
    if let Some(reason) = misshapen(new_name, old_name.as_deref(), language_id) {
        return Err(No::Refused { kind: "invalid_name", reason });
    }
    let params = json!({"newName": wish.new_name});
    let wanted = Wanted::at("textDocument/rename", "renameProvider", params);
    // What cannot be read is refused below; it names no files.
    let files = |replied: &Replied| {
        let edit = WorkspaceEdit::parse(&replied.result).ok();
        edit.into_iter()
            .flat_map(|edit| edit.paths().into_iter().map(Path::to_path_buf).collect::<Vec<_>>())
            .collect()
    };
    let asking = (files, deadline);
    let (replied, gap) = queries::ask_about_all(engine, project, target, wanted, asking).await?;
    if let Some(gap) = gap {
        return Err(No::Unmeasured { server: target.choice.id.clone(), gap });
    }
    let refused = |refusal: Refusal| {
        let server = &target.choice.id;
        let reason = match refusal {
            Refusal::Empty => format!("{server}: {refusal}"),
            _ => refusal.to_string(),
        };
        No::Refused { kind: refusal.word(), reason }
    };
    let edit = WorkspaceEdit::parse(&replied.result).map_err(refused)?;
    if edit.is_alias_only(&wish.new_name) {
        return Err(refused(Refusal::AliasOnly(wish.new_name.clone())));
    }
    let sent = (replied.version, target.snapshot.hash);
    let open = BTreeMap::from([(target.snapshot.path.clone(), sent)]);
    let (root, encoding) = (project.root.clone(), replied.encoding);
    let planned = blocking(move || {
        let tree = edit_tree::read(&root, &edit, open)?;
        Ok((plan(&edit, &tree, encoding)?, tree))
    });
    let (plan, tree) = planned
        .await
        .unwrap_or_else(|| Err(Refusal::Malformed("internal error".to_owned())))
        .map_err(refused)?;
    Ok(Planned { plan, tree, old_name })
}

/// Asks whether there is something to rename, where the server can tell; the old name, as far as
/// it is known.
async fn prepare(
    engine: &Arc<Engine>,
    project: &Project,
    target: &Target,
    deadline: Instant,
) -> Result<Option<String>, No> {
    let text = &target.snapshot.text;
    let index = LineIndex::new(text);
    let capability = "renameProvider.prepareProvider";
    let wanted = Wanted::at("textDocument/prepareRename", capability, json!({}));
    let replied = match queries::ask(engine, project, target, wanted, deadline).await {
        Ok(replied) => replied,
        Err(No::Refused { kind: "unsupported", .. }) => return Ok(queries::identifier(target)),
        Err(no) => return Err(no),
    };
    let between = |Range { start, end }: Range| {
        let offset = |at| index.offset(at, replied.encoding);
        offset(start).zip(offset(end)).and_then(|(start, end)| text.get(start..end))
    };
    match renameable(&replied.result) {
        Some(Renameable::Name(name)) => Ok(Some(name)),
        Some(Renameable::Range(range)) => Ok(between(range).map(str::to_owned)),
        Some(Renameable::Default) => Ok(queries::identifier(target)),
        None => {
            let reason = format!("{}: nothing here can be renamed", target.choice.id);
            Err(No::Refused { kind: "not_renameable", reason })
        }
    }
}

/// When the files that a server may read were last written.
async fn stamps(project: &Project) -> BTreeMap<RelPath, Stamp> {
    let project = project.clone();
    let stamps = blocking(move || {
        let is_watched = |path: &RelPath| project.is_watched(path);
        files::stamps(&project.root, &files::walk_watched(&project.root, &is_watched))
    });
    stamps.await.unwrap_or_default()
}

/// Whether nobody wrote a file of the plan since the server was asked: it may have read the file
/// before, and positions in other bytes mean nothing.
async fn is_as_seen(project: &Project, planned: &Planned, seen: BTreeMap<RelPath, Stamp>) -> bool {
    let root = project.root.clone();
    let touched: Vec<RelPath> =
        planned.plan.set.changes.iter().map(|change| change.path.clone()).collect();
    let is_watched: Vec<RelPath> =
        touched.into_iter().filter(|path| project.is_watched(path)).collect();
    let compared = blocking(move || {
        let now = files::stamps(&root, &is_watched);
        is_watched.iter().all(|path| now.get(path) == seen.get(path))
    });
    compared.await.unwrap_or(false)
}

fn changed_files(planned: &Planned) -> Vec<ChangedFile> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let before = |path: &RelPath| planned.tree.files.get(path).map(|bytes| text(bytes));
    let changes = &planned.plan.set.changes;
    let moved: Vec<&RelPath> =
        changes.iter().filter_map(|change| change.after.as_ref()?.like.as_ref()).collect();
    let is_shown_as_move = |path: &RelPath, is_gone: bool| is_gone && moved.contains(&path);
    let file = |change: &crate::base::change::Change| {
        let moved_from = change.after.as_ref().and_then(|after| after.like.clone());
        ChangedFile {
            path: change.path.to_string(),
            before: before(moved_from.as_ref().unwrap_or(&change.path)),
            after: change.after.as_ref().map(|after| text(&after.bytes)),
            moved_from: moved_from.map(|path| path.to_string()),
        }
    };
    changes
        .iter()
        .filter(|change| !is_shown_as_move(&change.path, change.after.is_none()))
        .map(file)
        .collect()
}
