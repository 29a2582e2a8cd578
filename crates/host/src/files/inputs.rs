//! Files that a user names to be read. Opening a named pipe waits for a writer, and a device may have no
//! end, so neither is read.

use std::fs::{self, File, Metadata};
use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Another name of this process's input.
const STDIN: &str = "/dev/stdin";
/// A device without any bytes.
const EMPTY: &str = "/dev/null";

/// Opens a regular file; an error for anything else, without waiting.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused("not a regular file")) }
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
    use std::io::Read as _;

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
        assert!(open_input(Path::new(EMPTY)).is_ok() && open_regular(Path::new(EMPTY)).is_err());
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        let open_in_shell = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        let mut text = String::new();
        open_input(Path::new(&open_in_shell)).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "");
    }
}
