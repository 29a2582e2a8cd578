//! How long the answer to a Stop that goes on is held back. It must not know who waits.

use std::time::{Duration, Instant};

/// What is left of the time from the beginning of a Stop to its answer; never past the deadline.
#[must_use]
pub fn remaining_cooldown(
    began: Instant,
    now: Instant,
    cooldown: Duration,
    deadline: Instant,
) -> Duration {
    let passed = now.saturating_duration_since(began);
    cooldown.saturating_sub(passed).min(deadline.saturating_duration_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measuring_counts_and_the_deadline_comes_first() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let rest = |now, cooldown, deadline| {
            remaining_cooldown(began, at(now), Duration::from_millis(cooldown), at(deadline))
                .as_millis()
        };
        assert_eq!(rest(0, 0, 9_000), 0, "switched off");
        assert_eq!(rest(0, 1_000, 9_000), 1_000);
        assert_eq!(rest(400, 1_000, 9_000), 600);
        assert_eq!(rest(1_000, 1_000, 9_000), 0);
        assert_eq!(rest(5_000, 1_000, 9_000), 0);
        assert_eq!(rest(8_500, 60_000, 9_000), 500);
        assert_eq!(rest(9_500, 60_000, 9_000), 0, "it is too late already");
    }
}
