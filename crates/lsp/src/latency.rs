//! Learns how long a server takes from its answers, and decides how long to wait for the next one.
//! Cold and warm times are separate, because the first answer includes the start and the loading of
//! the project.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use moai_base::limits::{
    DIAGNOSTICS_MS_MAX, DIAGNOSTICS_MS_MIN, INLINE_MS_MIN, LATENCY_SAMPLES_MAX, LATENCY_SAMPLES_MIN,
};

/// The latency of one server in one project.
#[derive(Clone, Debug, Default)]
pub struct ServerLatency {
    cold: LatencyWindow,
    warm: LatencyWindow,
    /// True if it has answered since its last failure.
    is_warm: bool,
    /// The oldest request since its last answer.
    open_since: Option<Instant>,
}

/// The latest times; the oldest are dropped beyond the bound.
#[derive(Clone, Debug, Default)]
struct LatencyWindow(VecDeque<Duration>);

impl LatencyWindow {
    fn push(&mut self, took: Duration) {
        if self.0.len() >= LATENCY_SAMPLES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(took);
    }

    /// The time within which this percentage of the answers arrived.
    fn percentile(&self, percent: usize) -> Option<Duration> {
        let mut sorted: Vec<Duration> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.checked_sub(1)?).copied()
    }
}

impl ServerLatency {
    pub fn record_request(&mut self, now: Instant) {
        self.open_since.get_or_insert(now);
    }

    pub fn record_answer(&mut self, took: Duration) {
        let window = if self.is_warm { &mut self.warm } else { &mut self.cold };
        window.push(took);
        self.is_warm = true;
        self.open_since = None;
    }

    /// Records a failure: the next answer is a cold one.
    pub fn record_failure(&mut self) {
        self.is_warm = false;
        self.open_since = None;
    }

    /// How long an edit waits for the answer, at most `budget`. Short when no answer is expected
    /// within the budget anyway; the whole budget while too little is known.
    #[must_use]
    pub fn inline_wait(&self, budget: Duration, now: Instant) -> Duration {
        let short = budget.min(Duration::from_millis(INLINE_MS_MIN));
        let window = if self.is_warm { &self.warm } else { &self.cold };
        // One slow answer among fast ones is ignored.
        let is_slow = window.percentile(50).is_some_and(|typical| typical > budget);
        // A request from a while ago is unanswered: the server is starting or loading.
        let is_loading = !self.is_warm
            && self.open_since.is_some_and(|since| now.duration_since(since) > budget / 2);
        if is_slow || is_loading {
            return short;
        }
        match window.percentile(95) {
            Some(p95) if self.is_warm && window.0.len() >= LATENCY_SAMPLES_MIN => {
                (p95 * 3 / 2).clamp(short, budget)
            }
            _ => budget,
        }
    }

    /// How long to wait for a deferred report.
    #[must_use]
    pub fn deferred_timeout(&self) -> Duration {
        let longest = Duration::from_millis(DIAGNOSTICS_MS_MAX);
        let slowest = self.cold.percentile(95).max(self.warm.percentile(95));
        slowest.map_or(longest, |slowest| {
            (slowest * 3).clamp(Duration::from_millis(DIAGNOSTICS_MS_MIN), longest)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET_MS: u64 = 2_500;

    /// The wait after these answers, the first of which is cold; 0 is a failure.
    fn check(answers_ms: &[u64], expected_ms: u64) -> ServerLatency {
        let mut latency = ServerLatency::default();
        let now = Instant::now();
        for took in answers_ms {
            latency.record_request(now);
            match took {
                0 => latency.record_failure(),
                _ => latency.record_answer(Duration::from_millis(*took)),
            }
        }
        let wait = latency.inline_wait(Duration::from_millis(BUDGET_MS), now);
        assert_eq!(wait.as_millis(), u128::from(expected_ms), "{answers_ms:?}");
        latency
    }

    #[test]
    fn without_samples_the_whole_budget_is_used() {
        check(&[], BUDGET_MS);
        check(&[1_000], BUDGET_MS);
        check(&[20_000], BUDGET_MS);
        check(&[1_000, 100], BUDGET_MS);
    }

    #[test]
    fn a_warm_server_gets_half_more_than_its_usual_time() {
        let warm = |took| [[1_000].as_slice(), &[took; LATENCY_SAMPLES_MIN]].concat();
        check(&warm(600), 900);
        check(&warm(20), INLINE_MS_MIN);
        check(&warm(2_400), BUDGET_MS);
        let mut one_slow = warm(600);
        one_slow.push(60_000);
        check(&one_slow, BUDGET_MS);
    }

    #[test]
    fn an_answer_that_cannot_arrive_in_time_is_not_awaited() {
        check(&[20_000, 20_000], INLINE_MS_MIN);
        // Known to start slowly, and now starting.
        check(&[20_000, 100, 0], INLINE_MS_MIN);
        // Known to start fast.
        check(&[900, 100, 0], BUDGET_MS);
    }

    #[test]
    fn a_silent_server_is_not_awaited() {
        let (mut latency, start) = (ServerLatency::default(), Instant::now());
        latency.record_request(start);
        let wait = |latency: &ServerLatency, after_ms| {
            let now = start + Duration::from_millis(after_ms);
            latency.inline_wait(Duration::from_millis(BUDGET_MS), now).as_millis()
        };
        assert_eq!(wait(&latency, 30), u128::from(BUDGET_MS));
        assert_eq!(wait(&latency, 2_600), u128::from(INLINE_MS_MIN));
        latency.record_answer(Duration::from_secs(4));
        assert_eq!(wait(&latency, 5_000), u128::from(BUDGET_MS));
    }

    #[test]
    fn a_small_budget_stays_the_upper_bound() {
        let latency = check(&[20_000, 20_000], INLINE_MS_MIN);
        let small = Duration::from_millis(1);
        assert_eq!(latency.inline_wait(small, Instant::now()), small);
    }

    #[test]
    fn deferred_answers_are_awaited_within_bounds() {
        let check = |took: &[u64], expected_ms| {
            let latency = check(took, BUDGET_MS);
            assert_eq!(latency.deferred_timeout().as_millis(), u128::from(expected_ms));
        };
        check(&[], DIAGNOSTICS_MS_MAX);
        check(&[1_000], DIAGNOSTICS_MS_MIN);
        check(&[20_000], 60_000);
        check(&[100_000], DIAGNOSTICS_MS_MAX);
    }

    #[test]
    fn only_the_newest_answers_count() {
        let many = [[1_000].as_slice(), &[2_000; 50], &[400; LATENCY_SAMPLES_MAX]].concat();
        check(&many, 600);
    }
}
