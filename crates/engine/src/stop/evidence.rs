//! Gathers the evidence for a Stop: the project's checks, fresh results for the files, guard and exam, the
//! working tree and the loop's notes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::branches::branch_merge::MeasuredWork;
use crate::branches::git_program::stop_deadline_gap;
use crate::branches::loop_branch::loop_base_commit;
use crate::branches::{branch_merge, merge_work_tree};
use crate::engine::{measure_blocking, run_blocking};
use crate::evidence::authorship;
use crate::evidence::gather::{CountedGaps, MeasureRequest};
use crate::evidence::indirect_dependents::{add_readings, gather_with_indirect};
use crate::evidence::merge_conflicts::merge_conflicts;
use crate::evidence::work_base::base_of_loop;
use crate::exam;
use crate::exam::ExamReport;
use crate::exam::check_runs::{CheckReadings, CheckResults, run_checks};
use crate::guard::guard_run::{GuardRunOptions, ProjectGuardReport, run_guard};
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_files;
use crate::restore::checkpoints;
use crate::restore::checkpoints::TreeSnapshot;
use crate::stop::check_outputs::CheckOutputs;
use crate::stop::passed_checks::{keep_passed, passed_before};
use crate::stop::schedule::StopSchedule;
use crate::stop::scope::{StopBase, StopScope, files_of_stop};
use crate::stop::stale_results;
use crate::stop::tree_stamps::TreeStamps;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::Severity;
use moai_base::limits::STOP_REPLY_SHARE;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_guard::SENSOR;
use moai_host::git;
use moai_loops::criteria::{AUTOCHECKS, CheckCriterion};
use moai_loops::facts::WorkChange;
use moai_loops::options::BaselineMode;
use moai_loops::state::{LoopState, UntilCondition};

/// Name of the reading that reports the absence of any sensor.
const NO_SENSOR_READING: &str = "files";
/// Name of the reading for a base state that cannot be read.
const NO_BASELINE_READING: &str = "baseline";
/// Name of the reading for files that change whenever the checks run.
const CHANGING_FILES_READING: &str = "checks";

/// Everything that a Stop is decided on.
pub(crate) struct StopEvidence {
    pub(crate) measurement: WorkMeasurement,
    pub(crate) notes: loop_files::LoopFileNotes,
    pub(crate) work_change: WorkChange,
}

/// The measurement of a loop's work.
pub(crate) struct WorkMeasurement {
    pub(crate) evidence: Evidence,
    /// HEAD before the measurement and the files during it.
    pub(crate) work: MeasuredWork,
    /// The scripts whose stamps were taken.
    scripts: BTreeSet<RelPath>,
    /// Files that the checks made.
    outputs: CheckOutputs,
    /// The commit that the loop's changes count from.
    pub(crate) base: Option<String>,
    /// Changes of the exam by other programs, one line each.
    pub(crate) exam_changes: Vec<String>,
    /// Criteria that the project has commands for but does not require.
    pub(crate) not_required: Vec<CheckCriterion>,
    /// Number of problems that the failing checks report.
    pub(crate) check_problems: u64,
}

/// Measures the work and compares it with the start of the loop; undoes the remains of an interrupted merge
/// first.
pub(crate) async fn collect_stop_evidence(
    call: &HookCall<'_>,
    state: &LoopState,
    schedule: StopSchedule,
) -> StopEvidence {
    merge_work_tree::remove_stale_work_trees(call.engine, &call.project).await;
    if state.branch.is_some() {
        branch_merge::undo_unfinished_move(&call.project).await;
    }
    let measurement = measure_work(call, state, schedule).await;
    let notes = loop_files::read_loop_notes(&call.project).await;
    let mut tree = measurement.work.tree.clone();
    if let Ok(files) = &mut tree {
        let outputs = &measurement.outputs;
        let made = files
            .tree
            .nodes
            .keys()
            .filter(|path| outputs.is_untracked_output(files, path))
            .cloned();
        for path in made.collect::<Vec<RelPath>>() {
            files.tree.nodes.remove(&path);
        }
    }
    let mut work_change =
        checkpoints::work_since_start(call.engine, &call.project, state, tree).await;
    // Snapshots leave nested repositories out, so they do not show whether the work is there.
    if work_change == WorkChange::Unchanged
        && let Some(nested) = changed_nested_repository(&measurement.evidence)
    {
        work_change = WorkChange::Unknown(format!("{nested} is not part of a checkpoint"));
    }
    StopEvidence { measurement, notes, work_change }
}

/// A nested repository with changes, such as a submodule.
fn changed_nested_repository(evidence: &Evidence) -> Option<&str> {
    let nested = evidence.skipped.iter().find(|it| it.reason == git::NESTED_REPOSITORY)?;
    Some(&nested.path)
}

/// Measures the loop's work. The project's commands run first, because they may write files; if the files
/// have changed afterwards, everything is measured once more.
pub(crate) async fn measure_work(
    call: &HookCall<'_>,
    state: &LoopState,
    schedule: StopSchedule,
) -> WorkMeasurement {
    let scripts = exam::frozen_scripts(call.engine, &call.project, &state.id).await;
    let before = snapshot_tree(call, &scripts, schedule.deadline).await;
    let passed = passed_before(call, state, &before);
    let outputs = CheckOutputs::of_loop(call, state, &before);
    let first =
        measure_once(call, state, schedule, MeasurementInput { passed, scripts, outputs }).await;
    let (before, mut first) = match without_outputs(call, state, schedule, &first).await {
        Some(second) => (first.work.tree, second),
        None => (before, first),
    };
    first.outputs.add_equal(&first.work.tree);
    let changed = WorkDifference::find(call, &before, &first.work.tree, &first.outputs);
    if changed.is_empty() {
        first.outputs.keep(call, state, &first.work.tree);
        keep_passed(call, state, &first);
        return first;
    }
    if first.evidence.verdict() == Verdict::Dirty {
        return first;
    }
    tracing::info!(?changed, id = state.id, "the work is measured again");
    let (passed, scripts) = (CheckReadings::new(), first.scripts);
    let outputs = first.outputs.starting_from(&first.work.tree);
    let mut second =
        measure_once(call, state, schedule, MeasurementInput { passed, scripts, outputs }).await;
    let mut again =
        WorkDifference::find(call, &first.work.tree, &second.work.tree, &second.outputs);
    second.outputs.take_rewritten(&mut again.files, &changed.files);
    second.outputs.keep(call, state, &second.work.tree);
    if !again.is_empty() {
        let reading =
            SensorReading::unmeasured(CHANGING_FILES_READING, SensorKind::Check, again.gap());
        add_readings(&mut second.evidence, vec![reading], Vec::new());
    }
    second
}

/// A further measurement if the first one is not clean because of files that the checks wrote again, such as
/// reports of a run that the agent started: without them, if that run writes them again, too. `None`: the first
/// one stands.
async fn without_outputs(
    call: &HookCall<'_>,
    state: &LoopState,
    schedule: StopSchedule,
    first: &WorkMeasurement,
) -> Option<WorkMeasurement> {
    let rewritten = first.outputs.rewritten(&first.work.tree);
    let evidence = &first.evidence;
    let is_named = evidence.findings.iter().any(|finding| rewritten.contains(&finding.path))
        || evidence.skipped.iter().any(|it| rewritten.iter().any(|path| path.as_str() == it.path));
    if !is_named || evidence.verdict() == Verdict::Clean {
        return None;
    }
    tracing::info!(?rewritten, id = state.id, "the work is measured without what the checks made");
    let outputs = first.outputs.clone().starting_from(&first.work.tree).adding(&rewritten);
    let (passed, scripts) = (CheckReadings::new(), first.scripts.clone());
    let input = MeasurementInput { passed, scripts, outputs };
    let second = measure_once(call, state, schedule, input).await;
    second.outputs.rewritten(&second.work.tree).is_superset(&rewritten).then_some(second)
}

/// Input of one measurement.
struct MeasurementInput {
    passed: CheckReadings,
    scripts: BTreeSet<RelPath>,
    outputs: CheckOutputs,
}

/// How two snapshots of the work differ.
#[derive(Debug, Default)]
struct WorkDifference {
    files: Vec<RelPath>,
    /// Files and folders that were moved away and back.
    moved: Vec<String>,
    /// Why the first snapshot could not be taken. A second one that could not be taken is a gap of its own.
    unknown: Option<Gap>,
}

impl WorkDifference {
    fn find(
        call: &HookCall<'_>,
        before: &Result<TreeSnapshot, Gap>,
        now: &Result<TreeSnapshot, Gap>,
        outputs: &CheckOutputs,
    ) -> Self {
        let (before, now) = match (before, now) {
            (Ok(before), Ok(now)) => (before, now),
            (Err(gap), Ok(_)) => return Self { unknown: Some(gap.clone()), ..Self::default() },
            (_, Err(_)) => return Self::default(),
        };
        let edited =
            call.engine.ledger().session(&call.input.session_id).edited(&call.project.root);
        let is_code = |path: &RelPath| call.project.is_program(path);
        let mut files = before.work_changed_in(now, &|path| edited.contains(path) || is_code(path));
        files.retain(|path| !outputs.is_untracked_output(now, path));
        let moved = before.stamps.moved_in(&before.tree, &now.stamps, &is_code);
        Self { files, moved, unknown: None }
    }

    fn is_empty(&self) -> bool {
        self.files.is_empty() && self.moved.is_empty() && self.unknown.is_none()
    }

    fn gap(&self) -> Gap {
        if let Some(gap) = &self.unknown {
            return gap.clone();
        }
        let names = self.files.iter().map(RelPath::to_string).chain(self.moved.iter().cloned());
        let (detail, remedy) = moai_report::loops::changed_while_measured(names);
        Gap::new(Cause::Superseded, detail).with_remedy(remedy)
    }
}

/// The gap if files of the work have changed since they were measured.
pub(crate) async fn closing_look(
    call: &HookCall<'_>,
    measured: &WorkMeasurement,
    deadline: Instant,
) -> Option<Gap> {
    match snapshot_tree(call, &measured.scripts, deadline).await {
        Ok(now) => {
            let outputs = &measured.outputs;
            let changed = WorkDifference::find(call, &measured.work.tree, &Ok(now), outputs);
            (!changed.is_empty()).then(|| changed.gap())
        }
        Err(gap) => Some(gap),
    }
}

async fn measure_once(
    call: &HookCall<'_>,
    state: &LoopState,
    schedule: StopSchedule,
    input: MeasurementInput,
) -> WorkMeasurement {
    let MeasurementInput { passed, scripts, outputs } = input;
    let head = head(call).await;
    let checks = run_loop_checks(call, state, schedule.checks_deadline, &passed).await;
    let base = loop_base_commit(&call.project, &state.charter()).await;
    let ((mut evidence, exam_changes), tree) = tokio::join!(
        measure_sensors(call, state, base.as_deref(), &outputs, schedule.deadline),
        snapshot_tree(call, &scripts, schedule.deadline),
    );
    if let Ok(tree) = &tree
        && !checks.readings.is_empty()
    {
        let reading = stale_results::reading(call, state, tree).await;
        add_readings(&mut evidence, reading.into_iter().collect(), Vec::new());
    }
    add_readings(&mut evidence, checks.readings, checks.findings);
    if let Some(reading) = no_sensor_reading(&evidence) {
        add_readings(&mut evidence, vec![reading], Vec::new());
    }
    WorkMeasurement {
        evidence,
        work: MeasuredWork { head, tree },
        scripts,
        outputs,
        base,
        exam_changes,
        not_required: checks.not_asked,
        check_problems: checks.problems,
    }
}

/// The output of `work`, or a gap if it misses the deadline of the Stop.
pub(crate) async fn within_deadline<T>(
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Result<T, Gap> {
    tokio::time::timeout_at(deadline.into(), work).await.map_err(|_| stop_deadline_gap())
}

/// The files, with the stamps of these scripts.
async fn snapshot_tree(
    call: &HookCall<'_>,
    scripts: &BTreeSet<RelPath>,
    deadline: Instant,
) -> Result<TreeSnapshot, Gap> {
    let taken = within_deadline(deadline, checkpoints::snapshot_tree(call.engine, &call.project));
    let mut snapshot = taken.await??;
    let (root, scripts) = (call.project.root.clone(), scripts.clone());
    let stamped = measure_blocking(move || {
        snapshot.stamps = TreeStamps::take(&root, &snapshot.tree, scripts);
        snapshot
    });
    stamped.await
}

/// Evidence of one sensor that missed the deadline.
fn timed_out_evidence(sensor: &str, kind: SensorKind, gap: Gap) -> Evidence {
    let readings = vec![SensorReading::unmeasured(sensor, kind, gap)];
    Evidence { readings, ..Evidence::default() }
}

async fn head(call: &HookCall<'_>) -> Option<String> {
    let root = call.project.root.clone();
    run_blocking(move || git::head_commit(&root)).await.flatten()
}

/// Results of language servers and scan for the files of a Stop. The loop's changes count from
/// `commit`; `base` is the state they are compared with.
pub(crate) async fn measure_stop_files(
    call: &HookCall<'_>,
    commit: Option<&str>,
    base: StopBase,
    paths: &[String],
    budget: Duration,
) -> Evidence {
    let project = &call.project;
    let StopScope { files, mut skipped, dependents, comparison, indirect, .. } =
        files_of_stop(call, commit, base, paths).await;
    let starts = paths.iter().map(|path| project.root.join(path)).collect();
    let conflicts = merge_conflicts(project, starts).await.unwrap_or_else(|unread| {
        skipped.push(unread);
        Vec::new()
    });
    let deadline = Instant::now() + budget;
    let request = MeasureRequest {
        files,
        measured_before: Arc::default(),
        skipped,
        dependents,
        comparison,
        run_lsp: project.config.lsp_enabled,
        run_scan: project.config.scan_enabled,
        threshold: Severity::Error,
        deadline,
        conflicts,
        counted_gaps: CountedGaps::All,
    };
    // An error holds the Stop, so the other files wait until it is fixed.
    gather_with_indirect(call.engine, project, request, indirect, true).await
}

async fn run_loop_checks(
    call: &HookCall<'_>,
    state: &LoopState,
    deadline: Instant,
    passed: &CheckReadings,
) -> CheckResults {
    let (engine, project, charter) = (call.engine, &call.project, state.charter());
    let mut results =
        run_checks(engine, project, &call.caller, Some(&charter), deadline, passed).await;
    if state.until == UntilCondition::Checks && results.readings.is_empty() {
        results.readings.push(missing_checks());
    }
    results
}

/// Evidence of servers, scan, guard and exam, which run at the same time; and the changes weakening
/// the exam that the session did not make. Such a change makes the exam's reading dirty, too.
async fn measure_sensors(
    call: &HookCall<'_>,
    state: &LoopState,
    base: Option<&str>,
    outputs: &CheckOutputs,
    deadline: Instant,
) -> (Evidence, Vec<String>) {
    let (engine, project, charter) = (call.engine, &call.project, &state.charter());
    let options = GuardRunOptions {
        base: base.map(str::to_owned),
        goal: state.prompt.clone(),
        known: Vec::new(),
        threshold: Severity::Error,
        loop_id: Some(state.id.clone()),
        outputs: outputs.clone(),
    };
    let left = deadline.saturating_duration_since(Instant::now());
    // Leaves the servers a moment to report their own gaps.
    let budget = project.config.stop_budget.min(left.saturating_sub(left / STOP_REPLY_SHARE));
    let (stop_base, base_gap) = read_stop_base(call, state, base).await;
    let stop_base = StopBase { outputs: outputs.clone(), ..stop_base };
    let (evidence, guarded, exam) = tokio::join!(
        within_deadline(
            deadline,
            measure_stop_files(call, base, stop_base, &state.options.paths, budget)
        ),
        within_deadline(deadline, run_guard(engine, project, options)),
        within_deadline(deadline, exam::stop_exam_report(engine, project, charter)),
    );
    let mut evidence =
        evidence.unwrap_or_else(|gap| timed_out_evidence(NO_SENSOR_READING, SensorKind::Scan, gap));
    evidence.readings.extend(base_gap);
    let guarded =
        guarded.and_then(|guarded| guarded.map_err(|error| Gap::new(Cause::ProjectFault, error)));
    let guarded = guarded.unwrap_or_else(|gap| ProjectGuardReport {
        evidence: timed_out_evidence(SENSOR, SensorKind::Guard, gap),
        ..ProjectGuardReport::default()
    });
    let exam = exam.unwrap_or_else(ExamReport::unmeasured);
    let Evidence { skipped, readings, findings, .. } = guarded.evidence;
    let skipped: Vec<_> = skipped
        .into_iter()
        .filter(|file| evidence.skipped.iter().all(|known| known.path != file.path))
        .collect();
    evidence.skipped.extend(skipped);
    let foreign = authorship::foreign_findings(engine, project, charter, &findings).await;
    // Without the record of authors every finding counts as the agent's, and the loop continues.
    let foreign = foreign.unwrap_or_else(|error| {
        tracing::warn!(%error, id = state.id, "the authors of the changed files are unknown");
        Vec::new()
    });
    add_readings(&mut evidence, readings, findings);
    let ExamReport { readings, findings, mut foreign_changes } = exam;
    add_readings(&mut evidence, readings, findings);
    foreign_changes.extend(authorship::foreign_finding_lines(&foreign));
    (evidence, foreign_changes)
}

/// The state that a loop's work is compared with, and a reading with a gap if it cannot be read.
async fn read_stop_base(
    call: &HookCall<'_>,
    state: &LoopState,
    commit: Option<&str>,
) -> (StopBase, Option<SensorReading>) {
    let is_compared = state.options.baseline != BaselineMode::None;
    match base_of_loop(call.engine, &call.project, &state.charter(), commit).await {
        Ok(base) => {
            let state = Some(Arc::new(base));
            (StopBase { state, is_compared, ..StopBase::default() }, None)
        }
        Err(gap) => {
            tracing::warn!(%gap, id = state.id, "the base of a loop cannot be read");
            let detail = format!("older findings are unknown: {}", gap.detail);
            let gap = Gap::new(Cause::NoBaseline, detail);
            let reading = SensorReading::unmeasured(NO_BASELINE_READING, SensorKind::Scan, gap);
            (StopBase { is_compared, ..StopBase::default() }, is_compared.then_some(reading))
        }
    }
}

/// A reading with a gap if only guard and exam ran: they examine how the work is measured, and
/// without another sensor nothing was measured.
fn no_sensor_reading(evidence: &Evidence) -> Option<SensorReading> {
    let is_guard_only = evidence.readings.iter().all(|reading| reading.kind == SensorKind::Guard);
    if !evidence.skipped.is_empty() || !is_guard_only {
        return None;
    }
    let gap = Gap::new(Cause::Nothing, "no changed file is covered by a sensor");
    Some(SensorReading::unmeasured(NO_SENSOR_READING, SensorKind::Scan, gap))
}

/// A dirty reading for checks that existed when the loop started and are missing now.
fn missing_checks() -> SensorReading {
    let output = format!("{AUTOCHECKS} is gone; the loop ends when it passes: restore it");
    let clean = SensorReading::clean(AUTOCHECKS, SensorKind::Check, 0);
    SensorReading { dirty: true, output: Some(output), ..clean }
}
