//! Consults more than the sensors at a Stop: the judges if only they could still object, the merge if
//! only it is missing, the transcript and the checkpoints. Each failure is a gap or a notice.

use std::time::Instant;

use crate::branches::branch_merge;
use crate::branches::branch_merge::{BranchMergeResult, MeasuredWork};
use crate::branches::loop_branch::LoopBranch;
use crate::engine::now_ms;
use crate::exam::rubrics;
use crate::hooks::hook_call::HookCall;
use crate::judge::judge_run;
use crate::judge::judge_run::JudgeRequest;
use crate::loops::session_usage;
use crate::loops::session_usage::SessionUsage;
use crate::restore::checkpoints;
use crate::stop::evidence;
use crate::stop::evidence::{StopEvidence, within_deadline};
use crate::stop::schedule::StopSchedule;
use moai_base::evidence::SensorKind;
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_config::prices::PriceList;
use moai_loops::claims;
use moai_loops::facts::{ContextUse, JudgeOutcome, MergeOutcome, StopFacts};
use moai_loops::judge::decision::Judgement;
use moai_loops::judge::judge_report::JudgeReport;
use moai_loops::research::ResearchGate;
use moai_loops::state::{LoopState, Mode};
use moai_loops::step::{EvidenceOutlook, StopInput, outlook, wants_merge};

/// Results of a Stop besides its evidence.
pub(crate) struct StopContext {
    pub(crate) facts: StopFacts,
    /// The judges' report; `None` if they were not asked.
    pub(crate) judged: Option<JudgeReport>,
    /// Usage of the session, if the host names its transcript.
    pub(crate) session_usage: Option<SessionUsage>,
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
}

pub(crate) async fn consult_others(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    state: &LoopState,
    stop_evidence: &StopEvidence,
    schedule: StopSchedule,
) -> StopContext {
    let deadline = schedule.deadline;
    let spent = within_deadline(deadline, used_by_session(call, state)).await.unwrap_or_default();
    let contradictions = claims::contradictions(stop.last_message, &stop_evidence.evidence);
    let mut facts = StopFacts {
        research_missing: match &stop_evidence.notes.research {
            ResearchGate::Missing(lines) => lines.clone(),
            ResearchGate::Passed => Vec::new(),
        },
        contradictions: moai_report::spending::contradiction_lines(&contradictions),
        unrequested_criteria: stop_evidence
            .not_asked
            .iter()
            .map(|one| one.as_str().to_owned())
            .collect(),
        exam_changed: stop_evidence.exam_changes.clone(),
        check_problems: Some(stop_evidence.check_problems),
        work: stop_evidence.work.clone(),
        tree: stop_evidence.tree.as_ref().ok().map(|snapshot| snapshot.id.clone()),
        tokens: spent.as_ref().and_then(|spent| tokens(state, spent)),
        lsp_required: call.project.config.lsp_required,
        now_ms: now_ms(),
        ..StopFacts::default()
    };
    let outlook = outlook(state, stop, &stop_evidence.evidence, &facts);
    let mut judged = None;
    if outlook.is_open_to_judge() {
        (facts.judge, judged) = consult_judges(call, state, stop_evidence, deadline).await;
        facts.judge_files = judged.as_ref().map(|judged| judged.coverage.shown);
        facts.observations =
            judged.as_ref().map(moai_report::judging::suspicion_lines).unwrap_or_default();
    }
    facts.merge =
        merge_if_ready(call, state, stop_evidence, &outlook, facts.judge.as_ref(), schedule).await;
    let mut notices = Vec::new();
    match context(call, spent.as_ref()) {
        Ok(context) => facts.context = context,
        Err(gap) => notices.push(moai_report::spending::context_unmeasured(&gap)),
    }
    let left_out = stop_evidence.tree.as_ref().ok().map(|snapshot| &snapshot.tree.omitted);
    notices.extend(left_out.and_then(moai_report::restore::excluded_files));
    match within_deadline(deadline, keep_stop_checkpoint(call, state, stop_evidence))
        .await
        .and_then(|kept| kept)
    {
        Ok(checkpoint) => facts.checkpoint = Some(checkpoint),
        Err(gap) => {
            tracing::warn!(%gap, id = state.id, "no checkpoint was kept");
            notices.push(format!("[moai-ralph] loop {}: {gap}", state.id));
        }
    }
    // Judge and merge may have taken minutes.
    facts.now_ms = now_ms();
    StopContext { facts, judged, session_usage: spent, notices }
}

async fn used_by_session(call: &HookCall<'_>, state: &LoopState) -> Option<SessionUsage> {
    let transcript = call.input.transcript_path.as_ref()?;
    let session = &call.input.session_id;
    Some(
        session_usage::read_session_usage(call.engine, session, transcript, state.created_ms).await,
    )
}

/// Fill level of the context, if the project sets a budget for it.
fn context(call: &HookCall<'_>, spent: Option<&SessionUsage>) -> Result<Option<ContextUse>, Gap> {
    let (budget_permille, window) =
        (call.project.config.context_permille, call.project.config.context_window);
    if budget_permille == 0 {
        return Ok(None);
    }
    let spent = spent.ok_or_else(|| Gap::new(Cause::NoTool, "the host gave no transcript"))?;
    let held = spent.context.as_ref().map_err(Clone::clone)?;
    let window = window.or_else(|| PriceList::built_in().context_tokens(&held.model));
    let window = window.ok_or_else(|| {
        let gap = Gap::new(Cause::NoTool, moai_report::spending::no_window(&held.model));
        gap.with_remedy("set loop.context_window")
    })?;
    let line = moai_report::spending::context(held, window, budget_permille);
    Ok(Some(ContextUse { tokens: held.tokens, window, budget_permille, line }))
}

/// Tokens used since the loop started; after a partial read at least the last known count.
fn tokens(state: &LoopState, spent: &SessionUsage) -> Option<u64> {
    let read = spent.usage.total().uncached();
    match &spent.gap {
        None => Some(read),
        Some(_) => {
            Some(read.max(state.counters.tokens.unwrap_or_default())).filter(|tokens| *tokens > 0)
        }
    }
}

/// Runs the judges. Without criteria they are not asked; a rubric of checks alone is met when these
/// pass, which is part of the evidence.
async fn consult_judges(
    call: &HookCall<'_>,
    state: &LoopState,
    StopEvidence { evidence, base, .. }: &StopEvidence,
    deadline: Instant,
) -> (Option<JudgeOutcome>, Option<JudgeReport>) {
    if state.mode == Mode::Basic {
        return (None, None);
    }
    let (engine, project) = (call.engine, &call.project);
    let rubric = match rubrics::frozen_rubric(engine, project, &state.id).await {
        Ok(rubric) => rubric,
        Err(gap) => return (Some(JudgeOutcome::Unmeasured(gap)), None),
    };
    if rubric.gap.is_none() && rubric.criteria.is_empty() {
        let is_asked_for = state.mode == Mode::Judge;
        let outcome = match rubric.is_empty() {
            true if is_asked_for => {
                let gap =
                    Gap::new(Cause::Nothing, "RUBRIC.md had no criteria when the loop started");
                Some(JudgeOutcome::Unmeasured(gap))
            }
            true => None,
            false => Some(JudgeOutcome::Approved),
        };
        return (outcome, None);
    }
    let passed = evidence
        .readings
        .iter()
        .filter(|reading| reading.kind == SensorKind::Check && reading.verdict() == Verdict::Clean);
    let checks = passed
        .map(|reading| (reading.sensor.clone(), reading.output.clone().unwrap_or_default()))
        .collect();
    let (goal, base) = (state.prompt.clone(), base.clone());
    let loop_id = Some(state.id.clone());
    let asked = JudgeRequest { rubric, goal, base, loop_id, checks, deadline };
    let judged = judge_run::run_judges(engine, project, asked).await;
    let outcome = match &judged.judgement {
        Judgement::Approved => JudgeOutcome::Approved,
        Judgement::Rejected => {
            JudgeOutcome::Rejected { reasons: moai_report::judging::rejection_reasons(&judged) }
        }
        Judgement::Unmeasured(gap) => JudgeOutcome::Unmeasured(gap.clone()),
    };
    (Some(outcome), Some(judged))
}

/// Merges the loop's branch as it was measured, if only the merge is missing.
async fn merge_if_ready(
    call: &HookCall<'_>,
    state: &LoopState,
    stop_evidence: &StopEvidence,
    outlook: &EvidenceOutlook,
    judge: Option<&JudgeOutcome>,
    schedule: StopSchedule,
) -> Option<MergeOutcome> {
    let (name, base) = (state.branch.clone()?, state.options.base_branch.clone()?);
    if !wants_merge(state, outlook, judge) {
        return None;
    }
    let branch = LoopBranch { name, base, created_ms: state.created_ms };
    let measured =
        MeasuredWork { head: stop_evidence.head.clone(), tree: stop_evidence.tree.clone() };
    let landing = branch_merge::merge_loop_branch(
        call.engine,
        &call.project,
        &branch,
        schedule.deadline,
        measured,
        || async move {
            match evidence::remeasure(call, state, schedule).await {
                (evidence, measured) if evidence.verdict() == Verdict::Clean => Ok(measured),
                (evidence, _) => {
                    Err(moai_report::loops::initial_problems(&evidence, state.language()))
                }
            }
        },
    );
    Some(match landing.await {
        BranchMergeResult::Merged => MergeOutcome::Merged,
        BranchMergeResult::Task(task) => MergeOutcome::Conflict(task),
        BranchMergeResult::Unmeasured(gap) => MergeOutcome::Unmeasured(gap),
        BranchMergeResult::Held(why) => MergeOutcome::Held(why),
        BranchMergeResult::Impossible(why) => MergeOutcome::Impossible(why),
    })
}

/// Keeps a checkpoint of the measured tree under the number of this iteration.
async fn keep_stop_checkpoint(
    call: &HookCall<'_>,
    state: &LoopState,
    stop_evidence: &StopEvidence,
) -> Result<String, Gap> {
    let snapshot = stop_evidence.tree.clone()?;
    let (id, name) = (state.id.clone(), (state.iteration + 1).to_string());
    checkpoints::keep_checkpoint(call.engine, &call.project, snapshot, id, name, state.best()).await
}
