//! Changes since the session last looked, by its shell commands, formatters, git or people. A
//! few files are measured at once and reported like edits; many are only counted. Used by
//! the hooks after a tool call and after all tool calls of a message.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OnceCell;

use crate::edit::edit_session::{EditSession, SharedDiskEpoch};
use crate::edit::impact::{ImpactContext, ImpactSearch};
use crate::edit::post_tool_use::skipped_text;
use crate::engine::run_blocking;
use crate::evidence::disk_poll::{self, FirstLook, UnseenFiles};
use crate::evidence::earlier_texts::EarlierState;
use crate::hooks::hook_call::{HookCall, edit_text, language};
use crate::pipeline::shell_writes::note_shell_writes;
use moai_base::limits::CHANGED_INLINE_FILES_MAX;
use moai_base::path::RelPath;
use moai_host::files::Snapshot;
use moai_host::git;
use moai_lsp::impact::TouchedSymbols;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::agent::{self, EditText};

/// Texts about the changes on disk that no hook has reported yet.
pub(crate) async fn disk_change_texts(call: &HookCall<'_>) -> Vec<EditText> {
    let (engine, project, session) = (call.engine, &call.project, &call.input.session_id);
    if !project.config.lsp_enabled && !project.config.scan_enabled {
        return Vec::new();
    }
    let started_at = Instant::now();
    let language = language(engine, session);
    let first_look = call.tool_start_ns().map_or(FirstLook::SinceHead, FirstLook::Since);
    let unseen = disk_poll::take_unseen_files(engine, project, session, first_look).await;
    let is_many = unseen.changed.len() + unseen.deleted.len() > CHANGED_INLINE_FILES_MAX;
    if let Some(commit) = unseen.moved_head.as_ref().filter(|_| is_many) {
        let count = unseen.changed.len() + unseen.deleted.len();
        return vec![EditText::agent_only(agent::head_moved(commit, count, language))];
    }
    if !unseen.is_since_head {
        for path in &unseen.changed {
            engine.ledger().session(session).record_write(&project.root, path);
        }
    }
    let mut texts = measure_unseen(call, &unseen, started_at).await;
    if unseen.is_since_head {
        if !texts.is_empty() {
            texts.insert(0, EditText::agent_only(agent::first_look(language)));
        }
    } else {
        let touched = [unseen.changed.clone(), unseen.deleted.clone()].concat();
        texts.extend(note_shell_writes(call, &touched).await);
    }
    let named = unseen.unreadable.iter().take(CHANGED_INLINE_FILES_MAX);
    for skipped in named.clone() {
        texts.extend(
            RelPath::parse(&skipped.path)
                .and_then(|path| skipped_text(call, path, skipped.reason.clone())),
        );
    }
    let rest = unseen.changed.len().saturating_sub(unseen.to_measure.len() + named.len());
    if rest > 0 {
        let text = agent::many_changed(rest, !unseen.to_measure.is_empty(), language);
        texts.push(EditText::agent_only(text));
    }
    texts
}

/// Feedback for each changed file as for an edit, then the impact on other files.
async fn measure_unseen(
    call: &HookCall<'_>,
    unseen: &UnseenFiles,
    started_at: Instant,
) -> Vec<EditText> {
    if unseen.to_measure.is_empty() && unseen.deleted.is_empty() {
        return Vec::new();
    }
    let session = &call.input.session_id;
    let change = impact_context(call, unseen).await;
    // The disk poll is done, and its changes were announced to the servers.
    let disk_epoch: SharedDiskEpoch = Arc::new(OnceCell::new_with(Some(unseen.disk)));
    // All servers start before the first is awaited, because the files share one inline budget.
    let (mut edits, mut servers) = (Vec::new(), Vec::new());
    for snapshot in &unseen.to_measure {
        let before = text_before(call, unseen, snapshot);
        let edit =
            EditSession::new(call, snapshot.clone(), before, started_at, Arc::clone(&disk_epoch));
        servers.push(edit.start_servers());
        edits.push(edit);
    }
    let impact = ImpactSearch::begin(change.clone(), async {});
    let mut texts = Vec::new();
    for (edit, servers) in edits.into_iter().zip(servers) {
        let mut feedback = edit.feedback(servers).await;
        if !unseen.is_since_head {
            edit.remember(&mut feedback, edit.snapshot.hash).await;
        }
        texts.extend(edit_text(call.engine, session, &feedback));
    }
    if let Some(impact) = impact {
        let effects = impact.impacts_until(started_at + call.project.config.inline_budget).await;
        let language = language(call.engine, session);
        texts.extend(agent::cross_file_text(&change.label, &effects, None, language));
    }
    texts
}

/// The text before a change.
fn text_before(call: &HookCall<'_>, unseen: &UnseenFiles, snapshot: &Snapshot) -> TextBeforeEdit {
    let kept = call.engine.ledger().texts.replace(
        &call.project.root,
        &snapshot.path,
        Arc::clone(&snapshot.text),
    );
    match kept {
        Some(text) if text != snapshot.text => TextBeforeEdit::Text(text.to_string()),
        // If a file was deleted as well, this one may be that file, moved unchanged.
        None if unseen.deleted.is_empty() && unseen.created.contains(&snapshot.path) => {
            TextBeforeEdit::Absent
        }
        // If the kept text is the present one, a hook of another session has seen it before.
        _ => TextBeforeEdit::Unknown,
    }
}

/// Input of the search for the changes' impact on other files.
async fn impact_context(call: &HookCall<'_>, unseen: &UnseenFiles) -> ImpactContext {
    let (engine, project) = (Arc::clone(call.engine), call.project.clone());
    let (fresh, gone) = (unseen.to_measure.clone(), unseen.deleted.clone());
    let created = unseen.created.clone();
    // If git moved HEAD, the new one already holds the present texts.
    let head = unseen.old_head.clone().unwrap_or_else(|| "HEAD".to_owned());
    let counted_only: Vec<RelPath> = unseen
        .changed
        .iter()
        .filter(|path| fresh.iter().all(|snapshot| snapshot.path != **path))
        .cloned()
        .collect();
    let compared = run_blocking(move || {
        let root = &project.root;
        let before = |path: &RelPath| {
            let kept = engine.ledger().texts.get(root, path).map(|text| text.to_string());
            kept.or_else(|| git::commit_text(root, &head, path))
        };
        let mut touched = TouchedSymbols::default();
        let mut earlier = EarlierState::default();
        for Snapshot { path, text, .. } in &fresh {
            let before = if created.contains(path) { None } else { before(path) };
            earlier.add(path, before.as_deref());
            touched.extend(TouchedSymbols::visible_elsewhere(path, before.as_deref(), Some(text)));
        }
        for path in gone.iter().take(CHANGED_INLINE_FILES_MAX) {
            let before = before(path).unwrap_or_default();
            touched.extend(TouchedSymbols::visible_elsewhere(path, Some(&before), None));
        }
        // A deleted file and files that are only counted have no text to overlay.
        earlier.created_or_deleted.extend(counted_only.into_iter().chain(gone));
        (touched, earlier)
    });
    let changed = unseen.to_measure.iter().map(|file| (file.path.clone(), Some(file.hash)));
    let gone =
        unseen.deleted.iter().take(CHANGED_INLINE_FILES_MAX).map(|path| (path.clone(), None));
    let changed: Vec<_> = changed.chain(gone).collect();
    let label = match changed.as_slice() {
        [(path, _)] => path.to_string(),
        many => format!("{} changed files", many.len()),
    };
    let (touched, earlier) = compared.await.unwrap_or_else(|| {
        // The Stop reports that affected files may be unknown.
        let (session, root) = (&call.input.session_id, &call.project.root);
        let nothing = TouchedSymbols::default();
        call.engine.ledger().record_affected(session, root, &[], &nothing, true);
        (nothing, EarlierState::default())
    });
    let session = &call.input.session_id;
    let measurement = call.engine.ledger().session(session).pending_reports.next();
    ImpactContext {
        engine: Arc::clone(call.engine),
        earlier,
        measurement,
        project: call.project.clone(),
        reader: call.reader(),
        label,
        changed,
        measured_separately: unseen.changed.clone(),
        touched,
    }
}
