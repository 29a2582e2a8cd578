//! The lines in which test runners print their totals, taken from the output of the named programs.
//! A line counts for every command, because a script may start any runner.

use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};
use serde_json::Value;

use super::TestCounts;

/// The runner that printed a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestRunner {
    Pytest,
    Unittest,
    Cargo,
    Nextest,
    GoTests,
    GoPackages,
    Jest,
    Vitest,
    Mocha,
    NodeTest,
    Surefire,
    Dotnet,
    PhpUnit,
    Examples,
    Ctest,
}

/// A line and its runner; the first matching pattern wins. Groups: `counts` has numbers before
/// words (`3 passed, 1 failed`), `labels` words before numbers (`Failed: 1`), `time` a time with
/// its unit, `time_ms` a time in milliseconds. Any other group has the name of its count, and
/// counts as one test if its text is not a number. A pattern without groups is a total of zero.
type LineFormat = (TestRunner, &'static str);

#[rustfmt::skip]
const TOTAL_LINES: [LineFormat; 25] = [
    // test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
    (TestRunner::Cargo, r"^ *test result: .*?\. (?<counts>.*?)(?:; finished in (?<time>.*))?$"),
    //      Summary [   0.012s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped
    (TestRunner::Nextest, r"^ *Summary \[(?<time>[^\]]*)\].* run: (?<counts>.*)$"),
    // With -v. The time of a subtest is part of its parent's: --- PASS: TestX/sub (0.00s)
    (TestRunner::GoTests, r"^[ \t]*--- (?:(?<pass>PASS)|(?<fail>FAIL)|(?<skip>SKIP)): [^ /]+(?: \((?<time>.*)\))?$"),
    (TestRunner::GoTests, r"^[ \t]*--- (?:(?<pass>PASS)|(?<fail>FAIL)|(?<skip>SKIP)): "),
    // Without -v, Go names packages only, between tabs: ok  example.com/a  0.01s
    (TestRunner::GoPackages, r"^(?:ok|\?) *\t[^\t ]+\t.*\[no test(?: files|s to run)\]"),
    (TestRunner::GoPackages, r"^(?:(?<pass>ok)|(?<fail>FAIL)) *\t[^\t ]+\t(?<time>[^\t]*)"),
    // Tests:       1 failed, 1 skipped, 3 passed, 5 total
    (TestRunner::Jest, r"^Tests:(?<counts>.* total) *$"),
    (TestRunner::Jest, "^No tests found, exiting with code"),
    //       Tests  1 failed | 3 passed | 1 skipped (5)
    (TestRunner::Vitest, r"^ *Tests  +(?<counts>[0-9].*)$"),
    (TestRunner::Vitest, "^ *Tests  +no tests *$"),
    (TestRunner::Vitest, "^ *No test files found, exiting with code"),
    // [INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1 (with a time it is that of one class)
    (TestRunner::Surefire, r"(?<labels>Tests run: *[0-9]+(?:, *[A-Z][a-z]+: *[0-9]+)*)(?:[^,0-9]|$)"),
    // Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 12 ms - X.dll
    // Test summary: total: 5, failed: 0, succeeded: 5, skipped: 0, duration: 1.2s
    (TestRunner::Dotnet, r"^ *(?:(?:Passed!|Failed!|Skipped!) +- |Test summary: )(?<labels>.*?)(?:, [Dd]uration: (?<time>.*?)(?: - .*)?)?$"),
    // === 3 passed, 1 skipped in 0.12s === (no bars with -q)
    (TestRunner::Pytest, r"^[= ]*(?<counts>(?:[0-9]+ [a-z ]+, *)*[0-9]+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed)(?:, *[0-9]+ [a-z ]+)*) in (?<time>[0-9.]+s)(?:[= ]|$)"),
    (TestRunner::Pytest, r"^[= ]*(?:[^=]*, )?no tests ran in (?<time>[0-9.]+s)(?:[= ]|$)"),
    // Ran 5 tests in 0.003s
    (TestRunner::Unittest, "^Ran (?<pass>[0-9]+) tests? in (?<time>.*)$"),
    //   5 passing (12ms), and in lines of their own   1 failing,   2 pending
    (TestRunner::Mocha, r"^  (?<counts>[0-9]+ (?:passing|failing|pending))(?: \((?<time>[^ ]*)\))?$"),
    // node --test: # pass 4 as TAP, ℹ pass 4 for people
    (TestRunner::NodeTest, "^[#ℹ] (?:pass (?<pass>[0-9]+)|fail (?<fail>[0-9]+)|cancelled (?<cancelled>[0-9]+))$"),
    (TestRunner::NodeTest, "^[#ℹ] (?:skipped (?<skipped>[0-9]+)|todo (?<todo>[0-9]+))$"),
    (TestRunner::PhpUnit, r"^OK \((?<pass>[0-9]+) tests?, [0-9]+ assertion"),
    // Tests: 5, Assertions: 8, Failures: 1.
    (TestRunner::PhpUnit, "^(?<labels>Tests: .*Assertions: .*)$"),
    (TestRunner::PhpUnit, "^No tests executed!$"),
    // RSpec, minitest, ExUnit: 5 examples, 0 failures, 1 pending; 5 runs, 8 assertions, 0 failures,
    // 0 errors, 1 skips; 2 doctests, 5 tests, 0 failures
    (TestRunner::Examples, "^ *(?<counts>[0-9]+ (?:example|run|test|doctest|propert)[a-z]*(?:, [0-9]+ [a-z][^,]*)*, [0-9]+ failure[^,]*(?:, [0-9]+ [a-z][^,]*)*)$"),
    (TestRunner::Ctest, "% tests passed, (?<fail>[0-9]+) tests? failed out of (?<total>[0-9]+)"),
    (TestRunner::Ctest, "^No tests were found!!!$"),
];

/// Lines that add to a total. Other programs print such lines, too, so they count only after a
/// total of the same runner.
const LATER_LINES: [LineFormat; 4] = [
    // Time:        1.2 s, estimated 2 s
    (TestRunner::Jest, "^Time:(?<time>[^,]*)"),
    //    Duration  850ms (transform 10ms, setup 0ms)
    (TestRunner::Vitest, r"^ *Duration  (?<time>[^(]*)"),
    (TestRunner::NodeTest, "^[#ℹ] duration_ms (?<time_ms>.*)$"),
    // The number of tests that did not pass: FAILED (failures=1, errors=1, skipped=2)
    (
        TestRunner::Unittest,
        r"^(?:OK|FAILED|NO TESTS RAN) \((?<labels>[a-z ]+=[0-9]+(?:, [a-z ]+=[0-9]+)*)\)$",
    ),
];

/// Errors outside tests, which the totals of a runner count like failed tests.
#[rustfmt::skip]
const NON_TEST_ERRORS: [LineFormat; 2] = [
    // ERROR: test_helpers (unittest.loader._FailedTest.test_helpers). Those of setUpClass and the like are not
    // among the tests that ran.
    (TestRunner::Unittest, r"^ERROR: \S+ \(unittest\.loader\._FailedTest"),
    // ___ ERROR collecting tests/test_a.py ___, ___ ERROR at teardown of test_a ___
    (TestRunner::Pytest, "^_+ ERROR (?:collecting|at teardown of) .* _+$"),
];

static ERRORS: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = NON_TEST_ERRORS.iter().map(|(_, pattern)| *pattern);
    RegexSet::new(patterns).expect("the tests compile all patterns")
});
static TOTALS: LazyLock<CompiledLines> = LazyLock::new(|| CompiledLines::new(&TOTAL_LINES));
static LATER: LazyLock<CompiledLines> = LazyLock::new(|| CompiledLines::new(&LATER_LINES));
static NUMBER_AND_WORD: LazyLock<Regex> =
    LazyLock::new(|| compile("(?<number>[0-9]+) +(?<word>[a-z]+)"));
static WORD_AND_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| compile("(?<word>[A-Za-z][A-Za-z ]*)[:=] *(?<number>[0-9]+)"));

/// The total in a line, and its runner.
pub(super) fn read_total(line: &str) -> Option<(TestRunner, TestCounts)> {
    if line.trim_start().starts_with("{\"") {
        return read_go_event(line).map(|counts| (TestRunner::GoTests, counts));
    }
    TOTALS.counts(line).next()
}

/// The runner that reports an error outside a test.
pub(super) fn read_non_test_error(line: &str) -> Option<TestRunner> {
    let index = ERRORS.matches(line).into_iter().next()?;
    Some(NON_TEST_ERRORS[index].0)
}

/// The addition of a line to the totals of each runner that may have printed it.
pub(super) fn read_addition(line: &str) -> impl Iterator<Item = (TestRunner, TestCounts)> {
    LATER.counts(line)
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the tests compile all patterns")
}

struct CompiledLines {
    formats: &'static [LineFormat],
    /// Most lines match nothing, which one pass over the line detects.
    set: RegexSet,
    patterns: Vec<Regex>,
}

impl CompiledLines {
    fn new(formats: &'static [LineFormat]) -> Self {
        let patterns = formats.iter().map(|(_, pattern)| *pattern);
        let set = RegexSet::new(patterns.clone()).expect("the tests compile all patterns");
        Self { formats, set, patterns: patterns.map(compile).collect() }
    }

    fn counts(&self, line: &str) -> impl Iterator<Item = (TestRunner, TestCounts)> {
        self.set.matches(line).into_iter().filter_map(move |index| {
            let pattern = &self.patterns[index];
            let counts = counts_of_groups(pattern, &pattern.captures(line)?)?;
            Some((self.formats[index].0, counts))
        })
    }
}

/// `None` if no word of a list counts tests.
fn counts_of_groups(pattern: &Regex, captures: &Captures<'_>) -> Option<TestCounts> {
    let mut tally = TestTally::default();
    for name in pattern.capture_names().flatten() {
        let Some(text) = captures.name(name).map(|group| group.as_str()) else { continue };
        match name {
            "time" => tally.duration_ms = milliseconds(text),
            "time_ms" => tally.duration_ms = milliseconds(&format!("{text}ms")),
            "counts" => tally.add_list(&NUMBER_AND_WORD, text)?,
            "labels" => tally.add_list(&WORD_AND_NUMBER, text)?,
            word => {
                tally.add(word, text.parse().unwrap_or(1));
            }
        }
    }
    Some(tally.finish())
}

/// Tests by result, while the number of passed ones is unknown.
#[derive(Default)]
struct TestTally {
    passed: Option<u64>,
    failed: u64,
    skipped: u64,
    total: Option<u64>,
    duration_ms: Option<u64>,
}

impl TestTally {
    fn add_list(&mut self, pair: &Regex, text: &str) -> Option<()> {
        let mut is_any = false;
        for captures in pair.captures_iter(text) {
            let Ok(number) = captures["number"].parse() else { continue };
            is_any |= self.add(&captures["word"].to_ascii_lowercase(), number);
        }
        is_any.then_some(())
    }

    /// Adds `3 passed`; `false` for a word that counts no tests.
    fn add(&mut self, word: &str, number: u64) -> bool {
        let sum = match word {
            "passed" | "pass" | "passing" | "xpassed" | "succeeded" => self.passed.get_or_insert(0),
            "failed"
            | "fail"
            | "failing"
            | "failures"
            | "failure"
            | "error"
            | "errors"
            | "timed"
            | "exec"
            | "cancelled"
            | "unexpected successes" => &mut self.failed,
            "skipped" | "skip" | "skips" | "ignored" | "pending" | "xfailed" | "deselected"
            | "todo" | "filtered" | "disabled" | "incomplete" | "expected failures" => {
                &mut self.skipped
            }
            "total" | "tests run" | "test" | "tests" | "run" | "runs" | "example" | "examples"
            | "doctest" | "doctests" | "property" | "properties" => self.total.get_or_insert(0),
            _ => return false,
        };
        *sum = sum.saturating_add(number);
        true
    }

    fn finish(self) -> TestCounts {
        let not_passed = self.failed.saturating_add(self.skipped);
        let passed = self.total.map(|total| total.saturating_sub(not_passed));
        TestCounts {
            passed: self.passed.or(passed).unwrap_or(0),
            failed: self.failed,
            skipped: self.skipped,
            duration_ms: self.duration_ms,
            ..TestCounts::default()
        }
    }
}

/// `go test -json`: one object for each event.
fn read_go_event(line: &str) -> Option<TestCounts> {
    let event: Value = serde_json::from_str(line).ok()?;
    let test = event.get("Test")?.as_str()?;
    let mut tally = TestTally::default();
    tally.add(event.get("Action")?.as_str()?, 1).then_some(())?;
    let seconds = event.get("Elapsed").map(Value::to_string);
    // The time of a subtest is part of its parent's.
    tally.duration_ms = seconds.and_then(|it| milliseconds(&it)).filter(|_| !test.contains('/'));
    // "run" is the action of a starting test.
    tally.total.is_none().then(|| tally.finish())
}

/// Milliseconds of `1.25s`, `1.2 s`, `850 ms`, `0.1`.
fn milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, factor) = match text.strip_suffix("ms").map(|number| (number, 1.0)) {
        Some(found) => found,
        None => (text.trim_end_matches("econds").trim_end_matches('s'), 1_000.0),
    };
    let value: f64 = number.trim().parse().ok()?;
    let value = (value * factor).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked on the spot"
    )]
    (0.0..=1e15).contains(&value).then_some(value as u64)
}
