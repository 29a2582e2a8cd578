//! One written file, from its hook until the last report about it: measured by the scan and all its
//! language servers at the same time, and compared with the state before the edit.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::edit::edit_delta::{cache_lines, delta_from};
use crate::edit::edit_measurement::EditMeasurement;
use crate::edit::impact::ImpactContext;
use crate::engine::{Engine, panic_gap, run_blocking, run_in_place};
use crate::evidence::disk_poll;
use crate::evidence::earlier_texts::EarlierState;
use crate::evidence::gather;
use crate::evidence::poll_gate::DiskEpoch;
use crate::evidence::slow_files::SlowFileTime;
use crate::evidence::snapshot_measurement;
use crate::evidence::verified_results;
use crate::hooks::hook_call::{HookCall, language};
use crate::ledger::{SelectedFile, SessionAgent};
use crate::project::Project;
use crate::recall::earlier_fixes::earlier_fix_lines;
use crate::recall::note::note;
use crate::recall::recorder::{NotedEdit, NotedEventKind};
use moai_base::delta::Delta;
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::verdict::Gap;
use moai_host::files::Snapshot;
use moai_host::git;
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::impact::TouchedSymbols;
use moai_protocol::hook::TextBeforeEdit;
use moai_report::agent::EditFeedback;
use moai_scan::scan_text;

/// The disk poll for other changes, made once and shared by everything that waits for it.
pub(crate) type SharedDiskEpoch = Arc<OnceCell<DiskEpoch>>;

/// A written file and the agent that reads the reports about it.
#[derive(Debug)]
pub(crate) struct EditSession {
    pub(crate) engine: Arc<Engine>,
    pub(crate) project: Project,
    pub(crate) reader: SessionAgent,
    /// The file as its hook read it.
    pub(crate) snapshot: Snapshot,
    pub(crate) text_before: TextBeforeEdit,
    /// When the hook began to wait.
    pub(crate) started_at: Instant,
    disk_epoch: SharedDiskEpoch,
}

/// The state before an edit is measured.
#[derive(Debug)]
pub(crate) struct ImpactStart {
    /// The text before the edit, if it is known.
    text: Option<String>,
    /// The number of the session's next measurement.
    measurement: u64,
}

/// One sensor's part of the feedback.
#[derive(Debug, Default)]
pub(crate) struct SensorFeedback {
    pub(crate) sensor: String,
    pub(crate) delta: Delta,
    pub(crate) gap: Option<Gap>,
    /// True if the gap is reported even if the session knows it and nothing else is reported.
    pub(crate) must_report: bool,
}

/// A measurement in progress.
pub(crate) struct RunningSensor {
    sensor: String,
    feedback: JoinHandle<SensorFeedback>,
}

impl EditSession {
    /// An edit that the hook `call` reports. `disk_epoch` is shared with other edits of the hook.
    pub(crate) fn new(
        call: &HookCall<'_>,
        snapshot: Snapshot,
        text_before: TextBeforeEdit,
        started_at: Instant,
        disk_epoch: SharedDiskEpoch,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine: Arc::clone(call.engine),
            project: call.project.clone(),
            reader: call.reader(),
            snapshot,
            text_before,
            started_at,
            disk_epoch,
        })
    }

    /// Polls the disk for other changes, once for all who ask.
    pub(crate) async fn poll_disk(&self) -> DiskEpoch {
        let poll = async || disk_poll::sync_disk(&self.engine, &self.project).await;
        *self.disk_epoch.get_or_init(poll).await
    }

    /// True if the edit changed no byte of a file that all language servers have already measured, and no
    /// other file changed since: then no server is asked.
    pub(crate) async fn is_already_reported(&self) -> bool {
        let has_same_text = match &self.text_before {
            TextBeforeEdit::Text(text) => {
                ContentHash::of_bytes(text.as_bytes()) == self.snapshot.hash
            }
            TextBeforeEdit::Absent => false,
            TextBeforeEdit::Unknown => true,
        };
        if !has_same_text || !self.is_proven_by_all_servers() {
            return false;
        }
        self.poll_disk().await;
        self.is_proven_by_all_servers()
    }

    fn is_proven_by_all_servers(&self) -> bool {
        let (path, hash) = (&self.snapshot.path, self.snapshot.hash);
        let selections = snapshot_measurement::select_servers(&self.engine, &self.project, path);
        let Ok(servers) = selections.into_iter().collect::<Result<Vec<ResolvedServer>, _>>() else {
            return false;
        };
        let identities = servers.iter().map(|server| server.identity).collect();
        let file = SelectedFile { path: path.clone(), servers: identities };
        let mut ledger = self.engine.ledger();
        let known = ledger.root(&self.project.root);
        known.is_verified(&file, hash)
            && servers.iter().all(|it| known.is_proven(path, &it.id, hash, it.identity))
    }

    /// The state that the edit's impact is compared with, before anything is measured.
    pub(crate) fn impact_start(&self) -> ImpactStart {
        let (root, path) = (&self.project.root, &self.snapshot.path);
        let text = match &self.text_before {
            TextBeforeEdit::Text(text) => Some(text.clone()),
            TextBeforeEdit::Absent => None,
            TextBeforeEdit::Unknown => {
                let cached =
                    self.engine.ledger().texts.get(root, path).map(|text| text.to_string());
                cached.or_else(|| run_in_place(|| git::head_text(root, path)))
            }
        };
        let session = &self.reader.session;
        let measurement = self.engine.ledger().session(session).pending_reports.next();
        ImpactStart { text, measurement }
    }

    /// Input of the search for the edit's impact on other files.
    pub(crate) fn impact_context(&self, start: ImpactStart) -> ImpactContext {
        let ImpactStart { text, measurement } = start;
        let path = &self.snapshot.path;
        let (before, now) = (text.as_deref(), Some(&*self.snapshot.text));
        let mut earlier = EarlierState::default();
        earlier.add(path, before);
        ImpactContext {
            earlier,
            measurement,
            engine: Arc::clone(&self.engine),
            project: self.project.clone(),
            reader: self.reader.clone(),
            label: path.to_string(),
            changed: vec![(path.clone(), Some(self.snapshot.hash))],
            measured_separately: Vec::new(),
            touched: TouchedSymbols::visible_elsewhere(path, before, now),
        }
    }

    /// Asks all language servers of the file at the same time.
    pub(crate) fn start_servers(self: &Arc<Self>) -> Vec<RunningSensor> {
        let mut running = Vec::new();
        for selection in
            snapshot_measurement::select_servers(&self.engine, &self.project, &self.snapshot.path)
        {
            let sensor = snapshot_measurement::sensor_id(&selection).to_owned();
            let feedback = EditMeasurement::start(self, selection);
            running.push(RunningSensor { sensor, feedback });
        }
        running
    }

    /// The feedback of all sensors that answer in time.
    pub(crate) async fn feedback(&self, servers: Vec<RunningSensor>) -> EditFeedback {
        let mut sensors: Vec<SensorFeedback> = self.scan_feedback().await.into_iter().collect();
        for RunningSensor { sensor, feedback } in servers {
            sensors.push(feedback.await.unwrap_or_else(|_| SensorFeedback::after_panic(sensor)));
        }
        let mut feedback = EditFeedback::new(self.snapshot.path.clone());
        for SensorFeedback { sensor, delta, gap, must_report } in sensors {
            feedback.delta.findings.extend(delta.findings);
            feedback.delta.fixed += delta.fixed;
            feedback.delta.fixed_errors += delta.fixed_errors;
            feedback.delta.disappeared.extend(delta.disappeared);
            feedback.delta.written_back.extend(delta.written_back);
            let Some(gap) = gap else { continue };
            // A tool that was never installed is reported once, not at every edit.
            let key = format!("{sensor} {gap}");
            let is_first = self.engine.ledger().session(&self.reader.session).report_once(&key);
            feedback.has_new_gaps |= is_first || must_report;
            feedback.gaps.push((sensor, gap));
        }
        feedback.delta.findings.sort_by_key(|finding| finding.range);
        feedback
    }

    /// Completes the feedback with earlier fixes, and notes the edit. `measured` are the bytes that the
    /// feedback is about. An edit that changed no byte is not noted.
    pub(crate) async fn remember(&self, feedback: &mut EditFeedback, measured: ContentHash) {
        let Self { engine, project, snapshot, .. } = self;
        let session = &self.reader.session;
        if !project.config.memory_enabled {
            return;
        }
        let language = language(engine, session);
        feedback.earlier_fixes =
            earlier_fix_lines(engine, project, session, feedback, language).await;
        // The edit's texts do not include what other programs have written since.
        let before = if snapshot.hash == measured {
            self.text_before.clone()
        } else {
            TextBeforeEdit::Unknown
        };
        if matches!(&before, TextBeforeEdit::Text(text) if **text == *snapshot.text) {
            return;
        }
        let after = Arc::clone(&snapshot.text);
        let noted = NotedEdit { has_sensor: true, feedback: feedback.clone(), before, after };
        note(engine, project, session, NotedEventKind::Edit(Box::new(noted)));
    }

    /// The scan's part; `None` if the scan does not apply to the file.
    async fn scan_feedback(&self) -> Option<SensorFeedback> {
        let (engine, project, snapshot) = (&self.engine, &self.project, &self.snapshot);
        if !project.config.scan_enabled || !project.rules.handles(&snapshot.path) {
            return None;
        }
        let (edited, rules) = (snapshot.clone(), Arc::clone(&project.rules));
        let scan =
            run_blocking(move || gather::scan_snapshot(&rules, &edited, &SlowFileTime::default()));
        let (before, scanned) = tokio::join!(self.scan_before(), scan);
        let result = scanned.flatten().unwrap_or_else(|| gather::failed_scan_result(snapshot));
        verified_results::store_verified(engine, project, std::slice::from_ref(&result), None);
        cache_lines(engine, snapshot, &result.findings);
        let mut feedback = SensorFeedback::new(result.sensor);
        match result.gap {
            None => {
                feedback.delta =
                    delta_from(engine, before.as_deref(), result.findings, &snapshot.text);
            }
            Some(gap) => feedback = feedback.with_gap(gap, true),
        }
        Some(feedback)
    }

    /// The scan's findings before the edit; `None` if they are unknown. The text that the host supplies makes
    /// the delta this edit's alone, even for a file that was never scanned or that another program wrote in
    /// between.
    async fn scan_before(&self) -> Option<Vec<Finding>> {
        let path = self.snapshot.path.clone();
        let known =
            self.engine.ledger().root(&self.project.root).verified(&path, "scan", None).cloned();
        let text = match &self.text_before {
            TextBeforeEdit::Absent => return Some(Vec::new()),
            TextBeforeEdit::Unknown => return known.map(|last| last.findings),
            TextBeforeEdit::Text(text) => text.clone(),
        };
        let (engine, rules) = (Arc::clone(&self.engine), Arc::clone(&self.project.rules));
        let scanning = run_blocking(move || {
            let hash = ContentHash::of_bytes(text.as_bytes());
            let findings = match known {
                Some(last) if last.hash == hash => last.findings,
                _ => {
                    let before = scan_text(&rules, &path, &text, hash);
                    // A partial scan cannot serve as a baseline.
                    if before.gap.is_some() {
                        return None;
                    }
                    before.findings
                }
            };
            if !findings.is_empty() {
                engine.ledger().lines.keep(hash, &text);
            }
            Some(findings)
        });
        scanning.await.flatten()
    }
}

impl SensorFeedback {
    /// No finding and no gap.
    pub(crate) fn new(sensor: String) -> Self {
        Self { sensor, ..Self::default() }
    }

    pub(crate) fn with_gap(self, gap: Gap, must_report: bool) -> Self {
        Self { gap: Some(gap), must_report, ..self }
    }

    /// The result was lost to a panic.
    pub(crate) fn after_panic(sensor: String) -> Self {
        Self::new(sensor).with_gap(panic_gap(), true)
    }
}
