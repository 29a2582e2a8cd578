//! Edits of the file by the engine: a point is added at the end, or a provisional one is confirmed.
//! No edit weakens a constraint, and every other byte is preserved.

use super::{PivotDocument, PivotId, PivotStatus};
use moai_base::foreign_text::one_line;
use moai_base::limits::{PIVOT_POINTS_MAX, PLAN_TEXT_CHARS_MAX, PLAN_TITLE_CHARS_MAX};

/// A point to add.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PivotDraft {
    pub title: String,
    /// The state of the user's confirmation.
    pub status: PivotStatus,
    /// The reason for it.
    pub reason: Option<String>,
    /// Patterns of files that a discovery must not change.
    pub protects: Vec<String>,
    /// Words that no discovery may propose.
    pub forbids: Vec<String>,
}

/// The reason why a file of pivot points cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PivotEditError {
    /// The file has faults; the first one.
    #[error("the file of pivot points cannot be used: {0}")]
    Faulty(String),
    /// No point has this id.
    #[error("there is no {0}")]
    UnknownPoint(PivotId),
    /// The constraint is empty.
    #[error("a pivot point needs a text")]
    Empty,
    /// The file is full.
    #[error("there are {PIVOT_POINTS_MAX} pivot points already")]
    TooMany,
}

/// Beginning of a new file.
const HEADING: &str =
    "# Pivot points\n\nConstraints that the work must not change. CONFIRMED ones are immutable.\n";

impl PivotDocument {
    /// The text with a point added at the end, and the id of the point. `text` is `None` for a new
    /// file.
    pub fn append(
        text: Option<&str>,
        draft: &PivotDraft,
    ) -> Result<(String, PivotId), PivotEditError> {
        let title = one_line(&draft.title, PLAN_TITLE_CHARS_MAX).replace("<!--", "‹!--");
        if title.trim().is_empty() {
            return Err(PivotEditError::Empty);
        }
        let points = Self::parse_sound(text.unwrap_or_default())?.points;
        if points.len() == PIVOT_POINTS_MAX {
            return Err(PivotEditError::TooMany);
        }
        let last = points.iter().map(|point| point.id.0).max().unwrap_or(0);
        let id = PivotId(last.saturating_add(1));
        let mut lines = vec![
            String::new(),
            format!("## {id}: {title}"),
            format!("- Status: {}", draft.status.as_str()),
        ];
        if let Some(reason) = &draft.reason {
            let reason = one_line(reason, PLAN_TEXT_CHARS_MAX).replace("<!--", "‹!--");
            lines.push(format!("- Reason: {reason}"));
        }
        if !draft.protects.is_empty() {
            lines.push(format!("- Protects: {}", quoted_list(&draft.protects)));
        }
        if !draft.forbids.is_empty() {
            lines.push(format!("- Forbids: {}", quoted_list(&draft.forbids)));
        }
        let text = text.unwrap_or(HEADING);
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut edited = text.to_owned();
        if !edited.is_empty() && !edited.ends_with('\n') {
            edited.push_str(line_end);
        }
        for line in lines {
            edited.push_str(&line);
            edited.push_str(line_end);
        }
        Ok((edited, id))
    }

    /// The text with a point confirmed.
    pub fn confirm(text: &str, id: &PivotId) -> Result<String, PivotEditError> {
        let document = Self::parse_sound(text)?;
        let mut points = document.points.iter();
        let point = points.find(|point| point.id == *id);
        let range = point.and_then(|point| point.status_range.clone());
        let range = range.ok_or_else(|| PivotEditError::UnknownPoint(id.clone()))?;
        let mut edited = text.to_owned();
        if !matches!(point, Some(point) if point.status == PivotStatus::Confirmed) {
            edited.replace_range(range, PivotStatus::Confirmed.as_str());
        }
        Ok(edited)
    }

    fn parse_sound(text: &str) -> Result<Self, PivotEditError> {
        let document = Self::parse(text);
        match document.faults.first() {
            Some(fault) => Err(PivotEditError::Faulty(fault.to_string())),
            None => Ok(document),
        }
    }
}

fn quoted_list(parts: &[String]) -> String {
    let quoted = parts.iter().map(|part| {
        let part = one_line(part, PLAN_TITLE_CHARS_MAX).replace(['`', ',', ';'], " ");
        format!("`{}`", part.trim())
    });
    quoted.collect::<Vec<_>>().join(", ")
}
