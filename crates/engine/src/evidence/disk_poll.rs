//! Looks at a root's files for what was written since the last look, by whomever: the shell,
//! formatters, git, other agents. Language servers hear of it, and a session is given what it has
//! not seen. It must not know what is done about it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::evidence::gather;
use crate::ledger::{DiskCursor, UnseenChanges};
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{CHANGED_INLINE_FILES_MAX, CHANGED_READ_FILES_MAX};
use moai_base::path::RelPath;
use moai_host::files::{self, Snapshot};
use moai_host::git;
use moai_host::servers::MeasureTarget;
use moai_lsp::session::DiskChange;

/// What a look found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskEpoch {
    /// The root's epoch after the look; `None` when the look was lost, so that nobody knows what
    /// changed.
    pub(crate) epoch: Option<u64>,
}

/// Tells the language servers of the project what was written on disk since the last look. One
/// look at a root at a time: two that overlap would tell the servers an older state last.
pub(crate) async fn sync_disk(
    engine: &Arc<Engine>,
    project: &Project,
    asked: &[Snapshot],
) -> DiskEpoch {
    let turn = engine.ledger().poll_lock(&project.root);
    let _turn = turn.acquire().await;
    let Some(changes) = poll_disk(engine, project).await else { return DiskEpoch { epoch: None } };
    let asked = asked.iter().map(|snapshot| snapshot.path.clone()).collect();
    announce(engine, project, changes, asked).await;
    DiskEpoch { epoch: Some(engine.ledger().epoch(&project.root)) }
}

fn asked_file(engine: &Engine, project: &Project, path: RelPath) -> MeasureTarget {
    let choices = gather::select_servers(engine, project, &path);
    let servers = choices.into_iter().flatten().map(|choice| choice.id).collect();
    MeasureTarget { path, servers }
}

/// What changed since the last look; `None` when it was lost.
async fn poll_disk(engine: &Arc<Engine>, project: &Project) -> Option<Vec<(PathBuf, DiskChange)>> {
    let (root, watched) = (project.root.clone(), project.clone());
    let stamps = run_blocking(move || {
        let is_watched = |path: &RelPath| watched.is_watched(path);
        files::stamp_files(&root, &files::walk_names(&root, &is_watched))
    });
    let stamps = stamps.await?;
    Some(engine.ledger().update_disk(&project.root, stamps))
}

async fn announce(
    engine: &Arc<Engine>,
    project: &Project,
    changes: Vec<(PathBuf, DiskChange)>,
    asked: Vec<RelPath>,
) {
    if !changes.is_empty() {
        let asked = asked.into_iter().map(|path| asked_file(engine, project, path)).collect();
        engine.servers.files_changed(project.root.clone(), changes, asked).await;
    }
    engine.ledger().announce(&project.root);
}

/// What a session has not seen yet of what others wrote.
#[derive(Debug, Default)]
pub(crate) struct UnseenFiles {
    /// The files to be measured now: those of interest first.
    pub(crate) to_measure: Vec<Snapshot>,
    /// Source files that vanished.
    pub(crate) deleted: Vec<RelPath>,
    /// All changed files that are there, the fresh ones too.
    pub(crate) changed: Vec<RelPath>,
    /// Those of the changed files that cannot be read as source.
    pub(crate) unreadable: Vec<SkippedFile>,
    /// The new ones.
    pub(crate) created: BTreeSet<RelPath>,
    /// The commit of HEAD, when it has moved.
    pub(crate) moved_head: Option<String>,
    /// The root's epoch.
    pub(crate) epoch: u64,
}

/// Looks, and gives a session what it has not seen: without files that git ignores, that nobody
/// measures, whose bytes are known, or that some session wrote by a tool and is told about. What
/// was written since `since_ns` counts for a session that has never looked.
pub(crate) async fn take_unseen_files(
    engine: &Arc<Engine>,
    project: &Project,
    session: &str,
    since_ns: Option<i128>,
) -> UnseenFiles {
    let turn = engine.ledger().poll_lock(&project.root);
    let _turn = turn.acquire().await;
    // A session has not seen what is lost: its next look tells it.
    let Some(changes) = poll_disk(engine, project).await else { return UnseenFiles::default() };
    let root = project.root.clone();
    let head = run_blocking(move || git::head_commit(&root)).await.flatten();
    let seen = engine.ledger().take_unseen(session, &project.root, head.clone(), since_ns);
    let UnseenChanges { files, created, before } = seen;
    let sorted = match files.as_slice() {
        [] => Some(UnseenFiles::default()),
        _ => sort_unseen(engine, project, session, files, created.clone()).await,
    };
    let Some(mut unseen) = sorted else {
        engine.ledger().set_disk_cursor(session, &project.root, before);
        announce(engine, project, changes, Vec::new()).await;
        return UnseenFiles::default();
    };
    unseen.created = created;
    unseen.epoch = engine.ledger().epoch(&project.root);
    let was = before.map(|DiskCursor { head, .. }| head);
    unseen.moved_head = head.filter(|now| was.is_some_and(|was| was.as_ref() != Some(now)));
    let asked = unseen.to_measure.iter().map(|snapshot| snapshot.path.clone()).collect();
    announce(engine, project, changes, asked).await;
    unseen
}

async fn sort_unseen(
    engine: &Arc<Engine>,
    project: &Project,
    session: &str,
    files: Vec<RelPath>,
    created: BTreeSet<RelPath>,
) -> Option<UnseenFiles> {
    let (engine, project, session) = (Arc::clone(engine), project.clone(), session.to_owned());
    let sorted = run_blocking(move || {
        let root = &project.root;
        let is_meant = |path: &RelPath| project.has_sensor(path) && files::is_real_path(root, path);
        let wanted: Vec<RelPath> = files.into_iter().filter(is_meant).collect();
        // Where git's data cannot be used, more is told.
        let ignored = git::ignored_paths(root, &wanted).unwrap_or_default();
        let wanted = wanted.into_iter().filter(|path| !ignored.contains(path));
        let is_there = |path: &RelPath| engine.ledger().is_there(root, path);
        let (mut changed, gone): (Vec<RelPath>, Vec<RelPath>) = wanted.partition(is_there);
        let (written, _) = engine.ledger().written(&session, root);
        let is_dear =
            |path: &RelPath| written.contains(path) || engine.ledger().is_known(root, path);
        changed.sort_by_cached_key(|path| (!is_dear(path), path.clone()));
        let (mut fresh, mut unread) = (Vec::new(), Vec::new());
        if changed.len() <= CHANGED_READ_FILES_MAX {
            changed.retain(|path| {
                let snapshot = match files::read_snapshot(root, &path.under(root)) {
                    Ok(snapshot) => snapshot,
                    // What cannot be read is still a change.
                    Err(skipped) => {
                        unread.push(skipped);
                        return true;
                    }
                };
                let mut ledger = engine.ledger();
                ledger.record_text(&session, root, &snapshot);
                // A file that was put back as it was concerns those that mention it.
                let is_verified = || ledger.is_verified(root, path, snapshot.hash);
                let is_known = ledger.has_writer(root, path, snapshot.hash)
                    || (!created.contains(path) && is_verified());
                drop(ledger);
                if !is_known && fresh.len() < CHANGED_INLINE_FILES_MAX {
                    fresh.push(snapshot);
                }
                !is_known
            });
        }
        UnseenFiles {
            to_measure: fresh,
            deleted: gone,
            changed,
            unreadable: unread,
            ..UnseenFiles::default()
        }
    });
    sorted.await
}
