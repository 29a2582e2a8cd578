//! One observation in place of a session's edits, or failed commands, of one day: their files or
//! commands with counts, and the titles by which they are found.

use std::collections::BTreeMap;

use moai_base::foreign_text::one_line;
use moai_base::limits::{
    MEMORY_NAMES_MAX, OBSERVED_TITLE_CHARS_MAX, SUMMARY_BODY_CHARS_MAX, SUMMARY_LABEL_CHARS_MAX,
    SUMMARY_LABELS_MAX,
};

use crate::clean::CleanText;
use crate::observation::{NewObservation, StoredObservation};

/// Begins the title of a summary, before the number of observations that it replaces. Other titles
/// begin with a path or a command.
const MARK: &str = "Σ ";

fn is_summary(observation: &StoredObservation) -> bool {
    observation.title.starts_with(MARK)
}

/// The summary of rows of one project, session and kind, the oldest first; `None` if there are
/// none, or if nothing of their titles may be stored.
#[must_use]
pub fn summary(rows: &[StoredObservation]) -> Option<NewObservation> {
    let last = rows.iter().max_by_key(|row| row.at_ms)?;
    let count: u64 = rows.iter().map(|row| 1 + u64::from(row.repeats)).sum();
    let title = format!("{MARK}{count}: {}", labels(rows).join(", "));
    let lines = body_lines(rows);
    Some(NewObservation {
        external_id: None,
        project: last.project.clone(),
        session: last.session.clone(),
        kind: last.kind,
        at_ms: last.at_ms,
        title: CleanText::of(&one_line(&title, OBSERVED_TITLE_CHARS_MAX))?,
        body: CleanText::of(&lines.join("\n")),
        files: names(rows.iter().flat_map(|row| &row.files)),
        codes: names(rows.iter().flat_map(|row| &row.codes)),
        shapes: Vec::new(),
        provenance: rows.iter().map(|row| row.provenance).min()?,
        importance: rows.iter().map(|row| row.importance).fold(0.0, f64::max),
        outcome: None,
        visibility: last.visibility,
        repeats: u32::try_from(count - 1).unwrap_or(u32::MAX),
    })
}

/// The files, or else the titles, with their counts; the most frequent first.
fn labels(rows: &[StoredObservation]) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        for line in titles(row) {
            let label = line_label(row, line);
            *counts.entry(label).or_default() +=
                if is_summary(row) { 1 } else { 1 + u64::from(row.repeats) };
        }
    }
    let mut counted: Vec<(String, u64)> = counts.into_iter().collect();
    counted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = counted.len().saturating_sub(SUMMARY_LABELS_MAX);
    let shown = counted.into_iter().take(SUMMARY_LABELS_MAX);
    let mut labels: Vec<String> = shown
        .map(|(label, count)| if count > 1 { format!("{label} ×{count}") } else { label })
        .collect();
    if more > 0 {
        labels.push(format!("+{more}"));
    }
    labels
}

/// The label of a title: the file at its beginning, or all of it.
fn line_label(row: &StoredObservation, line: &str) -> String {
    let file =
        row.files.iter().filter(|file| line.starts_with(file.as_str())).max_by_key(|it| it.len());
    file.cloned().unwrap_or_else(|| one_line(line, SUMMARY_LABEL_CHARS_MAX))
}

/// The title of an ordinary row, the lines of a summary.
fn titles(row: &StoredObservation) -> Vec<&str> {
    if is_summary(row) { row.body.lines().collect() } else { vec![row.title.as_str()] }
}

/// Each title once, in the order of their times, as many as fit.
fn body_lines(rows: &[StoredObservation]) -> Vec<&str> {
    let mut lines: Vec<&str> = Vec::new();
    let mut room = SUMMARY_BODY_CHARS_MAX;
    for line in rows.iter().flat_map(titles) {
        let length = line.chars().count() + 1;
        if length <= room && !lines.contains(&line) {
            room -= length;
            lines.push(line);
        }
    }
    lines
}

fn names<'n>(names: impl Iterator<Item = &'n String>) -> Vec<CleanText> {
    let mut known: Vec<&String> = Vec::new();
    for name in names {
        if known.len() < MEMORY_NAMES_MAX && !known.contains(&name) {
            known.push(name);
        }
    }
    known.into_iter().filter_map(|name| CleanText::of(name)).collect()
}
