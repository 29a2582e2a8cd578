//! Shared parts of the pipeline commands: finding, saving and showing a pipeline, and checking that a person
//! runs the command.

use std::sync::Arc;

use crate::engine::Engine;
use crate::person::{self, Acceptance};
use crate::pipeline::pipeline_end::ended_with_loop;
use crate::pipeline::pipeline_of_loop::keep_untold;
use crate::pipeline::worktree_end::worktree_statuses;
use crate::project::Project;
use crate::replies::REFUSED;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::state::LoopState;
use moai_pipeline::state::PipelineState;
use moai_protocol::control::{CallerContext, CommandReply, TerminalProof};
use moai_protocol::documents::json_text;
use moai_report::person_questions::stdin_is_no_terminal;
use moai_report::pipeline as words;

/// One `pipeline …` command. Its functions return the reason for a refusal as an error.
pub(crate) struct PipelineCall<'e> {
    pub(crate) engine: &'e Arc<Engine>,
    pub(crate) caller: &'e CallerContext,
    pub(crate) project: Project,
    pub(crate) json: bool,
}

impl PipelineCall<'_> {
    /// The pipeline with this id, else the root's active or last one.
    pub(super) async fn find(&self, id: Option<String>) -> Result<Option<PipelineState>, String> {
        let which = id.map_or(PipelineQuery::Latest, PipelineQuery::Id);
        let project = &self.project;
        let found = self.engine.store.find_pipeline(&project.key, &project.root, which).await;
        match found.map_err(|error| error.to_string())? {
            Some(state) => Box::pin(ended_with_loop(self.engine, project, state)).await.map(Some),
            None => Ok(None),
        }
    }

    /// Like [`Self::find`]; without a pipeline a refusal.
    pub(super) async fn require(&self, id: Option<String>) -> Result<PipelineState, String> {
        let refusal = if id.is_some() {
            "there is no pipeline with this id"
        } else {
            "no pipeline was started in this project; start one with moai-ralph pipeline start --goal …"
        };
        self.find(id).await?.ok_or_else(|| refusal.to_owned())
    }

    /// True if an agent runs the command.
    pub(super) fn is_by_agent(&self) -> bool {
        person::is_agent(self.engine, self.caller)
    }

    /// Shows what the command accepts, and asks for proof that a person runs it; `Err` is the reply in place of
    /// its own.
    pub(super) fn confirm_person(
        &self,
        state: &PipelineState,
        subject: &str,
        accepted: &[String],
        proof: &TerminalProof,
    ) -> Result<(), CommandReply> {
        if !proof.is_at_terminal {
            let reason = stdin_is_no_terminal(words::language(state), subject);
            let text = format!("moai-ralph: {reason}");
            return Err(CommandReply::failure(REFUSED, &text));
        }
        let language = words::language(state);
        let acceptance = Acceptance { language, subject, accepted };
        person::confirm(self.engine, self.caller, &acceptance, proof.code.as_deref())
    }

    /// Saves the next state of a pipeline.
    pub(super) async fn save(
        &self,
        before: &PipelineState,
        next: &PipelineState,
    ) -> Result<(), String> {
        let key = &self.project.key;
        match self.engine.store.advance_pipeline(key, before, next.clone()).await {
            Ok(SaveOutcome::Saved) => Ok(()),
            Ok(SaveOutcome::Overtaken) => {
                Err(format!("pipeline {} was changed meanwhile; try again", next.id))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) async fn show(
        &self,
        id: Option<String>,
        words: fn(&PipelineState) -> String,
    ) -> Result<CommandReply, String> {
        let is_named = id.is_some();
        match self.find(id).await? {
            Some(state) => self.reply(&state, words(&state)).await,
            None if is_named => Err("there is no pipeline with this id".to_owned()),
            None if self.json => Ok(CommandReply::success("null\n".to_owned())),
            None => Ok(CommandReply::success("no pipeline was started in this project\n".into())),
        }
    }

    /// Tokens that the session used since the pipeline's loop began; `None` if unknown.
    pub(super) async fn tokens(&self, state: &PipelineState) -> Option<u64> {
        self.held(state).await.and_then(|held| held.counters.tokens)
    }

    /// The loop of a pipeline.
    pub(super) async fn held(&self, state: &PipelineState) -> Option<LoopState> {
        let (project, which) = (&self.project, LoopQuery::Id(state.loop_id.clone()));
        let found = self.engine.store.find_loop(&project.key, &project.root, which).await;
        found.ok().flatten()
    }

    /// Keeps what a person decided at a terminal for the agent, whose next hook tells it.
    pub(super) async fn tell_agent(&self, state: &PipelineState, text: String) {
        let Some(held) = self.held(state).await.filter(|_| !self.is_by_agent()) else { return };
        let Some(session) = &held.session_id else { return };
        self.engine.ledger().session(session).decisions.push(text.clone());
        keep_untold(self.engine, &self.project, &held, text).await;
    }

    /// The document of a pipeline, or a text.
    pub(super) async fn reply(
        &self,
        state: &PipelineState,
        text: String,
    ) -> Result<CommandReply, String> {
        if !self.json {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            return Ok(CommandReply::success(format!("{text}{end}")));
        }
        let tokens = self.tokens(state).await;
        let statuses = worktree_statuses(self.engine, &self.project, state).await;
        let document = words::pipeline_document(state, tokens, &statuses);
        Ok(CommandReply::success(json_text(&document)))
    }
}
