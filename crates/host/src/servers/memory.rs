//! Decides what to do about a language server's memory use.

use std::time::Duration;

use moai_base::limits::SERVER_MEMORY_RESTART_SECS_MIN;

/// Bounds on the memory of one server's process tree.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Above this an idle server is restarted.
    pub soft_bytes: u64,
    /// Above this a server is killed.
    pub hard_bytes: u64,
}

/// The action for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryAction {
    Keep,
    Restart,
    Kill,
}

impl MemoryLimits {
    /// The action for a server that holds `bytes`. `since_restart` is the time since it was last
    /// restarted for its memory.
    pub(super) fn action_for(
        &self,
        bytes: u64,
        is_idle: bool,
        since_restart: Option<Duration>,
    ) -> MemoryAction {
        let pause = Duration::from_secs(SERVER_MEMORY_RESTART_SECS_MIN);
        let may_restart = is_idle && since_restart.is_none_or(|since| since >= pause);
        if bytes > self.hard_bytes {
            MemoryAction::Kill
        } else if bytes > self.soft_bytes && may_restart {
            MemoryAction::Restart
        } else {
            MemoryAction::Keep
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: u64, is_idle: bool, since_restart_secs: Option<u64>, expected: MemoryAction) {
        let limits = MemoryLimits { soft_bytes: 100, hard_bytes: 200 };
        let since = since_restart_secs.map(Duration::from_secs);
        assert_eq!(
            limits.action_for(bytes, is_idle, since),
            expected,
            "{bytes} {is_idle} {since:?}"
        );
    }

    #[test]
    fn each_limit_is_the_last_amount_that_is_allowed() {
        check(100, true, None, MemoryAction::Keep);
        check(101, true, None, MemoryAction::Restart);
        check(200, true, None, MemoryAction::Restart);
        check(201, true, None, MemoryAction::Kill);
    }

    #[test]
    fn a_busy_server_is_ended_only_above_the_hard_limit() {
        check(150, false, None, MemoryAction::Keep);
        check(201, false, None, MemoryAction::Kill);
    }

    #[test]
    fn a_server_that_needs_that_much_is_not_started_for_ever() {
        check(150, true, Some(SERVER_MEMORY_RESTART_SECS_MIN - 1), MemoryAction::Keep);
        check(150, true, Some(SERVER_MEMORY_RESTART_SECS_MIN), MemoryAction::Restart);
        check(201, true, Some(1), MemoryAction::Kill);
    }
}
