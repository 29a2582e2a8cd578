//! Bounds of the input and output of hosts, and of the files that register hooks.

/// Time from the answer to a Stop in which the same one may be delivered again, in milliseconds.
pub const STOP_REPEAT_MS_MAX: u64 = 300;
/// Largest hook input that is read whole (contract section 3); of a larger one only short fields
/// are used.
pub const HOOK_INPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Part of a larger hook input that is searched for short fields, from its beginning, in bytes.
pub const HOOK_INPUT_SEARCHED_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Longest field used of a larger hook input, with its name, in bytes.
pub const HOOK_FIELD_BYTES_MAX: usize = 64 * 1024;
/// Longest context text passed to the host, in characters. The host moves anything above 10,000
/// characters into a file that the agent must open first.
pub const CONTEXT_CHARS_MAX: usize = 9_500;
/// Longest text passed to Codex, in bytes. Codex cuts the middle out of texts above 2,500 tokens,
/// and counts four bytes as a token.
pub const CODEX_TEXT_BYTES_MAX: usize = 9_500;
/// Files of one patch that are read; the others are found on disk.
pub const PATCHED_FILES_MAX: usize = 1_000;
/// Longest wait for the agent's final message in a transcript that the host writes late, in
/// milliseconds.
pub const LAST_WORDS_MS_MAX: u64 = 500;
/// Interval of checks for it, in milliseconds.
pub const LAST_WORDS_POLL_MS: u64 = 20;
/// Part of such a transcript that is read, from its end, in bytes.
pub const LAST_WORDS_BYTES_MAX: u64 = 256 * 1024;
/// Largest file that registers hooks, in bytes.
pub const REGISTRATION_BYTES_MAX: usize = 1024 * 1024;
/// Largest file with the times of hooks, in bytes.
pub const HOST_CALLS_BYTES_MAX: usize = 64 * 1024;
/// Shortest time between two writes of the time of one event, in milliseconds.
pub const HOST_CALLS_SAVE_MS: u64 = 10 * 60 * 1000;
