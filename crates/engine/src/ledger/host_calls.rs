//! When each host last called a hook of this daemon in a project.

use std::collections::BTreeMap;

use moai_base::limits::HOST_CALLS_SAVE_MS;
use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::HostKind;

/// The time of the last call in milliseconds since the epoch, by host and event.
pub(crate) type CallTimes = BTreeMap<String, BTreeMap<String, u64>>;

/// The last calls since the daemon started.
#[derive(Debug, Default)]
pub(crate) struct HostCalls {
    pub(crate) times: CallTimes,
    saved_ms: BTreeMap<(HostKind, &'static str), u64>,
}

impl HostCalls {
    /// Records a call. Returns true if the times are due to be saved: seldom, because hooks are frequent.
    pub(crate) fn add(&mut self, host: HostKind, event: HookEvent, at_ms: u64) -> bool {
        let of_host = self.times.entry(host.profile().name.to_owned()).or_default();
        of_host.insert(event.name().to_owned(), at_ms);
        let saved_ms = self.saved_ms.entry((host, event.name())).or_default();
        let is_due = at_ms.saturating_sub(*saved_ms) >= HOST_CALLS_SAVE_MS;
        if is_due {
            *saved_ms = at_ms;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_saved_at_the_first_call_and_seldom_after_it() {
        let mut calls = HostCalls::default();
        let start = 1_700_000_000_000;
        let mut add = |event, after_ms| calls.add(HostKind::Codex, event, start + after_ms);
        assert!(add(HookEvent::Stop, 0));
        assert!(!add(HookEvent::Stop, HOST_CALLS_SAVE_MS - 1));
        assert!(add(HookEvent::PostToolUse, 5));
        assert!(add(HookEvent::Stop, HOST_CALLS_SAVE_MS));
        assert_eq!(calls.times["codex"]["stop"], start + HOST_CALLS_SAVE_MS);
    }
}
