//! What changed between two verified sets of one file: introduced, fixed, remaining.

use std::collections::HashSet;

use super::finding::{Finding, State};

/// The difference between two verified sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// All findings of now; each one's `state` says whether it is new.
    pub now: Vec<Finding>,
    /// How many of the earlier set are gone.
    pub fixed: usize,
}

impl Delta {
    /// Compares by fingerprint. Without an earlier set every state stays unknown and nothing
    /// counts as fixed: a first look proves nothing about what an edit did.
    #[must_use]
    pub fn between(before: Option<&[Finding]>, mut now: Vec<Finding>) -> Self {
        let Some(before) = before else {
            for finding in &mut now {
                finding.state = State::Unknown;
            }
            return Self { now, fixed: 0 };
        };
        let known: HashSet<&str> = before.iter().map(|finding| finding.id.as_str()).collect();
        let mut existing = 0;
        for finding in &mut now {
            let is_known = known.contains(finding.id.as_str());
            finding.state = if is_known { State::Existing } else { State::Introduced };
            existing += usize::from(is_known);
        }
        Self { now, fixed: known.len() - existing }
    }

    /// The findings in one state.
    pub fn in_state(&self, state: State) -> impl Iterator<Item = &Finding> {
        self.now.iter().filter(move |finding| finding.state == state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::finding::fingerprint;
    use crate::base::finding::tests::finding;

    fn set(of: &[(u32, &str)]) -> Vec<Finding> {
        let mut findings = of.iter().map(|(line, code)| finding("a.py", *line, code)).collect();
        fingerprint(&mut findings);
        findings
    }

    fn check(before: Option<&[(u32, &str)]>, now: &[(u32, &str)], expected: (usize, usize, usize)) {
        let before = before.map(set);
        let delta = Delta::between(before.as_deref(), set(now));
        let introduced = delta.in_state(State::Introduced).count();
        let remaining = delta.in_state(State::Existing).count();
        assert_eq!((introduced, delta.fixed, remaining), expected);
    }

    #[test]
    fn swapping_one_error_for_another_is_not_no_change() {
        check(Some(&[(1, "x")]), &[(1, "y")], (1, 1, 0));
        check(Some(&[(1, "x"), (5, "y")]), &[(9, "x")], (0, 1, 1));
        check(Some(&[(1, "x")]), &[(1, "x"), (2, "x")], (1, 0, 1));
        check(Some(&[]), &[(1, "x")], (1, 0, 0));
    }

    #[test]
    fn a_first_look_claims_nothing() {
        check(None, &[(1, "x")], (0, 0, 0));
    }
}
