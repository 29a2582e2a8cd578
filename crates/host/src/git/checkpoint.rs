//! Checkpoints: the files of a working tree as a commit under a ref of our own. HEAD, index and working tree
//! are only read; only objects and the ref are written.
//!
//! Contents are the bytes of the working tree, so that files are restored exactly. Files with a filter
//! program are left out, because the filter may keep their contents secret, and so are untracked files that
//! usually hold secrets.

mod refs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use git2::{
    AttrCheckFlags, Config, Index, IndexEntry, IndexTime, ObjectType, Odb, Oid, Repository, Status,
    StatusOptions, StatusShow,
};
use rustix::fs::OFlags;

use super::{
    GitError, is_untracked_package, no_repository, open, open_walkable, unreadable_repository,
    work_tree_and_root,
};
use moai_base::limits::{
    CHECKPOINT_BYTES_MAX, CHECKPOINT_FILE_BYTES_MAX, CHECKPOINT_FILES_MAX,
    CHECKPOINT_UNTRACKED_BYTES_MAX,
};
use moai_base::path::RelPath;
use moai_base::sensitive::is_sensitive;
use moai_base::tree::{FileKind, FileNode, FileTree};

pub use refs::{
    checkpoint_ref, commit_checkpoint, delete_checkpoint_refs, list_checkpoints,
    paths_in_checkpoints, read_blob, read_blobs, read_checkpoint_tree,
};

/// Git's mode of each kind of entry; 0o160000 is a submodule.
const MODES: [(u32, FileKind); 3] =
    [(0o100_644, FileKind::File), (0o100_755, FileKind::Program), (0o120_000, FileKind::Link)];
const SUBMODULE: u32 = 0o160_000;
/// `GIT_INDEX_ENTRY_STAGEMASK`: the side of a conflict.
const STAGE_MASK: u16 = 0x3000;
/// `GIT_INDEX_ENTRY_VALID` (assume-unchanged): git does not check the file.
const ASSUME_VALID: u16 = 0x8000;
/// `GIT_INDEX_ENTRY_SKIP_WORKTREE`, one of the extended flags: the file on disk is the user's.
const SKIP_WORKTREE: u16 = 0x4000;

/// Reason for omitting a file behind a filter program.
const FILTERED: &str = "a git filter processes it";
/// Reason for omitting an untracked file with such a name.
const SENSITIVE: &str = "it usually holds secrets";

/// Files to exclude from a snapshot or to add to it.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotFilter<'a> {
    /// Excluded files and folders.
    pub excluded: &'a [RelPath],
    /// Files included even if git ignores them.
    pub included: &'a BTreeSet<RelPath>,
}

/// State of a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTreeSnapshot {
    /// The files; their contents are in git already.
    pub tree: FileTree,
    /// Id of git's tree; equal files, equal id.
    pub id: String,
    /// Those of the files that git does not track.
    pub untracked: BTreeSet<RelPath>,
}

/// True if the root is in a working tree that does not ignore it.
pub fn is_git_managed(root: &Path) -> Result<bool, GitError> {
    let Some(repository) = open(root)? else { return Ok(false) };
    let Some((work_tree, root)) = work_tree_and_root(&repository, root) else { return Ok(false) };
    let Ok(prefix) = root.strip_prefix(&work_tree) else { return Ok(false) };
    if prefix.as_os_str().is_empty() {
        return Ok(true);
    }
    let ignored = repository.is_path_ignored(prefix);
    ignored.map(|is_ignored| !is_ignored).map_err(|error| unreadable_repository(&root, &error))
}

/// Captures the files below the root, tracked or not, without ignored files, submodules and nested
/// repositories. Writes new contents to git's object database, and nothing else. Only for a root
/// that [`is_git_managed`].
///
/// Unchanged files are not read: git's index knows their content, unless line ends are converted,
/// which shows in the size.
pub fn snapshot_work_tree(
    root: &Path,
    filter: SnapshotFilter<'_>,
) -> Result<WorkTreeSnapshot, GitError> {
    let repository = open_walkable(root)?.ok_or_else(no_repository)?;
    let (work_tree, canonical) = work_tree_and_root(&repository, root).ok_or_else(no_repository)?;
    let prefix = canonical.strip_prefix(&work_tree).map_err(|_| no_repository())?;
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let mut builder = SnapshotBuilder {
        odb: repository.odb().map_err(failed)?,
        root: &canonical,
        filter,
        repository: &repository,
        has_filters: has_filter_programs(&repository),
        trusts_modes: trusts_modes(&repository),
        may_convert: may_convert(&repository, &work_tree),
        bytes: 0,
        untracked_bytes: 0,
        captured: WorkTreeSnapshot::default(),
    };
    builder.walk(&repository, prefix).map_err(failed)?;
    let SnapshotBuilder { mut captured, .. } = builder;
    captured.id = write_tree(&repository, prefix, &captured.tree).map_err(failed)?.to_string();
    Ok(captured)
}

struct SnapshotBuilder<'a> {
    odb: Odb<'a>,
    root: &'a Path,
    filter: SnapshotFilter<'a>,
    repository: &'a Repository,
    has_filters: bool,
    trusts_modes: bool,
    /// True if contents may be converted; a converted file has another size in git.
    may_convert: bool,
    bytes: u64,
    /// Bytes of untracked files.
    untracked_bytes: u64,
    captured: WorkTreeSnapshot,
}

impl SnapshotBuilder<'_> {
    fn walk(&mut self, repository: &Repository, prefix: &Path) -> Result<(), git2::Error> {
        let statuses = statuses(repository, prefix)?;
        let prefix = prefix.as_os_str().as_encoded_bytes();
        let mut seen = BTreeSet::new();
        for entry in repository.index()?.iter() {
            let Some(below) = below(prefix, &entry.path) else { continue };
            let status = statuses.get(&entry.path).copied().unwrap_or(Status::CURRENT);
            if entry.mode != SUBMODULE && seen.insert(below.to_vec()) {
                self.tracked(below, &entry, status)?;
            }
        }
        let new = statuses.iter().filter(|(_, status)| status.contains(Status::WT_NEW));
        for (path, status) in new {
            let Some(below) = below(prefix, path) else { continue };
            // A nested repository is listed as a folder.
            let is_ours =
                !path.ends_with(b"/") && !is_untracked_package(&super::path_of(path), *status);
            if is_ours && seen.insert(below.to_vec()) {
                self.untracked(path, below)?;
            }
        }
        for path in self.filter.included {
            let bytes = path.as_str().as_bytes();
            if seen.insert(bytes.to_vec()) {
                self.add_from_disk(bytes, None)?;
            }
        }
        Ok(())
    }

    fn tracked(
        &mut self,
        path: &[u8],
        entry: &IndexEntry,
        status: Status,
    ) -> Result<(), git2::Error> {
        let is_merged = entry.flags & STAGE_MASK == 0;
        if self.is_filtered(&entry.path) {
            self.leave_out(String::from_utf8_lossy(path).into_owned(), FILTERED.to_owned());
            return Ok(());
        }
        let is_known = is_merged
            && status == Status::CURRENT
            && entry.flags & ASSUME_VALID == 0
            && entry.flags_extended & SKIP_WORKTREE == 0;
        if is_known
            && let Some((_, kind)) = MODES.iter().find(|(mode, _)| *mode == entry.mode)
            && let Some(name) = self.held_path(path)
        {
            let Ok(metadata) = name.under(self.root).symlink_metadata() else { return Ok(()) };
            let size = if self.may_convert {
                self.odb.read_header(entry.id)?.0 as u64
            } else {
                metadata.len()
            };
            if metadata.len() == size {
                self.add(name, *kind, entry.id);
                return Ok(());
            }
        }
        self.add_from_disk(path, Some(entry.mode))
    }

    /// Adds an untracked file, unless it is excluded. `path` is relative to the working tree.
    fn untracked(&mut self, path: &[u8], below: &[u8]) -> Result<(), git2::Error> {
        let Some(name) = self.held_path(below) else { return Ok(()) };
        if is_sensitive(&name) {
            self.leave_out(name.to_string(), SENSITIVE.to_owned());
            return Ok(());
        }
        if self.is_filtered(path) {
            self.leave_out(name.to_string(), FILTERED.to_owned());
            return Ok(());
        }
        let metadata = name.under(self.root).symlink_metadata();
        let bytes = metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len());
        if bytes <= CHECKPOINT_FILE_BYTES_MAX {
            if self.untracked_bytes + bytes > CHECKPOINT_UNTRACKED_BYTES_MAX {
                let limit_mib = CHECKPOINT_UNTRACKED_BYTES_MAX >> 20;
                let reason = format!("more than {limit_mib} MiB that git does not track");
                self.leave_out(name.to_string(), reason);
                return Ok(());
            }
            self.untracked_bytes += bytes;
        }
        self.captured.untracked.insert(name);
        self.add_from_disk(below, None)
    }

    /// True if a filter program converts the file between git and the working tree.
    fn is_filtered(&self, path: &[u8]) -> bool {
        if !self.has_filters {
            return false;
        }
        let path = super::path_of(path);
        let filter = self.repository.get_attr(&path, "filter", AttrCheckFlags::FILE_THEN_INDEX);
        // If unknown, it may be filtered.
        !matches!(filter, Ok(None))
    }

    /// Adds a file from disk; `mode` is git's mode of it.
    fn add_from_disk(&mut self, path: &[u8], mode: Option<u32>) -> Result<(), git2::Error> {
        let Some(name) = self.held_path(path) else { return Ok(()) };
        let file = name.under(self.root);
        let Ok(metadata) = file.symlink_metadata() else { return Ok(()) };
        // A linked folder leads to another file, perhaps outside the root.
        if name.folders().any(|folder| self.root.join(folder).is_symlink()) {
            return Ok(());
        }
        // Folders and devices have no content.
        if !metadata.is_file() && !metadata.is_symlink() {
            return Ok(());
        }
        let room = CHECKPOINT_BYTES_MAX.saturating_sub(self.bytes);
        if metadata.len() > CHECKPOINT_FILE_BYTES_MAX.min(room) {
            let reason = if metadata.len() > CHECKPOINT_FILE_BYTES_MAX {
                format!("larger than {} MiB", CHECKPOINT_FILE_BYTES_MAX >> 20)
            } else {
                format!("more than {} MiB in all", CHECKPOINT_BYTES_MAX >> 20)
            };
            self.leave_out(name.to_string(), reason);
            return Ok(());
        }
        match content(&file, &metadata) {
            Ok(bytes) => {
                self.bytes += bytes.len() as u64;
                let kind = self.kind(&metadata, mode);
                let id = self.odb.write(ObjectType::Blob, &bytes)?;
                self.add(name, kind, id);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.leave_out(name.to_string(), format!("not readable: {error}")),
        }
        Ok(())
    }

    fn kind(&self, metadata: &Metadata, mode: Option<u32>) -> FileKind {
        if metadata.is_symlink() {
            return FileKind::Link;
        }
        let is_program =
            if self.trusts_modes { metadata.mode() & 0o100 != 0 } else { mode == Some(0o100_755) };
        if is_program { FileKind::Program } else { FileKind::File }
    }

    /// The path, unless it is excluded.
    fn held_path(&mut self, path: &[u8]) -> Option<RelPath> {
        let text = str::from_utf8(path).ok().and_then(RelPath::parse);
        let Some(name) = text else {
            let shown = String::from_utf8_lossy(path).into_owned();
            self.leave_out(shown, "its path is not UTF-8".to_owned());
            return None;
        };
        let is_below = |folder: &RelPath| {
            name.as_str().strip_prefix(folder.as_str()).is_some_and(|it| it.starts_with('/'))
        };
        let is_excepted =
            self.filter.excluded.iter().any(|except| *except == name || is_below(except));
        (!is_excepted).then_some(name)
    }

    fn add(&mut self, name: RelPath, kind: FileKind, id: Oid) {
        if self.captured.tree.nodes.len() >= CHECKPOINT_FILES_MAX {
            self.leave_out(name.to_string(), format!("more than {CHECKPOINT_FILES_MAX} files"));
            return;
        }
        self.captured.tree.nodes.insert(name, FileNode { kind, content: id.to_string() });
    }

    fn leave_out(&mut self, path: String, reason: String) {
        self.captured.tree.omitted.insert(path, reason);
    }
}

/// Differences from the index, by path in the working tree; nested repositories end with `/`.
fn statuses(
    repository: &Repository,
    prefix: &Path,
) -> Result<BTreeMap<Vec<u8>, Status>, git2::Error> {
    let mut options = StatusOptions::new();
    options.show(StatusShow::Workdir).include_untracked(true).recurse_untracked_dirs(true);
    options.exclude_submodules(true);
    if !prefix.as_os_str().is_empty() {
        options.pathspec(prefix).disable_pathspec_match(true);
    }
    let statuses = repository.statuses(Some(&mut options))?;
    Ok(statuses.iter().map(|entry| (entry.path_bytes().to_vec(), entry.status())).collect())
}

fn below<'p>(prefix: &[u8], path: &'p [u8]) -> Option<&'p [u8]> {
    if prefix.is_empty() {
        return Some(path);
    }
    path.strip_prefix(prefix)?.strip_prefix(b"/")
}

fn has_filter_programs(repository: &Repository) -> bool {
    let Ok(config) = repository.config().and_then(|mut config| config.snapshot()) else {
        return true;
    };
    let entries = config.entries(Some(r"^filter\..*\.(clean|smudge|process)$"));
    entries.map_or(true, |mut entries| entries.next().is_some())
}

/// True if line ends may be converted, by configuration or by attributes anywhere: asking git for the size of
/// every content takes longer than everything else.
fn may_convert(repository: &Repository, work_tree: &Path) -> bool {
    let config = repository.config().and_then(|mut config| config.snapshot());
    let is_set = |name: &str| config.as_ref().is_ok_and(|it| it.get_entry(name).is_ok());
    let of_user = Config::find_xdg().map(|config| config.with_file_name("attributes"));
    is_set("core.autocrlf")
        || is_set("core.attributesfile")
        || of_user.is_ok_and(|it| it.exists())
        || repository.commondir().join("info/attributes").exists()
        || repository.index().map_or(true, |index| has_attributes(&index, work_tree))
}

/// True if there are attribute files in the index, or on disk in one of its folders.
fn has_attributes(index: &Index, work_tree: &Path) -> bool {
    let mut folders = BTreeSet::from([Path::new("").to_path_buf()]);
    for entry in index.iter() {
        if entry.path.ends_with(b".gitattributes") {
            return true;
        }
        for folder in super::path_of(&entry.path).ancestors().skip(1) {
            // The parents of a known folder are known.
            if folders.contains(folder) {
                break;
            }
            folders.insert(folder.to_path_buf());
        }
    }
    folders.iter().any(|folder| work_tree.join(folder).join(".gitattributes").exists())
}

fn trusts_modes(repository: &Repository) -> bool {
    repository.config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true)
}

fn content(file: &Path, metadata: &Metadata) -> io::Result<Vec<u8>> {
    if metadata.is_symlink() {
        return Ok(fs::read_link(file)?.into_os_string().into_encoded_bytes());
    }
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let open = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file)?;
    let mut bytes = Vec::new();
    open.take(CHECKPOINT_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CHECKPOINT_FILE_BYTES_MAX {
        return Err(io::Error::other("it grows"));
    }
    Ok(bytes)
}

/// Writes git's tree of these files from an index in memory. It starts with the tree of HEAD, so
/// that unchanged folders are not written again.
fn write_tree(repository: &Repository, prefix: &Path, tree: &FileTree) -> Result<Oid, git2::Error> {
    let mut index = Index::new()?;
    if let Some(head) = head_tree(repository, prefix) {
        index.read_tree(&head)?;
    }
    let known: BTreeMap<Vec<u8>, (Oid, u32)> =
        index.iter().map(|entry| (entry.path, (entry.id, entry.mode))).collect();
    for path in known.keys() {
        let name = str::from_utf8(path).ok().and_then(RelPath::parse);
        if name.is_none_or(|name| !tree.nodes.contains_key(&name)) {
            index.remove(&super::path_of(path), 0)?;
        }
    }
    for (path, node) in &tree.nodes {
        let mode = MODES.iter().find(|(_, kind)| *kind == node.kind).map_or(0o100_644, |it| it.0);
        let (path, id) = (path.as_str().as_bytes().to_vec(), Oid::from_str(&node.content)?);
        if known.get(&path) == Some(&(id, mode)) {
            continue;
        }
        index.add(&IndexEntry {
            ctime: IndexTime::new(0, 0),
            mtime: IndexTime::new(0, 0),
            dev: 0,
            ino: 0,
            mode,
            uid: 0,
            gid: 0,
            file_size: 0,
            id,
            flags: 0,
            flags_extended: 0,
            path,
        })?;
    }
    index.write_tree_to(repository)
}

/// HEAD's tree of the root.
fn head_tree<'r>(repository: &'r Repository, prefix: &Path) -> Option<git2::Tree<'r>> {
    let tree = repository.head().ok()?.peel_to_tree().ok()?;
    if prefix.as_os_str().is_empty() {
        return Some(tree);
    }
    tree.get_path(prefix).ok()?.to_object(repository).ok()?.into_tree().ok()
}

#[cfg(test)]
mod tests;
