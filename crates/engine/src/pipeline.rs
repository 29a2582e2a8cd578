//! `pipeline …`: a goal, a plan that the user approves, and a loop that works through it. The loop
//! holds the agent; `pipeline::step` decides what the plan still lacks.

pub(crate) mod commands;
mod commit_check;
mod commit_survey;
mod escalations;
mod gate_files;
mod gates;
mod helper_stop;
mod learnings_files;
mod pipeline_approve;
pub(crate) mod pipeline_end;
mod pipeline_report;
mod pipeline_resume;
pub(crate) mod pipeline_start;
pub(crate) mod pipeline_stop;
mod plan_commands;
mod sandbox;
pub(crate) mod worker_stop;
pub(crate) mod write_guard;

use std::sync::Arc;

use crate::engine::Engine;
use crate::loops::loop_cancel;
use crate::loops::loop_selection::{failure_reply, select_loop_to_change};
use crate::person;
use crate::project::Project;
use moai_host::store::loops::{LoopQuery, SaveOutcome};
use moai_host::store::pipelines::PipelineQuery;
use moai_pipeline::state::{PipelineState, PlanApprover};
use moai_protocol::control::{
    CallerContext, CommandReply, LoopSelector, PipelineOperation, PipelineRequest,
};
use moai_protocol::documents::json_text;
use moai_report::pipeline as words;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: PipelineRequest,
) -> CommandReply {
    let project = Project::load_or_default(engine, caller);
    let call = PipelineCall { engine, caller, project, json: request.json };
    let answered = match request.action {
        PipelineOperation::Start { kind, goal, session, solo } => {
            pipeline_start::start(&call, &kind, goal, session, solo).await
        }
        PipelineOperation::Approve { id } => {
            let is_agent = person::is_agent(engine, caller);
            let by = if is_agent { PlanApprover::Agent } else { PlanApprover::Person };
            pipeline_approve::approve(&call, id, by).await
        }
        PipelineOperation::Status { id } => pipeline_report::status(&call, id).await,
        PipelineOperation::Report { id } => pipeline_report::report(&call, id).await,
        PipelineOperation::PullRequest { id, create } => {
            pipeline_report::pull_request(&call, id, create).await
        }
        PipelineOperation::Cancel { id } => cancel(&call, id).await,
        PipelineOperation::Resume { id, session } => {
            Box::pin(pipeline_resume::resume(&call, id, session)).await
        }
    };
    answered.unwrap_or_else(|reason| failure_reply(&reason))
}

/// One `pipeline …` command. Its functions return the reason for a refusal as an error.
pub(crate) struct PipelineCall<'e> {
    pub(crate) engine: &'e Arc<Engine>,
    pub(crate) caller: &'e CallerContext,
    pub(crate) project: Project,
    pub(crate) json: bool,
}

impl PipelineCall<'_> {
    /// The named pipeline, else the root's active or last one.
    async fn find(&self, id: Option<String>) -> Result<Option<PipelineState>, String> {
        let which = id.map_or(PipelineQuery::Latest, PipelineQuery::Id);
        let project = &self.project;
        let found = self.engine.store.find_pipeline(&project.key, &project.root, which).await;
        found.map_err(|error| error.to_string())
    }

    /// Like [`Self::find`]; without a pipeline a refusal.
    async fn require(&self, id: Option<String>) -> Result<PipelineState, String> {
        let refusal = if id.is_some() {
            "there is no pipeline with this id"
        } else {
            "no pipeline was started in this project; start one with moai-ralph pipeline start --goal …"
        };
        self.find(id).await?.ok_or_else(|| refusal.to_owned())
    }

    /// Saves the next state of a pipeline.
    async fn save(&self, before: &PipelineState, next: &PipelineState) -> Result<(), String> {
        let key = &self.project.key;
        match self.engine.store.advance_pipeline(key, before, next.clone()).await {
            Ok(SaveOutcome::Saved) => Ok(()),
            Ok(SaveOutcome::Overtaken) => {
                Err(format!("pipeline {} was changed meanwhile; try again", next.id))
            }
            Err(error) => Err(error.to_string()),
        }
    }

    async fn show(
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
    async fn tokens(&self, state: &PipelineState) -> Option<u64> {
        let (project, which) = (&self.project, LoopQuery::Id(state.loop_id.clone()));
        let found = self.engine.store.find_loop(&project.key, &project.root, which).await;
        found.ok().flatten().and_then(|held| held.counters.tokens)
    }

    /// The document of a pipeline, or a text.
    async fn reply(&self, state: &PipelineState, text: String) -> Result<CommandReply, String> {
        if !self.json {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            return Ok(CommandReply::success(format!("{text}{end}")));
        }
        let tokens = self.tokens(state).await;
        Ok(CommandReply::success(json_text(&words::pipeline_document(state, tokens))))
    }
}

/// Cancels the loop of a pipeline, which ends the pipeline. One that has ended stays as it is.
async fn cancel(call: &PipelineCall<'_>, id: Option<String>) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    if !state.is_active() {
        return call.reply(&state, words::ended(&state)).await;
    }
    let select = LoopSelector { id: Some(state.loop_id.clone()), ..LoopSelector::default() };
    let which = match select_loop_to_change(call.engine, &call.project, &select, call.caller).await
    {
        Ok(which) => which,
        Err(reply) => return Ok(reply),
    };
    let cancelled = loop_cancel::cancel_loop(call.engine, &call.project, which).await;
    cancelled.map_err(|error| error.to_string())?;
    let state = call.require(Some(state.id)).await?;
    call.reply(&state, words::cancelled(&state)).await
}
