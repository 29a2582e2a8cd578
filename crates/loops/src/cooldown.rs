//! The delay of the answer to a held Stop.

use std::time::{Duration, Instant};

/// The rest of the cooldown, counted from the start of the Stop; never past the deadline.
#[must_use]
pub fn remaining_cooldown(
    start: Instant,
    now: Instant,
    cooldown: Duration,
    deadline: Instant,
) -> Duration {
    let passed = now.saturating_duration_since(start);
    cooldown.saturating_sub(passed).min(deadline.saturating_duration_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measuring_counts_and_the_deadline_comes_first() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let rest = |now, cooldown, deadline| {
            remaining_cooldown(start, at(now), Duration::from_millis(cooldown), at(deadline))
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
