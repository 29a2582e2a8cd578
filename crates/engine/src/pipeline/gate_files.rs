//! The gates' documents on disk: written when a gate has a result, and compared with the written text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::engine::Engine;
use crate::loops::loop_files;
use crate::project::Project;
use moai_base::hash::ContentHash;
use moai_pipeline::gate_document::{GateDocument, document_paths, gate_documents};
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

/// Faults of the gates' documents on disk.
#[derive(Debug, Default)]
pub(super) struct DocumentFaults {
    /// Those that differ from the written text.
    pub(super) changed: Vec<String>,
    /// Those that no gate has written.
    pub(super) foreign: Vec<String>,
    /// Those that are missing or are not files: they could not be written, or were removed.
    pub(super) missing: Vec<String>,
}

/// Compares the documents on disk with the texts that the gates wrote.
pub(super) async fn document_faults(project: &Project, state: &PipelineState) -> DocumentFaults {
    let mut faults = DocumentFaults::default();
    let mut paths: BTreeSet<String> = document_paths(state).into_iter().collect();
    paths.extend(state.gate_documents.keys().cloned());
    for path in paths {
        let text = loop_files::text_or_reason(project, &path).await;
        match (state.gate_documents.get(&path), text) {
            (None, Ok(None)) => {}
            (None, Ok(Some(_)) | Err(_)) => faults.foreign.push(path),
            (Some(_), Ok(None) | Err(_)) => faults.missing.push(path),
            (Some(written), Ok(Some(text))) => {
                if ContentHash::of_bytes(text.as_bytes()).to_string() != *written {
                    faults.changed.push(path);
                }
            }
        }
    }
    faults
}
