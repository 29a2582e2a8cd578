//! Test totals in the output of a run, and anomalies compared with an earlier run.

mod runners;

use std::collections::BTreeMap;
use std::fmt;

use moai_base::limits::{TEST_COLLAPSE_MS_MIN, TEST_COLLAPSE_PERCENT};
use runners::TestRunner;

/// The test counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestCounts {
    pub passed: u64,
    /// Tests that failed or had an error.
    pub failed: u64,
    /// Those of them that are not tests: files that could not be loaded, and pytest's teardowns.
    pub non_test_errors: u64,
    /// Tests that were found but not run.
    pub skipped: u64,
    /// The time of the tests by the runner's own account, in milliseconds.
    pub duration_ms: Option<u64>,
}

impl TestCounts {
    /// Number of tests that were run.
    #[must_use]
    pub fn run(&self) -> u64 {
        self.passed.saturating_add(self.failed.saturating_sub(self.non_test_errors))
    }

    fn add(&mut self, other: &Self) {
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.non_test_errors = self.non_test_errors.saturating_add(other.non_test_errors);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.duration_ms = match (self.duration_ms, other.duration_ms) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
    }
}

impl fmt::Display for TestCounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} run, {} skipped", self.run(), self.skipped)
    }
}

/// Collects the totals of a run line by line; a run may start several runners, and a runner may
/// print a total for each part of the project.
#[derive(Clone, Debug, Default)]
pub struct TestCounter {
    seen: BTreeMap<TestRunner, TestCounts>,
    non_test_errors: BTreeMap<TestRunner, u64>,
}

impl TestCounter {
    /// Adds a line of the output, without its line break.
    pub fn line(&mut self, line: &str) {
        if let Some((runner, counts)) = runners::read_total(line) {
            self.seen.entry(runner).or_default().add(&counts);
            return;
        }
        if let Some(runner) = runners::read_non_test_error(line) {
            *self.non_test_errors.entry(runner).or_default() += 1;
            return;
        }
        for (runner, counts) in runners::read_addition(line) {
            let Some(total) = self.seen.get_mut(&runner) else { continue };
            total.add(&counts);
            // unittest prints the number of failed tests on a second line.
            total.passed =
                total.passed.saturating_sub(counts.failed.saturating_add(counts.skipped));
            return;
        }
    }

    /// The sum; `None` without a total of a known runner.
    #[must_use]
    pub fn total(mut self) -> Option<TestCounts> {
        // Go prints packages in addition to tests.
        if self.seen.contains_key(&TestRunner::GoTests) {
            self.seen.remove(&TestRunner::GoPackages);
        }
        let mut total: Option<TestCounts> = None;
        for (runner, counts) in &mut self.seen {
            let non_test_errors = self.non_test_errors.get(runner).copied().unwrap_or_default();
            counts.non_test_errors = non_test_errors.min(counts.failed);
            total.get_or_insert_default().add(counts);
        }
        total
    }
}

/// An anomaly of a run compared with an earlier one of the same command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAnomaly {
    /// Fewer tests ran.
    FewerRun {
        /// Earlier count.
        before: u64,
        /// Present count.
        now: u64,
        /// Number of additionally skipped tests.
        newly_skipped: u64,
    },
    /// As many tests ran, but more were skipped.
    MoreSkipped {
        /// Earlier count.
        before: u64,
        /// Present count.
        now: u64,
    },
    /// The run printed no totals.
    NoTotals {
        /// Number of tests in the earlier run.
        before: u64,
    },
    /// As many tests took almost no time.
    Collapsed {
        /// Earlier time, in milliseconds.
        before_ms: u64,
        /// Present time, in milliseconds.
        now_ms: u64,
    },
}

impl RunAnomaly {
    /// True if the anomaly alone holds a Stop. New tests may be skipped for good reasons, and
    /// caches make a second run fast; but tests that no longer run prove nothing.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        matches!(self, Self::FewerRun { .. } | Self::NoTotals { .. })
    }
}

impl fmt::Display for RunAnomaly {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewerRun { before, now, newly_skipped: 0 } => {
                write!(out, "{now} tests ran, {before} ran before")
            }
            Self::FewerRun { before, now, newly_skipped } => write!(
                out,
                "{now} tests ran, {before} ran before; {newly_skipped} more were skipped"
            ),
            Self::MoreSkipped { before, now } => {
                write!(out, "{now} tests were skipped, {before} were skipped before")
            }
            Self::NoTotals { before } => {
                write!(out, "no test totals were printed; {before} tests ran before")
            }
            Self::Collapsed { before_ms, now_ms } => {
                write!(out, "the tests took {now_ms} ms, {before_ms} ms before")
            }
        }
    }
}

/// The anomalies of `now` compared with `before`, two runs of the same command.
#[must_use]
pub fn run_anomalies(before: &TestCounts, now: &TestCounts) -> Vec<RunAnomaly> {
    let mut odd = Vec::new();
    if now.run() < before.run() {
        let newly_skipped = now.skipped.saturating_sub(before.skipped);
        odd.push(RunAnomaly::FewerRun { before: before.run(), now: now.run(), newly_skipped });
    } else if now.skipped > before.skipped {
        odd.push(RunAnomaly::MoreSkipped { before: before.skipped, now: now.skipped });
    }
    if let (Some(before_ms), Some(now_ms)) = (before.duration_ms, now.duration_ms)
        && before_ms >= TEST_COLLAPSE_MS_MIN
        && now_ms.saturating_mul(100) < before_ms.saturating_mul(100 - TEST_COLLAPSE_PERCENT)
        && now.run() >= before.run()
    {
        odd.push(RunAnomaly::Collapsed { before_ms, now_ms });
    }
    odd
}

/// The baseline of the next run: the tests of this one, unless fewer ran.
#[must_use]
pub fn next_baseline_counts(before: Option<&TestCounts>, now: &TestCounts) -> TestCounts {
    match before {
        Some(before) if now.run() < before.run() => *before,
        _ => TestCounts {
            failed: now.failed.saturating_sub(now.non_test_errors),
            non_test_errors: 0,
            ..*now
        },
    }
}

#[cfg(test)]
mod tests;
