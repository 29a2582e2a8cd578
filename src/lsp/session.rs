//! One language server's session: handshake, open documents, measurements, the server's own
//! requests. A state machine without I/O: what happened goes in with its time, what to send and
//! which questions are answered comes out.
//!
//! ```text
//! Starting --initialize answered--> Ready --stop--> Stopping
//!    `------------- failed / ended ----'---> every open question gets a gap
//! ```

mod documents;
mod loading;
mod queries;
mod server_requests;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::documents::{Documents, Sync};
use self::loading::{Loading, Progress};
pub use self::queries::{Query, Replied};
use super::freshness::{Heard, Protocol, Step, Subject};
use super::registry::{Method, ServerSpec};
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::{DIAGNOSTICS_MS_MAX, PULLS_IN_FLIGHT_MAX};
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
    version: i32,
    protocol: Protocol,
    begun: Instant,
    deadline: Instant,
    wake: Option<Instant>,
    request: Option<i64>,
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
    waiting: VecDeque<(Question, Instant)>,
    loading: Loading,
    watches_files: bool,
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
            waiting: VecDeque::new(),
            loading: Loading::new(spec.ready, &spec.lists_files),
            watches_files: false,
            last_heard: None,
            effects: Vec::new(),
        };
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
        let waiting = self.waiting.iter().map(|(_, deadline)| *deadline);
        jobs.flatten().chain(waiting).chain(self.next_query_deadline()).min()
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

    /// Asks a question. A question about other bytes of the same file supersedes earlier ones.
    pub fn ask(&mut self, question: Question, now: Instant) {
        self.supersede(&question);
        self.waiting.push_back((question, now + Duration::from_millis(DIAGNOSTICS_MS_MAX)));
        self.begin_waiting(now);
    }

    /// Files changed on disk. An open one is closed, so that the server reads the disk until it is
    /// asked about again; those in `asked` are about to be, and stay open. One that is being
    /// measured is closed afterwards: some servers call a closed file clean.
    pub fn files_changed(&mut self, changes: &[(PathBuf, FileChange)], asked: &[RelPath]) {
        if self.phase != Phase::Ready || changes.is_empty() {
            return;
        }
        for (path, _) in changes {
            let path = RelPath::below(&self.root, path).filter(|path| !asked.contains(path));
            match path {
                Some(path) if self.is_measured(&path) => self.documents.close_later(path),
                Some(path) => self.close(&path),
                None => {}
            }
        }
        if self.watches_files {
            // What an open document says comes with `didChange`, and some servers analyse twice when
            // the disk speaks, too.
            let is_asked = |path: &Path| asked.iter().any(|asked| asked.under(&self.root) == path);
            let is_told = |(path, change): &&(PathBuf, FileChange)| {
                *change != FileChange::Changed || !is_asked(path)
            };
            let change = |(path, change): &(PathBuf, FileChange)| {
                let kind = match change {
                    FileChange::Created => 1,
                    FileChange::Changed => 2,
                    FileChange::Deleted => 3,
                };
                json!({"uri": to_uri(path), "type": kind})
            };
            let changes: Vec<Value> = changes.iter().filter(is_told).map(change).collect();
            if !changes.is_empty() {
                self.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
            }
        }
    }

    /// A message of the server.
    pub fn message(&mut self, message: Message, now: Instant) {
        self.last_heard = Some(now);
        match message {
            Message::Request { id, method, params } => self.server_request(id, &method, &params),
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
        while self.waiting.front().is_some_and(|(_, deadline)| *deadline <= now) {
            let gap = self.deadline_gap();
            if let Some((question, _)) = self.waiting.pop_front() {
                self.effects.push(Effect::Answer(question.ticket, Err(gap)));
            }
        }
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
        let jobs = std::mem::take(&mut self.jobs).into_values().map(|job| job.question);
        let waiting = std::mem::take(&mut self.waiting).into_iter().map(|(question, _)| question);
        let tickets: Vec<u64> = jobs.chain(waiting).map(|question| question.ticket).collect();
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
        self.phase = Phase::Ready;
        self.notify("initialized", json!({}));
        if !self.settings.is_null() {
            let params = json!({"settings": self.settings});
            self.notify("workspace/didChangeConfiguration", params);
        }
        let version = result["serverInfo"]["version"].as_str().map(str::to_owned);
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
                self.tell_jobs(was_loading, Heard::Notified(method, params), now);
                self.begin_queries();
            }
        }
    }

    fn published(&mut self, params: &Value, now: Instant) {
        // Servers differ in what they percent-encode, so files are compared, not URIs.
        let file = params["uri"].as_str().and_then(from_uri);
        let Some(path) = file.and_then(|file| RelPath::below(&self.root, &file)) else { return };
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
            self.begin_queries();
        }
    }

    fn supersede(&mut self, question: &Question) {
        let is_older =
            |other: &Question| other.path == question.path && other.hash != question.hash;
        let gap = Gap::new(Cause::Superseded, "the file changed while it was measured");
        let jobs: Vec<u64> = self
            .jobs
            .iter()
            .filter(|(_, job)| is_older(&job.question))
            .map(|(id, _)| *id)
            .collect();
        for job in jobs {
            self.finish(job, Err(gap.clone()));
        }
        let (older, waiting) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(other, _)| is_older(other));
        self.waiting = waiting;
        let older: VecDeque<(Question, Instant)> = older;
        for (other, _) in older {
            self.effects.push(Effect::Answer(other.ticket, Err(gap.clone())));
        }
    }

    fn begin_waiting(&mut self, now: Instant) {
        while self.phase == Phase::Ready && self.jobs.len() < PULLS_IN_FLIGHT_MAX {
            let Some((question, deadline)) = self.waiting.pop_front() else { return };
            self.begin(question, deadline, now);
        }
    }

    fn begin(&mut self, question: Question, deadline: Instant, now: Instant) {
        // A server that only publishes says nothing about a text it has already seen.
        let must_resend = self.method == Method::Push;
        let version = self.send_text(&question, must_resend);
        let id = self.next_job;
        self.next_job += 1;
        let protocol = Protocol::new(self.method);
        let (wake, request) = (None, None);
        let job = Job { question, version, protocol, begun: now, deadline, wake, request };
        self.jobs.insert(id, job);
        self.step(id, now, Protocol::begin);
    }

    /// Sends what makes the question's text the document's text, and yields its version.
    fn send_text(&mut self, question: &Question, must_resend: bool) -> i32 {
        let uri = to_uri(&question.path.under(&self.root));
        let busy: HashSet<RelPath> =
            self.jobs.values().map(|job| job.question.path.clone()).collect();
        let (version, syncs) = self.documents.bring_up_to_date(question, must_resend, &busy);
        for sync in syncs {
            match sync {
                Sync::Open => self.notify("textDocument/didOpen", json!({"textDocument": {
                    "uri": uri, "languageId": question.language_id, "version": version,
                    "text": &*question.text,
                }})),
                Sync::Change(change) => self.notify("textDocument/didChange", json!({
                    "textDocument": {"uri": uri, "version": version}, "contentChanges": [change],
                })),
                Sync::Save => {
                    self.notify("textDocument/didSave", json!({"textDocument": {"uri": uri}}));
                }
                Sync::Close(path) => self.close(&path),
            }
        }
        version
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
        let subject =
            Subject { about, uri: &uri, file: &file, version: job.version, is_loading, now };
        match act(&mut job.protocol, &subject) {
            Step::Ask(method, params) => {
                let request = self.request(method, params);
                self.asked.insert(request, Asker::Job(id));
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.request = Some(request);
                }
            }
            Step::WakeAt(at) => job.wake = Some(at),
            Step::Wait => {}
            Step::FallBack => {
                self.method = Method::Push;
                // What was published meanwhile was not listened to: the text is sent once more.
                if let Some(job) = self.jobs.remove(&id) {
                    self.waiting.push_front((job.question, job.deadline));
                }
                self.begin_waiting(now);
            }
            Step::Done(outcome) => {
                self.finish(id, outcome);
                self.begin_waiting(now);
            }
        }
    }

    /// Ends a job. Findings behind the end of the text were computed for other bytes.
    fn finish(&mut self, id: u64, outcome: Result<Vec<Finding>, Gap>) {
        let Some(job) = self.jobs.remove(&id) else { return };
        if let Some(request) = job.request
            && self.asked.remove(&request).is_some()
        {
            self.notify("$/cancelRequest", json!({"id": request}));
        }
        let index = LineIndex::new(&job.question.text);
        let encoding = self.documents.encoding();
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
        self.effects.push(Effect::Answer(job.question.ticket, outcome));
        if !self.is_measured(&job.question.path) && self.documents.is_to_close(&job.question.path) {
            self.close(&job.question.path);
        }
    }

    fn is_measured(&self, path: &RelPath) -> bool {
        self.jobs.values().any(|job| job.question.path == *path)
    }

    fn close(&mut self, path: &RelPath) {
        if self.documents.close(path) {
            let uri = to_uri(&path.under(&self.root));
            self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        }
    }

    fn deadline_gap(&self) -> Gap {
        if self.phase == Phase::Starting || self.loading.is_loading() {
            Gap::new(Cause::Loading, "it is still loading the project")
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
