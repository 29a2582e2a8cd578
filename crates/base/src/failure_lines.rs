//! How the output of a failed command is shortened: the names of failed tests, what was asserted, and the file
//! and line of it come first, as the usual test runners and compilers write them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::foreign_text::one_line;
use crate::limits::{
    FAILED_CONTEXT_LINES_MAX, FAILED_LINE_CHARS_MAX, FAILED_LINES_MAX, FAILED_PLACE_LINES_MAX,
};

/// Beginnings of lines in which test runners and compilers name a failure.
const STARTS: [&str; 15] = [
    "FAILED ", "FAIL ", "FAIL: ", "FAIL\t", "ERROR: ", "ERROR ", "--- FAIL", "not ok ", "✕ ", "✗ ",
    "✖ ", "× ", "● ", "error[", "error: ",
];
/// Endings of such lines.
const ENDS: [&str; 4] = ["... FAILED", "... FAIL", "<<< FAILURE!", "<<< ERROR!"];
/// Beginnings of lines that name no failure of their own, but count those above.
const TOTALS: [&str; 4] =
    ["FAILED (", "error: could not compile ", "error: test failed, to rerun ", "✖ failing tests:"];
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
const EMPTY_WORDS: [&str; 6] = [
    "Traceback (most recent call last)",
    "note: run with `RUST_BACKTRACE",
    "Error Trace:",
    "duration_ms",
    "# duration_ms",
    "failureType:",
];

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// What was asserted: an exception with its message, a line of pytest, an `expect` of jest.
static ASSERTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:E\s{2,}\S|expect\(|(?:# )?(?:[\w$]+\.)*\w*(?:Error|Exception)(?: \[\w+\])?(?:: |:$|$))",
    )
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
    pattern(r"^(?:(?i:expected|received|actual|left|right|got|want)\s*:|\S.* [!=]==? \S)")
});
/// A line of the difference between two values.
static DIFFERENCE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[-+](?:\s+\S|[^-+>\s])"));
/// The message of an assertion of Node.js that ends in the next line.
static OPEN_MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?:Expected (?:values|"actual") .*|evaluated to a falsy value|\. Input):$"#)
});
/// What rustc writes below the code of an error.
static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\|\s.*\^+ \S"));
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
    /// It belongs to the assertion above it, perhaps after lines that two values have in common.
    is_difference: bool,
    /// It names a file and a line.
    is_place: bool,
    /// What follows belongs to another failure than what precedes.
    is_border: bool,
}

/// What is repeated of the output of a failed command.
#[derive(Clone, Debug, Default)]
pub struct FailureLines {
    /// The lines that say most about its failures, in their order, each bounded.
    pub lines: Vec<String>,
    /// The failures that none of these lines is about.
    pub more: usize,
}

/// At most so many lines of an output.
#[must_use]
pub fn failure_lines(output: &str, lines_max: usize) -> FailureLines {
    chosen_lines(output, lines_max, usize::MAX)
}

/// The same on one line of at most so many characters.
#[must_use]
pub fn failure_summary(output: &str, chars_max: usize) -> String {
    let chosen = chosen_lines(output, FAILED_LINES_MAX, chars_max);
    one_line(&chosen.lines.join(SEPARATOR), chars_max)
}

const SEPARATOR: &str = " | ";

fn chosen_lines(output: &str, lines_max: usize, chars_max: usize) -> FailureLines {
    let whole_lines = whole_lines(output);
    let lines: Vec<&str> = whole_lines.iter().map(String::as_str).collect();
    let weighed = weigh(&lines);
    let mut kept: Vec<(usize, String)> = Vec::new();
    let mut room = chars_max;
    for at in weighed.order {
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
    let kept: Vec<String> = kept.into_iter().map(|(_, line)| line).collect();
    // A runner can list its failures twice.
    let heads: BTreeSet<String> = weighed.heads.iter().map(|at| shortened(lines[*at])).collect();
    let more = heads.iter().filter(|head| !kept.contains(head)).count();
    FailureLines { lines: kept, more }
}

/// The lines that say something; a message that ends in the next line is one line.
fn whole_lines(output: &str) -> Vec<String> {
    let mut whole: Vec<String> = Vec::new();
    for line in output.split(['\n', '\r']).filter(|line| says_something(line)) {
        match whole.last_mut() {
            Some(last) if OPEN_MESSAGE.is_match(last) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => whole.push(line.trim_end().to_owned()),
        }
    }
    whole
}

/// Lines of an output by what they say about its failures.
struct WeighedLines {
    /// The most important first.
    order: Vec<usize>,
    /// One line of each failure.
    heads: Vec<usize>,
}

/// Of each failure its name, its assertion and its place, of the first one also its values; then the values
/// of the others; then what follows the first failure. Without any, the lines as they come.
fn weigh(lines: &[&str]) -> WeighedLines {
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
                if turn == 0 {
                    order.extend(values_of(&read, assertion));
                }
            }
            None if assertions.is_empty() => {
                order.extend(place_of(lines, &read, &(names[turn]..names[turn] + 1)));
            }
            None => {}
        }
    }
    order.extend(assertions.iter().flat_map(|assertion| values_of(&read, assertion)));
    let first = order.iter().copied().min().unwrap_or_default();
    let is_filler = |at: &usize| !is_installed(lines[*at]) && !read[*at].is_border;
    order.extend((first..lines.len()).filter(is_filler));
    let heads = if assertions.is_empty() {
        names
    } else {
        assertions.iter().map(|assertion| head_of(lines, assertion)).collect()
    };
    WeighedLines { order, heads }
}

/// The first lines of an assertion.
fn values_of(read: &[FailureLine], assertion: &Range<usize>) -> impl Iterator<Item = usize> {
    assertion.clone().filter(|at| read[*at].is_assertion).take(ASSERTION_LINES_MAX)
}

/// Lines of one assertion.
const ASSERTION_LINES_MAX: usize = 3;

fn read_lines(lines: &[&str]) -> Vec<FailureLine> {
    let mut read: Vec<FailureLine> = Vec::with_capacity(lines.len());
    // Whether the next line is the message of a failure.
    let mut has_message = false;
    // Lines since the last one of an assertion.
    let mut apart = usize::MAX;
    // Whether the label of an error of rustc is to come.
    let mut has_label = false;
    for line in lines.iter().map(|line| line.trim()) {
        let is_tap = TAP_ERROR.is_match(line);
        let is_message = has_message;
        has_message = (is_tap && !line.ends_with('\''))
            || (line.contains("panicked at ") && line.ends_with(':'));
        let is_name = !is_tap && names_failure(line);
        // Node.js names the line of the test before that of the assertion.
        let is_place =
            PLACE.is_match(line) && !is_installed(line) && !line.starts_with("location: ");
        let is_difference = apart <= FAILED_CONTEXT_LINES_MAX && DIFFERENCE.is_match(line);
        if line.starts_with("error") || line.starts_with("warning") {
            has_label = line.starts_with("error");
        }
        let is_label = has_label && LABEL.is_match(line);
        has_label &= !is_label;
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
                || is_label
                || is_difference
                || (apart == 0 && CONTINUATION.is_match(line)));
        let is_heading = line.starts_with("___") && line.ends_with("___");
        let is_border = is_name || is_heading || line.ends_with(" stdout ----");
        apart = match (is_assertion, is_border) {
            (true, _) => 0,
            (false, true) => usize::MAX,
            (false, false) => apart.saturating_add(1),
        };
        read.push(FailureLine { is_name, is_assertion, is_difference, is_place, is_border });
    }
    read
}

/// The assertions, each from its first line to its last one.
fn assertions(read: &[FailureLine]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, line) in read.iter().enumerate().filter(|(_, line)| line.is_assertion) {
        match runs.last_mut() {
            Some(run) if run.end == at || line.is_difference => run.end = at + 1,
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
        && !TOTALS.iter().any(|start| line.starts_with(start))
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
