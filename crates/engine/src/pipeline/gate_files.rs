//! The gates' documents on disk: written when a gate has a result, and compared with what was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::Engine;
use crate::loops::loop_files;
use crate::project::Project;
use moai_base::hash::ContentHash;
use moai_pipeline::gate_document::{GateDocument, gate_documents};
use moai_pipeline::state::{PipelineKind, PipelineState};

/// The documents of a full pipeline, and their hashes by path.
pub(super) fn documents_of(state: &PipelineState) -> (Vec<GateDocument>, BTreeMap<String, String>) {
    if state.kind != PipelineKind::Full {
        return (Vec::new(), BTreeMap::new());
    }
    let documents = gate_documents(state);
    let hashes = documents.iter().map(|document| {
        let hash = ContentHash::of_bytes(document.text.as_bytes()).to_string();
        (document.path.clone(), hash)
    });
    let hashes = hashes.collect();
    (documents, hashes)
}

/// Writes documents; returns notices.
pub(super) async fn write_documents(
    engine: &Arc<Engine>,
    project: &Project,
    documents: Vec<GateDocument>,
) -> Vec<String> {
    let mut notices = Vec::new();
    for GateDocument { path, text } in documents {
        let change = move |old: Option<&str>| (old != Some(text.as_str())).then(|| text.clone());
        notices.extend(loop_files::change_or_create(engine, project, &path, change).await);
    }
    notices
}

/// Paths of documents that differ from what was written or are gone.
pub(super) async fn changed_documents(project: &Project, state: &PipelineState) -> Vec<String> {
    let mut changed = Vec::new();
    for (path, written) in &state.gate_documents {
        let text = loop_files::file_text(project, path).await;
        let hash = text.map(|text| ContentHash::of_bytes(text.as_bytes()).to_string());
        if hash.as_ref() != Some(written) {
            changed.push(path.clone());
        }
    }
    changed
}
