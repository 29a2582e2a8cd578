//! File properties that a change set does not cover: the executable bit and symbolic links. Nothing
//! here follows a link.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::OFlags;

use super::is_real_path;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;

/// Prefix of the name of a new link until it replaces the old one.
const NEW_LINK_PREFIX: &str = ".moai-ralph-link-";

/// Makes a regular file executable for everyone who may read it, or for no one.
pub fn set_executable(root: &Path, path: &RelPath, is_program: bool) -> io::Result<()> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let flags = flags.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path.under(root))?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || !is_real_path(root, path) {
        return Err(io::Error::other("not a regular file"));
    }
    let mode = metadata.permissions().mode();
    let after = if is_program { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 };
    file.set_permissions(Permissions::from_mode(after))
}

/// Replaces the link whose target is `before` (`None`: the path must be free) by one to `after`, or removes
/// it. Fails and changes nothing if the path holds anything else.
pub fn set_link(
    root: &Path,
    path: &RelPath,
    before: Option<&Path>,
    after: Option<&Path>,
) -> io::Result<()> {
    let link = path.under(root);
    let parent = link.parent().unwrap_or(root);
    if after.is_some() {
        fs::create_dir_all(parent)?;
    }
    if parent.canonicalize()? != parent {
        return Err(io::Error::other("its path leads through a symbolic link"));
    }
    if before.is_some() && fs::read_link(&link).ok().as_deref() != before {
        return Err(io::Error::other("changed meanwhile"));
    }
    match (before, after) {
        (None, Some(after)) => symlink(after, &link),
        (Some(_), None) => fs::remove_file(&link),
        (Some(_), Some(after)) => {
            // Rename a new link over the old one, so that there is always one.
            let name = ContentHash::of_bytes(path.as_str().as_bytes()).short_hex();
            let new = parent.join(format!("{NEW_LINK_PREFIX}{name}"));
            // Left by a killed process.
            if new.is_symlink() {
                fs::remove_file(&new)?;
            }
            symlink(after, &new)?;
            fs::rename(&new, &link).or_else(|error| fs::remove_file(&new).and(Err(error)))
        }
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, std::path::PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        (temp, root)
    }

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    #[test]
    fn a_program_is_executed_by_those_who_read_it() {
        let (_temp, root) = root();
        let file = root.join("run");
        fs::write(&file, "x").unwrap();
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        set_executable(&root, &path("run"), true).unwrap();
        assert_eq!(mode(), 0o750);
        set_executable(&root, &path("run"), false).unwrap();
        assert_eq!(mode(), 0o640);
        symlink("run", root.join("link")).unwrap();
        assert!(set_executable(&root, &path("link"), true).is_err());
    }

    #[test]
    fn links_are_put_replaced_and_removed_only_where_they_are_as_expected() {
        let (_temp, root) = root();
        let (one, two) = (Path::new("one"), Path::new("two"));
        let leads = || fs::read_link(root.join("deep/link")).ok();
        let link = path("deep/link");
        set_link(&root, &link, None, Some(one)).unwrap();
        assert!(set_link(&root, &link, Some(two), Some(one)).is_err());
        assert!(set_link(&root, &link, None, Some(two)).is_err());
        set_link(&root, &link, Some(one), Some(two)).unwrap();
        assert_eq!(leads().as_deref(), Some(two));
        let names = || fs::read_dir(root.join("deep")).unwrap().map(|it| it.unwrap().file_name());
        assert_eq!(names().collect::<Vec<_>>(), ["link"]);
        // A killed process leaves its new link.
        let name = ContentHash::of_bytes(b"deep/link").short_hex();
        symlink("three", root.join("deep").join(format!("{NEW_LINK_PREFIX}{name}"))).unwrap();
        set_link(&root, &link, Some(two), Some(one)).unwrap();
        assert_eq!(names().collect::<Vec<_>>(), ["link"]);
        set_link(&root, &link, Some(one), Some(two)).unwrap();
        set_link(&root, &link, Some(two), None).unwrap();
        assert_eq!(leads(), None);
        symlink(root.join("deep"), root.join("alias")).unwrap();
        assert!(set_link(&root, &path("alias/link"), None, Some(one)).is_err());
    }
}
