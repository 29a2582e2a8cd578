//! What language servers found in the state that a loop began with. Held per loop, by file and
//! server; a result is only used for the same base text and the same server. Pure bookkeeping.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::BASE_STATES_MAX;
use moai_base::path::RelPath;

/// The state that a loop's work is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BaseId {
    /// The project.
    pub(crate) root: PathBuf,
    /// The loop's id, with the commit where its base has moved.
    pub(crate) state: String,
}

/// One file of a base state, as one server sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BaseFile {
    /// The file.
    pub(crate) path: RelPath,
    /// Hash of its text in the base state.
    pub(crate) hash: ContentHash,
    /// The server as it was chosen: program, settings, packages.
    pub(crate) server: ContentHash,
}

/// What one server found in one file of a base state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BaseResult {
    /// The findings.
    pub(crate) findings: Vec<Finding>,
    /// Whether a fault of the project hid others.
    pub(crate) has_fault: bool,
}

type FileResults = HashMap<BaseFile, BaseResult>;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct BaseResults {
    states: HashMap<BaseId, FileResults>,
    order: VecDeque<BaseId>,
}

impl BaseResults {
    /// What was found in a file of a base state; `None` when it was not measured.
    pub(crate) fn get(&self, base: &BaseId, file: &BaseFile) -> Option<BaseResult> {
        self.states.get(base)?.get(file).cloned()
    }

    /// Keeps a result; of too many base states the oldest is dropped.
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
    fn a_result_holds_for_its_text_and_server_alone_and_the_oldest_state_is_dropped() {
        let mut results = BaseResults::default();
        let base = |number: usize| BaseId { root: "/r".into(), state: format!("loop-{number}") };
        let file = |text: &str, server: &str| BaseFile {
            path: RelPath::parse("a.py").unwrap(),
            hash: ContentHash::of_bytes(text.as_bytes()),
            server: ContentHash::of_bytes(server.as_bytes()),
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
