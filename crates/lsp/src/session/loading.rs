//! Tracks by the server's own signals if it is still loading the project. Answers during loading
//! may be empty because the server does not know the project yet.

use std::collections::HashMap;

use serde_json::Value;

use crate::registry::{ReadySignal, ServerSpec};

/// The loading state of one server.
#[derive(Debug)]
pub(super) struct LoadingState {
    /// The signal still awaited.
    awaited_signal: Option<ReadySignal>,
    /// Parts of the titles of the progresses that end the loading; empty for any progress.
    loading_titles: Vec<String>,
    /// Tokens of running progresses that count as loading; true if their end means that the project
    /// is loaded.
    tokens: HashMap<String, bool>,
    /// The server's complaint about the project, with the token of the progress that shows it.
    fault: Option<(String, String)>,
    /// Prefixes of the log message that all files of the project are listed; emptied when it
    /// arrives.
    file_list_messages: Vec<String>,
    /// Prefixes of the messages that a configuration cannot be read.
    configuration_messages: Vec<String>,
    /// The first line of such a message.
    configuration_error: Option<String>,
    /// Lines of the messages that the project cannot be imported.
    import_failure_lines: Vec<String>,
    /// Why the project cannot be imported.
    import_failure: Option<String>,
}

/// The kind of a `$/progress` notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgressKind {
    Began,
    Ended,
    Other,
}

impl LoadingState {
    pub(super) fn new(spec: &ServerSpec) -> Self {
        let awaits = (spec.ready != ReadySignal::Handshake).then_some(spec.ready);
        Self {
            awaited_signal: awaits,
            loading_titles: spec.loading_titles.clone(),
            tokens: HashMap::new(),
            fault: None,
            file_list_messages: spec.lists_files.clone(),
            configuration_messages: spec.configuration_errors.clone(),
            configuration_error: None,
            import_failure_lines: spec.import_failures.clone(),
            import_failure: None,
        }
    }

    /// True if the server has listed the files that are not open.
    pub(super) fn knows_files(&self) -> bool {
        self.file_list_messages.is_empty()
    }

    /// The server's complaint about the project as a whole, while it has one.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_ref().map(|(_, words)| words.as_str())
    }

    /// What the server reported about a configuration that it cannot read.
    pub(super) fn configuration_error(&self) -> Option<&str> {
        self.configuration_error.as_deref()
    }

    /// Why the server cannot import the project, while it is loading: it will not finish.
    pub(super) fn import_failure(&self) -> Option<&str> {
        self.import_failure.as_deref().filter(|_| self.is_loading())
    }

    pub(super) fn is_loading(&self) -> bool {
        self.awaited_signal.is_some() || !self.tokens.is_empty()
    }

    /// A titled progress counts as loading, except for background work after a save; pyright wraps
    /// each pull in one without a title.
    pub(super) fn on_progress(&mut self, token: &str, value: &Value) -> ProgressKind {
        let title = value["title"].as_str().unwrap_or_default();
        match value["kind"].as_str() {
            Some("begin") => {
                if is_complaint(title) {
                    let words = value["message"].as_str().unwrap_or(title);
                    self.fault = Some((token.to_owned(), words.to_owned()));
                } else if !title.is_empty() && !is_background(token) {
                    let titles = &self.loading_titles;
                    let ends_loading =
                        titles.is_empty() || titles.iter().any(|part| title.contains(part));
                    self.tokens.insert(token.to_owned(), ends_loading);
                }
                ProgressKind::Began
            }
            Some("end") => {
                self.fault.take_if(|(complaint, _)| complaint == token);
                let ends_loading = self.tokens.remove(token) == Some(true);
                if ends_loading && self.awaited_signal == Some(ReadySignal::Progress) {
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
            ("window/logMessage" | "window/showMessage", _) => {
                let message = params["message"].as_str().unwrap_or_default();
                let begins_like = |known: &[String]| known.iter().any(|it| message.starts_with(it));
                if begins_like(&self.file_list_messages) {
                    self.file_list_messages.clear();
                }
                if begins_like(&self.configuration_messages) {
                    self.configuration_error = message.lines().next().map(str::to_owned);
                }
                let mut lines = message.lines().map(str::trim);
                let failed = &self.import_failure_lines;
                if let Some(title) = lines.find(|line| failed.iter().any(|it| line.ends_with(it))) {
                    let reason = lines.find(|line| !line.is_empty()).unwrap_or(title);
                    self.import_failure = Some(reason.to_owned());
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
    use crate::freshness::tests::spec;

    /// The loading state after each begin and end of progresses with these titles.
    fn loading_after(spec: &ServerSpec, titles: &[&str]) -> Vec<bool> {
        let mut loading = LoadingState::new(spec);
        let mut states = vec![loading.is_loading()];
        for title in titles {
            loading.on_progress(title, &json!({"kind": "begin", "title": title}));
            loading.on_progress(title, &json!({"kind": "end"}));
            states.push(loading.is_loading());
        }
        states
    }

    #[test]
    fn an_unreadable_configuration_is_known_by_the_beginning_of_the_message() {
        let known = spec(r#", "configuration_errors": ["Config file"]"#);
        let mut loading = LoadingState::new(&known);
        let says = |loading: &mut LoadingState, method: &str, message: &str| {
            loading.on_notification(method, &json!({"type": 1, "message": message}));
            loading.configuration_error().map(str::to_owned)
        };
        assert_eq!(says(&mut loading, "window/logMessage", "No Config file"), None);
        let error = says(&mut loading, "window/showMessage", "Config file x is wrong\nmore");
        assert_eq!(error.as_deref(), Some("Config file x is wrong"));
    }

    #[test]
    fn a_project_that_cannot_be_imported_has_a_reason_until_it_is_loaded() {
        let known = spec(
            r#", "ready": "language-status", "import_failures": ["Failed to import projects"]"#,
        );
        let mut loading = LoadingState::new(&known);
        let message = "Nov 29, 2026, 8:00:00 AM Failed to import projects\nCould not calculate build plan: \
                       no plugin\n\tat org.eclipse.Stack";
        loading.on_notification("window/logMessage", &json!({"message": "other\nlines"}));
        assert_eq!(loading.import_failure(), None);
        loading.on_notification("window/logMessage", &json!({"message": message}));
        let reason = Some("Could not calculate build plan: no plugin");
        assert_eq!(loading.import_failure(), reason);
        loading.on_notification("language/status", &json!({"type": "ServiceReady"}));
        assert_eq!(loading.import_failure(), None, "it was loaded after all");
    }

    #[test]
    fn only_a_progress_with_the_right_title_ends_the_loading() {
        let titles = ["Reading the cache", "Intelephense (1.18.5) indexing", "Other"];
        let named = spec(r#", "ready": "progress", "loading_titles": ["indexing"]"#);
        assert_eq!(loading_after(&named, &titles), [true, true, false, false]);
        let any = spec(r#", "ready": "progress""#);
        assert_eq!(loading_after(&any, &titles), [true, false, false, false]);
        assert_eq!(loading_after(&spec(""), &titles), [false; 4]);
    }

    #[test]
    fn an_error_reported_as_progress_is_a_fault_and_not_loading() {
        let mut loading = LoadingState::new(&spec(""));
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
