//! Special files in the place of files that libgit2 reads: it would wait for the writer of a named pipe, or
//! read a device without end.

use std::collections::BTreeSet;
use std::env;
use std::fmt;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use git2::{Index, Repository};

use super::object_folders::find_special_object;
use super::{path_of, read_some};
use crate::files::is_special;
use moai_base::limits::GIT_INCLUDES_MAX;
use moai_base::path::RelPath;

/// The file with the ignore rules of a repository alone.
const EXCLUDE: &str = "info/exclude";
/// Files in git's folder, and in the one that all worktrees share.
const OF_GIT: [&str; 12] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "index",
    "info/attributes",
    EXCLUDE,
    "info/grafts",
    "info/sparse-checkout",
    "packed-refs",
    "shallow",
];
/// Folders of git in which any file may be read.
const LISTED: [&str; 2] = ["logs", "refs"];
/// The folder with objects.
const OBJECTS: &str = "objects";
/// Rule files, which are read in every folder of the working tree.
const RULES: [&str; 2] = [".gitattributes", ".gitignore"];
/// Files in the folders from the root up to the top of the working tree.
const OF_WORK_TREE: [&str; 3] = [RULES[0], RULES[1], ".gitmodules"];
/// Keys of git's configuration whose values are paths of files that git reads, in lower case.
const FILE_KEYS: [&str; 3] = ["attributesfile", "excludesfile", "path"];
/// Files of the user's own folder for settings.
const OF_SETTINGS: [&str; 3] = ["git/attributes", "git/config", "git/ignore"];
/// Value that configurations use for "no file".
const EMPTY: &str = "/dev/null";

/// A file for which libgit2 is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnreadFile {
    /// It is neither a regular file nor a folder.
    Special(PathBuf),
    /// A configuration that includes too many files, perhaps itself.
    Including(PathBuf),
}

impl UnreadFile {
    fn into_path(self) -> PathBuf {
        let (Self::Special(path) | Self::Including(path)) = self;
        path
    }
}

impl fmt::Display for UnreadFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Special(path) => write!(out, "{} is not a regular file", path.display()),
            Self::Including(path) => {
                write!(out, "{} includes more than {GIT_INCLUDES_MAX} files", path.display())
            }
        }
    }
}

/// The first of git's files for a root that must not be read. [`find_special_rules`] finds those below
/// it.
pub(super) fn find_special_file(root: &Path) -> Option<UnreadFile> {
    for at in root.ancestors() {
        let git = at.join(".git");
        if let Some(special) = special_in(at, &OF_WORK_TREE).or_else(|| special(git.clone())) {
            return Some(special);
        }
        if git.exists() {
            return special_of_repository(&git).or_else(special_of_user);
        }
    }
    None
}

/// The first rule file below a folder of the working tree that must not be read, in the folders that git
/// reads: those with tracked files, and others that it does not ignore.
pub(super) fn find_special_rules(
    repository: &Repository,
    folder: &Path,
) -> Result<Option<UnreadFile>, git2::Error> {
    let work_tree = repository.workdir().and_then(|it| it.canonicalize().ok());
    let work_tree = work_tree.unwrap_or_else(|| folder.to_path_buf());
    let index = repository.index()?;
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        let entries: Vec<DirEntry> = folder.read_dir().into_iter().flatten().flatten().collect();
        if let Some(found) = entries.iter().find_map(special_rules) {
            return Ok(Some(found));
        }
        // Only now: the rules of this folder decide into which of its folders git looks.
        for entry in entries {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) || entry.file_name() == ".git" {
                continue;
            }
            let path = entry.path();
            let git = path.join(".git");
            if let Some(found) = special_of_git(&git) {
                return Ok(Some(found));
            }
            // Or something else of that name.
            let is_repository = git.symlink_metadata().is_ok();
            let Ok(below) = path.strip_prefix(&work_tree) else { continue };
            let below = path_of(&[below.as_os_str().as_encoded_bytes(), b"/"].concat());
            let is_ignored = || repository.is_path_ignored(&below).unwrap_or_default();
            if has_tracked(&index, &below) || !is_repository && !is_ignored() {
                open.push(path);
            }
        }
    }
    Ok(None)
}

/// The first file with rules in the folders of these paths that must not be read.
pub(super) fn find_special_rules_above(root: &Path, paths: &[RelPath]) -> Option<UnreadFile> {
    let folders: BTreeSet<&str> = paths.iter().flat_map(RelPath::folders).collect();
    folders.into_iter().find_map(|folder| special_in(&root.join(folder), &RULES))
}

fn has_tracked(index: &Index, folder: &Path) -> bool {
    index.find_prefix(folder).is_ok()
}

fn special_rules(entry: &DirEntry) -> Option<UnreadFile> {
    let kind = entry.file_type().ok()?;
    let is_file = kind.is_file() || kind.is_dir();
    let name = entry.file_name();
    if is_file || !RULES.iter().any(|rules| name == *rules) { None } else { special(entry.path()) }
}

/// The first file of a `.git` with ignore rules, or that leads to them, that must not be opened.
#[must_use]
pub fn unread_rules(git: &Path) -> Option<PathBuf> {
    let kind = git.metadata().ok()?;
    let mut files = vec![git.to_path_buf()];
    if kind.is_dir() {
        files.push(git.join(EXCLUDE));
    } else if let Some(folder) = linked_folder(git) {
        let shared = folder.join("commondir");
        files.extend(
            read_some(&shared).map(|it| folder.join(path_of(it.trim_ascii())).join(EXCLUDE)),
        );
        files.push(shared);
    }
    files.into_iter().find(|file| is_special(file))
}

/// The first of the user's own files of git that must not be opened.
#[must_use]
pub fn unread_rules_of_user() -> Option<PathBuf> {
    special_of_user().map(UnreadFile::into_path)
}

/// The first file of a `.git` that must not be read.
fn special_of_git(git: &Path) -> Option<UnreadFile> {
    let kind = git.metadata().ok()?;
    let of_repository = || special_of_repository(git);
    if kind.is_dir() { of_repository() } else { special(git.to_path_buf()).or_else(of_repository) }
}

fn special_of_repository(git: &Path) -> Option<UnreadFile> {
    let folder = if git.is_dir() { git.to_path_buf() } else { linked_folder(git)? };
    special_of_folder(&folder).or_else(|| {
        let shared = read_some(&folder.join("commondir"))?;
        special_of_folder(&folder.join(path_of(shared.trim_ascii())))
    })
}

fn special_of_folder(folder: &Path) -> Option<UnreadFile> {
    special_in(folder, &OF_GIT)
        .or_else(|| LISTED.iter().find_map(|listed| special_below(folder.join(listed))))
        .or_else(|| find_special_object(&folder.join(OBJECTS)))
        .or_else(|| special_of_configuration(&folder.join("config")))
}

fn special_of_user() -> Option<UnreadFile> {
    let home = PathBuf::from(env::var_os("HOME")?);
    let settings = env::var_os("XDG_CONFIG_HOME");
    let settings = settings.map_or_else(|| home.join(".config"), PathBuf::from);
    special(home.join(".gitconfig"))
        .or_else(|| special_in(&settings, &OF_SETTINGS))
        .or_else(|| special_of_configuration(&home.join(".gitconfig")))
        .or_else(|| special_of_configuration(&settings.join("git/config")))
}

/// The first file that must not be read among those that a configuration refers to.
fn special_of_configuration(config: &Path) -> Option<UnreadFile> {
    let mut open = vec![config.to_path_buf()];
    let mut files_left = GIT_INCLUDES_MAX;
    while let Some(file) = open.pop() {
        let Some(text) = read_some(&file) else { continue };
        for named in named_files(&file, &String::from_utf8_lossy(&text)) {
            if files_left == 0 {
                return Some(UnreadFile::Including(config.to_path_buf()));
            }
            files_left -= 1;
            if let Some(found) = special(named.clone()) {
                return Some(found);
            }
            open.push(named);
        }
    }
    None
}

/// The paths in a configuration, in any section.
fn named_files(config: &Path, text: &str) -> Vec<PathBuf> {
    let text = text.replace("\\\n", "");
    let lines =
        text.lines().flat_map(|line| line.match_indices('=').map(move |(at, _)| (line, at)));
    let values = lines.filter_map(|(line, at)| {
        let key = line[..at].trim_end().rsplit(|it: char| !it.is_ascii_alphanumeric()).next()?;
        FILE_KEYS.contains(&&*key.to_ascii_lowercase()).then(|| line[at + 1..].trim())
    });
    let folder = config.parent().unwrap_or(config);
    let path = |value: &str| {
        let plain = value.replace('"', "").replace("\\\\", "\\");
        match (plain.strip_prefix("~/"), env::var_os("HOME")) {
            (Some(below), Some(home)) => Path::new(&home).join(below),
            _ => folder.join(plain),
        }
    };
    values.filter(|value| !matches!(*value, "" | EMPTY)).map(path).collect()
}

/// The folder that a `.git` file points to.
fn linked_folder(git: &Path) -> Option<PathBuf> {
    let text = read_some(git)?;
    let named = text.strip_prefix(b"gitdir:")?;
    Some(git.parent()?.join(path_of(named.trim_ascii())))
}

fn special_in(folder: &Path, names: &[&str]) -> Option<UnreadFile> {
    names.iter().find_map(|name| special(folder.join(name)))
}

pub(super) fn special_below(folder: PathBuf) -> Option<UnreadFile> {
    let mut open = vec![folder];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let kind = entry.file_type().ok();
            if kind.is_some_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            } else if !kind.is_some_and(|kind| kind.is_file())
                && let Some(found) = special(entry.path())
            {
                return Some(found);
            }
        }
    }
    None
}

pub(super) fn special(path: PathBuf) -> Option<UnreadFile> {
    is_special(&path).then_some(UnreadFile::Special(path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn pipes_and_devices_are_found_in_every_place_that_git_reads() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let below = root.join("a/b");
        let shared = root.join(".git/worktrees/x");
        for folder in [
            &below,
            &root.join(".git/info"),
            &root.join(".git/refs/heads"),
            &shared,
            &root.join("linked"),
        ] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(root.join(".git/config"), "[core]\n").unwrap();
        fs::write(root.join("linked/.git"), format!("gitdir: {}\n", shared.display())).unwrap();
        fs::write(shared.join("commondir"), "../..\n").unwrap();
        assert_eq!(find_special_file(&below), None);
        let special = |path: &Path| Some(UnreadFile::Special(path.to_path_buf()));
        for name in [
            ".git/HEAD",
            ".git/info/attributes",
            ".git/refs/heads/a",
            ".gitattributes",
            "a/.gitignore",
        ] {
            let path = root.join(name);
            symlink("/dev/null", &path).unwrap();
            assert_eq!(find_special_file(&below), special(&path), "{name}");
            fs::remove_file(path).unwrap();
        }
        symlink("/dev/zero", root.join(".git/packed-refs")).unwrap();
        let Some(UnreadFile::Special(found)) = find_special_file(&root.join("linked")) else {
            panic!("through the shared folder");
        };
        assert_eq!(found.canonicalize().unwrap(), Path::new("/dev/zero"));
    }

    #[test]
    fn files_that_a_configuration_names_are_found_in_every_spelling() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        symlink("/dev/zero", root.join("endless")).unwrap();
        let config = root.join(".git/config");
        let check = |text: &str, is_found: bool| {
            fs::write(&config, text.replace("ROOT", &root.display().to_string())).unwrap();
            assert_eq!(find_special_file(&root).is_some(), is_found, "{text}");
        };
        check("[include]\n\tpath = ROOT/endless\n", true);
        check("[include] PATH=\"../endless\"\n", true);
        check("[includeIf \"gitdir:x=]y\"] path = ../end\\\nless", true);
        check("[core]\n\texcludesFile = ROOT/endless", true);
        check("[core]\nattributesfile=ROOT/endless", true);
        check("[core]\n\texcludesFile = /dev/null\n[remote \"path\"]\nurl = /dev/zero\n", false);
        check("[include]\npath = none\n[difftool \"a\"]\npath = /bin/sh\n", false);
        fs::write(root.join("other"), "[core]\nattributesFile = endless\n").unwrap();
        check("[include]\npath = ../other\n", true);
        check("[include]\npath = config\npath = config\n", true);
        let found = find_special_file(&root).unwrap();
        assert_eq!(found, UnreadFile::Including(config));
    }

    #[test]
    fn rules_are_found_in_every_folder_that_git_looks_into() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let repository = Repository::init(&root).unwrap();
        let folders = ["new/deep", "old/deep", "out/deep", "forced/deep", "inner/.git", "inner/a"];
        for folder in folders {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("a.py"), "").unwrap();
        }
        fs::write(root.join(".gitignore"), "out/\nforced/\n").unwrap();
        let mut index = repository.index().unwrap();
        for tracked in ["old/deep/a.py", "forced/deep/a.py"] {
            index.add_path(Path::new(tracked)).unwrap();
        }
        let check = |name: &str, is_found: bool| {
            let path = root.join(name);
            symlink("/dev/zero", &path).unwrap();
            let found = find_special_rules(&repository, &root).unwrap();
            assert_eq!(found.is_some(), is_found, "{name}");
            fs::remove_file(path).unwrap();
        };
        for name in ["new/deep/.gitignore", "old/deep/.gitattributes", "forced/deep/.gitignore"] {
            check(name, true);
        }
        check("inner/.git/config", true);
        for name in ["out/.gitignore", "out/deep/.gitattributes", "inner/a/.gitignore", "new/x"] {
            check(name, false);
        }
    }
}
