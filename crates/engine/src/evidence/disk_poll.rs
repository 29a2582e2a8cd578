//! Polls a root's files for changes by any writer: shell commands, formatters, git, other agents.
//! Announces them to the language servers, and lists for a session the changes it has not seen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::code::change_journal;
use crate::engine::{Engine, now_ms, run_blocking, run_to_completion};
use crate::evidence::outside_poll::stamp_outside;
use crate::evidence::poll_gate::{DiskEpoch, PollLimit, PollTurn, WatchFilter};
use crate::evidence::snapshot_measurement;
use crate::ledger::disk::{OutsidePoll, disk_changes};
use crate::ledger::folder_changes::folder_changes;
use crate::ledger::linked_paths::paths_through_links;
use crate::ledger::outside::outside_changes;
use crate::ledger::{DiskCursor, UnseenChanges};
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{CHANGED_INLINE_FILES_MAX, CHANGED_READ_FILES_MAX, SHARED_POLL_MS};
use moai_base::path::RelPath;
use moai_host::files::{self, NameWalk, Snapshot};
use moai_host::git;
use moai_host::servers::ServerReach;
use moai_lsp::session::{DiskChange, PresentText};

/// Announces the changes on disk since the last poll to the project's language servers.
pub(crate) async fn sync_disk(engine: &Arc<Engine>, project: &Project) -> DiskEpoch {
    let gate = engine.ledger().root(&project.root).poll_gate();
    let turn = match gate.enter().await {
        Ok(turn) => turn,
        Err(disk) => return disk,
    };
    let poll = poll_and_announce(Arc::clone(engine), project.clone(), turn);
    // Runs to the end even if the caller is dropped, because recorded changes must be announced.
    run_to_completion(Box::pin(poll)).await.unwrap_or_default()
}

async fn poll_and_announce(engine: Arc<Engine>, project: Project, turn: PollTurn) -> DiskEpoch {
    match poll_disk(&engine, &project, turn).await {
        Some(poll) => announce(&engine, &project, poll).await,
        None => DiskEpoch::default(),
    }
}

/// A poll whose changes are not announced yet.
struct UnannouncedPoll {
    turn: PollTurn,
    changes: PolledChanges,
}

/// Changes since the last poll.
struct PolledChanges {
    files: Vec<(PathBuf, DiskChange)>,
    /// The same files and folders by their paths through links to packages.
    through_links: Vec<(PathBuf, DiskChange)>,
}

/// Polls the root; `None` after a panic or for lack of descriptors or memory. At the first poll everything counts as
/// changed, because a server may still run from before this root was forgotten. Walk and stamps are one job, because
/// hooks wait for them and each job costs a change of threads.
async fn poll_disk(
    engine: &Arc<Engine>,
    project: &Project,
    mut turn: PollTurn,
) -> Option<UnannouncedPoll> {
    let reaches = engine.servers.reaches(project.root.clone()).await;
    let (engine, project) = (Arc::clone(engine), project.clone());
    let polled = run_blocking(move || {
        change_journal::recover(&change_journal::journal_folder(&engine, &project));
        let walk = walk_root(&project, &mut turn)?;
        let changes = poll_files(&engine, &project, &mut turn, &walk, &reaches)?;
        Some(UnannouncedPoll { turn, changes })
    });
    polled.await.flatten()
}

/// The names of the root's files. Callers that ask at nearly the same time share this poll, because walking
/// again takes less time than another poll: the walk begins again when it has lasted for [`SHARED_POLL_MS`]
/// or has ended. It begins again only once, so that a stream of callers does not delay the first.
fn walk_root(project: &Project, turn: &mut PollTurn) -> Option<NameWalk> {
    let callers = turn.callers();
    let share_at = Instant::now() + Duration::from_millis(SHARED_POLL_MS);
    let is_shared = OnceLock::new();
    let is_superseded = || match is_shared.get() {
        Some(is_shared) => *is_shared,
        None if Instant::now() < share_at => false,
        None => *is_shared.get_or_init(|| callers.are_waiting()),
    };
    let is_watched = |path: &RelPath| project.is_watched(path);
    let (catalogue, rules) = (Arc::clone(&project.watched_catalogue), Arc::clone(&project.rules));
    let filter = WatchFilter { catalogue, rules };
    let listings = turn.listings(filter.clone());
    let first_walk = listings.walk(&project.root, &is_watched, &is_superseded);
    if !turn.restart_if_awaited() {
        return first_walk;
    }
    turn.listings(filter).walk(&project.root, &is_watched, &|| false)
}

fn poll_files(
    engine: &Engine,
    project: &Project,
    turn: &mut PollTurn,
    walk: &NameWalk,
    reaches: &[ServerReach],
) -> Option<PolledChanges> {
    let root = &project.root;
    let mut ledger = engine.ledger();
    let disk = &ledger.root(root).disk;
    let (before, outside_before) = (disk.stamps(), disk.outside());
    drop(ledger);
    let now = files::stamp_sources(root, &walk.names)?;
    let changes = match &before {
        Some(before) => disk_changes(before, &now),
        None => now.keys().map(|path| (path.clone(), DiskChange::Changed)).collect(),
    };
    let stamps = stamp_outside(project, reaches, &outside_before, walk, turn.data_folders());
    let read_since_ns = |file: &Path| read_since_ns(reaches, file);
    let outside_changes = outside_changes(&outside_before, &stamps, &read_since_ns);
    let mut folders = Vec::new();
    if let Some(before) = &before {
        for (folder, change) in folder_changes(before, &now, &changes) {
            folders.push((root.join(folder), change));
        }
    }
    for (folder, change) in folder_changes(&outside_before.files, &stamps.files, &outside_changes) {
        if stamps.is_watched(&folder) {
            folders.push((folder, change));
        }
    }
    folders.retain(|(folder, change)| *change != DiskChange::Deleted || !folder.is_dir());
    let limit = match (walk.is_whole, stamps.is_whole) {
        (false, _) => Some(PollLimit::RootFiles),
        (true, false) => Some(PollLimit::OutsideFiles),
        (true, true) => None,
    };
    let has_outside_changes = !outside_changes.is_empty();
    let own = changes.iter().map(|(path, change)| (path.under(root), *change));
    let files: Vec<(PathBuf, DiskChange)> =
        folders.into_iter().chain(own).chain(outside_changes).collect();
    let mut through_links = Vec::new();
    if files.iter().any(|(_, change)| *change != DiskChange::Changed) {
        through_links = paths_through_links(&walk.linked_packages(root), &files);
    }
    let outside = OutsidePoll {
        stamps: Arc::new(stamps),
        has_changes: has_outside_changes,
        limit,
        at_ms: now_ms(),
    };
    engine.ledger().update_disk(root, Arc::new(now), &changes, outside);
    // Freed here, without the lock of the ledger.
    drop((before, outside_before));
    Some(PolledChanges { files, through_links })
}

/// When a server may first have read a file (nanoseconds since the epoch): at the start of the oldest server that
/// depends on it, or of the oldest one at all if no server has named it.
fn read_since_ns(reaches: &[ServerReach], file: &Path) -> i128 {
    let running = || reaches.iter().filter(|reach| reach.started_ns != 0);
    let of_readers = running().filter(|reach| reach.places.contains(file)).map(|it| it.started_ns);
    of_readers.min().or_else(|| running().map(|it| it.started_ns).min()).unwrap_or(i128::MAX)
}

async fn announce(engine: &Engine, project: &Project, poll: UnannouncedPoll) -> DiskEpoch {
    let UnannouncedPoll { turn, changes } = poll;
    let PolledChanges { mut files, through_links } = changes;
    if !files.is_empty() {
        let present = present_texts(project, &files).await;
        files.extend(through_links);
        engine.servers.files_changed(project.root.clone(), files, present).await;
    }
    let mut ledger = engine.ledger();
    let disk = &mut ledger.root(&project.root).disk;
    disk.announce();
    let polled = disk.last_poll();
    drop(ledger);
    turn.finish(polled)
}

/// The present texts of a few changed files, for their documents in language servers. Read after the poll,
/// because older texts must not count as present, and in a job of its own, because recorded changes are
/// announced even if one cannot be read.
async fn present_texts(project: &Project, changes: &[(PathBuf, DiskChange)]) -> Vec<PresentText> {
    if changes.len() > CHANGED_READ_FILES_MAX {
        return Vec::new();
    }
    let root = project.root.clone();
    let files: Vec<PathBuf> = changes.iter().map(|(file, _)| file.clone()).collect();
    let read = run_blocking(move || {
        let snapshots = files.iter().filter_map(|file| files::read_snapshot(&root, file).ok());
        let present =
            snapshots.map(|it| PresentText { path: it.path, text: it.text, hash: it.hash });
        present.collect()
    });
    read.await.unwrap_or_default()
}

/// Changes by other writers that a session has not seen.
#[derive(Debug, Default)]
pub(crate) struct UnseenFiles {
    /// The files to measure now; those known to the session or with results come first.
    pub(crate) to_measure: Vec<Snapshot>,
    /// Deleted source files.
    pub(crate) deleted: Vec<RelPath>,
    /// All existing changed files, including those to measure.
    pub(crate) changed: Vec<RelPath>,
    /// The changed files that cannot be read as source.
    pub(crate) unreadable: Vec<SkippedFile>,
    pub(crate) created: BTreeSet<RelPath>,
    /// True if these are the files that differ from HEAD, as at the first poll of a session. Their author is
    /// unknown.
    pub(crate) is_since_head: bool,
    /// The commit of HEAD, if it has moved.
    pub(crate) moved_head: Option<String>,
    /// The commit of HEAD when the session looked before, if it did.
    pub(crate) old_head: Option<String>,
    /// The poll that found them.
    pub(crate) disk: DiskEpoch,
}

/// Changes to report at a session's first poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstLook {
    /// None: the session begins.
    Nothing,
    /// Files written at this time, in nanoseconds since the epoch, or later.
    Since(i128),
    /// Files that differ from HEAD, by any author.
    SinceHead,
}

/// Polls the root and takes the changes that a session has not seen. Excludes files that git ignores,
/// files without a sensor, files with known bytes, and files that some session wrote with a tool,
/// whose hook reports them.
pub(crate) async fn take_unseen_files(
    engine: &Arc<Engine>,
    project: &Project,
    session: &str,
    first_look: FirstLook,
) -> UnseenFiles {
    let gate = engine.ledger().root(&project.root).poll_gate();
    let turn = gate.enter().await;
    let (engine, project) = (Arc::clone(engine), project.clone());
    let taking = take_unseen(engine, project, session.to_owned(), first_look, turn);
    run_to_completion(Box::pin(taking)).await.unwrap_or_default()
}

async fn take_unseen(
    engine: Arc<Engine>,
    project: Project,
    session: String,
    first_look: FirstLook,
    turn: Result<PollTurn, DiskEpoch>,
) -> UnseenFiles {
    let polled = match turn {
        Ok(turn) => poll_disk(&engine, &project, turn).await.map(Ok),
        // The poll of another caller announced them.
        Err(disk) => disk.epoch.map(|_| Err(disk)),
    };
    // The changes of a failed poll stay unseen; the session's next poll takes them.
    let Some(polled) = polled else { return UnseenFiles::default() };
    let root = project.root.clone();
    let head = run_blocking(move || git::head_commit(&root)).await.flatten();
    let seen = engine.ledger().take_unseen(&session, &project.root, head.clone());
    let since_ns = match first_look {
        FirstLook::Since(since_ns) => Some(since_ns),
        FirstLook::Nothing | FirstLook::SinceHead => None,
    };
    let UnseenChanges { mut files, created, before, .. } = seen.with_written_since(since_ns);
    let is_since_head = before.is_none() && first_look == FirstLook::SinceHead;
    if is_since_head {
        files = changed_since_head(&project).await;
    }
    let sorted = match files.as_slice() {
        [] => Some(UnseenFiles::default()),
        _ => sort_unseen(&engine, &project, &session, files, created.clone()).await,
    };
    let is_sorted = sorted.is_some();
    let mut unseen = sorted.unwrap_or_default();
    let disk = match polled {
        Err(disk) => disk,
        Ok(polled) => announce(&engine, &project, polled).await,
    };
    if !is_sorted {
        engine.ledger().session(&session).set_disk_cursor(&project.root, before);
        return unseen;
    }
    unseen.created = created;
    unseen.is_since_head = is_since_head;
    unseen.disk = disk;
    let old_head = before.map(|DiskCursor { head, .. }| head);
    unseen.moved_head =
        head.filter(|new| old_head.as_ref().is_some_and(|old| old.as_ref() != Some(new)));
    unseen.old_head = old_head.flatten();
    unseen
}

/// The files that differ from HEAD; none without git.
async fn changed_since_head(project: &Project) -> Vec<RelPath> {
    let root = project.root.clone();
    let changed = run_blocking(move || git::files_changed_since_head(&root)).await;
    let changed = changed.and_then(Result::ok).flatten().unwrap_or_default();
    changed.files.into_iter().chain(changed.deleted).collect()
}

/// Sorts unseen changes into those to measure, deleted and unreadable ones; `None` after a panic.
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
        let mut wanted = files;
        wanted.retain(|path| project.has_sensor(path) && files::is_real_path(root, path));
        // If git's data is unusable, ignored files are reported as well.
        let ignored = git::ignored_paths(root, &wanted).unwrap_or_default();
        wanted.retain(|path| !ignored.contains(path));
        let (mut changed, deleted): (Vec<RelPath>, Vec<RelPath>) =
            wanted.into_iter().partition(|path| engine.ledger().root(root).disk.is_there(path));
        let (written, _) = engine.ledger().session(&session).written(root);
        changed.sort_by_cached_key(|path| {
            let is_known = written.contains(path) || engine.ledger().root(root).is_known(path);
            (!is_known, path.clone())
        });
        let mut to_measure = Vec::new();
        let mut unreadable = Vec::new();
        if changed.len() <= CHANGED_READ_FILES_MAX {
            changed.retain(|path| {
                let snapshot = match files::read_snapshot(root, &path.under(root)) {
                    Ok(snapshot) => snapshot,
                    // An unreadable file is still a change.
                    Err(skipped) => {
                        unreadable.push(skipped);
                        return true;
                    }
                };
                let file = snapshot_measurement::selected_file(&engine, &project, path);
                let mut ledger = engine.ledger();
                ledger.session(&session).record_text(root, &snapshot);
                // A deleted file that was restored is reported, because it affects its dependents.
                let is_known = ledger.root(root).disk.is_tool_write(path, snapshot.hash)
                    || (!created.contains(path)
                        && ledger.root(root).is_verified(&file, snapshot.hash));
                drop(ledger);
                if !is_known && to_measure.len() < CHANGED_INLINE_FILES_MAX {
                    to_measure.push(snapshot);
                }
                !is_known
            });
        }
        UnseenFiles { to_measure, deleted, changed, unreadable, ..UnseenFiles::default() }
    });
    sorted.await
}
