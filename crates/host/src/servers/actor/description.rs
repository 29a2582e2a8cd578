//! The description of a server for status lists.

use std::time::Duration;

use super::ServerActor;
use crate::servers::ServerState;
use moai_base::verdict::Gap;

/// A snapshot of a server's state.
#[derive(Debug)]
pub(in crate::servers) struct ActorDescription {
    pub(in crate::servers) state: ServerState,
    pub(in crate::servers) uptime: Option<Duration>,
    pub(in crate::servers) answered: u64,
    pub(in crate::servers) restarts: u64,
    pub(in crate::servers) last_gap: Option<Gap>,
    pub(in crate::servers) languages: Vec<String>,
}

impl ServerActor {
    pub(super) fn describe(&self) -> ActorDescription {
        let state = match &self.running {
            None if self.pending_slot.is_some() => ServerState::Starting,
            None => ServerState::Down,
            Some(running) if running.start_deadline.is_some() => ServerState::Starting,
            Some(running) if !running.session.is_ready() => ServerState::Loading,
            Some(running) if running.session.is_busy() => ServerState::Busy,
            Some(_) => ServerState::Ready,
        };
        let catalogue = &self.context.catalogue;
        let languages = catalogue.languages();
        let served = languages.filter(|(_, language)| language.servers.contains(&self.choice.id));
        ActorDescription {
            state,
            uptime: self.running.as_ref().map(|running| running.started_at.elapsed()),
            answered: self.answered,
            restarts: self.starts.saturating_sub(1),
            last_gap: self.breaker.last_gap().cloned(),
            languages: served.map(|(id, _)| id.to_owned()).collect(),
        }
    }
}
