//! Deadlines inside the time that a Stop may take.

use std::time::{Duration, Instant};

use moai_base::limits::{HOOK_STOP_MS_MAX, STOP_REPLY_MS, STOP_REPLY_SHARE, STOP_SENSORS_SHARE};
use moai_config::Config;

/// Start of a Stop and the deadlines of its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopSchedule {
    pub(crate) started_at: Instant,
    /// Deadline of the project's checks; leaves time for everything else.
    pub(crate) checks_deadline: Instant,
    /// Deadline of everything except saving and the reply.
    pub(crate) deadline: Instant,
}

impl StopSchedule {
    /// Schedule of a Stop whose hook process started `waited` before `started_at`.
    pub(crate) fn from_config(started_at: Instant, waited: Duration, config: &Config) -> Self {
        let timeout = config.stop_timeout.min(Duration::from_millis(HOOK_STOP_MS_MAX));
        let reply_time = Duration::from_millis(STOP_REPLY_MS).min(timeout / STOP_REPLY_SHARE);
        let left = timeout.saturating_sub(reply_time).saturating_sub(waited);
        let after_checks = config.stop_budget.min(left / STOP_SENSORS_SHARE);
        let checks_deadline = started_at + left.saturating_sub(after_checks);
        Self { started_at, checks_deadline, deadline: started_at + left }
    }
}
