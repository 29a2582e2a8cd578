//! The branch of an autonomous loop: created at its start, merged at its end.
//!
//! ```text
//! lock -> fetch -> rebase, in a separate worktree -> branch moved -> checks -> merge --no-ff, in
//!   that worktree -> unchanged since the measurement? -> push, if configured -> base branch moved
//! ```
//!
//! Only measured work is merged: if the branch or a file has changed since, the next Stop measures first.
//! Rebase and merge run in a temporary worktree, so that a conflict or a crash leaves the user's files
//! unchanged. A branch moves only if it is still at the commit that was read; otherwise the merge starts
//! again. Moves of a user's branch or worktree do not start after the deadline, and are never interrupted.

pub(crate) mod branch_move;
pub(crate) mod new_files;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout_at;

use crate::branches::branch_merge::branch_move::BranchMove;
use crate::branches::branch_merge::new_files::{is_note, is_written_by_engine, made_since};
use crate::branches::git_program::{
    git_message, run_git, run_git_moving, run_git_remote, run_git_until, stop_deadline_gap,
    without_hooks,
};
use crate::branches::loop_branch::{LoopBranch, branch_heads, read_git, root_in};
use crate::branches::loop_notes::{keep_own_notes, leave_out_notes};
use crate::branches::merge_work_tree::{MergeWorkTree, lock_merges, try_lock_merges};
use crate::engine::{Engine, JobGuard, run_to_completion};
use crate::loops::workers::workers_folder;
use crate::project::Project;
use crate::restore::checkpoints;
use crate::restore::checkpoints::TreeSnapshot;
use moai_base::limits::MERGE_TRIES_MAX;
use moai_base::verdict::{Cause, Gap};
use moai_host::git::GitError;
use moai_host::git::branches::{self, WorkTreeStatus, branch_ref};
use moai_host::git::foreign_commits::{REBASED_ONTO, fetched_ref};
use moai_host::programs::{CommandFailure, CommandOutcome, CommandRun};
use moai_report::merging::{self as words, BranchRefusal, MergeTask};

/// Exit status of `git ls-remote --exit-code` if no ref matches: git-ls-remote(1).
const NO_MATCHING_REF: CommandFailure = CommandFailure::Status(2);

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BranchMergeResult {
    /// The base branch holds the work.
    Merged,
    /// The agent must do something first; its task.
    Task(String),
    /// Not merged this time; the next Stop tries again.
    Unmeasured(Gap),
    /// The merge commit exists, and only the user can move the base branch to it; the instructions.
    Held(String),
    /// Nothing the agent does can make the merge possible; the reason.
    Impossible(String),
}

/// The measured work, the only work that may be merged.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredWork {
    /// The commit of HEAD before the measurement.
    pub(crate) head: Option<String>,
    /// The files during the measurement.
    pub(crate) tree: Result<TreeSnapshot, Gap>,
}

/// Why the merge does not continue with its next step.
enum MergeHalt {
    End(BranchMergeResult),
    /// A branch has moved in the meantime.
    Overtaken,
}

impl From<GitError> for MergeHalt {
    fn from(error: GitError) -> Self {
        Self::End(BranchMergeResult::Impossible(error.to_string()))
    }
}

/// Merges the `measured` branch of a loop into its base, or changes nothing if `deadline` comes first; a
/// branch that was rebased by then stays rebased. `checks` measures the worktree of the loop again after a
/// rebase has changed it; its error is shown to the agent. With the option `loop.push` the remote's branch,
/// if one is configured, is moved first.
pub(crate) async fn merge_loop_branch<F, C>(
    engine: &Arc<Engine>,
    project: &Project,
    branch: &LoopBranch,
    deadline: Instant,
    mut measured: MeasuredWork,
    checks: F,
) -> BranchMergeResult
where
    F: Fn() -> C + Send + Sync,
    C: Future<Output = Result<MeasuredWork, String>> + Send,
{
    let lock = match lock_merges(engine, project, deadline).await {
        Ok(lock) => lock,
        Err(gap) => return BranchMergeResult::Unmeasured(gap),
    };
    let _ = run_to_completion(undo_move_owned(project.clone())).await;
    let merge = BranchMerge {
        engine: Arc::clone(engine),
        project: project.clone(),
        branch: branch.clone(),
        deadline,
        _guards: Arc::new((engine.job(), lock)),
    };
    for _ in 0..MERGE_TRIES_MAX {
        match merge.attempt(&mut measured, &checks).await {
            Ok(()) => return BranchMergeResult::Merged,
            Err(MergeHalt::End(result)) => return result,
            Err(MergeHalt::Overtaken) => {}
        }
    }
    let detail = format!("{} moved during each of {MERGE_TRIES_MAX} merge attempts", branch.base);
    BranchMergeResult::Unmeasured(Gap::new(Cause::Superseded, detail))
}

/// Deletes the held merge of a branch, because the user did not take it.
pub(crate) async fn forget_held_merge(project: &Project, branch: &str) {
    run_git(project, &project.root, &["update-ref", "-d", &held_merge_ref(branch)]).await;
}

/// The ref of a merge that only the user can take.
fn held_merge_ref(branch: &str) -> String {
    format!("refs/moai-ralph/merged/{branch}")
}

/// Undoes a move of the branch and its worktree that a killed process has left unfinished, unless a merge is
/// running.
pub(crate) async fn undo_unfinished_move(project: &Project) {
    if let Some(_lock) = try_lock_merges(project).await {
        let _ = run_to_completion(undo_move_owned(project.clone())).await;
    }
}

async fn undo_move_owned(project: Project) {
    branch_move::undo_move(&project).await;
}

/// How a branch gets the commits of its base, as arguments of git.
struct RebaseWay<'a> {
    begins: &'a [&'a str],
    /// After conflicts were resolved.
    goes_on: &'a [&'a str],
    /// The side of the branch in a conflict.
    own: &'a str,
}

#[derive(Clone)]
struct BranchMerge {
    engine: Arc<Engine>,
    project: Project,
    branch: LoopBranch,
    deadline: Instant,
    /// Held until the last step is done, even after its caller has stopped waiting.
    _guards: Arc<(JobGuard, std::fs::File)>,
}

/// The base branch of a merge, local and remote.
#[derive(Clone)]
struct MergeTarget {
    /// The commit of the local base branch.
    base: String,
    /// The newest known commit of the base, local or remote.
    onto: String,
    /// Its name in texts for the agent.
    onto_name: String,
    remote: Option<String>,
}

impl BranchMerge {
    async fn attempt<F, C>(&self, measured: &mut MeasuredWork, checks: &F) -> Result<(), MergeHalt>
    where
        F: Fn() -> C + Send + Sync,
        C: Future<Output = Result<MeasuredWork, String>> + Send,
    {
        let mut head = self.verify_measured(measured).await?;
        let ends = self.merge_target().await?;
        if self.contains(&ends.onto, &head).await? {
            return if ends.onto == ends.base {
                Ok(())
            } else {
                self.move_base(&ends, &ends.onto).await
            };
        }
        let place = MergeWorkTree::make(&self.engine, &self.project, &head, self.deadline)
            .await
            .map_err(refused)?;
        let done = async {
            if !self.contains(&head, &ends.onto).await? {
                let rebased = self.rebase(&place, &head, &ends).await?;
                self.move_branch(&head, &rebased, &ends.onto).await?;
                head = rebased;
                let checked = timeout_at(self.deadline.into(), checks()).await;
                let checked = checked.map_err(|_| deadline_halt())?;
                *measured = checked.map_err(|said| self.task(&MergeTask::ChecksFailed(&said)))?;
            }
            let merged = self.merge(&place, &head, &ends).await?;
            if self.verify_measured(measured).await? != head {
                return Err(superseded());
            }
            if self.project.config.push && ends.remote.is_some() {
                self.push(&ends, &merged).await?;
            }
            self.move_base(&ends, &merged).await
        };
        let done = done.await;
        place.remove().await;
        done
    }

    /// The commit of the branch, if it and the files are unchanged since the measurement.
    async fn verify_measured(&self, measured: &MeasuredWork) -> Result<String, MergeHalt> {
        let head = self.committed_head().await?;
        let before = measured.tree.as_ref().map_err(|gap| unmeasured(gap.clone()))?;
        let now =
            checkpoints::snapshot_tree(&self.engine, &self.project).await.map_err(unmeasured)?;
        let is_same = measured.head.as_deref() == Some(&head) && before.id == now.id;
        if is_same { Ok(head) } else { Err(superseded()) }
    }

    /// The commit of the branch, if all work is committed on it.
    async fn committed_head(&self) -> Result<String, MergeHalt> {
        let root = self.project.root.clone();
        let standing = read_git(move || branches::work_tree_status(&root)).await?;
        let (root, name) = (self.project.root.clone(), self.branch.name.clone());
        let heads = read_git(move || branch_heads(&root, &name)).await?;
        if let Some(other) = &heads.other {
            let back = words::way_back(&self.branch.name, heads.has_branch, other);
            return Err(self.task(&MergeTask::WrongBranch(&back)));
        }
        if let Some(what) = standing.unfinished {
            return Err(self.task(&MergeTask::Unfinished(what)));
        }
        let (root, since_ms) = (self.project.root.clone(), self.branch.created_ms);
        let looked = read_git(move || Ok((made_since(&root, &standing, since_ms), standing))).await;
        let (new, mut standing) = looked?;
        // Every Stop writes notes, and some projects track them.
        let (root, tree) = (&self.project.root, &standing.work_tree);
        standing.uncommitted.retain(|path| !is_note(root, &tree.join(path)));
        if !standing.uncommitted.is_empty() || !new.is_empty() {
            return Err(self.task(&MergeTask::Uncommitted(&standing.uncommitted, &new)));
        }
        standing.head.ok_or_else(|| impossible(words::branch_refusal(&BranchRefusal::NoCommit)))
    }

    async fn merge_target(&self) -> Result<MergeTarget, MergeHalt> {
        let name = self.branch.base.clone();
        let (root, base) = (self.project.root.clone(), name.clone());
        let here = read_git(move || {
            let remote = branches::upstream_remote(&root, &base)?;
            Ok((branches::resolve_commit(&root, &branch_ref(&base))?, remote))
        });
        let (base, remote) = here.await?;
        let base =
            base.ok_or_else(|| impossible(words::branch_refusal(&BranchRefusal::NoBase(&name))))?;
        let Some(remote) = remote else {
            return Ok(MergeTarget { onto: base.clone(), onto_name: name, base, remote: None });
        };
        let Some(theirs) = self.fetch(&remote).await? else {
            let onto = base.clone();
            return Ok(MergeTarget { onto, onto_name: name, base, remote: Some(remote) });
        };
        if self.contains(&base, &theirs).await? {
            let onto = base.clone();
            return Ok(MergeTarget { onto, onto_name: name, base, remote: Some(remote) });
        }
        if !self.contains(&theirs, &base).await? {
            return Err(impossible(words::diverged(&name, &remote)));
        }
        let onto_name = fetched_ref(&remote, &name);
        Ok(MergeTarget { base, onto: theirs, onto_name, remote: Some(remote) })
    }

    /// The remote's commit of the base branch; `None` if the remote has no such branch, or does not
    /// answer and no push is configured.
    async fn fetch(&self, remote: &str) -> Result<Option<String>, MergeHalt> {
        let (base, kept) = (branch_ref(&self.branch.base), fetched_ref(remote, &self.branch.base));
        let refspec = format!("+{base}:{kept}");
        let arguments =
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", remote, &refspec];
        let run = self.ask_remote(&arguments).await;
        if run.outcome == CommandOutcome::Passed {
            let root = self.project.root.clone();
            return Ok(read_git(move || branches::resolve_commit(&root, &kept)).await?);
        }
        if !self.project.config.push {
            return Ok(None);
        }
        let arguments = ["ls-remote", "--exit-code", "--quiet", remote, &base];
        let asked = self.ask_remote(&arguments).await;
        if asked.outcome == CommandOutcome::Failed(NO_MATCHING_REF) {
            return Ok(None);
        }
        Err(MergeHalt::End(BranchMergeResult::Unmeasured(gap_of(
            &run,
            "the remote did not answer",
        ))))
    }

    /// Rebases the branch onto the base; merges the base instead if the branch contains merge
    /// commits, because a rebase would lose their conflict resolutions.
    async fn rebase(
        &self,
        place: &MergeWorkTree,
        head: &str,
        ends: &MergeTarget,
    ) -> Result<String, MergeHalt> {
        let (root, base, commit) = (self.project.root.clone(), ends.onto.clone(), head.to_owned());
        let is_merged = read_git(move || branches::has_merges(&root, &base, &commit)).await?;
        let merge = ["merge", "--quiet", "--no-edit", &ends.onto];
        let rebase = ["rebase", "--quiet", &ends.onto];
        let way = if is_merged {
            RebaseWay {
                begins: &merge,
                goes_on: &["commit", "--quiet", "--no-edit"],
                own: "--ours",
            }
        } else {
            RebaseWay { begins: &rebase, goes_on: &["rebase", "--continue"], own: "--theirs" }
        };
        let (run, standing) = self.rebase_past_notes(place, &way).await?;
        match run.outcome {
            CommandOutcome::Passed => standing.head.ok_or_else(|| impossible(git_message(&run))),
            CommandOutcome::Unmeasured(gap) => {
                Err(MergeHalt::End(BranchMergeResult::Unmeasured(gap)))
            }
            CommandOutcome::Failed(_) if !standing.conflicts.is_empty() => {
                Err(self.task(&MergeTask::Conflict(&standing.conflicts, &ends.onto_name)))
            }
            CommandOutcome::Failed(_) => Err(self.task(&MergeTask::Refused(&git_message(&run)))),
        }
    }

    /// Conflicts in the notes of the loop stop nothing: its branch keeps its own.
    async fn rebase_past_notes(
        &self,
        place: &MergeWorkTree,
        way: &RebaseWay<'_>,
    ) -> Result<(CommandRun, WorkTreeStatus), MergeHalt> {
        let root = self.root_in_merge(place).await?;
        let is_of_notes = |path: &String| is_note(&root, &place.folder.join(path));
        let mut run = run_git_until(&self.project, &place.folder, way.begins, self.deadline).await;
        loop {
            let folder = place.folder.clone();
            let mut standing = read_git(move || branches::work_tree_status(&folder)).await?;
            let conflicts = &standing.conflicts;
            let is_passed = !matches!(run.outcome, CommandOutcome::Failed(_));
            if is_passed || conflicts.is_empty() || !conflicts.iter().all(is_of_notes) {
                standing.conflicts.retain(|path| !is_of_notes(path));
                return Ok((run, standing));
            }
            keep_own_notes(&self.project, &place.folder, conflicts, way.own).await;
            run = run_git_until(&self.project, &place.folder, way.goes_on, self.deadline).await;
        }
    }

    /// Moves the worktree of the loop, and then its branch, to the rebased commit. Git refuses if a file was
    /// changed in the meantime or the branch has moved.
    async fn move_branch(&self, old: &str, new: &str, onto: &str) -> Result<(), MergeHalt> {
        self.check_deadline()?;
        let root = self.project.root.clone();
        let standing = read_git(move || branches::work_tree_status(&root)).await?;
        let is_there = standing.branch.as_deref() == Some(&self.branch.name);
        if !is_there || standing.head.as_deref() != Some(old) {
            return Err(superseded());
        }
        let in_the_way = self.in_the_way(&self.project.root, old, new).await?;
        if !in_the_way.is_empty() {
            return Err(self.task(&MergeTask::InTheWay(&in_the_way)));
        }
        let (merge, onto) = (self.clone(), onto.to_owned());
        let step = BranchMove {
            branch: self.branch.name.clone(),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        let moved =
            run_to_completion(async move { merge.move_tree_and_branch(&step, &onto).await }).await;
        moved.unwrap_or_else(|| Err(impossible("internal error".to_owned())))
    }

    /// Moves files and branch under a note on disk, so that an interrupted move can be undone.
    async fn move_tree_and_branch(&self, step: &BranchMove, onto: &str) -> Result<(), MergeHalt> {
        let root = &self.project.root;
        step.begin(root).await.map_err(|error| impossible(error.to_string()))?;
        let moved = self.move_files_then_branch(step, onto).await;
        branch_move::remove_note(root).await;
        moved
    }

    async fn move_files_then_branch(&self, step: &BranchMove, onto: &str) -> Result<(), MergeHalt> {
        let (root, old, new) = (&self.project.root, step.old.as_str(), step.new.as_str());
        // Without a refresh, read-tree takes a file that was rewritten with equal bytes for changed.
        run_git(&self.project, root, &["update-index", "-q", "--refresh"]).await;
        let moved = run_git_moving(&self.project, root, &["read-tree", "-m", "-u", old, new]).await;
        self.passed(&moved)?;
        let reference = branch_ref(&self.branch.name);
        let action = format!("{REBASED_ONTO}{onto}: updating HEAD");
        let arguments = ["update-ref", "-m", &action, &reference, new, old];
        let moved = run_git(&self.project, root, &arguments).await;
        if moved.outcome == CommandOutcome::Passed {
            return Ok(());
        }
        run_git_moving(&self.project, root, &["read-tree", "-m", "-u", new, old]).await;
        Err(superseded())
    }

    async fn merge(
        &self,
        place: &MergeWorkTree,
        head: &str,
        ends: &MergeTarget,
    ) -> Result<String, MergeHalt> {
        let checkout = without_hooks(&["checkout", "--quiet", "--force", "--detach", &ends.onto]);
        self.passed(&run_git_until(&self.project, &place.folder, &checkout, self.deadline).await)?;
        let message = format!("Merge branch '{}' into {}", self.branch.name, self.branch.base);
        let arguments = ["merge", "--quiet", "--no-ff", "--no-edit", "-m", &message, head];
        let run = run_git_until(&self.project, &place.folder, &arguments, self.deadline).await;
        self.passed(&run)?;
        if self.is_of_worker().await {
            let root = self.root_in_merge(place).await?;
            leave_out_notes(&self.project, &root, &ends.onto)
                .await
                .or_else(|run| self.passed(&run))?;
        }
        let folder = place.folder.clone();
        let merged = read_git(move || branches::work_tree_status(&folder)).await?.head;
        merged.ok_or_else(|| impossible(git_message(&run)))
    }

    /// True if the loop works in a worktree of workers, several of which are merged into the same base.
    async fn is_of_worker(&self) -> bool {
        let folder = workers_folder(&self.project).await;
        folder.is_ok_and(|folder| self.project.root.starts_with(folder))
    }

    /// The root of the project in the worktree of the merge.
    async fn root_in_merge(&self, place: &MergeWorkTree) -> Result<PathBuf, MergeHalt> {
        let root = self.project.root.clone();
        let own = read_git(move || Ok(branches::work_tree_status(&root)?.work_tree)).await?;
        Ok(root_in(&place.folder, &self.project.root, &own))
    }

    /// Pushes the merge; the remote accepts it only if its branch is still at the fetched commit.
    async fn push(&self, ends: &MergeTarget, merged: &str) -> Result<(), MergeHalt> {
        let Some(remote) = &ends.remote else { return Ok(()) };
        let refspec = format!("{merged}:{}", branch_ref(&self.branch.base));
        let arguments = ["push", "--quiet", "--no-follow-tags", remote, &refspec];
        let run = self.ask_remote(&arguments).await;
        if run.outcome == CommandOutcome::Passed {
            return Ok(());
        }
        match self.fetch(remote).await? {
            Some(theirs) if theirs == merged => Ok(()),
            Some(theirs) if theirs != ends.onto && !self.contains(&ends.onto, &theirs).await? => {
                Err(MergeHalt::Overtaken)
            }
            _ => Err(MergeHalt::End(BranchMergeResult::Unmeasured(gap_of(
                &run,
                "the push was refused",
            )))),
        }
    }

    /// Moves the local base branch from the commit that was read. If it is checked out somewhere, that
    /// worktree moves along if it is clean; otherwise nothing moves.
    async fn move_base(&self, ends: &MergeTarget, merged: &str) -> Result<(), MergeHalt> {
        self.check_deadline()?;
        let (merge, ends, merged) = (self.clone(), ends.clone(), merged.to_owned());
        let moved =
            run_to_completion(async move { merge.move_base_now(&ends, &merged).await }).await;
        moved.unwrap_or_else(|| Err(impossible("internal error".to_owned())))
    }

    async fn move_base_now(&self, ends: &MergeTarget, merged: &str) -> Result<(), MergeHalt> {
        let (root, base) = (self.project.root.clone(), self.branch.base.clone());
        let place = read_git(move || branches::checked_out_at(&root, &base)).await?;
        let root = self.project.root.clone();
        let reference = branch_ref(&self.branch.base);
        let run = if let Some(place) = &place {
            let folder = place.clone();
            let (mut standing, own) = read_git(move || {
                let own = branches::work_tree_status(&root)?.work_tree;
                Ok((branches::work_tree_status(&folder)?, root_in(&folder, &root, &own)))
            })
            .await?;
            // Git refuses the move if it changes one of them.
            standing.uncommitted.retain(|path| !is_written_by_engine(&own, &place.join(path)));
            let in_the_way = self.in_the_way(place, &ends.base, merged).await?;
            let is_free = in_the_way.is_empty()
                && standing.uncommitted.is_empty()
                && standing.unfinished.is_none()
                && standing.branch.as_deref() == Some(&self.branch.base);
            if !is_free {
                return Err(self.hold_merge(place, merged).await);
            }
            run_git_moving(&self.project, place, &["merge", "--quiet", "--ff-only", merged]).await
        } else {
            let why = format!("merge {}", self.branch.name);
            let arguments = ["update-ref", "-m", &why, &reference, merged, &ends.base];
            run_git(&self.project, &self.project.root, &arguments).await
        };
        let root = self.project.root.clone();
        let now = read_git(move || branches::resolve_commit(&root, &reference)).await?;
        match (now, place) {
            (Some(now), _) if now == merged => Ok(()),
            (Some(now), _) if now != ends.base => Err(MergeHalt::Overtaken),
            (_, Some(place)) => Err(self.hold_merge(&place, merged).await),
            (_, None) => Err(impossible(git_message(&run))),
        }
    }

    /// Keeps the merge under a ref for the user, who has to move the base branch.
    async fn hold_merge(&self, place: &Path, merged: &str) -> MergeHalt {
        let kept = held_merge_ref(&self.branch.name);
        let why = format!("merge {}", self.branch.name);
        run_git(&self.project, &self.project.root, &["update-ref", "-m", &why, &kept, merged])
            .await;
        let shown = place.display().to_string();
        MergeHalt::End(BranchMergeResult::Held(words::base_in_use(
            &self.branch.base,
            &shown,
            &kept,
        )))
    }

    /// Files in a worktree that a move between two commits would overwrite: git overwrites ignored files.
    async fn in_the_way(
        &self,
        tree: &Path,
        old: &str,
        new: &str,
    ) -> Result<Vec<String>, MergeHalt> {
        let (tree, old, new) = (tree.to_path_buf(), old.to_owned(), new.to_owned());
        Ok(read_git(move || branches::obstructing_files(&tree, &old, &new)).await?)
    }

    async fn contains(&self, commit: &str, other: &str) -> Result<bool, MergeHalt> {
        let (root, commit, other) =
            (self.project.root.clone(), commit.to_owned(), other.to_owned());
        Ok(read_git(move || branches::contains_commit(&root, &commit, &other)).await?)
    }

    async fn ask_remote(&self, arguments: &[&str]) -> CommandRun {
        run_git_remote(&self.project, &self.project.root, arguments, self.deadline).await
    }

    fn check_deadline(&self) -> Result<(), MergeHalt> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(deadline_halt()) }
    }

    fn passed(&self, run: &CommandRun) -> Result<(), MergeHalt> {
        match &run.outcome {
            CommandOutcome::Passed => Ok(()),
            CommandOutcome::Unmeasured(gap) => {
                Err(MergeHalt::End(BranchMergeResult::Unmeasured(gap.clone())))
            }
            CommandOutcome::Failed(_) => Err(self.task(&MergeTask::Refused(&git_message(run)))),
        }
    }

    fn task(&self, task: &MergeTask<'_>) -> MergeHalt {
        let LoopBranch { name, base, language, .. } = &self.branch;
        MergeHalt::End(BranchMergeResult::Task(words::merge_task(*language, name, base, task)))
    }
}

fn unmeasured(gap: Gap) -> MergeHalt {
    MergeHalt::End(BranchMergeResult::Unmeasured(gap))
}

fn deadline_halt() -> MergeHalt {
    unmeasured(stop_deadline_gap())
}

/// The work has changed since it was measured.
fn superseded() -> MergeHalt {
    unmeasured(Gap::new(Cause::Superseded, "the files changed after they were measured"))
}

fn impossible(reason: String) -> MergeHalt {
    MergeHalt::End(BranchMergeResult::Impossible(reason))
}

fn refused(run: CommandRun) -> MergeHalt {
    match run.outcome {
        CommandOutcome::Unmeasured(gap) => unmeasured(gap),
        _ => impossible(git_message(&run)),
    }
}

fn gap_of(run: &CommandRun, what: &str) -> Gap {
    match &run.outcome {
        CommandOutcome::Unmeasured(gap) => gap.clone(),
        _ => Gap::new(Cause::Refused, format!("{what}: {}", git_message(run))),
    }
}
