//! Texts of `spec …` and of the pivot points.

use std::fmt::Write as _;

use super::{count_noun, sanitized_line, sanitized_name};
use moai_protocol::documents::specs::{
    NewSpecDocument, PivotCheckDocument, PivotPointEntry, PivotPointsDocument, SpecCheckDocument,
    SpecFaultEntry, SpecListDocument, SpecListEntry,
};

/// The created files, and the next step.
#[must_use]
pub fn created(document: &NewSpecDocument) -> String {
    let mut text = format!("created {}: {}\n", document.id, sanitized_line(&document.title));
    for file in &document.files {
        let _ = writeln!(text, "  {}", sanitized_name(file));
    }
    let _ =
        writeln!(text, "fill in what is in braces, then: moai-ralph spec check {}", document.id);
    text
}

/// One line for each specification.
#[must_use]
pub fn spec_list(document: &SpecListDocument) -> String {
    let mut text: String = document.specs.iter().map(list_line).collect();
    if document.specs.is_empty() {
        text.push_str("no specification yet: moai-ralph spec new TITLE\n");
    }
    text + &skipped_lines(&document.skipped)
}

fn list_line(entry: &SpecListEntry) -> String {
    let title = entry.title.as_deref().map(sanitized_line).unwrap_or_default();
    let todos = entry.todos;
    let failed =
        if todos.failed == 0 { String::new() } else { format!(", {} failed", todos.failed) };
    let faults = match entry.faults {
        0 => String::new(),
        number => format!("; {}", count_noun(number, "fault")),
    };
    format!(
        "{}: {title} ({}, {}/{} TODOs done{failed}{faults})\n",
        entry.id,
        count_noun(entry.requirements, "requirement"),
        todos.done,
        todos.total,
    )
}

fn skipped_lines(skipped: &[String]) -> String {
    let line = |folder: &String| {
        let folder = sanitized_name(folder);
        format!("not read: {folder} (its name is not an id such as SPEC-AUTH-001)\n")
    };
    skipped.iter().map(line).collect()
}

/// All faults, with a line for each specification without any.
#[must_use]
pub fn check_text(document: &SpecCheckDocument) -> String {
    let mut text = String::new();
    for spec in &document.specs {
        if spec.faults.is_empty() {
            let _ = writeln!(text, "{}: clean", spec.id);
        } else {
            let _ = writeln!(text, "{}: {}", spec.id, count_noun(spec.faults.len(), "fault"));
            text.push_str(&fault_lines(&spec.faults));
        }
    }
    if document.specs.is_empty() {
        text.push_str("no specification to check: moai-ralph spec new TITLE\n");
    }
    text + &skipped_lines(&document.skipped)
}

fn fault_lines(faults: &[SpecFaultEntry]) -> String {
    let line = |fault: &SpecFaultEntry| {
        let place = format!("{}:{}", sanitized_name(&fault.path), fault.line);
        format!("  {place}: {}\n", sanitized_line(&fault.reason))
    };
    faults.iter().map(line).collect()
}

/// The pivot points, and the faults of their file.
#[must_use]
pub fn pivot_list(document: &PivotPointsDocument) -> String {
    let mut text: String = document.points.iter().map(point_lines).collect();
    if !document.faults.is_empty() {
        text.push_str("the file cannot be used:\n");
        text.push_str(&fault_lines(&document.faults));
    } else if document.points.is_empty() {
        text.push_str("no pivot points yet: moai-ralph spec pivot add TEXT\n");
    }
    text
}

fn point_lines(point: &PivotPointEntry) -> String {
    let mut text = format!("{} {}: {}\n", point.id, point.status, sanitized_line(&point.title));
    if !point.reason.is_empty() {
        let _ = writeln!(text, "  reason: {}", sanitized_line(&point.reason));
    }
    for (name, parts) in [("protects", &point.protects), ("forbids", &point.forbids)] {
        if !parts.is_empty() {
            let _ = writeln!(text, "  {name}: {}", sanitized_line(&parts.join(", ")));
        }
    }
    text
}

/// The verdict about a proposal.
#[must_use]
pub fn pivot_verdict(document: &PivotCheckDocument) -> String {
    let mut text = match document.verdict {
        "accepted" => "accepted: no conflict with a pivot point is known\n".to_owned(),
        "ask" => "the user decides: it conflicts with provisional pivot points\n".to_owned(),
        _ => "rejected: it conflicts with confirmed pivot points\n".to_owned(),
    };
    for conflict in &document.conflicts {
        let title = sanitized_line(&conflict.title);
        let why = sanitized_line(&conflict.why);
        let _ = writeln!(text, "  {} {title}: {why}", conflict.id);
    }
    text
}

/// The context of `/moai-pivot` without arguments: the present points, and how to add more.
#[must_use]
pub fn pivot_interview(document: &PivotPointsDocument) -> String {
    format!(
        "[moai-ralph] pivot points of this project ({}):\n{}\
         Pivot points are constraints that the work must not change. Ask the user for them with \
         AskUserQuestion, at most four questions: interfaces and data that must stay compatible; \
         dependencies and technology that are fixed or excluded; security and privacy; files nobody \
         may touch. Add each answer with\n\
         moai-ralph spec pivot add TEXT [--confirmed] [--reason TEXT] [--protects PATTERN] \
         [--forbids WORDS]\n\
         with --confirmed only if the user said that it is fixed; otherwise it is provisional, and \
         the user is asked at a conflict. Do not edit the file yourself, and add nothing that the \
         user did not say.",
        sanitized_name(&document.path),
        pivot_list(document),
    )
}

/// The context of `/moai-pivot TEXT`: the user's own constraint was added.
#[must_use]
pub fn pivot_added(id: &str, document: &PivotPointsDocument) -> String {
    format!(
        "[moai-ralph] {id} was added as confirmed, because the user typed it.\n{}",
        pivot_list(document)
    )
}
