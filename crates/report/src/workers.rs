//! The texts about workers: worktrees with a loop each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{count_noun, sanitized_name};
use moai_loops::state::LoopState;
use moai_protocol::documents::loops::{WorkerEntry, WorkersDocument};

#[derive(Clone, Debug)]
pub struct LoopWorker {
    /// Folder in which its session is opened.
    pub root: PathBuf,
    /// Its branch; `None` if HEAD of its worktree is detached.
    pub branch: Option<String>,
    /// Its loop, as far as one was started there.
    pub state: Option<LoopState>,
}

/// A user's next steps with new workers.
#[must_use]
pub fn started(workers: &[LoopWorker]) -> String {
    let number = count_noun(workers.len(), "worker");
    let mut text = format!("{number}; open a session in each folder to claim its loop:\n");
    for worker in workers {
        let _ = writeln!(text, "  {}", place(&worker.root));
    }
    text
}

/// One line for each worker.
#[must_use]
pub fn status(workers: &[LoopWorker]) -> String {
    let mut text = String::new();
    for LoopWorker { root, branch, state } in workers {
        let branch = branch.as_deref().map_or_else(|| "no branch".to_owned(), sanitized_name);
        let progress = state.as_ref().map_or_else(
            || "no loop".to_owned(),
            |state| {
                let (status, id) = (state.status.as_str(), &state.id);
                format!(
                    "{id} {status}, iteration {} of {}",
                    state.current_iteration(),
                    state.max_iterations
                )
            },
        );
        let _ = writeln!(text, "  worker {}: {progress}, {branch}", place(root));
    }
    text
}

/// The workers that a start made, or that a project has.
#[must_use]
pub fn document(workers: &[LoopWorker]) -> WorkersDocument<'_> {
    WorkersDocument { workers: entries(workers) }
}

/// The workers as entries of a document.
#[must_use]
pub fn entries(workers: &[LoopWorker]) -> Vec<WorkerEntry<'_>> {
    workers.iter().map(entry).collect()
}

fn entry(worker: &LoopWorker) -> WorkerEntry<'_> {
    let state = worker.state.as_ref();
    WorkerEntry {
        root: worker.root.to_string_lossy().into_owned(),
        branch: worker.branch.as_deref(),
        id: state.map(|state| state.id.as_str()),
        status: state.map(|state| state.status.as_str()),
        iteration: state.map(|state| state.iteration),
    }
}

fn place(root: &Path) -> String {
    sanitized_name(&root.display().to_string())
}

/// Why no worktrees are made: their folder is a link.
#[must_use]
pub fn linked_folder(folder: &Path) -> String {
    let named = sanitized_name(&folder.display().to_string());
    format!(
        "{named} is a symbolic link, and worktrees are made in no folder behind one: remove the link"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_loops::samples::state;

    #[test]
    fn each_worker_has_a_line() {
        let root = PathBuf::from("/p.moai-workers/1");
        let worker =
            LoopWorker { root, branch: Some("gulf/auto-1-ab".into()), state: Some(state()) };
        let idle = LoopWorker { branch: None, state: None, ..worker.clone() };
        insta::assert_snapshot!(status(&[worker.clone(), idle]), @r"
          worker /p.moai-workers/1: loop-1 running, iteration 1 of 3, gulf/auto-1-ab
          worker /p.moai-workers/1: no loop, no branch
        ");
        assert!(started(&[worker]).starts_with("1 worker; open a session"));
    }
}
