//! Bounds of foreign texts.

/// Longest text of several lines that is quoted in a document, in characters.
pub const FOREIGN_TEXT_CHARS_MAX: usize = 4_000;
/// Longest escape sequence that is removed as a whole, in bytes; after an introducer without an
/// end, the text is kept.
pub const ESCAPE_SEQUENCE_BYTES_MAX: usize = 4_096;
/// Part of the message of a finding that a gap quotes, in characters.
pub const DOUBTED_MESSAGE_CHARS_MAX: usize = 80;
