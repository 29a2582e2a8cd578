//! Bounds on the processes that parse and scan.

/// Longest pattern of a rule or a search. The worst ones take a grammar time and memory with the
/// square of their size: at this one, 0.3 seconds and 200 MB.
pub const PATTERN_BYTES_MAX: usize = 2 * 1024;
/// Processor time for compiling all rules of a project.
pub const RULES_CPU_MS_MAX: u64 = 2_000;
/// Texts of a project's rule files together; the rest is reported as unread.
pub const RULE_TEXTS_BYTES_MAX: usize = 16 << 20;
/// Rule files that crash a worker, after which the project's other rules are not tried.
pub const CRASHING_RULE_FILES_MAX: usize = 3;
/// Processor time for one scan or parse, in seconds: parsing, matching, and the last attempt of a
/// rule, which cannot be cancelled.
pub const SCAN_JOB_CPU_SECS_MAX: u64 = 6;
/// Wall time for the same, in seconds, on a busy machine.
pub const SCAN_JOB_SECS_MAX: u64 = 60;
/// Address space of a worker: several times the need of the largest text.
pub const SCAN_WORKER_BYTES_MAX: u64 = 1 << 30;
/// Workers beyond the number of cores, for hooks while a large scan is running.
pub const SPARE_SCAN_WORKERS: usize = 1;
/// Idle workers; further ones end after their job.
pub const IDLE_SCAN_WORKERS_MAX: usize = 2;
/// Sets of rules that a worker keeps compiled.
pub const WORKER_RULE_SETS_MAX: usize = 4;
/// Longest request or reply: the largest text and its findings, or the rules of a project.
pub const SCAN_JOB_BYTES_MAX: usize = 64 << 20;
/// Jobs whose outcome is remembered in each of two generations (40 bytes each).
pub const SCAN_JOBS_REMEMBERED_MAX: usize = 10_000;
/// A file whose scan takes this long is slow. Real files take milliseconds.
pub const SLOW_FILE_MS_MIN: u64 = 1_000;
/// Time for the slow files of one scan together, on all its threads; the rest is unmeasured.
pub const SLOW_FILES_MS_MAX: u64 = 120_000;
