//! Starts the engine and hands each request to its handler. The engine itself knows no handler.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::engine::{Engine, Outcome};
use super::{changes, handlers, merge_place};
use crate::base::verdict::Gap;
use crate::config::Config;
use crate::ipc::Places;
use crate::wire::control::{Caller, Reply, Request};

impl Engine {
    /// Settles what an earlier process left unfinished, then creates the engine. Needs a tokio
    /// runtime.
    #[must_use]
    pub fn start(places: Places, options: &Config, lsp_gap: Option<Gap>) -> Arc<Self> {
        changes::recover_all(&places);
        merge_place::tidy_all(&places);
        Self::new(places, options, lsp_gap)
    }

    /// Answers one request; a panic inside becomes an error reply. The work ends when this is
    /// dropped, except what must not be left half done.
    pub async fn handle(self: &Arc<Self>, caller: Caller, request: Request) -> Outcome {
        let is_hook = matches!(request, Request::Hook { .. });
        let engine = Arc::clone(self);
        let _job = self.job();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { Box::pin(handlers::handle(&engine, caller, request)).await });
        let ended = tasks.join_next().await.unwrap_or_else(|| Ok(Outcome::default()));
        ended.unwrap_or_else(|error| {
            tracing::error!(%error, "a handler panicked");
            // A hook never fails the agent.
            if is_hook {
                return Outcome::default();
            }
            Reply::failed(1, "moai-ralph: internal error; the daemon's log says more").into()
        })
    }
}
