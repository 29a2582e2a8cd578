//! The documents a language server has open: versions that only grow, the smallest change that
//! makes the server's text ours, and which to close when there are too many.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::Question;
use super::changes::{has_disputed_lines, ranged_change};
use crate::base::hash::ContentHash;
use crate::base::limits::OPEN_DOCUMENTS_MAX;
use crate::base::path::RelPath;
use crate::base::text::Encoding;

/// What must be sent before a document can be asked about.
#[derive(Debug)]
pub(super) enum Sync {
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
pub(super) enum Resend {
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
pub(super) enum Opening {
    /// Nothing.
    Plain,
    /// A change to the same text: pyright 1.1.414 takes what a file that is opened says for what the
    /// disk said, and leaves alone the files that import it.
    Changed,
}

#[derive(Debug)]
struct Document {
    hash: ContentHash,
    /// The text that the server has; ranges are counted in it.
    text: Arc<str>,
    last_use: u64,
    /// State of the project around it when its text was sent last.
    surroundings: u64,
}

/// Open documents and the versions of all that ever were.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: HashMap<RelPath, Document>,
    to_close: HashSet<RelPath>,
    /// Versions go on after a close, so that a late publish of an earlier life is never taken for
    /// the current one.
    versions: HashMap<RelPath, i32>,
    use_count: u64,
    surroundings: u64,
    wants_ranges: bool,
    wants_save: bool,
    saves_with_text: bool,
    encoding: Encoding,
}

impl Documents {
    /// Reads the server's `textDocumentSync`, a number or an object, and its `positionEncoding`
    /// (LSP 3.17); a server that names none counts UTF-16.
    pub(super) fn set_capabilities(&mut self, capabilities: &Value) {
        let sync = &capabilities["textDocumentSync"];
        let word = capabilities["positionEncoding"].as_str().unwrap_or_default();
        self.encoding = Encoding::from_word(word);
        let kind = sync.as_u64().or_else(|| sync["change"].as_u64());
        self.wants_ranges = kind == Some(2);
        self.wants_save =
            sync.is_number() || !matches!(sync["save"], Value::Null | Value::Bool(false));
        self.saves_with_text = sync["save"]["includeText"] == json!(true);
    }

    /// How the server counts columns.
    pub(super) fn encoding(&self) -> Encoding {
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
    pub(super) fn surroundings_changed(&mut self) {
        self.surroundings += 1;
    }

    /// Whether the surroundings changed since this document's text was sent, or the text is the
    /// one that the server has.
    pub(super) fn is_suspect(&self, question: &Question) -> bool {
        self.open.get(&question.path).is_some_and(|document| {
            document.surroundings != self.surroundings || document.hash == question.hash
        })
    }

    /// What must be sent so that the question's text is the server's, and the version that then
    /// stands for it. Of too many documents the one not used for longest is to be closed, but none
    /// of the `busy` ones.
    pub(super) fn bring_up_to_date(
        &mut self,
        question: &Question,
        (resend, opening): (Resend, Opening),
        busy: &HashSet<RelPath>,
    ) -> (i32, Vec<Sync>) {
        // The same bytes, sent once more, are still not the disk's.
        if self.open.get(&question.path).is_none_or(|document| document.hash != question.hash) {
            self.to_close.remove(&question.path);
        }
        let mut syncs = Vec::new();
        let mut version = self.versions.get(&question.path).copied().unwrap_or(0);
        match self.open.get(&question.path) {
            Some(document) if document.hash == question.hash && resend == Resend::Never => {}
            Some(document)
                if resend == Resend::Reopened
                    || self.wants_ranges && has_disputed_lines(&document.text) =>
            {
                version += 1;
                syncs.extend([Sync::Close, Sync::Open(version)]);
            }
            Some(document) => {
                version += 1;
                syncs.push(Sync::Change(version, self.change(&document.text, &question.text)));
                if self.wants_save && document.hash != question.hash {
                    syncs.push(Sync::Save);
                }
            }
            None => {
                version += 1;
                syncs.push(Sync::Open(version));
            }
        }
        let is_followed = resend == Resend::Opened || opening == Opening::Changed;
        if is_followed && matches!(syncs.last(), Some(Sync::Open(_))) {
            version += 1;
            syncs.push(Sync::Change(version, self.change(&question.text, &question.text)));
        }
        self.versions.insert(question.path.clone(), version);
        self.keep(question);
        syncs.extend(self.one_too_many(busy).map(Sync::Evict));
        (version, syncs)
    }

    fn change(&self, old: &str, new: &str) -> Value {
        if self.wants_ranges {
            ranged_change(old, new, self.encoding)
        } else {
            json!({"text": new})
        }
    }

    fn keep(&mut self, question: &Question) {
        self.use_count += 1;
        let (hash, text) = (question.hash, Arc::clone(&question.text));
        let (last_use, surroundings) = (self.use_count, self.surroundings);
        let document = Document { hash, text, last_use, surroundings };
        self.open.insert(question.path.clone(), document);
    }

    fn one_too_many(&self, busy: &HashSet<RelPath>) -> Option<RelPath> {
        if self.open.len() <= OPEN_DOCUMENTS_MAX {
            return None;
        }
        let idle = self.open.iter().filter(|(path, _)| !busy.contains(*path));
        idle.min_by_key(|(_, document)| document.last_use).map(|(path, _)| path.clone())
    }
}
