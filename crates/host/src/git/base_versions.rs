//! Contents of changed files at the base: working tree, index and commits since then together, including
//! deleted files.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{ObjectType, Repository, Tree};

use super::{
    GitError, NO_COMMIT, files_changed_since, open, unreadable_repository, work_tree_and_root,
};
use moai_base::evidence::SkippedFile;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;

/// Content of a path at the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BytesAtBase {
    /// The path did not exist.
    Absent,
    Bytes(Vec<u8>),
    /// Not read: a link, a submodule, too many bytes.
    NotRead(&'static str),
}

/// The changed paths below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseVersions {
    /// Sorted, each once; the caller reads the current content.
    pub files: Vec<(RelPath, BytesAtBase)>,
    /// Changed files whose path is unusable or that cannot be read.
    pub skipped: Vec<SkippedFile>,
}

/// The paths changed since `base`, a result of [`super::base_commit`] or any revision; `None`:
/// HEAD. `Ok(None)` as in [`super::files_changed_since_head`].
pub fn versions_since(root: &Path, base: Option<&str>) -> Result<Option<BaseVersions>, GitError> {
    let Some(changed) = files_changed_since(root, base)? else { return Ok(None) };
    let Some(repository) = open(root)? else { return Ok(None) };
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let old = tree_of(&repository, base).map_err(failed)?;
    let Some((work_tree, root)) = work_tree_and_root(&repository, root) else { return Ok(None) };
    let mut paths: BTreeSet<RelPath> = changed.files.into_iter().chain(changed.deleted).collect();
    let new = tree_of(&repository, None).map_err(failed)?;
    let diff = repository.diff_tree_to_tree(old.as_ref(), new.as_ref(), None).map_err(failed)?;
    for delta in diff.deltas() {
        let sides = [delta.old_file().path(), delta.new_file().path()];
        paths.extend(
            sides.into_iter().flatten().filter_map(|it| RelPath::below(&root, &work_tree.join(it))),
        );
    }
    let files = paths
        .into_iter()
        .map(|path| {
            let at = path.under(&root);
            let below = at.strip_prefix(&work_tree).unwrap_or(&at);
            let found = bytes_at_base(&repository, old.as_ref(), below).map_err(failed)?;
            Ok((path, found))
        })
        .collect::<Result<_, _>>()?;
    Ok(Some(BaseVersions { files, skipped: changed.skipped }))
}

/// Contents of files at a base, as for [`versions_since`], in the order of the paths. `Ok(None)` without a
/// working tree.
pub fn versions_at(
    root: &Path,
    base: Option<&str>,
    paths: &[RelPath],
) -> Result<Option<Vec<BytesAtBase>>, GitError> {
    let Some(repository) = open(root)? else { return Ok(None) };
    let Some((work_tree, canonical)) = work_tree_and_root(&repository, root) else {
        return Ok(None);
    };
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let tree = tree_of(&repository, base).map_err(failed)?;
    let mut versions = Vec::with_capacity(paths.len());
    for path in paths {
        let at = path.under(&canonical);
        let below = at.strip_prefix(&work_tree).unwrap_or(&at);
        versions.push(bytes_at_base(&repository, tree.as_ref(), below).map_err(failed)?);
    }
    Ok(Some(versions))
}

/// The tree of a base, by default HEAD. `None` before the first commit.
fn tree_of<'r>(
    repository: &'r Repository,
    base: Option<&str>,
) -> Result<Option<Tree<'r>>, git2::Error> {
    match base {
        Some(NO_COMMIT) => Ok(None),
        Some(base) => repository.revparse_single(base)?.peel_to_tree().map(Some),
        None if repository.is_empty()? || repository.head().is_err() => Ok(None),
        None => repository.head()?.peel_to_tree().map(Some),
    }
}

fn bytes_at_base(
    repository: &Repository,
    tree: Option<&Tree<'_>>,
    path: &Path,
) -> Result<BytesAtBase, git2::Error> {
    const LINK: i32 = 0o120_000;
    let entry = tree.and_then(|tree| tree.get_path(path).ok());
    let Some(entry) = entry else { return Ok(BytesAtBase::Absent) };
    if entry.kind() != Some(ObjectType::Blob) || entry.filemode() == LINK {
        return Ok(BytesAtBase::NotRead("no regular file"));
    }
    let blob = repository.find_blob(entry.id())?;
    if blob.size() as u64 > SOURCE_BYTES_MAX {
        return Ok(BytesAtBase::NotRead("larger than 1 MiB"));
    }
    Ok(BytesAtBase::Bytes(blob.content().to_vec()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::tests::Tree;
    use super::*;

    fn words(root: &Path, base: Option<&str>) -> Vec<String> {
        let versions = versions_since(root, base).unwrap().expect("a work tree");
        let word = |(path, before): &(RelPath, BytesAtBase)| match before {
            BytesAtBase::Absent => format!("{path}: absent"),
            BytesAtBase::Bytes(bytes) => {
                format!("{path}: {}", String::from_utf8_lossy(bytes).trim())
            }
            BytesAtBase::NotRead(what) => format!("{path}: {what}"),
        };
        versions.files.iter().map(word).collect()
    }

    #[test]
    fn commits_index_and_work_tree_are_one_change_and_deleted_files_are_in_it() {
        let tree = Tree::with(&["edited", "deleted-by-commit", "deleted", "same"]);
        let base = super::super::base_commit(&tree.root()).expect("readable");
        tree.write("committed", "x\n");
        fs::remove_file(tree.root().join("deleted-by-commit")).unwrap();
        tree.commit();
        tree.write("edited", "second\n");
        fs::remove_file(tree.root().join("deleted")).unwrap();
        tree.write("untracked", "x\n");
        let expected = [
            "committed: absent",
            "deleted: first",
            "deleted-by-commit: first",
            "edited: first",
            "untracked: absent",
        ];
        assert_eq!(words(&tree.root(), base.as_deref()), expected);
        assert_eq!(
            words(&tree.root(), None),
            ["deleted: first", "edited: first", "untracked: absent"]
        );
        assert!(versions_since(&tree.root(), Some("no-such-revision")).is_err());
    }

    #[test]
    fn before_the_first_commit_everything_is_new_and_links_are_no_text() {
        let tree = Tree::new();
        assert_eq!(versions_since(&tree.root(), None), Ok(None));
        Repository::init(tree.root()).unwrap();
        let base = super::super::base_commit(&tree.root()).expect("readable");
        tree.write("a", "x\n");
        assert_eq!(words(&tree.root(), None), ["a: absent"]);
        std::os::unix::fs::symlink("a", tree.root().join("link")).unwrap();
        tree.commit();
        assert_eq!(words(&tree.root(), base.as_deref()), ["a: absent", "link: absent"]);
        fs::remove_file(tree.root().join("link")).unwrap();
        assert_eq!(words(&tree.root(), None), ["link: no regular file"]);
    }
}
