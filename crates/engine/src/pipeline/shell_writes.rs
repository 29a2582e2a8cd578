//! Source files that shell commands change while a pipeline runs, although their agent may not write them.
//! Commands are not refused, because their writes are known only afterwards; the disk poll finds them.

use crate::engine::{Engine, now_ms, run_blocking};
use crate::exam::restored_files::without_restored;
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::pipeline::pipeline_of_loop::pipeline_with_loop;
use crate::pipeline::saved_step::save_step;
use crate::pipeline::write_guard::WriteAuthor;
use crate::project::Project;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_config::pipeline::ShellWriteRule;
use moai_host::files::read_regular_text;
use moai_host::git;
use moai_pipeline::state::{PipelineState, ShellWriteOutcome, ShellWriteRecord};
use moai_pipeline::step::PipelineEvent;
use moai_pipeline::write_rules::{PipelineWriter, write_objection};
use moai_protocol::hook::HookInput;
use moai_report::agent::EditText;
use moai_report::pipeline as words;

/// The host's tool that runs shell commands.
pub(super) const SHELL_TOOL: &str = "Bash";

/// True if an event follows a shell command.
pub(super) fn is_shell_call(input: &HookInput) -> bool {
    let mut tools = input.tool_calls.iter().map(|one| one.tool_name.as_str());
    input.tool_name == SHELL_TOOL || tools.any(|name| name == SHELL_TOOL)
}

/// The loop of a session that belongs to a pipeline.
pub(super) struct PipelineMember {
    pub(super) project: Project,
    /// The loop: that of the pipeline, or of one of its worktrees.
    pub(super) loop_id: String,
    pub(super) pipeline: PipelineState,
    author: WriteAuthor,
}

impl PipelineMember {
    /// The files that the agent must not write. A file of the exam that is as it was frozen again is
    /// restored.
    pub(super) async fn denied_records(
        &self,
        engine: &Engine,
        changed: Vec<RelPath>,
    ) -> Vec<ShellWriteRecord> {
        let loop_id = &self.pipeline.loop_id;
        let changed = without_restored(engine, &self.project, loop_id, changed).await;
        denied_records(&self.pipeline, self.author.writer(), &changed)
    }
}

/// The loop of a call's session in its root, if it belongs to an active pipeline.
pub(super) async fn pipeline_of_call(call: &HookCall<'_>) -> Option<PipelineMember> {
    let HookCall { engine, caller, project, input, .. } = call;
    let found = active_loop_anywhere(engine, caller, project, &input.session_id).await;
    let (project, held) = found.filter(|(there, _)| there.root == call.project.root)?;
    let pipeline = pipeline_with_loop(engine, &project, &held).await?;
    let author = WriteAuthor::of_call(input).await;
    let author = author.in_worktree_of(pipeline.todo_of_loop(&held.id));
    Some(PipelineMember { project, loop_id: held.id, pipeline, author })
}

/// Records the files that changed during a shell command; the text lists those that its agent may not write.
/// Undone writes are already reported.
pub(crate) async fn note_shell_writes(
    call: &HookCall<'_>,
    changed: &[RelPath],
) -> Option<EditText> {
    let input = &call.input;
    let named = call.engine.ledger().session(&input.session_id).take_named_shell_writes();
    let is_new = |path: &&RelPath| !named.contains(*path);
    let changed: Vec<RelPath> = changed.iter().filter(is_new).cloned().collect();
    if changed.is_empty() || !is_shell_call(input) {
        return None;
    }
    let member = pipeline_of_call(call).await?;
    let changed = without_merged(&member, changed).await;
    let mut records = member.denied_records(call.engine, changed).await;
    if records.is_empty() {
        return None;
    }
    if member.project.config.pipeline.shell_writes == ShellWriteRule::TakeBack {
        for record in &mut records {
            let reason = "what was there before the command is not known".to_owned();
            record.outcome = ShellWriteOutcome::Left { reason };
        }
    }
    Some(note_records(call, member, records).await)
}

/// Leaves out files that are as HEAD has them where worktrees are merged meanwhile: a merge changes
/// files, too.
async fn without_merged(member: &PipelineMember, mut changed: Vec<RelPath>) -> Vec<RelPath> {
    if member.pipeline.worktrees.is_empty() {
        return changed;
    }
    let (root, all) = (member.project.root.clone(), changed.clone());
    let left = run_blocking(move || {
        changed.retain(|path| {
            let now = read_regular_text(&path.under(&root), SOURCE_BYTES_MAX).ok();
            now != git::head_text(&root, path)
        });
        changed
    });
    left.await.unwrap_or(all)
}

/// Keeps the records for the report; the text is for the agent and the user.
pub(super) async fn note_records(
    call: &HookCall<'_>,
    member: PipelineMember,
    records: Vec<ShellWriteRecord>,
) -> EditText {
    let PipelineMember { project, loop_id, pipeline, .. } = member;
    let text = words::shell_wrote(&pipeline, &loop_id, &records);
    Box::pin(save_step(call.engine, &project, pipeline, PipelineEvent::ShellWrote(records))).await;
    EditText { text: text.clone(), notice: Some(text) }
}

/// The files among these that the agent must not write.
fn denied_records(
    pipeline: &PipelineState,
    writer: PipelineWriter<'_>,
    changed: &[RelPath],
) -> Vec<ShellWriteRecord> {
    let is_denied = |path: &&RelPath| write_objection(pipeline, writer, path.as_str()).is_some();
    let record = |path: &RelPath| ShellWriteRecord {
        path: path.as_str().to_owned(),
        at_ms: now_ms(),
        is_by_worker: writer != PipelineWriter::Orchestrator,
        outcome: ShellWriteOutcome::Named,
    };
    changed.iter().filter(is_denied).map(record).collect()
}
