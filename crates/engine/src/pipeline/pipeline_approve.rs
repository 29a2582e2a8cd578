//! `pipeline approve`: freezes the acceptance commands of the plan into the exam of the loop. After the first
//! approval the plan may only grow, and additions are approved the same way. Only a person approves: by a
//! slash command, at a terminal, or by an answer that the host reports.

use super::escalations::size_lines;
use super::person_answer::resume_if_asked;
use super::pipeline_call::PipelineCall;
use super::plan_commands::{acceptance_commands, freeze_commands};
use crate::engine::now_ms;
use crate::exam::unfrozen_scripts::{scripts_to_freeze, unfrozen_scripts};
use crate::loops::loop_files;
use crate::pipeline::plan_documents::{document_hashes, document_objections, unapproved_documents};
use crate::pipeline::todo_worktrees;
use moai_pipeline::person_question::PersonQuestion;
use moai_pipeline::plan::PlanDocument;
use moai_pipeline::shown_plan::ShownPlan;
use moai_pipeline::spec::{SPECS_FOLDER, SpecFile};
use moai_pipeline::state::{PipelineState, PlanApprover};
use moai_pipeline::step::{PipelineEvent, approval_objections, step};
use moai_protocol::control::{CommandReply, TerminalProof};
use moai_report::person_questions::{approval_is_asked, approval_subject, question_is_none};
use moai_report::plan_approval::{
    approved, changed_document, items_to_approve, not_as_shown, scripts_to_approve,
};
use moai_report::{pipeline as words, pipeline_exam};

/// A plan that nothing keeps from being approved.
struct ReadyPlan {
    state: PipelineState,
    text: String,
}

impl ReadyPlan {
    /// The plan of a pipeline; the error is the reason why it cannot be used.
    async fn load(call: &PipelineCall<'_>, id: Option<String>) -> Result<Self, String> {
        let state = call.require(id).await?;
        if !state.kind.has_plan() {
            return Err(words::no_approved_plan(&state));
        }
        if !state.is_active() {
            return Err(words::has_ended(&state));
        }
        let text = loop_files::file_text(&call.project, &state.plan_path()).await;
        let mut objections = approval_objections(&state, text.as_deref());
        objections.extend(document_objections(&call.project, &state).await);
        match text {
            Some(text) if objections.is_empty() => Ok(Self { state, text }),
            _ => Err(words::not_approved(&state, &objections)),
        }
    }

    fn question(&self) -> PersonQuestion {
        PersonQuestion::about_plan(&self.text)
    }

    /// What an approval accepts, line by line, for the user.
    async fn accepted_lines(&self, call: &PipelineCall<'_>) -> Vec<String> {
        let (state, project) = (&self.state, &call.project);
        let scripts = self.scripts(call).await;
        let documents = unapproved_documents(project, state).await;
        let mut lines = items_to_approve(state, &self.text);
        lines.extend(scripts_to_approve(state, &scripts));
        lines.extend(documents.iter().map(|path| changed_document(state, path)));
        lines
    }

    /// The scripts that an approval freezes for the first time.
    async fn scripts(&self, call: &PipelineCall<'_>) -> Vec<String> {
        let Self { state, text } = self;
        let commands = acceptance_commands(&PlanDocument::parse(text), &state.plan_path());
        scripts_to_freeze(call.engine, &call.project, &state.loop_id, commands).await
    }

    async fn approve(
        self,
        call: &PipelineCall<'_>,
        by: PlanApprover,
    ) -> Result<CommandReply, String> {
        let is_first = self.state.approved.is_none();
        let late = if is_first { Vec::new() } else { self.scripts(call).await };
        let Self { state, text } = self;
        let count = freeze_plan(call, &state, &text).await?;
        let (next, _) = step(&state, PipelineEvent::PlanApproved { text, by }, now_ms());
        let acceptance = format!("{SPECS_FOLDER}/{}/{}", state.spec, SpecFile::Acceptance.as_str());
        let acceptance = loop_files::file_text(&call.project, &acceptance).await;
        let (mut next, _) = step(&next, PipelineEvent::ScenariosFrozen(acceptance), now_ms());
        next.approved_documents = document_hashes(&call.project, &next).await;
        call.save(&state, &next).await?;
        resume_if_asked(call, &next).await?;
        let (next, worktrees) = todo_worktrees::worktree_lines(call, next).await;
        let unfrozen = unfrozen_scripts(call.engine, &call.project, &next.loop_id).await;
        let mut lines = vec![approved(&next, count)];
        lines.extend(pipeline_exam::missing_scripts(&next, &unfrozen.missing));
        lines.extend(pipeline_exam::late_scripts(&next, &late));
        lines.extend(worktrees);
        lines.extend(size_lines(&call.project, &next));
        call.reply(&next, lines.join("\n")).await
    }
}

/// `pipeline approve`: a person at a terminal approves; an agent gets the question to ask the user.
pub(super) async fn approve_by_command(
    call: &PipelineCall<'_>,
    id: Option<String>,
    proof: &TerminalProof,
) -> Result<CommandReply, String> {
    let ready = ReadyPlan::load(call, id).await?;
    let question = ready.question();
    if call.is_by_agent() {
        return Err(approval_is_asked(&ready.state, &question));
    }
    let PersonQuestion::Plan { version } = question else {
        return Err("no plan is asked about".to_owned());
    };
    let subject = approval_subject(&ready.state, &version);
    let accepted = ready.accepted_lines(call).await;
    if let Err(reply) = call.confirm_person(&ready.state, &subject, &accepted, proof) {
        return Ok(reply);
    }
    let id = ready.state.id.clone();
    let reply = Box::pin(ready.approve(call, PlanApprover::Person)).await?;
    let approved = call.require(Some(id)).await?;
    let text = format!("[moai-ralph] {}", words::work_instructions(&approved));
    call.tell_agent(&approved, text).await;
    Ok(reply)
}

/// A slash command that the user typed, which refers to the version of the plan that the user was shown. A
/// different version is shown first.
pub(super) async fn approve_as_typed(call: &PipelineCall<'_>) -> Result<CommandReply, String> {
    let ready = ReadyPlan::load(call, None).await?;
    let now = ShownPlan::of(&ready.text);
    if !is_known_to_user(&ready.state, &now) {
        let ReadyPlan { state, text } = ready;
        let (next, _) = step(&state, PipelineEvent::PlanShown { text }, now_ms());
        call.save(&state, &next).await?;
        return Err(not_as_shown(&state, &now));
    }
    Box::pin(ready.approve(call, PlanApprover::Person)).await
}

/// True if the user has seen everything that an approval of this plan adds: before the first one, this
/// version; later, each of its commands.
fn is_known_to_user(state: &PipelineState, now: &ShownPlan) -> bool {
    state.known_plan().is_some_and(|known| {
        let is_grown = !state.needs_approval() && now.commands_without(&known).is_empty();
        is_grown || known.version == now.version
    })
}

/// The user's answer to the host's question about this version of the plan.
pub(super) async fn approve_as_answered(
    call: &PipelineCall<'_>,
    state: &PipelineState,
    asked: &PersonQuestion,
) -> Result<CommandReply, String> {
    let ready = ReadyPlan::load(call, Some(state.id.clone())).await?;
    if ready.question() != *asked {
        return Err(question_is_none(state));
    }
    Box::pin(ready.approve(call, PlanApprover::Question)).await
}

/// Freezes the commands of a plan into the exam of the pipeline's loop; returns their number. Commands of an
/// earlier approval stay frozen.
async fn freeze_plan(
    call: &PipelineCall<'_>,
    state: &PipelineState,
    text: &str,
) -> Result<usize, String> {
    let commands = acceptance_commands(&PlanDocument::parse(text), &state.plan_path());
    let loop_id = state.loop_id.as_str();
    let earlier = state.approved.is_some().then_some(loop_id);
    freeze_commands(call.engine, &call.project, loop_id, commands, earlier).await
}
