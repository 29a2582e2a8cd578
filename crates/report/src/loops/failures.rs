//! The lines of a failed check's output that are repeated: names of failed tests first.

use moai_base::foreign_text::one_line;
use moai_base::limits::{FAILED_LINE_CHARS_MAX, FAILED_LINES_MAX};

/// Beginnings of lines in which test runners and compilers name a failure.
const STARTS: [&str; 14] = [
    "FAILED ", "FAIL ", "FAIL: ", "FAIL\t", "ERROR: ", "ERROR ", "--- FAIL", "not ok ", "✕ ", "✗ ",
    "× ", "● ", "error[", "error: ",
];
/// Endings of such lines.
const ENDS: [&str; 2] = ["... FAILED", "... FAIL"];

/// The lines that name a failure, then those after the first of them; without any, the first lines.
/// Each line is bounded.
pub(super) fn failing_lines(output: &str) -> Vec<String> {
    let lines = output.split(['\n', '\r']);
    let lines: Vec<&str> = lines.filter(|line| has_words(line)).collect();
    let first = lines.iter().position(|line| names_failure(line)).unwrap_or_default();
    let named = lines.iter().filter(|line| names_failure(line));
    let others = lines.iter().skip(first).filter(|line| !names_failure(line));
    let mut kept: Vec<String> = Vec::new();
    for line in named.chain(others) {
        let line = one_line(line, FAILED_LINE_CHARS_MAX);
        if kept.len() < FAILED_LINES_MAX && !kept.contains(&line) {
            kept.push(line);
        }
    }
    kept
}

fn names_failure(line: &str) -> bool {
    let line = line.trim();
    STARTS.iter().any(|start| line.starts_with(start)) || ENDS.iter().any(|end| line.ends_with(end))
}

/// True if a line is neither blank nor a horizontal rule.
fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: &[&str]) {
        assert_eq!(failing_lines(output), expected, "{output}");
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
            &["test b ... FAILED", "test c ... FAILED", "failures:"],
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
        assert_eq!(failing_lines(&many.join("\n")).len(), FAILED_LINES_MAX);
        let long = failing_lines(&"가".repeat(5_000));
        assert_eq!(long[0].chars().count(), FAILED_LINE_CHARS_MAX);
        check("", &[]);
    }
}
