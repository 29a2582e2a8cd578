//! rust-analyzer has two sources of diagnostics. Its own come by pull; the compiler's come from
//! `cargo check`, which reads the disk and publishes. The verdict waits for both, because types and
//! borrows are the compiler's. The version of a publish proves nothing, because old items are
//! published again under new versions; the proof is a complete run that began after the request.

pub(crate) mod flycheck;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::pull::{self, PullProtocol};
use super::{
    CONTENT_MODIFIED, METHOD_NOT_FOUND, MeasurementContext, ProtocolStep, SERVER_CANCELLED,
    ServerEvent,
};
use crate::jsonrpc::RpcError;
use crate::messages::parse_diagnostics;
use moai_base::finding::{Finding, has_errors};
use moai_base::limits::{PULL_RETRY_MS_MIN, RUST_RELOAD_MS};
use moai_base::verdict::{Cause, Gap};

/// The native diagnostic of a file that no crate includes; cargo never checks such a file.
const UNLINKED: &str = "unlinked-file";

/// rust-analyzer's request for the manifest of a file's crate; null if no loaded crate includes it.
/// Source: <https://github.com/rust-lang/rust-analyzer/blob/master/docs/book/src/contributing/lsp-extensions.md>.
const OPEN_CARGO_TOML: &str = "experimental/openCargoToml";

/// State of one measurement.
#[derive(Debug, Default)]
pub(crate) struct RustAnalyzerProtocol {
    pull: PullProtocol,
    stage: RustAnalyzerStage,
    /// A reload of the project was requested since the fault was reported.
    has_reloaded: bool,
    /// The findings of a file without errors, until its crate is known.
    unproven: Vec<Finding>,
    /// The request for the crate was cancelled and must be resent.
    asks_again: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RustAnalyzerStage {
    /// The project is loading; answers meanwhile would be empty.
    #[default]
    Loading,
    /// The server's own diagnostics are requested: requests that arrive meanwhile share the next
    /// run.
    Native,
    /// Waiting for a compiler run that began late enough.
    Check,
    /// The run ended. The server's own diagnostics are requested again: the run's publishes arrive
    /// before the answer, and by then the server has read the changes on disk.
    Confirm,
    /// The crate of a file without errors is requested: a file outside all loaded crates is not
    /// checked, and rust-analyzer does not report that.
    Membership,
}

/// Disables checks on save, so that every run that ends was requested by the session.
pub(crate) fn disable_check_on_save(options: &mut Value, settings: &mut Value) {
    set_quiet(options);
    if settings.is_null() {
        *settings = json!({});
    }
    set_quiet(&mut settings["rust-analyzer"]);
}

fn set_quiet(options: &mut Value) {
    if options.is_null() {
        *options = json!({});
    }
    if options.is_object() {
        options["checkOnSave"] = false.into();
    }
}

impl RustAnalyzerProtocol {
    pub(super) fn begin(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        if subject.is_loading {
            return self.start_over();
        }
        self.stage = RustAnalyzerStage::Native;
        pull::diagnostic_request(subject)
    }

    pub(super) fn on_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        match self.stage {
            RustAnalyzerStage::Native | RustAnalyzerStage::Confirm => {
                match self.pull.on_response(subject, answer) {
                    // Results during loading lack the dependencies.
                    ProtocolStep::Done(Ok(_)) if subject.is_loading => self.start_over(),
                    ProtocolStep::Done(Ok(found)) => self.on_pulled(subject, found),
                    ProtocolStep::FallBack => {
                        let gap = Gap::new(Cause::NoTool, "this rust-analyzer is too old for pull");
                        ProtocolStep::Done(Err(gap))
                    }
                    other => other,
                }
            }
            RustAnalyzerStage::Membership => self.on_membership(subject, answer),
            RustAnalyzerStage::Loading | RustAnalyzerStage::Check => ProtocolStep::Wait,
        }
    }

    pub(super) fn on_server_event(
        &mut self,
        subject: &MeasurementContext<'_>,
        event: ServerEvent<'_>,
    ) -> ProtocolStep {
        match (self.stage, event) {
            (RustAnalyzerStage::Check, ServerEvent::Progress) => self.await_run(subject),
            _ => ProtocolStep::Wait,
        }
    }

    pub(super) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        match self.stage {
            RustAnalyzerStage::Loading => self.begin(subject),
            RustAnalyzerStage::Native | RustAnalyzerStage::Confirm => self.pull.on_wake(subject),
            RustAnalyzerStage::Check if subject.flycheck.is_overdue(subject.now) => {
                let fault = subject.flycheck.project_fault();
                ProtocolStep::Done(Err(
                    fault.unwrap_or_else(|| Gap::new(Cause::TimedOut, "cargo check did not start"))
                ))
            }
            RustAnalyzerStage::Check => self.await_run(subject),
            RustAnalyzerStage::Membership if std::mem::take(&mut self.asks_again) => {
                membership_request(subject)
            }
            RustAnalyzerStage::Membership => ProtocolStep::Wait,
        }
    }

    fn start_over(&mut self) -> ProtocolStep {
        self.stage = RustAnalyzerStage::Loading;
        ProtocolStep::Wait
    }

    fn on_pulled(&mut self, subject: &MeasurementContext<'_>, found: Vec<Finding>) -> ProtocolStep {
        if found.iter().any(|finding| finding.code == UNLINKED) {
            let gap = Gap::new(Cause::ProjectFault, "no crate includes the file")
                .with_remedy("declare it with `mod`, or enable its feature");
            return ProtocolStep::Done(Err(gap));
        }
        if let Some(gap) = subject.flycheck.lasting_project_fault() {
            return self.on_project_fault(subject, gap);
        }
        if self.stage == RustAnalyzerStage::Confirm && !subject.flycheck.is_running() {
            return self.on_verdict(subject, verdict(subject, found));
        }
        self.stage = RustAnalyzerStage::Check;
        self.await_run(subject)
    }

    fn on_verdict(
        &mut self,
        subject: &MeasurementContext<'_>,
        verdict: Result<Vec<Finding>, Gap>,
    ) -> ProtocolStep {
        match verdict {
            // A project that is described without Cargo has no manifests.
            Ok(findings) if !has_errors(&findings) && subject.has_cargo_manifest => {
                self.unproven = findings;
                self.stage = RustAnalyzerStage::Membership;
                membership_request(subject)
            }
            verdict => ProtocolStep::Done(verdict),
        }
    }

    /// The manifest of the file's crate proves that a loaded crate includes the file.
    fn on_membership(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        match answer {
            Ok(Value::Null) if subject.is_loading => self.start_over(),
            Ok(Value::Null) => {
                let gap = Gap::new(Cause::ProjectFault, "no loaded crate includes the file")
                    .with_remedy("add its crate to the members of the workspace");
                ProtocolStep::Done(Err(gap))
            }
            Ok(_) => ProtocolStep::Done(Ok(std::mem::take(&mut self.unproven))),
            // Every text of another file cancels the request.
            Err(error) if matches!(error.code, SERVER_CANCELLED | CONTENT_MODIFIED) => {
                self.asks_again = true;
                ProtocolStep::WakeAt(subject.now + Duration::from_millis(PULL_RETRY_MS_MIN))
            }
            // The extension is missing, as in very old versions.
            Err(error) if error.code == METHOD_NOT_FOUND => {
                ProtocolStep::Done(Ok(std::mem::take(&mut self.unproven)))
            }
            Err(error) => {
                let detail = format!("the server refused: {}", error.message);
                ProtocolStep::Done(Err(Gap::new(Cause::Crashed, detail)))
            }
        }
    }

    /// The fault may be corrected by now, and the server learns that only by reloading the project: a package outside
    /// the root that could not be loaded is not watched any more.
    fn on_project_fault(&mut self, subject: &MeasurementContext<'_>, gap: Gap) -> ProtocolStep {
        if std::mem::replace(&mut self.has_reloaded, true) {
            return ProtocolStep::Done(Err(gap));
        }
        self.stage = RustAnalyzerStage::Loading;
        ProtocolStep::ReloadProject(subject.now + Duration::from_millis(RUST_RELOAD_MS))
    }

    fn await_run(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        if subject.is_loading || subject.flycheck.is_running() {
            return ProtocolStep::Wait;
        }
        if !subject.flycheck.covers(subject.ticket) {
            return ProtocolStep::AwaitFlycheck;
        }
        self.stage = RustAnalyzerStage::Confirm;
        pull::diagnostic_request(subject)
    }
}

/// Combines both sources. Findings of both are kept once, in the compiler's wording; without an
/// error in the file, it is clean only if the run covered everything.
fn verdict(subject: &MeasurementContext<'_>, native: Vec<Finding>) -> Result<Vec<Finding>, Gap> {
    let items = subject.flycheck.items(subject.file);
    let Some(mut findings) = parse_diagnostics(subject.about, &items) else {
        return Err(Gap::new(Cause::Crashed, "published diagnostics could not be read"));
    };
    // In a faulty project the server's own findings are mostly about the fault.
    let native = match subject.flycheck.project_fault() {
        Some(_) => Vec::new(),
        None => native,
    };
    let compiled = findings.len();
    for finding in native {
        let is_reported =
            findings[..compiled].iter().any(|reported| is_same_problem(reported, &finding));
        if !is_reported {
            findings.push(finding);
        }
    }
    let root = root_of(subject);
    match subject.flycheck.unproven_reason(root).filter(|_| !has_errors(&findings)) {
        Some(gap) => Err(gap),
        None => Ok(findings),
    }
}

fn membership_request(subject: &MeasurementContext<'_>) -> ProtocolStep {
    let params = json!({"textDocument": {"uri": subject.uri}});
    ProtocolStep::SendRequest(OPEN_CARGO_TOML, params)
}

fn is_same_problem(one: &Finding, other: &Finding) -> bool {
    one.range.start == other.range.start && (one.code == other.code || one.message == other.message)
}

/// The project's root: the file's absolute path without its relative path.
fn root_of<'a>(subject: &MeasurementContext<'a>) -> &'a Path {
    let depth = subject.about.path.as_str().split('/').count();
    subject.file.ancestors().nth(depth).unwrap_or(subject.file)
}

#[cfg(test)]
mod tests;
