//! Feedback after an edit, or after other programs wrote.

pub(crate) mod baseline_rule;
pub(crate) mod changed_on_disk;
mod earlier_findings;
mod edit_delta;
mod edit_measurement;
pub(crate) mod edit_session;
pub(crate) mod impact;
pub(crate) mod post_tool_batch;
pub(crate) mod post_tool_use;
