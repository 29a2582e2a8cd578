//! Selects the earlier fixes of one shape to show: one that worked, and one that did not.

use crate::observation::{FixOutcome, StoredObservation};

/// The edit to which earlier fixes are shown.
#[derive(Clone, Copy, Debug)]
pub struct FixReader<'r> {
    pub project: &'r str,
    pub session: &'r str,
    /// The edited file, relative to the root.
    pub path: &'r str,
}

impl FixReader<'_> {
    /// True if the finding that this session fixed in this file has returned.
    fn has_undone(&self, fix: &StoredObservation) -> bool {
        fix.session == self.session && fix.files.iter().any(|file| file == self.path)
    }
}

/// Of fixes of one shape, the newest first: the best that worked, then one that was undone with
/// another change. Fixes that held come before those with unknown outcome, and those of the project
/// before others.
#[must_use]
pub fn told_fixes(
    mut fixes: Vec<StoredObservation>,
    reader: &FixReader<'_>,
) -> Vec<StoredObservation> {
    for fix in &mut fixes {
        if reader.has_undone(fix) {
            fix.outcome = Some(FixOutcome::Undone);
        }
    }
    let (undone, mut worked): (Vec<_>, Vec<_>) =
        fixes.into_iter().partition(|fix| fix.outcome == Some(FixOutcome::Undone));
    // The sort is stable: equal ones keep their order of time.
    worked.sort_by_key(|fix| {
        (fix.outcome != Some(FixOutcome::Held), fix.project.key != reader.project)
    });
    let best = worked.into_iter().next();
    let differs = |fix: &StoredObservation| best.as_ref().is_none_or(|best| best.body != fix.body);
    let tried = undone.into_iter().find(differs);
    best.into_iter().chain(tried).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::{MemoryProject, Provenance, Visibility};
    use crate::ranking::ObservationKind;

    const READER: FixReader<'_> = FixReader { project: "p1", session: "now", path: "src/a.ts" };

    fn fix(
        row: i64,
        project: &str,
        session: &str,
        outcome: Option<FixOutcome>,
    ) -> StoredObservation {
        StoredObservation {
            row,
            id: format!("obs-{row}"),
            project: MemoryProject { key: project.to_owned(), name: project.to_owned() },
            session: session.to_owned(),
            kind: ObservationKind::Fix,
            at_ms: 100 - row,
            title: "fixed".to_owned(),
            body: format!("- {row}"),
            files: vec!["src/a.ts".to_owned()],
            codes: Vec::new(),
            shapes: Vec::new(),
            provenance: Provenance::Measured,
            importance: 0.8,
            repeats: 0,
            is_superseded: false,
            outcome,
            visibility: Visibility::Private,
            tokens: 5,
            simhash: None,
        }
    }

    fn rows(fixes: Vec<StoredObservation>) -> Vec<i64> {
        told_fixes(fixes, &READER).into_iter().map(|fix| fix.row).collect()
    }

    #[test]
    fn what_held_comes_first_and_the_own_project_before_others() {
        let held = Some(FixOutcome::Held);
        assert_eq!(rows(vec![fix(1, "p2", "s", None), fix(2, "p2", "s", held)]), [2]);
        assert_eq!(rows(vec![fix(1, "p2", "s", held), fix(2, "p1", "s", held)]), [2]);
        assert_eq!(rows(vec![fix(1, "p2", "s", None), fix(2, "p2", "t", None)]), [1]);
        assert_eq!(rows(Vec::new()), [0; 0]);
    }

    #[test]
    fn what_was_undone_is_told_as_such() {
        let undone = Some(FixOutcome::Undone);
        let held = Some(FixOutcome::Held);
        assert_eq!(rows(vec![fix(1, "p2", "s", undone), fix(2, "p2", "s", held)]), [2, 1]);
        let same = StoredObservation { body: "- 2".to_owned(), ..fix(1, "p2", "s", undone) };
        assert_eq!(rows(vec![same, fix(2, "p2", "s", held)]), [2]);
        let told = told_fixes(vec![fix(1, "p1", "now", None)], &READER);
        assert_eq!(told[0].outcome, undone, "it is back in the same session and file");
    }
}
