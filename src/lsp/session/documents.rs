//! The documents a language server has open: versions that only grow, the smallest change that
//! makes the server's text ours, and which to close when there are too many.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::DocumentRequest;
use super::changes::{has_disputed_lines, ranged_change};
use crate::base::hash::ContentHash;
use crate::base::limits::OPEN_DOCUMENTS_MAX;
use crate::base::path::RelPath;
use crate::base::text::PositionEncoding;

/// What must be sent before a document can be asked about.
#[derive(Debug)]
pub(super) enum SyncStep {
    /// `didOpen` with the whole text, as this version.
    Open(i32),
    /// `didChange` to this version, with this content change.
    Change(i32, Value),
    /// `didSave`.
    Save,
    /// `didClose` of this document, which is opened again.
    Close,
    /// Another document is closed for good: there are too many.
    Evict(RelPath),
}

/// Which texts are sent once more although the server has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResendPolicy {
    /// None: the server is asked.
    Never,
    /// One that is open: a server that only publishes says nothing about what it has seen.
    Known,
    /// Also one just opened: gopls publishes a text equal to the disk's without its version.
    Opened,
    /// Closed and opened again: the last means to make a silent server speak.
    Reopened,
}

/// What follows the opening of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenPolicy {
    /// Nothing.
    Plain,
    /// A change to the same text: pyright 1.1.414 takes what a file that is opened says for what the
    /// disk said, and leaves alone the files that import it.
    Changed,
}

#[derive(Debug)]
struct OpenDocument {
    hash: ContentHash,
    /// The text that the server has; ranges are counted in it.
    text: Arc<str>,
    last_use: u64,
    /// State of the project around it when its text was sent last.
    context_epoch: u64,
}

/// Open documents and the versions of all that ever were.
#[derive(Debug, Default)]
pub(super) struct OpenDocuments {
    open: HashMap<RelPath, OpenDocument>,
    to_close: HashSet<RelPath>,
    /// Versions go on after a close, so that a late publish of an earlier life is never taken for
    /// the current one.
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
    /// (LSP 3.17); a server that names none counts UTF-16.
    pub(super) fn set_capabilities(&mut self, capabilities: &Value) {
        let sync = &capabilities["textDocumentSync"];
        let word = capabilities["positionEncoding"].as_str().unwrap_or_default();
        self.encoding = PositionEncoding::from_lsp_name(word);
        let kind = sync.as_u64().or_else(|| sync["change"].as_u64());
        self.wants_ranges = kind == Some(2);
        self.wants_save =
            sync.is_number() || !matches!(sync["save"], Value::Null | Value::Bool(false));
        self.saves_with_text = sync["save"]["includeText"] == json!(true);
    }

    /// How the server counts columns.
    pub(super) fn encoding(&self) -> PositionEncoding {
        self.encoding
    }

    /// Whether `didSave` carries the text.
    pub(super) fn saves_with_text(&self) -> bool {
        self.saves_with_text
    }

    /// Whether the document is open.
    pub(super) fn is_open(&self, path: &RelPath) -> bool {
        self.open.contains_key(path)
    }

    /// Whether the document was open.
    pub(super) fn close(&mut self, path: &RelPath) -> bool {
        self.to_close.remove(path);
        self.open.remove(path).is_some()
    }

    /// Marks a document whose text is not the disk's any more.
    pub(super) fn close_later(&mut self, path: RelPath) {
        self.to_close.insert(path);
    }

    /// Whether it was marked, and other bytes of it were not asked about since.
    pub(super) fn is_to_close(&self, path: &RelPath) -> bool {
        self.to_close.contains(path)
    }

    /// Something changed that open documents may depend on.
    pub(super) fn advance_context_epoch(&mut self) {
        self.context_epoch += 1;
    }

    /// Whether the surroundings changed since this document's text was sent, or the text is the
    /// one that the server has.
    pub(super) fn is_suspect(&self, question: &DocumentRequest) -> bool {
        self.open.get(&question.path).is_some_and(|document| {
            document.context_epoch != self.context_epoch || document.hash == question.hash
        })
    }

    /// What must be sent so that the question's text is the server's, and the version that then
    /// stands for it. Of too many documents the one not used for longest is to be closed, but none
    /// of the `busy` ones.
    pub(super) fn sync_steps(
        &mut self,
        question: &DocumentRequest,
        (resend, opening): (ResendPolicy, OpenPolicy),
        busy: &HashSet<RelPath>,
    ) -> (i32, Vec<SyncStep>) {
        // The same bytes, sent once more, are still not the disk's.
        if self.open.get(&question.path).is_none_or(|document| document.hash != question.hash) {
            self.to_close.remove(&question.path);
        }
        let mut syncs = Vec::new();
        let mut version = self.versions.get(&question.path).copied().unwrap_or(0);
        match self.open.get(&question.path) {
            Some(document) if document.hash == question.hash && resend == ResendPolicy::Never => {}
            Some(document)
                if resend == ResendPolicy::Reopened
                    || self.wants_ranges && has_disputed_lines(&document.text) =>
            {
                version += 1;
                syncs.extend([SyncStep::Close, SyncStep::Open(version)]);
            }
            Some(document) => {
                version += 1;
                syncs.push(SyncStep::Change(version, self.change(&document.text, &question.text)));
                if self.wants_save && document.hash != question.hash {
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
            syncs.push(SyncStep::Change(version, self.change(&question.text, &question.text)));
        }
        self.versions.insert(question.path.clone(), version);
        self.record_open(question);
        syncs.extend(self.eviction_candidate(busy).map(SyncStep::Evict));
        (version, syncs)
    }

    fn change(&self, old: &str, new: &str) -> Value {
        if self.wants_ranges {
            ranged_change(old, new, self.encoding)
        } else {
            json!({"text": new})
        }
    }

    fn record_open(&mut self, question: &DocumentRequest) {
        self.use_count += 1;
        let (hash, text) = (question.hash, Arc::clone(&question.text));
        let (last_use, surroundings) = (self.use_count, self.context_epoch);
        let document = OpenDocument { hash, text, last_use, context_epoch: surroundings };
        self.open.insert(question.path.clone(), document);
    }

    fn eviction_candidate(&self, busy: &HashSet<RelPath>) -> Option<RelPath> {
        if self.open.len() <= OPEN_DOCUMENTS_MAX {
            return None;
        }
        let idle = self.open.iter().filter(|(path, _)| !busy.contains(*path));
        idle.min_by_key(|(_, document)| document.last_use).map(|(path, _)| path.clone())
    }
}
