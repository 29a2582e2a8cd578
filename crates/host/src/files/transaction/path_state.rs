//! State of one path below the root, and atomic writes to it. Symbolic links are never followed,
//! because they may lead out of the root.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use super::ApplyError;
use moai_base::hash::ContentHash;
use moai_base::limits::CHANGED_BYTES_MAX;
use moai_base::path::RelPath;

/// State of a path.
#[derive(Debug)]
pub(super) struct PathState {
    pub(super) content: PathContent,
    /// Missing parent folders, outermost first.
    pub(super) missing_folders: Vec<RelPath>,
}

#[derive(Debug)]
pub(super) enum PathContent {
    Nothing,
    File { hash: ContentHash, bytes: Vec<u8>, owner: FileOwner },
}

impl PathContent {
    pub(super) fn hash(&self) -> Option<ContentHash> {
        match self {
            Self::Nothing => None,
            Self::File { hash, .. } => Some(*hash),
        }
    }
}

/// Owner and permissions of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileOwner {
    user: u32,
    group: u32,
    mode: u32,
}

impl PathState {
    /// Inspects a path without following links. Anything but a regular file, or a parent that is
    /// not a folder, is refused.
    pub(super) fn inspect(root: &Path, path: &RelPath) -> Result<Self, ApplyError> {
        let obstructed = |at: &str, reason: &str| {
            let (path, reason) = (at.to_owned(), reason.to_owned());
            Err(ApplyError::Obstructed { path, reason })
        };
        let mut missing_folders = Vec::new();
        for folder in path.folders() {
            match root.join(folder).symlink_metadata() {
                Ok(meta) if meta.is_dir() => {}
                Ok(meta) if meta.is_symlink() => return obstructed(folder, "a symbolic link"),
                Ok(_) => return obstructed(folder, "not a folder"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing_folders.extend(RelPath::parse(folder));
                }
                Err(error) => {
                    return Err(ApplyError::Failed { path: folder.to_owned(), error });
                }
            }
        }
        let file = path.under(root);
        let meta = match file.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { content: PathContent::Nothing, missing_folders });
            }
            Err(error) => return Err(ApplyError::Failed { path: path.to_string(), error }),
        };
        match meta {
            it if it.is_symlink() => obstructed(path.as_str(), "a symbolic link"),
            it if it.is_dir() => obstructed(path.as_str(), "a folder"),
            it if !it.is_file() => obstructed(path.as_str(), "not a regular file"),
            it if it.len() > CHANGED_BYTES_MAX as u64 => obstructed(path.as_str(), "too large"),
            _ => Ok(Self {
                content: read_content(&file)
                    .map_err(|error| ApplyError::Failed { path: path.to_string(), error })?,
                missing_folders,
            }),
        }
    }
}

fn read_content(file: &Path) -> io::Result<PathContent> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let open = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file)?;
    let meta = open.metadata()?;
    let mut bytes = Vec::new();
    open.take(CHANGED_BYTES_MAX as u64).read_to_end(&mut bytes)?;
    let owner = FileOwner { user: meta.uid(), group: meta.gid(), mode: meta.mode() & 0o7777 };
    Ok(PathContent::File { hash: ContentHash::of_bytes(&bytes), bytes, owner })
}

/// Writes a new file durably. Without an owner it gets the defaults of this process.
pub(super) fn write_new(path: &Path, bytes: &[u8], owner: Option<&FileOwner>) -> io::Result<()> {
    let mode = if owner.is_some() { 0o600 } else { 0o666 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    if let Some(owner) = owner {
        let meta = file.metadata()?;
        if (meta.uid(), meta.gid()) != (owner.user, owner.group) {
            fchown(&file, Some(owner.user), Some(owner.group))?;
        }
        // After chown, which clears some bits.
        file.set_permissions(Permissions::from_mode(owner.mode))?;
    }
    file.sync_all()
}

/// Creates a folder unless it exists.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Renames without replacing anything.
pub(super) fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some file systems do not support this; the path was free a moment ago.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        Err(error) => Err(error.into()),
    }
}

/// Exchanges two files; false if the file system does not support it.
pub(super) fn exchange_files(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::io::Errno;
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes a file; returns whether it existed.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        // A parent folder is missing, or the name is not possible.
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename => Ok(false),
            _ => Err(error),
        },
    }
}

pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
