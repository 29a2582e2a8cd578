//! Checkpoints without git: copies of a root's files in a private folder, stored once per content
//! under its hash.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{read_private, remove_abandoned, walk_hidden, write_private, write_private_unsynced};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    CHECKPOINT_BYTES_MAX, CHECKPOINT_COPY_SECS_MIN, CHECKPOINT_FILE_BYTES_MAX,
    CHECKPOINT_FILES_MAX, CHECKPOINT_LIST_BYTES_MAX,
};
use moai_base::path::RelPath;
use moai_base::tree::{self, Checkpoint, FileKind, FileNode, FileTree};

const CONTENTS_FOLDER: &str = "contents";
/// File lists, one folder per loop.
const LISTS_FOLDER: &str = "lists";

/// Copies the files below a canonical root into the folder, unless their contents are stored
/// already: hidden files too, but neither links nor files excluded by `.gitignore`. `wanted` may
/// exclude more; `also` are copied even if they are ignored.
pub fn copy_work_tree(
    root: &Path,
    folder: &Path,
    also: &BTreeSet<RelPath>,
    wanted: &(dyn Fn(&RelPath) -> bool + Sync),
) -> io::Result<FileTree> {
    let walk = walk_hidden(root, wanted);
    let left_out = walk.skipped.into_iter().map(|file| (file.path, file.reason)).collect();
    let tree = FileTree { omitted: left_out, ..FileTree::default() };
    let mut copier = TreeCopier { root, folder, bytes_left: CHECKPOINT_BYTES_MAX, tree };
    let mut paths: BTreeSet<&RelPath> = walk.files.iter().collect();
    paths.extend(also.iter().filter(|path| wanted(path) && is_in_place(root, path)));
    for path in paths {
        if !copier.tree.omitted.contains_key(path.as_str()) {
            copier.add(path)?;
        }
    }
    Ok(copier.tree)
}

/// True if no part of the path is a link.
fn is_in_place(root: &Path, path: &RelPath) -> bool {
    !path.folders().any(|folder| root.join(folder).is_symlink())
}

struct TreeCopier<'a> {
    root: &'a Path,
    folder: &'a Path,
    bytes_left: u64,
    tree: FileTree,
}

impl TreeCopier<'_> {
    fn add(&mut self, path: &RelPath) -> io::Result<()> {
        let read = if self.tree.nodes.len() < CHECKPOINT_FILES_MAX {
            read_with_kind(&path.under(self.root), self.bytes_left)
        } else {
            Err(format!("more than {CHECKPOINT_FILES_MAX} files"))
        };
        match read {
            Ok(None) => {}
            Ok(Some((kind, bytes))) => {
                self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
                let content = copy(self.folder, &bytes)?;
                self.tree.nodes.insert(path.clone(), FileNode { kind, content });
            }
            Err(reason) => drop(self.tree.omitted.insert(path.to_string(), reason)),
        }
        Ok(())
    }
}

/// Stores a content unless it exists, and returns its name. The modification time is that of the
/// last use.
fn copy(folder: &Path, bytes: &[u8]) -> io::Result<String> {
    let name = ContentHash::of_bytes(bytes).to_string();
    let path = content_path(folder, &name);
    match path.symlink_metadata() {
        // A shorter copy was truncated by a power failure.
        Ok(metadata) if metadata.is_file() && metadata.len() == bytes.len() as u64 => {
            if is_older(&metadata, CHECKPOINT_COPY_SECS_MIN / 2) {
                OpenOptions::new().write(true).open(&path)?.set_modified(SystemTime::now())?;
            }
        }
        _ => write_private_unsynced(&path, bytes)?,
    }
    Ok(name)
}

fn is_older(metadata: &Metadata, secs: u64) -> bool {
    let age = metadata.modified().ok().and_then(|it| it.elapsed().ok());
    age.is_some_and(|age| age > Duration::from_secs(secs))
}

/// A file's kind and bytes; `None` if it does not exist. The error is the reason to omit it.
fn read_with_kind(file: &Path, room: u64) -> Result<Option<(FileKind, Vec<u8>)>, String> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags.bits().cast_signed()).open(file);
    let unreadable = |error: io::Error| format!("not readable: {error}");
    let open = match opened {
        Err(error) if is_gone(&error) => return Ok(None),
        Err(_) if file.is_symlink() => return Err("a symbolic link".to_owned()),
        opened => opened.map_err(unreadable)?,
    };
    let metadata = open.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    if metadata.len() > CHECKPOINT_FILE_BYTES_MAX {
        return Err(format!("larger than {} MiB", CHECKPOINT_FILE_BYTES_MAX >> 20));
    }
    if metadata.len() > room {
        return Err(format!("more than {} MiB in all", CHECKPOINT_BYTES_MAX >> 20));
    }
    let mut bytes = Vec::new();
    open.take(metadata.len()).read_to_end(&mut bytes).map_err(unreadable)?;
    let kind = if metadata.mode() & 0o100 == 0 { FileKind::File } else { FileKind::Program };
    Ok(Some((kind, bytes)))
}

/// True if the path is free, or leads through a file.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The stored form of a file list; compact, because lists are long.
#[derive(Serialize, Deserialize)]
struct StoredList {
    at_secs: i64,
    root: PathBuf,
    /// Path, content, whether it is a program.
    files: Vec<(String, String, bool)>,
    left_out: BTreeMap<String, String>,
}

/// Saves the file list of a checkpoint; one of the same name is replaced.
pub fn save_copy_list(
    folder: &Path,
    root: &Path,
    tree: &FileTree,
    owner: &str,
    name: &str,
    at_secs: i64,
) -> io::Result<()> {
    let files = tree
        .nodes
        .iter()
        .map(|(path, node)| {
            (path.to_string(), node.content.clone(), node.kind == FileKind::Program)
        })
        .collect();
    let stored =
        StoredList { at_secs, root: root.to_path_buf(), files, left_out: tree.omitted.clone() };
    let bytes = serde_json::to_vec(&stored).map_err(io::Error::other)?;
    write_private(&list_path(folder, owner, name), &bytes)
}

/// The tree of a checkpoint.
pub fn read_copied_tree(folder: &Path, owner: &str, name: &str) -> io::Result<FileTree> {
    Ok(stored(folder, owner, name)?.tree())
}

impl StoredList {
    fn tree(self) -> FileTree {
        let nodes = self
            .files
            .into_iter()
            .filter_map(|(path, content, is_program)| {
                let kind = if is_program { FileKind::Program } else { FileKind::File };
                Some((RelPath::parse(&path)?, FileNode { kind, content }))
            })
            .collect();
        FileTree { nodes, omitted: self.left_out }
    }
}

fn stored(folder: &Path, owner: &str, name: &str) -> io::Result<StoredList> {
    let path = list_path(folder, owner, name);
    let damaged = |reason: &dyn Display| {
        io::Error::other(format!("a list of copied files, {}: {reason}", path.display()))
    };
    let bytes = read_private(&path, CHECKPOINT_LIST_BYTES_MAX);
    let bytes = bytes.ok_or_else(|| damaged(&"it cannot be read"))?;
    serde_json::from_slice(&bytes).map_err(|error| damaged(&error))
}

/// All readable lists, the oldest first, and those of one loop in order.
pub fn list_copies(folder: &Path) -> io::Result<Vec<Checkpoint>> {
    let mut checkpoints = Vec::new();
    visit_lists(folder, |owner, name, stored| {
        checkpoints.push(Checkpoint {
            owner: owner.to_owned(),
            name: name.to_owned(),
            at_secs: stored.at_secs,
            root: stored.root.clone(),
            tree_id: stored.tree().id(),
        });
    })?;
    tree::sort_checkpoints(&mut checkpoints);
    Ok(checkpoints)
}

/// Why an existing list cannot be read.
#[must_use]
pub fn copy_list_damage(folder: &Path, owner: &str, name: &str) -> Option<String> {
    let names = |folder: &Path| entries(folder).unwrap_or_default();
    let lists = folder.join(LISTS_FOLDER);
    // Only names found in the folder, because the arguments were typed by a user.
    let owner = names(&lists).into_iter().find(|it| it == owner)?;
    let file = format!("{name}.json");
    names(&lists.join(&owner))
        .contains(&file)
        .then(|| stored(folder, &owner, name).err())?
        .map(|error| error.to_string())
}

/// Visits every readable list; returns whether all are readable. A damaged list costs only itself.
fn visit_lists(folder: &Path, mut visit: impl FnMut(&str, &str, StoredList)) -> io::Result<bool> {
    let mut all_readable = true;
    for owner in entries(&folder.join(LISTS_FOLDER))? {
        for name in entries(&folder.join(LISTS_FOLDER).join(&owner))? {
            let Some(name) = name.strip_suffix(".json") else { continue };
            match stored(folder, &owner, name) {
                Ok(stored) => visit(&owner, name, stored),
                Err(error) => {
                    tracing::warn!(%error, "a checkpoint cannot be read");
                    all_readable = false;
                }
            }
        }
    }
    Ok(all_readable)
}

/// The content stored under a name.
pub fn read_copied_content(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    let bytes = fs::read(content_path(folder, name))?;
    if ContentHash::of_bytes(&bytes).to_string() == name {
        Ok(bytes)
    } else {
        Err(io::Error::other("a copied file is damaged"))
    }
}

/// Deletes lists, and the contents that no other list refers to, except recent ones. While any list is
/// unreadable no contents are deleted, because it may refer to them.
pub fn delete_copies(folder: &Path, copies: &[Checkpoint]) -> io::Result<()> {
    for copy in copies {
        let path = list_path(folder, &copy.owner, &copy.name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let of_owner = path.parent().unwrap_or(folder);
        // A folder with other lists stays.
        let _ = remove_abandoned(of_owner).and_then(|()| fs::remove_dir(of_owner));
    }
    if copies.is_empty() {
        return Ok(());
    }
    let mut named = BTreeSet::new();
    let all_readable = visit_lists(folder, |_, _, stored| {
        named.extend(stored.files.into_iter().map(|(_, content, _)| content));
    })?;
    if !all_readable {
        return Ok(());
    }
    let contents = folder.join(CONTENTS_FOLDER);
    for short in entries(&contents)? {
        for content in entries(&contents.join(&short))? {
            let path = contents.join(&short).join(&content);
            let is_old = |metadata: &Metadata| is_older(metadata, CHECKPOINT_COPY_SECS_MIN);
            if !named.contains(&content) && path.symlink_metadata().is_ok_and(|it| is_old(&it)) {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}

/// Names in a folder; empty if it does not exist.
fn entries(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => {
            let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().into_string().ok());
            entries?.filter_map(|entry| name(entry).transpose()).collect()
        }
    }
}

fn content_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(CONTENTS_FOLDER).join(name.get(..2).unwrap_or_default()).join(name)
}

fn list_path(folder: &Path, owner: &str, name: &str) -> PathBuf {
    folder.join(LISTS_FOLDER).join(owner).join(format!("{name}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything(_: &RelPath) -> bool {
        true
    }

    fn project() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let top = temp.path().canonicalize().unwrap();
        let root = top.join("root");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "one\n").unwrap();
        fs::write(root.join("b"), "one\n").unwrap();
        (temp, root, top.join("copies"))
    }

    /// Makes all contents older than any list that is about to be written.
    fn age(folder: &Path) {
        let long_ago = SystemTime::now() - Duration::from_secs(CHECKPOINT_COPY_SECS_MIN + 60);
        for short in entries(&folder.join(CONTENTS_FOLDER)).unwrap() {
            let short = folder.join(CONTENTS_FOLDER).join(short);
            for content in entries(&short).unwrap() {
                let file = fs::File::options().write(true).open(short.join(content)).unwrap();
                file.set_modified(long_ago).unwrap();
            }
        }
    }

    #[test]
    fn a_list_comes_back_and_equal_contents_are_copied_once() {
        let (_temp, root, folder) = project();
        let tree = copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        save_copy_list(&folder, &root, &tree, "loop-1", "1", 7).unwrap();
        assert_eq!(read_copied_tree(&folder, "loop-1", "1").unwrap(), tree);
        let contents: BTreeSet<&str> =
            tree.nodes.values().map(|node| node.content.as_str()).collect();
        assert_eq!((tree.nodes.len(), contents.len()), (2, 1));
        for name in contents {
            assert_eq!(read_copied_content(&folder, name).unwrap(), b"one\n");
        }
    }

    #[test]
    fn a_damaged_copy_is_an_error() {
        let (_temp, root, folder) = project();
        let tree = copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        let name = &tree.nodes.values().next().unwrap().content;
        fs::write(content_path(&folder, name), "other").unwrap();
        assert!(read_copied_content(&folder, name).is_err());
    }

    #[test]
    fn a_copy_that_was_cut_off_is_made_again_and_one_in_use_is_young() {
        let (_temp, root, folder) = project();
        let tree = copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        let name = &tree.nodes.values().next().unwrap().content;
        fs::write(content_path(&folder, name), "").unwrap();
        copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        assert_eq!(read_copied_content(&folder, name).unwrap(), b"one\n");
        save_copy_list(&folder, &root, &FileTree::default(), "loop-1", "1", 7).unwrap();
        age(&folder);
        copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        delete_copies(&folder, &list_copies(&folder).unwrap()).unwrap();
        assert!(read_copied_content(&folder, name).is_ok(), "it was looked at a moment ago");
    }

    #[test]
    fn while_a_list_cannot_be_read_no_contents_go() {
        let (_temp, root, folder) = project();
        let tree = copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        for owner in ["loop-1", "loop-2"] {
            save_copy_list(&folder, &root, &tree, owner, "1", 7).unwrap();
        }
        let bytes = fs::read(list_path(&folder, "loop-2", "1")).unwrap();
        fs::write(list_path(&folder, "loop-2", "1"), &bytes[..20]).unwrap();
        age(&folder);
        let left = list_copies(&folder).unwrap();
        assert_eq!(left.iter().map(|it| it.owner.as_str()).collect::<Vec<_>>(), ["loop-1"]);
        delete_copies(&folder, &left).unwrap();
        fs::write(list_path(&folder, "loop-2", "1"), bytes).unwrap();
        let tree = read_copied_tree(&folder, "loop-2", "1").unwrap();
        assert!(
            tree.nodes.values().all(|node| read_copied_content(&folder, &node.content).is_ok())
        );
    }

    #[test]
    fn hidden_files_are_held_and_git_folders_and_links_are_not() {
        let (_temp, root, folder) = project();
        for name in [".hidden", ".config/x", "src/.git/config", "lib/.git", ".gitignore"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "skip\n").unwrap();
        }
        fs::write(root.join("skip"), "x").unwrap();
        std::os::unix::fs::symlink("b", root.join("link")).unwrap();
        // The third is a folder now, and a file replaced the parent of the fourth.
        let also = ["link", "skip", "src", "b/x"].map(|name| RelPath::parse(name).unwrap());
        let also = BTreeSet::from(also);
        let tree = copy_work_tree(&root, &folder, &also, &everything).unwrap();
        let names: Vec<&str> = tree.nodes.keys().map(RelPath::as_str).collect();
        assert_eq!(names, [".config/x", ".gitignore", ".hidden", "b", "skip", "src/a"]);
        assert_eq!(tree.omitted["link"], "a symbolic link");
        assert_eq!(tree.omitted.len(), 1);
    }

    #[test]
    fn what_no_list_names_any_more_goes() {
        let (_temp, root, folder) = project();
        for (name, text) in [("1", "old\n"), ("2", "new\n")] {
            fs::write(root.join("b"), text).unwrap();
            let tree = copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
            save_copy_list(&folder, &root, &tree, "loop-1", name, 7).unwrap();
        }
        let copies = list_copies(&folder).unwrap();
        let old = ContentHash::of_bytes(b"old\n").to_string();
        delete_copies(&folder, &copies[..1]).unwrap();
        assert!(
            read_copied_content(&folder, &old).is_ok(),
            "another session may be about to list it"
        );
        age(&folder);
        delete_copies(&folder, &copies[..1]).unwrap();
        assert_eq!(list_copies(&folder).unwrap(), copies[1..]);
        assert!(read_copied_content(&folder, &old).is_err());
        let left = read_copied_tree(&folder, "loop-1", "2").unwrap();
        assert!(
            left.nodes.values().all(|node| read_copied_content(&folder, &node.content).is_ok())
        );
    }

    #[test]
    fn a_large_file_is_left_out_and_said() {
        let (_temp, root, folder) = project();
        let large = fs::File::options().write(true).open(root.join("b")).unwrap();
        large.set_len(CHECKPOINT_FILE_BYTES_MAX + 1).unwrap();
        let tree = copy_work_tree(&root, &folder, &BTreeSet::new(), &everything).unwrap();
        assert_eq!(tree.omitted["b"], "larger than 16 MiB");
        assert_eq!(tree.nodes.len(), 1);
    }
}
