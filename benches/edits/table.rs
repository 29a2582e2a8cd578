//! The one table of the bench, with its budgets.

use std::fmt;

use crate::play::score::{DEPENDENTS_PERCENT_MIN, Score};
use crate::timing::Timing;

/// Exit code when a budget is exceeded.
pub(crate) const EXCEEDED: u8 = 1;
/// Exit code when something could not be measured.
const UNMEASURED: u8 = 4;

/// Errors of the edited file that are found, in percent.
const OWN_PERCENT_MIN: f64 = 100.0;
/// Maximum ratio of an answer's time to that of a minimal client with the same knowledge.
const RATIO_MAX: f64 = 1.15;
/// Resident memory of the engine without its servers, in MB (10⁶ bytes).
const RSS_MB_MAX: f64 = 80.0;

/// One server's results.
#[derive(Debug)]
struct Row {
    name: &'static str,
    score: Score,
    timing: Result<Timing, String>,
}

impl Row {
    fn excess(&self) -> Vec<&'static str> {
        let score = &self.score;
        let is_slow = self.timing.as_ref().is_ok_and(|timing| timing.ratio() > RATIO_MAX);
        [
            (!score.stale.is_empty(), "stale"),
            (!score.false_clean.is_empty(), "false clean"),
            (score.own_percent() < OWN_PERCENT_MIN, "own"),
            (score.dependents.percent() < DEPENDENTS_PERCENT_MIN, "dependents"),
            (is_slow, "ratio"),
        ]
        .into_iter()
        .filter_map(|(is_over, what)| is_over.then_some(what))
        .collect()
    }
}

/// All results, in the order they were added.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
    unmeasured: Vec<String>,
    engine: Option<(f64, usize)>,
}

impl Table {
    pub(crate) fn add(&mut self, name: &'static str, score: Score, timing: Result<Timing, String>) {
        if let Err(reason) = &timing {
            self.unmeasured(name, &format!("time: {reason}"));
        }
        self.rows.push(Row { name, score, timing });
    }

    /// Something without a result, and why.
    pub(crate) fn unmeasured(&mut self, name: &str, reason: &str) {
        self.unmeasured.push(format!("{name}: not measured: {reason}"));
    }

    /// Memory of the engine while this number of servers runs.
    pub(crate) fn engine(&mut self, megabytes: f64, servers: usize) {
        self.engine = Some((megabytes, servers));
    }

    pub(crate) fn exit_code(&self) -> u8 {
        let is_large = self.engine.is_some_and(|(megabytes, _)| megabytes > RSS_MB_MAX);
        if is_large || self.rows.iter().any(|row| !row.excess().is_empty()) {
            return EXCEEDED;
        }
        if self.unmeasured.is_empty() { 0 } else { UNMEASURED }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:27} {:>9} {:>5} {:>7} {:>5} {:>6} {:>6} {:>13} {:>6} {:>11} {:>4} {:>9} {:>7} {:>7} {:>7} {:>8} {:>6}",
            "server",
            "version",
            "steps",
            "answers",
            "stale",
            "false",
            "own %",
            "hook/next/end",
            "dep. %",
            "cmd told/of",
            "gaps",
            "median ms",
            "pair ms",
            "bare ms",
            "seen ms",
            "known ms",
            "ratio"
        )?;
        for row in &self.rows {
            row.fmt(f)?;
        }
        if let Some((megabytes, servers)) = self.engine {
            let verdict = if megabytes > RSS_MB_MAX { "OVER" } else { "ok" };
            writeln!(
                f,
                "engine beside {servers} servers: {megabytes:.1} MB (≤ {RSS_MB_MAX}) {verdict}"
            )?;
        }
        writeln!(
            f,
            "budgets: stale 0, false clean 0, own {OWN_PERCENT_MIN} %, dependents ≥ \
             {DEPENDENTS_PERCENT_MIN} % by the Stop, ratio ≤ {RATIO_MAX}\n\
             ratio: (pair - bare) / known. pair: a hook that answers; bare: one that asks nobody; \
             seen, known: a client of the server alone has seen the right list, knows it is the last"
        )?;
        for row in &self.rows {
            if let Ok(Timing { late: late @ 1.., .. }) = row.timing {
                writeln!(f, "{}: {late} answers came late and are in no time", row.name)?;
            }
            for (reason, times) in &row.score.gaps {
                writeln!(f, "{}: not measured {times} ×: {reason}", row.name)?;
            }
        }
        self.unmeasured.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let score = &self.score;
        let (tool, command) = (&score.by_tool, &score.by_command);
        let when = |of: fn(&crate::play::score::Found) -> usize| of(tool) + of(command);
        let found =
            format!("{}/{}/{}", when(|it| it.at_once), when(|it| it.later), when(|it| it.at_last));
        let told = format!("{}/{}", command.at_once, command.expected);
        let ms = |time: Option<std::time::Duration>| {
            time.map_or("-".to_owned(), |time| format!("{:.0}", time.as_secs_f64() * 1e3))
        };
        let timing = self.timing.as_ref().ok();
        let of = |time: fn(&Timing) -> std::time::Duration| ms(timing.map(time));
        let ratio = timing.map_or("-".to_owned(), |it| format!("{:.2}", it.ratio()));
        // One server reports a whole document as its version.
        let version: String = score.version.chars().take(9).collect();
        let excess = self.excess();
        let verdict = if excess.is_empty() {
            "ok".to_owned()
        } else {
            format!("OVER: {}", excess.join(", "))
        };
        let gaps: usize = score.gaps.values().sum();
        writeln!(
            f,
            "{:27} {:>9} {:>5} {:>7} {:>5} {:>6} {:>6.1} {:>13} {:>6.1} {:>11} {:>4} {:>9} {:>7} {:>7} {:>7} {:>8} {:>6}  {}",
            self.name,
            version,
            score.steps,
            score.answers,
            score.stale.len(),
            score.false_clean.len(),
            score.own_percent(),
            found,
            score.dependents.percent(),
            told,
            gaps,
            ms(score.median()),
            of(|it| it.hook),
            of(|it| it.bare),
            of(|it| it.seen),
            of(|it| it.known),
            ratio,
            verdict
        )
    }
}
