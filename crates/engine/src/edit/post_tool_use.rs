//! Feedback after a tool call. For an edit: the findings it introduced, fixed and left, and its
//! impact on other files, from scan and language servers at the same time; results that exceed the
//! inline budget are reported by a later hook. For other tools: the changes on disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::edit::changed_on_disk;
use crate::edit::edit_session::{EditSession, SharedDiskEpoch};
use crate::edit::impact::ImpactSearch;
use crate::engine::run_blocking;
use crate::exam;
use crate::exam::ToolWrite;
use crate::hooks::hook_call::{HookAnswer, HookCall, edit_text, with_deferred_reports};
use crate::pipeline::person_answer;
use crate::project::{NOTEBOOK_UNMEASURED, Project};
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_protocol::hook::ASK_TOOL;
use moai_report::agent::{EditFeedback, EditText};
use moai_report::contributions::ContributionOrigin;

pub(crate) async fn handle(call: HookCall<'_>) -> HookAnswer {
    if call.input.tool_name == ASK_TOOL {
        return Box::pin(person_answer::note_chosen(&call)).await.into();
    }
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
    with_deferred_reports(&call, ContributionOrigin::ToolCall, texts, None).await
}

/// The feedback about one written file.
async fn feedback(call: &HookCall<'_>, file: &Path) -> Option<EditText> {
    let (engine, project) = (call.engine, &call.project);
    let started_at = Instant::now();
    // Recorded before it is read, so that the Stop names a file that cannot be read.
    if let Some(path) = RelPath::below(&project.root, file).filter(|path| project.has_sensor(path))
    {
        engine.ledger().session(&call.input.session_id).record_write(&project.root, &path);
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
    let edit = EditSession::new(call, snapshot, before, started_at, SharedDiskEpoch::default());
    if edit.is_already_reported().await {
        return None;
    }
    let change = edit.impact_context();
    engine.ledger().record_tool_write(&call.input.session_id, &project.root, &edit.snapshot);
    engine.ledger().session(&call.input.session_id).record_text(&project.root, &edit.snapshot);
    let polled = Arc::clone(&edit);
    let impact = ImpactSearch::begin(change, async move {
        polled.poll_disk().await;
    });
    let servers = edit.start_servers();
    let mut feedback = edit.feedback(servers).await;
    if let Some(impact) = impact {
        feedback.other_files =
            impact.impacts_until(started_at + project.config.inline_budget).await;
    }
    edit.remember(&mut feedback, edit.snapshot.hash).await;
    edit_text(engine, &call.input.session_id, &feedback)
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
