//! The change under review: the text of each path at the base and now.

use moai_base::evidence::SkippedFile;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;

/// A change from the base to the current state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewChange {
    /// Text files, sorted by risk, then by path ([`ReviewChange::sort`]).
    pub files: Vec<ReviewFile>,
    /// Changed files that are listed for the judge and not shown: binary, secret, generated.
    pub omitted: Vec<SkippedFile>,
    /// Changed files that should have been shown and could not be read. With any of these the
    /// review is incomplete.
    pub unread: Vec<SkippedFile>,
}

/// One file before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewFile {
    pub path: RelPath,
    /// Text at the base; `None` if the file was absent.
    pub before: Option<ReviewText>,
    /// Text now; `None` if the file was deleted.
    pub after: Option<ReviewText>,
}

/// A text in two views with the same lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewText {
    /// The complete text.
    pub full: String,
    /// With comments blanked; `None` if the language is unknown.
    pub code: Option<String>,
}

/// Which version of a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextView {
    /// Without comments, if the language is known.
    Code,
    /// The complete text.
    Full,
}

impl ReviewText {
    #[must_use]
    pub fn in_view(&self, view: TextView) -> &str {
        match view {
            TextView::Code => self.code.as_deref().unwrap_or(&self.full),
            TextView::Full => &self.full,
        }
    }
}

impl ReviewFile {
    /// Deleted tests first, then deleted files, tests, code, and prose last, because the end of a
    /// change may be cut.
    fn risk(&self) -> u8 {
        match (self.after.is_none(), is_test(&self.path)) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) if is_prose(&self.path) => 4,
            (false, false) => 3,
        }
    }
}

impl ReviewChange {
    /// Sorts the files into the order they are shown in.
    pub fn sort(&mut self) {
        self.files.sort_by(|a, b| (a.risk(), &a.path).cmp(&(b.risk(), &b.path)));
    }

    /// True if nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.omitted.is_empty() && self.unread.is_empty()
    }

    /// Hash of the change: equal for the same texts under the same paths.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        let mut all = Vec::new();
        let mut push =
            |bytes: &[u8]| all.extend_from_slice(ContentHash::of_bytes(bytes).as_bytes());
        for file in &self.files {
            push(file.path.as_str().as_bytes());
            for side in [&file.before, &file.after] {
                push(side.as_ref().map_or(b"absent".as_slice(), |text| text.full.as_bytes()));
                push(&[u8::from(side.is_some())]);
            }
        }
        for skipped in self.omitted.iter().chain(&self.unread) {
            push(skipped.path.as_bytes());
            push(skipped.reason.as_bytes());
        }
        ContentHash::of_bytes(&all)
    }
}

/// True if a path is a test, by the names that test runners use.
fn is_test(path: &RelPath) -> bool {
    let path = path.as_str().to_lowercase();
    path.split('/').any(|part| {
        let words: Vec<&str> = part.split(['.', '_', '-']).collect();
        words.iter().any(|word| matches!(*word, "test" | "tests" | "spec" | "specs"))
            || part.split('.').next().is_some_and(|stem| {
                stem.ends_with("test") || stem.ends_with("tests") || stem.ends_with("spec")
            })
    })
}

fn is_prose(path: &RelPath) -> bool {
    path.extension().is_some_and(|it| matches!(it.as_str(), "md" | "txt" | "rst" | "adoc"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn path(text: &str) -> RelPath {
        RelPath::parse(text).expect("a relative path")
    }

    pub(crate) fn text(full: &str) -> ReviewText {
        ReviewText { full: full.to_owned(), code: None }
    }

    pub(crate) fn file(name: &str, before: Option<&str>, after: Option<&str>) -> ReviewFile {
        ReviewFile { path: path(name), before: before.map(text), after: after.map(text) }
    }

    pub(crate) fn change(files: Vec<ReviewFile>) -> ReviewChange {
        let mut change = ReviewChange { files, ..ReviewChange::default() };
        change.sort();
        change
    }

    #[test]
    fn deleted_files_and_tests_are_shown_first() {
        let change = change(vec![
            file("README.md", None, Some("x")),
            file("src/a.rs", None, Some("x")),
            file("src/old.rs", Some("x"), None),
            file("src/a_test.go", None, Some("x")),
            file("tests/it.rs", Some("x"), None),
            file("src/UserTest.java", Some("x"), None),
        ]);
        let order: Vec<_> = change.files.iter().map(|file| file.path.as_str()).collect();
        let expected = [
            "src/UserTest.java",
            "tests/it.rs",
            "src/old.rs",
            "src/a_test.go",
            "src/a.rs",
            "README.md",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_hash_distinguishes_empty_from_absent_files_and_paths() {
        let hash_of = |name, before, after| change(vec![file(name, before, after)]).hash();
        let hashes = [
            hash_of("a", None, Some("")),
            hash_of("a", Some(""), None),
            hash_of("a", Some("absent"), Some("")),
            hash_of("b", None, Some("")),
        ];
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[at + 1..].contains(hash), "{at}");
        }
        assert_eq!(hash_of("a", None, Some("")), hashes[0]);
    }
}
