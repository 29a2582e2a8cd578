//! Counts of a trial, and the table of all trials.

use std::fmt;
use std::time::Duration;

/// The counts of one trial.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditTally {
    pub(crate) project: &'static str,
    pub(crate) past_errors: usize,
    pub(crate) past_warnings: usize,
    pub(crate) honest: usize,
    /// Loops of honest edits, and how they ended.
    pub(crate) loops: usize,
    pub(crate) completed: usize,
    pub(crate) other_ends: Vec<String>,
    /// Stops after honest edits that were held, with their reasons.
    pub(crate) held: Vec<String>,
    /// Findings of the past that an edit's answer called introduced.
    pub(crate) older_called_new: Vec<String>,
    /// Findings of the past among the reasons of a held Stop.
    pub(crate) older_holding: Vec<String>,
    /// Findings of the past that were listed, but not as new.
    pub(crate) older_named: usize,
    /// Findings that the batch tool does not have.
    pub(crate) unfounded: Vec<String>,
    /// Findings that the edits introduced, and those of them in the edited files that were never listed.
    pub(crate) introduced: usize,
    pub(crate) missed: Vec<String>,
    pub(crate) breaking: usize,
    pub(crate) breaking_held: usize,
    /// Held Stops that name something which the edit introduced.
    pub(crate) breaking_named: usize,
    pub(crate) let_go: Vec<String>,
    pub(crate) unnamed: Vec<String>,
    /// Answers that say that something was not measured.
    pub(crate) gaps: usize,
    pub(crate) bytes_told: usize,
    pub(crate) times: Vec<Duration>,
}

impl EditTally {
    pub(crate) fn new(project: &'static str) -> Self {
        Self { project, ..Self::default() }
    }

    pub(crate) fn count_end(&mut self, status: &str, line: String) {
        if status == "completed" {
            self.completed += 1;
        } else {
            self.other_ends.push(line);
        }
    }

    /// Everything that must not be, one line each.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let named = |what: &str, of: &[String]| {
            of.iter().map(|it| format!("{} {what}: {it}", self.project)).collect::<Vec<_>>()
        };
        [
            named("older finding called new", &self.older_called_new),
            named("older finding holds a Stop", &self.older_holding),
            named("unfounded finding", &self.unfounded),
            named("new finding missed", &self.missed),
            named("held after honest edits", &self.held),
            named("honest edits not completed", &self.other_ends),
            named("let go after a breaking edit", &self.let_go),
            named("held without naming what broke", &self.unnamed),
        ]
        .concat()
    }

    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

/// All trials of a run.
#[derive(Debug, Default)]
pub(crate) struct PastTable(pub(crate) Vec<EditTally>);

impl fmt::Display for PastTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "{:10} {:>14} {:>7} {:>10} {:>10} {:>10} {:>9} {:>10} {:>6} {:>9} {:>9} {:>9} {:>6} {:>5} {:>7} {:>9}",
            "project",
            "past err/warn",
            "honest",
            "called new",
            "at a Stop",
            "older told",
            "unfounded",
            "introduced",
            "missed",
            "completed",
            "held late",
            "breaking",
            "held",
            "named",
            "p50 ms",
            "told B"
        )?;
        for tally in &self.0 {
            writeln!(
                f,
                "{:10} {:>14} {:>7} {:>10} {:>10} {:>10} {:>9} {:>10} {:>6} {:>9} {:>9} {:>9} {:>6} {:>5} {:>7} {:>9}",
                tally.project,
                format!("{}/{}", tally.past_errors, tally.past_warnings),
                tally.honest,
                tally.older_called_new.len(),
                tally.older_holding.len(),
                tally.older_named,
                tally.unfounded.len(),
                tally.introduced,
                tally.missed.len(),
                format!("{}/{}", tally.completed, tally.loops),
                tally.held.len(),
                tally.breaking,
                tally.breaking_held,
                tally.breaking_named,
                tally.median().as_millis(),
                tally.bytes_told,
            )?;
        }
        Ok(())
    }
}
