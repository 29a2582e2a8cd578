//! Scan results on disk, so that a text is not scanned twice with the same rules. Only a cache: if it
//! cannot be read or written, texts are scanned again.

use std::fs;
use std::path::{Path, PathBuf};

use moai_base::hash::ContentHash;
use moai_base::limits::{SCAN_CACHE_BYTES_MAX, SCAN_CACHE_RULE_SETS_MAX};
use moai_base::path::RelPath;
use moai_host::files;
use moai_host::store::ProjectKey;
use moai_scan::{RuleSet, ScanCache, ScanOutcome};

/// Prefix of the file names.
const PREFIX: &str = "scans-";

/// The results of one project and one set of rules.
#[derive(Debug)]
pub(crate) struct ScanCacheFile {
    file: PathBuf,
    rules_hash: ContentHash,
    cache: ScanCache,
}

impl ScanCacheFile {
    /// Loads the results from the state folder.
    pub(crate) fn load(state: &Path, project: &ProjectKey, rules: &RuleSet) -> Self {
        let rules_hash = rules.identity();
        let file = project.folder(state).join(format!("{PREFIX}{}", rules_hash.short_hex()));
        let bytes = files::read_private(&file, SCAN_CACHE_BYTES_MAX).unwrap_or_default();
        Self { file, rules_hash, cache: ScanCache::from_bytes(bytes, rules_hash) }
    }

    /// The cached outcome of a text with this hash at this path.
    pub(crate) fn get(
        &self,
        rules: &RuleSet,
        path: &RelPath,
        hash: ContentHash,
    ) -> Option<ScanOutcome> {
        self.cache.get(rules.scan_key(path, hash)?, path, hash)
    }

    /// Adds scan outcomes, and writes the file if any is new.
    pub(crate) fn save(
        mut self,
        rules: &RuleSet,
        scanned: impl IntoIterator<Item = (RelPath, ContentHash, ScanOutcome)>,
    ) {
        for (path, hash, outcome) in scanned {
            if let Some(key) = rules.scan_key(&path, hash) {
                self.cache.add(key, &outcome);
            }
        }
        if !self.cache.has_additions() {
            return;
        }
        let bytes = self.cache.to_bytes(self.rules_hash, SCAN_CACHE_BYTES_MAX);
        if let Err(error) = files::write_private_unsynced(&self.file, &bytes) {
            tracing::warn!(%error, "scan results are not cached");
        }
        self.forget_old_sets();
    }

    /// Removes the files of the least recently written rule sets.
    fn forget_old_sets(&self) {
        let entries = self.file.parent().and_then(|folder| folder.read_dir().ok());
        let mut sets: Vec<_> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        sets.sort();
        let count = sets.len().saturating_sub(SCAN_CACHE_RULE_SETS_MAX);
        for (_, file) in sets.into_iter().take(count) {
            // A leftover file does no harm.
            let _ = fs::remove_file(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_scan::scan_text;

    const TEXT: &str = "import os\nos.system('a ' + b)\n";

    fn set(message: usize) -> RuleSet {
        let text = format!(
            "id: call\nlanguages: [python]\nmessage: m{message}\nrule: {{ pattern: os.system($X) }}\n"
        );
        RuleSet::load([("r.yml".to_owned(), text)])
    }

    #[test]
    fn a_scan_is_cached_even_after_damage() {
        let state = tempfile::tempdir().expect("a folder");
        let project = ProjectKey::from_folder(Path::new("/project"));
        let path = RelPath::parse("a.py").expect("relative");
        let (rules, hash) = (set(0), ContentHash::of_bytes(TEXT.as_bytes()));
        let load = || ScanCacheFile::load(state.path(), &project, &rules);
        let outcome = scan_text(&rules, &path, TEXT, hash);
        for _ in 0..2 {
            assert_eq!(load().get(&rules, &path, hash), None);
            load().save(&rules, [(path.clone(), hash, outcome.clone())]);
            assert_eq!(load().get(&rules, &path, hash), Some(outcome.clone()));
            fs::write(&load().file, "damaged").expect("written");
        }
    }

    #[test]
    fn only_the_last_sets_of_rules_are_kept() {
        let state = tempfile::tempdir().expect("a folder");
        let project = ProjectKey::from_folder(Path::new("/project"));
        let path = RelPath::parse("a.py").expect("relative");
        let hash = ContentHash::of_bytes(TEXT.as_bytes());
        for number in 0..SCAN_CACHE_RULE_SETS_MAX + 2 {
            let rules = set(number);
            let kept = ScanCacheFile::load(state.path(), &project, &rules);
            kept.save(&rules, [(path.clone(), hash, ScanOutcome::default())]);
        }
        let files = project.folder(state.path()).read_dir().expect("a folder");
        assert_eq!(files.count(), SCAN_CACHE_RULE_SETS_MAX);
    }
}
