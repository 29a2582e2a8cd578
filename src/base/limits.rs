//! Every bound of the program, with its unit in the name. A number that limits anything lives here
//! and nowhere else; what a user may change is an option in `config` whose range is stated here.

/// Largest source file that is read for checking; larger ones are skipped and said so.
pub const SOURCE_BYTES_MAX: u64 = 1024 * 1024;
/// Files one walk finds; a larger tree is said to be skipped from there on.
pub const WALK_FILES_MAX: usize = 200_000;
/// Deepest syntax tree that is scanned; matching recurses along the tree.
pub const TREE_DEPTH_MAX: usize = 500;
/// Deepest nesting of brackets in a text that is parsed; some parsers take minutes for more, and
/// its tree would be too deep.
pub const BRACKETS_DEPTH_MAX: usize = 1_000;
/// Largest hook input accepted on stdin (contract section 3).
pub const HOOK_INPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Longest context text handed to the host, in characters. The host moves anything above 10,000
/// characters into a file that the agent must open first.
pub const CONTEXT_CHARS_MAX: usize = 9_500;
/// Longest diagnostic message kept, in characters; language servers quote whole types.
pub const MESSAGE_CHARS_MAX: usize = 400;
/// Rounds of comparing two texts; what is not found again by then counts as changed.
pub const DIFF_DEPTH_MAX: u32 = 16;
/// Lines of verified texts whose hashes (8 bytes each) are kept, over all projects.
pub const LINES_KEPT_MAX: usize = 1_000_000;
/// Findings named one by one in an edit's feedback; the rest are counted.
pub const FEEDBACK_FINDINGS_MAX: usize = 20;
/// Findings, places or files named one by one in a tool's structured answer; the rest are counted.
pub const TOOL_FINDINGS_MAX: usize = 50;
/// Longest diff shown to a tool, in characters; the summary behind it must fit, too.
pub const TOOL_DIFF_CHARS_MAX: usize = 6_000;
/// Largest frame taken from a language server.
pub const LSP_FRAME_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest header block of an LSP frame; beyond it the bytes are junk and are skipped.
pub const LSP_HEADER_BYTES_MAX: usize = 4 * 1024;
/// Longest text of a gap, in characters; language servers put stack traces into their errors.
pub const GAP_CHARS_MAX: usize = 300;
/// Longest line about one finding, in characters.
pub const LINE_CHARS_MAX: usize = 1_200;
/// Files named one by one as not measured in a text for agents; the rest are counted.
pub const SKIPPED_NAMED_MAX: usize = 5;
/// Largest reason of a held Stop in bytes, without the task, the promise and the instructions for a
/// merge conflict. Hosts show it twice.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Findings named one by one in it.
pub const REASON_FINDINGS_MAX: usize = 3;
/// Longest line of it about one finding, gap or reason, in characters.
pub const REASON_LINE_CHARS_MAX: usize = 160;
/// Lines of a failed check's output that are repeated in it.
pub const FAILED_LINES_MAX: usize = 4;
/// Longest of these lines, in characters.
pub const FAILED_LINE_CHARS_MAX: usize = 110;
/// Longest list of the checks that a loop runs, in characters.
pub const CHECKS_NAMED_CHARS_MAX: usize = 300;
/// Longest description of what keeps a branch from being merged, in characters.
pub const MERGE_TASK_CHARS_MAX: usize = 6_000;
/// Projects whose verified sets are kept in memory.
pub const PROJECTS_MAX: usize = 32;
/// Times a measurement that ended for a passing reason is asked again before its gap is told.
pub const MEASURE_RETRIES_MAX: u32 = 2;
/// Pause before it is asked again.
pub const MEASURE_RETRY_MS: u64 = 700;
/// Language servers running at once, over all projects of the user.
pub const LANGUAGE_SERVERS_MAX: usize = 5;
/// Documents kept open in one language server; the least recently used are closed.
pub const OPEN_DOCUMENTS_MAX: usize = 20;
/// Pull requests in flight in one language server.
pub const PULLS_IN_FLIGHT_MAX: usize = 4;
/// Messages waiting for one language server before callers must wait.
pub const SERVER_QUEUE_MAX: usize = 256;
/// Longest line kept of what a language server writes to its log and to stderr.
pub const SERVER_LOG_LINE_BYTES_MAX: usize = 500;
/// Lines kept of what a language server writes to its log and to stderr.
pub const SERVER_LOG_LINES_MAX: usize = 200;
/// Time a language server gets to answer `initialize`.
pub const SERVER_START_MS_MAX: u64 = 60_000;
/// Time a language server gets between `shutdown` and the end of its process group.
pub const SERVER_STOP_MS_MAX: u64 = 2_500;
/// Time a language server's process tree gets to be gone once it is killed; longer takes only what
/// is stuck in the kernel.
pub const SERVER_KILL_MS_MAX: u64 = 1_000;
/// Time for reading what an ended language server left in its pipes.
pub const SERVER_DRAIN_MS_MAX: u64 = 500;
/// Time a question waits for one of the [`LANGUAGE_SERVERS_MAX`] places when every one is taken by
/// a busy server: as long as a Stop waits for its answers by default.
pub const SERVER_ROOM_MS_MAX: u64 = 60_000;
/// Time for which a server that says it is loading is not stopped to make room: one that never
/// says that it is done must not keep its place for ever.
pub const SERVER_LOADING_MS_MAX: u64 = 600_000;
/// Span in which questions count as recent use of a language server.
pub const SERVER_USE_SECS: u64 = 600;
/// Recent questions counted for one language server; more weigh the same.
pub const SERVER_USES_MAX: usize = 64;
/// Pause between two looks at the memory of language servers.
pub const SERVER_MEMORY_LOOK_MS: u64 = 3_000;
/// Shortest time between two restarts of a server because of its soft limit: one that needs more
/// would otherwise start for ever.
pub const SERVER_MEMORY_RESTART_SECS_MIN: u64 = 600;
/// Time language servers get to describe themselves for `server list`.
pub const SERVER_DESCRIBE_MS_MAX: u64 = 1_000;
/// Pause between two looks of a supervisor at its owner; a closed pipe is seen at once. Below one
/// second.
pub const SUPERVISOR_LOOK_MS: u64 = 900;
/// Pause between two looks of a supervisor at what it has killed.
pub const SUPERVISOR_SWEEP_MS: u64 = 5;
/// Looks of a supervisor at what it has killed: half a second.
pub const SUPERVISOR_SWEEPS_MAX: u32 = 100;
/// First pause before a crashed language server is started again; doubled at every crash.
pub const SERVER_RESTART_MS_MIN: u64 = 500;
/// Longest pause before a crashed language server is started again.
pub const SERVER_RESTART_MS_MAX: u64 = 60_000;
/// Times a query that the server puts off is asked again.
pub const QUERY_RETRIES_MAX: u32 = 5;
/// First pause before a cancelled pull is asked again; doubled at every retry.
pub const PULL_RETRY_MS_MIN: u64 = 50;
/// Longest pause before a cancelled pull is asked again.
pub const PULL_RETRY_MS_MAX: u64 = 1_000;
/// Times one pull is asked again because the server says that its diagnostics are outdated.
pub const REFRESHES_MAX: u32 = 8;
/// Time rust-analyzer gets to notice that a project with a fault was mended.
pub const RUST_RELOAD_MS: u64 = 500;
/// Time rust-analyzer gets to begin a `cargo check` that it was asked for.
pub const FLYCHECK_BEGIN_MS_MAX: u64 = 10_000;
/// Time jdtls gets to publish about a text after it has answered a barrier; then it is sent again.
pub const JAVA_PUBLISH_MS_MAX: u64 = 5_000;
/// Time jdtls gets to begin publishing what a build has changed; it waits 400 ms itself.
pub const JAVA_SETTLE_MS: u64 = 700;
/// Builds asked of jdtls for one question.
pub const JAVA_BUILDS_MAX: u32 = 5;
/// Pause before a cancelled build is asked for again.
pub const JAVA_RETRY_MS: u64 = 500;
/// Quiet time after the last publish of a server without pull, before it is taken, while nothing
/// is known about the server.
pub const PUSH_QUIET_MS: u64 = 250;
/// Shortest quiet time that a server's habits may bring it to.
pub const PUSH_QUIET_MS_MIN: u64 = 150;
/// Longest quiet time that a server's habits may bring it to.
pub const PUSH_QUIET_MS_MAX: u64 = 1_500;
/// Longest pause between two publishes that counts as one analysis in two steps.
pub const PUSH_GAP_MS_MAX: u64 = 3_000;
/// Pauses between publishes that are remembered of one server.
pub const PUSH_GAPS_MAX: usize = 15;
/// Pauses seen before they are trusted.
pub const PUSH_GAPS_MIN: usize = 3;
/// Quiet time after a publish of gopls without a delayed second pass, and after clangd was idle.
pub const SETTLE_MS: u64 = 100;
/// Time after gopls' own delay in which its second pass comes.
pub const GOPLS_SECOND_PASS_MS: u64 = 300;
/// Time a server that only publishes may be silent about a file after it has answered the barrier;
/// then the file is opened anew, and it gets this time once more.
pub const PUSH_SILENT_MS_MAX: u64 = 5_000;
/// Age of an unanswered question below which a newer one about the same file waits: a storm of
/// edits is measured at its beginning and at its end.
pub const STORM_MS: u64 = 100;
/// Longest time the last question of a storm waits.
pub const STORM_MS_MAX: u64 = 1_000;
/// Changes on disk kept for a language server that has not asked to hear of them yet.
pub const UNHEARD_CHANGES_MAX: usize = 1_024;
/// Alternatives that the braces of one glob pattern may stand for.
pub const GLOB_ALTERNATIVES_MAX: usize = 256;
/// Background deadline of one file's diagnostics.
pub const DIAGNOSTICS_MS_MAX: u64 = 120_000;
/// Shortest background deadline that learned latencies lead to.
pub const DIAGNOSTICS_MS_MIN: u64 = 30_000;
/// Wait of an edit for a server that is not expected to answer in time, and the shortest wait for
/// one that is.
pub const INLINE_MS_MIN: u64 = 300;
/// Answers of a server whose times are remembered, cold and warm each.
pub const LATENCY_SAMPLES_MAX: usize = 20;
/// Warm answers before edits wait less than the budget.
pub const LATENCY_SAMPLES_MIN: usize = 5;
/// Unresolved modules of one Python file that make a missing virtual environment likely.
pub const FAULT_IMPORTS_MIN: usize = 2;
/// One line of the control protocol, either way.
pub const CONTROL_LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Time the daemon may take from its spawn to its first answer.
pub const DAEMON_START_MS_MAX: u64 = 5_000;
/// Pause between two looks at a daemon that starts or ends.
pub const DAEMON_RETRY_MS: u64 = 5;
/// How exactly the system tells when a process began: its clock ticks and those of its uptime.
pub const BEGUN_MS_EXACT: u64 = 20;
/// Silence of the daemon after which `hook stop` looks up itself whether a loop runs: a Stop
/// without one waits for a daemon that hangs for at most a second.
pub const HOOK_STOP_DOUBT_MS: u64 = 600;
/// Silence of the daemon after which the hook of an edit asks whether it is alive: the time of an
/// edit by default, and a little for the way.
pub const HOOK_EDIT_DOUBT_MS: u64 = 3_000;
/// Time a daemon gets to show that it is alive.
pub const DAEMON_ALIVE_MS_MAX: u64 = 1_000;
/// Time that a read of the store waits for a writer.
pub const STORE_PEEK_MS_MAX: u64 = 100;
/// Time a front door waits for an old daemon to drain before it gives up.
pub const DAEMON_DRAIN_WAIT_MS_MAX: u64 = 10_000;
/// Time running requests get when the daemon stops.
pub const DAEMON_DRAIN_MS_MAX: u64 = 5_000;
/// Connections served at once; more wait in the listen queue.
pub const CONNECTIONS_MAX: usize = 256;
/// Late verdicts kept for one session; older ones are superseded by the next Stop anyway.
pub const DELIVERIES_PER_SESSION_MAX: usize = 64;
/// Gaps of which is remembered that a session was told; then it may hear of one again.
pub const TOLD_GAPS_MAX: usize = 2_000;
/// Questions of a session that were not told yet; the oldest are forgotten.
pub const UNTOLD_TOPICS_MAX: usize = 500;
/// Sessions whose ledgers are kept in memory.
pub const SESSIONS_MAX: usize = 256;
/// Files measured for one Stop; more are skipped, and a skipped file is not measured.
pub const STOP_FILES_MAX: usize = 500;
/// Times one Stop is decided when other Stops of its session change the loop meanwhile.
pub const STOP_TRIES_MAX: u32 = 3;
/// Longest completion promise, in characters.
pub const PROMISE_CHARS_MAX: usize = 200;
/// Longest part of an unknown option that is repeated, in characters.
pub const OPTION_CHARS_MAX: usize = 60;
/// Largest loop prompt.
pub const PROMPT_BYTES_MAX: usize = 256 * 1024;
/// Longest part of a loop's task that is repeated at every iteration, in characters.
pub const TASK_CHARS_MAX: usize = 3_000;
/// Time a command waits for its answer: the longest `check --timeout`, and a little for the way.
pub const COMMAND_SECS_MAX: u64 = 3_700;
/// Time `hook stop` waits. This and the ones below are shorter than the timeouts in
/// `hooks/hooks.json`, so that it is the program that ends a wait, and not the host.
pub const HOOK_STOP_MS_MAX: u64 = 590_000;
/// Time kept back at the end of a Stop, for saving and for the reply.
pub const STOP_REPLY_MS: u64 = 15_000;
/// The same as a part of the whole time, where that is less: one tenth.
pub const STOP_REPLY_SHARE: u32 = 10;
/// Part of a Stop's time that checks leave to everything else, at most `loop.stop_budget_ms`: one
/// third.
pub const STOP_SENSORS_SHARE: u32 = 3;
/// Shortest time that a Stop may be given, in seconds.
pub const STOP_TIMEOUT_SECS_MIN: u64 = 5;
/// Longest time that a Stop may be given, in seconds; shorter than [`HOOK_STOP_MS_MAX`].
pub const STOP_TIMEOUT_SECS_MAX: u64 = 580;
/// Time the start of a loop waits for its first checkpoint; a slower one is finished behind it.
pub const START_CHECKPOINT_MS_MAX: u64 = 3_000;
/// Time `hook post-tool-use` and `hook post-tool-batch` wait.
pub const HOOK_EDIT_MS_MAX: u64 = 13_000;
/// Time `hook session-start` and `hook user-prompt-expansion` wait.
pub const HOOK_START_MS_MAX: u64 = 8_000;
/// Time `hook session-end` waits; the host gives all of them about 1.5 s.
pub const HOOK_END_MS_MAX: u64 = 900;
/// Time the other hooks wait.
pub const HOOK_MS_MAX: u64 = 4_000;
/// Time `/moai-fix` measures before it lists what is wrong.
pub const FIX_LIST_MS_MAX: u64 = 5_000;
/// Iterations a loop may ask for.
pub const LOOP_ITERATIONS_MAX: u32 = 1_000;
/// Minutes a loop may ask for: thirty days.
pub const LOOP_MINUTES_MAX: u32 = 43_200;
/// Longest time that a Stop which goes on is held back.
pub const COOLDOWN_MS_MAX: u64 = 60_000;
/// Fewest tokens of a model's context window that an option may name.
pub const CONTEXT_TOKENS_MIN: u64 = 1_000;
/// Most tokens of a model's context window that an option may name.
pub const CONTEXT_TOKENS_MAX: u64 = 10_000_000;
/// Files and folders that a loop may be narrowed to.
pub const LOOP_PATHS_MAX: usize = 200;
/// Letters by which an option may differ from the one that was meant.
pub const OPTION_TYPOS_MAX: usize = 2;
/// Shortest part of an option's name for which a hint suggests the option, in characters.
pub const OPTION_PART_CHARS_MIN: usize = 4;
/// Longest extension by which a word is taken for a file, in characters.
pub const PATH_EXTENSION_CHARS_MAX: usize = 5;
/// Worktrees a loop may ask for.
pub const LOOP_WORKERS_MAX: u32 = 8;
/// Iterations in a row without a better one, after which a loop has stalled.
pub const STALL_ITERATIONS_MAX: usize = 3;
/// Iterations in a row without a change of any file, after which the agent is told.
pub const NO_OP_ITERATIONS_MIN: usize = 2;
/// Iterations in a row in which at least as many errors came as went, after which the agent is told.
pub const DIVERGING_ITERATIONS_MIN: usize = 2;
/// Times one error comes back before it is named as one that does.
pub const FLIPS_MIN: usize = 2;
/// Errors of one iteration whose fingerprints are kept.
pub const FLIP_ERRORS_MAX: usize = 200;
/// Iterations that keep the fingerprints of their errors.
pub const FLIP_ITERATIONS_MAX: usize = 12;
/// Errors that are named as ones that come back.
pub const FLIPS_NAMED_MAX: usize = 5;
/// Stops that the research gate holds.
pub const RESEARCH_TRIES_MAX: u32 = 3;
/// Continuations in a row without a tool call that the host allows unless it is told otherwise
/// (Claude Code 2.1.143 and later).
pub const HOST_CONTINUATIONS_MAX: u32 = 8;
/// Longest part of the agent's last words that a loop keeps, in characters.
pub const LAST_WORDS_CHARS_MAX: usize = 300;
/// Loops that one list names.
pub const LOOPS_LISTED_MAX: usize = 50;
/// Stops in a row that are let go because the same background tasks are running.
pub const BACKGROUND_STOPS_MAX: u32 = 3;
/// Stops in a row that are blocked only because something could not be measured yet.
pub const UNMEASURED_BLOCKS_MAX: u32 = 2;
/// Output of a check kept from its beginning.
pub const CHECK_OUTPUT_HEAD_BYTES_MAX: usize = 2 * 1024;
/// Output of a check kept from its end.
pub const CHECK_OUTPUT_TAIL_BYTES_MAX: usize = 4 * 1024;
/// Time between asking a check's process group to end and killing it.
pub const CHECK_KILL_GRACE_MS: u64 = 500;
/// Time a killed check gets to be reaped; longer takes only what is stuck in the kernel.
pub const CHECK_REAP_MS_MAX: u64 = 2_000;
/// Time for reading what a check's dead process group left in its pipe; a process that left the
/// group may keep it open for ever.
pub const CHECK_DRAIN_MS_MAX: u64 = 500;
/// Bytes of a check's output taken at once: as much as a pipe holds.
pub const CHECK_READ_BYTES_MAX: usize = 64 * 1024;
/// Operations waiting for the store thread before callers must wait.
pub const STORE_QUEUE_MAX: usize = 256;
/// Databases kept open at once; the least recently used is closed.
pub const STORE_OPEN_MAX: usize = 16;
/// Time to wait for another process that holds a database.
pub const STORE_BUSY_MS_MAX: u64 = 5_000;
/// Pause between two tries to get the lock for opening a database.
pub const STORE_LOCK_RETRY_MS: u64 = 10;
/// Databases up to this size are checked for damage whenever they are opened; larger ones once
/// damage was met.
pub const STORE_CHECKED_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Damaged databases kept aside in one project.
pub const STORE_CORRUPT_COPIES_MAX: usize = 5;
/// Longest first line of a task in an offer to adopt its loop, in characters.
pub const GOAL_CHARS_MAX: usize = 120;
/// Loops whose session is gone that one session is offered.
pub const OFFERED_LOOPS_MAX: usize = 3;
/// Largest mark of a loop, in bytes; a larger file is ignored.
pub const MARK_BYTES_MAX: u64 = 8 * 1024;
/// Files read in a folder of marks.
pub const MARKS_READ_MAX: usize = 64;
/// Longest id of a loop, in bytes.
pub const LOOP_ID_BYTES_MAX: usize = 40;
/// Longest id of a session that a loop is given to.
pub const SESSION_ID_CHARS_MAX: usize = 128;
/// Size at which a log file is moved aside (one old file is kept).
pub const LOG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Longest Unix socket path that every supported system accepts.
pub const SOCKET_PATH_BYTES_MAX: usize = 100;
/// Time one step of an installation of a language server may take.
pub const INSTALL_MS_MAX: u64 = 600_000;
/// Pause between two looks at a program that installs.
pub const INSTALL_POLL_MS: u64 = 20;
/// Wrong texts in quick succession in a conformance probe.
pub const PROBE_BURST_COUNT: usize = 10;
/// Questions to language servers that one check asks at the same time.
pub const QUESTIONS_AT_ONCE_MAX: usize = 64;
/// Names of one edit that are looked for in other files.
pub const BLAST_NAMES_MAX: usize = 64;
/// Shortest name that is looked for, in characters; shorter ones are in every file.
pub const NAME_CHARS_MIN: usize = 3;
/// Files with a touched name beyond which the name is taken to be common: then only importers and
/// neighbours of the edited file count.
pub const BLAST_COMMON_FILES_MAX: usize = 100;
/// Time the search for files that an edit concerns may take.
pub const BLAST_SEARCH_MS_MAX: u64 = 2_000;
/// Earlier texts shown to one language server at the same time; together with a measured file below
/// [`OPEN_DOCUMENTS_MAX`], or they would close each other.
pub const OVERLAY_FILES_MAX: usize = 16;
/// How often earlier texts are shown to a server again after other questions interrupted it.
pub const OVERLAY_PASSES_MAX: usize = 10;
/// Base states of loops whose measurements are kept.
pub const BASE_STATES_MAX: usize = 8;
/// Files measured at the start of a loop, while the agent thinks, to know what is older.
pub const BASE_FILES_MAX: usize = 300;
/// Of these, files measured at the same time; an edit then waits for few others.
pub const BASE_FILES_AT_ONCE_MAX: usize = 4;
/// How often such a group is measured when files change during its measurement.
pub const BASE_TRIES_MAX: usize = 3;
/// Programs of a project that are all measured before a loop ends as completed; in a larger
/// project, only those that mention what was changed.
pub const RELATED_FILES_MAX: usize = BASE_FILES_MAX;
/// Pairs of a new and a deleted file that are compared to find renamed files.
pub const RENAME_PAIRS_MAX: usize = 10_000;
/// Time that an edit waits for the findings of the text before it, once it is measured itself.
pub const EARLIER_INLINE_MS_MAX: u64 = 1_000;
/// Time that a measurement of earlier texts in the background may take.
pub const EARLIER_LATE_MS_MAX: u64 = 30_000;
/// Files that an edit concerns and that are measured while its hook waits.
pub const BLAST_INLINE_FILES_MAX: usize = 8;
/// Time its hook waits for them, once the edited file is measured.
pub const BLAST_INLINE_MS_MAX: u64 = 1_000;
/// Further such files that are measured after the hook has gone.
pub const BLAST_LATE_FILES_MAX: usize = 40;
/// Files measured at the same time after their hook has gone.
pub const BLAST_LATE_AT_ONCE_MAX: usize = 4;
/// Files changed on disk by others that one hook measures; the rest are counted.
pub const CHANGED_INLINE_FILES_MAX: usize = 8;
/// Files changed on disk that one hook reads, to leave out those with the bytes that are known.
pub const CHANGED_READ_FILES_MAX: usize = 500;
/// How much older than the start of its tool call a file's change may look; the clock of a file
/// system is coarse.
pub const TOOL_CLOCK_SLACK_MS: u64 = 1_000;
/// Files written by one tool call that are recorded; when there are more, none is recorded.
pub const SESSION_WRITES_MAX: usize = 4_096;
/// Files named one by one that somebody other than the session changed, weakening what examines a
/// loop.
pub const FOREIGN_FILES_NAMED_MAX: usize = 5;
/// Files remembered as written by one session.
pub const SESSION_FILES_MAX: usize = 2_000;
/// Files and folders searched for the texts of deleted files.
pub const MOVED_SEARCH_FILES_MAX: usize = 500_000;
/// Bytes read during that search.
pub const MOVED_SEARCH_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Files remembered as concerned by one session's edits.
pub const AFFECTED_FILES_MAX: usize = 300;
/// Names remembered as touched by one session's edits.
pub const TOUCHED_NAMES_MAX: usize = 1_000;
/// Bytes of texts that are kept to compare with what others write next.
pub const TEXTS_KEPT_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Files that one rename or rewrite may change.
pub const CHANGED_FILES_MAX: usize = 1_000;
/// Bytes of all files that one rename or rewrite reads and writes.
pub const CHANGED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// First bytes of a file in which a mark of generated code counts.
pub const GENERATED_HEAD_BYTES_MAX: usize = 2 * 1024;
/// Time one set of changes waits for another of the same project.
pub const CHANGES_WAIT_MS_MAX: u64 = 10_000;
/// Pause between two looks whether the other one is done.
pub const CHANGES_RETRY_MS: u64 = 10;
/// Journals kept aside of one project, because files were changed by others before they could be
/// put back.
pub const CHANGES_KEPT_MAX: usize = 5;
/// Deepest nesting of symbols that is followed.
pub const SYMBOL_DEPTH_MAX: usize = 32;
/// Locations or symbols of one answer that are kept; what is beyond is said to be missing.
pub const LOCATIONS_MAX: usize = 5_000;
/// Locations or symbols named one by one in a text; the rest are counted.
pub const LOCATIONS_NAMED_MAX: usize = 200;
/// Longest source line shown beside a location, in characters.
pub const EXCERPT_CHARS_MAX: usize = 160;
/// Longest hover text, in characters.
pub const HOVER_CHARS_MAX: usize = 4_000;
/// Language servers asked for symbols by name.
pub const SYMBOL_SERVERS_MAX: usize = LANGUAGE_SERVERS_MAX;
/// Times a rename is asked for again because files changed while the server thought about it.
pub const RENAME_TRIES_MAX: u32 = 3;
/// Unchanged lines shown around a change in a diff.
pub const DIFF_CONTEXT_LINES: usize = 3;
/// Time after it was written in which a file may not yet be known to a language server that
/// watches the project.
pub const NEW_FILE_SECS_MAX: u64 = 60;
/// Files just written that are opened in a language server before it is asked about all files;
/// together with the asked one below [`OPEN_DOCUMENTS_MAX`], or they would close each other.
pub const NEW_FILES_OPENED_MAX: usize = 16;
/// Time for the shortest diff of one file; after it a longer one will do.
pub const DIFF_MS_MAX: u64 = 500;
/// Findings of a scan that are shown with their line of source; the others have one line each.
pub const SCAN_EXCERPTS_MAX: usize = 200;
/// Time after which a long piece of work is shown as a bar, in milliseconds.
pub const PROGRESS_SHOWN_MS_MIN: u64 = 1_000;
/// Pause between two looks at how far the work is, in milliseconds.
pub const PROGRESS_LOOK_MS: u64 = 100;
/// A baseline's file, in bytes.
pub const BASELINE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of kept scan results of one project and one set of rules; what was not asked for lately
/// goes first.
pub const KEPT_SCANS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Files of one question from which on kept scan results are read.
pub const KEPT_SCANS_FILES_MIN: usize = 50;
/// Sets of rules whose scan results are kept of one project; the oldest file goes first.
pub const KEPT_SCANS_SETS_MAX: usize = 4;
/// Rule files that are read of one project; more are said to be unread.
pub const RULE_FILES_MAX: usize = 2_000;
/// Longest pattern or replacement of a search or rewrite.
pub const PATTERN_BYTES_MAX: usize = 64 * 1024;
/// Matches inside matches that one rewrite takes; each level is a parse of the text.
pub const REWRITE_NESTING_MAX: usize = 100;
/// Rounds of fixes that one text gets; what one round leaves is found again by the next.
pub const FIX_ROUNDS_MAX: usize = 10;
/// Matches of one search that can be asked for.
pub const SEARCH_MATCHES_MAX: usize = 10_000;
/// Longest matched text or variable in the document of a search, in characters.
pub const MATCH_CHARS_MAX: usize = 2_000;
/// Time that `scan --fix` takes before it gives up; then nothing is written.
pub const FIX_SECS_MAX: u64 = 600;
/// Shortest `APPROACH` that passes the research gate, in characters.
pub const APPROACH_CHARS_MIN: usize = 50;
/// Lowest `CONFIDENCE` that passes the research gate.
pub const CONFIDENCE_MIN: u32 = 30;
/// Entries of `REMAINING_GAP` that an iteration begins with.
pub const REMAINING_LINES_MAX: usize = 5;
/// Lines of `progress.txt` above which the agent is asked to shorten it.
pub const PROGRESS_LINES_MAX: usize = 80;
/// Longest decision or remaining step that is repeated, in characters.
pub const DECISION_CHARS_MAX: usize = 500;
/// Decisions taken from one `progress.txt`.
pub const DECISIONS_MAX: usize = 200;
/// Longest part of `progress.txt` that a completed loop hands to the next, in characters.
pub const HANDOFF_CHARS_MAX: usize = 8_000;
/// Completed loops that are looked for in `.claude/memory/`.
pub const WIKI_LOOPS_MAX: usize = 10_000;
/// Unanswered questions named one by one when they stop a start.
pub const QUESTIONS_NAMED_MAX: usize = 10;
/// Longest instructions of an iteration, in characters; they come with every Stop that goes on.
pub const FRAMEWORK_CHARS_MAX: usize = 2_400;
/// Largest reminder of them that is repeated at each Stop, in bytes.
pub const REMINDER_BYTES_MAX: usize = 300;
/// Longest line of a transcript that is read; longer ones hold contents of files and no counts that
/// are not repeated.
pub const TRANSCRIPT_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of a transcript that one look reads; the rest comes with the next.
pub const TRANSCRIPT_READ_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Replies whose tokens are counted for one session.
pub const TRANSCRIPT_REPLIES_MAX: usize = 100_000;
/// Transcripts of subagents that are read for one session.
pub const TRANSCRIPT_FILES_MAX: usize = 1_000;
/// Sentences of one message that are held against the evidence.
pub const CLAIM_SENTENCES_MAX: usize = 500;
/// Longest sentence that is quoted back, in characters.
pub const CLAIM_CHARS_MAX: usize = 160;
/// Largest file that a loop writes for agents and people; a larger one is left as it is.
pub const LOOP_FILE_BYTES_MAX: usize = 512 * 1024;
/// Times the change of such a file is tried again because others wrote it meanwhile.
pub const LOOP_FILE_TRIES_MAX: usize = 3;
/// Contradicted sentences of one message that the user is told.
pub const CLAIMS_NAMED_MAX: usize = 3;
/// Shortest time of a run of tests that a collapse is told of: below it, caches explain anything.
pub const TEST_COLLAPSE_MS_MIN: u64 = 5_000;
/// Share of that time that must be gone for it to be a collapse.
pub const TEST_COLLAPSE_PERCENT: u64 = 90;
/// Commands that options may name for every Stop.
pub const CHECKS_MAX: usize = 50;
/// Time that all checks get together where no Stop bounds it.
pub const CHECKS_MS_MAX: u64 = 420_000;
/// Longest line of a check's output that is searched for the totals of tests; longer ones hold none.
pub const CHECK_LINE_BYTES_MAX: usize = 16 * 1024;
/// Folders below the root whose files may suggest checks.
pub const PROPOSAL_FOLDERS_MAX: usize = 50;
/// Files of one frozen exam, tests apart; more are not compared, and that is said.
pub const EXAM_FILES_MAX: usize = 2_000;
/// Tests of one frozen exam; more are not listed, and whoever judges tests asks git for the base.
pub const EXAM_TESTS_MAX: usize = 5_000;
/// Largest text kept in a frozen exam; of larger ones only the hash is.
pub const EXAM_TEXT_BYTES_MAX: usize = 256 * 1024;
/// Texts kept in one frozen exam, all together.
pub const EXAM_TEXTS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Part of a file that is hashed for the exam; its length counts as well.
pub const EXAM_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Exams kept in one project's store beside those of active loops; older ones are forgotten.
pub const EXAMS_MAX: usize = 20;
/// Largest file that a checkpoint holds; a larger one that is unchanged in git is held, too.
pub const CHECKPOINT_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Bytes that one checkpoint reads, over all files that are not known already.
pub const CHECKPOINT_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Bytes of files that git does not track in one checkpoint.
pub const CHECKPOINT_UNTRACKED_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Files that one checkpoint holds.
pub const CHECKPOINT_FILES_MAX: usize = 200_000;
/// Checkpoints kept of one loop; the oldest go first, the best one stays.
pub const CHECKPOINTS_PER_LOOP_MAX: usize = 100;
/// Loops of a project whose checkpoints are kept, the latest ones.
pub const CHECKPOINT_LOOPS_MAX: usize = 20;
/// Time for which a copied content stays although no list names it: another session may be about to
/// list it.
pub const CHECKPOINT_COPY_SECS_MIN: u64 = 3_600;
/// Bytes of the list of files of one checkpoint that is kept without git.
pub const CHECKPOINT_LIST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Files that one restore of a checkpoint changes.
pub const RESTORE_FILES_MAX: usize = 10_000;
/// Bytes that one restore of a checkpoint reads: contents of now and of then.
pub const RESTORE_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Bytes of texts, before and after, that the diff of a restore is made of.
pub const RESTORE_DIFF_BYTES_MAX: usize = 1024 * 1024;
/// Longest diff shown before a checkpoint is restored, in characters.
pub const RESTORE_DIFF_CHARS_MAX: usize = 20_000;
/// Time one call of the `git` program may take; hooks of the project run in it.
pub const GIT_MS_MAX: u64 = 120_000;
/// Time one call of the `git` program that speaks with a remote may take.
pub const GIT_REMOTE_MS_MAX: u64 = 60_000;
/// Time one call of the `git` program may take that moves a work tree of somebody: as long as a whole
/// Stop, because one that is cut off leaves the files half written.
pub const GIT_MOVE_MS_MAX: u64 = HOOK_STOP_MS_MAX;
/// Time a merge waits for another one of the same repository, whose checks run in it. It ends sooner
/// with the time of its Stop.
pub const MERGE_WAIT_MS_MAX: u64 = 560_000;
/// Pause between two looks whether the other one is done.
pub const MERGE_RETRY_MS: u64 = 50;
/// Times a merge is begun anew because the branch it goes into has moved.
pub const MERGE_TRIES_MAX: u32 = 5;
/// Entries of the log of HEAD that are read back to the commit a loop began with.
pub const REFLOG_ENTRIES_MAX: usize = 10_000;
/// Commits of others that a branch may have taken in before they count as its own.
pub const FOREIGN_COMMITS_MAX: usize = 20_000;
/// Times a work tree is removed when processes that were ended a moment ago still write in it.
pub const REMOVE_TRIES_MAX: usize = 20;
/// Files named one by one in the task that a merge leads to; the rest are counted.
pub const MERGE_FILES_NAMED_MAX: usize = 20;
/// Judge criteria of one rubric.
pub const RUBRIC_CRITERIA_MAX: usize = 50;
/// Longest criterion, in characters.
pub const RUBRIC_LINE_CHARS_MAX: usize = 1_000;
/// What is repeated of a heading in the rubric that is not understood, in characters.
pub const RUBRIC_HEADING_CHARS_MAX: usize = 80;
/// Unchanged lines shown to a judge on either side of a change.
pub const JUDGE_CONTEXT_LINES: usize = 8;
/// Characters beyond which a line goes on in another row of what a judge is shown.
pub const JUDGE_LINE_CHARS_MAX: usize = 400;
/// Shortest run of letters and digits that is taken for encoded data, in characters.
pub const JUDGE_BLOB_CHARS_MIN: usize = 200;
/// What one call of a judge shows of a change: some 25,000 tokens, which current models read whole.
pub const JUDGE_PART_BYTES_MAX: usize = 80_000;
/// Calls that one view of a change may take; what is beyond is not judged, and said so.
pub const JUDGE_PARTS_MAX: usize = 8;
/// Files that one call names of those that it does not show, for each reason.
pub const JUDGE_NAMES_MAX: usize = 200;
/// Calls of judges made at the same time.
pub const JUDGE_CALLS_AT_ONCE_MAX: usize = 4;
/// Times one question is put when the answer cannot be used.
pub const JUDGE_TRIES_MAX: usize = 2;
/// Longest part of the task that a judge is told, in characters.
pub const JUDGE_GOAL_CHARS_MAX: usize = 4_000;
/// What a judge is shown of one check's output, in characters.
pub const JUDGE_CHECK_CHARS_MAX: usize = 3_000;
/// Longest answer of a judge.
pub const JUDGE_ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Tokens that an HTTP back end may answer with.
pub const JUDGE_ANSWER_TOKENS_MAX: u32 = 16_000;
/// Longest quote of a judge that is looked for, in characters; more than asked for, because models
/// count badly.
pub const JUDGE_QUOTE_CHARS_MAX: usize = 600;
/// Shortest quote that proves anything, in characters that are not blank.
pub const JUDGE_QUOTE_CHARS_MIN: usize = 4;
/// Lines that a quote may stand away from where it is said to.
pub const JUDGE_QUOTE_LINES_APART_MAX: usize = 3;
/// Lines that the place of a quote may span: a place as wide as the file is none.
pub const JUDGE_QUOTE_SPAN_LINES_MAX: u32 = 40;
/// Quotes kept of one ruling.
pub const JUDGE_QUOTES_MAX: usize = 8;
/// Longest reason of a judge that is kept, in characters.
pub const JUDGE_REASON_CHARS_MAX: usize = 300;
/// Longest hint of a judge that is kept, in characters.
pub const JUDGE_HINT_CHARS_MAX: usize = 200;
/// Confidence below which a judge is asked again.
pub const JUDGE_CONFIDENCE_MIN: f64 = 0.7;
/// One call in so many plants a wrong function that calls itself approved.
pub const JUDGE_CANARY_EVERY: u128 = 8;
/// Judges of one change.
pub const JUDGES_MAX: usize = 8;
/// Suspicions kept of one answer or one change.
pub const SUSPICIONS_MAX: usize = 50;
/// Words that may stand between two words of a phrase that speaks to a judge.
pub const INJECTION_WORDS_APART_MAX: usize = 4;
/// Entries of `JUDGE_EVOLUTION.md`, and rulings that a judge is reminded of.
pub const JUDGE_HISTORY_MAX: usize = 40;
/// Judgements kept of one project; the oldest go first.
pub const JUDGEMENTS_KEPT_MAX: usize = 500;
/// Largest `JUDGE_FEEDBACK.md`; its oldest entries go first.
pub const JUDGE_FEEDBACK_BYTES_MAX: usize = 64 * 1024;
/// Time a judge's program gets to describe its options, in milliseconds.
pub const JUDGE_HELP_MS_MAX: u64 = 10_000;
/// Longest message of a failed back end that is repeated, in characters.
pub const JUDGE_FAULT_CHARS_MAX: usize = 160;
/// Tests that are gone times tests that are new, compared by their bodies; above it only those with
/// the same body are found again.
pub const GUARD_SIMILAR_TESTS_MAX: usize = 40_000;
/// How often the value of a variable is looked up in the value of another one.
pub const GUARD_VARIABLE_STEPS_MAX: usize = 3;
/// Size of the file of findings that the user allowed.
pub const WAIVERS_BYTES_MAX: usize = 1024 * 1024;
/// Overrides by hand that a loop records; the oldest are dropped first.
pub const LOOP_OVERRIDES_MAX: usize = 50;
/// Longest reason for which a finding is allowed.
pub const WAIVER_REASON_CHARS_MAX: usize = 500;
/// Deepest nesting of a configuration file that the guard reads.
pub const SETTINGS_DEPTH_MAX: usize = 64;
/// Fewest tokens of a body that is missed when a constant takes its place.
pub const STUB_TOKENS_MIN: usize = 12;
/// Fewest characters of a commented line that may be code.
pub const COMMENTED_CODE_CHARS_MIN: usize = 10;
/// Fewest characters of a text that a test and a program do not share by accident.
pub const RARE_TEXT_CHARS_MIN: usize = 4;
/// Most processes above this one that are asked whether an agent started them.
pub const ANCESTORS_MAX: usize = 64;
