//! The untracked files that the checks of a loop made at earlier Stops.

use std::collections::BTreeSet;

use moai_base::path::RelPath;

/// Files of checks that are no work.
#[derive(Debug)]
pub(crate) struct KnownOutputs {
    /// The loop.
    pub(crate) loop_id: String,
    pub(crate) files: BTreeSet<RelPath>,
}
