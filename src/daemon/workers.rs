//! Workers: work trees beside the project, each with a branch and a loop that the session opened
//! there claims. It must not know how a loop goes on or is merged.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::engine::{Engine, run_blocking};
use super::exam;
use super::git_program::{git_message, run_git};
use super::loop_branch::{LoopBranch, branch_start, read_git};
use super::project::Project;
use crate::base::path::{NEVER_WALKED, RelPath};
use crate::checks::CommandOutcome;
use crate::git::GitError;
use crate::git::branches::{self, branch_ref};
use crate::git::checkpoint::is_git_managed;
use crate::looping::control;
use crate::looping::state::{LoopState, Status};
use crate::report::workers::LoopWorker;
use crate::store::loops::LoopQuery;

/// What steers a loop and need not be committed; a worker gets copies.
const INPUTS: [&str; 6] = [
    "RUBRIC.md",
    ".claude/autochecks.sh",
    ".claude/gulf-align.md",
    ".moai/config/lsp.json",
    ".moai/config/sections/ralph.yaml",
    ".lsp.json",
];

/// How `CACHEDIR.TAG` begins, see <https://bford.info/cachedir/>.
const CACHE_TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// Makes a worker for each id, all or none. `names` are pairs of a loop's id and its branch; `make`
/// gives the loop of a worker, which no session has claimed yet.
pub(super) async fn start_workers(
    engine: &Engine,
    project: &Project,
    names: &[(String, String)],
    base: Option<&str>,
    (now_ms, make): (u64, impl Fn(&str, &LoopBranch) -> LoopState),
) -> Result<Vec<LoopWorker>, String> {
    remove_completed_workers(engine, project).await;
    let (standing, base) = branch_start(project, base).await?;
    let folder = folder(project).await?;
    let mut trees: Vec<(PathBuf, String)> = Vec::new();
    let mut workers = Vec::new();
    for (id, name) in names {
        let tree = folder.join(id.strip_prefix("loop-").unwrap_or(id));
        let branch = LoopBranch { name: name.clone(), base: base.clone(), created_ms: now_ms };
        let mut state = make(id, &branch);
        trees.push((tree.clone(), name.clone()));
        let root = root_in(&tree, &project.root, &standing.work_tree);
        let started = start_one(engine, project, (&tree, &root), &branch, &mut state).await;
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

async fn start_one(
    engine: &Engine,
    project: &Project,
    (tree, root): (&Path, &Path),
    branch: &LoopBranch,
    state: &mut LoopState,
) -> Result<(), String> {
    let text = tree.to_str().ok_or("the path of the project is not UTF-8")?;
    let base = branch_ref(&branch.base);
    let arguments = ["worktree", "add", "--quiet", "--no-track", "-b", &branch.name, text, &base];
    let run = run_git(project, &project.root, &arguments).await;
    if run.outcome != CommandOutcome::Passed && !is_made(tree, &branch.name).await {
        return Err(format!("git could not make {text}: {}", git_message(&run)));
    }
    let (from, to) = (project.root.clone(), root.to_path_buf());
    let copied = run_blocking(move || copy_inputs(&from, &to));
    let lost = || Err(io::Error::other("internal error"));
    copied.await.unwrap_or_else(lost).map_err(|error| format!("{text}: {error}"))?;
    let there = Project { root: root.to_path_buf(), ..project.clone() };
    let stored = exam::store_new_loop(engine, &there, state).await;
    stored.map_err(|error| error.to_string())
}

/// Whether a work tree stands whole on its branch: a hook that fails after the checkout makes git
/// say that the checkout did.
async fn is_made(tree: &Path, branch: &str) -> bool {
    let at = tree.to_path_buf();
    let standing = read_git(move || branches::work_tree_status(&at)).await;
    standing.is_ok_and(|it| {
        it.work_tree == tree && it.branch.as_deref() == Some(branch) && it.uncommitted.is_empty()
    })
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

/// Takes a worker back that nobody has worked in.
async fn remove_unused_worker(project: &Project, tree: &Path, branch: &str) {
    if let Some(text) = tree.to_str() {
        let arguments = ["worktree", "remove", "--force", "--force", text];
        run_git(project, &project.root, &arguments).await;
        run_git(project, &project.root, &["branch", "--quiet", "-D", branch]).await;
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
        tracing::warn!(%error, root = %root.display(), "the loop of a worker stays");
    }
}

/// The workers of a project, with their loops.
pub(super) async fn workers(engine: &Engine, project: &Project) -> Vec<LoopWorker> {
    let root = project.root.clone();
    let own = read_git(move || {
        Ok(if is_git_managed(&root)? { Some(branches::work_tree_status(&root)?) } else { None })
    });
    let (Ok(Some(own)), Ok(folder)) = (own.await, folder(project).await) else {
        return Vec::new();
    };
    let trees = run_blocking(move || entries(&folder)).await.unwrap_or_default();
    let mut found = Vec::new();
    for tree in trees {
        let at = tree.clone();
        let Ok(standing) = read_git(move || branches::work_tree_status(&at)).await else {
            continue;
        };
        let root = root_in(&tree, &project.root, &own.work_tree);
        let state = engine.store.find_loop(&project.key, &root, LoopQuery::Latest).await;
        found.push(LoopWorker { root, branch: standing.branch, state: state.unwrap_or_default() });
    }
    found
}

/// The root in a worker's tree: as deep in it as the project's own is in its tree.
fn root_in(tree: &Path, own: &Path, own_tree: &Path) -> PathBuf {
    // Joining nothing would leave a slash at the end, and another name in the store.
    let below = own.strip_prefix(own_tree).ok().filter(|below| !below.as_os_str().is_empty());
    below.map_or_else(|| tree.to_path_buf(), |below| tree.join(below))
}

/// Removes the work trees of workers whose loop is completed, when nothing would be lost with them:
/// all is on their branches, which stay, and what else is there are copies and caches. Returns those
/// that were removed.
pub(super) async fn remove_completed_workers(engine: &Engine, project: &Project) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for LoopWorker { root, state, .. } in workers(engine, project).await {
        let Some(state) = state.filter(|it| it.status == Status::Completed) else { continue };
        let own = project.root.clone();
        let tree = read_git(move || removable_work_tree(&own, &root, &state)).await;
        let Ok(Some(tree)) = tree else { continue };
        let Some(text) = tree.to_str() else { continue };
        // Twice the force would remove one that somebody has locked.
        let run = run_git(project, &project.root, &["worktree", "remove", "--force", text]).await;
        if run.outcome == CommandOutcome::Passed {
            removed.push(tree);
        }
    }
    removed
}

/// The work tree of a worker if nothing is lost with it.
fn removable_work_tree(
    own: &Path,
    root: &Path,
    state: &LoopState,
) -> Result<Option<PathBuf>, GitError> {
    let standing = branches::work_tree_status(root)?;
    let tree = standing.work_tree;
    let all_committed = standing.branch.is_some()
        && standing.branch == state.branch
        && standing.uncommitted.is_empty()
        && standing.unfinished.is_none();
    // Commits in the submodules of a linked work tree are kept in its own folder.
    let has_submodules = || -> Result<bool, GitError> {
        let known = branches::linked_git_dirs(root, &tree)?;
        Ok(known.is_empty() || known.iter().any(|known| known.join("modules").exists()))
    };
    if !all_committed || has_submodules()? {
        return Ok(None);
    }
    let others = [standing.untracked, branches::ignored_untracked(root)?].concat();
    let is_spare = others.iter().all(|path| is_reproducible(own, root, &tree.join(path)));
    Ok(is_spare.then_some(tree))
}

/// Whether a path holds only copies of what the project has, and caches.
fn is_reproducible(own: &Path, root: &Path, path: &Path) -> bool {
    let Ok(meta) = path.symlink_metadata() else { return false };
    if meta.is_dir() {
        let Ok(entries) = fs::read_dir(path) else { return false };
        let is_spare = |entry: io::Result<DirEntry>| {
            entry.is_ok_and(|entry| is_reproducible(own, root, &entry.path()))
        };
        return is_cache(path) || entries.into_iter().all(is_spare);
    }
    let below = RelPath::below(root, path).filter(|it| INPUTS.contains(&it.as_str()));
    let same = |below: RelPath| {
        let (here, there) = (fs::read(path), fs::read(below.under(own)));
        here.is_ok_and(|here| there.is_ok_and(|there| here == there))
    };
    meta.is_file() && below.is_some_and(same)
}

/// Whether a folder says that its contents can be made again.
fn is_cache(folder: &Path) -> bool {
    let is_known = folder
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| NEVER_WALKED.contains(&name) && name != ".git");
    let tag = || fs::read(folder.join("CACHEDIR.TAG")).unwrap_or_default();
    is_known || tag().starts_with(CACHE_TAG)
}

/// Beside the work tree that the repository was made with.
async fn folder(project: &Project) -> Result<PathBuf, String> {
    let root = project.root.clone();
    let main = read_git(move || branches::main_work_tree(&root)).await;
    let main = main.map_err(|error| error.to_string())?;
    let main = main.unwrap_or_else(|| project.root.clone());
    let name = main.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(main.with_file_name(format!("{name}.moai-workers")))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::test_project::TestProject;
    use crate::looping::samples::state;

    fn names(count: usize) -> Vec<(String, String)> {
        (0..count).map(|it| (format!("loop-{it}"), format!("gulf/auto-1-{it}"))).collect()
    }

    fn looping(id: &str, branch: &LoopBranch) -> LoopState {
        let branch = Some(branch.name.clone());
        LoopState { id: id.to_owned(), session_id: None, branch, ..state() }
    }

    async fn start(place: &TestProject, count: usize) -> Result<Vec<LoopWorker>, String> {
        let project = place.project(&place.root());
        start_workers(&place.engine, &project, &names(count), None, (0, looping)).await
    }

    #[tokio::test]
    async fn each_worker_has_a_tree_a_branch_and_a_loop_to_claim() {
        let place = TestProject::repository(&[("a", "1\n")]);
        place.write("RUBRIC.md", "# criteria\n");
        let started = start(&place, 2).await.unwrap();
        assert_eq!(started[1].root, place.top().join("root.moai-workers/1"));
        let there = place.project(&started[1].root);
        let which = LoopQuery::ForStop("a session".to_owned());
        let found = place.engine.store.find_loop(&there.key, &there.root, which).await;
        assert_eq!(found.unwrap().map(|it| it.id).as_deref(), Some("loop-1"));
        assert_eq!(place.git_in(&started[1].root, &["branch", "--show-current"]), "gulf/auto-1-1");
        assert!(started[1].root.join("RUBRIC.md").is_file());
        let from_a_worker = workers(&place.engine, &there).await;
        assert_eq!(
            from_a_worker.iter().map(|it| &it.root).collect::<Vec<_>>(),
            started.iter().map(|it| &it.root).collect::<Vec<_>>()
        );
        assert_eq!(place.git(&["branch", "--show-current"]), "main", "the user's tree stays");
    }

    #[tokio::test]
    async fn when_one_cannot_be_made_none_is() {
        let place = TestProject::repository(&[("a", "1\n")]);
        place.git(&["branch", "gulf/auto-1-1"]);
        let refused = start(&place, 2).await.unwrap_err();
        assert!(refused.starts_with("git could not make"), "{refused}");
        assert_eq!(place.git(&["worktree", "list"]).lines().count(), 1);
        let project = place.project(&place.root());
        let which = LoopQuery::Id("loop-0".to_owned());
        let left = place.engine.store.find_loop(&project.key, &project.root, which).await.unwrap();
        assert_eq!(left.map(|it| it.status), Some(Status::Cancelled));
    }

    #[tokio::test]
    async fn trees_of_finished_workers_go_when_nothing_would_be_lost() {
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
        let left = workers(&place.engine, &project).await;
        assert_eq!(left.len(), 2, "one has a file that git does not know, one still runs");
        assert!(place.git(&["branch", "--list", "gulf/auto-1-0"]).contains("gulf/auto-1-0"));
    }
}
