//! The documents of a pipeline's specification at its approval.

use crate::project::Project;
use crate::specs::check as spec_check;
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::state::PipelineState;
use moai_protocol::documents::specs::SpecFaultEntry;

/// What is wrong with the other documents of a pipeline's specification, and with the links between
/// them. Without a `spec.md`, only what the plan itself names is checked.
pub(super) async fn document_objections(
    project: &Project,
    state: &PipelineState,
) -> Vec<PlanObjection> {
    let faults = spec_check::faults_beside_plan(project, &state.spec).await;
    let objection = |fault: SpecFaultEntry| PlanObjection::Document {
        path: fault.path,
        line: fault.line,
        reason: fault.reason,
    };
    faults.into_iter().map(objection).collect()
}
