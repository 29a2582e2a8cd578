//! What a mark, the second record of an active loop, says beside the store, and whether the two
//! agree. It must not know where either of them is kept.

use std::path::PathBuf;

use super::framework::Language;
use super::state::Status;

/// How a loop stands, as far as people are told when the two records differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopStanding {
    /// Its status.
    pub status: Status,
    /// Stops decided so far.
    pub iteration: u32,
    /// The bound of `iteration`.
    pub max_iterations: u32,
}

/// One mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopMark {
    /// The loop.
    pub id: String,
    /// The root it was started in.
    pub root: PathBuf,
    /// Its session, once one has claimed it.
    pub session_id: Option<String>,
    /// The database that holds it.
    pub store: PathBuf,
    /// The language of its task.
    pub language: Language,
    /// How it stood when the mark was written.
    pub standing: LoopStanding,
    /// Digests of its row. The row has one of them: while it is being saved there are two, and
    /// [`NO_ROW`] stands for the row of a loop that is being added.
    pub digests: Vec<String>,
}

/// The digest of a row that is not there.
pub const NO_ROW: &str = "none";

/// The row of a loop, as far as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRow {
    /// Digest of all of it.
    pub digest: String,
    /// How the loop stands; `None` when its state cannot be read.
    pub standing: Option<LoopStanding>,
}

/// What a mark and its row say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkVerdict {
    /// They agree, and the loop is active.
    Agrees,
    /// They agree, and the loop is over or never began: the mark is of no use any more.
    Spent,
    /// The store lost the loop.
    RowGone,
    /// Something else than this program changed the row.
    RowChanged,
}

/// Compares a mark with the row of its loop.
#[must_use]
pub fn compare(mark: &LoopMark, row: Option<&StoredRow>) -> MarkVerdict {
    let digest = row.map_or(NO_ROW, |row| &row.digest);
    let is_ours = mark.digests.iter().any(|known| known == digest);
    let standing = row.and_then(|row| row.standing);
    match (row, is_ours) {
        (None, false) => MarkVerdict::RowGone,
        (Some(_), false) => MarkVerdict::RowChanged,
        (Some(_), true) if standing.is_some_and(|it| it.status.is_active()) => MarkVerdict::Agrees,
        (_, true) => MarkVerdict::Spent,
    }
}

/// A disagreement that the user is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkDifference {
    /// The loop.
    pub id: String,
    /// The language of its task.
    pub language: Language,
    /// What differs.
    pub kind: DifferenceKind,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The mark says how the loop stood; the store has no such loop.
    RowGone(LoopStanding, PathBuf),
    /// The mark says how the loop stood; the row, if it can be read, says how it stands.
    RowChanged(LoopStanding, Option<LoopStanding>),
    /// The loop is in another store (the first) than the one in use.
    OtherStore(PathBuf, PathBuf),
    /// An active loop had no mark any more; it was written again, here.
    MarkGone(PathBuf),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(status: Status) -> LoopStanding {
        LoopStanding { status, iteration: 1, max_iterations: 5 }
    }

    fn mark(digests: &[&str]) -> LoopMark {
        LoopMark {
            id: "loop-00000001".into(),
            root: "/p".into(),
            session_id: Some("s".into()),
            store: "/s/store.db".into(),
            language: Language::English,
            standing: standing(Status::Running),
            digests: digests.iter().map(|digest| (*digest).to_owned()).collect(),
        }
    }

    #[test]
    fn a_save_that_was_cut_off_anywhere_is_no_disagreement() {
        let row = |digest: &str, status| StoredRow {
            digest: digest.to_owned(),
            standing: Some(standing(status)),
        };
        let cases: &[(&[&str], Option<StoredRow>, MarkVerdict)] = &[
            // Added: before and after the commit, and settled.
            (&[NO_ROW, "a"], None, MarkVerdict::Spent),
            (&[NO_ROW, "a"], Some(row("a", Status::Running)), MarkVerdict::Agrees),
            (&["a"], Some(row("a", Status::Running)), MarkVerdict::Agrees),
            // Advanced.
            (&["a", "b"], Some(row("a", Status::Running)), MarkVerdict::Agrees),
            (&["a", "b"], Some(row("b", Status::Paused)), MarkVerdict::Agrees),
            // Ended.
            (&["a", "b"], Some(row("b", Status::Completed)), MarkVerdict::Spent),
            // Nothing of ours.
            (&["a"], None, MarkVerdict::RowGone),
            (&["a", "b"], None, MarkVerdict::RowGone),
            (&["a"], Some(row("b", Status::Completed)), MarkVerdict::RowChanged),
            (&["a"], Some(row("b", Status::Running)), MarkVerdict::RowChanged),
            (
                &["a"],
                Some(StoredRow { digest: "b".into(), standing: None }),
                MarkVerdict::RowChanged,
            ),
        ];
        for (digests, row, expected) in cases {
            assert_eq!(compare(&mark(digests), row.as_ref()), *expected, "{digests:?} {row:?}");
        }
    }
}
