//! How far a long piece of work is, for a front door that shows it. It must not know what is worked
//! on or how it is shown.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Two counters that only grow.
#[derive(Debug, Default)]
pub(super) struct WorkProgress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl WorkProgress {
    /// More files are to be done.
    pub(super) fn expect(&self, files: usize) {
        self.total.fetch_add(files, Ordering::Relaxed);
    }

    /// One file is done.
    pub(super) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Files done, and all of them.
    pub(super) fn read(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}
