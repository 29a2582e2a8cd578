//! The last texts of files that hooks saw, as the baseline of the next edit. Bounded by bytes; the
//! oldest are dropped first.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moai_base::limits::CACHED_TEXTS_BYTES_MAX;
use moai_base::path::RelPath;

type FileKey = (PathBuf, RelPath);

/// A bounded cache of texts; see the module.
#[derive(Debug, Default)]
pub(crate) struct TextCache {
    by_file: HashMap<FileKey, Arc<str>>,
    /// The oldest first.
    order: VecDeque<FileKey>,
    bytes: usize,
}

impl TextCache {
    pub(crate) fn get(&self, root: &Path, path: &RelPath) -> Option<Arc<str>> {
        self.by_file.get(&(root.to_path_buf(), path.clone())).cloned()
    }

    pub(crate) fn keep(&mut self, root: &Path, path: &RelPath, text: Arc<str>) {
        let key = (root.to_path_buf(), path.clone());
        self.forget(&key);
        self.bytes += text.len();
        self.order.push_back(key.clone());
        self.by_file.insert(key, text);
        while self.bytes > CACHED_TEXTS_BYTES_MAX
            && let Some(oldest) = self.order.front().cloned()
        {
            self.forget(&oldest);
        }
    }

    /// Keeps a text, and returns the previous one of the file.
    pub(crate) fn replace(
        &mut self,
        root: &Path,
        path: &RelPath,
        text: Arc<str>,
    ) -> Option<Arc<str>> {
        let before = self.get(root, path);
        self.keep(root, path, text);
        before
    }

    pub(crate) fn forget_root(&mut self, root: &Path) {
        let of_root: Vec<FileKey> =
            self.order.iter().filter(|key| key.0 == root).cloned().collect();
        for key in of_root {
            self.forget(&key);
        }
    }

    fn forget(&mut self, key: &FileKey) {
        if let Some(text) = self.by_file.remove(key) {
            self.bytes -= text.len();
            self.order.retain(|known| known != key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_replaced_and_the_oldest_are_dropped() {
        let root = Path::new("/r");
        let path = |name: &str| RelPath::below(root, &root.join(name)).expect("relative");
        let mut texts = TextCache::default();
        texts.keep(root, &path("a"), "1".into());
        texts.keep(root, &path("b"), "2".into());
        texts.keep(root, &path("a"), "3".into());
        assert_eq!(texts.get(root, &path("a")).as_deref(), Some("3"));
        texts.keep(root, &path("c"), "x".repeat(CACHED_TEXTS_BYTES_MAX - 1).into());
        assert_eq!(texts.get(root, &path("b")), None, "it was the oldest");
        assert_eq!(texts.get(root, &path("a")).as_deref(), Some("3"));
        texts.forget_root(root);
        assert_eq!((texts.get(root, &path("a")), texts.bytes), (None, 0));
    }
}
