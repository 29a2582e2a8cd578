//! Bounds for decisions about trust in projects and answers.

/// Largest project file with programs to run, in bytes; a larger one is never trusted.
pub const PROGRAM_FILE_BYTES_MAX: u64 = 1 << 20;
/// Time for answering a code shown at a terminal, in milliseconds.
pub const CODE_ANSWER_MS_MAX: u64 = 120_000;
/// Unanswered codes shown at terminals.
pub const CODE_QUESTIONS_MAX: usize = 8;
/// Paths examined of those that one shell command may write; later ones are not.
pub const WRITTEN_PATHS_MAX: usize = 1_000;
/// Words that the braces in one shell word expand to.
pub const BRACE_WORDS_MAX: usize = 100;
/// Values of the variables in one word of a shell command that are examined.
pub const VARIABLE_VALUES_MAX: usize = 50;
/// Longest of these values, in bytes.
pub const VARIABLE_VALUE_BYTES_MAX: usize = 16 * 1024;
/// Nesting of scripts examined in a shell command, such as that of `bash -c`.
pub const SHELL_TEXT_DEPTH_MAX: usize = 4;
/// Folder entries compared with the patterns of one path in a shell command.
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
/// Events from processes other than the host that a loop records, for accepted and for ignored ones
/// each; later ones are only logged.
pub const LOOP_FOREIGN_EVENTS_MAX: usize = 20;
/// Sessions of a project examined once more at the end of the turn that completed their loop; the
/// oldest are forgotten.
pub const COMPLETIONS_MAX: usize = 64;
/// Largest record of a completed loop, in bytes.
pub const COMPLETION_BYTES_MAX: usize = 1_024;
/// Files examined of the arguments of one tool call.
pub const FILE_ARGUMENTS_MAX: usize = 1_000;
/// Nesting of lists and objects in which arguments of a tool call are examined.
pub const FILE_ARGUMENT_DEPTH_MAX: usize = 8;
/// Arguments of one tool call that may be base folders of the others.
pub const ARGUMENT_FOLDERS_MAX: usize = 8;
/// Entries behind links out of a project that a Stop examines.
pub const LINKED_ENTRIES_MAX: usize = 50_000;
/// Files of installed packages that a Stop examines; with more they are not compared.
pub const PACKAGE_ENTRIES_MAX: usize = 300_000;
/// Changed files without an extension for which a Stop searches sources that run texts as code.
pub const RUN_AS_CODE_FILES_MAX: usize = 50;
/// Time for reading these sources, in milliseconds.
pub const RUN_AS_CODE_SEARCH_MS_MAX: u64 = 2_000;
