//! Keeps the server's view of the files current: open documents, and files that changed on disk.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::documents::{OpenPolicy, ResendPolicy, SyncStep};
use super::{
    DiskChange, DocumentRequest, LspSession, MeasureLane, PresentText, SessionEffect, SessionPhase,
};
use crate::freshness::clangd;
use crate::registry::{CheckingRules, DiagnosticsMethod};
use moai_base::limits::UNSENT_DISK_CHANGES_MAX;
use moai_base::path::{RelPath, is_in_node_modules, to_uri};
use moai_base::text::without_byte_order_mark;
use moai_base::verdict::{Cause, Gap};

impl LspSession {
    /// Handles files that changed on disk. An open document gets the `present` text, or is closed
    /// where that is unknown, and requests about other bytes end: other files would be measured
    /// against them. The server is notified of changes in closed files, as far as its watchers match;
    /// before the handshake is done, changes are kept.
    pub fn files_changed(&mut self, changes: &[(PathBuf, DiskChange)], present: &[PresentText]) {
        if self.phase == SessionPhase::Stopping || changes.is_empty() {
            return;
        }
        self.documents.advance_context_epoch();
        self.reread_outside(changes);
        let (mut to_send, mut to_reopen) = (Vec::new(), Vec::new());
        for (file, change) in changes {
            let path = RelPath::below(&self.root, file);
            let now = present.iter().find(|now| Some(&now.path) == path.as_ref());
            if *change == DiskChange::Created && self.method == DiagnosticsMethod::Tsserver {
                to_reopen.extend(now.and_then(|now| self.close_created(now)));
            }
            let is_first = path.as_ref().is_some_and(|path| self.documents.announce_change(path));
            if let Some(path) = path.as_ref().filter(|_| *change == DiskChange::Deleted) {
                self.forget_named(path);
            }
            let is_open = path.is_some_and(|path| self.follow_disk(&path, now));
            let is_text_of_document = is_open && *change == DiskChange::Changed;
            if is_first || !is_text_of_document {
                self.project_lists.mark_outdated();
            }
            // Some servers analyse twice when they are also notified of a document's change.
            if !is_text_of_document {
                to_send.push((file.clone(), *change));
            }
        }
        to_send.extend(self.extending_configurations(changes));
        if self.phase == SessionPhase::Starting {
            for (file, change) in to_send {
                self.add_unsent_change(file, change);
            }
            return self.restart_on_overflow();
        }
        // A file of a monorepo's package has a path through each link to it; only TypeScript follows these links.
        if self.spec.checking != Some(CheckingRules::Typescript) {
            to_send.retain(|(file, change)| {
                !is_in_node_modules(file) || self.is_watched(file, *change)
            });
        }
        self.is_behind_disk |= to_send.iter().any(|(file, change)| !self.is_watched(file, *change));
        self.send_changes(to_send);
        for document in to_reopen {
            self.send_text(&document, ResendPolicy::Never);
        }
        self.rediscover_project(changes);
        self.restart_if_corrected(changes);
    }

    /// True if the server has the text of this file from a document, not from the disk.
    #[must_use]
    pub fn has_document(&self, file: &Path) -> bool {
        RelPath::below(&self.root, file).is_some_and(|path| self.documents.is_open(&path))
    }

    /// Makes pyright resolve all imports again. It answers no request until it has read the settings again
    /// (`updateSettingsForAllWorkspaces`, pyright 1.1.414).
    pub fn reload_configuration(&mut self) {
        if self.phase == SessionPhase::Ready {
            self.notify("workspace/didChangeConfiguration", json!({"settings": self.settings}));
        }
    }

    /// Makes gopls load the packages of these Go files again. It does so by itself only when their imports change, not
    /// when the C does that cgo reads, in files or in comments (gopls 0.11).
    pub fn regenerate_cgo(&mut self, files: &[PathBuf]) {
        if self.phase != SessionPhase::Ready {
            return;
        }
        for file in files {
            let arguments = json!([{"URI": to_uri(file)}]);
            let command = json!({"command": "gopls.regenerate_cgo", "arguments": arguments});
            self.request("workspace/executeCommand", command);
        }
    }

    /// Closes the document of a new file, which is opened again after its creation was announced: tsserver ignores the
    /// creation of an open file, so files that imported it earlier would not find it
    /// (`invalidateResolutionOfFailedLookupLocation`, TypeScript 5.9).
    fn close_created(&mut self, now: &PresentText) -> Option<DocumentRequest> {
        let document = self.document_of(now)?;
        self.close(&now.path);
        Some(document)
    }

    /// The present text of an open document.
    fn document_of(&self, now: &PresentText) -> Option<DocumentRequest> {
        Some(DocumentRequest {
            ticket: 0,
            path: now.path.clone(),
            language_id: self.documents.language_id(&now.path)?,
            text: Arc::clone(&now.text),
            hash: now.hash,
            lane: MeasureLane::Batch,
        })
    }

    /// Ends requests about other than the present bytes of a file, and updates its document. Returns
    /// whether the server has the present text.
    fn follow_disk(&mut self, path: &RelPath, now: Option<&PresentText>) -> bool {
        let hash = now.map(|now| now.hash);
        self.supersede_queued(path, hash);
        self.supersede_unsent_queries(path, hash);
        if let Some(now) = now {
            self.announced_hashes.insert(path.clone(), now.hash);
            self.supersede_jobs(path, Some(now.hash));
            let Some(document) = self.document_of(now) else { return false };
            self.send_text(&document, ResendPolicy::Never);
            return true;
        }
        self.announced_hashes.remove(path);
        // tsserver may keep the text of a document that is closed because the disk differs; it
        // rereads all files on request.
        self.is_behind_disk |=
            self.method == DiagnosticsMethod::Tsserver && self.documents.is_open(path);
        // Until they ended, measurements of other files would depend on the open text; and some servers (jdtls) stop
        // publishing for a deleted file.
        self.supersede_jobs(path, None);
        self.close(path);
        false
    }

    /// Restarts a server that complains when a change may correct the cause. gopls goes on complaining of a `go.mod` after
    /// its correction (seen with the gopls of Debian 12). The other servers do not report that they can read a
    /// configuration again, nor do they watch every base of one.
    fn restart_if_corrected(&mut self, changes: &[(PathBuf, DiskChange)]) {
        let is_configuration = |(path, _): &(PathBuf, DiskChange)| {
            path.extension().is_some_and(|extension| extension == "toml" || extension == "json")
        };
        let is_manifest = |(path, _): &(PathBuf, DiskChange)| {
            ["go.mod", "go.sum", "go.work"].iter().any(|name| path.ends_with(name))
        };
        let has_manifest = changes.iter().any(is_manifest);
        self.has_announced_manifest |= has_manifest;
        let is_project_corrected = self.loading.fault().is_some() && has_manifest;
        let is_configuration_corrected =
            self.loading.configuration_error().is_some() && changes.iter().any(is_configuration);
        let is_build_file = |(path, _): &(PathBuf, DiskChange)| {
            self.spec.root_markers.iter().any(|name| path.ends_with(name))
        };
        let is_import_corrected =
            self.loading.import_failure().is_some() && changes.iter().any(is_build_file);
        if is_project_corrected || is_configuration_corrected || is_import_corrected {
            self.effects.push(SessionEffect::Outdated);
        }
    }

    /// gopls may complain of a manifest that has been corrected in the meantime.
    pub(super) fn restart_if_complaint_is_late(&mut self) {
        if self.loading.fault().is_some() && std::mem::take(&mut self.has_announced_manifest) {
            self.effects.push(SessionEffect::Outdated);
        }
    }

    /// rust-analyzer without a project searches for one again only when its folders change.
    fn rediscover_project(&mut self, changes: &[(PathBuf, DiskChange)]) {
        let touches_manifest = changes.iter().any(|(path, _)| path.ends_with("Cargo.toml"));
        if touches_manifest && self.flycheck.has_no_project() {
            let folder = [json!({"uri": to_uri(&self.workspace), "name": "root"})];
            let event = json!({"removed": folder, "added": folder});
            self.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
        }
    }

    /// Notifies the server of all changes that its watchers match; the rest is kept, because some
    /// servers register watchers seconds after they have read the files.
    pub(super) fn send_changes(&mut self, changes: Vec<(PathBuf, DiskChange)>) {
        for (path, change) in changes {
            self.add_unsent_change(path, change);
        }
        let mut events = Vec::new();
        for (path, change) in std::mem::take(&mut self.unsent_changes) {
            if !self.is_watched(&path, change) {
                self.unsent_changes.insert(path, change);
                continue;
            }
            let kind = match change {
                DiskChange::Created => 1,
                DiskChange::Changed => 2,
                DiskChange::Deleted => 3,
            };
            events.push(json!({"uri": to_uri(&path), "type": kind}));
        }
        if !events.is_empty() {
            self.notify("workspace/didChangeWatchedFiles", json!({"changes": events}));
        }
        self.restart_on_overflow();
    }

    /// True if one of the server's watchers matches the change.
    pub(super) fn is_watched(&self, path: &Path, change: DiskChange) -> bool {
        self.registrations.watches([&self.workspace, &self.root], path, change)
            || self.dependencies.iter().any(|folder| path.starts_with(folder))
    }

    /// Adds a change to those the server has not been notified of, as one change per file.
    fn add_unsent_change(&mut self, path: PathBuf, change: DiskChange) {
        let change = match (self.unsent_changes.get(&path), change) {
            (Some(DiskChange::Created), DiskChange::Changed) => DiskChange::Created,
            // The server may have read the file before it was deleted.
            (Some(DiskChange::Deleted), DiskChange::Created) => DiskChange::Changed,
            (_, latest) => latest,
        };
        self.unsent_changes.insert(path, change);
    }

    /// Ends a server that misses too many changes: a new process reads the current files.
    fn restart_on_overflow(&mut self) {
        if self.unsent_changes.len() <= UNSENT_DISK_CHANGES_MAX {
            return;
        }
        self.unsent_changes.clear();
        let detail = "too many files changed on disk before it could be notified; it is restarted";
        let gap = Gap::new(Cause::Crashed, detail);
        self.fail(&gap);
        self.effects.push(SessionEffect::GiveUp(gap));
    }

    /// Brings the server's text of the document up to date. Returns its version, and true if clangd
    /// rebuilds other files for a saved header.
    pub(super) fn send_text(
        &mut self,
        request: &DocumentRequest,
        resend: ResendPolicy,
    ) -> (i32, bool) {
        let uri = to_uri(&request.path.under(&self.root));
        let busy: HashSet<RelPath> =
            self.jobs.values().map(|job| job.document.path.clone()).collect();
        let is_clangd = self.method == DiagnosticsMethod::Clangd;
        let is_forced = is_clangd && self.documents.is_suspect(request);
        let opening =
            if self.spec.change_after_open { OpenPolicy::Changed } else { OpenPolicy::Plain };
        if self.documents.may_change_project_files(request) {
            self.project_lists.mark_outdated();
        }
        let (version, syncs) = self.documents.sync_steps(request, resend, opening, &busy);
        if !syncs.is_empty() {
            self.habits.on_text_sent(&request.path);
        }
        let is_changed =
            syncs.iter().any(|sync| matches!(sync, SyncStep::Change(..) | SyncStep::Close));
        let mut is_saved = false;
        for sync in syncs {
            match sync {
                SyncStep::Open(version) => {
                    self.notify(
                        "textDocument/didOpen",
                        json!({"textDocument": {
                            "uri": uri, "languageId": request.language_id, "version": version,
                            "text": without_byte_order_mark(&request.text),
                        }}),
                    );
                }
                SyncStep::Change(version, change) => {
                    let mut params = json!({
                        "textDocument": {"uri": uri, "version": version},
                        "contentChanges": [change],
                    });
                    if is_clangd {
                        params["wantDiagnostics"] = json!(true);
                        params["forceRebuild"] = json!(is_forced);
                    }
                    self.notify("textDocument/didChange", params);
                }
                SyncStep::Save => {
                    is_saved = true;
                    self.notify_saved(&uri, without_byte_order_mark(&request.text));
                }
                SyncStep::Close => self.notify_closed(&request.path),
                SyncStep::Evict(path) => self.close(&path),
            }
        }
        if is_changed && self.spec.declares_on_request {
            let document = json!({"textDocument": {"uri": uri}});
            self.request("textDocument/documentSymbol", document);
        }
        let is_header_saved = is_clangd && is_saved && clangd::is_header(&request.path);
        if is_header_saved {
            self.documents.advance_context_epoch();
        }
        (version, is_header_saved)
    }

    fn notify_saved(&mut self, uri: &str, text: &str) {
        let mut params = json!({"textDocument": {"uri": uri}});
        if self.documents.saves_with_text() {
            params["text"] = json!(text);
        }
        self.notify("textDocument/didSave", params);
    }

    fn notify_closed(&mut self, path: &RelPath) {
        let uri = to_uri(&path.under(&self.root));
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    pub(super) fn close(&mut self, path: &RelPath) {
        if self.documents.close(path) {
            self.notify_closed(path);
        }
    }
}
