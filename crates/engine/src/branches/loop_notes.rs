//! The notes of a loop in merges and in worktrees of workers. They are about one task, so they never keep its
//! work from the base, and no later task finds them.

use std::path::Path;

use crate::branches::branch_merge::new_files::is_note;
use crate::branches::git_program::{run_git, without_hooks};
use crate::project::Project;
use crate::restore::checkpoints::LOOP_FILES;
use moai_host::programs::{CommandOutcome, CommandRun};
use moai_host::store::markers::PROJECT_MARKERS;

/// The notes below a root, as pathspecs of git.
fn note_paths() -> Vec<&'static str> {
    LOOP_FILES.into_iter().filter(|path| *path != PROJECT_MARKERS).collect()
}

/// Gives the notes in a root the state that they have in a commit, in the index and on disk. The error is the
/// call of git that failed.
pub(crate) async fn reset_notes(
    project: &Project,
    root: &Path,
    commit: &str,
) -> Result<bool, CommandRun> {
    let compare =
        ["-c", "core.quotePath=false", "diff", "--name-only", "--no-renames", "--relative"];
    let compare = [&compare[..], &[commit, "--"]].concat();
    let changed = run_git(project, root, &[&compare[..], &note_paths()].concat()).await;
    if changed.outcome != CommandOutcome::Passed {
        return Err(changed);
    }
    // The output may hold a warning of git.
    let is_path = |line: &&str| is_note(root, &root.join(line));
    let paths: Vec<&str> = changed.output.lines().filter(is_path).collect();
    if paths.is_empty() {
        return Ok(false);
    }
    let restore = ["restore", "--source", commit, "--staged", "--worktree", "--"];
    let restored = run_git(project, root, &[&restore[..], &paths].concat()).await;
    if restored.outcome == CommandOutcome::Passed { Ok(true) } else { Err(restored) }
}

/// Removes the notes of an earlier task from a worktree: what it tracks gets its committed state, the rest is
/// deleted.
pub(crate) async fn clear_notes(project: &Project, root: &Path) -> bool {
    let clean = ["clean", "--quiet", "--force", "-d", "-x", "--"];
    let removed = run_git(project, root, &[&clean[..], &note_paths()].concat()).await;
    removed.outcome == CommandOutcome::Passed && reset_notes(project, root, "HEAD").await.is_ok()
}

/// Resolves conflicts in notes for the branch of the loop: `side` is `--ours` or `--theirs`.
pub(crate) async fn keep_own_notes(
    project: &Project,
    folder: &Path,
    conflicts: &[String],
    side: &str,
) {
    for path in conflicts {
        let own = run_git(project, folder, &["checkout", "--quiet", side, "--", path]).await;
        let add = if own.outcome == CommandOutcome::Passed {
            ["add", "--force", "--", path]
        } else {
            // The branch has deleted it.
            ["rm", "--quiet", "--", path]
        };
        run_git(project, folder, &add).await;
    }
}

/// Leaves the notes of a worker out of the merge that is checked out in `root`; `base` keeps its own.
pub(crate) async fn leave_out_notes(
    project: &Project,
    root: &Path,
    base: &str,
) -> Result<(), CommandRun> {
    if !reset_notes(project, root, base).await? {
        return Ok(());
    }
    let amend = without_hooks(&["commit", "--quiet", "--amend", "--no-edit", "--allow-empty"]);
    let amended = run_git(project, root, &amend).await;
    if amended.outcome == CommandOutcome::Passed { Ok(()) } else { Err(amended) }
}
