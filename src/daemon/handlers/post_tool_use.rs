//! The agent wrote a file: what did this edit introduce, fix and leave, and what did it break
//! elsewhere? Scan and language servers are asked at the same time; what is not there within the
//! inline budget is told by a later hook. After other tools, what changed on disk is told.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio::time::timeout_at;

use super::changed_on_disk;
use super::hook::{HookCall, Told, with_late};
use crate::base::delta::Delta;
use crate::base::evidence::Skipped;
use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::blast::{Blast, Change};
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::gather::{self, Word};
use crate::daemon::ledger::{Late, Reader};
use crate::daemon::look::{self, Look};
use crate::daemon::project::Project;
use crate::files::{self, Snapshot};
use crate::git;
use crate::lsp::blast::Sought;
use crate::report::agent::{self, EditFeedback};
use crate::scan::{RuleSet, scan};
use crate::servers::Chosen;
use crate::wire::hook::Before;

pub(super) async fn handle(call: HookCall<'_>) -> Told {
    let texts = match call.input.written_file() {
        Some(file) => feedback(&call, file).await.into_iter().collect(),
        None => changed_on_disk::texts(&call).await,
    };
    with_late(&call, texts).await
}

/// The look for other changes, made once for all that wait for it.
pub(super) type SharedLook = Arc<OnceCell<Look>>;

/// The feedback about one written file.
async fn feedback(call: &HookCall<'_>, file: &Path) -> Option<String> {
    let (engine, project) = (call.engine, &call.project);
    let deadline = Instant::now() + project.config.inline_budget;
    // Remembered before it is read: what cannot be read now is not measured at the Stop either, and
    // is named there.
    if let Some(path) = RelPath::below(&project.root, file).filter(|path| project.is_wanted(path)) {
        engine.ledger().wrote(&call.input.session_id, &project.root, &path);
    }
    let snapshot = match read(project, file).await? {
        Ok(snapshot) => snapshot,
        Err(skipped) => return about_skipped(call, file, skipped),
    };
    if !project.is_wanted(&snapshot.path) {
        return None;
    }
    let before = call.input.before();
    let look = SharedLook::default();
    if is_told_already(call, &snapshot, &before, &look).await {
        return None;
    }
    let change = change(call, &snapshot, &before);
    engine.ledger().set_writer(&call.input.session_id, &project.root, &snapshot);
    let blast = Blast::begin(change, shared_look(call, &snapshot, &look));
    let asked = ask_all(call, &snapshot, &before, &look);
    let mut told = answered(call, &snapshot, before, asked, deadline).await;
    if let Some(blast) = blast {
        told.elsewhere = blast.effects(deadline).await;
    }
    agent::edit(&told)
}

fn shared_look(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    look: &SharedLook,
) -> impl Future<Output = ()> + Send + 'static {
    let (engine, project) = (Arc::clone(call.engine), call.project.clone());
    let (snapshot, look) = (snapshot.clone(), Arc::clone(look));
    async move {
        let asked = std::slice::from_ref(&snapshot);
        look.get_or_init(async || look::sync(&engine, &project, asked).await).await;
    }
}

/// An edit that changed no byte, of a file about which all language servers have said everything
/// there is to say: none is asked, as long as no other file has changed.
async fn is_told_already(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &Before,
    look: &SharedLook,
) -> bool {
    let is_same = match before {
        Before::Text(text) => ContentHash::of(text.as_bytes()) == snapshot.hash,
        Before::Absent => false,
        Before::Unknown => true,
    };
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    if !is_same || !engine.ledger().is_verified(root, path, snapshot.hash) {
        return false;
    }
    let choices = gather::choices(engine, &call.project, path);
    let is_proven = || {
        choices.iter().all(|chosen| match (chosen, gather::identity(chosen)) {
            (Ok(choice), Some(server)) => {
                engine.ledger().is_proven(root, path, &choice.id, (snapshot.hash, server))
            }
            _ => false,
        })
    };
    if !is_proven() {
        return false;
    }
    shared_look(call, snapshot, look).await;
    is_proven()
}

/// What the edit may have done to other files.
fn change(call: &HookCall<'_>, snapshot: &Snapshot, before: &Before) -> Change {
    let (engine, root, path) = (call.engine, &call.project.root, &snapshot.path);
    let kept = || engine.ledger().text(root, path).map(|text| text.to_string());
    let before = match before {
        Before::Text(text) => Some(text.clone()),
        Before::Absent => None,
        Before::Unknown => kept().or_else(|| git::head_text(root, path)),
    };
    Change {
        engine: Arc::clone(engine),
        project: call.project.clone(),
        reader: call.reader(),
        label: path.to_string(),
        changed: vec![(path.clone(), Some(snapshot.hash))],
        apart: Vec::new(),
        sought: Sought::of(path, before.as_deref(), Some(&snapshot.text)),
    }
}

/// All sensors' deltas of one file, as far as they are there by the deadline.
pub(super) async fn answered(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: Before,
    asked: Vec<Asked>,
    deadline: Instant,
) -> EditFeedback {
    let scanned = scan_delta(call.engine, &call.project, snapshot, before);
    let measured = async {
        let mut deltas = Vec::new();
        for one in asked {
            deltas.extend(one.delta(call, snapshot, deadline).await);
        }
        deltas
    };
    let (scanned, measured) = tokio::join!(scanned, measured);
    let (mut delta, mut gaps, mut gaps_are_news) = (Delta::default(), Vec::new(), false);
    for word in scanned.into_iter().chain(measured) {
        match word {
            Ok(of_sensor) => {
                delta.now.extend(of_sensor.now);
                delta.fixed += of_sensor.fixed;
            }
            Err(unmeasured) => {
                gaps_are_news |= unmeasured.is_news;
                gaps.push((unmeasured.sensor, unmeasured.gap));
            }
        }
    }
    delta.now.sort_by_key(|finding| finding.range);
    let (path, elsewhere) = (snapshot.path.clone(), Vec::new());
    EditFeedback { path, delta, gaps, gaps_are_news, late: None, elsewhere }
}

async fn read(project: &Project, file: &Path) -> Option<Result<Snapshot, Skipped>> {
    let (root, file) = (project.root.clone(), file.to_path_buf());
    blocking(move || files::read(&root, &file)).await
}

/// A file that cannot be read as source is worth a word only when a sensor would have looked at
/// it, it lies in the project and still exists.
fn about_skipped(call: &HookCall<'_>, file: &Path, skipped: Skipped) -> Option<String> {
    let path = RelPath::below(&call.project.root, file)?;
    if !call.project.is_wanted(&path) || !file.exists() {
        return None;
    }
    let gap = Gap::new(Cause::Skipped, skipped.reason);
    if !call.engine.ledger().is_news(&call.input.session_id, &format!("{path} {gap}")) {
        return None;
    }
    let gaps = vec![("all sensors".to_owned(), gap)];
    let delta = Delta::default();
    let elsewhere = Vec::new();
    agent::edit(&EditFeedback { path, delta, gaps, gaps_are_news: true, late: None, elsewhere })
}

/// A sensor without a verdict.
struct Unmeasured {
    sensor: String,
    gap: Gap,
    /// Whether the session must hear of it even when there is nothing else to say.
    is_news: bool,
}

/// What the edit did to the scan's findings. The host hands over the text before the edit, so the
/// delta is this edit's alone, even at a first look and after other writers.
async fn scan_delta(
    engine: &Arc<Engine>,
    project: &Project,
    snapshot: &Snapshot,
    before: Before,
) -> Option<Result<Delta, Unmeasured>> {
    if !project.config.scan_enabled || !RuleSet::built_in().handles(&snapshot.path) {
        return None;
    }
    let known = engine.ledger().verified(&project.root, &snapshot.path, "scan");
    let now = snapshot.clone();
    let scanned = blocking(move || {
        let before = match before {
            Before::Absent => Some(Vec::new()),
            Before::Text(text) => {
                let hash = ContentHash::of(text.as_bytes());
                match known {
                    Some((of, findings)) if of == hash => Some(findings),
                    _ => {
                        let before = scan(RuleSet::built_in(), &now.path, &text, hash);
                        // What was only partly seen is no set to compare with.
                        before.gap.is_none().then_some(before.findings)
                    }
                }
            }
            Before::Unknown => known.map(|(_, findings)| findings),
        };
        (gather::scan_one(&now).unwrap_or_else(|| gather::scan_lost(&now)), before)
    });
    let (word, before) = scanned.await.unwrap_or_else(|| (gather::scan_lost(snapshot), None));
    gather::remember(engine, project, std::slice::from_ref(&word));
    Some(match word.gap {
        None => Ok(Delta::between(before.as_deref(), word.found)),
        Some(gap) => Err(Unmeasured { sensor: word.sensor, gap, is_news: true }),
    })
}

/// Asks all language servers of a file at once.
pub(super) fn ask_all(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &Before,
    look: &SharedLook,
) -> Vec<Asked> {
    let choices = gather::choices(call.engine, &call.project, &snapshot.path);
    let ask = |chosen| ask(call, snapshot, before, chosen, Arc::clone(look));
    choices.into_iter().map(ask).collect()
}

/// One language server that was asked about the written file.
pub(super) struct Asked {
    sensor: String,
    was_measured: bool,
    /// What its answer is compared with.
    baseline: Option<Vec<Finding>>,
    answer: JoinHandle<Word>,
}

fn ask(
    call: &HookCall<'_>,
    snapshot: &Snapshot,
    before: &Before,
    chosen: Chosen,
    look: SharedLook,
) -> Asked {
    let (engine, project) = (call.engine, &call.project);
    let sensor = match &chosen {
        Ok(choice) => choice.id.clone(),
        Err((sensor, _)) => sensor.clone(),
    };
    let (root, path) = (&project.root, &snapshot.path);
    let verified = engine.ledger().verified(root, path, &sensor);
    let was_measured = verified.is_some();
    let untold = engine.ledger().take_late_of(&call.reader(), root, path, &sensor);
    // A late verdict that this edit overtakes was never told: its findings are still news.
    let verified = match untold.into_iter().next() {
        Some(late) => late.baseline,
        None => verified.map(|(_, findings)| findings),
    };
    // A file that did not exist had nothing wrong, whatever an earlier one of its name had.
    let baseline = if *before == Before::Absent { Some(Vec::new()) } else { verified };
    let question = measure(Arc::clone(engine), project.clone(), snapshot.clone(), chosen, look);
    Asked { sensor, was_measured, baseline, answer: tokio::spawn(question) }
}

impl Asked {
    /// The server's delta, or a gap; after the deadline the measurement goes on and its verdict is
    /// told by the session's next hook.
    async fn delta(
        self,
        call: &HookCall<'_>,
        snapshot: &Snapshot,
        deadline: Instant,
    ) -> Option<Result<Delta, Unmeasured>> {
        let Self { sensor, was_measured, baseline, mut answer } = self;
        let Ok(joined) = timeout_at(deadline.into(), &mut answer).await else {
            let pending = Pending {
                engine: Arc::clone(call.engine),
                root: call.project.root.clone(),
                reader: call.reader(),
                path: snapshot.path.clone(),
                hash: snapshot.hash,
                baseline,
            };
            let job = call.engine.job();
            tokio::spawn(async move {
                let _job = job;
                if let Ok(word) = answer.await {
                    pending.keep(word);
                }
            });
            let gap = pending_gap(call.project.config.inline_budget);
            return Some(Err(Unmeasured { sensor, gap, is_news: true }));
        };
        let word = joined.ok()?;
        let Some(gap) = word.gap else {
            return Some(Ok(Delta::between(baseline.as_deref(), word.found)));
        };
        // A tool that was never there is named once, not at every edit.
        let news = format!("{sensor} {gap}");
        let is_first = call.engine.ledger().is_news(&call.input.session_id, &news);
        let is_news = is_first || was_measured || gap.cause.is_passing();
        Some(Err(Unmeasured { sensor, gap, is_news }))
    }
}

/// A measurement of the bytes that are still there at its end.
async fn measure(
    engine: Arc<Engine>,
    project: Project,
    snapshot: Snapshot,
    chosen: Chosen,
    look: SharedLook,
) -> Word {
    // In a large tree the look for other changes takes as long as an answer, and it seldom finds
    // any; so the server is asked meanwhile, and asked again when it did not know of everything.
    let ask = || gather::measure(&engine, &project, &snapshot, chosen.clone());
    let knew_all = look.initialized();
    let look = look
        .get_or_init(async || look::sync(&engine, &project, std::slice::from_ref(&snapshot)).await);
    let (look, word) = match tokio::join!(look, ask()) {
        (look, word) if knew_all || !look.has_others => (look, word),
        (look, _) => (look, ask().await),
    };
    let mut words = [word];
    gather::void_what_changed(&project, &mut words).await;
    gather::remember(&engine, &project, &words);
    gather::prove(&engine, &project, &words, look.epoch);
    let [word] = words;
    word
}

fn pending_gap(waited: Duration) -> Gap {
    let detail = format!("no answer within {} ms yet; it follows", waited.as_millis());
    Gap::new(Cause::TimedOut, detail)
}

/// What is needed to word a late verdict.
struct Pending {
    engine: Arc<Engine>,
    root: std::path::PathBuf,
    reader: Reader,
    path: RelPath,
    hash: ContentHash,
    baseline: Option<Vec<Finding>>,
}

impl Pending {
    fn keep(self, word: Word) {
        let gaps = match word.gap {
            // A newer edit of the file is being measured in its own right.
            Some(gap) if gap.cause == Cause::Superseded => return,
            Some(gap) => vec![(word.sensor.clone(), gap)],
            None => Vec::new(),
        };
        let delta = Delta::between(self.baseline.as_deref(), word.found);
        let (path, sensor) = (self.path.clone(), word.sensor.clone());
        let late = Some(word.sensor);
        let elsewhere = Vec::new();
        let feedback = EditFeedback { path, delta, gaps, gaps_are_news: true, late, elsewhere };
        // The hook has said that an answer follows, so even a clean one does.
        let text = agent::edit(&feedback).unwrap_or_else(|| agent::nothing_new(&feedback));
        let Self { engine, root, reader, path, hash, baseline } = self;
        let because = Vec::new();
        let late = Late { root, path, sensor, hash, text, baseline, because };
        engine.ledger().deliver_later(&reader, late);
    }
}
