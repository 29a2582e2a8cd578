//! Chooses the language server to stop when a slot is needed: the one whose loss costs least.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use moai_base::limits::{SERVER_USE_SECS, SERVER_USES_MAX};

/// The known costs of a server that could be stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvictionCandidate {
    /// Measured time from start to first answer; zero before any answer.
    pub(super) restart: Duration,
    /// Requests in the last [`SERVER_USE_SECS`].
    pub(super) uses: usize,
    /// Memory of its process tree, where it can be measured.
    pub(super) resident_bytes: Option<u64>,
    /// Time since its last request.
    pub(super) idle: Duration,
}

/// Memory assumed where it cannot be measured: that of a middling server.
const RESIDENT_MIB_ASSUMED: f64 = 300.0;
/// Below this, memory makes no difference; otherwise a server that was just started would seem
/// free.
const RESIDENT_MIB_MIN: f64 = 50.0;
/// Below this, a restart counts as free.
const RESTART_SECS_MIN: f64 = 0.1;
/// Below this, idle times make no difference: a request some seconds earlier shows the same use.
const IDLE_SECS_MIN: f64 = 10.0;

impl EvictionCandidate {
    /// The value of keeping it: restart cost times recent uses, per MiB, decaying with idle time.
    fn worth(&self) -> f64 {
        let uses = f64::from(u32::try_from(self.uses).unwrap_or(u32::MAX));
        let mib = self.resident_bytes.map_or(RESIDENT_MIB_ASSUMED, |bytes| {
            f64::from(u32::try_from(bytes / (1024 * 1024)).unwrap_or(u32::MAX))
        });
        let cost = self.restart.as_secs_f64().max(RESTART_SECS_MIN) * (1.0 + uses);
        cost / mib.max(RESIDENT_MIB_MIN) / self.idle.as_secs_f64().max(IDLE_SECS_MIN)
    }
}

/// The candidate that is least worth keeping.
pub(super) fn least_valuable<K>(
    candidates: impl Iterator<Item = (K, EvictionCandidate)>,
) -> Option<K> {
    let worth = candidates.map(|(key, candidate)| (key, candidate.worth()));
    worth.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(key, _)| key)
}

/// The times of recent requests.
#[derive(Debug, Default)]
pub(super) struct RecentUse(VecDeque<Instant>);

impl RecentUse {
    pub(super) fn note(&mut self, now: Instant) {
        if self.0.len() == SERVER_USES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(now);
    }

    /// Number of requests in the last [`SERVER_USE_SECS`].
    pub(super) fn count(&self, now: Instant) -> usize {
        let span = Duration::from_secs(SERVER_USE_SECS);
        self.0.iter().filter(|at| now.saturating_duration_since(**at) < span).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Restart in ms, uses, MiB, idle seconds.
    type Row = (u64, usize, Option<u64>, u64);

    fn check(rows: &[Row], evicted: usize) {
        let candidate = |(restart, uses, mib, idle): Row| EvictionCandidate {
            restart: Duration::from_millis(restart),
            uses,
            resident_bytes: mib.map(|mib| mib * 1024 * 1024),
            idle: Duration::from_secs(idle),
        };
        let rows_with_index = rows.iter().enumerate();
        let chosen = least_valuable(rows_with_index.map(|(index, row)| (index, candidate(*row))));
        assert_eq!(chosen, Some(evicted), "{rows:?}");
    }

    #[test]
    fn each_value_decides_between_otherwise_equal_servers() {
        // The one idle for longest.
        check(&[(900, 3, Some(200), 9), (900, 3, Some(200), 90), (900, 3, Some(200), 30)], 1);
        // The candidate that restarts fastest.
        check(&[(20_000, 3, Some(200), 60), (700, 3, Some(200), 60)], 1);
        // The least used one.
        check(&[(900, 1, Some(200), 60), (900, 30, Some(200), 60)], 0);
        // The one with most memory.
        check(&[(900, 3, Some(200), 60), (900, 3, Some(2_000), 60)], 1);
    }

    #[test]
    fn things_are_weighed_against_each_other() {
        // A small server that restarts quickly is stopped before a large, slow one in use.
        check(&[(600, 2, Some(80), 60), (25_000, 20, Some(1_200), 60)], 0);
        // Unless the slow one has been idle for long.
        check(&[(600, 20, Some(80), 5), (25_000, 0, Some(1_200), 580)], 1);
        // A server that never answered is worth nothing.
        check(&[(0, 1, Some(60), 10), (2_000, 1, Some(400), 10)], 0);
    }

    #[test]
    fn seconds_decide_nothing() {
        check(&[(900, 3, Some(200), 9), (800, 3, Some(200), 0)], 1);
    }

    #[test]
    fn unmeasured_memory_is_neither_free_nor_huge() {
        check(&[(900, 3, None, 60), (900, 3, Some(60), 60)], 0);
        check(&[(900, 3, None, 60), (900, 3, Some(3_000), 60)], 1);
        assert_eq!(least_valuable(std::iter::empty::<(u8, EvictionCandidate)>()), None);
    }

    #[test]
    fn use_is_recent_for_ten_minutes_and_counted_up_to_a_bound() {
        let begin = Instant::now();
        let mut recent = RecentUse::default();
        for _ in 0..=SERVER_USES_MAX {
            recent.note(begin);
        }
        assert_eq!(recent.count(begin), SERVER_USES_MAX);
        let later = begin + Duration::from_secs(SERVER_USE_SECS);
        recent.note(later);
        assert_eq!(recent.count(later), 1);
    }
}
