//! Checkpoints without git: copies of a root's files in a private folder, each content once under
//! the hash of its bytes. It must not know when a checkpoint is made or what one is restored for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{read_private, walk, write_private};
use crate::base::hash::ContentHash;
use crate::base::limits::{
    CHECKPOINT_BYTES_MAX, CHECKPOINT_FILE_BYTES_MAX, CHECKPOINT_FILES_MAX,
    CHECKPOINT_LIST_BYTES_MAX,
};
use crate::base::path::RelPath;
use crate::base::tree::{self, Checkpoint, Kind, Node, Tree};

/// The contents.
const CONTENTS: &str = "contents";
/// The lists of files, a folder per loop.
const LISTS: &str = "lists";

/// The files below a canonical root, without hidden ones and what `.gitignore` excludes; `wanted`
/// may leave out more. Their contents are copied into the folder, those that it has not yet.
pub fn look(
    root: &Path,
    folder: &Path,
    wanted: &(dyn Fn(&RelPath) -> bool + Sync),
) -> io::Result<Tree> {
    let found = walk(root, &[root.to_path_buf()], wanted);
    let mut tree = Tree::default();
    tree.left_out.extend(found.skipped.into_iter().map(|it| (it.path, it.reason)));
    let mut bytes_read = 0;
    for path in found.files {
        if tree.nodes.len() >= CHECKPOINT_FILES_MAX {
            let reason = format!("more than {CHECKPOINT_FILES_MAX} files");
            tree.left_out.insert(path.to_string(), reason);
            continue;
        }
        let (kind, bytes) = match read(&path.under(root), CHECKPOINT_BYTES_MAX - bytes_read) {
            Ok(Some(read)) => read,
            Ok(None) => continue,
            Err(reason) => {
                tree.left_out.insert(path.to_string(), reason);
                continue;
            }
        };
        bytes_read += bytes.len() as u64;
        let content = ContentHash::of(&bytes).to_string();
        let copy = content_path(folder, &content);
        if !copy.is_file() {
            write_private(&copy, &bytes)?;
        }
        tree.nodes.insert(path, Node { kind, content });
    }
    Ok(tree)
}

/// A file's bytes; `None` when it is gone, the error is why it is left out.
fn read(file: &Path, room: u64) -> Result<Option<(Kind, Vec<u8>)>, String> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags.bits().cast_signed()).open(file);
    let unreadable = |error: io::Error| format!("not readable: {error}");
    let open = match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(unreadable)?,
    };
    let metadata = open.metadata().map_err(unreadable)?;
    if metadata.len() > CHECKPOINT_FILE_BYTES_MAX {
        return Err(format!("larger than {} MiB", CHECKPOINT_FILE_BYTES_MAX >> 20));
    }
    if metadata.len() > room {
        return Err(format!("more than {} MiB in all", CHECKPOINT_BYTES_MAX >> 20));
    }
    let mut bytes = Vec::new();
    open.take(metadata.len()).read_to_end(&mut bytes).map_err(unreadable)?;
    let kind = if metadata.mode() & 0o100 == 0 { Kind::File } else { Kind::Program };
    Ok(Some((kind, bytes)))
}

/// One file of a list, and of what is left out: short, because lists are long.
#[derive(Serialize, Deserialize)]
struct StoredList {
    at_secs: i64,
    root: PathBuf,
    /// Path, content, whether it is a program.
    files: Vec<(String, String, bool)>,
    left_out: BTreeMap<String, String>,
}

/// Keeps a list of files; one of the same name is replaced.
pub fn keep(
    folder: &Path,
    (root, tree): (&Path, &Tree),
    (owner, name): (&str, &str),
    at_secs: i64,
) -> io::Result<()> {
    let file = |(path, node): (&RelPath, &Node)| {
        (path.to_string(), node.content.clone(), node.kind == Kind::Program)
    };
    let files = tree.nodes.iter().map(file).collect();
    let stored =
        StoredList { at_secs, root: root.to_path_buf(), files, left_out: tree.left_out.clone() };
    let bytes = serde_json::to_vec(&stored).map_err(io::Error::other)?;
    write_private(&list_path(folder, owner, name), &bytes)
}

/// What stands in the list of a name.
pub fn read_list(folder: &Path, owner: &str, name: &str) -> io::Result<Tree> {
    Ok(stored(folder, owner, name)?.tree())
}

impl StoredList {
    fn tree(self) -> Tree {
        let node = |(path, content, is_program): (String, String, bool)| {
            let kind = if is_program { Kind::Program } else { Kind::File };
            Some((RelPath::parse(&path)?, Node { kind, content }))
        };
        let nodes = self.files.into_iter().filter_map(node).collect();
        Tree { nodes, left_out: self.left_out }
    }
}

fn stored(folder: &Path, owner: &str, name: &str) -> io::Result<StoredList> {
    let bytes = read_private(&list_path(folder, owner, name), CHECKPOINT_LIST_BYTES_MAX)
        .ok_or_else(|| io::Error::other("a list of copied files cannot be read"))?;
    serde_json::from_slice(&bytes).map_err(io::Error::other)
}

/// All lists, the oldest first; those of one loop in the order they were made.
pub fn list(folder: &Path) -> io::Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    for owner in entries(&folder.join(LISTS))? {
        for name in entries(&folder.join(LISTS).join(&owner))? {
            let Some(name) = name.strip_suffix(".json") else { continue };
            let stored = stored(folder, &owner, name)?;
            found.push(Checkpoint {
                owner: owner.clone(),
                name: name.to_owned(),
                at_secs: stored.at_secs,
                root: stored.root.clone(),
                tree_id: stored.tree().id(),
            });
        }
    }
    tree::sort(&mut found);
    Ok(found)
}

/// A content by its name.
pub fn content(folder: &Path, name: &str) -> io::Result<Vec<u8>> {
    let bytes = fs::read(content_path(folder, name))?;
    if ContentHash::of(&bytes).to_string() == name {
        Ok(bytes)
    } else {
        Err(io::Error::other("a copied file is damaged"))
    }
}

/// Lets lists go, and the contents that no other list names.
pub fn forget(folder: &Path, copies: &[Checkpoint]) -> io::Result<()> {
    for copy in copies {
        let path = list_path(folder, &copy.owner, &copy.name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // One that holds other lists stays.
        let _ = fs::remove_dir(path.parent().unwrap_or(folder));
    }
    if copies.is_empty() {
        return Ok(());
    }
    let mut named = BTreeSet::new();
    for copy in list(folder)? {
        let files = stored(folder, &copy.owner, &copy.name)?.files;
        named.extend(files.into_iter().map(|(_, content, _)| content));
    }
    let contents = folder.join(CONTENTS);
    for short in entries(&contents)? {
        for content in entries(&contents.join(&short))? {
            if !named.contains(&content) {
                fs::remove_file(contents.join(&short).join(&content))?;
            }
        }
    }
    Ok(())
}

/// Names in a folder; none when there is no folder.
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
    folder.join(CONTENTS).join(name.get(..2).unwrap_or_default()).join(name)
}

fn list_path(folder: &Path, owner: &str, name: &str) -> PathBuf {
    folder.join(LISTS).join(owner).join(format!("{name}.json"))
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

    #[test]
    fn a_list_comes_back_and_equal_contents_are_copied_once() {
        let (_temp, root, folder) = project();
        let tree = look(&root, &folder, &everything).unwrap();
        keep(&folder, (&root, &tree), ("loop-1", "1"), 7).unwrap();
        assert_eq!(read_list(&folder, "loop-1", "1").unwrap(), tree);
        let contents: BTreeSet<&str> =
            tree.nodes.values().map(|node| node.content.as_str()).collect();
        assert_eq!((tree.nodes.len(), contents.len()), (2, 1));
        for name in contents {
            assert_eq!(content(&folder, name).unwrap(), b"one\n");
        }
    }

    #[test]
    fn a_damaged_copy_is_an_error() {
        let (_temp, root, folder) = project();
        let tree = look(&root, &folder, &everything).unwrap();
        let name = &tree.nodes.values().next().unwrap().content;
        fs::write(content_path(&folder, name), "other").unwrap();
        assert!(content(&folder, name).is_err());
    }

    #[test]
    fn what_no_list_names_any_more_goes() {
        let (_temp, root, folder) = project();
        for (name, text) in [("1", "old\n"), ("2", "new\n")] {
            fs::write(root.join("b"), text).unwrap();
            let tree = look(&root, &folder, &everything).unwrap();
            keep(&folder, (&root, &tree), ("loop-1", name), 7).unwrap();
        }
        let copies = list(&folder).unwrap();
        forget(&folder, &copies[..1]).unwrap();
        assert_eq!(list(&folder).unwrap(), copies[1..]);
        assert!(content(&folder, &ContentHash::of(b"old\n").to_string()).is_err());
        let left = read_list(&folder, "loop-1", "2").unwrap();
        assert!(left.nodes.values().all(|node| content(&folder, &node.content).is_ok()));
    }

    #[test]
    fn a_large_file_is_left_out_and_said() {
        let (_temp, root, folder) = project();
        let large = fs::File::options().write(true).open(root.join("b")).unwrap();
        large.set_len(CHECKPOINT_FILE_BYTES_MAX + 1).unwrap();
        let tree = look(&root, &folder, &everything).unwrap();
        assert_eq!(tree.left_out["b"], "larger than 16 MiB");
        assert_eq!(tree.nodes.len(), 1);
    }
}
