//! Directory walks: lists the files below some starting points.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::gitignore::Gitignore;
use ignore::{DirEntry, Match, Walk, WalkBuilder};
use rustix::io::Errno;

use super::is_special;
use super::stamps::is_lack_of_resources;
use super::{canonical, io_error_reason, resolve_in_root, skipped_file};
use crate::git;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{IGNORE_RULES_BYTES_MAX, UNMARKED_ENTRIES_MAX, WALK_FILES_MAX};
use moai_base::path::{NEVER_WALKED, RelPath};

/// Name of the files with ignore rules.
const GITIGNORE: &str = ".gitignore";
const UNREADABLE_RULES: &str = "ignore rules that are not a regular file or are too large";

/// The files of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileWalk {
    /// Sorted, each once.
    pub files: Vec<RelPath>,
    /// Requested or wanted entries that could not be read; sorted, each once.
    pub skipped: Vec<SkippedFile>,
}

/// The files below `starts`: files or directories, absolute or relative to the root.
///
/// A directory is walked without files excluded by `.gitignore` (even without git, then from the root down;
/// with git, up to the top of its working tree), hidden entries, [`NEVER_WALKED`] folders, and symbolic
/// links, so that links cannot loop; the target of a link is found under its own name if it is below a start.
/// `wanted` selects among the files found this way. A start that is a file is always included, and so are the
/// contents of a start that is a directory.
///
/// Skipped are: a start that does not exist, is outside the root, or is neither file nor directory; a
/// directory that cannot be read; a wanted entry that is not UTF-8 or not a regular file; everything after
/// the first [`WALK_FILES_MAX`] files; and, below a root that is not a project (see [`is_marked_project`]),
/// after the first [`UNMARKED_ENTRIES_MAX`] entries.
#[must_use]
pub fn walk_files(
    root: &Path,
    starts: &[PathBuf],
    wanted: &(dyn Fn(&RelPath) -> bool + Sync),
) -> FileWalk {
    walk_up_to(WALK_FILES_MAX, root, false, starts, wanted)
}

/// True if a root is marked as a project: by `.moai`, or by `.git` there or above. Any other folder may be
/// the home folder or the whole disk.
#[must_use]
pub fn is_marked_project(root: &Path) -> bool {
    root.join(".moai").is_dir() || root.ancestors().any(|at| at.join(".git").exists())
}

/// True if a folder is too large for a root: it is not marked as a project and has more than
/// [`UNMARKED_ENTRIES_MAX`] entries.
#[must_use]
pub fn is_unbounded(root: &Path) -> bool {
    let entries_max = entries_max(root);
    entries_max < usize::MAX && watched_entries(root, root).nth(entries_max).is_some()
}

/// Entries of a root that a walk visits.
pub(super) fn entries_max(root: &Path) -> usize {
    if is_marked_project(root) { usize::MAX } else { UNMARKED_ENTRIES_MAX }
}

/// All files below the root as in [`walk_files`], with hidden files and folders.
#[must_use]
pub fn walk_hidden(root: &Path, wanted: &(dyn Fn(&RelPath) -> bool + Sync)) -> FileWalk {
    walk_up_to(WALK_FILES_MAX, root, true, &[root.to_path_buf()], wanted)
}

/// The files below the root that a language server may read, including those that git ignores,
/// because generated code counts. Hidden entries, [`NEVER_WALKED`] folders, Cargo's build output,
/// unreadable entries, and everything after the limit are left out.
#[must_use]
pub fn walk_watched(root: &Path, wanted: &(dyn Fn(&RelPath) -> bool + Sync)) -> Vec<RelPath> {
    let root = canonical(root);
    let entries = watched_entries(&root, &root).take(entries_max(&root));
    let files = entries.filter(|entry| is_file(entry) && !is_hidden(entry.path()));
    let paths = files.filter_map(|entry| RelPath::below(&root, entry.path()));
    paths.filter(wanted).take(WALK_FILES_MAX).collect()
}

/// The files of a place outside a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceWalk {
    /// The wanted ones.
    pub files: Vec<PathBuf>,
    /// The folders that were read, the place itself among them.
    pub folders: Vec<PathBuf>,
    /// True if there are files that are not wanted.
    pub has_other_files: bool,
    /// Number of entries visited.
    pub entries: usize,
    pub end: WalkEnd,
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// It visited all entries.
    Whole,
    TooManyEntries,
    /// The system lacks descriptors or memory.
    Lacking,
}

/// The wanted files below a folder that need not be in a project, or the file itself, as a server
/// may read them: without hidden entries and [`NEVER_WALKED`] folders. Links are followed, except those that lead to
/// `root`, into it, or to a folder around it or around themselves.
#[must_use]
pub fn walk_place(
    root: &Path,
    place: &Path,
    entries_max: usize,
    wanted: &(dyn Fn(&RelPath) -> bool + Sync),
) -> PlaceWalk {
    let mut walk = PlaceWalk {
        files: Vec::new(),
        folders: Vec::new(),
        has_other_files: false,
        entries: 0,
        end: WalkEnd::Whole,
    };
    let root = canonical(root);
    let is_entered = move |entry: &DirEntry| {
        let is_link = entry.depth() > 0 && entry.path_is_symlink();
        !is_link
            || !entry.path().canonicalize().is_ok_and(|target| {
                target.is_dir() && (target.starts_with(&root) || root.starts_with(&target))
            })
    };
    let mut builder = watched_walk_builder(place, place, is_entered);
    for entry in builder.follow_links(true).build() {
        if walk.entries >= entries_max {
            walk.end = WalkEnd::TooManyEntries;
            return walk;
        }
        if entry.as_ref().is_err_and(is_unread_folder) {
            walk.end = WalkEnd::Lacking;
            return walk;
        }
        walk.entries += 1;
        let Ok(entry) = entry else { continue };
        let is_wanted = RelPath::below(place, entry.path()).is_none_or(|path| wanted(&path));
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            walk.folders.push(entry.into_path());
        } else if is_wanted && is_file(&entry) {
            walk.files.push(entry.into_path());
        } else {
            walk.has_other_files = true;
        }
    }
    walk
}

/// The links below the root to places outside of it, which need not exist, without those in hidden and
/// [`NEVER_WALKED`] folders.
#[must_use]
pub fn links_to_outside(root: &Path) -> Vec<RelPath> {
    let root = canonical(root);
    let links = watched_entries(&root, &root).filter(DirEntry::path_is_symlink);
    let outside = links.filter(|entry| {
        existing_target(entry.path()).is_some_and(|target| !target.starts_with(&root))
    });
    outside.filter_map(|entry| RelPath::below(&root, entry.path())).take(WALK_FILES_MAX).collect()
}

/// The target of a link; if it does not exist, the innermost existing folder around it.
#[must_use]
pub fn existing_target(link: &Path) -> Option<PathBuf> {
    if let Ok(target) = link.canonicalize() {
        return Some(target);
    }
    let target = link.parent()?.join(link.read_link().ok()?);
    target.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok())
}

/// The regular files below the root with one of these sizes in bytes, also hidden and ignored ones and those
/// in package folders, except those below `except`, the folder of our own copies, and in other worktrees.
/// False if there were more than `entries_max` entries.
#[must_use]
pub fn files_of_sizes(
    root: &Path,
    sizes: &BTreeSet<u64>,
    except: &Path,
    entries_max: usize,
) -> (Vec<PathBuf>, bool) {
    let except = canonical(except);
    let mut builder = WalkBuilder::new(canonical(root));
    builder.standard_filters(false).follow_links(false).filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        // The `.git` of a linked worktree is a file.
        let is_work_tree = is_dir && entry.depth() > 0 && entry.path().join(".git").is_file();
        !is_work_tree && entry.path() != except
    });
    let mut files = Vec::new();
    for (count, entry) in builder.build().flatten().enumerate() {
        if count >= entries_max {
            return (files, false);
        }
        let has_size =
            |entry: &DirEntry| entry.metadata().is_ok_and(|it| sizes.contains(&it.len()));
        if is_file(&entry) && has_size(&entry) {
            files.push(entry.into_path());
        }
    }
    (files, true)
}

/// True if no part of a path below the root is a symbolic link. For a path that does not exist, its folder
/// decides.
#[must_use]
pub fn is_real_path(root: &Path, path: &RelPath) -> bool {
    let root = canonical(root);
    let file = path.under(&root);
    !file.is_symlink()
        && !file.parent().is_some_and(|folder| folder.canonicalize().is_ok_and(|it| it != folder))
}

pub(super) fn is_file(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_file())
}

pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Entries below a folder of the root that a language server may read.
pub(super) fn watched_entries(
    root: &Path,
    folder: &Path,
) -> impl Iterator<Item = DirEntry> + use<> {
    watched_walk(root, folder).flatten()
}

/// Like [`watched_entries`], with the errors.
pub(super) fn watched_walk(root: &Path, folder: &Path) -> Walk {
    watched_walk_builder(root, folder, |_| true).build()
}

fn watched_walk_builder(
    root: &Path,
    folder: &Path,
    is_entered: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let build_folder = build_folder(root);
    let mut builder = WalkBuilder::new(folder);
    builder.standard_filters(false).follow_links(false).filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_never = entry.file_name().to_str().is_some_and(is_never_walked);
        let is_left_out = is_dir && entry.depth() > 0 && (is_never || is_hidden(entry.path()));
        !is_left_out && build_folder.as_deref() != Some(entry.path()) && is_entered(entry)
    });
    builder
}

/// True if a folder was not read for lack of descriptors or memory.
pub(super) fn is_unread_folder(error: &ignore::Error) -> bool {
    let errno = error.io_error().and_then(Errno::from_io_error);
    errno.is_some_and(is_lack_of_resources)
}

/// The folder of Cargo's build output.
pub(super) fn build_folder(root: &Path) -> Option<PathBuf> {
    root.join("Cargo.toml").is_file().then(|| root.join("target"))
}

fn walk_up_to(
    files_max: usize,
    root: &Path,
    with_hidden: bool,
    starts: &[PathBuf],
    wanted: &(dyn Fn(&RelPath) -> bool + Sync),
) -> FileWalk {
    let root = canonical(root);
    let (files, skipped) = (BTreeSet::new(), Vec::new());
    let mut collector = WalkCollector { root, with_hidden, wanted, files_max, files, skipped };
    for start in starts {
        collector.start(start);
    }
    let WalkCollector { files, mut skipped, .. } = collector;
    skipped.sort_by(|a, b| (&a.path, &a.reason).cmp(&(&b.path, &b.reason)));
    skipped.dedup();
    FileWalk { files: files.into_iter().collect(), skipped }
}

struct WalkCollector<'w> {
    root: PathBuf,
    with_hidden: bool,
    wanted: &'w (dyn Fn(&RelPath) -> bool + Sync),
    files_max: usize,
    files: BTreeSet<RelPath>,
    skipped: Vec<SkippedFile>,
}

impl WalkCollector<'_> {
    fn start(&mut self, start: &Path) {
        let place = match resolve_in_root(&self.root, start) {
            Ok(place) => place,
            Err(skipped) => return self.skipped.push(skipped),
        };
        match place.relative {
            _ if place.absolute.is_dir() => self.below(&place.absolute),
            Some(file) if place.absolute.is_file() => {
                self.files.insert(file);
            }
            _ => self.skip(start, "not a regular file"),
        }
    }

    fn below(&mut self, directory: &Path) {
        if let Some(rules) = unreadable_rules_above(&self.root, directory) {
            return self.skip(&rules, UNREADABLE_RULES);
        }
        let (sender, left_out) = mpsc::channel();
        let entries_max = entries_max(&self.root);
        let entries = walker(&self.root, directory, sender).hidden(!self.with_hidden).build();
        for (count, entry) in entries.enumerate() {
            if count >= entries_max {
                let reason = format!("more than {entries_max} entries, and neither .git nor .moai");
                return self.skip(directory, &reason);
            }
            let file = match entry {
                Ok(entry) => self.entry(&entry),
                Err(error) => {
                    self.error(directory, &error);
                    None
                }
            };
            let is_new = file.as_ref().is_some_and(|file| !self.files.contains(file));
            if is_new && self.files.len() >= self.files_max {
                let reason = format!("more than {} files", self.files_max);
                return self.skip(directory, &reason);
            }
            self.files.extend(file);
        }
        for rules in left_out.try_iter() {
            self.skip(&rules, UNREADABLE_RULES);
        }
    }

    /// The path of an entry if it is wanted and readable.
    fn entry(&mut self, entry: &DirEntry) -> Option<RelPath> {
        let kind = entry.file_type().filter(|kind| !kind.is_dir() && !kind.is_symlink())?;
        match RelPath::below(&self.root, entry.path()) {
            Some(path) if !(self.wanted)(&path) => {}
            Some(path) if kind.is_file() => return Some(path),
            Some(_) => self.skip(entry.path(), "not a regular file"),
            None => {
                // The lossy name is enough to tell whether the file is wanted.
                let readable = PathBuf::from(entry.path().to_string_lossy().into_owned());
                let path = RelPath::below(&self.root, &readable);
                if path.is_some_and(|path| (self.wanted)(&path)) {
                    self.skip(&readable, "its path is not UTF-8");
                }
            }
        }
        None
    }

    fn error(&mut self, directory: &Path, error: &ignore::Error) {
        let reason = error.io_error().map_or_else(|| error.to_string(), io_error_reason);
        let path = path_of(error).unwrap_or(directory).to_path_buf();
        self.skip(&path, &reason);
    }

    fn skip(&mut self, path: &Path, reason: &str) {
        let mut skipped = skipped_file(&self.root, path, reason);
        if path == self.root {
            ".".clone_into(&mut skipped.path);
        }
        self.skipped.push(skipped);
    }
}

/// The path in an error of the walk.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

/// `left_out` gets the files with rules that cannot be read; their folders are left out.
fn walker(root: &Path, directory: &Path, left_out: mpsc::Sender<PathBuf>) -> WalkBuilder {
    let has_git = root.ancestors().any(|ancestor| ancestor.join(".git").exists());
    // Without git, the `ignore` crate would obey every .gitignore up to `/`, such as the `*` that
    // people keep in a home directory; so the files between root and start are read here. A
    // `.gitignore` below the start cannot re-include what one of them excludes.
    let above = if has_git { Vec::new() } else { ignores_above(root, directory) };
    let mut builder = WalkBuilder::new(directory);
    builder
        .current_dir(root)
        .parents(has_git)
        .require_git(false)
        // Git's rules outside the project apply only where git does.
        .git_global(has_git)
        .git_exclude(has_git)
        .ignore(false)
        .follow_links(false)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            let name = entry.file_name();
            // `.git` is a file in a worktree and in a submodule.
            let is_never = (is_dir || name == ".git") && name.to_str().is_some_and(is_never_walked);
            if entry.depth() == 0 || is_never || is_ignored(&above, entry.path(), is_dir) {
                return entry.depth() == 0;
            }
            let unreadable = if is_dir { unreadable_rules_in(entry.path()) } else { None };
            let is_readable = unreadable.is_none();
            if let Some(rules) = unreadable {
                let _ = left_out.send(rules);
            }
            is_readable
        });
    builder
}

/// True if ignore rules must not be opened: reading a pipe or a device, perhaps through a link in the
/// repository, would not end.
fn has_unreadable_rules(rules: &Path) -> bool {
    std::fs::metadata(rules).is_ok_and(|it| it.is_dir() || it.len() > IGNORE_RULES_BYTES_MAX)
        || is_special(rules)
}

/// The rules that a walk reads when it enters a folder, if they must not be opened.
fn unreadable_rules_in(folder: &Path) -> Option<PathBuf> {
    let rules = folder.join(GITIGNORE);
    if has_unreadable_rules(&rules) { Some(rules) } else { git::unread_rules(&folder.join(".git")) }
}

/// Rules of a folder, of one above it, or of the user that must not be opened.
fn unreadable_rules_above(root: &Path, directory: &Path) -> Option<PathBuf> {
    let exclude = root.join(".git/info/exclude");
    let unreadable = directory.ancestors().find_map(unreadable_rules_in);
    unreadable.or_else(git::unread_rules_of_user).or_else(|| {
        let is_unreadable = has_unreadable_rules(&exclude);
        is_unreadable.then_some(exclude)
    })
}

pub(super) fn is_never_walked(name: &str) -> bool {
    NEVER_WALKED.contains(&name)
}

/// The `.gitignore` files from the parent of a directory up to the root, nearest first.
fn ignores_above(root: &Path, directory: &Path) -> Vec<Gitignore> {
    let parents = directory.ancestors().skip(1).take_while(|parent| parent.starts_with(root));
    // An invalid line costs only itself, as in git.
    parents.map(|parent| Gitignore::new(parent.join(GITIGNORE)).0).collect()
}

fn is_ignored(above: &[Gitignore], path: &Path, is_dir: bool) -> bool {
    let verdict = above.iter().map(|ignore| ignore.matched(path, is_dir));
    verdict
        .into_iter()
        .find(|verdict| !verdict.is_none())
        .is_some_and(|it: Match<_>| it.is_ignore())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Tree {
        temp: tempfile::TempDir,
    }

    impl Tree {
        /// Files of a working tree; a name that ends in `/` is a directory.
        fn new(files: &[(&str, &str)]) -> Self {
            let temp = tempfile::tempdir().unwrap();
            let tree = Self { temp };
            fs::create_dir(tree.root()).unwrap();
            for (name, text) in files {
                let path = tree.root().join(name);
                if name.ends_with('/') {
                    fs::create_dir_all(&path).unwrap();
                } else {
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, text).unwrap();
                }
            }
            tree
        }

        fn root(&self) -> PathBuf {
            self.temp.path().canonicalize().unwrap().join("root")
        }

        /// Python files below the starts, and the skipped entries.
        fn walk(&self, starts: &[&str]) -> (Vec<String>, Vec<String>) {
            let starts: Vec<_> = starts.iter().map(PathBuf::from).collect();
            let python = |path: &RelPath| path.extension().as_deref() == Some("py");
            let walk = walk_files(&self.root(), &starts, &python);
            let skipped = walk.skipped.into_iter().map(|it| format!("{}: {}", it.path, it.reason));
            (walk.files.iter().map(RelPath::to_string).collect(), skipped.collect())
        }

        fn finds(&self, starts: &[&str], files: &[&str]) {
            let (found, skipped) = self.walk(starts);
            assert_eq!((found, skipped), (files.iter().map(ToString::to_string).collect(), vec![]));
        }
    }

    #[test]
    fn ignored_hidden_and_generated_files_are_left_out_and_the_rest_is_sorted() {
        let tree = Tree::new(&[
            (".gitignore", "gen/\n*.tmp.py\n[broken\n"),
            ("b.py", ""),
            ("a.py", ""),
            ("a.txt", ""),
            ("x.tmp.py", ""),
            ("gen/g.py", ""),
            (".hidden/h.py", ""),
            (".git/hooks/h.py", ""),
            ("node_modules/n/n.py", ""),
            ("src/.venv/v.py", ""),
            ("src/venv/v.py", ""),
            ("src/__pycache__/c.py", ""),
            ("target/t.py", ""),
            ("src/.gitignore", "local.py\n"),
            ("src/local.py", ""),
            ("src/s.py", ""),
        ]);
        tree.finds(&["."], &["a.py", "b.py", "src/s.py", "target/t.py"]);
        tree.finds(&["src", "src/s.py", "a.py", "src"], &["a.py", "src/s.py"]);
    }

    #[test]
    fn rules_that_never_end_leave_their_folder_out() {
        let tree = Tree::new(&[("a.py", ""), ("sub/b.py", ""), ("sub/deep/c.py", "")]);
        symlink("/dev/zero", tree.root().join("sub/.gitignore")).unwrap();
        let walk = walk_up_to(10, &tree.root(), false, &[PathBuf::from(".")], &|_| true);
        let files: Vec<&str> = walk.files.iter().map(RelPath::as_str).collect();
        assert_eq!(files, ["a.py"]);
        assert_eq!(walk.skipped.len(), 1, "{:?}", walk.skipped);
        assert_eq!(walk.skipped[0].path, "sub/.gitignore");
        let inside = walk_up_to(10, &tree.root(), false, &[PathBuf::from("sub/deep")], &|_| true);
        assert!(inside.files.is_empty() && inside.skipped.len() == 1, "{:?}", inside.skipped);
    }

    #[test]
    fn what_is_named_is_looked_at_even_if_ignored_or_not_wanted() {
        let tree = Tree::new(&[
            (".gitignore", "gen/\n*.tmp.py\n"),
            ("gen/g.py", ""),
            ("gen/g.tmp.py", ""),
            (".ci/h.py", ""),
            ("node_modules/n.py", ""),
            ("notes.txt", ""),
        ]);
        tree.finds(&["gen/g.tmp.py", "notes.txt"], &["gen/g.tmp.py", "notes.txt"]);
        tree.finds(&["gen", ".ci", "node_modules"], &[".ci/h.py", "gen/g.py", "node_modules/n.py"]);
    }

    #[test]
    fn without_git_only_the_ignore_files_below_the_root_count() {
        let tree = Tree::new(&[
            (".gitignore", "sub/skip.py\n*.tmp.py\n"),
            ("sub/skip.py", ""),
            ("sub/x.tmp.py", ""),
            ("sub/deep/a.py", ""),
        ]);
        fs::write(tree.temp.path().join(".gitignore"), "*\n").unwrap();
        tree.finds(&["sub"], &["sub/deep/a.py"]);
        tree.finds(&["sub/deep"], &["sub/deep/a.py"]);
        tree.finds(&["."], &["sub/deep/a.py"]);
    }

    #[test]
    fn with_git_the_ignore_files_of_the_whole_work_tree_count() {
        let tree = Tree::new(&[("part/a.py", ""), ("part/gen.py", "")]);
        fs::create_dir(tree.temp.path().join(".git")).unwrap();
        fs::write(tree.temp.path().join(".gitignore"), "gen.py\n").unwrap();
        tree.finds(&["part"], &["part/a.py"]);
        tree.finds(&["."], &["part/a.py"]);
    }

    #[test]
    fn links_are_not_followed_so_nothing_loops_or_leaves_the_root() {
        let tree = Tree::new(&[("src/a.py", "")]);
        fs::write(tree.temp.path().join("out.py"), "").unwrap();
        symlink("..", tree.root().join("src/up")).unwrap();
        symlink("a.py", tree.root().join("src/alias.py")).unwrap();
        symlink("../../out.py", tree.root().join("src/out.py")).unwrap();
        tree.finds(&["."], &["src/a.py"]);
        tree.finds(&["src/alias.py"], &["src/a.py"]);
    }

    #[test]
    fn names_that_lead_through_a_link_are_found_once_and_change_when_it_leads_elsewhere() {
        let tree = Tree::new(&[("one/a.py", "1"), ("two/a.py", "2"), ("one/deep/b.py", "")]);
        symlink("..", tree.root().join("one/up")).unwrap();
        symlink("one/a.py", tree.root().join("alias.py")).unwrap();
        symlink("gone.py", tree.root().join("broken.py")).unwrap();
        symlink("one", tree.root().join("now")).unwrap();
        let root = tree.root();
        let look = || {
            let python = |path: &RelPath| path.extension().as_deref() == Some("py");
            let names = crate::files::walk_names(&root, &python);
            let links: Vec<_> = names.into_iter().filter(|it| !is_real_path(&root, it)).collect();
            crate::files::stamp_files(&root, &links)
        };
        let names = |look: &std::collections::BTreeMap<RelPath, _>| -> Vec<String> {
            look.keys().map(ToString::to_string).collect()
        };
        let before = look();
        assert_eq!(names(&before), ["alias.py", "now/a.py", "now/deep/b.py"]);
        for (link, target) in [("alias.py", "two/a.py"), ("now", "two")] {
            fs::remove_file(root.join(link)).unwrap();
            symlink(target, root.join(link)).unwrap();
        }
        let after = look();
        assert_eq!(names(&after), ["alias.py", "now/a.py"]);
        assert!(after.iter().all(|(path, stamp)| before[path] != *stamp));
        let path = |name: &str| RelPath::below(&root, &root.join(name)).unwrap();
        let own = ["alias.py", "now/a.py", "two/a.py"].map(|name| is_real_path(&root, &path(name)));
        assert_eq!(own, [false, false, true]);
    }

    #[test]
    fn a_place_outside_a_project_is_walked_like_one_up_to_the_bound() {
        let tree = Tree::new(&[
            ("a.py", ""),
            (".b/c.py", ""),
            ("node_modules/d.py", ""),
            ("e.txt", ""),
            ("e/i.py", ""),
        ]);
        let python = |path: &RelPath| path.extension().as_deref() == Some("py");
        let walk = |name: &str, entries_max| {
            let PlaceWalk { files, end, .. } =
                walk_place(&tree.root().join("e"), &tree.root().join(name), entries_max, &python);
            (files, end)
        };
        assert_eq!(walk(".b", 100), (vec![tree.root().join(".b/c.py")], WalkEnd::Whole));
        assert_eq!(walk("e.txt", 100), (vec![tree.root().join("e.txt")], WalkEnd::Whole));
        assert_eq!(walk("none", 100), (vec![], WalkEnd::Whole));
        assert_eq!(walk("", 2).1, WalkEnd::TooManyEntries);
        let all = walk_place(&tree.root().join("e"), &tree.root(), 100, &python);
        assert_eq!(
            (all.folders, all.has_other_files),
            (vec![tree.root(), tree.root().join("e")], true)
        );
        symlink("../e.txt", tree.root().join(".b/f.py")).unwrap();
        for (target, link) in
            [("../node_modules", "h"), ("../e", "back"), ("..", "up"), (".", "loop")]
        {
            symlink(target, tree.root().join(".b").join(link)).unwrap();
        }
        symlink(".b", tree.root().join("g")).unwrap();
        let (mut linked, _) = walk("g", 100);
        linked.sort();
        assert_eq!(linked, ["g/c.py", "g/f.py", "g/h/d.py"].map(|name| tree.root().join(name)));
    }

    #[test]
    fn files_of_a_size_are_found_wherever_they_stand_up_to_the_bound() {
        let tree = Tree::new(&[
            (".gitignore", "gen/\n"),
            ("a.py", "123"),
            ("gen/b", "123"),
            ("node_modules/.c/d.py", "123"),
            ("state/copy", "123"),
            ("other/.git", "gitdir: x\n"),
            ("other/e.py", "123"),
            ("f.py", "1234"),
        ]);
        let (root, sizes) = (tree.root(), BTreeSet::from([3]));
        let find = |entries_max| files_of_sizes(&root, &sizes, &root.join("state"), entries_max);
        let (mut found, is_whole) = find(100);
        found.sort();
        let expected = ["a.py", "gen/b", "node_modules/.c/d.py"].map(|name| root.join(name));
        assert_eq!((found, is_whole), (expected.to_vec(), true));
        assert!(!find(3).1);
    }

    #[test]
    fn a_start_that_leads_nowhere_or_out_is_skipped_and_the_others_count() {
        let tree = Tree::new(&[("a.py", "")]);
        let fifo = tree.root().join("fifo.py");
        assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
        let (files, skipped) = tree.walk(&["none.py", "..", "a.py", "fifo.py", "."]);
        assert_eq!(files, ["a.py"]);
        let expected =
            ["..: outside the root", "fifo.py: not a regular file", "none.py: does not exist"];
        assert_eq!(skipped, expected);
    }

    #[test]
    fn a_walk_that_finds_too_much_stops_and_says_so() {
        let tree = Tree::new(&[("a.py", ""), ("b/c.py", ""), ("d.py", ""), ("e/", "")]);
        let walk = |files_max| {
            let walk = walk_up_to(files_max, &tree.root(), false, &[PathBuf::from(".")], &|_| true);
            (walk.files.len(), walk.skipped)
        };
        assert_eq!(walk(3), (3, vec![]));
        let reason = "more than 2 files".to_owned();
        assert_eq!(walk(2), (2, vec![SkippedFile { path: ".".to_owned(), reason }]));
    }

    #[test]
    fn a_wanted_file_whose_name_is_not_utf8_is_skipped_and_said_so() {
        let tree = Tree::new(&[("a.py", "")]);
        fs::write(tree.root().join(OsStr::from_bytes(b"\xc7\xd1.py")), "").unwrap();
        fs::write(tree.root().join(OsStr::from_bytes(b"\xc7\xd1.hwp")), "").unwrap();
        let (files, skipped) = tree.walk(&["."]);
        assert_eq!(files, ["a.py"]);
        assert_eq!(skipped, ["\u{fffd}\u{fffd}.py: its path is not UTF-8"]);
    }

    #[test]
    fn an_unreadable_directory_is_skipped_and_said_so() {
        let tree = Tree::new(&[("a.py", ""), ("locked/b.py", "")]);
        let locked = tree.root().join("locked");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may enter it all the same.
        if fs::read_dir(&locked).is_err() {
            let (files, skipped) = tree.walk(&["."]);
            assert_eq!(files, ["a.py"]);
            assert_eq!(skipped, ["locked: not readable: permission denied"]);
        }
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o700)).unwrap();
    }
}
