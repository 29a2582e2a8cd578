//! Recent hook events: an event that a host delivers to several registrations of this program is handled
//! once. Stops have their own registry, and a tool call may be refused twice.

use std::collections::VecDeque;

use moai_base::limits::{EVENT_CLAIMS_MAX, HOOK_EDIT_MS_MAX};
use moai_loops::stop_table::StopDelivery;
use moai_protocol::hook::HookEvent;

/// Events that act or tell something, so that a second delivery must do nothing.
const CLAIMED: [HookEvent; 5] = [
    HookEvent::SessionStart,
    HookEvent::UserPromptSubmit,
    HookEvent::UserPromptExpansion,
    HookEvent::PostToolUse,
    HookEvent::PostToolBatch,
];

#[derive(Debug)]
struct ClaimedEvent {
    event: HookEvent,
    /// Hash of the whole message, which includes the session.
    content: String,
    /// The call that handles it.
    call: String,
    /// When it was delivered, in milliseconds since the epoch.
    claimed_ms: u64,
    /// When it was answered, in milliseconds since the epoch; `None` until then.
    answered_ms: Option<u64>,
}

/// The latest events; see the module.
#[derive(Debug, Default)]
pub(crate) struct EventClaims {
    events: VecDeque<ClaimedEvent>,
}

impl EventClaims {
    /// Claims a delivery. True if it is to be handled: it is the first of its event, or a repeated call of
    /// the first.
    pub(crate) fn claim(&mut self, event: HookEvent, delivery: &StopDelivery, now_ms: u64) -> bool {
        if !CLAIMED.contains(&event) {
            return true;
        }
        let mut known = self.events.iter().rev();
        let last = known.find(|it| it.event == event && it.content == delivery.content);
        if let Some(last) = last.filter(|last| last.is_same_event(delivery)) {
            return last.call == delivery.call;
        }
        if self.events.len() >= EVENT_CLAIMS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(ClaimedEvent {
            event,
            content: delivery.content.clone(),
            call: delivery.call.clone(),
            claimed_ms: now_ms,
            answered_ms: None,
        });
        true
    }

    /// Records that a call was answered.
    pub(crate) fn answer(&mut self, call: &str, now_ms: u64) {
        if let Some(last) = self.events.iter_mut().rev().find(|it| it.call == call) {
            last.answered_ms = Some(now_ms);
        }
    }
}

impl ClaimedEvent {
    /// True if a delivery with equal content is about the same event: the host waits for all processes of an
    /// event, so a process that started after the answer belongs to a later one.
    fn is_same_event(&self, delivery: &StopDelivery) -> bool {
        // An event without an answer by then will get none.
        let answered_ms = self.answered_ms.unwrap_or(self.claimed_ms + HOOK_EDIT_MS_MAX);
        delivery.is_unique
            || self.call == delivery.call
            || delivery.start_ms.is_some_and(|start_ms| start_ms <= answered_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(call: &str, start_ms: u64, is_unique: bool) -> StopDelivery {
        let (call, content) = (call.to_owned(), "x".to_owned());
        StopDelivery { call, content, start_ms: Some(start_ms), is_unique }
    }

    #[test]
    fn the_second_delivery_of_an_event_is_not_handled() {
        let mut claims = EventClaims::default();
        let event = HookEvent::PostToolUse;
        assert!(claims.claim(event, &delivery("1", 10, false), 10));
        assert!(!claims.claim(event, &delivery("2", 11, false), 11), "at the same time");
        assert!(claims.claim(event, &delivery("1", 10, false), 12), "the same call again");
        assert!(claims.claim(HookEvent::UserPromptSubmit, &delivery("3", 11, false), 12));
        claims.answer("1", 20);
        assert!(!claims.claim(event, &delivery("4", 20, false), 21), "it waited for its turn");
        assert!(claims.claim(event, &delivery("5", 21, false), 21), "a later event");
    }

    #[test]
    fn an_event_without_an_answer_does_not_silence_a_later_one() {
        let mut claims = EventClaims::default();
        let event = HookEvent::SessionStart;
        assert!(claims.claim(event, &delivery("1", 10, false), 10));
        let later = 11 + HOOK_EDIT_MS_MAX;
        assert!(claims.claim(event, &delivery("2", later, false), later));
    }

    #[test]
    fn a_message_with_its_time_is_one_event_whenever_it_comes() {
        let mut claims = EventClaims::default();
        assert!(claims.claim(HookEvent::PostToolUse, &delivery("1", 10, true), 10));
        claims.answer("1", 20);
        assert!(!claims.claim(HookEvent::PostToolUse, &delivery("2", 90, true), 90));
        assert!(claims.claim(HookEvent::Stop, &delivery("3", 90, true), 90));
        assert!(claims.claim(HookEvent::Stop, &delivery("4", 91, true), 91));
    }

    #[test]
    fn old_events_are_forgotten() {
        let mut claims = EventClaims::default();
        for number in 0..=EVENT_CLAIMS_MAX {
            let mut one = delivery(&number.to_string(), 10, true);
            one.content = number.to_string();
            assert!(claims.claim(HookEvent::PostToolUse, &one, 10));
        }
        assert_eq!(claims.events.len(), EVENT_CLAIMS_MAX);
    }
}
