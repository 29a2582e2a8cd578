//! Commits since a base, with their messages and files, read-only.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{ErrorCode, Oid, Repository, Sort};

use super::branches::shared_commit;
use super::foreign_commits::fetched_commits;
use super::{
    GitError, NO_COMMIT, base_commit, needed, no_repository, open, unreadable_repository,
    work_tree_and_root,
};
use moai_base::path::RelPath;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCommit {
    /// Its id in hex.
    pub id: String,
    pub message: String,
    /// Paths that it changes, relative to the root, sorted.
    pub files: Vec<String>,
    /// True if it has several parents.
    pub is_merge: bool,
}

/// The commits that HEAD contains and `base` does not, oldest first; at most `limit` of them, the latest ones.
/// Commits that other people made and a pull brought are left out. `base` is a result of
/// [`super::base_commit`].
pub fn commits_since(
    root: &Path,
    base: &str,
    limit: usize,
) -> Result<Vec<HistoryCommit>, GitError> {
    let repository = needed(root)?;
    let (work_tree, root) = work_tree_and_root(&repository, root).ok_or_else(no_repository)?;
    let read = || -> Result<Vec<HistoryCommit>, git2::Error> {
        if repository.head().is_err() {
            return Ok(Vec::new());
        }
        let mut walk = repository.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL)?;
        walk.push_head()?;
        let mut fetched = BTreeSet::new();
        if base != NO_COMMIT {
            let base = Oid::from_str(base)?;
            walk.hide(base)?;
            fetched = fetched_commits(&repository, base)?;
        }
        let is_own =
            |id: &Result<Oid, git2::Error>| !id.as_ref().is_ok_and(|id| fetched.contains(id));
        let ids: Vec<Oid> = walk.filter(is_own).take(limit).collect::<Result<_, _>>()?;
        let read = ids.into_iter().rev().map(|id| read_commit(&repository, &work_tree, &root, id));
        read.collect()
    };
    read().map_err(|error| unreadable_repository(&root, &error))
}

/// The commit that the changes since a revision count from: the latest one that the revision and HEAD share,
/// as in `git diff REVISION...`. A revision without a commit, such as a tree, is returned as it is. `Ok(None)`
/// without git.
///
/// # Errors
///
/// The revision is unknown, or shares no commit with HEAD; git's data cannot be read.
pub fn base_of_changes(root: &Path, revision: &str) -> Result<Option<String>, GitError> {
    let Some(repository) = open(root)? else { return Ok(None) };
    let broken = |error: git2::Error| unreadable_repository(root, &error);
    let head = base_commit(root)?.unwrap_or_default();
    if revision == NO_COMMIT || revision == "HEAD" && head == NO_COMMIT {
        return Ok(Some(revision.to_owned()));
    }
    let object = match repository.revparse_single(revision) {
        Ok(object) => object,
        Err(error) if matches!(error.code(), ErrorCode::NotFound | ErrorCode::InvalidSpec) => {
            return Err(GitError {
                detail: format!("git has no revision '{revision}'"),
                remedy: None,
            });
        }
        Err(error) => return Err(broken(error)),
    };
    let Ok(commit) = object.peel_to_commit() else { return Ok(Some(revision.to_owned())) };
    let shared = match Oid::from_str(&head) {
        Ok(head) => shared_commit(root, &commit.id().to_string(), &head.to_string())?,
        Err(_) => None,
    };
    if shared.is_some() {
        return Ok(shared);
    }
    let remedy = repository.is_shallow().then(|| "git fetch --unshallow".to_owned());
    Err(GitError { detail: format!("'{revision}' and HEAD have no commit in common"), remedy })
}

/// True if HEAD is `base` or comes after it. `base` is a result of [`super::base_commit`].
pub fn is_after(root: &Path, base: &str) -> Result<bool, GitError> {
    if base == NO_COMMIT {
        return Ok(true);
    }
    let repository = needed(root)?;
    let read = || -> Result<bool, git2::Error> {
        let (head, base) = (repository.head()?.peel_to_commit()?.id(), Oid::from_str(base)?);
        Ok(head == base || repository.graph_descendant_of(head, base)?)
    };
    read().map_err(|error| unreadable_repository(root, &error))
}

/// The first lines of the messages of the latest commits before a base, its own first.
pub fn subjects_until(root: &Path, base: &str, limit: usize) -> Result<Vec<String>, GitError> {
    if base == NO_COMMIT {
        return Ok(Vec::new());
    }
    let repository = needed(root)?;
    let read = || -> Result<Vec<String>, git2::Error> {
        let mut walk = repository.revwalk()?;
        walk.push(Oid::from_str(base)?)?;
        let mut subjects = Vec::new();
        for id in walk.take(limit) {
            let commit = repository.find_commit(id?)?;
            let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
            subjects.push(message.lines().next().unwrap_or_default().to_owned());
        }
        Ok(subjects)
    };
    read().map_err(|error| unreadable_repository(root, &error))
}

fn read_commit(
    repository: &Repository,
    work_tree: &Path,
    root: &Path,
    id: Oid,
) -> Result<HistoryCommit, git2::Error> {
    let commit = repository.find_commit(id)?;
    let before = commit.parent(0).and_then(|parent| parent.tree()).ok();
    let diff = repository.diff_tree_to_tree(before.as_ref(), Some(&commit.tree()?), None)?;
    let mut files = BTreeSet::new();
    for delta in diff.deltas() {
        let sides = [delta.old_file().path(), delta.new_file().path()];
        let below = |path: &Path| RelPath::below(root, &work_tree.join(path));
        files.extend(sides.into_iter().flatten().filter_map(below).map(|path| path.to_string()));
    }
    Ok(HistoryCommit {
        id: id.to_string(),
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
        files: files.into_iter().collect(),
        is_merge: commit.parent_count() > 1,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::Tree as Project;
    use super::*;

    #[test]
    fn a_commit_comes_after_itself_and_those_before_it() {
        let project = Project::with(&["a"]);
        let root = project.root();
        let first = super::super::head_commit(&root).expect("a commit");
        assert_eq!(is_after(&root, &first), Ok(true));
        project.write("a", "second\n");
        let second = project.commit();
        assert_eq!(is_after(&root, &first), Ok(true));
        let repository = Repository::open(&root).expect("a repository");
        repository.set_head_detached(Oid::from_str(&first).expect("an id")).expect("moved");
        assert_eq!(is_after(&root, &second), Ok(false));
        assert_eq!(is_after(&root, NO_COMMIT), Ok(true));
    }

    #[test]
    fn commits_since_a_base_come_oldest_first_with_their_files() {
        let project = Project::with(&["a"]);
        let root = project.root();
        let base = super::super::head_commit(&root).expect("a commit");
        assert_eq!(commits_since(&root, &base, 9), Ok(Vec::new()));
        project.write("a", "second\n");
        let second = project.commit();
        project.write("deep/b", "1\n");
        let third = project.commit();
        let commits = commits_since(&root, &base, 9).expect("readable");
        let seen: Vec<_> = commits.iter().map(|it| (it.id.as_str(), it.files.join(" "))).collect();
        assert_eq!(seen, [(second.as_str(), "a".into()), (third.as_str(), "deep/b".to_owned())]);
        let latest = commits_since(&root, &base, 1).expect("readable");
        assert_eq!(latest[0].id, third);
        assert_eq!(commits_since(&root, NO_COMMIT, 9).map(|all| all.len()), Ok(3));
        assert_eq!(subjects_until(&root, &base, 9).map(|all| all.len()), Ok(1));
        assert!(commits_since(&root, "0000", 9).is_err());
    }

    #[test]
    fn commits_that_a_pull_brought_are_left_out() {
        let project = Project::with(&["a"]);
        let root = project.root();
        let base = super::super::head_commit(&root).expect("a commit");
        project.write("a", "second\n");
        let own = project.commit();
        let repository = Repository::open(&root).expect("a repository");
        let parent = repository.head().and_then(|head| head.peel_to_commit()).expect("a commit");
        let tree = parent.tree().expect("a tree");
        let by = git2::Signature::now("other", "o@example.org").expect("a name");
        let fetched = repository.commit(None, &by, &by, "theirs", &tree, &[&parent]);
        let fetched = fetched.expect("a commit");
        let branch = repository.head().expect("a branch").name().expect("UTF-8").to_owned();
        let moved = |name: &str, message: &str| {
            repository.reference(name, fetched, true, message).expect("a reference");
        };
        moved(&branch, "pull: Fast-forward");
        let ids = |limit| -> Vec<String> {
            let commits = commits_since(&root, &base, limit).expect("readable");
            commits.into_iter().map(|commit| commit.id).collect()
        };
        assert_eq!(ids(9), [own.clone(), fetched.to_string()], "no remote has it");
        moved("refs/remotes/origin/main", "fetch");
        assert_eq!(ids(9), [own]);
    }
}
