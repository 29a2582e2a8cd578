//! Published diagnostics. A publish with our version is about our bytes. Without versions only
//! findings are believed, and only from a publish that came after a barrier request was answered
//! and after a quiet time; silence or an unversioned empty list is never clean.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Step, Subject};
use crate::base::finding::Finding;
use crate::base::limits::{PUSH_QUIET_MS, PUSH_SILENT_MS_MAX};
use crate::base::verdict::{Cause, Gap};
use crate::wire::lsp::findings;

/// State of one wait.
#[derive(Debug, Default)]
pub struct Push {
    barrier_passed: bool,
    /// When silence is taken for an answer that proves nothing.
    silent_at: Option<Instant>,
    last: Option<Publish>,
}

#[derive(Debug)]
struct Publish {
    found: Vec<Finding>,
    has_our_version: bool,
    at: Instant,
}

/// A cheap request whose answer shows that the server has worked through what was sent before.
pub(super) fn barrier(subject: &Subject<'_>) -> Step {
    Step::Ask("textDocument/documentSymbol", json!({"textDocument": {"uri": subject.uri}}))
}

impl Push {
    /// The barrier was answered; an error answer proves the same.
    pub(super) fn answered(&mut self, subject: &Subject<'_>) -> Step {
        self.barrier_passed = true;
        self.silent_at = Some(subject.now + Duration::from_millis(PUSH_SILENT_MS_MAX));
        self.settle(subject)
    }

    pub(super) fn published(
        &mut self,
        subject: &Subject<'_>,
        version: Option<i64>,
        diagnostics: &Value,
    ) -> Step {
        let is_other = version.is_some_and(|version| version != i64::from(subject.version));
        // Without a version, what comes before the barrier may be about older bytes.
        let proves_nothing = version.is_none() && !self.barrier_passed;
        if is_other || proves_nothing {
            return Step::Wait;
        }
        let Some(found) = findings(subject.about, diagnostics) else {
            return Step::Done(Err(Gap::new(
                Cause::Crashed,
                "the server's published diagnostics could not be read",
            )));
        };
        self.last = Some(Publish { found, has_our_version: version.is_some(), at: subject.now });
        self.settle(subject)
    }

    pub(super) fn woke(&mut self, subject: &Subject<'_>) -> Step {
        self.settle(subject)
    }

    /// Servers may publish one version twice, the first time partly: the last one counts, once
    /// the quiet time has passed.
    fn settle(&mut self, subject: &Subject<'_>) -> Step {
        let Some(last) = &self.last else { return self.silence(subject) };
        let quiet_at = last.at + Duration::from_millis(PUSH_QUIET_MS);
        if subject.now < quiet_at || !self.barrier_passed {
            return Step::WakeAt(quiet_at.max(subject.now + Duration::from_millis(1)));
        }
        if last.found.is_empty() && subject.is_loading {
            return Step::Wait;
        }
        if last.found.is_empty() && !last.has_our_version {
            return Step::Done(Err(Gap::new(
                Cause::Silent,
                "the server sends no document version, so an empty list proves nothing",
            )));
        }
        Step::Done(Ok(last.found.clone()))
    }

    /// Nothing was published yet. A server that is loading gets its time.
    fn silence(&self, subject: &Subject<'_>) -> Step {
        match self.silent_at {
            None => Step::Wait,
            Some(_) if subject.is_loading => Step::Wait,
            Some(at) if subject.now < at => Step::WakeAt(at),
            Some(_) => Step::Done(Err(Gap::new(
                Cause::Silent,
                "the server said nothing about the file, which proves nothing",
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{with_subject, word};
    use super::*;

    enum Act {
        Barrier,
        Publish(Option<i64>, usize),
        Wake,
    }
    use Act::{Barrier, Publish, Wake};

    fn check(acts: &[(u64, Act)], expected: &[&str]) {
        let start = Instant::now();
        let mut push = Push::default();
        let place = json!({"line": 0, "character": 0});
        let item = json!({"range": {"start": place, "end": place}, "message": "wrong"});
        let words: Vec<String> = acts
            .iter()
            .map(|(at, act)| {
                let step = with_subject(start, *at, false, |subject| match act {
                    Barrier => push.answered(subject),
                    Publish(version, count) => {
                        push.published(subject, *version, &json!(vec![item.clone(); *count]))
                    }
                    Wake => push.woke(subject),
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
    fn our_version_and_nothing_wrong_is_clean() {
        check(&[(0, Barrier), (1, Publish(Some(3), 0)), (260, Wake)], &["wake", "wake", "clean"]);
    }

    #[test]
    fn without_a_version_only_findings_after_the_barrier_are_believed() {
        check(
            &[(0, Publish(None, 4)), (1, Barrier), (2, Publish(None, 1)), (260, Wake)],
            &["wait", "wake", "wake", "1 found"],
        );
        check(&[(1, Barrier), (2, Publish(None, 0)), (260, Wake)], &["wake", "wake", "Silent"]);
    }

    #[test]
    fn silence_is_not_clean() {
        check(&[(0, Barrier), (9_000, Wake), (10_000, Wake)], &["wake", "wake", "Silent"]);
    }
}
