//! Writes that are whole or not there, and folders that only their owner can enter. It must not
//! know what is written.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::geteuid;

/// Writes a file through a temporary one in the same folder, so that a reader, a crash or a full
/// disk sees the old bytes or the new ones and nothing between. `mode` are its permission bits
/// (`0o600`), whatever the umask. A symbolic link stays and its target is replaced. The folder
/// must exist. After an error the old file is as it was.
pub fn write_atomically(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) => Path::new("."),
        None => return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file name")),
    };
    // The leading dot keeps walks and watchers away from it.
    let mut temporary = tempfile::Builder::new().prefix(".moai-ralph-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.as_file().set_permissions(Permissions::from_mode(mode))?;
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    // The new name itself is durable only once the folder is.
    File::open(folder)?.sync_all()
}

/// Makes sure that a directory exists that nobody else can enter (0700), with its parents. An
/// existing one of our own loses the rights of group and others. Fails when it is not a directory
/// or, itself or as a symbolic link, belongs to another user.
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let denied = |text: &str| {
        let text = format!("{} {text}", path.display());
        Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
    };
    // In a shared folder another user may have put a link to a directory of ours.
    if fs::symlink_metadata(path)?.uid() != geteuid().as_raw() {
        return denied("belongs to another user");
    }
    let directory = File::open(path)?;
    let metadata = directory.metadata()?;
    if metadata.uid() != geteuid().as_raw() {
        return denied("leads to a directory of another user");
    }
    if metadata.mode() & 0o077 != 0 {
        directory.set_permissions(Permissions::from_mode(metadata.mode() & 0o700))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_write_replaces_everything_with_the_mode_asked_for_and_leaves_nothing_behind() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a.json");
        write_atomically(&path, b"a longer first text", 0o600).unwrap();
        assert_eq!(mode(&path), 0o600);
        write_atomically(&path, b"second", 0o755).unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), mode(&path)), (&b"second"[..], 0o755));
        assert_eq!(names(temp.path()), ["a.json"]);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("folder")).unwrap();
        assert!(write_atomically(&temp.path().join("folder"), b"x", 0o600).is_err());
        assert!(write_atomically(&temp.path().join("none/a"), b"x", 0o600).is_err());
        assert_eq!(names(temp.path()), ["folder"]);
    }

    #[test]
    fn a_link_stays_and_its_target_gets_the_bytes() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("real")).unwrap();
        fs::write(temp.path().join("real/a"), "old").unwrap();
        symlink("real/a", temp.path().join("link")).unwrap();
        write_atomically(&temp.path().join("link"), b"new", 0o644).unwrap();
        assert!(temp.path().join("link").is_symlink());
        assert_eq!(fs::read(temp.path().join("real/a")).unwrap(), b"new");
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
}
