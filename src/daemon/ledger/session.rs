//! What is remembered for one session: what it wrote, what its edits concern, what it was told and
//! up to where it has seen the changes on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use super::Late;
use super::transcripts::Spending;
use crate::base::finding::Finding;
use crate::base::hash::TextId;
use crate::base::limits::{AFFECTED_FILES_MAX, SESSION_FILES_MAX, TOUCHED_NAMES_MAX};
use crate::base::path::RelPath;
use crate::daemon::untold::Untold;
use crate::looping::framework::Language;
use crate::lsp::blast::Sought;
use crate::report::agent::EditText;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) late: VecDeque<(Option<String>, Late)>,
    pub(super) told_gaps: HashSet<String>,
    /// What it is to be told at its next hook about a loop that a command started.
    pub(super) start: Option<EditText>,
    /// The language of its loop.
    pub(super) language: Option<Language>,
    pub(super) untold: Untold,
    pub(super) last_use: u64,
    /// Whether its agents have called a tool in the present turn; `None` when this daemon has not seen
    /// the turn.
    pub(super) is_at_work: Option<bool>,
    /// Texts for its user, kept until the next hook.
    pub(super) user_news: Vec<String>,
    /// Whether a tool call was seen since the last Stop.
    pub(super) has_acted: bool,
    pub(super) spending: Option<Spending>,
    waiting: Waiting,
    roots: HashMap<PathBuf, OfRoot>,
}

/// The background tasks that a session waits for.
#[derive(Debug, Default)]
struct Waiting {
    tasks: BTreeSet<String>,
    stops: u32,
    /// When the last of these Stops was counted, in milliseconds since the epoch.
    at_ms: u64,
}

/// A session's share in one root.
#[derive(Debug, Default)]
struct OfRoot {
    written: BTreeSet<RelPath>,
    is_written_cut: bool,
    /// The last text that a hook of the session saw under each path.
    texts: BTreeMap<RelPath, TextId>,
    affected: Affected,
    seen: Option<Seen>,
}

/// Up to where a session has seen what changed on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::daemon) struct Seen {
    /// The root's epoch.
    pub(in crate::daemon) epoch: u64,
    /// The commit of HEAD.
    pub(in crate::daemon) head: Option<String>,
}

/// The files that the edits of a session concern.
#[derive(Clone, Debug, Default)]
pub(in crate::daemon) struct Affected {
    /// The files, and what was wrong with each before; `None` for a file that had not been measured.
    pub(in crate::daemon) files: BTreeMap<RelPath, Option<Vec<Finding>>>,
    /// All that the session touched.
    pub(in crate::daemon) sought: Sought,
    /// Whether there may be more files than are remembered.
    pub(in crate::daemon) is_cut: bool,
}

impl Affected {
    /// Whether this was wrong before; `None` where nobody knows. In the same bytes it stands at the
    /// same place: fingerprints tell equal errors of one text apart by their order alone.
    pub(in crate::daemon) fn was_there(&self, now: &Finding) -> Option<bool> {
        let known = self.files.get(&now.path)?.as_ref()?;
        let what = |it: &Finding| (it.range, it.code.clone(), it.message.clone());
        let is_same = |old: &Finding| {
            if old.content_hash == now.content_hash {
                return old.sensor == now.sensor && what(old) == what(now);
            }
            old.id == now.id
        };
        Some(known.iter().any(is_same))
    }
}

impl Session {
    /// Counts a Stop at which these tasks are running; see the ledger.
    pub(super) fn waits(
        &mut self,
        tasks: &BTreeSet<String>,
        begun_ms: Option<u64>,
        now_ms: u64,
    ) -> u32 {
        if tasks.is_empty() || self.waiting.tasks != *tasks {
            self.waiting = Waiting { tasks: tasks.clone(), ..Waiting::default() };
        }
        let is_another = begun_ms.is_none_or(|begun_ms| begun_ms > self.waiting.at_ms);
        if !tasks.is_empty() && is_another {
            self.waiting.stops = self.waiting.stops.saturating_add(1);
            self.waiting.at_ms = now_ms;
        }
        self.waiting.stops
    }

    pub(super) fn wrote(&mut self, root: &Path, path: &RelPath) {
        let of_root = self.of(root);
        if of_root.written.len() < SESSION_FILES_MAX || of_root.written.contains(path) {
            of_root.written.insert(path.clone());
        } else {
            of_root.is_written_cut = true;
        }
    }

    /// The files of a root that it wrote, and whether there were more.
    pub(super) fn written(&self, root: &Path) -> (BTreeSet<RelPath>, bool) {
        let of_root = self.roots.get(root);
        of_root.map(|it| (it.written.clone(), it.is_written_cut)).unwrap_or_default()
    }

    /// Records the text that a hook of the session saw in a file.
    pub(super) fn saw_text(&mut self, root: &Path, path: &RelPath, text: TextId) {
        let of_root = self.of(root);
        if of_root.texts.len() < SESSION_FILES_MAX || of_root.texts.contains_key(path) {
            of_root.texts.insert(path.clone(), text);
        } else {
            of_root.is_written_cut = true;
        }
    }

    pub(super) fn texts(&self, root: &Path) -> BTreeMap<RelPath, TextId> {
        self.roots.get(root).map(|it| it.texts.clone()).unwrap_or_default()
    }

    pub(super) fn affects(
        &mut self,
        root: &Path,
        files: Vec<(RelPath, Option<Vec<Finding>>)>,
        sought: &Sought,
        is_cut: bool,
    ) {
        let affected = &mut self.of(root).affected;
        affected.is_cut |= is_cut;
        for (path, known) in files {
            if affected.files.len() < AFFECTED_FILES_MAX || affected.files.contains_key(&path) {
                affected.files.entry(path).or_insert(known);
            } else {
                affected.is_cut = true;
            }
        }
        if affected.sought.names.len() < TOUCHED_NAMES_MAX {
            affected.sought.extend(sought.clone());
        }
    }

    pub(super) fn forget_affected(&mut self, root: &Path) {
        self.of(root).affected = Affected::default();
    }

    pub(super) fn affected(&self, root: &Path) -> Affected {
        self.roots.get(root).map(|it| it.affected.clone()).unwrap_or_default()
    }

    /// Replaces up to where the session has seen a root, and yields what it was.
    pub(super) fn sees(&mut self, root: &Path, now: Seen) -> Option<Seen> {
        self.of(root).seen.replace(now)
    }

    pub(super) fn set_seen(&mut self, root: &Path, seen: Option<Seen>) {
        self.of(root).seen = seen;
    }

    pub(super) fn has_looked(&self, root: &Path) -> bool {
        self.roots.get(root).is_some_and(|it| it.seen.is_some())
    }

    fn of(&mut self, root: &Path) -> &mut OfRoot {
        self.roots.entry(root.to_path_buf()).or_default()
    }
}
