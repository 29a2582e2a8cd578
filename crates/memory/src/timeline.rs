//! The timeline around an observation: before and after it in its session, and later with the same
//! file or code.

use moai_base::limits::{TIMELINE_LATER_MAX, TIMELINE_NEIGHBOURS_MAX};

use crate::database::{MemoryDatabase, ObservationFilter};
use crate::observation::StoredObservation;

/// An observation and its neighbours.
#[derive(Clone, Debug)]
pub struct ObservationTimeline {
    /// Earlier ones of its session, the oldest first.
    pub before: Vec<StoredObservation>,
    pub anchor: StoredObservation,
    /// Later ones of its session, the oldest first.
    pub after: Vec<StoredObservation>,
    /// Later ones of other sessions with one of its files or codes, the oldest first.
    pub later: Vec<StoredObservation>,
}

pub fn timeline<D: MemoryDatabase + ?Sized>(
    database: &mut D,
    anchor: StoredObservation,
) -> Result<ObservationTimeline, D::Error> {
    let project = vec![anchor.project.key.clone()];
    let mut before = Vec::new();
    let mut after = Vec::new();
    if !anchor.session.is_empty() {
        let of_session = ObservationFilter {
            projects: project.clone(),
            session: Some(anchor.session.clone()),
            ..ObservationFilter::default()
        };
        // Several may have the same time; then the row number decides.
        let place = |it: &StoredObservation| (it.at_ms, it.row);
        let own = place(&anchor);
        let until = ObservationFilter { until_ms: Some(anchor.at_ms), ..of_session.clone() };
        let since = ObservationFilter { since_ms: Some(anchor.at_ms), ..of_session };
        before = database.newest(&until, 2 * TIMELINE_NEIGHBOURS_MAX + 1)?;
        before.retain(|it| place(it) < own);
        before.truncate(TIMELINE_NEIGHBOURS_MAX);
        before.reverse();
        after = database.oldest(&since, 2 * TIMELINE_NEIGHBOURS_MAX + 1)?;
        after.retain(|it| place(it) > own);
        after.truncate(TIMELINE_NEIGHBOURS_MAX);
    }
    let mut later: Vec<StoredObservation> = Vec::new();
    let paths = anchor.files.iter().map(|path| (Some(path.clone()), None));
    let codes = anchor.codes.iter().map(|code| (None, Some(code.clone())));
    for (path, code) in paths.chain(codes).take(TIMELINE_NEIGHBOURS_MAX) {
        let filter = ObservationFilter {
            projects: project.clone(),
            since_ms: Some(anchor.at_ms.saturating_add(1)),
            path,
            code,
            ..ObservationFilter::default()
        };
        for found in database.oldest(&filter, TIMELINE_NEIGHBOURS_MAX + TIMELINE_LATER_MAX)? {
            let known = later.iter().chain(&after);
            if known.into_iter().all(|it| it.row != found.row) {
                later.push(found);
            }
        }
    }
    later.sort_by_key(|it| (it.at_ms, it.row));
    later.truncate(TIMELINE_LATER_MAX);
    Ok(ObservationTimeline { before, anchor, after, later })
}
