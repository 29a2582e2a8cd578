//! `doctor`: the language servers for the project's languages; with probes, a real measurement by every
//! installed server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use crate::engine::{Engine, measure_blocking, memory_now_ms, run_blocking};
use crate::host_calls;
use crate::project::Project;
use crate::replies::{INVALID, REFUSED, UNMEASURED, load_project};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files;
use moai_host::servers::resolve::ResolvedServer;
use moai_host::servers::{MeasureInput, PoolFilter, ServerContext, ServerMeasurement};
use moai_host::store::health::{StoreHealth, memory_health, project_health};
use moai_lsp::probe::{self, ProbeAct, ProbeOutcome, ServerProbe};
use moai_lsp::registry::CatalogueOverrides;
use moai_lsp::session::{DiskChange, MeasureLane};
use moai_protocol::control::{CallerContext, CommandReply, DoctorRequest};
use moai_protocol::documents::json_text;
use moai_protocol::documents::servers::{DaemonHealthEntry, StoreHealthEntry, TeamMemoryEntry};
use moai_report::doctor::{self as report, LanguageSupport, ProbeActResult, ProbeRow};
use moai_report::notice::no_project;
use moai_report::store_health::{ExaminedStore, StoreContent, health_text};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    asked: DoctorRequest,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    if asked.hosts {
        return host_calls::show(engine, caller, &project, asked.json).await;
    }
    let served =
        if asked.probe { Ok(Vec::new()) } else { served_languages(engine, &project).await };
    let served = match served {
        Ok(served) => served,
        Err(gap) => return CommandReply::failure(UNMEASURED, &format!("moai-ralph: {gap}")),
    };
    let mut probed = Vec::new();
    if asked.probe {
        match probe_all(engine, &project, &asked.languages).await {
            Ok(rows) => probed = rows,
            Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        }
    }
    let health = if asked.probe { None } else { Some(engine_health(engine, &project).await) };
    let stdout = if asked.json {
        let mut document = report::doctor_document(&served, &probed);
        if let Some(health) = &health {
            document.daemon = Some(health.daemon.clone());
            document.stores.clone_from(&health.stores);
            document.team_memory.clone_from(&health.team_memory);
        }
        json_text(&document)
    } else if let Some(health) = &health {
        let EngineHealth { daemon, stores, team_memory, .. } = health;
        report::language_support_text(&served) + &health_text(daemon, stores, team_memory.as_ref())
    } else {
        report::matrix(&probed)
    };
    let code = if probed.iter().any(ProbeRow::has_false_result) {
        REFUSED
    } else if probed.iter().any(ProbeRow::has_gap) {
        UNMEASURED
    } else {
        let is_ill = health.is_some_and(|health| health.needs_attention);
        u8::from(is_ill || served.iter().any(|row| row.program.is_err()))
    };
    // Their rows are missing, as those of servers that are not installed.
    let left_out = project.trust.gap().filter(|_| asked.probe).map(|gap| {
        format!("moai-ralph: servers that run programs of a project are not probed here: {gap}\n")
    });
    let is_unbounded = project.is_unbounded(engine).await;
    let bounded = is_unbounded.then(|| format!("moai-ralph: {}\n", no_project(&project.root)));
    let stderr = left_out.into_iter().chain(bounded).collect();
    CommandReply { stdout, stderr, code, ..CommandReply::default() }
}

struct EngineHealth {
    daemon: DaemonHealthEntry,
    stores: Vec<StoreHealthEntry>,
    team_memory: Option<TeamMemoryEntry>,
    /// True if one of them is unusable.
    needs_attention: bool,
}

async fn engine_health(engine: &Arc<Engine>, project: &Project) -> EngineHealth {
    let (home, key, memory) =
        (engine.dirs.state.clone(), project.key.clone(), engine.memory.clone());
    let examine = move || {
        let waiting = memory.waiting_observations();
        let memory = examined(StoreContent::Memory, memory_health(&home), waiting);
        vec![memory, examined(StoreContent::Loops, project_health(&home, &key), 0)]
    };
    let stores = run_blocking(examine).await.unwrap_or_default();
    let outage = engine.memory.team_outage().await;
    let team_memory = engine.memory.team_place().map(|place| TeamMemoryEntry {
        place: place.to_owned(),
        reachable: outage.is_none(),
        reason: outage.clone(),
    });
    let now_ms = memory_now_ms();
    EngineHealth {
        daemon: DaemonHealthEntry {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            uptime_secs: engine.started.elapsed().as_secs(),
            socket: engine.dirs.socket_path(),
            log: engine.dirs.log_folder(),
        },
        needs_attention: outage.is_some() || stores.iter().any(ExaminedStore::needs_attention),
        stores: stores.iter().map(|store| store.entry(now_ms)).collect(),
        team_memory,
    }
}

fn examined(content: StoreContent, health: StoreHealth, waiting: u64) -> ExaminedStore {
    ExaminedStore {
        content,
        path: health.path,
        condition: health.condition,
        bytes: health.bytes,
        rows: health.rows,
        schema: health.schema,
        schema_known: health.schema_known,
        backup_ms: health.backup_ms,
        waiting,
        damaged_copies: health.damaged_copies,
    }
}

/// The servers of one file of each language that the project has.
async fn served_languages(
    engine: &Arc<Engine>,
    project: &Project,
) -> Result<Vec<LanguageSupport>, Gap> {
    let (root, catalogue) = (project.root.clone(), Arc::clone(&project.workspace.catalogue));
    let walked = measure_blocking(move || {
        let is_wanted = |path: &RelPath| catalogue.language_of(path).is_some();
        files::walk_files(&root, std::slice::from_ref(&root), &is_wanted).files
    });
    let mut languages: BTreeMap<String, (usize, RelPath)> = BTreeMap::new();
    for path in walked.await? {
        if let Some(language) = project.workspace.catalogue.language_of(&path) {
            languages.entry(language.spec.name.clone()).or_insert((0, path)).0 += 1;
        }
    }
    let mut rows = Vec::new();
    for (language, (files, path)) in languages {
        for chosen in engine.servers.select(&project.workspace, &path) {
            let (server, program) = match chosen {
                Ok(choice) => {
                    (choice.id, Ok((choice.program.display().to_string(), choice.version)))
                }
                Err((sensor, gap)) => (sensor, Err(gap)),
            };
            rows.push(LanguageSupport { language: language.clone(), files, server, program });
        }
    }
    Ok(rows)
}

/// Runs the probes of every installed server one after the other, because they would slow each other.
async fn probe_all(
    engine: &Arc<Engine>,
    project: &Project,
    languages: &[String],
) -> Result<Vec<ProbeRow>, String> {
    let catalogue = &project.workspace.catalogue;
    if let Some(unknown) = languages.iter().find(|id| !probe::all_probes().contains_key(*id)) {
        let known: Vec<&str> = probe::all_probes().keys().map(String::as_str).collect();
        return Err(format!("no probe for {unknown}; known: {}", known.join(", ")));
    }
    let mut rows = Vec::new();
    for (id, probe) in probe::all_probes() {
        let Some(language) = catalogue.language(id) else { continue };
        if !languages.is_empty() && !languages.contains(id) {
            continue;
        }
        for server in language.servers.iter().chain(&language.companions) {
            let acts = probe.acts(language.companions.contains(server));
            rows.extend(probe_one(engine, project, id, server, probe, acts).await?);
        }
    }
    Ok(rows)
}

/// The row of one server; `None` if it is not installed.
async fn probe_one(
    engine: &Arc<Engine>,
    project: &Project,
    language: &str,
    server: &str,
    probe: &ServerProbe,
    acts: Vec<ProbeAct>,
) -> Result<Option<ProbeRow>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    // The server sees the folder under its real name, as it sees a project.
    let root = folder.path().canonicalize().map_err(|error| error.to_string())?;
    for (name, text) in probe.files() {
        write(&root, name, text)?;
    }
    write(&root, &probe.file, &probe.wrong)?;
    let choose = BTreeMap::from([(language.to_owned(), vec![server.to_owned()])]);
    let options = CatalogueOverrides { choose, ..CatalogueOverrides::default() };
    let catalogue = project.workspace.catalogue.as_ref().clone().with_user_options(&options);
    let env = Arc::clone(&project.workspace.env);
    let programs = project.workspace.programs.clone();
    let workspace = ServerContext::new(root.clone(), env, Arc::new(catalogue), programs);
    let Some(path) = RelPath::below(&root, &root.join(&probe.file)) else { return Ok(None) };
    let Some(Ok(choice)) = engine.servers.select(&workspace, &path).pop() else { return Ok(None) };
    let stage = ProbeSession { engine, workspace, choice, path };
    let (mut played, mut version) = (Vec::new(), None);
    for act in acts {
        if let (Some(module), Some(text)) = (&probe.module, &act.module) {
            write(&root, module, text)?;
            stage.announce_change(module).await;
        }
        let (one, said) = stage.run_act(&act).await;
        version = version.or(said);
        played.push(one);
    }
    engine.servers.stop_selected(PoolFilter { root: Some(root), ids: Vec::new() }).await;
    let (server, language) = (server.to_owned(), language.to_owned());
    Ok(Some(ProbeRow { server, version, language, acts: played }))
}

fn write(root: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = root.join(name);
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// A running probe of one server.
struct ProbeSession<'a> {
    engine: &'a Arc<Engine>,
    workspace: ServerContext,
    choice: ResolvedServer,
    path: RelPath,
}

impl ProbeSession<'_> {
    /// Announces a file that another program wrote, as the engine does.
    async fn announce_change(&self, module: &str) {
        let root = self.workspace.root.clone();
        let changes = vec![(root.join(module), DiskChange::Changed)];
        self.engine.servers.files_changed(root, changes, Vec::new()).await;
    }

    /// Measures all texts without waiting in between; the last answer counts. Also returns the
    /// server's version.
    async fn run_act(&self, act: &ProbeAct) -> (ProbeActResult, Option<String>) {
        let started_at = Instant::now();
        let last = act.texts.last().map(String::as_str).unwrap_or_default();
        let answer = match write(&self.workspace.root, self.path.as_str(), last) {
            Ok(()) => last_of(act.texts.iter().map(|text| self.measure_text(text)).collect()).await,
            Err(error) => Err(error),
        };
        let elapsed_ms = u64::try_from(started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (outcome, version) = match answer {
            Ok(measured) => (act.expected.judge(&measured.outcome), measured.version),
            Err(error) => (ProbeOutcome::Unmeasured(Gap::new(Cause::Crashed, error)), None),
        };
        let version = version.or_else(|| self.choice.version.clone());
        (ProbeActResult { name: act.name, outcome, elapsed_ms }, version)
    }

    async fn measure_text(&self, text: &str) -> ServerMeasurement {
        let hash = ContentHash::of_bytes(text.as_bytes());
        let subject = MeasureInput {
            path: self.path.clone(),
            text: text.into(),
            hash,
            lane: MeasureLane::Interactive,
        };
        self.engine.servers.measure(&self.workspace, self.choice.clone(), subject).await
    }
}

/// Runs all futures concurrently and returns the output of the last. They are polled in order, so
/// that the requests arrive in this order.
async fn last_of<T>(futures: Vec<impl Future<Output = T>>) -> Result<T, String> {
    let mut running: Vec<_> = futures.into_iter().map(|future| Some(Box::pin(future))).collect();
    std::future::poll_fn(|context| {
        let mut last = Poll::Pending;
        for slot in &mut running {
            let Some(future) = slot else { continue };
            last = future.as_mut().poll(context);
            if last.is_ready() {
                *slot = None;
            }
        }
        match (last, running.last()) {
            (Poll::Ready(answer), Some(None)) => Poll::Ready(Ok(answer)),
            (_, None) => Poll::Ready(Err("there is nothing to ask".to_owned())),
            _ => Poll::Pending,
        }
    })
    .await
}
