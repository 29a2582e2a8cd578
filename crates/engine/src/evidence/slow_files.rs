//! Limits the total cost of the slow files of one scan: a folder of hostile files would otherwise keep all
//! cores busy for hours.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moai_base::limits::{SLOW_FILE_MS_MIN, SLOW_FILES_MS_MAX};
use moai_base::verdict::{Cause, Gap};

/// The time that slow files have taken so far in one scan, on all its threads.
#[derive(Debug, Default)]
pub(crate) struct SlowFileTime {
    spent_ms: AtomicU64,
}

impl SlowFileTime {
    /// Adds the time of one file, if it is a slow one.
    pub(crate) fn add(&self, elapsed: Duration) {
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if elapsed_ms >= SLOW_FILE_MS_MIN {
            self.spent_ms.fetch_add(elapsed_ms, Ordering::Relaxed);
        }
    }

    /// The gap of the files that are left when the time is up.
    pub(crate) fn gap(&self) -> Option<Gap> {
        let is_up = self.spent_ms.load(Ordering::Relaxed) >= SLOW_FILES_MS_MAX;
        is_up.then(|| Gap::new(Cause::TimedOut, "other files of this scan took too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slow_files_use_up_the_time() {
        let time = SlowFileTime::default();
        for _ in 0..100_000 {
            time.add(Duration::from_millis(SLOW_FILE_MS_MIN - 1));
        }
        assert_eq!(time.gap(), None);
        for _ in 0..SLOW_FILES_MS_MAX.div_ceil(6_000) {
            assert_eq!(time.gap(), None);
            time.add(Duration::from_secs(6));
        }
        assert_eq!(time.gap().map(|gap| gap.cause), Some(Cause::TimedOut));
    }
}
