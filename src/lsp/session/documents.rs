//! The documents a language server has open: versions that only grow, minimal obligations of text
//! synchronisation, and which to close when there are too many.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::Question;
use crate::base::hash::ContentHash;
use crate::base::limits::OPEN_DOCUMENTS_MAX;
use crate::base::path::RelPath;
use crate::base::text::{Encoding, LineIndex, Position};

/// What must be sent before a document can be asked about.
#[derive(Debug)]
pub(super) enum Sync {
    /// `didOpen` with the whole text.
    Open,
    /// `didChange` with this content change.
    Change(Value),
    /// `didSave`.
    Save,
    /// `didClose` of another document.
    Close(RelPath),
}

#[derive(Debug)]
struct Document {
    hash: ContentHash,
    /// Where the text that the server knows ends.
    end: Position,
    last_use: u64,
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
    wants_ranges: bool,
    wants_save: bool,
    encoding: Encoding,
}

impl Documents {
    /// Reads the server's `textDocumentSync`, a number or an object, and its `positionEncoding`
    /// (LSP 3.17). Only UTF-16 is offered; a server that counts otherwise says so.
    pub(super) fn set_capabilities(&mut self, capabilities: &Value) {
        let sync = &capabilities["textDocumentSync"];
        let word = capabilities["positionEncoding"].as_str().unwrap_or_default();
        self.encoding = Encoding::from_word(word);
        let kind = sync.as_u64().or_else(|| sync["change"].as_u64());
        self.wants_ranges = kind == Some(2);
        self.wants_save =
            sync.is_number() || !matches!(sync["save"], Value::Null | Value::Bool(false));
    }

    /// How the server counts columns.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
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

    /// Whether it was marked, and not asked about since.
    pub(super) fn is_to_close(&self, path: &RelPath) -> bool {
        self.to_close.contains(path)
    }

    /// The version that stands for the question's text, and what must be sent so that it does. Of
    /// too many documents the one not used for longest is closed, but none of the `busy` ones.
    pub(super) fn bring_up_to_date(
        &mut self,
        question: &Question,
        must_resend: bool,
        busy: &HashSet<RelPath>,
    ) -> (i32, Vec<Sync>) {
        self.use_count += 1;
        self.to_close.remove(&question.path);
        let version = self.versions.entry(question.path.clone()).or_insert(0);
        let index = LineIndex::new(&question.text);
        let end = index.recount(index.end(), Encoding::Utf16, self.encoding);
        let known = self.open.get(&question.path);
        let mut syncs = Vec::new();
        match known {
            Some(document) if document.hash == question.hash && !must_resend => {}
            Some(document) => {
                *version += 1;
                let mut change = json!({"text": &*question.text});
                if self.wants_ranges {
                    // Some servers that announce ranged changes die of a change without a range.
                    let end =
                        json!({"line": document.end.line, "character": document.end.character});
                    change["range"] = json!({"start": {"line": 0, "character": 0}, "end": end});
                }
                syncs.push(Sync::Change(change));
                if self.wants_save {
                    syncs.push(Sync::Save);
                }
            }
            None => {
                *version += 1;
                syncs.push(Sync::Open);
            }
        }
        let version = *version;
        let document = Document { hash: question.hash, end, last_use: self.use_count };
        self.open.insert(question.path.clone(), document);
        if self.open.len() > OPEN_DOCUMENTS_MAX {
            let idle = self.open.iter().filter(|(path, _)| !busy.contains(*path));
            let oldest = idle.min_by_key(|(_, document)| document.last_use);
            syncs.extend(oldest.map(|(path, _)| Sync::Close(path.clone())));
        }
        (version, syncs)
    }
}
