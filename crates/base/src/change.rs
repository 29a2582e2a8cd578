//! A change set: for each path, its required content before and its content after.

use std::sync::Arc;

use super::hash::ContentHash;
use super::path::RelPath;

/// A change of one path. A moved file is two changes: one path is deleted, one created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathChange {
    pub path: RelPath,
    /// Hash that the file must have before the change; `None`: the path must be free.
    pub before: Option<ContentHash>,
    /// The file afterwards; `None`: the path is deleted.
    pub after: Option<NewContent>,
}

/// A file's content after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewContent {
    /// The complete content.
    pub bytes: Arc<[u8]>,
    /// The file whose owner and permissions this one takes over; `None`: those of the file it
    /// replaces, or the defaults of a new file.
    pub permissions_from: Option<RelPath>,
}

/// Changes that are applied all together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// One per path, sorted by path.
    pub changes: Vec<PathChange>,
    /// Folders to remove afterwards if they are empty, together with their subfolders that lose a
    /// file in this change.
    pub emptied_folders: Vec<RelPath>,
}
