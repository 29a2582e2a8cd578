//! Reasons for refusing a proposed edit.

use moai_base::limits::{CHANGED_BYTES_MAX, CHANGED_FILES_MAX};
use moai_base::text::Position;

/// One reason; its text is one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditRefusal {
    /// The server answered null or without any change.
    #[error("the language server proposes no change here")]
    Empty,
    /// The answer is not a `WorkspaceEdit`.
    #[error("the language server's edit cannot be read: {0}")]
    Malformed(String),
    /// The edit requires the user's consent.
    #[error("the language server asks for confirmation: {0}")]
    NeedsConfirmation(String),
    /// A text with placeholders, although plain text was requested.
    #[error("{0}: the edit is a snippet with placeholders")]
    Snippet(String),
    /// The edit was computed for another version of the document.
    #[error("{path}: the edit is for document version {edit}, but the server has version {sent}")]
    VersionMismatch {
        path: String,
        edit: i64,
        /// Version that the server has.
        sent: i32,
    },
    /// The file on disk differs from the server's version.
    #[error("{0}: the file changed after the language server saw it")]
    HashMismatch(String),
    /// Two edits of one text overlap.
    #[error("{path}:{}:{}: two edits overlap", at.line + 1, at.character + 1)]
    Overlap {
        path: String,
        /// Where the second begins, as the server counts.
        at: Position,
    },
    /// A range outside the text.
    #[error("{path}:{}:{}: no such position in the text", at.line + 1, at.character + 1)]
    OutOfRange {
        path: String,
        /// The place, as the server counts.
        at: Position,
    },
    /// A path outside the project, directly or through a symbolic link.
    #[error("{0}: outside the root")]
    OutsideRoot(String),
    /// A generated, vendored or ignored file.
    #[error("{path}: {reason}, so a change would be overwritten")]
    Protected {
        path: String,
        /// `generated`, `in vendor/`, `ignored by git`.
        reason: String,
    },
    /// A file of a submodule or another repository below the root.
    #[error("{path}: {repository} is another repository")]
    OtherRepository {
        path: String,
        /// The folder of its repository.
        repository: String,
    },
    /// A file that cannot be read or is not a regular file.
    #[error("{path}: {reason}")]
    Unreadable {
        path: String,
        /// A lower-case fragment.
        reason: String,
    },
    /// Something exists where a file should be created.
    #[error("{0}: already exists")]
    Exists(String),
    /// A folder with files in it would be deleted without `recursive`.
    #[error("{0}: the folder is not empty")]
    NotEmpty(String),
    /// The edit would only add an alias to an import.
    #[error("this would only create an alias ({0}): rename at the definition of the symbol")]
    AliasOnly(String),
    /// The edit changes more files than the bound allows.
    #[error("more than {CHANGED_FILES_MAX} files would change")]
    TooManyFiles,
    /// The edit reads and writes more bytes than the bound allows.
    #[error("more than {} MiB would be read and written", CHANGED_BYTES_MAX / (1024 * 1024))]
    TooManyBytes,
}

impl EditRefusal {
    /// The kind of refusal as a stable identifier.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Malformed(_) => "malformed",
            Self::NeedsConfirmation(_) => "needs_confirmation",
            Self::Snippet(_) => "snippet",
            Self::VersionMismatch { .. } => "version_mismatch",
            Self::HashMismatch(_) => "hash_mismatch",
            Self::Overlap { .. } => "overlap",
            Self::OutOfRange { .. } => "out_of_range",
            Self::OutsideRoot(_) => "outside_root",
            Self::Protected { .. } => "protected",
            Self::OtherRepository { .. } => "other_repository",
            Self::Unreadable { .. } => "unreadable",
            Self::Exists(_) => "exists",
            Self::NotEmpty(_) => "not_empty",
            Self::AliasOnly(_) => "alias_only",
            Self::TooManyFiles => "too_many_files",
            Self::TooManyBytes => "too_many_bytes",
        }
    }
}
