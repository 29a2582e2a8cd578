//! Completion protocols: what proves that a list of diagnostics belongs to the bytes just sent.
//! One pure state machine per protocol; an empty list is clean only when its protocol proves it.

pub mod clangd;
pub mod gopls;
pub mod habits;
pub mod jdtls;
pub mod pull;
pub mod push;
pub mod rust_analyzer;
pub mod tsserver;

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use self::habits::Habits;
use self::rust_analyzer::flycheck::Flycheck;
use super::registry::{Method, ServerSpec};
use crate::base::finding::Finding;
use crate::base::verdict::Gap;
use crate::wire::jsonrpc::RpcError;
use crate::wire::lsp::About;

/// The document version a protocol works on, and the server's state at this moment.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// File, bytes and speaker.
    pub about: About<'a>,
    /// The document's URI as it was sent.
    pub uri: &'a str,
    /// Its absolute path.
    pub file: &'a Path,
    /// Its version.
    pub version: i32,
    /// Whether the server reports that it is still loading the project.
    pub is_loading: bool,
    /// The server's complaint about the project as a whole, while it has one.
    pub fault: Option<&'a str>,
    /// How the server is asked.
    pub spec: &'a ServerSpec,
    /// What the server has shown of how it publishes.
    pub habits: &'a Habits,
    /// This moment.
    pub now: Instant,
    /// Number of the question; a later question has a higher one.
    pub ticket: u64,
    /// The compiler's runs inside the server, shared by all questions.
    pub flycheck: &'a Flycheck,
}

/// LSP error codes (specification 3.17): nobody knows the method, the server gave a request up, or
/// the document changed.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const SERVER_CANCELLED: i64 = -32802;
pub(super) const CONTENT_MODIFIED: i64 = -32801;

/// What a server said unasked, as far as protocols care.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// A progress with this token began.
    Began(&'a str),
    /// A progress with this token ended.
    Ended(&'a str),
    /// A notification of the server's own kind.
    Notified(&'a str, &'a Value),
}

/// What the protocol wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send this request; its answer comes back through [`Protocol::answered`].
    Ask(&'static str, Value),
    /// Call [`Protocol::woke`] at this time, or when the server's loading state changed.
    WakeAt(Instant),
    /// Wait for a message.
    Wait,
    /// Wait for a run of the compiler that begins from now on; one is started when none is under
    /// way, and all who wait share it.
    Check,
    /// Send the text once more, as a new version, and begin again.
    Resend,
    /// Close the document, open it as a new version, and begin again.
    Reopen,
    /// The server cannot do this; take what it publishes.
    FallBack,
    /// The verdict for exactly this version.
    Done(Result<Vec<Finding>, Gap>),
}

/// One measurement of one document version.
#[derive(Debug)]
pub enum Protocol {
    /// Ask for the document's diagnostics.
    Pull(pull::Pull),
    /// Ask tsserver synchronously.
    Tsserver(tsserver::Tsserver),
    /// Wait for what is published.
    Push(push::Push),
    /// Wait for what gopls publishes.
    Gopls(gopls::Gopls),
    /// Wait for what clangd publishes.
    Clangd(clangd::Clangd),
    /// Ask for the server's own diagnostics and wait for the compiler's.
    RustAnalyzer(rust_analyzer::RustAnalyzer),
    /// Wait for what is published, build, and wait again.
    Jdtls(jdtls::Jdtls),
}

impl Protocol {
    /// The protocol of a method.
    #[must_use]
    pub fn new(method: Method) -> Self {
        match method {
            Method::Pull => Self::Pull(pull::Pull::default()),
            Method::RustAnalyzer => Self::RustAnalyzer(rust_analyzer::RustAnalyzer::default()),
            Method::Jdtls => Self::Jdtls(jdtls::Jdtls::default()),
            Method::Tsserver => Self::Tsserver(tsserver::Tsserver::default()),
            Method::Gopls => Self::Gopls(gopls::Gopls::default()),
            Method::Clangd => Self::Clangd(clangd::Clangd::default()),
            Method::Push => Self::Push(push::Push::default()),
        }
    }

    /// Files changed on disk that the server did not ask to hear of.
    pub fn disk_changed(&mut self) {
        if let Self::Tsserver(state) = self {
            state.disk_changed();
        }
    }

    /// First step, after the document's text was sent.
    pub fn begin(&mut self, subject: &Subject<'_>) -> Step {
        match self {
            Self::Pull(_) => pull::ask(subject),
            Self::Tsserver(state) => state.begin(subject),
            Self::RustAnalyzer(state) => state.begin(subject),
            Self::Jdtls(state) => state.begin(subject),
            Self::Push(_) | Self::Gopls(_) | Self::Clangd(_) => push::barrier(subject),
        }
    }

    /// The answer of the request asked last.
    pub fn answered(&mut self, subject: &Subject<'_>, answer: Result<&Value, &RpcError>) -> Step {
        match self {
            Self::Pull(state) => state.answered(subject, answer),
            Self::Tsserver(state) => state.answered(subject, answer),
            Self::Push(state) => state.answered(subject),
            Self::Gopls(state) => state.answered(subject),
            Self::Clangd(state) => state.answered(subject),
            Self::RustAnalyzer(state) => state.answered(subject, answer),
            Self::Jdtls(state) => state.answered(subject, answer),
        }
    }

    /// The server published diagnostics for this document.
    pub fn published(
        &mut self,
        subject: &Subject<'_>,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> Step {
        match self {
            Self::Push(state) => state.published(subject, version, diagnostics),
            Self::Gopls(state) => state.published(subject, version, diagnostics),
            Self::Clangd(state) => state.published(subject, version, diagnostics),
            Self::Jdtls(state) => state.published(subject, diagnostics),
            Self::Pull(_) | Self::Tsserver(_) | Self::RustAnalyzer(_) => Step::Wait,
        }
    }

    /// The server said something about itself. [`Step::Wait`] keeps what was asked for before.
    pub fn heard(&mut self, subject: &Subject<'_>, heard: Heard<'_>) -> Step {
        match self {
            Self::Clangd(state) => state.heard(subject, heard),
            Self::RustAnalyzer(state) => state.heard(subject, heard),
            Self::Jdtls(state) => state.heard(subject, heard),
            Self::Pull(state) => state.heard(subject, heard),
            Self::Tsserver(_) | Self::Push(_) | Self::Gopls(_) => Step::Wait,
        }
    }

    /// The time asked for has come, or the loading state changed.
    pub fn woke(&mut self, subject: &Subject<'_>) -> Step {
        match self {
            Self::Pull(state) => state.woke(subject),
            Self::Push(state) => state.woke(subject),
            Self::Gopls(state) => state.woke(subject),
            Self::Clangd(state) => state.woke(subject),
            Self::RustAnalyzer(state) => state.woke(subject),
            Self::Jdtls(state) => state.woke(subject),
            Self::Tsserver(_) => Step::Wait,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::hash::ContentHash;
    use crate::base::path::RelPath;

    /// The description of a server that only publishes, with these extra keys.
    pub(crate) fn spec(extra: &str) -> ServerSpec {
        let text =
            format!(r#"{{"servers": {{"s": {{"command": "s", "diagnostics": "push"{extra}}}}}}}"#);
        let catalogue = crate::lsp::registry::Catalogue::parse(&text).expect("valid");
        catalogue.server("s").expect("described").clone()
    }

    /// Runs `act` with a subject at `version`, `after_ms` after the start of the test.
    pub(crate) fn with_subject<T>(
        start: Instant,
        after_ms: u64,
        is_loading: bool,
        act: impl FnOnce(&Subject<'_>) -> T,
    ) -> T {
        let path = RelPath::below(Path::new("/r"), Path::new("/r/a.py")).expect("relative");
        act(&Subject {
            about: About { sensor: "s", path: &path, hash: ContentHash::of(b"") },
            uri: "file:///r/a.py",
            file: Path::new("/r/a.py"),
            version: 3,
            is_loading,
            fault: None,
            spec: &spec(""),
            habits: &Habits::default(),
            now: start + std::time::Duration::from_millis(after_ms),
            ticket: 1,
            flycheck: &Flycheck::default(),
        })
    }

    /// One step in a word: `ask`, `wait`, `wake`, `fall back`, `clean`, `1 finding`, or the cause.
    pub(crate) fn word(step: &Step) -> String {
        match step {
            Step::Ask(method, _) => format!("ask {method}"),
            Step::WakeAt(_) => "wake".into(),
            Step::Wait => "wait".into(),
            Step::Check => "check".into(),
            Step::Resend => "resend".into(),
            Step::Reopen => "reopen".into(),
            Step::FallBack => "fall back".into(),
            Step::Done(Ok(findings)) if findings.is_empty() => "clean".into(),
            Step::Done(Ok(findings)) => format!("{} found", findings.len()),
            Step::Done(Err(gap)) => format!("{:?}", gap.cause),
        }
    }
}
