//! What language servers find in earlier texts: shown to the running server as open documents, and
//! taken away again before it answers anybody else. It knows neither loops nor hooks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout_at;

use crate::engine::{Engine, run_blocking};
use crate::evidence::gather;
use crate::evidence::gather::SensorResult;
use crate::evidence::overlay_gate::OverlayPass;
use crate::project::Project;
use moai_base::hash::ContentHash;
use moai_base::limits::{OPEN_DOCUMENTS_MAX, OVERLAY_FILES_MAX, OVERLAY_PASSES_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_host::servers::ServerSelection;
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::registry::OverlaySupport;
use moai_lsp::session::DiskChange;

/// An earlier state of some files, and what is asked about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlierState {
    /// The files that differ now, with their earlier texts.
    pub(crate) texts: Vec<Snapshot>,
    /// Files that were created or deleted since: no open document can show that.
    pub(crate) created_or_deleted: Vec<RelPath>,
    /// Files that configure servers and were changed since: servers read them from the disk.
    pub(crate) configuration: Vec<RelPath>,
}

impl EarlierState {
    /// Adds a file that differs now: its earlier text, or none where it did not exist or nobody
    /// knows what it was.
    pub(crate) fn add(&mut self, path: &RelPath, earlier: Option<&str>) {
        match earlier {
            Some(text) => self.texts.push(Snapshot {
                path: path.clone(),
                text: text.into(),
                hash: ContentHash::of_bytes(text.as_bytes()),
            }),
            None => self.created_or_deleted.push(path.clone()),
        }
    }
}

/// One file of an earlier state that is to be measured by one server.
#[derive(Clone, Debug)]
pub(crate) struct EarlierSubject {
    /// Its earlier text; that of now where it has not changed.
    pub(crate) snapshot: Snapshot,
    /// The server.
    pub(crate) choice: ResolvedServer,
}

/// A subject and its place in the answer.
#[derive(Debug)]
struct IndexedSubject {
    index: usize,
    subject: EarlierSubject,
}

/// Measures files in an earlier state, each by its server; the results come in the order of the
/// subjects, `None` after an internal error. One that cannot be measured has a gap.
pub(crate) async fn measure_earlier(
    engine: &Arc<Engine>,
    project: &Project,
    state: &EarlierState,
    subjects: Vec<EarlierSubject>,
    deadline: Instant,
) -> Vec<Option<SensorResult>> {
    let count = subjects.len();
    let mut by_server: BTreeMap<String, Vec<IndexedSubject>> = BTreeMap::new();
    for (place, subject) in subjects.into_iter().enumerate() {
        let server = subject.choice.id.clone();
        by_server.entry(server).or_default().push(IndexedSubject { index: place, subject });
    }
    let mut servers = Vec::new();
    for subjects in by_server.into_values() {
        let (engine, project, state) = (Arc::clone(engine), project.clone(), state.clone());
        // In a task of its own: a caller that gives up must not leave an earlier text with a server.
        servers.push(tokio::spawn(async move {
            measure_by_server(&engine, &project, &state, subjects, deadline).await
        }));
    }
    let mut results: Vec<Option<SensorResult>> = vec![None; count];
    for server in servers {
        for (place, word) in server.await.unwrap_or_default() {
            results[place] = Some(word);
        }
    }
    results
}

/// The same for one server. A live question waits for one measurement at most: the earlier texts
/// are then taken away, and what is left is measured after it.
async fn measure_by_server(
    engine: &Arc<Engine>,
    project: &Project,
    state: &EarlierState,
    subjects: Vec<IndexedSubject>,
    deadline: Instant,
) -> Vec<(usize, SensorResult)> {
    let mut results = Vec::with_capacity(subjects.len());
    let server = subjects.first().map(|it| it.subject.choice.id.clone()).unwrap_or_default();
    let gate = engine.ledger().overlay_gate(&project.root, &server);
    let epoch = engine.ledger().epoch(&project.root);
    let mut left = VecDeque::from(subjects);
    for _ in 0..OVERLAY_PASSES_MAX {
        if left.is_empty() {
            return results;
        }
        let Ok(pass) = timeout_at(deadline.into(), gate.overlay()).await else { break };
        let mut shown = ServerOverlay::new(
            OverlayGuard::new(engine, project, &server, pass),
            state,
            epoch,
            deadline,
        );
        while let Some(next) = left.pop_front_if(|_| !shown.guard.should_yield()) {
            match shown.measure(&next.subject).await {
                Ok(word) => results.push((next.index, word)),
                Err(_) if shown.guard.should_yield() => {
                    left.push_front(next);
                    break;
                }
                Err(gap) => results.push((next.index, without_result(next.subject, gap))),
            }
        }
    }
    let gap = Gap::new(Cause::TimedOut, "other measurements took the time");
    let gaps = left.into_iter().map(|it| (it.index, without_result(it.subject, gap.clone())));
    results.extend(gaps);
    results
}

/// The earlier state as one server is shown it, until a live question ends it.
struct ServerOverlay<'a> {
    guard: OverlayGuard,
    state: &'a EarlierState,
    /// Of the project, when the earlier state was read.
    epoch: u64,
    deadline: Instant,
    /// The files of which the server has the earlier texts.
    shown_paths: BTreeSet<RelPath>,
    /// Files measured since the server was last asked about all of these.
    measured_since_refresh: usize,
}

impl<'a> ServerOverlay<'a> {
    fn new(restore: OverlayGuard, state: &'a EarlierState, epoch: u64, deadline: Instant) -> Self {
        Self {
            guard: restore,
            state,
            epoch,
            deadline,
            shown_paths: BTreeSet::new(),
            measured_since_refresh: 0,
        }
    }

    async fn measure(&mut self, subject: &EarlierSubject) -> Result<SensorResult, Gap> {
        let (engine, project) = (Arc::clone(&self.guard.engine), self.guard.project.clone());
        let overlays = overlays_for(&engine, &project, self.state, subject);
        if let Some(gap) = obstacle(&engine, &project, self.state, &overlays, subject) {
            return Err(gap);
        }
        // The others first: what a file says depends on the texts that the server has then.
        let own = &subject.snapshot;
        for text in overlays.into_iter().filter(|text| text.path != own.path) {
            if !self.shown_paths.contains(&text.path) {
                self.show(text, &subject.choice).await?;
            }
        }
        self.keep_texts_open(&subject.choice).await?;
        if self.state.texts.iter().any(|earlier| earlier.path == own.path) {
            self.shown_paths.insert(own.path.clone());
            self.guard.record_overlay(own);
        }
        let word = self.measure_text(own, &subject.choice).await?;
        // A changed file may have been closed, and with it its earlier text.
        if engine.ledger().epoch(&project.root) != self.epoch {
            return Err(Gap::new(
                Cause::Superseded,
                "files changed while the earlier text was measured",
            ));
        }
        Ok(word)
    }

    /// Asks about the earlier texts again before they are closed: a server with too many open
    /// documents closes the one that was asked about longest ago and reads it from the disk.
    async fn keep_texts_open(&mut self, choice: &ResolvedServer) -> Result<(), Gap> {
        self.measured_since_refresh += 1;
        if self.measured_since_refresh + self.shown_paths.len() < OPEN_DOCUMENTS_MAX {
            return Ok(());
        }
        for text in &self.state.texts {
            if self.shown_paths.contains(&text.path) {
                self.show(text, choice).await?;
            }
        }
        self.measured_since_refresh = 1;
        Ok(())
    }

    /// Gives the server an earlier text. Its findings there are not needed, but without a verdict
    /// nothing shows that it has the text.
    async fn show(&mut self, text: &Snapshot, choice: &ResolvedServer) -> Result<(), Gap> {
        self.guard.record_overlay(text);
        let word = self.measure_text(text, choice).await?;
        match word.gap {
            Some(gap) if gap.cause != Cause::ProjectFault => {
                self.shown_paths.remove(&text.path);
                Err(gap)
            }
            _ => {
                self.shown_paths.insert(text.path.clone());
                Ok(())
            }
        }
    }

    /// One measurement. It is never given up half-way: the server would keep the text.
    async fn measure_text(
        &self,
        text: &Snapshot,
        choice: &ResolvedServer,
    ) -> Result<SensorResult, Gap> {
        if self.guard.should_yield() {
            return Err(Gap::new(Cause::Superseded, "another measurement intervened"));
        }
        if Instant::now() >= self.deadline {
            return Err(Gap::new(Cause::TimedOut, "no time left to measure the earlier text"));
        }
        let OverlayGuard { engine, project, .. } = &self.guard;
        Ok(gather::measure_without_gate(engine, project, text, Ok(choice.clone())).await)
    }
}

/// The earlier texts that the subject's server must be shown for it.
fn overlays_for<'s>(
    engine: &Engine,
    project: &Project,
    state: &'s EarlierState,
    subject: &EarlierSubject,
) -> Vec<&'s Snapshot> {
    match subject.choice.spec.overlays {
        OverlaySupport::Project => {
            let texts = state.texts.iter();
            texts.filter(|text| is_served(engine, project, &text.path, subject)).collect()
        }
        // What it says of a file rests on that file, as far as an open document can show it.
        OverlaySupport::File | OverlaySupport::None => {
            state.texts.iter().filter(|text| text.path == subject.snapshot.path).collect()
        }
    }
}

/// Whether the subject's server speaks about a file.
fn is_served(engine: &Engine, project: &Project, path: &RelPath, subject: &EarlierSubject) -> bool {
    let choices = gather::select_servers(engine, project, path);
    choices.iter().flatten().any(|choice| choice.id == subject.choice.id)
}

/// Why the server cannot be shown the earlier state.
fn obstacle(
    engine: &Engine,
    project: &Project,
    state: &EarlierState,
    overlays: &[&Snapshot],
    subject: &EarlierSubject,
) -> Option<Gap> {
    let EarlierSubject { snapshot, choice } = subject;
    let is_own = overlays.iter().any(|text| text.path == snapshot.path);
    let is_read = |path: &RelPath| {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        choice.spec.root_markers.iter().chain(&choice.spec.restart_on).any(|it| it == name)
    };
    let is_data = |path: &RelPath| {
        path.extension().is_some_and(|extension| choice.spec.data_extensions.contains(&extension))
    };
    let has_data = || {
        let mut changed =
            state.texts.iter().map(|text| &text.path).chain(&state.created_or_deleted);
        changed.any(is_data)
    };
    let has_other_files =
        || state.created_or_deleted.iter().any(|path| is_served(engine, project, path, subject));
    let detail = match choice.spec.overlays {
        OverlaySupport::None => "it reads the disk, not earlier texts",
        _ if state.configuration.iter().any(is_read) => "its configuration changed since",
        OverlaySupport::File if !is_own => {
            "it reads other files from the disk, not their earlier texts"
        }
        OverlaySupport::Project if has_data() => "data that it reads changed since",
        OverlaySupport::Project if has_other_files() => "files were created or deleted since",
        OverlaySupport::Project if overlays.len() > OVERLAY_FILES_MAX => {
            "too many files changed since"
        }
        _ => return None,
    };
    Some(Gap::new(Cause::NoBaseline, detail))
}

fn without_result(subject: EarlierSubject, gap: Gap) -> SensorResult {
    let chosen: ServerSelection = Ok(subject.choice);
    gather::unmeasured(&subject.snapshot, &chosen, gap, Duration::ZERO)
}

/// Gives the server the present texts again when it is dropped, and only then lets others ask. Runs
/// on in a task of its own, so only those who ask the server wait for it. Other servers, which may be
/// shown the same files at the same time, are left alone.
struct OverlayGuard {
    engine: Arc<Engine>,
    project: Project,
    server: String,
    overlaid_paths: BTreeSet<RelPath>,
    pass: Option<OverlayPass>,
}

impl OverlayGuard {
    fn new(engine: &Arc<Engine>, project: &Project, server: &str, pass: OverlayPass) -> Self {
        let (engine, project) = (Arc::clone(engine), project.clone());
        Self {
            engine,
            project,
            server: server.to_owned(),
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
        let (overlaid, pass) = (std::mem::take(&mut self.overlaid_paths), self.pass.take());
        if overlaid.is_empty() {
            return;
        }
        let server = std::mem::take(&mut self.server);
        let job = engine.job();
        tokio::spawn(async move {
            let _job = job;
            restore(&engine, &project, server, overlaid).await;
            drop(pass);
        });
    }
}

/// A single file is asked about as it is now, which leaves it open and the server as it was. Several
/// are closed, so that the server reads them from the disk.
async fn restore(
    engine: &Arc<Engine>,
    project: &Project,
    server: String,
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
            let choices = gather::select_servers(engine, project, &now.path).into_iter().flatten();
            for choice in choices.filter(|choice| choice.id == server) {
                gather::measure_without_gate(engine, project, &now, Ok(choice)).await;
            }
            return;
        }
    }
    let root = &project.root;
    let changes = overlaid.iter().map(|path| {
        let file = path.under(root);
        let change = if file.exists() { DiskChange::Changed } else { DiskChange::Deleted };
        (file, change)
    });
    engine.servers.reread(root.clone(), server, changes.collect()).await;
}
