//! Answers of a person to the questions of a pipeline: by a command at a terminal, by a slash command, or
//! chosen in the host's dialog. An agent can ask, but not answer.

use super::pipeline_approve::approve_as_answered;
use super::pipeline_call::PipelineCall;
use crate::engine::now_ms;
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::loops::{loop_files, loop_resume};
use crate::pipeline::pipeline_of_loop::pipeline_of_loop;
use crate::pipeline::plan_documents::unapproved_documents;
use moai_host::store::loops::LoopQuery;
use moai_loops::control::NewLimits;
use moai_loops::state::{PauseReason, Status};
use moai_pipeline::person_question::{PersonQuestion, open_questions};
use moai_pipeline::state::{PipelineState, PlanApprover};
use moai_pipeline::step::{PipelineEvent, step};
use moai_protocol::control::{CommandReply, TerminalProof};
use moai_protocol::hook::{ChosenAnswer, HookOutput};
use moai_report::person_questions as words;
use moai_report::person_questions::AskedQuestion;
use moai_report::pipeline::has_ended;
use moai_report::plan_approval::declined;

pub(super) async fn answer_by_command(
    call: &PipelineCall<'_>,
    id: Option<String>,
    name: &str,
    is_yes: bool,
    proof: &TerminalProof,
) -> Result<CommandReply, String> {
    let state = call.require(id).await?;
    let question = open_question(&state, name)?;
    if call.is_by_agent() {
        return Err(words::answer_is_for_a_person(&state, &question));
    }
    let subject = words::answer_subject(&state, &question.name(), is_yes);
    let asked = words::question_text(&state, &question);
    if let Err(reply) = call.confirm_person(&state, &subject, &[asked], proof) {
        return Ok(reply);
    }
    let name = question.name();
    let noted = note(call, &state, &question, is_yes, PlanApprover::Person).await?;
    call.tell_agent(&state, words::answered(&state, &name, is_yes)).await;
    if call.json {
        return Ok(noted);
    }
    call.reply(&state, words::answer_recorded(&state, &name, is_yes)).await
}

/// A slash command that the user typed: `TODO-2/AC-2 yes`.
pub(super) async fn answer_as_typed(
    call: &PipelineCall<'_>,
    typed: &str,
) -> Result<CommandReply, String> {
    let state = call.require(None).await?;
    let mut typed_words = typed.split_whitespace();
    let answer = (typed_words.next(), typed_words.next(), typed_words.next());
    let (name, is_yes) = match answer {
        (Some(name), Some("yes"), None) => (name, true),
        (Some(name), Some("no"), None) => (name, false),
        _ => return Err(words::answer_form(&state, &open_questions(&state))),
    };
    let question = open_question(&state, name)?;
    note(call, &state, &question, is_yes, PlanApprover::Person).await
}

fn open_question(state: &PipelineState, name: &str) -> Result<PersonQuestion, String> {
    if !state.is_active() {
        return Err(has_ended(state));
    }
    let open = open_questions(state);
    let refusal = words::no_such_question(state, name, &open);
    open.into_iter().find(|it| it.name().eq_ignore_ascii_case(name)).ok_or(refusal)
}

/// Records an answer. A loop that was paused for it continues, unless other answers are missing.
async fn note(
    call: &PipelineCall<'_>,
    state: &PipelineState,
    question: &PersonQuestion,
    is_yes: bool,
    by: PlanApprover,
) -> Result<CommandReply, String> {
    let name = question.name();
    let event = PipelineEvent::PersonAnswered { name: name.clone(), is_yes, by };
    let (next, _) = step(state, event, now_ms());
    call.save(state, &next).await?;
    if !is_yes || open_questions(&next).is_empty() {
        resume_if_asked(call, &next).await?;
    }
    call.reply(&next, words::answered(&next, &name, is_yes)).await
}

/// Continues a loop that was paused for a person's answer.
pub(super) async fn resume_if_asked(
    call: &PipelineCall<'_>,
    state: &PipelineState,
) -> Result<(), String> {
    let (engine, project) = (call.engine, &call.project);
    let which = LoopQuery::Id(state.loop_id.clone());
    let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
    let held = found.map_err(|error| error.to_string())?;
    let is_asked = held.is_some_and(|held| {
        held.status == Status::Paused && held.pause_reason == Some(PauseReason::AwaitsPerson)
    });
    if is_asked {
        let resumed = loop_resume::resume_loop(engine, project, which, NewLimits::default()).await;
        resumed.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The user's choices in the host's dialog. Only the main agent's questions count, and only in the exact
/// words of this program.
pub(crate) async fn note_chosen(call: &HookCall<'_>) -> HookOutput {
    let HookCall { engine, caller, project, input, .. } = call;
    let chosen = input.chosen_answers();
    if chosen.is_empty() || input.agent_id.is_some() || call.is_sent_by_agent() {
        return HookOutput::Silent;
    }
    let found = active_loop_anywhere(engine, caller, project, &input.session_id).await;
    let Some((project, held)) = found else { return HookOutput::Silent };
    let Some(mut state) = pipeline_of_loop(engine, &project, &held).await else {
        return HookOutput::Silent;
    };
    let pipeline = PipelineCall { engine, caller, project, json: false };
    let mut told = Vec::new();
    for one in chosen {
        let Some((question, is_yes)) = answered_question(&pipeline, &state, &one).await else {
            let is_choice = one.options.iter().any(|option| option.label == one.answer);
            if is_choice && words::looks_like_ours(&one.question) {
                told.push(words::question_is_none(&state));
            }
            continue;
        };
        let noted = match (&question, is_yes) {
            (PersonQuestion::Plan { .. }, true) => {
                Box::pin(approve_as_answered(&pipeline, &state, &question)).await
            }
            (PersonQuestion::Plan { .. }, false) => {
                let is_typed = one.options.iter().all(|option| option.label != one.answer);
                let wish = is_typed.then_some(one.answer.as_str());
                told.extend(decline(&pipeline, &state, wish).await);
                Ok(CommandReply::default())
            }
            _ => note(&pipeline, &state, &question, is_yes, PlanApprover::Question).await,
        };
        let noted = noted.map_or_else(|reason| reason, |reply| reply.stdout.trim_end().to_owned());
        told.extend(Some(noted).filter(|noted| !noted.is_empty()));
        match pipeline.find(Some(state.id.clone())).await {
            Ok(Some(now)) => state = now,
            _ => break,
        }
    }
    if told.is_empty() { HookOutput::Silent } else { HookOutput::Context(told.join("\n")) }
}

/// Records that the user does not approve the plan as it is. For the agent: what to change, in the words
/// that the user typed, if any; in an approved plan, its additions or changed documents.
async fn decline(
    pipeline: &PipelineCall<'_>,
    state: &PipelineState,
    wish: Option<&str>,
) -> Option<String> {
    let plan = loop_files::file_text(&pipeline.project, &state.plan_path()).await?;
    let parts = state.unapproved_parts(&plan);
    let (next, _) = step(state, PipelineEvent::PlanDeclined { text: plan }, now_ms());
    if let Err(error) = pipeline.save(state, &next).await {
        tracing::warn!(error, id = state.id, "the user's answer about a plan was not saved");
    }
    let documents = unapproved_documents(&pipeline.project, state).await;
    declined(state, &parts, &documents, wish)
}

/// The question of the pipeline that the host showed, and whether the user agreed.
async fn answered_question(
    pipeline: &PipelineCall<'_>,
    state: &PipelineState,
    chosen: &ChosenAnswer,
) -> Option<(PersonQuestion, bool)> {
    let plan = loop_files::file_text(&pipeline.project, &state.plan_path()).await;
    let about_plan = plan.map(|text| PersonQuestion::about_plan(&text));
    let questions = about_plan.into_iter().chain(open_questions(state));
    questions.into_iter().find_map(|question| {
        let asked = words::asked_question(state, &question);
        let is_asked = is_asked_as(&asked, chosen);
        let choice = is_asked.then(|| read_choice(&asked, chosen))?;
        // What the user types to a plan is a wish to change it.
        let typed = matches!(question, PersonQuestion::Plan { .. }).then_some(false);
        Some((question, choice.or(typed)?))
    })
}

/// True if the host showed exactly this question.
fn is_asked_as(asked: &AskedQuestion, chosen: &ChosenAnswer) -> bool {
    let offered = [&asked.yes, &asked.no];
    asked.question == chosen.question
        && chosen.options.len() == offered.len()
        && chosen
            .options
            .iter()
            .zip(offered)
            .all(|(shown, own)| shown.label == own.label && shown.description == own.description)
}

/// True if the user agreed; `None` if something else was typed.
fn read_choice(asked: &AskedQuestion, chosen: &ChosenAnswer) -> Option<bool> {
    [(&asked.yes, true), (&asked.no, false)]
        .into_iter()
        .find(|(choice, _)| choice.label == chosen.answer)
        .map(|(_, is_yes)| is_yes)
}
