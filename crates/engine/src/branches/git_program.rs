//! The `git` program, for what changes branches and work trees: with it the project's hooks, merge
//! drivers and signing run. Arguments only, nothing is asked of a terminal, and every call is
//! bounded in time. It must not know what the calls are for.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::project::Project;
use moai_base::limits::{GIT_MOVE_MS_MAX, GIT_MS_MAX, GIT_REMOTE_MS_MAX};
use moai_base::verdict::{Cause, Gap};
use moai_host::checks::{self, CommandOutcome, CommandRun, ProcessCommand};

/// Variables that would lead git to another repository than that of its directory, ask somebody, or
/// write something else about a move into the log of a ref.
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

/// What no configuration may change: branches that are not ours move along, local changes are put
/// aside, or processes stay behind.
const SETTINGS: [&str; 6] = [
    "rebase.autoStash=false",
    "rebase.updateRefs=false",
    "rebase.autoSquash=false",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Runs git in a folder, to its end.
pub(crate) async fn run_git(project: &Project, folder: &Path, arguments: &[&str]) -> CommandRun {
    run(project, folder, arguments, GitTimeLimit::from_millis(GIT_MS_MAX)).await
}

/// The same for what moves a work tree of somebody: it is hardly ever cut off.
pub(crate) async fn run_git_moving(
    project: &Project,
    folder: &Path,
    arguments: &[&str],
) -> CommandRun {
    run(project, folder, arguments, GitTimeLimit::from_millis(GIT_MOVE_MS_MAX)).await
}

/// The same until a moment. Git is told to end then, and takes its locks away.
pub(crate) async fn run_git_until(
    project: &Project,
    folder: &Path,
    arguments: &[&str],
    deadline: Instant,
) -> CommandRun {
    let bound = GitTimeLimit { deadline: Some(deadline), ..GitTimeLimit::from_millis(GIT_MS_MAX) };
    run(project, folder, arguments, bound).await
}

/// The same for what speaks with a remote.
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

/// The same call without the project's hooks, for a checkout in a work tree that is thrown away:
/// what they do after one is for people, and when they fail git says that it did.
pub(crate) fn without_hooks<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["-c", "core.hooksPath=/dev/null"], arguments].concat()
}

/// How long a call may take.
struct GitTimeLimit {
    limit: Duration,
    deadline: Option<Instant>,
}

impl GitTimeLimit {
    const fn from_millis(ms_max: u64) -> Self {
        Self { limit: Duration::from_millis(ms_max), deadline: None }
    }

    fn timeout(&self) -> Duration {
        let left = self.deadline.map(|it| it.saturating_duration_since(Instant::now()));
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
        let end = CommandOutcome::Unmeasured(stop_deadline_gap());
        return CommandRun { outcome: end, output: String::new(), elapsed: Duration::ZERO };
    }
    let settings = SETTINGS.iter().flat_map(|it| ["-c", it]);
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
    checks::run_command(ProcessCommand {
        name: format!("git {}", name_of(arguments)),
        program: "git".into(),
        args: settings.chain(arguments.iter().copied()).map(str::to_owned).collect(),
        cwd: folder.to_path_buf(),
        env,
        timeout,
        parent: None,
    })
    .await
}

/// The command, behind what is set for it alone.
fn name_of<'a>(arguments: &[&'a str]) -> &'a str {
    match arguments {
        ["-c", _, name, ..] | [name, ..] => name,
        [] => "",
    }
}

/// The time of a Stop is over.
pub(crate) fn stop_deadline_gap() -> Gap {
    Gap::new(Cause::TimedOut, "the time of this Stop ran out")
}

/// What a call of git said, or how it ended when it said nothing.
pub(crate) fn git_message(run: &CommandRun) -> String {
    match (&run.outcome, run.output.trim()) {
        (CommandOutcome::Unmeasured(gap), _) => gap.to_string(),
        (CommandOutcome::Failed(how), "") => how.clone(),
        (_, said) => said.to_owned(),
    }
}
