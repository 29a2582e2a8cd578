//! Bringing a checkpoint back: the way from the files of now to those of then, and going it. What
//! stands there now is kept as a checkpoint first, so that nothing is lost. It must not know why
//! somebody wants it.

mod obstacles;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use super::checkpoints::{Keeper, Look};
use crate::base::change::{After, Change, ChangeSet};
use crate::base::hash::ContentHash;
use crate::base::limits::{RESTORE_BYTES_MAX, RESTORE_DIFF_BYTES_MAX, RESTORE_FILES_MAX};
use crate::base::path::RelPath;
use crate::base::tree::{Checkpoint, Kind, Node, Step, Tree, Way, way};
use crate::files::{Ignores, kinds};
use crate::report::rename::ChangedFile;

/// A checkpoint and what it takes to bring it back.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    target: Tree,
    present: Look,
    pub(super) way: Way,
    /// What goes before the rest has room: files in place of folders, and what is in folders in
    /// place of files.
    first: BTreeSet<RelPath>,
}

/// What happens to files.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Those of regular files; contents are read from the checkpoints, and the disk is held against
    /// them when the set is made.
    pub(super) set: ChangeSet,
    /// Files that become programs or stop being ones.
    programs: Vec<(RelPath, bool)>,
    /// Where links lead, now and then; `None` where there is none.
    links: Vec<(RelPath, [Option<PathBuf>; 2])>,
}

/// The way to a checkpoint from here; the error is the reason why there is none.
pub(super) fn plan(
    keeper: &Keeper,
    all: &[Checkpoint],
    checkpoint: &Checkpoint,
) -> Result<Plan, String> {
    let target = keeper.tree(checkpoint)?;
    let present = keeper.look(&target.nodes.keys().cloned().collect())?;
    let is_new = |path: &&RelPath| !target.nodes.contains_key(*path);
    let new: BTreeSet<RelPath> = present.tree.nodes.keys().filter(is_new).cloned().collect();
    // Those made before a restore hold what the user added meanwhile.
    let of_loop = |it: &&Checkpoint| {
        it.owner == checkpoint.owner && it.name.bytes().all(|byte| byte.is_ascii_digit())
    };
    let of_loop: Vec<Checkpoint> = all.iter().filter(of_loop).cloned().collect();
    let made = keeper.held(&of_loop, &new)?;
    let mut way = way(&present.tree, &target, &made);
    for (path, reason) in not_made(keeper, checkpoint, (&present.tree, &target), &made)? {
        if way.steps.remove(path).is_some() {
            way.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    let is_link = |node: &Node| node.kind == Kind::Link;
    for (path, now) in &present.tree.nodes {
        let Some(then) = target.nodes.get(path) else { continue };
        if is_link(now) != is_link(then) && way.steps.remove(path).is_some() {
            let reason = "a symbolic link now or then, and a file at the other time";
            way.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    let first = obstacles::clear(&keeper.root, &mut way);
    if way.steps.len() > RESTORE_FILES_MAX {
        return Err(format!("more than {RESTORE_FILES_MAX} files would change"));
    }
    Ok(Plan { target, present, way, first })
}

/// Those of the files that a later checkpoint holds and the target does not, which the loop did not
/// make all the same: they stood there already. With the reason.
fn not_made<'p>(
    keeper: &Keeper,
    checkpoint: &Checkpoint,
    (present, target): (&Tree, &Tree),
    made: &'p BTreeSet<RelPath>,
) -> Result<Vec<(&'p RelPath, &'static str)>, String> {
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let mut ignores = Ignores::default();
    for (path, node) in target.nodes.iter().filter(|(path, _)| Ignores::is_one(path)) {
        ignores.add(path, &String::from_utf8_lossy(&keeper.content(&node.content)?));
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
        path if ignores.cover(path) => Some((path, "ignored at that time")),
        path if is_older(path) => Some((path, "older than the checkpoint")),
        _ => None,
    };
    Ok(made.iter().filter_map(reason).collect())
}

impl Plan {
    /// The texts before and after, of those files that are texts, as many as a person reads.
    pub(super) fn texts(&self, keeper: &Keeper) -> Vec<ChangedFile> {
        let mut room = RESTORE_DIFF_BYTES_MAX;
        let mut text = |tree: &Tree, path: &RelPath| -> Option<Option<String>> {
            let Some(node) = tree.nodes.get(path) else { return Some(None) };
            let bytes = keeper.content(&node.content).ok().filter(|it| it.len() <= room)?;
            room -= bytes.len();
            String::from_utf8(bytes).ok().map(Some)
        };
        let files = self.way.steps.keys().filter_map(|path| {
            let before = text(&self.present.tree, path)?;
            let after = text(&self.target, path)?;
            Some(ChangedFile { path: path.to_string(), moved_from: None, before, after })
        });
        files.filter(|file| file.before != file.after).collect()
    }

    /// Keeps what stands there now, under a name that says so.
    pub(super) fn keep_present(
        &self,
        keeper: &Keeper,
        all: &[Checkpoint],
        owner: &str,
    ) -> Result<String, String> {
        let is_taken = |name: &str| all.iter().any(|it| it.owner == owner && it.name == name);
        let names = (1u32..).map(|number| format!("before-{number}"));
        let name = names.into_iter().find(|name| !is_taken(name)).unwrap_or_default();
        keeper.keep(&self.present, owner, &name).map(|_| name)
    }

    /// What goes before the rest has room; mostly nothing.
    pub(super) fn first(&self, keeper: &Keeper) -> Result<Changes, String> {
        let mut changes = Changes::between(keeper, self.first.iter(), (self.now(), self.then()))?;
        changes.set.emptied = self.emptied(|path| self.first.contains(path));
        Ok(changes)
    }

    /// Everything else.
    pub(super) fn rest(&self, keeper: &Keeper) -> Result<Changes, String> {
        let rest = self.way.steps.keys().filter(|path| !self.first.contains(*path));
        let mut changes = Changes::between(keeper, rest, (self.now(), self.then()))?;
        changes.set.emptied = self.emptied(|path| !self.first.contains(path));
        Ok(changes)
    }

    /// What takes [`Plan::first`] back.
    pub(super) fn back(&self, keeper: &Keeper) -> Result<Changes, String> {
        Changes::between(keeper, self.first.iter(), (&BTreeMap::new(), self.now()))
    }

    fn now(&self) -> &BTreeMap<RelPath, Node> {
        &self.present.tree.nodes
    }

    fn then(&self) -> &BTreeMap<RelPath, Node> {
        &self.target.nodes
    }

    /// Folders that lose files and of which the target knows nothing.
    fn emptied(&self, is_meant: impl Fn(&RelPath) -> bool) -> Vec<RelPath> {
        let removed = self.way.steps.iter().filter(|(_, step)| **step == Step::Removed);
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

impl Changes {
    /// What leads from some nodes to others, for these paths.
    fn between<'p>(
        keeper: &Keeper,
        paths: impl Iterator<Item = &'p RelPath>,
        (now, then): (&BTreeMap<RelPath, Node>, &BTreeMap<RelPath, Node>),
    ) -> Result<Self, String> {
        let mut changes = Self::default();
        let mut room = RESTORE_BYTES_MAX;
        let mut read = |node: &Node| -> Result<Vec<u8>, String> {
            let bytes = keeper.content(&node.content)?;
            room = room
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("more than {} MiB would change", RESTORE_BYTES_MAX >> 20))?;
            Ok(bytes)
        };
        for path in paths {
            let (now, then) = (now.get(path), then.get(path));
            let is_link = now.or(then).is_some_and(|node| node.kind == Kind::Link);
            if is_link {
                let mut leads = |node: Option<&Node>| {
                    let bytes = node.map(&mut read).transpose()?;
                    Ok::<_, String>(bytes.map(|it| PathBuf::from(OsString::from_vec(it))))
                };
                changes.links.push((path.clone(), [leads(now)?, leads(then)?]));
                continue;
            }
            if let Some(then) = then {
                let was_program = now.is_some_and(|now| now.kind == Kind::Program);
                let is_program = then.kind == Kind::Program;
                if was_program != is_program {
                    changes.programs.push((path.clone(), is_program));
                }
            }
            if now.map(|now| &now.content) == then.map(|then| &then.content) {
                continue;
            }
            let before = now.map(&mut read).transpose()?.map(|bytes| ContentHash::of(&bytes));
            let after = then.map(&mut read).transpose()?;
            let after = after.map(|bytes| After { bytes: bytes.into(), like: None });
            changes.set.changes.push(Change { path: path.clone(), before, after });
        }
        Ok(changes)
    }

    /// What the set cannot say, once it is made: programs and links. Returns what could not be
    /// done.
    pub(super) fn finish(self, keeper: &Keeper) -> BTreeMap<String, String> {
        let mut failed = BTreeMap::new();
        for (path, is_program) in self.programs {
            if let Err(error) = kinds::set_program(&keeper.root, &path, is_program) {
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
