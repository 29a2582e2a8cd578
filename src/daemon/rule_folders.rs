//! Rule files of folders that a caller names. It must not know what is in them.

use std::path::Path;

use super::project::read;
use crate::base::limits::RULE_FILES_MAX;
use crate::base::path::RelPath;
use crate::files;

/// Name and text of every rule file (`.yml`, `.yaml`) below a folder, sorted; also outside the
/// root. The error is one line: no such folder, none in it, one that cannot be read, too many.
pub(super) fn rule_files(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let shown = folder.display();
    if !folder.is_dir() {
        return Err(format!("rules {shown}: not a folder"));
    }
    let is_rule = |path: &RelPath| matches!(path.extension().as_deref(), Some("yml" | "yaml"));
    let walk = files::walk(folder, std::slice::from_ref(&folder.to_path_buf()), &is_rule);
    if let Some(skipped) = walk.skipped.first() {
        return Err(format!("rules {shown}/{}: {}", skipped.path, skipped.reason));
    }
    if walk.files.is_empty() || walk.files.len() > RULE_FILES_MAX {
        return Err(match walk.files.len() {
            0 => format!("rules {shown}: no .yml or .yaml file is in it"),
            count => format!("rules {shown}: {count} files are more than {RULE_FILES_MAX}"),
        });
    }
    let mut sources = Vec::new();
    for file in walk.files {
        let path = file.under(folder);
        if let Some(text) = read(&path)? {
            sources.push((path.display().to_string(), text));
        }
    }
    Ok(sources)
}
