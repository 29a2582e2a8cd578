//! How the commands of the memory answer.

use moai_host::store::StoreError;
use moai_protocol::control::CommandReply;

/// Why a command of the memory did nothing.
pub(super) enum MemoryRefusal {
    /// The arguments or the file are not usable.
    Invalid(String),
    /// The store refused, or is not available.
    Store(StoreError),
}

impl From<StoreError> for MemoryRefusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The answer of a command: its text or its document.
pub(super) type MemoryReply = Result<CommandReply, MemoryRefusal>;

/// A reply with a document, or with a text.
pub(super) fn reply(document: String, text: String, json: bool) -> CommandReply {
    let stdout = if json { document } else { text };
    CommandReply { stdout, ..CommandReply::default() }
}
