//! Reading files whose paths come from a user or a project. Opening a named pipe waits for a writer, a device
//! may have no end, and kernel files (`/proc/kmsg`) may do both although they look regular, so none of them
//! is read.

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal as _, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatFs};

/// Another name of this process's input.
const STDIN: &str = "/dev/stdin";
/// A device without any bytes.
const EMPTY: &str = "/dev/null";

/// Magic numbers of Linux file systems whose files the kernel generates (statfs(2)): procfs, sysfs, debugfs
/// and tracefs.
#[cfg(target_os = "linux")]
const KERNEL_FILE_SYSTEMS: [u32; 4] = [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163];

/// Opens a regular file; an error for anything else, without waiting.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(refused("not a regular file"));
    }
    if is_of_kernel(rustix::fs::fstatfs(&file)) {
        return Err(refused("a file of the kernel"));
    }
    Ok(file)
}

/// Reads a regular file of at most `bytes_max` bytes, without waiting. For any other file the error says what
/// it is.
pub fn read_regular(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let length = file.metadata()?.len();
    if length > bytes_max {
        return Err(refused(&format!("larger than {}", size_words(bytes_max))));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // It may grow meanwhile.
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A limit as a reader expects it.
fn size_words(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        return format!("{} MiB", bytes >> 20);
    }
    format!("{bytes} bytes")
}

/// The same as text; an error if it is not UTF-8.
pub fn read_regular_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    let bytes = read_regular(path, bytes_max)?;
    String::from_utf8(bytes).map_err(|_| refused("not UTF-8"))
}

/// The first link between `root` and `path` that leads out of the root, as in a clone. A broken link counts.
#[must_use]
pub fn link_out_of(root: &Path, path: &Path) -> Option<PathBuf> {
    let is_inside = |link: &Path| {
        let target = link.canonicalize().ok().zip(root.canonicalize().ok());
        target.is_some_and(|(target, root)| target.starts_with(root))
    };
    let below: Vec<&Path> = path.ancestors().take_while(|at| *at != root).collect();
    let mut from_root = below.into_iter().rev();
    from_root.find(|at| at.is_symlink() && !is_inside(at)).map(Path::to_owned)
}

/// True if a path leads to something that must not be opened to read rules or settings: neither a folder nor
/// a regular file, or a kernel file.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    let Ok(metadata) = fs::metadata(path) else { return false };
    !metadata.is_dir() && (!metadata.is_file() || is_of_kernel(rustix::fs::statfs(path)))
}

#[cfg(target_os = "linux")]
fn is_of_kernel(found: rustix::io::Result<StatFs>) -> bool {
    found.is_ok_and(|it| {
        KERNEL_FILE_SYSTEMS.iter().any(|kind| i128::from(it.f_type) == i128::from(*kind))
    })
}

#[cfg(not(target_os = "linux"))]
fn is_of_kernel(_: rustix::io::Result<StatFs>) -> bool {
    false
}

/// Opens a regular file, a terminal, this process's input, or a pipe that a shell has opened
/// (`<(command)`).
pub fn open_input(path: &Path) -> io::Result<File> {
    if path == Path::new(STDIN) {
        let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        refuse_device(&file, &file.metadata()?)?;
        return Ok(file);
    }
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if kind.is_file() {
        return open_regular(path);
    }
    // A pipe without a name is a link that leads nowhere.
    if kind.is_fifo() && path.canonicalize().is_ok() {
        return Err(refused("a named pipe; redirect it to the input of the command instead"));
    }
    let file = File::open(path)?;
    refuse_device(&file, &file.metadata()?)?;
    Ok(file)
}

/// Refuses devices other than terminals and the empty one.
fn refuse_device(file: &File, metadata: &Metadata) -> io::Result<()> {
    let kind = metadata.file_type();
    let is_device = kind.is_char_device() || kind.is_block_device();
    let is_empty = || fs::metadata(EMPTY).is_ok_and(|empty| empty.rdev() == metadata.rdev());
    if is_device && !file.is_terminal() && !is_empty() {
        return Err(refused("a device"));
    }
    Ok(())
}

fn refused(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_an_end_is_opened() {
        let temp = tempfile::tempdir().unwrap();
        let (file, pipe) = (temp.path().join("file"), temp.path().join("pipe"));
        fs::write(&file, "text").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0)
            .unwrap();
        for open in [open_regular, open_input] {
            let mut text = String::new();
            open(&file).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "text");
            for special in [pipe.as_path(), temp.path(), Path::new("/dev/zero")] {
                assert!(open(special).is_err(), "{}", special.display());
            }
        }
        let linked = temp.path().join("linked");
        std::os::unix::fs::symlink("/proc/self/status", &linked).unwrap();
        assert_eq!(open_regular(&linked).is_err(), cfg!(target_os = "linux"));
        assert!(is_special(&pipe) && !is_special(&file) && !is_special(temp.path()));
        assert!(read_regular(&file, 3).is_err() && read_regular_text(&file, 4).is_ok());
        assert!(open_input(Path::new(EMPTY)).is_ok() && open_regular(Path::new(EMPTY)).is_err());
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        let open_in_shell = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let mut text = String::new();
        open_input(Path::new(&open_in_shell)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
    }
}
