//! Runs the guard on one project: base texts from git, present texts from the disk, without the
//! findings that the user allowed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::branches::loop_branch::loop_base_commit;
use crate::engine::{Engine, run_blocking};
use crate::guard::waivers::WaiverStore;
use crate::project::Project;
use crate::restore::checkpoints;
use crate::restore::checkpoints::FileSinceStart;
use crate::stop::check_outputs::CheckOutputs;
use moai_base::evidence::{Evidence, SensorKind, SensorReading, SkippedFile};
use moai_base::finding::{Finding, Severity};
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_guard::{GuardInput, SENSOR, SourceChange};
use moai_host::files;
use moai_host::git::{self, FileDifference, TextAtBase};
use moai_loops::charter::Charter;

/// Options of one run of the guard.
#[derive(Clone, Debug)]
pub(crate) struct GuardRunOptions {
    /// The revision to compare with; `None` for HEAD.
    pub(crate) base: Option<String>,
    /// The purpose of the change, in the user's words.
    pub(crate) goal: String,
    /// Findings of the base, if they are known.
    pub(crate) known: Vec<Finding>,
    /// Lowest severity that makes the reading dirty.
    pub(crate) threshold: Severity,
    /// The loop whose first checkpoint is the base in a project without git.
    pub(crate) loop_id: Option<String>,
    /// Files of the loop's checks, which are no work.
    pub(crate) outputs: CheckOutputs,
}

/// Result of the guard for a project.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProjectGuardReport {
    /// The changed files, the findings that the user did not allow, and one reading.
    pub(crate) evidence: Evidence,
    /// The findings that the user allowed, with the reason.
    pub(crate) allowed: Vec<(Finding, String)>,
}

/// Runs the guard on the changes since a commit. The error is one line for the user: git does not
/// know the base.
pub(crate) async fn run_guard(
    engine: &Arc<Engine>,
    project: &Project,
    wanted: GuardRunOptions,
) -> Result<ProjectGuardReport, String> {
    let (engine, project) = (Arc::clone(engine), project.clone());
    let report = run_blocking(move || inspect_changes(&engine, &project, &wanted)).await;
    report.unwrap_or_else(|| Ok(unmeasured(Gap::new(Cause::Crashed, "the guard ended early"))))
}

/// Runs the guard on the changes since a loop began. The error is one line for the user.
pub(crate) async fn run_loop_guard(
    engine: &Arc<Engine>,
    project: &Project,
    charter: &Charter,
) -> Result<ProjectGuardReport, String> {
    let wanted = GuardRunOptions {
        base: loop_base_commit(project, charter).await,
        goal: charter.goal.clone(),
        known: Vec::new(),
        threshold: Severity::Error,
        loop_id: Some(charter.id.clone()),
        outputs: CheckOutputs::default(),
    };
    run_guard(engine, project, wanted).await
}

fn inspect_changes(
    engine: &Engine,
    project: &Project,
    wanted: &GuardRunOptions,
) -> Result<ProjectGuardReport, String> {
    let start = Instant::now();
    let diff = git::diff_since(&project.root, wanted.base.as_deref())
        .map_err(|error| format!("nothing to compare with: {error}"))?;
    let diff = match diff {
        None => diff_since_start(engine, project, wanted.loop_id.as_deref())?,
        Some(files) => Some(CheckpointDiff { files, skipped: Vec::new() }),
    };
    let Some(CheckpointDiff { files: differences, skipped }) = diff else {
        let gap =
            Gap::new(Cause::NoTool, "not a git work tree, so there is nothing to compare with");
        return Ok(unmeasured(gap.with_remedy("git init")));
    };
    let mut texts = ChangeReader { root: files::RootReader::open(&project.root), skipped };
    let is_output = |it: &FileDifference| {
        it.exists && matches!(it.before, TextAtBase::Absent) && wanted.outputs.contains(&it.path)
    };
    let differences = differences.into_iter().filter(|it| !is_output(it));
    let mut changes: Vec<SourceChange> =
        differences.filter_map(|difference| texts.change(difference)).collect();
    let own = changes.len();
    texts.add_companions(&mut changes);
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
    let skipped_paths: BTreeSet<&str> =
        texts.skipped.iter().map(|skipped| skipped.path.as_str()).collect();
    let paths = changes.into_iter().take(own).map(|change| change.path);
    guarded.evidence.files = paths.filter(|path| !skipped_paths.contains(path.as_str())).collect();
    let mut reading = SensorReading::clean(SENSOR, SensorKind::Guard, guarded.evidence.files.len());
    reading.dirty =
        guarded.evidence.findings.iter().any(|finding| finding.severity >= wanted.threshold);
    reading.elapsed_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    guarded.evidence.readings.push(reading);
    guarded.evidence.skipped = texts.skipped;
    Ok(guarded)
}

/// The differences from the base.
struct CheckpointDiff {
    files: Vec<FileDifference>,
    /// Files that cannot be compared.
    skipped: Vec<SkippedFile>,
}

/// The differences from the first checkpoint of a loop in a project without git; `None` if that checkpoint
/// does not exist.
fn diff_since_start(
    engine: &Engine,
    project: &Project,
    loop_id: Option<&str>,
) -> Result<Option<CheckpointDiff>, String> {
    let Some(since) = checkpoints::changes_since_start(engine, project, loop_id)? else {
        return Ok(None);
    };
    let skipped = since
        .unknown
        .iter()
        .filter(|(path, _)| {
            RelPath::parse(path).is_some_and(|path| moai_guard::is_guarded_path(&path))
        })
        .map(|(path, reason)| skip(path, reason))
        .collect();
    let files = since.files.into_iter().map(file_difference).collect();
    Ok(Some(CheckpointDiff { files, skipped }))
}

fn file_difference(file: FileSinceStart) -> FileDifference {
    let FileSinceStart { path, before, exists_now } = file;
    let before = match before.map(String::from_utf8) {
        None => TextAtBase::Absent,
        Some(Ok(text)) if text.len() as u64 <= SOURCE_BYTES_MAX => TextAtBase::Text(text),
        Some(Ok(_)) => TextAtBase::Unreadable("larger than 1 MiB"),
        Some(Err(_)) => TextAtBase::Unreadable("not UTF-8"),
    };
    FileDifference { path, old_path: None, before, exists: exists_now }
}

/// A report with a gap only.
fn unmeasured(gap: Gap) -> ProjectGuardReport {
    let reading = SensorReading::unmeasured(SENSOR, SensorKind::Guard, gap);
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
    /// Adds the unchanged files that the guard needs; unreadable ones are skipped.
    fn add_companions(&self, changes: &mut Vec<SourceChange>) {
        loop {
            let paths = moai_guard::companion_paths(changes).into_iter();
            let more: Vec<SourceChange> = paths.filter_map(|path| self.unchanged(path)).collect();
            if more.is_empty() {
                return;
            }
            changes.extend(more);
        }
    }

    fn unchanged(&self, path: RelPath) -> Option<SourceChange> {
        let text = self.root.read(&path).ok()?.text.to_string();
        Some(SourceChange { path, old_path: None, before: Some(text.clone()), after: Some(text) })
    }

    /// Both texts of a file; `None` if one is unreadable, which is a gap only for guarded files.
    fn change(&mut self, difference: FileDifference) -> Option<SourceChange> {
        let FileDifference { path, old_path, before, exists } = difference;
        let before = match before {
            TextAtBase::Absent => Ok(None),
            TextAtBase::Text(text) => Ok(Some(text)),
            // A nested repository may hold tests.
            TextAtBase::Repository => {
                self.skipped.push(skip(path.as_str(), git::NESTED_REPOSITORY));
                return None;
            }
            TextAtBase::Unreadable(reason) => Err(skip(path.as_str(), reason)),
        };
        let after = match exists.then(|| self.root.read(&path)).transpose() {
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
