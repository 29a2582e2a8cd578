//! Runs check commands one after the other within the time of a Stop, and compares their tests with
//! those of earlier runs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::check_plan::first_test_file;
use super::check_readings::{
    CheckOutputTally, interpreter, is_without_tests, reading, without_module, without_recipe,
};
use super::check_runs::CheckResults;
use super::exam_file_hash;
use crate::engine::{Engine, measure_blocking};
use crate::project::Project;
use moai_base::evidence::SensorReading;
use moai_base::hash::ContentHash;
use moai_base::limits::COMMAND_KILL_GRACE_MS;
use moai_base::path::RelPath;
use moai_base::redaction::redact;
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_host::files;
use moai_host::programs::{self, CommandOutcome, CommandRun, ProgramCall};
use moai_host::run_folders::{RunFolderKind, remove_left_folders, run_folder};
use moai_loops::charter::Charter;
use moai_loops::criteria::counts::{RunAnomaly, TestCounts, run_anomalies};
use moai_loops::criteria::{AUTOCHECKS, CheckCommand, CheckCriterion, missing_test_command};
use moai_loops::exam::{Exam, anomaly_finding};
use moai_protocol::control::CallerContext;
use tempfile::TempDir;

/// The remedy when the time of a Stop does not suffice for its checks.
const MORE_TIME: &str = "raise loop.stop_timeout";

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

/// The runs of one Stop.
pub(super) struct CheckRunner<'a> {
    project: &'a Project,
    caller: &'a CallerContext,
    /// The end of the time for all checks together.
    deadline: Instant,
    /// See [`BYTECODE_FOLDER`]; `None` if it could not be made.
    bytecode: Option<TempDir>,
    pub(super) results: CheckResults,
    /// Indices of the readings whose totals name no test.
    without_tests: Vec<usize>,
}

impl<'a> CheckRunner<'a> {
    pub(super) fn new(
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
    pub(super) async fn command(
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
    pub(super) async fn add_missing_tests(&mut self) {
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
            anomalies.iter().map(|anomaly| anomaly_finding(name, &source, anomaly, hash));
        self.results.findings.extend(findings);
        anomalies.iter().find(|anomaly| anomaly.is_blocking()).map(|anomaly| format!("({anomaly})"))
    }

    /// The present hash of a file of the exam; `None` if the file is missing.
    async fn hash(&self, path: RelPath) -> Result<Option<ContentHash>, Gap> {
        let root = self.project.root.clone();
        measure_blocking(move || exam_file_hash(&root, &path)).await
    }

    /// Runs `.claude/autochecks.sh` in its frozen version; returns the tests that it counted.
    pub(super) async fn autochecks(
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
        let is_current = match frozen {
            // Without an exam, the script of the project counts.
            None => now.is_some(),
            Some(frozen) => frozen.is_some_and(|frozen| now == Some(frozen.hash)),
        };
        if now.is_some() && !on_disk.is_file() && (is_current || frozen == Some(None)) {
            let gap = Gap::new(Cause::ProjectFault, "it is not a file");
            self.results.add_gap(AUTOCHECKS, gap);
            return None;
        }
        if is_current {
            let process = self.process(on_disk, Vec::new(), root);
            return self.script(process, before).await;
        }
        let (Some(Some(_)), Some(charter)) = (frozen, charter) else { return None };
        let text = engine.store.exam_text(&self.project.key, &charter.id, &path).await;
        let problem = match text {
            Ok(Some(text)) => return self.frozen_script(engine, &text, before).await,
            Ok(None) => "it was edited; its frozen text was too large to keep".to_owned(),
            Err(error) => error.to_string(),
        };
        self.results.add_gap(AUTOCHECKS, Gap::new(Cause::Crashed, problem));
        None
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
                let problem = format!("its frozen copy was not written: {error}");
                self.results.add_gap(AUTOCHECKS, Gap::new(Cause::Crashed, problem));
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
