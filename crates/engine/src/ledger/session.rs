//! The memory of one session: the files it wrote, the files its edits affect, its reports, and up to
//! where it has seen the changes on disk.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::ledger::DeferredReport;
use crate::ledger::known_outputs::KnownOutputs;
use crate::ledger::passed_checks::PassedChecks;
use crate::ledger::pending_reports::PendingReports;
use crate::ledger::transcripts::Spending;
use crate::recall::session_recall::SessionRecall;
use moai_base::finding::Finding;
use moai_base::hash::TextId;
use moai_base::limits::{
    BACKGROUND_STOPS_MAX, REPORTED_GAPS_MAX, SESSION_DEPENDENTS_MAX, SESSION_FILES_MAX,
    STOP_REPEAT_MS_MAX, TOUCHED_NAMES_MAX,
};
use moai_base::path::RelPath;
use moai_host::files::Snapshot;
use moai_loops::framework::MessageLanguage;
use moai_loops::options::BaselineMode;
use moai_loops::state::LoopState;
use moai_loops::stop_table::StopDelivery;
use moai_lsp::impact::TouchedSymbols;
use moai_report::agent::EditText;

/// The memory of one session; see the module.
#[derive(Debug, Default)]
pub(crate) struct SessionState {
    pub(super) deferred_reports: VecDeque<QueuedReport>,
    reported_gaps: HashSet<String>,
    /// The roots that Stops and tool calls came from, and those of its loops.
    projects: BTreeSet<PathBuf>,
    /// What the next hook says about a loop that a command started or moved.
    pub(crate) pending_start: Option<PendingStart>,
    /// What a person decided at a terminal about its pipeline, oldest first; the next hook tells its agent.
    pub(crate) decisions: Vec<String>,
    /// True if decisions that an earlier daemon kept were looked up.
    pub(crate) has_looked_for_decisions: bool,
    /// The language of the session's loop, English without a loop; `None` until it is looked up.
    pub(crate) language: Option<MessageLanguage>,
    /// The requested measurements whose results were not reported yet.
    pub(crate) pending_reports: PendingReports,
    pub(super) last_use: u64,
    /// True if an agent has called a tool in the present turn: set by the call, cleared when the turn begins
    /// or ends; `None` if this daemon has not seen the turn.
    pub(crate) is_at_work: Option<bool>,
    /// Observations shown to the session.
    pub(crate) recall: SessionRecall,
    /// Texts for the user, kept until the next hook.
    pub(crate) user_notices: Vec<String>,
    /// True if a tool call was seen since the last Stop.
    pub(crate) has_called_tool: bool,
    /// The last Stop that this daemon answered in the present turn.
    pub(crate) answered_stop: Option<AnsweredStop>,
    /// Checks that its next Stop need not run again.
    pub(crate) passed_checks: Option<PassedChecks>,
    /// Files that the checks of its loop made.
    pub(crate) known_outputs: Option<KnownOutputs>,
    /// Token usage in its transcripts, and how far they have been read.
    pub(crate) spending: Spending,
    /// Files of shell commands that were reported; the disk poll does not report them again.
    named_shell_writes: BTreeSet<RelPath>,
    task_wait: TaskWait,
    roots: HashMap<PathBuf, SessionRoot>,
}

/// What a session is told about its loop.
#[derive(Debug)]
pub(crate) enum PendingStart {
    /// This text.
    Text(EditText),
    /// Where its loop and its pipeline are when the hook calls, and more lines.
    OfLoop {
        /// Empty if there are none.
        more: String,
    },
}

/// A deferred report in a session's queue.
#[derive(Debug)]
pub(crate) struct QueuedReport {
    /// The subagent that reads it; `None` for the main agent.
    pub(super) agent: Option<String>,
    pub(super) report: DeferredReport,
}

/// An answered Stop of a running loop.
#[derive(Debug)]
pub(crate) struct AnsweredStop {
    /// Hash of the whole message.
    pub(crate) content: String,
    /// In milliseconds since the epoch.
    pub(crate) answered_ms: u64,
    /// The length of the transcript when the Stop arrived; `None` without a transcript.
    pub(crate) transcript_bytes: Option<u64>,
}

/// The background tasks that a session awaits.
#[derive(Debug, Default)]
struct TaskWait {
    /// At the last Stop.
    tasks: BTreeSet<String>,
    stops: u32,
    /// The time of the last counted Stop, in milliseconds since the epoch.
    at_ms: u64,
}

/// A session's memory of one root.
#[derive(Debug, Default)]
struct SessionRoot {
    written: BTreeSet<RelPath>,
    /// Those that tools wrote, and no shell command.
    edited: BTreeSet<RelPath>,
    is_written_cut: bool,
    /// The last text of each path that a hook of the session saw.
    texts: BTreeMap<RelPath, TextId>,
    affected: AffectedFiles,
    disk_cursor: Option<DiskCursor>,
}

/// Up to where a session has seen the changes on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiskCursor {
    /// Epoch of the root.
    pub(crate) epoch: u64,
    pub(crate) head: Option<String>,
}

/// The files that the edits of a session affect.
#[derive(Clone, Debug, Default)]
pub(crate) struct AffectedFiles {
    /// The files with their earlier findings; `None` for a file that had not been measured.
    pub(crate) files: BTreeMap<RelPath, Option<Vec<Finding>>>,
    /// All symbols that the session touched.
    pub(crate) touched: TouchedSymbols,
    /// True if there may be more files than are kept.
    pub(crate) is_cut: bool,
}

impl AffectedFiles {
    /// True if the last measurement before the session's edits did not have this finding. Its presence would
    /// prove nothing: another change may have followed that measurement, and removed the finding. In the same
    /// bytes places are compared, because fingerprints distinguish equal errors of one text by their order
    /// alone.
    pub(crate) fn was_absent_before(&self, now: &Finding) -> bool {
        let Some(Some(earlier)) = self.files.get(&now.path) else { return false };
        !earlier.iter().any(|old| {
            if old.content_hash != now.content_hash {
                return old.id == now.id;
            }
            let is_same_place = old.sensor == now.sensor && old.range == now.range;
            is_same_place && old.code == now.code && old.message == now.message
        })
    }
}

impl SessionState {
    /// Takes the texts kept for the user.
    pub(crate) fn take_user_notices(&mut self) -> Option<String> {
        let notices = std::mem::take(&mut self.user_notices);
        (!notices.is_empty()).then(|| notices.join("\n"))
    }

    /// True if hooks of the session came from several projects, or none came yet: this process may not have
    /// seen its project.
    pub(crate) fn may_come_from_elsewhere(&mut self, root: &Path) -> bool {
        let is_first = self.projects.is_empty();
        self.note_project(root);
        is_first || self.projects.len() > 1
    }

    /// The session has work in this project.
    pub(crate) fn note_project(&mut self, root: &Path) {
        self.projects.insert(root.to_owned());
    }

    /// The disk look does not name these files of a shell command again.
    pub(crate) fn note_named_shell_writes(&mut self, files: Vec<RelPath>) {
        self.named_shell_writes.extend(files);
    }

    /// Takes the files that must not be reported again.
    pub(crate) fn take_named_shell_writes(&mut self) -> BTreeSet<RelPath> {
        std::mem::take(&mut self.named_shell_writes)
    }

    /// True if a tool was called since the last call of this method.
    pub(crate) fn take_tool_call(&mut self) -> bool {
        std::mem::take(&mut self.has_called_tool)
    }

    /// True if a gap is new to this session; marks it as reported.
    pub(crate) fn report_once(&mut self, gap: &str) -> bool {
        if self.reported_gaps.len() >= REPORTED_GAPS_MAX {
            self.reported_gaps.clear();
        }
        self.reported_gaps.insert(gap.to_owned())
    }

    /// Drops the reports of measurements up to this number, because a Stop has newer evidence.
    pub(crate) fn drop_reports(&mut self, last_measurement: u64) {
        self.deferred_reports.retain(|queued| queued.report.measurement > last_measurement);
        self.pending_reports.forget_through(last_measurement);
    }

    /// Binds the session to a loop. A loop that is compared with its start forgets the files that
    /// earlier edits affected, because errors fixed or caused by these edits are not the loop's.
    pub(crate) fn bind_to_loop(&mut self, root: &Path, state: &LoopState) {
        self.language = Some(state.language());
        self.note_project(root);
        if state.options.baseline == BaselineMode::Base {
            self.root_state(root).affected = AffectedFiles::default();
        }
    }

    /// Counts the consecutive Stops, including this one, at which background tasks were running; 0 without
    /// tasks. Different tasks reset the count only after a Stop that was measured, because an agent could
    /// start a new task before each Stop. A second hook process of one Stop is not counted.
    pub(crate) fn count_stops_with_tasks(
        &mut self,
        tasks: &BTreeSet<String>,
        started_ms: Option<u64>,
        now_ms: u64,
    ) -> u32 {
        let was_measured = self.task_wait.stops > BACKGROUND_STOPS_MAX;
        if tasks.is_empty() || was_measured && self.task_wait.tasks != *tasks {
            self.task_wait = TaskWait::default();
        }
        self.task_wait.tasks.clone_from(tasks);
        let is_another = started_ms.is_none_or(|started_ms| started_ms > self.task_wait.at_ms);
        if !tasks.is_empty() && is_another {
            self.task_wait.stops = self.task_wait.stops.saturating_add(1);
            self.task_wait.at_ms = now_ms;
        }
        self.task_wait.stops
    }

    /// Records that the session wrote a file.
    pub(crate) fn record_write(&mut self, root: &Path, path: &RelPath) {
        let of_root = self.root_state(root);
        if of_root.written.len() < SESSION_FILES_MAX || of_root.written.contains(path) {
            of_root.written.insert(path.clone());
        } else {
            of_root.is_written_cut = true;
        }
    }

    /// Records that a tool of the session wrote a file.
    pub(crate) fn record_edit(&mut self, root: &Path, path: &RelPath) {
        let of_root = self.root_state(root);
        if of_root.edited.len() < SESSION_FILES_MAX {
            of_root.edited.insert(path.clone());
        }
    }

    /// The files of a root that tools of the session wrote.
    pub(crate) fn edited(&self, root: &Path) -> BTreeSet<RelPath> {
        self.roots.get(root).map(|state| state.edited.clone()).unwrap_or_default()
    }

    /// The files of a root that the session wrote, and whether there were more.
    pub(crate) fn written(&self, root: &Path) -> (BTreeSet<RelPath>, bool) {
        let of_root = self.roots.get(root);
        of_root.map(|state| (state.written.clone(), state.is_written_cut)).unwrap_or_default()
    }

    /// Records the text of a changed file that a hook of the session saw.
    pub(crate) fn record_text(&mut self, root: &Path, snapshot: &Snapshot) {
        let Some(text) = TextId::of_text(&snapshot.text) else { return };
        let of_root = self.root_state(root);
        if of_root.texts.len() < SESSION_FILES_MAX || of_root.texts.contains_key(&snapshot.path) {
            of_root.texts.insert(snapshot.path.clone(), text);
        } else {
            of_root.is_written_cut = true;
        }
    }

    /// The last texts that hooks of the session saw, including files deleted since.
    pub(crate) fn seen_texts(&self, root: &Path) -> BTreeMap<RelPath, TextId> {
        self.roots.get(root).map(|state| state.texts.clone()).unwrap_or_default()
    }

    /// Adds files that the session's edits affect, each with its earlier findings.
    pub(super) fn add_affected(
        &mut self,
        root: &Path,
        files: Vec<(RelPath, Option<Vec<Finding>>)>,
        touched: &TouchedSymbols,
        is_cut: bool,
    ) {
        let affected = &mut self.root_state(root).affected;
        affected.is_cut |= is_cut;
        for (path, known) in files {
            if affected.files.len() < SESSION_DEPENDENTS_MAX || affected.files.contains_key(&path) {
                affected.files.entry(path).or_insert(known);
            } else {
                affected.is_cut = true;
            }
        }
        if affected.touched.names.len() < TOUCHED_NAMES_MAX {
            affected.touched.extend(touched.clone());
        }
    }

    /// The files that the session's edits affect.
    pub(crate) fn affected_files(&self, root: &Path) -> AffectedFiles {
        self.roots.get(root).map(|state| state.affected.clone()).unwrap_or_default()
    }

    /// Replaces up to where the session has seen a root, and returns the previous position.
    pub(super) fn replace_disk_cursor(
        &mut self,
        root: &Path,
        now: DiskCursor,
    ) -> Option<DiskCursor> {
        self.root_state(root).disk_cursor.replace(now)
    }

    /// Resets how far the session has seen a root, because the changes that it took were not delivered.
    pub(crate) fn set_disk_cursor(&mut self, root: &Path, seen: Option<DiskCursor>) {
        self.root_state(root).disk_cursor = seen;
    }

    /// True if the session has polled a root.
    pub(crate) fn has_polled(&self, root: &Path) -> bool {
        self.roots.get(root).is_some_and(|state| state.disk_cursor.is_some())
    }

    /// True if this Stop repeats the last answered one: shortly after its answer, with the same content,
    /// while the agent has neither said nor done anything.
    pub(crate) fn has_answered(
        &self,
        delivery: &StopDelivery,
        transcript_bytes: Option<u64>,
    ) -> bool {
        let Some(last) = self.answered_stop.as_ref().filter(|_| !self.has_called_tool) else {
            return false;
        };
        let is_soon = |start_ms| start_ms <= last.answered_ms + STOP_REPEAT_MS_MAX;
        last.content == delivery.content
            && transcript_bytes.is_some()
            && last.transcript_bytes == transcript_bytes
            && delivery.start_ms.is_some_and(is_soon)
    }

    fn root_state(&mut self, root: &Path) -> &mut SessionRoot {
        self.roots.entry(root.to_path_buf()).or_default()
    }
}
