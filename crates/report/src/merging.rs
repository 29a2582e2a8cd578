//! Texts about the branch of an autonomous loop: the reason for having none, and the tasks before it can be
//! merged.

use std::fmt::Write as _;

use super::agent::truncate_text;
use super::{count_noun, push_quoted, sanitized_line, sanitized_name};
use crate::wording::BilingualPhrase;
use crate::wording::merges as phrases;
use moai_base::limits::{MERGE_FILES_NAMED_MAX, MERGE_TASK_CHARS_MAX};
use moai_loops::framework::MessageLanguage;

/// Reason why a loop gets no branch of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchRefusal<'a> {
    /// The project is not in a git repository.
    NoGit,
    /// The repository has no commit yet.
    NoCommit,
    /// HEAD is detached, and the request has no base branch.
    Detached,
    /// The requested base branch is invalid or does not exist.
    NoBase(&'a str),
    /// An operation of git is unfinished: `a merge`.
    Unfinished(&'a str),
    /// Files are in conflict.
    Conflicts(&'a [String]),
    /// A loop's branch is checked out, and its base branch is not certain.
    OfLoop(&'a str),
    /// Another loop works in this worktree.
    Taken {
        id: &'a str,
        branch: &'a str,
    },
    Git(&'a str),
}

/// The reason why a loop gets no branch of its own, and the remedy.
#[must_use]
pub fn branch_refusal(reason: &BranchRefusal<'_>) -> String {
    match reason {
        BranchRefusal::NoGit => {
            "a loop on its own branch needs a git repository: git init".to_owned()
        }
        BranchRefusal::NoCommit => {
            "a loop on its own branch starts from a commit, and there is none: git commit"
                .to_owned()
        }
        BranchRefusal::Detached => {
            "HEAD is detached: git switch to the branch to merge into (a loop can also name it with \
             --base-branch NAME)"
                .to_owned()
        }
        BranchRefusal::NoBase(name) => format!("there is no branch {}", sanitized_name(name)),
        BranchRefusal::Unfinished(what) => {
            format!("{what} is in progress here: finish or abort it")
        }
        BranchRefusal::Conflicts(files) => {
            format!("resolve these conflicts first: {}", files.join(", "))
        }
        BranchRefusal::OfLoop(name) => format!(
            "{} is the branch of a loop: git switch to the branch to merge into, or name it with \
             --base-branch",
            sanitized_name(name)
        ),
        BranchRefusal::Taken { id, branch } => format!(
            "loop {id} works on {} in this work tree: let it end, cancel it (moai-ralph loop \
             cancel {id}), or use --workers",
            sanitized_name(branch)
        ),
        BranchRefusal::Git(said) => {
            format!("git could not create the branch: {}", sanitized_line(said))
        }
    }
}

/// A task of the agent before its branch can be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeTask<'a> {
    /// The branch is not checked out; for the remedy, see [`way_back`].
    WrongBranch(&'a str),
    /// An operation of git is unfinished: `a merge`.
    Unfinished(&'a str),
    /// Changed or new files are not committed.
    Uncommitted(&'a [String], &'a [String]),
    /// The base changed the same places of these files; its newest commit, as git prints it.
    Conflict(&'a [String], &'a str),
    /// Untracked files have the names of files in the base.
    InTheWay(&'a [String]),
    /// The checks fail on top of the present base.
    ChecksFailed(&'a str),
    /// Git or a hook of the project refused; its message.
    Refused(&'a str),
}

/// The checkout in place of a loop's branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherHead {
    /// The commit; if the branch of HEAD was deleted, its last one.
    pub commit: String,
    /// The branch; `None` if HEAD is detached, or if its branch was deleted.
    pub branch: Option<String>,
    /// True if the branch of HEAD was deleted.
    pub is_deleted: bool,
}

impl OtherHead {
    /// The argument for `git merge`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.branch.as_deref().unwrap_or(&self.commit)
    }
}

/// The checkout in place of a loop's branch, and the command that checks the branch out again.
#[must_use]
pub fn way_back(branch: &str, has_branch: bool, other: &OtherHead) -> String {
    let OtherHead { commit, branch: here, .. } = other;
    if has_branch {
        let (what, name) = (here.as_deref().unwrap_or("no branch"), other.name());
        let (what, name) = (sanitized_name(what), sanitized_name(name));
        return format!(
            "{what} is checked out: git switch {branch} (and git merge {name}, if it holds your work)"
        );
    }
    match here.as_deref() {
        None if other.is_deleted => {
            format!("branch {branch} was deleted: git update-ref refs/heads/{branch} {commit}")
        }
        Some(here) => {
            let here = sanitized_name(here);
            format!(
                "{here} is checked out, and there is no branch {branch}: git branch -m {branch}"
            )
        }
        None => format!(
            "no branch is checked out, and there is no branch {branch}: git switch -c {branch}"
        ),
    }
}

/// The task, for the agent.
#[must_use]
pub fn merge_task(
    language: MessageLanguage,
    branch: &str,
    base: &str,
    task: &MergeTask<'_>,
) -> String {
    let mut text = phrases::NOT_MERGED.with(language, &[branch, base]) + "\n";
    let line = |phrase: &BilingualPhrase, part: &str| phrase.with(language, &[part]) + "\n";
    match task {
        MergeTask::WrongBranch(back) => {
            let _ = writeln!(text, "{back}");
        }
        MergeTask::Unfinished(what) => text.push_str(&line(&phrases::UNFINISHED, what)),
        MergeTask::Uncommitted(changed, new) => {
            text.push_str(&line(&phrases::COMMIT_FIRST, ""));
            push_files(&mut text, changed);
            push_files(&mut text, new);
        }
        MergeTask::Conflict(files, newest) => {
            text.push_str(&line(&phrases::BOTH_CHANGED, ""));
            push_files(&mut text, files);
            let steps = [
                phrases::CONFLICT_MERGE.with(language, &[newest]),
                phrases::CONFLICT_RESOLVE.text_in(language).to_owned(),
                phrases::CONFLICT_TEST.text_in(language).to_owned(),
                phrases::TRIED_AGAIN.text_in(language).to_owned(),
            ];
            let _ = writeln!(text, "{}", steps.join("\n"));
        }
        MergeTask::InTheWay(files) => {
            text.push_str(&line(&phrases::IN_THE_WAY, base));
            push_files(&mut text, files);
        }
        MergeTask::ChecksFailed(said) => {
            text.push_str(&line(&phrases::CHECKS_FAIL, base));
            let _ = writeln!(text, "{said}");
        }
        MergeTask::Refused(said) => {
            text.push_str(&line(&phrases::REFUSED, ""));
            push_quoted(&mut text, said);
        }
    }
    truncate_text(text.trim_end(), MERGE_TASK_CHARS_MAX, "see git status")
}

fn push_files(text: &mut String, files: &[String]) {
    for file in files.iter().take(MERGE_FILES_NAMED_MAX) {
        let _ = writeln!(text, "  {}", sanitized_name(file));
    }
    if let Some(more) = files.len().checked_sub(MERGE_FILES_NAMED_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "  … and {}", count_noun(more, "more file"));
    }
}

/// Why a branch that is checked out elsewhere was not moved, and how the user moves it.
#[must_use]
pub fn base_in_use(base: &str, place: &str, kept: &str) -> String {
    let place = sanitized_name(place);
    format!(
        "{base} is checked out in {place}, where your changes block the merge: commit or remove \
         them, then moai-ralph loop resume, or merge yourself: \
         git -C '{place}' merge --ff-only {kept}"
    )
}

/// Why diverged versions of a base cannot both be merged.
#[must_use]
pub fn diverged(base: &str, remote: &str) -> String {
    format!("{base} and {remote}/{base} have diverged: reconcile them first")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_the_files_and_what_to_do() {
        let text = merge_task(
            MessageLanguage::English,
            "gulf/auto-1-ab",
            "main",
            &MergeTask::Conflict(&["a.py".to_owned()], "main"),
        );
        insta::assert_snapshot!(text, @r"
        Everything is clean, but gulf/auto-1-ab is not merged into main yet.
        Both sides changed the same places in:
          a.py
        1. git merge main, and understand the intent of each side (git log, git show).
        2. Resolve it so that both intents hold; do not drop either.
        3. Write tests for both, run all tests, and commit.
        The merge is tried again at your next Stop.
        ");
    }

    #[test]
    fn many_files_are_counted() {
        let files: Vec<String> = (0..=MERGE_FILES_NAMED_MAX).map(|it| format!("f{it}")).collect();
        let english = MessageLanguage::English;
        let text = merge_task(english, "b", "main", &MergeTask::Uncommitted(&files, &[]));
        assert!(text.ends_with("… and 1 more file"), "{text}");
    }
}
