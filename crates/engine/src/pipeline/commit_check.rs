//! Checks the commits of a pipeline: runs the frozen commands in a checkout of each one, in a separate
//! worktree, so that no file of the user is touched. Results are kept by commit, so that a Stop continues
//! where the last one ran out of time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::commit_survey::survey_commits;
use crate::branches::git_program::{git_message, run_git_until, without_hooks};
use crate::branches::loop_branch::read_git;
use crate::branches::merge_work_tree::{MergeWorkTree, lock_merges};
use crate::engine::{Engine, run_blocking};
use crate::exam::check_runs::run_commands;
use crate::exam::frozen_commands::frozen_commands;
use crate::project::Project;
use moai_base::evidence::SensorReading;
use moai_base::failure_lines::failure_summary;
use moai_base::foreign_text::one_line;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    ACCEPTANCE_OUTPUT_CHARS_MAX, COMMIT_CHECK_REST_SHARE, GAP_CHARS_MAX, SOURCE_BYTES_MAX,
};
use moai_base::verdict::Verdict;
use moai_host::files::read_regular_text;
use moai_host::git::branches;
use moai_host::programs::CommandOutcome;
use moai_loops::criteria::CheckCommand;
use moai_pipeline::commits::{
    CommitCheck, CommitFault, CommitSurvey, CommitsReading, PipelineCommit, run_faults,
};
use moai_pipeline::state::PipelineState;
use moai_protocol::control::CallerContext;

/// Inputs of a check of commits.
pub(super) struct CommitRun<'c> {
    pub(super) engine: &'c Arc<Engine>,
    pub(super) project: &'c Project,
    pub(super) caller: &'c CallerContext,
    pub(super) pipeline: &'c PipelineState,
    pub(super) deadline: Instant,
}

/// The commits of a pipeline; each one is checked if the options ask for it and nothing else is
/// wrong with them.
pub(super) async fn read_commits(run: &CommitRun<'_>) -> CommitsReading {
    let survey = match survey_commits(run.project, run.pipeline).await {
        Ok(survey) => survey,
        Err(reason) => return CommitsReading::Unavailable(reason),
    };
    let moved = survey.gap.clone();
    let mut reading = checked_commits(run, survey).await;
    if let CommitsReading::Surveyed { gap, .. } = &mut reading {
        let gaps: Vec<String> = moved.into_iter().chain(gap.take()).collect();
        *gap = (!gaps.is_empty()).then(|| gaps.join("; "));
    }
    reading
}

/// The commits with the results of their checks, as far as the options ask for these.
async fn checked_commits(run: &CommitRun<'_>, survey: CommitSurvey) -> CommitsReading {
    let faults = survey.faults();
    let mut commits = with_known_checks(survey, &run.pipeline.commits);
    if !faults.is_empty() || !run.project.config.pipeline.verifies_each || commits.is_empty() {
        return CommitsReading::Surveyed { commits, faults, gap: None };
    }
    let commands = frozen_commands(run.engine, run.project, &run.pipeline.loop_id).await;
    if commands.is_empty() {
        let gap = Some("no command checks them".to_owned());
        return CommitsReading::Surveyed { commits, faults, gap };
    }
    if let Err(gap) = check_commits(run, &commands, &mut commits).await {
        return CommitsReading::Surveyed { commits, faults, gap: Some(gap) };
    }
    let total = commits.len();
    let checked = commits.iter().filter(|commit| commit.check.is_some()).count();
    if checked < total {
        let faults = vec![CommitFault::Unfinished { checked, total }];
        return CommitsReading::Surveyed { commits, faults, gap: None };
    }
    let acceptance = commands.iter().filter(|command| command.is_acceptance());
    let acceptance: BTreeSet<String> = acceptance.map(|command| command.name.clone()).collect();
    let (faults, gap) = run_faults(&commits, &acceptance);
    CommitsReading::Surveyed { commits, faults, gap }
}

/// The commits of a survey with the checks that earlier Stops made.
fn with_known_checks(survey: CommitSurvey, known: &[PipelineCommit]) -> Vec<PipelineCommit> {
    let mut commits: Vec<PipelineCommit> =
        survey.commits.into_iter().map(|surveyed| surveyed.commit).collect();
    for commit in &mut commits {
        let before = known.iter().find(|before| before.id == commit.id);
        commit.check = before.and_then(|before| before.check.clone());
    }
    commits
}

/// Identifies a set of commands.
fn commands_id(commands: &[CheckCommand]) -> String {
    let lines: Vec<String> =
        commands.iter().map(|one| format!("{}\0{}", one.argv.join("\0"), one.folder)).collect();
    ContentHash::of_bytes(lines.join("\n").as_bytes()).short_hex()
}

/// Checks the commits without a result for these commands, the last one first, because commands that fail
/// there need not be run elsewhere. The error is the reason why no commit can be checked.
async fn check_commits(
    run: &CommitRun<'_>,
    commands: &[CheckCommand],
    commits: &mut [PipelineCommit],
) -> Result<(), String> {
    let id = commands_id(commands);
    for commit in commits.iter_mut() {
        commit.check.take_if(|check| check.commands != id);
    }
    let left = run.deadline.saturating_duration_since(Instant::now());
    let deadline = Instant::now() + left.saturating_sub(left / COMMIT_CHECK_REST_SHARE);
    let last = commits.len().saturating_sub(1);
    let order = std::iter::once(last).chain(0..last);
    let open: Vec<usize> = order.filter(|at| commits[*at].check.is_none()).collect();
    let Some(first) = open.first() else { return Ok(()) };
    let lock = lock_merges(run.engine, run.project, deadline).await;
    let _lock = lock.map_err(|gap| gap.to_string())?;
    let made = MergeWorkTree::make(run.engine, run.project, &commits[*first].id, deadline).await;
    let place = made.map_err(|run| one_line(&git_message(&run), GAP_CHARS_MAX))?;
    let checkout = CommitCheckout::prepare(run, &place, deadline).await;
    let mut checked = Ok(());
    for at in open {
        let failing = commits[last].check.as_ref().map(|check| &check.failed);
        let is_useful =
            |command: &&CheckCommand| !failing.is_some_and(|it| it.contains_key(&command.name));
        let commands: Vec<CheckCommand> = commands.iter().filter(is_useful).cloned().collect();
        match checkout.check(&commits[at].id, commands, &id).await {
            Ok(Some(check)) => commits[at].check = Some(check),
            Ok(None) => break,
            Err(reason) => {
                checked = Err(reason);
                break;
            }
        }
    }
    place.remove().await;
    checked
}

/// The temporary worktree in which commits are checked out one after the other.
struct CommitCheckout<'c> {
    run: &'c CommitRun<'c>,
    folder: PathBuf,
    /// The file that makes the folder a worktree, as git wrote it.
    link: Option<String>,
    /// The project with the folder as its root.
    project: Project,
    deadline: Instant,
}

impl<'c> CommitCheckout<'c> {
    async fn prepare(run: &'c CommitRun<'c>, place: &MergeWorkTree, deadline: Instant) -> Self {
        let root = run.project.root.clone();
        let status = read_git(move || branches::work_tree_status(&root)).await;
        let canonical = run.project.root.canonicalize().unwrap_or(run.project.root.clone());
        let below = status.ok().and_then(|status| {
            canonical.strip_prefix(&status.work_tree).map(Path::to_path_buf).ok()
        });
        let root = place.folder.join(below.unwrap_or_default());
        let project = Project { root, ..run.project.clone() };
        let (folder, link) = (place.folder.clone(), work_tree_link(&place.folder).await);
        Self { run, folder, link, project, deadline }
    }

    /// The runs of the commands at one commit; `None` if the time ran out. The error is why the
    /// commit cannot be checked out.
    async fn check(
        &self,
        commit: &str,
        commands: Vec<CheckCommand>,
        id: &str,
    ) -> Result<Option<CommitCheck>, String> {
        // Files that an earlier run left, such as compiled ones, must not decide about this commit.
        for arguments in [
            &["clean", "-ffdxq"][..],
            &["checkout", "--quiet", "--force", "--detach", commit],
            &["clean", "-ffdxq"],
        ] {
            // If a command removed the link, git would act in a worktree above the folder.
            if self.link.is_none() || work_tree_link(&self.folder).await != self.link {
                return Err("a command has changed the temporary work tree".to_owned());
            }
            let arguments = without_hooks(arguments);
            let (project, folder) = (self.run.project, &self.folder);
            let done = run_git_until(project, folder, &arguments, self.deadline).await;
            if Instant::now() >= self.deadline {
                return Ok(None);
            }
            if done.outcome != CommandOutcome::Passed {
                return Err(one_line(&git_message(&done), GAP_CHARS_MAX));
            }
        }
        let (engine, caller) = (self.run.engine, self.run.caller);
        let readings = run_commands(engine, &self.project, caller, commands, self.deadline).await;
        if Instant::now() >= self.deadline {
            return Ok(None);
        }
        let mut check = CommitCheck { commands: id.to_owned(), ..CommitCheck::default() };
        note_readings(&mut check, readings);
        Ok(Some(check))
    }
}

/// The text of the `.git` file of a linked worktree.
async fn work_tree_link(folder: &Path) -> Option<String> {
    let link = folder.join(".git");
    run_blocking(move || read_regular_text(&link, SOURCE_BYTES_MAX).ok()).await.flatten()
}

fn note_readings(check: &mut CommitCheck, readings: Vec<SensorReading>) {
    for reading in readings {
        let place: &mut BTreeMap<String, String> = match reading.verdict() {
            Verdict::Clean => continue,
            Verdict::Dirty => &mut check.failed,
            Verdict::Unmeasured(_) => &mut check.unmeasured,
        };
        let words = match reading.verdict() {
            Verdict::Unmeasured(gap) => gap.to_string(),
            _ => reading.output.unwrap_or_else(|| "it failed".to_owned()),
        };
        place.insert(reading.sensor, failure_summary(&words, ACCEPTANCE_OUTPUT_CHARS_MAX));
    }
}
