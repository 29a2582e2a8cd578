//! The answer to a hook as its host reads it: only the keys that the host knows for the event.

use std::borrow::Cow;

use moai_base::foreign_text::visible;
use serde_json::{Map, Value, json};

use super::{ContextChannel, HostEvent, HostKind, TextLimit};
use crate::hook::{HookEvent, HookOutput};

/// Replaces the end of a text that the host would cut in the middle.
const CUT_MARK: &str = "\n[cut]";

/// The parts of an output.
#[derive(Debug, Default)]
struct AnswerParts<'o> {
    context: Option<&'o str>,
    denial: Option<&'o str>,
    block: Option<&'o str>,
    notice: Option<&'o str>,
}

impl<'o> AnswerParts<'o> {
    fn of(output: &'o HookOutput) -> Self {
        let empty = Self::default();
        match output {
            HookOutput::Silent => empty,
            HookOutput::Context(text) => Self { context: Some(text), ..empty },
            HookOutput::Deny(reason) => Self { denial: Some(reason), ..empty },
            HookOutput::DenyAndNotice(reason, notice) => {
                Self { denial: Some(reason), notice: Some(notice), ..empty }
            }
            HookOutput::Block(reason) => Self { block: Some(reason), ..empty },
            HookOutput::BlockAndNotice(reason, notice) => {
                Self { block: Some(reason), notice: Some(notice), ..empty }
            }
            HookOutput::Notice(text) => Self { notice: Some(text), ..empty },
            HookOutput::ContextAndNotice(context, notice) => {
                Self { context: Some(context), notice: Some(notice), ..empty }
            }
        }
    }
}

/// JSON for stdout; empty if there is nothing to report to the host. Its texts have no instruction
/// tags of a host and no hidden characters, even in quotes.
#[must_use]
pub fn answer_text(host: HostKind, event: HookEvent, output: &HookOutput) -> String {
    let profile = host.profile();
    let Some(row) = profile.event(event) else { return String::new() };
    let parts = AnswerParts::of(output);
    let mut answer = Map::new();
    let shown = |text: &str| bounded(&visible(text), profile.text_limit).into_owned();
    if let Some(reason) = parts.denial.filter(|_| event == HookEvent::PreToolUse) {
        answer.insert("hookSpecificOutput".to_owned(), denial(&shown(reason)));
    }
    if let Some(reason) = parts.block.filter(|_| row.can_block) {
        answer.insert("decision".to_owned(), json!("block"));
        answer.insert("reason".to_owned(), json!(shown(reason)));
    }
    // A reason that cannot block is passed on as context.
    let told = parts.context.or(parts.block.filter(|_| !row.can_block));
    let mut context = told.map(Cow::Borrowed);
    match parts.notice {
        Some(notice) if row.has_notices => {
            answer.insert("systemMessage".to_owned(), json!(visible(notice)));
        }
        // A notice that the user does not see goes to the agent.
        Some(notice) if parts.denial.is_none() && parts.block.is_none() => {
            context = match context {
                // There it is the shorter form of the context.
                Some(context) if event == HookEvent::PostToolUse => Some(context),
                Some(context) => Some(Cow::Owned(format!("{context}\n{notice}"))),
                None => Some(Cow::Borrowed(notice)),
            };
        }
        _ => {}
    }
    if let Some(context) = context {
        set_context(&mut answer, *row, &shown(&context));
    }
    if answer.is_empty() { String::new() } else { format!("{}\n", Value::Object(answer)) }
}

/// Adds a text for agent and user to an answer for stdout, which may be empty.
#[must_use]
pub fn add_to_answer(host: HostKind, event: HookEvent, answer: &str, text: &str) -> String {
    let Some(row) = host.profile().event(event) else { return answer.to_owned() };
    let mut added = match serde_json::from_str(answer) {
        Ok(Value::Object(answer)) => answer,
        _ => Map::new(),
    };
    let with_older = |older: Option<&Value>| match older.and_then(Value::as_str) {
        Some(older) => format!("{text}\n{older}"),
        None => text.to_owned(),
    };
    if row.has_notices {
        let notice = with_older(added.get("systemMessage"));
        added.insert("systemMessage".to_owned(), json!(notice));
    }
    let older = match row.context {
        ContextChannel::None => None,
        ContextChannel::Nested => {
            added.get("hookSpecificOutput").map(|nested| &nested["additionalContext"])
        }
        ContextChannel::Flat => added.get("additionalContext"),
    };
    let context = with_older(older);
    set_context(&mut added, *row, &context);
    if added.is_empty() { String::new() } else { format!("{}\n", Value::Object(added)) }
}

fn set_context(answer: &mut Map<String, Value>, row: HostEvent, text: &str) {
    match row.context {
        ContextChannel::None => {}
        ContextChannel::Nested => {
            // An existing decision is kept.
            let nested = answer
                .entry("hookSpecificOutput")
                .or_insert_with(|| json!({"hookEventName": row.event.host_name()}));
            nested["additionalContext"] = json!(text);
        }
        ContextChannel::Flat => {
            answer.insert("additionalContext".to_owned(), json!(text));
        }
    }
}

fn denial(reason: &str) -> Value {
    json!({
        "hookEventName": HookEvent::PreToolUse.host_name(),
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    })
}

/// The text, or as many of its first lines as fit.
fn bounded(text: &str, limit: TextLimit) -> Cow<'_, str> {
    let end = match limit {
        TextLimit::AsWritten => None,
        TextLimit::Characters(max) => text.char_indices().nth(max).map(|(end, _)| end),
        TextLimit::Bytes(max) => (text.len() > max).then_some(max),
    };
    let Some(end) = end else { return Cow::Borrowed(text) };
    let end = text.floor_char_boundary(end.saturating_sub(CUT_MARK.len()));
    let kept = &text[..end];
    let kept = kept.rfind('\n').map_or(kept, |line_end| &kept[..line_end]);
    Cow::Owned(format!("{kept}{CUT_MARK}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(host: HostKind, event: HookEvent, output: &HookOutput) -> Value {
        let text = answer_text(host, event, output);
        if text.is_empty() { Value::Null } else { serde_json::from_str(&text).expect("JSON") }
    }

    fn context() -> HookOutput {
        HookOutput::Context("한글 \"q\"".to_owned())
    }

    #[test]
    fn each_host_gets_a_context_where_it_reads_one() {
        let nested = json!({"hookSpecificOutput": {
            "hookEventName": "PostToolUse", "additionalContext": "한글 \"q\"",
        }});
        let flat = json!({"additionalContext": "한글 \"q\""});
        for (host, expected) in [
            (HostKind::ClaudeCode, &nested),
            (HostKind::Codex, &nested),
            (HostKind::Copilot, &flat),
            (HostKind::OpenCode, &flat),
        ] {
            assert_eq!(&answer(host, HookEvent::PostToolUse, &context()), expected, "{host:?}");
        }
    }

    #[test]
    fn an_answer_has_no_key_that_its_host_does_not_know() {
        let known: &[(HostKind, HookEvent, &[&str])] = &[
            (HostKind::Codex, HookEvent::Stop, &["decision", "reason", "systemMessage"]),
            (HostKind::Codex, HookEvent::PreCompact, &["systemMessage"]),
            (HostKind::Codex, HookEvent::SessionEnd, &[]),
            (HostKind::Codex, HookEvent::PostToolUse, &["hookSpecificOutput", "systemMessage"]),
            (HostKind::Copilot, HookEvent::PostToolUse, &["additionalContext"]),
            (HostKind::Copilot, HookEvent::Stop, &["decision", "reason"]),
            (HostKind::Copilot, HookEvent::PostToolBatch, &[]),
        ];
        let outputs = [
            HookOutput::Silent,
            context(),
            HookOutput::Deny("d".to_owned()),
            HookOutput::Block("b".to_owned()),
            HookOutput::BlockAndNotice("b".to_owned(), "n".to_owned()),
            HookOutput::Notice("n".to_owned()),
            HookOutput::ContextAndNotice("c".to_owned(), "n".to_owned()),
        ];
        for (host, event, keys) in known {
            for output in &outputs {
                let answer = answer(*host, *event, output);
                let mut given = answer.as_object().into_iter().flat_map(Map::keys);
                assert!(
                    given.all(|key| keys.contains(&key.as_str())),
                    "{host:?} {event:?} {output:?}: {answer}"
                );
            }
        }
    }

    #[test]
    fn a_block_with_a_notice_stays_a_block() {
        let block = HookOutput::Block("why".into()).with_notice(Some("for you".into()));
        let expected = json!({"decision": "block", "reason": "why", "systemMessage": "for you"});
        assert_eq!(answer(HostKind::ClaudeCode, HookEvent::Stop, &block), expected);
        let expected = json!({"decision": "block", "reason": "why"});
        assert_eq!(answer(HostKind::Copilot, HookEvent::Stop, &block), expected);
    }

    #[test]
    fn a_notice_that_the_user_is_not_shown_is_told_the_agent() {
        let output = context().with_notice(Some("for you".into()));
        let expected = json!({"additionalContext": "한글 \"q\"\nfor you"});
        assert_eq!(answer(HostKind::Copilot, HookEvent::SessionStart, &output), expected);
        assert_eq!(answer(HostKind::Copilot, HookEvent::Stop, &output), Value::Null);
    }

    #[test]
    fn a_reason_is_told_where_nothing_can_be_refused() {
        let refused = HookOutput::Block("why".to_owned());
        let expected = json!({"additionalContext": "why"});
        assert_eq!(answer(HostKind::OpenCode, HookEvent::UserPromptSubmit, &refused), expected);
    }

    #[test]
    fn a_tool_is_refused_in_the_words_of_all_hosts() {
        for host in HostKind::ALL {
            let denied = answer(host, HookEvent::PreToolUse, &HookOutput::Deny("why".to_owned()));
            assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny", "{host:?}");
            assert_eq!(denied["hookSpecificOutput"]["permissionDecisionReason"], "why");
        }
    }

    #[test]
    fn silence_is_no_output_at_all() {
        for host in HostKind::ALL {
            assert_eq!(answer_text(host, HookEvent::Stop, &HookOutput::Silent), "");
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_line_before_the_host_cuts_them() {
        let long = "오류 하나\n".repeat(2_000);
        let told = answer(HostKind::Codex, HookEvent::Stop, &HookOutput::Block(long));
        let reason = told["reason"].as_str().expect("a text");
        assert!(reason.len() <= moai_base::limits::CODEX_TEXT_BYTES_MAX, "{}", reason.len());
        assert!(reason.ends_with("오류 하나\n[cut]"), "{}", &reason[reason.len() - 40..]);
        assert_eq!(bounded("short", TextLimit::Bytes(5)), "short");
        assert_eq!(bounded("한글", TextLimit::Characters(2)), "한글");
    }

    #[test]
    fn a_text_is_added_before_what_is_there() {
        let add = |host, event, answer: &str| add_to_answer(host, event, answer, "new");
        let told = answer_text(HostKind::ClaudeCode, HookEvent::PostToolUse, &context());
        let told = add(HostKind::ClaudeCode, HookEvent::PostToolUse, &told);
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let nested = &told["hookSpecificOutput"]["additionalContext"];
        assert_eq!(
            (told["systemMessage"].as_str(), nested.as_str()),
            (Some("new"), Some("new\n한글 \"q\""))
        );
        let denied = HookOutput::Deny("why".to_owned());
        let denied = answer_text(HostKind::ClaudeCode, HookEvent::PreToolUse, &denied);
        let denied = add(HostKind::ClaudeCode, HookEvent::PreToolUse, &denied);
        let denied: Value = serde_json::from_str(&denied).expect("JSON");
        let nested = &denied["hookSpecificOutput"];
        assert_eq!(
            (&nested["permissionDecision"], &nested["additionalContext"]),
            (&json!("deny"), &json!("new"))
        );
        assert_eq!(add(HostKind::Codex, HookEvent::Stop, ""), "{\"systemMessage\":\"new\"}\n");
        assert_eq!(
            add(HostKind::Copilot, HookEvent::PostToolUse, "{\"additionalContext\":\"old\"}"),
            "{\"additionalContext\":\"new\\nold\"}\n"
        );
        assert_eq!(add(HostKind::Copilot, HookEvent::Stop, ""), "");
    }
}
