//! Undoes writes of a shell command against the rules of a pipeline, if the options require it. The bytes
//! from before the command come from a snapshot when it began; its writes are kept as a checkpoint of the
//! loop first. A file that another writer may have changed is not restored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::code::change_journal;
use crate::engine::{now_ms, panic_gap, run_blocking};
use crate::hooks::hook_call::HookCall;
use crate::ledger::tool_calls::BegunCommand;
use crate::pipeline::pipeline_of_loop::pipeline_with_loop;
use crate::pipeline::shell_writes::{
    PipelineMember, SHELL_TOOL, is_shell_call, note_records, pipeline_of_call,
};
use crate::project::Project;
use crate::restore::checkpoints::{self, CheckpointStore, TreeSnapshot};
use crate::restore::restore_plan::{CheckpointRestore, RestoreChanges};
use moai_base::limits::{COMMAND_WAIT_MS_MAX, TOOL_CLOCK_SLACK_MS};
use moai_base::path::RelPath;
use moai_base::tree::FileKind;
use moai_config::pipeline::ShellWriteRule;
use moai_host::files::transaction::WriteReach;
use moai_host::{files, git};
use moai_loops::state::LoopState;
use moai_pipeline::state::ShellWriteOutcome;
use moai_report::agent::EditText;

/// True if the options require shell writes to be undone.
fn is_asked(project: &Project) -> bool {
    project.config.pipeline.shell_writes == ShellWriteRule::TakeBack
}

/// Notes that a tool call begins.
pub(crate) fn note_call(call: &HookCall<'_>) {
    if is_asked(&call.project) {
        let (agent, is_background) = (call.reader(), call.input.tool_input.is_background);
        let mut ledger = call.engine.ledger();
        ledger.root(&call.project.root).tool_calls.begin(&agent, is_background, now_ms());
    }
}

/// Closes the open call of an agent that has ended or was interrupted.
pub(crate) fn note_interruption(call: &HookCall<'_>) {
    if is_asked(&call.project) {
        let mut ledger = call.engine.ledger();
        ledger.root(&call.project.root).tool_calls.interrupt(&call.reader());
    }
}

/// Keeps the files in their state before a shell command of the loop's pipeline.
pub(crate) async fn note_command(call: &HookCall<'_>, project: &Project, state: &LoopState) {
    let (engine, input) = (call.engine, &call.input);
    let is_here = project.root == call.project.root;
    if !is_asked(project) || !is_here || input.tool_name != SHELL_TOOL {
        return;
    }
    let pipeline = pipeline_with_loop(engine, project, state).await;
    if !pipeline.is_some_and(|pipeline| pipeline.kind.has_plan()) {
        return;
    }
    let root = project.root.clone();
    let head = run_blocking(move || git::head_commit(&root)).await.flatten();
    match checkpoints::snapshot_tree(engine, project).await {
        Ok(TreeSnapshot { tree: before, .. }) => {
            let command = BegunCommand { before, head, at_ms: now_ms() };
            let mut ledger = engine.ledger();
            ledger.root(&project.root).tool_calls.keep(&call.reader(), command);
        }
        Err(gap) => tracing::warn!(%gap, "the files before a shell command are not known"),
    }
}

/// After a tool call: restores the files that a shell command changed and its agent may not write; the text
/// lists them.
pub(crate) async fn undo_writes(call: &HookCall<'_>) -> Option<EditText> {
    let HookCall { engine, project, input, .. } = call;
    if !is_asked(project) {
        return None;
    }
    let agent = call.reader();
    let begun = engine.ledger().root(&project.root).tool_calls.end(&agent, now_ms())?;
    if !is_shell_call(input) {
        return None;
    }
    let member = pipeline_of_call(call).await?;
    let after = checkpoints::snapshot_tree(engine, &member.project).await.ok()?;
    let changed = begun.before.changed_paths(&after.tree);
    let mut records = member.denied_records(engine, changed.clone()).await;
    if records.is_empty() {
        return None;
    }
    let start_ms = call.tool_start_ns().and_then(|start| u64::try_from(start / 1_000_000).ok());
    let since_ms = start_ms.unwrap_or(begun.at_ms).min(begun.at_ms);
    let is_shared = engine.ledger().root(&project.root).tool_calls.has_other(&agent, since_ms);
    let command = EndedCommand { begun, after, start_ms, is_shared };
    let paths: BTreeSet<RelPath> =
        records.iter().filter_map(|record| RelPath::parse(&record.path)).collect();
    let outcomes = undo(call, &member, command, paths).await;
    for record in &mut records {
        if let Some(outcome) = outcomes.get(record.path.as_str()) {
            record.outcome = outcome.clone();
        }
    }
    engine.ledger().session(&input.session_id).note_named_shell_writes(changed);
    Some(note_records(call, member, records).await)
}

/// A shell command that has ended.
struct EndedCommand {
    begun: BegunCommand,
    after: TreeSnapshot,
    /// When it began, with the slack of clocks, in milliseconds since the epoch; `None` if the host does
    /// not say.
    start_ms: Option<u64>,
    /// True if other agents called tools meanwhile.
    is_shared: bool,
}

impl EndedCommand {
    /// The reason why none of the command's writes is undone.
    fn obstacle(&self, head: Option<&String>) -> Option<&'static str> {
        let Some(start_ms) = self.start_ms else {
            return Some("the host does not say when the command began");
        };
        if start_ms + TOOL_CLOCK_SLACK_MS > self.begun.at_ms + COMMAND_WAIT_MS_MAX {
            return Some("the command waited, and the files may have changed before it began");
        }
        if self.is_shared {
            return Some("other agents were at work at the same time");
        }
        (self.begun.head.as_ref() != head).then_some("another commit is checked out now")
    }

    /// The reason why one file is not restored.
    fn obstacle_of(&self, root: &Path, path: &RelPath) -> Option<&'static str> {
        let trees = [&self.begun.before, &self.after.tree];
        if trees.iter().any(|tree| tree.omitted.contains_key(path.as_str())) {
            return Some("its bytes before the command are not known");
        }
        let mut nodes = trees.iter().filter_map(|tree| tree.nodes.get(path));
        if nodes.any(|node| node.kind == FileKind::Link) {
            return Some("it is or was a symbolic link");
        }
        let since_ns = i128::from(self.start_ms.unwrap_or_default()) * 1_000_000;
        (!is_changed_since(root, path, since_ns)).then_some("it changed before the command began")
    }
}

/// True if a file was written or removed at this time (nanoseconds since the epoch) or later.
fn is_changed_since(root: &Path, path: &RelPath, since_ns: i128) -> bool {
    if let Some(stamp) = files::stamp_files(root, std::slice::from_ref(path)).get(path) {
        return stamp.is_modified_since(since_ns);
    }
    // The folder that it was removed from, or that was removed with it.
    let file = path.under(root);
    let folder = file.ancestors().skip(1).find_map(|folder| folder.metadata().ok());
    let modified = folder.and_then(|folder| folder.modified().ok());
    let since_epoch = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since_epoch.is_some_and(|at| i128::try_from(at.as_nanos()).is_ok_and(|at| at >= since_ns))
}

/// Restores these paths, all or none of those without an obstacle.
async fn undo(
    call: &HookCall<'_>,
    member: &PipelineMember,
    command: EndedCommand,
    paths: BTreeSet<RelPath>,
) -> BTreeMap<String, ShellWriteOutcome> {
    let project = &member.project;
    let (root, owner) = (project.root.clone(), member.loop_id.clone());
    let folder = checkpoints::folder(call.engine, project);
    let all = paths.clone();
    let prepared = run_blocking(move || {
        let head = git::head_commit(&root);
        let mut left: BTreeMap<RelPath, String> = BTreeMap::new();
        for path in &paths {
            let reason =
                command.obstacle(head.as_ref()).or_else(|| command.obstacle_of(&root, path));
            left.extend(reason.map(|reason| (path.clone(), reason.to_owned())));
        }
        let taken: BTreeSet<RelPath> =
            paths.into_iter().filter(|path| !left.contains_key(path)).collect();
        let kept = if taken.is_empty() {
            Ok(None)
        } else {
            keep_and_plan(&CheckpointStore::find(root, folder)?, command, &owner, taken).map(Some)
        };
        Ok::<_, String>((left, kept?))
    });
    let applied = match prepared.await.unwrap_or_else(|| Err("internal error".to_owned())) {
        Ok((left, Some(plan))) => match apply(call, project, plan).await {
            Ok(checkpoint) => Ok((left, checkpoint)),
            Err(reason) => Err(reason),
        },
        Ok((left, None)) => Ok((left, String::new())),
        Err(reason) => Err(reason),
    };
    let outcome = |path: &RelPath| match &applied {
        Ok((left, checkpoint)) => match left.get(path) {
            Some(reason) => ShellWriteOutcome::Left { reason: reason.clone() },
            None => ShellWriteOutcome::TakenBack { checkpoint: checkpoint.clone() },
        },
        Err(reason) => ShellWriteOutcome::Left { reason: reason.clone() },
    };
    all.iter().map(|path| (path.to_string(), outcome(path))).collect()
}

/// The changes to write, and the checkpoint with the contents that they replace.
struct UndoPlan {
    store: CheckpointStore,
    changes: RestoreChanges,
    checkpoint: String,
}

fn keep_and_plan(
    store: &CheckpointStore,
    command: EndedCommand,
    owner: &str,
    paths: BTreeSet<RelPath>,
) -> Result<UndoPlan, String> {
    let EndedCommand { begun, after, .. } = command;
    let restore = CheckpointRestore::of_paths(begun.before, after, paths);
    let changes = restore.remaining_changes(store)?;
    let checkpoint = restore.keep_present(store, &store.list()?, owner)?;
    Ok(UndoPlan { store: store.clone(), changes, checkpoint })
}

/// Writes all files or none; returns the name of the checkpoint.
async fn apply(call: &HookCall<'_>, project: &Project, plan: UndoPlan) -> Result<String, String> {
    let UndoPlan { store, changes, checkpoint } = plan;
    if !changes.set.changes.is_empty() {
        let (set, reach) = (changes.set.clone(), WriteReach::OwnRepository);
        let applied = change_journal::apply_changes(call.engine, project, set, reach).await;
        let applied = applied.ok_or_else(|| "internal error".to_owned())?;
        applied.map_err(|error| error.to_string())?;
    }
    let finished = run_blocking(move || changes.finish(&store)).await;
    let failed = finished.ok_or_else(|| panic_gap().detail)?;
    match failed.into_iter().next() {
        Some((path, reason)) => Err(format!("{path}: {reason}")),
        None => Ok(checkpoint),
    }
}
