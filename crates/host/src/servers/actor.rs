//! One actor per language server, the only owner of its process and its session. It starts the
//! process at the first request, once a slot is free, and restarts it after a crash with growing
//! pauses, without ever giving up for good. Files are read outside of its thread, except small ones of
//! the configuration.

mod description;
mod effects;
mod requests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

pub(super) use self::description::ActorDescription;
pub(super) use self::requests::{ActorControl, ActorGauge, ActorRequest, ServerAnswer, StartReply};
use self::requests::{PendingReply, QueuedRequest};
use super::breaker::CrashBreaker;
use super::checking_config::CheckingConfig;
use super::go_workspace::{
    changed_cgo_files, is_go_manifest_changed, outside_modules, set_workspace_variable,
};
use super::java_samples::java_samples;
use super::log_buffer::LogBuffer;
use super::process::{ProcessEvent, ServerProcess};
use super::resolve::ResolvedServer;
use super::slots::{ActorId, ActorNote, ServerSlot};
use super::{MeasureInput, ServerContext, ServerReach};
use moai_base::limits::{
    LANGUAGE_SERVERS_MAX, SERVER_LOADING_MS_MAX, SERVER_QUEUE_MAX, SERVER_SLOT_WAIT_MS_MAX,
    SERVER_START_MS_MAX,
};
use moai_base::verdict::{Cause, Gap};
use moai_lsp::jsonrpc::RpcMessage;
use moai_lsp::registry::DiagnosticsMethod;
use moai_lsp::session::{DiskChange, DocumentRequest, LspSession, ReportedProject, ServerFolders};

pub(super) struct ServerActor {
    id: ActorId,
    context: ServerContext,
    choice: ResolvedServer,
    gauge: Arc<ActorGauge>,
    reach: watch::Sender<ServerReach>,
    notes: mpsc::UnboundedSender<ActorNote>,
    running: Option<RunningServer>,
    /// The requested process slot.
    pending_slot: Option<oneshot::Receiver<ServerSlot>>,
    queue: VecDeque<(Instant, QueuedRequest)>,
    start_replies: Vec<StartReply>,
    version: Option<String>,
    replies: HashMap<u64, (Instant, PendingReply)>,
    next_ticket: u64,
    breaker: CrashBreaker,
    /// After a crash only one request is sent until it is answered.
    trial_ticket: Option<u64>,
    log: LogBuffer,
    /// The preparation of the compiler run that the session waits for.
    preparation: Option<JoinHandle<Result<(), Gap>>>,
    /// The lists of project files that jobs wait for.
    listings: JoinSet<JobListing>,
    requests: mpsc::Receiver<ActorRequest>,
    answered: u64,
    starts: u64,
}

/// The project that covers a job's document.
struct JobListing {
    /// Number of the server's start, because job numbers repeat in every process.
    start: u64,
    job: u64,
    project: Result<ReportedProject, Gap>,
}

/// Outputs through which an actor reports its state.
pub(super) struct ActorOutputs {
    pub(super) gauge: Arc<ActorGauge>,
    pub(super) reach: watch::Sender<ServerReach>,
    pub(super) notes: mpsc::UnboundedSender<ActorNote>,
}

/// What a session needs to know of the files before it starts.
#[derive(Default)]
struct StartFiles {
    has_cargo_manifest: bool,
    /// The modules outside the root that gopls reads without registering for their files.
    outside_modules: BTreeSet<PathBuf>,
    java_samples: Vec<PathBuf>,
}

/// What changed files mean for gopls.
#[derive(Default)]
struct GoChanges {
    /// The modules outside the root, if a manifest changed.
    outside_modules: Option<BTreeSet<PathBuf>>,
    /// Go files whose generated code depends on a changed C file.
    cgo_files: Vec<PathBuf>,
}

struct RunningServer {
    process: ServerProcess,
    slot: ServerSlot,
    session: LspSession,
    started_at: Instant,
    /// The same time in nanoseconds since the epoch.
    started_ns: i128,
    /// Deadline of the handshake, until it is done.
    start_deadline: Option<Instant>,
    /// Since when the server reports that it is loading.
    loading_since: Option<Instant>,
    /// Time from the start until loading ended, as far as known before the first answer.
    load_time: Duration,
    has_answered: bool,
}

impl ServerActor {
    pub(super) fn new(
        id: ActorId,
        context: ServerContext,
        choice: ResolvedServer,
        requests: mpsc::Receiver<ActorRequest>,
        outputs: ActorOutputs,
    ) -> Self {
        let ActorOutputs { gauge, reach, notes } = outputs;
        Self {
            id,
            context,
            choice,
            gauge,
            reach,
            notes,
            running: None,
            pending_slot: None,
            queue: VecDeque::new(),
            start_replies: Vec::new(),
            version: None,
            replies: HashMap::new(),
            next_ticket: 0,
            breaker: CrashBreaker::default(),
            trial_ticket: None,
            log: LogBuffer::default(),
            preparation: None,
            listings: JoinSet::new(),
            requests,
            answered: 0,
            starts: 0,
        }
    }

    /// Runs until the pool drops its channel ends; returns the slot when the process has ended.
    pub(super) async fn run(mut self, mut controls: mpsc::Receiver<ActorControl>) {
        loop {
            let wake = self.next_wake();
            tokio::select! {
                control = controls.recv() => match control {
                    Some(control) => self.handle_control(control),
                    None => break,
                },
                request = self.requests.recv() => match request {
                    Some(request) => self.handle_request(request).await,
                    None => break,
                },
                slot = receive_slot(self.pending_slot.as_mut()) => self.on_slot(slot).await,
                event = next_process_event(self.running.as_mut()) => match event {
                    ProcessEvent::Message(message) => self.on_message(message),
                    ProcessEvent::StderrLine(line) => self.log.push_line("stderr", &line),
                    ProcessEvent::End => self.on_process_end().await,
                },
                prepared = next_preparation(self.preparation.as_mut()) => self.on_prepared(prepared),
                listing = next_listing(&mut self.listings) => self.on_project_listed(listing),
                () = sleep_until(wake) => self.tick(),
            }
            self.settle();
        }
        // Every caller must get an answer.
        while let Ok(request) = self.requests.try_recv() {
            request.refuse(stopped_gap());
        }
        self.refuse_queued(&stopped_gap());
        if let Some(process) = self.begin_stop() {
            process.await;
        }
        self.update_gauge();
    }

    /// After each event: performs the session's effects, sends queued requests, updates the gauge.
    fn settle(&mut self) {
        loop {
            if let Some(gap) = self.perform() {
                self.give_up(gap);
            }
            if self.gauge.is_outdated.swap(false, Ordering::Relaxed) {
                self.stop_in_background(None);
            }
            if self.queue.is_empty() || self.trial_ticket.is_some() {
                break;
            }
            if self.running.is_none() {
                self.request_slot();
                break;
            }
            self.send_queued();
        }
        self.notify_started();
        self.update_gauge();
    }

    fn handle_control(&mut self, control: ActorControl) {
        match control {
            ActorControl::Release | ActorControl::Restart { reply: None } if self.is_needed() => {
                self.update_gauge();
                let _ = self.notes.send(ActorNote::Refused(self.id));
            }
            ActorControl::Release => self.stop_in_background(None),
            ActorControl::Stop { done } => {
                self.refuse_queued(&stopped_gap());
                self.stop_in_background(Some(done));
            }
            ActorControl::Start { reply } => {
                self.breaker.reset();
                self.enqueue(QueuedRequest::Start(Some(reply)));
            }
            ActorControl::Restart { reply: None } if self.running.is_none() => {}
            ActorControl::Restart { reply } => {
                self.breaker.reset();
                self.stop_in_background(None);
                self.enqueue(QueuedRequest::Start(reply));
            }
            ActorControl::Kill(gap) => self.give_up(gap),
            ActorControl::Describe { reply } => drop(reply.send(self.describe())),
            ActorControl::Log { reply } => drop(reply.send(self.log.lines())),
        }
    }

    async fn handle_request(&mut self, request: ActorRequest) {
        match request {
            ActorRequest::FilesChanged { changes, present } => {
                let go_changes = self.read_go_changes(&changes).await;
                let root = self.context.root.clone();
                let checking = CheckingConfig::of_server(&self.choice);
                if let Some(running) = &mut self.running {
                    let has_text = |file: &Path| {
                        running.session.has_document(file)
                            && present.iter().any(|now| now.path.under(&root) == file)
                    };
                    let is_overlooked =
                        checking.is_some_and(|checking| checking.overlooks(&changes, has_text));
                    if let Some(modules) = go_changes.outside_modules {
                        running.session.set_dependencies(modules);
                    }
                    running.session.files_changed(&changes, &present);
                    if is_overlooked {
                        running.session.reload_configuration();
                    }
                    if !go_changes.cgo_files.is_empty() {
                        running.session.regenerate_cgo(&go_changes.cgo_files);
                    }
                }
                // Queued requests hold texts from before the change, so the change is queued behind
                // them, with their deadline: alone it would not justify starting a process.
                let Some((deadline, _)) = self.queue.back() else { return };
                if self.queue.len() < SERVER_QUEUE_MAX {
                    let request = Box::new(ActorRequest::FilesChanged { changes, present });
                    self.queue.push_back((*deadline, QueuedRequest::Request(request)));
                } else {
                    self.gauge.is_outdated.store(true, Ordering::Relaxed);
                }
            }
            request => match self.breaker.refusal_gap(Instant::now()) {
                Some(gap) => request.refuse(gap.clone()),
                None => self.enqueue(QueuedRequest::Request(Box::new(request))),
            },
        }
    }

    fn enqueue(&mut self, queued: QueuedRequest) {
        if self.queue.len() >= SERVER_QUEUE_MAX {
            return queued.refuse(Gap::new(Cause::TimedOut, "too many requests are queued"));
        }
        let deadline = Instant::now() + Duration::from_millis(SERVER_SLOT_WAIT_MS_MAX);
        self.queue.push_back((deadline, queued));
    }

    fn request_slot(&mut self) {
        if self.pending_slot.is_none() {
            let (reply, slot) = oneshot::channel();
            let _ = self.notes.send(ActorNote::WantsSlot(self.id, reply));
            self.pending_slot = Some(slot);
        }
    }

    /// Sends queued requests; after a crash only one, and the rest once it is answered.
    fn send_queued(&mut self) {
        while self.trial_ticket.is_none()
            && let Some((_, queued)) = self.queue.pop_front()
        {
            match queued {
                QueuedRequest::Request(request) => {
                    let ticket = self.send_to_session(*request);
                    self.trial_ticket = ticket.filter(|_| self.breaker.is_half_open());
                }
                QueuedRequest::Start(reply) => self.start_replies.extend(reply),
            }
        }
    }

    fn notify_started(&mut self) {
        if self.running.as_ref().is_some_and(|running| running.start_deadline.is_none()) {
            self.start_replies.drain(..).for_each(|reply| drop(reply.send(Ok(()))));
        }
    }

    /// Passes a request to the session; all but file changes get a ticket.
    fn send_to_session(&mut self, request: ActorRequest) -> Option<u64> {
        let now = Instant::now();
        let session = &mut self.running.as_mut()?.session;
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        match request {
            ActorRequest::Measure {
                subject: MeasureInput { path, text, hash, lane },
                language_id,
                reply,
            } => {
                self.replies.insert(ticket, (now, PendingReply::Diagnostics(reply)));
                let document = DocumentRequest { ticket, path, language_id, text, hash, lane };
                session.measure(document, now);
            }
            ActorRequest::Query { mut query, reply } => {
                self.replies.insert(ticket, (now, PendingReply::QueryReply(reply)));
                query.document.ticket = ticket;
                session.query(query, now);
            }
            ActorRequest::FilesChanged { changes, present } => {
                session.files_changed(&changes, &present);
                return None;
            }
        }
        Some(ticket)
    }

    /// A slot was granted: starts the process.
    async fn on_slot(&mut self, slot: Option<ServerSlot>) {
        self.pending_slot = None;
        let Some(slot) = slot else { return self.refuse_queued(&stopped_gap()) };
        if let Err(gap) = self.start(slot).await {
            self.refuse_queued(&gap);
            self.breaker.record_crash(gap, Instant::now());
        }
    }

    async fn start(&mut self, slot: ServerSlot) -> Result<(), Gap> {
        let files = self.read_start_files().await?;
        let ResolvedServer { id, spec, program, settings, workspace, .. } = &self.choice;
        let root = &self.context.root;
        let env = self.process_env();
        let started_ns = now_ns();
        let process =
            ServerProcess::spawn(program, &spec.args, workspace, &env).map_err(|error| {
                Gap::new(Cause::Crashed, format!("cannot start {}: {error}", program.display()))
            })?;
        tracing::info!(server = id, root = %root.display(), pid = process.id(), "started");
        self.log.push_line("engine", "started");
        self.starts += 1;
        let place = ServerFolders {
            root: root.clone(),
            workspace: workspace.clone(),
            has_cargo_manifest: files.has_cargo_manifest,
            dependencies: files.outside_modules,
            java_samples: files.java_samples,
        };
        let session = LspSession::start(id, spec, settings.clone(), place, std::process::id());
        let started = Instant::now();
        self.running = Some(RunningServer {
            process,
            slot,
            session,
            started_at: started,
            started_ns,
            start_deadline: Some(started + Duration::from_millis(SERVER_START_MS_MAX)),
            loading_since: Some(started),
            load_time: Duration::ZERO,
            has_answered: false,
        });
        self.reach.send_replace(ServerReach { started_ns, ..ServerReach::default() });
        Ok(())
    }

    /// What the session needs to know of the files before it starts. The gap is an internal error.
    async fn read_start_files(&self) -> Result<StartFiles, Gap> {
        let (choice, root, env) =
            (self.choice.clone(), self.context.root.clone(), self.process_env());
        let read = tokio::task::spawn_blocking(move || {
            let ResolvedServer { spec, workspace, .. } = &choice;
            let has_cargo_manifest = workspace.join("Cargo.toml").is_file();
            let mut files = StartFiles { has_cargo_manifest, ..StartFiles::default() };
            match spec.diagnostics {
                DiagnosticsMethod::Gopls => {
                    files.outside_modules = outside_modules(&env, workspace, &root);
                }
                DiagnosticsMethod::Jdtls => files.java_samples = java_samples(workspace, spec),
                _ => {}
            }
            files
        });
        read.await.map_err(|_| Gap::new(Cause::Crashed, "internal error; see the daemon's log"))
    }

    /// What changed files mean for gopls; nothing for other servers.
    async fn read_go_changes(&self, changes: &Arc<[(PathBuf, DiskChange)]>) -> GoChanges {
        if self.choice.spec.diagnostics != DiagnosticsMethod::Gopls {
            return GoChanges::default();
        }
        let changes = Arc::clone(changes);
        let c_extensions = self.choice.spec.data_extensions.clone();
        let (workspace, root, env) =
            (self.choice.workspace.clone(), self.context.root.clone(), self.process_env());
        let read = tokio::task::spawn_blocking(move || {
            let is_manifest_changed = is_go_manifest_changed(&changes);
            let modules = is_manifest_changed.then(|| outside_modules(&env, &workspace, &root));
            GoChanges {
                outside_modules: modules,
                cgo_files: changed_cgo_files(&changes, &c_extensions),
            }
        });
        read.await.unwrap_or_else(|_| {
            // After a panic the changes are unknown to the session; a new one reads the files.
            self.gauge.is_outdated.store(true, Ordering::Relaxed);
            GoChanges::default()
        })
    }

    fn process_env(&self) -> BTreeMap<String, String> {
        let mut env = self.context.server_env();
        env.extend(self.choice.spec.env.clone());
        if self.choice.spec.diagnostics == DiagnosticsMethod::Gopls {
            set_workspace_variable(&mut env);
        }
        env
    }

    fn on_message(&mut self, message: RpcMessage) {
        if let RpcMessage::Notification { method, params } = &message {
            self.log.push_message(method, params);
        }
        if let Some(running) = &mut self.running {
            running.session.on_message(message, Instant::now());
        }
    }

    /// A compiler run is prepared, or could not be.
    fn on_prepared(&mut self, prepared: Result<(), Gap>) {
        self.preparation = None;
        if let Some(running) = &mut self.running {
            running.session.start_flycheck(prepared, Instant::now());
        }
    }

    /// Passes a list on; one for an earlier process is dropped.
    fn on_project_listed(&mut self, listing: JobListing) {
        if let Some(running) = self.running.as_mut().filter(|_| listing.start == self.starts) {
            running.session.project_files_listed(listing.job, listing.project, Instant::now());
        }
    }

    fn tick(&mut self) {
        let now = Instant::now();
        if let Some(running) = &mut self.running {
            running.session.tick(now);
        }
        let (late, queued): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.queue).into_iter().partition(|(at, _)| *at <= now);
        self.queue = queued;
        let detail = if self.running.is_some() {
            "it crashed and is restarting".to_owned()
        } else {
            format!("{LANGUAGE_SERVERS_MAX} other language servers are busy")
        };
        for (_, queued) in late {
            queued.refuse(Gap::new(Cause::Loading, detail.clone()));
        }
        if self.queue.is_empty() {
            self.pending_slot = None;
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let running = self.running.as_ref();
        let session = running.and_then(|running| running.session.next_wake());
        let start = running.and_then(|running| running.start_deadline);
        let queued = self.queue.iter().map(|(deadline, _)| *deadline);
        // After this bound a loading server counts as idle, and the pool must notice.
        let protected = Duration::from_millis(SERVER_LOADING_MS_MAX);
        let loading = running.and_then(|running| Some(running.loading_since? + protected));
        let loading = loading.filter(|at| *at > Instant::now());
        session.into_iter().chain(start).chain(queued).chain(loading).min()
    }

    async fn on_process_end(&mut self) {
        let Some(running) = &mut self.running else { return };
        let (end, lines) = running.process.exit_report().await;
        for line in &lines {
            self.log.push_line("stderr", line);
        }
        tracing::warn!(server = self.choice.id, %end, "a language server exited unexpectedly");
        let words = match self.log.last_stderr_error() {
            Some(line) => format!("it ended: {end}, {line}"),
            None => format!("it ended: {end}"),
        };
        self.give_up(Gap::new(Cause::Crashed, words));
    }

    /// Kills the process and opens the breaker.
    fn give_up(&mut self, gap: Gap) {
        let Some(mut running) = self.running.take() else { return };
        // Only the cause is logged: the detail may quote the server and thereby source text.
        let (server, cause) = (&self.choice.id, gap.cause);
        let root = self.context.root.display();
        tracing::warn!(server, %root, ?cause, "stopped a language server");
        self.log.push_line("engine", &format!("stopped: {gap}"));
        running.session.fail(&gap);
        let effects = running.session.take_effects();
        self.deliver(effects, None);
        let RunningServer { process, slot, .. } = running;
        tokio::spawn(async move {
            process.kill().await;
            drop(slot);
        });
        self.trial_ticket = None;
        self.refuse_queued(&gap);
        self.breaker.record_crash(gap, Instant::now());
    }

    fn refuse_queued(&mut self, gap: &Gap) {
        self.pending_slot = None;
        let queued = std::mem::take(&mut self.queue).into_iter().map(|(_, queued)| queued);
        queued.for_each(|queued| queued.refuse(gap.clone()));
        self.start_replies.drain(..).for_each(|reply| drop(reply.send(Err(gap.clone()))));
    }

    /// Ends the process in a separate task. `done` is dropped when it has ended.
    fn stop_in_background(&mut self, done: Option<oneshot::Sender<()>>) {
        if let Some(end) = self.begin_stop() {
            tokio::spawn(async move {
                end.await;
                drop(done);
            });
        }
    }

    /// Sends `shutdown` and `exit`. The returned future ends the process and then returns the slot.
    fn begin_stop(&mut self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut running = self.running.take()?;
        self.log.push_line("engine", "stopped");
        running.session.stop();
        let effects = running.session.take_effects();
        self.deliver(effects, Some(&mut running));
        self.trial_ticket = None;
        // Callers that wait for a handshake wait for the next one.
        for reply in std::mem::take(&mut self.start_replies) {
            self.enqueue(QueuedRequest::Start(Some(reply)));
        }
        let RunningServer { process, slot, .. } = running;
        Some(async move {
            process.shut_down().await;
            drop(slot);
        })
    }

    /// True if stopping the server would cost a caller something now.
    fn is_needed(&self) -> bool {
        let is_at_work = self.running.as_ref().is_some_and(|running| {
            let bound = Duration::from_millis(SERVER_LOADING_MS_MAX);
            running.session.is_busy()
                || running.loading_since.is_some_and(|since| since.elapsed() < bound)
        });
        // A request still in the channel counts, because the pool has marked the server as needed.
        let is_asked = !self.queue.is_empty() || !self.requests.is_empty();
        is_at_work || is_asked || !self.start_replies.is_empty()
    }

    fn update_gauge(&mut self) {
        if self.running.is_none() && *self.reach.borrow() != ServerReach::default() {
            self.reach.send_replace(ServerReach::default());
        }
        if let Some(running) = &mut self.running {
            match (running.session.is_ready(), running.loading_since) {
                (true, Some(_)) => {
                    running.loading_since = None;
                    if !running.has_answered {
                        running.load_time = running.started_at.elapsed();
                    }
                }
                (false, None) => running.loading_since = Some(Instant::now()),
                _ => {}
            }
        }
        let id = self.running.as_ref().and_then(|running| running.process.id()).unwrap_or(0);
        let is_listed = self.running.is_some() || self.pending_slot.is_some();
        let is_listed = is_listed || self.breaker.last_gap().is_some();
        self.gauge.process_id.store(id, Ordering::Relaxed);
        self.gauge.is_listed.store(is_listed, Ordering::Relaxed);
        let is_needed = self.is_needed();
        let was_needed = self.gauge.is_needed.swap(is_needed, Ordering::Relaxed);
        if was_needed && !is_needed {
            let _ = self.notes.send(ActorNote::Idle);
        }
    }
}

/// Nanoseconds since the epoch.
fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

fn stopped_gap() -> Gap {
    Gap::new(Cause::Crashed, "the language server was stopped")
}

async fn next_process_event(running: Option<&mut RunningServer>) -> ProcessEvent {
    match running {
        Some(running) => running.process.next_event().await,
        None => std::future::pending().await,
    }
}

async fn next_preparation(
    preparation: Option<&mut JoinHandle<Result<(), Gap>>>,
) -> Result<(), Gap> {
    match preparation {
        Some(preparation) => preparation
            .await
            .unwrap_or_else(|_| Err(Gap::new(Cause::Crashed, "cargo's records were not compared"))),
        None => std::future::pending().await,
    }
}

async fn next_listing(listings: &mut JoinSet<JobListing>) -> JobListing {
    loop {
        match listings.join_next().await {
            Some(Ok(listing)) => return listing,
            // Its job ends at its deadline.
            Some(Err(error)) => tracing::warn!(%error, "a project's files were not listed"),
            None => std::future::pending().await,
        }
    }
}

async fn receive_slot(room: Option<&mut oneshot::Receiver<ServerSlot>>) -> Option<ServerSlot> {
    match room {
        Some(room) => room.await.ok(),
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
