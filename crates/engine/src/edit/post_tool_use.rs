//! Feedback after a tool call. For an edit: the findings it introduced, fixed and left, and its
//! impact on other files, from scan and language servers at the same time; results that exceed the
//! inline budget are reported by a later hook. For other tools: the changes on disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::edit::changed_on_disk;
use crate::edit::edit_measurement::{SharedDiskEpoch, collect_deltas, start_measuring};
use crate::edit::impact::{ImpactContext, ImpactSearch};
use crate::engine::run_blocking;
use crate::evidence::earlier_texts::EarlierState;
use crate::evidence::{disk_poll, gather};
use crate::exam;
use crate::exam::ToolWrite;
use crate::hooks::hook_call::{HookCall, HookTexts, edit_text, with_deferred_reports};
use crate::project::{NOTEBOOK_UNMEASURED, Project};
use moai_base::delta::Delta;
use moai_base::evidence::SkippedFile;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_host::git;
use moai_lsp::impact::TouchedSymbols;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::agent::{EditFeedback, EditText};
use moai_report::contributions::ContributionOrigin;

pub(crate) async fn handle(call: HookCall<'_>) -> HookTexts {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    let texts = if let Some(file) = call.input.edited_file() {
        let write = ToolWrite::File(file.clone());
        let noted = exam::note_writes(engine, project, session, write);
        let (feedback, ()) = tokio::join!(feedback(&call, file), noted);
        feedback.into_iter().collect()
    } else {
        if let Some(since_ns) = changed_on_disk::tool_start_ns(&call) {
            exam::note_writes(engine, project, session, ToolWrite::Since(since_ns)).await;
        }
        changed_on_disk::disk_change_texts(&call).await
    };
    with_deferred_reports(&call, ContributionOrigin::ToolCall, texts).await
}

/// The feedback about one written file.
async fn feedback(call: &HookCall<'_>, file: &Path) -> Option<EditText> {
    let (engine, project) = (call.engine, &call.project);
    let started_at = Instant::now();
    // Recorded before it is read, so that the Stop names a file that cannot be read.
    if let Some(path) = RelPath::below(&project.root, file).filter(|path| project.has_sensor(path))
    {
        engine.ledger().record_write(&call.input.session_id, &project.root, &path);
    }
    if let Some(path) = RelPath::below(&project.root, file).filter(Project::is_notebook) {
        return skipped_text(call, path, NOTEBOOK_UNMEASURED.to_owned());
    }
    let snapshot = match read_edited_file(project, file).await? {
        Ok(snapshot) => snapshot,
        Err(skipped) => return skipped_file_text(call, file, skipped),
    };
    if !project.has_sensor(&snapshot.path) {
        return None;
    }
    let before = call.input.text_before_edit();
    let disk_epoch = SharedDiskEpoch::default();
    if is_already_reported(call, &snapshot, &before, &disk_epoch).await {
        return None;
    }
    let change = impact_context(call, &snapshot, &before);
    engine.ledger().set_writer(&call.input.session_id, &project.root, &snapshot);
    engine.ledger().record_text(&call.input.session_id, &project.root, &snapshot);
    let impact = ImpactSearch::begin(change, shared_poll(call, &snapshot, &disk_epoch));
    let in_flight = start_measuring(call, &snapshot, &before, &disk_epoch);
    let mut feedback = collect_deltas(call, &snapshot, before, in_flight, started_at).await;
    if let Some(impact) = impact {
        feedback.other_files =
            impact.impacts_until(started_at + project.config.inline_budget).await;
    }
    edit_text(engine, &call.input.session_id, &feedback)
}

fn shared_poll(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    disk_epoch: &SharedDiskEpoch,
) -> impl Future<Output = ()> + Send + 'static {
    let (engine, project) = (Arc::clone(call.engine), call.project.clone());
    let (snapshot, disk_epoch) = (snapshot.clone(), Arc::clone(disk_epoch));
    async move {
        let known = std::slice::from_ref(&snapshot);
        disk_epoch.get_or_init(async || disk_poll::sync_disk(&engine, &project, known).await).await;
    }
}

/// Whether the edit changed no byte of a file that all language servers have already measured, and
/// no other file changed since: then no server is asked.
async fn is_already_reported(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
    disk_epoch: &SharedDiskEpoch,
) -> bool {
    let is_same = match before {
        TextBeforeEdit::Text(text) => ContentHash::of_bytes(text.as_bytes()) == snapshot.hash,
        TextBeforeEdit::Absent => false,
        TextBeforeEdit::Unknown => true,
    };
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    if !is_same || !engine.ledger().is_verified(root, path, snapshot.hash) {
        return false;
    }
    let choices = gather::select_servers(engine, &call.project, path);
    let is_proven = || {
        choices.iter().all(|chosen| match (chosen, gather::server_identity(chosen)) {
            (Ok(choice), Some(server)) => {
                engine.ledger().is_proven(root, path, &choice.id, snapshot.hash, server)
            }
            _ => false,
        })
    };
    if !is_proven() {
        return false;
    }
    shared_poll(call, snapshot, disk_epoch).await;
    is_proven()
}

/// Input of the search for the edit's impact on other files.
fn impact_context(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
) -> ImpactContext {
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    let before = match before {
        TextBeforeEdit::Text(text) => Some(text.clone()),
        TextBeforeEdit::Absent => None,
        TextBeforeEdit::Unknown => {
            let kept = engine.ledger().text(root, path).map(|text| text.to_string());
            kept.or_else(|| git::head_text(root, path))
        }
    };
    let mut earlier = EarlierState::default();
    earlier.add(path, before.as_deref());
    ImpactContext {
        earlier,
        engine: Arc::clone(engine),
        project: call.project.clone(),
        reader: call.reader(),
        label: path.to_string(),
        changed: vec![(path.clone(), Some(snapshot.hash))],
        measured_separately: Vec::new(),
        touched: TouchedSymbols::visible_elsewhere(path, before.as_deref(), Some(&snapshot.text)),
    }
}

pub(crate) async fn read_edited_file(
    project: &Project,
    file: &Path,
) -> Option<Result<Snapshot, SkippedFile>> {
    let (root, file) = (project.root.clone(), file.to_path_buf());
    run_blocking(move || files::read_snapshot(&root, &file)).await
}

/// Reports a file that cannot be read as source, if it still exists in the project and has a sensor.
fn skipped_file_text(call: &HookCall<'_>, file: &Path, skipped: SkippedFile) -> Option<EditText> {
    let path = RelPath::below(&call.project.root, file)?;
    if !call.project.has_sensor(&path) || !file.exists() {
        return None;
    }
    skipped_text(call, path, skipped.reason)
}

/// Reports an unmeasured file, once per session, file and reason.
pub(crate) fn skipped_text(call: &HookCall<'_>, path: RelPath, reason: String) -> Option<EditText> {
    let gap = Gap::new(Cause::Skipped, reason);
    if !call.engine.ledger().report_once(&call.input.session_id, &format!("{path} {gap}")) {
        return None;
    }
    let gaps = vec![("all sensors".to_owned(), gap)];
    let delta = Delta::default();
    let feedback = EditFeedback {
        path,
        delta,
        gaps,
        has_new_gaps: true,
        has_new_counts: false,
        deferred_sensor: None,
        other_files: Vec::new(),
    };
    edit_text(call.engine, &call.input.session_id, &feedback)
}
