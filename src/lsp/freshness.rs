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

use self::habits::PublishHabits;
use self::rust_analyzer::flycheck::Flycheck;
use super::registry::{DiagnosticsMethod, ServerSpec};
use crate::base::finding::Finding;
use crate::base::verdict::Gap;
use crate::wire::jsonrpc::RpcError;
use crate::wire::lsp::DiagnosticContext;

/// The document version a protocol works on, and the server's state at this moment.
#[derive(Clone, Copy, Debug)]
pub struct MeasurementContext<'a> {
    /// File, bytes and speaker.
    pub about: DiagnosticContext<'a>,
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
    pub habits: &'a PublishHabits,
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
pub enum ServerEvent<'a> {
    /// A progress with this token began.
    ProgressBegan(&'a str),
    /// A progress with this token ended.
    ProgressEnded(&'a str),
    /// A notification of the server's own kind.
    Notification(&'a str, &'a Value),
}

/// What the protocol wants next.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtocolStep {
    /// Send this request; its answer comes back through [`CompletionProtocol::on_response`].
    SendRequest(&'static str, Value),
    /// Call [`CompletionProtocol::on_wake`] at this time, or when the server's loading state changed.
    WakeAt(Instant),
    /// Wait for a message.
    Wait,
    /// Wait for a run of the compiler that begins from now on; one is started when none is under
    /// way, and all who wait share it.
    AwaitFlycheck,
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
pub enum CompletionProtocol {
    /// Ask for the document's diagnostics.
    Pull(pull::PullProtocol),
    /// Ask tsserver synchronously.
    Tsserver(tsserver::TsserverProtocol),
    /// Wait for what is published.
    Push(push::PushProtocol),
    /// Wait for what gopls publishes.
    Gopls(gopls::GoplsProtocol),
    /// Wait for what clangd publishes.
    Clangd(clangd::ClangdProtocol),
    /// Ask for the server's own diagnostics and wait for the compiler's.
    RustAnalyzer(rust_analyzer::RustAnalyzerProtocol),
    /// Wait for what is published, build, and wait again.
    Jdtls(jdtls::JdtlsProtocol),
}

impl CompletionProtocol {
    /// The protocol of a method.
    #[must_use]
    pub fn new(method: DiagnosticsMethod) -> Self {
        match method {
            DiagnosticsMethod::Pull => Self::Pull(pull::PullProtocol::default()),
            DiagnosticsMethod::RustAnalyzer => {
                Self::RustAnalyzer(rust_analyzer::RustAnalyzerProtocol::default())
            }
            DiagnosticsMethod::Jdtls => Self::Jdtls(jdtls::JdtlsProtocol::default()),
            DiagnosticsMethod::Tsserver => Self::Tsserver(tsserver::TsserverProtocol::default()),
            DiagnosticsMethod::Gopls => Self::Gopls(gopls::GoplsProtocol::default()),
            DiagnosticsMethod::Clangd => Self::Clangd(clangd::ClangdProtocol::default()),
            DiagnosticsMethod::Push => Self::Push(push::PushProtocol::default()),
        }
    }

    /// Files changed on disk that the server did not ask to hear of.
    pub fn disk_changed(&mut self) {
        if let Self::Tsserver(state) = self {
            state.disk_changed();
        }
    }

    /// First step, after the document's text was sent.
    pub fn begin(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        match self {
            Self::Pull(_) => pull::diagnostic_request(subject),
            Self::Tsserver(state) => state.begin(subject),
            Self::RustAnalyzer(state) => state.begin(subject),
            Self::Jdtls(state) => state.begin(subject),
            Self::Push(_) | Self::Gopls(_) | Self::Clangd(_) => push::barrier_request(subject),
        }
    }

    /// The answer of the request asked last.
    pub fn on_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        match self {
            Self::Pull(state) => state.on_response(subject, answer),
            Self::Tsserver(state) => state.on_response(subject, answer),
            Self::Push(state) => state.on_response(subject),
            Self::Gopls(state) => state.on_response(subject),
            Self::Clangd(state) => state.on_response(subject),
            Self::RustAnalyzer(state) => state.on_response(subject, answer),
            Self::Jdtls(state) => state.on_response(subject, answer),
        }
    }

    /// The server published diagnostics for this document.
    pub fn on_publish(
        &mut self,
        subject: &MeasurementContext<'_>,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> ProtocolStep {
        match self {
            Self::Push(state) => state.on_publish(subject, version, diagnostics),
            Self::Gopls(state) => state.on_publish(subject, version, diagnostics),
            Self::Clangd(state) => state.on_publish(subject, version, diagnostics),
            Self::Jdtls(state) => state.on_publish(subject, diagnostics),
            Self::Pull(_) | Self::Tsserver(_) | Self::RustAnalyzer(_) => ProtocolStep::Wait,
        }
    }

    /// The server said something about itself. [`ProtocolStep::Wait`] keeps what was asked for before.
    pub fn on_server_event(
        &mut self,
        subject: &MeasurementContext<'_>,
        heard: ServerEvent<'_>,
    ) -> ProtocolStep {
        match self {
            Self::Clangd(state) => state.on_server_event(subject, heard),
            Self::RustAnalyzer(state) => state.on_server_event(subject, heard),
            Self::Jdtls(state) => state.on_server_event(subject, heard),
            Self::Pull(state) => state.on_server_event(subject, heard),
            Self::Tsserver(_) | Self::Push(_) | Self::Gopls(_) => ProtocolStep::Wait,
        }
    }

    /// The time asked for has come, or the loading state changed.
    pub fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        match self {
            Self::Pull(state) => state.on_wake(subject),
            Self::Push(state) => state.on_wake(subject),
            Self::Gopls(state) => state.on_wake(subject),
            Self::Clangd(state) => state.on_wake(subject),
            Self::RustAnalyzer(state) => state.on_wake(subject),
            Self::Jdtls(state) => state.on_wake(subject),
            Self::Tsserver(_) => ProtocolStep::Wait,
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
        act: impl FnOnce(&MeasurementContext<'_>) -> T,
    ) -> T {
        let path = RelPath::below(Path::new("/r"), Path::new("/r/a.py")).expect("relative");
        act(&MeasurementContext {
            about: DiagnosticContext { sensor: "s", path: &path, hash: ContentHash::of_bytes(b"") },
            uri: "file:///r/a.py",
            file: Path::new("/r/a.py"),
            version: 3,
            is_loading,
            fault: None,
            spec: &spec(""),
            habits: &PublishHabits::default(),
            now: start + std::time::Duration::from_millis(after_ms),
            ticket: 1,
            flycheck: &Flycheck::default(),
        })
    }

    /// One step in a word: `ask`, `wait`, `wake`, `fall back`, `clean`, `1 finding`, or the cause.
    pub(crate) fn word(step: &ProtocolStep) -> String {
        match step {
            ProtocolStep::SendRequest(method, _) => format!("ask {method}"),
            ProtocolStep::WakeAt(_) => "wake".into(),
            ProtocolStep::Wait => "wait".into(),
            ProtocolStep::AwaitFlycheck => "check".into(),
            ProtocolStep::Resend => "resend".into(),
            ProtocolStep::Reopen => "reopen".into(),
            ProtocolStep::FallBack => "fall back".into(),
            ProtocolStep::Done(Ok(findings)) if findings.is_empty() => "clean".into(),
            ProtocolStep::Done(Ok(findings)) => format!("{} found", findings.len()),
            ProtocolStep::Done(Err(gap)) => format!("{:?}", gap.cause),
        }
    }
}
