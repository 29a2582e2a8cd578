//! Feedback after an edit, or after other programs wrote.

pub(crate) mod baseline_rule;
pub(crate) mod changed_on_disk;
pub(crate) mod deferred_reports;
pub(crate) mod earlier_findings;
pub(crate) mod edit_measurement;
pub(crate) mod impact;
pub(crate) mod post_tool_batch;
pub(crate) mod post_tool_use;
