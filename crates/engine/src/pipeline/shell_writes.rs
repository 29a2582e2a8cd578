//! Source files that shell commands change while a pipeline runs, although their agent may not write
//! them. Commands are not refused, because what they write is known only afterwards; the disk look
//! finds it.

use crate::engine::now_ms;
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::pipeline::pipeline_stop::pipeline_of_loop;
use crate::pipeline::saved_step::save_step;
use crate::pipeline::write_guard::WriteAuthor;
use moai_base::path::RelPath;
use moai_pipeline::state::{PipelineState, ShellWriteRecord};
use moai_pipeline::step::PipelineEvent;
use moai_pipeline::write_rules::{PipelineWriter, write_objection};
use moai_report::agent::EditText;
use moai_report::pipeline as words;

/// The host's tool that runs shell commands.
const SHELL_TOOL: &str = "Bash";

/// Notes the files that changed during a shell command; the text names those that its agent may not
/// write.
pub(crate) async fn note_shell_writes(
    call: &HookCall<'_>,
    changed: &[RelPath],
) -> Option<EditText> {
    let HookCall { engine, caller, project, input, .. } = call;
    let mut tools = input.tool_calls.iter().map(|one| one.tool_name.as_str());
    let is_shell = input.tool_name == SHELL_TOOL || tools.any(|name| name == SHELL_TOOL);
    if changed.is_empty() || !is_shell {
        return None;
    }
    let found = active_loop_anywhere(engine, caller, project, &input.session_id).await;
    let (project, held) = found.filter(|(there, _)| there.root == call.project.root)?;
    let pipeline = pipeline_of_loop(engine, &project, &held).await?;
    let author = WriteAuthor::of_call(input).await;
    let records = denied_records(&pipeline, author.writer(), changed);
    if records.is_empty() {
        return None;
    }
    let text = words::shell_wrote(&pipeline, &records);
    Box::pin(save_step(engine, &project, pipeline, PipelineEvent::ShellWrote(records))).await;
    Some(EditText { text: text.clone(), notice: Some(text) })
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
    };
    changed.iter().filter(is_denied).map(record).collect()
}
