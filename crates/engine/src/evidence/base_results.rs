//! Results of language servers for the base states of loops, by file and server. A result is used
//! only for the same base text and the same server, which callers with another PATH do not share. Pure.

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
    /// The server's id.
    pub(crate) sensor: String,
}

/// One server's findings in one file of a base state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BaseResult {
    pub(crate) findings: Vec<Finding>,
    /// True if a project fault hid other findings.
    pub(crate) has_fault: bool,
}

/// What is known of one base state.
#[derive(Debug, Default)]
struct BaseState {
    /// The first result of each server environment: packages that are installed or removed later change the server's
    /// identity, not the base.
    results: HashMap<BaseFile, Vec<(ServerIdentity, BaseResult)>>,
    /// The servers of each file when the loop began, by path and id.
    servers: HashMap<(RelPath, String), ServerIdentity>,
}

/// The results of all base states; see the module.
#[derive(Debug, Default)]
pub(crate) struct BaseResults {
    states: HashMap<BaseId, BaseState>,
    /// The states, the least recently used first.
    order: VecDeque<BaseId>,
}

impl BaseResults {
    /// The result for a file of a base state; `None` if it was not measured.
    pub(crate) fn get(
        &mut self,
        base: &BaseId,
        file: &BaseFile,
        server: ServerIdentity,
    ) -> Option<BaseResult> {
        self.mark_used(base);
        let mut measured = self.states.get(base)?.results.get(file)?.iter();
        let found = measured.find(|(other, _)| other.shares_environment(server));
        found.map(|(_, result)| result.clone())
    }

    /// Stores a result unless there is an earlier one; beyond [`BASE_STATES_MAX`] base states the one that was
    /// least recently used is dropped.
    pub(crate) fn keep(
        &mut self,
        base: &BaseId,
        file: BaseFile,
        server: ServerIdentity,
        result: BaseResult,
    ) {
        let measured = self.state(base).results.entry(file).or_default();
        if !measured.iter().any(|(other, _)| other.shares_environment(server)) {
            measured.push((server, result));
        }
    }

    /// Records the servers of a file when the loop began.
    pub(crate) fn note_server(
        &mut self,
        base: &BaseId,
        path: &RelPath,
        sensor: &str,
        server: ServerIdentity,
    ) {
        let key = (path.clone(), sensor.to_owned());
        self.state(base).servers.entry(key).or_insert(server);
    }

    /// True if a server measures the file with other packages, programs or settings than when the loop began.
    pub(crate) fn has_other_server(
        &self,
        base: &BaseId,
        path: &RelPath,
        sensor: &str,
        server: ServerIdentity,
    ) -> bool {
        let key = (path.clone(), sensor.to_owned());
        let first = self.states.get(base).and_then(|state| state.servers.get(&key));
        first.is_some_and(|first| first.shares_environment(server) && *first != server)
    }

    fn state(&mut self, base: &BaseId) -> &mut BaseState {
        if self.states.contains_key(base) {
            self.mark_used(base);
        } else {
            self.order.push_back(base.clone());
            if self.order.len() > BASE_STATES_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.states.remove(&oldest);
            }
        }
        self.states.entry(base.clone()).or_default()
    }

    fn mark_used(&mut self, base: &BaseId) {
        let at = self.order.iter().position(|other| other == base);
        if let Some(known) = at.and_then(|at| self.order.remove(at)) {
            self.order.push_back(known);
        }
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

    fn server(environment: &str, state: &str) -> ServerIdentity {
        let hash = |text: &str| ContentHash::of_bytes(text.as_bytes());
        ServerIdentity::new(hash(environment), hash(state))
    }

    fn file(text: &str) -> BaseFile {
        BaseFile {
            path: RelPath::parse("a.py").unwrap(),
            hash: ContentHash::of_bytes(text.as_bytes()),
            sensor: "pyright".to_owned(),
        }
    }

    fn base(number: usize) -> BaseId {
        BaseId { root: "/r".into(), state: format!("loop-{number}") }
    }

    #[test]
    fn a_result_counts_only_for_its_text_and_environment_and_the_oldest_state_is_dropped() {
        let mut results = BaseResults::default();
        let own = server("env", "s");
        results.keep(&base(0), file("x"), own, BaseResult::default());
        assert_eq!(results.get(&base(0), &file("x"), own), Some(BaseResult::default()));
        assert_eq!(results.get(&base(0), &file("y"), own), None);
        assert_eq!(results.get(&base(0), &file("x"), server("other", "s")), None);
        for number in 1..=BASE_STATES_MAX {
            results.keep(&base(number), file("x"), own, BaseResult::default());
        }
        assert_eq!(results.get(&base(0), &file("x"), own), None);
        let newest = base(BASE_STATES_MAX);
        assert_eq!(results.get(&newest, &file("x"), own), Some(BaseResult::default()));
        results.forget_root(Path::new("/r"));
        assert_eq!(results.get(&newest, &file("x"), own), None);
    }

    #[test]
    fn packages_that_change_later_do_not_change_the_base() {
        let mut results = BaseResults::default();
        let (first, later) = (server("env", "packages"), server("env", "other packages"));
        let path = RelPath::parse("a.py").unwrap();
        results.note_server(&base(0), &path, "pyright", first);
        assert!(!results.has_other_server(&base(0), &path, "pyright", first));
        assert!(results.has_other_server(&base(0), &path, "pyright", later));
        assert!(!results.has_other_server(&base(0), &path, "pyright", server("other", "")));
        results.keep(&base(0), file("x"), first, BaseResult::default());
        let faulty = BaseResult { has_fault: true, ..BaseResult::default() };
        results.keep(&base(0), file("x"), later, faulty);
        assert_eq!(results.get(&base(0), &file("x"), later), Some(BaseResult::default()));
    }
}
