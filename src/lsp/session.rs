//! One language server's session: handshake, open documents, measurements, the server's own
//! requests. A state machine without I/O: what happened goes in with its time, what to send and
//! which questions are answered comes out.
//!
//! ```text
//! Starting --initialize answered--> Ready --stop--> Stopping
//!    `------------- failed / ended ----'---> every open question gets a gap
//! ```

mod changes;
mod documents;
mod loading;
mod queries;
mod registrations;
mod restart;
mod server_requests;
mod sync;
mod version;
mod waiting;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use self::documents::{Documents, Resend};
use self::loading::{Loading, Progress};
pub use self::queries::{Query, Replied};
use self::registrations::Registrations;
use self::waiting::Waiting;
use super::freshness::habits::Habits;
use super::freshness::rust_analyzer::flycheck::Flycheck;
use super::freshness::{Heard, Protocol, Step, Subject, clangd, jdtls, rust_analyzer};
use super::registry::{Method, ServerSpec};
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::DIAGNOSTICS_MS_MAX;
use crate::base::path::{RelPath, from_uri, to_uri};
use crate::base::text::{Encoding, LineIndex, Range};
use crate::base::verdict::{Cause, Gap};
use crate::wire::jsonrpc::{Id, Message, RpcError};
use crate::wire::lsp::About;

/// A question: what is wrong in exactly these bytes?
#[derive(Clone, Debug)]
pub struct Question {
    /// The asker's number; comes back with the answer.
    pub ticket: u64,
    /// The file.
    pub path: RelPath,
    /// LSP language id.
    pub language_id: String,
    /// Its text.
    pub text: Arc<str>,
    /// Hash of the text.
    pub hash: ContentHash,
}

/// What happened to a file on disk without us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// It is new.
    Created,
    /// Its bytes differ.
    Changed,
    /// It is gone.
    Deleted,
}

/// What the session wants done.
#[derive(Debug)]
pub enum Effect {
    /// Send this to the server, in this order.
    Send(Message),
    /// A question is answered, for exactly the bytes it was asked about.
    Answer(u64, Result<Vec<Finding>, Gap>),
    /// A query is answered.
    Replied(u64, Result<Replied, Gap>),
    /// The handshake is done; the server's version, if it said one.
    Ready(Option<String>),
    /// The server cannot be used; end its process.
    Give(Gap),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Ready,
    Stopping,
}

#[derive(Debug)]
struct Job {
    question: Question,
    /// Tickets of earlier questions about the same bytes, which wait for the same answer.
    earlier: Vec<u64>,
    version: i32,
    protocol: Protocol,
    begun: Instant,
    deadline: Instant,
    wake: Option<Instant>,
    request: Option<i64>,
    refresh_count: u32,
}

impl Job {
    /// The tickets of all who wait for it, in the order in which they asked.
    fn into_tickets(self) -> impl Iterator<Item = u64> {
        self.earlier.into_iter().chain([self.question.ticket])
    }
}

/// Who waits for the answer of a request.
#[derive(Clone, Copy, Debug)]
enum Asker {
    Job(u64),
    Query(u64),
}

/// Where a server works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The project's root; paths are relative to it.
    pub root: PathBuf,
    /// The folder that the server is told is its workspace: the root, or one below.
    pub workspace: PathBuf,
}

/// The session of one language server.
#[derive(Debug)]
pub struct Session {
    id: String,
    spec: ServerSpec,
    settings: Value,
    root: PathBuf,
    workspace: PathBuf,
    phase: Phase,
    method: Method,
    capabilities: Value,
    next_request: i64,
    next_job: u64,
    documents: Documents,
    jobs: BTreeMap<u64, Job>,
    queries: BTreeMap<u64, queries::Pending>,
    asked: HashMap<i64, Asker>,
    waiting: Vec<Waiting>,
    loading: Loading,
    flycheck: Flycheck,
    newest_ticket: u64,
    /// Whether files changed on disk that the server did not ask to hear of.
    is_behind_disk: bool,
    registrations: Registrations,
    /// Changes on disk that nobody asked to hear of, oldest first: some servers ask seconds after
    /// they have read the files.
    unheard: Vec<(PathBuf, FileChange)>,
    habits: Habits,
    /// Whether the server once refused its own protocol; it is then taken by what it publishes.
    fell_back: bool,
    last_heard: Option<Instant>,
    effects: Vec<Effect>,
}

const INITIALIZE: i64 = 0;

impl Session {
    /// A session that begins with its handshake. `settings` answer `workspace/configuration`;
    /// `process_id` is ours, so that the server ends when we are gone.
    #[must_use]
    pub fn start(
        id: &str,
        spec: &ServerSpec,
        settings: Value,
        place: Place,
        process_id: u32,
    ) -> Self {
        let mut session = Self {
            id: id.to_owned(),
            spec: spec.clone(),
            settings,
            root: place.root,
            workspace: place.workspace,
            phase: Phase::Starting,
            method: spec.diagnostics,
            capabilities: Value::Null,
            next_request: INITIALIZE,
            next_job: 0,
            documents: Documents::default(),
            jobs: BTreeMap::new(),
            queries: BTreeMap::new(),
            asked: HashMap::new(),
            waiting: Vec::new(),
            loading: Loading::new(spec.ready, &spec.lists_files),
            flycheck: Flycheck::default(),
            newest_ticket: 0,
            is_behind_disk: false,
            registrations: Registrations::default(),
            unheard: Vec::new(),
            habits: Habits::default(),
            fell_back: false,
            last_heard: None,
            effects: Vec::new(),
        };
        let options = &mut session.spec.initialization_options;
        match spec.diagnostics {
            Method::Clangd => clangd::complete_options(options),
            Method::Jdtls => jdtls::want_progress(options),
            Method::RustAnalyzer => {
                rust_analyzer::keep_saves_quiet(options, &mut session.settings);
            }
            _ => {}
        }
        let params =
            server_requests::initialize_params(&session.workspace, &session.spec, process_id);
        session.request("initialize", params);
        session
    }

    /// Everything to be done since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// When [`Session::tick`] must be called next.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        let jobs = self.jobs.values().flat_map(|job| [Some(job.deadline), job.wake]);
        jobs.flatten().chain(self.next_waiting()).chain(self.next_query_deadline()).min()
    }

    /// Whether any question is open.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.jobs.is_empty() || !self.waiting.is_empty() || !self.queries.is_empty()
    }

    /// Whether the handshake is done and the project is loaded.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready && !self.loading.is_loading()
    }

    /// A message of the server.
    pub fn message(&mut self, message: Message, now: Instant) {
        self.last_heard = Some(now);
        match message {
            Message::Request { id, method, params } => {
                self.server_request(id, &method, &params, now);
            }
            Message::Notification { method, params } => self.notified(&method, &params, now),
            Message::Response { id: Id::Number(INITIALIZE), result }
                if self.phase == Phase::Starting =>
            {
                self.initialized(result, now);
            }
            Message::Response { id: Id::Number(id), result } => match self.asked.remove(&id) {
                Some(Asker::Job(job)) => self.step(job, now, |protocol, subject| {
                    protocol.answered(subject, result.as_ref())
                }),
                Some(Asker::Query(query)) => self.query_answered(query, result),
                None => {}
            },
            Message::Response { .. } => {}
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Instant) {
        let due = |job: &Job| job.wake.is_some_and(|at| at <= now);
        let woken: Vec<u64> =
            self.jobs.iter().filter(|(_, job)| due(job)).map(|(id, _)| *id).collect();
        for job in woken {
            if let Some(job) = self.jobs.get_mut(&job) {
                job.wake = None;
            }
            self.step(job, now, Protocol::woke);
        }
        let late: Vec<(u64, Instant)> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.deadline <= now)
            .map(|(id, job)| (*id, job.begun))
            .collect();
        for (job, begun) in late {
            let gap = self.deadline_gap();
            // Not a word since it was asked: the process hangs, and a new one may not.
            if self.last_heard.is_none_or(|at| at <= begun) {
                self.effects.push(Effect::Give(gap.clone()));
            }
            self.finish(job, Err(gap));
        }
        self.end_late_waiting(now);
        self.end_late_queries(now);
        self.begin_waiting(now);
    }

    /// Says goodbye: `shutdown`, `exit`. `params` stay out; some servers refuse null.
    pub fn stop(&mut self) {
        self.phase = Phase::Stopping;
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.fail(&Gap::new(Cause::Crashed, "the language server was stopped"));
    }

    /// The server is gone: every open question gets this gap.
    pub fn fail(&mut self, gap: &Gap) {
        let jobs = std::mem::take(&mut self.jobs).into_values();
        let mut tickets: Vec<u64> = jobs.flat_map(Job::into_tickets).collect();
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        tickets.extend(waiting.map(|waiting| waiting.question.ticket));
        self.asked.clear();
        for ticket in tickets {
            self.effects.push(Effect::Answer(ticket, Err(gap.clone())));
        }
        self.fail_queries(gap);
    }

    fn initialized(&mut self, result: Result<Value, RpcError>, now: Instant) {
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                let gap =
                    Gap::new(Cause::Crashed, format!("it refused to start: {}", error.message));
                self.fail(&gap);
                self.effects.push(Effect::Give(gap));
                return;
            }
        };
        self.capabilities = result["capabilities"].clone();
        self.documents.set_capabilities(&self.capabilities);
        self.habits.offered(&self.capabilities);
        self.phase = Phase::Ready;
        self.providers_changed(now);
        self.notify("initialized", json!({}));
        if !self.settings.is_null() {
            let params = json!({"settings": self.settings});
            self.notify("workspace/didChangeConfiguration", params);
        }
        let version = result["serverInfo"]["version"].as_str().map(version::short);
        self.effects.push(Effect::Ready(version));
        self.begin_waiting(now);
        self.begin_queries();
    }

    fn notified(&mut self, method: &str, params: &Value, now: Instant) {
        match method {
            "textDocument/publishDiagnostics" => self.published(params, now),
            "$/progress" => self.progress(params, now),
            _ => {
                let was_loading = self.loading.is_loading();
                self.loading.notified(method, params);
                self.flycheck.notified(method, params);
                self.tell_jobs(was_loading, Heard::Notified(method, params), now);
                self.begin_queries();
            }
        }
    }

    fn published(&mut self, params: &Value, now: Instant) {
        if self.method == Method::RustAnalyzer {
            self.flycheck.published(params);
        }
        // Servers differ in what they percent-encode, so files are compared, not URIs.
        let file = params["uri"].as_str().and_then(from_uri);
        let Some(path) = file.and_then(|file| RelPath::below(&self.root, &file)) else { return };
        self.habits.published(&path, !params["version"].is_null(), now);
        let jobs: Vec<u64> = self
            .jobs
            .iter()
            .filter(|(_, job)| job.question.path == path)
            .map(|(id, _)| *id)
            .collect();
        for job in jobs {
            self.step(job, now, |protocol, subject| {
                protocol.published(subject, params["version"].as_i64(), &params["diagnostics"])
            });
        }
    }

    fn progress(&mut self, params: &Value, now: Instant) {
        let token = match &params["token"] {
            Value::String(token) => token.clone(),
            other => other.to_string(),
        };
        let was_loading = self.loading.is_loading();
        self.flycheck.progress(&token, params["value"]["kind"].as_str());
        let heard = match self.loading.progress(&token, &params["value"]) {
            Progress::Began => Heard::Began(&token),
            Progress::Ended => Heard::Ended(&token),
            Progress::Other => return,
        };
        self.tell_jobs(was_loading, heard, now);
    }

    /// Lets every job hear it, and wakes all when it ended the loading.
    fn tell_jobs(&mut self, was_loading: bool, heard: Heard<'_>, now: Instant) {
        let jobs: Vec<u64> = self.jobs.keys().copied().collect();
        for job in &jobs {
            self.step(*job, now, |protocol, subject| protocol.heard(subject, heard));
        }
        if was_loading && !self.loading.is_loading() {
            for job in jobs {
                self.step(job, now, Protocol::woke);
            }
            self.begin_waiting(now);
            self.begin_queries();
        }
    }

    /// Sends the question's text and begins its measurement.
    fn begin(&mut self, waiting: Waiting, now: Instant) {
        let Waiting { question, deadline, is_behind, .. } = waiting;
        let resend = self.resend();
        let earlier = if resend == Resend::Never { Vec::new() } else { self.take_over(&question) };
        let (version, is_header_saved) = self.send_text(&question, resend);
        if is_behind {
            self.documents.close_later(question.path.clone());
        }
        let id = self.next_job;
        self.next_job += 1;
        let mut protocol = Protocol::new(self.method);
        if std::mem::take(&mut self.is_behind_disk) {
            protocol.disk_changed();
        }
        let job = Job {
            question,
            earlier,
            version,
            protocol,
            begun: now,
            deadline,
            wake: None,
            request: None,
            refresh_count: 0,
        };
        self.jobs.insert(id, job);
        self.step(id, now, Protocol::begin);
        if is_header_saved {
            self.restart_others(id, now);
        }
    }

    /// Lets a job's protocol take one step and does what it wants.
    fn step(
        &mut self,
        id: u64,
        now: Instant,
        act: impl FnOnce(&mut Protocol, &Subject<'_>) -> Step,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let file = job.question.path.under(&self.root);
        let uri = to_uri(&file);
        let about = About { sensor: &self.id, path: &job.question.path, hash: job.question.hash };
        let is_loading = self.loading.is_loading();
        let subject = Subject {
            about,
            uri: &uri,
            file: &file,
            version: job.version,
            is_loading,
            fault: self.loading.fault(),
            spec: &self.spec,
            habits: &self.habits,
            now,
            ticket: job.question.ticket,
            flycheck: &self.flycheck,
        };
        match act(&mut job.protocol, &subject) {
            Step::Ask(method, params) => {
                let request = self.request(method, params);
                self.asked.insert(request, Asker::Job(id));
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.request = Some(request);
                }
            }
            Step::WakeAt(at) => job.wake = Some(at),
            Step::Check => self.await_flycheck(id, now),
            Step::Wait => {}
            Step::Resend => self.restart(id, Resend::Known, now),
            Step::Reopen => self.restart(id, Resend::Reopened, now),
            Step::FallBack => {
                self.fell_back = true;
                self.method = Method::Push;
                // What was published meanwhile was not listened to: the text is sent once more.
                self.restart_anew(&[id], now);
            }
            Step::Done(outcome) => {
                self.finish(id, outcome);
                self.begin_waiting(now);
            }
        }
    }

    /// Lets a job wait for a run of the compiler that begins from now on.
    fn await_flycheck(&mut self, id: u64, now: Instant) {
        if self.flycheck.want(self.newest_ticket, now) {
            let (method, params) = Flycheck::start_request();
            self.notify(method, params);
        }
        if let Some(job) = self.jobs.get_mut(&id) {
            job.wake = self.flycheck.begins_until();
        }
    }

    /// Ends a job. Findings behind the end of the text were computed for other bytes.
    fn finish(&mut self, id: u64, outcome: Result<Vec<Finding>, Gap>) {
        let Some(job) = self.remove_job(id) else { return };
        let index = LineIndex::new(&job.question.text);
        // tsserver's own answers count as it does, whatever the server around it chose.
        let encoding = match job.protocol {
            Protocol::Tsserver(_) => Encoding::Utf16,
            _ => self.documents.encoding(),
        };
        let outcome = outcome.and_then(|mut found| {
            for Finding { range: Range { start, end }, .. } in &mut found {
                *start = index.recount(*start, encoding, Encoding::Utf16);
                *end = index.recount(*end, encoding, Encoding::Utf16);
            }
            if found.iter().all(|finding| index.contains(&finding.range)) {
                return Ok(found);
            }
            Err(Gap::new(Cause::Superseded, "the answer speaks of lines that do not exist"))
        });
        let path = job.question.path.clone();
        for ticket in job.into_tickets() {
            self.effects.push(Effect::Answer(ticket, outcome.clone()));
        }
        self.close_if_due(&path);
    }

    fn deadline_gap(&self) -> Gap {
        if self.phase == Phase::Starting || self.loading.is_loading() {
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
        let message = Message::Request { id: Id::Number(id), method: method.to_owned(), params };
        self.effects.push(Effect::Send(message));
        id
    }

    fn notify(&mut self, method: &str, params: Value) {
        let message = Message::Notification { method: method.to_owned(), params };
        self.effects.push(Effect::Send(message));
    }
}

#[cfg(test)]
mod tests;
