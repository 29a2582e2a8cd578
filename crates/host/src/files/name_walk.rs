//! Walks the names of a root's files, again and again: a folder is read only if its entries have changed since
//! the last walk, because hooks wait for it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, Stat, fstat, lstat, open, statfs};

use super::canonical;
use super::stamps::{FileClock, FileStamp, is_lack_of_resources};
use super::walk::{
    build_folder, entries_max, is_file, is_hidden, is_never_walked, is_unread_folder, watched_walk,
};
use moai_base::limits::WALK_FILES_MAX;
use moai_base::path::{RelPath, is_in_node_modules, is_installed, normalize};

/// File systems of Linux on which a folder's change time changes with its entries (statfs(2)): ext2 to ext4,
/// XFS, Btrfs, tmpfs, F2FS, ZFS. Network and FUSE file systems may cache or invent times, and a folder of
/// overlayfs has the time of its upper layer alone.
const TIMED_FILE_SYSTEMS: [u64; 6] =
    [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1];

/// The folder in which npm, pnpm and Yarn install packages.
const PACKAGES: &str = "node_modules";

/// The paths of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameWalk {
    /// Sorted, each once.
    pub names: Vec<RelPath>,
    /// Links to folders outside the root, also those in folders `node_modules`. `names` has no paths through
    /// them.
    pub outside_folders: Vec<LinkedFolder>,
    /// Links in folders `node_modules` to folders below the root, as npm, pnpm and Yarn link the packages of a
    /// monorepo. `names` has no paths through them.
    pub package_links: Vec<PathBuf>,
    /// Links in folders `node_modules` to the folder of a link in `outside_folders`; their target is that link.
    pub twin_links: Vec<LinkedFolder>,
    /// Folders `node_modules` below the root, but not the root's own, with their folders of scopes and the hidden
    /// files in them: package managers record each installation in one.
    pub installations: Vec<PathBuf>,
    /// True if the list is complete; otherwise there are more files than the limit.
    pub is_whole: bool,
}

impl NameWalk {
    /// The package links that lead to folders whose files the walk lists, or that another link leads to. Resolved
    /// on demand, because there may be hundreds and few polls need them.
    #[must_use]
    pub fn linked_packages(&self, root: &Path) -> Vec<LinkedFolder> {
        let mut packages = self.twin_links.clone();
        for link in &self.package_links {
            if let LinkTarget::Folder(target) = link_target(root, link) {
                packages.push(LinkedFolder { link: link.clone(), target });
            }
        }
        packages
    }

    /// A package outside the root that many packages link to is polled once.
    fn add_outside_folder(&mut self, folder: LinkedFolder, is_package: bool) {
        let twin = self.outside_folders.iter().find(|known| known.target == folder.target);
        match twin.filter(|_| is_package) {
            Some(twin) => {
                let twin = LinkedFolder { link: folder.link, target: twin.link.clone() };
                self.twin_links.push(twin);
            }
            None => self.outside_folders.push(folder),
        }
    }
}

/// A link below the root that leads to a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkedFolder {
    pub link: PathBuf,
    /// The folder, without links in its path.
    pub target: PathBuf,
}

/// Hidden folders that a walk enters.
#[derive(Clone, Copy, Debug)]
pub struct HiddenFolders {
    pub name: &'static str,
    /// Names of their subfolders that the walk enters too.
    pub inner: &'static [&'static str],
}

impl HiddenFolders {
    const NONE: Self = Self { name: "", inner: &[] };

    /// True if a walk skips a folder for a reason other than its own name.
    fn leaves_out(self, folder: &Path) -> bool {
        let name_of = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let name = name_of(folder).unwrap_or_default();
        let is_in_hidden = folder.parent().and_then(name_of).is_some_and(|it| it == self.name);
        if is_in_hidden {
            return !self.inner.contains(&name.as_str());
        }
        is_hidden(folder) && name != self.name
    }
}

/// The paths of the files below the root that a language server may read, including wanted hidden ones,
/// because some servers are configured by them: their own paths, those of symbolic links to files, and those
/// of files in a linked folder of the root. Links are followed once, so that they cannot loop. When a link is
/// changed, these paths lead to other files. Left out are hidden folders and folders that are never walked.
#[must_use]
pub fn walk_names(root: &Path, wanted: &dyn Fn(&RelPath) -> bool) -> Vec<RelPath> {
    walk_names_up_to(WALK_FILES_MAX, root, HiddenFolders::NONE, wanted).names
}

/// Like [`walk_names`], with the files of these hidden folders and, of the folders in them, these.
#[must_use]
pub fn walk_names_and_hidden(
    root: &Path,
    hidden: HiddenFolders,
    wanted: &dyn Fn(&RelPath) -> bool,
) -> Vec<RelPath> {
    walk_names_up_to(WALK_FILES_MAX, root, hidden, wanted).names
}

fn walk_names_up_to(
    files_max: usize,
    root: &Path,
    hidden: HiddenFolders,
    wanted: &dyn Fn(&RelPath) -> bool,
) -> NameWalk {
    let mut listings = FolderListings { hidden, ..FolderListings::default() };
    listings.walk_up_to(files_max, root, wanted, &|| false).unwrap_or_default()
}

/// The folders below a root as the last walk read them.
#[derive(Debug)]
pub struct FolderListings {
    folders: HashMap<PathBuf, FolderListing>,
    hidden: HiddenFolders,
    /// Number of the last walk.
    walk: u64,
}

/// One folder.
#[derive(Debug)]
struct FolderListing {
    /// `None` if it must be read again.
    stamp: Option<ListingStamp>,
    entries: Vec<ListedEntry>,
    /// True if the walk had no entries left for the rest.
    is_cut: bool,
    /// The last walk that visited it.
    walk: u64,
}

/// A folder whose entries are being visited.
#[derive(Debug)]
struct OpenListing {
    folder: PathBuf,
    listing: FolderListing,
    /// Index of the next entry.
    next: usize,
}

/// Differs whenever an entry was added, removed or renamed, or another folder is at the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListingStamp {
    stamp: FileStamp,
    device: u64,
}

#[derive(Clone, Debug)]
enum ListedEntry {
    File(RelPath),
    Folder(PathBuf),
    /// A folder `node_modules`, or the folder of a scope in one.
    Packages(PathBuf),
    Link(PathBuf),
    /// A link in such a folder to a path below the root.
    PackageLink(PathBuf),
    /// A hidden file in a folder `node_modules`, or a link of that name.
    Installation(PathBuf),
}

/// How the entries of a folder are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListedFolder {
    Sources,
    /// Only links that do not lead to installed packages, scopes, and hidden files.
    Packages,
}

/// Why a walk did not visit all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnfinishedWalk {
    /// There are more than the limit.
    TooManyFiles,
    /// Its caller no longer needs it.
    Superseded,
}

/// A walk in progress.
struct RunningWalk<'w> {
    root: &'w Path,
    wanted: &'w dyn Fn(&RelPath) -> bool,
    is_superseded: &'w dyn Fn() -> bool,
    files_max: usize,
    /// Entries that the walk may still visit.
    entries_left: usize,
    build_folder: Option<PathBuf>,
    /// The device of the root, if its file system times folders.
    timed_device: Option<u64>,
    /// The earliest change time that a folder changed after the start of the walk may have.
    earliest_ns: i128,
    names: Vec<RelPath>,
    links: Vec<PathBuf>,
    package_links: Vec<PathBuf>,
    installations: Vec<PathBuf>,
    /// True if folders could not be read for lack of descriptors or memory.
    is_lacking: bool,
}

impl Default for FolderListings {
    fn default() -> Self {
        Self { folders: HashMap::new(), hidden: HiddenFolders::NONE, walk: 0 }
    }
}

impl FolderListings {
    /// Like [`walk_names`], for a caller that must know whether these are all, and that may no longer
    /// need them while the walk of a large tree is in progress; `None` if that ended it, or if the system lacks
    /// descriptors or memory, because the files left out would count as deleted. `wanted` must be the same predicate
    /// for every walk; otherwise the listings must be replaced by new ones.
    pub fn walk(
        &mut self,
        root: &Path,
        wanted: &dyn Fn(&RelPath) -> bool,
        is_superseded: &dyn Fn() -> bool,
    ) -> Option<NameWalk> {
        self.walk_up_to(WALK_FILES_MAX, root, wanted, is_superseded)
    }

    fn walk_up_to(
        &mut self,
        files_max: usize,
        root: &Path,
        wanted: &dyn Fn(&RelPath) -> bool,
        is_superseded: &dyn Fn() -> bool,
    ) -> Option<NameWalk> {
        let root = canonical(root);
        self.walk += 1;
        let mut running = RunningWalk::new(&root, wanted, is_superseded);
        running.files_max = files_max;
        let visited = self.visit(&mut running);
        if visited == ControlFlow::Break(UnfinishedWalk::Superseded) {
            return None;
        }
        let is_whole = visited.is_continue();
        let walk = self.walk;
        self.folders.retain(|_, folder| folder.walk == walk);
        let RunningWalk { names, links, package_links, installations, is_lacking, .. } = running;
        if is_lacking {
            return None;
        }
        let own = NameWalk { names, package_links, installations, is_whole, ..NameWalk::default() };
        add_linked_names(own, files_max, &root, links, wanted)
    }

    /// Adds the names below the root, folder by folder, without recursion, because a tree may be thousands of
    /// folders deep.
    fn visit(&mut self, running: &mut RunningWalk<'_>) -> ControlFlow<UnfinishedWalk> {
        let mut open =
            vec![self.listing_of(running.root.to_path_buf(), ListedFolder::Sources, running)];
        while let Some(OpenListing { listing, next, .. }) = open.last_mut() {
            let entry = listing.entries.get(*next);
            *next += 1;
            match entry {
                Some(ListedEntry::File(_)) if running.names.len() >= running.files_max => {
                    return self.end(open, UnfinishedWalk::TooManyFiles);
                }
                Some(ListedEntry::File(path)) => running.names.push(path.clone()),
                Some(ListedEntry::Link(link)) => running.links.push(link.clone()),
                Some(ListedEntry::PackageLink(link)) => running.package_links.push(link.clone()),
                Some(ListedEntry::Installation(path)) => running.add_installation(path.clone()),
                Some(ListedEntry::Packages(below)) => {
                    let below = below.clone();
                    running.add_installation(below.clone());
                    open.push(self.listing_of(below, ListedFolder::Packages, running));
                }
                Some(ListedEntry::Folder(below))
                    if running.build_folder.as_ref() == Some(below) => {}
                Some(ListedEntry::Folder(_)) if (running.is_superseded)() => {
                    return self.end(open, UnfinishedWalk::Superseded);
                }
                Some(ListedEntry::Folder(below)) => {
                    let below = below.clone();
                    open.push(self.listing_of(below, ListedFolder::Sources, running));
                }
                None => {
                    let is_cut = listing.is_cut;
                    let done = open.pop();
                    self.keep(done);
                    if is_cut {
                        return self.end(open, UnfinishedWalk::TooManyFiles);
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Ends a walk early; the next one uses the listings read so far.
    fn end(
        &mut self,
        open: Vec<OpenListing>,
        reason: UnfinishedWalk,
    ) -> ControlFlow<UnfinishedWalk> {
        self.keep(open);
        ControlFlow::Break(reason)
    }

    fn keep(&mut self, listings: impl IntoIterator<Item = OpenListing>) {
        self.folders.extend(listings.into_iter().map(|open| (open.folder, open.listing)));
    }

    /// The listing of a folder, read only if the folder is not as it was.
    fn listing_of(
        &mut self,
        folder: PathBuf,
        kind: ListedFolder,
        running: &mut RunningWalk<'_>,
    ) -> OpenListing {
        let known = self.folders.remove(&folder).filter(|known| {
            let stamp = lstat(&folder).ok().and_then(|stat| running.stamp_of(&stat));
            known.stamp.is_some() && known.stamp == stamp
        });
        let mut listing = known.unwrap_or_else(|| running.read(&folder, kind, self.hidden));
        listing.walk = self.walk;
        OpenListing { folder, listing, next: 0 }
    }
}

impl<'w> RunningWalk<'w> {
    fn new(
        root: &'w Path,
        wanted: &'w dyn Fn(&RelPath) -> bool,
        is_superseded: &'w dyn Fn() -> bool,
    ) -> Self {
        let entries_left = entries_max(root);
        // Below a root with a bound, a listing holds as many entries as the walk had left.
        let is_bounded = entries_left < usize::MAX;
        Self {
            root,
            wanted,
            is_superseded,
            files_max: WALK_FILES_MAX,
            entries_left,
            build_folder: build_folder(root),
            timed_device: timed_device(root).filter(|_| !is_bounded),
            earliest_ns: FileClock::of_kernel().earliest_ns(),
            names: Vec::new(),
            links: Vec::new(),
            package_links: Vec::new(),
            installations: Vec::new(),
            is_lacking: false,
        }
    }

    fn add_installation(&mut self, path: PathBuf) {
        let packages = path.ancestors().take(2).find(|folder| folder.ends_with(PACKAGES));
        if packages.is_some_and(|packages| packages.parent() != Some(self.root)) {
            self.installations.push(path);
        }
    }

    /// The stamp of a folder; `None` if a later change may leave the same one.
    fn stamp_of(&self, stat: &Stat) -> Option<ListingStamp> {
        let stamp = ListingStamp { stamp: FileStamp::of_stat(stat), device: stat.st_dev };
        let is_timed = self.timed_device == Some(stamp.device);
        (is_timed && stamp.stamp.is_final(self.earliest_ns)).then_some(stamp)
    }

    /// Reads a folder; one that cannot be read is empty. Its stamp is that of the folder which is read, because
    /// another one may be at the path a moment later.
    fn read(
        &mut self,
        folder: &Path,
        listed: ListedFolder,
        hidden: HiddenFolders,
    ) -> FolderListing {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = open(folder, flags, Mode::empty());
        let stat = opened.as_ref().ok().and_then(|folder| fstat(folder).ok());
        let mut listing = FolderListing {
            stamp: stat.and_then(|stat| self.stamp_of(&stat)),
            entries: Vec::new(),
            is_cut: false,
            walk: 0,
        };
        let read = opened.and_then(Dir::new);
        self.is_lacking |= read.as_ref().is_err_and(|error| is_lack_of_resources(*error));
        let Ok(read) = read else { return FolderListing { stamp: None, ..listing } };
        for entry in read {
            self.is_lacking |= entry.as_ref().is_err_and(|error| is_lack_of_resources(*error));
            let Ok(entry) = entry else {
                listing.stamp = None;
                break;
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let path = folder.join(OsStr::from_bytes(name));
            let kind = match entry.file_type() {
                FileType::Unknown => kind_at(&path),
                kind => kind,
            };
            if listed == ListedFolder::Packages {
                listing.entries.extend(self.package_entry(path, name, kind));
                continue;
            }
            if self.entries_left == 0 {
                listing.is_cut = true;
                break;
            }
            self.entries_left -= 1;
            match kind {
                FileType::Symlink => {
                    let is_installation = name == PACKAGES.as_bytes();
                    let installation =
                        is_installation.then(|| ListedEntry::Installation(path.clone()));
                    listing.entries.extend(installation);
                    listing.entries.push(ListedEntry::Link(path));
                }
                FileType::Directory if name == PACKAGES.as_bytes() => {
                    listing.entries.push(ListedEntry::Packages(path));
                }
                FileType::Directory => {
                    let is_never = std::str::from_utf8(name).is_ok_and(is_never_walked);
                    if !is_never && !hidden.leaves_out(&path) {
                        listing.entries.push(ListedEntry::Folder(path));
                    }
                }
                FileType::RegularFile => {
                    let path = RelPath::below(self.root, &path).filter(|path| (self.wanted)(path));
                    listing.entries.extend(path.map(ListedEntry::File));
                }
                _ => {}
            }
        }
        // In the same order every time, so that a walk with a limit leaves out the same files.
        listing.entries.sort_by_cached_key(|entry| entry.order(self.root));
        listing
    }

    /// An entry of a folder of packages, if it is a scope or a link that does not lead to an installed package.
    fn package_entry(&self, path: PathBuf, name: &[u8], kind: FileType) -> Option<ListedEntry> {
        if kind == FileType::Directory {
            return name.starts_with(b"@").then_some(ListedEntry::Packages(path));
        }
        if kind == FileType::RegularFile && name.starts_with(b".") {
            return Some(ListedEntry::Installation(path));
        }
        if kind != FileType::Symlink {
            return None;
        }
        // pnpm's links are so many that resolving each takes too long.
        let written = normalize(&path.parent()?.join(path.read_link().ok()?));
        if let Some(below) = RelPath::below(self.root, &written) {
            return (!has_never_walked(&below)).then_some(ListedEntry::PackageLink(path));
        }
        let Ok(target) = path.canonicalize() else { return Some(ListedEntry::Link(path)) };
        if target.starts_with(self.root) {
            return Some(ListedEntry::PackageLink(path));
        }
        (!is_installed(&target)).then_some(ListedEntry::Link(path))
    }
}

/// The kind of an entry on a file system whose folders do not tell it.
fn kind_at(path: &Path) -> FileType {
    lstat(path).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
}

impl ListedEntry {
    /// Sorts files and folders so that a walk in this order yields sorted paths.
    fn order(&self, root: &Path) -> Vec<u8> {
        let below = |path: &Path| {
            let below = path.strip_prefix(root).unwrap_or(path);
            below.as_os_str().as_encoded_bytes().to_vec()
        };
        match self {
            Self::File(path) => path.as_str().as_bytes().to_vec(),
            Self::Link(path) | Self::PackageLink(path) | Self::Installation(path) => below(path),
            Self::Folder(path) | Self::Packages(path) => {
                let mut bytes = below(path);
                bytes.push(b'/');
                bytes
            }
        }
    }
}

/// The device of a root whose file system changes a folder's time with its entries.
fn timed_device(root: &Path) -> Option<u64> {
    let kind = u64::try_from(statfs(root).ok()?.f_type).ok()?;
    let device = lstat(root).ok()?.st_dev;
    TIMED_FILE_SYSTEMS.contains(&kind).then_some(device)
}

/// Adds the names that lead through links, which have their own limit; `None` for lack of descriptors or memory.
fn add_linked_names(
    own: NameWalk,
    files_max: usize,
    root: &Path,
    links: Vec<PathBuf>,
    wanted: &dyn Fn(&RelPath) -> bool,
) -> Option<NameWalk> {
    let mut walk = own;
    let mut linked_count = 0;
    'links: for link in links {
        let is_package = is_in_node_modules(&link);
        let through_link = match link_target(root, &link) {
            LinkTarget::LeftOut => continue,
            LinkTarget::OutsideFolder(target) => {
                walk.add_outside_folder(LinkedFolder { link, target }, is_package);
                continue;
            }
            LinkTarget::File | LinkTarget::Folder(_) if is_package => {
                walk.package_links.push(link);
                continue;
            }
            LinkTarget::File => vec![link],
            LinkTarget::Folder(target) => names_through_link(root, &link, &target)?,
        };
        for name in through_link {
            let Some(path) = RelPath::below(root, &name).filter(|path| wanted(path)) else {
                continue;
            };
            if linked_count == files_max {
                walk.is_whole = false;
                break 'links;
            }
            linked_count += 1;
            walk.names.push(path);
        }
    }
    walk.names.sort_unstable();
    Some(walk)
}

/// Where a link leads.
enum LinkTarget {
    /// Nowhere, or to a folder that no walk enters.
    LeftOut,
    File,
    /// A folder below the root.
    Folder(PathBuf),
    OutsideFolder(PathBuf),
}

fn link_target(root: &Path, link: &Path) -> LinkTarget {
    let Ok(target) = link.canonicalize() else { return LinkTarget::LeftOut };
    if !target.is_dir() {
        return LinkTarget::File;
    }
    let is_loop = link.starts_with(&target);
    if is_loop || is_hidden(link) {
        return LinkTarget::LeftOut;
    }
    match RelPath::below(root, &target) {
        Some(below) if has_never_walked(&below) => LinkTarget::LeftOut,
        Some(_) => LinkTarget::Folder(target),
        None if link.file_name().and_then(OsStr::to_str).is_none_or(is_never_walked) => {
            LinkTarget::LeftOut
        }
        None => LinkTarget::OutsideFolder(target),
    }
}

fn has_never_walked(path: &RelPath) -> bool {
    path.as_str().split('/').any(is_never_walked)
}

/// The paths of the files in a folder below the root that lead through a link; `None` for lack of descriptors or
/// memory.
fn names_through_link(root: &Path, link: &Path, target: &Path) -> Option<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in watched_walk(root, target).take(entries_max(root)) {
        if entry.as_ref().is_err_and(is_unread_folder) {
            return None;
        }
        let Ok(entry) = entry else { continue };
        if is_file(&entry)
            && let Ok(below) = entry.path().strip_prefix(target)
        {
            names.push(link.join(below));
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::process::{Resource, Rlimit, setrlimit};
    use tempfile::TempDir;

    use super::*;
    use crate::files::{stamp_sources, walk_watched};

    /// A tree of files, which is a project.
    struct Tree {
        temp: TempDir,
    }

    impl Tree {
        fn new(files: &[&str]) -> Self {
            let tree = Self { temp: tempfile::tempdir().unwrap() };
            fs::create_dir(tree.root().join(".moai")).unwrap();
            for name in files {
                tree.write(name);
            }
            tree
        }

        fn root(&self) -> PathBuf {
            self.temp.path().canonicalize().unwrap()
        }

        fn write(&self, name: &str) {
            let path = self.root().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    fn is_python(path: &RelPath) -> bool {
        path.extension().as_deref() == Some("py")
    }

    /// Waits until a change gets a later time than all changes so far.
    fn await_next_tick() {
        let clock = FileClock::of_kernel();
        let file = tempfile::NamedTempFile::new().unwrap();
        let last = FileStamp::new(&file.as_file().metadata().unwrap());
        while !last.is_final(clock.earliest_ns()) {
            std::thread::yield_now();
        }
    }

    fn walk_once(tree: &Tree, files_max: usize) -> NameWalk {
        walk_names_up_to(files_max, &tree.root(), HiddenFolders::NONE, &is_python)
    }

    #[test]
    fn a_hidden_file_that_is_wanted_is_a_name_and_a_hidden_folder_is_none() {
        let tree = Tree::new(&["a.py", ".tool", ".lib/b.py", "src/.tool"]);
        symlink("src", tree.root().join(".now")).unwrap();
        let all = |_: &RelPath| true;
        let names: Vec<String> =
            walk_names(&tree.root(), &all).iter().map(RelPath::to_string).collect();
        assert_eq!(names, [".tool", "a.py", "src/.tool"]);
        assert_eq!(walk_watched(&tree.root(), &all).len(), 1);
    }

    #[test]
    fn hidden_folders_are_entered_where_they_are_asked_for() {
        let tree =
            Tree::new(&["a/.tool/b", "a/.tool/in/c/d", "a/.tool/out/e", "a/.tool/in/.f/g", ".h/i"]);
        let hidden = HiddenFolders { name: ".tool", inner: &["in"] };
        let names = walk_names_and_hidden(&tree.root(), hidden, &|_| true);
        let names: Vec<&str> = names.iter().map(RelPath::as_str).collect();
        assert_eq!(names, ["a/.tool/b", "a/.tool/in/c/d"]);
    }

    #[test]
    fn a_link_to_a_folder_outside_the_root_is_listed_without_its_files() {
        let tree = Tree::new(&["a.py", "src/b.py"]);
        let outside = Tree::new(&["c.py"]);
        let target = outside.root();
        for link in ["src/out", "venv", ".hidden"] {
            symlink(&target, tree.root().join(link)).unwrap();
        }
        symlink("/", tree.root().join("all")).unwrap();
        let walk = walk_once(&tree, 10);
        assert_eq!(walk.names.len(), 2);
        let link = tree.root().join("src/out");
        assert_eq!(walk.outside_folders, [LinkedFolder { link, target }]);
    }

    #[test]
    fn links_to_packages_are_listed_unless_they_lead_to_installed_ones() {
        let tree = Tree::new(&["packages/core/a.py", "packages/app/a.py"]);
        let elsewhere = Tree::new(&["lib/b.py", "store/node_modules/c/c.py"]);
        let (root, outside) = (tree.root(), elsewhere.root());
        for folder in ["node_modules/@acme", "packages/app/node_modules", "node_modules/.pnpm/d"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let link = |link: &str, target: &Path| symlink(target, root.join(link)).unwrap();
        let core = Path::new("../../packages/core");
        link("node_modules/@acme/core", core);
        link("packages/app/node_modules/core", Path::new("../../core"));
        link("node_modules/absolute", &root.join("packages/core"));
        link("node_modules/root", Path::new(".."));
        link("node_modules/gone", Path::new("../packages/gone"));
        link("node_modules/d", Path::new(".pnpm/d"));
        link("node_modules/c", &outside.join("store/node_modules/c"));
        link("node_modules/lib", &outside.join("lib"));
        link("packages/app/node_modules/lib", &outside.join("lib"));
        let mut listings = FolderListings::default();
        for _ in 0..2 {
            let walk = listings.walk(&root, &is_python, &|| false).unwrap();
            let names: Vec<&str> = walk.names.iter().map(RelPath::as_str).collect();
            assert_eq!(names, ["packages/app/a.py", "packages/core/a.py"]);
            let linked =
                |link: &str, target: PathBuf| LinkedFolder { link: root.join(link), target };
            let lib = linked("node_modules/lib", outside.join("lib"));
            assert_eq!(walk.outside_folders, [lib]);
            let core = root.join("packages/core");
            let twin = linked("packages/app/node_modules/lib", root.join("node_modules/lib"));
            let links = [
                "node_modules/@acme/core",
                "node_modules/absolute",
                "packages/app/node_modules/core",
            ];
            let [scoped, absolute, inner] = links.map(|link| linked(link, core.clone()));
            assert_eq!(walk.linked_packages(&root), [twin, scoped, absolute, inner]);
            await_next_tick();
        }
    }

    #[test]
    fn installations_below_the_root_are_listed_with_their_records() {
        let tree = Tree::new(&[
            "a.py",
            "node_modules/.package-lock.json",
            "web/node_modules/.package-lock.json",
            "web/node_modules/@scope/core/a.py",
            "web/node_modules/lib/node_modules/.package-lock.json",
        ]);
        let installations = walk_once(&tree, 10).installations;
        let expected = ["", "/.package-lock.json", "/@scope"];
        let expected = expected.map(|name| tree.root().join(format!("web/node_modules{name}")));
        assert_eq!(installations, expected);
    }

    #[test]
    fn a_walk_that_leaves_names_out_reports_it_and_leaves_out_the_same() {
        let tree = Tree::new(&["a.py", "b/c.py", "d.txt"]);
        symlink("b", tree.root().join("e")).unwrap();
        let is_whole = |files_max| walk_once(&tree, files_max).is_whole;
        assert_eq!([is_whole(2), is_whole(1)], [true, false], "one of two files");
        tree.write("b/f.py");
        assert_eq!([is_whole(3), is_whole(2)], [true, false]);
        assert_eq!(walk_once(&tree, 2), walk_once(&tree, 2));
        // Paths through links have their own limit.
        fs::remove_file(tree.root().join("a.py")).unwrap();
        symlink("b", tree.root().join("g")).unwrap();
        assert_eq!([is_whole(4), is_whole(3)], [true, false]);
    }

    #[test]
    fn a_walk_below_a_folder_that_is_no_project_ends_after_its_bound() {
        let tree = Tree::new(&["a.py", "b/c.py"]);
        let walk = |entries_left| {
            let root = tree.root();
            let mut running =
                RunningWalk { entries_left, ..RunningWalk::new(&root, &is_python, &|| false) };
            let visited = FolderListings::default().visit(&mut running);
            (visited.is_continue(), running.names.len())
        };
        // `.moai`, `a.py`, `b` and `c.py`.
        assert_eq!(walk(4), (true, 2));
        let (is_whole, found) = walk(3);
        assert!(!is_whole && found <= 1, "the first entries count, {found} files");
        assert_eq!(walk(0), (false, 0));
    }

    #[test]
    fn a_folder_without_a_mark_is_read_each_time() {
        let tree = Tree::new(&["a.py"]);
        fs::remove_dir(tree.root().join(".moai")).unwrap();
        await_next_tick();
        let mut listings = FolderListings::default();
        let root = tree.root();
        listings.walk(&root, &is_python, &|| false);
        assert!(listings.folders.values().all(|folder| folder.stamp.is_none()));
    }

    #[test]
    fn a_tree_of_thousands_of_folders_below_each_other_is_walked() {
        let tree = Tree::new(&["a.py"]);
        // The longest path that a system opens holds fewer.
        let (root, mut made) = (tree.root(), 0);
        let mut at = root.clone();
        while fs::create_dir(at.join("d")).is_ok() {
            at.push("d");
            made += 1;
        }
        assert!(made > 1_000, "{made}");
        let walk = std::thread::Builder::new().stack_size(256 * 1_024);
        let names = walk.spawn(move || walk_names(&root, &is_python).len()).unwrap();
        assert_eq!(names.join().unwrap(), 1);
    }

    #[test]
    fn a_walk_that_is_superseded_has_no_names_and_the_next_one_has_all() {
        let tree = Tree::new(&["a/b.py", "c/d.py", "e/f.py"]);
        let mut listings = FolderListings::default();
        let visits = std::cell::Cell::new(0);
        let is_superseded = || {
            visits.set(visits.get() + 1);
            visits.get() > 2
        };
        assert_eq!(listings.walk(&tree.root(), &is_python, &is_superseded), None);
        let walk = listings.walk(&tree.root(), &is_python, &|| false).unwrap();
        assert_eq!((walk.names.len(), walk.is_whole), (3, true));
    }

    #[test]
    fn cargos_build_output_is_left_out_as_soon_as_there_is_a_manifest() {
        let tree = Tree::new(&["target/a.py", "b.py"]);
        let mut listings = FolderListings::default();
        let mut count = || listings.walk(&tree.root(), &is_python, &|| false).unwrap().names.len();
        assert_eq!(count(), 2);
        tree.write("Cargo.toml");
        assert_eq!(count(), 1);
        fs::remove_file(tree.root().join("Cargo.toml")).unwrap();
        assert_eq!(count(), 2);
    }

    /// Changes follow each other within one tick of the kernel's clock, and after it.
    #[test]
    fn kept_listings_find_what_a_new_walk_finds() {
        let tree = Tree::new(&[]);
        let root = tree.root();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("o.py"), "").unwrap();
        let mut listings = FolderListings::default();
        let mut number = 0x2545_F491_u64;
        let mut pick = |count: u64| {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            number % count
        };
        for step in 0..3_000 {
            let folder = ["", "a", "a/b", "c", "c-d", ".h"][usize::try_from(pick(6)).unwrap()];
            let at = root.join(folder);
            let name = at.join(format!("f{}.py", pick(4)));
            let other = root.join(["a", "a/b", "c", "e"][usize::try_from(pick(4)).unwrap()]);
            match pick(8) {
                0..=2 => drop(fs::create_dir_all(&at).and_then(|()| fs::write(&name, ""))),
                3 => drop(fs::remove_file(&name)),
                4 => drop(fs::rename(&name, other.join("moved.py"))),
                5 => drop(fs::remove_dir_all(&other)),
                6 => drop(symlink(outside.path().join("o.py"), &name)),
                _ => drop(
                    fs::rename(&other, root.join("e")).or_else(|_| symlink("a", root.join("l"))),
                ),
            }
            if step % 50 == 0 {
                // Past the tick, so that listings are kept.
                await_next_tick();
            }
            let kept = listings.walk(&root, &is_python, &|| false);
            assert_eq!(kept, Some(walk_once(&tree, 10_000)), "step {step}");
        }
    }

    #[test]
    fn a_folder_is_read_again_only_after_a_change() {
        let tree = Tree::new(&["a/b.py", "c/d.py"]);
        let root = tree.root();
        if timed_device(&root).is_none() {
            return;
        }
        let reads = std::cell::Cell::new(0);
        let is_wanted = |path: &RelPath| {
            reads.set(reads.get() + 1);
            is_python(path)
        };
        let mut listings = FolderListings::default();
        let mut read_by_walk = || {
            reads.set(0);
            listings.walk(&root, &is_wanted, &|| false);
            reads.get()
        };
        await_next_tick();
        assert_eq!([read_by_walk(), read_by_walk()], [2, 0]);
        tree.write("a/e.py");
        assert_eq!(read_by_walk(), 2, "the folder of the new file");
        fs::write(root.join("c/d.py"), "changed").unwrap();
        await_next_tick();
        read_by_walk();
        assert_eq!(read_by_walk(), 0, "the content of a file is not in a listing");
    }

    /// Uses up the descriptors of a process of its own, because a limit holds for all tests of one.
    #[test]
    fn a_poll_without_a_descriptor_has_no_result() {
        const CHILD: &str = "MOAI_RALPH_TEST_WITHOUT_DESCRIPTORS";
        let Some(root) = std::env::var_os(CHILD).map(PathBuf::from) else {
            let tree = Tree::new(&["a/b.py", "c.py"]);
            let name = "files::name_walk::tests::a_poll_without_a_descriptor_has_no_result";
            let mut test = std::process::Command::new(std::env::current_exe().unwrap());
            test.args([name, "--exact"]).env(CHILD, tree.root());
            let output = test.output().unwrap();
            let summary = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && summary.contains("1 passed"), "{summary}");
            return;
        };
        let mut listings = FolderListings::default();
        let mut walk = || listings.walk(&root, &is_python, &|| false);
        let names = walk().unwrap().names;
        assert_eq!(names.len(), 2);
        let limit = Rlimit { current: Some(64), maximum: Some(64) };
        setrlimit(Resource::Nofile, limit).unwrap();
        let mut open: Vec<fs::File> = std::iter::from_fn(|| fs::File::open(&root).ok()).collect();
        assert_eq!(walk_names(&root, &is_python), []);
        assert_eq!(stamp_sources(&root, &names), None);
        open.clear();
        assert_eq!(walk().map(|walk| walk.names.len()), Some(2));
        assert_eq!(stamp_sources(&root, &names).map(|stamps| stamps.len()), Some(2));
    }
}
