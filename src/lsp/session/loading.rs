//! Whether the server is still loading the project, by what it says about itself. What it answers
//! meanwhile may be empty for want of knowledge.

use std::collections::HashSet;

use serde_json::Value;

use crate::lsp::registry::Ready;

/// The signals of one server.
#[derive(Debug)]
pub(super) struct Loading {
    /// The signal that has not come yet.
    awaits: Option<Ready>,
    /// Running progresses that count as loading.
    tokens: HashSet<String>,
    /// What the server has to complain about the project, and the progress that shows it.
    fault: Option<(String, String)>,
    /// Beginnings of the message that all files of the project are listed; empty once it came.
    awaits_list: Vec<String>,
}

/// One `$/progress`, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Began,
    Ended,
    Other,
}

impl Loading {
    pub(super) fn new(ready: Ready, lists_files: &[String]) -> Self {
        let awaits = (ready != Ready::Handshake).then_some(ready);
        Self { awaits, tokens: HashSet::new(), fault: None, awaits_list: lists_files.to_vec() }
    }

    /// Whether it knows the files that are not open, too.
    pub(super) fn knows_files(&self) -> bool {
        self.awaits_list.is_empty()
    }

    /// The server's complaint about the project as a whole, while it has one.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_ref().map(|(_, words)| words.as_str())
    }

    pub(super) fn is_loading(&self) -> bool {
        self.awaits.is_some() || !self.tokens.is_empty()
    }

    /// A titled progress is loading, except for those that work on what was saved; pyright wraps
    /// each pull in one without a title.
    pub(super) fn progress(&mut self, token: &str, value: &Value) -> Progress {
        let title = value["title"].as_str().unwrap_or_default();
        match value["kind"].as_str() {
            Some("begin") => {
                if is_complaint(title) {
                    let words = value["message"].as_str().unwrap_or(title);
                    self.fault = Some((token.to_owned(), words.to_owned()));
                } else if !title.is_empty() && !is_background(token) {
                    self.tokens.insert(token.to_owned());
                }
                Progress::Began
            }
            Some("end") => {
                self.fault.take_if(|(complaint, _)| complaint == token);
                if self.tokens.remove(token) && self.awaits == Some(Ready::Progress) {
                    self.awaits = None;
                }
                Progress::Ended
            }
            _ => Progress::Other,
        }
    }

    /// A notification of the server's own kind.
    pub(super) fn notified(&mut self, method: &str, params: &Value) {
        match (method, self.awaits) {
            ("window/logMessage", _) => {
                let message = params["message"].as_str().unwrap_or_default();
                if self.awaits_list.iter().any(|beginning| message.starts_with(beginning)) {
                    self.awaits_list.clear();
                }
            }
            // rust-analyzer can be loading again later, after a change of Cargo.toml.
            ("experimental/serverStatus", _) => match params["quiescent"].as_bool() {
                Some(true) if self.awaits == Some(Ready::ServerStatus) => self.awaits = None,
                Some(false) => self.awaits = Some(Ready::ServerStatus),
                _ => {}
            },
            ("language/status", Some(Ready::LanguageStatus))
                if params["type"] == "ServiceReady" =>
            {
                self.awaits = None;
            }
            _ => {}
        }
    }
}

/// gopls shows a project that it cannot load as a progress that ends when it can.
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
    fn a_complaint_shown_as_a_progress_is_a_fault_and_no_loading() {
        let mut loading = Loading::new(Ready::Handshake, &[]);
        let begin =
            json!({"kind": "begin", "title": "Error loading workspace", "message": "no module"});
        loading.progress("7", &begin);
        assert_eq!((loading.is_loading(), loading.fault()), (false, Some("no module")));
        loading.progress("8", &json!({"kind": "end"}));
        assert_eq!(loading.fault(), Some("no module"));
        loading.progress("7", &json!({"kind": "end"}));
        assert_eq!(loading.fault(), None);
    }
}
