//! Bounded reading of option files, which a project may have replaced with anything.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use moai_base::limits::SOURCE_BYTES_MAX;

/// Reads an option file; `None` if it does not exist. Devices and pipes are not opened, because
/// reading them may block forever.
pub(crate) fn read_option_file(path: &Path) -> Result<Option<String>, String> {
    match read_bounded(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file in place of a parent folder: the option file does not exist.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let meta = path.metadata()?;
    if !meta.is_file() || meta.len() > SOURCE_BYTES_MAX {
        return Err(io::Error::other("not a regular file of at most 1 MiB"));
    }
    let mut text = String::new();
    File::open(path)?.take(SOURCE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
