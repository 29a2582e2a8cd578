//! The progress of long work, for a client that shows it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Two counters that only grow.
#[derive(Debug, Default)]
pub(super) struct WorkProgress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl WorkProgress {
    /// Adds files to the total.
    pub(super) fn expect(&self, files: usize) {
        self.total.fetch_add(files, Ordering::Relaxed);
    }

    /// Counts one file as done.
    pub(super) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of files done, and the total.
    pub(super) fn read(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
