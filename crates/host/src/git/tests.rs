//! Git data of roots of every kind.

use std::os::unix::fs::{chown, symlink};
use std::time::{Duration, UNIX_EPOCH};

use git2::{IndexAddOption, Signature};

use super::*;

pub(in crate::git) struct Tree {
    pub(in crate::git) temp: tempfile::TempDir,
}

impl Tree {
    pub(in crate::git) fn new() -> Self {
        let tree = Self { temp: tempfile::tempdir().unwrap() };
        fs::create_dir(tree.root()).unwrap();
        tree
    }

    pub(in crate::git) fn with(files: &[&str]) -> Self {
        let tree = Self::new();
        Repository::init(tree.root()).unwrap();
        for file in files {
            tree.write(file, "first\n");
        }
        tree.commit();
        tree
    }

    pub(in crate::git) fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("root")
    }

    pub(in crate::git) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(in crate::git) fn stage(&self) {
        let repository = Repository::open(self.root()).unwrap();
        let mut index = repository.index().unwrap();
        index.add_all(["*"], IndexAddOption::DEFAULT, None).unwrap();
        index.update_all(["*"], None).unwrap();
        index.write().unwrap();
    }

    pub(in crate::git) fn commit(&self) -> String {
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
    let changed = files_changed_since_head(root).unwrap().expect("a work tree");
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
    let expected = [".gitignore", "edited", "moved-to", "new/한글 a.py", "staged", "staged-new"];
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
    assert_eq!(files_changed_since_head(&tree.root().join("scratch")), Ok(None));
}

#[test]
fn without_commits_everything_is_changed_and_there_is_no_head() {
    let tree = Tree::new();
    Repository::init(tree.root()).unwrap();
    tree.write("staged", "x");
    tree.stage();
    tree.write("new", "x");
    assert_eq!(files(&tree.root()), ["new", "staged"]);
    assert_eq!(head_commit(&tree.root()), None);
}

#[test]
fn without_git_there_is_nothing_to_compare_with() {
    let tree = Tree::new();
    assert_eq!(files_changed_since_head(&tree.root()), Ok(None));
    assert_eq!(common_dir(&tree.root()), None);
    assert_eq!(head_commit(&tree.root()), None);
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
    assert_eq!(head_commit(&linked), head_commit(&tree.root()));
}

#[test]
fn a_tracked_file_is_not_ignored_whatever_the_rules_say() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let paths = ["kept.py", "gen/made.py", "a.py"].map(|path| RelPath::parse(path).unwrap());
    assert!(ignored_paths(&root, &paths).unwrap().is_empty(), "without git nothing is ignored");
    let repository = Repository::init(&root).unwrap();
    fs::write(root.join(".gitignore"), "gen/\nkept.py\n").unwrap();
    fs::write(root.join("kept.py"), "x\n").unwrap();
    let mut index = repository.index().unwrap();
    index.add_path(Path::new("kept.py")).unwrap();
    index.write().unwrap();
    assert_eq!(ignored_paths(&root, &paths).unwrap(), BTreeSet::from([paths[1].clone()]));
}

#[test]
fn head_moves_with_commits() {
    let tree = Tree::with(&["a"]);
    tree.write("a", "second\n");
    let id = tree.commit();
    assert_eq!(head_commit(&tree.root()), Some(id));
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
    let changed = files_changed_since_head(&tree.root()).unwrap().unwrap();
    assert_eq!(changed.files, []);
    assert_eq!(changed.skipped[0].path, "\u{fffd}\u{fffd}.py");
}

#[test]
fn broken_git_data_is_an_error_and_never_no_change() {
    let tree = Tree::with(&["a"]);
    let common = common_dir(&tree.root());
    fs::write(tree.root().join(".git/index"), "not an index").unwrap();
    assert!(files_changed_since_head(&tree.root()).is_err());
    fs::write(tree.root().join(".git/config"), "[broken").unwrap();
    assert!(files_changed_since_head(&tree.root()).is_err());
    assert_eq!(common_dir(&tree.root()), common);
    fs::remove_file(tree.root().join(".git/HEAD")).unwrap();
    assert!(files_changed_since_head(&tree.root()).is_err());
    let stray = Tree::new();
    stray.write(".git", "gitdir: /nonexistent/worktrees/x\n");
    assert!(files_changed_since_head(&stray.root()).is_err());
}

#[test]
fn commits_since_a_base_do_not_hide_what_they_changed() {
    let tree = Tree::with(&[]);
    tree.write("a.py", "1");
    tree.write("same.py", "1");
    tree.commit();
    let base = head_commit(&tree.root()).unwrap();
    tree.write("a.py", "2");
    tree.write("b.py", "1");
    tree.commit();
    let names = |base: Option<&str>| {
        let changed = files_changed_since(&tree.root(), base).unwrap().unwrap();
        changed.files.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(names(None).is_empty());
    assert_eq!(names(Some(&base)), ["a.py", "b.py"]);
    assert!(files_changed_since(&tree.root(), Some(&"0".repeat(40))).is_err());
}

#[test]
fn a_base_before_the_first_commit_sees_all_that_was_committed() {
    let tree = Tree::with(&[]);
    let before = base_commit(&tree.root()).expect("readable");
    let names = || {
        let changed = files_changed_since(&tree.root(), before.as_deref()).unwrap().unwrap();
        changed.files.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(before.is_some());
    assert!(names().is_empty());
    tree.write("a.py", "1");
    assert_eq!(names(), ["a.py"]);
    tree.commit();
    assert_eq!(names(), ["a.py"]);
    assert_eq!(base_commit(&tree.root()), Ok(head_commit(&tree.root())));
    assert_eq!(base_commit(Tree::new().temp.path()), Ok(None));
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
        let error = files_changed_since_head(&tree.root()).unwrap_err();
        assert_eq!(error.detail, "the git repository belongs to another user");
        let root = tree.root();
        let remedy = format!("git config --global --add safe.directory '{}'", root.display());
        assert_eq!(error.remedy, Some(remedy));
    }
}

/// Marks an entry of the index the way `git update-index` does.
fn mark(tree: &Tree, name: &str, flags: u16, flags_extended: u16) {
    let mut index = Repository::open(tree.root()).unwrap().index().unwrap();
    let mut entry = index.get_path(Path::new(name), 0).unwrap();
    entry.flags |= flags;
    entry.flags_extended |= flags_extended;
    index.add(&entry).unwrap();
    index.write().unwrap();
}

fn different(root: &Path) -> Vec<String> {
    let found = diff_since(root, None).unwrap().expect("a work tree");
    found.iter().map(|it| it.path.to_string()).collect()
}

#[test]
fn marks_in_the_index_hide_nothing_that_stands_on_disk_or_is_gone() {
    let tree = Tree::with(&["assumed", "skipped", "same", "gone"]);
    for name in ["assumed", "same"] {
        mark(&tree, name, 1 << 15, 0);
    }
    for name in ["skipped", "gone"] {
        mark(&tree, name, 0, 1 << 14);
    }
    let root = tree.root();
    assert_eq!((files(&root), different(&root)), (vec![], vec![]));
    // Equal in length and times, so only the content tells.
    let times = fs::metadata(root.join("assumed")).unwrap().modified().unwrap();
    for name in ["assumed", "skipped"] {
        tree.write(name, "other\n");
        let file = fs::File::options().write(true).open(root.join(name)).unwrap();
        file.set_modified(times).unwrap();
    }
    fs::remove_file(root.join("gone")).unwrap();
    assert_eq!(files(&root), ["assumed", "skipped"]);
    assert_eq!(different(&root), ["assumed", "gone", "skipped"]);
    let gone = files_changed_since_head(&root).unwrap().unwrap().deleted;
    assert_eq!(gone.iter().map(ToString::to_string).collect::<Vec<_>>(), ["gone"]);
    let config = Repository::open(&root).unwrap().config().unwrap();
    let mut config = config.open_level(git2::ConfigLevel::Local).unwrap();
    config.set_bool("core.sparseCheckout", true).unwrap();
    assert_eq!(different(&root), ["assumed", "skipped"], "a sparse checkout leaves out");
    let index = Repository::open(&root).unwrap().index().unwrap();
    let kept = index.get_path(Path::new("assumed"), 0).unwrap();
    assert_ne!(kept.flags & (1 << 15), 0, "the index on disk is not ours to write");
}

#[test]
fn a_file_with_a_time_that_was_set_back_is_changed_whatever_is_configured() {
    let tree = Tree::with(&["a", "b"]);
    let root = tree.root();
    let repository = Repository::open(&root).unwrap();
    let config = repository.config().unwrap();
    let mut config = config.open_level(git2::ConfigLevel::Local).unwrap();
    config.set_bool("core.trustCtime", false).unwrap();
    config.set_str("core.checkStat", "minimal").unwrap();
    let set_back = |name: &str| {
        let file = fs::File::options().write(true).open(root.join(name)).unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_hours(400_000)).unwrap();
    };
    let mut index = repository.index().unwrap();
    for name in ["a", "b"] {
        set_back(name);
        index.add_path(Path::new(name)).unwrap();
    }
    index.write().unwrap();
    assert_eq!((files(&root), different(&root)), (vec![], vec![]));
    let text = fs::read_to_string(root.join("a")).unwrap();
    tree.write("a", &"x".repeat(text.len()));
    set_back("a");
    set_back("b");
    assert_eq!((files(&root), different(&root)), (vec!["a".to_owned()], vec!["a".to_owned()]));
}

#[test]
fn what_changed_in_a_repository_inside_is_said_to_be_unknown_whatever_is_configured() {
    let inner = Tree::with(&["check.py"]);
    let tree = Tree::with(&["a"]);
    let repository = Repository::open(tree.root()).unwrap();
    let url = inner.root().display().to_string();
    let mut module = repository.submodule(&url, Path::new("suite"), true).unwrap();
    module.clone(None).unwrap();
    module.add_finalize().unwrap();
    drop(module);
    tree.commit();
    let skipped = || {
        let changed = files_changed_since_head(&tree.root()).unwrap().unwrap();
        changed.skipped.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    assert_eq!((skipped(), different(&tree.root())), (vec![], vec![]));
    let mut config = repository.config().unwrap();
    config.set_str("submodule.suite.ignore", "all").unwrap();
    tree.write("suite/check.py", "exit()\n");
    assert_eq!((skipped(), different(&tree.root())), (vec!["suite".into()], vec!["suite".into()]));
    let found = diff_since(&tree.root(), None).unwrap().unwrap();
    assert_eq!(found[0].before, TextAtBase::Repository);
    let module = Repository::open(tree.root().join("suite")).unwrap();
    let mut index = module.index().unwrap();
    index.add_path(Path::new("check.py")).unwrap();
    index.write().unwrap();
    let by = Signature::now("t", "t@example.org").unwrap();
    let written = module.find_tree(index.write_tree().unwrap()).unwrap();
    let parent = module.head().unwrap().peel_to_commit().unwrap();
    module.commit(Some("HEAD"), &by, &by, "m", &written, &[&parent]).unwrap();
    assert_eq!(skipped(), ["suite"], "another commit");
    fs::remove_dir_all(tree.root().join("suite")).unwrap();
    fs::create_dir(tree.root().join("suite")).unwrap();
    assert_eq!(skipped(), [""; 0], "it was never fetched");
}
