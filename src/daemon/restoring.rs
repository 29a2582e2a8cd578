//! Bringing a checkpoint back: the way from the files of now to those of then, and going it. What
//! stands there now is kept as a checkpoint first, so that nothing is lost. It must not know why
//! somebody wants it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::checkpoints::{Keeper, Look};
use crate::base::change::{After, Change, ChangeSet};
use crate::base::hash::ContentHash;
use crate::base::limits::{RESTORE_BYTES_MAX, RESTORE_DIFF_BYTES_MAX, RESTORE_FILES_MAX};
use crate::base::path::RelPath;
use crate::base::tree::{Checkpoint, Kind, Node, Step, Tree, Way, way};
use crate::files::kinds;
use crate::report::rename::ChangedFile;

/// A checkpoint and what it takes to bring it back.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    target: Tree,
    present: Look,
    pub(super) way: Way,
}

/// What happens to regular files.
#[derive(Debug, Default)]
struct Changes {
    set: ChangeSet,
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
    let is_link = |node: &Node| node.kind == Kind::Link;
    for (path, now) in &present.tree.nodes {
        let Some(then) = target.nodes.get(path) else { continue };
        if is_link(now) != is_link(then) && way.steps.remove(path).is_some() {
            let reason = "a symbolic link now or then, and a file at the other time";
            way.untouched.insert(path.to_string(), reason.to_owned());
        }
    }
    if way.steps.len() > RESTORE_FILES_MAX {
        return Err(format!("more than {RESTORE_FILES_MAX} files would change"));
    }
    Ok(Plan { target, present, way })
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

    /// The changes of files; contents are read from the checkpoints, and the disk is held against
    /// them when the set is made.
    pub(super) fn changes(&self, keeper: &Keeper) -> Result<ChangeSet, String> {
        self.all_changes(keeper).map(|changes| changes.set)
    }

    /// What a set of changes cannot say: programs and links. Returns what could not be done.
    pub(super) fn finish(&self, keeper: &Keeper) -> Result<BTreeMap<String, String>, String> {
        let mut failed = BTreeMap::new();
        let changes = self.all_changes(keeper)?;
        for (path, is_program) in changes.programs {
            if let Err(error) = kinds::set_program(&keeper.root, &path, is_program) {
                failed.insert(path.to_string(), error.to_string());
            }
        }
        for (path, [before, after]) in changes.links {
            let set = kinds::set_link(&keeper.root, &path, before.as_deref(), after.as_deref());
            if let Err(error) = set {
                failed.insert(path.to_string(), error.to_string());
            }
        }
        Ok(failed)
    }

    fn all_changes(&self, keeper: &Keeper) -> Result<Changes, String> {
        let mut changes = Changes::default();
        let mut room = RESTORE_BYTES_MAX;
        let mut read = |node: &Node| -> Result<Vec<u8>, String> {
            let bytes = keeper.content(&node.content)?;
            room = room
                .checked_sub(bytes.len())
                .ok_or_else(|| format!("more than {} MiB would change", RESTORE_BYTES_MAX >> 20))?;
            Ok(bytes)
        };
        for path in self.way.steps.keys() {
            let (now, then) = (self.present.tree.nodes.get(path), self.target.nodes.get(path));
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
        changes.set.emptied = self.emptied();
        Ok(changes)
    }

    /// Folders that lose files and of which the target knows nothing.
    fn emptied(&self) -> Vec<RelPath> {
        let removed = self.way.steps.iter().filter(|(_, step)| **step == Step::Removed);
        let known: BTreeSet<&str> =
            self.target.nodes.keys().flat_map(|path| folders(path.as_str())).collect();
        let first = |path: &RelPath| {
            let unknown = folders(path.as_str()).find(|folder| !known.contains(folder));
            unknown.and_then(RelPath::parse)
        };
        let emptied: BTreeSet<RelPath> = removed.filter_map(|(path, _)| first(path)).collect();
        emptied.into_iter().collect()
    }
}

/// The folders above a path, the highest first.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}
