//! Folders that only their owner can enter. It must not know what they are for.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::process::geteuid;

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
}
