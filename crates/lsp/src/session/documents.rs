//! The open documents of a language server: increasing versions, minimal changes to the current
//! text, and eviction when too many are open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::DocumentRequest;
use super::changes::{has_disputed_lines, ranged_change};
use super::file_references::may_change_references;
use moai_base::hash::ContentHash;
use moai_base::limits::OPEN_DOCUMENTS_MAX;
use moai_base::path::RelPath;
use moai_base::text::{PositionEncoding, without_byte_order_mark};

/// A message that brings a document up to date before it is measured.
#[derive(Debug)]
pub(super) enum SyncStep {
    /// `didOpen` with the whole text, as this version.
    Open(i32),
    /// `didChange` to this version, with this content change.
    Change(i32, Value),
    /// `didSave`.
    Save,
    /// `didClose` of this document, which is opened again afterwards.
    Close,
    /// Close another document because there are too many.
    Evict(RelPath),
}

/// When to resend a text that the server already has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResendPolicy {
    /// Never: the server answers requests.
    Never,
    /// If the document is open: a server that only publishes does not publish a known text again.
    Known,
    /// Also if it was just opened: gopls publishes a text equal to the disk's without its version.
    Opened,
    /// Close and reopen it: the last means to make a silent server publish.
    Reopened,
}

/// The message that follows the opening of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenPolicy {
    /// Nothing.
    Plain,
    /// A change to the same text: pyright 1.1.414 assumes that an opened file equals the disk, and
    /// does not recheck the files that import it.
    Changed,
}

#[derive(Debug)]
struct OpenDocument {
    language_id: String,
    hash: ContentHash,
    /// The server's text, to which ranges refer.
    text: Arc<str>,
    last_use: u64,
    /// The project's epoch when this text was last sent.
    context_epoch: u64,
    /// True if a change on disk was announced since it was opened.
    is_announced: bool,
}

/// Open documents, and the versions of all documents ever opened.
#[derive(Debug, Default)]
pub(super) struct OpenDocuments {
    open: HashMap<RelPath, OpenDocument>,
    /// Versions continue after a close, so that a late publish for an earlier opening is not
    /// mistaken for the current one.
    versions: HashMap<RelPath, i32>,
    use_count: u64,
    context_epoch: u64,
    wants_ranges: bool,
    wants_save: bool,
    saves_with_text: bool,
    encoding: PositionEncoding,
}

impl OpenDocuments {
    /// Reads the server's `textDocumentSync`, a number or an object, and its `positionEncoding`
    /// (LSP 3.17), which defaults to UTF-16.
    pub(super) fn set_capabilities(&mut self, capabilities: &Value) {
        let sync = &capabilities["textDocumentSync"];
        let encoding = capabilities["positionEncoding"].as_str().unwrap_or_default();
        self.encoding = PositionEncoding::from_lsp_name(encoding);
        let kind = sync.as_u64().or_else(|| sync["change"].as_u64());
        self.wants_ranges = kind == Some(2);
        self.wants_save =
            sync.is_number() || !matches!(sync["save"], Value::Null | Value::Bool(false));
        self.saves_with_text = sync["save"]["includeText"] == json!(true);
    }

    pub(super) fn encoding(&self) -> PositionEncoding {
        self.encoding
    }

    /// True if `didSave` carries the text.
    pub(super) fn saves_with_text(&self) -> bool {
        self.saves_with_text
    }

    pub(super) fn is_open(&self, path: &RelPath) -> bool {
        self.open.contains_key(path)
    }

    /// The LSP language id of an open document.
    pub(super) fn language_id(&self, path: &RelPath) -> Option<String> {
        self.open.get(path).map(|document| document.language_id.clone())
    }

    /// Forgets a document; returns whether it was open.
    pub(super) fn close(&mut self, path: &RelPath) -> bool {
        self.open.remove(path).is_some()
    }

    /// Records a change that open documents may depend on.
    pub(super) fn advance_context_epoch(&mut self) {
        self.context_epoch += 1;
    }

    /// True if the project changed since this document's text was sent, or the server already has
    /// this text.
    pub(super) fn is_suspect(&self, request: &DocumentRequest) -> bool {
        self.open.get(&request.path).is_some_and(|document| {
            document.context_epoch != self.context_epoch || document.hash == request.hash
        })
    }

    /// Records that a change of an open document on disk was announced. True if it is the first since
    /// the document was opened: it may have been opened with the changed text.
    pub(super) fn announce_change(&mut self, path: &RelPath) -> bool {
        let document = self.open.get_mut(path);
        document.is_some_and(|document| !std::mem::replace(&mut document.is_announced, true))
    }

    /// True if the text may make a project read other files than the document's present text.
    pub(super) fn may_change_project_files(&self, request: &DocumentRequest) -> bool {
        self.open.get(&request.path).is_some_and(|document| {
            document.hash != request.hash
                && may_change_references(&request.path, &document.text, &request.text)
        })
    }

    /// The messages that give the server the document's text, and the resulting version. When too
    /// many documents are open, the least recently used one that is not `busy` is evicted.
    pub(super) fn sync_steps(
        &mut self,
        request: &DocumentRequest,
        resend: ResendPolicy,
        opening: OpenPolicy,
        busy: &HashSet<RelPath>,
    ) -> (i32, Vec<SyncStep>) {
        let mut syncs = Vec::new();
        let mut version = self.versions.get(&request.path).copied().unwrap_or(0);
        match self.open.get(&request.path) {
            Some(document) if document.hash == request.hash && resend == ResendPolicy::Never => {}
            Some(document)
                if resend == ResendPolicy::Reopened
                    || self.wants_ranges && has_disputed_lines(&document.text) =>
            {
                version += 1;
                syncs.extend([SyncStep::Close, SyncStep::Open(version)]);
            }
            Some(document) => {
                version += 1;
                syncs.push(SyncStep::Change(version, self.change(&document.text, &request.text)));
                if self.wants_save && document.hash != request.hash {
                    syncs.push(SyncStep::Save);
                }
            }
            None => {
                version += 1;
                syncs.push(SyncStep::Open(version));
            }
        }
        let is_followed = resend == ResendPolicy::Opened || opening == OpenPolicy::Changed;
        if is_followed && matches!(syncs.last(), Some(SyncStep::Open(_))) {
            version += 1;
            syncs.push(SyncStep::Change(version, self.change(&request.text, &request.text)));
        }
        self.versions.insert(request.path.clone(), version);
        self.record_open(request);
        syncs.extend(self.eviction_candidate(busy).map(SyncStep::Evict));
        (version, syncs)
    }

    fn change(&self, old: &str, new: &str) -> Value {
        if self.wants_ranges {
            ranged_change(old, new, self.encoding)
        } else {
            json!({"text": without_byte_order_mark(new)})
        }
    }

    fn record_open(&mut self, request: &DocumentRequest) {
        self.use_count += 1;
        let (hash, text) = (request.hash, Arc::clone(&request.text));
        let (last_use, context_epoch) = (self.use_count, self.context_epoch);
        let language_id = request.language_id.clone();
        let is_announced = self.open.get(&request.path).is_some_and(|it| it.is_announced);
        let document =
            OpenDocument { language_id, hash, text, last_use, context_epoch, is_announced };
        self.open.insert(request.path.clone(), document);
    }

    fn eviction_candidate(&self, busy: &HashSet<RelPath>) -> Option<RelPath> {
        if self.open.len() <= OPEN_DOCUMENTS_MAX {
            return None;
        }
        let idle = self.open.iter().filter(|(path, _)| !busy.contains(*path));
        idle.min_by_key(|(_, document)| document.last_use).map(|(path, _)| path.clone())
    }
}
