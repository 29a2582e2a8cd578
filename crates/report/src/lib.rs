//! All texts for agents and people, and the JSON of the public contract. Pure: values in, text out.

pub mod agent;
pub mod align;
pub mod answers;
pub mod checks_report;
pub mod contributions;
pub mod demo;
pub mod doctor;
pub mod excerpt;
mod framework;
pub mod github;
pub mod hosts;
pub mod human;
pub mod json;
pub mod jsonl;
pub mod judging;
pub mod loops;
pub mod memory;
pub mod merging;
pub mod notice;
pub mod observed;
pub mod options;
pub mod person_questions;
pub mod pipeline;
pub mod pipeline_end;
pub mod pipeline_evidence;
pub mod pipeline_exam;
pub mod pipeline_status;
pub mod pipeline_worktrees;
pub mod plan_approval;
pub mod plan_objections;
pub mod recall;
pub mod rename;
pub mod restore;
pub mod rewrite;
pub mod rule_tests;
pub mod sarif;
pub mod search;
pub mod servers;
pub mod specs;
pub mod spending;
pub mod store_health;
pub mod tools;
pub mod trust;
mod wording;
pub mod workers;

use moai_base::finding::{Finding, Severity};
use moai_base::foreign_text::{one_line, one_line_name, quoted, quoted_lines};
use moai_base::limits::LINE_CHARS_MAX;

/// `1 error`, `2 errors`.
fn count_noun(number: usize, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}

/// `2 errors, 1 warning`; infos and hints count as notes. Empty for nothing.
fn severity_counts<'f>(findings: impl Iterator<Item = &'f Finding>) -> String {
    let (mut errors, mut warnings, mut notes) = (0, 0, 0);
    for finding in findings {
        match finding.severity {
            Severity::Error => errors += 1,
            Severity::Warning => warnings += 1,
            Severity::Info | Severity::Hint => notes += 1,
        }
    }
    let parts = [(errors, "error"), (warnings, "warning"), (notes, "note")];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    parts.map(|(number, word)| count_noun(*number, word)).collect::<Vec<_>>().join(", ")
}

/// One finding on one line, positions 1-based:
/// `error src/a.py:10:5 pyright(reportArgumentType): …`.
fn finding_line(finding: &Finding) -> String {
    let start = finding.range.start;
    let tags: Vec<&str> = std::iter::once(finding.code.as_str())
        .chain(finding.cwe.iter().map(String::as_str))
        .filter(|tag| !tag.is_empty())
        .collect();
    let tags = if tags.is_empty() { String::new() } else { format!("({})", tags.join(", ")) };
    let fix = finding.fix.as_ref().map(|fix| format!(" fix: {fix}")).unwrap_or_default();
    let line = format!(
        "{} {}:{}:{} {}{tags}: {}{fix}",
        finding.severity.as_str(),
        sanitized_name(finding.path.as_str()),
        start.line + 1,
        start.character + 1,
        finding.sensor,
        finding.message,
    );
    one_line(&line, LINE_CHARS_MAX)
}

/// A text of foreign origin with its lines.
fn sanitized_text(text: &str) -> String {
    quoted(text, usize::MAX)
}

/// Foreign text on one line: a reason, a sentence, a line of a log.
fn sanitized_line(text: &str) -> String {
    one_line(text, LINE_CHARS_MAX)
}

/// A name of foreign origin as it may be shown: a file name can hold line breaks and escapes.
fn sanitized_name(name: &str) -> String {
    one_line_name(name, LINE_CHARS_MAX)
}

/// Foreign text below a line of ours that states its source: each line behind a gutter.
fn push_quoted(text: &mut String, foreign: &str) {
    for line in quoted_lines(foreign) {
        text.push_str(&line);
        text.push('\n');
    }
}
