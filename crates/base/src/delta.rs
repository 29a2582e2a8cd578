//! Delta of one file's findings between two measurements: introduced, fixed, remaining.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

use super::finding::{Finding, FindingState, Severity, has_errors};
use super::lines::{LineHashes, LineMap, LineMapping};
use super::text::Position;

/// The difference between two sets of findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Current findings; see each finding's `state`.
    pub findings: Vec<Finding>,
    /// Number of earlier findings that disappeared, without hints, which are a matter of taste.
    pub fixed: usize,
    /// Number of errors among them.
    pub fixed_errors: usize,
    /// The findings that disappeared, including hints. Empty where only their number is known.
    pub disappeared: Vec<Finding>,
    /// Ids of the findings that may be older although the edit wrote their lines.
    pub written_back: BTreeSet<String>,
}

impl Delta {
    /// Compares by fingerprint, when the earlier text is not known. Without an earlier set every
    /// state is unknown and nothing counts as fixed, because a first measurement proves nothing
    /// about an edit.
    #[must_use]
    pub fn by_fingerprint(before: Option<&[Finding]>, mut now: Vec<Finding>) -> Self {
        let Some(before) = before else {
            for finding in &mut now {
                finding.state = FindingState::Unknown;
            }
            return Self { findings: now, ..Self::default() };
        };
        let mut pairs = FindingPairs::new(before, now);
        pairs.match_up(|finding| Some(finding.id.clone()), |finding| Some(finding.id.clone()));
        pairs.delta()
    }

    /// Compares with the lines of both texts: `before` with the findings `earlier`, `after` with
    /// the findings `now`. A finding remains if it is on a kept line, within a
    /// stretch that the edit changed, or on a line that the edit moved. A finding that disappears
    /// from a kept line is fixed, even if an equal one appears on another line. On a kept line, a
    /// finding with the same code and column is the same finding, however it is worded.
    #[must_use]
    pub fn by_line_map(
        before: &LineHashes,
        earlier: &[Finding],
        after: &LineHashes,
        now: Vec<Finding>,
    ) -> Self {
        let map = LineMap::between(before, after);
        let mut pairs = FindingPairs::new(earlier, now);
        pairs.match_up(
            |finding| Some((finding.identity(), map.map_old_finding(finding)?)),
            |finding| Some((finding.identity(), map.map_new_finding(finding)?)),
        );
        pairs.match_up(
            |finding| moved_line_key(finding, before, map.map_old_finding(finding)?),
            |finding| moved_line_key(finding, after, map.map_new_finding(finding)?),
        );
        // Type checkers word the same error differently, depending on the files read before: the
        // members of a union type change places. On a kept line, column and code identify it.
        pairs.match_up(
            |finding| kept_column_key(finding, map.map_old_finding(finding)?),
            |finding| kept_column_key(finding, map.map_new_finding(finding)?),
        );
        // Findings about the whole file are reported at its beginning, on any line.
        pairs.match_up(whole_file_key, whole_file_key);
        pairs.delta()
    }

    /// Decides for each finding whether the edit introduced it, when others may have written the
    /// file too since the earlier set. `before` is the text before the edit, `earlier` are the
    /// findings still known for it. A new finding on a line that the edit wrote is the edit's, unless
    /// the edit replaced lines and the earlier set has the same finding: the replaced lines, which
    /// were not measured, may have had it too ([`Self::written_back`]). On other lines, only findings
    /// that mention a touched symbol are the edit's (`names_touched`); the rest are unknown. The same
    /// rule decides about findings that disappeared: only the edit's count as fixed.
    #[must_use]
    pub fn attribute_to_edit(
        mut self,
        before: &LineHashes,
        earlier: &[Finding],
        after: &LineHashes,
        names_touched: impl Fn(&Finding) -> bool,
    ) -> Self {
        let map = LineMap::between(before, after);
        let own = Self::by_line_map(before, earlier, after, self.findings.clone());
        for (finding, own) in self.findings.iter_mut().zip(&own.findings) {
            let mapping = map.map_new_finding(finding);
            finding.state = match (mapping, finding.state, own.state) {
                (
                    Some(LineMapping::Kept(_)),
                    FindingState::Introduced,
                    FindingState::Introduced,
                ) => {
                    if names_touched(finding) {
                        FindingState::Introduced
                    } else {
                        FindingState::Unknown
                    }
                }
                (Some(LineMapping::Kept(_)), ..) => FindingState::Existing,
                (
                    Some(LineMapping::Edited(stretch)),
                    FindingState::Existing,
                    FindingState::Introduced,
                ) if map.has_old_lines(stretch) => {
                    self.written_back.insert(finding.id.clone());
                    FindingState::Unknown
                }
                (_, _, state) => state,
            };
        }
        let is_fixed = |finding: &Finding| {
            !matches!(map.map_old_finding(finding), Some(LineMapping::Kept(_)))
                || names_touched(finding)
        };
        let fixed = own.disappeared.into_iter().filter(is_fixed).collect();
        self.with_disappeared(fixed)
    }

    fn with_disappeared(mut self, disappeared: Vec<Finding>) -> Self {
        let count = |least: Severity| disappeared.iter().filter(|it| it.severity >= least).count();
        (self.fixed, self.fixed_errors) = (count(Severity::Info), count(Severity::Error));
        self.disappeared = disappeared;
        self
    }

    /// Decides by the texts alone, when the earlier text was not measured: a finding on a line that
    /// the edit wrote, or one that mentions a touched symbol (`names_touched`), counts as
    /// introduced; the rest are unknown.
    #[must_use]
    pub fn by_edited_lines(
        before: &LineHashes,
        after: &LineHashes,
        mut now: Vec<Finding>,
        names_touched: impl Fn(&Finding) -> bool,
    ) -> Self {
        let map = LineMap::between(before, after);
        for finding in &mut now {
            let is_kept = matches!(map.map_new_finding(finding), Some(LineMapping::Kept(_)));
            let is_introduced = !is_kept || names_touched(finding);
            finding.state =
                if is_introduced { FindingState::Introduced } else { FindingState::Unknown };
        }
        Self { findings: now, ..Self::default() }
    }

    /// For a tool whose errors hide its warnings, as a compiler that lints only code without errors:
    /// a warning that disappears while there are errors does not count as fixed, and one that
    /// appears after errors (`had_errors`) on a line that the edit did not write may be older.
    #[must_use]
    pub fn with_hidden_warnings(
        mut self,
        before: &LineHashes,
        had_errors: bool,
        after: &LineHashes,
    ) -> Self {
        if has_errors(&self.findings) {
            self.disappeared.retain(|finding| finding.severity == Severity::Error);
            self.fixed = self.fixed_errors;
        }
        if had_errors {
            let map = LineMap::between(before, after);
            for finding in self.findings.iter_mut().filter(|it| it.is_introduced()) {
                let is_kept = matches!(map.map_new_finding(finding), Some(LineMapping::Kept(_)));
                if is_kept && finding.severity < Severity::Error {
                    finding.state = FindingState::Unknown;
                }
            }
        }
        self
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
    let mut carried = Vec::new();
    for finding in set {
        if let Some(LineMapping::Kept(line)) = map.map_old_finding(finding) {
            let mut finding = finding.clone();
            finding.range.start.line = line;
            carried.push(finding);
        }
    }
    carried
}

impl LineMap {
    fn map_old_finding(&self, finding: &Finding) -> Option<LineMapping> {
        self.map_old_line(finding.range.start.line)
    }

    fn map_new_finding(&self, finding: &Finding) -> Option<LineMapping> {
        self.map_new_line(finding.range.start.line)
    }
}

/// Identity and line text, for a finding on an edited line.
fn moved_line_key(
    finding: &Finding,
    lines: &LineHashes,
    mapping: LineMapping,
) -> Option<(String, u64)> {
    match mapping {
        LineMapping::Edited(_) => {
            Some((finding.identity(), lines.hash_at(finding.range.start.line)?))
        }
        LineMapping::Kept(_) => None,
    }
}

/// Sensor, code, severity and column, for a finding with a code on a kept line.
fn kept_column_key(finding: &Finding, mapping: LineMapping) -> Option<impl Eq + Hash + use<>> {
    match mapping {
        LineMapping::Kept(line) if !finding.code.is_empty() => {
            let column = finding.range.start.character;
            Some((finding.sensor.clone(), finding.code.clone(), finding.severity, line, column))
        }
        LineMapping::Kept(_) | LineMapping::Edited(_) => None,
    }
}

fn whole_file_key(finding: &Finding) -> Option<String> {
    (finding.range.start == Position::default()).then(|| finding.identity())
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
        for finding in self.current.iter_mut().filter(|finding| finding.is_introduced()) {
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
        let disappeared = self.unmatched.into_iter().cloned().collect();
        let delta = Delta { findings: self.current, ..Delta::default() };
        delta.with_disappeared(disappeared)
    }
}

#[cfg(test)]
mod tests;
