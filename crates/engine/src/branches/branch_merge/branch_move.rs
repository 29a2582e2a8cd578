//! A note in the git directory while a worktree and its branch move to another commit, so that a move whose
//! process was killed halfway is rolled back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::branches::git_program::{git_message, run_git_moving};
use crate::engine::run_blocking;
use crate::project::Project;
use moai_host::files::read_regular_text;
use moai_host::git::{self, branches};
use moai_host::programs::CommandOutcome;

/// The note, in the folder that git keeps for the worktree.
const NOTE: &str = "moai-ralph-moving";

/// Two ids and the name of a branch.
const NOTE_BYTES_MAX: u64 = 4_096;

/// A move in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchMove {
    pub(crate) branch: String,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// True if the text is a full id of git: 40 or 64 hexadecimal digits.
fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl BranchMove {
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::to_owned);
        let (branch, old, new) = (lines.next()?, lines.next()?, lines.next()?);
        let are_ids = [&old, &new].iter().all(|id| is_object_id(id));
        are_ids.then_some(Self { branch, old, new })
    }

    fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.branch, self.old, self.new)
    }

    /// Writes the note; after an error the move must not start.
    pub(crate) async fn begin(&self, root: &Path) -> io::Result<()> {
        let (text, root) = (self.text(), root.to_path_buf());
        let written = run_blocking(move || fs::write(note(&root)?, text)).await;
        written.unwrap_or_else(|| Err(io::Error::other("internal error")))
    }
}

/// Removes the note after the move.
pub(crate) async fn remove_note(root: &Path) {
    let root = root.to_path_buf();
    run_blocking(move || note(&root).and_then(fs::remove_file)).await;
}

/// Rolls back an unfinished move. The caller must hold the merge lock.
pub(crate) async fn undo_move(project: &Project) {
    let root = project.root.clone();
    let read = move || read_regular_text(&note(&root).ok()?, NOTE_BYTES_MAX).ok();
    let text = run_blocking(read).await.flatten();
    let Some(text) = text else { return };
    let Some(unfinished) = BranchMove::parse(&text) else {
        return remove_note(&project.root).await;
    };
    let root = project.root.clone();
    let status = run_blocking(move || branches::work_tree_status(&root)).await;
    let Some(Ok(status)) = status else { return };
    let is_between = status.branch.as_deref() == Some(&unfinished.branch)
        && status.head.as_deref() == Some(&unfinished.old);
    if is_between {
        let arguments = ["read-tree", "-m", "-u", &unfinished.new, &unfinished.old];
        let run = run_git_moving(project, &project.root, &arguments).await;
        if run.outcome != CommandOutcome::Passed {
            tracing::warn!(
                said = git_message(&run),
                "an interrupted branch move could not be reverted"
            );
            return;
        }
    }
    remove_note(&project.root).await;
}

fn note(root: &Path) -> io::Result<PathBuf> {
    let folder = git::work_tree_git_dir(root).ok_or_else(|| io::Error::other("no repository"))?;
    Ok(folder.join(NOTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_note_is_parsed_and_a_partial_one_is_not() {
        let (old, new) = ("1".repeat(40), "2".repeat(40));
        let whole = BranchMove { branch: "b".into(), old: old.clone(), new };
        assert_eq!(BranchMove::parse(&whole.text()), Some(whole));
        let options = format!("b\n{old}\n--help\n");
        for bad in ["", "b\n", &format!("b\n{old}\n"), &format!("b\n{old}\n\n"), &options] {
            assert_eq!(BranchMove::parse(bad), None, "{bad:?}");
        }
    }
}
