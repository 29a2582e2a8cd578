//! Bounds of what decides whether a project or an answer is trusted.

/// Largest file of a project that names programs, in bytes; a larger one is never trusted.
pub const PROGRAM_FILE_BYTES_MAX: u64 = 1 << 20;
/// Time in which a code that was shown at a terminal is answered, in milliseconds.
pub const CODE_ANSWER_MS_MAX: u64 = 120_000;
/// Codes shown at terminals and not answered yet.
pub const CODE_QUESTIONS_MAX: usize = 8;
/// Paths examined of those that one shell command may write; later ones are not.
pub const WRITTEN_PATHS_MAX: usize = 1_000;
/// Words that the braces in one word of a shell command stand for.
pub const BRACE_WORDS_MAX: usize = 100;
/// Values of the variables in one word of a shell command that are examined.
pub const VARIABLE_VALUES_MAX: usize = 50;
/// Texts in a shell command that are followed, one inside the other, such as that of `bash -c`.
pub const SHELL_TEXT_DEPTH_MAX: usize = 4;
/// Entries of folders that the patterns of one path in a shell command are compared with.
pub const PATTERN_ENTRIES_MAX: usize = 10_000;
/// Largest patch in a file that is examined before a command applies it, in bytes.
pub const PATCH_BYTES_MAX: u64 = 1024 * 1024;
/// Largest record about a trusted project, in bytes.
pub const TRUST_RECORD_BYTES_MAX: usize = 64 << 10;
/// Largest record of a host about all its projects, in bytes; Claude Code's holds a history and is
/// some megabytes.
pub const HOST_RECORD_BYTES_MAX: u64 = 64 << 20;
/// Host processes whose sessions are kept in memory; the least recently used are forgotten.
pub const HOST_PROCESSES_MAX: usize = 256;
/// Sessions of hosts that are kept in memory and on disk; the oldest are forgotten.
pub const HOST_SESSIONS_MAX: usize = 1_024;
/// Largest record of the host processes and their sessions, in bytes.
pub const HOST_PROCESSES_BYTES_MAX: usize = 1 << 20;
/// Events from other processes than the host that a loop records, of those that were obeyed and of those
/// that were ignored; later ones are only logged.
pub const LOOP_FOREIGN_EVENTS_MAX: usize = 20;
/// Sessions of a project that are examined once more at the end of the turn that completed their loop;
/// the oldest are forgotten.
pub const COMPLETIONS_MAX: usize = 64;
/// Largest record of a completed loop, in bytes.
pub const COMPLETION_BYTES_MAX: usize = 1_024;
/// Files that the arguments of one tool call name; later ones are not examined.
pub const FILE_ARGUMENTS_MAX: usize = 1_000;
/// Lists and objects inside each other in which arguments of a tool call are examined.
pub const FILE_ARGUMENT_DEPTH_MAX: usize = 8;
/// Arguments of one tool call that the others may be relative to.
pub const ARGUMENT_FOLDERS_MAX: usize = 8;
/// Entries behind links out of a project that a Stop examines.
pub const LINKED_ENTRIES_MAX: usize = 50_000;
/// Files of installed packages that a Stop examines; with more they are not compared.
pub const PACKAGE_ENTRIES_MAX: usize = 300_000;
/// Changed files without an extension that a Stop looks for in sources that run texts as code.
pub const RUN_AS_CODE_FILES_MAX: usize = 50;
/// Time for reading these sources, in milliseconds.
pub const RUN_AS_CODE_SEARCH_MS_MAX: u64 = 2_000;
