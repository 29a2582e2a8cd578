//! Scan outcomes by [`super::RuleSet::scan_key`], serialized to bytes that the caller stores, so
//! that an unchanged text is not scanned again with the same rules. Bytes that are damaged or
//! belong to another rule set or version count as empty.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::{SENSOR, ScanOutcome};
use moai_base::finding::{Finding, FindingPlace, Severity, assign_fingerprints};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_base::text::{Position, TextRange};
use moai_base::verdict::{Cause, Gap};

/// First bytes of the format; the digit is its version.
const MAGIC: &[u8; 16] = b"moai-ralph-scan1";
/// Magic, identity of the rule set, hash of the rest.
const HEAD_BYTES: usize = 16 + 32 + 32;
/// Key and length of the entry's body.
const ENTRY_HEAD_BYTES: usize = 32 + 4;

/// Scan outcomes by key.
#[derive(Debug, Default)]
pub struct ScanCache {
    bytes: Vec<u8>,
    stored: HashMap<ContentHash, OutcomeLocation>,
    added: HashMap<ContentHash, Vec<u8>>,
}

/// Range of a stored outcome. An empty range means clean.
#[derive(Debug)]
struct OutcomeLocation {
    range: Range<usize>,
    is_used: AtomicBool,
}

impl ScanCache {
    /// Reads the outcomes stored for the rule set with this identity.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>, set: ContentHash) -> Self {
        let known = index(&bytes, set).unwrap_or_default();
        Self { bytes, stored: known, added: HashMap::new() }
    }

    /// The outcome for a key, with the file's path and hash filled in.
    #[must_use]
    pub fn get(&self, key: ContentHash, path: &RelPath, hash: ContentHash) -> Option<ScanOutcome> {
        let bytes = if let Some(added) = self.added.get(&key) {
            added
        } else {
            let place = self.stored.get(&key)?;
            place.is_used.store(true, Ordering::Relaxed);
            self.bytes.get(place.range.clone())?
        };
        if bytes.is_empty() {
            return Some(ScanOutcome::default());
        }
        let cached: CachedOutcome = serde_json::from_slice(bytes).ok()?;
        let mut findings = cached
            .findings
            .into_iter()
            .map(|finding| finding.into_finding(path, hash))
            .collect::<Option<Vec<Finding>>>()?;
        assign_fingerprints(&mut findings);
        let gap = match cached.gap {
            Some(gap) => Some(gap.into_gap()?),
            None => None,
        };
        Some(ScanOutcome { findings, gap })
    }

    /// Adds an outcome, unless another scan might not reproduce it.
    pub fn add(&mut self, key: ContentHash, outcome: &ScanOutcome) {
        let Some(gap) =
            outcome.gap.as_ref().map(CachedGap::from_gap).map_or(Some(None), |it| it.map(Some))
        else {
            return;
        };
        let bytes = if gap.is_none() && outcome.findings.is_empty() {
            Vec::new()
        } else {
            let findings = outcome.findings.iter().map(CachedFinding::from_finding).collect();
            // An outcome that cannot be serialized is not cached.
            let Ok(bytes) = serde_json::to_vec(&CachedOutcome { findings, gap }) else { return };
            bytes
        };
        self.added.insert(key, bytes);
    }

    /// Whether outcomes were added since the bytes were read.
    #[must_use]
    pub fn has_additions(&self) -> bool {
        !self.added.is_empty()
    }

    /// Serializes at most `bytes_max` bytes: outcomes added or used in this run first, and small
    /// before large.
    #[must_use]
    pub fn to_bytes(&self, set: ContentHash, bytes_max: usize) -> Vec<u8> {
        let mut out = vec![0; HEAD_BYTES];
        let old = self.stored.iter().filter(|(key, _)| !self.added.contains_key(*key));
        let old = old.filter_map(|(key, place)| {
            let bytes = self.bytes.get(place.range.clone())?;
            Some((!place.is_used.load(Ordering::Relaxed), bytes.len(), *key, bytes))
        });
        let added = self.added.iter().map(|(key, bytes)| (false, bytes.len(), *key, &bytes[..]));
        let mut entries: Vec<(bool, usize, ContentHash, &[u8])> = added.chain(old).collect();
        entries.sort_unstable();
        for (_, _, key, bytes) in entries {
            let Ok(length) = u32::try_from(bytes.len()) else { continue };
            if out.len() + ENTRY_HEAD_BYTES + bytes.len() > bytes_max {
                continue;
            }
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(bytes);
        }
        let sum = ContentHash::of_bytes(&out[HEAD_BYTES..]);
        out[..16].copy_from_slice(MAGIC);
        out[16..48].copy_from_slice(set.as_bytes());
        out[48..HEAD_BYTES].copy_from_slice(sum.as_bytes());
        out
    }
}

/// Locates the stored outcomes; `None` when the bytes are damaged or belong to another rule set.
fn index(bytes: &[u8], set: ContentHash) -> Option<HashMap<ContentHash, OutcomeLocation>> {
    let (head, rest) = bytes.split_at_checked(HEAD_BYTES)?;
    let is_ours = &head[..16] == MAGIC && &head[16..48] == set.as_bytes();
    if !is_ours || ContentHash::of_bytes(rest).as_bytes() != &head[48..] {
        return None;
    }
    let mut known = HashMap::new();
    let mut at = HEAD_BYTES;
    while at < bytes.len() {
        let head = bytes.get(at..at + ENTRY_HEAD_BYTES)?;
        let key = ContentHash::from_bytes(head[..32].try_into().ok()?);
        let length = u32::from_le_bytes(head[32..].try_into().ok()?);
        let start = at + ENTRY_HEAD_BYTES;
        at = start.checked_add(usize::try_from(length).ok()?)?;
        bytes.get(start..at)?;
        known.insert(key, OutcomeLocation { range: start..at, is_used: AtomicBool::new(false) });
    }
    Some(known)
}

#[derive(Serialize, Deserialize)]
struct CachedOutcome {
    findings: Vec<CachedFinding>,
    gap: Option<CachedGap>,
}

/// A finding without path and hash.
#[derive(Serialize, Deserialize)]
struct CachedFinding {
    code: String,
    severity: String,
    /// Line and column of start and end, as in [`TextRange`].
    place: [u32; 4],
    message: String,
    cwe: Vec<String>,
    url: Option<String>,
    fix: Option<String>,
    anchor: String,
}

impl CachedFinding {
    fn from_finding(finding: &Finding) -> Self {
        let (start, end) = (finding.range.start, finding.range.end);
        Self {
            code: finding.code.clone(),
            severity: finding.severity.as_str().to_owned(),
            place: [start.line, start.character, end.line, end.character],
            message: finding.message.clone(),
            cwe: finding.cwe.clone(),
            url: finding.url.clone(),
            fix: finding.fix.clone(),
            anchor: finding.anchor.clone(),
        }
    }

    fn into_finding(self, path: &RelPath, hash: ContentHash) -> Option<Finding> {
        let severity = Severity::ALL.into_iter().find(|it| it.as_str() == self.severity)?;
        let [line, character, end_line, end_character] = self.place;
        let start = Position { line, character };
        let end = Position { line: end_line, character: end_character };
        let range = TextRange { start, end };
        let place = FindingPlace { path: path.clone(), range, content_hash: hash };
        Some(Finding {
            cwe: self.cwe,
            url: self.url,
            fix: self.fix,
            anchor: self.anchor,
            ..Finding::new(SENSOR, &self.code, severity, place, &self.message)
        })
    }
}

#[derive(Serialize, Deserialize)]
struct CachedGap {
    cause: String,
    detail: String,
    remedy: Option<String>,
}

/// Causes that depend on nothing but text and rules.
const CACHEABLE_CAUSES: [(Cause, &str); 3] =
    [(Cause::Skipped, "skipped"), (Cause::BrokenRule, "broken rule"), (Cause::NoTool, "no tool")];

impl CachedGap {
    /// `None` for a gap that another scan might not reproduce.
    fn from_gap(gap: &Gap) -> Option<Self> {
        let (_, cause) = CACHEABLE_CAUSES.iter().find(|(cause, _)| *cause == gap.cause)?;
        let cause = (*cause).to_owned();
        Some(Self { cause, detail: gap.detail.clone(), remedy: gap.remedy.clone() })
    }

    fn into_gap(self) -> Option<Gap> {
        let (cause, _) = CACHEABLE_CAUSES.iter().find(|(_, word)| *word == self.cause)?;
        let gap = Gap::new(*cause, self.detail);
        Some(match self.remedy {
            Some(remedy) => gap.with_remedy(remedy),
            None => gap,
        })
    }
}

#[cfg(test)]
mod tests;
