//! The progress of a loop: its problems as one weight and as fingerprints, compared over the
//! iterations. Only counts are compared; line numbers and the order of findings do not matter.

use std::collections::BTreeSet;

use super::state::Iteration;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::{Finding, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    DIVERGING_ITERATIONS_MIN, FLIP_ERRORS_MAX, FLIP_ITERATIONS_MAX, FLIPS_MIN,
    NO_OP_ITERATIONS_MIN, STALL_ITERATIONS_MAX,
};

/// Weight of an error, a failed test, or a failed check without test counts.
const ERROR: u64 = 8;
/// Weight of a warning about a weakness (CWE).
const WEAKNESS: u64 = 6;
/// Weight of other warnings.
const WARNING: u64 = 2;
/// Weight of information.
const STYLE: u64 = 1;
/// Name of the guard's readings and findings.
const GUARD: &str = "guard";

/// The problems of one Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemDigest {
    /// Their total weight; `None` if a measurement is missing that may still come.
    pub weight: Option<u64>,
    /// Hash over all of them, with multiplicity; `None` without problems.
    pub hash: Option<String>,
    /// Fingerprints of the errors, sorted and bounded.
    pub errors: Vec<String>,
    /// Codes of the guard's blocking findings, sorted.
    pub guard_codes: Vec<String>,
}

/// Weighs the problems. `check_problems` is the number that the failing checks report.
#[must_use]
pub fn weigh(evidence: &Evidence, check_problems: Option<u64>) -> ProblemDigest {
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    let mut errors: Vec<String> =
        evidence.findings.iter().filter(is_error).map(|finding| finding.id.clone()).collect();
    errors.sort();
    errors.truncate(FLIP_ERRORS_MAX);
    let guarded =
        evidence.findings.iter().filter(is_error).filter(|finding| finding.sensor == GUARD);
    let guard_codes: BTreeSet<String> = guarded.map(|finding| finding.code.clone()).collect();
    let is_whole = !evidence.readings.is_empty()
        && !evidence
            .readings
            .iter()
            .any(|reading| reading.gap.as_ref().is_some_and(|gap| gap.cause.is_transient()));
    ProblemDigest {
        weight: is_whole.then(|| weight(evidence, check_problems)),
        hash: hash(evidence),
        errors,
        guard_codes: guard_codes.into_iter().collect(),
    }
}

fn weight(evidence: &Evidence, check_problems: Option<u64>) -> u64 {
    let findings: u64 = evidence.findings.iter().map(weight_of).sum();
    let checks = failed_checks(evidence).count() as u64;
    findings + ERROR * checks.max(if checks > 0 { check_problems.unwrap_or(0) } else { 0 })
}

fn weight_of(finding: &Finding) -> u64 {
    match finding.severity {
        Severity::Error => ERROR,
        Severity::Warning if !finding.cwe.is_empty() => WEAKNESS,
        Severity::Warning => WARNING,
        Severity::Info => STYLE,
        Severity::Hint => 0,
    }
}

fn failed_checks(evidence: &Evidence) -> impl Iterator<Item = &SensorReading> {
    evidence.readings.iter().filter(|reading| is_failed_check(reading))
}

/// True if a reading failed as a whole: a check, or a lost sensor. Other dirty readings have
/// findings.
#[must_use]
pub fn is_failed_check(reading: &SensorReading) -> bool {
    reading.dirty && (reading.kind == SensorKind::Check || reading.output.is_some())
}

/// Without the numbers in a check's output, because times and counts differ in every run.
fn hash(evidence: &Evidence) -> Option<String> {
    let findings = evidence.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    let checks = failed_checks(evidence).map(|check| {
        let output = check.output.as_deref().unwrap_or_default();
        let words: String = output.chars().filter(|it| !it.is_ascii_digit()).collect();
        format!("{}\n{words}", check.sensor)
    });
    let mut parts: Vec<String> = findings.map(|finding| finding.id.clone()).chain(checks).collect();
    parts.sort();
    (!parts.is_empty()).then(|| ContentHash::of_bytes(parts.join("\0").as_bytes()).short_hex())
}

/// The comparison of an iteration with those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgressSignals {
    /// Clearly better than every iteration since the last clean one.
    pub is_better: bool,
    /// Consecutive iterations without improvement, including this one.
    pub stalled_for: usize,
    /// The best iteration, if this one is clearly worse.
    pub worse_than: Option<u32>,
    /// The number of an iteration with the same problems, and of one in between with others.
    pub oscillates: Option<(u32, u32)>,
    /// The agent was warned before, and nothing improved since.
    pub oscillates_again: bool,
    /// Fingerprints of errors that keep coming back.
    pub flips: Vec<String>,
    /// No file changed for several iterations.
    pub is_no_op: bool,
    /// For several iterations, as many errors were introduced as fixed.
    pub is_diverging: bool,
    /// Guard codes that the agent was warned about before.
    pub gamed_again: Vec<String>,
}

impl ProgressSignals {
    /// True if nothing improved for too long.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.stalled_for >= STALL_ITERATIONS_MAX
    }
}

/// Compares an iteration with those after iteration `counted_from`. Gaming is compared with all
/// iterations.
#[must_use]
pub fn signals(all: &[Iteration], counted_from: u32, current: &Iteration) -> ProgressSignals {
    let history = &all[all.partition_point(|iteration| iteration.number <= counted_from)..];
    let is_better = is_better(history, current);
    let oscillates = current.wrong.as_ref().and_then(|_| oscillation(history, current));
    ProgressSignals {
        is_better,
        stalled_for: stalled_for(history, current, is_better),
        worse_than: worse_than(history, current),
        oscillates_again: oscillates.is_some() && !is_better && was_oscillation_reported(history),
        oscillates,
        flips: flips(history, current),
        is_no_op: current.wrong.is_some() && unchanged(history, current) >= NO_OP_ITERATIONS_MIN,
        is_diverging: !is_better && is_diverging(history, current),
        gamed_again: gamed_again(all, current),
    }
}

/// The measured iterations since the last clean one.
fn since_clean(history: &[Iteration]) -> impl DoubleEndedIterator<Item = (&Iteration, u64)> {
    let begin = history
        .iter()
        .rposition(|iteration: &Iteration| iteration.wrong.is_none() && iteration.weight.is_some())
        .map_or(0, |at| at + 1);
    history[begin..].iter().filter_map(|iteration| Some((iteration, iteration.weight?)))
}

fn is_better(history: &[Iteration], current: &Iteration) -> bool {
    let Some(weight) = current.weight.filter(|_| current.guard_codes.is_empty()) else {
        return false;
    };
    if current.wrong.is_none() {
        return true;
    }
    let best = since_clean(history)
        .filter(|(iteration, _)| iteration.is_better)
        .map(|(_, weight)| weight)
        .min();
    let first = since_clean(history).map(|(_, weight)| weight).next();
    let margin = (first.unwrap_or(0) * 3 / 100).max(1);
    best.is_none_or(|best| weight + margin <= best)
}

fn stalled_for(history: &[Iteration], current: &Iteration, is_better: bool) -> usize {
    // An incomplete measurement shows nothing, and a clean iteration cannot improve.
    if is_better || current.wrong.is_none() || current.weight.is_none() {
        return 0;
    }
    1 + since_clean(history).rev().take_while(|(iteration, _)| !iteration.is_better).count()
}

/// Worse by more than a tenth.
fn worse_than(history: &[Iteration], current: &Iteration) -> Option<u32> {
    let weight = current.weight?;
    let (best, least_weight) = since_clean(history)
        .filter(|(iteration, _)| iteration.guard_codes.is_empty())
        .min_by_key(|(iteration, weight)| (*weight, std::cmp::Reverse(iteration.number)))?;
    (weight * 10 > least_weight * 11).then_some(best.number)
}

/// Finds an earlier iteration with the same problems, or the same files, and different ones in
/// between.
fn oscillation(history: &[Iteration], current: &Iteration) -> Option<(u32, u32)> {
    // An incomplete measurement only looks like a different state.
    let measured: Vec<&Iteration> =
        history.iter().filter(|iteration| iteration.weight.is_some()).collect();
    let (last, earlier) = current.weight.and(measured.split_last())?;
    let is_same_tree = |a: &Iteration, b: &Iteration| a.tree.is_some() && a.tree == b.tree;
    if is_same_tree(last, current) {
        // No file changed, so a difference comes from the sensors.
        return None;
    }
    earlier
        .iter()
        .rfind(|iteration: &&&Iteration| {
            let is_as_wrong = iteration.wrong == current.wrong && last.wrong != current.wrong;
            iteration.wrong.is_some() && (is_as_wrong || is_same_tree(iteration, current))
        })
        .map(|iteration| (iteration.number, last.number))
}

fn was_oscillation_reported(history: &[Iteration]) -> bool {
    let since = history.iter().rev().take_while(|iteration| !iteration.is_better);
    since.into_iter().any(|iteration| iteration.oscillation_was_reported)
}

/// Consecutive iterations, including this one, that changed no file.
fn unchanged(history: &[Iteration], current: &Iteration) -> usize {
    let Some(tree) = &current.tree else { return 0 };
    history.iter().rev().take_while(|iteration| iteration.tree.as_ref() == Some(tree)).count()
}

fn flips(history: &[Iteration], current: &Iteration) -> Vec<String> {
    // Older iterations have dropped their errors, and unmeasured ones have none.
    let recent = &history[history.len().saturating_sub(FLIP_ITERATIONS_MAX)..];
    current
        .errors_seen
        .iter()
        .filter(|id| {
            let measured = recent.iter().filter(|iteration| iteration.weight.is_some());
            let was_present =
                measured.map(|iteration| iteration.errors_seen.binary_search(id).is_ok());
            let row: Vec<bool> = was_present.skip_while(|it| !it).chain([true]).collect();
            row.windows(2).filter(|pair| !pair[0] && pair[1]).count() >= FLIPS_MIN
        })
        .cloned()
        .collect()
}

fn is_diverging(history: &[Iteration], current: &Iteration) -> bool {
    let row: Vec<&Iteration> = history.iter().chain([current]).collect();
    let is_whole = |iteration: &Iteration| {
        iteration.weight.is_some() && iteration.errors_seen.len() < FLIP_ERRORS_MAX
    };
    let latest = row.windows(2).rev().take(DIVERGING_ITERATIONS_MIN);
    row.len() > DIVERGING_ITERATIONS_MIN
        && latest.into_iter().all(|pair| {
            let [before, after] = pair else { return false };
            let new =
                after.errors_seen.iter().filter(|it| !before.errors_seen.contains(it)).count();
            let fixed =
                before.errors_seen.iter().filter(|it| !after.errors_seen.contains(it)).count();
            is_whole(before) && is_whole(after) && new > 0 && new >= fixed
        })
}

fn gamed_again(history: &[Iteration], current: &Iteration) -> Vec<String> {
    current
        .guard_codes
        .iter()
        .filter(|code| history.iter().any(|iteration| iteration.guard_codes.contains(code)))
        .cloned()
        .collect()
}

/// The iteration with the least weight; of equal ones the latest, which has the most work. A gamed
/// iteration is never the best.
#[must_use]
pub fn best(history: &[Iteration]) -> Option<&Iteration> {
    let honest = history.iter().filter(|iteration| iteration.guard_codes.is_empty());
    let measured = honest.filter_map(|iteration| Some((iteration, iteration.weight?)));
    measured
        .min_by_key(|(iteration, weight)| (*weight, std::cmp::Reverse(iteration.number)))
        .map(|it| it.0)
}

#[cfg(test)]
mod tests;
