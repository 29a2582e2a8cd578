//! The checks that passed at a Stop whose time did not suffice for all.

use std::collections::BTreeMap;

use moai_base::evidence::SensorReading;
use moai_base::tree::FileTree;

/// The checks that the next Stop need not run again.
#[derive(Debug)]
pub(crate) struct PassedChecks {
    pub(crate) loop_id: String,
    /// The files that they passed with.
    pub(crate) files: FileTree,
    /// Their readings, by name.
    pub(crate) readings: BTreeMap<String, SensorReading>,
}
