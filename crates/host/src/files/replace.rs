//! Atomic replacement of one file that the program keeps for its users.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes a file atomically, replacing an existing one; a symbolic link is followed. Readers see
/// the old bytes or the new ones. Permissions are kept.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    // A new file gets the umask's permissions, as from an editor.
    let rights = fs::metadata(&path).map(|it| it.permissions());
    let is_new = rights.is_err();
    let rights = rights.unwrap_or_else(|_| Permissions::from_mode(0o666));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".moai-ralph-").permissions(rights.clone());
    let mut file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    if !is_new {
        file.as_file().set_permissions(rights)?;
    }
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_with_its_rights_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept.json");
        replace_file(&path, b"one").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("ours");
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).expect("ours");
        replace_file(&link, b"two").expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"two");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).expect("ours").count(), 2);
        assert!(replace_file(&folder.path().join("no/such/folder"), b"").is_err());
    }
}
