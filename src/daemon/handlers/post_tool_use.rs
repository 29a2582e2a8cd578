//! The agent wrote a file: what did this edit introduce, fix and leave, and what did it break
//! elsewhere? Scan and language servers are asked at the same time; what is not there within the
//! inline budget is told by a later hook. After other tools, what changed on disk is told.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::answers::{SharedLook, answered, ask_all};
use super::changed_on_disk;
use super::hook_call::{HookCall, Told, edit_text, with_late};
use crate::base::delta::Delta;
use crate::base::evidence::Skipped;
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::blast::{Blast, Change};
use crate::daemon::earlier::EarlierState;
use crate::daemon::engine::blocking;
use crate::daemon::exam::{self, ToolWrite};
use crate::daemon::project::{NOTEBOOK_UNMEASURED, Project};
use crate::daemon::{gather, look};
use crate::files::{self, Snapshot};
use crate::git;
use crate::lsp::blast::Sought;
use crate::report::agent::{EditFeedback, EditText};
use crate::wire::hook::Before;

pub(super) async fn handle(call: HookCall<'_>) -> Told {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    let texts = if let Some(file) = call.input.written_file() {
        let write = ToolWrite::File(file.clone());
        let noted = exam::note_writes(engine, project, session, write);
        let (feedback, ()) = tokio::join!(feedback(&call, file), noted);
        feedback.into_iter().collect()
    } else {
        if let Some(since_ns) = changed_on_disk::begun_ns(&call) {
            exam::note_writes(engine, project, session, ToolWrite::Since(since_ns)).await;
        }
        changed_on_disk::texts(&call).await
    };
    with_late(&call, texts).await
}

/// The feedback about one written file.
async fn feedback(call: &HookCall<'_>, file: &Path) -> Option<EditText> {
    let (engine, project) = (call.engine, &call.project);
    let begun = Instant::now();
    // Remembered before it is read: what cannot be read now is not measured at the Stop either, and
    // is named there.
    if let Some(path) = RelPath::below(&project.root, file).filter(|path| project.is_wanted(path)) {
        engine.ledger().wrote(&call.input.session_id, &project.root, &path);
    }
    if let Some(path) = RelPath::below(&project.root, file).filter(Project::is_notebook) {
        return skipped_text(call, path, NOTEBOOK_UNMEASURED.to_owned());
    }
    let snapshot = match read(project, file).await? {
        Ok(snapshot) => snapshot,
        Err(skipped) => return about_skipped(call, file, skipped),
    };
    if !project.is_wanted(&snapshot.path) {
        return None;
    }
    let before = call.input.before();
    let look = SharedLook::default();
    if is_told_already(call, &snapshot, &before, &look).await {
        return None;
    }
    let change = change(call, &snapshot, &before);
    engine.ledger().set_writer(&call.input.session_id, &project.root, &snapshot);
    engine.ledger().saw_text(&call.input.session_id, &project.root, &snapshot);
    let blast = Blast::begin(change, shared_look(call, &snapshot, &look));
    let asked = ask_all(call, &snapshot, &before, &look);
    let mut told = answered(call, &snapshot, before, asked, begun).await;
    if let Some(blast) = blast {
        told.elsewhere = blast.effects(begun + project.config.inline_budget).await;
    }
    edit_text(engine, &call.input.session_id, &told)
}

fn shared_look(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    look: &SharedLook,
) -> impl Future<Output = ()> + Send + 'static {
    let (engine, project) = (Arc::clone(call.engine), call.project.clone());
    let (snapshot, look) = (snapshot.clone(), Arc::clone(look));
    async move {
        let asked = std::slice::from_ref(&snapshot);
        look.get_or_init(async || look::sync(&engine, &project, asked).await).await;
    }
}

/// An edit that changed no byte, of a file about which all language servers have said everything
/// there is to say: none is asked, as long as no other file has changed.
async fn is_told_already(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &Before,
    look: &SharedLook,
) -> bool {
    let is_same = match before {
        Before::Text(text) => ContentHash::of(text.as_bytes()) == snapshot.hash,
        Before::Absent => false,
        Before::Unknown => true,
    };
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    if !is_same || !engine.ledger().is_verified(root, path, snapshot.hash) {
        return false;
    }
    let choices = gather::choices(engine, &call.project, path);
    let is_proven = || {
        choices.iter().all(|chosen| match (chosen, gather::identity(chosen)) {
            (Ok(choice), Some(server)) => {
                engine.ledger().is_proven(root, path, &choice.id, (snapshot.hash, server))
            }
            _ => false,
        })
    };
    if !is_proven() {
        return false;
    }
    shared_look(call, snapshot, look).await;
    is_proven()
}

/// What the edit may have done to other files.
fn change(call: &HookCall<'_>, snapshot: &Snapshot, before: &Before) -> Change {
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    let kept = || engine.ledger().text(root, path).map(|text| text.to_string());
    let before = match before {
        Before::Text(text) => Some(text.clone()),
        Before::Absent => None,
        Before::Unknown => kept().or_else(|| git::head_text(root, path)),
    };
    let mut earlier = EarlierState::default();
    earlier.add(path, before.as_deref());
    Change {
        earlier,
        engine: Arc::clone(engine),
        project: call.project.clone(),
        reader: call.reader(),
        label: path.to_string(),
        changed: vec![(path.clone(), Some(snapshot.hash))],
        apart: Vec::new(),
        sought: Sought::elsewhere(path, before.as_deref(), Some(&snapshot.text)),
    }
}

pub(super) async fn read(project: &Project, file: &Path) -> Option<Result<Snapshot, Skipped>> {
    let (root, file) = (project.root.clone(), file.to_path_buf());
    blocking(move || files::read(&root, &file)).await
}

/// A file that cannot be read as source is worth a word only when a sensor would have looked at
/// it, it lies in the project and still exists.
fn about_skipped(call: &HookCall<'_>, file: &Path, skipped: Skipped) -> Option<EditText> {
    let path = RelPath::below(&call.project.root, file)?;
    if !call.project.is_wanted(&path) || !file.exists() {
        return None;
    }
    skipped_text(call, path, skipped.reason)
}

/// That a file is not measured, once for a session, file and reason.
pub(super) fn skipped_text(call: &HookCall<'_>, path: RelPath, reason: String) -> Option<EditText> {
    let gap = Gap::new(Cause::Skipped, reason);
    if !call.engine.ledger().is_news(&call.input.session_id, &format!("{path} {gap}")) {
        return None;
    }
    let gaps = vec![("all sensors".to_owned(), gap)];
    let delta = Delta::default();
    let feedback = EditFeedback {
        path,
        delta,
        gaps,
        gaps_are_news: true,
        counts_are_news: false,
        late: None,
        elsewhere: Vec::new(),
    };
    edit_text(call.engine, &call.input.session_id, &feedback)
}
