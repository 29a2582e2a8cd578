//! Parses `RUBRIC.md`: the user's checks and criteria. Parsing is tolerant, because people write
//! it; unparsable parts are a gap, because a criterion that no judge sees is not met.

mod heading;

use self::heading::{RubricSection, heading};
use super::hunks::lines_of;
use crate::fences::{FencePart, FenceTracker};
use moai_base::foreign_text::one_line;
use moai_base::limits::{RUBRIC_CRITERIA_MAX, RUBRIC_HEADING_CHARS_MAX, RUBRIC_LINE_CHARS_MAX};
use moai_base::verdict::{Cause, Gap};

/// A parsed rubric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rubric {
    /// Model of the judge; `None` if the options decide.
    pub model: Option<String>,
    /// Consecutive rejections after which a person is asked.
    pub hitl_threshold: Option<u32>,
    /// Commands that must succeed first, verbatim.
    pub checks: Vec<String>,
    /// Criteria for the judge.
    pub criteria: Vec<RubricCriterion>,
    /// The reason why the rubric could not be parsed completely.
    pub gap: Option<Gap>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RubricCriterion {
    /// `C1`, `C2`, … in the order of the rubric.
    pub id: String,
    /// The user's text, on one line.
    pub text: String,
}

impl RubricCriterion {
    /// True if the criterion is about comments or documents. Only then are comments shown, because
    /// they sway a judge of correctness. In doubt they are shown, because a judge cannot find what
    /// is hidden.
    #[must_use]
    pub fn is_about_words(&self) -> bool {
        let text = self.text.to_lowercase();
        let mut words = text.split(|it: char| !it.is_alphanumeric());
        PARTS_ABOUT_WORDS.iter().any(|part| text.contains(part))
            || words.any(|word| WORDS_ABOUT_WORDS.contains(&word))
    }
}

/// Word parts for comments, their contents, and documents.
const PARTS_ABOUT_WORDS: [&str; 33] = [
    "comment",
    "docstring",
    "document",
    "javadoc",
    "jsdoc",
    "tsdoc",
    "godoc",
    "rustdoc",
    "doxygen",
    "readme",
    "changelog",
    "licen",
    "copyright",
    "spdx",
    "todo",
    "fixme",
    "suppress",
    "noqa",
    "nosec",
    "nolint",
    "lint",
    "pragma",
    "disable",
    "dead code",
    "typo",
    "spelling",
    "주석",
    "문서",
    "설명",
    "억제",
    "할 일",
    "라이선스",
    "오타",
];
/// Whole words only, because other words contain them.
const WORDS_ABOUT_WORDS: [&str; 6] = ["doc", "docs", "ignore", "ignores", "hack", "xxx"];

impl Rubric {
    /// Parses a rubric: front matter with `model` and `hitl_threshold`, list items below the
    /// headings `Checks` and `Judge criteria`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rubric = Self::default();
        let lines: Vec<&str> = lines_of(text).into_iter().map(str::trim_end).collect();
        let body = rubric.read_front_matter(&lines);
        rubric.read_sections(&lines[body..]);
        rubric
    }

    /// A rubric file that could not be read; its content is unknown.
    #[must_use]
    pub fn unreadable(reason: &str) -> Self {
        let mut rubric = Self::default();
        rubric.add_gap(reason);
        rubric
    }

    /// True if the rubric has neither a check nor a criterion.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.criteria.is_empty()
    }

    /// Returns the index of the first line after the front matter.
    fn read_front_matter(&mut self, lines: &[&str]) -> usize {
        let Some(first) = lines.iter().position(|line| !line.is_empty()) else { return 0 };
        if lines[first] != "---" {
            return 0;
        }
        let Some(length) = lines[first + 1..].iter().position(|line| *line == "---") else {
            if lines.get(first + 1).is_some_and(|line| is_front_matter(line)) {
                self.add_gap("its front matter is not closed by `---`");
            }
            return 0;
        };
        for line in &lines[first + 1..first + 1 + length] {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.split(" #").next().unwrap_or_default();
            let value = value.trim().trim_matches(['"', '\'']);
            match normalize_key(key).as_str() {
                "model" if !value.is_empty() => self.model = Some(one_line(value, 100)),
                "hitl_threshold" => match value.parse() {
                    Ok(threshold) if threshold > 0 => self.hitl_threshold = Some(threshold),
                    _ => self.add_gap(&format!("hitl_threshold is not a positive number: {value}")),
                },
                _ => {}
            }
        }
        first + length + 2
    }

    fn read_sections(&mut self, lines: &[&str]) {
        let mut place = RubricPosition { section: RubricSection::Other, depth: 0 };
        let mut fences = FenceTracker::default();
        let mut is_in_comment = false;
        for line in lines {
            let line =
                if fences.is_open() { line } else { strip_comments(line, &mut is_in_comment) };
            match (fences.part(line), heading(line)) {
                (FencePart::Fence, _) => {}
                (FencePart::Code, _) => self.read_line(&place, line, true),
                (FencePart::Prose, Some((depth, name))) => place.enter(depth, name),
                (FencePart::Prose, None) => self.read_line(&place, line, false),
            }
        }
        if fences.is_open() {
            self.add_gap("a block of code is not closed, and what follows may be criteria");
        }
        if is_in_comment {
            self.add_gap("a remark (<!--) is not closed, and what follows may be criteria");
        }
        if self.criteria.len() > RUBRIC_CRITERIA_MAX {
            self.add_gap(&format!("it has more than {RUBRIC_CRITERIA_MAX} judge criteria"));
            self.criteria.truncate(RUBRIC_CRITERIA_MAX);
        }
    }

    fn read_line(&mut self, place: &RubricPosition, line: &str, is_fenced: bool) {
        if !line.contains(char::is_alphanumeric) {
            return;
        }
        let is_nested = line.starts_with([' ', '\t']);
        match (item(line), &place.section) {
            // A title may mention criteria; prose below it asks for nothing.
            (None, RubricSection::Unknown(_)) if place.depth == 1 => {}
            (_, RubricSection::Unknown(name)) => {
                let name = one_line(name, RUBRIC_HEADING_CHARS_MAX);
                self.add_gap(&format!(
                    "the heading \"{name}\" is not known: call it `Checks`, `Judge criteria`, or \
                     something that speaks of neither"
                ));
            }
            (Some(text), RubricSection::Criteria) => self.add_criterion(text),
            (Some(text), RubricSection::Checks) => self.checks.push(command(text)),
            (None, RubricSection::Criteria) if is_nested => self.continue_criterion(line.trim()),
            (None, RubricSection::Criteria) => self.add_criterion(line.trim()),
            // Commands in a code block need no bullet; other prose among the checks is ignored.
            (None, RubricSection::Checks) if is_fenced && !line.starts_with('#') => {
                self.checks.push(command(line.trim()));
            }
            (_, RubricSection::Other) | (None, RubricSection::Checks) => {}
        }
    }

    fn add_criterion(&mut self, text: &str) {
        if text.chars().count() > RUBRIC_LINE_CHARS_MAX {
            let reason = format!("a criterion has more than {RUBRIC_LINE_CHARS_MAX} characters");
            self.add_gap(&reason);
        }
        let id = format!("C{}", self.criteria.len() + 1);
        self.criteria.push(RubricCriterion { id, text: one_line(text, RUBRIC_LINE_CHARS_MAX) });
    }

    /// An indented line continues the item above.
    fn continue_criterion(&mut self, more: &str) {
        match self.criteria.last_mut() {
            Some(last) => {
                last.text = one_line(&format!("{} {more}", last.text), RUBRIC_LINE_CHARS_MAX);
            }
            None => self.add_criterion(more),
        }
    }

    fn add_gap(&mut self, reason: &str) {
        self.gap
            .get_or_insert_with(|| Gap::new(Cause::ProjectFault, format!("RUBRIC.md: {reason}")));
    }
}

/// Current position in the sections.
struct RubricPosition {
    section: RubricSection,
    /// Depth of the section's heading.
    depth: usize,
}

impl RubricPosition {
    fn enter(&mut self, depth: usize, name: &str) {
        let next = heading::section(name);
        let is_known = matches!(next, RubricSection::Checks | RubricSection::Criteria);
        let is_inside = matches!(self.section, RubricSection::Checks | RubricSection::Criteria);
        // The format uses `# …` as remarks among the items; a deeper heading groups items.
        let is_part = is_inside && (depth == 1 || depth > 2 || depth > self.depth);
        if is_known || !is_part {
            *self = Self { section: next, depth };
        }
    }
}

/// The rest of a line after removing the `<!-- -->` comments at its start or around it.
fn strip_comments<'l>(line: &'l str, is_in_comment: &mut bool) -> &'l str {
    let mut rest = line;
    loop {
        if *is_in_comment {
            let Some((_, after)) = rest.split_once("-->") else { return "" };
            *is_in_comment = false;
            rest = after.trim_start();
        }
        match rest.trim_start().strip_prefix("<!--") {
            Some(inside) => (*is_in_comment, rest) = (true, inside),
            None => return rest,
        }
    }
}

/// True if a line has a front matter key of a rubric.
fn is_front_matter(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(key, _)| ["model", "hitl_threshold"].contains(&&*normalize_key(key)))
}

fn normalize_key(key: &str) -> String {
    key.trim().to_lowercase().replace('-', "_")
}

/// The text of a list item.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None if digits.len() < line.len() => digits.strip_prefix(['.', ')'])?,
        None => return None,
    };
    let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
    let boxes = ["[ ] ", "[x] ", "[X] "];
    let rest = boxes.iter().find_map(|it| rest.strip_prefix(it)).unwrap_or(rest).trim();
    (!rest.is_empty()).then_some(rest)
}

fn command(text: &str) -> String {
    let bare = text.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
    bare.filter(|it| !it.contains('`')).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests;
