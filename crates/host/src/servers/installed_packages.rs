//! Installed packages, which no poll of a root covers: one is installed, replaced or edited without any file of the
//! project changing. A server reads each source of a Python package once, and does not notice a new package of npm.

use std::collections::BTreeMap;
use std::fs::{DirEntry, FileType};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::files::{FileStamp, await_tick, read_regular_text, stamp_file};
use moai_base::limits::{INSTALLED_FOLDERS_MAX, INSTALLED_SOURCES_STAMPED_MAX, SOURCE_BYTES_MAX};

/// Python writes compiled sources there whenever a package is imported.
const COMPILED: &str = "__pycache__";
/// Extensions of the files that a server reads in a package; `pth` files list further folders.
const SOURCES: [&str; 4] = ["py", "pyi", "pth", "typed"];

/// State of each folder of packages, kept between requests.
#[derive(Debug, Default)]
pub(super) struct InstalledPackages {
    known: Mutex<KnownPackages>,
}

#[derive(Debug, Default)]
struct KnownPackages {
    sites: BTreeMap<PathBuf, SitePackages>,
    scopes: BTreeMap<PathBuf, PackageScopes>,
}

/// The scopes of npm in one `node_modules`, as of its last change.
#[derive(Clone, Debug)]
struct PackageScopes {
    stamp: FileStamp,
    folders: Vec<PathBuf>,
}

impl InstalledPackages {
    /// Changes whenever a source in one of these folders was added, removed or written. In a folder with more
    /// than [`INSTALLED_SOURCES_STAMPED_MAX`] sources, a source that is overwritten in place is not detected;
    /// a replaced one is.
    pub(super) fn digest(&self, sites: &[PathBuf]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in sites {
            // Removed from the map while the disk is read, so that no request holds the lock meanwhile. A
            // concurrent request for the same folder reads it again.
            let mut site = self.known().sites.remove(path).unwrap_or_default();
            site.update(path);
            (path, site.digest()).hash(&mut hasher);
            self.known().sites.insert(path.clone(), site);
        }
        hasher.finish()
    }

    /// The folders of npm's scopes in a `node_modules` folder, such as `@types`, sorted. Each changes when one of its
    /// packages is added, removed or linked to another folder.
    pub(super) fn scopes(&self, node_modules: &Path) -> Vec<PathBuf> {
        let Some(stamp) = stamp_file(node_modules) else { return Vec::new() };
        let known =
            self.known().scopes.get(node_modules).filter(|known| known.stamp == stamp).cloned();
        let scopes = known.unwrap_or_else(|| {
            await_tick([&stamp]);
            let entries = std::fs::read_dir(node_modules).into_iter().flatten().flatten();
            let is_scope =
                |entry: &DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"@");
            let mut folders: Vec<PathBuf> =
                entries.filter(is_scope).map(|entry| entry.path()).collect();
            folders.sort();
            PackageScopes { stamp, folders }
        });
        self.known().scopes.insert(node_modules.to_path_buf(), scopes.clone());
        scopes.folders
    }

    fn known(&self) -> MutexGuard<'_, KnownPackages> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folders of one `site-packages`.
#[derive(Debug, Default)]
struct SitePackages {
    folders: BTreeMap<PathBuf, PackageFolder>,
    /// The folders that `pth` files list, as for packages installed in place; true for one that exists. A server that
    /// starts while one is missing does not notice when it appears.
    listed: BTreeMap<PathBuf, bool>,
}

/// One folder, as of its last change.
#[derive(Debug)]
struct PackageFolder {
    stamp: FileStamp,
    folders: Vec<PathBuf>,
    sources: Vec<(PathBuf, Option<FileStamp>)>,
}

impl SitePackages {
    /// Reads folders again that have changed; a folder changes with the names in it.
    fn update(&mut self, site: &Path) {
        let mut known = std::mem::take(&mut self.folders);
        let mut open = vec![site.to_path_buf()];
        while let Some(path) = open.pop() {
            let Some(stamp) = stamp_file(&path) else { continue };
            let folder = match known.remove(&path) {
                Some(folder) if folder.stamp == stamp => folder,
                _ => PackageFolder::read(&path, stamp, path == site),
            };
            if self.folders.len() + open.len() < INSTALLED_FOLDERS_MAX {
                open.extend(folder.folders.iter().cloned());
            }
            self.folders.insert(path, folder);
        }
        let sources: usize = self.folders.values().map(|folder| folder.sources.len()).sum();
        if sources <= INSTALLED_SOURCES_STAMPED_MAX {
            for (source, stamp) in self.folders.values_mut().flat_map(|it| &mut it.sources) {
                *stamp = stamp_file(source);
            }
        }
        self.listed = listed_folders(site, self.folders.get(site));
        let folders = self.folders.values();
        let sources = folders.clone().flat_map(|it| &it.sources);
        let stamps = sources.filter_map(|(_, stamp)| stamp.as_ref());
        await_tick(stamps.chain(folders.map(|folder| &folder.stamp)));
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for folder in self.folders.values() {
            folder.sources.hash(&mut hasher);
        }
        self.listed.hash(&mut hasher);
        hasher.finish()
    }
}

/// The folders that the `pth` files of a `site-packages` list, one per line, and whether they exist. Lines with
/// `import` are programs. Source: <https://docs.python.org/3/library/site.html>.
fn listed_folders(site: &Path, folder: Option<&PackageFolder>) -> BTreeMap<PathBuf, bool> {
    let sources = folder.into_iter().flat_map(|folder| &folder.sources);
    let mut listed = BTreeMap::new();
    for (file, _) in sources.filter(|(file, _)| file.extension().is_some_and(|it| it == "pth")) {
        let Ok(text) = read_regular_text(file, SOURCE_BYTES_MAX) else { continue };
        for line in text.lines().map(str::trim_end) {
            let is_program = line.starts_with("import ") || line.starts_with("import\t");
            if !line.is_empty() && !line.starts_with('#') && !is_program {
                let place = site.join(line);
                let exists = place.is_dir();
                listed.insert(place, exists);
            }
        }
    }
    listed
}

impl PackageFolder {
    /// Only links in `site-packages` itself are followed, so that they cannot loop.
    fn read(path: &Path, stamp: FileStamp, follows_links: bool) -> Self {
        let (mut folders, mut sources) = (Vec::new(), Vec::new());
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let entry_path = entry.path();
            let extension = entry_path.extension().and_then(|it| it.to_str());
            let is_folder = |kind: FileType| {
                kind.is_dir() || (follows_links && kind.is_symlink() && entry_path.is_dir())
            };
            if entry.file_type().is_ok_and(is_folder) {
                if entry.file_name() != COMPILED {
                    folders.push(entry_path);
                }
            } else if extension.is_some_and(|it| SOURCES.contains(&it)) {
                let stamp = stamp_file(&entry_path);
                sources.push((entry_path, stamp));
            }
        }
        sources.sort();
        Self { stamp, folders, sources }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_linked_package_is_a_package() {
        let temp = tempfile::tempdir().expect("a folder");
        let (site, package) = (temp.path().join("site-packages"), temp.path().join("package"));
        for folder in [&site, &package] {
            fs::create_dir(folder).expect("the folder is ours");
        }
        let source = package.join("a.py");
        fs::write(&source, "").expect("the folder is ours");
        std::os::unix::fs::symlink(".", package.join("loop")).expect("the folder is ours");
        let packages = InstalledPackages::default();
        let digest = || packages.digest(std::slice::from_ref(&site));
        let none = digest();
        std::os::unix::fs::symlink(&package, site.join("package")).expect("the folder is ours");
        let linked = digest();
        assert_ne!(linked, none);
        fs::write(&source, "a = 1\n").expect("the folder is ours");
        assert_ne!(digest(), linked);
    }

    #[test]
    fn the_scopes_of_a_node_modules_folder_follow_it() {
        let temp = tempfile::tempdir().expect("a folder");
        let packages = InstalledPackages::default();
        let modules = temp.path().join("node_modules");
        assert!(packages.scopes(&modules).is_empty());
        for (name, expected) in [("@b", &["@b"][..]), ("plain", &["@b"]), ("@a", &["@a", "@b"])] {
            fs::create_dir_all(modules.join(name)).expect("the folder is ours");
            let expected: Vec<PathBuf> = expected.iter().map(|name| modules.join(name)).collect();
            assert_eq!(packages.scopes(&modules), expected);
        }
    }

    #[test]
    fn sources_that_are_written_added_or_removed_change_the_digest_and_compiled_ones_do_not() {
        let temp = tempfile::tempdir().expect("a folder");
        let site = temp.path().join("site-packages");
        fs::create_dir_all(site.join("lib/inner")).expect("the folder is ours");
        let write = |name: &str, text: &str| {
            fs::write(site.join(name), text).expect("the folder is ours");
        };
        write("lib/__init__.py", "def f(): ...\n");
        write("lib/inner/deep.pyi", "x: int\n");
        let packages = InstalledPackages::default();
        let digest = || packages.digest(std::slice::from_ref(&site));
        let first = digest();
        fs::create_dir(site.join("lib/__pycache__")).expect("the folder is ours");
        write("lib/__pycache__/__init__.pyc", "compiled");
        write("lib/README", "text");
        assert_eq!(digest(), first, "nothing that a server reads has changed");
        write("lib/inner/deep.pyi", "x: str\n");
        let edited = digest();
        assert_ne!(edited, first, "overwritten in place, with the same size");
        write("lib/more.py", "");
        let added = digest();
        assert_ne!(added, edited);
        fs::remove_dir_all(site.join("lib/inner")).expect("it is there");
        assert_ne!(digest(), added);
        let fresh = InstalledPackages::default();
        assert_eq!(fresh.digest(std::slice::from_ref(&site)), digest(), "the same after a restart");
    }

    #[test]
    fn a_folder_that_a_pth_file_lists_changes_the_digest_when_it_appears() {
        let temp = tempfile::tempdir().expect("a folder");
        let (site, listed) = (temp.path().join("site-packages"), temp.path().join("listed"));
        fs::create_dir(&site).expect("the folder is ours");
        let text = format!("# why\nimport sys\n{}\n", listed.display());
        fs::write(site.join("lib.pth"), text).expect("the folder is ours");
        let packages = InstalledPackages::default();
        let digest = || packages.digest(std::slice::from_ref(&site));
        let missing = digest();
        fs::create_dir(&listed).expect("the folder is ours");
        let present = digest();
        assert_ne!(present, missing);
        fs::remove_dir(&listed).expect("it is there");
        assert_eq!(digest(), missing);
    }

    #[test]
    fn a_folder_that_is_missing_is_like_an_empty_one_until_it_appears() {
        let temp = tempfile::tempdir().expect("a folder");
        let site = temp.path().join("site-packages");
        let packages = InstalledPackages::default();
        let missing = packages.digest(std::slice::from_ref(&site));
        fs::create_dir(&site).expect("the folder is ours");
        fs::write(site.join("one.py"), "").expect("the folder is ours");
        assert_ne!(packages.digest(std::slice::from_ref(&site)), missing);
    }
}
