//! Inputs of the host and of front doors: hook payloads, transcripts, calls of the daemon.

use moai_protocol::control::DaemonCall;
use moai_protocol::hook::{HookEvent, HookInput};
use moai_protocol::hosts::typed_command::typed_command;
use moai_protocol::transcript::{TranscriptTally, TranscriptThread};

use crate::corpus::{files, texts};
use crate::runner::{fuzz, shown, text};

const TRANSCRIPT: &str = r#"{"type":"user","uuid":"u1","timestamp":"2026-01-02T03:04:05.678Z","message":{"role":"user","content":"hi"}}
{"type":"assistant","requestId":"r1","uuid":"u2","timestamp":"2026-01-02T03:04:06Z","isSidechain":false,"message":{"id":"m1","model":"claude-opus-4","usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":150,"ephemeral_1h_input_tokens":50}}}}
{"type":"assistant","requestId":"r1","uuid":"u3","timestamp":"2026-01-02T03:04:07Z","message":{"id":"m1","model":"claude-opus-4","usage":{"input_tokens":10,"output_tokens":90}}}
{"type":"system","subtype":"compact_boundary","timestamp":"2026-01-02T03:05:00Z"}
{"type":"assistant","requestId":"r2","isSidechain":true,"message":{"id":"m2","model":"claude-haiku","usage":{"input_tokens":1,"output_tokens":2}}}
"#;

const CALLS: [&str; 3] = [
    r#"{"protocol":1,"caller":{"cwd":"/p","root":null,"env":{"PATH":"/bin"},"tool":null},"request":{"name":"hook","event":"stop","payload":"{}"}}"#,
    r#"{"protocol":1,"caller":{"cwd":"/p","root":"/p","env":{}},"request":{"name":"ping"}}"#,
    r#"{"protocol":99,"caller":{},"request":{"name":"nothing"}}"#,
];

#[test]
fn hook_payloads() {
    fuzz("hook-payloads", &files("tests/it/payloads", ".json", 50), |input| {
        let Ok(input) = HookInput::parse(&text(input)) else { return 0 };
        let read = format!(
            "{:?}{:?}{:?}{:?}{}{}",
            input.edits().iter().map(|edit| edit.text_before("x = 2\n")).collect::<Vec<_>>(),
            typed_command(&input.prompt),
            input.running_tasks(),
            input.own_command(),
            input.must_end(),
            input.is_planning(),
        );
        assert!(input.failed_commands().count() <= input.tool_calls.len());
        read.len() + usize::from(HookEvent::from_name(&input.command_name).is_some())
    });
}

#[test]
fn transcripts() {
    fuzz("transcripts", &texts(&[TRANSCRIPT]), |input| {
        let mut size = 0;
        for thread in [TranscriptThread::Main, TranscriptThread::Subagent] {
            let mut tally = TranscriptTally::default();
            for line in text(input).lines() {
                tally.add_line(line, thread);
            }
            let usage = tally.usage(0);
            let context = tally.context().map(|context| context.tokens);
            size += shown(&usage) + shown(&context) + shown(&usage.total().uncached());
            assert!(tally.usage(u64::MAX).reply_count <= usage.reply_count);
        }
        size
    });
}

#[test]
fn daemon_calls() {
    fuzz("daemon-calls", &texts(&CALLS), |input| {
        let Ok(call) = serde_json::from_slice::<DaemonCall>(input) else { return 0 };
        let line = serde_json::to_string(&call).expect("a call can be written");
        let again: DaemonCall = serde_json::from_str(&line).expect("a written call can be read");
        assert_eq!(format!("{call:?}"), format!("{again:?}"));
        line.len()
    });
}
