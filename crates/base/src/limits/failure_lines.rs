//! Bounds of what is repeated of the output of failed commands.

/// Lines of a failed command's output that are repeated.
pub const FAILED_LINES_MAX: usize = 8;
/// The same of all checks that failed together, unless each has its least.
pub const FAILED_LINES_SHARED: usize = 12;
/// The same where several commands failed.
pub const FAILED_LINES_MIN: usize = 3;
/// Lines between an assertion and the line that names its file.
pub const FAILED_PLACE_LINES_MAX: usize = 30;
/// Lines that two values have in common between lines of their difference.
pub const FAILED_CONTEXT_LINES_MAX: usize = 5;
/// Longest of these lines, in characters.
pub const FAILED_LINE_CHARS_MAX: usize = 110;
