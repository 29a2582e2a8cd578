//! What git knows about a root: which files changed, where worktrees meet, the commit of HEAD. The
//! only place that names `git2`; it reads and never writes, not even the index. It must not know
//! what the answers are for.

mod difference;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use git2::{ErrorCode, Repository, Status, StatusOptions};

pub use self::difference::{Before, Different, different_since};
use crate::base::evidence::Skipped;
use crate::base::path::{NEVER_WALKED, RelPath};

/// Git data that cannot be used. Never a sign that there is no git, or that nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct GitError {
    /// What is wrong, as a lower-case fragment for people.
    pub detail: String,
    /// The one command that mends it, when there is one.
    pub remedy: Option<String>,
}

/// The files that differ from HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Relative to the root; sorted, each once.
    pub files: Vec<RelPath>,
    /// Files of HEAD or the index that are not there any more, relative to the root.
    pub deleted: Vec<RelPath>,
    /// Changed files that cannot be named, because their path is not UTF-8; they may be of any
    /// kind, and the path shows replacement characters.
    pub skipped: Vec<Skipped>,
}

/// Where the repository of this root keeps what its worktrees share (`.git` of the main work
/// tree); canonical. `None` without git. Asks neither for the owner nor for a sound
/// configuration, so that a name derived from it does not change while those are mended.
#[must_use]
pub fn common_dir(root: &Path) -> Option<PathBuf> {
    let git_dir = Repository::discover_path(root, no_ceiling()).ok()?;
    // gitrepository-layout(5): in a linked worktree `commondir` leads to the shared folder,
    // relative to the worktree's own.
    let common = match fs::read(git_dir.join("commondir")) {
        Ok(bytes) => git_dir.join(OsStr::from_bytes(bytes.trim_ascii())),
        Err(_) => git_dir,
    };
    common.canonicalize().ok()
}

/// Files below the root that differ from HEAD: staged, unstaged, untracked and not ignored, and
/// the new names of renamed ones; without commits, all of them. Deleted files are a list of their
/// own; folders and submodules are left out, and so are untracked files in [`NEVER_WALKED`] folders.
///
/// `Ok(None)` when the root lies in no work tree or is a folder that its work tree ignores. The
/// root may be a subfolder; then only the files below it are returned.
pub fn changed(root: &Path) -> Result<Option<Changed>, GitError> {
    let Some(repository) = open(root)? else { return Ok(None) };
    let broken = |error: git2::Error| broken(root, &error);
    let Some(work_tree) = repository.workdir().and_then(|it| it.canonicalize().ok()) else {
        return Ok(None);
    };
    let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let Ok(prefix) = root.strip_prefix(&work_tree) else { return Ok(None) };
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true);
    if !prefix.as_os_str().is_empty() {
        if repository.is_path_ignored(prefix).map_err(broken)? {
            return Ok(None);
        }
        options.pathspec(prefix).disable_pathspec_match(true);
    }
    let mut changed = Changed::default();
    for entry in repository.statuses(Some(&mut options)).map_err(broken)?.iter() {
        let path = Path::new(OsStr::from_bytes(entry.path_bytes()));
        let absolute = work_tree.join(path);
        // A submodule, or a repository inside this one: what changed in it is not known here.
        if absolute.is_dir() && absolute.join(".git").exists() && absolute.starts_with(&root) {
            let below = absolute.strip_prefix(&root).unwrap_or(&absolute);
            let path = below.to_string_lossy().into_owned();
            changed.skipped.push(Skipped { path, reason: "a repository of its own".to_owned() });
            continue;
        }
        if is_there(&absolute, entry.status()) {
            if !is_generated(path, entry.status()) {
                changed.add(&root, &absolute);
            }
        } else if !absolute.exists() {
            changed.deleted.extend(RelPath::below(&root, &absolute));
        }
    }
    changed.files.sort();
    changed.files.dedup();
    Ok(Some(changed))
}

/// The same, and the files that commits since `base` (as [`base`] gave it) changed. A base that is
/// gone, after a rebase and a cleanup, is an error: what it would have shown is not known.
pub fn changed_since(root: &Path, base: Option<&str>) -> Result<Option<Changed>, GitError> {
    let Some(mut changed) = changed(root)? else { return Ok(None) };
    let Some(base) = base.filter(|base| head(root).as_deref() != Some(*base)) else {
        return Ok(Some(changed));
    };
    let Some(repository) = open(root)? else { return Ok(None) };
    let broken = |error: git2::Error| broken(root, &error);
    let tree = |id: &str| repository.revparse_single(id)?.peel_to_tree();
    if base == NO_COMMIT && head(root).is_none() {
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
        if let Some(file) = file.filter(|file| file.is_file()) {
            changed.add(&root, &file);
        }
    }
    changed.files.sort();
    changed.files.dedup();
    Ok(Some(changed))
}

/// Those of the paths below the root that git ignores; a file that git tracks is not ignored,
/// whatever the rules say. None without git.
pub fn ignored(root: &Path, paths: &[RelPath]) -> Result<BTreeSet<RelPath>, GitError> {
    let Some(repository) = open(root)? else { return Ok(BTreeSet::new()) };
    let broken = |error: git2::Error| broken(root, &error);
    let Some((work_tree, root)) = places(&repository, root) else { return Ok(BTreeSet::new()) };
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

/// Stands for "no commit yet" where a loop remembers what it started from.
const NO_COMMIT: &str = "none";

/// What [`changed_since`] takes as its base: the commit of HEAD, or that there is none yet. `None`
/// without git, or when git's data cannot be used.
#[must_use]
pub fn base(root: &Path) -> Option<String> {
    let repository = open(root).ok()??;
    let is_unborn = repository.head().is_err_and(|error| error.code() == ErrorCode::UnbornBranch);
    if is_unborn { Some(NO_COMMIT.to_owned()) } else { head(root) }
}

/// Id of the commit of HEAD, in hex. `None` without git, without a commit, or when git's data
/// cannot be used.
#[must_use]
pub fn head(root: &Path) -> Option<String> {
    let repository = open(root).ok()??;
    let commit = repository.head().ok()?.peel_to_commit().ok()?;
    Some(commit.id().to_string())
}

/// The text of a file in the commit of HEAD; `None` when it is not there or no text.
#[must_use]
pub fn head_text(root: &Path, file: &RelPath) -> Option<String> {
    let repository = open(root).ok()??;
    let (work_tree, root) = places(&repository, root)?;
    let absolute = file.under(&root);
    let path = absolute.strip_prefix(&work_tree).ok()?;
    let tree = repository.head().ok()?.peel_to_tree().ok()?;
    let blob = repository.find_blob(tree.get_path(path).ok()?.id()).ok()?;
    String::from_utf8(blob.content().to_vec()).ok()
}

/// Work tree and root, both canonical.
fn places(repository: &Repository, root: &Path) -> Option<(PathBuf, PathBuf)> {
    Some((repository.workdir()?.canonicalize().ok()?, root.canonicalize().ok()?))
}

impl Changed {
    fn add(&mut self, root: &Path, absolute: &Path) {
        match RelPath::below(root, absolute) {
            Some(path) => self.files.push(path),
            None if absolute.starts_with(root) && absolute.to_str().is_none() => {
                let below = absolute.strip_prefix(root).unwrap_or(absolute);
                let path = below.to_string_lossy().into_owned();
                self.skipped.push(Skipped { path, reason: "its path is not UTF-8".to_owned() });
            }
            None => {}
        }
    }
}

fn no_ceiling() -> std::iter::Empty<&'static OsStr> {
    std::iter::empty()
}

fn open(root: &Path) -> Result<Option<Repository>, GitError> {
    match Repository::discover(root) {
        Ok(repository) => Ok(Some(repository)),
        // A `.git` that leads nowhere or lacks its parts is "not found" too, but then there was
        // meant to be git.
        Err(error) if error.code() == ErrorCode::NotFound && !is_marked(root) => Ok(None),
        Err(error) => Err(broken(root, &error)),
    }
}

fn is_marked(root: &Path) -> bool {
    root.ancestors().any(|ancestor| ancestor.join(".git").exists())
}

fn broken(root: &Path, error: &git2::Error) -> GitError {
    if error.code() == ErrorCode::Owner {
        let marked = |at: &&Path| at.join(".git").exists();
        let owned = root.ancestors().find(marked).unwrap_or(root).display();
        let remedy = format!("git config --global --add safe.directory '{owned}'");
        let detail = "the git repository belongs to another user".to_owned();
        return GitError { detail, remedy: Some(remedy) };
    }
    GitError { detail: format!("git data cannot be read: {}", error.message()), remedy: None }
}

/// Whether a changed entry is still a file in the work tree.
fn is_there(absolute: &Path, status: Status) -> bool {
    let is_gone = status.contains(Status::WT_DELETED)
        || (status.contains(Status::INDEX_DELETED) && !status.contains(Status::WT_NEW));
    !is_gone && fs::symlink_metadata(absolute).is_ok_and(|metadata| !metadata.is_dir())
}

/// Whether nobody put this file under version control and nobody meant to: a package folder that
/// is not ignored yet would drown the change.
fn is_generated(path: &Path, status: Status) -> bool {
    status == Status::WT_NEW && is_never_walked(path)
}

fn is_never_walked(path: &Path) -> bool {
    let is_never = |name: &OsStr| name.to_str().is_some_and(|name| NEVER_WALKED.contains(&name));
    path.components().any(|part| matches!(part, Component::Normal(name) if is_never(name)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use git2::{IndexAddOption, Signature};

    use super::*;

    struct Tree {
        temp: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let tree = Self { temp: tempfile::tempdir().unwrap() };
            fs::create_dir(tree.root()).unwrap();
            tree
        }

        /// A repository whose first commit holds these files.
        fn with(files: &[&str]) -> Self {
            let tree = Self::new();
            Repository::init(tree.root()).unwrap();
            for file in files {
                tree.write(file, "first\n");
            }
            tree.commit();
            tree
        }

        fn root(&self) -> PathBuf {
            self.temp.path().canonicalize().unwrap().join("root")
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn stage(&self) {
            let repository = Repository::open(self.root()).unwrap();
            let mut index = repository.index().unwrap();
            index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
            index.update_all(["*"], None).unwrap();
            index.write().unwrap();
        }

        fn commit(&self) -> String {
            self.stage();
            let repository = Repository::open(self.root()).unwrap();
            let tree = repository.index().unwrap().write_tree().unwrap();
            let tree = repository.find_tree(tree).unwrap();
            let by = Signature::now("t", "t@example.org").unwrap();
            let parent = repository.head().ok().map(|head| head.peel_to_commit().unwrap());
            let parents: Vec<_> = parent.iter().collect();
            let id = repository.commit(Some("HEAD"), &by, &by, "m", &tree, &parents).unwrap();
            id.to_string()
        }
    }

    fn files(root: &Path) -> Vec<String> {
        let changed = changed(root).unwrap().expect("a work tree");
        assert_eq!(changed.skipped, []);
        changed.files.iter().map(RelPath::to_string).collect()
    }

    #[test]
    fn every_way_to_change_a_file_counts_and_a_deleted_one_is_left_out() {
        let tree = Tree::with(&["same", "edited", "staged", "moved", "gone", "gone-staged"]);
        tree.write(".gitignore", "*.log\n");
        tree.write("staged", "second\n");
        tree.write("staged-new", "new\n");
        fs::remove_file(tree.root().join("gone-staged")).unwrap();
        fs::rename(tree.root().join("moved"), tree.root().join("moved-to")).unwrap();
        tree.stage();
        tree.write("edited", "second\n");
        tree.write("new/한글 a.py", "new\n");
        tree.write("build.log", "x");
        fs::remove_file(tree.root().join("gone")).unwrap();
        let expected =
            [".gitignore", "edited", "moved-to", "new/한글 a.py", "staged", "staged-new"];
        assert_eq!(files(&tree.root()), expected);
    }

    #[test]
    fn a_subfolder_sees_only_its_own_files() {
        let tree = Tree::with(&["part/a", "part-two/a", "b"]);
        for file in ["part/a", "part/new", "part-two/a", "b", "[part]/x"] {
            tree.write(file, "second\n");
        }
        assert_eq!(files(&tree.root().join("part")), ["a", "new"]);
        assert_eq!(files(&tree.root().join("[part]")), ["x"]);
        let alias = tree.temp.path().join("alias");
        symlink(tree.root().join("part"), &alias).unwrap();
        assert_eq!(files(&alias), ["a", "new"]);
    }

    #[test]
    fn an_ignored_root_is_no_work_tree_of_its_own() {
        let tree = Tree::with(&["a"]);
        tree.write(".gitignore", "scratch/\n");
        tree.write("scratch/x.py", "x\n");
        assert_eq!(changed(&tree.root().join("scratch")), Ok(None));
    }

    #[test]
    fn without_commits_everything_is_changed_and_there_is_no_head() {
        let tree = Tree::new();
        Repository::init(tree.root()).unwrap();
        tree.write("staged", "x");
        tree.stage();
        tree.write("new", "x");
        assert_eq!(files(&tree.root()), ["new", "staged"]);
        assert_eq!(head(&tree.root()), None);
    }

    #[test]
    fn without_git_there_is_nothing_to_compare_with() {
        let tree = Tree::new();
        assert_eq!(changed(&tree.root()), Ok(None));
        assert_eq!(common_dir(&tree.root()), None);
        assert_eq!(head(&tree.root()), None);
    }

    #[test]
    fn a_linked_worktree_has_its_own_changes_and_shares_the_common_folder() {
        let tree = Tree::with(&["a"]);
        let linked = tree.temp.path().canonicalize().unwrap().join("linked");
        let repository = Repository::open(tree.root()).unwrap();
        repository.worktree("linked", &linked, None).unwrap();
        fs::write(linked.join("a"), "second\n").unwrap();
        assert_eq!(files(&linked), ["a"]);
        assert_eq!(files(&tree.root()), [""; 0]);
        assert_eq!(common_dir(&tree.root()), Some(tree.root().join(".git")));
        assert_eq!(common_dir(&linked), common_dir(&tree.root()));
        assert_eq!(head(&linked), head(&tree.root()));
    }

    #[test]
    fn a_tracked_file_is_not_ignored_whatever_the_rules_say() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let paths = ["kept.py", "gen/made.py", "a.py"].map(|path| RelPath::parse(path).unwrap());
        assert!(ignored(&root, &paths).unwrap().is_empty(), "without git nothing is ignored");
        let repository = Repository::init(&root).unwrap();
        fs::write(root.join(".gitignore"), "gen/\nkept.py\n").unwrap();
        fs::write(root.join("kept.py"), "x\n").unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("kept.py")).unwrap();
        index.write().unwrap();
        assert_eq!(ignored(&root, &paths).unwrap(), BTreeSet::from([paths[1].clone()]));
    }

    #[test]
    fn head_moves_with_commits() {
        let tree = Tree::with(&["a"]);
        tree.write("a", "second\n");
        let id = tree.commit();
        assert_eq!(head(&tree.root()), Some(id));
        assert_eq!(files(&tree.root()), [""; 0]);
    }

    #[test]
    fn a_package_folder_nobody_ignored_does_not_drown_the_change() {
        let tree = Tree::with(&["vendored/node_modules/kept.js"]);
        tree.write("vendored/node_modules/kept.js", "second\n");
        tree.write("node_modules/x/index.js", "x\n");
        tree.write("a.js", "x\n");
        assert_eq!(files(&tree.root()), ["a.js", "vendored/node_modules/kept.js"]);
    }

    #[test]
    fn a_changed_file_that_cannot_be_named_is_said_to_be_skipped() {
        let tree = Tree::with(&["a"]);
        fs::write(tree.root().join(OsStr::from_bytes(b"\xc7\xd1.py")), "x").unwrap();
        let changed = changed(&tree.root()).unwrap().unwrap();
        assert_eq!(changed.files, []);
        assert_eq!(changed.skipped[0].path, "\u{fffd}\u{fffd}.py");
    }

    #[test]
    fn broken_git_data_is_an_error_and_never_no_change() {
        let tree = Tree::with(&["a"]);
        let common = common_dir(&tree.root());
        fs::write(tree.root().join(".git/index"), "not an index").unwrap();
        assert!(changed(&tree.root()).is_err());
        fs::write(tree.root().join(".git/config"), "[broken").unwrap();
        assert!(changed(&tree.root()).is_err());
        assert_eq!(common_dir(&tree.root()), common);
        fs::remove_file(tree.root().join(".git/HEAD")).unwrap();
        assert!(changed(&tree.root()).is_err());
        let stray = Tree::new();
        stray.write(".git", "gitdir: /nonexistent/worktrees/x\n");
        assert!(changed(&stray.root()).is_err());
    }

    #[test]
    fn commits_since_a_base_do_not_hide_what_they_changed() {
        let tree = Tree::with(&[]);
        tree.write("a.py", "1");
        tree.write("same.py", "1");
        tree.commit();
        let base = head(&tree.root()).unwrap();
        tree.write("a.py", "2");
        tree.write("b.py", "1");
        tree.commit();
        let names = |base: Option<&str>| {
            let changed = changed_since(&tree.root(), base).unwrap().unwrap();
            changed.files.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(names(None).is_empty());
        assert_eq!(names(Some(&base)), ["a.py", "b.py"]);
        assert!(changed_since(&tree.root(), Some(&"0".repeat(40))).is_err());
    }

    #[test]
    fn a_base_before_the_first_commit_sees_all_that_was_committed() {
        let tree = Tree::with(&[]);
        let before = base(&tree.root());
        let names = || {
            let changed = changed_since(&tree.root(), before.as_deref()).unwrap().unwrap();
            changed.files.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert!(before.is_some());
        assert!(names().is_empty());
        tree.write("a.py", "1");
        assert_eq!(names(), ["a.py"]);
        tree.commit();
        assert_eq!(names(), ["a.py"]);
        assert_eq!(base(&tree.root()), head(&tree.root()));
        assert_eq!(base(Tree::new().temp.path()), None);
    }

    #[test]
    fn texts_of_the_last_commit_are_known() {
        let tree = Tree::with(&["a.py"]);
        tree.write("a.py", "second\n");
        let root = tree.root();
        let path = |name: &str| RelPath::below(&root, &root.join(name)).unwrap();
        assert_eq!(head_text(&root, &path("a.py")).as_deref(), Some("first\n"));
        assert_eq!(head_text(&root, &path("new.py")), None);
    }

    #[test]
    fn a_repository_of_another_user_is_an_error_with_its_remedy() {
        let tree = Tree::with(&["a"]);
        // Only the superuser can give a directory away.
        if chown(tree.root(), Some(4242), None).is_ok()
            && chown(tree.root().join(".git"), Some(4242), None).is_ok()
        {
            let error = changed(&tree.root()).unwrap_err();
            assert_eq!(error.detail, "the git repository belongs to another user");
            let root = tree.root();
            let remedy = format!("git config --global --add safe.directory '{}'", root.display());
            assert_eq!(error.remedy, Some(remedy));
        }
    }
}
