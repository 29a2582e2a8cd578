//! Reads a file of options, which a project may have replaced with anything.

use std::path::Path;

use crate::base::limits::SOURCE_BYTES_MAX;

/// A file's text; `None` when it is not there. A project may hold anything under this name, so
/// devices and pipes are not opened and the size is bounded.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    use std::io::Read as _;
    let text = |meta: std::fs::Metadata| {
        if !meta.is_file() || meta.len() > SOURCE_BYTES_MAX {
            return Err(std::io::Error::other("not a regular file of at most 1 MiB"));
        }
        let mut text = String::new();
        std::fs::File::open(path)?.take(SOURCE_BYTES_MAX).read_to_string(&mut text)?;
        Ok(text)
    };
    match path.metadata().and_then(text) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // A file in the place of a folder is as good as no file.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}
