//! What the engine remembers while it runs: the last verified set of each file, what each session
//! wrote and was told, what changed on disk. Pure bookkeeping over maps.

mod disk;
mod known_rules;
mod session;
mod texts;
mod transcripts;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::base_results::BaseResults;
use super::line_cache::LineCache;
use super::overlay_gate::OverlayGate;
use super::pending_reports::PendingReports;
use crate::base::finding::Finding;
use crate::base::hash::{ContentHash, TextId};
use crate::base::limits::{DELIVERIES_PER_SESSION_MAX, PROJECTS_MAX, SESSIONS_MAX, TOLD_GAPS_MAX};
use crate::base::path::RelPath;
use crate::files::{FileStamp, Snapshot};
use crate::looping::framework::MessageLanguage;
use crate::looping::options::BaselineMode;
use crate::looping::state::LoopState;
use crate::lsp::impact::TouchedSymbols;
use crate::lsp::latency::ServerLatency;
use crate::lsp::session::DiskChange;
use crate::report::agent::EditText;
use crate::store::ProjectKey;
use disk::DiskHistory;
pub(super) use known_rules::{KnownRules, RuleFolder, RuleInputs};
use session::SessionState;
pub(super) use session::{AffectedFiles, DiskCursor};
use texts::TextCache;
pub(super) use transcripts::Spending;

/// A verdict that came after its hook had gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeferredReport {
    /// The project.
    pub(super) root: PathBuf,
    /// The file.
    pub(super) path: RelPath,
    /// Who says it.
    pub(super) sensor: String,
    /// The bytes it speaks of; when the file differs, it is not told any more.
    pub(super) hash: ContentHash,
    /// The words.
    pub(super) text: EditText,
    /// What the words compare with: a newer edit that comes before they are told compares with
    /// the same, so that nothing in between goes untold.
    pub(super) baseline: Option<Vec<Finding>>,
    /// Other files it depends on, and their bytes: the edited ones, where this file is not.
    pub(super) depends_on: Vec<(RelPath, Option<ContentHash>)>,
}

/// The bytes a verified set speaks of, and the set.
pub(super) type VerifiedFindings = (ContentHash, Vec<Finding>);

/// Who reads late verdicts: an agent of a session. Subagents have ids of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionAgent {
    /// The session; empty when the host named none, and then nobody reads.
    pub(super) session: String,
    /// The subagent.
    pub(super) agent: Option<String>,
}

/// When a verified set holds for other bytes than the file's own, too: as long as the server that
/// was asked is the same and no other file has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VerdictProof {
    /// The file's bytes.
    pub(super) hash: ContentHash,
    /// The server as it was chosen: program, settings, packages.
    pub(super) server: ContentHash,
    /// The root's epoch.
    pub(super) epoch: u64,
}

/// What a session has not seen yet of a root.
#[derive(Debug, Default)]
pub(super) struct UnseenChanges {
    /// The changed files, vanished ones too.
    pub(super) files: Vec<RelPath>,
    /// Those of them that are new.
    pub(super) created: BTreeSet<RelPath>,
    /// Up to where the session had seen it; `None` at its first look.
    pub(super) before: Option<DiskCursor>,
}

/// Whether a session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionLife {
    /// The host ended it.
    Ended,
    /// One of its hooks was called since the daemon started.
    Alive,
    /// This daemon has seen no hook of it.
    Unknown,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct EngineLedger {
    /// The lines of verified texts.
    pub(super) lines: LineCache,
    /// By root and file, then by sensor.
    verified: HashMap<(PathBuf, RelPath), BTreeMap<String, VerifiedFindings>>,
    /// By root and file, then by language server.
    proofs: HashMap<(PathBuf, RelPath), BTreeMap<String, VerdictProof>>,
    sessions: HashMap<String, SessionState>,
    /// Sessions that the host ended, the latest last.
    ended_sessions: VecDeque<String>,
    disks: HashMap<PathBuf, DiskHistory>,
    /// Whose turn it is to look for changes below a root.
    poll_locks: HashMap<PathBuf, Arc<Semaphore>>,
    /// Keep earlier texts shown to a server apart from live questions; by root and server.
    overlay_gates: HashMap<(PathBuf, String), Arc<OverlayGate>>,
    /// What was found in the states that loops began with.
    pub(super) base_results: BaseResults,
    texts: TextCache,
    /// By root and server.
    latencies: HashMap<(PathBuf, String), ServerLatency>,
    keys: HashMap<PathBuf, ProjectKey>,
    /// The rules of roots that have some of their own.
    rules: HashMap<PathBuf, Arc<KnownRules>>,
    /// Roots, the least recently used first.
    roots: VecDeque<PathBuf>,
    use_count: u64,
    poll_count: u64,
}

impl EngineLedger {
    /// The last verified set of a file by one sensor, and the bytes it speaks of.
    pub(super) fn verified(
        &self,
        root: &Path,
        path: &RelPath,
        sensor: &str,
    ) -> Option<VerifiedFindings> {
        self.verified.get(&(root.to_path_buf(), path.clone()))?.get(sensor).cloned()
    }

    /// Replaces the verified set.
    pub(super) fn set_verified(
        &mut self,
        root: &Path,
        path: &RelPath,
        sensor: &str,
        verdict: VerifiedFindings,
    ) {
        let of_file = self.verified.entry((root.to_path_buf(), path.clone())).or_default();
        of_file.insert(sensor.to_owned(), verdict);
    }

    /// Whether the last verified set of a file is of these bytes, for any sensor.
    pub(super) fn is_verified(&self, root: &Path, path: &RelPath, hash: ContentHash) -> bool {
        let of_file = self.verified.get(&(root.to_path_buf(), path.clone()));
        of_file.is_some_and(|sets| sets.values().any(|(of, _)| *of == hash))
    }

    /// Whether a file was ever measured.
    pub(super) fn is_known(&self, root: &Path, path: &RelPath) -> bool {
        self.verified.contains_key(&(root.to_path_buf(), path.clone()))
    }

    /// Remembers when a verified set of a language server holds.
    pub(super) fn prove(&mut self, root: &Path, path: &RelPath, sensor: &str, proof: VerdictProof) {
        let of_file = self.proofs.entry((root.to_path_buf(), path.clone())).or_default();
        of_file.insert(sensor.to_owned(), proof);
    }

    /// Whether the server's verified set of these bytes still holds at the last look.
    pub(super) fn is_proven(
        &self,
        root: &Path,
        path: &RelPath,
        sensor: &str,
        (hash, server): (ContentHash, ContentHash),
    ) -> bool {
        let proof = self.proofs.get(&(root.to_path_buf(), path.clone()));
        let proof = proof.and_then(|of_file| of_file.get(sensor));
        let is_same = proof.filter(|proof| proof.hash == hash && proof.server == server);
        let disk = self.disks.get(root);
        let holds = |proof: &VerdictProof| {
            disk.is_some_and(|disk| !disk.others_changed_since(path, proof.epoch))
        };
        is_same.is_some_and(holds)
    }

    /// The epoch at which a server's set of these bytes was proven, if it was.
    pub(super) fn proven_at(
        &self,
        root: &Path,
        path: &RelPath,
        sensor: &str,
        hash: ContentHash,
    ) -> Option<u64> {
        let proof = self.proofs.get(&(root.to_path_buf(), path.clone()))?.get(sensor)?;
        (proof.hash == hash).then_some(proof.epoch)
    }

    /// Whether any file of a root but this one changed after an epoch, as far as looks found.
    pub(super) fn others_changed_since(&self, root: &Path, path: &RelPath, epoch: u64) -> bool {
        self.disks.get(root).is_none_or(|disk| disk.others_changed_since(path, epoch))
    }

    /// What is known of a session's transcripts; whoever takes it keeps it again.
    pub(super) fn take_spending(&mut self, session: &str) -> Spending {
        self.session(session).transcripts.take().unwrap_or_default()
    }

    /// Remembers it for the next look.
    pub(super) fn keep_spending(&mut self, session: &str, spending: Spending) {
        self.session(session).transcripts = Some(spending);
    }

    /// A session wrote a file.
    pub(super) fn record_write(&mut self, session: &str, root: &Path, path: &RelPath) {
        self.session(session).record_write(root, path);
    }

    /// A hook of a session saw this text of a file that was changed.
    pub(super) fn record_text(&mut self, session: &str, root: &Path, snapshot: &Snapshot) {
        if let Some(text) = TextId::of_text(&snapshot.text) {
            self.session(session).record_text(root, &snapshot.path, text);
        }
    }

    /// The last texts that hooks of a session saw, files that vanished since included.
    pub(super) fn seen_texts(&mut self, session: &str, root: &Path) -> BTreeMap<RelPath, TextId> {
        self.session(session).texts(root)
    }

    /// Set when an agent of a session calls a tool, cleared when its turn begins or ends.
    pub(super) fn set_at_work(&mut self, session: &str, is_at_work: bool) {
        self.session(session).is_at_work = Some(is_at_work);
    }

    /// Whether an agent of a session has called a tool in the present turn; `None` when this daemon
    /// has not seen the turn.
    pub(super) fn is_at_work(&self, session: &str) -> Option<bool> {
        self.sessions.get(session)?.is_at_work
    }

    /// Keeps a text for the user of a session until its next hook.
    pub(super) fn queue_user_notice(&mut self, session: &str, text: String) {
        self.session(session).user_notices.push(text);
    }

    /// Takes the texts kept for the user of a session.
    pub(super) fn take_user_notices(&mut self, session: &str) -> Option<String> {
        let news = std::mem::take(&mut self.sessions.get_mut(session)?.user_notices);
        (!news.is_empty()).then(|| news.join("\n"))
    }

    /// A session's agent called a tool.
    pub(super) fn record_tool_call(&mut self, session: &str) {
        self.session(session).has_called_tool = true;
    }

    /// Whether it did since this was last asked.
    pub(super) fn take_tool_call(&mut self, session: &str) -> bool {
        self.sessions.get_mut(session).is_some_and(|it| std::mem::take(&mut it.has_called_tool))
    }

    /// Stops in a row of a session, with this one, at which the same background tasks were running;
    /// 0 without. A second hook process of one Stop is not counted.
    pub(super) fn count_waiting_stop(
        &mut self,
        session: &str,
        tasks: &BTreeSet<String>,
        begun_ms: Option<u64>,
        now_ms: u64,
    ) -> u32 {
        self.session(session).count_waiting_stop(tasks, begun_ms, now_ms)
    }

    /// The files of a root that a session wrote, and whether there were more.
    pub(super) fn written(&mut self, session: &str, root: &Path) -> (BTreeSet<RelPath>, bool) {
        self.session(session).written(root)
    }

    /// A session wrote these bytes by a tool that said so, and is told about them on its own.
    pub(super) fn set_writer(&mut self, session: &str, root: &Path, snapshot: &Snapshot) {
        self.disk(root).set_writer(&snapshot.path, session, snapshot.hash);
        self.texts.keep(root, &snapshot.path, Arc::clone(&snapshot.text));
    }

    /// Whether some session is told about these bytes on its own.
    pub(super) fn has_writer(&self, root: &Path, path: &RelPath, hash: ContentHash) -> bool {
        self.disks.get(root).is_some_and(|disk| disk.has_writer(path, hash))
    }

    /// Files that a session's edits concern; what was wrong with them before is remembered the
    /// first time.
    pub(super) fn record_affected(
        &mut self,
        session: &str,
        root: &Path,
        files: &[RelPath],
        sought: &TouchedSymbols,
        is_cut: bool,
    ) {
        let known = |path: &RelPath| {
            let sets = self.verified.get(&(root.to_path_buf(), path.clone()))?;
            Some(sets.values().flat_map(|(_, found)| found).cloned().collect())
        };
        let files = files.iter().map(|path| (path.clone(), known(path))).collect();
        self.session(session).record_affected(root, files, sought, is_cut);
    }

    /// The files that a session's edits concern.
    pub(super) fn affected_files(&mut self, session: &str, root: &Path) -> AffectedFiles {
        self.session(session).affected_files(root)
    }

    /// Binds a session to a loop. One that is compared with its beginning forgets the files that
    /// earlier edits concern: errors that these edits fixed or caused are not the loop's.
    pub(super) fn bind_to_loop(&mut self, session: &str, root: &Path, state: &LoopState) {
        let session = self.session(session);
        session.language = Some(state.language());
        if state.options.baseline == BaselineMode::Base {
            session.forget_affected(root);
        }
    }

    /// The last text of a file that a hook saw.
    pub(super) fn text(&self, root: &Path, path: &RelPath) -> Option<Arc<str>> {
        self.texts.get(root, path)
    }

    /// Keeps a text to compare with, and yields the one before.
    pub(super) fn replace_text(&mut self, root: &Path, snapshot: &Snapshot) -> Option<Arc<str>> {
        let before = self.texts.get(root, &snapshot.path);
        self.texts.keep(root, &snapshot.path, Arc::clone(&snapshot.text));
        before
    }

    /// Keeps a late verdict for the reader's next hook.
    pub(super) fn queue_report(&mut self, reader: &SessionAgent, late: DeferredReport) {
        if reader.session.is_empty() {
            return;
        }
        let queue = &mut self.session(&reader.session).deferred_reports;
        if queue.len() >= DELIVERIES_PER_SESSION_MAX {
            queue.pop_front();
        }
        queue.push_back((reader.agent.clone(), late));
    }

    /// Takes all late verdicts of a reader; each is told once.
    pub(super) fn take_reports(&mut self, reader: &SessionAgent) -> Vec<DeferredReport> {
        self.take_reports_if(reader, |_| true)
    }

    /// Takes a sensor's late verdicts about a file that a newer edit is about to replace.
    pub(super) fn take_reports_about(
        &mut self,
        reader: &SessionAgent,
        root: &Path,
        path: &RelPath,
        sensor: &str,
    ) -> Vec<DeferredReport> {
        self.take_reports_if(reader, |late| {
            late.root == root && late.path == *path && late.sensor == sensor
        })
    }

    /// Takes a sensor's late words about these bytes of a file that edits of other files brought. An
    /// edit's own compare with other bytes, and stay.
    pub(super) fn take_impact_reports(
        &mut self,
        reader: &SessionAgent,
        root: &Path,
        (path, hash): (&RelPath, ContentHash),
        sensor: &str,
    ) -> Vec<DeferredReport> {
        self.take_reports_if(reader, |late| {
            let is_effect = !late.depends_on.is_empty() && late.hash == hash;
            is_effect && late.root == root && late.path == *path && late.sensor == sensor
        })
    }

    fn take_reports_if(
        &mut self,
        reader: &SessionAgent,
        is_meant: impl Fn(&DeferredReport) -> bool,
    ) -> Vec<DeferredReport> {
        // Every hook asks, so a session that is not known yet is not remembered for it.
        let Some(session) = self.sessions.get_mut(&reader.session) else { return Vec::new() };
        let (taken, kept) = std::mem::take(&mut session.deferred_reports)
            .into_iter()
            .partition(|(agent, late)| *agent == reader.agent && is_meant(late));
        session.deferred_reports = kept;
        let taken: VecDeque<(Option<String>, DeferredReport)> = taken;
        taken.into_iter().map(|(_, late)| late).collect()
    }

    /// Forgets all late verdicts of a session: a Stop has newer evidence.
    pub(super) fn drop_reports(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.deferred_reports.clear();
            session.pending_reports.clear();
        }
    }

    /// What a session asked about and was not told yet.
    pub(super) fn pending_reports(&mut self, session: &str) -> &mut PendingReports {
        &mut self.session(session).pending_reports
    }

    /// How long a server takes in a project.
    pub(super) fn latency(&mut self, root: &Path, server: &str) -> &mut ServerLatency {
        self.latencies.entry((root.to_path_buf(), server.to_owned())).or_default()
    }

    /// Puts back what could not be told, before what came since.
    pub(super) fn requeue_reports(&mut self, reader: &SessionAgent, late: Vec<DeferredReport>) {
        let queue = &mut self.session(&reader.session).deferred_reports;
        for one in late.into_iter().rev() {
            queue.push_front((reader.agent.clone(), one));
        }
    }

    /// Keeps what a session is told at its next hook about a loop that a command started for it.
    pub(super) fn queue_start_text(&mut self, session: &str, text: EditText) {
        self.session(session).start_text = Some(text);
    }

    /// Takes it; it is told once.
    pub(super) fn take_start_text(&mut self, session: &str) -> Option<EditText> {
        self.sessions.get_mut(session).and_then(|session| session.start_text.take())
    }

    /// The language of the session's loop, English without one; `None` while nobody has looked.
    pub(super) fn language(&mut self, session: &str) -> Option<MessageLanguage> {
        self.session(session).language
    }

    /// Remembers the language in which a session is spoken to.
    pub(super) fn set_language(&mut self, session: &str, language: MessageLanguage) {
        self.session(session).language = Some(language);
    }

    /// Whether a gap is news for this session; from now on it is not.
    pub(super) fn report_once(&mut self, session: &str, gap: &str) -> bool {
        let told = &mut self.session(session).reported_gaps;
        if told.len() >= TOLD_GAPS_MAX {
            told.clear();
        }
        told.insert(gap.to_owned())
    }

    /// Forgets all of a session that ended except that it did.
    pub(super) fn forget(&mut self, session: &str) {
        self.sessions.remove(session);
        self.ended_sessions.retain(|ended| ended != session);
        self.ended_sessions.push_back(session.to_owned());
        if self.ended_sessions.len() > SESSIONS_MAX {
            self.ended_sessions.pop_front();
        }
    }

    /// A hook of a session was called, so it lives, even if it had ended before.
    pub(super) fn set_alive(&mut self, session: &str) {
        self.ended_sessions.retain(|ended| ended != session);
        self.session(session);
    }

    /// What the hooks of a session show of its life.
    pub(super) fn session_life(&self, session: &str) -> SessionLife {
        if self.ended_sessions.iter().any(|ended| ended == session) {
            return SessionLife::Ended;
        }
        if self.sessions.contains_key(session) { SessionLife::Alive } else { SessionLife::Unknown }
    }

    /// What changed on disk since the last look at a root.
    pub(super) fn update_disk(
        &mut self,
        root: &Path,
        now: BTreeMap<RelPath, FileStamp>,
    ) -> Vec<(PathBuf, DiskChange)> {
        self.poll_count += 1;
        let number = self.poll_count;
        self.disk(root).update(root, now, number)
    }

    /// The epoch of a root's last look.
    pub(super) fn epoch(&self, root: &Path) -> u64 {
        self.disks.get(root).map_or(0, |disk| disk.epoch)
    }

    /// The turns to look at a root: one at a time.
    pub(super) fn poll_lock(&mut self, root: &Path) -> Arc<Semaphore> {
        let turn = self.poll_locks.entry(root.to_path_buf());
        Arc::clone(turn.or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    /// The gate between live questions to a server and measurements of earlier texts.
    pub(super) fn overlay_gate(&mut self, root: &Path, server: &str) -> Arc<OverlayGate> {
        let key = (root.to_path_buf(), server.to_owned());
        Arc::clone(self.overlay_gates.entry(key).or_default())
    }

    /// Language servers heard of everything that the looks at a root found.
    pub(super) fn announce(&mut self, root: &Path) {
        let disk = self.disk(root);
        disk.announced_epoch = disk.epoch;
    }

    /// The epoch of a root whose changes language servers heard of: what is asked now is answered
    /// with these in view, while those of a later epoch may still be on their way.
    pub(super) fn announced_epoch(&self, root: &Path) -> u64 {
        self.disks.get(root).map_or(0, |disk| disk.announced_epoch)
    }

    /// The files of a root that the last look found and that are meant.
    pub(super) fn files(&self, root: &Path, is_meant: impl Fn(&RelPath) -> bool) -> Vec<RelPath> {
        let files = self.disks.get(root).into_iter().flat_map(DiskHistory::files);
        files.filter(|path| is_meant(path)).cloned().collect()
    }

    /// Whether the last look at a root found a file.
    pub(super) fn is_there(&self, root: &Path, path: &RelPath) -> bool {
        self.disks.get(root).is_some_and(|disk| disk.is_there(path))
    }

    /// Whether a session has looked at a root.
    pub(super) fn has_polled(&mut self, session: &str, root: &Path) -> bool {
        self.session(session).has_polled(root)
    }

    /// Sets up to where a session has seen a root: what it was given it was not told.
    pub(super) fn set_disk_cursor(&mut self, session: &str, root: &Path, seen: Option<DiskCursor>) {
        self.session(session).set_disk_cursor(root, seen);
    }

    /// The files that changed since the session last asked, vanished ones too, and the commit of
    /// HEAD at that time; from now on they are seen. A session that never asked is given what was
    /// written since `since_ns`, the beginning of its tool call, where that is known.
    pub(super) fn take_unseen(
        &mut self,
        session: &str,
        root: &Path,
        head: Option<String>,
        since_ns: Option<i128>,
    ) -> UnseenChanges {
        let seen = DiskCursor { epoch: self.epoch(root), head };
        let before = self.session(session).replace_disk_cursor(root, seen);
        let Some(disk) = self.disks.get(root) else { return UnseenChanges::default() };
        let files = match (&before, since_ns) {
            (Some(before), _) => disk.changed_since(before.epoch),
            (None, Some(since)) => disk.written_since(since),
            (None, None) => Vec::new(),
        };
        let created = before.as_ref().map(|before| disk.created_since(before.epoch));
        UnseenChanges { files, created: created.unwrap_or_default(), before }
    }

    /// The store key of a root, once it was found out.
    pub(super) fn project_key(&self, root: &Path) -> Option<ProjectKey> {
        self.keys.get(root).cloned()
    }

    /// Remembers the store key of a root.
    pub(super) fn set_project_key(&mut self, root: &Path, key: ProjectKey) {
        self.keys.insert(root.to_path_buf(), key);
    }

    /// The rules of a root as they were last read.
    pub(super) fn rules(&self, root: &Path) -> Option<Arc<KnownRules>> {
        self.rules.get(root).cloned()
    }

    /// Replaces them.
    pub(super) fn set_rules(&mut self, root: &Path, rules: Arc<KnownRules>) {
        self.rules.insert(root.to_path_buf(), rules);
    }

    /// A request is about this root; of too many the one not used for longest is forgotten.
    pub(super) fn touch_root(&mut self, root: &Path) {
        if self.roots.back().is_some_and(|last| last == root) {
            return;
        }
        self.roots.retain(|known| known != root);
        self.roots.push_back(root.to_path_buf());
        if self.roots.len() > PROJECTS_MAX
            && let Some(oldest) = self.roots.pop_front()
        {
            self.verified.retain(|(known, _), _| *known != oldest);
            self.proofs.retain(|(known, _), _| *known != oldest);
            self.disks.remove(&oldest);
            // A turn that somebody has or waits for stays the root's.
            let is_used = |turn: &mut Arc<Semaphore>| Arc::strong_count(turn) > 1;
            self.poll_locks.retain(|known, turn| *known != oldest || is_used(turn));
            let is_used = |gate: &mut Arc<OverlayGate>| Arc::strong_count(gate) > 1;
            self.overlay_gates.retain(|(known, _), gate| *known != oldest || is_used(gate));
            self.base_results.forget_root(&oldest);
            self.texts.forget_root(&oldest);
            self.latencies.retain(|(known, _), _| *known != oldest);
            self.keys.remove(&oldest);
            self.rules.remove(&oldest);
        }
    }

    fn disk(&mut self, root: &Path) -> &mut DiskHistory {
        self.disks.entry(root.to_path_buf()).or_default()
    }

    fn session(&mut self, id: &str) -> &mut SessionState {
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
mod tests;
