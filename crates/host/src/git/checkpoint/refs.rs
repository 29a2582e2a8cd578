//! Stored checkpoints: one commit each, under a ref with the loop's id and the iteration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::{Commit, ObjectType, Oid, Reference, Repository, Signature, Time};
use serde::{Deserialize, Serialize};

use super::super::{GitError, needed, path_of, unreadable_repository};
use super::{MODES, WorkTreeSnapshot};
use moai_base::path::RelPath;
use moai_base::tree::{self, Checkpoint, FileNode, FileTree};

/// The JSON part of a checkpoint's commit message.
#[derive(Serialize, Deserialize)]
struct CommitNote {
    root: PathBuf,
    left_out: BTreeMap<String, String>,
}

/// Commits a snapshot as `refs/moai-ralph/<owner>/<name>`; one of the same name is replaced. HEAD's
/// commit, if there is one, becomes its parent, so that git can show the difference.
pub fn commit_checkpoint(
    root: &Path,
    snapshot: &WorkTreeSnapshot,
    owner: &str,
    name: &str,
    at_secs: i64,
) -> Result<Checkpoint, GitError> {
    let repository = needed(root)?;
    let commit_snapshot = || -> Result<Checkpoint, git2::Error> {
        let tree = repository.find_tree(Oid::from_str(&snapshot.id)?)?;
        let by = Signature::new("moai-ralph", "moai-ralph@localhost", &Time::new(at_secs, 0))?;
        let head = repository.head().ok().and_then(|head| head.peel_to_commit().ok());
        let parents: Vec<&Commit<'_>> = head.iter().collect();
        let note = CommitNote { root: canonical(root), left_out: snapshot.tree.omitted.clone() };
        let note = serde_json::to_string(&note).map_err(|error| of_json(&error))?;
        let message = format!("Checkpoint {name} of {owner}\n\n{note}\n");
        let commit = repository.commit(None, &by, &by, &message, &tree, &parents)?;
        repository.reference(&checkpoint_ref(owner, name), commit, true, "checkpoint")?;
        Ok(Checkpoint {
            owner: owner.to_owned(),
            name: name.to_owned(),
            at_secs,
            tree_id: snapshot.id.clone(),
            root: canonical(root),
        })
    };
    commit_snapshot().map_err(|error| unreadable_repository(root, &error))
}

/// All checkpoints of the repository, the oldest first, and those of one loop in order.
pub fn list_checkpoints(root: &Path) -> Result<Vec<Checkpoint>, GitError> {
    let repository = needed(root)?;
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let mut found = Vec::new();
    for reference in repository.references_glob(&format!("{NAMESPACE}*")).map_err(failed)? {
        let reference = reference.map_err(failed)?;
        let Some((owner, name)) = reference.name().ok().and_then(parts) else { continue };
        let Ok(commit) = reference.peel_to_commit() else { continue };
        let Ok(note) = read_commit_note(&commit) else { continue };
        found.push(Checkpoint {
            owner: owner.to_owned(),
            name: name.to_owned(),
            at_secs: commit.time().seconds(),
            tree_id: commit.tree_id().to_string(),
            root: note.root,
        });
    }
    tree::sort_checkpoints(&mut found);
    Ok(found)
}

/// The files of a checkpoint.
pub fn read_checkpoint_tree(root: &Path, checkpoint: &Checkpoint) -> Result<FileTree, GitError> {
    let repository = needed(root)?;
    let read = || -> Result<FileTree, git2::Error> {
        let commit = find(&repository, checkpoint)?.peel_to_commit()?;
        let mut tree =
            FileTree { omitted: read_commit_note(&commit)?.left_out, ..FileTree::default() };
        collect(&repository, &commit.tree()?, &mut PathBuf::new(), &mut tree)?;
        Ok(tree)
    };
    read().map_err(|error| unreadable_repository(root, &error))
}

fn read_commit_note(commit: &Commit<'_>) -> Result<CommitNote, git2::Error> {
    let message = commit.message().unwrap_or_default();
    let line = message.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    serde_json::from_str(line).map_err(|error| of_json(&error))
}

fn of_json(error: &serde_json::Error) -> git2::Error {
    git2::Error::from_str(&format!("a checkpoint is damaged: {error}"))
}

fn canonical(root: &Path) -> PathBuf {
    root.canonicalize().unwrap_or_else(|_| root.to_path_buf())
}

/// The paths that any of the checkpoints contains.
pub fn paths_in_checkpoints(
    root: &Path,
    checkpoints: &[Checkpoint],
    paths: &BTreeSet<RelPath>,
) -> Result<BTreeSet<RelPath>, GitError> {
    let repository = needed(root)?;
    let mut held = BTreeSet::new();
    for checkpoint in checkpoints {
        let tree = Oid::from_str(&checkpoint.tree_id).and_then(|id| repository.find_tree(id));
        let tree = tree.map_err(|error| unreadable_repository(root, &error))?;
        // A folder of this name does not count.
        for path in paths {
            let entry = tree.get_path(Path::new(path.as_str()));
            if entry.is_ok_and(|entry| entry.kind() != Some(ObjectType::Tree)) {
                held.insert(path.clone());
            }
        }
    }
    Ok(held)
}

fn collect(
    repository: &Repository,
    folder: &git2::Tree<'_>,
    at: &mut PathBuf,
    tree: &mut FileTree,
) -> Result<(), git2::Error> {
    for entry in folder {
        at.push(path_of(entry.name_bytes()));
        let mode = entry.filemode().cast_unsigned();
        if entry.kind() == Some(ObjectType::Tree) {
            collect(repository, &repository.find_tree(entry.id())?, at, tree)?;
        } else if let Some((_, kind)) = MODES.iter().find(|it| it.0 == mode)
            && let Some(path) = at.to_str().and_then(RelPath::parse)
        {
            tree.nodes.insert(path, FileNode { kind: *kind, content: entry.id().to_string() });
        }
        at.pop();
    }
    Ok(())
}

/// The content of a blob.
pub fn read_blob(root: &Path, name: &str) -> Result<Vec<u8>, GitError> {
    let repository = needed(root)?;
    blob_content(&repository, name).map_err(|error| unreadable_repository(root, &error))
}

/// The contents of several blobs, in this order; opens the repository once.
pub fn read_blobs(root: &Path, names: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    let repository = needed(root)?;
    let contents: Result<Vec<_>, _> =
        names.iter().map(|name| blob_content(&repository, name)).collect();
    contents.map_err(|error| unreadable_repository(root, &error))
}

fn blob_content(repository: &Repository, name: &str) -> Result<Vec<u8>, git2::Error> {
    Ok(repository.find_blob(Oid::from_str(name)?)?.content().to_vec())
}

/// Deletes checkpoints; git's garbage collection removes their objects.
pub fn delete_checkpoint_refs(root: &Path, checkpoints: &[Checkpoint]) -> Result<(), GitError> {
    let repository = needed(root)?;
    for checkpoint in checkpoints {
        let gone = find(&repository, checkpoint).and_then(|mut it| it.delete());
        match gone {
            Err(error) if error.code() != git2::ErrorCode::NotFound => {
                return Err(unreadable_repository(root, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Worktrees of a repository share their refs; ids of loops are unique among them.
const NAMESPACE: &str = "refs/moai-ralph/loop-";

/// The full ref of a checkpoint.
#[must_use]
pub fn checkpoint_ref(owner: &str, name: &str) -> String {
    format!("refs/moai-ralph/{owner}/{name}")
}

fn find<'r>(
    repository: &'r Repository,
    checkpoint: &Checkpoint,
) -> Result<Reference<'r>, git2::Error> {
    repository.find_reference(&checkpoint_ref(&checkpoint.owner, &checkpoint.name))
}

fn parts(reference: &str) -> Option<(&str, &str)> {
    let (owner, name) = reference.strip_prefix("refs/moai-ralph/")?.split_once('/')?;
    (!name.contains('/')).then_some((owner, name))
}
