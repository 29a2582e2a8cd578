//! One language server's session: handshake, open documents, measurements, the server's own
//! requests. A state machine without I/O: events come in with their time, messages to send and
//! answers go out.
//!
//! ```text
//! Starting --initialize answered--> Ready --stop--> Stopping
//!    `------------- failed / ended ----'---> every open request gets a gap
//! ```

mod changes;
mod documents;
mod embedded;
mod file_references;
mod loading;
pub(crate) mod outside;
mod queries;
mod queue;
mod registrations;
mod restart;
mod schemas;
mod server_requests;
mod sync;
mod version;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use self::documents::{OpenDocuments, ResendPolicy};
use self::embedded::NamedPlaces;
use self::loading::{LoadingState, ProgressKind};
use self::outside::ProjectLists;
pub use self::outside::{OutsidePlaces, ProjectListing, ReportedProject};
pub use self::queries::{QueryReply, ServerQuery};
use self::queue::QueuedMeasure;
use self::registrations::Registrations;
use super::freshness::habits::PublishHabits;
use super::freshness::jdtls::PublishRuns;
use super::freshness::rust_analyzer::flycheck::Flycheck;
use super::freshness::{
    CompletionProtocol, MeasurementContext, ProtocolStep, ServerEvent, clangd, jdtls, rust_analyzer,
};
use super::registry::{DiagnosticsMethod, ServerSpec};
use crate::jsonrpc::{RpcError, RpcId, RpcMessage};
use crate::messages::DiagnosticContext;
use crate::switched_off::{mark_configuration_fault, reported_project};
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::DIAGNOSTICS_MS_MAX;
use moai_base::path::{RelPath, from_uri, to_uri};
use moai_base::text::{LineIndex, PositionEncoding, TextRange};
use moai_base::verdict::{Cause, Gap};

/// The order of measurements in one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureLane {
    /// A hook waits for this file: begun at once.
    Interactive,
    /// One of the files of a check, a Stop or an impact: a few at a time.
    Batch,
}

/// A request for the diagnostics of exactly these bytes.
#[derive(Clone, Debug)]
pub struct DocumentRequest {
    /// The caller's number; returned with the answer.
    pub ticket: u64,
    pub path: RelPath,
    /// LSP language id.
    pub language_id: String,
    pub text: Arc<str>,
    pub hash: ContentHash,
    pub lane: MeasureLane,
}

/// A change of a file on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskChange {
    /// The file is new.
    Created,
    /// Its contents changed.
    Changed,
    /// The file was deleted.
    Deleted,
}

/// A changed file, as the caller has just read it.
#[derive(Clone, Debug)]
pub struct PresentText {
    pub path: RelPath,
    pub text: Arc<str>,
    pub hash: ContentHash,
}

/// An action for the session's owner.
#[derive(Debug)]
pub enum SessionEffect {
    /// Send a message to the server; order matters.
    Send(RpcMessage),
    /// The answer to a document request, for exactly its bytes.
    DiagnosticsReady(u64, Result<Vec<Finding>, Gap>),
    QueryAnswered(u64, Result<QueryReply, Gap>),
    /// The handshake is done; holds the server's version, if it reports one.
    Ready(Option<String>),
    /// The server's dependencies outside the polled files of the root changed to these.
    OutsidePlacesChanged(OutsidePlaces),
    /// The server would answer from outdated files; end its process, and start another on demand.
    Outdated,
    /// List the files of a project for this job, then call [`LspSession::project_files_listed`].
    ListProjectFiles(u64, ProjectListing),
    /// `cargo check` is due: remove cargo's records of files whose time hides a change, then call
    /// [`LspSession::start_flycheck`].
    PrepareFlycheck,
    /// The server is unusable; end its process.
    GiveUp(Gap),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionPhase {
    Starting,
    Ready,
    Stopping,
}

#[derive(Debug)]
struct MeasureJob {
    document: DocumentRequest,
    /// Tickets of earlier requests about the same bytes, which get the same answer.
    earlier_tickets: Vec<u64>,
    version: i32,
    protocol: CompletionProtocol,
    started_at: Instant,
    deadline: Instant,
    wake_at: Option<Instant>,
    /// The request that the server has not answered.
    request_id: Option<i64>,
    refresh_count: u32,
}

impl MeasureJob {
    /// The tickets of all requests that this job answers, in the order of the requests.
    fn into_tickets(self) -> impl Iterator<Item = u64> {
        self.earlier_tickets.into_iter().chain([self.document.ticket])
    }
}

#[derive(Clone, Debug, Default)]
pub struct ServerFolders {
    /// The project's root; paths are relative to it.
    pub root: PathBuf,
    /// The server's workspace: the root, or a folder below.
    pub workspace: PathBuf,
    /// The workspace has a `Cargo.toml`.
    pub has_cargo_manifest: bool,
    /// Folders outside the root whose files the server reads, but does not register for.
    pub dependencies: BTreeSet<PathBuf>,
    /// One Java file of each source folder of a workspace without a build file.
    pub java_samples: Vec<PathBuf>,
}

/// The session of one language server.
#[derive(Debug)]
pub struct LspSession {
    id: String,
    spec: ServerSpec,
    settings: Value,
    root: PathBuf,
    workspace: PathBuf,
    has_cargo_manifest: bool,
    dependencies: BTreeSet<PathBuf>,
    phase: SessionPhase,
    method: DiagnosticsMethod,
    capabilities: Value,
    next_request: i64,
    next_job: u64,
    documents: OpenDocuments,
    jobs: BTreeMap<u64, MeasureJob>,
    queries: BTreeMap<u64, queries::PendingQuery>,
    queued_measures: Vec<QueuedMeasure>,
    loading: LoadingState,
    flycheck: Flycheck,
    publish_runs: PublishRuns,
    newest_ticket: u64,
    /// The server has been notified of a changed manifest of Go.
    has_announced_manifest: bool,
    /// Files changed on disk of which the server cannot be notified.
    is_behind_disk: bool,
    registrations: Registrations,
    project_lists: ProjectLists,
    /// What documents name: files embedded by Go sources, schemas.
    named_places: BTreeMap<RelPath, NamedPlaces>,
    outside_places: OutsidePlaces,
    /// The bytes of changed files, as they were last announced; at most one entry per watched file.
    announced_hashes: HashMap<RelPath, ContentHash>,
    /// Disk changes of which the server has not been notified, one per file.
    unsent_changes: BTreeMap<PathBuf, DiskChange>,
    habits: PublishHabits,
    /// The server once refused its protocol, so published diagnostics are used.
    has_fallen_back: bool,
    last_message_at: Option<Instant>,
    effects: Vec<SessionEffect>,
}

const INITIALIZE: i64 = 0;

impl LspSession {
    /// Starts a session with its handshake. `settings` answer `workspace/configuration`;
    /// `process_id` is ours, so that the server ends with us.
    #[must_use]
    pub fn start(
        id: &str,
        spec: &ServerSpec,
        settings: Value,
        place: ServerFolders,
        process_id: u32,
    ) -> Self {
        let mut session = Self {
            id: id.to_owned(),
            spec: spec.clone(),
            settings,
            root: place.root,
            workspace: place.workspace,
            has_cargo_manifest: place.has_cargo_manifest,
            dependencies: place.dependencies,
            phase: SessionPhase::Starting,
            method: spec.diagnostics,
            capabilities: Value::Null,
            next_request: INITIALIZE,
            next_job: 0,
            documents: OpenDocuments::default(),
            jobs: BTreeMap::new(),
            queries: BTreeMap::new(),
            queued_measures: Vec::new(),
            loading: LoadingState::new(spec),
            flycheck: Flycheck::default(),
            publish_runs: PublishRuns::default(),
            newest_ticket: 0,
            has_announced_manifest: false,
            is_behind_disk: false,
            registrations: Registrations::with_unregistered(&spec.watches),
            project_lists: ProjectLists::default(),
            named_places: BTreeMap::new(),
            outside_places: OutsidePlaces::default(),
            announced_hashes: HashMap::new(),
            unsent_changes: BTreeMap::new(),
            habits: PublishHabits::default(),
            has_fallen_back: false,
            last_message_at: None,
            effects: Vec::new(),
        };
        let options = &mut session.spec.initialization_options;
        match spec.diagnostics {
            DiagnosticsMethod::Clangd => clangd::complete_options(options),
            DiagnosticsMethod::Jdtls => jdtls::complete_options(options, &place.java_samples),
            DiagnosticsMethod::RustAnalyzer => {
                rust_analyzer::disable_check_on_save(options, &mut session.settings);
            }
            _ => {}
        }
        let params =
            server_requests::initialize_params(&session.workspace, &session.spec, process_id);
        session.request("initialize", params);
        session.update_outside_places();
        session
    }

    /// All effects since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<SessionEffect> {
        std::mem::take(&mut self.effects)
    }

    /// When [`LspSession::tick`] must be called next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        let jobs = self.jobs.values().flat_map(|job| [Some(job.deadline), job.wake_at]);
        jobs.flatten().chain(self.next_queue_wake()).chain(self.next_query_deadline()).min()
    }

    /// True if any request is open.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty() || !self.queued_measures.is_empty() || !self.queries.is_empty()
    }

    /// True if the handshake is done and the project is loaded.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.phase == SessionPhase::Ready && !self.loading.is_loading()
    }

    /// Handles a message from the server.
    pub fn on_message(&mut self, message: RpcMessage, now: Instant) {
        self.last_message_at = Some(now);
        match message {
            RpcMessage::Request { id, method, params } => {
                self.server_request(id, &method, &params, now);
            }
            RpcMessage::Notification { method, params } => {
                self.on_notification(&method, &params, now);
            }
            RpcMessage::Response { id: RpcId::Number(INITIALIZE), result }
                if self.phase == SessionPhase::Starting =>
            {
                self.on_initialize_response(result, now);
            }
            RpcMessage::Response { id: RpcId::Number(id), result } => {
                self.on_response(id, result, now);
            }
            RpcMessage::Response { .. } => {}
        }
    }

    /// Passes a response to the job or the query that awaits it; the response to a cancelled
    /// request is dropped.
    fn on_response(&mut self, request: i64, result: Result<Value, RpcError>, now: Instant) {
        let job = self.jobs.iter_mut().find(|(_, job)| job.request_id == Some(request));
        if let Some((id, job)) = job {
            job.request_id = None;
            let id = *id;
            self.advance_job(id, now, |protocol, subject| {
                protocol.on_response(subject, result.as_ref())
            });
        } else {
            self.on_query_response(request, result);
        }
    }

    /// Handles the passing of time.
    pub fn tick(&mut self, now: Instant) {
        let due = self.jobs.iter().filter(|(_, job)| job.wake_at.is_some_and(|at| at <= now));
        let due: Vec<u64> = due.map(|(id, _)| *id).collect();
        for job in due {
            if let Some(job) = self.jobs.get_mut(&job) {
                job.wake_at = None;
            }
            self.advance_job(job, now, CompletionProtocol::on_wake);
        }
        let late: Vec<(u64, Instant)> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.deadline <= now)
            .map(|(id, job)| (*id, job.started_at))
            .collect();
        for (job, started_at) in late {
            let gap = self.deadline_gap();
            // No message since the request began: the process hangs, and a new one may not.
            if self.last_message_at.is_none_or(|at| at <= started_at) {
                self.effects.push(SessionEffect::GiveUp(gap.clone()));
            }
            self.finish_job(job, Err(gap));
        }
        self.end_late_queued(now);
        self.end_late_queries(now);
        self.begin_queued(now);
    }

    /// Sends `shutdown` and `exit`, without `params` because some servers refuse null.
    pub fn stop(&mut self) {
        self.phase = SessionPhase::Stopping;
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.fail(&Gap::new(Cause::Crashed, "the language server was stopped"));
    }

    /// Handles the end of the server: every open request gets this gap.
    pub fn fail(&mut self, gap: &Gap) {
        let jobs = std::mem::take(&mut self.jobs).into_values();
        let mut tickets: Vec<u64> = jobs.flat_map(MeasureJob::into_tickets).collect();
        let waiting = std::mem::take(&mut self.queued_measures).into_iter();
        tickets.extend(waiting.map(|waiting| waiting.document.ticket));
        for ticket in tickets {
            self.effects.push(SessionEffect::DiagnosticsReady(ticket, Err(gap.clone())));
        }
        self.fail_queries(gap);
    }

    fn on_initialize_response(&mut self, result: Result<Value, RpcError>, now: Instant) {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let gap =
                    Gap::new(Cause::Crashed, format!("it failed to start: {}", error.message));
                self.fail(&gap);
                self.effects.push(SessionEffect::GiveUp(gap));
                return;
            }
        };
        self.capabilities = result["capabilities"].clone();
        self.documents.set_capabilities(&self.capabilities);
        self.habits.offered(&self.capabilities);
        self.phase = SessionPhase::Ready;
        self.providers_changed(now);
        self.notify("initialized", json!({}));
        if !self.settings.is_null() {
            let params = json!({"settings": self.settings});
            self.notify("workspace/didChangeConfiguration", params);
        }
        let version = result["serverInfo"]["version"].as_str().map(version::short_version);
        self.effects.push(SessionEffect::Ready(version));
        self.begin_queued(now);
        self.begin_queries();
    }

    fn on_notification(&mut self, method: &str, params: &Value, now: Instant) {
        match method {
            "textDocument/publishDiagnostics" => self.on_publish(params, now),
            "$/progress" => self.on_progress(params, now),
            _ => {
                let was_loading = self.loading.is_loading();
                self.loading.on_notification(method, params);
                self.flycheck.on_notification(method, params);
                self.publish_runs.on_notification(method, params);
                self.notify_jobs(was_loading, ServerEvent::Notification(method, params), now);
                self.end_if_not_imported();
                self.begin_queries();
            }
        }
    }

    fn on_publish(&mut self, params: &Value, now: Instant) {
        if self.method == DiagnosticsMethod::RustAnalyzer {
            self.flycheck.on_publish(params);
        }
        // Compares files instead of URIs, because servers percent-encode different characters.
        let file = params["uri"].as_str().and_then(from_uri);
        let Some(path) = file.and_then(|file| RelPath::below(&self.root, &file)) else { return };
        self.habits.on_publish(&path, !params["version"].is_null(), now);
        let jobs: Vec<u64> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.document.path == path)
            .map(|(id, _)| *id)
            .collect();
        for job in jobs {
            self.advance_job(job, now, |protocol, subject| {
                protocol.on_publish(subject, params["version"].as_i64(), &params["diagnostics"])
            });
        }
    }

    fn on_progress(&mut self, params: &Value, now: Instant) {
        let token = match &params["token"] {
            Value::String(token) => token.clone(),
            other => other.to_string(),
        };
        let was_loading = self.loading.is_loading();
        self.flycheck.on_progress(&token, params["value"]["kind"].as_str());
        match self.loading.on_progress(&token, &params["value"]) {
            ProgressKind::Began | ProgressKind::Ended => {
                self.notify_jobs(was_loading, ServerEvent::Progress, now);
            }
            ProgressKind::Other => {}
        }
        self.restart_if_complaint_is_late();
    }

    /// Passes an event to every job, and wakes all jobs when it ended the loading.
    fn notify_jobs(&mut self, was_loading: bool, event: ServerEvent<'_>, now: Instant) {
        let jobs: Vec<u64> = self.jobs.keys().copied().collect();
        for job in &jobs {
            self.advance_job(*job, now, |protocol, subject| {
                protocol.on_server_event(subject, event)
            });
        }
        if was_loading && !self.loading.is_loading() {
            for job in jobs {
                self.advance_job(job, now, CompletionProtocol::on_wake);
            }
            self.begin_queued(now);
            self.begin_queries();
        }
    }

    /// Sends the document's text and begins its measurement.
    fn begin_job(&mut self, waiting: QueuedMeasure, now: Instant) {
        let QueuedMeasure { document: request, deadline, .. } = waiting;
        let resend = self.resend();
        let earlier =
            if resend == ResendPolicy::Never { Vec::new() } else { self.take_over(&request) };
        self.follow_configurations(&request.path.under(&self.root));
        self.follow_named(&request);
        let (version, is_header_saved) = self.send_text(&request, resend);
        let id = self.next_job;
        self.next_job += 1;
        let mut protocol = CompletionProtocol::new(self.method);
        if std::mem::take(&mut self.is_behind_disk) {
            protocol.disk_changed();
        }
        let job = MeasureJob {
            document: request,
            earlier_tickets: earlier,
            version,
            protocol,
            started_at: now,
            deadline,
            wake_at: None,
            request_id: None,
            refresh_count: 0,
        };
        self.jobs.insert(id, job);
        self.advance_job(id, now, CompletionProtocol::begin);
        if is_header_saved {
            self.restart_others(id, now);
        }
    }

    /// Advances a job's protocol by one step and performs the result.
    fn advance_job(
        &mut self,
        id: u64,
        now: Instant,
        act: impl FnOnce(&mut CompletionProtocol, &MeasurementContext<'_>) -> ProtocolStep,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let file = job.document.path.under(&self.root);
        let uri = to_uri(&file);
        let about = DiagnosticContext {
            sensor: &self.id,
            path: &job.document.path,
            hash: job.document.hash,
        };
        let is_loading = self.loading.is_loading();
        let subject = MeasurementContext {
            about,
            uri: &uri,
            file: &file,
            version: job.version,
            is_loading,
            fault: self.loading.fault(),
            spec: &self.spec,
            habits: &self.habits,
            now,
            ticket: job.document.ticket,
            flycheck: &self.flycheck,
            publish_runs: &self.publish_runs,
            has_cargo_manifest: self.has_cargo_manifest,
            project_lists: &self.project_lists,
        };
        let step = act(&mut job.protocol, &subject);
        if let Some(config) = job.protocol.take_covering_config() {
            self.project_lists.store_covering(file.clone(), config);
        }
        if let Some(project) = job.protocol.take_listed_project() {
            self.store_project_list(project);
        }
        let Some(job) = self.jobs.get_mut(&id) else { return };
        match step {
            ProtocolStep::SendRequest(method, params) => {
                let request = self.request(method, params);
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.request_id = Some(request);
                }
            }
            ProtocolStep::WakeAt(at) => job.wake_at = Some(at),
            ProtocolStep::ListProjectFiles(listing) => {
                self.effects.push(SessionEffect::ListProjectFiles(id, listing));
            }
            ProtocolStep::AwaitFlycheck => self.await_flycheck(id, now),
            ProtocolStep::ReloadProject(wake_at) => {
                job.wake_at = Some(wake_at);
                let ticket = job.document.ticket;
                if self.flycheck.request_reload(ticket, self.newest_ticket, now) {
                    let (method, params) = Flycheck::reload_request();
                    self.request(method, params);
                }
            }
            ProtocolStep::Wait => {}
            ProtocolStep::Resend => self.restart(id, ResendPolicy::Known, now),
            ProtocolStep::Reopen => self.restart(id, ResendPolicy::Reopened, now),
            ProtocolStep::FallBack => {
                self.has_fallen_back = true;
                self.method = DiagnosticsMethod::Push;
                // The text is sent again because earlier publishes were ignored.
                self.restart_with_new_protocol(&[id], now);
            }
            ProtocolStep::Done(mut outcome) => {
                if let Ok(findings) = &mut outcome
                    && let Some(project) = reported_project(findings)
                    && let Some(fault) = self.project_lists.configuration_fault(project)
                {
                    mark_configuration_fault(findings, &fault.describe(&self.root));
                }
                self.finish_job(id, outcome);
                self.begin_queued(now);
            }
        }
    }

    /// Makes a job wait for a compiler run that begins from now on.
    fn await_flycheck(&mut self, id: u64, now: Instant) {
        if self.flycheck.request_run(self.newest_ticket, now) {
            self.effects.push(SessionEffect::PrepareFlycheck);
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.wake_at = self.flycheck.begin_deadline();
        }
    }

    /// The gap of every measurement while the server cannot read a configuration, and so checks under its defaults.
    #[must_use]
    pub fn configuration_gap(&self) -> Option<Gap> {
        let error = self.loading.configuration_error()?.trim_end_matches('.');
        let detail = format!("it cannot read its configuration: {error}");
        let remedy = "correct the configuration (moai-ralph server logs shows more)";
        Some(Gap::new(Cause::ProjectFault, detail).with_remedy(remedy))
    }

    /// The answer to [`SessionEffect::PrepareFlycheck`]. After a gap the run proves no file clean.
    pub fn start_flycheck(&mut self, prepared: Result<(), Gap>, now: Instant) {
        if self.flycheck.start(prepared, now) {
            let (method, params) = Flycheck::start_request();
            self.notify(method, params);
        }
    }

    /// Ends a job. Findings beyond the end of the text were computed for other bytes.
    fn finish_job(&mut self, id: u64, outcome: Result<Vec<Finding>, Gap>) {
        let Some(job) = self.remove_job(id) else { return };
        let index = LineIndex::new(&job.document.text);
        // tsserver's own answers always count UTF-16, whatever encoding the server around it chose.
        let encoding = match job.protocol {
            CompletionProtocol::Tsserver(_) => PositionEncoding::Utf16,
            _ => self.documents.encoding(),
        };
        let outcome = outcome.and_then(|mut findings| {
            for Finding { range: TextRange { start, end }, .. } in &mut findings {
                *start = index.convert_encoding(*start, encoding, PositionEncoding::Utf16);
                *end = index.convert_encoding(*end, encoding, PositionEncoding::Utf16);
            }
            if findings.iter().all(|finding| index.contains(&finding.range)) {
                return Ok(findings);
            }
            Err(Gap::new(Cause::Superseded, "the answer names lines that do not exist"))
        });
        for ticket in job.into_tickets() {
            self.effects.push(SessionEffect::DiagnosticsReady(ticket, outcome.clone()));
        }
    }

    fn deadline_gap(&self) -> Gap {
        if let Some(reason) = self.loading.import_failure() {
            Gap::new(Cause::ProjectFault, format!("it cannot import the project: {reason}"))
        } else if self.phase == SessionPhase::Starting || self.loading.is_loading() {
            Gap::new(Cause::Loading, "it is still loading the project")
        } else if self.flycheck.is_running() {
            Gap::new(Cause::Loading, "cargo check is still running")
        } else {
            let secs = DIAGNOSTICS_MS_MAX / 1000;
            Gap::new(Cause::TimedOut, format!("no answer within {secs} s"))
        }
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_request;
        self.next_request += 1;
        let message =
            RpcMessage::Request { id: RpcId::Number(id), method: method.to_owned(), params };
        self.effects.push(SessionEffect::Send(message));
        id
    }

    fn notify(&mut self, method: &str, params: Value) {
        let message = RpcMessage::Notification { method: method.to_owned(), params };
        self.effects.push(SessionEffect::Send(message));
    }
}

#[cfg(test)]
mod tests;
