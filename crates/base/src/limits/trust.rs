//! Bounds of what decides whether a project or an answer is trusted.

/// Largest file of a project that names programs, in bytes; a larger one is never trusted.
pub const PROGRAM_FILE_BYTES_MAX: u64 = 1 << 20;
/// Time in which a code that was shown at a terminal is answered, in milliseconds.
pub const CODE_ANSWER_MS_MAX: u64 = 120_000;
/// Codes shown at terminals and not answered yet.
pub const CODE_QUESTIONS_MAX: usize = 8;
/// Paths examined of those that one shell command may write; later ones are not.
pub const WRITTEN_PATHS_MAX: usize = 1_000;
/// Texts in a shell command that are followed, one inside the other, such as that of `bash -c`.
pub const SHELL_TEXT_DEPTH_MAX: usize = 4;
/// Entries of folders that the patterns of one path in a shell command are compared with.
pub const PATTERN_ENTRIES_MAX: usize = 10_000;
/// Largest record about a trusted project, in bytes.
pub const TRUST_RECORD_BYTES_MAX: usize = 64 << 10;
/// Largest record of a host about all its projects, in bytes; Claude Code's holds a history and is
/// some megabytes.
pub const HOST_RECORD_BYTES_MAX: u64 = 64 << 20;
/// Host processes whose sessions are kept in memory; the least recently used are forgotten.
pub const HOST_PROCESSES_MAX: usize = 256;
