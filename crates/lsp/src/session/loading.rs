//! Whether the server is still loading the project, by its own signals. Answers during loading may
//! be empty because the server does not know the project yet.

use std::collections::HashSet;

use serde_json::Value;

use crate::registry::ReadySignal;

/// The loading state of one server.
#[derive(Debug)]
pub(super) struct LoadingState {
    /// The signal still awaited.
    awaited_signal: Option<ReadySignal>,
    /// Tokens of running progresses that count as loading.
    tokens: HashSet<String>,
    /// The server's complaint about the project, with the token of the progress that shows it.
    fault: Option<(String, String)>,
    /// Prefixes of the log message that all files of the project are listed; emptied when it came.
    file_list_messages: Vec<String>,
}

/// The kind of a `$/progress` notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgressKind {
    Began,
    Ended,
    Other,
}

impl LoadingState {
    pub(super) fn new(ready: ReadySignal, lists_files: &[String]) -> Self {
        let awaits = (ready != ReadySignal::Handshake).then_some(ready);
        Self {
            awaited_signal: awaits,
            tokens: HashSet::new(),
            fault: None,
            file_list_messages: lists_files.to_vec(),
        }
    }

    /// Whether the server has listed the files that are not open.
    pub(super) fn knows_files(&self) -> bool {
        self.file_list_messages.is_empty()
    }

    /// The server's complaint about the project as a whole, while it has one.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_ref().map(|(_, words)| words.as_str())
    }

    pub(super) fn is_loading(&self) -> bool {
        self.awaited_signal.is_some() || !self.tokens.is_empty()
    }

    /// A titled progress is loading, except for those that work on what was saved; pyright wraps
    /// each pull in one without a title.
    pub(super) fn on_progress(&mut self, token: &str, value: &Value) -> ProgressKind {
        let title = value["title"].as_str().unwrap_or_default();
        match value["kind"].as_str() {
            Some("begin") => {
                if is_complaint(title) {
                    let words = value["message"].as_str().unwrap_or(title);
                    self.fault = Some((token.to_owned(), words.to_owned()));
                } else if !title.is_empty() && !is_background(token) {
                    self.tokens.insert(token.to_owned());
                }
                ProgressKind::Began
            }
            Some("end") => {
                self.fault.take_if(|(complaint, _)| complaint == token);
                if self.tokens.remove(token) && self.awaited_signal == Some(ReadySignal::Progress) {
                    self.awaited_signal = None;
                }
                ProgressKind::Ended
            }
            _ => ProgressKind::Other,
        }
    }

    /// Handles a server-specific notification.
    pub(super) fn on_notification(&mut self, method: &str, params: &Value) {
        match (method, self.awaited_signal) {
            ("window/logMessage", _) => {
                let message = params["message"].as_str().unwrap_or_default();
                if self.file_list_messages.iter().any(|beginning| message.starts_with(beginning)) {
                    self.file_list_messages.clear();
                }
            }
            // rust-analyzer may load again after a change of Cargo.toml.
            ("experimental/serverStatus", _) => match params["quiescent"].as_bool() {
                Some(true) if self.awaited_signal == Some(ReadySignal::ServerStatus) => {
                    self.awaited_signal = None;
                }
                Some(false) => self.awaited_signal = Some(ReadySignal::ServerStatus),
                _ => {}
            },
            ("language/status", Some(ReadySignal::LanguageStatus))
                if params["type"] == "ServiceReady" =>
            {
                self.awaited_signal = None;
            }
            _ => {}
        }
    }
}

/// gopls shows a project that fails to load as a progress that ends when it loads.
fn is_complaint(title: &str) -> bool {
    title == "Error loading workspace"
}

/// rust-analyzer runs `cargo check` after every save and shows it as a progress.
fn is_background(token: &str) -> bool {
    token.contains("flycheck")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_reported_as_progress_is_a_fault_and_not_loading() {
        let mut loading = LoadingState::new(ReadySignal::Handshake, &[]);
        let begin =
            json!({"kind": "begin", "title": "Error loading workspace", "message": "no module"});
        loading.on_progress("7", &begin);
        assert_eq!((loading.is_loading(), loading.fault()), (false, Some("no module")));
        loading.on_progress("8", &json!({"kind": "end"}));
        assert_eq!(loading.fault(), Some("no module"));
        loading.on_progress("7", &json!({"kind": "end"}));
        assert_eq!(loading.fault(), None);
    }
}
