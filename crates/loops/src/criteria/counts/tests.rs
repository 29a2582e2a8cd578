//! Totals as the runners print them, and comparisons.

use super::*;

/// Passed, failed, skipped and milliseconds of an output.
fn check(output: &str, expected: (u64, u64, u64, Option<u64>)) {
    let counts = total(output).unwrap_or_else(|| panic!("no total was found in {output:?}"));
    let found = (counts.passed, counts.failed, counts.skipped, counts.duration_ms);
    assert_eq!(found, expected, "{output}");
}

fn total(output: &str) -> Option<TestCounts> {
    let mut counter = TestCounter::default();
    output.lines().for_each(|line| counter.line(line));
    counter.total()
}

#[test]
fn python() {
    check(
        "==== 3 failed, 40 passed, 2 skipped, 1 xfailed, 5 warnings in 1.25s ====",
        (40, 3, 3, Some(1_250)),
    );
    check("collected 0 items\n\n===== no tests ran in 0.01s =====", (0, 0, 0, Some(10)));
    check("..\n2 passed in 0.02s", (2, 0, 0, Some(20)));
    check("=== 1 passed, 4 deselected in 62.50s (0:01:02) ===", (1, 0, 4, Some(62_500)));
    check("=== 2 errors in 0.10s ===", (0, 2, 0, Some(100)));
    check("=== 1 passed, 2 subtests passed, 1 rerun in 0.10s ===", (1, 0, 0, Some(100)));
    check("=== 1 warning, 2 failed in 0.10s ===", (0, 2, 0, Some(100)));
    check("Ran 5 tests in 0.003s\n\nOK", (5, 0, 0, Some(3)));
    check("Ran 5 tests in 0.003s\n\nFAILED (failures=1, errors=1, skipped=2)", (1, 2, 2, Some(3)));
    check(
        "Ran 5 tests in 1s\n\nFAILED (expected failures=1, unexpected successes=2)",
        (2, 2, 1, Some(1_000)),
    );
    check("Ran 1 test in 0.000s\n\nOK (skipped=1)", (0, 0, 1, Some(0)));
    check("Ran 0 tests in 0.000s\n\nNO TESTS RAN", (0, 0, 0, Some(0)));
}

#[test]
fn errors_in_files_and_teardowns_are_not_counted_as_tests() {
    let unittest = "ERROR: test_helpers (unittest.loader._FailedTest.test_helpers)\n\
                    Ran 2 tests in 0.001s\n\nFAILED (errors=1)";
    let loaded = total("Ran 1 test in 0.001s\n\nOK").expect("a total");
    let before = total(unittest).expect("a total");
    assert_eq!((before.run(), before.failed), (1, 1), "the run failed, but not a test");
    assert_eq!(run_anomalies(&next_baseline_counts(None, &before), &loaded), []);

    let pytest = "_______ ERROR collecting test_helpers.py _______\n=== 1 error in 0.10s ===";
    assert_eq!(total(pytest).expect("a total").run(), 0);
    let pytest = "_____ ERROR at teardown of test_a _____\n=== 1 passed, 1 error in 0.10s ===";
    let before = next_baseline_counts(None, &total(pytest).expect("a total"));
    assert_eq!((before.run(), before.failed), (1, 0));
    let mended = total("=== 1 passed in 0.10s ===").expect("a total");
    assert_eq!(run_anomalies(&before, &mended), []);
    let class = "ERROR: tearDownClass (test_a.A)\nRan 2 tests in 0.001s\n\nFAILED (errors=1)";
    assert_eq!(total(class).expect("a total").run(), 2);
    // A test that has an error is a test.
    let error = "ERROR: test_a (tests.A.test_a)\nRan 1 test in 0.001s\n\nFAILED (errors=1)";
    assert_eq!(total(error).expect("a total").run(), 1);
}

#[test]
fn rust() {
    let one = "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s";
    let two = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s";
    check(&format!("running 6 tests\n{one}\n\n{two}\n"), (8, 1, 3, Some(1_010)));
    check(
        "     Summary [   0.012s] 7 tests run: 5 passed (1 slow), 2 failed, 3 skipped",
        (5, 2, 3, Some(12)),
    );
    check(
        "Summary [ 1.5s] 3/9 tests run: 2 passed, 1 timed out, 0 skipped",
        (2, 1, 0, Some(1_500)),
    );
}

#[test]
fn go() {
    let verbose = "=== RUN   TestA\n=== RUN   TestA/sub\n--- PASS: TestA (0.10s)\n    \
                   --- PASS: TestA/sub (0.10s)\n--- SKIP: TestB (0.00s)\nPASS\nok  \texample.com/a\t0.2s";
    check(verbose, (2, 0, 1, Some(100)));
    let json = r#"{"Action":"run","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestA","Output":"--- PASS: TestA (0.10s)\n"}
{"Action":"pass","Package":"a","Test":"TestA","Elapsed":0.1}
{"Action":"fail","Package":"a","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"a","Elapsed":0.2}"#;
    check(json, (1, 1, 0, Some(100)));
    let plain = "?   \texample.com/none\t[no test files]\nok  \texample.com/a\t0.01s\n\
                 ok  \texample.com/b\t(cached)\nFAIL\texample.com/c\t0.02s";
    check(plain, (2, 1, 0, Some(30)));
    check("?   \texample.com/none\t[no test files]", (0, 0, 0, None));
    check("ok  \texample.com/a\t0.01s [no tests to run]", (0, 0, 0, None));
}

#[test]
fn javascript() {
    let jest = "Test Suites: 1 failed, 1 passed, 2 total\n\
                Tests:       1 failed, 1 skipped, 3 passed, 5 total\n\
                Snapshots:   0 total\nTime:        1.2 s, estimated 2 s";
    check(jest, (3, 1, 1, Some(1_200)));
    check("No tests found, exiting with code 0", (0, 0, 0, None));
    let vitest = " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 3 passed | 1 skipped (5)\n   \
                  Start at  10:00:00\n   Duration  850ms (transform 10ms, setup 0ms)";
    check(vitest, (3, 1, 1, Some(850)));
    check("Tests:       2 skipped, 2 total", (0, 0, 2, None));
    check("      Tests  1 expected fail | 2 passed (3)", (2, 0, 0, None));
    check("No test files found, exiting with code 1", (0, 0, 0, None));
    check("ℹ pass 4\nℹ fail 0\nℹ duration_ms 3.5", (4, 0, 0, Some(4)));
    check("  5 passing (12ms)\n  2 pending\n  1 failing", (5, 1, 2, Some(12)));
    check(
        "# tests 6\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n# duration_ms 12.5",
        (4, 1, 1, Some(13)),
    );
}

#[test]
fn machines_with_a_runtime() {
    let maven = "[INFO] Running a.ATest\n\
                 [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s - in a.ATest\n\
                 [INFO] Results:\n[WARNING] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1";
    check(maven, (2, 2, 1, None));
    let dotnet = "Passed!  - Failed:     0, Passed:     5, Skipped:     1, Total:     6, Duration: 12 ms - X.dll (net8.0)";
    check(dotnet, (5, 0, 1, Some(12)));
    check(
        "Test summary: total: 5, failed: 1, succeeded: 4, skipped: 0, duration: 1.2s",
        (4, 1, 0, Some(1_200)),
    );
    check("OK (5 tests, 8 assertions)", (5, 0, 0, None));
    check("Tests: 5, Assertions: 8, Failures: 1, Skipped: 1.", (3, 1, 1, None));
    check("5 examples, 1 failure, 1 pending", (3, 1, 1, None));
    check("5 runs, 8 assertions, 0 failures, 1 errors, 1 skips", (3, 1, 1, None));
    check("2 doctests, 5 tests, 0 failures, 1 skipped", (6, 0, 1, None));
    check("5 tests, 1 failure (2 excluded)", (4, 1, 0, None));
    check("1 example, 0 failures, 1 error occurred outside of examples", (0, 1, 0, None));
    check("Tests run: 3,  Failures: 1", (2, 1, 0, None));
    check(
        "Skipped! - Failed: 0, Passed: 0, Skipped: 1, Total: 1, Duration: 1 s",
        (0, 0, 1, Some(1_000)),
    );
    check("100% tests passed, 0 tests failed out of 12\n", (12, 0, 0, None));
    check("80% tests passed, 1 tests failed out of 5", (4, 1, 0, None));
}

#[test]
fn counts_of_several_runners_are_added_and_prose_is_ignored() {
    check("3 passed in 0.50s\nTests:       2 passed, 2 total\n", (5, 0, 0, Some(500)));
    for text in [
        "",
        "warning: 3 passed the deadline in 5 places",
        "Compiled 12 files in 3.2s",
        "12 files in 3.2s",
        "5 tests in 0.003s",
        "2 runs in 3s",
        "1 error in 2 files",
        "ok\tthen",
        "# pass the salt",
        "Tests: see below",
        "Passed everything",
        "Summary [ of it ]",
        "Time: 3 s",
        "   Duration  3s",
        "# duration_ms 3",
    ] {
        assert_eq!(total(text), None, "{text}");
    }
}

fn counts(passed: u64, skipped: u64, duration_ms: u64) -> TestCounts {
    TestCounts {
        passed,
        failed: 0,
        skipped,
        duration_ms: Some(duration_ms),
        ..TestCounts::default()
    }
}

#[test]
fn fewer_tests_more_skips_and_a_collapse_are_reported_with_numbers() {
    let said = |before, now| -> Vec<String> {
        run_anomalies(&before, &now).iter().map(ToString::to_string).collect()
    };
    assert!(said(counts(30, 1, 9_000), counts(31, 1, 8_000)).is_empty());
    assert_eq!(said(counts(30, 1, 900), counts(12, 1, 900)), ["12 tests ran, 30 ran before"]);
    assert_eq!(
        said(counts(30, 0, 900), counts(28, 2, 900)),
        ["28 tests ran, 30 ran before; 2 more were skipped"]
    );
    assert_eq!(
        said(counts(30, 1, 900), counts(30, 3, 900)),
        ["3 tests were skipped, 1 were skipped before"]
    );
    assert_eq!(
        said(counts(30, 0, 9_000), counts(30, 0, 100)),
        ["the tests took 100 ms, 9000 ms before"]
    );
    // A quick suite says nothing by being quicker, and exactly a tenth is no collapse.
    assert!(said(counts(30, 0, TEST_COLLAPSE_MS_MIN - 1), counts(30, 0, 1)).is_empty());
    assert!(said(counts(30, 0, 9_000), counts(30, 0, 900)).is_empty());
    let kinds: Vec<bool> = run_anomalies(&counts(3, 0, 9_000), &counts(2, 0, 1))
        .iter()
        .map(RunAnomaly::is_blocking)
        .collect();
    assert_eq!(kinds, [true]);
}

#[test]
fn the_base_never_falls() {
    let many = counts(30, 0, 900);
    assert_eq!(next_baseline_counts(Some(&many), &counts(12, 0, 5)), many);
    assert_eq!(next_baseline_counts(Some(&many), &counts(31, 0, 5)), counts(31, 0, 5));
    assert_eq!(next_baseline_counts(None, &many), many);
}
