//! Bringing a checkpoint back: the way from the files of now to those of then, and going it. What
//! stands there now is kept as a checkpoint first, so that nothing is lost. It must not know why
//! somebody wants it.

pub(crate) mod obstacles;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::restore::checkpoints::{CheckpointStore, TreeSnapshot};
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::hash::ContentHash;
use moai_base::limits::{RESTORE_BYTES_MAX, RESTORE_DIFF_BYTES_MAX, RESTORE_FILES_MAX};
use moai_base::path::RelPath;
use moai_base::tree::{
    Checkpoint, FileKind, FileNode, FileTree, RestoreStep, RestoreSteps, restore_steps,
};
use moai_host::files::{IgnoreRules, kinds};
use moai_report::rename::ChangedFile;

/// A checkpoint and what it takes to bring it back.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointRestore {
    target: FileTree,
    present: TreeSnapshot,
    pub(crate) actions: RestoreSteps,
    /// What goes before the rest has room: files in place of folders, and what is in folders in
    /// place of files.
    clear_first: BTreeSet<RelPath>,
}

/// What happens to files.
#[derive(Debug, Default)]
pub(crate) struct RestoreChanges {
    /// Those of regular files; contents are read from the checkpoints, and the disk is held against
    /// them when the set is made.
    pub(crate) set: ChangeSet,
    /// Files that become programs or stop being ones.
    programs: Vec<(RelPath, bool)>,
    /// Where links lead, now and then; `None` where there is none.
    links: Vec<(RelPath, [Option<PathBuf>; 2])>,
}

/// The way to a checkpoint from here; the error is the reason why there is none.
pub(crate) fn plan_restore(
    keeper: &CheckpointStore,
    all: &[Checkpoint],
    checkpoint: &Checkpoint,
) -> Result<CheckpointRestore, String> {
    let target = keeper.tree(checkpoint)?;
    let present = keeper.snapshot(&target.nodes.keys().cloned().collect())?;
    let is_new = |path: &&RelPath| !target.nodes.contains_key(*path);
    let new: BTreeSet<RelPath> = present.tree.nodes.keys().filter(is_new).cloned().collect();
    // Those made before a restore hold what the user added meanwhile.
    let of_loop = |it: &&Checkpoint| {
        it.owner == checkpoint.owner && it.name.bytes().all(|byte| byte.is_ascii_digit())
    };
    let of_loop: Vec<Checkpoint> = all.iter().filter(of_loop).cloned().collect();
    let made = keeper.held(&of_loop, &new)?;
    let mut way = restore_steps(&present.tree, &target, &made);
    for (path, reason) in not_made_by_loop(keeper, checkpoint, (&present.tree, &target), &made)? {
        if way.steps.remove(path).is_some() {
            way.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    let is_link = |node: &FileNode| node.kind == FileKind::Link;
    for (path, now) in &present.tree.nodes {
        let Some(then) = target.nodes.get(path) else { continue };
        if is_link(now) != is_link(then) && way.steps.remove(path).is_some() {
            let reason = "a symbolic link now or then, and a file at the other time";
            way.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    let first = obstacles::resolve_obstacles(&keeper.root, &mut way);
    if way.steps.len() > RESTORE_FILES_MAX {
        return Err(format!("more than {RESTORE_FILES_MAX} files would change"));
    }
    Ok(CheckpointRestore { target, present, actions: way, clear_first: first })
}

/// Those of the files that a later checkpoint holds and the target does not, which the loop did not
/// make all the same: they stood there already. With the reason.
fn not_made_by_loop<'p>(
    keeper: &CheckpointStore,
    checkpoint: &Checkpoint,
    (present, target): (&FileTree, &FileTree),
    made: &'p BTreeSet<RelPath>,
) -> Result<Vec<(&'p RelPath, &'static str)>, String> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let mut ignores = IgnoreRules::default();
    for (path, node) in target.nodes.iter().filter(|(path, _)| IgnoreRules::is_ignore_file(path)) {
        ignores.add_file(path, &String::from_utf8_lossy(&keeper.content(&node.content)?));
    }
    let then: BTreeSet<&str> = target.nodes.values().map(|node| node.content.as_str()).collect();
    // What moves with its folder stays as old as it is, but then its content was there before.
    let is_older = |path: &RelPath| {
        let is_known =
            present.nodes.get(path).is_some_and(|node| then.contains(node.content.as_str()));
        let metadata = path.under(&keeper.root).symlink_metadata();
        !is_known && metadata.is_ok_and(|it| it.ctime() < checkpoint.at_secs)
    };
    let reason = |path: &'p RelPath| match path {
        path if ignores.excludes(path) => Some((path, "ignored at that time")),
        path if is_older(path) => Some((path, "older than the checkpoint")),
        _ => None,
    };
    Ok(made.iter().filter_map(reason).collect())
}

impl CheckpointRestore {
    /// The texts before and after, of those files that are texts, as many as a person reads.
    pub(crate) fn texts(&self, keeper: &CheckpointStore) -> Vec<ChangedFile> {
        let mut room = RESTORE_DIFF_BYTES_MAX;
        let mut text = |tree: &FileTree, path: &RelPath| -> Option<Option<String>> {
            let Some(node) = tree.nodes.get(path) else { return Some(None) };
            let bytes = keeper.content(&node.content).ok().filter(|it| it.len() <= room)?;
            room -= bytes.len();
            String::from_utf8(bytes).ok().map(Some)
        };
        let files = self.actions.steps.keys().filter_map(|path| {
            let before = text(&self.present.tree, path)?;
            let after = text(&self.target, path)?;
            Some(ChangedFile { path: path.to_string(), moved_from: None, before, after })
        });
        files.filter(|file| file.before != file.after).collect()
    }

    /// Keeps what stands there now, under a name that says so.
    pub(crate) fn keep_present(
        &self,
        keeper: &CheckpointStore,
        all: &[Checkpoint],
        owner: &str,
    ) -> Result<String, String> {
        let is_taken = |name: &str| all.iter().any(|it| it.owner == owner && it.name == name);
        let names = (1u32..).map(|number| format!("before-{number}"));
        let name = names.into_iter().find(|name| !is_taken(name)).unwrap_or_default();
        keeper.keep(&self.present, owner, &name).map(|_| name)
    }

    /// What goes before the rest has room; mostly nothing.
    pub(crate) fn clearing_changes(
        &self,
        keeper: &CheckpointStore,
    ) -> Result<RestoreChanges, String> {
        let mut changes =
            RestoreChanges::between(keeper, self.clear_first.iter(), (self.now(), self.then()))?;
        changes.set.emptied_folders = self.emptied(|path| self.clear_first.contains(path));
        Ok(changes)
    }

    /// Everything else.
    pub(crate) fn remaining_changes(
        &self,
        keeper: &CheckpointStore,
    ) -> Result<RestoreChanges, String> {
        let rest = self.actions.steps.keys().filter(|path| !self.clear_first.contains(*path));
        let mut changes = RestoreChanges::between(keeper, rest, (self.now(), self.then()))?;
        changes.set.emptied_folders = self.emptied(|path| !self.clear_first.contains(path));
        Ok(changes)
    }

    /// What takes [`Self::clearing_changes`] back.
    pub(crate) fn undo_clearing(&self, keeper: &CheckpointStore) -> Result<RestoreChanges, String> {
        RestoreChanges::between(keeper, self.clear_first.iter(), (&BTreeMap::new(), self.now()))
    }

    fn now(&self) -> &BTreeMap<RelPath, FileNode> {
        &self.present.tree.nodes
    }

    fn then(&self) -> &BTreeMap<RelPath, FileNode> {
        &self.target.nodes
    }

    /// Folders that lose files and of which the target knows nothing.
    fn emptied(&self, is_meant: impl Fn(&RelPath) -> bool) -> Vec<RelPath> {
        let removed = self.actions.steps.iter().filter(|(_, step)| **step == RestoreStep::Removed);
        let known: BTreeSet<&str> = self.target.nodes.keys().flat_map(RelPath::folders).collect();
        let first = |path: &RelPath| {
            let unknown = path.folders().find(|folder| !known.contains(folder));
            unknown.and_then(RelPath::parse)
        };
        let meant = removed.filter(|(path, _)| is_meant(path));
        let emptied: BTreeSet<RelPath> = meant.filter_map(|(path, _)| first(path)).collect();
        emptied.into_iter().collect()
    }
}

impl RestoreChanges {
    /// What leads from some nodes to others, for these paths.
    fn between<'p>(
        keeper: &CheckpointStore,
        paths: impl Iterator<Item = &'p RelPath>,
        (now, then): (&BTreeMap<RelPath, FileNode>, &BTreeMap<RelPath, FileNode>),
    ) -> Result<Self, String> {
        let mut changes = Self::default();
        let mut room = RESTORE_BYTES_MAX;
        let mut read = |node: &FileNode| -> Result<Vec<u8>, String> {
            let bytes = keeper.content(&node.content)?;
            room = room
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("more than {} MiB would change", RESTORE_BYTES_MAX >> 20))?;
            Ok(bytes)
        };
        for path in paths {
            let (now, then) = (now.get(path), then.get(path));
            let is_link = now.or(then).is_some_and(|node| node.kind == FileKind::Link);
            if is_link {
                let mut leads = |node: Option<&FileNode>| {
                    let bytes = node.map(&mut read).transpose()?;
                    Ok::<_, String>(bytes.map(|it| PathBuf::from(OsString::from_vec(it))))
                };
                changes.links.push((path.clone(), [leads(now)?, leads(then)?]));
                continue;
            }
            if let Some(then) = then {
                let was_program = now.is_some_and(|now| now.kind == FileKind::Program);
                let is_program = then.kind == FileKind::Program;
                if was_program != is_program {
                    changes.programs.push((path.clone(), is_program));
                }
            }
            if now.map(|now| &now.content) == then.map(|then| &then.content) {
                continue;
            }
            let before = now.map(&mut read).transpose()?.map(|bytes| ContentHash::of_bytes(&bytes));
            let after = then.map(&mut read).transpose()?;
            let after =
                after.map(|bytes| NewContent { bytes: bytes.into(), permissions_from: None });
            changes.set.changes.push(PathChange { path: path.clone(), before, after });
        }
        Ok(changes)
    }

    /// What the set cannot say, once it is made: programs and links. Returns what could not be
    /// done.
    pub(crate) fn finish(self, keeper: &CheckpointStore) -> BTreeMap<String, String> {
        let mut failed = BTreeMap::new();
        for (path, is_program) in self.programs {
            if let Err(error) = kinds::set_executable(&keeper.root, &path, is_program) {
                failed.insert(path.to_string(), error.to_string());
            }
        }
        for (path, [before, after]) in self.links {
            let set = kinds::set_link(&keeper.root, &path, before.as_deref(), after.as_deref());
            if let Err(error) = set {
                failed.insert(path.to_string(), error.to_string());
            }
        }
        failed
    }
}
