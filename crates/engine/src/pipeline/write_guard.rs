//! While a pipeline runs, its main agent writes plans and documents, and workers write source files.

use crate::engine::Engine;
use crate::pipeline::pipeline_stop::pipeline_of_loop;
use crate::project::Project;
use crate::protection::WrittenPath;
use moai_base::path::RelPath;
use moai_loops::state::LoopState;
use moai_pipeline::write_rules::{PipelineWriter, write_objection};
use moai_protocol::hook::{HookInput, HookOutput};
use moai_report::pipeline as words;

/// Refuses a write by a tool that the pipeline of the loop does not allow.
pub(crate) async fn refused_write(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    input: &HookInput,
    written: &[WrittenPath],
) -> Option<HookOutput> {
    // What a shell command writes is noticed afterwards.
    if input.tool_input.command.is_some() {
        return None;
    }
    let pipeline = pipeline_of_loop(engine, project, state).await?;
    let writer = match input.agent_id {
        None => PipelineWriter::Orchestrator,
        Some(_) => PipelineWriter::Worker,
    };
    written.iter().find_map(|one| {
        let path = RelPath::below(&project.root, &one.path)?;
        let objection = write_objection(&pipeline, writer, path.as_str())?;
        Some(HookOutput::Deny(words::write_refused(&pipeline, &one.named, &objection)))
    })
}
