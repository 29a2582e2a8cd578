//! Reads one file once, within bounds: text and hash of the same bytes, or the reason why not.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
#[cfg(target_os = "linux")]
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(target_os = "linux")]
use rustix::fs::Mode;
use rustix::fs::OFlags;

use super::{canonical, io_error_reason, resolve_in_root, skipped_file};
use moai_base::evidence::SkippedFile;
use moai_base::hash::ContentHash;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;

/// A file's text at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The path after following symbolic links.
    pub path: RelPath,
    /// The whole text, including a byte order mark.
    pub text: Arc<str>,
    /// Hash of these bytes.
    pub hash: ContentHash,
}

impl Snapshot {
    /// A text that may not be on disk, such as an earlier one.
    #[must_use]
    pub fn of_text(path: RelPath, text: Arc<str>) -> Self {
        let hash = ContentHash::of_bytes(text.as_bytes());
        Self { path, text, hash }
    }
}

/// Reads one file once. `path` is absolute or relative to the root; a symbolic link within the root
/// is followed.
///
/// The error is the skipped file with its reason: it does not exist, is not a regular file, is
/// larger than [`SOURCE_BYTES_MAX`], is not readable, is binary or not UTF-8, or is outside the
/// root. Never blocks on a FIFO and never reads beyond the limit, even while the file grows.
pub fn read_snapshot(root: &Path, path: &Path) -> Result<Snapshot, SkippedFile> {
    let root = canonical(root);
    let skip = |reason: &str| skipped_file(&root, path, reason);
    let place = resolve_in_root(&root, path)?;
    let bytes = bytes_of(&place.absolute).map_err(|reason| skip(&reason))?;
    let relative = place.relative.ok_or_else(|| skip("a directory"))?;
    text_of(relative, bytes).map_err(|reason| skip(&reason))
}

/// Reads many files of a root: each is opened relative to the root's folder, without following
/// links. Only paths that lead through links are resolved.
pub struct RootReader {
    root: PathBuf,
    #[cfg(target_os = "linux")]
    folder: Option<OwnedFd>,
}

impl RootReader {
    /// Opens a canonical root.
    #[must_use]
    pub fn open(root: &Path) -> Self {
        #[cfg(target_os = "linux")]
        let folder = {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(root, flags, Mode::empty()).ok()
        };
        Self {
            root: root.to_path_buf(),
            #[cfg(target_os = "linux")]
            folder,
        }
    }

    /// Reads a file like [`read_snapshot`].
    pub fn read(&self, path: &RelPath) -> Result<Snapshot, SkippedFile> {
        #[cfg(target_os = "linux")]
        if let Some(file) = self.file(path) {
            let bytes = bytes_in(file);
            return bytes
                .and_then(|bytes| text_of(path.clone(), bytes))
                .map_err(|reason| SkippedFile { path: path.to_string(), reason });
        }
        read_snapshot(&self.root, Path::new(path.as_str()))
    }

    /// Opens a regular file below the root without following links.
    #[cfg(target_os = "linux")]
    fn file(&self, path: &RelPath) -> Option<File> {
        use rustix::fs::{AtFlags, FileType, ResolveFlags, openat2, statat};

        let folder = self.folder.as_ref()?;
        // Opening a device can have side effects.
        let found = statat(folder, path.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        if !FileType::from_raw_mode(found.st_mode).is_file() {
            return None;
        }
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        openat2(folder, path.as_str(), flags, Mode::empty(), resolve).ok().map(File::from)
    }
}

/// A snapshot of bytes from another source, reported under `path`.
pub fn snapshot_of_bytes(path: RelPath, bytes: Vec<u8>) -> Result<Snapshot, SkippedFile> {
    let name = path.to_string();
    let text =
        if bytes.len() as u64 > SOURCE_BYTES_MAX { Err(too_large()) } else { text_of(path, bytes) };
    text.map_err(|reason| SkippedFile { path: name, reason })
}

fn text_of(path: RelPath, bytes: Vec<u8>) -> Result<Snapshot, String> {
    let hash = ContentHash::of_bytes(&bytes);
    if bytes.contains(&0) {
        return Err("binary".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned())?;
    Ok(Snapshot { path, text: text.into(), hash })
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, String> {
    // Checked before opening, because opening a device can have side effects; and again afterwards,
    // because the path may lead elsewhere by then.
    regular(&fs::symlink_metadata(path).map_err(|error| io_error_reason(&error))?)?;
    bytes_in(open(path).map_err(|error| io_error_reason(&error))?)
}

fn bytes_in(file: File) -> Result<Vec<u8>, String> {
    let length = regular(&file.metadata().map_err(|error| io_error_reason(&error))?)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let bounded = &mut file.take(SOURCE_BYTES_MAX + 1);
    bounded.read_to_end(&mut bytes).map_err(|error| io_error_reason(&error))?;
    if bytes.len() as u64 > SOURCE_BYTES_MAX { Err(too_large()) } else { Ok(bytes) }
}

/// Length in bytes of a regular file within the size limit.
fn regular(metadata: &Metadata) -> Result<u64, String> {
    match metadata {
        it if it.is_dir() => Err("a directory".to_owned()),
        it if !it.is_file() => Err("not a regular file".to_owned()),
        it if it.len() > SOURCE_BYTES_MAX => Err(too_large()),
        it => Ok(it.len()),
    }
}

fn too_large() -> String {
    format!("larger than {} MiB", SOURCE_BYTES_MAX / (1024 * 1024))
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Tree {
        temp: tempfile::TempDir,
    }

    impl Tree {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            fs::create_dir_all(temp.path().join("root/src")).unwrap();
            Self { temp }
        }

        fn root(&self) -> PathBuf {
            self.temp.path().canonicalize().unwrap().join("root")
        }

        fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.root().join(name);
            fs::write(&path, bytes).unwrap();
            path
        }

        fn skips(&self, path: &str, name: &str, reason: &str) {
            let skipped = read_snapshot(&self.root(), Path::new(path)).unwrap_err();
            assert_eq!((skipped.path.as_str(), skipped.reason.as_str()), (name, reason));
        }
    }

    #[test]
    fn text_and_hash_are_of_the_same_bytes_and_a_byte_order_mark_stays() {
        let tree = Tree::new();
        let bytes = "\u{feff}x = '한글'\r\n".as_bytes();
        let absolute = tree.file("src/a.py", bytes);
        let snapshot = read_snapshot(&tree.root(), Path::new("src/a.py")).unwrap();
        assert_eq!(snapshot.text.as_bytes(), bytes);
        assert_eq!(snapshot.hash, ContentHash::of_bytes(bytes));
        assert_eq!(read_snapshot(&tree.root(), &absolute).unwrap(), snapshot);
        let empty = tree.file("empty.py", b"");
        assert_eq!(&*read_snapshot(&tree.root(), &empty).unwrap().text, "");
    }

    #[test]
    fn the_size_bound_is_inclusive_and_what_lies_above_it_is_not_read() {
        let tree = Tree::new();
        let exact = usize::try_from(SOURCE_BYTES_MAX).unwrap();
        tree.file("exact.py", &vec![b'#'; exact]);
        assert_eq!(read_snapshot(&tree.root(), Path::new("exact.py")).unwrap().text.len(), exact);
        tree.file("big.py", &vec![b'#'; exact + 1]);
        tree.skips("big.py", "big.py", "larger than 1 MiB");
        // A sparse file: reading a terabyte would not come back.
        File::create(tree.root().join("huge.py")).unwrap().set_len(1 << 40).unwrap();
        tree.skips("huge.py", "huge.py", "larger than 1 MiB");
    }

    #[test]
    fn a_file_without_an_honest_size_stays_bounded() {
        // Files of this file system say they are empty and then deliver bytes, as a file does
        // that grows while it is read.
        if let Ok(bytes) = bytes_of(Path::new("/proc/self/maps")) {
            assert!(!bytes.is_empty() && bytes.len() as u64 <= SOURCE_BYTES_MAX);
        }
    }

    #[test]
    fn what_is_not_a_text_file_is_skipped_with_its_reason() {
        let tree = Tree::new();
        tree.file("a.bin", b"\x7fELF\0\0");
        tree.file("latin1.py", b"caf\xe9");
        tree.file("plain", b"x");
        let fifo = tree.root().join("fifo.py");
        assert!(std::process::Command::new("mkfifo").arg(fifo).status().unwrap().success());
        tree.skips("a.bin", "a.bin", "binary");
        tree.skips("latin1.py", "latin1.py", "not UTF-8");
        tree.skips("fifo.py", "fifo.py", "not a regular file");
        tree.skips("src", "src", "a directory");
        tree.skips(".", ".", "a directory");
        tree.skips("src/none.py", "src/none.py", "does not exist");
        tree.skips("plain/none.py", "plain/none.py", "does not exist");
        tree.skips("/dev/null", "/dev/null", "outside the root");
    }

    #[test]
    fn a_link_inside_the_root_is_its_target_and_one_that_leads_out_is_skipped() {
        let tree = Tree::new();
        tree.file("src/a.py", b"x = 1\n");
        fs::write(tree.temp.path().join("secret.py"), "x").unwrap();
        symlink("src/a.py", tree.root().join("link.py")).unwrap();
        symlink("../secret.py", tree.root().join("out.py")).unwrap();
        symlink("gone.py", tree.root().join("broken.py")).unwrap();
        symlink("loop.py", tree.root().join("loop.py")).unwrap();
        let snapshot = read_snapshot(&tree.root(), Path::new("link.py")).unwrap();
        assert_eq!(snapshot.path.as_str(), "src/a.py");
        tree.skips("out.py", "out.py", "outside the root");
        tree.skips("../secret.py", "../secret.py", "outside the root");
        tree.skips("broken.py", "broken.py", "broken symbolic link");
        tree.skips("loop.py", "loop.py", "broken symbolic link");
    }

    #[test]
    fn a_root_that_is_named_through_a_link_is_the_same_root() {
        let tree = Tree::new();
        tree.file("src/a.py", b"x");
        let alias = tree.temp.path().join("alias");
        symlink(tree.root(), &alias).unwrap();
        assert_eq!(
            read_snapshot(&alias, &alias.join("src/a.py")).unwrap().path.as_str(),
            "src/a.py"
        );
        let missing = alias.join("src/none.py");
        tree.skips(missing.to_str().unwrap(), "src/none.py", "does not exist");
    }

    #[test]
    fn a_file_without_read_permission_is_skipped() {
        let tree = Tree::new();
        let path = tree.file("a.py", b"x");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        // The superuser may read it all the same.
        if File::open(&path).is_err() {
            tree.skips("a.py", "a.py", "not readable: permission denied");
        }
    }

    #[test]
    fn a_root_reads_what_a_path_reads() {
        let tree = Tree::new();
        fs::create_dir(tree.root().join("real")).unwrap();
        tree.file("a.py", b"x = 1\n");
        tree.file("real/b.py", b"y = 2\n");
        tree.file("binary.py", b"\0");
        tree.file("bytes.py", b"\xff");
        symlink("real", tree.root().join("linked")).unwrap();
        symlink("a.py", tree.root().join("link.py")).unwrap();
        symlink("/etc/hosts", tree.root().join("outside.py")).unwrap();
        let root = RootReader::open(&tree.root());
        let names = ["a.py", "real/b.py", "binary.py", "bytes.py", "linked/b.py", "link.py"];
        for name in names.iter().chain(&["outside.py", "real", "missing.py"]) {
            let path = RelPath::below(&tree.root(), &tree.root().join(name)).unwrap();
            let (one, other) = (root.read(&path), read_snapshot(&tree.root(), Path::new(name)));
            assert_eq!(one, other, "{name}");
            assert_eq!(one.is_ok(), names[..2].contains(name) || name.starts_with("link"));
        }
    }
}
