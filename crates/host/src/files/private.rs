//! Private folders (0700) and files (0600).

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use tempfile::NamedTempFile;

const TEMPORARY_PREFIX: &str = ".new-";

/// Creates a private directory (0700) with its parents. An existing one of this user loses the permissions of
/// its group and of other users. Fails if it is not a directory, if it belongs to another user, or if it is a
/// symbolic link, because its author would choose the directory whose permissions change. Links in its
/// parents are followed.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let denied = |text: &str| {
        let text = format!("{} {text}", path.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    if fs::symlink_metadata(path)?.is_symlink() {
        return denied("is a symbolic link; a private folder must be a directory");
    }
    // Repeats the link check without a race, and for the directory whose mode changes.
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let directory = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = directory.metadata()?;
    if metadata.uid() != geteuid().as_raw() {
        return denied("belongs to another user");
    }
    if metadata.mode() & 0o077 != 0 {
        directory.set_permissions(Permissions::from_mode(metadata.mode() & 0o700))?;
    }
    Ok(())
}

/// The bytes of a file within this limit; `None` if it is missing or unreadable.
#[must_use]
pub fn read_private(path: &Path, bytes_max: usize) -> Option<Vec<u8>> {
    let bytes_max = u64::try_from(bytes_max).unwrap_or(u64::MAX);
    let metadata = fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > bytes_max {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    File::open(path).ok()?.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Writes a private file (0600) atomically and durably: readers see the old bytes or all new ones,
/// even after a power failure.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = private_temporary(folder_of(path), bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Like [`write_private`] without waiting for the disk. After a power failure the file may be empty
/// or truncated, which its readers must detect.
pub fn write_private_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = private_temporary(folder_of(path), bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// A private file (0600) with these bytes in a private folder, removed on drop. It is locked while
/// its process lives; those of processes that were killed are removed first.
pub fn private_temporary(folder: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    private_dir(folder)?;
    remove_abandoned(folder)?;
    let mut file = create_locked(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}

fn create_locked(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = tempfile::Builder::new().prefix(TEMPORARY_PREFIX).tempfile_in(folder)?;
        file.as_file().lock()?;
        // Another process may have removed it as abandoned before it was locked.
        if file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}

/// Removes the temporary files of killed processes: those that are not locked.
pub fn remove_abandoned(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_temporary =
            entry.file_name().as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes());
        if !is_temporary {
            continue;
        }
        let removed = match open_for_lock(&entry.path()) {
            Ok(file) if file.try_lock().is_ok() => fs::remove_file(entry.path()),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        match removed {
            // Its writer has finished.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed?,
        }
    }
    Ok(())
}

fn open_for_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_private_directory_is_created_with_parents_and_an_open_one_is_closed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b");
        private_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        private_dir(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_file_or_somebody_elses_directory_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "").unwrap();
        assert!(private_dir(&temp.path().join("file")).is_err());
        let foreign = temp.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        // Only the superuser can give a directory away.
        if chown(&foreign, Some(4242), None).is_ok() {
            let refusal = private_dir(&foreign).unwrap_err();
            assert!(refusal.to_string().ends_with("belongs to another user"), "{refusal}");
        }
    }

    #[test]
    fn a_symbolic_link_is_refused_and_its_target_keeps_its_permissions() {
        let temp = tempfile::tempdir().unwrap();
        let (target, link) = (temp.path().join("target"), temp.path().join("link"));
        fs::create_dir(&target).unwrap();
        fs::set_permissions(&target, Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let refusal = private_dir(&link).unwrap_err();
        assert!(refusal.to_string().contains("is a symbolic link"), "{refusal}");
        assert_eq!(mode(&target), 0o755);
        // The user chose the contents of a linked parent.
        private_dir(&link.join("state")).unwrap();
        assert_eq!(mode(&target.join("state")), 0o700);
    }

    #[test]
    fn a_private_file_is_replaced_wholly_and_read_by_its_owner_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/kept");
        assert_eq!(read_private(&path, 100), None);
        for bytes in [b"one".as_slice(), b"another"] {
            write_private(&path, bytes).unwrap();
            assert_eq!(read_private(&path, 100).as_deref(), Some(bytes));
        }
        assert_eq!((mode(&path), read_private(&path, 6)), (0o600, None));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(read_private(temp.path(), 100), None);
    }
    #[test]
    fn what_a_killed_writer_left_goes_with_the_next_write_and_what_is_being_written_stays() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("state");
        let names = || {
            let mut names: Vec<String> = fs::read_dir(&folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        // A killed process neither removes its file nor keeps it locked.
        let (_, left) = private_temporary(&folder, b"half").unwrap().keep().unwrap();
        let being_written = private_temporary(&folder, b"slow").unwrap();
        assert!(!left.exists(), "the next temporary file removes it");
        let (_, left) = tempfile::Builder::new()
            .prefix(TEMPORARY_PREFIX)
            .tempfile_in(&folder)
            .unwrap()
            .keep()
            .unwrap();
        write_private(&folder.join("kept"), b"all").unwrap();
        assert!(!left.exists());
        let slow = being_written.path().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(names(), [slow, "kept".to_owned()]);
        being_written.persist(folder.join("slow")).unwrap();
        write_private_unsynced(&folder.join("kept"), b"more").unwrap();
        assert_eq!(names(), ["kept", "slow"]);
    }

    #[test]
    fn writers_of_one_folder_do_not_disturb_each_other() {
        const WRITES: usize = 200;
        let temp = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = temp.path().join(format!("state/{writer}"));
                scope.spawn(move || {
                    for number in 0..WRITES {
                        let text = number.to_string();
                        write_private_unsynced(&path, text.as_bytes()).unwrap();
                        assert_eq!(read_private(&path, 10).unwrap(), text.as_bytes());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(temp.path().join("state")).unwrap().count(), 4);
    }
}
