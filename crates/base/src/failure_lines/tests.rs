//! What is kept of the output of test runners, as they wrote it.

use super::*;
use crate::limits::FAILED_LINES_MIN;

fn check(output: &str, expected: &[&str]) {
    assert_eq!(failure_lines(output, FAILED_LINES_MAX).lines, expected, "{output}");
}

fn check_starts(output: &str, expected: &[&str]) {
    let lines = failure_lines(output, FAILED_LINES_MAX).lines;
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
            "- x",
            "+ one",
        ],
    );
    check(
        sample!("pytest"),
        &[
            "E assert 4 == 3",
            "E + where 4 = total([1, 2])",
            "t/test_y.py:6: AssertionError",
            "def test_missing():",
            "E KeyError: 'key'",
            "t/test_y.py:10: KeyError",
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
    assert_eq!(
        failure_lines(output, FAILED_LINES_MIN).lines,
        [expected[0], expected[2], expected[3]]
    );
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
    assert_eq!(
        failure_lines(sample!("node_tap"), FAILED_LINES_MIN).lines,
        [
            "not ok 1 - adds",
            "Expected values to be strictly equal: 2 !== 3",
            "TestContext.<anonymous> (/project/js/sum.test.cjs:4:10)",
        ]
    );
    check_starts(
        sample!("node_spec"),
        &[
            "✖ adds (1.890876ms)",
            "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: 2 !== 3",
            "at TestContext.<anonymous> (/project/js/sum.test.cjs:4:10)",
        ],
    );
    check(
        sample!("jest"),
        &[
            "FAIL a/sum.test.js",
            "✕ adds (3 ms)",
            "● adds",
            "expect(received).toBe(expected) // Object.is equality",
            "Expected: 3",
            "Received: 2",
            "1 | test('adds', () => {",
            "at Object.toBe (a/sum.test.js:2:17)",
        ],
    );
    check_starts(
        sample!("vitest"),
        &[
            "FAIL b/sum.spec.mjs > adds",
            "AssertionError: expected 2 to be 3 // Object.is equality",
            "- Expected",
            "+ Received",
            "- 3",
            "+ 2",
            "❯ b/sum.spec.mjs:3:17",
        ],
    );
}

#[test]
fn go_cargo_and_maven_keep_the_assertion_with_its_file_and_line() {
    check_starts(sample!("go"), &["--- FAIL: TestAdd (0.00s)", "a_test.go:7: got 2, want 3"]);
    let cargo = failure_lines(sample!("cargo"), 5).lines;
    assert!(cargo[1].ends_with("panicked at src/lib.rs:5:9:"), "{cargo:?}");
    assert_eq!(cargo[0], "test tests::adds ... FAILED");
    assert_eq!(cargo[2..], ["assertion `left == right` failed", "left: 2", "right: 3"]);
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
fn two_failures_have_an_assertion_and_a_line_each() {
    check(
        sample!("unittest_two"),
        &[
            "FAIL: test_f (tests.test_a.T.test_f)",
            "File \"/project/tests/test_a.py\", line 6, in test_f",
            "AssertionError: {'a': 2, 'b': []} != {'a': 1, 'b': [1, 2, 3]}",
            "- {'a': 2, 'b': []}",
            "+ {'a': 1, 'b': [1, 2, 3]}",
            "FAIL: test_g (tests.test_a.T.test_g) (n=1)",
            "File \"/project/tests/test_a.py\", line 9, in test_g",
            "AssertionError: False is not true : f must be None",
        ],
    );
    check(
        sample!("node_tap_two"),
        &[
            "not ok 1 - f works",
            "Expected values to be strictly deep-equal: + actual - expected",
            "+ x: 2",
            "- x: 1",
            "TestContext.<anonymous> (/project/t/a.test.js:3:5)",
            "not ok 2 - other",
            "error: 'z is missing'",
            "TestContext.<anonymous> (/project/t/a.test.js:5:19)",
        ],
    );
    let spec = failure_lines(sample!("node_spec_two"), FAILED_LINES_MAX).lines;
    assert_eq!(
        spec[2..5],
        ["+ x: 2", "- x: 1", "at TestContext.<anonymous> (/project/t/a.test.js:3:5)"]
    );
    assert_eq!(spec[7], "at TestContext.<anonymous> (/project/t/a.test.js:5:19)");
    let cargo = failure_lines(sample!("cargo_two"), FAILED_LINES_MAX).lines;
    assert!(
        cargo[2].ends_with("tests/t.rs:7:5:") && cargo[4].ends_with("tests/t.rs:3:5:"),
        "{cargo:?}"
    );
    assert_eq!(
        cargo[5..],
        ["assertion `left == right` failed: f must be two", "left: 1", "right: 2"]
    );
}

#[test]
fn an_error_of_rustc_has_its_label_and_one_of_syntax_in_node_its_line() {
    assert_eq!(
        failure_lines(sample!("cargo_compile"), 6).lines,
        [
            "error[E0308]: mismatched types",
            "--> src/lib.rs:1:21",
            "| --- ^^^ expected `i32`, found `&str`",
            "error[E0425]: cannot find function `missing` in this scope",
            "--> src/lib.rs:4:5",
            "| ^^^^^^^ not found in this scope",
        ]
    );
    assert_eq!(
        failure_lines(sample!("node_syntax"), FAILED_LINES_MIN).lines,
        [
            "# /project/src/a.js:1",
            "# SyntaxError: Unexpected token '=>'",
            "not ok 1 - /project/t/a.test.js",
        ]
    );
}

#[test]
fn failures_that_no_line_is_about_are_counted_once() {
    let more = |output: &str, lines_max| failure_lines(output, lines_max).more;
    assert_eq!(more(sample!("pytest_three"), FAILED_LINES_MAX), 1);
    assert_eq!(more(sample!("pytest_three"), FAILED_LINES_MIN), 2);
    // This reporter lists each failure twice.
    assert_eq!(more(sample!("node_spec_two"), FAILED_LINES_MAX), 0);
    assert_eq!(more(sample!("node_spec_two"), FAILED_LINES_MIN), 1);
    assert_eq!(more(sample!("cargo_compile"), FAILED_LINES_MIN), 1);
    assert_eq!(more("FAILED a\nFAILED b\nFAILED b\nFAILED c\nFAILED d\n", FAILED_LINES_MIN), 1);
    assert_eq!(more("expected 3, got 4\n", FAILED_LINES_MIN), 0);
}

#[test]
fn a_summary_within_its_bound_has_the_assertion_of_the_first_failure() {
    let summary = failure_summary(sample!("unittest"), 170);
    let expected = "ERROR: test_two (t.test_x.Case.test_two) | File \"/project/t/test_x.py\", line 9, in \
                    test_two | ValueError: invalid literal for int() with base 10: 'a'";
    assert_eq!(summary, expected);
    let deep = format!("{}/test_x.py", "folder/".repeat(40));
    let long = sample!("unittest").replace("t/test_x.py", &deep);
    let lines = failure_lines(&long, FAILED_LINES_MAX).lines;
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
    assert_eq!(failure_lines(&many.join("\n"), FAILED_LINES_MAX).lines.len(), FAILED_LINES_MAX);
    let long = failure_lines(&"가".repeat(5_000), FAILED_LINES_MAX).lines;
    assert_eq!(long[0].chars().count(), FAILED_LINE_CHARS_MAX);
    check("", &[]);
}
