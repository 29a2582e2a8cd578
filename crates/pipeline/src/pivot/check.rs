//! Checks discoveries of workers against the pivot points.

use super::{PivotDocument, PivotId, PivotPoint, PivotStatus};
use crate::document::DocumentFault;
use crate::file_patterns::{FileReach, matches_pattern};
use crate::plan::PlanDocument;

/// A proposal of a worker in addition to its TODO.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The proposal.
    pub summary: String,
    /// Files that it would change, relative to the root.
    pub files: Vec<String>,
    /// Pivot points with which the worker itself reports a conflict.
    pub conflicts_with: Vec<PivotId>,
}

/// A conflict of a discovery with a pivot point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PivotConflict {
    /// The pivot point.
    pub id: PivotId,
    pub title: String,
    /// The conflict as a fragment: `it would change src/api.rs`.
    pub why: String,
}

/// The verdict on a discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryVerdict {
    /// No conflict is known.
    Accepted,
    /// It conflicts with provisional points only: the user decides.
    AskUser(Vec<PivotConflict>),
    /// It conflicts with confirmed points.
    Rejected(Vec<PivotConflict>),
}

/// Checks a discovery against all points.
#[must_use]
pub fn check_discovery(points: &[PivotPoint], discovery: &Discovery) -> DiscoveryVerdict {
    let mut confirmed = Vec::new();
    let mut provisional = Vec::new();
    for point in points {
        let Some(why) = conflict_reason(point, discovery) else { continue };
        let conflict = PivotConflict { id: point.id.clone(), title: point.title.clone(), why };
        match point.status {
            PivotStatus::Confirmed => confirmed.push(conflict),
            PivotStatus::Provisional => provisional.push(conflict),
        }
    }
    if !confirmed.is_empty() {
        DiscoveryVerdict::Rejected(confirmed)
    } else if !provisional.is_empty() {
        DiscoveryVerdict::AskUser(provisional)
    } else {
        DiscoveryVerdict::Accepted
    }
}

fn conflict_reason(point: &PivotPoint, discovery: &Discovery) -> Option<String> {
    if discovery.conflicts_with.contains(&point.id) {
        return Some("the worker says so".to_owned());
    }
    let mut files = discovery.files.iter();
    if let Some(path) = files.find(|path| point.may_protect(path)) {
        return Some(format!("it would change {path}"));
    }
    let mut words = point.forbids.iter();
    let word = words.find(|word| contains_words(&discovery.summary, word))?;
    Some(format!("it proposes {word}"))
}

/// TODOs of a plan whose files include one that a confirmed point protects.
#[must_use]
pub fn protected_files(plan: &PlanDocument, points: &PivotDocument) -> Vec<DocumentFault> {
    let is_confirmed = |point: &&PivotPoint| point.status == PivotStatus::Confirmed;
    let confirmed: Vec<&PivotPoint> = points.points.iter().filter(is_confirmed).collect();
    let mut faults = Vec::new();
    for todo in &plan.todos {
        for file in &todo.files {
            let found = confirmed.iter().find(|point| matches_pattern(&point.protects, file));
            if let Some(point) = found {
                let reason = format!("{} names {file}, which {} protects", todo.id, point.id);
                faults.push(DocumentFault { line: todo.line, reason });
            }
        }
    }
    faults
}

impl PivotPoint {
    /// True if it may protect a file, or a match of a pattern.
    #[must_use]
    pub fn may_protect(&self, path: &str) -> bool {
        if self.protects.is_empty() {
            return false;
        }
        let protected = FileReach::of(&self.protects);
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                parts.pop();
            } else {
                parts.push(part);
            }
        }
        // Any suffix of an absolute path may be the path below the root.
        let beginnings = if path.starts_with(['/', '~']) { parts.len() } else { 1 };
        (0..beginnings.min(parts.len()))
            .any(|start| protected.meets(&FileReach::of(&[parts[start..].join("/")])))
    }
}

/// True if a text contains words, in any case, not as a part of other Latin words.
fn contains_words(text: &str, words: &str) -> bool {
    let text = text.to_lowercase();
    let words = words.to_lowercase();
    let is_letter = |it: char| it.is_ascii_alphanumeric();
    !words.is_empty()
        && text.match_indices(&words).any(|(at, _)| {
            let is_whole_start = !text[..at].ends_with(is_letter) || !words.starts_with(is_letter);
            let rest = &text[at + words.len()..];
            is_whole_start && (!rest.starts_with(is_letter) || !words.ends_with(is_letter))
        })
}
