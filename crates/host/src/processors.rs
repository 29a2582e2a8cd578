//! The processors that this process may use.

use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;

/// Threads that run at once; 1 if the system does not tell. Asked once, because the answer is read from several
/// files of the control groups, and hooks wait for it.
#[must_use]
pub fn processor_count() -> usize {
    static COUNT: LazyLock<usize> =
        LazyLock::new(|| available_parallelism().map_or(1, NonZero::get));
    *COUNT
}
