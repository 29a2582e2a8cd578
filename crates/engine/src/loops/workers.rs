//! Workers: worktrees next to the project, each with a branch and a loop. The loop is claimed by the first
//! session that is opened there.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use crate::branches::branch_merge::new_files::is_note;
use crate::branches::git_program::{git_message, run_git};
use crate::branches::loop_branch::{LoopBranch, branch_start, is_merged, read_git, root_in};
use crate::branches::loop_notes::clear_notes;
use crate::engine::{Engine, measure_blocking, now_ms, run_blocking};
use crate::exam;
use crate::project::Project;
use moai_base::limits::{SOURCE_BYTES_MAX, STOP_TRIES_MAX};
use moai_base::path::{NEVER_WALKED, RelPath};
use moai_host::files::read_regular;
use moai_host::git::GitError;
use moai_host::git::branches::{self, WorkTreeStatus, branch_ref};
use moai_host::git::checkpoint::is_git_managed;
use moai_host::git::hidden_work::{self, LinkedSubmodules};
use moai_host::processes::is_worked_in;
use moai_host::programs::CommandOutcome;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_loops::control;
use moai_loops::framework::MessageLanguage;
use moai_loops::state::{LoopState, Status};
use moai_report::pipeline_worktrees::TreeContent;
use moai_report::workers::{LoopWorker, linked_folder};

/// Files that steer a loop and may be uncommitted; every worker gets copies.
const INPUTS: [&str; 6] = [
    "RUBRIC.md",
    ".claude/autochecks.sh",
    ".claude/gulf-align.md",
    ".moai/config/lsp.json",
    ".moai/config/sections/ralph.yaml",
    ".lsp.json",
];

/// First line of `CACHEDIR.TAG`, see <https://bford.info/cachedir/>.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Creates a worker for each of `names` (a loop's id and its branch), or none at all. `make_loop`
/// returns the loop of a worker, still unclaimed.
pub(crate) async fn start_workers(
    engine: &Engine,
    project: &Project,
    names: &[(String, String)],
    base: Option<&str>,
    now_ms: u64,
    make_loop: impl Fn(&str, &LoopBranch) -> LoopState,
) -> Result<Vec<LoopWorker>, String> {
    remove_completed_workers(engine, project).await;
    let (status, base) = branch_start(project, base).await?;
    let folder = workers_folder(project).await?;
    let mut trees: Vec<(PathBuf, String)> = Vec::new();
    let mut workers = Vec::new();
    for (id, name) in names {
        let tree = folder.join(id.strip_prefix("loop-").unwrap_or(id));
        let branch = LoopBranch {
            name: name.clone(),
            base: base.clone(),
            created_ms: now_ms,
            language: MessageLanguage::default(),
        };
        let mut state = make_loop(id, &branch);
        trees.push((tree.clone(), name.clone()));
        let root = root_in(&tree, &project.root, &status.work_tree);
        let started = start_worker(engine, project, &tree, &root, &branch, &mut state).await;
        if let Err(reason) = started {
            for (tree, name) in trees {
                remove_unused_worker(project, &tree, &name).await;
            }
            for LoopWorker { root, state, .. } in workers {
                cancel_worker_loop(engine, project, root, state).await;
            }
            return Err(reason);
        }
        workers.push(LoopWorker { root, branch: Some(branch.name), state: Some(state) });
    }
    Ok(workers)
}

async fn start_worker(
    engine: &Engine,
    project: &Project,
    tree: &Path,
    root: &Path,
    branch: &LoopBranch,
    state: &mut LoopState,
) -> Result<(), String> {
    let text = tree.to_str().ok_or("the path of the project is not UTF-8")?;
    let base = branch_ref(&branch.base);
    let arguments = ["worktree", "add", "--quiet", "--no-track", "-b", &branch.name, text, &base];
    let run = run_git(project, &project.root, &arguments).await;
    if run.outcome != CommandOutcome::Passed && !is_complete(tree, &branch.name).await {
        return Err(format!("git could not make {text}: {}", git_message(&run)));
    }
    let (from, to) = (project.root.clone(), root.to_path_buf());
    let copied = run_blocking(move || copy_inputs(&from, &to)).await;
    copied
        .unwrap_or_else(|| Err(io::Error::other("internal error")))
        .map_err(|error| format!("{text}: {error}"))?;
    let there = Project { root: root.to_path_buf(), ..project.clone() };
    let stored = exam::store_new_loop(engine, &there, state).await;
    stored.map_err(|error| error.to_string())
}

/// True if a worktree is fully checked out on its branch. Asked after a failure, because git reports a failed
/// checkout also if only the hook that runs after it failed.
async fn is_complete(tree: &Path, branch: &str) -> bool {
    let folder = tree.to_path_buf();
    let status = read_git(move || branches::work_tree_status(&folder)).await;
    status.is_ok_and(|status| {
        status.work_tree == tree
            && status.branch.as_deref() == Some(branch)
            && status.uncommitted.is_empty()
    })
}

/// Prepares the worktree of a merged task for the next one: without its notes, and with the present files that
/// steer a loop.
pub(crate) async fn renew_worker(project: &Project, root: &Path) -> bool {
    let (from, to) = (project.root.clone(), root.to_path_buf());
    clear_notes(project, root).await
        && run_blocking(move || copy_inputs(&from, &to)).await.is_some_and(|copied| copied.is_ok())
}

fn copy_inputs(from: &Path, to: &Path) -> io::Result<()> {
    for name in INPUTS {
        let (from, to) = (from.join(name), to.join(name));
        if from.is_file() && !to.exists() {
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}

/// Removes a worker that is still unused, with its branch.
async fn remove_unused_worker(project: &Project, tree: &Path, branch: &str) {
    if let Some(text) = tree.to_str() {
        let arguments = ["worktree", "remove", "--force", "--force", text];
        run_git(project, &project.root, &arguments).await;
        run_git(project, &project.root, &["branch", "--quiet", "-D", branch]).await;
    }
}

/// Cancels the loop of a worker, and removes its worktree if it holds only merged work. A loop that has ended
/// keeps its state.
pub(crate) async fn close_worker(engine: &Engine, project: &Project, root: &Path, id: &str) {
    for _ in 0..STOP_TRIES_MAX {
        let which = LoopQuery::Id(id.to_owned());
        let found = engine.store.find_loop(&project.key, root, which).await;
        let Ok(Some(state)) = found else { return };
        let cancelled = control::cancel_loop(&state, now_ms());
        let saved = engine.store.advance_loop(&project.key, &state, cancelled.clone()).await;
        match saved {
            Ok(SaveOutcome::Saved) => {
                engine.stops.interrupt(id);
                return remove_merged_worker(project, root, &cancelled).await;
            }
            Ok(SaveOutcome::Overtaken) => {}
            Err(error) => {
                return tracing::warn!(%error, id, "the loop of a worker was not cancelled");
            }
        }
    }
}

async fn cancel_worker_loop(
    engine: &Engine,
    project: &Project,
    root: PathBuf,
    state: Option<LoopState>,
) {
    let Some(state) = state else { return };
    let cancelled = control::cancel_loop(&state, state.updated_ms);
    if let Err(error) = engine.store.advance_loop(&project.key, &state, cancelled).await {
        tracing::warn!(%error, root = %root.display(), "the loop of a worker could not be cancelled");
    }
}

/// The workers of a project, with their loops. An error means that they could not be listed.
pub(crate) async fn list_workers(
    engine: &Engine,
    project: &Project,
) -> Result<Vec<LoopWorker>, String> {
    let root = project.root.clone();
    let own = read_git(move || {
        Ok(if is_git_managed(&root)? { Some(branches::work_tree_status(&root)?) } else { None })
    });
    let own = own.await.map_err(|error| error.to_string())?;
    let Some(own) = own else { return Ok(Vec::new()) };
    let folder = workers_folder(project).await?;
    let trees = measure_blocking(move || folder_entries(&folder)).await;
    let mut workers = Vec::new();
    for tree in trees.map_err(|gap| gap.to_string())? {
        let folder = tree.clone();
        let Ok(status) = read_git(move || branches::work_tree_status(&folder)).await else {
            continue;
        };
        let root = root_in(&tree, &project.root, &own.work_tree);
        let state = engine.store.find_loop(&project.key, &root, LoopQuery::Latest).await;
        let state = state.map_err(|error| error.to_string())?;
        workers.push(LoopWorker { root, branch: status.branch, state });
    }
    Ok(workers)
}

/// Removes the worktrees of workers whose loop is completed, if nothing is lost with them: all work is
/// committed on their branches, which are kept, and the other files are copies and caches. Returns the
/// removed worktrees.
pub(crate) async fn remove_completed_workers(engine: &Engine, project: &Project) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    let workers = list_workers(engine, project).await.unwrap_or_else(|error| {
        tracing::warn!(error, "workers could not be listed, so none was removed");
        Vec::new()
    });
    for LoopWorker { root, state, .. } in workers {
        let Some(state) = state.filter(|state| state.status == Status::Completed) else {
            continue;
        };
        removed.extend(remove_work_tree(project, &root, &state).await);
    }
    removed
}

/// Removes the worktree of a worker whose loop has ended, if nothing is lost with it and no program runs
/// there. Returns the removed worktree.
async fn remove_work_tree(project: &Project, root: &Path, state: &LoopState) -> Option<PathBuf> {
    let (own, there, held) = (project.root.clone(), root.to_path_buf(), state.clone());
    let tree = read_git(move || removable_work_tree(&own, &there, &held));
    let tree = tree.await.ok().flatten()?;
    // Not `--force --force`: that would remove even a locked worktree.
    let arguments = ["worktree", "remove", "--force", tree.to_str()?];
    let run = run_git(project, &project.root, &arguments).await;
    (run.outcome == CommandOutcome::Passed).then_some(tree)
}

/// Removes the worktree of a worker, if its loop has ended and everything in it is in the base; also its
/// branch, if it has no work of its own.
async fn remove_merged_worker(project: &Project, root: &Path, state: &LoopState) {
    let (Some(branch), Some(base)) = (&state.branch, &state.options.base_branch) else { return };
    if state.status.is_active() || !is_merged(project, branch, base).await {
        return;
    }
    let is_removed = remove_work_tree(project, root, state).await.is_some();
    if is_removed && state.status == Status::Cancelled {
        run_git(project, &project.root, &["branch", "--quiet", "-D", branch]).await;
    }
}

/// The worktree of a worker, if removing it loses nothing.
fn removable_work_tree(
    own: &Path,
    root: &Path,
    state: &LoopState,
) -> Result<Option<PathBuf>, GitError> {
    let status = branches::work_tree_status(root)?;
    let is_on_branch = status.branch.is_some() && status.branch == state.branch;
    if !is_on_branch || !hidden_work::is_of_same_repository(own, root) {
        return Ok(None);
    }
    let is_empty = tree_content(own, root, &status)?.is_none() && !is_worked_in(&status.work_tree);
    Ok(is_empty.then_some(status.work_tree))
}

/// Reasons to keep a worktree, apart from its commits and the programs that run there.
pub(crate) fn tree_content(
    own: &Path,
    root: &Path,
    status: &WorkTreeStatus,
) -> Result<Option<TreeContent>, GitError> {
    let tree = &status.work_tree;
    if let Some(what) = status.unfinished {
        return Ok(Some(TreeContent::Unfinished(what)));
    }
    let is_left = |path: &&String| !is_reproducible(own, root, &tree.join(path));
    if status.uncommitted.iter().any(|path| !is_note(root, &tree.join(path)))
        || status.untracked.iter().any(|path| is_left(&path))
    {
        return Ok(Some(TreeContent::Uncommitted));
    }
    if let Some(file) = hidden_work::unseen_edit(root)? {
        return Ok(Some(TreeContent::Unseen(file)));
    }
    let git_dirs = branches::linked_git_dirs(root, tree)?;
    let submodules = hidden_work::linked_submodules(&git_dirs)?;
    if let LinkedSubmodules::WithCommits(name) = submodules {
        return Ok(Some(TreeContent::SubmoduleCommits(name)));
    }
    if git_dirs.is_empty() || git_dirs.iter().any(|folder| folder.join("locked").exists()) {
        return Ok(Some(TreeContent::Locked));
    }
    if submodules == LinkedSubmodules::Pushed {
        return Ok(Some(TreeContent::Submodules));
    }
    let ignored = branches::ignored_untracked(root)?;
    Ok(ignored.iter().find(is_left).map(|file| TreeContent::Ignored(file.clone())))
}

/// True if a path holds only caches, notes of loops, and copies of the project's files.
fn is_reproducible(own: &Path, root: &Path, path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    if meta.is_dir() {
        let Ok(entries) = fs::read_dir(path) else { return false };
        return is_cache(path)
            || entries.into_iter().all(|entry: io::Result<DirEntry>| {
                entry.is_ok_and(|entry| is_reproducible(own, root, &entry.path()))
            });
    }
    if is_note(root, path) {
        return true;
    }
    let input = RelPath::below(root, path).filter(|input| INPUTS.contains(&input.as_str()));
    meta.is_file() && input.is_some_and(|input| have_same_bytes(path, &input.under(own)))
}

fn have_same_bytes(one: &Path, other: &Path) -> bool {
    let read = |path: &Path| read_regular(path, SOURCE_BYTES_MAX).ok();
    read(one).is_some_and(|one| read(other) == Some(one))
}

/// Files that Node's package managers write when an installation is complete.
const INSTALL_RECORDS: [&str; 3] = [".package-lock.json", ".yarn-integrity", ".modules.yaml"];

/// True if a file of an installed Node package was changed since the installation; a new installation would
/// not restore the change. Files that tools keep in hidden folders there do not count.
fn has_edited_package(folder: &Path) -> bool {
    let modified = |path: &Path| path.symlink_metadata().and_then(|meta| meta.modified()).ok();
    let records = INSTALL_RECORDS.iter().filter_map(|name| modified(&folder.join(name)));
    let Some(installed) = records.max() else { return false };
    let mut open: Vec<PathBuf> = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !(is_hidden && at == folder) {
                open.push(entry.path());
            }
            let is_package_file = kind.is_file() && !is_hidden;
            if is_package_file && modified(&entry.path()).is_some_and(|it| it > installed) {
                return true;
            }
        }
    }
    false
}

/// True if a folder's name or tag file marks its contents as reproducible.
fn is_cache(folder: &Path) -> bool {
    let is_known = folder
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| NEVER_WALKED.contains(&name) && name != ".git");
    let tag = || read_regular(&folder.join("CACHEDIR.TAG"), SOURCE_BYTES_MAX);
    if is_known && has_edited_package(folder) {
        return false;
    }
    is_known || tag().is_ok_and(|tag| tag.starts_with(CACHE_TAG))
}

/// The folder of the workers, next to the repository's main worktree. A link is refused: everything that is
/// later removed in the folder must be ours.
pub(crate) async fn workers_folder(project: &Project) -> Result<PathBuf, String> {
    let root = project.root.clone();
    let main = read_git(move || branches::main_work_tree(&root)).await;
    let main = main.map_err(|error| error.to_string())?;
    let main = main.unwrap_or_else(|| project.root.clone());
    let name = main.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = main.with_file_name(format!("{name}.moai-workers"));
    if folder.is_symlink() {
        return Err(linked_folder(&folder));
    }
    Ok(folder)
}

fn folder_entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_project::TestProject;
    use moai_loops::samples::state;

    fn names(count: usize) -> Vec<(String, String)> {
        (0..count)
            .map(|number| (format!("loop-{number}"), format!("gulf/auto-1-{number}")))
            .collect()
    }

    fn worker_loop(id: &str, branch: &LoopBranch) -> LoopState {
        let branch = Some(branch.name.clone());
        LoopState { id: id.to_owned(), session_id: None, branch, ..state() }
    }

    async fn start(place: &TestProject, count: usize) -> Result<Vec<LoopWorker>, String> {
        let project = place.project(&place.root());
        start_workers(&place.engine, &project, &names(count), None, 0, worker_loop).await
    }

    #[tokio::test]
    async fn each_worker_has_a_tree_a_branch_and_a_loop_to_claim() {
        let place = TestProject::repository(&[("a", "1\n")]);
        place.write("RUBRIC.md", "# criteria\n");
        let started = start(&place, 2).await.unwrap();
        assert_eq!(started[1].root, place.top().join("root.moai-workers/1"));
        let there = place.project(&started[1].root);
        let query = LoopQuery::ForStop("a session".to_owned());
        let claimed = place.engine.store.find_loop(&there.key, &there.root, query).await;
        assert_eq!(claimed.unwrap().map(|state| state.id).as_deref(), Some("loop-1"));
        assert_eq!(place.git_in(&started[1].root, &["branch", "--show-current"]), "gulf/auto-1-1");
        assert!(started[1].root.join("RUBRIC.md").is_file());
        let from_a_worker = list_workers(&place.engine, &there).await.unwrap();
        assert_eq!(
            from_a_worker.iter().map(|worker| &worker.root).collect::<Vec<_>>(),
            started.iter().map(|worker| &worker.root).collect::<Vec<_>>()
        );
        assert_eq!(place.git(&["branch", "--show-current"]), "main", "the user's tree stays");
    }

    #[tokio::test]
    async fn a_failed_worker_takes_back_the_others() {
        let place = TestProject::repository(&[("a", "1\n")]);
        place.git(&["branch", "gulf/auto-1-1"]);
        let refused = start(&place, 2).await.unwrap_err();
        assert!(refused.starts_with("git could not make"), "{refused}");
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        let project = place.project(&place.root());
        let query = LoopQuery::Id("loop-0".to_owned());
        let left = place.engine.store.find_loop(&project.key, &project.root, query).await.unwrap();
        assert_eq!(left.map(|state| state.status), Some(Status::Cancelled));
    }

    #[tokio::test]
    async fn trees_of_completed_workers_are_removed_unless_files_would_be_lost() {
        let place = TestProject::repository(&[("a", "1\n")]);
        place.write("RUBRIC.md", "# criteria\n");
        let started = start(&place, 3).await.unwrap();
        let project = place.project(&place.root());
        fs::write(started[1].root.join("lost.py"), "1\n").unwrap();
        for worker in &started[..2] {
            let running = worker.state.clone().unwrap();
            let over = LoopState { status: Status::Completed, ..running.clone() };
            place.engine.store.advance_loop(&project.key, &running, over).await.unwrap();
        }
        assert_eq!(
            remove_completed_workers(&place.engine, &project).await,
            [started[0].root.clone()]
        );
        let left = list_workers(&place.engine, &project).await.unwrap();
        assert_eq!(left.len(), 2, "one has a file that git does not know, one still runs");
        assert!(place.git(&["branch", "--list", "gulf/auto-1-0"]).contains("gulf/auto-1-0"));
    }
}
