//! Checkpoints and the way back to one.

pub(crate) mod checkpoints;
pub(crate) mod interrupted_restore;
pub(crate) mod loop_restore;
pub(crate) mod restore_plan;
