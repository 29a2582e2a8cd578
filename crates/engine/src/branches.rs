//! Branches of autonomous loops: start, merge, move.

pub(crate) mod branch_merge;
pub(crate) mod git_program;
pub(crate) mod loop_branch;
pub(crate) mod loop_notes;
pub(crate) mod merge_work_tree;
