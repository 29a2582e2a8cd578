//! Runs the project's own commands for a Stop, one after the other: `.claude/autochecks.sh`, those
//! of the options and `RUBRIC.md`, and those that the project's files suggest. A loop runs its frozen
//! plan. `loops::criteria` plans the commands.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::engine::{Engine, measure_blocking, run_blocking};
use crate::exam as files_of_exam;
use crate::exam::proposals::proposals;
use crate::exam::rubrics;
use crate::project::Project;
use moai_base::evidence::{SensorKind, SensorReading, TestTotals};
use moai_base::finding::{Finding, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::limits::COMMAND_KILL_GRACE_MS;
use moai_base::path::RelPath;
use moai_base::redaction::redact;
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_host::files;
use moai_host::programs::{self, CommandFailure, CommandOutcome, CommandRun, ProgramCall};
use moai_host::run_folders::{RunFolderKind, remove_left_folders, run_folder};
use moai_loops::charter::Charter;
use moai_loops::criteria::counts::{
    RunAnomaly, TestCounter, TestCounts, next_baseline_counts, run_anomalies,
};
use moai_loops::criteria::error_lines::is_error_line;
use moai_loops::criteria::{
    AUTOCHECKS, CheckCommand, CheckCriterion, CheckPlan, CheckScope, CriterionGap, PlanSources,
    RUBRIC, UNRUN_TESTS, missing_test_command,
};
use moai_loops::exam::{Exam, ExamRole, role};
use moai_loops::{criteria, exam};
use moai_protocol::control::CallerContext;
use tempfile::TempDir;

/// The remedy when the time of a Stop does not suffice for its checks.
const MORE_TIME: &str = "raise loop.stop_timeout";

/// The results of all check commands.
#[derive(Debug, Default)]
pub(crate) struct CheckResults {
    /// One for each command, and one for each criterion without a command.
    pub(crate) readings: Vec<SensorReading>,
    /// Anomalies of the test runs.
    pub(crate) findings: Vec<Finding>,
    /// Criteria for which the project has commands that were not run.
    pub(crate) not_asked: Vec<CheckCriterion>,
    /// The problems of failing commands: failed tests, else error lines, else one per command.
    pub(crate) problems: u64,
}

impl CheckResults {
    fn add_gap(&mut self, name: &str, gap: Gap) {
        let clean = SensorReading::clean(name, SensorKind::Check, 0);
        self.readings.push(SensorReading { gap: Some(gap), ..clean });
    }
}

/// The folder in which Python keeps compiled modules, in place of `__pycache__` next to the sources: a
/// compiled module there may differ from its source.
const BYTECODE_FOLDER: &str = "PYTHONPYCACHEPREFIX";

/// Parent of the folders of [`BYTECODE_FOLDER`], below the state.
const BYTECODE_FOLDERS: &str = "bytecode";

/// A folder for the compiled modules of one run; `None` if it cannot be made.
fn bytecode_folder(state: &Path) -> Option<TempDir> {
    let folder = state.join(BYTECODE_FOLDERS);
    files::private_dir(&folder).ok()?;
    run_folder(RunFolderKind::Bytecode, &folder).ok()
}

/// Removes the folders of runs that a killed daemon has left.
pub(crate) fn remove_left_runs(state: &Path) {
    for place in [state.join(BYTECODE_FOLDERS), std::env::temp_dir()] {
        remove_left_folders(&place);
    }
}

/// The names under which make is called.
const MAKES: [&str; 2] = ["gmake", "make"];
/// Remedy that makes a target run even if a file with its name exists.
const PHONY: &str = "name the target in .PHONY";
/// The exit status of test runners that found no test.
const NO_TESTS: CommandFailure = CommandFailure::Status(5);

/// The commands that a Stop would run for the current project; reads the disk.
pub(crate) fn check_plan(project: &Project, scope: CheckScope) -> CheckPlan {
    let config = &project.config;
    let proposed = if config.propose_checks { proposals(project) } else { Vec::new() };
    let rubric = rubrics::rubric_on_disk(&project.root);
    let sources = PlanSources {
        criteria: &config.success_criteria,
        own: &config.checks,
        rubric: &rubric.checks,
        proposed: &proposed,
        has_autochecks: project.root.join(AUTOCHECKS).symlink_metadata().is_ok(),
        scope,
    };
    let mut plan = criteria::plan_checks(&sources);
    if sources.uses_proposals()
        && !plan.runs_tests()
        && let Some(test) = first_test_file(&project.root, &[])
    {
        plan.unanswered.push(missing_test_command(&test, NO_TEST_COMMAND));
    }
    // The unread part of the rubric may name commands.
    let unread = rubric.gap.map(|gap| CriterionGap { name: RUBRIC.to_owned(), gap });
    plan.unanswered.extend(unread);
    plan
}

/// The first test of a project by its path that none of these commands runs.
fn first_test_file(root: &Path, commands: &[CheckCommand]) -> Option<String> {
    let found = files::walk_names(root, &|path| role(path) == Some(ExamRole::Test));
    let names = found.into_iter().map(|path| path.to_string());
    // A package of Python begins with this file, which holds no tests.
    let names = names.filter(|test| test.rsplit('/').next() != Some("__init__.py"));
    names.filter(|test| !commands.iter().any(|command| runs_test(&command.argv, test))).min()
}

/// Why tests are not measured.
const NO_TEST_COMMAND: &str = "no command is known that runs it";

/// A gap of the plan, without the tests that these acceptance commands have run.
async fn still_unanswered(
    project: &Project,
    criterion: CriterionGap,
    commands: &[CheckCommand],
) -> Option<CriterionGap> {
    if commands.is_empty() || criterion.name != UNRUN_TESTS {
        return Some(criterion);
    }
    let (root, commands) = (project.root.clone(), commands.to_vec());
    match run_blocking(move || first_test_file(&root, &commands)).await {
        Some(test) => Some(missing_test_command(&test?, NO_TEST_COMMAND)),
        None => Some(criterion),
    }
}

/// True if a command of a test runner selects a test (by its path, its folder, or as a module) or selects
/// none.
fn runs_test(argv: &[String], test: &str) -> bool {
    let module = test.strip_suffix(".py").map(|path| path.replace('/', "."));
    let names = |word: &String| {
        let path = word.split("::").next().unwrap_or_default();
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let is_in_folder = test.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let is_module = module.as_ref().is_some_and(|module| {
            word.strip_prefix(module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        path == test || is_in_folder || is_module
    };
    let is_of_all = argv.last().is_some_and(|last| {
        matches!(last.rsplit('/').next(), Some("pytest" | "unittest" | "discover"))
    });
    is_of_all || argv.iter().any(names)
}

/// Names of the commands that a Stop runs under this plan.
pub(crate) fn names(project: &Project, plan: &CheckPlan) -> Vec<String> {
    let has_autochecks = project.root.join(AUTOCHECKS).symlink_metadata().is_ok();
    let script = has_autochecks.then(|| AUTOCHECKS.to_owned());
    script.into_iter().chain(plan.commands.iter().map(|command| command.name.clone())).collect()
}

/// Readings of checks, by name.
pub(crate) type CheckReadings = BTreeMap<String, SensorReading>;

/// Runs the frozen plan of the loop, or the project's current plan without a loop or an exam.
/// Commands that do not finish by `deadline` are unmeasured; those that have `passed` with the same files are
/// not run again.
pub(crate) async fn run_checks(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    charter: Option<&Charter>,
    deadline: Instant,
    passed: &CheckReadings,
) -> CheckResults {
    let (exam, plan) = match frozen_or_current_plan(engine, project, charter).await {
        Ok(exam_and_plan) => exam_and_plan,
        Err(gap) => {
            let mut results = CheckResults::default();
            results.add_gap("checks", gap);
            return results;
        }
    };
    if let Some(gap) = project.trust.gap() {
        return withheld_checks(project, plan, &gap);
    }
    let mut runs = CheckRunner::new(engine, project, caller, deadline);
    let before = exam.as_ref().and_then(|exam| exam.counts.get(AUTOCHECKS));
    let now = runs.autochecks(engine, exam.as_ref(), charter, before).await;
    let mut counts = BTreeMap::new();
    counts.extend(now.map(|now| (AUTOCHECKS.to_owned(), next_baseline_counts(before, &now))));
    for command in &plan.commands {
        if let Some(reading) = passed.get(&command.name) {
            runs.results.readings.push(reading.clone());
            continue;
        }
        let before = exam.as_ref().and_then(|exam| exam.counts.get(&command.name));
        let now = runs.command(command, before).await;
        counts.extend(now.map(|now| (command.name.clone(), next_baseline_counts(before, &now))));
    }
    runs.add_missing_tests().await;
    let executed = plan.clone();
    let counted = exam.iter().flat_map(|exam| &exam.counts).chain(&counts);
    let counted: BTreeSet<&String> =
        counted.filter(|(_, tests)| tests.run() > 0).map(|(name, _)| name).collect();
    let commands = executed.commands.iter().filter(|it| it.is_acceptance());
    let commands: Vec<CheckCommand> =
        commands.filter(|it| counted.contains(&it.name)).cloned().collect();
    for criterion in plan.unanswered {
        if let Some(criterion) = still_unanswered(project, criterion, &commands).await {
            runs.results.add_gap(&criterion.name, criterion.gap);
        }
    }
    if let (Some(charter), Some(_), false) = (charter, exam, counts.is_empty()) {
        let kept = engine.store.set_exam_counts(&project.key, &charter.id, counts).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "the counts of tests were not kept");
        }
    }
    let proposing = project.clone();
    match measure_blocking(move || proposals(&proposing)).await {
        Ok(proposed) => {
            runs.results.not_asked = criteria::unrequested_criteria(&executed, &proposed);
        }
        Err(gap) => runs.results.add_gap("checks", gap),
    }
    assign_fingerprints(&mut runs.results.findings);
    runs.results
}

/// Runs these commands alone, without comparing their tests with earlier runs.
pub(crate) async fn run_commands(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    commands: Vec<CheckCommand>,
    deadline: Instant,
) -> Vec<SensorReading> {
    if let Some(gap) = project.trust.gap() {
        let plan = CheckPlan { commands, unanswered: Vec::new() };
        return withheld_checks(project, plan, &gap).readings;
    }
    let mut runs = CheckRunner::new(engine, project, caller, deadline);
    for command in &commands {
        runs.command(command, None).await;
    }
    runs.results.readings
}

/// The results in a project that is not trusted: every command is a gap.
fn withheld_checks(project: &Project, plan: CheckPlan, gap: &Gap) -> CheckResults {
    let mut results = CheckResults::default();
    for name in names(project, &plan) {
        results.add_gap(&name, gap.clone());
    }
    for criterion in plan.unanswered {
        results.add_gap(&criterion.name, criterion.gap);
    }
    results
}

/// The exam of the loop, if any, and the plan to run.
async fn frozen_or_current_plan(
    engine: &Engine,
    project: &Project,
    charter: Option<&Charter>,
) -> Result<(Option<Exam>, CheckPlan), Gap> {
    if let Some(charter) = charter {
        let found = engine.store.find_exam(&project.key, &charter.id, ExamRole::STRICT).await;
        let found = found.map_err(|error| Gap::new(Cause::Crashed, error.to_string()))?;
        if let Some(exam) = found {
            let plan = exam.plan.clone();
            return Ok((Some(exam), plan));
        }
    }
    let project = project.clone();
    let scope = charter.map_or(CheckScope::Proposed, |charter| charter.until.check_scope());
    let plan = run_blocking(move || check_plan(&project, scope))
        .await
        .ok_or_else(|| Gap::new(Cause::Crashed, "the project's files could not be read"))?;
    Ok((None, plan))
}

/// The runs of one Stop.
struct CheckRunner<'a> {
    project: &'a Project,
    caller: &'a CallerContext,
    /// The end of the time for all checks together.
    deadline: Instant,
    /// See [`BYTECODE_FOLDER`]; `None` if it could not be made.
    bytecode: Option<TempDir>,
    results: CheckResults,
    /// Indices of the readings whose totals name no test.
    without_tests: Vec<usize>,
}

impl<'a> CheckRunner<'a> {
    fn new(
        engine: &Engine,
        project: &'a Project,
        caller: &'a CallerContext,
        deadline: Instant,
    ) -> Self {
        let bytecode = bytecode_folder(&engine.dirs.state);
        let (results, without_tests) = (CheckResults::default(), Vec::new());
        Self { project, caller, deadline, bytecode, results, without_tests }
    }

    /// Runs one command of the plan; returns the tests that it counted.
    async fn command(
        &mut self,
        command: &CheckCommand,
        before: Option<&TestCounts>,
    ) -> Option<TestCounts> {
        let limit = command.timeout_secs.map(Duration::from_secs);
        let cwd = if command.folder.is_empty() {
            self.project.root.clone()
        } else {
            self.project.root.join(&command.folder)
        };
        let (program, args) = command.argv.split_first()?;
        // A path is relative to the command's folder; a bare name is looked up in PATH.
        let is_path = program.contains('/');
        let program = if is_path { cwd.join(program) } else { PathBuf::from(program) };
        let mut tally = CheckOutputTally::default();
        let process = self.process(program, args.to_vec(), cwd);
        let run = self.run(process, limit, &mut |line| tally.line(line)).await;
        let (counts, error_lines) = tally.total();
        let is_first = before.is_none_or(|before| before.run() == 0);
        if is_first && command.is_proposed() && is_without_tests(&run, counts.as_ref()) {
            let run = CommandRun { outcome: CommandOutcome::Passed, ..run };
            let gap = self.missing_tests().await;
            self.push(SensorReading { gap, ..reading(&command.name, run, None) }, None, 0);
            return counts;
        }
        let run = without_recipe(&command.argv, without_module(run));
        let reading = reading(&command.name, run, counts.as_ref());
        let is_of_tests = command.criterion == CheckCriterion::TestPass || command.is_acceptance();
        let check = CountedCheck { source: &command.source, is_of_tests, before };
        self.push_counted(check, reading, counts.as_ref(), error_lines).await;
        counts
    }

    /// Adds a reading, unless its tests do not let it pass: none ran, or fewer than before.
    async fn push_counted(
        &mut self,
        check: CountedCheck<'_>,
        reading: SensorReading,
        counts: Option<&TestCounts>,
        error_lines: u64,
    ) {
        if reading.verdict() != Verdict::Clean {
            return self.push(reading, counts, error_lines);
        }
        let empty = counts.filter(|counts| counts.run() == 0);
        let is_first = check.before.is_none_or(|before| before.run() == 0);
        let doubt = match empty {
            Some(counts) if check.is_of_tests || counts.skipped > 0 => {
                Some(format!("(no test ran: {counts})"))
            }
            Some(_) if is_first => {
                self.without_tests.push(self.results.readings.len());
                None
            }
            _ => self.compare(&check, &reading.sensor, counts).await,
        };
        let dirty = doubt.is_some();
        self.push(SensorReading { dirty, output: doubt, ..reading }, counts, error_lines);
    }

    /// Adds a reading, and its problems if it failed.
    fn push(&mut self, reading: SensorReading, counts: Option<&TestCounts>, error_lines: u64) {
        if reading.dirty {
            let failed = counts.map_or(0, |counts| counts.failed);
            let problems = if failed > 0 { failed } else { error_lines.max(1) };
            self.results.problems = self.results.problems.saturating_add(problems);
        }
        // The output goes to the agent's model.
        let output = reading.output.map(redact);
        self.results.readings.push(SensorReading { output, ..reading });
    }

    /// The gap of a command that found no test; `None` in a project without tests.
    async fn missing_tests(&self) -> Option<Gap> {
        let root = self.project.root.clone();
        match measure_blocking(move || first_test_file(&root, &[])).await {
            Ok(test) => {
                test.map(|test| missing_test_command(&test, "this command ran no test").gap)
            }
            Err(gap) => Some(gap),
        }
    }

    /// Adds gaps to the checks whose totals name no test, unless another check ran some.
    async fn add_missing_tests(&mut self) {
        let ran_some = |reading: &SensorReading| reading.tests.is_some_and(|it| it.total() > 0);
        if self.without_tests.is_empty() || self.results.readings.iter().any(ran_some) {
            return;
        }
        let gap = self.missing_tests().await;
        for index in std::mem::take(&mut self.without_tests) {
            self.results.readings[index].gap.clone_from(&gap);
        }
    }

    /// Adds the anomalies of a test run as findings; returns one line if the run does not count as
    /// passed.
    async fn compare(
        &mut self,
        check: &CountedCheck<'_>,
        name: &str,
        now: Option<&TestCounts>,
    ) -> Option<String> {
        let before = check.before?;
        let anomalies = match now {
            Some(now) => run_anomalies(before, now),
            None if before.run() > 0 => vec![RunAnomaly::NoTotals { before: before.run() }],
            None => Vec::new(),
        };
        let source = RelPath::parse(check.source)?;
        let hash = self.hash(source.clone()).await.ok().flatten();
        let hash = hash.unwrap_or_else(|| ContentHash::of_bytes(b""));
        let findings =
            anomalies.iter().map(|anomaly| exam::anomaly_finding(name, &source, anomaly, hash));
        self.results.findings.extend(findings);
        anomalies.iter().find(|anomaly| anomaly.is_blocking()).map(|anomaly| format!("({anomaly})"))
    }

    /// The present hash of a file of the exam; `None` if the file is missing.
    async fn hash(&self, path: RelPath) -> Result<Option<ContentHash>, Gap> {
        let root = self.project.root.clone();
        measure_blocking(move || files_of_exam::exam_file_hash(&root, &path)).await
    }

    /// Runs `.claude/autochecks.sh` in its frozen version; returns the tests that it counted.
    async fn autochecks(
        &mut self,
        engine: &Engine,
        exam: Option<&Exam>,
        charter: Option<&Charter>,
        before: Option<&TestCounts>,
    ) -> Option<TestCounts> {
        let root = self.project.root.clone();
        let on_disk = root.join(AUTOCHECKS);
        let path = RelPath::parse(AUTOCHECKS)?;
        let frozen = exam.map(|exam| exam.files.get(&path));
        let now = match self.hash(path.clone()).await {
            Ok(now) => now,
            Err(gap) => {
                self.results.add_gap(AUTOCHECKS, gap);
                return None;
            }
        };
        let is_as_frozen = match frozen {
            // Without an exam, the current script counts.
            None => now.is_some(),
            Some(None) => false,
            Some(Some(frozen)) => now == Some(frozen.hash),
        };
        if is_as_frozen && !on_disk.is_file() {
            self.results.readings.push(no_file());
        } else if is_as_frozen {
            let process = self.process(on_disk, Vec::new(), root);
            return self.script(process, before).await;
        } else if frozen == Some(None) && now.is_some() && !on_disk.is_file() {
            self.results.readings.push(no_file());
        } else if let (Some(Some(_)), Some(charter)) = (frozen, charter) {
            let text = engine.store.exam_text(&self.project.key, &charter.id, &path).await;
            match text {
                Ok(Some(text)) => return self.frozen_script(engine, &text, before).await,
                Ok(None) => self.unmeasured("it was edited; its frozen text was too large to keep"),
                Err(error) => self.unmeasured(&error.to_string()),
            }
        }
        None
    }

    fn unmeasured(&mut self, detail: &str) {
        let clean = SensorReading::clean(AUTOCHECKS, SensorKind::Check, 0);
        let gap = Some(Gap::new(Cause::Crashed, detail));
        self.results.readings.push(SensorReading { gap, ..clean });
    }

    /// Runs `.claude/autochecks.sh`, or the frozen copy of it; returns the tests that it counted.
    async fn script(
        &mut self,
        process: ProgramCall,
        before: Option<&TestCounts>,
    ) -> Option<TestCounts> {
        let mut tally = CheckOutputTally::default();
        let run = self.run(process, None, &mut |line| tally.line(line)).await;
        let (counts, error_lines) = tally.total();
        let reading = reading(AUTOCHECKS, run, counts.as_ref());
        let check = CountedCheck { source: AUTOCHECKS, is_of_tests: false, before };
        self.push_counted(check, reading, counts.as_ref(), error_lines).await;
        counts
    }

    /// Runs a private copy of the script in the root. The interpreter reads it, because executing a
    /// file that was written a moment ago can fail.
    async fn frozen_script(
        &mut self,
        engine: &Engine,
        text: &[u8],
        before: Option<&TestCounts>,
    ) -> Option<TestCounts> {
        let folder = self.project.key.folder(&engine.dirs.state);
        let copy = match files::private_temporary(&folder, text) {
            Ok(copy) => copy,
            Err(error) => {
                self.unmeasured(&format!("its frozen copy was not written: {error}"));
                return None;
            }
        };
        let (program, mut args) = interpreter(text);
        args.push(copy.path().to_string_lossy().into_owned());
        let root = self.project.root.clone();
        let process = self.process(program, args, root);
        self.script(process, before).await
    }

    fn process(&self, program: PathBuf, args: Vec<String>, cwd: PathBuf) -> ProgramCall {
        let bytecode = self.bytecode.as_ref().map(|folder| folder.path().display().to_string());
        let bytecode = bytecode.map(|folder| (BYTECODE_FOLDER.to_owned(), folder));
        ProgramCall {
            program,
            args,
            cwd,
            env: self.caller.env.clone().into_iter().chain(bytecode).collect(),
            timeout: self.project.config.check_timeout,
            kill_grace: Duration::from_millis(COMMAND_KILL_GRACE_MS),
            parent: programs::this_program().ok(),
        }
    }

    /// Runs a command within the remaining time of all checks.
    async fn run(
        &self,
        command: ProgramCall,
        limit: Option<Duration>,
        watch: &mut (dyn FnMut(&str) + Send),
    ) -> CommandRun {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let gap = Gap::new(Cause::TimedOut, "earlier checks used all of the time");
            let end = CommandOutcome::Unmeasured(gap.with_remedy(MORE_TIME));
            return CommandRun { outcome: end, output: String::new(), elapsed: Duration::ZERO };
        }
        let wanted = limit.unwrap_or(command.timeout);
        let timeout = wanted.min(left);
        let mut run =
            programs::run_command_watched(ProgramCall { timeout, ..command }, watch).await;
        if left < wanted
            && let CommandOutcome::Unmeasured(gap) = &mut run.outcome
            && gap.cause == Cause::TimedOut
        {
            *gap = gap.clone().with_remedy(MORE_TIME);
        }
        run
    }
}

/// What decides whether a run that succeeded passes.
#[derive(Clone, Copy, Debug)]
struct CountedCheck<'a> {
    /// The file that defines the check.
    source: &'a str,
    /// True if it must run tests.
    is_of_tests: bool,
    /// The tests of its earlier runs in this loop.
    before: Option<&'a TestCounts>,
}

/// Counts tests and error lines in a command's output.
#[derive(Default)]
struct CheckOutputTally {
    counter: TestCounter,
    error_lines: u64,
}

impl CheckOutputTally {
    fn line(&mut self, line: &str) {
        self.counter.line(line);
        self.error_lines += u64::from(is_error_line(line));
    }

    fn total(self) -> (Option<TestCounts>, u64) {
        (self.counter.total(), self.error_lines)
    }
}

/// True if a runner reports that it found no test at all, which is not a failed test.
fn is_without_tests(run: &CommandRun, counts: Option<&TestCounts>) -> bool {
    let is_none =
        counts.is_some_and(|counts| counts.run() == 0 && counts.failed == 0 && counts.skipped == 0);
    let found_none = match &run.outcome {
        CommandOutcome::Passed => true,
        CommandOutcome::Failed(how) => *how == NO_TESTS,
        CommandOutcome::Unmeasured(_) => false,
    };
    is_none && found_none
}

/// The path of the script is not a file.
fn no_file() -> SensorReading {
    let gap = Gap::new(Cause::ProjectFault, "it is not a file");
    SensorReading::unmeasured(AUTOCHECKS, SensorKind::Check, gap)
}

/// A run passed if its exit code is 0 and its totals name no failed test. A recipe such as `-pytest`
/// or `pytest | tee log` ends with 0 even if tests fail.
fn reading(name: &str, run: CommandRun, counts: Option<&TestCounts>) -> SensorReading {
    let elapsed_ms = u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX);
    let tests = counts.map(|it| TestTotals { passed: it.passed, failed: it.failed });
    let reading =
        SensorReading { elapsed_ms, tests, ..SensorReading::clean(name, SensorKind::Check, 0) };
    let failed = counts.map_or(0, |counts| counts.failed);
    let end = match run.outcome {
        CommandOutcome::Passed if failed > 0 => {
            let tests = if failed == 1 { "test" } else { "tests" };
            let how = format!("exit code 0, but {failed} {tests} failed");
            CommandOutcome::Failed(CommandFailure::Other(how))
        }
        end => end,
    };
    match end {
        CommandOutcome::Passed => reading,
        CommandOutcome::Failed(how) => {
            let output = format!("{}\n({how})", run.output.trim_end());
            SensorReading { dirty: true, output: Some(output), ..reading }
        }
        CommandOutcome::Unmeasured(gap) => {
            let output = Some(run.output.trim_end().to_owned()).filter(|text| !text.is_empty());
            SensorReading { gap: Some(gap), output, ..reading }
        }
    }
}

/// An installed interpreter without the requested tool has measured nothing:
/// `python3: No module named pytest`.
fn without_module(run: CommandRun) -> CommandRun {
    let last = run.output.trim_end().lines().next_back().unwrap_or_default();
    let module =
        last.rsplit_once(": No module named ").map(|(_, module)| module.trim_matches('\''));
    match (&run.outcome, module) {
        (CommandOutcome::Failed(_), Some(module)) if run.output.trim().lines().count() == 1 => {
            let gap =
                Gap::new(Cause::NotInstalled, last).with_remedy(format!("pip install {module}"));
            CommandRun { outcome: CommandOutcome::Unmeasured(gap), ..run }
        }
        _ => run,
    }
}

/// A file with the name of a target, or one that is newer than its sources, keeps make from running
/// anything: `make: 'test' is up to date.`
fn without_recipe(argv: &[String], run: CommandRun) -> CommandRun {
    let program = argv.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let idle = run.output.lines().find(|line| {
        let said = line.strip_prefix(program).and_then(|rest| rest.strip_prefix(": "));
        said.is_some_and(|said| {
            said.ends_with(" is up to date.") || said.starts_with("Nothing to be done for ")
        })
    });
    match (&run.outcome, idle) {
        (CommandOutcome::Passed, Some(idle)) if MAKES.contains(&program) => {
            let gap = Gap::new(Cause::Skipped, idle).with_remedy(PHONY);
            CommandRun { outcome: CommandOutcome::Unmeasured(gap), ..run }
        }
        _ => run,
    }
}

/// The interpreter of a script's first line, as the kernel reads it: a program and at most one
/// argument. `sh` without such a line.
fn interpreter(text: &[u8]) -> (PathBuf, Vec<String>) {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let Some(named) = line.strip_prefix("#!").map(str::trim).filter(|it| !it.is_empty()) else {
        return (PathBuf::from("sh"), Vec::new());
    };
    match named.split_once([' ', '\t']) {
        Some((program, argument)) => (PathBuf::from(program), vec![argument.trim().to_owned()]),
        None => (PathBuf::from(named), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_without_the_tool_is_a_gap_but_a_failed_import_in_a_test_is_a_failure() {
        let check = |output: &str, expected: Option<Cause>| {
            let end = CommandOutcome::Failed(CommandFailure::Status(1));
            let run =
                CommandRun { outcome: end, output: output.to_owned(), elapsed: Duration::ZERO };
            let reading = reading("unit", without_module(run), None);
            let cause = reading.gap.as_ref().map(|gap| gap.cause);
            assert_eq!((cause, reading.dirty), (expected, expected.is_none()), "{output}");
        };
        check("/usr/bin/python3: No module named pytest\n", Some(Cause::NotInstalled));
        check("1 failed\nModuleNotFoundError: No module named 'x'\n", None);
        check("assert 1 == 2\n", None);
    }

    #[test]
    fn make_that_runs_nothing_is_a_gap() {
        let check = |argv: &[&str], output: &str, is_gap: bool| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            let (outcome, output) = (CommandOutcome::Passed, output.to_owned());
            let run = CommandRun { outcome, output, elapsed: Duration::ZERO };
            let ended = without_recipe(&argv, run).outcome;
            assert_eq!(matches!(ended, CommandOutcome::Unmeasured(_)), is_gap, "{argv:?}");
        };
        check(&["make", "test"], "make: 'test' is up to date.\n", true);
        check(&["/usr/bin/make"], "make: Nothing to be done for 'all'.\n", true);
        check(&["make", "test"], "make[1]: 'lib' is up to date.\nRan 2 tests in 0.1s\n", false);
        check(&["npm", "test"], "make: 'test' is up to date.\n", false);
    }

    #[test]
    fn the_interpreter_comes_from_the_first_line_as_the_kernel_reads_it() {
        let check = |text: &str, program: &str, arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(interpreter(text.as_bytes()), (PathBuf::from(program), arguments), "{text}");
        };
        check("#!/bin/sh\nexit 0\n", "/bin/sh", &[]);
        check("#! /usr/bin/env -S bash -e\n", "/usr/bin/env", &["-S bash -e"]);
        check("exit 0\n", "sh", &[]);
        check("", "sh", &[]);
    }
}
