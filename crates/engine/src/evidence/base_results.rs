//! Results of language servers for the base states of loops, by file and server. A result is used
//! only for the same base text and the same server. Pure.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::BASE_STATES_MAX;
use moai_base::path::RelPath;
use moai_host::servers::ServerIdentity;

/// The state that a loop's work is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BaseId {
    pub(crate) root: PathBuf,
    /// The loop's id, with a commit if its base has moved.
    pub(crate) state: String,
}

/// One file of a base state, as one server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BaseFile {
    pub(crate) path: RelPath,
    /// Hash of its text in the base state.
    pub(crate) hash: ContentHash,
    pub(crate) server: ServerIdentity,
}

/// One server's findings in one file of a base state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BaseResult {
    pub(crate) findings: Vec<Finding>,
    /// True if a project fault hid other findings.
    pub(crate) has_fault: bool,
}

type FileResults = HashMap<BaseFile, BaseResult>;

/// The results of all base states; see the module.
#[derive(Debug, Default)]
pub(crate) struct BaseResults {
    states: HashMap<BaseId, FileResults>,
    order: VecDeque<BaseId>,
}

impl BaseResults {
    /// The result for a file of a base state; `None` if it was not measured.
    pub(crate) fn get(&self, base: &BaseId, file: &BaseFile) -> Option<BaseResult> {
        self.states.get(base)?.get(file).cloned()
    }

    /// Stores a result; beyond [`BASE_STATES_MAX`] base states the oldest is dropped.
    pub(crate) fn keep(&mut self, base: &BaseId, file: BaseFile, result: BaseResult) {
        if !self.states.contains_key(base) {
            self.order.push_back(base.clone());
            if self.order.len() > BASE_STATES_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.states.remove(&oldest);
            }
        }
        self.states.entry(base.clone()).or_default().insert(file, result);
    }

    /// Forgets the base states of a project.
    pub(crate) fn forget_root(&mut self, root: &Path) {
        self.states.retain(|base, _| base.root != root);
        self.order.retain(|base| base.root != root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_counts_only_for_its_text_and_server_and_the_oldest_state_is_dropped() {
        let mut results = BaseResults::default();
        let base = |number: usize| BaseId { root: "/r".into(), state: format!("loop-{number}") };
        let file = |text: &str, server: &str| BaseFile {
            path: RelPath::parse("a.py").unwrap(),
            hash: ContentHash::of_bytes(text.as_bytes()),
            server: ServerIdentity::new(
                ContentHash::of_bytes(b""),
                ContentHash::of_bytes(server.as_bytes()),
            ),
        };
        results.keep(&base(0), file("x", "s"), BaseResult::default());
        assert_eq!(results.get(&base(0), &file("x", "s")), Some(BaseResult::default()));
        assert_eq!(results.get(&base(0), &file("y", "s")), None);
        assert_eq!(results.get(&base(0), &file("x", "other")), None);
        for number in 1..=BASE_STATES_MAX {
            results.keep(&base(number), file("x", "s"), BaseResult::default());
        }
        assert_eq!(results.get(&base(0), &file("x", "s")), None);
        assert_eq!(
            results.get(&base(BASE_STATES_MAX), &file("x", "s")),
            Some(BaseResult::default())
        );
        results.forget_root(Path::new("/r"));
        assert_eq!(results.get(&base(BASE_STATES_MAX), &file("x", "s")), None);
    }
}
