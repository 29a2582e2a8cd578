//! What the engine remembers while it runs: the last verified set of each file, what each session
//! wrote and was told, when files on disk were last written. Pure bookkeeping over maps.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use super::kept_lines::KeptLines;
use super::untold::Untold;
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::{DELIVERIES_PER_SESSION_MAX, PROJECTS_MAX, SESSIONS_MAX};
use crate::base::path::RelPath;
use crate::files::Stamp;
use crate::lsp::latency::Latency;
use crate::lsp::session::FileChange;
use crate::store::ProjectKey;

/// A verdict that came after its hook had gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Late {
    /// The project.
    pub(super) root: PathBuf,
    /// The file.
    pub(super) path: RelPath,
    /// Who says it.
    pub(super) sensor: String,
    /// The bytes it speaks of; when the file differs, it is not told any more.
    pub(super) hash: ContentHash,
    /// The words.
    pub(super) text: String,
    /// What the words compare with: a newer edit that comes before they are told compares with
    /// the same, so that nothing in between goes untold.
    pub(super) baseline: Option<Vec<Finding>>,
}

/// The bytes a verified set speaks of, and the set.
pub(super) type Verified = (ContentHash, Vec<Finding>);

/// Who reads late verdicts: an agent of a session. Subagents have ids of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reader {
    /// The session; empty when the host named none, and then nobody reads.
    pub(super) session: String,
    /// The subagent.
    pub(super) agent: Option<String>,
}

#[derive(Debug, Default)]
struct Session {
    written: BTreeSet<(PathBuf, RelPath)>,
    late: VecDeque<(Option<String>, Late)>,
    told_gaps: HashSet<String>,
    untold: Untold,
    last_use: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The lines of verified texts.
    pub(super) lines: KeptLines,
    /// By root and file, then by sensor.
    verified: HashMap<(PathBuf, RelPath), BTreeMap<String, Verified>>,
    sessions: HashMap<String, Session>,
    stamps: HashMap<PathBuf, BTreeMap<RelPath, Stamp>>,
    /// By root and server.
    latencies: HashMap<(PathBuf, String), Latency>,
    keys: HashMap<PathBuf, ProjectKey>,
    /// Roots, the least recently used first.
    roots: VecDeque<PathBuf>,
    use_count: u64,
}

impl Ledger {
    /// The last verified set of a file by one sensor, and the bytes it speaks of.
    pub(super) fn verified(&self, root: &Path, path: &RelPath, sensor: &str) -> Option<Verified> {
        self.verified.get(&(root.to_path_buf(), path.clone()))?.get(sensor).cloned()
    }

    /// Replaces the verified set.
    pub(super) fn set_verified(
        &mut self,
        root: &Path,
        path: &RelPath,
        sensor: &str,
        verdict: Verified,
    ) {
        let of_file = self.verified.entry((root.to_path_buf(), path.clone())).or_default();
        of_file.insert(sensor.to_owned(), verdict);
    }

    /// A session wrote a file.
    pub(super) fn wrote(&mut self, session: &str, root: &Path, path: &RelPath) {
        self.session(session).written.insert((root.to_path_buf(), path.clone()));
    }

    /// The files of a root that a session wrote.
    pub(super) fn written(&mut self, session: &str, root: &Path) -> Vec<RelPath> {
        let written = self.session(session).written.iter();
        written.filter(|(at, _)| at == root).map(|(_, path)| path.clone()).collect()
    }

    /// Keeps a late verdict for the reader's next hook.
    pub(super) fn deliver_later(&mut self, reader: &Reader, late: Late) {
        if reader.session.is_empty() {
            return;
        }
        let queue = &mut self.session(&reader.session).late;
        if queue.len() >= DELIVERIES_PER_SESSION_MAX {
            queue.pop_front();
        }
        queue.push_back((reader.agent.clone(), late));
    }

    /// Takes all late verdicts of a reader; each is told once.
    pub(super) fn take_late(&mut self, reader: &Reader) -> Vec<Late> {
        self.take_late_if(reader, |_| true)
    }

    /// Takes a sensor's late verdicts about a file that a newer edit is about to replace.
    pub(super) fn take_late_of(
        &mut self,
        reader: &Reader,
        root: &Path,
        path: &RelPath,
        sensor: &str,
    ) -> Vec<Late> {
        self.take_late_if(reader, |late| {
            late.root == root && late.path == *path && late.sensor == sensor
        })
    }

    fn take_late_if(&mut self, reader: &Reader, is_meant: impl Fn(&Late) -> bool) -> Vec<Late> {
        // Every hook asks, so a session that is not known yet is not remembered for it.
        let Some(session) = self.sessions.get_mut(&reader.session) else { return Vec::new() };
        let (taken, kept) = std::mem::take(&mut session.late)
            .into_iter()
            .partition(|(agent, late)| *agent == reader.agent && is_meant(late));
        session.late = kept;
        let taken: VecDeque<(Option<String>, Late)> = taken;
        taken.into_iter().map(|(_, late)| late).collect()
    }

    /// Forgets all late verdicts of a session: a Stop has newer evidence.
    pub(super) fn drop_late(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.late.clear();
            session.untold.clear();
        }
    }

    /// What a session asked about and was not told yet.
    pub(super) fn untold(&mut self, session: &str) -> &mut Untold {
        &mut self.session(session).untold
    }

    /// How long a server takes in a project.
    pub(super) fn latency(&mut self, root: &Path, server: &str) -> &mut Latency {
        self.latencies.entry((root.to_path_buf(), server.to_owned())).or_default()
    }

    /// Puts back what could not be told, before what came since.
    pub(super) fn put_back(&mut self, reader: &Reader, late: Vec<Late>) {
        let queue = &mut self.session(&reader.session).late;
        for one in late.into_iter().rev() {
            queue.push_front((reader.agent.clone(), one));
        }
    }

    /// Whether a gap is news for this session; from now on it is not.
    pub(super) fn is_news(&mut self, session: &str, gap: &str) -> bool {
        self.session(session).told_gaps.insert(gap.to_owned())
    }

    /// Forgets a session.
    pub(super) fn forget(&mut self, session: &str) {
        self.sessions.remove(session);
    }

    /// What changed on disk since the last look at a root. At a first look nobody knows, so
    /// everything counts: a server may be alive from before this root was forgotten.
    pub(super) fn changes(
        &mut self,
        root: &Path,
        now: BTreeMap<RelPath, Stamp>,
    ) -> Vec<(PathBuf, FileChange)> {
        let before = self.stamps.insert(root.to_path_buf(), now);
        let before = before.unwrap_or_default();
        let Some(now) = self.stamps.get(root) else { return Vec::new() };
        let is_first = before.is_empty();
        let appeared = now.iter().filter_map(|(path, stamp)| match before.get(path) {
            None if is_first => Some((path.under(root), FileChange::Changed)),
            None => Some((path.under(root), FileChange::Created)),
            Some(old) if old != stamp => Some((path.under(root), FileChange::Changed)),
            Some(_) => None,
        });
        let gone = before.keys().filter(|path| !now.contains_key(*path));
        let gone = gone.map(|path| (path.under(root), FileChange::Deleted));
        appeared.chain(gone).collect()
    }

    /// The store key of a root, once it was found out.
    pub(super) fn project_key(&self, root: &Path) -> Option<ProjectKey> {
        self.keys.get(root).cloned()
    }

    /// Remembers the store key of a root.
    pub(super) fn set_project_key(&mut self, root: &Path, key: ProjectKey) {
        self.keys.insert(root.to_path_buf(), key);
    }

    /// A request is about this root; of too many the one not used for longest is forgotten.
    pub(super) fn uses(&mut self, root: &Path) {
        if self.roots.back().is_some_and(|last| last == root) {
            return;
        }
        self.roots.retain(|known| known != root);
        self.roots.push_back(root.to_path_buf());
        if self.roots.len() > PROJECTS_MAX
            && let Some(oldest) = self.roots.pop_front()
        {
            self.verified.retain(|(known, _), _| *known != oldest);
            self.stamps.remove(&oldest);
            self.latencies.retain(|(known, _), _| *known != oldest);
            self.keys.remove(&oldest);
        }
    }

    fn session(&mut self, id: &str) -> &mut Session {
        self.use_count += 1;
        if !self.sessions.contains_key(id) && self.sessions.len() >= SESSIONS_MAX {
            let oldest = self.sessions.iter().min_by_key(|(_, session)| session.last_use);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                self.sessions.remove(&oldest);
            }
        }
        let session = self.sessions.entry(id.to_owned()).or_default();
        session.last_use = self.use_count;
        session
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(text: &str) -> Late {
        let root = PathBuf::from("/r");
        let path = RelPath::below(&root, &root.join("a.py")).expect("relative");
        let sensor = "s".to_owned();
        Late { root, path, sensor, hash: ContentHash::of(b""), text: text.into(), baseline: None }
    }

    fn reader(session: &str, agent: Option<&str>) -> Reader {
        Reader { session: session.into(), agent: agent.map(str::to_owned) }
    }

    fn texts(late: &[Late]) -> Vec<&str> {
        late.iter().map(|one| one.text.as_str()).collect()
    }

    #[test]
    fn a_late_verdict_is_told_once_and_again_only_when_nobody_read_it() {
        let mut ledger = Ledger::default();
        let (own, other) = (reader("s", None), reader("t", None));
        ledger.deliver_later(&own, late("1"));
        ledger.deliver_later(&other, late("other"));
        let taken = ledger.take_late(&own);
        assert_eq!(texts(&taken), ["1"]);
        assert!(ledger.take_late(&own).is_empty());
        ledger.deliver_later(&own, late("2"));
        ledger.put_back(&own, taken);
        assert_eq!(texts(&ledger.take_late(&own)), ["1", "2"]);
    }

    #[test]
    fn a_subagents_verdict_is_its_own_and_nobody_reads_for_no_session() {
        let mut ledger = Ledger::default();
        let (main, sub) = (reader("s", None), reader("s", Some("a1")));
        ledger.deliver_later(&sub, late("sub"));
        assert!(ledger.take_late(&main).is_empty());
        assert_eq!(texts(&ledger.take_late(&sub)), ["sub"]);
        ledger.deliver_later(&reader("", None), late("x"));
        assert!(ledger.take_late(&reader("", None)).is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_least_recent_goes_first() {
        let mut ledger = Ledger::default();
        for count in 0..=DELIVERIES_PER_SESSION_MAX {
            ledger.deliver_later(&reader("s", None), late(&count.to_string()));
        }
        assert_eq!(ledger.take_late(&reader("s", None)).len(), DELIVERIES_PER_SESSION_MAX);
        assert!(ledger.is_news("s", "pyright"));
        for count in 0..SESSIONS_MAX {
            ledger.is_news(&count.to_string(), "x");
        }
        assert_eq!(ledger.sessions.len(), SESSIONS_MAX);
        assert!(ledger.is_news("s", "pyright"), "the oldest session was forgotten");
        for count in 0..=PROJECTS_MAX {
            let root = PathBuf::from(format!("/{count}"));
            ledger.uses(&root);
            ledger.set_project_key(&root, ProjectKey::of(&root));
        }
        assert_eq!(ledger.project_key(Path::new("/0")), None);
        assert!(ledger.project_key(Path::new("/1")).is_some());
    }
}
