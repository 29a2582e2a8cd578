//! The bounds of the program that users may notice, with their units in their names. Those that users may
//! change are options in `config` whose range is defined here.

mod failure_lines;
mod file_times;
mod foreign_text;
mod hooks;
mod java;
mod judge;
mod memory;
mod pipeline;
mod postgres;
mod redaction;
mod runtime;
mod scan_workers;
mod store;
mod trust;

pub use self::failure_lines::*;
pub use self::file_times::*;
pub use self::foreign_text::*;
pub use self::hooks::*;
pub use self::java::*;
pub use self::judge::*;
pub use self::memory::*;
pub use self::pipeline::*;
pub use self::postgres::*;
pub use self::redaction::*;
pub use self::runtime::*;
pub use self::scan_workers::*;
pub use self::store::*;
pub use self::trust::*;

/// Largest source file that is checked; larger ones are reported as skipped.
pub const SOURCE_BYTES_MAX: u64 = 1024 * 1024;
/// Largest file with ignore rules that is read, in bytes.
pub const IGNORE_RULES_BYTES_MAX: u64 = 1024 * 1024;
/// Files included by a git configuration; with more, git's data is not read.
pub const GIT_INCLUDES_MAX: usize = 100;
/// Alternate object folders of a git repository; with more, git's data is not read.
pub const GIT_ALTERNATES_MAX: usize = 20;
/// Folders of git objects whose state a thread remembers.
pub const GIT_OBJECT_FOLDERS_MAX: usize = 4_096;
/// Files per directory walk; the rest of a larger tree is reported as skipped.
pub const WALK_FILES_MAX: usize = 200_000;
/// Entries visited below a folder that is not a project; the rest are reported as skipped.
pub const UNMARKED_ENTRIES_MAX: usize = 50_000;
/// Callers that ask for a poll of a root's files within this time after one began share it.
pub const SHARED_POLL_MS: u64 = 25;
/// Files up to which one thread takes the stamps of a tree; more threads would take longer to start.
pub const SERIAL_STAMPS_MAX: usize = 250;
/// Files outside a root's walk that are polled because its language servers depend on them; results
/// that may depend on more have a gap.
pub const OUTSIDE_FILES_MAX: usize = 20_000;
/// Folders of one `site-packages` whose sources are known; deeper and later ones are ignored.
pub const INSTALLED_FOLDERS_MAX: usize = 20_000;
/// Sources of one `site-packages` that are stamped for each request, about 1.5 µs each. With more,
/// only added, removed and replaced files are noticed.
pub const INSTALLED_SOURCES_STAMPED_MAX: usize = 4_000;
/// Deepest syntax tree that is scanned, because matching recurses along it.
pub const TREE_DEPTH_MAX: usize = 500;
/// Processor time for parsing any text; the slowest real sources take 0.3 ms per KiB.
pub const PARSE_CPU_MS_MIN: u64 = 250;
/// The same for each KiB, in addition.
pub const PARSE_CPU_MS_PER_KIB: u64 = 1;
/// Processor time for matching all rules in one text.
pub const MATCH_CPU_MS_MAX: u64 = 2_000;
/// Texts remembered as too slow to parse or to match.
pub const SLOW_TEXTS_MAX: usize = 1_000;
/// Deepest nesting of brackets in a text that is parsed; beyond it some parsers take minutes.
pub const BRACKETS_DEPTH_MAX: usize = 1_000;
/// Hook events whose second delivery is recognized, the latest of all sessions.
pub const EVENT_CLAIMS_MAX: usize = 1_000;
/// Longest diagnostic message kept, in characters; language servers quote whole types.
pub const MESSAGE_CHARS_MAX: usize = 400;
/// Rounds of matching lines of two texts; unmatched lines then count as changed.
pub const DIFF_DEPTH_MAX: u32 = 16;
/// Line hashes of verified texts (8 bytes each) kept in memory, over all projects.
pub const LINE_HASHES_MAX: usize = 1_000_000;
/// Findings listed in the feedback after an edit; the rest are counted.
pub const FEEDBACK_FINDINGS_MAX: usize = 20;
/// Findings, places or files listed in a tool's structured answer; the rest are counted.
pub const TOOL_FINDINGS_MAX: usize = 50;
/// Longest diff shown to a tool, in characters; the summary after it must still fit.
pub const TOOL_DIFF_CHARS_MAX: usize = 6_000;
/// Largest frame accepted from a language server.
pub const LSP_FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest header block of an LSP frame; anything longer is skipped as junk.
pub const LSP_HEADER_BYTES_MAX: usize = 4 * 1024;
/// Largest line and character of a position, 0-based: that of `uinteger` in LSP.
pub const LSP_COORDINATE_MAX: u32 = (1 << 31) - 1;
/// Longest text of a gap, in characters; language servers put stack traces into their errors.
pub const GAP_CHARS_MAX: usize = 300;
/// Longest line about one finding, in characters.
pub const LINE_CHARS_MAX: usize = 1_200;
/// Unmeasured files listed in a text for agents; the rest are counted.
pub const SKIPPED_NAMED_MAX: usize = 5;
/// Files listed that changed after the end of a loop.
pub const CHANGED_FILES_NAMED_MAX: usize = 5;
/// Largest reason of a held Stop in bytes, without the task, the promise and the merge
/// instructions. Hosts show it twice.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Findings listed in that reason.
pub const REASON_FINDINGS_MAX: usize = 3;
/// Longest line about one finding, gap or cause in that reason, in characters.
pub const REASON_LINE_CHARS_MAX: usize = 160;
/// Longest list of the checks that a loop runs, in characters.
pub const CHECKS_NAMED_CHARS_MAX: usize = 300;
/// Longest description of a merge obstacle, in characters.
pub const MERGE_TASK_CHARS_MAX: usize = 6_000;
/// Projects whose verified findings are kept in memory.
pub const PROJECTS_MAX: usize = 32;
/// Retries of a measurement with a transient gap before the gap is reported.
pub const MEASURE_RETRIES_MAX: u32 = 2;
/// Pause before such a retry.
pub const MEASURE_RETRY_MS: u64 = 700;
/// Language servers running at once, over all projects of the user.
pub const LANGUAGE_SERVERS_MAX: usize = 5;
/// Documents kept open in one language server; the least recently used are closed.
pub const OPEN_DOCUMENTS_MAX: usize = 20;
/// Measurements of the batch lane in flight in one language server.
pub const BATCH_IN_FLIGHT_MAX: usize = 4;
/// The same in a server whose results count after a quiet time or a build, because most of each measurement is
/// waiting; with a hook's file they stay below [`OPEN_DOCUMENTS_MAX`], or the documents would evict each other.
pub const BATCH_QUIET_MAX: usize = 16;
/// The same in a server that answers requests one by one, where a hook's request waits for all
/// earlier ones.
pub const BATCH_IN_SEQUENCE_MAX: usize = 1;
/// Messages queued for one language server before senders must wait.
pub const SERVER_QUEUE_MAX: usize = 256;
/// Longest line kept of a language server's log and stderr.
pub const SERVER_LOG_LINE_BYTES_MAX: usize = 500;
/// Lines kept of a language server's log and stderr.
pub const SERVER_LOG_LINES_MAX: usize = 200;
/// Time a language server gets to answer `initialize`.
pub const SERVER_START_MS_MAX: u64 = 60_000;
/// Time between `shutdown` and the end of a language server's process group.
pub const SERVER_STOP_MS_MAX: u64 = 2_500;
/// Time for a killed process tree to disappear; only a process stuck in the kernel takes longer.
pub const SERVER_KILL_MS_MAX: u64 = 1_000;
/// Time for reading the pipes of an ended language server.
pub const SERVER_DRAIN_MS_MAX: u64 = 500;
/// Time a query waits for one of the [`LANGUAGE_SERVERS_MAX`] slots while all servers are busy: as
/// long as a Stop waits for answers by default.
pub const SERVER_SLOT_WAIT_MS_MAX: u64 = 60_000;
/// Time during which a loading server is not stopped to free its slot; bounded, because some
/// servers never report that they are done.
pub const SERVER_LOADING_MS_MAX: u64 = 600_000;
/// Period in which queries count as recent use of a language server.
pub const SERVER_USE_SECS: u64 = 600;
/// Recent queries counted per language server; more do not raise its rank.
pub const SERVER_USES_MAX: usize = 64;
/// Interval for measuring the memory of language servers.
pub const SERVER_MEMORY_POLL_MS: u64 = 3_000;
/// Shortest time between two restarts of a server at its soft memory limit; a server that always
/// needs more would otherwise restart forever.
pub const SERVER_MEMORY_RESTART_SECS_MIN: u64 = 600;
/// Time for language servers to describe themselves for `server list`.
pub const SERVER_DESCRIBE_MS_MAX: u64 = 1_000;
/// Interval at which a supervisor checks its owner; a closed pipe is noticed at once. Below one
/// second.
pub const SUPERVISOR_POLL_MS: u64 = 900;
/// Interval at which a supervisor checks the processes it has killed.
pub const SUPERVISOR_SWEEP_MS: u64 = 5;
/// Number of these checks; together they take half a second.
pub const SUPERVISOR_SWEEPS_MAX: u32 = 100;
/// First pause before a crashed language server is restarted; doubled after every crash.
pub const SERVER_RESTART_MS_MIN: u64 = 500;
/// Longest pause before a crashed language server is restarted.
pub const SERVER_RESTART_MS_MAX: u64 = 60_000;
/// Retries of a query that the server postpones.
pub const QUERY_RETRIES_MAX: u32 = 5;
/// First pause before a cancelled pull is retried; doubled after every retry.
pub const PULL_RETRY_MS_MIN: u64 = 50;
/// Longest pause before a cancelled pull is retried.
pub const PULL_RETRY_MS_MAX: u64 = 1_000;
/// Repetitions of one pull because the server reports its diagnostics as outdated.
pub const REFRESHES_MAX: u32 = 8;
/// Time for rust-analyzer to begin reloading a faulty project.
pub const RUST_RELOAD_MS: u64 = 500;
/// Shortest time from one reload of a faulty project to the next.
pub const RUST_RELOADS_APART_MS: u64 = 3_000;
/// Time for rust-analyzer to begin a requested `cargo check`.
pub const FLYCHECK_START_MS_MAX: u64 = 10_000;
/// Time for a server to list the files of a project over its own socket.
pub const PROJECT_LIST_MS_MAX: u64 = 10_000;
/// Time for `cargo metadata` to report the folder of cargo's records.
pub const CARGO_METADATA_MS_MAX: u64 = 8_000;
/// Output of `cargo metadata`.
pub const CARGO_METADATA_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files below the inputs of one build script; with more, it runs every time.
pub const CARGO_INPUT_FILES_MAX: usize = 20_000;
/// Characters of cargo's own error in a gap.
pub const CARGO_ERROR_CHARS_MAX: usize = 200;
/// Quiet time after the last publish of a server without pull before its result is taken, while the
/// server's habits are unknown.
pub const PUSH_QUIET_MS: u64 = 250;
/// Shortest quiet time that a server's habits may lead to.
pub const PUSH_QUIET_MS_MIN: u64 = 150;
/// Longest quiet time that a server's habits may lead to.
pub const PUSH_QUIET_MS_MAX: u64 = 1_500;
/// Longest pause between two publishes of one analysis in two steps.
pub const PUSH_GAP_MS_MAX: u64 = 3_000;
/// Pauses between publishes remembered per server.
pub const PUSH_GAPS_MAX: usize = 15;
/// Pauses observed before they are trusted.
pub const PUSH_GAPS_MIN: usize = 3;
/// Quiet time after a publish of gopls without a delayed second pass, and after clangd becomes
/// idle.
pub const SETTLE_MS: u64 = 100;
/// Time after gopls' own delay within which its second pass arrives.
pub const GOPLS_SECOND_PASS_MS: u64 = 300;
/// Time without a publish for a file after a push-only server has answered the barrier; then the
/// file is reopened and gets this time once more.
pub const PUSH_SILENT_MS_MAX: u64 = 5_000;
/// Age of an unanswered measurement below which a newer one of the same file waits: a storm of
/// edits is measured at its beginning and at its end.
pub const STORM_MS: u64 = 100;
/// Longest wait of the last measurement of a storm.
pub const STORM_MS_MAX: u64 = 1_000;
/// Changed files of which a language server may miss the notice, because it has not registered for
/// them; beyond that it is restarted.
pub const UNSENT_DISK_CHANGES_MAX: usize = 20_000;
/// Length of a script's first line, as far as Linux reads it for the interpreter.
pub const SCRIPT_LINE_BYTES_MAX: u64 = 256;
/// Largest compilation database, in bytes.
pub const COMPILE_DATABASE_BYTES_MAX: u64 = 64 << 20;
/// Length of a glob pattern that a language server registers.
pub const GLOB_BYTES_MAX: usize = 4_096;
/// Background deadline of one file's diagnostics.
pub const DIAGNOSTICS_MS_MAX: u64 = 120_000;
/// Shortest background deadline that learned latencies lead to.
pub const DIAGNOSTICS_MS_MIN: u64 = 30_000;
/// Wait of an edit for a server that is not expected to answer in time, and the shortest wait for a
/// server that is.
pub const INLINE_MS_MIN: u64 = 300;
/// Latencies remembered per server, cold and warm each.
pub const LATENCY_SAMPLES_MAX: usize = 20;
/// Warm latencies needed before edits wait less than the budget.
pub const LATENCY_SAMPLES_MIN: usize = 5;
/// Configuration files read along `extends`; more are probably a cycle.
pub const CONFIG_BASES_MAX: usize = 32;
/// Unresolved imports of one Python file that suggest a missing virtual environment.
pub const FAULT_IMPORTS_MIN: usize = 2;
/// Longest line of the control protocol, in either direction.
pub const CONTROL_LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Time from the daemon's spawn to its first answer.
pub const DAEMON_START_MS_MAX: u64 = 5_000;
/// Interval for checking a daemon that starts or ends.
pub const DAEMON_RETRY_MS: u64 = 5;
/// Precision of process start times: clock ticks of the process and of the system's uptime.
pub const PROCESS_START_PRECISION_MS: u64 = 20;
/// Silence of the daemon after which `hook stop` itself checks if a loop is active: without a loop,
/// a Stop waits at most a second for a hanging daemon.
pub const HOOK_STOP_SILENCE_MS: u64 = 600;
/// Silence of the daemon after which an edit's hook checks whether it is alive: an edit's default
/// budget and some overhead.
pub const HOOK_EDIT_SILENCE_MS: u64 = 3_000;
/// Consecutive unanswered hooks of a session after which the session gets a notice.
pub const BLIND_HOOKS_MIN: u8 = 2;
/// Sessions whose unanswered hooks are counted; the oldest are forgotten.
pub const BLIND_SESSIONS_MAX: usize = 64;
/// Time for a daemon to show that it is alive.
pub const DAEMON_ALIVE_MS_MAX: u64 = 1_000;
/// The same while a Stop or a command waits: a slow daemon on a busy machine does not count as
/// hanging.
pub const DAEMON_ALIVE_BUSY_MS_MAX: u64 = 10_000;
/// Interval at which a Stop checks whether its daemon is alive.
pub const HOOK_STOP_ALIVE_MS: u64 = 5_000;
/// Silence of the daemon after which commands and the other hooks check whether it is alive.
pub const SILENCE_MS: u64 = 1_000;
/// Time a front door waits for an old daemon to drain before it gives up.
pub const DAEMON_DRAIN_WAIT_MS_MAX: u64 = 10_000;
/// Time for running requests to finish when the daemon stops.
pub const DAEMON_DRAIN_MS_MAX: u64 = 5_000;
/// Calls handled at the same time.
pub const CONNECTIONS_MAX: usize = 256;
/// Calls other than hooks among them, so that hooks are always accepted.
pub const COMMAND_CALLS_MAX: usize = 192;
/// Time for a connection to send its call.
pub const CALL_READ_MS_MAX: u64 = 5_000;
/// Calls above [`SMALL_CALL_BYTES_MAX`] that are in memory at the same time.
pub const LARGE_CALLS_MAX: usize = 2;
/// Bytes of a call that may be in memory for every connection.
pub const SMALL_CALL_BYTES_MAX: u64 = 1024 * 1024;
/// Deferred reports kept per session; the next Stop supersedes older ones anyway.
pub const DELIVERIES_PER_SESSION_MAX: usize = 64;
/// Gaps remembered as reported to a session; a forgotten one may be reported again.
pub const REPORTED_GAPS_MAX: usize = 2_000;
/// Topics with a pending report in one session; the oldest are dropped.
pub const PENDING_TOPICS_MAX: usize = 500;
/// Environments of callers whose results of one file and server are kept in memory.
pub const ENVIRONMENTS_MAX: usize = 4;
/// Sessions whose state is kept in memory.
pub const SESSIONS_MAX: usize = 256;
/// Files measured for one Stop; the rest are skipped and count as unmeasured.
pub const STOP_FILES_MAX: usize = 500;
/// Attempts to decide one Stop while other Stops of its session change the loop.
pub const STOP_TRIES_MAX: u32 = 3;
/// Longest completion promise, in characters.
pub const PROMISE_CHARS_MAX: usize = 200;
/// Longest part of an unknown option repeated in a message, in characters.
pub const OPTION_CHARS_MAX: usize = 60;
/// Largest loop prompt.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;
/// Longest part of a loop's task repeated at every iteration, in characters.
pub const TASK_CHARS_MAX: usize = 3_000;
/// Time a command waits for its answer: the longest `check --timeout` and some overhead.
pub const COMMAND_SECS_MAX: u64 = 3_700;
/// Time `hook stop` waits. This and the limits below are shorter than the timeouts in
/// `hooks/hooks.json`, so that the program ends the wait and not the host.
pub const HOOK_STOP_MS_MAX: u64 = 590_000;
/// Time reserved at the end of a Stop for saving and replying.
pub const STOP_REPLY_MS: u64 = 15_000;
/// The same reserve as a fraction of the Stop's time, if that is shorter: one tenth.
pub const STOP_REPLY_SHARE: u32 = 10;
/// Fraction of a Stop's time that checks leave to everything else, at most `loop.stop_budget_ms`:
/// one third.
pub const STOP_SENSORS_SHARE: u32 = 3;
/// Shortest configurable time of a Stop, in seconds.
pub const STOP_TIMEOUT_SECS_MIN: u64 = 5;
/// Longest configurable time of a Stop, in seconds; shorter than [`HOOK_STOP_MS_MAX`].
pub const STOP_TIMEOUT_SECS_MAX: u64 = 580;
/// Time the start of a loop waits for its first checkpoint; a slower one finishes in the
/// background.
pub const START_CHECKPOINT_MS_MAX: u64 = 3_000;
/// Time `hook post-tool-use` and `hook post-tool-batch` wait.
pub const HOOK_EDIT_MS_MAX: u64 = 13_000;
/// Time `hook session-start` and `hook user-prompt-expansion` wait.
pub const HOOK_START_MS_MAX: u64 = 8_000;
/// Time `hook session-start` of a new session waits for a daemon that it had to start.
pub const HOOK_COLD_START_MS_MAX: u64 = 500;
/// Time `hook session-end` waits; the host gives all hooks together about 1.5 s.
pub const HOOK_END_MS_MAX: u64 = 900;
/// Time `hook pre-tool-use` waits before it decides without the daemon; the host waits 5 s.
pub const HOOK_TOOL_MS_MAX: u64 = 2_500;
/// Time the other hooks wait.
pub const HOOK_MS_MAX: u64 = 4_000;
/// Time `/moai-fix` measures before it lists the findings.
pub const FIX_LIST_MS_MAX: u64 = 5_000;
/// Most iterations of a loop.
pub const LOOP_ITERATIONS_MAX: u32 = 1_000;
/// Longest time of a loop: thirty days.
pub const LOOP_MINUTES_MAX: u32 = 43_200;
/// Longest delay of a Stop that continues the loop.
pub const COOLDOWN_MS_MAX: u64 = 60_000;
/// Smallest configurable context window of a model, in tokens.
pub const CONTEXT_TOKENS_MIN: u64 = 1_000;
/// Largest configurable context window of a model, in tokens.
pub const CONTEXT_TOKENS_MAX: u64 = 10_000_000;
/// Files and folders that a loop may be limited to.
pub const LOOP_PATHS_MAX: usize = 200;
/// Edit distance up to which a known option is suggested for an unknown one.
pub const OPTION_TYPOS_MAX: usize = 2;
/// Shortest part of an option's name for which a hint suggests the option, in characters.
pub const OPTION_PART_CHARS_MIN: usize = 4;
/// Longest extension by which a word is recognized as a file, in characters.
pub const PATH_EXTENSION_CHARS_MAX: usize = 5;
/// Most worktrees of a loop.
pub const LOOP_WORKERS_MAX: u32 = 8;
/// Consecutive iterations without progress after which a loop has stalled.
pub const STALL_ITERATIONS_MAX: usize = 3;
/// Consecutive iterations without a changed file after which the agent is warned.
pub const NO_OP_ITERATIONS_MIN: usize = 2;
/// Consecutive iterations that introduce at least as many errors as they fix, after which the agent
/// is warned.
pub const DIVERGING_ITERATIONS_MIN: usize = 2;
/// Reappearances of an error before it is reported as recurring.
pub const FLIPS_MIN: usize = 2;
/// Error fingerprints kept per iteration.
pub const FLIP_ERRORS_MAX: usize = 200;
/// Iterations whose error fingerprints are kept.
pub const FLIP_ITERATIONS_MAX: usize = 12;
/// Recurring errors listed.
pub const FLIPS_NAMED_MAX: usize = 5;
/// Stops that the research gate may hold.
pub const RESEARCH_TRIES_MAX: u32 = 3;
/// Consecutive continuations without a tool call that the host allows by default (Claude Code
/// 2.1.143 and later).
pub const HOST_CONTINUATIONS_MAX: u32 = 8;
/// Longest part of the agent's last message that a loop keeps, in characters.
pub const LAST_MESSAGE_CHARS_MAX: usize = 300;
pub const LOOPS_LISTED_MAX: usize = 50;
/// Consecutive Stops allowed because the same background tasks are running.
pub const BACKGROUND_STOPS_MAX: u32 = 3;
/// Consecutive Stops held only because something is unmeasured.
pub const UNMEASURED_BLOCKS_MAX: u32 = 2;
/// Bytes kept from the beginning of a check's output.
pub const CHECK_OUTPUT_HEAD_BYTES_MAX: usize = 2 * 1024;
/// Bytes kept from the end of a check's output.
pub const CHECK_OUTPUT_TAIL_BYTES_MAX: usize = 4 * 1024;
/// Time between terminating and killing a command's process group.
pub const COMMAND_KILL_GRACE_MS: u64 = 500;
/// Time for a killed program to be reaped; only a process stuck in the kernel takes longer.
pub const PROGRAM_REAP_MS_MAX: u64 = 2_000;
/// Time for reading the pipe of a dead process group; a process that left the group may keep it
/// open forever.
pub const PROGRAM_DRAIN_MS_MAX: u64 = 500;
/// Bytes of a program's output read at once: the capacity of a pipe.
pub const PROGRAM_READ_BYTES_MAX: usize = 64 * 1024;
/// Longest first line of a task in an offer to adopt its loop, in characters.
pub const GOAL_CHARS_MAX: usize = 120;
/// Orphaned loops offered to one session.
pub const OFFERED_LOOPS_MAX: usize = 3;
/// Largest loop marker, in bytes; a larger file is ignored.
pub const LOOP_MARKER_BYTES_MAX: u64 = 8 * 1024;
/// Files read in a folder of loop markers.
pub const LOOP_MARKERS_READ_MAX: usize = 64;
/// Longest loop id, in bytes.
pub const LOOP_ID_BYTES_MAX: usize = 40;
/// Longest id of a session that may own a loop, in characters.
pub const SESSION_ID_CHARS_MAX: usize = 128;
/// Size at which a log file is rotated (one old file is kept).
pub const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Longest Unix socket path that every supported system accepts.
pub const SOCKET_PATH_BYTES_MAX: usize = 100;
/// Time for one installation step of a language server.
pub const INSTALL_MS_MAX: u64 = 600_000;
/// Interval for checking an installer.
pub const INSTALL_POLL_MS: u64 = 20;
/// Faulty texts in quick succession in a conformance probe.
pub const PROBE_BURST_COUNT: usize = 10;
/// Concurrent measurements by language servers in one check.
pub const MEASUREMENTS_AT_ONCE_MAX: usize = 64;
/// Touched names of one edit that are searched in other files.
pub const IMPACT_NAMES_MAX: usize = 64;
/// Shortest name that is searched in all files, in characters; shorter ones occur in every file and
/// are searched in importers only.
pub const NAME_CHARS_MIN: usize = 3;
/// Files with a touched name above which the name counts as common: then only importers and
/// neighbours of the edited file count as dependents.
pub const IMPACT_COMMON_FILES_MAX: usize = 100;
/// Time for searching the dependents of an edit.
pub const IMPACT_SEARCH_MS_MAX: u64 = 2_000;
/// Overlays shown to one language server at the same time; together with a measured file below
/// [`OPEN_DOCUMENTS_MAX`], or they would close each other.
pub const OVERLAY_FILES_MAX: usize = 16;
/// Attempts to show overlays again after other requests interrupted them.
pub const OVERLAY_PASSES_MAX: usize = 10;
/// Base states of loops whose measurements are kept.
pub const BASE_STATES_MAX: usize = 8;
/// Files measured in the background at the start of a loop to know the older findings.
pub const BASE_FILES_MAX: usize = 300;
/// How many of these files are measured concurrently; few, so that edits need not wait.
pub const BASE_FILES_AT_ONCE_MAX: usize = 4;
/// Attempts to measure such a group when files change in the meantime.
pub const BASE_TRIES_MAX: usize = 3;
/// Source files that are all measured before a loop ends as completed; in a larger project, only
/// those that mention the change.
pub const RELATED_FILES_MAX: usize = BASE_FILES_MAX;
/// Pairs of a new and a deleted file compared to find renames.
pub const RENAME_PAIRS_MAX: usize = 10_000;
/// Time an edit waits for the findings of its earlier text after it has been measured itself.
pub const EARLIER_INLINE_MS_MAX: u64 = 1_000;
/// Time for measuring earlier texts in the background.
pub const EARLIER_DEFERRED_MS_MAX: u64 = 30_000;
/// Dependents measured while the edit's hook waits.
pub const IMPACT_INLINE_FILES_MAX: usize = 8;
/// Time the hook waits for them after the edited file has been measured.
pub const IMPACT_INLINE_MS_MAX: u64 = 300;
/// Further dependents measured after the hook has answered.
pub const IMPACT_DEFERRED_FILES_MAX: usize = 40;
/// Files measured concurrently after the hook has answered.
pub const IMPACT_DEFERRED_AT_ONCE_MAX: usize = 4;
/// Files changed on disk by other writers that one hook measures; the rest are counted.
pub const CHANGED_INLINE_FILES_MAX: usize = 8;
/// Files changed on disk that one hook reads to exclude those with known content.
pub const CHANGED_READ_FILES_MAX: usize = 500;
/// How much older than the start of its tool call a file's change may appear, because file system
/// clocks are coarse.
pub const TOOL_CLOCK_SLACK_MS: u64 = 1_000;
/// Files written by one tool call that are recorded; above this, none is recorded.
pub const SESSION_WRITES_MAX: usize = 4_096;
/// Files listed in which a writer other than the session weakened the loop's exam.
pub const FOREIGN_FILES_NAMED_MAX: usize = 5;
/// Files remembered as written by one session.
pub const SESSION_FILES_MAX: usize = 2_000;
/// Entries searched for the texts of deleted files.
pub const MOVED_SEARCH_FILES_MAX: usize = 500_000;
/// Bytes read during that search.
pub const MOVED_SEARCH_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Dependents remembered for one session's edits.
pub const SESSION_DEPENDENTS_MAX: usize = 300;
/// Touched names remembered for one session's edits.
pub const TOUCHED_NAMES_MAX: usize = 1_000;
/// Bytes of texts kept for comparison with the next change by other writers.
pub const CACHED_TEXTS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Files that one rename or rewrite may change.
pub const CHANGED_FILES_MAX: usize = 1_000;
/// Bytes of all files that one rename or rewrite reads and writes.
pub const CHANGED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Leading bytes of a file that are searched for a marker of generated code.
pub const GENERATED_HEAD_BYTES_MAX: usize = 2 * 1024;
/// Time one change set waits for another one of the same project.
pub const CHANGES_WAIT_MS_MAX: u64 = 10_000;
/// Interval for checking whether the other change set is done.
pub const CHANGES_RETRY_MS: u64 = 10;
/// Journals kept per project because other writers changed files before they could be rolled back.
pub const JOURNALS_KEPT_MAX: usize = 5;
/// Deepest nesting of symbols that is followed.
pub const SYMBOL_DEPTH_MAX: usize = 32;
/// Locations or symbols kept of one answer; the answer reports that more are missing.
pub const LOCATIONS_MAX: usize = 5_000;
/// Locations or symbols listed in a text; the rest are counted.
pub const LOCATIONS_NAMED_MAX: usize = 200;
/// Longest source line shown next to a location, in characters.
pub const EXCERPT_CHARS_MAX: usize = 160;
/// Longest hover text, in characters.
pub const HOVER_CHARS_MAX: usize = 4_000;
/// Language servers queried for symbols by name.
pub const SYMBOL_SERVERS_MAX: usize = LANGUAGE_SERVERS_MAX;
/// Attempts of a rename when files change while the server computes it.
pub const RENAME_TRIES_MAX: u32 = 3;
/// Unchanged lines shown around a change in a diff.
pub const DIFF_CONTEXT_LINES: usize = 3;
/// Age below which a file may still be unknown to a language server that watches the project.
pub const NEW_FILE_SECS_MAX: u64 = 60;
/// New files opened in a language server before a project-wide query; together with the queried
/// file below [`OPEN_DOCUMENTS_MAX`], or they would close each other.
pub const NEW_FILES_OPENED_MAX: usize = 16;
/// Time for the shortest diff of one file; after it a longer diff is accepted.
pub const DIFF_MS_MAX: u64 = 500;
/// Findings of a scan shown with their source line; the others take one line each.
pub const SCAN_EXCERPTS_MAX: usize = 200;
/// Time after which a progress bar is shown, in milliseconds.
pub const PROGRESS_SHOWN_MS_MIN: u64 = 1_000;
/// Refresh interval of the progress bar, in milliseconds.
pub const PROGRESS_REFRESH_MS: u64 = 100;
/// Largest baseline file, in bytes.
pub const BASELINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of cached scan results per project and rule set; the least recently used go first.
pub const SCAN_CACHE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Fewest files of a scan for which cached results are read.
pub const SCAN_CACHE_FILES_MIN: usize = 50;
/// Rule sets whose scan results are cached per project; the oldest file goes first.
pub const SCAN_CACHE_RULE_SETS_MAX: usize = 4;
/// Rule files read per project; more are reported as unread.
pub const RULE_FILES_MAX: usize = 2_000;
/// Longest replacement of a rewrite.
pub const REPLACEMENT_BYTES_MAX: usize = 64 * 1024;
/// Nesting depth of matches in one rewrite; each level parses the text again.
pub const REWRITE_NESTING_MAX: usize = 100;
/// Rounds of fixes for one text; each round finds fixes that the last one skipped or enabled.
pub const FIX_ROUNDS_MAX: usize = 10;
/// Most matches of one search.
pub const SEARCH_MATCHES_MAX: usize = 10_000;
/// Longest matched text or variable in the JSON document of a search, in characters.
pub const MATCH_CHARS_MAX: usize = 2_000;
/// Time for `scan --fix`; after it nothing is written.
pub const FIX_SECS_MAX: u64 = 600;
/// Shortest `APPROACH` that passes the research gate, in characters.
pub const APPROACH_CHARS_MIN: usize = 50;
/// Lowest `CONFIDENCE` that passes the research gate.
pub const CONFIDENCE_MIN: u32 = 30;
/// Entries of `REMAINING_GAP` shown at the start of an iteration.
pub const REMAINING_LINES_MAX: usize = 5;
/// Lines about what a code at a terminal accepts.
pub const ACCEPTED_LINES_MAX: usize = 40;
/// Lines of `progress.txt` above which the agent is asked to shorten it.
pub const PROGRESS_LINES_MAX: usize = 80;
/// Longest decision or remaining step shown, in characters.
pub const DECISION_CHARS_MAX: usize = 500;
/// Decisions taken from one `progress.txt`.
pub const DECISIONS_MAX: usize = 200;
/// Longest part of `progress.txt` that a completed loop passes on to the next, in characters.
pub const HANDOFF_CHARS_MAX: usize = 8_000;
/// Completed loops read from `.claude/memory/`.
pub const WIKI_LOOPS_MAX: usize = 10_000;
/// Unanswered questions listed when they prevent a start.
pub const QUESTIONS_NAMED_MAX: usize = 10;
/// Longest instructions of an iteration, in characters; they come with every Stop that continues
/// the loop.
pub const FRAMEWORK_CHARS_MAX: usize = 2_400;
/// Longest reminder of these instructions repeated at each Stop, in bytes.
pub const REMINDER_BYTES_MAX: usize = 300;
/// Longest line read of a transcript; longer ones hold file contents, and counts that are repeated
/// elsewhere.
pub const TRANSCRIPT_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of a transcript read at once; the rest is read the next time.
pub const TRANSCRIPT_READ_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Replies whose tokens are counted for one session.
pub const TRANSCRIPT_REPLIES_MAX: usize = 100_000;
/// Transcripts of subagents that are read for one session.
pub const TRANSCRIPT_FILES_MAX: usize = 1_000;
/// Sentences of one message checked against the evidence.
pub const CLAIM_SENTENCES_MAX: usize = 500;
/// Longest quoted sentence, in characters.
pub const CLAIM_CHARS_MAX: usize = 160;
/// Largest file that a loop updates for agents and people; a larger one is not changed.
pub const LOOP_FILE_BYTES_MAX: usize = 512 * 1024;
/// Attempts to update such a file while other writers change it.
pub const LOOP_FILE_TRIES_MAX: usize = 3;
/// Contradicted sentences of one message shown to the user.
pub const CLAIMS_NAMED_MAX: usize = 3;
/// Shortest test run for which a collapse is reported; below it, caches may explain any drop.
pub const TEST_COLLAPSE_MS_MIN: u64 = 5_000;
/// Drop of that time that counts as a collapse.
pub const TEST_COLLAPSE_PERCENT: u64 = 90;
/// Commands configurable for every Stop.
pub const CHECKS_MAX: usize = 50;
/// Time for all checks together when no Stop bounds it.
pub const CHECKS_MS_MAX: u64 = 420_000;
/// Longest output line of a check searched for test totals; longer ones contain none.
pub const CHECK_LINE_BYTES_MAX: usize = 16 * 1024;
/// Folders below the root whose files may suggest checks.
pub const PROPOSAL_FOLDERS_MAX: usize = 50;
/// Files of one frozen exam, without tests; more are reported as not compared.
pub const EXAM_FILES_MAX: usize = 2_000;
/// Files searched for when an exam is frozen or compared, because checks may run or load them.
pub const EXAM_CANDIDATES_MAX: usize = 20_000;
/// Tests of one frozen exam; further ones are not listed, and their base text is read from git.
pub const EXAM_TESTS_MAX: usize = 5_000;
/// Largest text kept in a frozen exam; of larger ones only the hash is kept.
pub const EXAM_TEXT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of all texts in one frozen exam.
pub const EXAM_TEXTS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Leading bytes of a file hashed for the exam, together with its length.
pub const EXAM_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Exams of finished loops kept in one project's store; older ones are deleted.
pub const EXAMS_MAX: usize = 20;
/// Largest file in a checkpoint; a larger one is included only if it is unchanged in git.
pub const CHECKPOINT_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Bytes read for one checkpoint, over all files that are not stored already.
pub const CHECKPOINT_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of untracked files in one checkpoint.
pub const CHECKPOINT_UNTRACKED_BYTES_MAX: u64 = 32 * 1024 * 1024;
pub const CHECKPOINT_FILES_MAX: usize = 200_000;
/// Checkpoints kept per loop; the oldest go first, the best one stays.
pub const CHECKPOINTS_PER_LOOP_MAX: usize = 100;
/// Most recent loops of a project whose checkpoints are kept.
pub const CHECKPOINT_LOOPS_MAX: usize = 20;
/// Time for which an unlisted copy is kept, because another session may be about to list it.
pub const CHECKPOINT_COPY_SECS_MIN: u64 = 3_600;
/// Largest file list of a checkpoint without git, in bytes.
pub const CHECKPOINT_LIST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files changed by one restore of a checkpoint.
pub const RESTORE_FILES_MAX: usize = 10_000;
/// Bytes read by one restore: current and restored contents.
pub const RESTORE_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Bytes of texts, before and after, in the diff of a restore.
pub const RESTORE_DIFF_BYTES_MAX: usize = 1024 * 1024;
/// Longest diff shown before a checkpoint is restored, in characters.
pub const RESTORE_DIFF_CHARS_MAX: usize = 20_000;
/// Time for one call of the `git` program, including the project's hooks.
pub const GIT_MS_MAX: u64 = 120_000;
/// Time for one call of the `git` program that contacts a remote.
pub const GIT_REMOTE_MS_MAX: u64 = 60_000;
/// Time for one call of the `git` program that updates a user's working tree: as long as a whole
/// Stop, because an interrupted call leaves files half written.
pub const GIT_MOVE_MS_MAX: u64 = HOOK_STOP_MS_MAX;
/// Time a merge waits for another merge of the same repository while its checks run. It ends
/// earlier if the Stop's time runs out.
pub const MERGE_WAIT_MS_MAX: u64 = 560_000;
/// Interval for checking whether the other merge is done.
pub const MERGE_RETRY_MS: u64 = 50;
/// Attempts of a merge when the target branch moves meanwhile.
pub const MERGE_TRIES_MAX: u32 = 5;
/// Entries of HEAD's reflog read back to the commit a loop started from.
pub const REFLOG_ENTRIES_MAX: usize = 10_000;
/// Foreign commits merged into a branch; above this, all commits count as its own.
pub const FOREIGN_COMMITS_MAX: usize = 20_000;
/// Attempts to remove a worktree while processes that are about to end still write in it.
pub const REMOVE_TRIES_MAX: usize = 20;
/// Files listed in the task for a failed merge; the rest are counted.
pub const MERGE_FILES_NAMED_MAX: usize = 20;
/// Judges of one change.
pub const JUDGES_MAX: usize = 8;
/// Suspicions kept of one answer or one change.
pub const SUSPICIONS_MAX: usize = 50;
/// Words allowed between two words of a phrase that addresses a judge.
pub const INJECTION_WORDS_APART_MAX: usize = 4;
/// Judgements kept per project; the oldest go first.
pub const JUDGEMENTS_KEPT_MAX: usize = 500;
/// Product of removed and added tests up to which their bodies are compared for similarity; above
/// it only identical bodies match.
pub const GUARD_SIMILAR_TESTS_MAX: usize = 40_000;
/// Combinations of the values of one test; lists that make more are not combined.
pub const TEST_ROWS_MAX: usize = 10_000;
/// Depth to which variables are resolved through the values of others.
pub const GUARD_VARIABLE_STEPS_MAX: usize = 3;
/// Largest waiver file, in bytes.
pub const WAIVERS_BYTES_MAX: usize = 1024 * 1024;
/// Manual overrides that a loop records; the oldest are dropped first.
pub const LOOP_OVERRIDES_MAX: usize = 50;
/// Longest reason of a waiver, in characters.
pub const WAIVER_REASON_CHARS_MAX: usize = 500;
/// Deepest nesting of a configuration file that the guard reads.
pub const SETTINGS_DEPTH_MAX: usize = 64;
/// Fewest tokens of a body whose replacement by a constant is reported.
pub const STUB_TOKENS_MIN: usize = 12;
/// Fewest characters of a commented line that may be code.
pub const COMMENTED_CODE_CHARS_MIN: usize = 10;
/// Fewest characters of a text whose occurrence in both a test and a program is not a coincidence.
pub const RARE_TEXT_CHARS_MIN: usize = 4;
/// Buffer between the reader of an MCP client's lines and their handler, in bytes.
pub const MCP_PIPE_BYTES: usize = 64 * 1024;
/// Longest message of an MCP client, in bytes.
pub const MCP_LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Parent processes checked for whether an agent started this one.
pub const ANCESTORS_MAX: usize = 64;
