//! The files and folders that Go sources embed (`//go:embed`). gopls looks for them when it loads a
//! package, registers for none of them, and never looks again.

use std::path::{Path, PathBuf};

const DIRECTIVE: &str = "//go:embed";
/// Includes hidden files of a folder.
const ALL: &str = "all:";
const WILDCARDS: [char; 4] = ['*', '?', '[', '\\'];

/// Files and folders that one document names: what a Go source embeds, or schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedPlaces {
    /// Paths without wildcards, whether or not they exist.
    pub(super) files: Vec<PathBuf>,
    /// Folders whose entries matter: those with wildcards, and paths without an extension, which
    /// are mostly folders. Never the folder of the source itself, because each new source changes
    /// it.
    pub(super) folders: Vec<PathBuf>,
}

/// The places that a source in `folder` embeds.
pub(super) fn embedded_places(folder: &Path, text: &str) -> NamedPlaces {
    let mut places = NamedPlaces::default();
    for line in text.lines() {
        let Some(patterns) = line.trim_start().strip_prefix(DIRECTIVE) else { continue };
        if !patterns.starts_with([' ', '\t']) {
            continue;
        }
        for pattern in split(patterns) {
            let pattern = pattern.strip_prefix(ALL).unwrap_or(pattern);
            let fixed: PathBuf =
                pattern.split('/').take_while(|name| !name.contains(WILDCARDS)).collect();
            let has_wildcards = pattern.contains(WILDCARDS);
            let place = folder.join(&fixed);
            if !has_wildcards && fixed.extension().is_some() {
                places.files.push(place);
            } else if !fixed.as_os_str().is_empty() && fixed != Path::new(".") {
                places.folders.push(place);
            }
        }
    }
    places
}

/// Patterns are separated by spaces, or quoted like strings of Go.
fn split(patterns: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = patterns.trim_start();
    while let Some(first) = rest.chars().next() {
        let (pattern, after) = match first {
            '"' | '`' => rest[1..].split_once(first).unwrap_or((&rest[1..], "")),
            _ => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        found.push(pattern);
        rest = after.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_of_all_forms_of_patterns_are_found() {
        let text = "package a\n\n//go:embed data/a.txt \"with space.html\" `raw.sql`\nvar x string\n\
             \t//go:embed all:static images/*.png deep/*/x.css\n//go:embedded no.txt\n// go:embed no.txt\n\
             //go:embed *.sql\n//go:embed\n";
        let places = embedded_places(Path::new("/r"), text);
        let paths = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(paths(&places.files), ["/r/data/a.txt", "/r/with space.html", "/r/raw.sql"]);
        assert_eq!(paths(&places.folders), ["/r/static", "/r/images", "/r/deep"]);
        assert_eq!(embedded_places(Path::new("/r"), "//go:embed \""), NamedPlaces::default());
    }
}
