//! Bounds of rubrics and of a judge's calls.

/// Judge criteria of one rubric.
pub const RUBRIC_CRITERIA_MAX: usize = 50;
/// Longest criterion, in characters.
pub const RUBRIC_LINE_CHARS_MAX: usize = 1_000;
/// Longest part of an unknown rubric heading repeated in a message, in characters.
pub const RUBRIC_HEADING_CHARS_MAX: usize = 80;
/// Unchanged lines shown to a judge on either side of a change.
pub const JUDGE_CONTEXT_LINES: usize = 8;
/// Characters after which a line is wrapped in a judge's prompt.
pub const JUDGE_LINE_CHARS_MAX: usize = 400;
/// Shortest run of letters and digits that is treated as encoded data, in characters.
pub const JUDGE_BLOB_CHARS_MIN: usize = 200;
/// Bytes of a change shown in one call of a judge: some 25,000 tokens, which current models read
/// completely.
pub const JUDGE_PART_BYTES_MAX: usize = 80_000;
/// Calls for one view of a change; the rest is reported as not judged.
pub const JUDGE_PARTS_MAX: usize = 8;
/// Omitted files listed in one call, for each reason.
pub const JUDGE_NAMES_MAX: usize = 200;
/// Concurrent calls of judges.
pub const JUDGE_CALLS_AT_ONCE_MAX: usize = 4;
/// Attempts of one call when the answer is unusable.
pub const JUDGE_TRIES_MAX: usize = 2;
/// Longest part of the task given to a judge, in characters.
pub const JUDGE_GOAL_CHARS_MAX: usize = 4_000;
/// Longest part of one check's output shown to a judge, in characters.
pub const JUDGE_CHECK_CHARS_MAX: usize = 3_000;
/// Longest answer of a judge.
pub const JUDGE_ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Longest answer of an HTTP backend, in tokens.
pub const JUDGE_ANSWER_TOKENS_MAX: u32 = 16_000;
/// Longest quote of a judge that is verified, in characters; more than the prompt allows, because
/// models count badly.
pub const JUDGE_QUOTE_CHARS_MAX: usize = 600;
/// Shortest quote that counts as proof, in non-blank characters.
pub const JUDGE_QUOTE_CHARS_MIN: usize = 4;
/// Distance of a quote from its stated place, in lines.
pub const JUDGE_QUOTE_LINES_APART_MAX: usize = 3;
/// Lines that the stated place of a quote may span; one as long as the file proves nothing.
pub const JUDGE_QUOTE_SPAN_LINES_MAX: u32 = 40;
/// Quotes kept per ruling.
pub const JUDGE_QUOTES_MAX: usize = 8;
/// Longest kept reason of a judge, in characters.
pub const JUDGE_REASON_CHARS_MAX: usize = 300;
/// Longest kept hint of a judge, in characters.
pub const JUDGE_HINT_CHARS_MAX: usize = 200;
/// Confidence below which a judge is called again.
pub const JUDGE_CONFIDENCE_MIN: f64 = 0.7;
/// One in this many calls contains a planted wrong function that claims to be approved.
pub const JUDGE_CANARY_EVERY: u128 = 8;
/// Entries of `JUDGE_EVOLUTION.md`, and earlier rulings shown to a judge.
pub const JUDGE_HISTORY_MAX: usize = 40;
/// Largest `JUDGE_FEEDBACK.md`; its oldest entries go first.
pub const JUDGE_FEEDBACK_BYTES_MAX: usize = 64 * 1024;
/// Time for a judge's program to describe its options, in milliseconds.
pub const JUDGE_HELP_MS_MAX: u64 = 10_000;
/// Longest message quoted of a failed backend, in characters.
pub const JUDGE_FAULT_CHARS_MAX: usize = 160;
