//! Counts tokens in the host's transcripts: JSON lines, as written by Claude Code 2.1. One reply of
//! a model spans several lines with the same ids; all carry its token counts, the first ones with
//! an estimate of its output. The context size is the number of tokens that the last reply of the
//! main thread read and wrote.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Deserialize;
use serde_json::Value;

use moai_base::limits::{TRANSCRIPT_LINE_BYTES_MAX, TRANSCRIPT_REPLIES_MAX};

/// Subtype of the line after which a new context begins.
const COMPACT_SUBTYPE: &str = "compact_boundary";

/// Tokens by price category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Uncached input.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// Cache writes for five minutes.
    pub cache_write_5m: u64,
    /// Cache writes for one hour.
    pub cache_write_1h: u64,
}

impl TokenCounts {
    /// Tokens processed for the first time: all but cache reads, which repeat with every reply.
    #[must_use]
    pub fn uncached(self) -> u64 {
        self.input
            .saturating_add(self.output)
            .saturating_add(self.cache_write_5m)
            .saturating_add(self.cache_write_1h)
    }

    /// All tokens of one reply: the size of the context after it.
    #[must_use]
    pub fn context_total(self) -> u64 {
        self.uncached().saturating_add(self.cache_read)
    }
}

impl AddAssign for TokenCounts {
    fn add_assign(&mut self, more: Self) {
        let pairs = [
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.cache_read, more.cache_read),
            (&mut self.cache_write_5m, more.cache_write_5m),
            (&mut self.cache_write_1h, more.cache_write_1h),
        ];
        for (sum, number) in pairs {
            *sum = sum.saturating_add(number);
        }
    }
}

/// The task of a subagent: the first text of a user in its transcript. The last line may be cut.
#[must_use]
pub fn first_task(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| serde_json::from_str::<TranscriptLine>(line).ok());
    lines.filter(|line| line.kind == "user").find_map(|line| match &line.message["content"] {
        Value::String(task) => Some(task.clone()),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            let task = texts.collect::<Vec<_>>().join("\n");
            (!task.is_empty()).then_some(task)
        }
        _ => None,
    })
}

/// Tokens of a session, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// By model name in the transcript, with the pricing mode appended where it matters, such as
    /// `claude-opus-4-6 (fast)`.
    pub models: BTreeMap<String, TokenCounts>,
    pub reply_count: usize,
    /// Number of unreadable lines.
    pub junk_lines: usize,
    /// True if the limit of replies was reached; the real usage is then higher.
    pub is_truncated: bool,
}

impl TokenUsage {
    /// Total over all models.
    #[must_use]
    pub fn total(&self) -> TokenCounts {
        let mut total = TokenCounts::default();
        self.models.values().for_each(|tokens| total += *tokens);
        total
    }
}

/// The replies of one session from all its files. A resumed or forked session copies lines, but
/// each reply counts once.
#[derive(Clone, Debug, Default)]
pub struct TranscriptTally {
    replies: BTreeMap<String, TranscriptReply>,
    context: Option<ContextSize>,
    junk_lines: usize,
    is_truncated: bool,
}

/// Thread of a transcript file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptThread {
    /// The session's own.
    Main,
    /// A subagent's, with its own context.
    Subagent,
}

/// Size of the session's context after the last reply of its main thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextSize {
    /// The model's name in the transcript.
    pub model: String,
    /// Tokens read and written by that reply, cached or not.
    pub tokens: u64,
}

#[derive(Clone, Debug)]
struct TranscriptReply {
    model: String,
    /// Milliseconds since the epoch; 0 if unknown.
    at_ms: u64,
    tokens: TokenCounts,
}

#[derive(Debug, Deserialize)]
struct TranscriptLine {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(default)]
    subtype: Value,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: Value,
    #[serde(rename = "requestId", default)]
    request_id: Value,
    #[serde(default)]
    uuid: Value,
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    message: Value,
}

impl TranscriptTally {
    pub fn add_line(&mut self, line: &str, thread: TranscriptThread) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        let is_object = line.starts_with('{') && line.ends_with('}');
        if line.len() > TRANSCRIPT_LINE_BYTES_MAX || !is_object {
            self.add_junk_lines(1, thread);
        } else if line.contains("\"usage\"") || line.contains(COMPACT_SUBTYPE) {
            // Most bytes are file contents in lines without counts, which are not worth parsing.
            match serde_json::from_str::<TranscriptLine>(line) {
                Ok(line) if line.kind == "assistant" => self.take_reply(&line, thread),
                Ok(line) if thread == TranscriptThread::Main && line.is_compacted() => {
                    self.context = None;
                }
                Ok(_) => {}
                Err(_) => self.add_junk_lines(1, thread),
            }
        }
    }

    /// Counts lines that were too long to read. One of them may have been the last reply, so the
    /// context size is unknown until the next one.
    pub fn add_junk_lines(&mut self, lines: usize, thread: TranscriptThread) {
        self.junk_lines += lines;
        if lines > 0 && thread == TranscriptThread::Main {
            self.context = None;
        }
    }

    /// The context size; `None` before the first reply, and after a compaction until the next
    /// reply.
    #[must_use]
    pub fn context(&self) -> Option<&ContextSize> {
        self.context.as_ref()
    }

    /// Usage since a time in milliseconds since the epoch; 0 for everything.
    #[must_use]
    pub fn usage(&self, since_ms: u64) -> TokenUsage {
        let mut usage = TokenUsage {
            junk_lines: self.junk_lines,
            is_truncated: self.is_truncated,
            ..TokenUsage::default()
        };
        // A line without a time counts, because overestimating is safer for a budget.
        for reply in self.replies.values().filter(|it| it.at_ms == 0 || it.at_ms >= since_ms) {
            usage.reply_count += 1;
            *usage.models.entry(reply.model.clone()).or_default() += reply.tokens;
        }
        usage
    }

    fn take_reply(&mut self, line: &TranscriptLine, thread: TranscriptThread) {
        let message = &line.message;
        let model = message["model"].as_str().unwrap_or_default();
        // Synthetic messages of the host cost nothing.
        if model == "<synthetic>" || !message["usage"].is_object() {
            return;
        }
        let (id, request) = (message["id"].as_str(), line.request_id.as_str());
        let Some(id) = id.or_else(|| line.uuid.as_str()).filter(|_| !model.is_empty()) else {
            self.add_junk_lines(1, thread);
            return;
        };
        let key = format!("{id} {}", request.unwrap_or_default());
        let mut tokens = tokens(&message["usage"]);
        let earlier = self.replies.get(&key);
        tokens.output = tokens.output.max(earlier.map_or(0, |earlier| earlier.tokens.output));
        if thread == TranscriptThread::Main
            && line.is_sidechain != true
            && tokens.context_total() > 0
        {
            self.context =
                Some(ContextSize { model: model.to_owned(), tokens: tokens.context_total() });
        }
        if earlier.is_none() && self.replies.len() >= TRANSCRIPT_REPLIES_MAX {
            self.is_truncated = true;
            return;
        }
        let model = format!("{model}{}", mode(&message["usage"]));
        let at_ms = earlier.map_or_else(|| at_ms(&line.timestamp), |earlier| earlier.at_ms);
        self.replies.insert(key, TranscriptReply { model, at_ms, tokens });
    }
}

impl TranscriptLine {
    /// True if the host replaced the context with a summary here.
    fn is_compacted(&self) -> bool {
        self.kind == "system" && self.subtype == COMPACT_SUBTYPE && self.is_sidechain != true
    }
}

fn tokens(usage: &Value) -> TokenCounts {
    let written = token_count(&usage["cache_creation_input_tokens"]);
    let for_hour = token_count(&usage["cache_creation"]["ephemeral_1h_input_tokens"]);
    let for_minutes = match usage["cache_creation"]["ephemeral_5m_input_tokens"].as_u64() {
        Some(number) => number,
        // Older hosts report only the total; five minutes are the default.
        None => written.saturating_sub(for_hour),
    };
    TokenCounts {
        input: token_count(&usage["input_tokens"]),
        output: token_count(&usage["output_tokens"]),
        cache_read: token_count(&usage["cache_read_input_tokens"]),
        cache_write_5m: for_minutes,
        cache_write_1h: for_hour,
    }
}

fn token_count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Suffix of the model's name for other prices.
fn mode(usage: &Value) -> String {
    let speed = usage["speed"].as_str().filter(|speed| *speed != "standard");
    let tier = usage["service_tier"].as_str().filter(|tier| *tier != "standard");
    // Inference in the US costs more.
    let place = usage["inference_geo"].as_str().filter(|place| *place == "us");
    speed.or(tier).or(place).map(|mode| format!(" ({mode})")).unwrap_or_default()
}

fn at_ms(timestamp: &Value) -> u64 {
    let at = timestamp.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    at.and_then(|at| u64::try_from(at.as_millisecond()).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(id: &str, request: &str, output: u64) -> String {
        json!({
            "type": "assistant", "requestId": request, "timestamp": "2026-02-28T14:22:11.500Z",
            "message": {"id": id, "model": "claude-opus-4-6", "usage": {
                "input_tokens": 3, "output_tokens": output, "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 30, "service_tier": "standard",
                "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
            }},
        })
        .to_string()
    }

    fn usage<'l>(lines: impl IntoIterator<Item = &'l str>) -> TokenUsage {
        let mut tally = TranscriptTally::default();
        lines.into_iter().for_each(|line| tally.add_line(line, TranscriptThread::Main));
        tally.usage(0)
    }

    fn total(lines: &[String]) -> TokenCounts {
        usage(lines.iter().map(String::as_str)).total()
    }

    #[test]
    fn the_first_text_of_a_user_is_the_task_of_a_subagent() {
        let plain = r#"{"type":"user","message":{"role":"user","content":"Do TODO-1"}}"#;
        let blocks = r#"{"type":"user","message":{"content":[{"type":"text","text":"Do it"}]}}"#;
        let other = r#"{"type":"summary"}"#;
        assert_eq!(first_task(&format!("{other}\n{plain}\n{{cut")).as_deref(), Some("Do TODO-1"));
        assert_eq!(first_task(blocks).as_deref(), Some("Do it"));
        assert_eq!(first_task(""), None);
    }

    #[test]
    fn a_reply_in_several_lines_counts_once_with_its_last_counts() {
        let lines = [line("m1", "r1", 2), line("m1", "r1", 8), line("m1", "r1", 500)];
        let expected = TokenCounts {
            input: 3,
            output: 500,
            cache_read: 100,
            cache_write_5m: 10,
            cache_write_1h: 20,
        };
        assert_eq!(total(&lines), expected);
        assert_eq!(expected.uncached(), 533);
        // A copy in another file, with its early guess last.
        assert_eq!(total(&[&lines[..], &lines[..1]].concat()), expected);
        assert_eq!(total(&[line("m1", "r1", 500), line("m1", "r2", 500)]).output, 1000);
        assert_eq!(usage(lines.iter().map(String::as_str)).reply_count, 1);
    }

    #[test]
    fn lines_without_a_reply_cost_nothing_and_junk_lines_are_counted() {
        let made_up = line("m2", "r2", 9).replace("claude-opus-4-6", "<synthetic>");
        let user = line("m3", "r3", 9).replace("\"assistant\"", "\"user\"");
        let nameless = line("m4", "r4", 9).replace("\"id\"", "\"no\"");
        let broken = line("m5", "r5", 9).replace("\"usage\":", "\"usage\"");
        let odd = json!({"type": "assistant", "message": {"usage": "many"}}).to_string();
        let lines = [&made_up, &user, "", "{}", &nameless, &broken, &odd, "half a li", "\u{0}"];
        let found = usage(lines);
        assert_eq!((found.reply_count, found.junk_lines), (0, 4));
        assert_eq!(found.total(), TokenCounts::default());
    }

    #[test]
    fn older_hosts_and_other_modes_are_parsed() {
        let old = json!({"type": "assistant", "uuid": "u1", "message": {
            "model": "claude-3-5-haiku-20241022",
            "usage": {"input_tokens": 1, "output_tokens": 2, "cache_creation_input_tokens": 7},
        }});
        let found = usage([old.to_string().as_str()]);
        assert_eq!(found.models["claude-3-5-haiku-20241022"].cache_write_5m, 7);
        let fast =
            line("m1", "r1", 1).replace("\"service_tier\"", "\"speed\":\"fast\",\"service_tier\"");
        assert!(usage([fast.as_str()]).models.contains_key("claude-opus-4-6 (fast)"));
        // As 2.1.330 writes it when the service names no request.
        let recorded = json!({
            "parentUuid": "p", "isSidechain": false, "type": "assistant", "uuid": "u2",
            "timestamp": "2026-11-22T07:06:34.285Z", "requestedModel": "claude-opus-5-5",
            "message": {"id": "m9", "type": "message", "model": "claude-opus-5-5", "usage": {
                "input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 20,
                "cache_read_input_tokens": 0, "output_tokens_details": {"thinking_tokens": 0},
                "server_tool_use": {"web_search_requests": 0}, "service_tier": "standard",
                "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
                "inference_geo": "", "iterations": [], "speed": "standard"}},
        });
        let line = recorded.to_string();
        let found = usage([line.as_str(), line.as_str()]);
        assert_eq!(found.models["claude-opus-5-5"].uncached(), 120);
    }

    #[test]
    fn only_replies_since_the_given_time_are_counted() {
        let mut tally = TranscriptTally::default();
        tally.add_line(&line("m1", "r1", 5), TranscriptThread::Main);
        tally.add_line(
            &line("m2", "r2", 5).replace("2026-02-28", "2026-03-01"),
            TranscriptThread::Main,
        );
        tally.add_line(
            &line("m3", "r3", 5).replace("2026-02-28T14:22:11.500Z", "yesterday"),
            TranscriptThread::Main,
        );
        let at = 1_772_288_531_500;
        assert_eq!(tally.usage(at).reply_count, 3);
        assert_eq!(tally.usage(at + 1).reply_count, 2);
        assert_eq!(tally.usage(u64::MAX).reply_count, 1);
    }

    #[test]
    fn the_number_of_replies_is_bounded_and_reported() {
        let mut tally = TranscriptTally::default();
        for number in 0..=TRANSCRIPT_REPLIES_MAX {
            tally.replies.insert(
                number.to_string(),
                TranscriptReply { model: "m".into(), at_ms: 1, tokens: TokenCounts::default() },
            );
        }
        tally.add_line(&line("new", "r", 5), TranscriptThread::Main);
        assert!(tally.usage(0).is_truncated);
        assert_eq!(tally.usage(0).total().output, 0);
    }

    #[test]
    fn the_context_size_is_that_of_the_last_main_thread_reply() {
        let after = |lines: &[(&str, TranscriptThread)]| {
            let mut tally = TranscriptTally::default();
            for (line, thread) in lines {
                tally.add_line(line, *thread);
            }
            tally.context().map(|context| context.tokens)
        };
        let (main, sub) = (TranscriptThread::Main, TranscriptThread::Subagent);
        let (guess, first, second) =
            (&*line("m1", "r1", 2), &*line("m1", "r1", 9), &*line("m2", "r2", 5));
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[(guess, main), (first, main)]), Some(142), "133 read, 9 written");
        assert_eq!(after(&[(first, main), (guess, main)]), Some(142), "a guess was made earlier");
        assert_eq!(after(&[(first, main), (second, main)]), Some(138), "the last, not the sum");
        assert_eq!(after(&[(second, main), (first, sub)]), Some(138), "a subagent has its own");
        let aside = &*first.replace("\"requestId\"", "\"isSidechain\":true,\"requestId\"");
        assert_eq!(after(&[(second, main), (aside, main)]), Some(138), "so has a sidechain");
        let failed = &*first.replace("claude-opus-4-6", "<synthetic>");
        assert_eq!(after(&[(second, main), (failed, main)]), Some(138), "the host's own words");
        let compacted = r#"{"type":"system","subtype":"compact_boundary","isSidechain":false,
            "content":"Conversation compacted","compactMetadata":{"trigger":"manual"}}"#;
        let quoted = r#"{"type":"user","message":{"content":"a compact_boundary"}}"#;
        assert_eq!(after(&[(first, main), (quoted, main)]), Some(142));
        assert_eq!(after(&[(first, main), (compacted, main)]), None, "what was there is gone");
        assert_eq!(after(&[(first, main), (compacted, main), (second, main)]), Some(138));
        assert_eq!(after(&[(first, main), (compacted, sub)]), Some(142));
        assert_eq!(after(&[(first, main), ("half a li", main)]), None, "it may be a reply");
        assert_eq!(after(&[(first, main), ("half a li", sub)]), Some(142));
    }
}
