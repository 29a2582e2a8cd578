//! What changed between two verified sets of one file: introduced, fixed, remaining.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::finding::{Finding, FindingState, Severity};
use super::lines::{LineFate, LineHashes, LineMap};
use super::text::Position;

/// The difference between two verified sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// All findings of now; each one's `state` says whether it is new.
    pub findings: Vec<Finding>,
    /// How many of the earlier set are gone; hints are taste and do not count.
    pub fixed: usize,
    /// How many of those were errors.
    pub fixed_errors: usize,
}

impl Delta {
    /// Compares by fingerprint, for want of the text before. Without an earlier set every state
    /// stays unknown and nothing counts as fixed: a first look proves nothing about what an edit
    /// did.
    #[must_use]
    pub fn by_fingerprint(before: Option<&[Finding]>, mut now: Vec<Finding>) -> Self {
        let Some(before) = before else {
            for finding in &mut now {
                finding.state = FindingState::Unknown;
            }
            return Self { findings: now, ..Self::default() };
        };
        let mut pairs = FindingPairs::new(before, now);
        let id = |finding: &Finding| Some(finding.id.clone());
        pairs.match_up(id, id);
        pairs.delta()
    }

    /// Compares where the lines of both texts are known. The same finding remains on a line that
    /// is kept, among lines that the edit changed in place, and on a line that it moved elsewhere.
    /// One that vanished from a kept line is fixed, even when an equal one appeared on another.
    /// On a kept line a finding with the same code at the same place is the same, however worded.
    #[must_use]
    pub fn by_line_map(
        before: (&LineHashes, &[Finding]),
        after: (&LineHashes, Vec<Finding>),
    ) -> Self {
        let map = LineMap::between(before.0, after.0);
        let line = |finding: &Finding| finding.range.start.line;
        let mut pairs = FindingPairs::new(before.1, after.1);
        pairs.match_up(
            |one| Some((one.identity(), map.fate_of_old_line(line(one))?)),
            |one| Some((one.identity(), map.fate_of_new_line(line(one))?)),
        );
        let moved = |one: &Finding, lines: &LineHashes, fate: Option<LineFate>| match fate? {
            LineFate::Edited(_) => Some((one.identity(), lines.hash_at(line(one))?)),
            LineFate::Kept(_) => None,
        };
        pairs.match_up(
            |one| moved(one, before.0, map.fate_of_old_line(line(one))),
            |one| moved(one, after.0, map.fate_of_new_line(line(one))),
        );
        // Checkers word the same error differently, depending on what they read before: the members
        // of a union type change places. On a line that stayed, place and code identify it.
        let at_place = |one: &Finding, fate: Option<LineFate>| match fate? {
            LineFate::Kept(line) if !one.code.is_empty() => {
                let column = one.range.start.character;
                Some((one.sensor.clone(), one.code.clone(), one.severity, line, column))
            }
            LineFate::Kept(_) | LineFate::Edited(_) => None,
        };
        pairs.match_up(
            |one| at_place(one, map.fate_of_old_line(line(one))),
            |one| at_place(one, map.fate_of_new_line(line(one))),
        );
        // What is said of a whole file stands at its beginning, whichever line that is.
        let of_file =
            |one: &Finding| (one.range.start == Position::default()).then(|| one.identity());
        pairs.match_up(of_file, of_file);
        pairs.delta()
    }

    /// Says of each finding whether the edit made it, where others may have written as well since
    /// the earlier set. `before` is the text before the edit, with what is still known of it. What
    /// stands on a line that the edit wrote, and was not there before, is the edit's. On other lines
    /// only what names something touched is; of the rest nobody knows.
    #[must_use]
    pub fn attribute_to_edit(
        mut self,
        before: (&LineHashes, &[Finding]),
        after: &LineHashes,
        is_meant: impl Fn(&Finding) -> bool,
    ) -> Self {
        let map = LineMap::between(before.0, after);
        let own = Self::by_line_map(before, (after, self.findings.clone()));
        for (finding, own) in self.findings.iter_mut().zip(own.findings) {
            let fate = map.fate_of_new_line(finding.range.start.line);
            finding.state = match (fate, finding.state, own.state) {
                (Some(LineFate::Kept(_)), FindingState::Introduced, FindingState::Introduced) => {
                    if is_meant(finding) {
                        FindingState::Introduced
                    } else {
                        FindingState::Unknown
                    }
                }
                (Some(LineFate::Kept(_)), ..) => FindingState::Existing,
                (_, _, state) => state,
            };
        }
        self
    }

    /// Judges by the texts alone, where nothing was measured before: what stands on a line that the
    /// edit wrote, or names something it touched, counts as introduced; the rest may be older.
    #[must_use]
    pub fn by_edited_lines(
        before: &LineHashes,
        after: &LineHashes,
        mut now: Vec<Finding>,
        is_meant: impl Fn(&Finding) -> bool,
    ) -> Self {
        let map = LineMap::between(before, after);
        for finding in &mut now {
            let is_kept =
                matches!(map.fate_of_new_line(finding.range.start.line), Some(LineFate::Kept(_)));
            let is_own = !is_kept || is_meant(finding);
            finding.state = if is_own { FindingState::Introduced } else { FindingState::Unknown };
        }
        Self { findings: now, ..Self::default() }
    }

    /// The findings in one state.
    pub fn in_state(&self, state: FindingState) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.state == state)
    }
}

/// The findings of one text that stand on lines which another text kept, at their lines there.
#[must_use]
pub fn carry_findings(set: &[Finding], from: &LineHashes, to: &LineHashes) -> Vec<Finding> {
    let map = LineMap::between(from, to);
    let carry = |finding: &Finding| {
        let Some(LineFate::Kept(line)) = map.fate_of_old_line(finding.range.start.line) else {
            return None;
        };
        let mut finding = finding.clone();
        finding.range.start.line = line;
        Some(finding)
    };
    set.iter().filter_map(carry).collect()
}

/// Two sets, and which findings of them are the same; each is in one pair at most.
struct FindingPairs<'f> {
    /// Findings of the set before that have no partner yet, in the order of their places.
    unmatched: Vec<&'f Finding>,
    /// The set after; one with a partner is existing.
    current: Vec<Finding>,
}

impl<'f> FindingPairs<'f> {
    fn new(before: &'f [Finding], mut now: Vec<Finding>) -> Self {
        for finding in &mut now {
            finding.state = FindingState::Introduced;
        }
        Self { unmatched: before.iter().collect(), current: now }
    }

    /// Pairs those with equal keys, first with first.
    fn match_up<K: Eq + Hash>(
        &mut self,
        key_before: impl Fn(&Finding) -> Option<K>,
        key_now: impl Fn(&Finding) -> Option<K>,
    ) {
        let mut waiting: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (at, finding) in self.unmatched.iter().enumerate() {
            if let Some(key) = key_before(finding) {
                waiting.entry(key).or_default().push_back(at);
            }
        }
        let mut is_paired = vec![false; self.unmatched.len()];
        for finding in self.current.iter_mut().filter(|one| one.state == FindingState::Introduced) {
            let partners = key_now(finding).and_then(|key| waiting.get_mut(&key));
            if let Some(partner) = partners.and_then(VecDeque::pop_front) {
                is_paired[partner] = true;
                finding.state = FindingState::Existing;
            }
        }
        let mut is_paired = is_paired.into_iter();
        self.unmatched.retain(|_| !is_paired.next().unwrap_or(false));
    }

    fn delta(self) -> Delta {
        let fixed = self.unmatched.iter().filter(|one| one.severity > Severity::Hint).count();
        let fixed_errors =
            self.unmatched.iter().filter(|one| one.severity == Severity::Error).count();
        Delta { findings: self.current, fixed, fixed_errors }
    }
}

#[cfg(test)]
mod tests;
