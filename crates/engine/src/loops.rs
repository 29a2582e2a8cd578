//! Commands about loops, and the files of a loop.

pub(crate) mod loop_adopt;
pub(crate) mod loop_cancel;
pub(crate) mod loop_checks;
pub(crate) mod loop_elsewhere;
pub(crate) mod loop_files;
pub(crate) mod loop_forget;
pub(crate) mod loop_history;
pub(crate) mod loop_pause;
pub(crate) mod loop_refreeze;
pub(crate) mod loop_report;
pub(crate) mod loop_resume;
pub(crate) mod loop_selection;
pub(crate) mod loop_start;
pub(crate) mod loop_status;
pub(crate) mod lost_loops;
pub(crate) mod override_log;
pub(crate) mod session_loop;
pub(crate) mod session_usage;
pub(crate) mod workers;
