//! `doctor`: which language of the project is served by what; and with probes, what every installed
//! server really does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use super::replies::{INVALID, REFUSED, UNMEASURED, load};
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::project::Project;
use crate::files;
use crate::lsp::probe::{self, Act, Outcome, Probe};
use crate::lsp::registry::Overrides;
use crate::lsp::session::FileChange;
use crate::report::doctor::{self as words, Played, Probed, Served};
use crate::servers::resolve::Choice;
use crate::servers::{AskedFile, Measured, Selection, Subject, Surroundings};
use crate::wire::control::{Caller, Doctor, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, asked: Doctor) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let served = if asked.probe { Vec::new() } else { served(engine, &project).await };
    let mut probed = Vec::new();
    if asked.probe {
        match probe_all(engine, &project, &asked.languages).await {
            Ok(rows) => probed = rows,
            Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: {error}")),
        }
    }
    let stdout = if asked.json {
        format!("{:#}\n", words::document(&served, &probed))
    } else if asked.probe {
        words::matrix(&probed)
    } else {
        words::served(&served)
    };
    let code = if probed.iter().any(Probed::is_untrue) {
        REFUSED
    } else if probed.iter().any(Probed::has_gap) {
        UNMEASURED
    } else {
        u8::from(served.iter().any(|row| row.program.is_err()))
    };
    Reply { stdout, code, ..Reply::default() }
}

/// The servers of one file of each language that the project has.
async fn served(engine: &Arc<Engine>, project: &Project) -> Vec<Served> {
    let (root, catalogue) = (project.root.clone(), Arc::clone(&project.around.catalogue));
    let walked = blocking(move || {
        let is_wanted = |path: &RelPath| catalogue.language_of(path).is_some();
        files::walk(&root, std::slice::from_ref(&root), &is_wanted).files
    });
    let mut languages: BTreeMap<String, (usize, RelPath)> = BTreeMap::new();
    for path in walked.await.unwrap_or_default() {
        if let Some((_, language, _)) = project.around.catalogue.language_of(&path) {
            languages.entry(language.name.clone()).or_insert((0, path)).0 += 1;
        }
    }
    let mut rows = Vec::new();
    for (language, (files, path)) in languages {
        for chosen in engine.servers.choose(&project.around, &path) {
            let (server, program) = match chosen {
                Ok(choice) => {
                    (choice.id, Ok((choice.program.display().to_string(), choice.version)))
                }
                Err((sensor, gap)) => (sensor, Err(gap)),
            };
            rows.push(Served { language: language.clone(), files, server, program });
        }
    }
    rows
}

/// Plays the probes of every installed server, one after the other: they would slow each other.
async fn probe_all(
    engine: &Arc<Engine>,
    project: &Project,
    languages: &[String],
) -> Result<Vec<Probed>, String> {
    let catalogue = &project.around.catalogue;
    if let Some(unknown) = languages.iter().find(|id| !probe::all().contains_key(*id)) {
        let known: Vec<&str> = probe::all().keys().map(String::as_str).collect();
        return Err(format!("no probe for {unknown}; known: {}", known.join(", ")));
    }
    let mut rows = Vec::new();
    for (id, probe) in probe::all() {
        let Some(language) = catalogue.language(id) else { continue };
        if !languages.is_empty() && !languages.contains(id) {
            continue;
        }
        for server in language.servers.iter().chain(&language.companions) {
            let acts = probe.acts(language.companions.contains(server));
            rows.extend(probe_one(engine, project, (id, server), probe, acts).await?);
        }
    }
    Ok(rows)
}

/// One server's row; `None` when it is not installed.
async fn probe_one(
    engine: &Arc<Engine>,
    project: &Project,
    (language, server): (&str, &str),
    probe: &Probe,
    acts: Vec<Act>,
) -> Result<Option<Probed>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    // The server sees the folder under its real name, as it sees a project.
    let root = folder.path().canonicalize().map_err(|error| error.to_string())?;
    for (name, text) in probe.files() {
        write(&root, name, text)?;
    }
    write(&root, &probe.file, &probe.wrong)?;
    let choose = BTreeMap::from([(language.to_owned(), vec![server.to_owned()])]);
    let options = Overrides { choose, ..Overrides::default() };
    let catalogue = project.around.catalogue.as_ref().clone().configured(&options);
    let env = Arc::clone(&project.around.env);
    let around = Surroundings::new(root.clone(), env, Arc::new(catalogue));
    let Some(path) = RelPath::below(&root, &root.join(&probe.file)) else { return Ok(None) };
    let Some(Ok(choice)) = engine.servers.choose(&around, &path).pop() else { return Ok(None) };
    let stage = Stage { engine, around, choice, path };
    let (mut played, mut version) = (Vec::new(), None);
    for act in acts {
        if let (Some(module), Some(text)) = (&probe.module, &act.module) {
            write(&root, module, text)?;
            stage.tell(module).await;
        }
        let (one, said) = stage.play(&act).await;
        version = version.or(said);
        played.push(one);
    }
    engine.servers.stop_some(Selection { root: Some(root), ids: Vec::new() }).await;
    let (server, language) = (server.to_owned(), language.to_owned());
    Ok(Some(Probed { server, version, language, acts: played }))
}

fn write(root: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = root.join(name);
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// One server on its probe.
struct Stage<'a> {
    engine: &'a Arc<Engine>,
    around: Surroundings,
    choice: Choice,
    path: RelPath,
}

impl Stage<'_> {
    /// What the engine tells servers about files that others wrote.
    async fn tell(&self, module: &str) {
        let root = self.around.root.clone();
        let changes = vec![(root.join(module), FileChange::Changed)];
        let asked = AskedFile { path: self.path.clone(), servers: vec![self.choice.id.clone()] };
        self.engine.servers.files_changed(root, changes, vec![asked]).await;
    }

    /// Asks about all texts without waiting in between; the last one's answer counts. Also yields
    /// the version.
    async fn play(&self, act: &Act) -> (Played, Option<String>) {
        let begun = Instant::now();
        let last = act.texts.last().map(String::as_str).unwrap_or_default();
        let answer = match write(&self.around.root, self.path.as_str(), last) {
            Ok(()) => last_of(act.texts.iter().map(|text| self.ask(text)).collect()).await,
            Err(error) => Err(error),
        };
        let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (outcome, version) = match answer {
            Ok(measured) => (act.expected.judge(&measured.outcome), measured.version),
            Err(error) => (Outcome::Unmeasured(Gap::new(Cause::Crashed, error)), None),
        };
        let version = version.or_else(|| self.choice.version.clone());
        (Played { name: act.name, outcome, elapsed_ms }, version)
    }

    async fn ask(&self, text: &str) -> Measured {
        let hash = ContentHash::of(text.as_bytes());
        let subject = Subject { path: self.path.clone(), text: text.into(), hash };
        self.engine.servers.measure(&self.around, self.choice.clone(), subject).await
    }
}

/// Runs all side by side and yields what the last one does. Each is begun in its turn, so that the
/// questions arrive in this order.
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
