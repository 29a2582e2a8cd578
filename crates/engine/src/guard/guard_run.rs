//! The guard over one project: texts of the base from git, texts of now from the disk, what the
//! user allowed taken out. It must not know what the detectors look for.

use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Engine, run_blocking};
use crate::guard::waivers::WaiverStore;
use crate::project::Project;
use crate::restore::checkpoints;
use crate::restore::checkpoints::FileSinceStart;
use moai_base::evidence::{Evidence, SensorKind, SensorReading, SkippedFile};
use moai_base::finding::{Finding, Severity};
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_guard::{GuardInput, SENSOR, SourceChange};
use moai_host::files;
use moai_host::git::{self, FileDifference, TextAtBase};

/// What is to be judged.
#[derive(Clone, Debug)]
pub(crate) struct GuardRunOptions {
    /// The commit to compare with, as git names it; `None`: HEAD.
    pub(crate) base: Option<String>,
    /// What the change is for, in the user's words.
    pub(crate) goal: String,
    /// Findings of the base, where they are known.
    pub(crate) known: Vec<Finding>,
    /// Lowest severity that makes the reading dirty.
    pub(crate) threshold: Severity,
    /// The loop whose first checkpoint is the base where there is no git.
    pub(crate) loop_id: Option<String>,
}

/// What the guard says about a project.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectGuardReport {
    /// Every file that differs, the findings that the user did not allow, and one reading.
    pub(crate) evidence: Evidence,
    /// The findings that the user allowed, with the reason.
    pub(crate) allowed: Vec<(Finding, String)>,
}

/// Judges what changed since a commit. The error is one line for people: a base that git does not
/// know.
pub(crate) async fn run_guard(
    engine: &Arc<Engine>,
    project: &Project,
    wanted: GuardRunOptions,
) -> Result<ProjectGuardReport, String> {
    let (engine, project) = (Arc::clone(engine), project.clone());
    let judged = run_blocking(move || inspect_changes(&engine, &project, &wanted)).await;
    judged.unwrap_or_else(|| Ok(unmeasured(Gap::new(Cause::Crashed, "the guard ended early"))))
}

fn inspect_changes(
    engine: &Engine,
    project: &Project,
    wanted: &GuardRunOptions,
) -> Result<ProjectGuardReport, String> {
    let begun = Instant::now();
    let found = git::diff_since(&project.root, wanted.base.as_deref());
    let found = match found.map_err(|error| format!("nothing to compare with: {error}"))? {
        None => diff_since_start(engine, project, wanted.loop_id.as_deref())?,
        found => found.map(|different| (different, Vec::new())),
    };
    let Some((different, skipped)) = found else {
        let gap =
            Gap::new(Cause::NoTool, "not a git work tree, so there is nothing to compare with");
        return Ok(unmeasured(gap.with_remedy("git init")));
    };
    let mut texts = ChangeReader { root: files::RootReader::open(&project.root), skipped };
    let mut changes: Vec<SourceChange> =
        different.into_iter().filter_map(|different| texts.change(different)).collect();
    let own = changes.len();
    changes.extend(texts.companions(&changes));
    let input = GuardInput { changes: &changes, goal: &wanted.goal, base_findings: &wanted.known };
    let outcome = moai_guard::inspect(&input);
    let gaps = outcome.gaps.iter();
    texts.skipped.extend(gaps.map(|(path, gap)| skip(path.as_str(), &gap.detail)));
    let waivers = WaiverStore::load(&engine.dirs.state, &project.key);
    let mut guarded = ProjectGuardReport::default();
    for finding in outcome.findings {
        match waivers.reason(&finding).map(str::to_owned) {
            Some(reason) => guarded.allowed.push((finding, reason)),
            None => guarded.evidence.findings.push(finding),
        }
    }
    let is_skipped = |path: &str| texts.skipped.iter().any(|skipped| skipped.path == path);
    let paths = changes.into_iter().take(own).map(|change| change.path);
    guarded.evidence.files = paths.filter(|path| !is_skipped(path.as_str())).collect();
    let mut reading = SensorReading::clean(SENSOR, SensorKind::Guard, guarded.evidence.files.len());
    reading.dirty = guarded.evidence.findings.iter().any(|it| it.severity >= wanted.threshold);
    reading.elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    guarded.evidence.readings.push(reading);
    guarded.evidence.skipped = texts.skipped;
    Ok(guarded)
}

/// Files that differ, and files of which nobody knows.
type CheckpointDiff = (Vec<FileDifference>, Vec<SkippedFile>);

/// What differs from the first checkpoint of a loop, where copies take the place of git, and what
/// nobody can compare; `None` when there is no such checkpoint.
fn diff_since_start(
    engine: &Engine,
    project: &Project,
    loop_id: Option<&str>,
) -> Result<Option<CheckpointDiff>, String> {
    let Some(since) = checkpoints::changes_since_start(engine, project, loop_id)? else {
        return Ok(None);
    };
    let different = |FileSinceStart { path, before, exists_now: is_there }| {
        let before = match before.map(String::from_utf8) {
            None => TextAtBase::Absent,
            Some(Ok(text)) if text.len() as u64 <= SOURCE_BYTES_MAX => TextAtBase::Text(text),
            Some(Ok(_)) => TextAtBase::Unreadable("larger than 1 MiB"),
            Some(Err(_)) => TextAtBase::Unreadable("not UTF-8"),
        };
        FileDifference { path, old_path: None, before, exists: is_there }
    };
    let is_read =
        |path: &String| RelPath::parse(path).is_some_and(|path| moai_guard::is_guarded_path(&path));
    let unknown = since.unknown.iter().filter(|(path, _)| is_read(path));
    let skipped = unknown.map(|(path, reason)| skip(path, reason)).collect();
    Ok(Some((since.files.into_iter().map(different).collect(), skipped)))
}

/// Nothing but the reason why.
fn unmeasured(gap: Gap) -> ProjectGuardReport {
    let reading =
        SensorReading { gap: Some(gap), ..SensorReading::clean(SENSOR, SensorKind::Guard, 0) };
    let evidence = Evidence { readings: vec![reading], ..Evidence::default() };
    ProjectGuardReport { evidence, ..ProjectGuardReport::default() }
}

fn skip(path: &str, reason: &str) -> SkippedFile {
    SkippedFile { path: path.to_owned(), reason: reason.to_owned() }
}

/// The texts of changed files.
struct ChangeReader {
    root: files::RootReader,
    skipped: Vec<SkippedFile>,
}

impl ChangeReader {
    /// Tests beside what changed, as they stand. One that cannot be read is missed by nobody.
    fn companions(&self, changes: &[SourceChange]) -> Vec<SourceChange> {
        let unchanged = |path: RelPath| {
            let text = self.root.read(&path).ok()?.text.to_string();
            Some(SourceChange {
                path,
                old_path: None,
                before: Some(text.clone()),
                after: Some(text),
            })
        };
        moai_guard::companion_paths(changes).into_iter().filter_map(unchanged).collect()
    }

    /// Both texts of a file; `None` when one cannot be had, which for code is a gap and for data is
    /// nothing that the guard would read.
    fn change(&mut self, different: FileDifference) -> Option<SourceChange> {
        let FileDifference { path, old_path, before, exists: is_there } = different;
        let read = |reason: &str| skip(path.as_str(), reason);
        let before = match before {
            TextAtBase::Absent => Ok(None),
            TextAtBase::Text(text) => Ok(Some(text)),
            // Whatever it holds may be a test.
            TextAtBase::Repository => {
                self.skipped.push(skip(path.as_str(), git::NESTED_REPOSITORY));
                return None;
            }
            TextAtBase::Unreadable(reason) => Err(read(reason)),
        };
        let after = match is_there.then(|| self.root.read(&path)).transpose() {
            Ok(snapshot) => Ok(snapshot.map(|snapshot| snapshot.text.to_string())),
            Err(skipped) => Err(skipped),
        };
        match (before, after) {
            (Ok(before), Ok(after)) => Some(SourceChange { path, old_path, before, after }),
            (Err(skipped), _) | (_, Err(skipped)) => {
                if moai_guard::is_guarded_path(&path) {
                    self.skipped.push(skipped);
                }
                None
            }
        }
    }
}
