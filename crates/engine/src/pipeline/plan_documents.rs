//! The documents of a pipeline's specification at its approval.

use std::collections::BTreeMap;

use crate::loops::loop_files;
use crate::project::Project;
use crate::specs::check as spec_check;
use moai_base::hash::ContentHash;
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::spec::{SPECS_FOLDER, SpecFile};
use moai_pipeline::state::PipelineState;
use moai_protocol::documents::specs::SpecFaultEntry;

/// The hashes of the other documents of a pipeline's specification, by path.
pub(super) async fn document_hashes(
    project: &Project,
    state: &PipelineState,
) -> BTreeMap<String, String> {
    let mut hashes = BTreeMap::new();
    for file in [SpecFile::Spec, SpecFile::Acceptance] {
        let path = format!("{SPECS_FOLDER}/{}/{}", state.spec, file.as_str());
        if let Some(text) = loop_files::file_text(project, &path).await {
            hashes.insert(path, ContentHash::of_bytes(text.as_bytes()).to_string());
        }
    }
    hashes
}

/// The documents that have changed since the plan was approved.
pub(super) async fn unapproved_documents(project: &Project, state: &PipelineState) -> Vec<String> {
    let now = document_hashes(project, state).await;
    let approved = state.approved_documents.iter();
    let changed = approved.filter(|(path, hash)| now.get(*path) != Some(hash));
    changed.map(|(path, _)| path.clone()).collect()
}

/// Faults of the other documents of a pipeline's specification, and of the links between them. Without a
/// `spec.md`, only the files that the plan refers to are checked.
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
