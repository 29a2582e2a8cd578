//! The latest log lines of a language server for `server logs`: stderr and log messages, bounded,
//! only in memory.

use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use moai_base::foreign_text::one_line;
use moai_base::limits::{SERVER_LOG_LINE_BYTES_MAX, SERVER_LOG_LINES_MAX};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// `stderr`, or the message type of `window/logMessage`: `error`, `warning`, `info`, `log`,
    /// `debug`; `engine` for our own actions.
    pub source: &'static str,
    /// Its text, without control characters.
    pub text: String,
}

/// The latest log lines of one server.
#[derive(Debug, Default)]
pub(super) struct LogBuffer(VecDeque<LogLine>);

impl LogBuffer {
    /// Records a line with the current time.
    pub(super) fn push_line(&mut self, source: &'static str, text: &str) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.0.len() == SERVER_LOG_LINES_MAX {
                self.0.pop_front();
            }
            let text = one_line(line, SERVER_LOG_LINE_BYTES_MAX);
            self.0.push_back(LogLine { at_ms, source, text });
        }
    }

    /// Records a notification if it is a log or user message.
    pub(super) fn push_message(&mut self, method: &str, params: &Value) {
        if !matches!(method, "window/logMessage" | "window/showMessage") {
            return;
        }
        let source = match params["type"].as_u64() {
            Some(1) => "error",
            Some(2) => "warning",
            Some(3) => "info",
            Some(5) => "debug",
            _ => "log",
        };
        self.push_line(source, params["message"].as_str().unwrap_or_default());
    }

    /// The likely reason for the server's end: the last stderr line since our last action that
    /// calls itself an error (a backtrace or a version may follow), else the last stderr line.
    pub(super) fn last_stderr_error(&self) -> Option<&str> {
        let since = self.0.iter().rev().take_while(|line| line.source != "engine");
        let mut texts = since.filter(|line| line.source == "stderr").map(|line| line.text.as_str());
        let error = texts
            .clone()
            .find(|text| text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error")));
        error.or_else(|| texts.next())
    }

    /// All lines, oldest first.
    pub(super) fn lines(&self) -> Vec<LogLine> {
        self.0.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_error_line_of_the_last_process_is_reported() {
        let mut diary = LogBuffer::default();
        diary.push_line("stderr", "error: of the process before");
        diary.push_line("engine", "started");
        assert_eq!(diary.last_stderr_error(), None);
        diary.push_line("stderr", "warm");
        assert_eq!(diary.last_stderr_error(), Some("warm"));
        diary.push_line("stderr", "Error: no such module\n  13: <unknown>\nv20");
        assert_eq!(diary.last_stderr_error(), Some("Error: no such module"));
    }

    #[test]
    fn lines_are_bounded_and_say_where_they_come_from() {
        let mut diary = LogBuffer::default();
        diary.push_line("stderr", "first\nsecond \u{1b}[31mred\n\n");
        diary.push_message("window/logMessage", &json!({"type": 2, "message": "careful"}));
        diary.push_message("$/progress", &json!({"type": 1, "message": "no log"}));
        let seen: Vec<_> = diary.lines().into_iter().map(|line| (line.source, line.text)).collect();
        let expected = [("stderr", "first"), ("stderr", "second red"), ("warning", "careful")];
        assert_eq!(seen, expected.map(|(source, text)| (source, text.to_owned())));
        assert_eq!(diary.last_stderr_error(), Some("second red"));
        for number in 0..SERVER_LOG_LINES_MAX {
            diary.push_line("stderr", &number.to_string());
        }
        assert_eq!(diary.lines().len(), SERVER_LOG_LINES_MAX);
        assert_eq!(diary.lines()[0].text, "0");
    }
}
