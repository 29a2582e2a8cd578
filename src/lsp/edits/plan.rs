//! The steps of an edit, made one after the other on the files in memory; what differs at the end
//! is the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::{IfExists, Refusal, Step, TextEdit, Tree, WorkspaceEdit, protected, text_edits};
use crate::base::change::{After, Change, ChangeSet};
use crate::base::hash::ContentHash;
use crate::base::limits::{CHANGED_BYTES_MAX, CHANGED_FILES_MAX};
use crate::base::path::RelPath;
use crate::base::text::Encoding;

/// What an edit would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditPlan {
    /// The files before and after.
    pub set: ChangeSet,
    /// How many replacements were made in texts.
    pub edits: usize,
}

/// Makes the edit in memory. Refused as a whole when any part of it is not certain; the order of
/// the checks decides only which reason is named.
pub fn plan(edit: &WorkspaceEdit, tree: &Tree, encoding: Encoding) -> Result<EditPlan, Refusal> {
    let bytes: usize = tree.files.values().map(|bytes| bytes.len()).sum();
    if bytes > CHANGED_BYTES_MAX {
        return Err(Refusal::TooManyBytes);
    }
    let mut planning = Planning::new(tree, encoding);
    let mut steps = edit.steps.as_slice();
    while let Some(first) = steps.first() {
        // Edits in a row are about the same state: one document may be named more than once.
        let is_edit = |step: &Step| matches!(step, Step::Edit { .. });
        let run = steps.iter().take_while(|step| is_edit(step)).count();
        let (now, later) = steps.split_at(run.max(1));
        if is_edit(first) {
            planning.edit(now)?;
        } else {
            planning.operate(first)?;
        }
        steps = later;
    }
    planning.finish()
}

/// A file in memory.
#[derive(Clone, Debug)]
struct Entry {
    bytes: Arc<[u8]>,
    /// Where it stood at the beginning.
    origin: Option<RelPath>,
}

struct Planning<'t> {
    tree: &'t Tree,
    encoding: Encoding,
    files: BTreeMap<RelPath, Entry>,
    emptied: BTreeSet<RelPath>,
    edits: usize,
}

impl<'t> Planning<'t> {
    fn new(tree: &'t Tree, encoding: Encoding) -> Self {
        let entry = |(path, bytes): (&RelPath, &Arc<[u8]>)| {
            let entry = Entry { bytes: Arc::clone(bytes), origin: Some(path.clone()) };
            (path.clone(), entry)
        };
        let files = tree.files.iter().map(entry).collect();
        Self { tree, encoding, files, emptied: BTreeSet::new(), edits: 0 }
    }

    fn place(&self, file: &Path) -> Result<RelPath, Refusal> {
        let place = self.tree.places.get(file).cloned().flatten();
        place.ok_or_else(|| Refusal::OutsideRoot(file.to_string_lossy().into_owned()))
    }

    /// Edits in a row, gathered by file.
    fn edit(&mut self, steps: &[Step]) -> Result<(), Refusal> {
        let mut by_file: BTreeMap<RelPath, Vec<&TextEdit>> = BTreeMap::new();
        for step in steps {
            let Step::Edit { file, version, edits } = step else { continue };
            let path = self.place(file)?;
            self.refuse_other_version(&path, *version)?;
            by_file.entry(path).or_default().extend(edits);
        }
        for (path, edits) in by_file {
            let name = path.to_string();
            let unreadable = |reason: &str| Refusal::Unreadable {
                path: name.clone(),
                reason: reason.to_owned(),
            };
            let Some(entry) = self.files.get_mut(&path) else {
                return Err(unreadable("does not exist"));
            };
            let text = std::str::from_utf8(&entry.bytes).map_err(|_| unreadable("not UTF-8"))?;
            let edited = text_edits::apply(&name, text, &edits, self.encoding)?;
            self.edits += edits.len();
            entry.bytes = edited.into_bytes().into();
        }
        Ok(())
    }

    /// A version counts for documents that the server has from us. Our versions begin with 1, and
    /// servers write 0 or null for documents whose version they do not know.
    fn refuse_other_version(&self, path: &RelPath, version: Option<i64>) -> Result<(), Refusal> {
        let Some((sent, hash)) = self.tree.open.get(path) else { return Ok(()) };
        match version.filter(|version| *version != 0) {
            Some(edit) if edit != i64::from(*sent) => {
                Err(Refusal::VersionMismatch { path: path.to_string(), edit, sent: *sent })
            }
            _ if self.tree.files.get(path).is_some_and(|it| ContentHash::of(it) != *hash) => {
                Err(Refusal::HashMismatch(path.to_string()))
            }
            _ => Ok(()),
        }
    }

    fn operate(&mut self, step: &Step) -> Result<(), Refusal> {
        let named = match step {
            Step::Rename { old, new, .. } => vec![old, new],
            Step::Edit { file, .. } | Step::Create { file, .. } | Step::Delete { file, .. } => {
                vec![file]
            }
        };
        if let Some(link) = named.into_iter().find(|path| self.tree.links.contains(*path)) {
            let path = link.to_string_lossy().into_owned();
            return Err(Refusal::Unreadable { path, reason: "a symbolic link".to_owned() });
        }
        match step {
            Step::Create { file, exists } => {
                let path = self.place(file)?;
                let entry = Entry { bytes: Arc::default(), origin: None };
                match (self.is_there(&path), exists) {
                    (true, IfExists::Ignore) => return Ok(()),
                    (true, IfExists::Refuse) => return Err(Refusal::Exists(path.to_string())),
                    (true, IfExists::Overwrite) if !self.files.contains_key(&path) => {
                        return Err(Refusal::Exists(path.to_string()));
                    }
                    _ => self.files.insert(path, entry),
                };
                Ok(())
            }
            Step::Rename { old, new, exists } => self.rename(old, new, *exists),
            Step::Delete { file, is_recursive, may_be_missing } => {
                self.delete(file, *is_recursive, *may_be_missing)
            }
            Step::Edit { .. } => Ok(()),
        }
    }

    fn rename(&mut self, old: &Path, new: &Path, exists: IfExists) -> Result<(), Refusal> {
        let (old, new) = (self.place(old)?, self.place(new)?);
        if old == new {
            return Ok(());
        }
        if !self.is_there(&old) {
            let reason = "does not exist".to_owned();
            return Err(Refusal::Unreadable { path: old.to_string(), reason });
        }
        if self.is_there(&new) {
            match exists {
                IfExists::Ignore => return Ok(()),
                // A file may take a file's place; folders are not merged.
                IfExists::Overwrite
                    if self.files.contains_key(&old) && self.files.contains_key(&new) => {}
                _ => return Err(Refusal::Exists(new.to_string())),
            }
        }
        if let Some(entry) = self.files.remove(&old) {
            self.files.insert(new, entry);
            return Ok(());
        }
        let inside = self.below(&old);
        if is_below(&new, &old) {
            return Err(Refusal::Malformed(format!("{old} would be moved into itself")));
        }
        for path in inside {
            let rest = &path.as_str()[old.as_str().len()..];
            let moved = RelPath::parse(&format!("{new}{rest}"));
            if let (Some(moved), Some(entry)) = (moved, self.files.remove(&path)) {
                self.files.insert(moved, entry);
            }
        }
        self.emptied.insert(old);
        Ok(())
    }

    fn delete(
        &mut self,
        file: &Path,
        is_recursive: bool,
        may_be_missing: bool,
    ) -> Result<(), Refusal> {
        let path = self.place(file)?;
        if self.files.remove(&path).is_some() {
            return Ok(());
        }
        let inside = self.below(&path);
        match (self.is_there(&path), may_be_missing) {
            (false, true) => return Ok(()),
            (false, false) => {
                let reason = "does not exist".to_owned();
                return Err(Refusal::Unreadable { path: path.to_string(), reason });
            }
            (true, _) if !inside.is_empty() && !is_recursive => {
                return Err(Refusal::NotEmpty(path.to_string()));
            }
            (true, _) => {}
        }
        for file in inside {
            self.files.remove(&file);
        }
        self.emptied.insert(path);
        Ok(())
    }

    fn below(&self, folder: &RelPath) -> Vec<RelPath> {
        self.files.keys().filter(|path| is_below(path, folder)).cloned().collect()
    }

    fn is_there(&self, path: &RelPath) -> bool {
        let is_folder = self.tree.folders.contains(path) && !self.emptied.contains(path);
        self.files.contains_key(path) || is_folder || !self.below(path).is_empty()
    }

    fn finish(self) -> Result<EditPlan, Refusal> {
        let mut changes = Vec::new();
        let mut bytes = 0;
        let paths: BTreeSet<&RelPath> = self.tree.files.keys().chain(self.files.keys()).collect();
        for path in paths {
            let before = self.tree.files.get(path);
            let after = self.files.get(path);
            if before.map(|it| &**it) == after.map(|it| &*it.bytes) {
                continue;
            }
            protected::refuse(path, self.tree)?;
            bytes += before.map_or(0, |it| it.len()) + after.map_or(0, |it| it.bytes.len());
            changes.push(Change {
                path: path.clone(),
                before: before.map(|bytes| ContentHash::of(bytes)),
                after: after.map(|entry| After {
                    bytes: Arc::clone(&entry.bytes),
                    like: entry.origin.clone().filter(|origin| origin != path),
                }),
            });
        }
        let emptied: Vec<RelPath> = self.emptied.into_iter().collect();
        match changes.len() {
            0 if emptied.is_empty() => Err(Refusal::Empty),
            count if count > CHANGED_FILES_MAX => Err(Refusal::TooManyFiles),
            _ if bytes > CHANGED_BYTES_MAX => Err(Refusal::TooManyBytes),
            _ => Ok(EditPlan { set: ChangeSet { changes, emptied }, edits: self.edits }),
        }
    }
}

fn is_below(path: &RelPath, folder: &RelPath) -> bool {
    path.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
}
