//! clangd publishes diagnostics with the document's version when the change requests it
//! (`wantDiagnostics`), and without a difference if a rebuild is forced (`forceRebuild`). The first
//! publish may be based on outdated headers; the correct one follows when the new preamble is
//! built, which `textDocument/clangd.fileStatus` reports. Being idle alone proves nothing: the
//! rebuild caused by the new preamble is queued but not yet running, so a second barrier has to
//! pass that queue. Each change makes clangd scan the includes in a separate thread, which it
//! reports; only where that report is missing must a quiet time rule out a late start of the
//! thread. Observed with clangd 22.1.

use std::time::Duration;

use serde_json::{Value, json};

use super::push::{ProofRules, PushProtocol, barrier_request};
use super::{MeasurementContext, ProtocolStep, ServerEvent};
use moai_base::limits::SETTLE_MS;
use moai_base::path::{RelPath, from_uri};

/// Prefix of the state while the includes are scanned.
const PARSING_INCLUDES: &str = "parsing includes";

/// State of one wait.
#[derive(Debug, Default)]
pub(crate) struct ClangdProtocol {
    push: PushProtocol,
    activity: ClangdActivity,
    has_parsed_includes: bool,
    confirmation: IdleConfirmation,
}

/// clangd's reported work on the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ClangdActivity {
    /// No report: `clangdFileStatus` is off or the version is older.
    #[default]
    Unknown,
    Busy,
    Idle,
}

/// The second barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum IdleConfirmation {
    #[default]
    Missing,
    Requested,
    /// An event followed the request for the barrier, so its answer proves nothing.
    Outdated,
    Passed,
}

/// Adds the options that the protocol needs to those of the catalogue.
pub(crate) fn complete_options(options: &mut Value) {
    if options.is_null() {
        *options = json!({});
    }
    if let Some(options) = options.as_object_mut() {
        options.entry("clangdFileStatus").or_insert(json!(true));
    }
}

/// True if other files may include this one: for everything but source files.
pub(crate) fn is_header(path: &RelPath) -> bool {
    let extension = path.extension().unwrap_or_default();
    !matches!(extension.as_str(), "c" | "cc" | "cpp" | "cxx" | "c++" | "m" | "mm" | "cu")
}

impl ClangdProtocol {
    pub(super) fn on_response(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let step = match self.confirmation {
            IdleConfirmation::Missing | IdleConfirmation::Passed => {
                let rules = self.rules(subject);
                self.push.on_response_with(subject, rules)
            }
            IdleConfirmation::Requested => {
                self.confirmation = IdleConfirmation::Passed;
                self.settle(subject)
            }
            IdleConfirmation::Outdated => {
                self.confirmation = IdleConfirmation::Missing;
                self.settle(subject)
            }
        };
        self.confirm(subject, step)
    }

    pub(super) fn on_publish(
        &mut self,
        subject: &MeasurementContext<'_>,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> ProtocolStep {
        self.outdate();
        let rules = self.rules(subject);
        let step = self.push.on_publish_with(subject, rules, version, diagnostics);
        self.confirm(subject, step)
    }

    pub(super) fn on_server_event(
        &mut self,
        subject: &MeasurementContext<'_>,
        event: ServerEvent<'_>,
    ) -> ProtocolStep {
        let ServerEvent::Notification("textDocument/clangd.fileStatus", params) = event else {
            return ProtocolStep::Wait;
        };
        let is_ours =
            params["uri"].as_str().and_then(from_uri).is_some_and(|it| it == subject.file);
        if !is_ours {
            return ProtocolStep::Wait;
        }
        let state = params["state"].as_str().unwrap_or_default();
        self.has_parsed_includes |= state.starts_with(PARSING_INCLUDES);
        if state == "idle" {
            self.activity = ClangdActivity::Idle;
            return self.on_wake(subject);
        }
        self.activity = ClangdActivity::Busy;
        // The barrier itself is work and is reported as such.
        if self.confirmation == IdleConfirmation::Passed {
            self.confirmation = IdleConfirmation::Missing;
        }
        ProtocolStep::Wait
    }

    pub(super) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let step = self.settle(subject);
        self.confirm(subject, step)
    }

    fn settle(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let rules = self.rules(subject);
        self.push.settle(subject, rules)
    }

    fn outdate(&mut self) {
        self.confirmation = match self.confirmation {
            IdleConfirmation::Requested | IdleConfirmation::Outdated => IdleConfirmation::Outdated,
            IdleConfirmation::Missing | IdleConfirmation::Passed => IdleConfirmation::Missing,
        };
    }

    /// Delays a verdict until clangd is idle and has passed the second barrier.
    fn confirm(&mut self, subject: &MeasurementContext<'_>, step: ProtocolStep) -> ProtocolStep {
        if !matches!(step, ProtocolStep::Done(Ok(_))) || self.activity == ClangdActivity::Unknown {
            return step;
        }
        match (self.activity, self.confirmation) {
            (ClangdActivity::Idle, IdleConfirmation::Passed) => step,
            (ClangdActivity::Idle, IdleConfirmation::Missing) => {
                self.confirmation = IdleConfirmation::Requested;
                barrier_request(subject)
            }
            _ => ProtocolStep::Wait,
        }
    }

    /// A quiet time replaces the idle report where clangd sends none.
    fn rules(&self, subject: &MeasurementContext<'_>) -> ProofRules {
        let quiet = match self.activity {
            ClangdActivity::Unknown => subject.habits.quiet(subject.spec.publishes),
            ClangdActivity::Busy | ClangdActivity::Idle if self.has_parsed_includes => {
                Duration::ZERO
            }
            ClangdActivity::Busy | ClangdActivity::Idle => Duration::from_millis(SETTLE_MS),
        };
        ProofRules { quiet, needs_version: true, clean_without_version: false }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::tests::{with_subject, word};
    use super::*;

    enum Act {
        Answer,
        Publish(i64, usize),
        State(&'static str),
        Wake,
    }
    use Act::{Answer, Publish, State, Wake};

    fn check(acts: &[(u64, Act, &str)]) {
        let (start, mut clangd) = (Instant::now(), ClangdProtocol::default());
        let place = json!({"line": 0, "character": 0});
        let item = json!({"range": {"start": place, "end": place}, "message": "wrong"});
        for (at, act, expected) in acts {
            let step = with_subject(start, *at, false, |subject| match act {
                Answer => clangd.on_response(subject),
                Publish(version, count) => {
                    clangd.on_publish(subject, Some(*version), &json!(vec![item.clone(); *count]))
                }
                State(state) => {
                    let status = json!({"uri": subject.uri, "state": state});
                    let event =
                        ServerEvent::Notification("textDocument/clangd.fileStatus", &status);
                    clangd.on_server_event(subject, event)
                }
                Wake => clangd.on_wake(subject),
            });
            assert_eq!(word(&step), *expected, "at {at}");
        }
    }

    #[test]
    fn an_idle_clangd_confirms_its_publish_after_a_second_barrier() {
        check(&[
            (0, State("parsing includes, running Update"), "wait"),
            (5, Publish(2, 3), "wait"),
            (6, Publish(3, 1), "wait"),
            (7, State("idle"), "wait"),
            (8, Answer, "ask textDocument/documentSymbol"),
            (9, State("running DocumentSymbols"), "wait"),
            (10, State("idle"), "wait"),
            (11, Answer, "1 found"),
        ]);
    }

    #[test]
    fn clangd_gets_time_to_parse_includes_later() {
        check(&[
            (6, Publish(3, 1), "wait"),
            (7, State("idle"), "wait"),
            (8, Answer, "wake"),
            (106, Wake, "ask textDocument/documentSymbol"),
            (107, State("parsing includes"), "wait"),
            (400, Publish(3, 0), "wait"),
            (401, Answer, "wait"),
            (402, State("idle"), "ask textDocument/documentSymbol"),
            (403, Answer, "clean"),
        ]);
    }

    #[test]
    fn a_publish_from_before_the_new_header_is_ignored() {
        check(&[
            (0, State("parsing includes, parsing main file"), "wait"),
            (5, Publish(3, 1), "wait"),
            (6, Answer, "wait"),
            (900, State("idle"), "ask textDocument/documentSymbol"),
            (905, Publish(3, 0), "wait"),
            (906, Answer, "ask textDocument/documentSymbol"),
            (907, Answer, "clean"),
        ]);
    }

    #[test]
    fn without_file_status_a_versioned_publish_followed_by_silence_counts() {
        check(&[(0, Answer, "wake"), (1, Publish(3, 0), "wake"), (251, Wake, "clean")]);
    }

    #[test]
    fn options_of_the_catalogue_are_kept() {
        let mut options = json!({"clangdFileStatus": false, "fallbackFlags": []});
        complete_options(&mut options);
        assert_eq!(options["clangdFileStatus"], false);
        complete_options(&mut Value::Null);
    }

    #[test]
    fn headers_are_recognized_by_extension_or_by_having_none() {
        for (name, expected) in [("a.h", true), ("a.tpp", true), ("vector", true), ("a.CPP", false)]
        {
            let path = RelPath::parse(name).expect("a relative path");
            assert_eq!(is_header(&path), expected, "{name}");
        }
    }
}
