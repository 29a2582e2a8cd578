//! Starts the engine and passes each request to its handler. The engine itself knows no handler.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::branches::merge_work_tree;
use crate::code::change_journal;
use crate::engine::{Engine, HandlerOutcome};
use crate::handlers;
use crate::project::{self, mcp_tools};
use crate::restore::interrupted_restore;
use crate::scan_workers;
use moai_base::verdict::Gap;
use moai_config::Config;
use moai_host::ipc::{StateDirs, process_environment};
use moai_lsp::registry::Catalogue;
use moai_protocol::control::{CallerContext, CommandReply, DaemonRequest};

impl Engine {
    /// Settles unfinished work of earlier processes, then creates the engine. Needs a tokio runtime.
    #[must_use]
    pub fn start(dirs: StateDirs, options: &Config, lsp_gap: Option<Gap>) -> Arc<Self> {
        change_journal::recover_all(&dirs);
        interrupted_restore::recover_all(&dirs);
        merge_work_tree::remove_all_stale_work_trees(&dirs);
        scan_workers::start();
        let mut options = options.clone();
        // Without a daemon, a front door has no stored options.
        if let Some(of_user) = user_options(&dirs) {
            options.memory_text_bytes = of_user.memory_text_bytes;
            options.memory_url = options.memory_url.or(of_user.memory_url);
        }
        Self::new(dirs, &options, lsp_gap)
    }

    /// Answers one request; a panic becomes an error reply. Dropping the future cancels the work,
    /// except work that must not be interrupted.
    pub async fn handle(
        self: &Arc<Self>,
        caller: CallerContext,
        request: DaemonRequest,
    ) -> HandlerOutcome {
        let is_hook = matches!(request, DaemonRequest::Hook { .. });
        let engine = Arc::clone(self);
        let _job = self.job();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            match mcp_tools::refusal(&engine, &caller) {
                Some(refusal) => refusal.into(),
                None => Box::pin(handlers::handle(&engine, caller, request)).await,
            }
        });
        let ended = tasks.join_next().await.unwrap_or_else(|| Ok(HandlerOutcome::default()));
        ended.unwrap_or_else(|error| {
            tracing::error!(%error, "a handler panicked");
            // A hook never fails the agent.
            if is_hook {
                return HandlerOutcome::default();
            }
            CommandReply::failure(1, "moai-ralph: internal error; see the daemon's log").into()
        })
    }
}

/// The user's own options and the environment, which choose the memory. A project chooses none, because
/// its file may come from anyone.
fn user_options(dirs: &StateDirs) -> Option<Config> {
    let env = process_environment();
    project::load_options(&dirs.user_config, None, &env, Catalogue::built_in()).ok()
}
