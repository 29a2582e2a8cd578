//! Checkpoints of real repositories: their contents, and what a checkpoint must not change.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use git2::RepositoryInitOptions;

use super::super::tests::Tree as Project;
use super::*;

const NOTHING: &BTreeSet<RelPath> = &BTreeSet::new();
const ALL: SnapshotFilter<'static> = SnapshotFilter { excluded: &[], included: NOTHING };

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn seen(root: &Path) -> WorkTreeSnapshot {
    snapshot_work_tree(root, ALL).unwrap()
}

fn names(look: &WorkTreeSnapshot) -> Vec<&str> {
    look.tree.nodes.keys().map(RelPath::as_str).collect()
}

/// Every byte below `.git` that is not an object or one of our refs.
fn git_files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join(".git")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.ends_with("objects") || path.ends_with("refs/moai-ralph") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn a_checkpoint_holds_tracked_and_new_files_their_modes_and_links() {
    let project = Project::with(&["same", "edited", "gone", "run"]);
    project.write(".gitignore", "*.log\n");
    project.write("edited", "second\n");
    project.write("새 파일.py", "new\n");
    project.write("noise.log", "x");
    project.write("node_modules/x.js", "x");
    let root = project.root();
    fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("nowhere", root.join("link")).unwrap();
    fs::remove_file(root.join("gone")).unwrap();
    let seen = seen(&root);
    assert_eq!(names(&seen), [".gitignore", "edited", "link", "run", "same", "새 파일.py"]);
    let node = |name: &str| &seen.tree.nodes[&path(name)];
    assert_eq!([node("run").kind, node("link").kind], [FileKind::Program, FileKind::Link]);
    assert_eq!(read_blob(&root, &node("edited").content).unwrap(), b"second\n");
    assert_eq!(read_blob(&root, &node("link").content).unwrap(), b"nowhere");
}

#[test]
fn head_index_and_work_tree_stay_byte_for_byte() {
    let project = Project::with(&["a", "staged"]);
    project.write("staged", "second\n");
    project.stage();
    project.write("a", "second\n");
    let root = project.root();
    let before = git_files(&root);
    let seen = seen(&root);
    commit_checkpoint(&root, &seen, "loop-1", "1", 7).unwrap();
    assert_eq!(git_files(&root), before);
    assert!(root.join(".git/refs/moai-ralph/loop-1/1").is_file());
}

#[test]
fn equal_files_have_an_equal_id_whatever_git_remembers_of_them() {
    let project = Project::with(&["a", "b"]);
    let root = project.root();
    let first = seen(&root);
    let head = Repository::open(&root).unwrap().head().unwrap().peel_to_tree().unwrap().id();
    assert_eq!(first.id, head.to_string());
    project.write("a", "second\n");
    assert_ne!(seen(&root).id, first.id);
    project.write("a", "first\n");
    let later = SystemTime::now() + Duration::from_mins(1);
    fs::File::options().write(true).open(root.join("b")).unwrap().set_modified(later).unwrap();
    assert_eq!(seen(&root).id, first.id);
    fs::remove_file(root.join(".git/index")).unwrap();
    assert_eq!(seen(&root).id, first.id, "now every file is untracked");
}

#[test]
fn contents_are_those_of_the_work_tree_and_not_what_a_filter_makes_of_them() {
    let project = Project::with(&[]);
    project.write(".gitattributes", "*.txt text eol=crlf\n");
    project.write("a.txt", "one\r\ntwo\r\n");
    project.commit();
    let root = project.root();
    let seen = seen(&root);
    let id = &seen.tree.nodes[&path("a.txt")].content;
    assert_eq!(read_blob(&root, id).unwrap(), b"one\r\ntwo\r\n");
    assert_ne!(
        seen.id,
        Repository::open(&root).unwrap().head().unwrap().peel_to_tree().unwrap().id().to_string()
    );
}

#[test]
fn a_file_in_the_place_of_a_folder_is_what_it_is() {
    let project = Project::with(&["part/a", "b", "c/d"]);
    let root = project.root();
    fs::remove_dir_all(root.join("part")).unwrap();
    project.write("part", "a file\n");
    fs::remove_file(root.join("b")).unwrap();
    project.write("b/deep", "1\n");
    let seen = seen(&root);
    assert_eq!(names(&seen), ["b/deep", "c/d", "part"]);
    let kept = commit_checkpoint(&root, &seen, "loop-1", "1", 7).unwrap();
    assert_eq!(read_checkpoint_tree(&root, &kept).unwrap(), seen.tree);
}

#[test]
fn a_repository_without_commits_has_checkpoints() {
    let project = Project::new();
    Repository::init(project.root()).unwrap();
    project.write("a", "1");
    let root = project.root();
    let seen = seen(&root);
    commit_checkpoint(&root, &seen, "loop-1", "1", 7).unwrap();
    let kept = list_checkpoints(&root).unwrap();
    assert_eq!(kept[0].root, root);
    assert_eq!(read_checkpoint_tree(&root, &kept[0]).unwrap(), seen.tree);
    assert_eq!(super::super::head_commit(&root), None);
}

#[test]
fn worktrees_share_the_refs_and_see_their_own_files() {
    let project = Project::with(&["a"]);
    let linked = project.temp.path().canonicalize().unwrap().join("linked");
    Repository::open(project.root()).unwrap().worktree("linked", &linked, None).unwrap();
    fs::write(linked.join("a"), "linked\n").unwrap();
    let (here, there) = (seen(&project.root()), seen(&linked));
    assert_ne!(here.id, there.id);
    commit_checkpoint(&project.root(), &here, "loop-1", "1", 7).unwrap();
    commit_checkpoint(&linked, &there, "loop-2", "1", 8).unwrap();
    let kept = list_checkpoints(&project.root()).unwrap();
    assert_eq!(list_checkpoints(&linked).unwrap(), kept);
    let trees: Vec<_> = kept.iter().map(|it| read_checkpoint_tree(&linked, it).unwrap()).collect();
    assert_eq!(trees, [here.tree, there.tree]);
}

#[test]
fn a_subfolder_has_checkpoints_of_its_own_files() {
    let project = Project::with(&["part/a", "other/b"]);
    project.write("part/new", "1");
    project.write("other/new", "1");
    assert_eq!(names(&seen(&project.root().join("part"))), ["a", "new"]);
}

#[test]
fn submodules_and_repositories_inside_are_left_alone() {
    let project = Project::with(&["a"]);
    let root = project.root();
    let inner = RepositoryInitOptions::new();
    Repository::init_opts(root.join("inner"), &inner).unwrap();
    project.write("inner/x", "1");
    assert_eq!(names(&seen(&root)), ["a"]);
}

#[test]
fn what_is_too_large_or_cannot_be_named_is_left_out_and_said() {
    let project = Project::with(&["big"]);
    let root = project.root();
    let large = fs::File::options().write(true).open(root.join("big")).unwrap();
    large.set_len(CHECKPOINT_FILE_BYTES_MAX + 1).unwrap();
    fs::write(root.join(OsStr::from_bytes(b"\xc7.py")), "x").unwrap();
    let seen = seen(&root);
    assert!(names(&seen).is_empty());
    assert_eq!(seen.tree.omitted["big"], "larger than 16 MiB");
    let kept = commit_checkpoint(&root, &seen, "loop-1", "1", 7).unwrap();
    assert_eq!(read_checkpoint_tree(&root, &kept).unwrap().omitted, seen.tree.omitted);
}

#[test]
fn a_lens_leaves_files_out_and_takes_ignored_ones_in() {
    let project = Project::with(&["a"]);
    project.write(".gitignore", "*.log\n");
    project.write("kept.log", "x");
    project.write("progress.txt", "x");
    project.write("notes/deep/one", "x");
    let except = [path("progress.txt"), path("notes")];
    let also = BTreeSet::from([path("kept.log"), path("missing.log")]);
    let look =
        snapshot_work_tree(&project.root(), SnapshotFilter { excluded: &except, included: &also })
            .unwrap();
    assert_eq!(names(&look), [".gitignore", "a", "kept.log"]);
}

#[test]
fn checkpoints_are_listed_in_order_replaced_and_forgotten() {
    let project = Project::with(&["a"]);
    let root = project.root();
    let seen = seen(&root);
    for (name, at) in [("10", 3), ("9", 3), ("before-1", 4), ("9", 3)] {
        commit_checkpoint(&root, &seen, "loop-1", name, at).unwrap();
    }
    let kept = list_checkpoints(&root).unwrap();
    let listed: Vec<_> = kept.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(listed, ["9", "10", "before-1"]);
    delete_checkpoint_refs(&root, &kept[..2]).unwrap();
    delete_checkpoint_refs(&root, &kept[..2]).unwrap();
    assert_eq!(list_checkpoints(&root).unwrap(), kept[2..]);
}

#[test]
fn without_git_there_is_nothing_to_look_at() {
    let project = Project::new();
    assert_eq!(is_git_managed(&project.root()), Ok(false));
    assert!(snapshot_work_tree(&project.root(), ALL).is_err());
    assert!(list_checkpoints(&project.root()).is_err());
    let project = Project::with(&["a"]);
    project.write(".gitignore", "scratch/\n");
    project.write("scratch/x", "1");
    assert_eq!(is_git_managed(&project.root()), Ok(true));
    assert_eq!(is_git_managed(&project.root().join("scratch")), Ok(false), "it is ignored");
}

#[test]
fn a_file_that_git_shall_skip_is_held_as_it_stands() {
    let project = Project::with(&["a"]);
    let root = project.root();
    let repository = Repository::open(&root).unwrap();
    let mut index = repository.index().unwrap();
    let mut entry = index.get_path(Path::new("a"), 0).unwrap();
    entry.flags_extended |= 0x4000;
    index.add(&entry).unwrap();
    index.write().unwrap();
    project.write("a", "mine!\n");
    let held = seen(&root);
    let id = &held.tree.nodes[&path("a")].content;
    assert_eq!(read_blob(&root, id).unwrap(), b"mine!\n");
    fs::remove_file(root.join("a")).unwrap();
    assert!(names(&seen(&root)).is_empty(), "what is not on the disk is not held");
}

#[test]
fn line_ends_stay_when_git_does_not_track_what_converts_them() {
    let project = Project::with(&[]);
    project.write("deep/a.txt", "one\ntwo\n");
    project.commit();
    let root = project.root();
    fs::write(root.join(".git/info/exclude"), ".gitattributes\n").unwrap();
    project.write("deep/.gitattributes", "* text=auto\n");
    project.write("deep/a.txt", "one\r\ntwo\r\n");
    // Git considers the file unchanged, and its index then has the size on disk.
    project.stage();
    let id = &seen(&root).tree.nodes[&path("deep/a.txt")].content;
    assert_eq!(read_blob(&root, id).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn nothing_is_taken_in_through_a_link_in_place_of_a_folder() {
    let project = Project::with(&["conf/f"]);
    let root = project.root();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "private\n").unwrap();
    fs::remove_dir_all(root.join("conf")).unwrap();
    symlink(outside.path(), root.join("conf")).unwrap();
    assert_eq!(names(&seen(&root)), ["conf"]);
    let also = BTreeSet::from([path("conf/f")]);
    assert_eq!(
        names(
            &snapshot_work_tree(&root, SnapshotFilter { excluded: &[], included: &also }).unwrap()
        ),
        ["conf"]
    );
}
