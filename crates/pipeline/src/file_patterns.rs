//! Patterns of files below the root: a path, a folder, or a glob.

use globset::GlobBuilder;

/// Whether a path relative to the root matches one of the patterns. A pattern without glob
/// characters also matches everything below it; one that is not a valid glob matches nothing.
#[must_use]
pub fn matches_pattern(patterns: &[String], path: &str) -> bool {
    patterns.iter().any(|pattern| matches_one(pattern, path))
}

fn matches_one(pattern: &str, path: &str) -> bool {
    let folder = pattern.trim_end_matches('/');
    let is_plain = !folder.contains(['*', '?', '[', '{']);
    if is_plain {
        let below = path.strip_prefix(folder);
        return !folder.is_empty()
            && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    let glob = GlobBuilder::new(folder).literal_separator(true).build();
    glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_path_a_folder_or_a_glob() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(matches_pattern(&[pattern.to_owned()], path), expected, "{pattern} {path}");
        };
        check("src/a.rs", "src/a.rs", true);
        check("src/a.rs", "src/a.rs.bak", false);
        check("src", "src/b/c.rs", true);
        check("src/", "src/b.rs", true);
        check("src", "srcs/b.rs", false);
        check("src/*.rs", "src/b.rs", true);
        check("src/*.rs", "src/b/c.rs", false);
        check("src/**", "src/b/c.rs", true);
        check("**/*_test.go", "a/b/c_test.go", true);
        check("문서/**", "문서/가.md", true);
        check("", "a", false);
        check("[", "[", false);
        assert!(!matches_pattern(&[], "a"));
    }
}
