//! How the runners of tests print their totals, one function each: a line goes in, what it counts
//! comes out, or nothing. It must not know which command was run: a script may start any of them.
//! The formats were read from the output of the named programs.

use serde_json::Value;

use super::TestCounts;

/// Whose totals a line holds.
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

type TotalParser = fn(&str) -> Option<TestCounts>;
/// Milliseconds.
type DurationParser = fn(&str) -> Option<u64>;

/// The first that knows a line wins.
pub(super) const READERS: [(TestRunner, TotalParser); 15] = [
    (TestRunner::Cargo, cargo),
    (TestRunner::Nextest, nextest),
    (TestRunner::GoTests, go_tests),
    (TestRunner::GoPackages, go_packages),
    (TestRunner::Jest, jest),
    (TestRunner::Vitest, vitest),
    (TestRunner::Surefire, surefire),
    (TestRunner::Dotnet, dotnet),
    (TestRunner::Pytest, pytest),
    (TestRunner::Unittest, unittest),
    (TestRunner::Mocha, mocha),
    (TestRunner::NodeTest, node_test),
    (TestRunner::PhpUnit, phpunit),
    (TestRunner::Examples, examples),
    (TestRunner::Ctest, ctest),
];

/// How a runner says in a line of its own how long its tests took. Anybody prints such lines, so
/// they count only behind a total of that runner.
pub(super) const TIMES: [(TestRunner, DurationParser); 3] = [
    (TestRunner::Jest, jest_time),
    (TestRunner::Vitest, vitest_time),
    (TestRunner::NodeTest, node_time),
];

/// `Time:        1.2 s, estimated 2 s`.
fn jest_time(line: &str) -> Option<u64> {
    milliseconds(line.strip_prefix("Time:")?.split(',').next()?)
}

/// `   Duration  850ms (transform 10ms, setup 0ms)`.
fn vitest_time(line: &str) -> Option<u64> {
    milliseconds(line.trim_start().strip_prefix("Duration  ")?.split(" (").next()?)
}

/// `# duration_ms 12.5`, `ℹ duration_ms 12.5`.
fn node_time(line: &str) -> Option<u64> {
    let (_, number) = line.split_once(" duration_ms ")?;
    milliseconds(&format!("{number}ms"))
}

/// Sorts `3 passed` into the counts; `false` for a word that counts no tests.
fn sort_in(counts: &mut TestCounts, number: u64, word: &str) -> bool {
    match word {
        "passed" | "pass" | "passing" | "xpassed" | "succeeded" => counts.passed += number,
        "failed" | "fail" | "failing" | "failures" | "failure" | "error" | "errors" | "timed"
        | "exec" | "cancelled" => counts.failed += number,
        "skipped" | "skip" | "skips" | "ignored" | "pending" | "xfailed" | "deselected"
        | "todo" | "filtered" | "disabled" | "incomplete" => counts.skipped += number,
        _ => return false,
    }
    true
}

/// `3 passed, 1 skipped`: numbers before their words, parts divided by one of `dividers`.
fn numbered(text: &str, dividers: &[char]) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    let mut is_any = false;
    for part in text.split(dividers) {
        let mut words = part.split_whitespace();
        let Some(Ok(number)) = words.next().map(str::parse) else { continue };
        let word = words.next().unwrap_or_default();
        is_any |= sort_in(&mut counts, number, word);
    }
    is_any.then_some(counts)
}

/// `Failed: 1, Passed: 5`: numbers behind their words.
fn labelled(text: &str) -> Option<(TestCounts, Option<u64>)> {
    let mut counts = TestCounts::default();
    let (mut total, mut is_any) = (None, false);
    for part in text.trim_end_matches('.').split(',') {
        let Some((word, number)) = part.split_once(':') else { continue };
        let number = number.split_whitespace().next().and_then(|number| number.parse().ok());
        let Some(number) = number else { continue };
        match word.trim().to_ascii_lowercase().as_str() {
            "total" | "tests run" | "tests" => total = Some(number),
            word => is_any |= sort_in(&mut counts, number, word),
        }
    }
    (is_any || total.is_some()).then_some((counts, total))
}

/// The same where a total stands in place of what passed.
fn of_total(text: &str) -> Option<TestCounts> {
    let (mut counts, total) = labelled(text)?;
    if let Some(total) = total {
        counts.passed = total.saturating_sub(counts.failed.saturating_add(counts.skipped));
    }
    Some(counts)
}

/// `1.25s`, `850 ms`, `0:01:02`: milliseconds.
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

/// `=== 3 passed, 1 skipped in 0.12s ===`, without the bars under `-q`; `no tests ran in 0.01s`.
fn pytest(line: &str) -> Option<TestCounts> {
    let line = line.trim_matches(['=', ' ']);
    let (said, time) = line.rsplit_once(" in ")?;
    let duration_ms = milliseconds(time.split(' ').next().filter(|it| it.ends_with('s'))?)?;
    let counts = if said == "no tests ran" || said.ends_with(", no tests ran") {
        TestCounts::default()
    } else {
        let is_part = |part: &str| part.trim().starts_with(|it: char| it.is_ascii_digit());
        if !said.split(',').all(is_part) {
            return None;
        }
        numbered(said, &[','])?
    };
    Some(TestCounts { duration_ms: Some(duration_ms), ..counts })
}

/// `Ran 5 tests in 0.003s`; how many of them did not pass stands in a later line.
fn unittest(line: &str) -> Option<TestCounts> {
    let rest = line.strip_prefix("Ran ")?;
    let (number, time) = rest.split_once(" in ")?;
    let (number, word) = number.split_once(' ')?;
    if !word.starts_with("test") {
        return None;
    }
    let passed = number.parse().ok()?;
    Some(TestCounts { passed, duration_ms: milliseconds(time), ..TestCounts::default() })
}

/// `FAILED (failures=1, errors=1, skipped=2)`, `OK (skipped=1)`: failed and skipped.
pub(super) fn unittest_end(line: &str) -> Option<(u64, u64)> {
    let rest =
        ["OK (", "FAILED (", "NO TESTS RAN ("].iter().find_map(|it| line.strip_prefix(it))?;
    let (mut failed, mut skipped) = (0, 0);
    for part in rest.strip_suffix(')')?.split(", ") {
        let (word, number) = part.split_once('=')?;
        let number: u64 = number.parse().ok()?;
        match word {
            "failures" | "errors" | "unexpected successes" => failed += number,
            _ => skipped += number,
        }
    }
    Some((failed, skipped))
}

/// `test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`.
fn cargo(line: &str) -> Option<TestCounts> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let (_, said) = rest.split_once(". ")?;
    let duration_ms = said.rsplit_once("finished in ").and_then(|(_, time)| milliseconds(time));
    Some(TestCounts { duration_ms, ..numbered(said, &[';'])? })
}

/// `     Summary [   0.012s] 5 tests run: 4 passed (1 slow), 1 failed, 2 skipped`.
fn nextest(line: &str) -> Option<TestCounts> {
    let rest = line.trim_start().strip_prefix("Summary [")?;
    let (time, said) = rest.split_once(']')?;
    let (_, said) = said.split_once(" run: ")?;
    Some(TestCounts { duration_ms: milliseconds(time), ..numbered(said, &[','])? })
}

/// `go test -v`: `--- PASS: TestX (0.00s)`; `go test -json`: one object for each event.
fn go_tests(line: &str) -> Option<TestCounts> {
    let line = line.trim_start();
    if line.starts_with("{\"") {
        return go_event(line);
    }
    let (word, rest) = line.strip_prefix("--- ")?.split_once(": ")?;
    let word = word.to_ascii_lowercase();
    let time = rest.rsplit_once('(').and_then(|(_, time)| time.strip_suffix(')'));
    let mut counts = TestCounts::default();
    sort_in(&mut counts, 1, &word).then_some(())?;
    // The time of a subtest is part of its parent's.
    let duration_ms = time.and_then(milliseconds).filter(|_| !rest.contains('/'));
    Some(TestCounts { duration_ms, ..counts })
}

fn go_event(line: &str) -> Option<TestCounts> {
    let event: Value = serde_json::from_str(line).ok()?;
    let action = event.get("Action")?.as_str()?;
    let test = event.get("Test")?.as_str()?;
    let mut counts = TestCounts::default();
    sort_in(&mut counts, 1, action).then_some(())?;
    let seconds = event.get("Elapsed").map(Value::to_string);
    let duration_ms = seconds.and_then(|it| milliseconds(&it)).filter(|_| !test.contains('/'));
    Some(TestCounts { duration_ms, ..counts })
}

/// Without `-v`, Go names packages only, between tabs: `ok  example.com/a  0.01s`.
fn go_packages(line: &str) -> Option<TestCounts> {
    let mut parts = line.split('\t').map(str::trim);
    let (word, package, rest) = (parts.next()?, parts.next()?, parts.next()?);
    if package.is_empty() || package.contains(' ') {
        return None;
    }
    let is_empty = line.contains("[no test files]") || line.contains("[no tests to run]");
    let one = u64::from(!is_empty);
    let duration_ms = milliseconds(rest);
    match word {
        "ok" => Some(TestCounts { passed: one, duration_ms, ..TestCounts::default() }),
        "FAIL" => Some(TestCounts { failed: 1, duration_ms, ..TestCounts::default() }),
        "?" if is_empty => Some(TestCounts::default()),
        _ => None,
    }
}

/// `Tests:       1 failed, 1 skipped, 3 passed, 5 total`; `No tests found, exiting with code 0`.
fn jest(line: &str) -> Option<TestCounts> {
    if line.starts_with("No tests found, exiting with code") {
        return Some(TestCounts::default());
    }
    let said = line.strip_prefix("Tests:")?;
    if !said.trim_end().ends_with(" total") {
        return None;
    }
    Some(numbered(said, &[',']).unwrap_or_default())
}

/// `      Tests  1 failed | 3 passed | 1 skipped (5)`; `No test files found, exiting with code 0`.
fn vitest(line: &str) -> Option<TestCounts> {
    let line = line.trim_start();
    if line.starts_with("No test files found, exiting with code") {
        return Some(TestCounts::default());
    }
    let said = line.strip_prefix("Tests  ")?;
    if said.trim() == "no tests" { Some(TestCounts::default()) } else { numbered(said, &['|']) }
}

/// `[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1`: the total of a module; with a time it
/// is that of one class.
fn surefire(line: &str) -> Option<TestCounts> {
    let at = line.find("Tests run: ")?;
    if line.contains("Time elapsed") {
        return None;
    }
    of_total(&line[at..])
}

/// `Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 12 ms - X.dll`,
/// or `Test summary: total: 5, failed: 0, succeeded: 5, skipped: 0, duration: 1.2s`.
fn dotnet(line: &str) -> Option<TestCounts> {
    let line = line.trim_start();
    let said = ["Passed!  - ", "Failed!  - ", "Skipped! - ", "Test summary: "]
        .iter()
        .find_map(|start| line.strip_prefix(start))?;
    let (counts, _) = labelled(said)?;
    let time = said.split_once("uration: ").map(|(_, time)| time);
    let time = time.and_then(|time| time.split(" - ").next()).and_then(milliseconds);
    Some(TestCounts { duration_ms: time, ..counts })
}

/// `  5 passing (12ms)`, `  1 failing`, `  2 pending`, each in a line of its own.
fn mocha(line: &str) -> Option<TestCounts> {
    let mut words = line.strip_prefix("  ")?.split(' ');
    let number: u64 = words.next()?.parse().ok()?;
    let word = words.next().filter(|word| ["passing", "failing", "pending"].contains(word))?;
    let time = words.next();
    let mut counts = TestCounts::default();
    sort_in(&mut counts, number, word);
    let time = time.and_then(|time| time.strip_prefix('(')?.strip_suffix(')'));
    words.next().is_none().then_some(())?;
    Some(TestCounts { duration_ms: time.and_then(milliseconds), ..counts })
}

/// `node --test`: `# pass 4` as TAP, `ℹ pass 4` for people.
fn node_test(line: &str) -> Option<TestCounts> {
    let said = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ "))?;
    let (word, number) = said.split_once(' ')?;
    let mut counts = TestCounts::default();
    let is_known = ["pass", "fail", "cancelled", "skipped", "todo"].contains(&word);
    (is_known && sort_in(&mut counts, number.parse().ok()?, word)).then_some(counts)
}

/// `OK (5 tests, 8 assertions)`, `Tests: 5, Assertions: 8, Failures: 1.`, `No tests executed!`.
fn phpunit(line: &str) -> Option<TestCounts> {
    if line == "No tests executed!" {
        return Some(TestCounts::default());
    }
    if let Some(said) = line.strip_prefix("OK (")
        && let Some((number, rest)) = said.split_once(" test")
        && rest.contains("assertion")
    {
        return Some(TestCounts { passed: number.parse().ok()?, ..TestCounts::default() });
    }
    (line.starts_with("Tests: ") && line.contains("Assertions: ")).then(|| of_total(line))?
}

/// `RSpec`, minitest and `ExUnit`: `5 examples, 0 failures, 1 pending`, `5 runs, 8 assertions, 0
/// failures, 0 errors, 1 skips`, `2 doctests, 5 tests, 0 failures`.
fn examples(line: &str) -> Option<TestCounts> {
    let line = line.trim();
    if !line.starts_with(|it: char| it.is_ascii_digit()) || !line.contains(" failure") {
        return None;
    }
    let (mut counts, mut total) = (TestCounts::default(), None);
    for part in line.split(", ") {
        let (number, word) = part.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match word.trim_end_matches('s') {
            "example" | "run" | "test" | "doctest" | "propertie" | "property" => {
                *total.get_or_insert(0) += number;
            }
            "assertion" => {}
            word => {
                sort_in(&mut counts, number, word.split(' ').next()?);
            }
        }
    }
    let total: u64 = total?;
    counts.passed = total.saturating_sub(counts.failed.saturating_add(counts.skipped));
    Some(counts)
}

/// `100% tests passed, 0 tests failed out of 5`, `No tests were found!!!`.
fn ctest(line: &str) -> Option<TestCounts> {
    if line == "No tests were found!!!" {
        return Some(TestCounts::default());
    }
    let (_, said) = line.split_once("% tests passed, ")?;
    let (failed, rest) = said.split_once(" test")?;
    let (_, total) = rest.split_once(" failed out of ")?;
    let failed: u64 = failed.parse().ok()?;
    let total: u64 = total.trim().parse().ok()?;
    Some(TestCounts { passed: total.saturating_sub(failed), failed, ..TestCounts::default() })
}
