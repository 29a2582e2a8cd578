//! Changes of files that belong together: what stands under each path before and after. Only data;
//! who wants the change and how it gets to the disk is not known here.

use std::sync::Arc;

use super::hash::ContentHash;
use super::path::RelPath;

/// What happens to one path. A file that moves is two changes: one path loses it, one gains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    /// The file.
    pub path: RelPath,
    /// The bytes that must stand there before; `None`: nothing may stand there.
    pub before: Option<ContentHash>,
    /// What stands there afterwards; `None`: nothing.
    pub after: Option<NewContent>,
}

/// A file's content after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContent {
    /// Every byte.
    pub bytes: Arc<[u8]>,
    /// The file that was here before the change and whose owner and permissions this one takes;
    /// `None`: those of the file it replaces, or of any new file.
    pub permissions_from: Option<RelPath>,
}

/// A set of changes that are made wholly or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// One per path, sorted by path.
    pub changes: Vec<PathChange>,
    /// Folders that are removed afterwards if nothing is left in them, and so are those in them
    /// that lose a file here.
    pub emptied_folders: Vec<RelPath>,
}
