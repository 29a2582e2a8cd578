//! Completion protocols: proof that a list of diagnostics belongs to the bytes just sent. One pure
//! state machine per protocol; an empty list is clean only when its protocol proves it.

pub(crate) mod clangd;
pub(crate) mod gopls;
pub(crate) mod habits;
pub(crate) mod jdtls;
pub(crate) mod pull;
pub(crate) mod push;
pub(crate) mod rust_analyzer;
pub(crate) mod tsserver;

use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use self::habits::PublishHabits;
use self::jdtls::PublishRuns;
use self::rust_analyzer::flycheck::Flycheck;
use super::registry::{DiagnosticsMethod, ServerSpec};
use crate::jsonrpc::RpcError;
use crate::messages::DiagnosticContext;
use crate::session::ProjectListing;
use crate::session::outside::{CoveringConfig, ListedProject, ProjectLists, ReportedProject};
use moai_base::finding::Finding;
use moai_base::verdict::Gap;

/// The document version that a protocol measures, and the server's state at this moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasurementContext<'a> {
    /// File, bytes and sensor.
    pub about: DiagnosticContext<'a>,
    /// The document's URI as sent to the server.
    pub uri: &'a str,
    pub file: &'a Path,
    pub version: i32,
    /// The server reports that it is still loading the project.
    pub is_loading: bool,
    /// The server's complaint about the project as a whole, while it has one.
    pub fault: Option<&'a str>,
    /// The server's catalogue entry.
    pub spec: &'a ServerSpec,
    /// How the server has been observed to publish.
    pub habits: &'a PublishHabits,
    pub now: Instant,
    /// The request's ticket; later requests have higher ones.
    pub ticket: u64,
    /// The compiler's runs inside the server, shared by all requests.
    pub flycheck: &'a Flycheck,
    /// The runs in which jdtls publishes, shared by all requests.
    pub publish_runs: &'a PublishRuns,
    /// The server's workspace has a `Cargo.toml`.
    pub has_cargo_manifest: bool,
    /// The files of the server's projects, as far as they were requested.
    pub project_lists: &'a ProjectLists,
}

/// LSP error codes (specification 3.17): the method is unknown, the server cancelled the request,
/// or the document changed.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const SERVER_CANCELLED: i64 = -32802;
pub(super) const CONTENT_MODIFIED: i64 = -32801;

/// An unsolicited message of the server that protocols use.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerEvent<'a> {
    /// A progress began or ended.
    Progress,
    /// A server-specific notification: method and parameters.
    Notification(&'a str, &'a Value),
}

/// The next step of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ProtocolStep {
    /// Send this request; its answer comes back through [`CompletionProtocol::on_response`].
    SendRequest(&'static str, Value),
    /// Call [`CompletionProtocol::on_wake`] at this time, or when the server's loading state changed.
    WakeAt(Instant),
    /// Wait for a message.
    Wait,
    /// List the files of the covering project; the answer comes back through
    /// [`CompletionProtocol::on_project_listed`].
    ListProjectFiles(ProjectListing),
    /// Wait for a compiler run that begins later than this step. One is started unless one is
    /// running; all waiting requests share it.
    AwaitFlycheck,
    /// Reload the project, because it has a fault that may be corrected by now, and wake at this time. Requests
    /// that came before share the reload.
    ReloadProject(Instant),
    /// Resend the text as a new version, and restart the protocol.
    Resend,
    /// Close the document, reopen it as a new version, and restart the protocol.
    Reopen,
    /// The server does not support this protocol; use its published diagnostics.
    FallBack,
    /// The verdict for exactly this version.
    Done(Result<Vec<Finding>, Gap>),
}

/// One measurement of one document version.
#[derive(Debug)]
pub(crate) enum CompletionProtocol {
    /// Request the document's diagnostics.
    Pull(pull::PullProtocol),
    /// Request tsserver's diagnostics synchronously.
    Tsserver(tsserver::TsserverProtocol),
    /// Wait for published diagnostics.
    Push(push::PushProtocol),
    /// Wait for gopls' publishes.
    Gopls(gopls::GoplsProtocol),
    /// Wait for clangd's publishes.
    Clangd(clangd::ClangdProtocol),
    /// Request the server's own diagnostics and wait for the compiler's.
    RustAnalyzer(rust_analyzer::RustAnalyzerProtocol),
    /// Wait for a publish, build, and wait again.
    Jdtls(jdtls::JdtlsProtocol),
}

impl CompletionProtocol {
    #[must_use]
    pub(crate) fn new(method: DiagnosticsMethod) -> Self {
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

    /// Files changed on disk of which the server cannot be notified.
    pub(crate) fn disk_changed(&mut self) {
        if let Self::Tsserver(state) = self {
            state.disk_changed();
        }
    }

    /// The project whose files the server has listed in its last response.
    pub(crate) fn take_listed_project(&mut self) -> Option<ListedProject> {
        match self {
            Self::Tsserver(state) => state.take_listed_project(),
            Self::Pull(state) => state.take_listed_project(),
            _ => None,
        }
    }

    /// The configuration of the project that covers the file, as the server reported it in its last response.
    pub(crate) fn take_covering_config(&mut self) -> Option<CoveringConfig> {
        match self {
            Self::Pull(state) => state.take_covering_config(),
            _ => None,
        }
    }

    /// Handles the answer to [`ProtocolStep::ListProjectFiles`].
    pub(crate) fn on_project_listed(
        &mut self,
        project: Result<ReportedProject, Gap>,
    ) -> ProtocolStep {
        match self {
            Self::Pull(state) => state.on_project_listed(project),
            _ => ProtocolStep::Wait,
        }
    }

    /// The first step, after the document's text was sent.
    pub(crate) fn begin(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        match self {
            Self::Pull(_) => pull::diagnostic_request(subject),
            Self::Tsserver(state) => state.begin(subject),
            Self::RustAnalyzer(state) => state.begin(subject),
            Self::Jdtls(state) => state.begin(subject),
            Self::Push(_) | Self::Gopls(_) | Self::Clangd(_) => push::barrier_request(subject),
        }
    }

    /// Handles the response to the last request.
    pub(crate) fn on_response(
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

    /// Handles diagnostics published for this document.
    pub(crate) fn on_publish(
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

    /// Handles a server event. [`ProtocolStep::Wait`] keeps the previous step.
    pub(crate) fn on_server_event(
        &mut self,
        subject: &MeasurementContext<'_>,
        event: ServerEvent<'_>,
    ) -> ProtocolStep {
        match self {
            Self::Clangd(state) => state.on_server_event(subject, event),
            Self::RustAnalyzer(state) => state.on_server_event(subject, event),
            Self::Jdtls(state) => state.on_server_event(subject, event),
            Self::Pull(state) => state.on_server_event(subject, event),
            Self::Tsserver(_) | Self::Push(_) | Self::Gopls(_) => ProtocolStep::Wait,
        }
    }

    /// Handles a requested wake-up, or a change of the loading state.
    pub(crate) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
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
    use moai_base::hash::ContentHash;
    use moai_base::path::RelPath;

    /// The entry of a server that only publishes, with these extra keys.
    pub(crate) fn spec(extra: &str) -> ServerSpec {
        let text =
            format!(r#"{{"servers": {{"s": {{"command": "s", "diagnostics": "push"{extra}}}}}}}"#);
        let catalogue = crate::registry::Catalogue::parse(&text).expect("valid");
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
            publish_runs: &PublishRuns::default(),
            has_cargo_manifest: true,
            project_lists: &ProjectLists::default(),
        })
    }

    /// A step as a short text: `ask`, `wait`, `wake`, `fall back`, `clean`, `1 found`, or the
    /// cause.
    pub(crate) fn word(step: &ProtocolStep) -> String {
        match step {
            ProtocolStep::SendRequest(method, _) => format!("ask {method}"),
            ProtocolStep::WakeAt(_) => "wake".into(),
            ProtocolStep::Wait => "wait".into(),
            ProtocolStep::AwaitFlycheck => "check".into(),
            ProtocolStep::ListProjectFiles(_) => "list".into(),
            ProtocolStep::ReloadProject(_) => "reload".into(),
            ProtocolStep::Resend => "resend".into(),
            ProtocolStep::Reopen => "reopen".into(),
            ProtocolStep::FallBack => "fall back".into(),
            ProtocolStep::Done(Ok(findings)) if findings.is_empty() => "clean".into(),
            ProtocolStep::Done(Ok(findings)) => format!("{} found", findings.len()),
            ProtocolStep::Done(Err(gap)) => format!("{:?}", gap.cause),
        }
    }
}
