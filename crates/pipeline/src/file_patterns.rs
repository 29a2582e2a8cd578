//! Patterns of files below the root: a path, a folder, or a glob.

use globset::GlobBuilder;

/// True if a path relative to the root matches one of the patterns. A pattern without glob
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

/// The paths that the patterns of a TODO may match; without patterns, every path.
pub(crate) struct FileReach {
    patterns: Vec<Vec<PathPart>>,
}

impl FileReach {
    pub(crate) fn of(patterns: &[String]) -> Self {
        Self { patterns: patterns.iter().map(|pattern| path_parts(pattern)).collect() }
    }

    /// True if both may match one path. A safe approximation: case is ignored, as in some file
    /// systems, and a part with a bracket or a brace counts as matching anything from there on.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let is_all = self.patterns.is_empty() || other.patterns.is_empty();
        is_all
            || self.patterns.iter().any(|one| other.patterns.iter().any(|it| paths_meet(one, it)))
    }
}

/// A part of a pattern between slashes.
#[derive(Debug)]
enum PathPart {
    /// Any number of folders and files.
    Anything,
    /// A name without wildcards.
    Name(String),
    /// A name with wildcards.
    Wild(Vec<NamePart>),
}

/// A part of a name with wildcards.
#[derive(Debug)]
enum NamePart {
    Letter(char),
    AnyLetter,
    AnyLetters,
}

fn path_parts(pattern: &str) -> Vec<PathPart> {
    let folder = pattern.trim_end_matches('/').to_lowercase();
    let mut parts = Vec::new();
    for part in folder.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part.contains(['[', '{']) {
            parts.push(PathPart::Anything);
            return parts;
        }
        parts.push(match part {
            "**" => PathPart::Anything,
            part if part.contains(['*', '?']) => {
                PathPart::Wild(part.chars().map(name_part).collect())
            }
            part => PathPart::Name(part.to_owned()),
        });
    }
    if folder.ends_with("**") && matches!(parts.last(), Some(PathPart::Anything)) {
        // `folder/**` matches the contents of a folder, not the folder itself.
        parts.push(PathPart::Wild(vec![NamePart::AnyLetters]));
    } else if !folder.contains(['*', '?']) {
        parts.push(PathPart::Anything);
    }
    parts
}

fn name_part(letter: char) -> NamePart {
    match letter {
        '*' => NamePart::AnyLetters,
        '?' => NamePart::AnyLetter,
        letter => NamePart::Letter(letter),
    }
}

fn paths_meet(one: &[PathPart], other: &[PathPart]) -> bool {
    sequences_meet(one, other, |part| matches!(part, PathPart::Anything), parts_meet)
}

fn parts_meet(one: &PathPart, other: &PathPart) -> bool {
    match (one, other) {
        (PathPart::Name(one), PathPart::Name(other)) => one == other,
        (PathPart::Wild(wild), PathPart::Name(name))
        | (PathPart::Name(name), PathPart::Wild(wild)) => {
            let name: Vec<NamePart> = name.chars().map(NamePart::Letter).collect();
            names_meet(wild, &name)
        }
        (PathPart::Wild(one), PathPart::Wild(other)) => names_meet(one, other),
        (PathPart::Anything, _) | (_, PathPart::Anything) => true,
    }
}

fn names_meet(one: &[NamePart], other: &[NamePart]) -> bool {
    let is_many = |part: &NamePart| matches!(part, NamePart::AnyLetters);
    sequences_meet(one, other, is_many, |one, other| match (one, other) {
        (NamePart::Letter(one), NamePart::Letter(other)) => one == other,
        _ => true,
    })
}

/// True if two sequences can match the same one, where some elements match any number of others.
fn sequences_meet<T>(
    mut one: &[T],
    mut other: &[T],
    is_many: impl Fn(&T) -> bool,
    meet: impl Fn(&T, &T) -> bool,
) -> bool {
    while let ([first, rest @ ..], [other_first, other_rest @ ..]) = (one, other)
        && !is_many(first)
        && !is_many(other_first)
    {
        if !meet(first, other_first) {
            return false;
        }
        (one, other) = (rest, other_rest);
    }
    // The prefixes of `other` that can match the same as the current prefix of `one`.
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    for at in 0..=one.len() {
        let mut next = vec![false; other.len() + 1];
        for below in 0..=other.len() {
            if !reached[below] {
                continue;
            }
            let (here, there) = (one.get(at), other.get(below));
            let may_skip = [here, there].into_iter().flatten().any(&is_many);
            if here.is_some() && may_skip {
                next[below] = true;
            }
            if there.is_some() && may_skip {
                reached[below + 1] = true;
            }
            if let (Some(here), Some(there)) = (here, there)
                && meet(here, there)
            {
                next[below + 1] = true;
            }
        }
        if at < one.len() {
            reached = next;
        }
    }
    reached[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_may_name_one_path_meet() {
        let check = |one: &[&str], other: &[&str], expected: bool| {
            let reach = |patterns: &[&str]| {
                let patterns: Vec<String> = patterns.iter().map(|&it| it.to_owned()).collect();
                FileReach::of(&patterns)
            };
            let (left, right) = (reach(one), reach(other));
            assert_eq!(left.meets(&right), expected, "{one:?} {other:?}");
            assert_eq!(right.meets(&left), expected, "{other:?} {one:?}");
        };
        check(&["x/**"], &["x/two.txt"], true);
        check(&["x/**"], &["y/two.txt", "x/y/z"], true);
        check(&["x/**"], &["y/**"], false);
        check(&["x"], &["x/two.txt"], true);
        check(&["x/"], &["x"], true);
        check(&["x"], &["xy"], false);
        check(&[], &["a"], true);
        check(&[], &[], true);
        check(&["a.rs"], &["b.rs"], false);
        check(&["src/*.rs"], &["src/a.rs"], true);
        check(&["src/*.rs"], &["src/a/b.rs"], false);
        check(&["src/*.rs"], &["src/a.py"], false);
        check(&["src/a*.rs"], &["src/*b.rs"], true);
        check(&["src/a*.rs"], &["src/b*.rs"], false);
        check(&["src/?.rs"], &["src/ab.rs"], false);
        check(&["**/*_test.go"], &["a/b/c_test.go"], true);
        check(&["**/*_test.go"], &["a/b/?.go"], false);
        check(&["**/*_test.go"], &["a"], true);
        check(&["a/**/z"], &["a/b/**"], true);
        check(&["a/**/z"], &["b/**/z"], false);
        check(&["*.md"], &["README.md"], true);
        check(&["*.md"], &["docs/a.md"], false);
        check(&["src/A.rs"], &["src/a.rs"], true);
        check(&["src/[ab].rs"], &["src/c.rs"], true);
        check(&["src/{a,b}.rs"], &["src/c/d.rs"], true);
        check(&["src/[ab].rs"], &["lib/c.rs"], false);
        check(&["문서/**"], &["문서/가.md"], true);
    }

    #[test]
    fn what_two_patterns_match_is_where_they_meet() {
        // Every path over a small alphabet, against every pair of patterns.
        let patterns = [
            "a", "a/b", "a/*", "a/**", "**/b", "*/b", "*", "**", "a*", "?b", "a/?", "**/a/**",
            "b?/*",
        ];
        let names = ["a", "b", "ab", "bb", "ba"];
        let mut paths: Vec<String> = names.iter().map(|&it| it.to_owned()).collect();
        for _ in 0..2 {
            let longer: Vec<String> = paths
                .iter()
                .flat_map(|path| names.iter().map(move |name| format!("{path}/{name}")))
                .collect();
            paths.extend(longer);
        }
        for one in patterns {
            for other in patterns {
                let lists = [[one.to_owned()], [other.to_owned()]];
                let common = paths
                    .iter()
                    .find(|path| lists.iter().all(|patterns| matches_pattern(patterns, path)));
                let may_meet = FileReach::of(&lists[0]).meets(&FileReach::of(&lists[1]));
                assert!(may_meet || common.is_none(), "{one} {other} {common:?}");
                assert!(!may_meet || common.is_some(), "{one} {other} meet nowhere");
            }
        }
    }

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
