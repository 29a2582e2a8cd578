//! The score of a play: wrong answers of the program.

use std::collections::BTreeMap;
use std::time::Duration;

/// Percentage of the files broken by a change elsewhere that the Stop must list.
pub(crate) const DEPENDENTS_PERCENT_MIN: f64 = 95.0;

/// Numbers of expected and found errors, by occasion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) expected: usize,
    /// By the hook of the change itself.
    pub(crate) at_once: usize,
    /// By a later hook.
    pub(crate) later: usize,
    /// By the check or the Stop.
    pub(crate) at_last: usize,
    /// Errors that no answer reported.
    pub(crate) missed: Vec<String>,
}

impl Found {
    /// The part that was found, in percent; all of nothing is everything.
    pub(crate) fn percent(&self) -> f64 {
        let share = |part: usize, of: usize| -> f64 {
            let whole = u32::try_from(of).map_or(f64::MAX, f64::from);
            u32::try_from(part).map_or(f64::MAX, f64::from) * 100.0 / whole
        };
        match self.expected {
            0 => 100.0,
            of => share(self.at_once + self.later + self.at_last, of),
        }
    }
}

/// The result of one play.
#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    pub(crate) version: String,
    pub(crate) steps: usize,
    /// Hooks, Stops and checks that said something.
    pub(crate) answers: usize,
    /// Findings that are not true of the bytes.
    pub(crate) stale: Vec<String>,
    /// Clean, or silence without a reason, where something is wrong.
    pub(crate) false_clean: Vec<String>,
    /// Errors put into the edited file by the host's tools.
    pub(crate) by_tool: Found,
    /// The same by commands that wrote files.
    pub(crate) by_command: Found,
    /// Files broken by a change elsewhere, by the Stop.
    pub(crate) dependents: Found,
    /// Why something was not measured, and how often.
    pub(crate) gaps: BTreeMap<String, usize>,
    /// Durations of edit hooks that were answered completely.
    pub(crate) times: Vec<Duration>,
    /// Actions and answers, one line each.
    pub(crate) journal: Vec<String>,
}

impl Score {
    /// Errors put into edited files, however they were written: found, in percent.
    pub(crate) fn own_percent(&self) -> f64 {
        let sum = |of: fn(&Found) -> usize| of(&self.by_tool) + of(&self.by_command);
        let both = Found {
            expected: sum(|it| it.expected),
            at_once: sum(|it| it.at_once),
            later: sum(|it| it.later),
            at_last: sum(|it| it.at_last),
            missed: Vec::new(),
        };
        both.percent()
    }

    /// Middle of the answer times.
    pub(crate) fn median(&self) -> Option<Duration> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// All complaints, one line each; a few missed dependents are allowed.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let is_enough = self.dependents.percent() >= DEPENDENTS_PERCENT_MIN;
        let dependents = if is_enough { &[][..] } else { &self.dependents.missed };
        let named = |what: &'static str, of: &[String]| {
            of.iter().map(|it| format!("{what}: {it}")).collect::<Vec<_>>()
        };
        [
            named("stale", &self.stale),
            named("false clean", &self.false_clean),
            named("missed error", &self.by_tool.missed),
            named("missed error of a command", &self.by_command.missed),
            named("missed dependent", dependents),
        ]
        .concat()
    }

    /// Counts the reasons of one answer; names and numbers in them are ignored.
    pub(crate) fn count_gaps(&mut self, gaps: &[String]) {
        for gap in gaps {
            let inside = gap.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
            let gap = inside.filter(|it| it.contains(' ')).unwrap_or(gap);
            let reason: String =
                gap.chars().map(|it| if it.is_ascii_digit() { '#' } else { it }).collect();
            *self.gaps.entry(reason).or_default() += 1;
        }
    }
}
