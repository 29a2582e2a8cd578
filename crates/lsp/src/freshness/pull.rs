//! Pull diagnostics (LSP 3.17): an answer is for the version the server has when it answers, and a
//! newer change of ours ends this measurement, so an answer that arrives is for these bytes. An
//! empty answer during loading proves nothing and is requested again; one after a logged error
//! proves nothing where the server is known to fail like that.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    CONTENT_MODIFIED, METHOD_NOT_FOUND, MeasurementContext, ProtocolStep, SERVER_CANCELLED,
    ServerEvent,
};
use crate::jsonrpc::RpcError;
use crate::messages::parse_diagnostics;
use crate::registry::CheckingRules;
use crate::switched_off::project_marker;
use moai_base::finding::Finding;
use moai_base::limits::{PULL_RETRY_MS_MAX, PULL_RETRY_MS_MIN};
use moai_base::verdict::{Cause, Gap};

/// LSP's `MessageType.Error`.
const ERROR: u64 = 1;

/// State of one pull.
#[derive(Debug, Default)]
pub(crate) struct PullProtocol {
    retry_count: u32,
    asks_again: bool,
    /// The first line of an error logged since the request.
    failure: Option<String>,
    /// The findings, while the server is asked which project covers the file.
    measured: Option<Vec<Finding>>,
}

/// TypeScript 7's request for the configuration that covers a file.
const PROJECT_INFO: &str = "custom/projectInfo";

/// The request for a document's diagnostics, without `previousResultId` so that the answer is
/// complete.
pub(super) fn diagnostic_request(subject: &MeasurementContext<'_>) -> ProtocolStep {
    ProtocolStep::SendRequest(
        "textDocument/diagnostic",
        json!({"textDocument": {"uri": subject.uri}}),
    )
}

impl PullProtocol {
    pub(super) fn on_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        if let Some(mut findings) = self.measured.take() {
            let project = answer.ok().and_then(|info| info["configFilePath"].as_str());
            findings.extend(project.map(|config| project_marker(subject.about, config)));
            return ProtocolStep::Done(Ok(findings));
        }
        match answer {
            Ok(report) => {
                match (report["kind"].as_str(), parse_diagnostics(subject.about, &report["items"]))
                {
                    (Some("full"), Some(findings)) if findings.is_empty() && subject.is_loading => {
                        self.asks_again = true;
                        ProtocolStep::Wait
                    }
                    (Some("full"), Some(findings)) => {
                        let failure = self.failure.take().filter(|_| findings.is_empty());
                        match failure {
                            Some(failure) => {
                                let detail = format!("the server failed: {failure}");
                                ProtocolStep::Done(Err(Gap::new(Cause::Crashed, detail)))
                            }
                            None => self.finish(subject, findings),
                        }
                    }
                    _ => ProtocolStep::Done(Err(Gap::new(
                        Cause::Crashed,
                        "the server's diagnostic report could not be read",
                    ))),
                }
            }
            Err(error) if matches!(error.code, SERVER_CANCELLED | CONTENT_MODIFIED) => {
                self.retry(subject)
            }
            Err(error) if error.code == METHOD_NOT_FOUND => ProtocolStep::FallBack,
            Err(error) => {
                let detail = format!("the server refused: {}", error.message);
                ProtocolStep::Done(Err(Gap::new(Cause::Crashed, detail)))
            }
        }
    }

    pub(super) fn on_server_event(
        &mut self,
        subject: &MeasurementContext<'_>,
        event: ServerEvent<'_>,
    ) -> ProtocolStep {
        if subject.spec.logs_failures
            && let ServerEvent::Notification("window/logMessage", params) = event
            && params["type"].as_u64() == Some(ERROR)
        {
            let words = params["message"].as_str().and_then(|words| words.lines().next());
            self.failure = Some(words.unwrap_or("it does not say why").to_owned());
        }
        ProtocolStep::Wait
    }

    pub(super) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        if self.asks_again && !subject.is_loading {
            self.asks_again = false;
            return diagnostic_request(subject);
        }
        ProtocolStep::Wait
    }

    /// Asks TypeScript 7 for the covering project before the findings count.
    fn finish(&mut self, subject: &MeasurementContext<'_>, findings: Vec<Finding>) -> ProtocolStep {
        if subject.spec.checking != Some(CheckingRules::Typescript) {
            return ProtocolStep::Done(Ok(findings));
        }
        self.measured = Some(findings);
        ProtocolStep::SendRequest(PROJECT_INFO, json!({"textDocument": {"uri": subject.uri}}))
    }

    fn retry(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let pause_ms = PULL_RETRY_MS_MAX.min(PULL_RETRY_MS_MIN << self.retry_count.min(8));
        self.retry_count += 1;
        self.asks_again = true;
        ProtocolStep::WakeAt(subject.now + Duration::from_millis(pause_ms))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::tests::{spec, with_subject, word};
    use super::*;
    use crate::registry::ServerSpec;
    use crate::switched_off::reported_project;

    fn full(count: usize) -> Value {
        let place = json!({"line": 0, "character": 0});
        let item = json!({"range": {"start": place, "end": place}, "message": "wrong"});
        json!({"kind": "full", "items": vec![item; count]})
    }

    fn error(code: i64) -> RpcError {
        RpcError { code, message: "x".into(), data: Value::Null }
    }

    fn check(answer: Result<&Value, &RpcError>, is_loading: bool, expected: &str) {
        let step = with_subject(Instant::now(), 0, is_loading, |subject| {
            PullProtocol::default().on_response(subject, answer)
        });
        assert_eq!(word(&step), expected);
    }

    #[test]
    fn an_empty_answer_counts_only_when_nothing_is_loading() {
        check(Ok(&full(0)), false, "clean");
        check(Ok(&full(0)), true, "wait");
        check(Ok(&full(2)), true, "2 found");
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_not_clean() {
        check(Ok(&json!(null)), false, "Crashed");
        check(Ok(&json!({"kind": "unchanged", "resultId": "1"})), false, "Crashed");
        check(Ok(&json!({"kind": "full"})), false, "Crashed");
        check(Err(&error(-32603)), false, "Crashed");
        check(Err(&error(METHOD_NOT_FOUND)), false, "fall back");
    }

    #[test]
    fn a_cancelled_pull_is_repeated_with_growing_pauses() {
        let start = Instant::now();
        let mut pull = PullProtocol::default();
        let mut pauses = Vec::new();
        with_subject(start, 0, false, |subject| {
            for _ in 0..8 {
                let ProtocolStep::WakeAt(at) =
                    pull.on_response(subject, Err(&error(SERVER_CANCELLED)))
                else {
                    panic!("a retry");
                };
                pauses.push((at - start).as_millis());
                assert_eq!(word(&pull.on_wake(subject)), "ask textDocument/diagnostic");
            }
        });
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000, 1000]);
    }

    #[test]
    fn typescript_is_asked_for_the_covering_project() {
        let typescript = spec(r#", "checking": "typescript""#);
        let covering = |answer: Result<&Value, &RpcError>| {
            with_subject(Instant::now(), 0, false, |subject| {
                let subject = &MeasurementContext { spec: &typescript, ..*subject };
                let mut pull = PullProtocol::default();
                assert_eq!(
                    word(&pull.on_response(subject, Ok(&full(0)))),
                    format!("ask {PROJECT_INFO}")
                );
                match pull.on_response(subject, answer) {
                    ProtocolStep::Done(Ok(found)) => reported_project(&found).map(str::to_owned),
                    other => panic!("{other:?}"),
                }
            })
        };
        let named = json!({"configFilePath": "/r/tsconfig.json"});
        assert_eq!(covering(Ok(&named)).as_deref(), Some("/r/tsconfig.json"));
        assert_eq!(covering(Ok(&json!({"configFilePath": ""}))).as_deref(), Some(""));
        assert_eq!(covering(Err(&error(METHOD_NOT_FOUND))), None);
    }

    #[test]
    fn the_end_of_loading_asks_again() {
        let start = Instant::now();
        let mut pull = PullProtocol::default();
        with_subject(start, 0, true, |subject| pull.on_response(subject, Ok(&full(0))));
        assert_eq!(word(&with_subject(start, 5, true, |subject| pull.on_wake(subject))), "wait");
        let step = with_subject(start, 9, false, |subject| pull.on_wake(subject));
        assert_eq!(word(&step), "ask textDocument/diagnostic");
    }

    #[test]
    fn an_empty_result_after_a_logged_error_is_a_failure_for_some_servers() {
        let (failing, quiet) = (spec(r#", "logs_failures": true"#), spec(""));
        let log = |kind: u64| json!({"type": kind, "message": "No such thing\n at a.js:1"});
        let after = |spec: &ServerSpec, kind: u64, count: usize| {
            with_subject(Instant::now(), 0, false, |subject| {
                let (mut pull, log) = (PullProtocol::default(), log(kind));
                let subject = &MeasurementContext { spec, ..*subject };
                pull.on_server_event(subject, ServerEvent::Notification("window/logMessage", &log));
                word(&pull.on_response(subject, Ok(&full(count))))
            })
        };
        assert_eq!(after(&failing, ERROR, 0), "Crashed");
        assert_eq!(after(&failing, ERROR, 2), "2 found");
        assert_eq!(after(&failing, ERROR + 1, 0), "clean", "a warning");
        assert_eq!(after(&quiet, ERROR, 0), "clean");
    }
}
