//! The branch of an autonomous loop: made at its start, merged at its end. It must not know what
//! makes a loop complete.
//!
//! ```text
//! lock -> fetch -> rebase, beside the work tree -> branch moved -> checks -> merge --no-ff, beside
//!   the work tree -> still as measured? -> push, when asked -> base branch moved in one step
//! ```
//!
//! Only what was measured is merged: when the branch or a file has changed since, the next Stop
//! measures it first.
//! Rebase and merge happen in a work tree of their own that is thrown away, so that a conflict, or
//! an end in the middle, leaves everybody's files as they were. Branches move only from the commit
//! they were seen at; who was quicker wins, and the merge begins anew. What moves a branch or a work
//! tree of somebody is not begun when the time is over, and never cut off in the middle.

mod moving;
mod new_files;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tokio::time::timeout_at;

use super::checkpoints::{self, Look};
use super::engine::{Engine, Job, to_its_end};
use super::git_program::{
    git, git_moving, git_remote, git_until, out_of_time, said_of, without_hooks,
};
use super::loop_branch::{Branch, read};
use super::merge_place::{MergePlace, lock, try_lock};
use super::project::Project;
use crate::base::limits::MERGE_TRIES_MAX;
use crate::base::verdict::{Cause, Gap};
use crate::checks::{End, Run};
use crate::git::GitError;
use crate::git::branches::{self, full};
use crate::git::foreign::{REBASED_ONTO, fetched};
use crate::report::merging::{self as words, NoBranch, Task};
use moving::BranchMove;
use new_files::{is_note, made_since};

/// What became of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Landing {
    /// The base branch holds the work.
    Merged,
    /// The agent must do something first; its task.
    Task(String),
    /// Not now; nothing is lost.
    Unmeasured(Gap),
    /// The merge is made, and only the user can move the base branch to it; how.
    Held(String),
    /// Not at all, whatever the agent does.
    Impossible(String),
}

/// The work as it was measured: what may be merged, and nothing else.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// The commit of HEAD before the measurement began.
    pub(super) head: Option<String>,
    /// The files while it went on.
    pub(super) tree: Result<Look, Gap>,
}

/// Why a step did not lead to the next one.
enum Halt {
    End(Landing),
    /// A branch moved meanwhile.
    Overtaken,
}

impl From<GitError> for Halt {
    fn from(error: GitError) -> Self {
        Self::End(Landing::Impossible(error.to_string()))
    }
}

/// Merges the branch of a loop into its base, as it was `measured`, or leaves everything as it was
/// when `deadline` comes first; a branch that was rebased by then stays rebased. `checks` measures
/// the work tree of the loop once more when the rebase has changed it; its error is what the agent
/// is told. With the option `loop.push` the remote's branch is moved first, if there is a remote.
pub(super) async fn land<F, C>(
    engine: &Arc<Engine>,
    project: &Project,
    (branch, deadline): (&Branch, Instant),
    mut measured: Measured,
    checks: F,
) -> Landing
where
    F: Fn() -> C + Send + Sync,
    C: Future<Output = Result<Measured, String>> + Send,
{
    let lock = match lock(engine, project, deadline).await {
        Ok(lock) => lock,
        Err(gap) => return Landing::Unmeasured(gap),
    };
    let _ = to_its_end(take_back_owned(project.clone())).await;
    let merge = Merge {
        engine: Arc::clone(engine),
        project: project.clone(),
        branch: branch.clone(),
        deadline,
        _held: Arc::new((engine.job(), lock)),
    };
    for _ in 0..MERGE_TRIES_MAX {
        match merge.once(&mut measured, &checks).await {
            Ok(()) => return Landing::Merged,
            Err(Halt::End(landing)) => return landing,
            Err(Halt::Overtaken) => {}
        }
    }
    let detail = format!("{} moved {MERGE_TRIES_MAX} times while it was merged", branch.base);
    Landing::Unmeasured(Gap::new(Cause::Superseded, detail))
}

/// Forgets the merge of a branch that its user did not take.
pub(super) async fn forget_held(project: &Project, branch: &str) {
    git(project, &project.root, &["update-ref", "-d", &held_at(branch)]).await;
}

/// Where a merge is kept that only the user can take.
fn held_at(branch: &str) -> String {
    format!("refs/moai-ralph/merged/{branch}")
}

/// Takes back a move of the branch and its work tree that a killed process has left half done,
/// unless somebody is merging.
pub(super) async fn take_back_unfinished_move(project: &Project) {
    if let Some(_lock) = try_lock(project).await {
        let _ = to_its_end(take_back_owned(project.clone())).await;
    }
}

async fn take_back_owned(project: Project) {
    moving::take_back(&project).await;
}

#[derive(Clone)]
struct Merge {
    engine: Arc<Engine>,
    project: Project,
    branch: Branch,
    deadline: Instant,
    /// Held until the last step is done, also when nobody waits for it any more.
    _held: Arc<(Job, std::fs::File)>,
}

/// What is merged into what.
#[derive(Clone)]
struct Ends {
    /// The base branch here.
    base: String,
    /// The newest known commit of the base, here or at the remote.
    onto: String,
    /// How an agent names it.
    onto_name: String,
    remote: Option<String>,
}

impl Merge {
    async fn once<F, C>(&self, measured: &mut Measured, checks: &F) -> Result<(), Halt>
    where
        F: Fn() -> C + Send + Sync,
        C: Future<Output = Result<Measured, String>> + Send,
    {
        let mut head = self.as_measured(measured).await?;
        let ends = self.ends().await?;
        if self.contains(&ends.onto, &head).await? {
            return if ends.onto == ends.base {
                Ok(())
            } else {
                self.move_base(&ends, &ends.onto).await
            };
        }
        let start = (head.as_str(), self.deadline);
        let place = MergePlace::make(&self.engine, &self.project, start).await.map_err(refused)?;
        let done = async {
            if !self.contains(&head, &ends.onto).await? {
                let rebased = self.rebase(&place, &head, &ends).await?;
                self.move_branch((&head, &rebased), &ends.onto).await?;
                head = rebased;
                let checked = timeout_at(self.deadline.into(), checks()).await;
                let checked = checked.map_err(|_| late())?;
                *measured = checked.map_err(|said| self.task(&Task::ChecksFailed(&said)))?;
            }
            let merged = self.merge(&place, &head, &ends).await?;
            if self.as_measured(measured).await? != head {
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

    /// The commit of the branch, if it and the files are still what was measured.
    async fn as_measured(&self, measured: &Measured) -> Result<String, Halt> {
        let head = self.ready().await?;
        let unmeasured = |gap| Halt::End(Landing::Unmeasured(gap));
        let before = measured.tree.as_ref().map_err(|gap| unmeasured(gap.clone()))?;
        let now = checkpoints::look(&self.engine, &self.project).await.map_err(unmeasured)?;
        let is_same = measured.head.as_deref() == Some(&head) && before.id == now.id;
        if is_same { Ok(head) } else { Err(superseded()) }
    }

    /// The commit of the branch, once everything is committed on it.
    async fn ready(&self) -> Result<String, Halt> {
        let root = self.project.root.clone();
        let standing = read(move || branches::standing(&root)).await?;
        if standing.branch.as_deref() != Some(&self.branch.name) {
            return Err(self.task(&Task::WrongBranch(standing.branch.as_deref())));
        }
        if let Some(what) = standing.unfinished {
            return Err(self.task(&Task::Unfinished(what)));
        }
        let (root, since_ms) = (self.project.root.clone(), self.branch.since_ms);
        let looked = read(move || Ok((made_since(&root, &standing, since_ms), standing))).await;
        let (new, mut standing) = looked?;
        // Notes are written at every Stop, and some projects track them.
        let (root, tree) = (&self.project.root, &standing.work_tree);
        standing.uncommitted.retain(|path| !is_note(root, &tree.join(path)));
        if !standing.uncommitted.is_empty() || !new.is_empty() {
            return Err(self.task(&Task::Uncommitted(&standing.uncommitted, &new)));
        }
        standing.head.ok_or_else(|| impossible(words::no_branch(&NoBranch::NoCommit)))
    }

    async fn ends(&self) -> Result<Ends, Halt> {
        let name = self.branch.base.clone();
        let (root, base) = (self.project.root.clone(), name.clone());
        let here = read(move || {
            let remote = branches::remote_of(&root, &base)?;
            Ok((branches::commit_of(&root, &full(&base))?, remote))
        });
        let (base, remote) = here.await?;
        let base = base.ok_or_else(|| impossible(words::no_branch(&NoBranch::NoBase(&name))))?;
        let Some(remote) = remote else {
            return Ok(Ends { onto: base.clone(), onto_name: name, base, remote: None });
        };
        let Some(theirs) = self.fetch(&remote).await? else {
            let onto = base.clone();
            return Ok(Ends { onto, onto_name: name, base, remote: Some(remote) });
        };
        if self.contains(&base, &theirs).await? {
            let onto = base.clone();
            return Ok(Ends { onto, onto_name: name, base, remote: Some(remote) });
        }
        if !self.contains(&theirs, &base).await? {
            return Err(impossible(words::diverged(&name, &remote)));
        }
        let onto_name = fetched(&remote, &name);
        Ok(Ends { base, onto: theirs, onto_name, remote: Some(remote) })
    }

    /// The remote's commit of the base branch; `None` when it has none, or when it cannot be asked
    /// and need not be.
    async fn fetch(&self, remote: &str) -> Result<Option<String>, Halt> {
        let (base, kept) = (full(&self.branch.base), fetched(remote, &self.branch.base));
        let refspec = format!("+{base}:{kept}");
        let arguments =
            ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", remote, &refspec];
        let run = self.ask_remote(&arguments).await;
        if run.end == End::Passed {
            let root = self.project.root.clone();
            return Ok(read(move || branches::commit_of(&root, &kept)).await?);
        }
        if !self.project.config.push {
            return Ok(None);
        }
        // git-ls-remote(1): with --exit-code, 2 says that there is no such ref.
        let arguments = ["ls-remote", "--exit-code", "--quiet", remote, &base];
        let asked = self.ask_remote(&arguments).await;
        if asked.end == End::Failed("exit status 2".to_owned()) {
            return Ok(None);
        }
        Err(Halt::End(Landing::Unmeasured(gap_of(&run, "the remote did not answer"))))
    }

    /// The branch on top of the base; commits of the branch that are merges keep their resolutions,
    /// because then the base is merged in instead.
    async fn rebase(&self, place: &MergePlace, head: &str, ends: &Ends) -> Result<String, Halt> {
        let (root, base, commit) = (self.project.root.clone(), ends.onto.clone(), head.to_owned());
        let is_merged = read(move || branches::has_merges(&root, &base, &commit)).await?;
        let arguments: &[&str] = if is_merged {
            &["merge", "--quiet", "--no-edit", &ends.onto]
        } else {
            &["rebase", "--quiet", &ends.onto]
        };
        let run = git_until(&self.project, &place.folder, arguments, self.deadline).await;
        let folder = place.folder.clone();
        let standing = read(move || branches::standing(&folder)).await?;
        match run.end {
            End::Passed => standing.head.ok_or_else(|| impossible(said_of(&run))),
            End::Unmeasured(gap) => Err(Halt::End(Landing::Unmeasured(gap))),
            End::Failed(_) if !standing.conflicts.is_empty() => {
                Err(self.task(&Task::Conflict(&standing.conflicts, &ends.onto_name)))
            }
            End::Failed(_) => Err(self.task(&Task::Refused(&said_of(&run)))),
        }
    }

    /// Brings the work tree of the loop, and then its branch, to the rebased commit. Git refuses
    /// when a file of it was changed meanwhile, or the branch has moved.
    async fn move_branch(&self, (old, new): (&str, &str), onto: &str) -> Result<(), Halt> {
        self.in_time()?;
        let root = self.project.root.clone();
        let standing = read(move || branches::standing(&root)).await?;
        let is_there = standing.branch.as_deref() == Some(&self.branch.name);
        if !is_there || standing.head.as_deref() != Some(old) {
            return Err(superseded());
        }
        let in_the_way = self.in_the_way(&self.project.root, (old, new)).await?;
        if !in_the_way.is_empty() {
            return Err(self.task(&Task::InTheWay(&in_the_way)));
        }
        let (merge, onto) = (self.clone(), onto.to_owned());
        let step = BranchMove {
            branch: self.branch.name.clone(),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        let moved = to_its_end(async move { merge.move_tree_and_branch(&step, &onto).await }).await;
        moved.unwrap_or_else(|| Err(impossible("internal error".to_owned())))
    }

    /// The two steps that belong together.
    async fn move_tree_and_branch(&self, step: &BranchMove, onto: &str) -> Result<(), Halt> {
        let root = &self.project.root;
        step.begin(root).await.map_err(|error| impossible(error.to_string()))?;
        let moved = self.move_files_then_branch(step, onto).await;
        moving::end(root).await;
        moved
    }

    async fn move_files_then_branch(&self, step: &BranchMove, onto: &str) -> Result<(), Halt> {
        let (root, old, new) = (&self.project.root, step.old.as_str(), step.new.as_str());
        // A file that was written again as it was is taken for changed by what follows.
        git(&self.project, root, &["update-index", "-q", "--refresh"]).await;
        let moved = git_moving(&self.project, root, &["read-tree", "-m", "-u", old, new]).await;
        self.passed(&moved)?;
        let reference = full(&self.branch.name);
        let action = format!("{REBASED_ONTO}{onto}: updating HEAD");
        let arguments = ["update-ref", "-m", &action, &reference, new, old];
        let moved = git(&self.project, root, &arguments).await;
        if moved.end == End::Passed {
            return Ok(());
        }
        git_moving(&self.project, root, &["read-tree", "-m", "-u", new, old]).await;
        Err(superseded())
    }

    async fn merge(&self, place: &MergePlace, head: &str, ends: &Ends) -> Result<String, Halt> {
        let checkout = without_hooks(&["checkout", "--quiet", "--force", "--detach", &ends.onto]);
        self.passed(&git_until(&self.project, &place.folder, &checkout, self.deadline).await)?;
        let message = format!("Merge branch '{}' into {}", self.branch.name, self.branch.base);
        let arguments = ["merge", "--quiet", "--no-ff", "--no-edit", "-m", &message, head];
        let run = git_until(&self.project, &place.folder, &arguments, self.deadline).await;
        self.passed(&run)?;
        let folder = place.folder.clone();
        let merged = read(move || branches::standing(&folder)).await?.head;
        merged.ok_or_else(|| impossible(said_of(&run)))
    }

    /// Moves the remote's branch, which it does only from the commit that was fetched.
    async fn push(&self, ends: &Ends, merged: &str) -> Result<(), Halt> {
        let Some(remote) = &ends.remote else { return Ok(()) };
        let refspec = format!("{merged}:{}", full(&self.branch.base));
        let arguments = ["push", "--quiet", "--no-follow-tags", remote, &refspec];
        let run = self.ask_remote(&arguments).await;
        if run.end == End::Passed {
            return Ok(());
        }
        match self.fetch(remote).await? {
            Some(theirs) if theirs == merged => Ok(()),
            Some(theirs) if theirs != ends.onto && !self.contains(&ends.onto, &theirs).await? => {
                Err(Halt::Overtaken)
            }
            _ => Err(Halt::End(Landing::Unmeasured(gap_of(&run, "the push was refused")))),
        }
    }

    /// Moves the base branch here from the commit that was seen. Where somebody has it checked out,
    /// their work tree goes along if it is clean, and else is left as it is.
    async fn move_base(&self, ends: &Ends, merged: &str) -> Result<(), Halt> {
        self.in_time()?;
        let (merge, ends, merged) = (self.clone(), ends.clone(), merged.to_owned());
        let moved = to_its_end(async move { merge.move_base_now(&ends, &merged).await }).await;
        moved.unwrap_or_else(|| Err(impossible("internal error".to_owned())))
    }

    async fn move_base_now(&self, ends: &Ends, merged: &str) -> Result<(), Halt> {
        let (root, base) = (self.project.root.clone(), self.branch.base.clone());
        let place = read(move || branches::checked_out_at(&root, &base)).await?;
        let reference = full(&self.branch.base);
        let run = if let Some(place) = &place {
            let folder = place.clone();
            let standing = read(move || branches::standing(&folder)).await?;
            let in_the_way = self.in_the_way(place, (&ends.base, merged)).await?;
            let is_free = in_the_way.is_empty()
                && standing.uncommitted.is_empty()
                && standing.unfinished.is_none()
                && standing.branch.as_deref() == Some(&self.branch.base);
            if !is_free {
                return Err(self.held(place, merged).await);
            }
            git_moving(&self.project, place, &["merge", "--quiet", "--ff-only", merged]).await
        } else {
            let why = format!("merge {}", self.branch.name);
            let arguments = ["update-ref", "-m", &why, &reference, merged, &ends.base];
            git(&self.project, &self.project.root, &arguments).await
        };
        let root = self.project.root.clone();
        let now = read(move || branches::commit_of(&root, &reference)).await?;
        match (now, place) {
            (Some(now), _) if now == merged => Ok(()),
            (Some(now), _) if now != ends.base => Err(Halt::Overtaken),
            (_, Some(place)) => Err(self.held(&place, merged).await),
            (_, None) => Err(impossible(said_of(&run))),
        }
    }

    /// The merge is made and kept, but the base branch is a person's to move.
    async fn held(&self, place: &Path, merged: &str) -> Halt {
        let kept = held_at(&self.branch.name);
        let why = format!("merge {}", self.branch.name);
        git(&self.project, &self.project.root, &["update-ref", "-m", &why, &kept, merged]).await;
        let shown = place.display().to_string();
        Halt::End(Landing::Held(words::base_in_use(&self.branch.base, &shown, &kept)))
    }

    /// Files in a work tree that a move between two commits would write over: git does so with those
    /// that it ignores.
    async fn in_the_way(&self, tree: &Path, (old, new): (&str, &str)) -> Result<Vec<String>, Halt> {
        let (tree, old, new) = (tree.to_path_buf(), old.to_owned(), new.to_owned());
        Ok(read(move || branches::in_the_way(&tree, (&old, &new))).await?)
    }

    async fn contains(&self, commit: &str, other: &str) -> Result<bool, Halt> {
        let (root, commit, other) =
            (self.project.root.clone(), commit.to_owned(), other.to_owned());
        Ok(read(move || branches::contains(&root, &commit, &other)).await?)
    }

    async fn ask_remote(&self, arguments: &[&str]) -> Run {
        git_remote(&self.project, &self.project.root, arguments, self.deadline).await
    }

    fn in_time(&self) -> Result<(), Halt> {
        if Instant::now() < self.deadline { Ok(()) } else { Err(late()) }
    }

    fn passed(&self, run: &Run) -> Result<(), Halt> {
        match &run.end {
            End::Passed => Ok(()),
            End::Unmeasured(gap) => Err(Halt::End(Landing::Unmeasured(gap.clone()))),
            End::Failed(_) => Err(self.task(&Task::Refused(&said_of(run)))),
        }
    }

    fn task(&self, task: &Task<'_>) -> Halt {
        let Branch { name, base, .. } = &self.branch;
        Halt::End(Landing::Task(words::task(name, base, task)))
    }
}

fn late() -> Halt {
    Halt::End(Landing::Unmeasured(out_of_time()))
}

/// What is there now was not measured.
fn superseded() -> Halt {
    let gap = Gap::new(Cause::Superseded, "the files changed after they were measured");
    Halt::End(Landing::Unmeasured(gap))
}

fn impossible(reason: String) -> Halt {
    Halt::End(Landing::Impossible(reason))
}

fn refused(run: Run) -> Halt {
    match run.end {
        End::Unmeasured(gap) => Halt::End(Landing::Unmeasured(gap)),
        _ => impossible(said_of(&run)),
    }
}

fn gap_of(run: &Run, what: &str) -> Gap {
    match &run.end {
        End::Unmeasured(gap) => gap.clone(),
        _ => Gap::new(Cause::Refused, format!("{what}: {}", said_of(run))),
    }
}

#[cfg(test)]
mod tests;
