//! gopls publishes diagnostics with the document's version, but without one for the file on disk: a
//! text equal to the disk's gets its version only after a change, which may be empty. With
//! `diagnosticsDelay` above zero it publishes twice, the first time partially. With zero, the
//! results for one view of the project are published once, when all of it is analysed, and an
//! analysis superseded by a newer state publishes nothing. Newer versions, which have the command
//! `gopls.views`, may assign a file to several views. Observed with gopls of January 2023; the
//! order of analysis and publish was read in its sources.

use std::time::Duration;

use serde_json::Value;

use super::push::{ProofRules, PushProtocol};
use super::{MeasurementContext, ProtocolStep};
use crate::registry::ServerSpec;
use moai_base::finding::{Finding, has_errors};
use moai_base::limits::{GOPLS_SECOND_PASS_MS, SETTLE_MS};
use moai_base::verdict::{Cause, Gap};

/// gopls' own default of `diagnosticsDelay`.
const DEFAULT_DIAGNOSTICS_DELAY: Duration = Duration::from_secs(1);
/// gopls' error for every import while it cannot load the project.
const IMPORT_COMPLAINT: &str = "could not import ";

/// gopls' error for an import of a package that it has not loaded yet: it may publish before the
/// project is loaded, without reporting progress.
const UNLOADED_IMPORT: &str = "(missing metadata for import of ";

/// State of one wait.
#[derive(Debug, Default)]
pub(crate) struct GoplsProtocol {
    push: PushProtocol,
    /// gopls published for the file on disk, as it does for a text sent while the project is
    /// loading.
    published_disk_text: bool,
    has_resent: bool,
    /// The text was resent because imports were not loaded.
    has_awaited_imports: bool,
}

impl GoplsProtocol {
    pub(super) fn on_response(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let step = self.push.on_response_with(subject, rules(subject));
        self.check_step(subject, step)
    }

    pub(super) fn on_publish(
        &mut self,
        subject: &MeasurementContext<'_>,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> ProtocolStep {
        self.published_disk_text |= version.is_none();
        let step = self.push.on_publish_with(subject, rules(subject), version, diagnostics);
        self.check_step(subject, step)
    }

    pub(super) fn on_wake(&mut self, subject: &MeasurementContext<'_>) -> ProtocolStep {
        let step = self.push.settle(subject, rules(subject));
        self.check_step(subject, step)
    }

    fn check_step(&mut self, subject: &MeasurementContext<'_>, step: ProtocolStep) -> ProtocolStep {
        let is_ignored = self.published_disk_text && self.push.is_waiting_for_a_publish();
        if is_ignored && !subject.is_loading && !self.has_resent {
            self.has_resent = true;
            return self.push.again(ProtocolStep::Resend);
        }
        match (subject.fault, step) {
            (Some(fault), ProtocolStep::Done(Ok(found))) => {
                ProtocolStep::Done(without_import_complaints(fault, found))
            }
            (None, ProtocolStep::Done(Ok(found)))
                if !self.has_awaited_imports && has_unloaded_import(&found) =>
            {
                self.has_awaited_imports = true;
                self.push.again(ProtocolStep::Resend)
            }
            (_, step) => step,
        }
    }
}

fn has_unloaded_import(found: &[Finding]) -> bool {
    found.iter().any(|finding| finding.message.contains(UNLOADED_IMPORT))
}

fn rules(subject: &MeasurementContext<'_>) -> ProofRules {
    let delay = diagnostics_delay(subject.spec);
    let quiet = match delay.is_zero() {
        true if subject.habits.has_views() => Duration::from_millis(SETTLE_MS),
        true => Duration::ZERO,
        false => delay + Duration::from_millis(GOPLS_SECOND_PASS_MS),
    };
    ProofRules { quiet, needs_version: true, clean_without_version: false }
}

/// While gopls cannot load the project, its import errors are consequences of that, and a list without
/// errors proves nothing.
fn without_import_complaints(fault: &str, mut found: Vec<Finding>) -> Result<Vec<Finding>, Gap> {
    found.retain(|finding| !finding.message.starts_with(IMPORT_COMPLAINT));
    if has_errors(&found) {
        return Ok(found);
    }
    let gap = Gap::new(Cause::ProjectFault, format!("gopls cannot load the project: {fault}"));
    let is_outside = fault.contains("outside of a module");
    Err(if is_outside { gap.with_remedy("go mod init") } else { gap })
}

/// The setting overrides the option, because gopls requests the setting after the handshake.
fn diagnostics_delay(spec: &ServerSpec) -> Duration {
    let option = &spec.initialization_options["diagnosticsDelay"];
    let setting = &spec.settings["gopls"]["diagnosticsDelay"];
    let text = setting.as_str().or_else(|| option.as_str());
    text.and_then(parse_go_duration).unwrap_or(DEFAULT_DIAGNOSTICS_DELAY)
}

/// A Go duration of one number and one unit; others use the default.
fn parse_go_duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::super::habits::PublishHabits;
    use super::super::tests::{spec, with_subject, word};
    use super::*;
    use moai_base::finding::Severity;

    const NO_DELAY: &str = r#", "initialization_options": {"diagnosticsDelay": "0s"}"#;

    enum Act {
        Barrier,
        Publish(Option<i64>, Vec<&'static str>),
        Wake,
    }
    use Act::{Barrier, Publish, Wake};

    fn check(extra: &str, fault: Option<&str>, acts: &[(u64, Act)], expected: &[&str]) {
        let (spec, start, mut gopls) = (spec(extra), Instant::now(), GoplsProtocol::default());
        let place = json!({"line": 0, "character": 0});
        let item = |text: &&str| json!({"range": {"start": place, "end": place}, "message": text});
        let words = acts.iter().map(|(at, act)| {
            let step = with_subject(start, *at, false, |subject| {
                let subject = &MeasurementContext { spec: &spec, fault, ..*subject };
                match act {
                    Barrier => gopls.on_response(subject),
                    Publish(version, messages) => {
                        let list = messages.iter().map(item).collect();
                        gopls.on_publish(subject, *version, &Value::Array(list))
                    }
                    Wake => gopls.on_wake(subject),
                }
            });
            word(&step)
        });
        assert_eq!(words.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_project_that_cannot_be_loaded_is_unmeasured_unless_errors_remain() {
        let finding = moai_base::samples::finding("a.go", 1, "x");
        let hint = Finding { severity: Severity::Hint, ..finding.clone() };
        let complaint = Finding { message: format!("{IMPORT_COMPLAINT} b"), ..finding.clone() };
        let remaining = |found: Vec<Finding>| without_import_complaints("go.mod is broken", found);
        assert!(remaining(vec![complaint.clone(), hint]).is_err(), "a hint proves nothing");
        assert_eq!(remaining(vec![complaint, finding.clone()]), Ok(vec![finding]));
    }

    #[test]
    fn a_publish_without_version_is_about_the_disk_and_the_text_is_sent_again() {
        let acts = [
            (0, Barrier),
            (1, Publish(None, vec![])),
            (2, Publish(None, vec![])),
            (3, Barrier),
            (400, Publish(Some(3), vec!["wrong"])),
        ];
        check(NO_DELAY, None, &acts, &["wake", "resend", "wait", "wake", "1 found"]);
        // Published before the barrier: the versioned publish may follow.
        let acts = [(0, Publish(None, vec![])), (1, Publish(Some(3), vec![])), (2, Barrier)];
        check(NO_DELAY, None, &acts, &["wait", "wait", "clean"]);
    }

    #[test]
    fn several_views_may_publish_one_after_another() {
        let (spec, start, mut gopls) = (spec(NO_DELAY), Instant::now(), GoplsProtocol::default());
        let mut habits = PublishHabits::default();
        habits.offered(&json!({"executeCommandProvider": {"commands": ["gopls.views"]}}));
        let mut at =
            |after_ms, act: fn(&mut GoplsProtocol, &MeasurementContext<'_>) -> ProtocolStep| {
                with_subject(start, after_ms, false, |subject| {
                    word(&act(
                        &mut gopls,
                        &MeasurementContext { spec: &spec, habits: &habits, ..*subject },
                    ))
                })
            };
        assert_eq!(at(0, GoplsProtocol::on_response), "wake");
        let step = at(1, |gopls, subject| gopls.on_publish(subject, Some(3), &json!([])));
        assert_eq!(step, "wake", "another view may still publish");
        assert_eq!(at(102, GoplsProtocol::on_wake), "clean");
    }

    #[test]
    fn with_a_delay_the_second_pass_is_awaited() {
        let pass = |at, messages| (at, Publish(Some(3), messages));
        let acts =
            [(0, Barrier), pass(1, vec![]), (500, Wake), pass(1_002, vec!["late"]), (2_302, Wake)];
        check("", None, &acts, &["wake", "wake", "wake", "wake", "1 found"]);
    }

    #[test]
    fn a_project_that_cannot_be_loaded_is_one_gap_and_not_many_imports() {
        let fault = Some("You are outside of a module and outside of $GOPATH/src.");
        let published = |messages| [(0, Barrier), (1, Publish(Some(3), messages))];
        check(NO_DELAY, fault, &published(vec![]), &["wake", "ProjectFault"]);
        let import = "could not import x/y (cannot find package)";
        check(NO_DELAY, fault, &published(vec![import]), &["wake", "ProjectFault"]);
        check(NO_DELAY, fault, &published(vec![import, "syntax"]), &["wake", "1 found"]);
    }

    #[test]
    fn an_import_that_is_not_loaded_yet_is_asked_about_once_more() {
        let unloaded = "could not import x/y (missing metadata for import of \"x/y\")";
        let published = |at, messages| (at, Publish(Some(3), messages));
        for (second, expected) in [(vec![], "clean"), (vec![unloaded], "1 found")] {
            let acts =
                [(0, Barrier), published(1, vec![unloaded]), (2, Barrier), published(3, second)];
            check(NO_DELAY, None, &acts, &["wake", "resend", "wake", expected]);
        }
    }

    #[test]
    fn go_durations_are_parsed() {
        for (text, millis) in [("0s", 0), ("250ms", 250), ("1.5s", 1500)] {
            assert_eq!(parse_go_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["1m30s", "soon", "-1s"] {
            assert_eq!(parse_go_duration(text), None, "{text}");
        }
    }
}
