//! The guard over one project: texts of the base from git, texts of now from the disk, what the
//! user allowed taken out. It must not know what the detectors look for.

use std::sync::Arc;
use std::time::Instant;

use super::checkpoints::{self, SinceStart};
use super::engine::{Engine, blocking};
use super::project::Project;
use super::waivers::Waivers;
use crate::base::evidence::{Evidence, Reading, SensorKind, Skipped};
use crate::base::finding::{Finding, Severity};
use crate::base::limits::SOURCE_BYTES_MAX;
use crate::base::path::RelPath;
use crate::base::verdict::{Cause, Gap};
use crate::files;
use crate::git::{self, Before, Different};
use crate::guard::{self, Change, Input, SENSOR};

/// What is to be judged.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The commit to compare with, as git names it; `None`: HEAD.
    pub(super) base: Option<String>,
    /// What the change is for, in the user's words.
    pub(super) goal: String,
    /// Findings of the base, where they are known.
    pub(super) known: Vec<Finding>,
    /// Lowest severity that makes the reading dirty.
    pub(super) threshold: Severity,
    /// The loop whose first checkpoint is the base where there is no git.
    pub(super) loop_id: Option<String>,
}

/// What the guard says about a project.
#[derive(Clone, Debug, Default)]
pub(super) struct Guarded {
    /// Every file that differs, the findings that the user did not allow, and one reading.
    pub(super) evidence: Evidence,
    /// The findings that the user allowed, with the reason.
    pub(super) allowed: Vec<(Finding, String)>,
}

/// Judges what changed since a commit. The error is one line for people: a base that git does not
/// know.
pub(super) async fn guard(
    engine: &Arc<Engine>,
    project: &Project,
    wanted: Wanted,
) -> Result<Guarded, String> {
    let (engine, project) = (Arc::clone(engine), project.clone());
    let judged = blocking(move || judge(&engine, &project, &wanted)).await;
    judged.unwrap_or_else(|| Ok(unmeasured(Gap::new(Cause::Crashed, "the guard ended early"))))
}

fn judge(engine: &Engine, project: &Project, wanted: &Wanted) -> Result<Guarded, String> {
    let begun = Instant::now();
    let found = git::different_since(&project.root, wanted.base.as_deref());
    let found = match found.map_err(|error| format!("nothing to compare with: {error}"))? {
        None => since_start(engine, project, wanted.loop_id.as_deref())?,
        found => found.map(|different| (different, Vec::new())),
    };
    let Some((different, skipped)) = found else {
        let gap = Gap::new(Cause::NoTool, "not a git work tree, so there is no base");
        return Ok(unmeasured(gap.with_remedy("git init")));
    };
    let mut texts = Texts { root: files::Root::open(&project.root), skipped };
    let mut changes: Vec<Change> =
        different.into_iter().filter_map(|different| texts.change(different)).collect();
    let own = changes.len();
    changes.extend(texts.companions(&changes));
    let input = Input { changes: &changes, goal: &wanted.goal, known: &wanted.known };
    let outcome = guard::inspect(&input);
    let gaps = outcome.gaps.iter();
    texts.skipped.extend(gaps.map(|(path, gap)| skip(path.as_str(), &gap.detail)));
    let waivers = Waivers::load(&engine.places.state, &project.key);
    let mut guarded = Guarded::default();
    for finding in outcome.findings {
        match waivers.reason(&finding).map(str::to_owned) {
            Some(reason) => guarded.allowed.push((finding, reason)),
            None => guarded.evidence.findings.push(finding),
        }
    }
    let is_skipped = |path: &str| texts.skipped.iter().any(|skipped| skipped.path == path);
    let paths = changes.into_iter().take(own).map(|change| change.path);
    guarded.evidence.files = paths.filter(|path| !is_skipped(path.as_str())).collect();
    let mut reading = Reading::clean(SENSOR, SensorKind::Guard, guarded.evidence.files.len());
    reading.dirty = guarded.evidence.findings.iter().any(|it| it.severity >= wanted.threshold);
    reading.elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    guarded.evidence.readings.push(reading);
    guarded.evidence.skipped = texts.skipped;
    Ok(guarded)
}

/// Files that differ, and files of which nobody knows.
type Compared = (Vec<Different>, Vec<Skipped>);

/// What differs from the first checkpoint of a loop, where copies take the place of git, and what
/// nobody can compare; `None` when there is no such checkpoint.
fn since_start(
    engine: &Engine,
    project: &Project,
    loop_id: Option<&str>,
) -> Result<Option<Compared>, String> {
    let Some(since) = checkpoints::since_start(engine, project, loop_id)? else { return Ok(None) };
    let different = |SinceStart { path, before, is_there }| {
        let before = match before.map(String::from_utf8) {
            None => Before::Absent,
            Some(Ok(text)) if text.len() as u64 <= SOURCE_BYTES_MAX => Before::Text(text),
            Some(Ok(_)) => Before::Unread("larger than 1 MiB"),
            Some(Err(_)) => Before::Unread("not UTF-8"),
        };
        Different { path, old_path: None, before, is_there }
    };
    let is_read = |path: &String| RelPath::parse(path).is_some_and(|path| guard::reads(&path));
    let unknown = since.unknown.iter().filter(|(path, _)| is_read(path));
    let skipped = unknown.map(|(path, reason)| skip(path, reason)).collect();
    Ok(Some((since.files.into_iter().map(different).collect(), skipped)))
}

/// Nothing but the reason why.
fn unmeasured(gap: Gap) -> Guarded {
    let reading = Reading { gap: Some(gap), ..Reading::clean(SENSOR, SensorKind::Guard, 0) };
    let evidence = Evidence { readings: vec![reading], ..Evidence::default() };
    Guarded { evidence, ..Guarded::default() }
}

fn skip(path: &str, reason: &str) -> Skipped {
    Skipped { path: path.to_owned(), reason: reason.to_owned() }
}

/// The texts of changed files.
struct Texts {
    root: files::Root,
    skipped: Vec<Skipped>,
}

impl Texts {
    /// Tests beside what changed, as they stand. One that cannot be read is missed by nobody.
    fn companions(&self, changes: &[Change]) -> Vec<Change> {
        let unchanged = |path: RelPath| {
            let text = self.root.read(&path).ok()?.text.to_string();
            Some(Change { path, old_path: None, before: Some(text.clone()), after: Some(text) })
        };
        guard::companions(changes).into_iter().filter_map(unchanged).collect()
    }

    /// Both texts of a file; `None` when one cannot be had, which for code is a gap and for data is
    /// nothing that the guard would read.
    fn change(&mut self, different: Different) -> Option<Change> {
        let Different { path, old_path, before, is_there } = different;
        let read = |reason: &str| skip(path.as_str(), reason);
        let before = match before {
            Before::Absent => Ok(None),
            Before::Text(text) => Ok(Some(text)),
            // Whatever it holds may be a test.
            Before::Repository => {
                self.skipped.push(skip(path.as_str(), git::OF_ITS_OWN));
                return None;
            }
            Before::Unread(reason) => Err(read(reason)),
        };
        let after = match is_there.then(|| self.root.read(&path)).transpose() {
            Ok(snapshot) => Ok(snapshot.map(|snapshot| snapshot.text.to_string())),
            Err(skipped) => Err(skipped),
        };
        match (before, after) {
            (Ok(before), Ok(after)) => Some(Change { path, old_path, before, after }),
            (Err(skipped), _) | (_, Err(skipped)) => {
                if guard::reads(&path) {
                    self.skipped.push(skipped);
                }
                None
            }
        }
    }
}
