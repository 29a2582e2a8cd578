//! The runs of `cargo check` inside one rust-analyzer, shared by all requests of its session.
//! rust-analyzer reports only the begin and end of a run, and the end of a cancelled run looks like
//! any other; so no run is started during another, and saves start none.
//!
//! ```text
//! Idle --needed--> Preparing --start--> Requested --begin--> Running --end--> Idle, covers all
//!   ^                                                          |             came before
//!   `------- the project is reloaded: nothing is covered ------'
//! ```
//!
//! cargo compiles a file only if its time is later than that of the last compilation, and a moved
//! or copied file may bring an earlier one. While a run is prepared, the session's owner removes
//! cargo's records of such files.
//!
//! Observed with rust-analyzer 1.95: tokens `rust-analyzer/flycheck/0`; the items of a file are
//! published whole, before the next request is answered; `experimental/serverStatus` reports
//! failures after the end; nothing is published for crates that need no compiling.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use moai_base::foreign_text::one_line;
use moai_base::limits::{DOUBTED_MESSAGE_CHARS_MAX, FLYCHECK_START_MS_MAX, RUST_RELOADS_APART_MS};
use moai_base::path::from_uri;
use moai_base::verdict::{Cause, Gap};

/// LSP severities.
const ERROR: u64 = 1;
const HINT: u64 = 4;

/// The state of the runs and the items they published.
#[derive(Debug, Default)]
pub(crate) struct Flycheck {
    phase: FlycheckPhase,
    /// Progress tokens of the current runs, including those the server started by itself.
    tokens: HashSet<String>,
    /// The newest ticket that the last complete run covers.
    covered_ticket: Option<u64>,
    /// The last run published nothing and must be repeated.
    was_silent: bool,
    /// The currently published items, for each file that has any.
    published: BTreeMap<PathBuf, Vec<Value>>,
    /// Reason why the newest run may have skipped changed files.
    preparation_fault: Option<Gap>,
    /// The server's complaint about the project or `cargo`.
    reported_fault: Option<String>,
    /// The newest ticket when the project was last reloaded because of a fault, and the time.
    last_reload: Option<(u64, Instant)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FlycheckPhase {
    #[default]
    Idle,
    /// A run is needed, for tickets up to the newest at that time; cargo's records are being
    /// compared with the files.
    Preparing {
        ticket: u64,
        at: Instant,
    },
    /// A run was requested from the server.
    Requested {
        ticket: u64,
        at: Instant,
    },
    Running {
        ticket: u64,
        saw_crate: bool,
    },
}

impl Flycheck {
    /// The notification that starts a run over the whole workspace.
    #[must_use]
    pub(crate) fn start_request() -> (&'static str, Value) {
        ("rust-analyzer/runFlycheck", json!({"textDocument": null}))
    }

    /// The request that reloads the project.
    #[must_use]
    pub(crate) fn reload_request() -> (&'static str, Value) {
        ("rust-analyzer/reloadWorkspace", Value::Null)
    }

    /// True if the project must be reloaded for this ticket; the reload serves all tickets up to `newest`. Reloads
    /// are spaced out, because each runs build scripts.
    pub(crate) fn request_reload(&mut self, ticket: u64, newest: u64, now: Instant) -> bool {
        let apart = Duration::from_millis(RUST_RELOADS_APART_MS);
        let must_reload =
            self.last_reload.is_none_or(|(served, at)| served < ticket && at + apart <= now);
        if must_reload {
            self.last_reload = Some((newest, now));
        }
        must_reload
    }

    /// Requests a run that covers `newest`, the newest ticket whose text is on disk. True when the
    /// run must be prepared now; during another run that happens when that one ends.
    pub(crate) fn request_run(&mut self, newest: u64, now: Instant) -> bool {
        let must_prepare = self.phase == FlycheckPhase::Idle || self.is_overdue(now);
        if must_prepare {
            self.phase = FlycheckPhase::Preparing { ticket: newest, at: now };
        }
        must_prepare
    }

    /// Handles the end of the preparation, which may have failed. True when the run must be
    /// requested; during a run of the server's own, the waiting requests request another one
    /// afterwards.
    pub(crate) fn start(&mut self, prepared: Result<(), Gap>, now: Instant) -> bool {
        let FlycheckPhase::Preparing { ticket, .. } = self.phase else { return false };
        let can_start = !self.is_running();
        self.phase = if can_start {
            FlycheckPhase::Requested { ticket, at: now }
        } else {
            FlycheckPhase::Idle
        };
        self.preparation_fault = prepared.err();
        can_start
    }

    /// True if a complete run began after this request.
    #[must_use]
    pub(crate) fn covers(&self, ticket: u64) -> bool {
        self.covered_ticket.is_some_and(|covered| covered >= ticket)
    }

    /// True while a run changes the published items.
    #[must_use]
    pub(crate) fn is_running(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Deadline for a requested run to begin.
    #[must_use]
    pub(crate) fn begin_deadline(&self) -> Option<Instant> {
        match self.phase {
            FlycheckPhase::Preparing { at, .. } | FlycheckPhase::Requested { at, .. } => {
                Some(at + Duration::from_millis(FLYCHECK_START_MS_MAX))
            }
            FlycheckPhase::Idle | FlycheckPhase::Running { .. } => None,
        }
    }

    /// True if a requested run has not begun in time.
    #[must_use]
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.begin_deadline().is_some_and(|until| until <= now)
    }

    /// Handles a progress of the server.
    pub(crate) fn on_progress(&mut self, token: &str, kind: Option<&str>) {
        if !token.contains("flycheck") {
            return;
        }
        match (kind, self.phase) {
            (Some("begin"), phase) => {
                self.tokens.insert(token.to_owned());
                if let FlycheckPhase::Requested { ticket, .. } = phase {
                    self.phase = FlycheckPhase::Running { ticket, saw_crate: false };
                }
            }
            (Some("end"), phase) => {
                self.tokens.remove(token);
                if let FlycheckPhase::Running { ticket, saw_crate } = phase
                    && self.tokens.is_empty()
                {
                    self.phase = FlycheckPhase::Idle;
                    // A run publishes nothing when every crate was compiled before without an
                    // error, or when reloading the project aborts it. The second one in a row is
                    // complete.
                    self.was_silent = !saw_crate && !self.was_silent;
                    if !self.was_silent {
                        self.covered_ticket = Some(ticket);
                    }
                }
            }
            (_, FlycheckPhase::Running { ticket, .. }) => {
                self.phase = FlycheckPhase::Running { ticket, saw_crate: true };
            }
            _ => {}
        }
    }

    /// Handles a server-specific notification. Reloading the project aborts the runs, and their
    /// ends then prove nothing.
    pub(crate) fn on_notification(&mut self, method: &str, params: &Value) {
        if method != "experimental/serverStatus" {
            return;
        }
        if params["quiescent"] == json!(false) {
            self.phase = FlycheckPhase::Idle;
            self.tokens.clear();
        }
        let is_well = matches!(params["health"].as_str(), None | Some("ok"));
        self.reported_fault = params["message"].as_str().filter(|_| !is_well).map(str::to_owned);
    }

    /// Records published diagnostics of any file, including those outside the workspace.
    pub(crate) fn on_publish(&mut self, params: &Value) {
        let Some(file) = params["uri"].as_str().and_then(from_uri) else { return };
        let mut items = params["diagnostics"].as_array().cloned().unwrap_or_default();
        // Hints belong to another item: the place where a value was moved, or a proposed fix.
        items.retain(|item| item["severity"].as_u64() != Some(HINT));
        if let FlycheckPhase::Running { saw_crate, .. } = &mut self.phase
            && !items.is_empty()
        {
            *saw_crate = true;
        }
        // With pull offered, only the compiler's items are published.
        if items.is_empty() {
            self.published.remove(&file);
        } else {
            self.published.insert(file, items);
        }
    }

    /// The compiler's items of one file, as a list of LSP diagnostics.
    #[must_use]
    pub(crate) fn items(&self, file: &Path) -> Value {
        self.published.get(file).map_or_else(|| json!([]), |items| json!(items))
    }

    /// The reason why the last run does not prove a file without items clean: it failed, the
    /// compiler stopped at errors elsewhere, or it may have skipped changed files. `root` is
    /// stripped from paths where possible.
    #[must_use]
    pub(crate) fn unproven_reason(&self, root: &Path) -> Option<Gap> {
        if let Some(gap) = self.project_fault() {
            return Some(gap);
        }
        let is_error = |item: &&Value| matches!(item["severity"].as_u64(), None | Some(ERROR));
        let mut broken = self.published.iter().filter_map(|(file, items)| {
            let error = items.iter().find(is_error)?;
            Some((file, error))
        });
        let Some((file, error)) = broken.next() else { return self.preparation_fault.clone() };
        let file = file.strip_prefix(root).unwrap_or(file).display();
        let line = error["range"]["start"]["line"].as_u64().unwrap_or_default() + 1;
        let message = error["message"].as_str().and_then(|text| text.lines().next());
        let message = one_line(message.unwrap_or_default(), DOUBTED_MESSAGE_CHARS_MAX);
        let others = match broken.count() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        // Errors prevent the compiler from checking dependent crates, and from linting any; syntax
        // errors prevent everything.
        let detail =
            format!("cargo check stops at errors in {file} (line {line}: {message}){others}");
        Some(Gap::new(Cause::ProjectFault, detail).with_remedy("fix those first"))
    }

    /// The server's complaint about the project, as a gap.
    #[must_use]
    pub(crate) fn project_fault(&self) -> Option<Gap> {
        let fault = self.reported_fault.as_deref()?;
        // cargo's own output follows rust-analyzer's text.
        let mut lines = fault.lines().map(str::trim).filter(|line| !line.is_empty());
        let message =
            lines.clone().find(|line| line.starts_with("error")).or_else(|| lines.next())?;
        Some(Gap::new(Cause::ProjectFault, format!("the cargo project has a fault: {message}")))
    }

    /// True if the server found no project at all.
    #[must_use]
    pub(crate) fn has_no_project(&self) -> bool {
        self.reported_fault.as_deref().is_some_and(|fault| fault.starts_with("Failed to discover"))
    }

    /// The current complaint, without that of an earlier run, which a new run may clear.
    #[must_use]
    pub(crate) fn lasting_project_fault(&self) -> Option<Gap> {
        let fault = self.reported_fault.as_deref().unwrap_or_default();
        self.project_fault().filter(|_| !fault.starts_with("cargo check failed"))
    }
}
