//! Fresh evidence about a set of files: measurements, older findings, changes on disk.

pub(crate) mod attribution;
pub(crate) mod authorship;
pub(crate) mod base_preparation;
pub(crate) mod base_results;
pub(crate) mod baselines;
pub(crate) mod dependents;
pub(crate) mod disk_poll;
pub(crate) mod earlier_texts;
pub(crate) mod evidence_reply;
pub(crate) mod gather;
pub(crate) mod hidden_files;
pub(crate) mod indirect_dependents;
pub(crate) mod merge_conflicts;
pub(crate) mod moved_files;
pub(crate) mod outside_poll;
pub(crate) mod overlay_gate;
pub(crate) mod parallel_scan;
pub(crate) mod partial_results;
pub(crate) mod poll_gate;
pub(crate) mod renamed_files;
pub(crate) mod settled_measurement;
pub(crate) mod slow_files;
pub(crate) mod snapshot_measurement;
pub(crate) mod unshown_files;
pub(crate) mod verified_results;
pub(crate) mod work_base;
