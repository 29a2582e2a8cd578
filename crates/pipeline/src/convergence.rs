//! The strategy after a gate failed again: fix it, start with a fresh context, or plan again. Sets
//! of problems are compared, not only numbers.

use serde::{Deserialize, Serialize};

use moai_base::limits::{DIVERGING_ROUNDS, SAME_FAILURE_ROUNDS, STRUCTURAL_DROP_PERCENT};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixRound {
    /// TODOs whose commands passed.
    pub passed: usize,
    /// All TODOs.
    pub total: usize,
    /// Hash of all problems; `None` if there are none.
    pub problems: Option<String>,
}

/// The strategy of the next round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixStrategy {
    /// Fix the reported problems.
    FixNow,
    /// The same problems repeatedly: a different approach in a fresh context.
    FreshContext,
    /// Most of it fails, or it gets worse: plan again.
    Replan,
}

/// The strategy after these rounds of one plan, the latest last.
#[must_use]
pub fn fix_strategy(rounds: &[FixRound]) -> FixStrategy {
    let Some(last) = rounds.last() else { return FixStrategy::FixNow };
    let is_mostly_failing = last.passed * 2 < last.total;
    let best = rounds.iter().map(|round| round.passed).max().unwrap_or_default();
    let has_dropped = |round: &FixRound| {
        (best - round.passed) * 100 > round.total.max(1) * STRUCTURAL_DROP_PERCENT
    };
    // A single drop may be temporary.
    let is_diverging = rounds.len() > DIVERGING_ROUNDS
        && rounds.iter().rev().take(DIVERGING_ROUNDS).all(has_dropped);
    if is_mostly_failing || is_diverging {
        return FixStrategy::Replan;
    }
    let latest = rounds.iter().rev().take(SAME_FAILURE_ROUNDS);
    let is_same = last.problems.is_some()
        && rounds.len() >= SAME_FAILURE_ROUNDS
        && latest.into_iter().all(|round| round.problems == last.problems);
    if is_same { FixStrategy::FreshContext } else { FixStrategy::FixNow }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(passed: usize, problems: &str) -> FixRound {
        let problems = Some(problems.to_owned()).filter(|it| !it.is_empty());
        FixRound { passed, total: 10, problems }
    }

    #[test]
    fn the_strategy_follows_sets_of_problems_and_pass_counts() {
        assert_eq!(fix_strategy(&[]), FixStrategy::FixNow);
        assert_eq!(fix_strategy(&[round(10, "a"), round(10, "b")]), FixStrategy::FixNow);
        let same = [round(10, "a"), round(10, "a"), round(10, "a")];
        assert_eq!(fix_strategy(&same), FixStrategy::FreshContext);
        assert_eq!(fix_strategy(&same[..2]), FixStrategy::FixNow);
        let none = [round(10, ""), round(10, ""), round(10, "")];
        assert_eq!(fix_strategy(&none), FixStrategy::FixNow);
        assert_eq!(fix_strategy(&[round(4, "a")]), FixStrategy::Replan);
        assert_eq!(fix_strategy(&[round(5, "a")]), FixStrategy::FixNow, "half is not most");
        assert_eq!(fix_strategy(&[round(10, "a"), round(9, "b")]), FixStrategy::FixNow);
        let dropped = [round(10, "a"), round(8, "b"), round(8, "c")];
        assert_eq!(fix_strategy(&dropped), FixStrategy::Replan);
        assert_eq!(fix_strategy(&dropped[..2]), FixStrategy::FixNow, "it may be a step on the way");
    }
}
