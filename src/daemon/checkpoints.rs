//! Checkpoints of a loop: the files below its root, kept by git under refs of our own, or as copies
//! in the project's private folder where there is no git. It must not know when one is due.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::engine::{Engine, now_ms, run_blocking};
use super::project::Project;
use super::{judged_change, loop_files};
use crate::base::limits::{CHECKPOINT_LOOPS_MAX, CHECKPOINTS_PER_LOOP_MAX};
use crate::base::path::RelPath;
use crate::base::protected::foreign_folder;
use crate::base::tree::{Checkpoint, FileNode, FileTree};
use crate::base::verdict::{Cause, Gap};
use crate::files::copies;
use crate::git::checkpoint::{self as refs, SnapshotFilter};
use crate::looping::facts::WorkChange;
use crate::looping::wiki;
use crate::store::{PROJECTS_FOLDER, markers};

/// Files in which a loop remembers what it tried. They are not part of what it made: to bring a
/// checkpoint back must not bring back what was known then, and a tree is not another one because
/// a note was written.
pub(super) const LOOP_FILES: [&str; 7] = [
    loop_files::PROGRESS_FILE,
    judged_change::FEEDBACK_FILE,
    judged_change::EVOLUTION_FILE,
    loop_files::DECISIONS_FILE,
    loop_files::ALIGN_FILE,
    wiki::FOLDER,
    markers::PROJECT_MARKERS,
];

/// The name of the checkpoint that a loop begins with.
pub(super) const START_CHECKPOINT: &str = "0";

/// The private folder of copies.
const COPIES: &str = "checkpoints";

/// The files of a root as they stood; their contents are kept already.
#[derive(Clone, Debug)]
pub(super) struct TreeSnapshot {
    pub(super) tree: FileTree,
    /// Equal files, equal id.
    pub(super) id: String,
}

/// Who keeps the checkpoints of a root.
#[derive(Clone, Debug)]
pub(super) struct CheckpointStore {
    pub(super) root: PathBuf,
    /// The folder of copies, where git has no say.
    copies: Option<PathBuf>,
}

/// The files as they stand now.
pub(super) async fn snapshot_tree(
    engine: &Arc<Engine>,
    project: &Project,
) -> Result<TreeSnapshot, Gap> {
    let (folder, root) = (folder(engine, project), project.root.clone());
    let job = engine.job();
    let looked = run_blocking(move || {
        let _job = job;
        CheckpointStore::find(root, folder)?.snapshot(&BTreeSet::new())
    });
    looked.await.unwrap_or_else(|| Err("internal error".to_owned())).map_err(|reason| gap(&reason))
}

/// Keeps what was looked at as checkpoint `name` of a loop, and lets old ones go, but never `best`.
/// Returns the name under which people find it: a ref, or the name itself.
pub(super) async fn keep_checkpoint(
    engine: &Arc<Engine>,
    project: &Project,
    look: TreeSnapshot,
    (owner, name): (String, String),
    best: Option<u32>,
) -> Result<String, Gap> {
    let (folder, root) = (folder(engine, project), project.root.clone());
    let job = engine.job();
    let kept = run_blocking(move || {
        let _job = job;
        let keeper = CheckpointStore::find(root, folder)?;
        let kept = keeper.keep(&look, &owner, &name)?;
        keeper.forget(&surplus(&keeper.list()?, &owner, best))?;
        Ok(kept)
    });
    kept.await.unwrap_or_else(|| Err("internal error".to_owned())).map_err(|reason| gap(&reason))
}

/// Forgets all checkpoints of a loop; returns how many there were.
pub(super) async fn forget_all(
    engine: &Arc<Engine>,
    project: &Project,
    owner: &str,
) -> Result<usize, String> {
    let (folder, root, owner) = (folder(engine, project), project.root.clone(), owner.to_owned());
    let job = engine.job();
    let forgotten = run_blocking(move || {
        let _job = job;
        let keeper = CheckpointStore::find(root, folder)?;
        let all = keeper.list()?;
        let own: Vec<Checkpoint> = all.into_iter().filter(|it| it.owner == owner).collect();
        keeper.forget(&own)?;
        Ok(own.len())
    });
    forgotten.await.unwrap_or_else(|| Err("internal error".to_owned()))
}

fn gap(reason: &str) -> Gap {
    Gap::new(Cause::ProjectFault, format!("no checkpoint: {reason}"))
}

/// Where copies of a project's files are kept.
pub(super) fn folder(engine: &Engine, project: &Project) -> PathBuf {
    project.key.folder(&engine.dirs.state).join(COPIES)
}

/// Whether the files differ from the first checkpoint of a loop.
pub(super) async fn work_since_start(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    tree: &Result<TreeSnapshot, Gap>,
) -> WorkChange {
    let look = match tree {
        Ok(look) => look.clone(),
        Err(gap) => return WorkChange::Unknown(gap.to_string()),
    };
    let (folder, root) = (folder(engine, project), project.root.clone());
    let loop_id = loop_id.to_owned();
    let compared =
        run_blocking(move || work_of(&CheckpointStore::find(root, folder)?, &loop_id, &look));
    let compared = compared.await.unwrap_or_else(|| Err("internal error".to_owned()));
    compared.unwrap_or_else(WorkChange::Unknown)
}

fn work_of(
    keeper: &CheckpointStore,
    loop_id: &str,
    now: &TreeSnapshot,
) -> Result<WorkChange, String> {
    let is_start = |it: &Checkpoint| it.owner == loop_id && it.name == START_CHECKPOINT;
    let Some(start) = keeper.list()?.into_iter().find(is_start) else {
        let lost = || "the checkpoint of its beginning is missing".to_owned();
        return Err(keeper.damage(loop_id, START_CHECKPOINT).unwrap_or_else(lost));
    };
    let before = keeper.tree(&start)?;
    if before.nodes != now.tree.nodes && has_work(&before, &now.tree) {
        return Ok(WorkChange::Changed);
    }
    let left_out = before.omitted.keys().chain(now.tree.omitted.keys());
    match left_out.into_iter().find(|path| !is_older(&keeper.root.join(path), start.at_secs)) {
        Some(path) => Err(format!("{path} is not part of a checkpoint")),
        None => Ok(WorkChange::Unchanged),
    }
}

/// Whether somebody worked between the two: what tools add when they build or run is no work.
fn has_work(before: &FileTree, now: &FileTree) -> bool {
    let is_work = |(path, node): (&RelPath, &FileNode)| match before.nodes.get(path) {
        Some(old) => old != node,
        None => !is_left_by_tools(path),
    };
    let is_gone = |path: &RelPath| !now.nodes.contains_key(path);
    now.nodes.iter().any(is_work) || before.nodes.keys().any(is_gone)
}

/// Lock files that a build or a run of tests writes where there is none.
const LOCK_FILES: [&str; 4] = ["Cargo.lock", "go.sum", "package-lock.json", "uv.lock"];
/// What test runners leave beside the code.
const RUN_FILES: [&str; 2] = [".coverage", ".pytest_cache"];

fn is_left_by_tools(path: &RelPath) -> bool {
    let mut parts = path.as_str().split('/');
    let is_of_run = parts.clone().any(|part| RUN_FILES.contains(&part));
    let is_lock = parts.next_back().is_some_and(|name| LOCK_FILES.contains(&name));
    is_of_run || is_lock || foreign_folder(path).is_some()
}

/// A file that differs from the first checkpoint of a loop.
pub(super) struct FileSinceStart {
    pub(super) path: RelPath,
    /// Its bytes then; `None` when it was not there.
    pub(super) before: Option<Vec<u8>>,
    pub(super) exists_now: bool,
}

/// What became of the files of a loop since its first checkpoint.
#[derive(Default)]
pub(super) struct ChangesSinceStart {
    pub(super) files: Vec<FileSinceStart>,
    /// Files that no copy was made of, and nobody knows whether they are as they were: with why.
    pub(super) unknown: BTreeMap<String, String>,
}

/// What differs from the first checkpoint of a loop, where copies take the place of git. `None`
/// when git has a say, and when there is no such checkpoint. It blocks.
pub(super) fn changes_since_start(
    engine: &Engine,
    project: &Project,
    loop_id: Option<&str>,
) -> Result<Option<ChangesSinceStart>, String> {
    let Some(id) = loop_id else { return Ok(None) };
    let keeper = CheckpointStore::find(project.root.clone(), folder(engine, project))?;
    if keeper.copies.is_none() {
        return Ok(None);
    }
    let is_start = |it: &Checkpoint| it.owner == id && it.name == START_CHECKPOINT;
    let Some(start) = keeper.list()?.into_iter().find(is_start) else {
        return keeper.damage(id, START_CHECKPOINT).map_or(Ok(None), Err);
    };
    let (before, now) = (keeper.tree(&start)?, keeper.snapshot(&BTreeSet::new())?.tree);
    let mut since = ChangesSinceStart::default();
    let paths: BTreeSet<&RelPath> = before.nodes.keys().chain(now.nodes.keys()).collect();
    for path in paths {
        let (node, is_there) = (before.nodes.get(path), now.nodes.contains_key(path));
        let is_left_out = |tree: &FileTree| tree.omitted.contains_key(path.as_str());
        if node == now.nodes.get(path) || is_left_out(&before) || is_left_out(&now) {
            continue;
        }
        let before = node.map(|node| keeper.content(&node.content)).transpose()?;
        since.files.push(FileSinceStart { path: path.clone(), before, exists_now: is_there });
    }
    for (path, reason) in before.omitted.into_iter().chain(now.omitted) {
        if !is_older(&project.root.join(&path), start.at_secs) {
            since.unknown.entry(path).or_insert(reason);
        }
    }
    Ok(Some(since))
}

/// Whether a file stands as it stood at a time, in seconds since the epoch. Nobody sets back when a
/// file was changed last, but in the same second there may have been two changes.
pub(super) fn is_older(file: &Path, at_secs: i64) -> bool {
    file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.ctime() < at_secs)
}

impl CheckpointStore {
    /// Whoever keeps the checkpoints of this root; `folder` is where copies go.
    pub(super) fn find(root: PathBuf, folder: PathBuf) -> Result<Self, String> {
        let has_git = refs::is_git_managed(&root).map_err(|error| error.to_string())?;
        Ok(Self { root, copies: (!has_git).then_some(folder) })
    }

    /// The files as they stand now; `also` are looked at even if they are ignored.
    pub(super) fn snapshot(&self, also: &BTreeSet<RelPath>) -> Result<TreeSnapshot, String> {
        let except = LOOP_FILES.iter().filter_map(|name| RelPath::parse(name));
        let except: Vec<RelPath> = except.collect();
        let Some(folder) = &self.copies else {
            let look = refs::snapshot_work_tree(
                &self.root,
                SnapshotFilter { excluded: &except, included: also },
            );
            let refs::WorkTreeSnapshot { tree, id } = look.map_err(|error| error.to_string())?;
            return Ok(TreeSnapshot { tree, id });
        };
        let own = own_folders(&self.root, folder);
        let wanted = |path: &RelPath| {
            let is_excepted = except
                .iter()
                .any(|it| it == path || path.folders().any(|above| above == it.as_str()));
            !is_excepted && !own.iter().any(|own| path.under(&self.root).starts_with(own))
        };
        let tree = copies::copy_work_tree(&self.root, folder, also, &wanted);
        let tree = tree.map_err(|error| error.to_string())?;
        let id = tree.id();
        Ok(TreeSnapshot { tree, id })
    }

    pub(super) fn keep(
        &self,
        look: &TreeSnapshot,
        owner: &str,
        name: &str,
    ) -> Result<String, String> {
        let at_secs = i64::try_from(now_ms() / 1_000).unwrap_or(i64::MAX);
        if let Some(folder) = &self.copies {
            let kept =
                copies::save_copy_list(folder, (&self.root, &look.tree), (owner, name), at_secs);
            return kept.map(|()| name.to_owned()).map_err(|error| error.to_string());
        }
        let TreeSnapshot { tree, id } = look.clone();
        refs::commit_checkpoint(
            &self.root,
            &refs::WorkTreeSnapshot { tree, id },
            (owner, name),
            at_secs,
        )
        .map(|_| refs::checkpoint_ref(owner, name))
        .map_err(|error| error.to_string())
    }

    /// All checkpoints of the project, the oldest first.
    pub(super) fn list(&self) -> Result<Vec<Checkpoint>, String> {
        match &self.copies {
            Some(folder) => copies::list_copies(folder).map_err(|error| error.to_string()),
            None => refs::list_checkpoints(&self.root).map_err(|error| error.to_string()),
        }
    }

    /// Why a checkpoint that [`Self::list`] does not name cannot be read; `None` when there is
    /// none of this name.
    pub(super) fn damage(&self, owner: &str, name: &str) -> Option<String> {
        self.copies.as_ref().and_then(|folder| copies::copy_list_damage(folder, owner, name))
    }

    pub(super) fn tree(&self, checkpoint: &Checkpoint) -> Result<FileTree, String> {
        match &self.copies {
            Some(folder) => copies::read_copied_tree(folder, &checkpoint.owner, &checkpoint.name)
                .map_err(|error| error.to_string()),
            None => refs::read_checkpoint_tree(&self.root, checkpoint)
                .map_err(|error| error.to_string()),
        }
    }

    pub(super) fn content(&self, name: &str) -> Result<Vec<u8>, String> {
        match &self.copies {
            Some(folder) => {
                copies::read_copied_content(folder, name).map_err(|error| error.to_string())
            }
            None => refs::read_blob(&self.root, name).map_err(|error| error.to_string()),
        }
    }

    /// Several contents, in the order of their names.
    pub(super) fn contents(&self, names: &[&str]) -> Result<Vec<Vec<u8>>, String> {
        match &self.copies {
            Some(folder) => {
                let contents = names.iter().map(|name| copies::read_copied_content(folder, name));
                contents.collect::<Result<_, _>>().map_err(|error| error.to_string())
            }
            None => refs::read_blobs(&self.root, names).map_err(|error| error.to_string()),
        }
    }

    /// Those of the paths that any of the checkpoints holds.
    pub(super) fn held(
        &self,
        checkpoints: &[Checkpoint],
        paths: &BTreeSet<RelPath>,
    ) -> Result<BTreeSet<RelPath>, String> {
        if self.copies.is_none() {
            return refs::paths_in_checkpoints(&self.root, checkpoints, paths)
                .map_err(|error| error.to_string());
        }
        let mut held = BTreeSet::new();
        for checkpoint in checkpoints {
            let nodes = self.tree(checkpoint)?.nodes;
            held.extend(paths.iter().filter(|path| nodes.contains_key(*path)).cloned());
        }
        Ok(held)
    }

    pub(super) fn forget(&self, checkpoints: &[Checkpoint]) -> Result<(), String> {
        match &self.copies {
            Some(folder) => {
                copies::delete_copies(folder, checkpoints).map_err(|error| error.to_string())
            }
            None => refs::delete_checkpoint_refs(&self.root, checkpoints)
                .map_err(|error| error.to_string()),
        }
    }
}

/// Folders of our own that lie below a root, such as a home: what we write there is no work.
fn own_folders(root: &Path, copies: &Path) -> Vec<PathBuf> {
    let projects = copies.ancestors().find(|folder| folder.ends_with(PROJECTS_FOLDER));
    let own = projects.into_iter().flat_map(|projects| projects.ancestors().take(2));
    let own = own.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()));
    own.filter(|folder| !root.starts_with(folder)).collect()
}

/// The checkpoints beyond the bounds: the oldest of this loop except the first one, which its changes
/// are counted from, and the best one; and all of the loops that had none for the longest time.
fn surplus(all: &[Checkpoint], owner: &str, best: Option<u32>) -> Vec<Checkpoint> {
    let best = best.map(|number| number.to_string());
    let own: Vec<&Checkpoint> = all.iter().filter(|it| it.owner == owner).collect();
    let too_many = own.len().saturating_sub(CHECKPOINTS_PER_LOOP_MAX);
    let stays =
        |it: &&Checkpoint| it.name == START_CHECKPOINT || best.as_deref() == Some(it.name.as_str());
    let old = own.into_iter().filter(|it| !stays(it)).take(too_many);
    let mut surplus: Vec<Checkpoint> = old.cloned().collect();
    let mut latest: BTreeMap<&str, i64> = BTreeMap::new();
    for checkpoint in all.iter().filter(|it| it.owner != owner) {
        latest.insert(&checkpoint.owner, checkpoint.at_secs);
    }
    let mut others: Vec<(i64, &str)> = latest.into_iter().map(|(owner, at)| (at, owner)).collect();
    others.sort_unstable();
    let too_many = others.len().saturating_sub(CHECKPOINT_LOOPS_MAX - 1);
    for (_, gone) in others.into_iter().take(too_many) {
        surplus.extend(all.iter().filter(|it| it.owner == gone).cloned());
    }
    surplus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(owner: &str, number: usize) -> Checkpoint {
        Checkpoint {
            owner: owner.to_owned(),
            name: number.to_string(),
            at_secs: i64::try_from(number).unwrap(),
            tree_id: String::new(),
            root: PathBuf::new(),
        }
    }

    #[test]
    fn the_oldest_go_and_the_first_and_the_best_stay() {
        let own = (0..=CHECKPOINTS_PER_LOOP_MAX + 1).map(|number| checkpoint("loop-1", number));
        let all: Vec<Checkpoint> = own.collect();
        let names = |best| surplus(&all, "loop-1", best).into_iter().map(|it| it.name);
        assert_eq!(names(None).collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(names(Some(1)).collect::<Vec<_>>(), ["2", "3"]);
        assert!(surplus(&all[2..], "loop-1", None).is_empty());
    }

    #[test]
    fn our_own_files_below_a_root_without_git_are_no_work() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let folder = root.join(".state/projects/x/checkpoints");
        for name in ["a", ".conf", ".state/log", ".claude/memory/note", ".claude/settings.json"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), name).unwrap();
        }
        let keeper = CheckpointStore { root: root.clone(), copies: Some(folder.clone()) };
        for _ in 0..2 {
            let look = keeper.snapshot(&BTreeSet::new()).unwrap();
            let names: Vec<&str> = look.tree.nodes.keys().map(RelPath::as_str).collect();
            assert_eq!(names, [".claude/settings.json", ".conf", "a"]);
        }
        let inside =
            CheckpointStore { root: root.join(".state/projects/x/work"), copies: Some(folder) };
        std::fs::create_dir_all(inside.root.clone()).unwrap();
        std::fs::write(inside.root.join("a"), "a").unwrap();
        assert_eq!(inside.snapshot(&BTreeSet::new()).unwrap().tree.nodes.len(), 1);
    }

    #[test]
    fn loops_that_ended_long_ago_lose_theirs() {
        let others = (1..=CHECKPOINT_LOOPS_MAX + 1).map(|it| checkpoint(&format!("loop-{it}"), it));
        let mut all: Vec<Checkpoint> = others.collect();
        all.push(checkpoint("loop-1", 99));
        let gone: Vec<_> = surplus(&all, "loop-x", None).into_iter().map(|it| it.owner).collect();
        assert_eq!(gone, ["loop-2", "loop-3"], "the first one was busy lately");
    }
}
