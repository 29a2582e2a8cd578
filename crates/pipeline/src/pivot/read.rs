//! Reads a file of pivot points.

use super::{PivotDocument, PivotId, PivotPoint, PivotStatus};
use crate::document::{
    DocumentLine, FaultList, document_lines, is_placeholder, named_value, quoted_words,
};
use moai_base::foreign_text::one_line;
use moai_base::limits::{PIVOT_POINTS_MAX, PLAN_TEXT_CHARS_MAX, PLAN_TITLE_CHARS_MAX};

/// Parses the file with all its faults.
pub(super) fn read_points(text: &str) -> PivotDocument {
    let mut faults = FaultList::default();
    let lines = document_lines(text, &mut faults);
    let mut document = PivotDocument::default();
    let mut is_inside = false;
    for line in lines.iter().filter(|line| !line.is_code) {
        if let Some((_, heading)) = line.heading() {
            is_inside = begin_point(&mut document, line, heading, &mut faults);
        } else if is_inside && let Some(point) = document.points.last_mut() {
            read_field(point, line, &mut faults);
        }
    }
    for point in &document.points {
        if point.status_range.is_none() {
            let reason = format!("{} has no status: CONFIRMED or PROVISIONAL", point.id);
            faults.add(point.line, reason);
        }
    }
    document.faults = faults.into_sorted();
    document
}

/// True if the heading begins a point that can be read.
fn begin_point(
    document: &mut PivotDocument,
    line: &DocumentLine<'_>,
    heading: &str,
    faults: &mut FaultList,
) -> bool {
    let bare = heading.trim_matches(['*', ' ']);
    let Some((id, title)) = PivotId::leading(bare) else {
        if bare.to_ascii_uppercase().starts_with("PP-") {
            faults.add(line.number, format!("{} is not an id such as PP-1", quoted_words(bare)));
        }
        return false;
    };
    if document.points.len() == PIVOT_POINTS_MAX {
        let reason = format!("the file has more than {PIVOT_POINTS_MAX} pivot points");
        faults.add(line.number, reason);
        return false;
    }
    if let Some(other) = document.points.iter().find(|other| other.id == id) {
        faults.add(line.number, format!("{id} is also on line {}", other.line));
    }
    let title = title.trim_start_matches([':', '：', ' ', '-', '—', '.']).trim_end_matches('*');
    let title = one_line(title, PLAN_TITLE_CHARS_MAX);
    if title.is_empty() || is_placeholder(&title) {
        faults.add(line.number, format!("{id} says nothing"));
    }
    document.points.push(PivotPoint {
        id,
        line: line.number,
        title,
        status: PivotStatus::Provisional,
        reason: String::new(),
        protects: Vec::new(),
        forbids: Vec::new(),
        status_range: None,
    });
    true
}

fn read_field(point: &mut PivotPoint, line: &DocumentLine<'_>, faults: &mut FaultList) {
    let text = line.list_item().unwrap_or_else(|| line.text.trim());
    let Some((name, value)) = named_value(text) else { return };
    match name.as_str() {
        "status" | "상태" => {
            let word = value.trim_matches(['*', '`', '[', ']', ' ']);
            let status = match word.to_uppercase().as_str() {
                "CONFIRMED" | "확정" => PivotStatus::Confirmed,
                "PROVISIONAL" | "잠정" => PivotStatus::Provisional,
                _ => {
                    let word = quoted_words(value);
                    let reason = format!("{word} is no status: CONFIRMED or PROVISIONAL");
                    return faults.add(line.number, reason);
                }
            };
            // The value is the last occurrence of the word on its line.
            let start = line.text.rfind(word).map(|at| line.start + at);
            point.status = status;
            point.status_range = start.map(|start| start..start + word.len());
        }
        "reason" | "이유" | "근거" => point.reason = one_line(value, PLAN_TEXT_CHARS_MAX),
        "protects" | "보호" => point.protects.extend(parts(value)),
        "forbids" | "금지" => point.forbids.extend(parts(value)),
        _ => {}
    }
}

/// The parts of a list on one line, without quotes.
fn parts(value: &str) -> Vec<String> {
    let parts = value.split([',', ';']).map(|part| part.trim().trim_matches(['`', '"', '\'']));
    parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
