//! Differences between a commit and the working tree (including index and commits since then), with the texts
//! of the commit.

use std::path::{Path, PathBuf};

use git2::{Delta, DiffDelta, DiffFindOptions, DiffOptions, FileMode, Repository, Tree};

use super::{
    GitError, NO_COMMIT, hidden_entries, is_never_walked, open_walkable, unreadable_repository,
    work_tree_and_root,
};
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;

/// One file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDifference {
    /// Current path, relative to the root; for a deleted file its former path.
    pub path: RelPath,
    /// Former path, if git detects a rename.
    pub old_path: Option<RelPath>,
    pub before: TextAtBase,
    pub exists: bool,
}

/// A file at the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextAtBase {
    /// The file did not exist.
    Absent,
    Text(String),
    /// It is or was a nested repository, which is not examined.
    Repository,
    /// It existed, but its text cannot be read; the reason is a lower-case fragment.
    Unreadable(&'static str),
}

/// The files below the root that differ from a commit: any git revision, a result of [`super::base_commit`],
/// or HEAD. Sorted by path. `None` if the root is outside every working tree. An unknown revision is an
/// error, never an empty difference.
pub fn diff_since(
    root: &Path,
    base: Option<&str>,
) -> Result<Option<Vec<FileDifference>>, GitError> {
    let Some(repository) = open_walkable(root)? else { return Ok(None) };
    let Some((work_tree, root)) = work_tree_and_root(&repository, root) else { return Ok(None) };
    let broken = |error: git2::Error| unreadable_repository(&root, &error);
    let old = tree(&repository, base, &root)?;
    let left_out = hidden_entries::clear_hidden_flags(&repository, &work_tree).map_err(broken)?;
    let inner = hidden_entries::changed_inner_repositories(&repository, &work_tree, old.as_ref())
        .map_err(broken)?;
    let mut options = DiffOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).show_untracked_content(true);
    options.ignore_submodules(true);
    if let Ok(prefix) = root.strip_prefix(&work_tree)
        && !prefix.as_os_str().is_empty()
    {
        options.pathspec(prefix).disable_pathspec_match(true);
    }
    let diff = repository.diff_tree_to_workdir_with_index(old.as_ref(), Some(&mut options));
    let mut diff = diff.map_err(broken)?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true).for_untracked(true)))
        .map_err(broken)?;
    let reader = DiffReader { repository: &repository, work_tree, root };
    let deltas = diff.deltas().filter(|delta| {
        let path = delta.old_file().path().filter(|_| delta.status() == Delta::Deleted);
        path.is_none_or(|path| !left_out.contains(path))
    });
    let mut files: Vec<FileDifference> = deltas.filter_map(|delta| reader.file(&delta)).collect();
    files.extend(inner.iter().filter_map(|path| reader.repository(path)));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(Some(files))
}

/// The tree of a base; `None` before the first commit.
fn tree<'r>(
    repository: &'r Repository,
    base: Option<&str>,
    root: &Path,
) -> Result<Option<Tree<'r>>, GitError> {
    match base {
        Some(NO_COMMIT) => return Ok(None),
        None | Some("HEAD") if super::base_commit(root)?.as_deref() == Some(NO_COMMIT) => {
            return Ok(None);
        }
        _ => {}
    }
    let found = repository.revparse_single(base.unwrap_or("HEAD"));
    found
        .and_then(|object| object.peel_to_tree())
        .map(Some)
        .map_err(|error| unreadable_repository(root, &error))
}

struct DiffReader<'r> {
    repository: &'r Repository,
    work_tree: PathBuf,
    root: PathBuf,
}

impl DiffReader<'_> {
    fn file(&self, delta: &DiffDelta<'_>) -> Option<FileDifference> {
        let (old, new) = (delta.old_file(), delta.new_file());
        let is_mode = |mode| old.mode() == mode || new.mode() == mode;
        if is_mode(FileMode::Commit) {
            return self.repository(new.path()?);
        }
        if is_mode(FileMode::Link) {
            return None;
        }
        let status = delta.status();
        if status == Delta::Untracked && new.path().is_some_and(is_never_walked) {
            return None;
        }
        let path = self.below(new.path()?)?;
        let old_path = old.path().and_then(|path| self.below(path)).filter(|old| *old != path);
        let is_new = matches!(status, Delta::Added | Delta::Untracked);
        let before =
            if is_new || old.id().is_zero() { TextAtBase::Absent } else { self.text(old.id()) };
        let is_there = path.under(&self.root).is_file();
        Some(FileDifference { path, old_path, before, exists: is_there })
    }

    fn repository(&self, path: &Path) -> Option<FileDifference> {
        let path = self.below(path)?;
        Some(FileDifference { path, old_path: None, before: TextAtBase::Repository, exists: true })
    }

    fn below(&self, path: &Path) -> Option<RelPath> {
        RelPath::below(&self.root, &self.work_tree.join(path))
    }

    fn text(&self, id: git2::Oid) -> TextAtBase {
        let Ok(blob) = self.repository.find_blob(id) else {
            return TextAtBase::Unreadable("git does not have what it was");
        };
        if blob.size() as u64 > SOURCE_BYTES_MAX {
            return TextAtBase::Unreadable("was larger than 1 MiB");
        }
        if blob.is_binary() {
            return TextAtBase::Unreadable("was binary");
        }
        match std::str::from_utf8(blob.content()) {
            Ok(text) => TextAtBase::Text(text.to_owned()),
            Err(_) => TextAtBase::Unreadable("was not UTF-8"),
        }
    }
}
