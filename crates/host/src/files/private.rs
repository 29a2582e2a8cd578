//! Private folders (0700) and files (0600).

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

/// Creates a private directory (0700) with its parents. An existing one of this user loses the
/// permissions of group and others. Fails if it is not a directory, if it belongs to another user, or
/// if it is a symbolic link, because its author would choose the directory whose permissions change.
/// Links in its parents are followed.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let denied = |text: &str| {
        let text = format!("{} {text}", path.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    if fs::symlink_metadata(path)?.is_symlink() {
        return denied("is a symbolic link; a private folder must be a directory");
    }
    // The link check again and without a race, and for the directory whose mode changes.
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
    let file = create_temp_sibling(path, bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Like [`write_private`] without waiting for the disk. After a power failure the file may be empty
/// or truncated, which its readers must detect.
pub fn write_private_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_temp_sibling(path, bytes)?.persist(path).map(drop).map_err(|error| error.error)
}

fn create_temp_sibling(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    private_dir(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
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
        // What is below a linked parent is the user's own choice.
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
}
