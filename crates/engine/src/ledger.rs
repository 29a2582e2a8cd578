//! The engine's memory while it runs: the last verified findings of each file, the writes and
//! reports of each session, the changes on disk. Pure bookkeeping over maps.

pub(crate) mod code_questions;
pub(crate) mod deferred_reports;
pub(crate) mod disk;
pub(crate) mod event_claims;
pub(crate) mod folder_changes;
pub(crate) mod host_calls;
pub(crate) mod host_sessions;
pub(crate) mod known_outputs;
pub(crate) mod known_rules;
pub(crate) mod line_cache;
pub(crate) mod linked_paths;
pub(crate) mod outside;
pub(crate) mod passed_checks;
pub(crate) mod pending_reports;
pub(crate) mod root;
pub(crate) mod session;
#[cfg(test)]
mod tests;
pub(crate) mod texts;
pub(crate) mod tool_calls;
pub(crate) mod transcripts;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::evidence::base_results::BaseResults;
use crate::ledger::code_questions::CodeQuestions;
pub(crate) use crate::ledger::deferred_reports::{DeferredReport, SessionAgent};
use crate::ledger::disk::{DiskStamps, OutsidePoll};
use crate::ledger::event_claims::EventClaims;
use crate::ledger::host_sessions::HostSessions;
pub(crate) use crate::ledger::known_rules::{KnownRules, RuleFolder, RuleInputs};
use crate::ledger::line_cache::LineCache;
use crate::ledger::root::RootLedger;
pub(crate) use crate::ledger::session::{
    AffectedFiles, AnsweredStop, DiskCursor, PendingStart, SessionState,
};
use crate::ledger::texts::TextCache;
pub(crate) use crate::ledger::transcripts::Spending;
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::{PROJECTS_MAX, SESSIONS_MAX};
use moai_base::path::RelPath;
use moai_host::files::Snapshot;
use moai_host::servers::ServerIdentity;
use moai_lsp::impact::TouchedSymbols;
use moai_lsp::session::DiskChange;

/// A sensor's last findings in a file. They hold for the same bytes and the same server, as long as
/// no other file has changed since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VerifiedFindings {
    /// The measured bytes.
    pub(crate) hash: ContentHash,
    /// The language server; `None` for the scan.
    pub(crate) server: Option<ServerIdentity>,
    pub(crate) findings: Vec<Finding>,
    /// The root's epoch at which they were proven; `None` if other files may have changed meanwhile.
    pub(crate) epoch: Option<u64>,
}

impl VerifiedFindings {
    /// True if these are findings in the same environment as older ones.
    fn replaces(&self, old: &Self) -> bool {
        match (self.server, old.server) {
            (Some(server), Some(old)) => server.shares_environment(old),
            (server, old) => server == old,
        }
    }
}

/// The changes of a root that a session has not seen yet.
#[derive(Debug, Default)]
pub(crate) struct UnseenChanges {
    /// The changed files, including deleted ones.
    pub(crate) files: Vec<RelPath>,
    /// The new ones among them.
    pub(crate) created: BTreeSet<RelPath>,
    /// Up to where the session had seen the root; `None` if it never polled.
    pub(crate) before: Option<DiskCursor>,
    /// The files of the last poll, if not all changes are known.
    pub(crate) stamps: Option<Arc<DiskStamps>>,
}

impl UnseenChanges {
    /// Where not all changes are known, adds the files written at this time (nanoseconds since the
    /// epoch) or later. Not done by the ledger, because it takes milliseconds in a large tree.
    pub(crate) fn with_written_since(mut self, nanoseconds: Option<i128>) -> Self {
        if let (Some(stamps), Some(since)) = (self.stamps.take(), nanoseconds) {
            let written = stamps.iter().filter(|(_, stamp)| stamp.is_modified_since(since));
            let written = written.map(|(path, _)| path.clone());
            let files: BTreeSet<RelPath> = self.files.into_iter().chain(written).collect();
            self.files = files.into_iter().collect();
        }
        self
    }
}

/// A file, and the servers that measure it for the caller.
#[derive(Clone, Debug)]
pub(crate) struct SelectedFile {
    pub(crate) path: RelPath,
    pub(crate) servers: Vec<ServerIdentity>,
}

/// Evidence that a session is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionLife {
    /// The host ended it.
    Ended,
    /// One of its hooks was called since the daemon started.
    Alive,
    /// This daemon has seen no hook of it.
    Unknown,
}

/// The engine's memory; see the module.
#[derive(Debug, Default)]
pub(crate) struct EngineLedger {
    /// The lines of verified texts.
    pub(crate) lines: LineCache,
    /// Findings in the states that loops began with.
    pub(crate) base_results: BaseResults,
    roots: HashMap<PathBuf, RootLedger>,
    /// The least recently used first.
    root_order: VecDeque<PathBuf>,
    sessions: HashMap<String, SessionState>,
    /// Sessions that the host ended, the latest last.
    ended_sessions: VecDeque<String>,
    pub(crate) code_questions: CodeQuestions,
    pub(crate) hosts: HostSessions,
    pub(crate) event_claims: EventClaims,
    /// The last texts that hooks saw.
    pub(crate) texts: TextCache,
    use_count: u64,
    poll_count: u64,
}

impl EngineLedger {
    /// A memory that knows only these hosts.
    pub(crate) fn new(hosts: HostSessions) -> Self {
        Self { hosts, ..Self::default() }
    }

    /// The memory of one root.
    pub(crate) fn root(&mut self, root: &Path) -> &mut RootLedger {
        self.roots.entry(root.to_path_buf()).or_default()
    }

    /// Marks a root as used; beyond the bound, the least recently used root is forgotten.
    pub(crate) fn touch_root(&mut self, root: &Path) {
        if self.root_order.back().is_some_and(|last| last == root) {
            return;
        }
        self.root_order.retain(|known| known != root);
        self.root_order.push_back(root.to_path_buf());
        if self.root_order.len() > PROJECTS_MAX
            && let Some(oldest) = self.root_order.pop_front()
        {
            self.base_results.forget_root(&oldest);
            self.texts.forget_root(&oldest);
            let gates = self.roots.remove(&oldest).and_then(RootLedger::keep_only_gates_in_use);
            if let Some(gates) = gates {
                self.roots.insert(oldest, gates);
            }
        }
    }

    /// The memory of one session.
    pub(crate) fn session(&mut self, id: &str) -> &mut SessionState {
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

    /// The memory of one session, if it has any: questions that every hook asks must not create it.
    pub(crate) fn known_session(&mut self, id: &str) -> Option<&mut SessionState> {
        self.sessions.get_mut(id)
    }

    /// Records that a session wrote these bytes with a reported tool call, so that its own hook reports
    /// on them.
    pub(crate) fn record_tool_write(&mut self, root: &Path, snapshot: &Snapshot) {
        self.root(root).disk.set_tool_write(&snapshot.path, snapshot.hash);
        self.texts.keep(root, &snapshot.path, Arc::clone(&snapshot.text));
    }

    /// Records files that a session's edits affect, each with its findings before the first such
    /// edit.
    pub(crate) fn record_affected(
        &mut self,
        session: &str,
        root: &Path,
        files: &[SelectedFile],
        touched: &TouchedSymbols,
        is_cut: bool,
    ) {
        let known = self.root(root);
        let files =
            files.iter().map(|file| (file.path.clone(), known.last_findings(file))).collect();
        self.session(session).add_affected(root, files, touched, is_cut);
    }

    /// Forgets an ended session, except that it ended.
    pub(crate) fn forget_session(&mut self, session: &str) {
        self.sessions.remove(session);
        self.ended_sessions.retain(|ended| ended != session);
        self.ended_sessions.push_back(session.to_owned());
        if self.ended_sessions.len() > SESSIONS_MAX {
            self.ended_sessions.pop_front();
        }
    }

    /// Records a hook call: the session is alive, even if it had ended before.
    pub(crate) fn set_alive(&mut self, session: &str) {
        self.ended_sessions.retain(|ended| ended != session);
        self.session(session);
    }

    /// The life of a session, judged by its hooks.
    pub(crate) fn session_life(&self, session: &str) -> SessionLife {
        if self.ended_sessions.iter().any(|ended| ended == session) {
            return SessionLife::Ended;
        }
        if self.sessions.contains_key(session) { SessionLife::Alive } else { SessionLife::Unknown }
    }

    /// Takes the result of a poll, and its changes since the previous one. They are computed by the
    /// caller, because that takes milliseconds in a large tree.
    pub(crate) fn update_disk(
        &mut self,
        root: &Path,
        now: Arc<DiskStamps>,
        changes: &[(RelPath, DiskChange)],
        outside: OutsidePoll,
    ) {
        self.poll_count += 1;
        let number = self.poll_count;
        let disk = &mut self.root(root).disk;
        disk.update(now, changes, number, outside.at_ms);
        disk.update_outside(outside, number);
    }

    /// Takes the files that changed since the session's last call, including deleted ones, and the
    /// commit of HEAD at that time. At a session's first call, and when the history has gaps, they
    /// are not all known; see [`UnseenChanges::with_written_since`].
    pub(crate) fn take_unseen(
        &mut self,
        session: &str,
        root: &Path,
        head: Option<String>,
    ) -> UnseenChanges {
        let seen = DiskCursor { epoch: self.root(root).disk.epoch, head };
        let before = self.session(session).replace_disk_cursor(root, seen);
        let disk = &self.root(root).disk;
        let files = before.as_ref().map(|before| disk.changed_since(before.epoch));
        let created = before.as_ref().map(|before| disk.created_since(before.epoch));
        // A root that was forgotten meanwhile does not know everything that changed since.
        let is_complete = before.as_ref().is_some_and(|before| disk.covers(before.epoch));
        UnseenChanges {
            files: files.unwrap_or_default(),
            created: created.unwrap_or_default(),
            before,
            stamps: if is_complete { None } else { disk.stamps() },
        }
    }
}
