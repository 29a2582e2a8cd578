//! Structural scan, search and rewrite.

pub(crate) mod change_journal;
pub(crate) mod edit_tree;
pub(crate) mod file_sweep;
pub(crate) mod rewrite;
pub(crate) mod rewrite_plan;
pub(crate) mod scan;
pub(crate) mod scan_test;
pub(crate) mod search;
