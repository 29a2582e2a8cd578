//! Bounds of the memory of earlier sessions.

use crate::time_units::MS_PER_DAY;

/// Beginning of a text that is indexed, in bytes; texts are cut before they are stored.
pub const INDEX_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Tokens that one text has in the index.
pub const INDEX_TOKENS_MAX: usize = 8_000;
/// Longest token, in characters; longer runs are data rather than names.
pub const INDEX_TOKEN_CHARS_MAX: usize = 64;
/// Parts of one name or path that are indexed.
pub const NAME_PARTS_MAX: usize = 24;
/// Beginning of a query that is read, in characters.
pub const QUERY_CHARS_MAX: usize = 1_000;
/// Words, names and codes of one query; later ones are ignored.
pub const QUERY_UNITS_MAX: usize = 16;
/// Entries of a glossary, with the user's own.
pub const GLOSSARY_ENTRIES_MAX: usize = 10_000;
/// Hits after which a prompt's search runs no looser stage.
pub const HITS_ENOUGH_MIN: usize = 3;
/// The same for a user's explicit search.
pub const HITS_ASKED_FOR_MIN: usize = 10;
/// Best rows of the index, by its own order, that are ranked.
pub const RANKED_ROWS_MAX: usize = 60;
/// Beginning of a text that is compared with a query when it is ranked, in bytes.
pub const RANKED_TEXT_BYTES_MAX: usize = 16 * 1024;
/// Results among which sessions are varied.
pub const VARIED_RESULTS_MAX: usize = 8;
pub const RESULTS_PER_SESSION_MAX: usize = 2;
/// Results in the other language among the first ten.
pub const TRANSLATED_RESULTS_MIN: usize = 3;
/// Results that count as one page.
pub const RESULTS_PAGE: usize = 10;
/// Bits in which the similarity hashes of near duplicates differ.
pub const NEAR_DUPLICATE_BITS_MAX: u32 = 3;
/// Shingles below which a text is too short to be a near duplicate.
pub const SHINGLES_MIN: usize = 12;
/// Longest text that is stored, in characters.
pub const STORED_CHARS_MAX: usize = 16_000;
/// Beginning of a text that is searched for secrets before it is stored, in bytes.
pub const CLEANED_BYTES_MAX: usize = 256 * 1024;
/// End of that beginning that is dropped, because a secret may be cut there, in bytes.
pub const CLEANED_MARGIN_BYTES: usize = 16 * 1024;
/// Longest quoted name in the message of a finding, in characters.
pub const QUOTED_NAME_CHARS_MAX: usize = 300;
/// Tokens injected when a session starts.
pub const START_TOKENS_MAX: usize = 600;
/// Tokens injected after the host has compacted a session.
pub const COMPACTED_TOKENS_MAX: usize = 900;
/// Tokens injected with a prompt.
pub const PROMPT_TOKENS_MAX: usize = 350;
/// Lines injected with a prompt.
pub const PROMPT_LINES_MAX: usize = 5;
/// Lines of an index injected when a session starts.
pub const START_LINES_MAX: usize = 8;
/// Tokens injected in an iteration of a loop.
pub const ITERATION_TOKENS_MAX: usize = 700;
/// Share of a context window for one injection, in percent.
pub const INJECTION_PERCENT_MAX: usize = 2;
/// Share of a context window for all injections of a session, in percent.
pub const INJECTIONS_PERCENT_MAX: usize = 15;
/// Weekly backups of the memory kept, in addition to the daily ones.
pub const MEMORY_WEEKLY_BACKUPS_MAX: usize = 2;
/// Bytes of the hash of a text that identify it within its project and kind.
pub const MEMORY_HASH_BYTES: usize = 16;
/// Observations read at once where all are read.
pub const MEMORY_LOADED_AT_ONCE: usize = 500;
/// Observations waiting in the spool while the memory is not available, in bytes; later ones are
/// lost.
pub const MEMORY_SPOOL_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Title of an observation, in characters.
pub const OBSERVED_TITLE_CHARS_MAX: usize = 240;
/// Sentences of a prompt that are searched for a decision.
pub const OBSERVED_SENTENCES_MAX: usize = 40;
/// Command line of an observation, in characters.
pub const OBSERVED_COMMAND_CHARS_MAX: usize = 160;
/// Line of a tool's output in an observation, in characters.
pub const OBSERVED_LINE_CHARS_MAX: usize = 240;
/// Lines of a tool's output in an observation.
pub const OBSERVED_ERROR_LINES_MAX: usize = 5;
/// Lines kept of a fix, for old and new lines each.
pub const FIX_LINES_MAX: usize = 4;
/// Longest line kept of a fix, in characters.
pub const FIX_LINE_CHARS_MAX: usize = 200;
/// Changed lines in one place above which the cause of a fix is unclear.
pub const FIX_REGION_LINES_MAX: usize = 12;
/// Fixes kept of one edit.
pub const FIXES_PER_EDIT_MAX: usize = 8;
/// Shortest name of several words, without separators, whose repetition proves the use of an
/// injection, in characters.
pub const USED_NAME_CHARS_MIN: usize = 6;
/// Decisions in the digest of a session.
pub const DIGEST_DECISIONS_MAX: usize = 4;
/// Ends of loops and rulings in the digest of a session.
pub const DIGEST_VERDICTS_MAX: usize = 2;
/// Files in the digest of a session.
pub const DIGEST_FILES_MAX: usize = 5;
/// Codes of fixed findings, and of open ones, in the digest of a session.
pub const DIGEST_CODES_MAX: usize = 6;
/// Findings listed in the observation of an edit.
pub const OBSERVED_FINDINGS_MAX: usize = 5;
/// Symbols, and labels of findings, listed in the title of an observation.
pub const OBSERVED_NAMES_MAX: usize = 5;
/// Title of an observation that is shown to an agent, in characters.
pub const RECALL_TITLE_CHARS_MAX: usize = 160;
/// Tokens of the digest of a session.
pub const DIGEST_TOKENS_MAX: usize = 200;
/// Line about an earlier fix in the feedback of an edit, in characters.
pub const FIX_REPORT_CHARS_MAX: usize = 360;
/// Old and new lines of a fix in that line, in characters each.
pub const FIX_SIDE_CHARS_MAX: usize = 130;
/// Lines about earlier fixes in the feedback of an edit.
pub const FIX_REPORTS_MAX: usize = 2;
/// Shapes of introduced findings for which earlier fixes are looked up.
pub const FIX_SHAPES_ASKED_MAX: usize = 4;
/// Earlier fixes of one shape that are compared.
pub const FIXES_COMPARED_MAX: usize = 8;
/// Time in which earlier fixes must be found; without them the feedback is sent.
pub const FIX_LOOKUP_MS_MAX: u64 = 20;
/// Observations remembered as shown to a session.
pub const SHOWN_ROWS_MAX: usize = 1_000;
/// Events waiting to be written; further ones are lost.
pub const RECORDER_EVENTS_MAX: usize = 1_000;
/// Time from an event until it is written, so that the hook's reply comes first.
pub const RECORDER_QUIET_MS: u64 = 20;
/// Time a reader waits for pending events to be written.
pub const RECORDER_FLUSH_MS_MAX: u64 = 500;
/// Time limit of a hook's recall; after it the reply is sent without observations.
pub const RECALL_MS_MAX: u64 = 250;
/// The same for observations related to a prompt.
pub const PROMPT_RECALL_MS_MAX: u64 = 150;
/// Hits of a prompt that are ranked.
pub const PROMPT_HITS_RANKED_MAX: usize = 20;
/// Observations of a session used for its digest.
pub const DIGEST_ROWS_MAX: usize = 200;
/// Newest observations of a project that are compared for the index at a session's start.
pub const INDEX_ROWS_READ_MAX: usize = 60;
/// Latest sessions of a project searched for the previous one.
pub const SESSIONS_COMPARED_MAX: usize = 4;
/// Context window of an unknown model, in tokens.
pub const CONTEXT_WINDOW_TOKENS_ASSUMED: u64 = 200_000;
/// Sessions that are remembered while their events are written.
pub const RECORDED_SESSIONS_MAX: usize = 200;
/// Fixes of a session whose outcome is decided by later edits.
pub const SESSION_FIXES_MAX: usize = 200;
/// Symbols read from an edit.
pub const EDIT_NAMES_READ_MAX: usize = 20;
/// Most recent rows with one form of a query unit; older ones count as if they had it.
pub const MATCHING_ROWS_MAX: usize = 10_000;
/// Most recent rows of a search stage from which the best are loaded.
pub const MATCHED_ROWS_MAX: usize = 400;
/// Older rows in addition, of kinds that remain valid.
pub const DURABLE_ROWS_MAX: usize = 100;
/// Observations shown before and after another one of the same session.
pub const TIMELINE_NEIGHBOURS_MAX: usize = 3;
/// Later observations shown with the same file or code.
pub const TIMELINE_LATER_MAX: usize = 5;
/// Tokens of a line about an observation.
pub const MEMORY_ROW_TOKENS_MAX: usize = 40;
/// Tokens of an observation that is shown completely.
pub const MEMORY_SHOWN_TOKENS_MAX: usize = 800;
/// Longest title that is shown, in characters.
pub const MEMORY_TITLE_CHARS_MAX: usize = 200;
/// Most hits of one search.
pub const MEMORY_HITS_MAX: usize = 200;
/// Hits whose timelines are shown.
pub const MEMORY_TIMELINES_MAX: usize = 5;
/// Time `memory forget` waits for pending events of hooks, in milliseconds.
pub const FORGET_FLUSH_MS_MAX: u64 = 5_000;
/// Ids listed in a preview or a reply.
pub const MEMORY_IDS_LISTED_MAX: usize = 20;
/// Bad lines of an import that are listed; the rest are counted.
pub const MEMORY_BAD_LINES_LISTED_MAX: usize = 20;
/// Longest line of an import, in bytes; a longer one is skipped.
pub const MEMORY_LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Observations of an import that are stored in one transaction.
pub const MEMORY_IMPORTED_AT_ONCE: usize = 1_000;
/// Longest id of an import, in characters; the rest is cut.
pub const MEMORY_ID_CHARS_MAX: usize = 200;
/// Largest row number in an imported id (`obs-17`); an id with a larger one is replaced.
pub const MEMORY_ROW_MAX: i64 = 1_000_000_000;
/// Files and codes of one observation.
pub const MEMORY_NAMES_MAX: usize = 100;
/// Title of an imported observation without one: the beginning of its text, in characters.
pub const FOREIGN_TITLE_CHARS_MAX: usize = 200;
/// Hits listed for an agent's memory search.
pub const MEMORY_TOOL_HITS_MAX: usize = 20;
/// Observations that an agent reads with one call; each has at most 800 tokens.
pub const MEMORY_TOOL_IDS_MAX: usize = 10;
/// Share of the pairs of words that near duplicates have in common, in percent.
pub const NEAR_DUPLICATE_SHARED_PERCENT_MIN: usize = 80;
/// Shortest run of hexadecimal digits that is an address or a hash, in characters.
pub const HEX_NUMBER_CHARS_MIN: usize = 6;
/// Longest unit after a number, such as `ms`, in characters.
pub const NUMBER_UNIT_CHARS_MAX: usize = 3;
/// Rows that retention reads at once.
pub const RETENTION_ROWS_MAX: usize = 100;
/// Rows whose size retention reads at once.
pub const RETENTION_SIZES_MAX: usize = 1_000;
/// Earlier rows with which retention compares new ones.
pub const RETENTION_COMPARED_MAX: usize = 50;
/// Rows that retention removes in one transaction.
pub const RETENTION_REMOVED_MAX: usize = 20;
/// Index entries that retention rebuilds in one transaction.
pub const RETENTION_ENTRIES_MAX: usize = 50;
/// Age at which the edits and the failed commands of a session are folded, one row a day.
pub const SUMMARY_AGE_DAYS: i64 = 30;
/// Minimum age of an observation that is dropped because its project is too large.
pub const DROPPED_AGE_DAYS_MIN: i64 = 7;
/// Labels in the title of a summary.
pub const SUMMARY_LABELS_MAX: usize = 4;
/// Longest label in the title of a summary, in characters.
pub const SUMMARY_LABEL_CHARS_MAX: usize = 48;
/// Body of a summary, in characters.
pub const SUMMARY_BODY_CHARS_MAX: usize = 4_000;
/// Idle time of the memory after which retention takes its next step.
pub const RETENTION_QUIET_MS: u64 = 2_000;
/// Time between two steps of retention.
pub const RETENTION_STEP_MS: u64 = 100;
/// Time between two passes of retention.
pub const RETENTION_PASS_MS: i64 = MS_PER_DAY;
/// Interval of checks for a due pass.
pub const RETENTION_CHECK_SECS: u64 = 60 * 60;
/// Pages released from the end of the database file at once.
pub const VACUUMED_PAGES_MAX: u32 = 128;
/// Work of one merge of the index, in its pages.
pub const INDEX_MERGE_PAGES: u32 = 64;
/// Largest input of `memory import`, in bytes.
pub const MEMORY_IMPORT_BYTES_MAX: u64 = 4 << 30;
/// Repetitions that an imported observation may claim.
pub const REPEATS_MAX: u32 = 1_000_000;
