//! Content hashes: they identify the bytes that a verdict is about.

use std::fmt;

/// BLAKE3 of a file's bytes (32 bytes, shown as 64 lower-case hex digits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// First 16 hex digits: enough to identify a project folder or a finding.
    #[must_use]
    pub fn short_hex(&self) -> String {
        self.to_string()[..16].to_owned()
    }
}

/// Identity of a text when it is searched under another name. The length rules out most files
/// before any is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextId {
    /// Length in bytes.
    pub bytes: u64,
    pub hash: ContentHash,
}

impl TextId {
    /// `None` for white space alone, because too many files have that text.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return None;
        }
        Some(Self { bytes: text.len() as u64, hash: ContentHash::of_bytes(text.as_bytes()) })
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ContentHash({})", self.short_hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_equal_hash_and_any_change_differs() {
        assert_eq!(ContentHash::of_bytes(b"x = 1\n"), ContentHash::of_bytes(b"x = 1\n"));
        assert_ne!(ContentHash::of_bytes(b"x = 1\n"), ContentHash::of_bytes(b"x = 1\r\n"));
        assert_eq!(ContentHash::of_bytes(b"").short_hex().len(), 16);
    }

    #[test]
    fn white_space_does_not_identify_a_file() {
        assert_eq!(TextId::of_text("\n \t\n"), None);
        assert_eq!(TextId::of_text("가\n").map(|text| text.bytes), Some(4));
    }
}
