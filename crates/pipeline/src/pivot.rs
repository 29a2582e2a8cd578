//! Pivot points: constraints that work must not change. Workers propose discoveries, and each
//! proposal is checked against them: a conflict with a confirmed one is rejected, one with a
//! provisional one is the user's decision.

mod check;
mod edit;
mod read;

pub use self::check::{
    Discovery, DiscoveryVerdict, PivotConflict, check_discovery, protected_files,
};
pub use self::edit::{PivotDraft, PivotEditError};
use crate::document::DocumentFault;
use moai_loops::named_variants;

/// The file of a project's pivot points, below the root.
pub const PIVOT_FILE: &str = ".moai/specs/pivot-points.md";

/// A parsed file of pivot points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PivotDocument {
    /// The points in the order of the file.
    pub points: Vec<PivotPoint>,
    /// The reasons why the file cannot be used, in the order of the lines.
    pub faults: Vec<DocumentFault>,
}

/// One constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PivotPoint {
    /// Its id: `PP-1`.
    pub id: PivotId,
    /// 1-based line.
    pub line: usize,
    /// The constraint, on one line.
    pub title: String,
    /// The state of the user's confirmation.
    pub status: PivotStatus,
    /// The reason for it, on one line.
    pub reason: String,
    /// Patterns of files that a discovery must not change.
    pub protects: Vec<String>,
    /// Words that no discovery may propose.
    pub forbids: Vec<String>,
    /// Bytes of the status in the file; `None` if it has none.
    status_range: Option<std::ops::Range<usize>>,
}

/// Firmness of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PivotStatus {
    /// Immutable.
    Confirmed,
    /// An assumption; the user decides about conflicts.
    Provisional,
}

named_variants!(PivotStatus { Confirmed: "CONFIRMED", Provisional: "PROVISIONAL" });

/// The id of a pivot point: `PP-1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PivotId(u32);

impl PivotId {
    /// Parses an id alone.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::leading(text.trim()).filter(|(_, rest)| rest.is_empty()).map(|(id, _)| id)
    }

    /// The id at the start of a text, and the rest.
    fn leading(text: &str) -> Option<(Self, &str)> {
        let digits = text.strip_prefix("PP-").or_else(|| text.strip_prefix("pp-"))?;
        let rest = digits.trim_start_matches(|it: char| it.is_ascii_digit());
        let number = digits[..digits.len() - rest.len()].parse().ok()?;
        let is_whole = !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_');
        is_whole.then_some((Self(number), rest))
    }
}

impl std::fmt::Display for PivotId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "PP-{}", self.0)
    }
}

impl PivotDocument {
    /// Parses a file of pivot points. Parsing never fails; unreadable parts become faults.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        read::read_points(text)
    }
}

#[cfg(test)]
mod tests;
