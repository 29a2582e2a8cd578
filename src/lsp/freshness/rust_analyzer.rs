//! rust-analyzer has two lanes. Its own diagnostics come by pull; what the compiler says comes from
//! `cargo check`, which reads the disk and publishes. The verdict waits for both, because types and
//! borrows are the compiler's. The version of a publish proves nothing: old items are published
//! again under new versions; a whole run that began after the question was asked is the proof.

pub mod flycheck;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::pull::{self, Pull};
use super::{Heard, Step, Subject};
use crate::base::finding::{Finding, Severity};
use crate::base::limits::RUST_RELOAD_MS;
use crate::base::verdict::{Cause, Gap};
use crate::wire::jsonrpc::RpcError;
use crate::wire::lsp::findings;

/// The native diagnostic of a file that no crate includes; cargo never looks at such a file.
const UNLINKED: &str = "unlinked-file";

/// State of one question.
#[derive(Debug, Default)]
pub struct RustAnalyzer {
    pull: Pull,
    stage: Stage,
    /// Whether the server got its moment to notice that its trouble is over.
    has_waited: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The project is loaded; what is asked meanwhile is answered by nothing.
    #[default]
    Loading,
    /// The server's own diagnostics are asked for: while they come, others ask, too, and all share
    /// the next run.
    Native,
    /// A run of the compiler that began late enough is awaited.
    Check,
    /// It ended. The server's own diagnostics are asked for again: what the run published comes
    /// before their answer, and by now the server has read what changed on disk.
    Last,
}

/// Saves start no check of their own, so that the end of one is the end of the session's.
pub fn keep_saves_quiet(options: &mut Value, settings: &mut Value) {
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

impl RustAnalyzer {
    pub(super) fn begin(&mut self, subject: &Subject<'_>) -> Step {
        if subject.is_loading {
            return self.start_over();
        }
        self.stage = Stage::Native;
        pull::ask(subject)
    }

    pub(super) fn answered(
        &mut self,
        subject: &Subject<'_>,
        answer: Result<&Value, &RpcError>,
    ) -> Step {
        match self.stage {
            Stage::Native | Stage::Last => match self.pull.answered(subject, answer) {
                // What it said while it was loading lacks the dependencies.
                Step::Done(Ok(_)) if subject.is_loading => self.start_over(),
                Step::Done(Ok(found)) => self.pulled(subject, found),
                Step::FallBack => {
                    let gap = Gap::new(Cause::NoTool, "this rust-analyzer is too old for pull");
                    Step::Done(Err(gap))
                }
                other => other,
            },
            Stage::Loading | Stage::Check => Step::Wait,
        }
    }

    pub(super) fn heard(&mut self, subject: &Subject<'_>, heard: Heard<'_>) -> Step {
        match (self.stage, heard) {
            (Stage::Check, Heard::Began(_) | Heard::Ended(_)) => self.await_run(subject),
            _ => Step::Wait,
        }
    }

    pub(super) fn woke(&mut self, subject: &Subject<'_>) -> Step {
        match self.stage {
            Stage::Loading => self.begin(subject),
            Stage::Native | Stage::Last => self.pull.woke(subject),
            Stage::Check if subject.flycheck.is_overdue(subject.now) => {
                let never = || Gap::new(Cause::TimedOut, "cargo check does not begin");
                Step::Done(Err(subject.flycheck.trouble().unwrap_or_else(never)))
            }
            Stage::Check => self.await_run(subject),
        }
    }

    fn start_over(&mut self) -> Step {
        self.stage = Stage::Loading;
        Step::Wait
    }

    fn pulled(&mut self, subject: &Subject<'_>, found: Vec<Finding>) -> Step {
        if found.iter().any(|finding| finding.code == UNLINKED) {
            let gap = Gap::new(Cause::ProjectFault, "no crate includes the file")
                .with_remedy("declare it with `mod`");
            return Step::Done(Err(gap));
        }
        if let Some(gap) = subject.flycheck.lasting_trouble() {
            return self.trouble(subject, gap);
        }
        if self.stage == Stage::Last && !subject.flycheck.is_running() {
            return Step::Done(verdict(subject, found));
        }
        self.stage = Stage::Check;
        self.await_run(subject)
    }

    /// What mends the project may have been told a moment ago, and not be read yet.
    fn trouble(&mut self, subject: &Subject<'_>, gap: Gap) -> Step {
        if std::mem::replace(&mut self.has_waited, true) {
            return Step::Done(Err(gap));
        }
        self.stage = Stage::Loading;
        Step::WakeAt(subject.now + Duration::from_millis(RUST_RELOAD_MS))
    }

    fn await_run(&mut self, subject: &Subject<'_>) -> Step {
        if subject.is_loading || subject.flycheck.is_running() {
            return Step::Wait;
        }
        if !subject.flycheck.covers(subject.ticket) {
            return Step::Check;
        }
        self.stage = Stage::Last;
        pull::ask(subject)
    }
}

/// Both lanes. What both say is said once, in the compiler's words; without an error of its own
/// the file is clean only when the run reached everything.
fn verdict(subject: &Subject<'_>, native: Vec<Finding>) -> Result<Vec<Finding>, Gap> {
    let unreadable = || Gap::new(Cause::Crashed, "published diagnostics could not be read");
    let items = subject.flycheck.items(subject.file);
    let mut found = findings(subject.about, &items).ok_or_else(unreadable)?;
    // In a project with a fault the server's own words are mostly about the fault.
    let native = match subject.flycheck.trouble() {
        Some(_) => Vec::new(),
        None => native,
    };
    let is_twice = |one: &Finding| {
        let is_same = |other: &Finding| {
            other.range.start == one.range.start
                && (other.code == one.code || other.message == one.message)
        };
        found.iter().any(is_same)
    };
    let native: Vec<Finding> = native.into_iter().filter(|one| !is_twice(one)).collect();
    found.extend(native);
    let root = root_of(subject);
    match subject.flycheck.doubt(root).filter(|_| !has_error(&found)) {
        Some(gap) => Err(gap),
        None => Ok(found),
    }
}

fn has_error(found: &[Finding]) -> bool {
    found.iter().any(|finding| finding.severity == Severity::Error)
}

/// The project's root: the file's absolute path without its relative one.
fn root_of<'a>(subject: &Subject<'a>) -> &'a Path {
    let depth = subject.about.path.as_str().split('/').count();
    subject.file.ancestors().nth(depth).unwrap_or(subject.file)
}

#[cfg(test)]
mod tests;
