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
        Self { awaits, tokens: HashSet::new(), awaits_list: lists_files.to_vec() }
    }

    /// Whether it knows the files that are not open, too.
    pub(super) fn knows_files(&self) -> bool {
        self.awaits_list.is_empty()
    }

    pub(super) fn is_loading(&self) -> bool {
        self.awaits.is_some() || !self.tokens.is_empty()
    }

    /// A titled progress is loading, except for those that work on what was saved; pyright wraps
    /// each pull in one without a title.
    pub(super) fn progress(&mut self, token: &str, value: &Value) -> Progress {
        let is_titled = !value["title"].as_str().unwrap_or_default().is_empty();
        match value["kind"].as_str() {
            Some("begin") => {
                if is_titled && !is_background(token) {
                    self.tokens.insert(token.to_owned());
                }
                Progress::Began
            }
            Some("end") => {
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

/// rust-analyzer runs `cargo check` after every save and shows it as a progress.
fn is_background(token: &str) -> bool {
    token.contains("flycheck")
}
