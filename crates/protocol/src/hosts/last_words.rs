//! The agent's final message in a transcript of GitHub Copilot CLI: JSON lines, one event each.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct SessionEvent {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    timestamp: String,
    #[serde(default)]
    data: Value,
}

/// Events of tools begin with this.
const TOOL_EVENT: &str = "tool.";

/// The final message of the current turn in the tail of a transcript, whose first line may be cut.
/// `None` if the transcript does not have them yet. It is written in pieces: it is complete for a
/// Stop once it has an event of `stop_time` or later, in the host's own form, which sorts by time.
/// Messages before the last prompt or the last tool call are not final.
#[must_use]
pub fn last_words(transcript: &str, stop_time: &str) -> Option<String> {
    let mut is_complete = false;
    for line in transcript.lines().rev() {
        let Ok(event) = serde_json::from_str::<SessionEvent>(line) else { continue };
        is_complete |= event.timestamp.as_str() >= stop_time;
        match event.kind.as_str() {
            "assistant.message" => {
                let words = event.data["content"].as_str().filter(|_| is_complete);
                return words.map(str::to_owned);
            }
            "user.message" => return None,
            kind if kind.starts_with(TOOL_EVENT) => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_words_are_those_after_the_last_prompt_in_a_complete_transcript() {
        let event = |second: u32, kind: &str, data: Value| {
            let timestamp = format!("2026-01-01T00:00:{second:02}.000Z");
            json!({"type": kind, "data": data, "timestamp": timestamp}).to_string()
        };
        let asked = |second| event(second, "user.message", json!({"content": "go on"}));
        let said = |second| event(second, "assistant.message", json!({"content": "one"}));
        let called = |second| event(second, "assistant.message", json!({"content": ""}));
        let ran = |second| event(second, "tool.execution_complete", json!({"success": true}));
        let stopped = |second| event(second, "hook.start", json!({"hookType": "agentStop"}));
        let check = |lines: &[String], expected: Option<&str>| {
            let words = last_words(&lines.join("\n"), "2026-01-01T00:00:09.000Z");
            assert_eq!(words.as_deref(), expected, "{lines:?}");
        };
        check(&[asked(1), said(8), stopped(9)], Some("one"));
        check(&["rt\"}".to_owned(), said(8), stopped(9), "cut sh".to_owned()], Some("one"));
        check(&[asked(1), said(8)], None);
        check(&[asked(1), said(2), stopped(3)], None);
        check(&[said(2), asked(4), stopped(9)], None);
        check(&[asked(1), called(2), ran(3), stopped(9)], None);
        check(&[asked(1), called(2), ran(3), said(8), stopped(9)], Some("one"));
        check(&[], None);
        check(&[event(9, "assistant.message", json!({"content": 5}))], None);
    }
}
