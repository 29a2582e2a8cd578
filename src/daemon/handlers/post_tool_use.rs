//! The agent wrote a file: what did this edit introduce, fix and leave, and what did it break
//! elsewhere? Scan and language servers are asked at the same time; what is not there within the
//! inline budget is told by a later hook. After other tools, what changed on disk is told.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::changed_on_disk;
use super::edit_measurement::{SharedDiskEpoch, collect_deltas, start_measuring};
use super::hook_call::{HookCall, Told, edit_text, with_late};
use crate::base::delta::Delta;
use crate::base::evidence::SkippedFile;
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::earlier_texts::EarlierState;
use crate::daemon::engine::run_blocking;
use crate::daemon::exam::{self, ToolWrite};
use crate::daemon::impact::{ImpactContext, ImpactSearch};
use crate::daemon::project::{NOTEBOOK_UNMEASURED, Project};
use crate::daemon::{disk_poll, gather};
use crate::files::{self, Snapshot};
use crate::git;
use crate::lsp::impact::TouchedSymbols;
use crate::report::agent::{EditFeedback, EditText};
use crate::wire::hook::TextBeforeEdit;

pub(super) async fn handle(call: HookCall<'_>) -> Told {
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
    with_late(&call, texts).await
}

/// The feedback about one written file.
async fn feedback(call: &HookCall<'_>, file: &Path) -> Option<EditText> {
    let (engine, project) = (call.engine, &call.project);
    let begun = Instant::now();
    // Remembered before it is read: what cannot be read now is not measured at the Stop either, and
    // is named there.
    if let Some(path) = RelPath::below(&project.root, file).filter(|path| project.has_sensor(path))
    {
        engine.ledger().record_write(&call.input.session_id, &project.root, &path);
    }
    if let Some(path) = RelPath::below(&project.root, file).filter(Project::is_notebook) {
        return skipped_text(call, path, NOTEBOOK_UNMEASURED.to_owned());
    }
    let snapshot = match read_edited_file(project, file).await? {
        Ok(snapshot) => snapshot,
        Err(skipped) => return about_skipped(call, file, skipped),
    };
    if !project.has_sensor(&snapshot.path) {
        return None;
    }
    let before = call.input.text_before_edit();
    let look = SharedDiskEpoch::default();
    if is_already_reported(call, &snapshot, &before, &look).await {
        return None;
    }
    let change = impact_context(call, &snapshot, &before);
    engine.ledger().set_writer(&call.input.session_id, &project.root, &snapshot);
    engine.ledger().record_text(&call.input.session_id, &project.root, &snapshot);
    let blast = ImpactSearch::begin(change, shared_poll(call, &snapshot, &look));
    let asked = start_measuring(call, &snapshot, &before, &look);
    let mut told = collect_deltas(call, &snapshot, before, asked, begun).await;
    if let Some(blast) = blast {
        told.other_files = blast.impacts_until(begun + project.config.inline_budget).await;
    }
    edit_text(engine, &call.input.session_id, &told)
}

fn shared_poll(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    look: &SharedDiskEpoch,
) -> impl Future<Output = ()> + Send + 'static {
    let (engine, project) = (Arc::clone(call.engine), call.project.clone());
    let (snapshot, look) = (snapshot.clone(), Arc::clone(look));
    async move {
        let asked = std::slice::from_ref(&snapshot);
        look.get_or_init(async || disk_poll::sync_disk(&engine, &project, asked).await).await;
    }
}

/// An edit that changed no byte, of a file about which all language servers have said everything
/// there is to say: none is asked, as long as no other file has changed.
async fn is_already_reported(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
    look: &SharedDiskEpoch,
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
    shared_poll(call, snapshot, look).await;
    is_proven()
}

/// What the edit may have done to other files.
fn impact_context(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &TextBeforeEdit,
) -> ImpactContext {
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    let kept = || engine.ledger().text(root, path).map(|text| text.to_string());
    let before = match before {
        TextBeforeEdit::Text(text) => Some(text.clone()),
        TextBeforeEdit::Absent => None,
        TextBeforeEdit::Unknown => kept().or_else(|| git::head_text(root, path)),
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

pub(super) async fn read_edited_file(
    project: &Project,
    file: &Path,
) -> Option<Result<Snapshot, SkippedFile>> {
    let (root, file) = (project.root.clone(), file.to_path_buf());
    run_blocking(move || files::read_snapshot(&root, &file)).await
}

/// A file that cannot be read as source is worth a word only when a sensor would have looked at
/// it, it lies in the project and still exists.
fn about_skipped(call: &HookCall<'_>, file: &Path, skipped: SkippedFile) -> Option<EditText> {
    let path = RelPath::below(&call.project.root, file)?;
    if !call.project.has_sensor(&path) || !file.exists() {
        return None;
    }
    skipped_text(call, path, skipped.reason)
}

/// That a file is not measured, once for a session, file and reason.
pub(super) fn skipped_text(call: &HookCall<'_>, path: RelPath, reason: String) -> Option<EditText> {
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
