//! Expands file name patterns as a shell does.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

/// The existing files below a folder that match a pattern such as `mk/*.mk`, sorted by name; a pattern
/// without wildcards matches one file. Each folder is read up to `entries_max` entries.
#[must_use]
pub fn expand_pattern(folder: &Path, pattern: &str, entries_max: usize) -> Vec<PathBuf> {
    let mut places = vec![folder.to_path_buf()];
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        let matcher = has_wildcard(name).then(|| matcher(name));
        places = match matcher {
            None => places.into_iter().map(|place| place.join(name)).collect(),
            Some(None) => return Vec::new(),
            Some(Some(matcher)) => {
                let entries = places.iter().flat_map(|place| entries(place, &matcher, entries_max));
                entries.take(entries_max).collect()
            }
        };
    }
    places.retain(|place| place.is_file());
    places.sort();
    places
}

fn has_wildcard(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

fn matcher(name: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(name).literal_separator(true).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

fn entries(folder: &Path, matcher: &GlobMatcher, entries_max: usize) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten().take(entries_max);
    entries.filter(|it| matcher.is_match(it.file_name())).map(|it| it.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_existing_files_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.mk", "a.mk", "c.txt", "mk/one/x.mk", "mk/two/x.mk", "mk/two/y.mk"] {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().expect("below")).expect("ours");
            std::fs::write(file, "").expect("ours");
        }
        let check = |pattern: &str, expected: &[&str]| {
            let found = expand_pattern(folder.path(), pattern, 100);
            let expected: Vec<PathBuf> = expected.iter().map(|it| folder.path().join(it)).collect();
            assert_eq!(found, expected, "{pattern}");
        };
        check("a.mk", &["a.mk"]);
        check("./*.mk", &["a.mk", "b.mk"]);
        check("mk/*/x.mk", &["mk/one/x.mk", "mk/two/x.mk"]);
        check("mk/two/[xy].mk", &["mk/two/x.mk", "mk/two/y.mk"]);
        for none in ["d.mk", "mk", "mk/[", "none/*.mk", ""] {
            check(none, &[]);
        }
    }
}
