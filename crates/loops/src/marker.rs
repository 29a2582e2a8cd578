//! The marker of an active loop: a second record outside the store, compared with the loop's row in
//! the store.

use std::path::PathBuf;

use super::framework::MessageLanguage;
use super::state::{LoopState, Status};

/// The progress of a loop, reported to the user if mark and row differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopSummary {
    pub status: Status,
    /// Stops decided so far.
    pub iteration: u32,
    /// The limit of `iteration`.
    pub max_iterations: u32,
}

impl LoopSummary {
    /// The progress in a loop's state.
    #[must_use]
    pub fn of(state: &LoopState) -> Self {
        let LoopState { status, iteration, max_iterations, .. } = *state;
        Self { status, iteration, max_iterations }
    }
}

/// One mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopMarker {
    pub id: String,
    /// The root it was started in.
    pub root: PathBuf,
    /// Its session, once one has claimed it.
    pub session_id: Option<String>,
    /// The database with the loop.
    pub store: PathBuf,
    /// The pipeline whose loop it is.
    pub pipeline: Option<String>,
    /// The language of its task.
    pub language: MessageLanguage,
    /// Its progress when the mark was written.
    pub standing: LoopSummary,
    /// Digests that its row may have: two while a change is being saved, from before and after it.
    /// [`NO_ROW`] stands for a loop that is not stored yet.
    pub digests: Vec<String>,
}

/// In place of the digest of a missing row.
pub const NO_ROW: &str = "none";

/// The compared properties of a loop's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedRow {
    /// Digest of the whole row.
    pub digest: String,
    /// The loop's progress; `None` if its state cannot be read.
    pub standing: Option<LoopSummary>,
}

/// The result of comparing a mark with its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerVerdict {
    /// They agree, and the loop is active.
    Agrees,
    /// They agree, and the loop has ended or never started: the mark can be removed.
    Spent,
    /// The store lost the loop.
    RowGone,
    /// Another program changed the row.
    RowChanged,
}

/// Compares a mark with the row of its loop.
#[must_use]
pub fn compare_marker(mark: &LoopMarker, row: Option<&MarkedRow>) -> MarkerVerdict {
    let digest = row.map_or(NO_ROW, |row| &row.digest);
    let is_ours = mark.digests.iter().any(|known| known == digest);
    let standing = row.and_then(|row| row.standing);
    match (row, is_ours) {
        (None, false) => MarkerVerdict::RowGone,
        (Some(_), false) => MarkerVerdict::RowChanged,
        (Some(_), true) if standing.is_some_and(|it| it.status.is_active()) => {
            MarkerVerdict::Agrees
        }
        (_, true) => MarkerVerdict::Spent,
    }
}

/// A difference to report to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerDifference {
    pub id: String,
    /// The language of its task.
    pub language: MessageLanguage,
    pub kind: MarkerDifferenceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerDifferenceKind {
    /// The store has no such loop; the last progress and the database by the mark.
    RowGone(LoopSummary, PathBuf),
    /// The same for the loop of this pipeline.
    PipelineGone(String, LoopSummary, PathBuf),
    /// The loop's progress by the mark, and by the row if that can be read.
    RowChanged(LoopSummary, Option<LoopSummary>),
    /// The loop is in the first database; the second one is in use.
    OtherStore(PathBuf, PathBuf),
    /// The mark of an active loop was missing and has been written again, in this folder.
    MarkGone(PathBuf),
    /// The loop belongs to this root, which no longer exists: the project was moved.
    RootMoved(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(status: Status) -> LoopSummary {
        LoopSummary { status, iteration: 1, max_iterations: 5 }
    }

    fn mark(digests: &[&str]) -> LoopMarker {
        LoopMarker {
            id: "loop-00000001".into(),
            root: "/p".into(),
            session_id: Some("s".into()),
            store: "/s/store.db".into(),
            pipeline: None,
            language: MessageLanguage::English,
            standing: standing(Status::Running),
            digests: digests.iter().map(|digest| (*digest).to_owned()).collect(),
        }
    }

    #[test]
    fn a_save_that_was_cut_off_anywhere_is_no_disagreement() {
        let row = |digest: &str, status| MarkedRow {
            digest: digest.to_owned(),
            standing: Some(standing(status)),
        };
        let cases: &[(&[&str], Option<MarkedRow>, MarkerVerdict)] = &[
            // Added: before and after the commit, and settled.
            (&[NO_ROW, "a"], None, MarkerVerdict::Spent),
            (&[NO_ROW, "a"], Some(row("a", Status::Running)), MarkerVerdict::Agrees),
            (&["a"], Some(row("a", Status::Running)), MarkerVerdict::Agrees),
            // Advanced.
            (&["a", "b"], Some(row("a", Status::Running)), MarkerVerdict::Agrees),
            (&["a", "b"], Some(row("b", Status::Paused)), MarkerVerdict::Agrees),
            // Ended.
            (&["a", "b"], Some(row("b", Status::Completed)), MarkerVerdict::Spent),
            // Nothing of ours.
            (&["a"], None, MarkerVerdict::RowGone),
            (&["a", "b"], None, MarkerVerdict::RowGone),
            (&["a"], Some(row("b", Status::Completed)), MarkerVerdict::RowChanged),
            (&["a"], Some(row("b", Status::Running)), MarkerVerdict::RowChanged),
            (
                &["a"],
                Some(MarkedRow { digest: "b".into(), standing: None }),
                MarkerVerdict::RowChanged,
            ),
        ];
        for (digests, row, expected) in cases {
            assert_eq!(
                compare_marker(&mark(digests), row.as_ref()),
                *expected,
                "{digests:?} {row:?}"
            );
        }
    }
}
