//! Runs the `git` program to change branches and worktrees, because only the program runs the project's
//! hooks, merge drivers and signing. No shell, no terminal, and a time limit for every call.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::project::Project;
use moai_base::limits::{COMMAND_KILL_GRACE_MS, GIT_MOVE_MS_MAX, GIT_MS_MAX, GIT_REMOTE_MS_MAX};
use moai_base::verdict::{Cause, Gap};
use moai_host::programs::{self, CommandOutcome, CommandRun, ProgramCall};

/// Variables that would lead git to another repository than that of its directory, open an editor or
/// a prompt, or change the reflog message of a move.
const REMOVED_VARIABLES: [&str; 13] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_TERMINAL_PROMPT",
    "GIT_MERGE_AUTOEDIT",
    "GIT_REFLOG_ACTION",
];

/// Settings that override the configuration, which could move other branches along, stash local
/// changes, or leave processes behind.
const SETTINGS: [&str; 6] = [
    "rebase.autoStash=false",
    "rebase.updateRefs=false",
    "rebase.autoSquash=false",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Runs git in a folder.
pub(crate) async fn run_git(project: &Project, folder: &Path, arguments: &[&str]) -> CommandRun {
    run(project, folder, arguments, GitTimeLimit::from_millis(GIT_MS_MAX)).await
}

/// Runs a git command that moves a user's worktree, with a long time limit.
pub(crate) async fn run_git_moving(
    project: &Project,
    folder: &Path,
    arguments: &[&str],
) -> CommandRun {
    run(project, folder, arguments, GitTimeLimit::from_millis(GIT_MOVE_MS_MAX)).await
}

/// Runs git until a deadline. It is then asked to end, and removes its locks.
pub(crate) async fn run_git_until(
    project: &Project,
    folder: &Path,
    arguments: &[&str],
    deadline: Instant,
) -> CommandRun {
    let bound = GitTimeLimit { deadline: Some(deadline), ..GitTimeLimit::from_millis(GIT_MS_MAX) };
    run(project, folder, arguments, bound).await
}

/// Runs a git command that contacts a remote.
pub(crate) async fn run_git_remote(
    project: &Project,
    folder: &Path,
    arguments: &[&str],
    deadline: Instant,
) -> CommandRun {
    let bound =
        GitTimeLimit { deadline: Some(deadline), ..GitTimeLimit::from_millis(GIT_REMOTE_MS_MAX) };
    run(project, folder, arguments, bound).await
}

/// Arguments that disable the project's hooks, for a checkout in a temporary worktree: a failing hook would
/// make git fail, and its effects are meant for users.
pub(crate) fn without_hooks<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["-c", "core.hooksPath=/dev/null"], arguments].concat()
}

/// The time limit of a call.
struct GitTimeLimit {
    limit: Duration,
    deadline: Option<Instant>,
}

impl GitTimeLimit {
    const fn from_millis(ms_max: u64) -> Self {
        Self { limit: Duration::from_millis(ms_max), deadline: None }
    }

    fn timeout(&self) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        left.map_or(self.limit, |left| left.min(self.limit))
    }
}

async fn run(
    project: &Project,
    folder: &Path,
    arguments: &[&str],
    bound: GitTimeLimit,
) -> CommandRun {
    let timeout = bound.timeout();
    if timeout.is_zero() {
        let outcome = CommandOutcome::Unmeasured(stop_deadline_gap());
        return CommandRun { outcome, output: String::new(), elapsed: Duration::ZERO };
    }
    let settings = SETTINGS.iter().flat_map(|setting| ["-c", setting]);
    let caller = project
        .workspace
        .env
        .iter()
        .filter(|(name, _)| !REMOVED_VARIABLES.contains(&name.as_str()));
    let mut env: Vec<(String, String)> =
        caller.map(|(name, value)| (name.clone(), value.clone())).collect();
    let own = [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("GIT_SEQUENCE_EDITOR", "true"),
        ("GIT_MERGE_AUTOEDIT", "no"),
    ];
    env.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    programs::run_command(ProgramCall {
        program: "git".into(),
        args: settings.chain(arguments.iter().copied()).map(str::to_owned).collect(),
        cwd: folder.to_path_buf(),
        env,
        timeout,
        kill_grace: Duration::from_millis(COMMAND_KILL_GRACE_MS),
        parent: None,
    })
    .await
}

/// The gap after the deadline of a Stop.
pub(crate) fn stop_deadline_gap() -> Gap {
    Gap::new(Cause::TimedOut, "the time limit of this Stop was reached")
}

/// The output of a git call, or its exit status if it printed nothing.
pub(crate) fn git_message(run: &CommandRun) -> String {
    match (&run.outcome, run.output.trim()) {
        (CommandOutcome::Unmeasured(gap), _) => gap.to_string(),
        (CommandOutcome::Failed(how), "") => how.to_string(),
        (_, output) => output.to_owned(),
    }
}
