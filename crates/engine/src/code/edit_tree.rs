//! Reads the files and folders that a proposed edit refers to, once and bounded, so that the edit can be
//! planned in memory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moai_base::limits::{CHANGED_BYTES_MAX, CHANGED_FILES_MAX};
use moai_base::path::{RelPath, normalize};
use moai_host::{files, git};
use moai_lsp::edits::{DiskTree, EditRefusal, WorkspaceEdit};

/// Reads all paths of the edit. `open` are the documents that the server has open.
pub(crate) fn read_edit_tree(
    root: &Path,
    edit: &WorkspaceEdit,
    open: BTreeMap<RelPath, (i32, moai_base::hash::ContentHash)>,
) -> Result<DiskTree, EditRefusal> {
    let mut tree = DiskTree { open, ..DiskTree::default() };
    let mut bytes = 0;
    for path in edit.paths() {
        let absolute = resolve_links(path);
        let below = RelPath::below(root, &absolute);
        if path.is_symlink() {
            tree.links.insert(path.to_path_buf());
        }
        tree.resolved_paths.insert(path.to_path_buf(), below.clone());
        let Some(below) = below else { continue };
        if absolute.is_dir() {
            tree.folders.insert(below);
            read_folder(root, &absolute, &mut tree, &mut bytes)?;
        } else if absolute.exists() {
            read_file(root, &absolute, &mut tree, &mut bytes)?;
        }
    }
    let named = tree.resolved_paths.values().flatten().chain(tree.files.keys());
    let named: Vec<RelPath> = named.cloned().collect();
    for path in &named {
        if let Some(repository) = files::other_repository(root, path) {
            tree.other_repositories.insert(path.clone(), repository.to_owned());
        }
    }
    let ignored = git::ignored_paths(root, &named).map_err(|error| EditRefusal::Unreadable {
        path: ".git".to_owned(),
        reason: error.to_string(),
    })?;
    tree.ignored.extend(ignored);
    Ok(tree)
}

/// A path with its symbolic links resolved; for a missing path, those of its nearest existing folder.
fn resolve_links(path: &Path) -> PathBuf {
    let path = normalize(path);
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (ancestor.canonicalize(), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

fn unreadable(path: &Path, reason: &str) -> EditRefusal {
    let path = path.to_string_lossy().into_owned();
    EditRefusal::Unreadable { path, reason: reason.to_owned() }
}

fn read_folder(
    root: &Path,
    folder: &Path,
    tree: &mut DiskTree,
    bytes: &mut usize,
) -> Result<(), EditRefusal> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, &error.to_string()))?;
        let kind = entry.file_type().map_err(|error| unreadable(folder, &error.to_string()))?;
        match entry.path() {
            path if kind.is_dir() => read_folder(root, &path, tree, bytes)?,
            path if kind.is_file() => read_file(root, &path, tree, bytes)?,
            path => return Err(unreadable(&path, "not a regular file")),
        }
        if tree.files.len() > CHANGED_FILES_MAX {
            return Err(EditRefusal::TooManyFiles);
        }
    }
    Ok(())
}

fn read_file(
    root: &Path,
    file: &Path,
    tree: &mut DiskTree,
    bytes: &mut usize,
) -> Result<(), EditRefusal> {
    let path =
        RelPath::below(root, file).ok_or_else(|| unreadable(file, "its path is not UTF-8"))?;
    let failed = |error: std::io::Error| unreadable(file, &error.to_string());
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(unreadable(file, "not a regular file"));
    }
    let mut content = Vec::new();
    let left = (CHANGED_BYTES_MAX - *bytes) as u64 + 1;
    files::open_regular(file)
        .map_err(failed)?
        .take(left)
        .read_to_end(&mut content)
        .map_err(failed)?;
    *bytes += content.len();
    if *bytes > CHANGED_BYTES_MAX {
        return Err(EditRefusal::TooManyBytes);
    }
    tree.files.insert(path, Arc::from(content));
    Ok(())
}
