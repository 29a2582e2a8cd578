//! Measures earlier texts with the running language servers: a server is shown them as open documents
//! (overlays), which are removed before it answers other requests.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::engine::{Engine, run_blocking};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::overlay_gate::OverlayPass;
use crate::evidence::server_choices::ServerChoices;
use crate::evidence::snapshot_measurement;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::project::Project;
use moai_base::finding::Finding;
use moai_base::limits::{OPEN_DOCUMENTS_MAX, OVERLAY_FILES_MAX, OVERLAY_PASSES_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_host::servers::resolve::ResolvedServer;
use moai_host::servers::{ServerIdentity, ServerSelection};
use moai_lsp::faults::cgo_preamble;
use moai_lsp::registry::OverlaySupport;
use moai_lsp::session::{DiskChange, MeasureLane};

/// An earlier state of some files.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlierState {
    /// The files that differ now, with their earlier texts.
    pub(crate) texts: Vec<Snapshot>,
    /// Files created or deleted since, which no open document can show.
    pub(crate) created_or_deleted: Vec<RelPath>,
    /// True if a link to a folder changed since.
    pub(crate) has_folder_link: bool,
    /// Changed files that configure servers, which servers read from the disk.
    pub(crate) configuration: Vec<RelPath>,
}

impl EarlierState {
    /// Adds a file that differs now, with its earlier text; `None` if it did not exist or its text is
    /// unknown.
    pub(crate) fn add(&mut self, path: &RelPath, earlier: Option<&str>) {
        match earlier {
            Some(text) => self.texts.push(Snapshot::of_text(path.clone(), text.into())),
            None => self.created_or_deleted.push(path.clone()),
        }
    }

    /// The files whose texts servers are shown, and those that cannot be shown.
    fn paths(&self) -> impl Iterator<Item = &RelPath> {
        self.texts.iter().map(|text| &text.path).chain(&self.created_or_deleted)
    }

    /// The state with the servers that handle its files; `None` after a panic.
    pub(crate) async fn with_selected_servers(
        self,
        engine: &Arc<Engine>,
        project: &Project,
    ) -> Option<Arc<ServedState>> {
        let files = self.paths().cloned().collect();
        let servers = ServerChoices::select(engine, project, files).await?;
        self.with_servers(project, servers).await
    }

    /// The state with the servers that handle its files; `None` after a panic.
    pub(crate) async fn with_servers(
        self,
        project: &Project,
        servers: ServerChoices,
    ) -> Option<Arc<ServedState>> {
        let project = project.clone();
        let state = run_blocking(move || {
            let texts = self.texts.iter();
            let unshowable = texts
                .filter_map(|text| Some((text.path.clone(), unshowable_in_go(&project, text)?)))
                .collect();
            Arc::new(ServedState { earlier: self, servers, unshowable })
        });
        state.await
    }
}

/// An earlier state, and what was read about it once.
#[derive(Debug)]
pub(crate) struct ServedState {
    earlier: EarlierState,
    /// Of its files.
    servers: ServerChoices,
    /// Files whose earlier texts have no effect on a server that is shown them, and why.
    unshowable: BTreeMap<RelPath, &'static str>,
}

impl ServedState {
    /// True if the subject's server handles a file of the state.
    fn is_served(&self, path: &RelPath, subject: &EarlierSubject) -> bool {
        self.servers.find(path, &subject.choice.id).is_some()
    }

    /// A server for a file that it need not be selected for, as the one of another package.
    fn choice_for(&self, path: &RelPath, server: &ResolvedServer) -> ResolvedServer {
        let own = self.servers.find(path, &server.id);
        let language_id = own.unwrap_or(server).language_id.clone();
        ResolvedServer { language_id, ..server.clone() }
    }

    /// The texts to show the subject's server for it, or why it cannot be shown the earlier state.
    fn shown_texts(
        &self,
        project: &Project,
        subject: &EarlierSubject,
    ) -> Result<ShownTexts<'_>, Gap> {
        let EarlierSubject { snapshot, choice } = subject;
        let texts = self.earlier.texts.iter();
        let own: Vec<&Snapshot> = texts.filter(|text| text.path == snapshot.path).collect();
        let no_base = |detail: &str| Err(Gap::new(Cause::NoBaseline, detail));
        if choice.spec.overlays == OverlaySupport::None {
            return no_base("it reads the disk, not earlier texts");
        }
        if self.earlier.configuration.iter().any(|path| is_configuration(choice, path)) {
            return no_base("its configuration changed since");
        }
        let mut other_paths = self.earlier.paths().filter(|path| **path != snapshot.path);
        let depends_on_others =
            project.is_program(&snapshot.path) && project.is_checker(&snapshot.path, &choice.id);
        let reads_others = depends_on_others
            && (self.earlier.has_folder_link
                || other_paths.any(|path| self.is_served(path, subject) || is_data(choice, path)));
        let reads_all_from_disk = choice.spec.overlays == OverlaySupport::File;
        let obstacle = if reads_all_from_disk {
            Some("it reads other files from the disk, not their earlier texts")
        } else {
            self.obstacle(subject)
        };
        match obstacle {
            None => {
                let texts = self.earlier.texts.iter();
                let texts = texts.filter(|text| self.is_served(&text.path, subject)).collect();
                let may_miss_some = reads_others && choice.spec.overlays == OverlaySupport::Path;
                let others =
                    if may_miss_some { OtherTexts::MostlyEarlier } else { OtherTexts::Earlier };
                Ok(ShownTexts { texts, others })
            }
            Some(detail) if own.is_empty() || choice.spec.overlays == OverlaySupport::Project => {
                no_base(detail)
            }
            Some(_) => {
                let others = if reads_others { OtherTexts::Present } else { OtherTexts::Earlier };
                Ok(ShownTexts { texts: own, others })
            }
        }
    }

    /// Why the server cannot be shown the earlier state of all files.
    fn obstacle(&self, subject: &EarlierSubject) -> Option<&'static str> {
        let earlier = &self.earlier;
        if earlier.paths().any(|path| is_data(&subject.choice, path)) {
            return Some("data that it reads changed since");
        }
        if earlier.has_folder_link {
            return Some("a link to a folder changed since");
        }
        if earlier.created_or_deleted.iter().any(|path| self.is_served(path, subject)) {
            return Some("files were created, deleted or generated since");
        }
        let texts = earlier.texts.iter().filter(|text| self.is_served(&text.path, subject));
        let texts: Vec<&Snapshot> = texts.collect();
        if texts.len() > OVERLAY_FILES_MAX {
            return Some("too many files changed since");
        }
        texts.iter().find_map(|text| self.unshowable.get(&text.path).copied())
    }
}

/// The texts of other changed files with which a server measures an earlier text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherTexts {
    /// The earlier ones, or none that matter.
    Earlier,
    /// The earlier ones, except where the server reaches a file through a link or by another name.
    MostlyEarlier,
    /// Those on disk.
    Present,
}

/// The earlier texts that a server is shown.
struct ShownTexts<'s> {
    texts: Vec<&'s Snapshot>,
    others: OtherTexts,
}

/// What a server found in an earlier text.
#[derive(Clone, Debug)]
pub(crate) struct EarlierResult {
    pub(crate) result: SensorResult,
    /// If not all of them are earlier ones: what the server did not find is new, but what it found may be due to
    /// present ones.
    pub(crate) others: OtherTexts,
}

/// A file of an earlier state, to be measured by one server.
#[derive(Clone, Debug)]
pub(crate) struct EarlierSubject {
    /// The earlier text; the present one of an unchanged file.
    pub(crate) snapshot: Snapshot,
    pub(crate) choice: ResolvedServer,
}

/// A subject and its index in the results.
#[derive(Debug)]
struct IndexedSubject {
    index: usize,
    subject: EarlierSubject,
}

/// Who asks for an earlier state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EarlierCaller {
    /// A Stop or a check, which waits for the answer.
    Verdict,
    /// An edit: Stops and checks come first.
    Edit,
}

/// Measures files in an earlier state, each with its server. Results are in the order of the
/// subjects, `None` after an internal error; a file that cannot be measured has a gap.
pub(crate) async fn measure_earlier(
    engine: &Arc<Engine>,
    project: &Project,
    state: &Arc<ServedState>,
    subjects: Vec<EarlierSubject>,
    caller: EarlierCaller,
    deadline: Instant,
) -> Vec<Option<EarlierResult>> {
    let count = subjects.len();
    let mut by_server: HashMap<ServerIdentity, Vec<IndexedSubject>> = HashMap::new();
    for (index, subject) in subjects.into_iter().enumerate() {
        let server = subject.choice.identity;
        by_server.entry(server).or_default().push(IndexedSubject { index, subject });
    }
    let mut servers = Vec::new();
    for subjects in by_server.into_values() {
        let (engine, project, state) = (Arc::clone(engine), project.clone(), Arc::clone(state));
        // In a separate task, because a caller that gives up must not leave an overlay behind.
        servers.push(tokio::spawn(async move {
            measure_by_server(&engine, &project, &state, subjects, caller, deadline).await
        }));
    }
    let mut results: Vec<Option<EarlierResult>> = vec![None; count];
    for server in servers {
        let Ok(measured) = server.await else { continue };
        for (index, result) in measured {
            results[index] = Some(result);
        }
    }
    results
}

/// Measures the subjects of one server. A live request waits for one measurement at most: the
/// overlays are then removed, and the remaining subjects are measured after the request.
async fn measure_by_server(
    engine: &Arc<Engine>,
    project: &Project,
    state: &Arc<ServedState>,
    subjects: Vec<IndexedSubject>,
    caller: EarlierCaller,
    deadline: Instant,
) -> Vec<(usize, EarlierResult)> {
    let mut results = Vec::with_capacity(subjects.len());
    let Some(server) = subjects.first().map(|first| first.subject.choice.clone()) else {
        return results;
    };
    let gate = engine.ledger().root(&project.root).overlay_gate(&server.id);
    let verdicts = engine.ledger().root(&project.root).measuring_verdicts();
    let must_wait = || caller == EarlierCaller::Edit && verdicts.is_any();
    let mut remaining = VecDeque::from(subjects);
    for _ in 0..OVERLAY_PASSES_MAX {
        if remaining.is_empty() {
            return results;
        }
        let turn = async {
            loop {
                if caller == EarlierCaller::Edit {
                    verdicts.ended().await;
                }
                let pass = gate.overlay().await;
                if !must_wait() {
                    break pass;
                }
            }
        };
        let Ok(pass) = timeout_at(deadline.into(), turn).await else { break };
        let epoch = settled_epoch(engine, project).await;
        let mut overlay = ServerOverlay::new(
            OverlayGuard::new(engine, project, state, &server, pass),
            epoch,
            deadline,
        );
        while let Some(next) =
            remaining.pop_front_if(|_| !overlay.guard.should_yield() && !must_wait())
        {
            match overlay.measure(&next.subject).await {
                Ok(result) => results.push((next.index, result)),
                // A change on disk may have closed the overlays: the next pass shows them again.
                Err(gap) if overlay.guard.should_yield() || gap.cause == Cause::Superseded => {
                    remaining.push_front(next);
                    break;
                }
                Err(gap) => results.push((next.index, without_result(next.subject, gap))),
            }
        }
    }
    let gap = Gap::new(Cause::TimedOut, "other measurements used up the time");
    results.extend(
        remaining.into_iter().map(|next| (next.index, without_result(next.subject, gap.clone()))),
    );
    results
}

/// The epoch of the disk once servers have been notified of it: a notification that is still on its
/// way would close overlays.
async fn settled_epoch(engine: &Arc<Engine>, project: &Project) -> u64 {
    let is_announced = engine.ledger().root(&project.root).disk.is_announced();
    if !is_announced {
        sync_disk(engine, project).await;
    }
    engine.ledger().root(&project.root).disk.announced_epoch
}

/// The overlays of one server, until a live request ends them.
struct ServerOverlay {
    guard: OverlayGuard,
    /// The epoch that was announced when the earlier state was read.
    epoch: u64,
    deadline: Instant,
    /// The files whose earlier texts the server has.
    shown_paths: BTreeSet<RelPath>,
    /// The number of files measured since all overlays were last measured.
    measured_since_refresh: usize,
}

impl ServerOverlay {
    fn new(guard: OverlayGuard, epoch: u64, deadline: Instant) -> Self {
        Self { guard, epoch, deadline, shown_paths: BTreeSet::new(), measured_since_refresh: 0 }
    }

    async fn measure(&mut self, subject: &EarlierSubject) -> Result<EarlierResult, Gap> {
        let (engine, project) = (Arc::clone(&self.guard.engine), self.guard.project.clone());
        let state = Arc::clone(&self.guard.state);
        let ShownTexts { texts, others } = state.shown_texts(&project, subject)?;
        // The other files first, because a file's findings depend on the texts that the server has at that
        // time.
        let own = &subject.snapshot;
        for text in texts.into_iter().filter(|text| text.path != own.path) {
            if !self.shown_paths.contains(&text.path) {
                self.show(text, &subject.choice).await?;
            }
        }
        self.keep_texts_open(&subject.choice).await?;
        if state.earlier.texts.iter().any(|earlier| earlier.path == own.path) {
            self.shown_paths.insert(own.path.clone());
            self.guard.record_overlay(own);
        }
        let result = self.measure_text(own, &subject.choice).await?;
        if engine.ledger().root(&project.root).disk.epoch != self.epoch {
            return Err(Gap::new(
                Cause::Superseded,
                "files changed while the earlier text was measured",
            ));
        }
        let is_left_over = |found: &Finding| {
            let mut beginnings = subject.choice.spec.loading_errors.iter();
            let rest = beginnings.find_map(|start| found.message.strip_prefix(start.as_str()));
            rest.is_some_and(|rest| {
                let named = rest.split([':', ' ']).next().unwrap_or_default();
                let is_in_text = !named.is_empty() && own.text.contains(named);
                !is_in_text || !state.earlier.created_or_deleted.is_empty()
            })
        };
        if result.findings.iter().any(is_left_over) {
            let detail = "errors from loading packages may refer to the present texts";
            return Err(Gap::new(Cause::NoBaseline, detail));
        }
        Ok(EarlierResult { result, others })
    }

    /// Measures the overlays again before they are closed: of too many open documents, the least
    /// recently measured one is closed, and the server then reads it from the disk.
    async fn keep_texts_open(&mut self, choice: &ResolvedServer) -> Result<(), Gap> {
        self.measured_since_refresh += 1;
        if self.measured_since_refresh + self.shown_paths.len() < OPEN_DOCUMENTS_MAX {
            return Ok(());
        }
        let state = Arc::clone(&self.guard.state);
        for text in &state.earlier.texts {
            if self.shown_paths.contains(&text.path) {
                self.show(text, choice).await?;
            }
        }
        self.measured_since_refresh = 1;
        Ok(())
    }

    /// Shows the server an earlier text. Its findings are not needed, but only a verdict proves that
    /// the server has the text.
    async fn show(&mut self, text: &Snapshot, choice: &ResolvedServer) -> Result<(), Gap> {
        self.guard.record_overlay(text);
        let result = self.measure_text(text, choice).await?;
        match result.gap {
            Some(gap) if !gap.cause.leaves_findings() => {
                self.shown_paths.remove(&text.path);
                Err(gap)
            }
            _ => {
                self.shown_paths.insert(text.path.clone());
                Ok(())
            }
        }
    }

    /// One measurement. It is never abandoned, because the server would keep the text.
    async fn measure_text(
        &self,
        text: &Snapshot,
        choice: &ResolvedServer,
    ) -> Result<SensorResult, Gap> {
        if self.guard.should_yield() {
            return Err(Gap::new(Cause::Superseded, "another measurement took priority"));
        }
        if Instant::now() >= self.deadline {
            return Err(Gap::new(Cause::TimedOut, "no time left to measure the earlier text"));
        }
        let OverlayGuard { engine, project, .. } = &self.guard;
        // A hook may be waiting for the end of the overlay.
        let lane = MeasureLane::Interactive;
        let choice = self.guard.state.choice_for(&text.path, choice);
        Ok(snapshot_measurement::measure_without_gate(engine, project, text, Ok(choice), lane)
            .await)
    }
}

/// Why a Go file's earlier text has no effect. After a change of the package clause, gopls goes on using the new
/// name for importers while it loads the package again; and it goes on using what cgo made of the present C in a
/// comment. Blocking.
fn unshowable_in_go(project: &Project, earlier: &Snapshot) -> Option<&'static str> {
    if earlier.path.extension().is_none_or(|extension| extension != "go") {
        return None;
    }
    let now = files::read_snapshot(&project.root, &earlier.path.under(&project.root));
    let now = now.map(|now| now.text).unwrap_or_default();
    let clause = |text: &str| {
        text.lines().find(|line| line.starts_with("package ")).map(|line| line.trim().to_owned())
    };
    let before = clause(&earlier.text);
    if before.is_some() && before != clause(&now) {
        return Some("a file belonged to another package then");
    }
    let is_other_c = cgo_preamble(&earlier.text) != cgo_preamble(&now);
    is_other_c.then_some("C in a comment changed since")
}

/// True if the server reads its configuration from a file.
fn is_configuration(choice: &ResolvedServer, path: &RelPath) -> bool {
    let name = path.file_name();
    choice.spec.root_markers.iter().chain(&choice.spec.restart_on).any(|file| file == name)
}

/// True if the server reads a file as data.
fn is_data(choice: &ResolvedServer, path: &RelPath) -> bool {
    path.extension().is_some_and(|extension| choice.spec.data_extensions.contains(&extension))
}

fn without_result(subject: EarlierSubject, gap: Gap) -> EarlierResult {
    let chosen: ServerSelection = Ok(subject.choice);
    let result = snapshot_measurement::unmeasured(&subject.snapshot, &chosen, gap, Duration::ZERO);
    EarlierResult { result, others: OtherTexts::Earlier }
}

/// When dropped, gives the server the present texts again and then releases its gate. This runs in a separate
/// task, so that only requests to this server wait. Other servers may have overlays of the same files at the
/// same time; they are not affected.
struct OverlayGuard {
    engine: Arc<Engine>,
    project: Project,
    state: Arc<ServedState>,
    server: ResolvedServer,
    overlaid_paths: BTreeSet<RelPath>,
    pass: Option<OverlayPass>,
}

impl OverlayGuard {
    fn new(
        engine: &Arc<Engine>,
        project: &Project,
        state: &Arc<ServedState>,
        server: &ResolvedServer,
        pass: OverlayPass,
    ) -> Self {
        Self {
            engine: Arc::clone(engine),
            project: project.clone(),
            state: Arc::clone(state),
            server: server.clone(),
            overlaid_paths: BTreeSet::new(),
            pass: Some(pass),
        }
    }

    fn record_overlay(&mut self, text: &Snapshot) {
        self.overlaid_paths.insert(text.path.clone());
    }

    fn should_yield(&self) -> bool {
        self.pass.as_ref().is_some_and(OverlayPass::should_yield)
    }
}

impl Drop for OverlayGuard {
    fn drop(&mut self) {
        let (engine, project) = (Arc::clone(&self.engine), self.project.clone());
        let state = Arc::clone(&self.state);
        let (overlaid, pass) = (std::mem::take(&mut self.overlaid_paths), self.pass.take());
        if overlaid.is_empty() {
            return;
        }
        let server = self.server.clone();
        let job = engine.job();
        tokio::spawn(async move {
            let _job = job;
            restore(&engine, &project, &state, server, overlaid).await;
            drop(pass);
        });
    }
}

/// Restores the present texts. A single file is measured in its present state, which leaves it open and the
/// server in its earlier state. Several files are closed, so that the server reads them from the disk.
async fn restore(
    engine: &Arc<Engine>,
    project: &Project,
    state: &ServedState,
    server: ResolvedServer,
    overlaid: BTreeSet<RelPath>,
) {
    if overlaid.len() == 1
        && let Some(path) = overlaid.first().cloned()
    {
        let root = project.root.clone();
        let read = run_blocking(move || files::read_snapshot(&root, &path.under(&root)).ok())
            .await
            .flatten();
        if let Some(now) = read {
            let choice = state.choice_for(&now.path, &server);
            let lane = MeasureLane::Interactive;
            snapshot_measurement::measure_without_gate(engine, project, &now, Ok(choice), lane)
                .await;
            return;
        }
    }
    let root = &project.root;
    let changes = overlaid.iter().map(|path| {
        let file = path.under(root);
        let change = if file.exists() { DiskChange::Changed } else { DiskChange::Deleted };
        (file, change)
    });
    engine.servers.reread(root.clone(), server.id, changes.collect()).await;
}
