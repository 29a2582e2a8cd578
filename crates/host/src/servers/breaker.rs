//! Circuit breaker of a crashing server: when it may be restarted, and that one trial request comes
//! first.
//!
//! ```text
//! closed --crash--> open (requests get the gap) --pause over--> half open (one trial request)
//!   ^                 ^--------------- crash, longer pause ----------------'      |
//!   `------------------------------- answer --------------------------------------'
//! ```

use std::time::{Duration, Instant};

use moai_base::limits::{SERVER_RESTART_MS_MAX, SERVER_RESTART_MS_MIN};
use moai_base::verdict::Gap;

/// The breaker of one server.
#[derive(Debug, Default)]
pub(super) struct CrashBreaker {
    crashes: u32,
    open: Option<(Instant, Gap)>,
    last_gap: Option<Gap>,
}

impl CrashBreaker {
    /// The server crashed: no request is sent during a pause that grows with each crash.
    pub(super) fn record_crash(&mut self, gap: Gap, now: Instant) {
        let pause_ms = SERVER_RESTART_MS_MAX.min(SERVER_RESTART_MS_MIN << self.crashes.min(10));
        self.crashes = self.crashes.saturating_add(1);
        self.last_gap = Some(gap.clone());
        self.open = Some((now + Duration::from_millis(pause_ms), gap));
    }

    /// The server answered: earlier crashes no longer count.
    pub(super) fn record_answer(&mut self) {
        self.crashes = 0;
        self.open = None;
    }

    /// The user requests a start, whatever happened before.
    pub(super) fn reset(&mut self) {
        self.record_answer();
    }

    /// The gap for a request during the pause.
    pub(super) fn refusal_gap(&self, now: Instant) -> Option<&Gap> {
        self.open.as_ref().filter(|(until, _)| now < *until).map(|(_, gap)| gap)
    }

    /// True if only one request may be sent until it is answered.
    pub(super) fn is_half_open(&self) -> bool {
        self.open.is_some()
    }

    /// Why the server was last abandoned.
    pub(super) fn last_gap(&self) -> Option<&Gap> {
        self.last_gap.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::verdict::Cause;

    fn gap() -> Gap {
        Gap::new(Cause::Crashed, "it ended")
    }

    #[test]
    fn the_pause_doubles_up_to_a_bound_and_always_ends() {
        let mut breaker = CrashBreaker::default();
        let mut now = Instant::now();
        for pause_ms in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000] {
            assert!(breaker.refusal_gap(now).is_none());
            breaker.record_crash(gap(), now);
            let just_before = now + Duration::from_millis(pause_ms - 1);
            assert_eq!(breaker.refusal_gap(just_before), Some(&gap()));
            now += Duration::from_millis(pause_ms);
            assert!(breaker.is_half_open());
        }
        for _ in 0..100 {
            breaker.record_crash(gap(), now);
        }
        assert!(breaker.refusal_gap(now + Duration::from_mins(1)).is_none());
    }

    #[test]
    fn an_answer_closes_it_and_the_reason_is_remembered() {
        let mut breaker = CrashBreaker::default();
        let now = Instant::now();
        breaker.record_crash(gap(), now);
        breaker.record_crash(gap(), now);
        breaker.record_answer();
        assert!(breaker.refusal_gap(now).is_none() && !breaker.is_half_open());
        assert_eq!(breaker.last_gap(), Some(&gap()));
        breaker.record_crash(gap(), now);
        assert!(
            breaker.refusal_gap(now + Duration::from_millis(500)).is_none(),
            "counted from anew"
        );
    }
}
