//! Replies of the memory commands.

use std::path::Path;

use moai_host::store::StoreError;
use moai_protocol::control::CommandReply;

/// Why a command of the memory did nothing.
pub(super) enum MemoryRefusal {
    /// The arguments or the file are not usable.
    Invalid(String),
    /// The store refused, or is not available.
    Store(StoreError),
    /// The store, or the reading of the file, failed after a part of an import.
    Unfinished {
        /// Observations that are stored.
        imported: u64,
        /// Why the others are not.
        reason: String,
    },
}

impl From<StoreError> for MemoryRefusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl MemoryRefusal {
    /// A file of the request cannot be used; the memory itself may be sound.
    pub(super) fn of_file(file: &Path, error: StoreError) -> Self {
        let file = file.display();
        Self::Invalid(match error {
            StoreError::Newer { .. } => format!("{file}: a newer program wrote it"),
            StoreError::Corrupt(reason)
            | StoreError::Unavailable(reason)
            | StoreError::Conflict(reason) => {
                let named = format!("{file}: ");
                format!("{file}: {}", reason.strip_prefix(&named).unwrap_or(&reason))
            }
            StoreError::Unreadable { reason, .. } => format!("{file}: {reason}"),
        })
    }
}

/// The answer of a command: its text or its document.
pub(super) type MemoryReply = Result<CommandReply, MemoryRefusal>;

/// A reply with a document, or with a text.
pub(super) fn reply(document: String, text: String, json: bool) -> CommandReply {
    let stdout = if json { document } else { text };
    CommandReply { stdout, ..CommandReply::default() }
}
