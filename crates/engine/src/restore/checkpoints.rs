//! Checkpoints of a loop: the files below its root, stored in git under this program's own refs, or as copies
//! in the project's private folder without git.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, now_ms, run_blocking};
use crate::judge::judged_change;
use crate::loops::loop_files;
use crate::project::Project;
use crate::stop::tree_stamps::TreeStamps;
use moai_base::limits::{CHECKPOINT_LOOPS_MAX, CHECKPOINTS_PER_LOOP_MAX};
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;
use moai_base::tree::{Checkpoint, FileTree};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::copies;
use moai_host::git::checkpoint::{self as refs, SnapshotFilter};
use moai_host::store::{PROJECTS_FOLDER, markers};
use moai_loops::criteria::SPECS_FOLDER;
use moai_loops::facts::WorkChange;
use moai_loops::state::LoopState;
use moai_loops::wiki;

/// The notes of a loop. Checkpoints leave them out: a restore must not undo what the loop has learned
/// since, and a new note does not make a different tree.
pub(crate) const LOOP_FILES: [&str; 7] = [
    loop_files::PROGRESS_FILE,
    judged_change::FEEDBACK_FILE,
    judged_change::EVOLUTION_FILE,
    loop_files::DECISIONS_FILE,
    loop_files::ALIGN_FILE,
    wiki::FOLDER,
    markers::PROJECT_MARKERS,
];

/// The name of a loop's first checkpoint.
pub(crate) const START_CHECKPOINT: &str = "0";

/// The private folder of copies.
pub(crate) const COPIES: &str = "checkpoints";

/// The files of a root at one time; their contents are already stored.
#[derive(Clone, Debug)]
pub(crate) struct TreeSnapshot {
    pub(crate) tree: FileTree,
    /// Equal for equal files.
    pub(crate) id: String,
    /// Files that git does not track; without git, all of them.
    untracked: BTreeSet<RelPath>,
    /// Taken for a Stop only.
    pub(crate) stamps: TreeStamps,
}

impl TreeSnapshot {
    /// The folders of files that git tracks; `""` is the root.
    pub(crate) fn tracked_folders(&self) -> BTreeSet<&str> {
        let tracked = self.tree.nodes.keys().filter(|path| !self.untracked.contains(*path));
        tracked.map(RelPath::folder).collect()
    }

    /// True if a file is here and git tracks it.
    pub(crate) fn is_tracked(&self, path: &RelPath) -> bool {
        self.tree.nodes.contains_key(path) && !self.untracked.contains(path)
    }

    /// The files of the work that differ in a later snapshot. Of the untracked ones only code counts:
    /// programs leave reports and caches.
    pub(crate) fn work_changed_in(
        &self,
        later: &Self,
        is_code: &dyn Fn(&RelPath) -> bool,
    ) -> Vec<RelPath> {
        if self.id == later.id {
            return Vec::new();
        }
        let (before, now) = (&self.tree.nodes, &later.tree.nodes);
        let is_output = |path: &RelPath| {
            let was_untracked = self.untracked.contains(path) || !before.contains_key(path);
            let is_untracked = later.untracked.contains(path) || !now.contains_key(path);
            was_untracked && is_untracked && (is_left_by_tools(path) || !is_code(path))
        };
        self.tree.changed_paths(&later.tree).into_iter().filter(|path| !is_output(path)).collect()
    }
}

/// True if two trees differ, apart from specifications, which contain the boxes of a plan, and files that
/// tools leave.
pub(crate) fn has_work_changed(before: &FileTree, now: &FileTree) -> bool {
    let changed = before.changed_paths(now);
    changed.iter().any(|path| !is_specification(path) && !is_left_by_tools(path))
}

/// The store of a root's checkpoints.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointStore {
    pub(crate) root: PathBuf,
    /// The folder of copies in a project without git.
    copies: Option<PathBuf>,
}

/// The current files.
pub(crate) async fn snapshot_tree(
    engine: &Arc<Engine>,
    project: &Project,
) -> Result<TreeSnapshot, Gap> {
    let (folder, root) = (folder(engine, project), project.root.clone());
    let job = engine.job();
    let taken = run_blocking(move || {
        let _job = job;
        CheckpointStore::find(root, folder)?.snapshot(&BTreeSet::new())
    });
    taken.await.unwrap_or_else(|| Err("internal error".to_owned())).map_err(|reason| gap(&reason))
}

/// Stores a snapshot as checkpoint `name` of the loop `owner`, and deletes surplus ones, but never
/// `best`. Returns the name shown to users: a ref, or the name itself.
pub(crate) async fn keep_checkpoint(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: TreeSnapshot,
    owner: String,
    name: String,
    best: Option<u32>,
) -> Result<String, Gap> {
    let (folder, root) = (folder(engine, project), project.root.clone());
    let job = engine.job();
    let kept = run_blocking(move || {
        let _job = job;
        let store = CheckpointStore::find(root, folder)?;
        let shown_name = store.keep(&snapshot, &owner, &name)?;
        store.forget(&surplus(&store.list()?, &owner, best))?;
        Ok(shown_name)
    });
    kept.await.unwrap_or_else(|| Err("internal error".to_owned())).map_err(|reason| gap(&reason))
}

/// Deletes all checkpoints of a loop; returns their number.
pub(crate) async fn forget_all(
    engine: &Arc<Engine>,
    project: &Project,
    owner: &str,
) -> Result<usize, String> {
    let (folder, root, owner) = (folder(engine, project), project.root.clone(), owner.to_owned());
    let job = engine.job();
    let forgotten = run_blocking(move || {
        let _job = job;
        let store = CheckpointStore::find(root, folder)?;
        let all = store.list()?;
        let own: Vec<Checkpoint> = all.into_iter().filter(|it| it.owner == owner).collect();
        store.forget(&own)?;
        Ok(own.len())
    });
    forgotten.await.unwrap_or_else(|| Err("internal error".to_owned()))
}

fn gap(reason: &str) -> Gap {
    Gap::new(Cause::ProjectFault, format!("no checkpoint: {reason}"))
}

/// The folder with the copies of a project's files.
pub(crate) fn folder(engine: &Engine, project: &Project) -> PathBuf {
    project.key.folder(&engine.dirs.state).join(COPIES)
}

/// The files in the first checkpoint of a loop.
pub(crate) async fn start_snapshot(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
) -> Result<TreeSnapshot, Gap> {
    let (folder, root) = (folder(engine, project), project.root.clone());
    let loop_id = loop_id.to_owned();
    let read = run_blocking(move || {
        let store = CheckpointStore::find(root, folder)?;
        let start = store.find_start(&loop_id)?.ok_or("there is none")?;
        let (untracked, stamps) = (BTreeSet::new(), TreeStamps::default());
        Ok(TreeSnapshot { tree: store.tree(&start)?, id: start.tree_id, untracked, stamps })
    });
    read.await.unwrap_or_else(|| Err("internal error".to_owned())).map_err(|reason| gap(&reason))
}

/// True if the files differ from the first checkpoint of a loop. For the loop of a pipeline, specifications
/// are not work: its plan is one.
pub(crate) async fn work_since_start(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    tree: Result<TreeSnapshot, Gap>,
) -> WorkChange {
    let snapshot = match tree {
        Ok(snapshot) => snapshot,
        Err(gap) => return WorkChange::Unknown(gap.to_string()),
    };
    let (folder, root) = (folder(engine, project), project.root.clone());
    let (loop_id, has_plan) = (state.id.clone(), state.options.pipeline.is_some());
    let compared = run_blocking(move || {
        work_of(&CheckpointStore::find(root, folder)?, &loop_id, &snapshot, has_plan)
    });
    let compared = compared.await.unwrap_or_else(|| Err("internal error".to_owned()));
    compared.unwrap_or_else(WorkChange::Unknown)
}

fn work_of(
    store: &CheckpointStore,
    loop_id: &str,
    now: &TreeSnapshot,
    has_plan: bool,
) -> Result<WorkChange, String> {
    let Some(start) = store.find_start(loop_id)? else {
        return Err(store
            .damage(loop_id, START_CHECKPOINT)
            .unwrap_or_else(|| "the checkpoint of its beginning is missing".to_owned()));
    };
    let before = store.tree(&start)?;
    if before.nodes != now.tree.nodes && has_work(&before, &now.tree, has_plan) {
        return Ok(WorkChange::Changed);
    }
    let left_out = before.omitted.keys().chain(now.tree.omitted.keys());
    match left_out.into_iter().find(|path| !is_older(&store.root.join(path), start.at_secs)) {
        Some(path) => Err(format!("{path} is not part of a checkpoint")),
        None => Ok(WorkChange::Unchanged),
    }
}

/// True if the trees differ by work: files that tools add when they build or run do not count, nor
/// specifications if the work `has_plan`.
fn has_work(before: &FileTree, now: &FileTree, has_plan: bool) -> bool {
    let is_work = |path: &RelPath| !has_plan || !is_specification(path);
    let is_written = now.nodes.iter().filter(|(path, _)| is_work(path)).any(|(path, node)| {
        match before.nodes.get(path) {
            Some(old) => old != node,
            None => !is_left_by_tools(path),
        }
    });
    is_written || before.nodes.keys().any(|path| is_work(path) && !now.nodes.contains_key(path))
}

fn is_specification(path: &RelPath) -> bool {
    path.folders().any(|folder| folder == SPECS_FOLDER)
}

/// Lock files that a build or a run of tests writes if they are missing.
const LOCK_FILES: [&str; 4] = ["Cargo.lock", "go.sum", "package-lock.json", "uv.lock"];
/// Files and folders that test runners leave next to the code.
const RUN_FILES: [&str; 2] = [".coverage", ".pytest_cache"];

fn is_left_by_tools(path: &RelPath) -> bool {
    let mut parts = path.as_str().split('/');
    let is_of_run = parts.clone().any(|part| RUN_FILES.contains(&part));
    let is_lock = parts.next_back().is_some_and(|name| LOCK_FILES.contains(&name));
    is_of_run || is_lock || foreign_folder(path).is_some()
}

/// A file that differs from the first checkpoint of a loop.
pub(crate) struct FileSinceStart {
    pub(crate) path: RelPath,
    /// Its bytes then; `None` when it was not there.
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) exists_now: bool,
}

/// Changes of the files of a loop since its first checkpoint.
#[derive(Default)]
pub(crate) struct ChangesSinceStart {
    pub(crate) files: Vec<FileSinceStart>,
    /// Files without a copy that may have changed, each with the reason why it was not copied.
    pub(crate) unknown: BTreeMap<String, String>,
}

/// The differences from the first checkpoint of a loop in a project without git, where copies are
/// kept. `None` with git, and without such a checkpoint. It blocks.
pub(crate) fn changes_since_start(
    engine: &Engine,
    project: &Project,
    loop_id: Option<&str>,
) -> Result<Option<ChangesSinceStart>, String> {
    let Some(id) = loop_id else { return Ok(None) };
    let store = CheckpointStore::find(project.root.clone(), folder(engine, project))?;
    if store.copies.is_none() {
        return Ok(None);
    }
    let Some(start) = store.find_start(id)? else {
        return store.damage(id, START_CHECKPOINT).map_or(Ok(None), Err);
    };
    let (before, now) = (store.tree(&start)?, store.snapshot(&BTreeSet::new())?.tree);
    let mut since = ChangesSinceStart::default();
    let paths: BTreeSet<&RelPath> = before.nodes.keys().chain(now.nodes.keys()).collect();
    for path in paths {
        let (node, is_there) = (before.nodes.get(path), now.nodes.contains_key(path));
        let is_omitted =
            before.omitted.contains_key(path.as_str()) || now.omitted.contains_key(path.as_str());
        if is_omitted || node == now.nodes.get(path) {
            continue;
        }
        let before = node.map(|node| store.content(&node.content)).transpose()?;
        since.files.push(FileSinceStart { path: path.clone(), before, exists_now: is_there });
    }
    for (path, reason) in before.omitted.into_iter().chain(now.omitted) {
        if !is_older(&project.root.join(&path), start.at_secs) {
            since.unknown.entry(path).or_insert(reason);
        }
    }
    Ok(Some(since))
}

/// True if a file is unchanged since a time, in seconds since the epoch. The inode change time cannot be set
/// back; a file changed in that very second counts as changed.
pub(crate) fn is_older(file: &Path, at_secs: i64) -> bool {
    file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.ctime() < at_secs)
}

impl CheckpointStore {
    /// The checkpoint store of this root; without git, copies go to `folder`.
    pub(crate) fn find(root: PathBuf, folder: PathBuf) -> Result<Self, String> {
        let has_git = refs::is_git_managed(&root).map_err(|error| error.to_string())?;
        Ok(Self { root, copies: (!has_git).then_some(folder) })
    }

    /// The current files; those in `also` are included even if git ignores them.
    pub(crate) fn snapshot(&self, also: &BTreeSet<RelPath>) -> Result<TreeSnapshot, String> {
        let except = LOOP_FILES.iter().filter_map(|name| RelPath::parse(name));
        let except: Vec<RelPath> = except.collect();
        let Some(folder) = &self.copies else {
            let taken = refs::snapshot_work_tree(
                &self.root,
                SnapshotFilter { excluded: &except, included: also },
            );
            let refs::WorkTreeSnapshot { tree, id, untracked } =
                taken.map_err(|error| error.to_string())?;
            return Ok(TreeSnapshot { tree, id, untracked, stamps: TreeStamps::default() });
        };
        let own = own_folders(&self.root, folder);
        let tree = copies::copy_work_tree(&self.root, folder, also, &|path| {
            let is_excepted = except
                .iter()
                .any(|it| it == path || path.folders().any(|above| above == it.as_str()));
            !is_excepted && !own.iter().any(|own| path.under(&self.root).starts_with(own))
        })
        .map_err(|error| error.to_string())?;
        let (id, untracked) = (tree.id(), tree.nodes.keys().cloned().collect());
        Ok(TreeSnapshot { tree, id, untracked, stamps: TreeStamps::default() })
    }

    pub(crate) fn keep(
        &self,
        snapshot: &TreeSnapshot,
        owner: &str,
        name: &str,
    ) -> Result<String, String> {
        let at_secs = i64::try_from(now_ms() / 1_000).unwrap_or(i64::MAX);
        if let Some(folder) = &self.copies {
            let kept =
                copies::save_copy_list(folder, &self.root, &snapshot.tree, owner, name, at_secs);
            return kept.map(|()| name.to_owned()).map_err(|error| error.to_string());
        }
        let TreeSnapshot { tree, id, untracked, .. } = snapshot.clone();
        refs::commit_checkpoint(
            &self.root,
            &refs::WorkTreeSnapshot { tree, id, untracked },
            owner,
            name,
            at_secs,
        )
        .map(|_| refs::checkpoint_ref(owner, name))
        .map_err(|error| error.to_string())
    }

    /// All checkpoints of the project, the oldest first.
    pub(crate) fn list(&self) -> Result<Vec<Checkpoint>, String> {
        match &self.copies {
            Some(folder) => copies::list_copies(folder).map_err(|error| error.to_string()),
            None => refs::list_checkpoints(&self.root).map_err(|error| error.to_string()),
        }
    }

    fn find_start(&self, loop_id: &str) -> Result<Option<Checkpoint>, String> {
        Ok(self.list()?.into_iter().find(|it| it.owner == loop_id && it.name == START_CHECKPOINT))
    }

    /// Why a checkpoint that [`Self::list`] omits cannot be read; `None` if it does not exist.
    pub(crate) fn damage(&self, owner: &str, name: &str) -> Option<String> {
        self.copies.as_ref().and_then(|folder| copies::copy_list_damage(folder, owner, name))
    }

    pub(crate) fn tree(&self, checkpoint: &Checkpoint) -> Result<FileTree, String> {
        match &self.copies {
            Some(folder) => copies::read_copied_tree(folder, &checkpoint.owner, &checkpoint.name)
                .map_err(|error| error.to_string()),
            None => refs::read_checkpoint_tree(&self.root, checkpoint)
                .map_err(|error| error.to_string()),
        }
    }

    pub(crate) fn content(&self, name: &str) -> Result<Vec<u8>, String> {
        match &self.copies {
            Some(folder) => {
                copies::read_copied_content(folder, name).map_err(|error| error.to_string())
            }
            None => refs::read_blob(&self.root, name).map_err(|error| error.to_string()),
        }
    }

    /// Several contents, in the order of their names.
    pub(crate) fn contents(&self, names: &[&str]) -> Result<Vec<Vec<u8>>, String> {
        match &self.copies {
            Some(folder) => {
                let contents = names.iter().map(|name| copies::read_copied_content(folder, name));
                contents.collect::<Result<_, _>>().map_err(|error| error.to_string())
            }
            None => refs::read_blobs(&self.root, names).map_err(|error| error.to_string()),
        }
    }

    /// Those of the paths that any of the checkpoints holds.
    pub(crate) fn held(
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

    pub(crate) fn forget(&self, checkpoints: &[Checkpoint]) -> Result<(), String> {
        match &self.copies {
            Some(folder) => {
                copies::delete_copies(folder, checkpoints).map_err(|error| error.to_string())
            }
            None => refs::delete_checkpoint_refs(&self.root, checkpoints)
                .map_err(|error| error.to_string()),
        }
    }
}

/// This program's own folders below a root, such as a home directory: files written there are not work.
fn own_folders(root: &Path, copies: &Path) -> Vec<PathBuf> {
    let projects = copies.ancestors().find(|folder| folder.ends_with(PROJECTS_FOLDER));
    let own = projects.into_iter().flat_map(|projects| projects.ancestors().take(2));
    let own = own.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()));
    own.filter(|folder| !root.starts_with(folder)).collect()
}

/// The checkpoints beyond the limits: the oldest of this loop, except the first one, from which its
/// changes are counted, and the best one; and all of the loops with the oldest latest checkpoint.
fn surplus(all: &[Checkpoint], owner: &str, best: Option<u32>) -> Vec<Checkpoint> {
    let best = best.map(|number| number.to_string());
    let own: Vec<&Checkpoint> = all.iter().filter(|it| it.owner == owner).collect();
    let too_many = own.len().saturating_sub(CHECKPOINTS_PER_LOOP_MAX);
    let old = own
        .into_iter()
        .filter(|it| it.name != START_CHECKPOINT && best.as_deref() != Some(it.name.as_str()))
        .take(too_many);
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
    fn surplus_is_the_oldest_without_the_first_and_the_best() {
        let own = (0..=CHECKPOINTS_PER_LOOP_MAX + 1).map(|number| checkpoint("loop-1", number));
        let all: Vec<Checkpoint> = own.collect();
        let names = |best| surplus(&all, "loop-1", best).into_iter().map(|it| it.name);
        assert_eq!(names(None).collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(names(Some(1)).collect::<Vec<_>>(), ["2", "3"]);
        assert!(surplus(&all[2..], "loop-1", None).is_empty());
    }

    #[test]
    fn own_folders_are_left_out_of_snapshots_without_git() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let folder = root.join(".state/projects/x/checkpoints");
        for name in ["a", ".conf", ".state/log", ".claude/memory/note", ".claude/settings.json"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), name).unwrap();
        }
        let store = CheckpointStore { root: root.clone(), copies: Some(folder.clone()) };
        for _ in 0..2 {
            let snapshot = store.snapshot(&BTreeSet::new()).unwrap();
            let names: Vec<&str> = snapshot.tree.nodes.keys().map(RelPath::as_str).collect();
            assert_eq!(names, [".claude/settings.json", ".conf", "a"]);
        }
        let inside =
            CheckpointStore { root: root.join(".state/projects/x/work"), copies: Some(folder) };
        std::fs::create_dir_all(inside.root.clone()).unwrap();
        std::fs::write(inside.root.join("a"), "a").unwrap();
        assert_eq!(inside.snapshot(&BTreeSet::new()).unwrap().tree.nodes.len(), 1);
    }

    #[test]
    fn surplus_includes_all_checkpoints_of_long_idle_loops() {
        let others = (1..=CHECKPOINT_LOOPS_MAX + 1).map(|it| checkpoint(&format!("loop-{it}"), it));
        let mut all: Vec<Checkpoint> = others.collect();
        all.push(checkpoint("loop-1", 99));
        let gone: Vec<_> = surplus(&all, "loop-x", None).into_iter().map(|it| it.owner).collect();
        assert_eq!(gone, ["loop-2", "loop-3"], "the first one was busy lately");
    }
}
