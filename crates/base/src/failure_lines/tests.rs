//! What is kept of the output of test runners, as they wrote it.

use super::*;
use crate::limits::FAILED_LINES_MIN;

fn check(output: &str, expected: &[&str]) {
    assert_eq!(failure_lines(output, FAILED_LINES_MAX), expected, "{output}");
}

fn check_starts(output: &str, expected: &[&str]) {
    let lines = failure_lines(output, FAILED_LINES_MAX);
    assert_eq!(lines[..expected.len()], *expected, "{output}");
}

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("samples/", $name, ".txt"))
    };
}

#[test]
fn unittest_and_pytest_keep_the_assertion_with_its_file_and_line() {
    check(
        sample!("unittest"),
        &[
            "ERROR: test_two (t.test_x.Case.test_two)",
            "File \"/project/t/test_x.py\", line 9, in test_two",
            "ValueError: invalid literal for int() with base 10: 'a'",
            "FAIL: test_one (t.test_x.Case.test_one)",
            "File \"/project/t/test_x.py\", line 6, in test_one",
            "AssertionError: 'x\\n' != 'one\\n'",
        ],
    );
    check(
        sample!("pytest"),
        &[
            "E assert 4 == 3",
            "E + where 4 = total([1, 2])",
            "t/test_y.py:6: AssertionError",
            "E KeyError: 'key'",
            "FAILED t/test_y.py::test_total - assert 4 == 3",
            "FAILED t/test_y.py::test_missing - KeyError: 'key'",
        ],
    );
}

#[test]
fn an_error_of_syntax_or_import_in_pytest_is_kept_instead_of_its_frames() {
    let output = sample!("pytest_syntax");
    let expected = [
        "E File \"/project/src/a.py\", line 1",
        "E def f(:",
        "E SyntaxError: invalid syntax",
        "ERROR tests/test_a.py",
    ];
    check_starts(output, &expected);
    assert_eq!(failure_lines(output, FAILED_LINES_MIN), [expected[0], expected[2], expected[3]]);
    check_starts(
        sample!("pytest_import"),
        &[
            "tests/test_b.py:1: in <module>",
            "import missing_module",
            "E ModuleNotFoundError: No module named 'missing_module'",
            "ERROR tests/test_b.py",
        ],
    );
}

#[test]
fn runners_of_javascript_keep_the_assertion_with_its_file_and_line() {
    check(
        sample!("node_tap"),
        &[
            "not ok 1 - adds",
            "duration_ms: 1.873749",
            "location: '/project/js/sum.test.cjs:3:1'",
            "failureType: 'testCodeFailure'",
            "Expected values to be strictly equal:",
            "2 !== 3",
        ],
    );
    check_starts(
        sample!("node_spec"),
        &[
            "✖ adds (1.890876ms)",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
            "2 !== 3",
            "at TestContext.<anonymous> (/project/js/sum.test.cjs:4:10)",
        ],
    );
    check(
        sample!("jest"),
        &[
            "FAIL a/sum.test.js",
            "✕ adds (3 ms)",
            "expect(received).toBe(expected) // Object.is equality",
            "Expected: 3",
            "Received: 2",
            "at Object.toBe (a/sum.test.js:2:17)",
        ],
    );
    check(
        sample!("vitest"),
        &[
            "FAIL b/sum.spec.mjs > adds",
            "AssertionError: expected 2 to be 3 // Object.is equality",
            "- Expected",
            "+ Received",
            "- 3",
            "❯ b/sum.spec.mjs:3:17",
        ],
    );
}

#[test]
fn go_cargo_and_maven_keep_the_assertion_with_its_file_and_line() {
    check_starts(sample!("go"), &["--- FAIL: TestAdd (0.00s)", "a_test.go:7: got 2, want 3"]);
    let cargo = failure_lines(sample!("cargo"), FAILED_LINES_MAX);
    assert!(cargo[1].ends_with("panicked at src/lib.rs:5:9:"), "{cargo:?}");
    assert_eq!(cargo[0], "test tests::adds ... FAILED");
    assert_eq!(cargo[2..5], ["assertion `left == right` failed", "left: 2", "right: 3"]);
    check_starts(
        sample!("maven"),
        &[
            "[ERROR] ATest.adds -- Time elapsed: 0.021 s <<< FAILURE!",
            "org.opentest4j.AssertionFailedError: expected: <3> but was: <2>",
            "at ATest.adds(ATest.java:8)",
        ],
    );
}

#[test]
fn a_summary_within_its_bound_has_the_assertion_of_the_first_failure() {
    let summary = failure_summary(sample!("unittest"), 170);
    let expected = "ERROR: test_two (t.test_x.Case.test_two) | File \"/project/t/test_x.py\", line 9, in \
                    test_two | ValueError: invalid literal for int() with base 10: 'a'";
    assert_eq!(summary, expected);
    let deep = format!("{}/test_x.py", "folder/".repeat(40));
    let long = sample!("unittest").replace("t/test_x.py", &deep);
    let lines = failure_lines(&long, FAILED_LINES_MAX);
    assert!(lines[1].starts_with('…') && lines[1].ends_with("line 9, in test_two"), "{lines:?}");
}

#[test]
fn the_names_of_failed_tests_come_before_other_lines() {
    check(
        "=== test session starts ===\ncollected 3 items\n\n=== short test summary ===\n\
         FAILED tests/test_a.py::test_x - assert 1 == 2\n=== 1 failed, 2 passed ===\n",
        &["FAILED tests/test_a.py::test_x - assert 1 == 2", "=== 1 failed, 2 passed ==="],
    );
    check(
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\nfailures:\ntest c ... FAILED\n",
        &["test b ... FAILED", "failures:", "test c ... FAILED"],
    );
    check("FAIL test_a\nexpected 1\n", &["FAIL test_a", "expected 1"]);
    check(
        "--- FAIL: TestAdd (0.00s)\n    a_test.go:3: no\n",
        &["--- FAIL: TestAdd (0.00s)", "a_test.go:3: no"],
    );
}

#[test]
fn without_a_name_the_first_lines_are_kept_and_all_is_bounded() {
    check("\n-----\nexpected 3, got 4\n", &["expected 3, got 4"]);
    let many: Vec<String> = (0..50).map(|number| format!("FAILED test_{number}")).collect();
    assert_eq!(failure_lines(&many.join("\n"), FAILED_LINES_MAX).len(), FAILED_LINES_MAX);
    let long = failure_lines(&"가".repeat(5_000), FAILED_LINES_MAX);
    assert_eq!(long[0].chars().count(), FAILED_LINE_CHARS_MAX);
    check("", &[]);
}
