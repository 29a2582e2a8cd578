//! `loop refreeze`: the user accepts the changes to a loop's frozen exam.

use std::sync::Arc;

use crate::engine::Engine;
use crate::evidence::authorship;
use crate::exam;
use crate::exam::unfrozen_scripts::unfrozen_scripts;
use crate::loops::loop_selection::select_loop;
use crate::loops::override_log;
use crate::person::{self, Acceptance};
use crate::project::Project;
use crate::replies::{REFUSED, load_project};
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::exam::ExamRole;
use moai_loops::state::LoopState;
use moai_pipeline::state::{CheckOverride, PipelineOutcome, PipelineState};
use moai_protocol::control::{CallerContext, CommandReply, LoopRefreezeRequest};
use moai_protocol::documents::json_text;
use moai_report::checks_report::{
    RefreezeReport, refreeze_document, refreeze_preview, refreeze_text,
};
use moai_report::person_questions::refreeze_subject;
use moai_report::pipeline_exam::refreeze_after_resume;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: LoopRefreezeRequest,
) -> CommandReply {
    let LoopRefreezeRequest { select, now, code } = request;
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let refused = |error: &str| CommandReply::failure(REFUSED, &format!("moai-ralph: {error}"));
    let found = engine
        .store
        .find_loop(&project.key, &project.root, select_loop(engine, &select, caller))
        .await;
    let state = match found {
        Ok(Some(state)) if state.status.is_active() => state,
        Ok(_) => return refused(&no_active_loop(engine, &project).await),
        Err(error) => return refused(&error.to_string()),
    };
    if !now && override_log::is_at_work(engine, &state) {
        return refused(
            "the session of this loop is at work: wait until its turn ends, pause the loop (moai-ralph \
             loop pause), or add --now",
        );
    }
    let language = state.language();
    let subject = refreeze_subject(language, &state.id);
    let accepted = match accepted_lines(engine, &project, &state).await {
        Ok(accepted) => accepted,
        Err(error) => return refused(&error),
    };
    let acceptance = Acceptance { language, subject: &subject, accepted: &accepted };
    if let Err(reply) = person::confirm(engine, caller, &acceptance, code.as_deref()) {
        return reply;
    }
    match Box::pin(refreeze(engine, &project, &state, accepted)).await {
        Ok(taken) if select.json => {
            CommandReply::success(json_text(&refreeze_document(&state.id, &taken)))
        }
        Ok(taken) => CommandReply::success(refreeze_text(&state.id, &taken)),
        Err(error) => refused(&error),
    }
}

/// The refusal without an active loop: the exam of a pipeline that has ended is accepted once it continues.
async fn no_active_loop(engine: &Engine, project: &Project) -> String {
    let which = PipelineQuery::Latest;
    let found = engine.store.find_pipeline(&project.key, &project.root, which).await.ok().flatten();
    let is_done = |it: &PipelineState| it.outcome == Some(PipelineOutcome::Completed);
    let ended = found.filter(|it| !it.is_active() && !is_done(it));
    ended.map_or_else(|| "there is no such active loop".to_owned(), |it| refreeze_after_resume(&it))
}

/// What a refreeze accepts, line by line, for the user.
async fn accepted_lines(
    engine: &Arc<Engine>,
    project: &Project,
    state: &LoopState,
) -> Result<Vec<String>, String> {
    let differences = exam::exam_differences(engine, project, &state.id, ExamRole::ALL)
        .await
        .map_err(|error| error.to_string())?;
    let differences = differences.map(|(_, differences)| differences).unwrap_or_default();
    let scripts = unfrozen_scripts(engine, project, &state.id).await.late;
    let findings = authorship::foreign_guard_findings(engine, project, &state.charter()).await?;
    Ok(refreeze_preview(&differences, &scripts, &findings))
}

/// Accepts the changes, and the guard's findings in files that the session did not write.
async fn refreeze(
    engine: &Arc<Engine>,
    project: &Project,
    state: &LoopState,
    accepted: Vec<String>,
) -> Result<RefreezeReport, String> {
    let before = exam::exam_differences(engine, project, &state.id, ExamRole::ALL)
        .await
        .map_err(|error| error.to_string())?;
    exam::freeze_exam(engine, project, &state.charter())
        .await
        .map_err(|error| error.to_string())?;
    if let Some(session) = &state.session_id {
        // They may have passed with other commands of the same names.
        engine.ledger().session(session).passed_checks = None;
    }
    let allowed = authorship::allow_foreign_findings(engine, project, &state.charter()).await?;
    override_log::record_override(engine, project, &state.id, CheckOverride::Refrozen(accepted))
        .await?;
    let differences = before.map(|(_, differences)| differences).unwrap_or_default();
    Ok(RefreezeReport { differences, waived: allowed })
}
