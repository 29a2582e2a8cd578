//! Applies the steps of an edit in order to files in memory; the difference at the end is the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::{
    DiskTree, EditRefusal, EditStep, IfExists, TextEdit, WorkspaceEdit, protected, text_edits,
};
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::hash::ContentHash;
use moai_base::limits::{CHANGED_BYTES_MAX, CHANGED_FILES_MAX};
use moai_base::path::RelPath;
use moai_base::text::PositionEncoding;

/// The planned result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditPlan {
    /// The files before and after.
    pub set: ChangeSet,
    pub edits: usize,
}

/// Applies the edit in memory. It is refused as a whole when any part is uncertain; the order of
/// the checks only decides which reason is reported.
pub fn plan_edit(
    edit: &WorkspaceEdit,
    tree: &DiskTree,
    encoding: PositionEncoding,
) -> Result<EditPlan, EditRefusal> {
    let bytes: usize = tree.files.values().map(|bytes| bytes.len()).sum();
    if bytes > CHANGED_BYTES_MAX {
        return Err(EditRefusal::TooManyBytes);
    }
    let mut planning = EditPlanner::new(tree, encoding);
    let mut steps = edit.steps.as_slice();
    while let Some(first) = steps.first() {
        // Consecutive text edits refer to the same state, because a document may be listed more
        // than once.
        let edits = steps.iter().take_while(|step| matches!(step, EditStep::Edit { .. })).count();
        if edits > 0 {
            planning.edit(&steps[..edits])?;
        } else {
            planning.apply_operation(first)?;
        }
        steps = &steps[edits.max(1)..];
    }
    planning.finish()
}

fn unreadable_file(path: &RelPath, reason: &str) -> EditRefusal {
    EditRefusal::Unreadable { path: path.to_string(), reason: reason.to_owned() }
}

#[derive(Clone, Debug)]
struct PlannedFile {
    bytes: Arc<[u8]>,
    /// Its original path.
    origin: Option<RelPath>,
}

struct EditPlanner<'t> {
    tree: &'t DiskTree,
    encoding: PositionEncoding,
    files: BTreeMap<RelPath, PlannedFile>,
    emptied_folders: BTreeSet<RelPath>,
    edits: usize,
}

impl<'t> EditPlanner<'t> {
    fn new(tree: &'t DiskTree, encoding: PositionEncoding) -> Self {
        let mut files = BTreeMap::new();
        for (path, bytes) in &tree.files {
            let file = PlannedFile { bytes: Arc::clone(bytes), origin: Some(path.clone()) };
            files.insert(path.clone(), file);
        }
        Self { tree, encoding, files, emptied_folders: BTreeSet::new(), edits: 0 }
    }

    fn resolve_path(&self, file: &Path) -> Result<RelPath, EditRefusal> {
        let place = self.tree.resolved_paths.get(file).cloned().flatten();
        place.ok_or_else(|| EditRefusal::OutsideRoot(file.to_string_lossy().into_owned()))
    }

    /// Consecutive text edits grouped by file.
    fn edit(&mut self, steps: &[EditStep]) -> Result<(), EditRefusal> {
        let mut by_file: BTreeMap<RelPath, Vec<&TextEdit>> = BTreeMap::new();
        for step in steps {
            let EditStep::Edit { file, version, edits } = step else { continue };
            let path = self.resolve_path(file)?;
            self.refuse_other_version(&path, *version)?;
            by_file.entry(path).or_default().extend(edits);
        }
        for (path, edits) in by_file {
            let name = path.to_string();
            let Some(entry) = self.files.get_mut(&path) else {
                return Err(unreadable_file(&path, "does not exist"));
            };
            let text = std::str::from_utf8(&entry.bytes)
                .map_err(|_| unreadable_file(&path, "not UTF-8"))?;
            let edited = text_edits::apply_text_edits(&name, text, &edits, self.encoding)?;
            self.edits += edits.len();
            entry.bytes = edited.into_bytes().into();
        }
        Ok(())
    }

    /// A version counts for documents that we opened. Our versions begin with 1, and servers write
    /// 0 or null for documents whose version they do not know.
    fn refuse_other_version(
        &self,
        path: &RelPath,
        version: Option<i64>,
    ) -> Result<(), EditRefusal> {
        let Some((sent, hash)) = self.tree.open.get(path) else { return Ok(()) };
        match version.filter(|version| *version != 0) {
            Some(edit) if edit != i64::from(*sent) => {
                Err(EditRefusal::VersionMismatch { path: path.to_string(), edit, sent: *sent })
            }
            _ if self.tree.files.get(path).is_some_and(|it| ContentHash::of_bytes(it) != *hash) => {
                Err(EditRefusal::HashMismatch(path.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn apply_operation(&mut self, step: &EditStep) -> Result<(), EditRefusal> {
        let named = match step {
            EditStep::Rename { old, new, .. } => vec![old, new],
            EditStep::Edit { file, .. }
            | EditStep::Create { file, .. }
            | EditStep::Delete { file, .. } => {
                vec![file]
            }
        };
        if let Some(link) = named.into_iter().find(|path| self.tree.links.contains(*path)) {
            let path = link.to_string_lossy().into_owned();
            return Err(EditRefusal::Unreadable { path, reason: "a symbolic link".to_owned() });
        }
        match step {
            EditStep::Create { file, exists } => {
                let path = self.resolve_path(file)?;
                let entry = PlannedFile { bytes: Arc::default(), origin: None };
                match (self.exists(&path), exists) {
                    (true, IfExists::Ignore) => return Ok(()),
                    (true, IfExists::Refuse) => return Err(EditRefusal::Exists(path.to_string())),
                    (true, IfExists::Overwrite) if !self.files.contains_key(&path) => {
                        return Err(EditRefusal::Exists(path.to_string()));
                    }
                    _ => self.files.insert(path, entry),
                };
                Ok(())
            }
            EditStep::Rename { old, new, exists } => self.rename(old, new, *exists),
            EditStep::Delete { file, is_recursive, may_be_missing } => {
                self.delete(file, *is_recursive, *may_be_missing)
            }
            EditStep::Edit { .. } => Ok(()),
        }
    }

    fn rename(&mut self, old: &Path, new: &Path, exists: IfExists) -> Result<(), EditRefusal> {
        let (old, new) = (self.resolve_path(old)?, self.resolve_path(new)?);
        if old == new {
            return Ok(());
        }
        if !self.exists(&old) {
            let reason = "does not exist".to_owned();
            return Err(EditRefusal::Unreadable { path: old.to_string(), reason });
        }
        if self.exists(&new) {
            match exists {
                IfExists::Ignore => return Ok(()),
                // A file may replace a file; folders are not merged.
                IfExists::Overwrite
                    if self.files.contains_key(&old) && self.files.contains_key(&new) => {}
                _ => return Err(EditRefusal::Exists(new.to_string())),
            }
        }
        if let Some(entry) = self.files.remove(&old) {
            self.files.insert(new, entry);
            return Ok(());
        }
        let inside = self.below(&old);
        if is_below(&new, &old) {
            return Err(EditRefusal::Malformed(format!("{old} would be moved into itself")));
        }
        for path in inside {
            let rest = &path.as_str()[old.as_str().len()..];
            let moved = RelPath::parse(&format!("{new}{rest}"));
            if let (Some(moved), Some(entry)) = (moved, self.files.remove(&path)) {
                self.files.insert(moved, entry);
            }
        }
        self.emptied_folders.insert(old);
        Ok(())
    }

    fn delete(
        &mut self,
        file: &Path,
        is_recursive: bool,
        may_be_missing: bool,
    ) -> Result<(), EditRefusal> {
        let path = self.resolve_path(file)?;
        if self.files.remove(&path).is_some() {
            return Ok(());
        }
        let inside = self.below(&path);
        match (self.exists(&path), may_be_missing) {
            (false, true) => return Ok(()),
            (false, false) => {
                let reason = "does not exist".to_owned();
                return Err(EditRefusal::Unreadable { path: path.to_string(), reason });
            }
            (true, _) if !inside.is_empty() && !is_recursive => {
                return Err(EditRefusal::NotEmpty(path.to_string()));
            }
            (true, _) => {}
        }
        for file in inside {
            self.files.remove(&file);
        }
        self.emptied_folders.insert(path);
        Ok(())
    }

    fn below(&self, folder: &RelPath) -> Vec<RelPath> {
        self.files.keys().filter(|path| is_below(path, folder)).cloned().collect()
    }

    fn exists(&self, path: &RelPath) -> bool {
        let is_folder = self.tree.folders.contains(path) && !self.emptied_folders.contains(path);
        self.files.contains_key(path) || is_folder || !self.below(path).is_empty()
    }

    fn finish(self) -> Result<EditPlan, EditRefusal> {
        let mut changes = Vec::new();
        let mut bytes = 0;
        let paths: BTreeSet<&RelPath> = self.tree.files.keys().chain(self.files.keys()).collect();
        for path in paths {
            let before = self.tree.files.get(path);
            let after = self.files.get(path);
            if before.map(|it| &**it) == after.map(|it| &*it.bytes) {
                continue;
            }
            protected::refuse_protected(path, self.tree)?;
            bytes += before.map_or(0, |it| it.len()) + after.map_or(0, |it| it.bytes.len());
            changes.push(PathChange {
                path: path.clone(),
                before: before.map(|bytes| ContentHash::of_bytes(bytes)),
                after: after.map(|entry| NewContent {
                    bytes: Arc::clone(&entry.bytes),
                    permissions_from: entry.origin.clone().filter(|origin| origin != path),
                }),
            });
        }
        let emptied: Vec<RelPath> = self.emptied_folders.into_iter().collect();
        match changes.len() {
            0 if emptied.is_empty() => Err(EditRefusal::Empty),
            count if count > CHANGED_FILES_MAX => Err(EditRefusal::TooManyFiles),
            _ if bytes > CHANGED_BYTES_MAX => Err(EditRefusal::TooManyBytes),
            _ => Ok(EditPlan {
                set: ChangeSet { changes, emptied_folders: emptied },
                edits: self.edits,
            }),
        }
    }
}

fn is_below(path: &RelPath, folder: &RelPath) -> bool {
    path.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
}
