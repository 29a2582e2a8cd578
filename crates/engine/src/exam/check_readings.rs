//! Turns the run of a check command into a reading: its exit code, the totals of its tests, and the runs
//! that measured nothing.

use std::path::PathBuf;

use moai_base::evidence::{SensorKind, SensorReading, TestTotals};
use moai_base::verdict::{Cause, Gap};
use moai_host::programs::{CommandFailure, CommandOutcome, CommandRun};
use moai_loops::criteria::counts::{TestCounter, TestCounts};
use moai_loops::criteria::error_lines::is_error_line;

/// The names under which make is called.
const MAKES: [&str; 2] = ["gmake", "make"];
/// Remedy that makes a target run even if a file with its name exists.
const PHONY: &str = "name the target in .PHONY";
/// The exit status of test runners that found no test.
const NO_TESTS: CommandFailure = CommandFailure::Status(5);

/// Counts tests and error lines in a command's output.
#[derive(Default)]
pub(super) struct CheckOutputTally {
    counter: TestCounter,
    error_lines: u64,
}

impl CheckOutputTally {
    pub(super) fn line(&mut self, line: &str) {
        self.counter.line(line);
        self.error_lines += u64::from(is_error_line(line));
    }

    pub(super) fn total(self) -> (Option<TestCounts>, u64) {
        (self.counter.total(), self.error_lines)
    }
}

/// True if a runner reports that it found no test at all, which is not a failed test.
pub(super) fn is_without_tests(run: &CommandRun, counts: Option<&TestCounts>) -> bool {
    let is_none =
        counts.is_some_and(|counts| counts.run() == 0 && counts.failed == 0 && counts.skipped == 0);
    let found_none = match &run.outcome {
        CommandOutcome::Passed => true,
        CommandOutcome::Failed(how) => *how == NO_TESTS,
        CommandOutcome::Unmeasured(_) => false,
    };
    is_none && found_none
}

/// A run passed if its exit code is 0 and its totals name no failed test. A recipe such as `-pytest`
/// or `pytest | tee log` ends with 0 even if tests fail.
pub(super) fn reading(name: &str, run: CommandRun, counts: Option<&TestCounts>) -> SensorReading {
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
pub(super) fn without_module(run: CommandRun) -> CommandRun {
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
pub(super) fn without_recipe(argv: &[String], run: CommandRun) -> CommandRun {
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
pub(super) fn interpreter(text: &[u8]) -> (PathBuf, Vec<String>) {
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
    use std::time::Duration;

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
