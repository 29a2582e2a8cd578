//! Scan outcomes by [`super::RuleSet::scan_key`], serialized to bytes that the caller stores, so
//! that an unchanged text is not scanned again with the same rules. Bytes that are damaged or
//! belong to another rule set or version count as empty.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ScanOutcome;
use super::serialized::{outcome_from_bytes, outcome_to_bytes};
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;

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
        outcome_from_bytes(bytes, path, hash)
    }

    /// Adds an outcome, unless another scan might not reproduce it.
    pub fn add(&mut self, key: ContentHash, outcome: &ScanOutcome) {
        if let Some(bytes) = outcome_to_bytes(outcome) {
            self.added.insert(key, bytes);
        }
    }

    /// True if outcomes were added since the bytes were read.
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

#[cfg(test)]
mod tests;
