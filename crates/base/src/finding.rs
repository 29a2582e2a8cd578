//! A finding, one problem at one place from any sensor, and its fingerprint.

use std::collections::HashMap;

use serde::Serialize;

use super::foreign_text::one_line;
use super::hash::ContentHash;
use super::limits::MESSAGE_CHARS_MAX;
use super::path::RelPath;
use super::text::TextRange;

/// Severity in LSP's four degrees, ordered from hint to error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Hint,
    Info,
    Warning,
    Error,
}

impl Severity {
    /// All severities, worst first.
    pub const ALL: [Self; 4] = [Self::Error, Self::Warning, Self::Info, Self::Hint];

    /// The name in reports and rule files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Hint => "hint",
        }
    }
}

/// State of a finding relative to the last verified set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    /// Not in the last verified set.
    Introduced,
    /// Also in the last verified set.
    Existing,
    /// There is no verified set to compare with, or another writer may have introduced it.
    #[default]
    Unknown,
}

/// The place of a new finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingPlace {
    pub path: RelPath,
    /// The range in the file.
    pub range: TextRange,
    /// Hash of the file's bytes.
    pub content_hash: ContentHash,
}

/// One problem at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The sensor: a language server's id (`pyright`), `scan`, or a check's name.
    pub sensor: String,
    /// The sensor's own code or rule id; may be empty.
    pub code: String,
    pub severity: Severity,
    pub path: RelPath,
    /// The range in the file.
    pub range: TextRange,
    /// The problem and, for built-in rules, the remedy; one line.
    pub message: String,
    pub state: FindingState,
    /// Weakness ids such as `CWE-89`.
    pub cwe: Vec<String>,
    pub url: Option<String>,
    /// A short remedy, or the replacement text of a safe fix.
    pub fix: Option<String>,
    /// Hash of the bytes that the finding is about.
    pub content_hash: ContentHash,
    /// Fingerprint: 16 hex digits, set by [`assign_fingerprints`].
    pub id: String,
    /// Identifies the finding, with sensor, code and path: the message of a diagnostic, or the text
    /// that a rule matched. White space does not count.
    pub anchor: String,
}

impl Finding {
    /// A finding with empty optional fields; the message is cut to one bounded line.
    #[must_use]
    pub fn new(
        sensor: &str,
        code: &str,
        severity: Severity,
        place: FindingPlace,
        message: &str,
    ) -> Self {
        let message = one_line(message, MESSAGE_CHARS_MAX);
        Self {
            sensor: sensor.to_owned(),
            code: code.to_owned(),
            severity,
            path: place.path,
            range: place.range,
            content_hash: place.content_hash,
            state: FindingState::Unknown,
            cwe: Vec::new(),
            url: None,
            fix: None,
            id: String::new(),
            anchor: message.clone(),
            message,
        }
    }

    /// True if the finding was not in the last verified set.
    #[must_use]
    pub fn is_introduced(&self) -> bool {
        self.state == FindingState::Introduced
    }

    /// Equal for the same finding in different texts of one file: sensor, code, path and anchor,
    /// without the line numbers that a message quotes.
    #[must_use]
    pub fn identity(&self) -> String {
        [&self.sensor, &self.code, self.path.as_str(), &self.plain_anchor()].join("\0")
    }

    /// Hash of the anchor as used in [`Finding::identity`]: 16 hex digits.
    #[must_use]
    pub fn anchor_hash(&self) -> String {
        ContentHash::of_bytes(self.plain_anchor().as_bytes()).short_hex()
    }

    fn plain_anchor(&self) -> String {
        without_line_numbers(&one_line(&self.anchor, MESSAGE_CHARS_MAX))
    }
}

/// The message without the numbers in `line 12`, `lines 3` and `a.c:12:5`, which change whenever
/// code moves.
fn without_line_numbers(message: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(message.len()), message);
    while let Some(at) = rest.bytes().position(|byte| byte.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        out.push_str(before);
        out.push_str(if precedes_line_number(&out) { "#" } else { &number[..digits] });
        rest = &number[digits..];
    }
    out.push_str(rest);
    out
}

fn precedes_line_number(text: &str) -> bool {
    let tail = &text.as_bytes()[text.len().saturating_sub("lines ".len())..];
    let tail = tail.to_ascii_lowercase();
    ["line ", "lines ", ":"].iter().any(|word| tail.ends_with(word.as_bytes()))
}

/// True if one of the findings is an error.
#[must_use]
pub fn has_errors(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Error)
}

/// Sorts findings by place, removes exact duplicates and sets each fingerprint: a hash of the
/// identity and of the number of equal findings before it. It contains no line number, so it
/// survives edits elsewhere in the file, and two occurrences differ.
pub fn assign_fingerprints(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        (&a.path, a.range, &a.sensor, &a.code, &a.message)
            .cmp(&(&b.path, b.range, &b.sensor, &b.code, &b.message))
    });
    findings.dedup_by(|a, b| {
        (&a.path, a.range, &a.sensor, &a.code, &a.message)
            == (&b.path, b.range, &b.sensor, &b.code, &b.message)
    });
    let mut seen: HashMap<String, usize> = HashMap::new();
    for finding in findings {
        let key = finding.identity();
        let ordinal = seen.entry(key.clone()).or_insert(0);
        finding.id = ContentHash::of_bytes(format!("{key}\0{ordinal}").as_bytes()).short_hex();
        *ordinal += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::finding;

    fn ids(mut findings: Vec<Finding>) -> Vec<String> {
        assign_fingerprints(&mut findings);
        findings.into_iter().map(|finding| finding.id).collect()
    }

    #[test]
    fn a_fingerprint_survives_moved_lines_and_differs_between_two_occurrences() {
        let before = ids(vec![finding("a.py", 3, "x"), finding("a.py", 9, "x")]);
        let after = ids(vec![finding("a.py", 13, "x"), finding("a.py", 19, "x")]);
        assert_eq!(before, after);
        assert_ne!(before[0], before[1]);
        assert_ne!(ids(vec![finding("a.py", 3, "x")]), ids(vec![finding("b.py", 3, "x")]));
        assert_ne!(ids(vec![finding("a.py", 3, "x")]), ids(vec![finding("a.py", 3, "y")]));
    }

    #[test]
    fn only_line_numbers_in_a_message_are_ignored() {
        for (message, other, is_same) in [
            ("already defined on line 12", "already defined on line 9", true),
            ("note: see a.c:3:14: here", "note: see a.c:103:2: here", true),
            ("expected 2 arguments", "expected 3 arguments", false),
            ("see line 4 of b2", "see line 5 of b3", false),
        ] {
            let [one, two] = [message, other].map(|text| ids(vec![finding_with_message(text)]));
            assert_eq!(one == two, is_same, "{message} / {other}");
        }
    }

    fn finding_with_message(message: &str) -> Finding {
        let Finding { path, range, content_hash, .. } = finding("a.c", 3, "x");
        let place = FindingPlace { path, range, content_hash };
        Finding::new("s", "c", Severity::Error, place, message)
    }

    #[test]
    fn a_repeated_diagnostic_is_one_finding() {
        assert_eq!(ids(vec![finding("a.py", 3, "x"), finding("a.py", 3, "x")]).len(), 1);
    }
}
