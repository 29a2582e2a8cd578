//! The agent's last words in a transcript of GitHub Copilot CLI: JSON lines, one event each.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct SessionEvent {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    data: Value,
}

/// The last words of the present turn in the end of a transcript, whose first line may be cut. `None`
/// if the transcript does not have them yet: earlier words are not about this turn.
#[must_use]
pub fn last_words(transcript: &str) -> Option<String> {
    for line in transcript.lines().rev() {
        let Ok(event) = serde_json::from_str::<SessionEvent>(line) else { continue };
        match event.kind.as_str() {
            "assistant.message" => {
                return event.data["content"].as_str().map(str::to_owned);
            }
            "user.message" => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_those_after_the_last_prompt() {
        let said = r#"{"type":"assistant.message","data":{"content":"one"}}"#;
        let asked = r#"{"type":"user.message","data":{"content":"go on"}}"#;
        let other = r#"{"type":"assistant.turn_end","data":{}}"#;
        let check = |lines: &[&str], expected: Option<&str>| {
            assert_eq!(last_words(&lines.join("\n")).as_deref(), expected, "{lines:?}");
        };
        check(&[said, other, "cut short"], Some("one"));
        check(&["rt\"}", said.replace("one", "two").as_str(), said], Some("one"));
        check(&[said, asked, other], None);
        check(&[], None);
        check(&[r#"{"type":"assistant.message","data":{"content":5}}"#], None);
    }
}
