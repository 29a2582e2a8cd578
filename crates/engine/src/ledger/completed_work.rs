//! The work that a Stop found complete.

use std::path::PathBuf;

use moai_base::tree::FileTree;
use moai_loops::framework::MessageLanguage;

/// The files of a loop at the Stop that completed it.
#[derive(Debug)]
pub(crate) struct CompletedWork {
    /// Of the loop.
    pub(crate) id: String,
    /// Of its user.
    pub(crate) language: MessageLanguage,
    pub(crate) root: PathBuf,
    pub(crate) tree: FileTree,
}
