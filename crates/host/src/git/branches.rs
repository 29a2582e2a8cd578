//! Branches, read-only: the state of HEAD and the working tree, the worktree where a branch is checked out,
//! ancestry of commits.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use git2::{
    Delta, ErrorCode, Oid, Reference, Repository, RepositoryState, Sort, Status, StatusOptions,
};

use super::read_some;
use super::{
    GitError, is_untracked_package, needed, no_repository, path_of, refuse_special_rules,
    unreadable_repository, work_tree_and_root,
};

/// State of a worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTreeStatus {
    /// Its top folder; canonical.
    pub work_tree: PathBuf,
    /// The commit of HEAD; `None` before the first one.
    pub head: Option<String>,
    /// The branch that is checked out; `None` when HEAD is detached.
    pub branch: Option<String>,
    /// Unfinished operation: `a merge`, `a rebase`.
    pub unfinished: Option<&'static str>,
    /// Tracked files that differ from HEAD or are in conflict, relative to the worktree.
    pub uncommitted: Vec<String>,
    /// Untracked files that are not ignored.
    pub untracked: Vec<String>,
    /// Files with conflicts.
    pub conflicts: Vec<String>,
}

pub fn work_tree_status(root: &Path) -> Result<WorkTreeStatus, GitError> {
    let repository = needed(root)?;
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let (work_tree, _) = work_tree_and_root(&repository, root).ok_or_else(no_repository)?;
    refuse_special_rules(&repository, &work_tree)?;
    let mut status = WorkTreeStatus {
        work_tree,
        unfinished: unfinished(&repository),
        ..WorkTreeStatus::default()
    };
    let head = repository.find_reference("HEAD").map_err(failed)?;
    let target = head.symbolic_target().ok().flatten();
    let branch = target.and_then(|target| target.strip_prefix("refs/heads/"));
    status.branch = branch.map(str::to_owned);
    status.head = match repository.head().and_then(|head| head.peel_to_commit()) {
        Ok(commit) => Some(commit.id().to_string()),
        Err(error) if error.code() == ErrorCode::UnbornBranch => None,
        Err(error) => return Err(failed(error)),
    };
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).exclude_submodules(true);
    for entry in repository.statuses(Some(&mut options)).map_err(failed)?.iter() {
        let path = path_of(entry.path_bytes());
        let shown = path.to_string_lossy().into_owned();
        if entry.status() == Status::WT_NEW {
            if !is_untracked_package(&path, entry.status()) {
                status.untracked.push(shown);
            }
            continue;
        }
        if entry.status().contains(Status::CONFLICTED) {
            status.conflicts.push(shown.clone());
        }
        status.uncommitted.push(shown);
    }
    Ok(status)
}

/// Ignored, untracked files of a working tree, relative to it; a folder without tracked files is one entry
/// with a trailing slash.
pub fn ignored_untracked(root: &Path) -> Result<Vec<String>, GitError> {
    let repository = needed(root)?;
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let (work_tree, _) = work_tree_and_root(&repository, root).ok_or_else(no_repository)?;
    refuse_special_rules(&repository, &work_tree)?;
    let mut options = StatusOptions::new();
    options.include_ignored(true).exclude_submodules(true);
    let statuses = repository.statuses(Some(&mut options)).map_err(failed)?;
    let ignored = statuses.iter().filter(|entry| entry.status() == Status::IGNORED);
    Ok(ignored.map(|entry| path_of(entry.path_bytes()).to_string_lossy().into_owned()).collect())
}

fn unfinished(repository: &Repository) -> Option<&'static str> {
    match repository.state() {
        RepositoryState::Clean => None,
        RepositoryState::Merge => Some("a merge"),
        RepositoryState::Revert | RepositoryState::RevertSequence => Some("a revert"),
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => Some("a cherry-pick"),
        RepositoryState::Bisect => Some("a bisect"),
        _ => Some("a rebase"),
    }
}

/// True if a text is a valid branch name on a command line.
#[must_use]
pub fn is_branch_name(name: &str) -> bool {
    !name.starts_with('-') && name != "HEAD" && Reference::is_valid_name(&branch_ref(name))
}

/// The commit of a ref; `None` if the ref does not exist.
pub fn resolve_commit(root: &Path, reference: &str) -> Result<Option<String>, GitError> {
    let repository = needed(root)?;
    let commit = repository.find_reference(reference).and_then(|it| it.peel_to_commit());
    match commit {
        Ok(commit) => Ok(Some(commit.id().to_string())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(unreadable_repository(root, &error)),
    }
}

/// The full ref of a branch.
#[must_use]
pub fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// Files of a working tree, relative to it, that moving from commit `old` to `new` would overwrite: they
/// exist on disk, and only `new` has a file there.
pub fn obstructing_files(root: &Path, old: &str, new: &str) -> Result<Vec<String>, GitError> {
    let repository = needed(root)?;
    let failed = |error: git2::Error| unreadable_repository(root, &error);
    let (work_tree, _) = work_tree_and_root(&repository, root).ok_or_else(no_repository)?;
    refuse_special_rules(&repository, &work_tree)?;
    let tree = |id: &str| repository.find_commit(Oid::from_str(id)?)?.tree();
    let (old, new) = (tree(old).map_err(failed)?, tree(new).map_err(failed)?);
    let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), None).map_err(failed)?;
    let mut found = BTreeSet::new();
    for delta in diff.deltas().filter(|delta| delta.status() == Delta::Added) {
        let path = path_of(delta.new_file().path_bytes().unwrap_or_default());
        // A file in place of a needed folder obstructs too, unless the move removes it.
        let obstructs = |at: &&Path| {
            let meta = work_tree.join(at).symlink_metadata();
            meta.is_ok_and(|meta| !meta.is_dir()) && old.get_path(at).is_err()
        };
        let above = path.ancestors().filter(|at| !at.as_os_str().is_empty()).find(obstructs);
        found.extend(above.map(|at| at.to_string_lossy().into_owned()));
    }
    Ok(found.into_iter().collect())
}

/// True if `commit` is `other` or a descendant of it.
pub fn contains_commit(root: &Path, commit: &str, other: &str) -> Result<bool, GitError> {
    let repository = needed(root)?;
    let contains = || -> Result<bool, git2::Error> {
        let (commit, other) = (Oid::from_str(commit)?, Oid::from_str(other)?);
        Ok(commit == other || repository.graph_descendant_of(commit, other)?)
    };
    contains().map_err(|error| unreadable_repository(root, &error))
}

/// Number of commits of `commit` that `base` lacks.
pub fn commits_beyond(root: &Path, base: &str, commit: &str) -> Result<usize, GitError> {
    let repository = needed(root)?;
    let count = || -> Result<usize, git2::Error> {
        let (base, commit) = (Oid::from_str(base)?, Oid::from_str(commit)?);
        Ok(repository.graph_ahead_behind(commit, base)?.0)
    };
    count().map_err(|error| unreadable_repository(root, &error))
}

/// The latest common ancestor of two commits; `None` if they are unrelated.
pub fn shared_commit(root: &Path, one: &str, other: &str) -> Result<Option<String>, GitError> {
    let repository = needed(root)?;
    let shared = || -> Result<Oid, git2::Error> {
        repository.merge_base(Oid::from_str(one)?, Oid::from_str(other)?)
    };
    match shared() {
        Ok(commit) => Ok(Some(commit.to_string())),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(error) => Err(unreadable_repository(root, &error)),
    }
}

/// True if a merge without fast-forward has brought commits of a branch into `base`, even if the branch has
/// more commits since: the latest common ancestor is then not on the first-parent history of `base`.
pub fn has_merged_part(root: &Path, base: &str, commit: &str) -> Result<bool, GitError> {
    let repository = needed(root)?;
    let has = || -> Result<bool, git2::Error> {
        let (base, commit) = (Oid::from_str(base)?, Oid::from_str(commit)?);
        let shared = repository.merge_base(base, commit)?;
        let mut walk = repository.revwalk()?;
        walk.simplify_first_parent()?;
        walk.push(base)?;
        for id in walk {
            if id? == shared {
                return Ok(false);
            }
        }
        Ok(true)
    };
    has().map_err(|error| unreadable_repository(root, &error))
}

pub fn has_merges(root: &Path, base: &str, commit: &str) -> Result<bool, GitError> {
    let repository = needed(root)?;
    let has = || -> Result<bool, git2::Error> {
        let mut walk = repository.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL)?;
        walk.push(Oid::from_str(commit)?)?;
        walk.hide(Oid::from_str(base)?)?;
        for id in walk {
            if repository.find_commit(id?)?.parent_count() > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    };
    has().map_err(|error| unreadable_repository(root, &error))
}

/// The worktree where a branch is checked out or being rebased.
pub fn checked_out_at(root: &Path, branch: &str) -> Result<Option<PathBuf>, GitError> {
    let repository = needed(root)?;
    let common = repository.commondir().to_path_buf();
    let mut folders = vec![common.clone()];
    // gitrepository-layout(5): one folder for each linked worktree.
    if let Ok(linked) = fs::read_dir(common.join("worktrees")) {
        let linked: BTreeSet<PathBuf> = linked.flatten().map(|entry| entry.path()).collect();
        folders.extend(linked);
    }
    let full = branch_ref(branch);
    let has = |folder: &PathBuf| {
        let content = |name: &str| read_git_text(&folder.join(name)).unwrap_or_default();
        content("HEAD").trim() == format!("ref: {full}")
            || content("rebase-merge/head-name").trim() == full
            || content("rebase-apply/head-name").trim() == full
    };
    for folder in folders.into_iter().filter(has) {
        if let Some(tree) = work_tree(&folder, &common).filter(|tree| tree.is_dir()) {
            return Ok(Some(tree.canonicalize().unwrap_or(tree)));
        }
    }
    Ok(None)
}

/// The text of one of git's own files.
fn read_git_text(path: &Path) -> Option<String> {
    String::from_utf8(read_some(path)?).ok()
}

fn work_tree(folder: &Path, common: &Path) -> Option<PathBuf> {
    if folder == common {
        let main = Repository::open(common).ok()?;
        return main.workdir().map(Path::to_path_buf);
    }
    let target = read_git_text(&folder.join("gitdir"))?;
    Path::new(target.trim()).parent().map(Path::to_path_buf)
}

/// Git's own folders of linked worktrees at a path, including one that is being created.
pub fn linked_git_dirs(root: &Path, tree: &Path) -> Result<Vec<PathBuf>, GitError> {
    let linked = needed(root)?.commondir().join("worktrees");
    let Ok(entries) = fs::read_dir(linked) else { return Ok(Vec::new()) };
    // gitrepository-layout(5): `gitdir` leads to the `.git` file of the worktree, and the folder has the
    // worktree's name. If git was killed, `gitdir` may be missing.
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|folder| {
            let Some(target) = read_git_text(&folder.join("gitdir")) else {
                return folder.file_name() == tree.file_name();
            };
            let target = folder.join(target.trim());
            target.parent().is_some_and(|target| real(target) == real(tree))
        })
        .collect())
}

/// The main worktree of a repository; `None` for a bare one.
pub fn main_work_tree(root: &Path) -> Result<Option<PathBuf>, GitError> {
    let common = needed(root)?.commondir().to_path_buf();
    let tree = work_tree(&common, &common);
    Ok(tree.map(|tree| tree.canonicalize().unwrap_or(tree)))
}

/// The remote of a branch: the configured one, else `origin`. `None` without remotes and for a
/// branch that follows a local one.
pub fn upstream_remote(root: &Path, branch: &str) -> Result<Option<String>, GitError> {
    let repository = needed(root)?;
    let config = repository.config().map_err(|error| unreadable_repository(root, &error))?;
    let configured = config.get_string(&format!("branch.{branch}.remote"));
    let name = configured.unwrap_or_else(|_| "origin".to_owned());
    let is_there = name != "." && !name.starts_with('-') && repository.find_remote(&name).is_ok();
    Ok(is_there.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Tree as Project;
    use super::*;

    #[test]
    fn a_work_tree_says_what_is_not_committed_and_what_is_not_tracked() {
        let project = Project::with(&["a", "b"]);
        project.write("a", "second\n");
        project.write("new", "1\n");
        let status = work_tree_status(&project.root()).unwrap();
        assert_eq!(status.head, super::super::head_commit(&project.root()));
        assert_eq!((status.uncommitted, status.untracked), (vec!["a".into()], vec!["new".into()]));
        assert_eq!((status.unfinished, status.conflicts), (None, Vec::new()));
        assert!(status.branch.is_some());
    }

    #[test]
    fn before_the_first_commit_there_is_a_branch_without_one() {
        let project = Project::new();
        Repository::init(project.root()).unwrap();
        let status = work_tree_status(&project.root()).unwrap();
        assert!(status.branch.is_some() && status.head.is_none());
    }

    #[test]
    fn whoever_has_a_branch_checked_out_is_found() {
        let project = Project::with(&["a"]);
        let root = project.root();
        let linked = project.temp.path().canonicalize().unwrap().join("linked");
        Repository::open(&root).unwrap().worktree("linked", &linked, None).unwrap();
        let main = work_tree_status(&root).unwrap().branch.unwrap();
        for from in [&root, &linked] {
            assert_eq!(checked_out_at(from, &main), Ok(Some(root.clone())));
            assert_eq!(checked_out_at(from, "linked"), Ok(Some(linked.clone())));
            assert_eq!(checked_out_at(from, "other"), Ok(None));
        }
    }

    #[test]
    fn commits_contain_their_ancestors() {
        let project = Project::with(&["a"]);
        let root = project.root();
        let first = super::super::head_commit(&root).unwrap();
        project.write("a", "second\n");
        let second = project.commit();
        assert_eq!(contains_commit(&root, &second, &first), Ok(true));
        assert_eq!(contains_commit(&root, &first, &second), Ok(false));
        assert_eq!(has_merges(&root, &first, &second), Ok(false));
        assert_eq!(upstream_remote(&root, "main"), Ok(None));
        assert_eq!(commits_beyond(&root, &first, &second), Ok(1));
        assert_eq!(commits_beyond(&root, &second, &first), Ok(0));
    }

    #[test]
    fn a_merge_stays_visible_when_the_branch_goes_on() {
        let project = Project::with(&["a"]);
        let root = project.root();
        let repository = Repository::open(&root).unwrap();
        let who = git2::Signature::now("Test", "test@example.org").unwrap();
        let commit = |parents: &[&str]| {
            let parents = parents
                .iter()
                .map(|id| repository.find_commit(Oid::from_str(id).unwrap()).unwrap());
            let parents: Vec<git2::Commit<'_>> = parents.collect();
            let tree = parents[0].tree().unwrap();
            let known: Vec<&git2::Commit<'_>> = parents.iter().collect();
            repository.commit(None, &who, &who, "x", &tree, &known).unwrap().to_string()
        };
        let first = super::super::head_commit(&root).unwrap();
        let work = commit(&[&first]);
        assert_eq!(has_merged_part(&root, &first, &work), Ok(false), "nothing is merged");
        let other = commit(&[&first, &commit(&[&first])]);
        let rebased = commit(&[&other]);
        assert_eq!(has_merged_part(&root, &other, &rebased), Ok(false), "only another branch is");
        let merged = commit(&[&other, &rebased]);
        let later = commit(&[&rebased]);
        assert_eq!(has_merged_part(&root, &merged, &later), Ok(true));
        assert_eq!(commits_beyond(&root, &merged, &later), Ok(1));
        assert_eq!(shared_commit(&root, &merged, &later), Ok(Some(rebased)));
    }

    #[test]
    fn what_a_command_line_would_misread_names_no_branch() {
        assert!(is_branch_name("gulf/auto-1-ab") && is_branch_name("한글"));
        for name in ["-D", "a b", "a..b", "", "HEAD", "a~1", "/a"] {
            assert!(!is_branch_name(name), "{name}");
        }
    }
}
