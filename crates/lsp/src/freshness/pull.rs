//! Pull diagnostics (LSP 3.17): an answer is for the version the server has when it answers, and a
//! newer change of ours ends this measurement, so an answer that arrives is for these bytes. An
//! empty answer during loading proves nothing and is requested again; one after a logged error
//! proves nothing where the server is known to fail like that.
//!
//! TypeScript 7 registers for no file below `node_modules` and for few outside the workspace, so
//! the files of the covering project are listed over the socket of its API. Observed with 7.0.2.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    CONTENT_MODIFIED, METHOD_NOT_FOUND, MeasurementContext, ProtocolStep, SERVER_CANCELLED,
    ServerEvent,
};
use crate::jsonrpc::RpcError;
use crate::messages::{first_configuration_fault, parse_diagnostics};
use crate::registry::CheckingRules;
use crate::session::ProjectListing;
use crate::session::outside::{CoveringConfig, ListedProject, ReportedProject};
use crate::switched_off::project_marker;
use moai_base::finding::{Finding, has_errors};
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
    /// The findings, until the covering project is known.
    measured: Option<MeasuredFindings>,
    covering: Option<CoveringConfig>,
    listed: Option<ListedProject>,
}

/// Findings that do not count before the covering project is known.
#[derive(Debug)]
struct MeasuredFindings {
    findings: Vec<Finding>,
    /// The configuration of the covering project, once the server has reported it; empty for none.
    project: Option<String>,
    /// Of the project lists, when the covering project was requested.
    change_count: u64,
}

/// TypeScript 7's request for the configuration that covers a file.
const PROJECT_INFO: &str = "custom/projectInfo";
/// TypeScript 7's request for a socket of its API.
const API_SESSION: &str = "custom/initializeAPISession";

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
        if let Some(measured) = self.measured.take() {
            return self.on_project_response(subject, measured, answer);
        }
        match answer {
            Ok(report) => {
                match (report["kind"].as_str(), parse_diagnostics(subject.about, &report["items"]))
                {
                    (Some("full"), Some(findings))
                        if !has_errors(&findings) && subject.is_loading =>
                    {
                        self.asks_again = true;
                        ProtocolStep::Wait
                    }
                    (Some("full"), Some(findings)) => {
                        let failure = self.failure.take().filter(|_| !has_errors(&findings));
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

    /// Requests the covering project from TypeScript 7 before the findings count, unless it is known.
    fn finish(
        &mut self,
        subject: &MeasurementContext<'_>,
        mut findings: Vec<Finding>,
    ) -> ProtocolStep {
        if subject.spec.checking != Some(CheckingRules::Typescript) {
            return ProtocolStep::Done(Ok(findings));
        }
        if let Some(config) = subject.project_lists.covering_config(subject.file) {
            findings.push(project_marker(subject.about, config));
            return ProtocolStep::Done(Ok(findings));
        }
        let change_count = subject.project_lists.change_count();
        self.measured = Some(MeasuredFindings { findings, project: None, change_count });
        ProtocolStep::SendRequest(PROJECT_INFO, json!({"textDocument": {"uri": subject.uri}}))
    }

    /// The answer to [`PROJECT_INFO`], then the answer to [`API_SESSION`].
    fn on_project_response(
        &mut self,
        subject: &MeasurementContext<'_>,
        mut measured: MeasuredFindings,
        answer: Result<&Value, &RpcError>,
    ) -> ProtocolStep {
        if let Some(config) = &measured.project {
            let config = PathBuf::from(config);
            let Some(socket) = answer.ok().and_then(|session| session["pipe"].as_str()) else {
                return unlisted_step(measured.findings, no_list_gap());
            };
            let uri = subject.uri.to_owned();
            let listing = ProjectListing { socket: socket.into(), uri, config };
            self.measured = Some(measured);
            return ProtocolStep::ListProjectFiles(listing);
        }
        let Some(config) = answer.ok().and_then(|info| info["configFilePath"].as_str()) else {
            return unlisted_step(measured.findings, no_list_gap());
        };
        measured.findings.push(project_marker(subject.about, config));
        // The files of an inferred project, which has no configuration, change with every document.
        if !config.is_empty() {
            let change_count = measured.change_count;
            self.covering = Some(CoveringConfig { path: config.to_owned(), change_count });
        }
        if !config.is_empty() && subject.project_lists.is_current(config) {
            return ProtocolStep::Done(Ok(measured.findings));
        }
        measured.project = Some(config.to_owned());
        self.measured = Some(measured);
        ProtocolStep::SendRequest(API_SESSION, json!({}))
    }

    /// The files of the covering project, as the server listed them.
    pub(super) fn on_project_listed(
        &mut self,
        project: Result<ReportedProject, Gap>,
    ) -> ProtocolStep {
        // A measurement that was restarted since does not wait for a list yet.
        let measured = self.measured.take_if(|measured| measured.project.is_some());
        let Some(MeasuredFindings { findings, project: Some(name), change_count }) = measured
        else {
            return ProtocolStep::Wait;
        };
        match project {
            Ok(ReportedProject { files, diagnostics }) => {
                let fault = first_configuration_fault(Path::new(&name), &diagnostics);
                self.listed = Some(ListedProject { name, files, fault, change_count });
                ProtocolStep::Done(Ok(findings))
            }
            Err(gap) => unlisted_step(findings, gap),
        }
    }

    pub(super) fn take_listed_project(&mut self) -> Option<ListedProject> {
        self.listed.take()
    }

    pub(super) fn take_covering_config(&mut self) -> Option<CoveringConfig> {
        self.covering.take()
    }

    fn retry(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let pause_ms = PULL_RETRY_MS_MAX.min(PULL_RETRY_MS_MIN << self.retry_count.min(8));
        self.retry_count += 1;
        self.asks_again = true;
        ProtocolStep::WakeAt(subject.now + Duration::from_millis(pause_ms))
    }
}

/// Without the list, later changes of unpolled files would be missed: errors count, but their absence
/// does not.
fn unlisted_step(findings: Vec<Finding>, gap: Gap) -> ProtocolStep {
    ProtocolStep::Done(if has_errors(&findings) { Ok(findings) } else { Err(gap) })
}

fn no_list_gap() -> Gap {
    let detail =
        "the server does not list the files of the project, so changed packages would be missed";
    Gap::new(Cause::Silent, detail)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Instant;

    use super::super::tests::{spec, with_subject, word};
    use super::*;
    use crate::registry::ServerSpec;
    use crate::session::outside::ProjectLists;
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
        let mut hints = full(2);
        for hint in hints["items"].as_array_mut().unwrap() {
            hint["severity"] = json!(4);
        }
        check(Ok(&hints), false, "2 found");
        check(Ok(&hints), true, "wait");
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
                pull.on_response(subject, answer);
                pull.on_response(subject, Ok(&json!({"pipe": "/s"})));
                match pull.on_project_listed(Ok(ReportedProject::default())) {
                    ProtocolStep::Done(Ok(found)) => reported_project(&found).map(str::to_owned),
                    other => panic!("{other:?}"),
                }
            })
        };
        let named = json!({"configFilePath": "/r/tsconfig.json"});
        assert_eq!(covering(Ok(&named)).as_deref(), Some("/r/tsconfig.json"));
        assert_eq!(covering(Ok(&json!({"configFilePath": ""}))).as_deref(), Some(""));
    }

    /// The last step of a measurement with this number of findings, and the listed project.
    fn listing_step(
        count: usize,
        project: Result<&Value, &RpcError>,
        session: Result<&Value, &RpcError>,
        files: Result<Vec<PathBuf>, Gap>,
    ) -> (String, Option<ListedProject>) {
        let typescript = spec(r#", "checking": "typescript""#);
        let mut pull = PullProtocol::default();
        let step = with_subject(Instant::now(), 0, false, |subject| {
            let subject = &MeasurementContext { spec: &typescript, ..*subject };
            pull.on_response(subject, Ok(&full(count)));
            let mut step = pull.on_response(subject, project);
            if matches!(step, ProtocolStep::SendRequest(API_SESSION, _)) {
                step = pull.on_response(subject, session);
            }
            if let ProtocolStep::ListProjectFiles(listing) = &step {
                assert_eq!(listing.socket, PathBuf::from("/s"));
                assert_eq!(listing.uri, subject.uri);
                assert_eq!(listing.config, PathBuf::from("/r/t.json"));
                let reported = |files| ReportedProject { files, diagnostics: Vec::new() };
                step = pull.on_project_listed(files.map(reported));
            }
            step
        });
        (word(&step), pull.take_listed_project())
    }

    #[test]
    fn without_the_list_of_the_projects_files_nothing_is_clean() {
        let (project, session) = (json!({"configFilePath": "/r/t.json"}), json!({"pipe": "/s"}));
        let unknown = error(METHOD_NOT_FOUND);
        let files = || vec![PathBuf::from("/r/node_modules/p/i.d.ts")];
        let listed = ListedProject {
            name: "/r/t.json".into(),
            files: files(),
            fault: None,
            change_count: 0,
        };
        let whole = listing_step(0, Ok(&project), Ok(&session), Ok(files()));
        assert_eq!(whole, ("1 found".into(), Some(listed)), "the marker of the project");
        for (count, expected) in [(0, "Silent"), (2, "3 found")] {
            let step = listing_step(count, Ok(&project), Err(&unknown), Ok(files()));
            assert_eq!(step, (expected.into(), None));
        }
        assert_eq!(listing_step(0, Err(&unknown), Ok(&session), Ok(files())).0, "Silent");
        let timed_out = Err(Gap::new(Cause::TimedOut, "late"));
        assert_eq!(listing_step(0, Ok(&project), Ok(&session), timed_out).0, "TimedOut");
    }

    #[test]
    fn a_projects_files_are_listed_once_per_change_on_disk() {
        let typescript = spec(r#", "checking": "typescript""#);
        let mut lists = ProjectLists::default();
        let project = ListedProject {
            name: "/r/t.json".into(),
            files: Vec::new(),
            fault: None,
            change_count: 0,
        };
        lists.store(Path::new("/r"), project);
        for (config, expected) in [
            ("/r/t.json", "1 found".to_owned()),
            ("/r/other.json", format!("ask {API_SESSION}")),
            ("", format!("ask {API_SESSION}")),
        ] {
            let step = with_subject(Instant::now(), 0, false, |subject| {
                let subject =
                    &MeasurementContext { spec: &typescript, project_lists: &lists, ..*subject };
                let mut pull = PullProtocol::default();
                pull.on_response(subject, Ok(&full(0)));
                pull.on_response(subject, Ok(&json!({"configFilePath": config})))
            });
            assert_eq!(word(&step), expected, "{config}");
        }
    }

    #[test]
    fn a_files_project_is_asked_for_once_per_change_on_disk() {
        let typescript = spec(r#", "checking": "typescript""#);
        let mut lists = ProjectLists::default();
        let file = with_subject(Instant::now(), 0, false, |subject| subject.file.to_path_buf());
        let step = |lists: &ProjectLists| {
            with_subject(Instant::now(), 0, false, |subject| {
                let subject =
                    &MeasurementContext { spec: &typescript, project_lists: lists, ..*subject };
                let mut pull = PullProtocol::default();
                let first = word(&pull.on_response(subject, Ok(&full(0))));
                pull.on_response(subject, Ok(&json!({"configFilePath": "/r/t.json"})));
                (first, pull.take_covering_config())
            })
        };
        let (first, covering) = step(&lists);
        assert_eq!(first, format!("ask {PROJECT_INFO}"));
        lists.store_covering(file.clone(), covering.clone().expect("it was reported"));
        assert_eq!(step(&lists).0, format!("ask {PROJECT_INFO}"), "its files are not listed");
        let listed = ListedProject {
            name: "/r/t.json".into(),
            files: Vec::new(),
            fault: None,
            change_count: 0,
        };
        lists.store(Path::new("/r"), listed.clone());
        assert_eq!(step(&lists), ("1 found".to_owned(), None), "only the marker");
        lists.mark_outdated();
        lists.store_covering(file, covering.expect("it was reported"));
        lists.store(Path::new("/r"), ListedProject { change_count: 1, ..listed });
        assert_eq!(step(&lists).0, format!("ask {PROJECT_INFO}"), "reported before the change");
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
