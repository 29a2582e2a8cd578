//! Pull diagnostics (LSP 3.17): the answer is for the version the server has when it answers, and
//! a newer change of ours ends this measurement, so an answer that arrives is for these bytes.
//! An empty answer while the server is loading proves nothing and is asked again; one behind a
//! logged error proves nothing where the server is known to fail like that.

use std::time::Duration;

use serde_json::{Value, json};

use super::{CONTENT_MODIFIED, Heard, METHOD_NOT_FOUND, SERVER_CANCELLED, Step, Subject};
use crate::base::limits::{PULL_RETRY_MS_MAX, PULL_RETRY_MS_MIN};
use crate::base::verdict::{Cause, Gap};
use crate::wire::jsonrpc::RpcError;
use crate::wire::lsp::findings;

/// LSP's `MessageType.Error`.
const ERROR: u64 = 1;

/// State of one pull.
#[derive(Debug, Default)]
pub struct Pull {
    retry_count: u32,
    asks_again: bool,
    /// The first line of an error logged since the question.
    failure: Option<String>,
}

/// The request for a document's diagnostics. No `previousResultId` is sent: the answer is whole.
pub(super) fn ask(subject: &Subject<'_>) -> Step {
    Step::Ask("textDocument/diagnostic", json!({"textDocument": {"uri": subject.uri}}))
}

impl Pull {
    pub(super) fn answered(
        &mut self,
        subject: &Subject<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> Step {
        match answer {
            Ok(report) => {
                match (report["kind"].as_str(), findings(subject.about, &report["items"])) {
                    (Some("full"), Some(found)) if found.is_empty() && subject.is_loading => {
                        self.asks_again = true;
                        Step::Wait
                    }
                    (Some("full"), Some(found)) => {
                        let failure = self.failure.take().filter(|_| found.is_empty());
                        let gap = |failure| {
                            Gap::new(Cause::Crashed, format!("the server failed: {failure}"))
                        };
                        Step::Done(failure.map_or(Ok(found), |failure| Err(gap(failure))))
                    }
                    _ => Step::Done(Err(Gap::new(
                        Cause::Crashed,
                        "the server's diagnostic report could not be read",
                    ))),
                }
            }
            Err(error) if matches!(error.code, SERVER_CANCELLED | CONTENT_MODIFIED) => {
                self.retry(subject)
            }
            Err(error) if error.code == METHOD_NOT_FOUND => Step::FallBack,
            Err(error) => {
                let detail = format!("the server refused: {}", error.message);
                Step::Done(Err(Gap::new(Cause::Crashed, detail)))
            }
        }
    }

    pub(super) fn heard(&mut self, subject: &Subject<'_>, heard: Heard<'_>) -> Step {
        if subject.spec.logs_failures
            && let Heard::Notified("window/logMessage", params) = heard
            && params["type"].as_u64() == Some(ERROR)
        {
            let words = params["message"].as_str().and_then(|words| words.lines().next());
            self.failure = Some(words.unwrap_or("it does not say why").to_owned());
        }
        Step::Wait
    }

    pub(super) fn woke(&mut self, subject: &Subject<'_>) -> Step {
        if self.asks_again && !subject.is_loading {
            self.asks_again = false;
            return ask(subject);
        }
        Step::Wait
    }

    fn retry(&mut self, subject: &Subject<'_>) -> Step {
        let pause_ms = PULL_RETRY_MS_MAX.min(PULL_RETRY_MS_MIN << self.retry_count.min(8));
        self.retry_count += 1;
        self.asks_again = true;
        Step::WakeAt(subject.now + Duration::from_millis(pause_ms))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::tests::{spec, with_subject, word};
    use super::*;
    use crate::lsp::registry::ServerSpec;

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
            Pull::default().answered(subject, answer)
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
    fn a_cancelled_pull_is_asked_again_with_growing_pauses() {
        let start = Instant::now();
        let mut pull = Pull::default();
        let mut pauses = Vec::new();
        with_subject(start, 0, false, |subject| {
            for _ in 0..8 {
                let Step::WakeAt(at) = pull.answered(subject, Err(&error(SERVER_CANCELLED))) else {
                    panic!("a retry");
                };
                pauses.push((at - start).as_millis());
                assert_eq!(word(&pull.woke(subject)), "ask textDocument/diagnostic");
            }
        });
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1000, 1000, 1000]);
    }

    #[test]
    fn the_end_of_loading_asks_again() {
        let start = Instant::now();
        let mut pull = Pull::default();
        with_subject(start, 0, true, |subject| pull.answered(subject, Ok(&full(0))));
        assert_eq!(word(&with_subject(start, 5, true, |subject| pull.woke(subject))), "wait");
        let step = with_subject(start, 9, false, |subject| pull.woke(subject));
        assert_eq!(word(&step), "ask textDocument/diagnostic");
    }

    #[test]
    fn an_empty_answer_behind_a_logged_error_is_a_failure_of_some_servers() {
        let (failing, quiet) = (spec(r#", "logs_failures": true"#), spec(""));
        let log = |kind: u64| json!({"type": kind, "message": "No such thing\n at a.js:1"});
        let after = |spec: &ServerSpec, kind: u64, count: usize| {
            with_subject(Instant::now(), 0, false, |subject| {
                let (mut pull, log) = (Pull::default(), log(kind));
                let subject = &Subject { spec, ..*subject };
                pull.heard(subject, Heard::Notified("window/logMessage", &log));
                word(&pull.answered(subject, Ok(&full(count))))
            })
        };
        assert_eq!(after(&failing, ERROR, 0), "Crashed");
        assert_eq!(after(&failing, ERROR, 2), "2 found");
        assert_eq!(after(&failing, ERROR + 1, 0), "clean", "a warning");
        assert_eq!(after(&quiet, ERROR, 0), "clean");
    }
}
