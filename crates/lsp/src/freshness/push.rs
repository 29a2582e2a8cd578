//! Published diagnostics. A publish with our version is about our bytes. Without versions only
//! findings are believed, and only from a publish that came after a barrier request was answered
//! and after a quiet time, which a second barrier ends: a busy server is quiet, too. An unversioned
//! empty list counts only from a server that was seen to publish after every change; silence is
//! never clean.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{MeasurementContext, ProtocolStep};
use crate::messages::parse_diagnostics;
use moai_base::finding::{Finding, has_errors};
use moai_base::limits::PUSH_SILENT_MS_MAX;
use moai_base::verdict::{Cause, Gap};

/// State of one wait.
#[derive(Debug, Default)]
pub(crate) struct PushProtocol {
    barrier_passed: bool,
    /// Deadline after which silence becomes an inconclusive result.
    silent_at: Option<Instant>,
    last_publish: Option<ReceivedPublish>,
    confirmation: BarrierConfirmation,
    has_resent: bool,
    has_reopened: bool,
}

/// State of the second barrier, after a publish without a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BarrierConfirmation {
    #[default]
    Missing,
    Requested,
    /// Requested, but another publish followed, so its answer confirms nothing.
    Outdated,
    Passed,
}

#[derive(Debug)]
struct ReceivedPublish {
    findings: Vec<Finding>,
    has_our_version: bool,
    while_loading: bool,
    at: Instant,
}

/// The requirements for proof from one server.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofRules {
    /// Required quiet time after a publish.
    pub(super) quiet: Duration,
    /// True if a publish without a version never concerns our text.
    pub(super) needs_version: bool,
    /// An empty publish without a version counts.
    pub(super) clean_without_version: bool,
}

impl ProofRules {
    fn for_server(subject: &MeasurementContext<'_>) -> Self {
        let known = subject.spec.publishes;
        Self {
            quiet: subject.habits.quiet(known),
            needs_version: subject.habits.sends_versions(known),
            clean_without_version: known.clean,
        }
    }
}

/// A cheap request whose answer proves that the server has processed everything sent before.
pub(super) fn barrier_request(subject: &MeasurementContext<'_>) -> ProtocolStep {
    ProtocolStep::SendRequest(
        "textDocument/documentSymbol",
        json!({"textDocument": {"uri": subject.uri}}),
    )
}

impl PushProtocol {
    /// The barrier was answered; an error proves the same.
    pub(super) fn on_response(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        self.on_response_with(subject, ProofRules::for_server(subject))
    }

    pub(super) fn on_response_with(
        &mut self,
        subject: &MeasurementContext<'_>,
        rules: ProofRules,
    ) -> ProtocolStep {
        self.confirmation = match self.confirmation {
            BarrierConfirmation::Requested | BarrierConfirmation::Passed => {
                BarrierConfirmation::Passed
            }
            BarrierConfirmation::Missing | BarrierConfirmation::Outdated => {
                BarrierConfirmation::Missing
            }
        };
        self.barrier_passed = true;
        self.silent_at = Some(subject.now + Duration::from_millis(PUSH_SILENT_MS_MAX));
        self.settle(subject, rules)
    }

    pub(super) fn on_publish(
        &mut self,
        subject: &MeasurementContext<'_>,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> ProtocolStep {
        self.on_publish_with(subject, ProofRules::for_server(subject), version, diagnostics)
    }

    pub(super) fn on_publish_with(
        &mut self,
        subject: &MeasurementContext<'_>,
        rules: ProofRules,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> ProtocolStep {
        let is_other = version.is_some_and(|version| version != i64::from(subject.version));
        // Without a version, a publish before the barrier may be about older bytes.
        let proves_nothing = version.is_none() && (rules.needs_version || !self.barrier_passed);
        if is_other || proves_nothing {
            return ProtocolStep::Wait;
        }
        let Some(findings) = parse_diagnostics(subject.about, diagnostics) else {
            return ProtocolStep::Done(Err(Gap::new(
                Cause::Crashed,
                "the server's published diagnostics could not be read",
            )));
        };
        self.confirmation = match self.confirmation {
            BarrierConfirmation::Requested | BarrierConfirmation::Outdated => {
                BarrierConfirmation::Outdated
            }
            BarrierConfirmation::Missing | BarrierConfirmation::Passed => {
                BarrierConfirmation::Missing
            }
        };
        self.last_publish = Some(ReceivedPublish {
            findings,
            has_our_version: version.is_some(),
            while_loading: subject.is_loading,
            at: subject.now,
        });
        self.settle(subject, rules)
    }

    pub(super) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        self.settle(subject, ProofRules::for_server(subject))
    }

    /// Servers may publish one version twice, the first time incompletely: the last list counts,
    /// once the quiet time has passed.
    pub(super) fn settle(
        &mut self,
        subject: &MeasurementContext<'_>,
        rules: ProofRules,
    ) -> ProtocolStep {
        let Some(last) = &self.last_publish else { return self.silence(subject) };
        if !self.barrier_passed {
            return ProtocolStep::Wait;
        }
        let quiet_at = last.at + rules.quiet;
        if subject.now < quiet_at {
            return ProtocolStep::WakeAt(quiet_at);
        }
        let (findings, is_sure) = (last.findings.clone(), last.has_our_version);
        if has_errors(&findings) {
            return self.confirm(subject, is_sure, findings);
        }
        if subject.is_loading {
            return ProtocolStep::Wait;
        }
        // Perhaps without errors because the project is not loaded. Resent only once: some servers report
        // every analysis as a progress, so that all their publishes arrive during one.
        if last.while_loading && !self.has_resent {
            self.has_resent = true;
            return self.again(ProtocolStep::Resend);
        }
        if is_sure || rules.clean_without_version || !findings.is_empty() {
            return self.confirm(subject, is_sure, findings);
        }
        ProtocolStep::Done(Err(Gap::new(
            Cause::Silent,
            "the server sends no document version, so an empty list proves nothing",
        )))
    }

    /// Delays a verdict without a version until the second barrier.
    fn confirm(
        &mut self,
        subject: &MeasurementContext<'_>,
        is_sure: bool,
        findings: Vec<Finding>,
    ) -> ProtocolStep {
        match self.confirmation {
            BarrierConfirmation::Passed => ProtocolStep::Done(Ok(findings)),
            _ if is_sure => ProtocolStep::Done(Ok(findings)),
            BarrierConfirmation::Missing => {
                self.confirmation = BarrierConfirmation::Requested;
                barrier_request(subject)
            }
            BarrierConfirmation::Requested | BarrierConfirmation::Outdated => ProtocolStep::Wait,
        }
    }

    /// No publish yet: waits for a loading server; any other must reread the document once.
    fn silence(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        match self.silent_at {
            None => ProtocolStep::Wait,
            Some(_) if subject.is_loading => ProtocolStep::Wait,
            Some(at) if subject.now < at => ProtocolStep::WakeAt(at),
            Some(_) if !self.has_reopened => {
                self.has_reopened = true;
                self.again(ProtocolStep::Reopen)
            }
            Some(_) => ProtocolStep::Done(Err(Gap::new(
                Cause::Silent,
                "the server reported nothing for the file, which proves nothing",
            ))),
        }
    }

    /// True if the barrier was answered and no publish counts yet.
    pub(super) fn is_waiting_for_a_publish(&self) -> bool {
        self.barrier_passed && self.last_publish.is_none()
    }

    /// Resets the state, because the text is sent again.
    pub(super) fn again(&mut self, step: ProtocolStep) -> ProtocolStep {
        (self.barrier_passed, self.silent_at, self.last_publish) = (false, None, None);
        self.confirmation = BarrierConfirmation::Missing;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{spec, with_subject, word};
    use super::*;

    enum Act {
        Barrier,
        Publish(Option<i64>, usize),
        Wake,
    }
    use Act::{Barrier, Publish, Wake};

    fn check(acts: &[(u64, Act)], expected: &[&str]) {
        check_of("", false, acts, expected);
    }

    fn check_of(extra: &str, is_loading: bool, acts: &[(u64, Act)], expected: &[&str]) {
        let spec = spec(extra);
        let start = Instant::now();
        let mut push = PushProtocol::default();
        let place = json!({"line": 0, "character": 0});
        let item = json!({"range": {"start": place, "end": place}, "message": "wrong"});
        let words: Vec<String> = acts
            .iter()
            .map(|(at, act)| {
                let is_loading = is_loading && *at < 1_000;
                let step = with_subject(start, *at, is_loading, |subject| {
                    let subject = &MeasurementContext { spec: &spec, ..*subject };
                    match act {
                        Barrier => push.on_response(subject),
                        Publish(version, count) => {
                            push.on_publish(subject, *version, &json!(vec![item.clone(); *count]))
                        }
                        Wake => push.on_wake(subject),
                    }
                });
                word(&step)
            })
            .collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn an_older_version_is_ignored_and_the_last_of_ours_counts() {
        check(
            &[
                (0, Publish(Some(2), 5)),
                (1, Barrier),
                (2, Publish(Some(3), 0)),
                (100, Publish(Some(3), 1)),
                (300, Wake),
                (350, Wake),
            ],
            &["wait", "wake", "wake", "wake", "wake", "1 found"],
        );
    }

    #[test]
    fn a_list_without_errors_waits_for_the_end_of_loading() {
        let publish = |severity: u64| {
            let place = json!({"line": 0, "character": 0});
            let range = json!({"start": place, "end": place});
            let list = json!([{"range": range, "message": "x", "severity": severity}]);
            let mut push = PushProtocol::default();
            let start = Instant::now();
            let mut at = |ms: u64, is_loading: bool, is_publish: bool| {
                with_subject(start, ms, is_loading, |subject| {
                    if is_publish {
                        word(&push.on_publish(subject, Some(3), &list))
                    } else {
                        word(&push.on_response(subject))
                    }
                })
            };
            at(0, true, false);
            at(1, true, true);
            at(300, true, false)
        };
        assert_eq!((publish(1).as_str(), publish(2).as_str()), ("1 found", "wait"));
    }

    #[test]
    fn an_empty_publish_of_the_current_version_is_clean() {
        check(&[(0, Barrier), (1, Publish(Some(3), 0)), (260, Wake)], &["wake", "wake", "clean"]);
    }

    #[test]
    fn without_a_version_only_findings_after_the_barrier_are_believed() {
        check(
            &[
                (0, Publish(None, 4)),
                (1, Barrier),
                (2, Publish(None, 1)),
                (260, Wake),
                (261, Barrier),
            ],
            &["wait", "wake", "wake", "ask textDocument/documentSymbol", "1 found"],
        );
        check(&[(1, Barrier), (2, Publish(None, 0)), (260, Wake)], &["wake", "wake", "Silent"]);
    }

    #[test]
    fn an_unversioned_empty_list_counts_from_a_server_seen_to_publish_always() {
        let seen = r#", "publishes": {"clean": true, "quiet_ms": 500}"#;
        let ask = "ask textDocument/documentSymbol";
        let acts = [
            (0, Publish(None, 0)),
            (1, Barrier),
            (200, Publish(None, 0)),
            (700, Wake),
            (701, Barrier),
        ];
        check_of(seen, false, &acts, &["wait", "wake", "wake", ask, "clean"]);
        // Two steps of one analysis: the second one counts.
        let acts = [
            (1, Barrier),
            (200, Publish(None, 0)),
            (600, Publish(None, 1)),
            (1_100, Wake),
            (1_101, Barrier),
        ];
        check_of(seen, false, &acts, &["wake", "wake", "wake", ask, "1 found"]);
        // The server was still busy.
        let acts = [
            (1, Barrier),
            (200, Publish(None, 0)),
            (700, Wake),
            (900, Publish(None, 1)),
            (901, Barrier),
            (1_400, Wake),
            (1_401, Barrier),
        ];
        check_of(seen, false, &acts, &["wake", "wake", ask, "wake", "wake", ask, "1 found"]);
        check_of(seen, false, &[(1, Barrier), (5_001, Wake)], &["wake", "reopen"]);
    }

    #[test]
    fn a_publish_without_a_version_is_no_proof_from_a_server_that_sends_versions() {
        let seen = r#", "publishes": {"version": true, "clean": true}"#;
        let acts = [(1, Barrier), (2, Publish(None, 2)), (3, Publish(Some(3), 0)), (300, Wake)];
        check_of(seen, false, &acts, &["wake", "wait", "wake", "clean"]);
    }

    #[test]
    fn an_empty_result_during_loading_is_requested_again_afterwards() {
        let acts = [
            (0, Barrier),
            (1, Publish(Some(3), 0)),
            (900, Wake),
            (1_000, Wake),
            (1_001, Barrier),
            (1_002, Publish(Some(3), 0)),
            (1_300, Wake),
        ];
        let expected = ["wait", "wake", "wait", "resend", "wake", "wake", "clean"];
        check_of("", true, &acts, &expected);
    }

    #[test]
    fn silence_is_not_clean() {
        let acts = [(0, Barrier), (4_000, Wake), (5_000, Wake), (5_001, Barrier), (10_001, Wake)];
        check(&acts, &["wake", "wake", "reopen", "wake", "Silent"]);
    }
}
