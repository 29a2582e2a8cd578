//! Bounded reading of option files, which a project may have replaced with anything.

use std::io;
use std::path::Path;

use moai_base::limits::SOURCE_BYTES_MAX;
use moai_host::files::read_regular_text;

/// Reads an option file; `None` if it does not exist. Anything but a regular file is an
/// error, because reading it may block forever.
pub(crate) fn read_option_file(path: &Path) -> Result<Option<String>, String> {
    match read_regular_text(path, SOURCE_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file in place of a parent folder: the option file does not exist.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
