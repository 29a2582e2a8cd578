//! Eclipse's Java server publishes without version after every change, with a delay, so a list
//! counts when its publishing began after a barrier. Then the project is built, so that files
//! changed on disk are seen, and the publishes after that are final. Observed with 1.45:
//! `language/progressReport` reports publishing, with `id`, `task` and `complete`; a run that takes
//! longer than 200 ms is reported again while it works.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::push::barrier_request;
use super::{MeasurementContext, ProtocolStep, ServerEvent};
use crate::jsonrpc::RpcError;
use crate::messages::parse_diagnostics;
use moai_base::finding::Finding;
use moai_base::limits::{JAVA_BUILDS_MAX, JAVA_PUBLISH_MS_MAX, JAVA_RETRY_MS, JAVA_SETTLE_MS};
use moai_base::path::to_uri;
use moai_base::verdict::{Cause, Gap};

/// Reported for a file outside every source folder, which is not checked further.
const OUTSIDE_SOURCES_MESSAGE: &str = "only syntax errors are reported";

/// Results of `java/buildWorkspace`; the others are 1 (succeeded) and 2 (with errors).
const BUILD_FAILED: i64 = 0;
const BUILD_CANCELLED: i64 = 3;

/// State of one measurement.
#[derive(Debug, Default)]
pub(crate) struct JdtlsProtocol {
    stage: JdtlsStage,
    /// Runs that were in progress when the barrier was answered; they may have read older bytes.
    older_runs: BTreeSet<String>,
    /// The last list published about the file.
    last_findings: Option<Vec<Finding>>,
    build_count: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum JdtlsStage {
    /// Barrier requested: the server processes what was sent before.
    #[default]
    Barrier,
    /// Waiting until then for the list for our text.
    Publish(Instant),
    /// The project is being built.
    Build,
    /// The build is requested again then.
    Rebuild(Instant),
    /// Waiting until then for publishes caused by the build.
    Settle(Instant),
    /// A last barrier checks that no publish is in progress.
    Confirm,
}

/// The runs in which the server is publishing, by their ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublishRuns(BTreeSet<String>);

impl PublishRuns {
    pub(crate) fn on_notification(&mut self, method: &str, params: &Value) {
        if !is_publish_report(method, params) {
            return;
        }
        let id = params["id"].as_str().unwrap_or_default();
        if params["complete"] == false {
            self.0.insert(id.to_owned());
        } else {
            self.0.remove(id);
        }
    }
}

fn is_publish_report(method: &str, params: &Value) -> bool {
    method == "language/progressReport" && params["task"] == "Publish Diagnostics"
}

/// Announces support for progress reports, because the server sends none otherwise, and names the files from which it
/// infers the source folders of a workspace without a build file (`triggerFiles`, jdtls 1.45).
pub(crate) fn complete_options(options: &mut Value, samples: &[PathBuf]) {
    if options.is_null() {
        *options = json!({});
    }
    if options.is_object() {
        if !samples.is_empty() && options["triggerFiles"].is_null() {
            options["triggerFiles"] = samples.iter().map(|file| to_uri(file)).collect();
        }
        let extended = &mut options["extendedClientCapabilities"];
        if extended.is_null() {
            *extended = json!({});
        }
        if extended.is_object() {
            extended["progressReportProvider"] = true.into();
        }
    }
}

impl JdtlsProtocol {
    pub(super) fn begin(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        self.stage = JdtlsStage::Barrier;
        barrier_request(subject)
    }

    /// An error answer to a barrier proves the same.
    pub(super) fn on_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        match self.stage {
            JdtlsStage::Barrier => {
                self.older_runs.clone_from(&subject.publish_runs.0);
                let until = subject.now + Duration::from_millis(JAVA_PUBLISH_MS_MAX);
                self.stage = JdtlsStage::Publish(until);
                ProtocolStep::WakeAt(until)
            }
            JdtlsStage::Build => self.on_build_response(subject, answer),
            JdtlsStage::Confirm if self.is_publishing(subject) => {
                self.stage = JdtlsStage::Settle(subject.now);
                ProtocolStep::Wait
            }
            JdtlsStage::Confirm => ProtocolStep::Done(self.verdict()),
            JdtlsStage::Publish(_) | JdtlsStage::Rebuild(_) | JdtlsStage::Settle(_) => {
                ProtocolStep::Wait
            }
        }
    }

    pub(super) fn on_publish(
        &mut self,
        subject: &MeasurementContext<'_>,
        diagnostics: &Value,
    ) -> ProtocolStep {
        let runs = &subject.publish_runs.0;
        let is_about_older_bytes =
            self.stage == JdtlsStage::Barrier || !runs.is_disjoint(&self.older_runs);
        if is_about_older_bytes || runs.is_empty() {
            return ProtocolStep::Wait;
        }
        match parse_diagnostics(subject.about, diagnostics) {
            Some(found) => {
                self.last_findings = Some(found);
                ProtocolStep::Wait
            }
            None => ProtocolStep::Done(Err(Gap::new(
                Cause::Crashed,
                "the server's published diagnostics could not be read",
            ))),
        }
    }

    pub(super) fn on_server_event(
        &mut self,
        subject: &MeasurementContext<'_>,
        event: ServerEvent<'_>,
    ) -> ProtocolStep {
        match event {
            ServerEvent::Notification(method, params) if is_publish_report(method, params) => {
                self.advance(subject)
            }
            ServerEvent::Notification(..) | ServerEvent::Progress => ProtocolStep::Wait,
        }
    }

    pub(super) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        self.advance(subject)
    }

    /// True if a run that began after the barrier is in progress.
    fn is_publishing(&self, subject: &MeasurementContext<'_>) -> bool {
        !subject.publish_runs.0.is_subset(&self.older_runs)
    }

    fn advance(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let is_publishing = self.is_publishing(subject);
        match self.stage {
            JdtlsStage::Publish(_) if self.last_findings.is_some() && !is_publishing => {
                self.build()
            }
            // Probably published before the barrier was answered: the text is sent again.
            JdtlsStage::Publish(until) if until <= subject.now && !is_publishing => {
                self.send_again()
            }
            JdtlsStage::Rebuild(at) if at <= subject.now => self.build(),
            JdtlsStage::Rebuild(at) => ProtocolStep::WakeAt(at),
            JdtlsStage::Settle(until) if until <= subject.now && !is_publishing => {
                self.stage = JdtlsStage::Confirm;
                barrier_request(subject)
            }
            JdtlsStage::Publish(until) | JdtlsStage::Settle(until) => wake_at(until, subject),
            JdtlsStage::Barrier | JdtlsStage::Build | JdtlsStage::Confirm => ProtocolStep::Wait,
        }
    }

    fn send_again(&mut self) -> ProtocolStep {
        *self = Self::default();
        ProtocolStep::Resend
    }

    fn build(&mut self) -> ProtocolStep {
        self.stage = JdtlsStage::Build;
        self.build_count += 1;
        // Not a full build.
        ProtocolStep::SendRequest("java/buildWorkspace", Value::Bool(false))
    }

    fn on_build_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        let code = answer.ok().and_then(Value::as_i64);
        match code {
            Some(BUILD_FAILED) | None => ProtocolStep::Done(Err(Gap::new(
                Cause::Crashed,
                "the server could not build the project",
            ))),
            Some(BUILD_CANCELLED) if self.build_count < JAVA_BUILDS_MAX => {
                let at = subject.now + Duration::from_millis(JAVA_RETRY_MS);
                self.stage = JdtlsStage::Rebuild(at);
                ProtocolStep::WakeAt(at)
            }
            Some(BUILD_CANCELLED) => ProtocolStep::Done(Err(Gap::new(
                Cause::Loading,
                "the project's build is always cancelled",
            ))),
            Some(_) => {
                let until = subject.now + Duration::from_millis(JAVA_SETTLE_MS);
                self.stage = JdtlsStage::Settle(until);
                ProtocolStep::WakeAt(until)
            }
        }
    }

    fn verdict(&mut self) -> Result<Vec<Finding>, Gap> {
        let Some(found) = self.last_findings.take() else {
            return Err(Gap::new(Cause::Silent, "the server reported nothing for the file"));
        };
        if found.iter().any(|finding| finding.message.contains(OUTSIDE_SOURCES_MESSAGE)) {
            return Err(Gap::new(Cause::ProjectFault, "the file is in no source folder")
                .with_remedy("name its folder in the build file"));
        }
        Ok(found)
    }
}

/// Publishing in progress ends with a message.
fn wake_at(until: Instant, subject: &MeasurementContext<'_>) -> ProtocolStep {
    if until <= subject.now { ProtocolStep::Wait } else { ProtocolStep::WakeAt(until) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use moai_base::hash::ContentHash;
    use moai_base::path::RelPath;

    use super::super::tests::{with_subject, word};
    use super::*;
    use crate::messages::DiagnosticContext;

    enum Act {
        /// The response to the pending request.
        Answer(Value),
        /// The run with this id reports work, or its end.
        Working(&'static str),
        Ended(&'static str),
        Publish(usize),
        Wake,
    }
    use Act::{Answer, Ended, Publish, Wake, Working};

    const PUBLISH_MS: u64 = JAVA_PUBLISH_MS_MAX;
    const SETTLE_MS: u64 = JAVA_SETTLE_MS;

    fn item(message: &str) -> Value {
        let place = json!({"line": 0, "character": 0});
        json!({"range": {"start": place, "end": place}, "message": message})
    }

    fn check(acts: &[(u64, Act)], expected: &[&str]) {
        check_with(PublishRuns::default(), acts, expected);
    }

    fn check_with(mut publish_runs: PublishRuns, acts: &[(u64, Act)], expected: &[&str]) {
        const METHOD: &str = "language/progressReport";
        let start = Instant::now();
        let mut state = JdtlsProtocol::default();
        with_subject(start, 0, false, |subject| state.begin(subject));
        let mut words = Vec::new();
        for (at, act) in acts {
            let report = match act {
                Working(id) => Some(report(id, false)),
                Ended(id) => Some(report(id, true)),
                Answer(_) | Publish(_) | Wake => None,
            };
            if let Some(report) = &report {
                publish_runs.on_notification(METHOD, report);
            }
            let step = with_subject(start, *at, false, |subject| {
                let subject = &MeasurementContext { publish_runs: &publish_runs, ..*subject };
                let reported = report.as_ref().map(|it| ServerEvent::Notification(METHOD, it));
                match (act, reported) {
                    (_, Some(event)) => state.on_server_event(subject, event),
                    (Answer(value), _) => state.on_response(subject, Ok(value)),
                    (Publish(count), _) => {
                        state.on_publish(subject, &json!(vec![item("wrong"); *count]))
                    }
                    (Wake | Working(_) | Ended(_), _) => state.on_wake(subject),
                }
            });
            words.push(word(&step));
        }
        assert_eq!(words, expected);
    }

    fn report(id: &str, is_complete: bool) -> Value {
        json!({"id": id, "task": "Publish Diagnostics", "complete": is_complete})
    }

    fn answered(value: i64) -> Act {
        Answer(json!(value))
    }

    #[test]
    fn the_last_publish_after_a_build_counts() {
        let settled = 700 + SETTLE_MS;
        check(
            &[
                (10, answered(0)),
                (600, Working("a")),
                (600, Publish(2)),
                (601, Ended("a")),
                (700, answered(1)),
                (800, Working("b")),
                (801, Publish(0)),
                (802, Ended("b")),
                (settled, Wake),
                (settled + 1, answered(0)),
            ],
            &[
                "wake",
                "wake",
                "wait",
                "ask java/buildWorkspace",
                "wake",
                "wake",
                "wait",
                "wake",
                "ask textDocument/documentSymbol",
                "clean",
            ],
        );
    }

    #[test]
    fn a_publish_begun_before_the_barrier_may_be_about_older_bytes() {
        check(
            &[
                (0, Working("a")),
                (1, Publish(3)),
                (10, answered(0)),
                (11, Publish(3)),
                (12, Ended("a")),
                (600, Working("b")),
                (601, Publish(0)),
                (602, Ended("b")),
            ],
            &["wait", "wait", "wake", "wait", "wake", "wake", "wait", "ask java/buildWorkspace"],
        );
    }

    #[test]
    fn silence_sends_the_text_again_and_is_never_clean() {
        check(&[(10, answered(0)), (10 + PUBLISH_MS, Wake)], &["wake", "resend"]);
    }

    #[test]
    fn a_failed_build_is_a_gap_and_a_cancelled_one_is_requested_again() {
        let begin =
            || vec![(10, answered(0)), (600, Working("a")), (600, Publish(0)), (601, Ended("a"))];
        let words = ["wake", "wake", "wait", "ask java/buildWorkspace"];
        let mut acts = begin();
        acts.push((700, answered(BUILD_FAILED)));
        check(&acts, &[&words[..], &["Crashed"]].concat());
        let mut acts = begin();
        acts.push((700, answered(BUILD_CANCELLED)));
        acts.push((700 + JAVA_RETRY_MS, Wake));
        check(&acts, &[&words[..], &["wake", "ask java/buildWorkspace"]].concat());
    }

    #[test]
    fn publishing_still_running_after_the_build_is_awaited() {
        let settled = 700 + SETTLE_MS;
        check(
            &[
                (10, answered(0)),
                (600, Working("a")),
                (600, Publish(0)),
                (601, Ended("a")),
                (700, answered(2)),
                (settled, Wake),
                (settled, Working("b")),
                (settled + 1, answered(0)),
                (settled + 2, Publish(1)),
                (settled + 3, Ended("b")),
                (settled + 4, answered(0)),
            ],
            &[
                "wake",
                "wake",
                "wait",
                "ask java/buildWorkspace",
                "wake",
                "ask textDocument/documentSymbol",
                "wait",
                "wait",
                "wait",
                "ask textDocument/documentSymbol",
                "1 found",
            ],
        );
    }

    #[test]
    fn a_run_that_reports_again_after_the_barrier_may_be_about_older_bytes() {
        check(
            &[
                (0, Working("a")),
                (10, answered(0)),
                (200, Working("a")),
                (201, Publish(0)),
                (202, Ended("a")),
                (600, Working("b")),
                (601, Publish(1)),
                (602, Ended("b")),
            ],
            &["wait", "wake", "wake", "wait", "wake", "wake", "wait", "ask java/buildWorkspace"],
        );
    }

    #[test]
    fn a_run_that_began_before_the_measurement_may_be_about_older_bytes() {
        let mut earlier = PublishRuns::default();
        earlier.on_notification("language/progressReport", &report("a", false));
        check_with(
            earlier,
            &[
                (10, answered(0)),
                (200, Working("a")),
                (201, Publish(0)),
                (210, Working("b")),
                (211, Publish(0)),
                (212, Ended("a")),
                (213, Publish(1)),
                (214, Ended("b")),
            ],
            &["wake", "wake", "wait", "wake", "wait", "wake", "wait", "ask java/buildWorkspace"],
        );
    }

    #[test]
    fn a_file_outside_the_source_folders_is_not_clean() {
        let message =
            "A.java is not on the classpath of project x, only syntax errors are reported";
        let about_file = json!([item(message)]);
        let about = DiagnosticContext {
            sensor: "jdtls",
            path: &RelPath::below(Path::new("/r"), Path::new("/r/A.java")).expect("relative"),
            hash: ContentHash::of_bytes(b""),
        };
        let last_findings = parse_diagnostics(about, &about_file);
        let mut state =
            JdtlsProtocol { stage: JdtlsStage::Confirm, last_findings, ..JdtlsProtocol::default() };
        let step = with_subject(Instant::now(), 0, false, |subject| {
            state.on_response(subject, Ok(&json!([])))
        });
        assert_eq!(word(&step), "ProjectFault");
    }
}
