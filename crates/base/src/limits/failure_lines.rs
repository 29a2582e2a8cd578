//! Bounds of what is repeated of the output of failed commands.

/// Lines of a failed command's output that are repeated.
pub const FAILED_LINES_MAX: usize = 6;
/// The same where several commands failed.
pub const FAILED_LINES_MIN: usize = 3;
/// Lines between an assertion and the line that names its file.
pub const FAILED_PLACE_LINES_MAX: usize = 15;
/// Longest of these lines, in characters.
pub const FAILED_LINE_CHARS_MAX: usize = 110;
