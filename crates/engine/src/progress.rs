//! The progress of long work, for a client that shows it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Two counters that only grow.
#[derive(Debug, Default)]
pub(crate) struct WorkProgress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl WorkProgress {
    /// Adds files to the total.
    pub(crate) fn expect(&self, files: usize) {
        self.total.fetch_add(files, Ordering::Relaxed);
    }

    /// Counts one file as done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of files done, and the total.
    pub(crate) fn read(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
