//! The texts about TODOs with a worktree each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::loops::pause_words;
use crate::merging::{OtherHead, way_back};
use crate::pipeline::language;
use crate::wording::worktrees as phrases;
use crate::{sanitized_name, wording};
use moai_base::foreign_text::{one_line, quoted_lines};
use moai_base::limits::{LINE_CHARS_MAX, REASON_LINE_CHARS_MAX, TASK_CHARS_MAX};
use moai_loops::framework::MessageLanguage;
use moai_loops::state::{LoopState, PauseReason, Status};
use moai_pipeline::plan::TodoId;
use moai_pipeline::state::PipelineState;
use moai_pipeline::worktrees::{TodoWorktree, WorktreeStage};
use moai_protocol::documents::pipelines::TodoWorktreeEntry;

/// State of a worktree.
#[derive(Clone, Debug)]
pub struct TodoWorktreeStatus {
    pub tree: TodoWorktree,
    /// Its loop, if it could be read.
    pub state: Option<LoopState>,
    pub folder: WorktreeFolder,
    /// Everything that keeps its commits reachable.
    pub heads: WorktreeHeads,
    /// Number of commits of these that the branch into which it is merged lacks.
    pub unmerged: usize,
    /// True if that branch contains a merge of its branch.
    pub has_merge: bool,
    /// True if its loop ended with its work merged.
    pub is_merged_end: bool,
}

impl TodoWorktreeStatus {
    /// The stage that texts and documents show: what its loop has merged counts as merged, although the
    /// pipeline has not examined it, or ended before that.
    fn stage(&self) -> WorktreeStage {
        match &self.tree.stage {
            WorktreeStage::Working | WorktreeStage::Closed if self.is_merged_end => {
                WorktreeStage::Merged
            }
            stage => stage.clone(),
        }
    }
}

/// Everything that keeps the commits of a worktree reachable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorktreeHeads {
    pub has_branch: bool,
    /// The checkout in place of its branch; the last commit of a deleted branch.
    pub other: Option<OtherHead>,
}

/// The folder of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeFolder {
    /// It is in its original place; the content is a reason not to remove it.
    Here(Option<TreeContent>),
    /// Something else is in its place: no worktree of the project's repository.
    Replaced,
    /// A later loop works there, on another branch.
    OfLaterLoop,
    /// It was deleted, or moved where it cannot be found.
    Gone,
    /// Its branch is checked out in this folder.
    MovedTo(PathBuf),
}

/// A reason not to remove a worktree, although its commits are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeContent {
    /// Changes that are not committed.
    Uncommitted,
    /// An operation of git is unfinished: `a merge`.
    Unfinished(&'static str),
    /// An edit of a file that git is configured not to check.
    Unseen(String),
    /// Commits in this submodule that are nowhere else.
    SubmoduleCommits(String),
    /// Submodules without such commits.
    Submodules,
    /// Files that git ignores, of which this is one.
    Ignored(String),
    /// Git has a lock on it.
    Locked,
    /// A program runs there.
    InUse,
}

impl TreeContent {
    /// True if it may be work that exists nowhere else.
    #[must_use]
    pub fn is_work(&self) -> bool {
        !matches!(self, Self::Submodules | Self::Ignored(_) | Self::Locked | Self::InUse)
    }
}

/// The task of a worktree's loop: its part of the plan, as approved.
#[must_use]
pub fn todo_task(state: &PipelineState, todo: &TodoId) -> String {
    let head = phrases::WORKTREE_TASK.with(language(state), &[todo.as_str(), &state.id]);
    let Some(approved) = &state.approved else { return head };
    let (text, plan) = (approved.text(), approved.document());
    let Some(first) = plan.todo(todo).map(|todo| todo.line) else { return head };
    let next = plan.todos.iter().map(|todo| todo.line).filter(|line| *line > first).min();
    let last = next.unwrap_or(usize::MAX);
    let lines = text.lines().skip(first - 1).take(last - first);
    let part: String = lines.collect::<Vec<_>>().join("\n").chars().take(TASK_CHARS_MAX).collect();
    let quoted: Vec<String> = quoted_lines(part.trim_end()).collect();
    format!("{head}\n{}", quoted.join("\n"))
}

/// For the user: a turn ends while TODOs are worked on in worktrees.
#[must_use]
pub fn awaits_worktrees(state: &PipelineState, statuses: &[TodoWorktreeStatus]) -> String {
    let head = phrases::AWAITS_WORKTREES.with(language(state), &[&state.id]);
    format!("{head}\n{}", working_lines(state, statuses).trim_end())
}

/// For the user: the branch that is checked out in the project lacks the merged work.
#[must_use]
pub fn on_other_branch(state: &PipelineState, base: &str, branch: Option<&str>) -> String {
    let language = language(state);
    let detached = phrases::DETACHED_HEAD.text_in(language);
    let branch = branch.map_or_else(|| detached.to_owned(), sanitized_name);
    phrases::ON_OTHER_BRANCH.with(language, &[&state.id, &sanitized_name(base), &branch])
}

/// The line for an approved plan whose file no longer exists.
#[must_use]
pub fn plan_is_missing(state: &PipelineState) -> String {
    phrases::PLAN_FILE_GONE.with(language(state), &[&state.plan_path()])
}

/// For the user: TODOs that reached the limit of attempts at this Stop, one line each.
#[must_use]
pub fn failed_in_worktrees(state: &PipelineState, before: &[String]) -> Vec<String> {
    let new = state.failed_todos().into_iter().filter(|todo| !before.contains(todo));
    let line = |todo: String| {
        let progress = state.todos.get(&todo);
        let (attempts, failure) =
            progress.map(|it| (it.attempts, it.failure.as_str())).unwrap_or_default();
        let failure = one_line(failure, REASON_LINE_CHARS_MAX);
        let parts = [todo.as_str(), &attempts.to_string(), &failure, &state.id];
        phrases::TODO_FAILED.with(language(state), &parts)
    };
    new.map(line).collect()
}

/// For the user: TODOs that got no worktree.
#[must_use]
pub fn no_worktrees(state: &PipelineState, todos: &[TodoId], reason: &str) -> String {
    let named: Vec<&str> = todos.iter().map(TodoId::as_str).collect();
    let (named, reason) = (named.join(", "), one_line(reason, REASON_LINE_CHARS_MAX));
    phrases::NO_WORKTREES.with(language(state), &[&state.id, &named, &reason])
}

/// A line for each worktree in use; if it is paused, a second one with the remedy.
#[must_use]
pub fn working_lines(state: &PipelineState, statuses: &[TodoWorktreeStatus]) -> String {
    let mut text = String::new();
    let is_working = |status: &&TodoWorktreeStatus| status.tree.stage == WorktreeStage::Working;
    for status in statuses.iter().filter(is_working) {
        let what = status_text(language(state), status);
        let parts = [status.tree.todo.as_str(), &place(&status.tree), &what];
        let _ = writeln!(text, "{}", phrases::WORKTREE_LINE.with(language(state), &parts));
        if let Some(held) = status.state.as_ref().filter(|held| held.status == Status::Paused) {
            let _ = writeln!(text, "{}", pause_line(state, held));
        }
        if let Some(other) = &status.heads.other {
            let back = way_back(&status.tree.branch, status.heads.has_branch, other);
            let _ =
                writeln!(text, "{}", phrases::WORKTREE_OFF_BRANCH.with(language(state), &[&back]));
        }
    }
    text
}

/// Lines about a paused pipeline loop: the reason, and how to continue; empty if it is not paused. `is_sound`
/// says that the plan has no fault now.
#[must_use]
pub fn paused_lines(state: &PipelineState, held: &LoopState, is_sound: bool) -> String {
    let reason = held.pause_reason.filter(|_| held.status == Status::Paused);
    let Some(reason) = reason else { return String::new() };
    if reason == PauseReason::AwaitsPerson {
        return format!("{}\n", phrases::PIPELINE_AWAITS_ANSWER.text_in(language(state)));
    }
    if reason == PauseReason::PlanUnusable && is_sound {
        return phrases::PLAN_REPAIRED.with(language(state), &[&held.id]) + "\n";
    }
    let first_line = phrases::PIPELINE_PAUSED.with(language(state), &[reason.as_str()]);
    format!("{first_line}\n{}\n", pause_line(state, held))
}

fn pause_line(state: &PipelineState, held: &LoopState) -> String {
    let why = one_line(&pause_words(held), LINE_CHARS_MAX);
    // Answers to the questions continue it.
    if held.pause_reason == Some(PauseReason::AwaitsPerson) {
        return format!("    {why}");
    }
    let why = why.trim_end_matches('.');
    phrases::LOOP_PAUSED.with(language(state), &[why, &held.id])
}

/// The state of the loop in a worktree in use.
fn status_text(language: MessageLanguage, status: &TodoWorktreeStatus) -> String {
    let words = |phrase: &wording::BilingualPhrase| phrase.text_in(language).to_owned();
    let held = status.state.as_ref();
    if status.stage() == WorktreeStage::Merged {
        let commits = wording::COMMITS.count(language, status.unmerged);
        let since = phrases::MORE_SINCE_MERGE.with(language, &[&commits]);
        let since = if status.unmerged > 0 { since } else { String::new() };
        return words(&phrases::LOOP_MERGED) + &since;
    }
    match (&status.folder, held) {
        (WorktreeFolder::Gone, _) => words(&phrases::FOLDER_GONE),
        (WorktreeFolder::Replaced, _) => words(&phrases::FOLDER_REPLACED),
        (WorktreeFolder::MovedTo(folder), _) => {
            let folder = sanitized_name(&folder.display().to_string());
            phrases::FOLDER_MOVED.with(language, &[&folder])
        }
        (_, None) => words(&phrases::LOOP_IS_GONE),
        (_, Some(LoopState { session_id: None, .. })) => words(&phrases::WAITS_FOR_SESSION),
        (_, Some(held)) => {
            let reason = held.pause_reason.map(|reason| format!(" ({})", reason.as_str()));
            let name = match (language, held.status) {
                (MessageLanguage::Korean, Status::Running) => "실행 중",
                (MessageLanguage::Korean, Status::Paused) => "일시 정지",
                (_, status) => status.as_str(),
            };
            let name = format!("{name}{}", reason.unwrap_or_default());
            let (now, most) =
                (held.current_iteration().to_string(), held.max_iterations.to_string());
            phrases::LOOP_AT_WORK.with(language, &[&name, &now, &most])
        }
    }
}

/// Why there are no worktrees at a place.
#[must_use]
pub fn no_place(root: &Path, why: &str) -> String {
    format!("no worktrees of {}: {why}", sanitized_name(&root.display().to_string()))
}

/// Why there are no worktrees: files are changed.
#[must_use]
pub fn uncommitted(root: &Path, files: &[String]) -> String {
    let first = files.first().map_or("", String::as_str);
    let more = files.len().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let why = format!(
        "{}{more} has changes that are not committed, and worktrees begin with the last commit. Commit them, \
         or put them aside with `git stash`",
        sanitized_name(first)
    );
    no_place(root, &why)
}

/// One line for each worktree that is no longer in use.
#[must_use]
pub fn ended_lines(state: &PipelineState, statuses: &[TodoWorktreeStatus]) -> String {
    let mut text = String::new();
    let is_over = |status: &&TodoWorktreeStatus| status.tree.stage != WorktreeStage::Working;
    for status in statuses.iter().filter(is_over) {
        let outcome = match status.stage() {
            WorktreeStage::Merged => phrases::TREE_MERGED.text_in(language(state)).to_owned(),
            _ => phrases::TREE_UNMERGED.with(language(state), &[&reason_of(state, status)]),
        };
        let parts = [status.tree.todo.as_str(), &place(&status.tree), &outcome];
        let _ = writeln!(text, "{}", phrases::WORKTREE_LINE.with(language(state), &parts));
    }
    text
}

/// For the user: worktrees that are kept because their work is not merged, a line each, with the remedy. When
/// the pipeline has ended, those that are still used as well.
#[must_use]
pub fn left_lines(state: &PipelineState, statuses: &[TodoWorktreeStatus]) -> Vec<String> {
    let is_over = |status: &&TodoWorktreeStatus| status.tree.stage != WorktreeStage::Working;
    let mut lines: Vec<String> =
        statuses.iter().filter(is_over).filter_map(|status| left_line(state, status)).collect();
    if !lines.is_empty() {
        lines.push(phrases::LEFT_REMEDY.text_in(language(state)).to_owned());
    }
    lines
}

/// The remains of a worktree that is no longer in use; `None` if nothing remains.
fn left_line(state: &PipelineState, status: &TodoWorktreeStatus) -> Option<String> {
    let TodoWorktreeStatus { tree, folder, heads, unmerged, .. } = status;
    let language = language(state);
    let what = match folder {
        _ if *unmerged > 0 => {
            let commits = wording::COMMITS.count(language, *unmerged);
            let reason = match status.stage() {
                WorktreeStage::Merged if !status.has_merge => {
                    phrases::MERGE_TAKEN_BACK.text_in(language).to_owned()
                }
                _ => reason_of(state, status),
            };
            phrases::COMMITS_UNMERGED.with(language, &[&commits, &reason])
        }
        WorktreeFolder::Here(Some(content)) if content.is_work() || !state.is_active() => {
            content_words(language, content, &reason_of(state, status))
        }
        WorktreeFolder::Replaced => phrases::WORKTREE_REPLACED.text_in(language).to_owned(),
        WorktreeFolder::Here(None) if !state.is_active() => {
            phrases::WORKTREE_MERGED.text_in(language).to_owned()
        }
        _ => return None,
    };
    let (todo, place, heads) =
        (tree.todo.as_str(), place(tree), heads_words(language, tree, heads));
    Some(match folder {
        WorktreeFolder::Here(_) | WorktreeFolder::Replaced => {
            phrases::WORKTREE_LEFT.with(language, &[todo, &place, &heads, &what])
        }
        WorktreeFolder::Gone | WorktreeFolder::OfLaterLoop => {
            phrases::WORKTREE_GONE.with(language, &[todo, &place, &heads, &what])
        }
        WorktreeFolder::MovedTo(now) => {
            let now = sanitized_name(&now.display().to_string());
            phrases::WORKTREE_MOVED.with(language, &[todo, &place, &now, &heads, &what])
        }
    })
}

/// The reason not to remove a worktree. `why` is the reason why its work is not merged.
fn content_words(language: MessageLanguage, content: &TreeContent, why: &str) -> String {
    let named = |phrase: &wording::BilingualPhrase, name: &str| {
        phrase.with(language, &[&sanitized_name(name)])
    };
    match content {
        TreeContent::Uncommitted => phrases::CHANGES_UNCOMMITTED.with(language, &[why]),
        TreeContent::Unfinished(what) => named(&phrases::WORKTREE_UNFINISHED, what),
        TreeContent::Unseen(file) => named(&phrases::WORKTREE_UNSEEN, file),
        TreeContent::SubmoduleCommits(name) => named(&phrases::SUBMODULE_COMMITS, name),
        TreeContent::Submodules => phrases::WORKTREE_SUBMODULES.text_in(language).to_owned(),
        TreeContent::Ignored(file) => named(&phrases::WORKTREE_IGNORED, file),
        TreeContent::Locked => phrases::WORKTREE_LOCKED.text_in(language).to_owned(),
        TreeContent::InUse => phrases::WORKTREE_IN_USE.text_in(language).to_owned(),
    }
}

/// Everything that keeps the commits of a worktree reachable.
fn heads_words(language: MessageLanguage, tree: &TodoWorktree, heads: &WorktreeHeads) -> String {
    let branch = sanitized_name(&tree.branch);
    match (&heads.other, heads.has_branch) {
        (Some(other), true) => {
            phrases::BRANCH_AND_HEAD.with(language, &[&branch, &sanitized_name(other.name())])
        }
        (Some(other), false) => {
            phrases::HEAD_ONLY.with(language, &[&sanitized_name(other.name()), &branch])
        }
        (None, true) => phrases::ON_BRANCH.with(language, &[&branch]),
        (None, false) => phrases::BRANCH_GONE.with(language, &[&branch]),
    }
}

/// For the user of a session in a worktree: the pipeline has ended first.
#[must_use]
pub fn worktree_closed(
    state: &PipelineState,
    tree: &TodoWorktree,
    heads: &WorktreeHeads,
) -> String {
    let outcome = state.outcome.map_or("", |outcome| outcome.as_str());
    let other = heads.other.as_ref().filter(|_| !heads.has_branch);
    let branch = sanitized_name(other.map_or(&tree.branch, OtherHead::name));
    let parts = [state.id.as_str(), outcome, tree.todo.as_str(), &branch];
    phrases::WORKTREE_CLOSED.with(language(state), &parts)
}

/// For a session in a worktree: another session works there.
#[must_use]
pub fn worktree_taken(state: &PipelineState, held: &LoopState) -> String {
    let todo = state.todo_of_loop(&held.id).map_or("", TodoId::as_str);
    phrases::WORKTREE_TAKEN.with(language(state), &[todo, &state.id, &held.id])
}

/// Why the loop of a worktree ends: its folder is not where it was made.
#[must_use]
pub fn folder_is_gone(status: &TodoWorktreeStatus) -> String {
    let commits = if status.unmerged == 0 {
        String::new()
    } else {
        let count = wording::COMMITS.count(MessageLanguage::English, status.unmerged);
        format!("; branch {} has {count} not merged", status.tree.branch)
    };
    let what = status_text(MessageLanguage::English, status);
    one_line(&format!("{what}{commits}"), REASON_LINE_CHARS_MAX)
}

/// Why the loop of a worktree ended without a merge, as a fragment.
#[must_use]
pub fn unmerged_reason(held: &LoopState) -> String {
    let status = held.status.as_str();
    let reason =
        held.note.as_ref().map_or_else(|| status.to_owned(), |note| format!("{status}: {note}"));
    one_line(&reason, REASON_LINE_CHARS_MAX)
}

/// The worktrees as entries of a document.
pub(crate) fn worktree_entries(statuses: &[TodoWorktreeStatus]) -> Vec<TodoWorktreeEntry<'_>> {
    let entries = statuses.iter().map(|status| TodoWorktreeEntry {
        todo: status.tree.todo.as_str(),
        root: status.tree.root.to_string_lossy().into_owned(),
        branch: &status.tree.branch,
        loop_id: &status.tree.loop_id,
        stage: match status.stage() {
            WorktreeStage::Working => "working",
            WorktreeStage::Merged => "merged",
            WorktreeStage::Unmerged(_) => "unmerged",
            WorktreeStage::Closed => "closed",
        },
    });
    entries.collect()
}

/// Why the work of a worktree is not merged.
fn reason_of(state: &PipelineState, status: &TodoWorktreeStatus) -> String {
    match status.stage() {
        WorktreeStage::Unmerged(reason) => one_line(&reason, REASON_LINE_CHARS_MAX),
        WorktreeStage::Merged => phrases::SINCE_ITS_MERGE.text_in(language(state)).to_owned(),
        _ => phrases::PIPELINE_ENDED_FIRST.text_in(language(state)).to_owned(),
    }
}

fn place(tree: &TodoWorktree) -> String {
    sanitized_name(&tree.root.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_pipeline::approved_plan::ApprovedPlan;
    use moai_pipeline::state::{PipelineKind, PipelinePhase, PlanApprover};

    const PLAN: &str = "\
# PLAN: parts

### [ ] TODO 1: one
- [A] `check 1`

### [ ] TODO 2: two
- [A] `check 2`
";

    fn approved() -> PipelineState {
        let (id, goal) = ("pipeline-1".to_owned(), "parts".to_owned());
        let state = PipelineState::begin(id, PipelineKind::Small, goal, "SPEC-A-001".into(), 1);
        let by = PlanApprover::Person;
        let approved = Some(ApprovedPlan::new(PLAN.to_owned(), 1, by));
        PipelineState { approved, ..state }
    }

    #[test]
    fn the_task_of_a_worktree_is_its_part_of_the_plan_and_nothing_else() {
        let todo = |id| TodoId::parse(id).expect("an id");
        let first = todo_task(&approved(), &todo("1"));
        assert!(first.contains("TODO-1") && first.contains("  | - [A] `check 1`"), "{first}");
        assert!(!first.contains("check 2"), "{first}");
        let last = todo_task(&approved(), &todo("2"));
        assert!(last.ends_with("check 2`") && !last.contains("check 1"), "{last}");
        assert!(!todo_task(&approved(), &todo("9")).contains("check"));
    }

    fn status(stage: WorktreeStage, folder: WorktreeFolder, unmerged: usize) -> TodoWorktreeStatus {
        let tree = TodoWorktree {
            todo: TodoId::parse("1").expect("an id"),
            root: PathBuf::from("/p.moai-workers/ab"),
            branch: "gulf/auto-1-ab".to_owned(),
            loop_id: "loop-ab".to_owned(),
            stage,
        };
        let heads = WorktreeHeads { has_branch: true, other: None };
        TodoWorktreeStatus {
            tree,
            state: None,
            folder,
            heads,
            unmerged,
            has_merge: true,
            is_merged_end: false,
        }
    }

    fn left_of(status: &TodoWorktreeStatus) -> String {
        left_lines(&approved(), std::slice::from_ref(status)).first().cloned().unwrap_or_default()
    }

    #[test]
    fn worktrees_that_stay_are_named_with_branch_and_reason() {
        let here = |content: Option<TreeContent>| WorktreeFolder::Here(content);
        let dirty = || here(Some(TreeContent::Uncommitted));
        let stalled = WorktreeStage::Unmerged("stalled".to_owned());
        let left = left_of(&status(stalled.clone(), here(None), 1));
        let named = "  TODO-1 stays in /p.moai-workers/ab (branch gulf/auto-1-ab): 1 commit not merged (stalled)";
        assert_eq!(left, named);
        let left = left_of(&status(stalled.clone(), dirty(), 0));
        assert!(left.ends_with("changes that are not committed (stalled)"), "{left}");
        let left = left_of(&status(WorktreeStage::Merged, WorktreeFolder::OfLaterLoop, 2));
        let gone =
            "no longer exists (branch gulf/auto-1-ab): 2 commits not merged (made after its merge)";
        assert!(left.ends_with(gone), "{left}");
        let moved = WorktreeFolder::MovedTo("/q".into());
        let left = left_of(&status(WorktreeStage::Closed, moved, 1));
        assert!(left.contains("was moved to /q (branch gulf/auto-1-ab): 1 commit"), "{left}");
        assert_eq!(left_of(&status(WorktreeStage::Merged, here(None), 0)), "", "it is free");
        assert_eq!(left_of(&status(WorktreeStage::Working, dirty(), 3)), "", "it is at work");
        let over = PipelineState { phase: PipelinePhase::Ended, ..approved() };
        let used = here(Some(TreeContent::InUse));
        let lines = left_lines(&over, &[status(WorktreeStage::Merged, used, 0)]);
        assert!(lines[0].ends_with("a program still runs there") && lines.len() == 2, "{lines:?}");
        let ignored = here(Some(TreeContent::Ignored("data.bin".to_owned())));
        let lines = left_lines(&over, &[status(WorktreeStage::Merged, ignored, 0)]);
        assert!(lines[0].ends_with("git ignores are left there (data.bin)"), "{lines:?}");
        let lines = ended_lines(&approved(), &[status(stalled, here(None), 1)]);
        assert_eq!(lines, "  TODO-1 in /p.moai-workers/ab: not merged: stalled\n");
    }

    #[test]
    fn work_that_was_merged_before_the_pipeline_ended_is_merged_in_every_text() {
        let here = WorktreeFolder::Here(None);
        let closed = |is_merged_end, unmerged| TodoWorktreeStatus {
            is_merged_end,
            ..status(WorktreeStage::Closed, here.clone(), unmerged)
        };
        let merged = [closed(true, 0)];
        assert_eq!(ended_lines(&approved(), &merged), "  TODO-1 in /p.moai-workers/ab: merged\n");
        assert_eq!(worktree_entries(&merged)[0].stage, "merged");
        let since = left_of(&closed(true, 1));
        assert!(since.ends_with("1 commit not merged (made after its merge)"), "{since}");
        let open = [closed(false, 1)];
        let ended_first = "not merged: the pipeline ended first\n";
        assert!(ended_lines(&approved(), &open).ends_with(ended_first));
        assert_eq!(worktree_entries(&open)[0].stage, "closed");
    }

    #[test]
    fn worktrees_at_work_are_shown_with_what_keeps_them() {
        let here = WorktreeFolder::Here(None);
        let lines = |status: TodoWorktreeStatus| working_lines(&approved(), &[status]);
        let lost = status(WorktreeStage::Working, here.clone(), 0);
        assert_eq!(lines(lost), "  TODO-1 in /p.moai-workers/ab: its loop is gone\n");
        let gone = status(WorktreeStage::Working, WorktreeFolder::Gone, 1);
        assert!(lines(gone.clone()).ends_with("the folder is gone\n"));
        let reason = "the folder is gone; branch gulf/auto-1-ab has 1 commit not merged";
        assert_eq!(folder_is_gone(&gone), reason);
        let paused = LoopState {
            status: Status::Paused,
            pause_reason: Some(PauseReason::BaseInUse),
            note: Some("main has changes".to_owned()),
            ..moai_loops::samples::state()
        };
        let shown = lines(TodoWorktreeStatus {
            state: Some(paused),
            ..status(WorktreeStage::Working, here, 0)
        });
        assert!(shown.contains("paused (base_in_use)"), "{shown}");
        assert!(
            shown.contains("main has changes. To continue: `moai-ralph loop resume loop-1`"),
            "{shown}"
        );
    }
}
