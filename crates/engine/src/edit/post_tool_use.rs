//! Feedback after a tool call. For each file of an edit: the findings it introduced, fixed and left,
//! and its impact on other files, from scan and language servers at the same time; results that exceed the
//! inline budget are reported by a later hook. For other tools: the changes on disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::edit::changed_on_disk;
use crate::edit::edit_session::{EditSession, RunningSensor, SharedDiskEpoch};
use crate::edit::impact::ImpactSearch;
use crate::engine::run_blocking;
use crate::exam;
use crate::exam::ToolWrite;
use crate::hooks::hook_call::{HookAnswer, HookCall, edit_text, with_deferred_reports};
use crate::pipeline::person_answer;
use crate::pipeline::shell_undo::undo_writes;
use crate::project::{NOTEBOOK_UNMEASURED, Project};
use crate::recall::note::note;
use crate::recall::recorder::{NotedEdit, NotedEventKind};
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_protocol::hook::{ASK_TOOL, HookEvent, TextBeforeEdit};
use moai_protocol::hosts::edits::FileEdit;
use moai_report::agent::{EditFeedback, EditText};
use moai_report::contributions::ContributionOrigin;

pub(crate) async fn handle(call: HookCall<'_>) -> HookAnswer {
    if call.input.tool_name == ASK_TOOL {
        return Box::pin(person_answer::note_chosen(&call)).await.into();
    }
    let has_batches = call.input.host.profile().event(HookEvent::PostToolBatch).is_some();
    let edits: Vec<FileEdit> = call.input.edits().to_vec();
    let mut texts = feedback_on(&call, &edits).await;
    texts.extend(Box::pin(undo_writes(&call)).await);
    // If no event follows the last call of a message, each call reports the other changes itself.
    if edits.is_empty() || !has_batches {
        note_other_writes(&call, &edits).await;
        texts.extend(changed_on_disk::disk_change_texts(&call).await);
    }
    with_deferred_reports(&call, ContributionOrigin::ToolCall, texts, None).await
}

/// A shell command may write files of the exam; those of an edit are known.
async fn note_other_writes(call: &HookCall<'_>, edits: &[FileEdit]) {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    if !edits.is_empty() {
        return;
    }
    if let Some(since_ns) = call.tool_start_ns() {
        exam::note_writes(engine, project, session, ToolWrite::Since(since_ns)).await;
    }
}

/// The feedback about the files of one tool call. All their servers start before the first is awaited,
/// because the files share one inline budget.
async fn feedback_on(call: &HookCall<'_>, edits: &[FileEdit]) -> Vec<EditText> {
    let started_at = Instant::now();
    let disk_epoch = SharedDiskEpoch::default();
    let (mut texts, mut running) = (Vec::new(), Vec::new());
    for edit in edits {
        let file = edit.file(&call.input.cwd);
        let write = ToolWrite::File(file.clone());
        let noted = exam::note_writes(call.engine, &call.project, &call.input.session_id, write);
        let begin = begin_feedback(call, edit, &file, started_at, Arc::clone(&disk_epoch));
        match tokio::join!(begin, noted).0 {
            EditOutcome::Running(edit) => running.push(edit),
            EditOutcome::Answered(text) => texts.extend(text),
        }
    }
    for edit in running {
        texts.extend(edit.finish(call).await);
    }
    texts
}

/// One file of a tool call.
enum EditOutcome {
    Running(RunningEdit),
    /// Nothing is measured; the text explains it.
    Answered(Option<EditText>),
}

/// A file that is being measured.
struct RunningEdit {
    edit: Arc<EditSession>,
    servers: Vec<RunningSensor>,
    impact: Option<ImpactSearch>,
}

impl RunningEdit {
    /// The feedback of all sensors that answer in time.
    async fn finish(self, call: &HookCall<'_>) -> Option<EditText> {
        let Self { edit, servers, impact } = self;
        let mut feedback = edit.feedback(servers).await;
        if let Some(impact) = impact {
            let deadline = edit.started_at + call.project.config.inline_budget;
            feedback.other_files = impact.impacts_until(deadline).await;
        }
        edit.remember(&mut feedback, edit.snapshot.hash).await;
        edit_text(call.engine, &call.input.session_id, &feedback)
    }
}

/// Reads a written file and starts to measure it.
async fn begin_feedback(
    call: &HookCall<'_>,
    edit: &FileEdit,
    file: &Path,
    started_at: Instant,
    disk_epoch: SharedDiskEpoch,
) -> EditOutcome {
    let (engine, project) = (call.engine, &call.project);
    // Recorded before it is read, so that the Stop reports a file that cannot be read.
    if let Some(path) = RelPath::below(&project.root, file) {
        let mut ledger = engine.ledger();
        let session = ledger.session(&call.input.session_id);
        session.record_edit(&project.root, &path);
        if project.has_sensor(&path) {
            session.record_write(&project.root, &path);
        }
    }
    if !edit.is_kept() {
        return EditOutcome::Answered(None);
    }
    if let Some(path) = RelPath::below(&project.root, file).filter(Project::is_notebook) {
        return EditOutcome::Answered(skipped_text(call, path, NOTEBOOK_UNMEASURED.to_owned()));
    }
    let snapshot = match read_edited_file(project, file).await {
        Some(Ok(snapshot)) => snapshot,
        Some(Err(skipped)) => return EditOutcome::Answered(skipped_file_text(call, file, skipped)),
        None => return EditOutcome::Answered(None),
    };
    let before = call.input.text_before_edit(edit, &snapshot.text);
    if !project.has_sensor(&snapshot.path) {
        remember_unmeasured(call, snapshot, before);
        return EditOutcome::Answered(None);
    }
    let edit = EditSession::new(call, snapshot, before, started_at, disk_epoch);
    if edit.is_already_reported().await {
        return EditOutcome::Answered(None);
    }
    engine.ledger().record_tool_write(&project.root, &edit.snapshot);
    let start = edit.impact_start();
    // First, so that the servers work during the rest.
    let servers = edit.start_servers();
    let mut change = edit.impact_context(start);
    change.measured_separately = other_files(call, &edit.snapshot.path);
    engine.ledger().session(&call.input.session_id).record_text(&project.root, &edit.snapshot);
    let polled = Arc::clone(&edit);
    let impact = ImpactSearch::begin(change, async move {
        polled.poll_disk().await;
    });
    EditOutcome::Running(RunningEdit { edit, servers, impact })
}

/// Notes an edit of a file that no sensor is for, if it changed a byte.
fn remember_unmeasured(call: &HookCall<'_>, snapshot: Snapshot, before: TextBeforeEdit) {
    if matches!(&before, TextBeforeEdit::Text(text) if **text == *snapshot.text) {
        return;
    }
    let feedback = EditFeedback::new(snapshot.path);
    let noted = NotedEdit { has_sensor: false, feedback, before, after: snapshot.text };
    let kind = NotedEventKind::Edit(Box::new(noted));
    note(call.engine, &call.project, &call.input.session_id, kind);
}

/// The other files of a tool call, each of which gets separate feedback.
fn other_files(call: &HookCall<'_>, path: &RelPath) -> Vec<RelPath> {
    let files = call.input.edits().iter().map(|edit| edit.file(&call.input.cwd));
    let paths = files.filter_map(|file| RelPath::below(&call.project.root, &file));
    paths.filter(|other| other != path).collect()
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
    if !call.engine.ledger().session(&call.input.session_id).report_once(&format!("{path} {gap}")) {
        return None;
    }
    let feedback = EditFeedback {
        gaps: vec![("all sensors".to_owned(), gap)],
        has_new_gaps: true,
        ..EditFeedback::new(path)
    };
    edit_text(call.engine, &call.input.session_id, &feedback)
}
