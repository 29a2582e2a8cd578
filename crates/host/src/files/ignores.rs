//! Evaluates `.gitignore` files from their texts alone, for a tree that need not be on disk.

use std::collections::BTreeMap;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use moai_base::path::RelPath;

/// Name of the rule files.
const GITIGNORE: &str = ".gitignore";

/// The rules of a tree.
#[derive(Debug, Default)]
pub struct IgnoreRules {
    /// By folder; the root is empty.
    rules: BTreeMap<String, Gitignore>,
}

impl IgnoreRules {
    #[must_use]
    pub fn is_ignore_file(path: &RelPath) -> bool {
        path.file_name() == GITIGNORE
    }

    /// Adds the rules of a file. An invalid line costs only itself, as in git.
    pub fn add_file(&mut self, path: &RelPath, text: &str) {
        let folder = path.folders().last().unwrap_or_default();
        let mut builder = GitignoreBuilder::new(Path::new("/").join(folder));
        for line in text.lines() {
            let _ = builder.add_line(None, line);
        }
        if let Ok(rules) = builder.build() {
            self.rules.insert(folder.to_owned(), rules);
        }
    }

    /// True if a file or one of its folders is excluded.
    #[must_use]
    pub fn excludes(&self, path: &RelPath) -> bool {
        let is_excluded = |at: &str, is_folder: bool| {
            let absolute = Path::new("/").join(at);
            let above = Path::new(at).ancestors().skip(1).filter_map(Path::to_str);
            let nearest = above.filter_map(|folder| self.rules.get(folder));
            let verdict = nearest.map(|rules| rules.matched(&absolute, is_folder));
            verdict.into_iter().find(|it| !it.is_none()).is_some_and(|it| it.is_ignore())
        };
        path.folders().any(|folder| is_excluded(folder, true)) || is_excluded(path.as_str(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_decides_and_a_folder_covers_what_is_in_it() {
        let path = |text: &str| RelPath::parse(text).unwrap();
        let mut ignores = IgnoreRules::default();
        ignores.add_file(&path(".gitignore"), ".env\r\n/data/\n*.log\n!data/kept\n");
        ignores.add_file(&path("src/.gitignore"), "!deep.log\nlocal/\n");
        for covered in [".env", "src/.env", "data/kept", "data/a/b", "a.log", "src/local/x"] {
            assert!(ignores.excludes(&path(covered)), "{covered}");
        }
        for free in ["env", "src/data/x", "src/deep.log", "local/x", "src/local"] {
            assert!(!ignores.excludes(&path(free)), "{free}");
        }
        assert!(
            IgnoreRules::is_ignore_file(&path("a/.gitignore"))
                && !IgnoreRules::is_ignore_file(&path("a.gitignore"))
        );
    }
}
