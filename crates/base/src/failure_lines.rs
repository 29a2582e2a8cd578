//! How the output of a failed command is shortened: the names of failed tests, what was asserted, and the file
//! and line of it come first, as the usual test runners and compilers write them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::foreign_text::one_line;
use crate::limits::{FAILED_LINE_CHARS_MAX, FAILED_LINES_MAX, FAILED_PLACE_LINES_MAX};

/// Beginnings of lines in which test runners and compilers name a failure.
const STARTS: [&str; 15] = [
    "FAILED ", "FAIL ", "FAIL: ", "FAIL\t", "ERROR: ", "ERROR ", "--- FAIL", "not ok ", "✕ ", "✗ ",
    "✖ ", "× ", "● ", "error[", "error: ",
];
/// Endings of such lines.
const ENDS: [&str; 4] = ["... FAILED", "... FAIL", "<<< FAILURE!", "<<< ERROR!"];
/// Parts of lines about code that is not the project's.
const INSTALLED: [&str; 9] = [
    "site-packages/",
    "dist-packages/",
    "/lib/python",
    "node_modules/",
    "node:",
    "/rustc/",
    "/go/src/",
    "org.junit.",
    "java.base/",
];
/// Beginnings of lines that say nothing.
const EMPTY_WORDS: [&str; 3] =
    ["Traceback (most recent call last)", "note: run with `RUST_BACKTRACE", "Error Trace:"];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// What was asserted: an exception with its message, a line of pytest, an `expect` of jest.
static ASSERTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:E\s{2,}\S|expect\(|(?:[\w$]+\.)*\w*(?:Error|Exception)(?: \[\w+\])?(?:: |:$|$))")
});
/// A file with a line, followed by what is wrong there.
static PLACED_ASSERTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[^\s:]*\.\w{1,6}:\d+(?::\d+)?: \S"));
/// A file with a line, followed by the kind of the error alone.
static PLACED_NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[^\s:]*\.\w{1,6}:\d+: (?:[\w.]*(?:Error|Exception|Failed))?$"));
/// A frame of pytest: a place, followed by the name of the function.
static FRAME: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\S+\.py:\d+: in \S+$"));
/// The exception among the lines of an assertion, which pytest writes below the line of code.
static EXCEPTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:E\s+)?(?:[\w$]+\.)*\w*(?:Error|Exception)(?:[: ]|$)"));
/// A line that goes on with the assertion above it.
static CONTINUATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:(?i:expected|received|actual|left|right|got|want)\s*:|[-+] ?\S|\S.* [!=]==? \S)")
});
/// A field of the test anything protocol that holds an assertion, on this line or on the next ones.
static TAP_ERROR: LazyLock<Regex> = LazyLock::new(|| pattern(r"^error: (?:'|[|>]-?$)"));
/// A file with a line.
static PLACE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"[^\s:()'"]\.[A-Za-z]\w{0,5}(?::\d+|\(\d+,\d+\))|", line \d+"#));

/// What a line of output tells about a failure.
#[derive(Clone, Copy, Default)]
struct FailureLine {
    /// It names what failed.
    is_name: bool,
    /// It says what was asserted.
    is_assertion: bool,
    /// It names a file and a line.
    is_place: bool,
    /// What follows belongs to another failure than what precedes.
    is_border: bool,
}

/// At most so many lines of an output that say most about its failures, in their order, each bounded.
#[must_use]
pub fn failure_lines(output: &str, lines_max: usize) -> Vec<String> {
    chosen_lines(output, lines_max, usize::MAX)
}

/// The same on one line of at most so many characters.
#[must_use]
pub fn failure_summary(output: &str, chars_max: usize) -> String {
    one_line(&chosen_lines(output, FAILED_LINES_MAX, chars_max).join(SEPARATOR), chars_max)
}

const SEPARATOR: &str = " | ";

fn chosen_lines(output: &str, lines_max: usize, chars_max: usize) -> Vec<String> {
    let lines: Vec<&str> = output.split(['\n', '\r']).filter(|line| says_something(line)).collect();
    let mut kept: Vec<(usize, String)> = Vec::new();
    let mut room = chars_max;
    for at in by_weight(&lines) {
        let line = shortened(lines[at]);
        let needed = line.chars().count() + SEPARATOR.len();
        if kept.len() >= lines_max || (needed > room && !kept.is_empty()) {
            break;
        }
        if kept.iter().all(|(_, known)| *known != line) {
            room = room.saturating_sub(needed);
            kept.push((at, line));
        }
    }
    kept.sort_by_key(|(at, _)| *at);
    kept.into_iter().map(|(_, line)| line).collect()
}

/// The lines, the most important first: of each failure its name, its assertion and its place; then what follows
/// the first failure. Without any, the lines as they come.
fn by_weight(lines: &[&str]) -> Vec<usize> {
    let read = read_lines(lines);
    let names: Vec<usize> = (0..lines.len()).filter(|at| read[*at].is_name).collect();
    let assertions = assertions(&read);
    let mut order = Vec::new();
    for turn in 0..names.len().max(assertions.len()) {
        order.extend(names.get(turn));
        match assertions.get(turn) {
            Some(assertion) => {
                order.push(head_of(lines, assertion));
                order.extend(place_of(lines, &read, assertion));
                // The first failure is shown with its values.
                if turn == 0 {
                    order.extend(assertion.clone().take(ASSERTION_LINES_MAX));
                }
            }
            None if assertions.is_empty() => {
                order.extend(place_of(lines, &read, &(names[turn]..names[turn] + 1)));
            }
            None => {}
        }
    }
    let first = order.iter().copied().min().unwrap_or_default();
    order.extend((first..lines.len()).filter(|at| !is_installed(lines[*at])));
    order
}

/// Lines of one assertion.
const ASSERTION_LINES_MAX: usize = 3;

fn read_lines(lines: &[&str]) -> Vec<FailureLine> {
    let mut read: Vec<FailureLine> = Vec::with_capacity(lines.len());
    // Lines that follow and are the message of a failure.
    let mut message_lines = 0;
    for line in lines.iter().map(|line| line.trim()) {
        let is_tap = TAP_ERROR.is_match(line);
        let is_message = message_lines > 0;
        message_lines = usize::saturating_sub(message_lines, 1);
        if is_tap && !line.ends_with('\'') {
            message_lines = 2;
        } else if line.contains("panicked at ") && line.ends_with(':') {
            message_lines = 1;
        }
        let is_name = !is_tap && names_failure(line);
        let is_place = PLACE.is_match(line) && !is_installed(line);
        let follows = read.last().is_some_and(|last: &FailureLine| last.is_assertion);
        let is_placed = PLACED_ASSERTION.is_match(line)
            && !FRAME.is_match(line)
            && !is_installed(line)
            && !line.contains("Warning");
        let is_assertion = !is_name
            && !PLACED_NAME.is_match(line)
            && (is_message
                || is_placed
                || (is_tap && line.ends_with('\''))
                || ASSERTION.is_match(line)
                || (line.contains("panicked at '") && is_place)
                || (follows && CONTINUATION.is_match(line)));
        let is_border = is_name || line.ends_with(" stdout ----");
        read.push(FailureLine { is_name, is_assertion, is_place, is_border });
    }
    read
}

/// The runs of lines that are assertions.
fn assertions(read: &[FailureLine]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in read.iter().enumerate().filter(|(_, line)| line.is_assertion) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// The line of an assertion that says most: its exception, else its first line.
fn head_of(lines: &[&str], assertion: &Range<usize>) -> usize {
    let exception = assertion.clone().find(|at| EXCEPTION.is_match(lines[*at].trim()));
    exception.unwrap_or(assertion.start)
}

/// The line with the file and the line of an assertion: the nearest one of the same failure.
fn place_of(lines: &[&str], read: &[FailureLine], assertion: &Range<usize>) -> Option<usize> {
    let own = assertion.clone().find(|at| read[*at].is_place);
    if own.is_some() || lines.is_empty() {
        return own;
    }
    let is_end = |at: &usize| read[*at].is_assertion || read[*at].is_border;
    let before = (0..assertion.start).rev().take(FAILED_PLACE_LINES_MAX);
    let before = before.take_while(|at| !is_end(at)).find(|at| read[*at].is_place);
    let after = (assertion.end..lines.len()).take(FAILED_PLACE_LINES_MAX);
    let after = after.take_while(|at| !is_end(at)).find(|at| read[*at].is_place);
    match (before, after) {
        (Some(before), Some(after)) if assertion.start - before > after + 1 - assertion.end => {
            Some(after)
        }
        (before, after) => before.or(after),
    }
}

fn names_failure(line: &str) -> bool {
    STARTS.iter().any(|start| line.starts_with(start))
        || ENDS.iter().any(|end| line.ends_with(end)) && !line.contains("Tests run:")
}

fn is_installed(line: &str) -> bool {
    INSTALLED.iter().any(|part| line.contains(part))
}

/// Whether a line is neither blank, nor a horizontal rule, nor the same at every failure.
fn says_something(line: &str) -> bool {
    let line = line.trim();
    // pytest points to a column below its line of code.
    let is_pointer =
        line.strip_prefix('E').is_some_and(|rest| !rest.contains(char::is_alphanumeric));
    !is_pointer
        && line.chars().any(char::is_alphanumeric)
        && !line.contains(" short test summary info ")
        && !EMPTY_WORDS.iter().any(|it| line.starts_with(it))
}

/// A line within its bound. One that names a place ends with it, so that it loses its beginning.
fn shortened(line: &str) -> String {
    let whole = one_line(line, usize::MAX);
    let surplus = whole.chars().count().saturating_sub(FAILED_LINE_CHARS_MAX);
    let is_path_first = PLACE.is_match(&whole) && !PLACED_ASSERTION.is_match(whole.trim());
    if surplus > 0 && is_path_first {
        let end: String = whole.chars().skip(surplus + 1).collect();
        return format!("…{end}");
    }
    one_line(&whole, FAILED_LINE_CHARS_MAX)
}

#[cfg(test)]
mod tests;
