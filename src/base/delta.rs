//! Delta of one file's findings between two measurements: introduced, fixed, remaining.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::finding::{Finding, FindingState, Severity};
use super::lines::{LineFate, LineHashes, LineMap};
use super::text::Position;

/// The difference between two sets of findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Current findings; each finding's `state` says whether it is new.
    pub findings: Vec<Finding>,
    /// Number of earlier findings that disappeared, without hints, which are a matter of taste.
    pub fixed: usize,
    /// Number of errors among them.
    pub fixed_errors: usize,
}

impl Delta {
    /// Compares by fingerprint, when the earlier text is not known. Without an earlier set every
    /// state is unknown and nothing counts as fixed, because a first measurement says nothing about
    /// an edit.
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

    /// Compares with the lines of both texts. A finding remains if it is on a kept line, within a
    /// stretch that the edit changed, or on a line that the edit moved. A finding that disappears
    /// from a kept line is fixed, even if an equal one appears on another line. On a kept line, a
    /// finding with the same code and column is the same finding, however it is worded.
    #[must_use]
    pub fn by_line_map(
        before: (&LineHashes, &[Finding]),
        after: (&LineHashes, Vec<Finding>),
    ) -> Self {
        let map = LineMap::between(before.0, after.0);
        let line = |finding: &Finding| finding.range.start.line;
        let mut pairs = FindingPairs::new(before.1, after.1);
        pairs.match_up(
            |finding| Some((finding.identity(), map.fate_of_old_line(line(finding))?)),
            |finding| Some((finding.identity(), map.fate_of_new_line(line(finding))?)),
        );
        let moved = |finding: &Finding, lines: &LineHashes, fate: Option<LineFate>| match fate? {
            LineFate::Edited(_) => Some((finding.identity(), lines.hash_at(line(finding))?)),
            LineFate::Kept(_) => None,
        };
        pairs.match_up(
            |finding| moved(finding, before.0, map.fate_of_old_line(line(finding))),
            |finding| moved(finding, after.0, map.fate_of_new_line(line(finding))),
        );
        // Type checkers word the same error differently, depending on what they read before: the
        // members of a union type change places. On a kept line, column and code identify it.
        let at_place = |finding: &Finding, fate: Option<LineFate>| match fate? {
            LineFate::Kept(line) if !finding.code.is_empty() => {
                let column = finding.range.start.character;
                Some((finding.sensor.clone(), finding.code.clone(), finding.severity, line, column))
            }
            LineFate::Kept(_) | LineFate::Edited(_) => None,
        };
        pairs.match_up(
            |finding| at_place(finding, map.fate_of_old_line(line(finding))),
            |finding| at_place(finding, map.fate_of_new_line(line(finding))),
        );
        // Findings about the whole file are reported at its beginning, whichever line that is.
        let of_file = |finding: &Finding| {
            (finding.range.start == Position::default()).then(|| finding.identity())
        };
        pairs.match_up(of_file, of_file);
        pairs.delta()
    }

    /// Decides for each finding whether the edit introduced it, when others may have written the
    /// file too since the earlier set. `before` is the text before the edit with the findings still
    /// known for it. A new finding on a line that the edit wrote is the edit's. On other lines,
    /// only findings that name a touched symbol are (`names_touched`); the rest are unknown.
    #[must_use]
    pub fn attribute_to_edit(
        mut self,
        before: (&LineHashes, &[Finding]),
        after: &LineHashes,
        names_touched: impl Fn(&Finding) -> bool,
    ) -> Self {
        let map = LineMap::between(before.0, after);
        let own = Self::by_line_map(before, (after, self.findings.clone()));
        for (finding, own) in self.findings.iter_mut().zip(own.findings) {
            let fate = map.fate_of_new_line(finding.range.start.line);
            finding.state = match (fate, finding.state, own.state) {
                (Some(LineFate::Kept(_)), FindingState::Introduced, FindingState::Introduced) => {
                    if names_touched(finding) {
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

    /// Decides by the texts alone, when the earlier text was not measured: a finding on a line that
    /// the edit wrote, or one that names a touched symbol (`names_touched`), counts as introduced;
    /// the rest are unknown.
    #[must_use]
    pub fn by_edited_lines(
        before: &LineHashes,
        after: &LineHashes,
        mut now: Vec<Finding>,
        names_touched: impl Fn(&Finding) -> bool,
    ) -> Self {
        let map = LineMap::between(before, after);
        for finding in &mut now {
            let is_kept =
                matches!(map.fate_of_new_line(finding.range.start.line), Some(LineFate::Kept(_)));
            let is_introduced = !is_kept || names_touched(finding);
            finding.state =
                if is_introduced { FindingState::Introduced } else { FindingState::Unknown };
        }
        Self { findings: now, ..Self::default() }
    }

    /// The findings in one state.
    pub fn in_state(&self, state: FindingState) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.state == state)
    }
}

/// The findings on lines that the other text kept, moved to their lines there.
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

/// Pairs equal findings of two sets; each is in at most one pair.
struct FindingPairs<'f> {
    /// Earlier findings without a partner, in the order of their places.
    unmatched: Vec<&'f Finding>,
    /// Current findings; those with a partner are existing.
    current: Vec<Finding>,
}

impl<'f> FindingPairs<'f> {
    fn new(before: &'f [Finding], mut now: Vec<Finding>) -> Self {
        for finding in &mut now {
            finding.state = FindingState::Introduced;
        }
        Self { unmatched: before.iter().collect(), current: now }
    }

    /// Pairs findings with equal keys, first with first.
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
        for finding in
            self.current.iter_mut().filter(|finding| finding.state == FindingState::Introduced)
        {
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
        let fixed =
            self.unmatched.iter().filter(|finding| finding.severity > Severity::Hint).count();
        let fixed_errors =
            self.unmatched.iter().filter(|finding| finding.severity == Severity::Error).count();
        Delta { findings: self.current, fixed, fixed_errors }
    }
}

#[cfg(test)]
mod tests;
