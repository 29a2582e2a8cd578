//! The documents of a pipeline's specification at its approval.

use std::collections::BTreeMap;

use crate::loops::loop_files;
use crate::project::Project;
use crate::specs::check as spec_check;
use moai_base::hash::ContentHash;
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::spec::{SPECS_FOLDER, SpecFile};
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::approval_objections;
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

/// What is wrong with the plan of a pipeline at present: before its approval, and with additions, what keeps it
/// from being approved; afterwards what its Stops hold for.
pub(super) async fn plan_objections(
    project: &Project,
    state: &PipelineState,
) -> Vec<PlanObjection> {
    if !state.is_active() || !state.kind.has_plan() {
        return Vec::new();
    }
    let text = match loop_files::text_or_reason(project, &state.plan_path()).await {
        Ok(text) => text,
        Err(reason) => return vec![PlanObjection::Unreadable { reason }],
    };
    let mut objections = approval_objections(state, text.as_deref());
    let changed = unapproved_documents(project, state).await;
    let is_asked = state.needs_approval()
        || !changed.is_empty()
        || text.is_some_and(|text| !state.unapproved_parts(&text).is_empty());
    if is_asked {
        objections.extend(document_objections(project, state).await);
    }
    objections.extend(changed.into_iter().map(|path| PlanObjection::DocumentChanged { path }));
    objections
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
