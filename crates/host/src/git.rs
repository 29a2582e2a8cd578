//! Git data of a root: changed files, worktrees, the commit of HEAD. The only module that uses `git2`. This
//! file only reads; checkpoints write objects and refs of our own, and no module here writes an index or a
//! working tree.

pub mod base_versions;
pub mod branches;
pub mod checkpoint;
pub mod foreign_commits;
pub mod hidden_work;
pub mod history;

mod difference;
mod hidden_entries;
mod object_folders;
mod shared_identity;
mod special_files;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use git2::{ErrorCode, Repository, Status, StatusOptions};

pub use self::difference::{FileDifference, TextAtBase, diff_since};
pub use self::shared_identity::shared_identity;
use self::special_files::{
    UnreadFile, find_special_file, find_special_rules, find_special_rules_above,
};
pub use self::special_files::{unread_rules, unread_rules_of_user};
use crate::files;
use moai_base::evidence::SkippedFile;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::{NEVER_WALKED, RelPath};

/// Reason for skipping a nested repository.
pub const NESTED_REPOSITORY: &str = "a nested repository";

/// Unusable git data. Neither a missing repository nor an empty difference is reported as this error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct GitError {
    /// The problem, as a lower-case fragment for people.
    pub detail: String,
    /// The command that fixes it, if there is one.
    pub remedy: Option<String>,
}

/// The files that differ from HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTreeChanges {
    /// Relative to the root; sorted, each once.
    pub files: Vec<RelPath>,
    /// Deleted files of HEAD or the index, relative to the root.
    pub deleted: Vec<RelPath>,
    /// Changed files whose path is not UTF-8, of any kind; the path shows replacement characters.
    pub skipped: Vec<SkippedFile>,
}

/// The folder that all worktrees of this root's repository share (`.git` of the main worktree); canonical.
/// `None` without git. Ignores ownership and broken configuration, so that names derived from the folder do
/// not change while those are fixed.
#[must_use]
pub fn common_dir(root: &Path) -> Option<PathBuf> {
    let git_dir = work_tree_git_dir(root)?;
    // gitrepository-layout(5): in a linked worktree `commondir` leads to the shared folder,
    // relative to the worktree's own.
    let common = match read_some(&git_dir.join("commondir")) {
        Some(bytes) => git_dir.join(OsStr::from_bytes(bytes.trim_ascii())),
        None => git_dir,
    };
    common.canonicalize().ok()
}

/// Git's folder for the working tree of a root.
#[must_use]
pub fn work_tree_git_dir(root: &Path) -> Option<PathBuf> {
    // Finding the folder must not wait for a pipe, and its name must stay while git cannot be used.
    if find_special_file(root).is_some() {
        return root.ancestors().map(|at| at.join(".git")).find(|git| git.is_dir());
    }
    Repository::discover_path(root, no_ceiling()).ok()
}

/// Rules outside of commits that hide files from git: ignore rules of the repository and of the user, and
/// those of a sparse checkout. `None` for each that does not exist.
#[must_use]
pub fn local_ignore_rules(root: &Path) -> [Option<Vec<u8>>; 2] {
    let Ok(Some(repository)) = open(root) else { return [None, None] };
    // gitignore(5): `core.excludesFile` replaces the user's default file.
    let config = repository.config();
    let set = config.and_then(|config| config.get_path("core.excludesfile")).ok();
    let settings = env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
    let of_user = set.or_else(|| settings.map(|settings| settings.join("git/ignore")));
    let ignored = [Some(repository.commondir().join("info/exclude")), of_user];
    let texts: Vec<Vec<u8>> =
        ignored.into_iter().flatten().filter_map(|path| read_some(&path)).collect();
    let sparse = read_some(&repository.path().join("info/sparse-checkout"));
    [(!texts.is_empty()).then(|| texts.join(&b'\n')), sparse]
}

fn read_some(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    files::open_regular(path).ok()?.take(SOURCE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Files below the root that differ from HEAD: staged, unstaged, untracked and not ignored, and
/// renamed ones by their new name; without commits, all files. Deleted files are listed separately;
/// folders, submodules, and untracked files in [`NEVER_WALKED`] folders are left out.
///
/// `Ok(None)` if the root is outside every working tree or in a folder that git ignores. The root may be a
/// subfolder; then only the files below it are returned.
pub fn files_changed_since_head(root: &Path) -> Result<Option<WorkTreeChanges>, GitError> {
    let Some(repository) = open_walkable(root)? else { return Ok(None) };
    let broken = |error: git2::Error| unreadable_repository(root, &error);
    let Some(work_tree) = repository.workdir().and_then(|it| it.canonicalize().ok()) else {
        return Ok(None);
    };
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let Ok(prefix) = root.strip_prefix(&work_tree) else { return Ok(None) };
    let left_out = hidden_entries::clear_hidden_flags(&repository, &work_tree).map_err(broken)?;
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    if !prefix.as_os_str().is_empty() {
        if repository.is_path_ignored(prefix).map_err(broken)? {
            return Ok(None);
        }
        options.pathspec(prefix).disable_pathspec_match(true);
    }
    let mut changed = WorkTreeChanges::default();
    let head = repository.head().and_then(|head| head.peel_to_tree()).ok();
    // Changes inside submodules and nested repositories are not examined.
    let mut inner =
        hidden_entries::changed_inner_repositories(&repository, &work_tree, head.as_ref())
            .map_err(broken)?;
    for entry in repository.statuses(Some(&mut options)).map_err(broken)?.iter() {
        let path = &path_of(entry.path_bytes());
        let absolute = work_tree.join(path);
        if absolute.is_dir() && absolute.join(".git").exists() {
            inner.insert(path.components().collect());
            continue;
        }
        if is_there(&absolute, entry.status()) {
            if !is_untracked_package(path, entry.status()) {
                changed.add(&root, &absolute);
            }
        } else if !absolute.exists() && !left_out.contains(path) {
            changed.deleted.extend(RelPath::below(&root, &absolute));
        }
    }
    let inner = inner.iter().map(|path| work_tree.join(path));
    let inner = inner.filter_map(|path| Some(path.strip_prefix(&root).ok()?.to_path_buf()));
    changed.skipped.extend(inner.map(|path| SkippedFile {
        path: path.to_string_lossy().into_owned(),
        reason: NESTED_REPOSITORY.to_owned(),
    }));
    changed.files.sort();
    changed.files.dedup();
    Ok(Some(changed))
}

/// Like [`files_changed_since_head`], plus the files changed by commits since `base` (from
/// [`base_commit`]). A base that no longer exists, after a rebase and a cleanup, is an error,
/// because its changes are unknown.
pub fn files_changed_since(
    root: &Path,
    base: Option<&str>,
) -> Result<Option<WorkTreeChanges>, GitError> {
    let Some(mut changed) = files_changed_since_head(root)? else { return Ok(None) };
    let Some(base) = base.filter(|base| head_commit(root).as_deref() != Some(*base)) else {
        return Ok(Some(changed));
    };
    let Some(repository) = open(root)? else { return Ok(None) };
    let broken = |error: git2::Error| unreadable_repository(root, &error);
    let tree = |id: &str| repository.revparse_single(id)?.peel_to_tree();
    if base == NO_COMMIT && head_commit(root).is_none() {
        return Ok(Some(changed));
    }
    let old = if base == NO_COMMIT { None } else { Some(tree(base).map_err(broken)?) };
    let new = tree("HEAD").map_err(broken)?;
    let diff = repository.diff_tree_to_tree(old.as_ref(), Some(&new), None).map_err(broken)?;
    let work_tree = repository.workdir().and_then(|it| it.canonicalize().ok());
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    for delta in diff.deltas() {
        let file = work_tree.as_deref().zip(delta.new_file().path());
        let file = file.map(|(work_tree, path)| work_tree.join(path));
        match file {
            Some(file) if file.is_file() => changed.add(&root, &file),
            Some(file) if file.symlink_metadata().is_err() => {
                changed.deleted.extend(RelPath::below(&root, &file));
            }
            _ => {}
        }
    }
    for paths in [&mut changed.files, &mut changed.deleted] {
        paths.sort();
        paths.dedup();
    }
    Ok(Some(changed))
}

/// The files below the root whose merge conflict is not resolved, by git's index. Empty without git.
///
/// # Errors
///
/// Git's data cannot be read.
pub fn unmerged_files(root: &Path) -> Result<BTreeSet<RelPath>, GitError> {
    let Some(repository) = open(root)? else { return Ok(BTreeSet::new()) };
    let Some((work_tree, root)) = work_tree_and_root(&repository, root) else {
        return Ok(BTreeSet::new());
    };
    let broken = |error: git2::Error| unreadable_repository(&root, &error);
    let index = repository.index().map_err(broken)?;
    let mut unmerged = BTreeSet::new();
    for conflict in index.conflicts().map_err(broken)? {
        let conflict = conflict.map_err(broken)?;
        let entry = conflict.our.or(conflict.their).or(conflict.ancestor);
        let path = entry.map(|entry| work_tree.join(path_of(&entry.path)));
        unmerged.extend(path.and_then(|path| RelPath::below(&root, &path)));
    }
    Ok(unmerged)
}

/// The paths below the root that git ignores. Tracked files are never among them. Empty
/// without git.
pub fn ignored_paths(root: &Path, paths: &[RelPath]) -> Result<BTreeSet<RelPath>, GitError> {
    let Some(repository) = open(root)? else { return Ok(BTreeSet::new()) };
    let broken = |error: git2::Error| unreadable_repository(root, &error);
    let Some((work_tree, root)) = work_tree_and_root(&repository, root) else {
        return Ok(BTreeSet::new());
    };
    if let Some(file) = find_special_rules_above(&root, paths) {
        return Err(not_read(&file));
    }
    let index = repository.index().map_err(broken)?;
    let mut ignored = BTreeSet::new();
    for path in paths {
        let absolute = path.under(&root);
        let Ok(below) = absolute.strip_prefix(&work_tree) else { continue };
        let is_tracked = index.get_path(below, 0).is_some();
        if !is_tracked && repository.is_path_ignored(below).map_err(broken)? {
            ignored.insert(path.clone());
        }
    }
    Ok(ignored)
}

/// Those of these files that git does not track; without `with_ignored`, only those that it does not
/// ignore. Empty without git.
pub fn untracked_paths(
    root: &Path,
    paths: &[RelPath],
    with_ignored: bool,
) -> Result<BTreeSet<RelPath>, GitError> {
    let Some(repository) = open(root)? else { return Ok(BTreeSet::new()) };
    let Some((work_tree, canonical)) = work_tree_and_root(&repository, root) else {
        return Ok(BTreeSet::new());
    };
    let index = repository.index().map_err(|error| unreadable_repository(root, &error))?;
    let is_tracked = |path: &RelPath| {
        let absolute = path.under(&canonical);
        absolute.strip_prefix(&work_tree).is_ok_and(|below| index.get_path(below, 0).is_some())
    };
    let mut untracked: BTreeSet<RelPath> =
        paths.iter().filter(|path| !is_tracked(path)).cloned().collect();
    if !with_ignored {
        let ignored = ignored_paths(root, paths)?;
        untracked.retain(|path| !ignored.contains(path));
    }
    Ok(untracked)
}

/// Base of a loop that started before the first commit.
const NO_COMMIT: &str = "none";

/// The base for [`files_changed_since`]: the commit of HEAD, or a marker that there is none yet;
/// `None` without git.
///
/// # Errors
///
/// Git's data cannot be read.
pub fn base_commit(root: &Path) -> Result<Option<String>, GitError> {
    let Some(repository) = open(root)? else { return Ok(None) };
    let commit = match repository.head() {
        Ok(head) => head.peel_to_commit(),
        Err(error) if error.code() == ErrorCode::UnbornBranch => {
            return Ok(Some(NO_COMMIT.to_owned()));
        }
        Err(error) => Err(error),
    };
    let commit = commit.map_err(|error| unreadable_repository(root, &error))?;
    Ok(Some(commit.id().to_string()))
}

/// Commit id of HEAD in hex. `None` without git, without a commit, or if git's data is unusable.
#[must_use]
pub fn head_commit(root: &Path) -> Option<String> {
    let repository = open(root).ok()??;
    let commit = repository.head().ok()?.peel_to_commit().ok()?;
    Some(commit.id().to_string())
}

/// When a commit was made, in seconds since the epoch; `None` if it cannot be read.
#[must_use]
pub fn commit_secs(root: &Path, commit: &str) -> Option<i64> {
    let repository = open(root).ok()??;
    let commit = repository.revparse_single(commit).ok()?.peel_to_commit().ok()?;
    Some(commit.time().seconds())
}

/// The text of a file in HEAD; `None` if it does not exist, is not UTF-8, or is too large for a source.
#[must_use]
pub fn head_text(root: &Path, file: &RelPath) -> Option<String> {
    commit_text(root, "HEAD", file)
}

/// Like [`head_text`], in a commit.
#[must_use]
pub fn commit_text(root: &Path, commit: &str, file: &RelPath) -> Option<String> {
    let repository = open(root).ok()??;
    let (work_tree, root) = work_tree_and_root(&repository, root)?;
    let absolute = file.under(&root);
    let path = absolute.strip_prefix(&work_tree).ok()?;
    let tree = repository.revparse_single(commit).ok()?.peel_to_tree().ok()?;
    let blob = repository.find_blob(tree.get_path(path).ok()?.id()).ok()?;
    let is_source_size = blob.size() as u64 <= SOURCE_BYTES_MAX;
    is_source_size.then(|| String::from_utf8(blob.content().to_vec()).ok())?
}

fn work_tree_and_root(repository: &Repository, root: &Path) -> Option<(PathBuf, PathBuf)> {
    Some((repository.workdir()?.canonicalize().ok()?, root.canonicalize().ok()?))
}

impl WorkTreeChanges {
    fn add(&mut self, root: &Path, absolute: &Path) {
        match RelPath::below(root, absolute) {
            Some(path) => self.files.push(path),
            None if absolute.starts_with(root) && absolute.to_str().is_none() => {
                let below = absolute.strip_prefix(root).unwrap_or(absolute);
                let path = below.to_string_lossy().into_owned();
                self.skipped.push(SkippedFile { path, reason: "its path is not UTF-8".to_owned() });
            }
            None => {}
        }
    }
}

/// Converts git's bytes to a path.
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn no_ceiling() -> std::iter::Empty<&'static OsStr> {
    std::iter::empty()
}

fn open(root: &Path) -> Result<Option<Repository>, GitError> {
    if let Some(file) = find_special_file(root) {
        return Err(not_read(&file));
    }
    match Repository::discover(root) {
        Ok(repository) => Ok(Some(repository)),
        // A `.git` that is broken or incomplete is "not found" too, but then git was expected.
        Err(error) if error.code() == ErrorCode::NotFound && !has_git_entry(root) => Ok(None),
        Err(error) => Err(unreadable_repository(root, &error)),
    }
}

/// Like [`open`], before libgit2 walks the folders below the root and reads the rules in them.
fn open_walkable(root: &Path) -> Result<Option<Repository>, GitError> {
    let Some(repository) = open(root)? else { return Ok(None) };
    if let Some((_, root)) = work_tree_and_root(&repository, root) {
        refuse_special_rules(&repository, &root)?;
    }
    Ok(Some(repository))
}

fn refuse_special_rules(repository: &Repository, folder: &Path) -> Result<(), GitError> {
    match find_special_rules(repository, folder) {
        Ok(None) => Ok(()),
        Ok(Some(file)) => Err(not_read(&file)),
        Err(error) => Err(unreadable_repository(folder, &error)),
    }
}

fn not_read(file: &UnreadFile) -> GitError {
    GitError { detail: format!("git data is not read: {file}"), remedy: None }
}

fn needed(root: &Path) -> Result<Repository, GitError> {
    open(root)?.ok_or_else(no_repository)
}

fn no_repository() -> GitError {
    GitError { detail: "there is no git repository".to_owned(), remedy: None }
}

fn has_git_entry(root: &Path) -> bool {
    root.ancestors().any(|ancestor| ancestor.join(".git").exists())
}

fn unreadable_repository(root: &Path, error: &git2::Error) -> GitError {
    if error.code() == ErrorCode::Owner {
        let owned = root.ancestors().find(|at| at.join(".git").exists()).unwrap_or(root).display();
        let remedy = format!("git config --global --add safe.directory '{owned}'");
        let detail = "the git repository belongs to another user".to_owned();
        return GitError { detail, remedy: Some(remedy) };
    }
    GitError { detail: format!("git data cannot be read: {}", error.message()), remedy: None }
}

/// True if a changed entry is still a file in the working tree.
fn is_there(absolute: &Path, status: Status) -> bool {
    let is_gone = status.contains(Status::WT_DELETED)
        || (status.contains(Status::INDEX_DELETED) && !status.contains(Status::WT_NEW));
    !is_gone && fs::symlink_metadata(absolute).is_ok_and(|metadata| !metadata.is_dir())
}

/// True if an untracked file is in a package folder: one that is not ignored yet would drown the change.
fn is_untracked_package(path: &Path, status: Status) -> bool {
    status == Status::WT_NEW && is_never_walked(path)
}

fn is_never_walked(path: &Path) -> bool {
    let is_never = |name: &OsStr| name.to_str().is_some_and(|name| NEVER_WALKED.contains(&name));
    path.components().any(|part| matches!(part, Component::Normal(name) if is_never(name)))
}

#[cfg(test)]
mod tests;
