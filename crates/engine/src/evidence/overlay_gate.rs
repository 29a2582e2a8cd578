//! Separates measurements of an earlier state from live queries. Earlier texts are overlaid as open
//! documents, so every other reply of that server would be based on them. Therefore live queries
//! wait, and a waiting one ends the earlier measurement at its next step.

use std::sync::Arc;

use tokio::sync::watch;

#[derive(Clone, Copy, Debug, Default)]
struct GateState {
    /// Live queries in progress.
    live: usize,
    /// Live queries that wait for the end of the overlay.
    waiting: usize,
    /// True while earlier texts are overlaid.
    is_overlaid: bool,
}

impl GateState {
    fn is_free(&self) -> bool {
        self.live == 0 && self.waiting == 0 && !self.is_overlaid
    }
}

/// One gate per project root and server.
#[derive(Debug, Default)]
pub(crate) struct OverlayGate {
    state: watch::Sender<GateState>,
}

impl OverlayGate {
    /// Waits until no earlier text is overlaid; none will be until the pass is dropped.
    pub(crate) async fn live(&self) -> LivePass<'_> {
        let mut changes = self.state.subscribe();
        let mut waiting: Option<WaitingPass<'_>> = None;
        loop {
            let is_in = self.state.send_if_modified(|state| {
                if state.is_overlaid {
                    state.waiting += usize::from(waiting.is_none());
                    return false;
                }
                state.live += 1;
                true
            });
            if is_in {
                return LivePass { gate: self };
            }
            // Dropped with this future, so that a cancelled caller does not count as waiting.
            waiting.get_or_insert(WaitingPass { gate: self });
            // The sender lives in `self`, so it cannot be closed.
            let _ = changes.wait_for(|state| !state.is_overlaid).await;
        }
    }

    /// Waits until no live query is in progress or waiting; live queries then wait until the pass is
    /// dropped. The pass owns its gate, so that a task can clean up after its caller.
    pub(crate) async fn overlay(self: &Arc<Self>) -> OverlayPass {
        let mut changes = self.state.subscribe();
        loop {
            let is_in = self.state.send_if_modified(|state| {
                let is_in = state.is_free();
                state.is_overlaid |= is_in;
                is_in
            });
            if is_in {
                return OverlayPass { gate: Arc::clone(self) };
            }
            let _ = changes.wait_for(GateState::is_free).await;
        }
    }
}

struct WaitingPass<'g> {
    gate: &'g OverlayGate,
}

impl Drop for WaitingPass<'_> {
    fn drop(&mut self) {
        self.gate.state.send_modify(|state| state.waiting -= 1);
    }
}

/// A live query in progress.
pub(crate) struct LivePass<'g> {
    gate: &'g OverlayGate,
}

impl Drop for LivePass<'_> {
    fn drop(&mut self) {
        self.gate.state.send_modify(|state| state.live -= 1);
    }
}

/// The right to overlay earlier texts.
pub(crate) struct OverlayPass {
    gate: Arc<OverlayGate>,
}

impl OverlayPass {
    /// True if a live query waits, so that the overlay should end soon.
    pub(crate) fn should_yield(&self) -> bool {
        self.gate.state.borrow().waiting > 0
    }
}

impl Drop for OverlayPass {
    fn drop(&mut self) {
        self.gate.state.send_modify(|state| state.is_overlaid = false);
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn live_queries_share_the_gate_and_an_overlay_waits_for_all_of_them() {
        let gate = Arc::new(OverlayGate::default());
        let (one, other) = (gate.live().await, gate.live().await);
        let waiting = Arc::clone(&gate);
        let overlay = tokio::spawn(async move { drop(waiting.overlay().await) });
        drop(one);
        yield_now().await;
        assert!(!overlay.is_finished(), "the other query is still in progress");
        drop(other);
        overlay.await.unwrap();
    }

    #[tokio::test]
    async fn a_waiting_live_query_is_visible_and_comes_next() {
        let gate = Arc::new(OverlayGate::default());
        let overlay = gate.overlay().await;
        assert!(!overlay.should_yield());
        let asking = Arc::clone(&gate);
        let live = tokio::spawn(async move { drop(asking.live().await) });
        while !overlay.should_yield() {
            yield_now().await;
        }
        drop(overlay);
        live.await.unwrap();
        drop(gate.overlay().await);
    }

    #[tokio::test]
    async fn a_cancelled_live_query_does_not_count_as_waiting() {
        let gate = Arc::new(OverlayGate::default());
        let overlay = gate.overlay().await;
        let asking = Arc::clone(&gate);
        let live = tokio::spawn(async move { drop(asking.live().await) });
        while !overlay.should_yield() {
            yield_now().await;
        }
        live.abort();
        assert!(live.await.unwrap_err().is_cancelled());
        assert!(!overlay.should_yield());
        drop(overlay);
        drop(gate.overlay().await);
    }
}
