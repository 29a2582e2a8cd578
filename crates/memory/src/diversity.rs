//! Diversifies a ranked list: without near duplicates, with several sessions, and with some rows in
//! the other language.

use std::collections::HashMap;

use moai_base::limits::{
    RESULTS_PAGE, RESULTS_PER_SESSION_MAX, TRANSLATED_RESULTS_MIN, VARIED_RESULTS_MAX,
};

use crate::dedupe::are_near_duplicates;
use crate::query::StageKind;
use crate::ranking::RankedHit;

/// The first `limit` rows of a ranked list after these changes: a near duplicate of a better row is
/// left out; of one session at most [`RESULTS_PER_SESSION_MAX`] rows are among the first
/// [`VARIED_RESULTS_MAX`] while there are others; rows found only by the glossary get
/// [`TRANSLATED_RESULTS_MIN`] of the first [`RESULTS_PAGE`] places.
#[must_use]
pub fn diversified(ranked: &[RankedHit], limit: usize) -> Vec<RankedHit> {
    let mut rows = without_near_duplicates(ranked);
    vary_sessions(&mut rows);
    reserve_places(&mut rows, limit);
    rows.truncate(limit);
    rows
}

fn without_near_duplicates(ranked: &[RankedHit]) -> Vec<RankedHit> {
    let mut kept: Vec<RankedHit> = Vec::new();
    for row in ranked {
        let is_known = kept.iter().any(|better| match (better.simhash, row.simhash) {
            (Some(one), Some(other)) => are_near_duplicates(one, other),
            _ => false,
        });
        if !is_known {
            kept.push(*row);
        }
    }
    kept
}

/// Rows above a session's share move after the first [`VARIED_RESULTS_MAX`] rows, or come last
/// among them if there are not enough others.
fn vary_sessions(rows: &mut Vec<RankedHit>) {
    let mut of_session: HashMap<i64, usize> = HashMap::new();
    let mut first = Vec::new();
    let mut rest = Vec::new();
    for row in rows.drain(..) {
        let count = of_session.entry(row.session).or_default();
        if first.len() < VARIED_RESULTS_MAX && *count < RESULTS_PER_SESSION_MAX {
            *count += 1;
            first.push(row);
        } else {
            rest.push(row);
        }
    }
    *rows = first;
    rows.append(&mut rest);
}

fn reserve_places(rows: &mut Vec<RankedHit>, limit: usize) {
    let page = limit.min(RESULTS_PAGE).min(rows.len());
    let is_translated = |row: &&RankedHit| row.stage == StageKind::Translated;
    let shown = rows[..page].iter().filter(is_translated).count();
    let missing = TRANSLATED_RESULTS_MIN.min(page / 2).saturating_sub(shown);
    let moved: Vec<RankedHit> =
        rows[page..].iter().filter(is_translated).take(missing).copied().collect();
    rows.retain(|row| moved.iter().all(|it| it.id != row.id));
    let at = page - moved.len();
    rows.splice(at..at, moved);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::ScoreParts;

    fn row(id: i64, session: i64, stage: StageKind) -> RankedHit {
        let parts = ScoreParts {
            exactness: 1.0,
            found_exactness: 1.0,
            recency: 1.0,
            proximity: 0.0,
            importance: 0.5,
        };
        RankedHit { id, stage, session, simhash: None, score: 1.0, parts }
    }

    fn ids(rows: &[RankedHit]) -> Vec<i64> {
        rows.iter().map(|row| row.id).collect()
    }

    #[test]
    fn a_session_has_two_of_the_first_rows() {
        let rows: Vec<RankedHit> =
            (0..12).map(|id| row(id, if id < 5 { 1 } else { id }, StageKind::Exact)).collect();
        assert_eq!(ids(&diversified(&rows, 20)), [0, 1, 5, 6, 7, 8, 9, 10, 2, 3, 4, 11]);
        let only: Vec<RankedHit> = (0..5).map(|id| row(id, 1, StageKind::Exact)).collect();
        assert_eq!(ids(&diversified(&only, 20)), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn near_duplicates_are_left_out() {
        let one = RankedHit { simhash: Some(0b1111), ..row(1, 1, StageKind::Exact) };
        let same = RankedHit { simhash: Some(0b1011), ..row(2, 2, StageKind::Exact) };
        let other = RankedHit { simhash: Some(!0), ..row(3, 3, StageKind::Exact) };
        assert_eq!(ids(&diversified(&[one, same, other], 10)), [1, 3]);
    }

    #[test]
    fn the_other_language_has_three_places_on_the_first_page() {
        let mut rows: Vec<RankedHit> = (0..20).map(|id| row(id, id, StageKind::Exact)).collect();
        rows.extend((20..30).map(|id| row(id, id, StageKind::Translated)));
        assert_eq!(ids(&diversified(&rows, 10)), [0, 1, 2, 3, 4, 5, 6, 20, 21, 22]);
        assert_eq!(ids(&diversified(&rows, 2)), [0, 20]);
        assert_eq!(ids(&diversified(&rows[20..], 3)), [20, 21, 22]);
    }
}
