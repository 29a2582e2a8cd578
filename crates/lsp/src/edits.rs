//! Edits proposed by a language server (`WorkspaceEdit`): parsed, applied in memory to given texts,
//! and refused unless they certainly apply to exactly these texts. The state of the disk comes in
//! as a [`DiskTree`], the planned changes go out as a [`ChangeSet`].
//!
//! [`ChangeSet`]: moai_base::change::ChangeSet

mod keywords;
mod new_name;
mod parse;
mod plan;
mod protected;
mod refusal;
mod text_edits;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::messages::responses::LspLocation;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::TextRange;

pub use new_name::{invalid_name_reason, malformed_identifier_reason};
pub use plan::{EditPlan, plan_edit};
pub use refusal::EditRefusal;

/// A proposed edit: its steps in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceEdit {
    steps: Vec<EditStep>,
}

/// One step; files are absolute paths from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EditStep {
    Edit { file: PathBuf, version: Option<i64>, edits: Vec<TextEdit> },
    Create { file: PathBuf, exists: IfExists },
    Rename { old: PathBuf, new: PathBuf, exists: IfExists },
    Delete { file: PathBuf, is_recursive: bool, may_be_missing: bool },
}

/// The handling of an existing file. `overwrite` wins over `ignoreIfExists`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfExists {
    Overwrite,
    Ignore,
    Refuse,
}

/// A replacement of one range, in the server's encoding. The range need not be the identifier: some
/// servers edit single characters, others replace the whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextEdit {
    range: TextRange,
    new_text: String,
}

impl TextEdit {
    /// True if it inserts `old as new` or `new as old`.
    fn is_alias_of(&self, new_name: &str) -> bool {
        let sides = self.new_text.split_once(" as ");
        sides.is_some_and(|(left, right)| {
            let (left, right) = (left.trim(), right.trim());
            (left == new_name || right == new_name) && left != right
        })
    }
}

/// The files that an edit touches, and the server's open documents among them.
#[derive(Clone, Debug, Default)]
pub struct DiskTree {
    /// For each path in the edit: the file or folder it resolves to, symbolic links followed;
    /// `None` when that is outside the root.
    pub resolved_paths: BTreeMap<PathBuf, Option<RelPath>>,
    /// Paths in the edit that are symbolic links: their targets may be edited, but moving or
    /// deleting them is ambiguous.
    pub links: BTreeSet<PathBuf>,
    /// Existing files in the edit, and every file below its folders.
    pub files: BTreeMap<RelPath, Arc<[u8]>>,
    pub folders: BTreeSet<RelPath>,
    /// The files, existing or new, that git ignores.
    pub ignored: BTreeSet<RelPath>,
    /// The files, existing or new, in a repository below the root, and the folder of that repository.
    pub other_repositories: BTreeMap<RelPath, String>,
    /// The documents that the server has open: version and text.
    pub open: BTreeMap<RelPath, (i32, ContentHash)>,
}

impl WorkspaceEdit {
    /// Every path in the edit, without duplicates.
    #[must_use]
    pub fn paths(&self) -> BTreeSet<&Path> {
        let mut paths = BTreeSet::new();
        for step in &self.steps {
            match step {
                EditStep::Edit { file, .. }
                | EditStep::Create { file, .. }
                | EditStep::Delete { file, .. } => {
                    paths.insert(file.as_path());
                }
                EditStep::Rename { old, new, .. } => paths.extend([old.as_path(), new.as_path()]),
            }
        }
        paths
    }

    /// The texts that the edit replaces.
    #[must_use]
    pub fn replaced_locations(&self) -> Vec<LspLocation> {
        let mut locations = Vec::new();
        for step in &self.steps {
            let EditStep::Edit { file, edits, .. } = step else { continue };
            let replaced =
                edits.iter().map(|edit| LspLocation { file: file.clone(), range: edit.range });
            locations.extend(replaced);
        }
        locations
    }

    /// True if a rename to `new_name` would only alias an import or export in one file (`old as
    /// new`) while every other file keeps the old name.
    #[must_use]
    pub fn is_alias_only(&self, new_name: &str) -> bool {
        let mut has_alias = false;
        for step in &self.steps {
            let EditStep::Edit { edits, .. } = step else { return false };
            has_alias |= edits.iter().any(|edit| edit.is_alias_of(new_name));
        }
        has_alias && self.paths().len() == 1
    }
}

#[cfg(test)]
mod tests;
