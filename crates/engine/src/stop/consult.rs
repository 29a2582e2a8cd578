//! Decides a measured Stop: takes the steps that `loops::step` asks for, and consults the judges, the
//! merge, the transcript and the checkpoints for them. Each failure is a gap or a notice.

use crate::branches::branch_merge;
use crate::branches::branch_merge::BranchMergeResult;
use crate::branches::loop_branch::LoopBranch;
use crate::engine::now_ms;
use crate::exam::rubrics;
use crate::hooks::hook_call::HookCall;
use crate::judge::judge_run;
use crate::judge::judge_run::JudgeRequest;
use crate::loops::session_usage;
use crate::loops::session_usage::SessionUsage;
use crate::pipeline::pipeline_stop::{MeasuredPlan, review_reading};
use crate::restore::checkpoints;
use crate::stop::StopRun;
use crate::stop::evidence::{StopEvidence, closing_look, measure_work, within_deadline};
use moai_base::evidence::SensorKind;
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_config::prices::PriceList;
use moai_loops::claims;
use moai_loops::facts::{ContextUse, JudgeOutcome, MergeOutcome, StopFacts, WorkChange};
use moai_loops::judge::decision::Judgement;
use moai_loops::judge::judge_report::JudgeReport;
use moai_loops::research::ResearchGate;
use moai_loops::state::{LoopState, Mode};
use moai_loops::step::{StopOutcome, StopStep, next_step};
use moai_pipeline::gate::ReviewReading;

/// The consultations of one Stop.
pub(crate) struct StopConsultation<'s> {
    run: &'s StopRun<'s>,
    state: &'s LoopState,
    evidence: &'s StopEvidence,
    facts: StopFacts,
    /// The judges' report; `None` if they were not asked.
    pub(crate) judged: Option<JudgeReport>,
    /// Usage of the session, if the host reports its transcript.
    pub(crate) session_usage: Option<SessionUsage>,
    /// Notices for the user.
    pub(crate) notices: Vec<String>,
}

impl<'s> StopConsultation<'s> {
    /// Starts with the facts that are always needed.
    pub(crate) async fn begin(
        run: &'s StopRun<'s>,
        state: &'s LoopState,
        evidence: &'s StopEvidence,
        plan: Option<&MeasuredPlan>,
    ) -> Self {
        let (call, measurement) = (run.call, &evidence.measurement);
        let usage = within_deadline(run.schedule.deadline, usage_of_session(call, state)).await;
        let usage = usage.unwrap_or_default();
        let mut notices = Vec::new();
        let context = context_use(call, usage.as_ref()).unwrap_or_else(|gap| {
            notices.push(moai_report::spending::context_unmeasured(&gap));
            None
        });
        let snapshot = measurement.work.tree.as_ref().ok();
        let omitted = snapshot.map(|snapshot| &snapshot.tree.omitted);
        notices.extend(omitted.and_then(moai_report::restore::excluded_files));
        let contradictions = claims::contradictions(run.input.last_message, &measurement.evidence);
        let facts = StopFacts {
            research_missing: match &evidence.notes.research {
                ResearchGate::Missing(lines) => lines.clone(),
                ResearchGate::Passed => Vec::new(),
            },
            contradictions: moai_report::spending::contradiction_lines(&contradictions),
            unrequested_criteria: measurement
                .not_required
                .iter()
                .map(|criterion| criterion.as_str().to_owned())
                .collect(),
            exam_changed: measurement.exam_changes.clone(),
            plan_open: plan.map(|plan| plan.open.clone()).unwrap_or_default(),
            plan_tasks: plan.map(|plan| plan.tasks.clone()).unwrap_or_default(),
            plan_unusable: plan.map(|plan| plan.unusable.clone()).unwrap_or_default(),
            plan_failure: plan.and_then(|plan| plan.failure.clone()),
            person_questions: plan.map(|plan| plan.questions.clone()).unwrap_or_default(),
            check_problems: Some(measurement.check_problems),
            work: match plan {
                Some(plan) if plan.has_work() => WorkChange::Changed,
                _ => evidence.work_change.clone(),
            },
            tree: snapshot.map(|snapshot| snapshot.id.clone()),
            tokens: usage.as_ref().and_then(|usage| tokens_used(state, usage)),
            context,
            lsp_required: call.project.config.lsp_required,
            ..StopFacts::default()
        };
        Self { run, state, evidence, facts, judged: None, session_usage: usage, notices }
    }

    /// Takes the steps that are still missing, until the Stop is decided.
    pub(crate) async fn decide(&mut self) -> StopOutcome {
        loop {
            // Judge and merge may take minutes.
            self.facts.now_ms = now_ms();
            let (input, evidence) = (&self.run.input, &self.evidence.measurement.evidence);
            match next_step(self.state, input, evidence, &self.facts) {
                StopStep::NeedsJudge => self.facts.judge = self.consult_judges().await.into(),
                StopStep::NeedsClosingLook => {
                    let measured = &self.evidence.measurement;
                    let deadline = self.run.schedule.deadline;
                    let look = closing_look(self.run.call, measured, deadline);
                    self.facts.closing_look = look.await.into();
                }
                StopStep::NeedsMerge => self.facts.merge = Box::pin(self.merge()).await.into(),
                StopStep::NeedsCheckpoint => {
                    self.facts.checkpoint = self.save_checkpoint().await.into();
                }
                StopStep::Decided(outcome) => return *outcome,
            }
        }
    }

    /// Number of consecutive rejections by the judges, including this Stop's.
    pub(crate) fn consecutive_rejections(&self) -> u32 {
        let is_rejected = matches!(self.facts.judge.outcome(), Some(JudgeOutcome::Rejected { .. }));
        self.state.counters.consecutive_rejections + u32::from(is_rejected)
    }

    /// The judges' rulings, for the gates of a pipeline.
    pub(crate) fn review(&self) -> ReviewReading {
        review_reading(self.state, &self.facts.judge)
    }

    /// Runs the judges. Without criteria they are not asked; a rubric of checks alone is met when
    /// these pass, which is part of the evidence.
    async fn consult_judges(&mut self) -> Option<JudgeOutcome> {
        let (engine, project, state) = (self.run.call.engine, &self.run.call.project, self.state);
        let rubric = match rubrics::frozen_rubric(engine, project, &state.id).await {
            Ok(rubric) => rubric,
            Err(gap) => return Some(JudgeOutcome::Unmeasured(gap)),
        };
        if rubric.gap.is_none() && rubric.criteria.is_empty() {
            return match rubric.is_empty() {
                true if state.mode == Mode::Judge => {
                    let detail = "RUBRIC.md had no criteria when the loop started";
                    Some(JudgeOutcome::Unmeasured(Gap::new(Cause::Nothing, detail)))
                }
                true => None,
                false => Some(JudgeOutcome::Approved),
            };
        }
        let mut checks = Vec::new();
        for reading in &self.evidence.measurement.evidence.readings {
            if reading.kind == SensorKind::Check && reading.verdict() == Verdict::Clean {
                let output = reading.output.clone().unwrap_or_default();
                checks.push((reading.sensor.clone(), output));
            }
        }
        let request = JudgeRequest {
            rubric,
            goal: state.prompt.clone(),
            base: self.evidence.measurement.base.clone(),
            loop_id: Some(state.id.clone()),
            checks,
            deadline: self.run.schedule.deadline,
        };
        let report = judge_run::run_judges(engine, project, request).await;
        let outcome = match &report.judgement {
            Judgement::Approved => JudgeOutcome::Approved,
            Judgement::Rejected => {
                JudgeOutcome::Rejected { reasons: moai_report::judging::rejection_reasons(&report) }
            }
            Judgement::Unmeasured(gap) => JudgeOutcome::Unmeasured(gap.clone()),
        };
        self.facts.judge_files = Some(report.coverage.shown);
        self.facts.observations = moai_report::judging::suspicion_lines(&report);
        self.judged = Some(report);
        Some(outcome)
    }

    /// Merges the loop's branch as it was measured; `None` without a base branch.
    async fn merge(&self) -> Option<MergeOutcome> {
        let (run, state) = (self.run, self.state);
        let (name, base) = (state.branch.clone()?, state.options.base_branch.clone()?);
        let branch =
            LoopBranch { name, base, created_ms: state.created_ms, language: state.language() };
        let result = branch_merge::merge_loop_branch(
            run.call.engine,
            &run.call.project,
            &branch,
            run.schedule.deadline,
            self.evidence.measurement.work.clone(),
            || async move {
                let again = measure_work(run.call, state, run.schedule).await;
                match again.evidence.verdict() {
                    Verdict::Clean => Ok(again.work),
                    // No sensor covers the work, and the judge has approved it.
                    Verdict::Unmeasured(gap)
                        if gap.cause == Cause::Nothing && again.evidence.has_one_gap() =>
                    {
                        Ok(again.work)
                    }
                    _ => {
                        Err(moai_report::loops::initial_problems(&again.evidence, state.language()))
                    }
                }
            },
        );
        Some(match Box::pin(result).await {
            BranchMergeResult::Merged => MergeOutcome::Merged,
            BranchMergeResult::Task(task) => MergeOutcome::Conflict(task),
            BranchMergeResult::Unmeasured(gap) => MergeOutcome::Unmeasured(gap),
            BranchMergeResult::Held(why) => MergeOutcome::Held(why),
            BranchMergeResult::Impossible(why) => MergeOutcome::Impossible(why),
        })
    }

    /// Saves the measured tree as the checkpoint of this iteration.
    async fn save_checkpoint(&mut self) -> Option<String> {
        let (call, state) = (self.run.call, self.state);
        let saving = async {
            let snapshot = self.evidence.measurement.work.tree.clone()?;
            let (id, name) = (state.id.clone(), (state.iteration + 1).to_string());
            checkpoints::keep_checkpoint(
                call.engine,
                &call.project,
                snapshot,
                id,
                name,
                state.best(),
            )
            .await
        };
        match within_deadline(self.run.schedule.deadline, saving).await.flatten() {
            Ok(checkpoint) => Some(checkpoint),
            Err(gap) => {
                tracing::warn!(%gap, id = state.id, "no checkpoint was saved");
                self.notices.push(format!("[moai-ralph] loop {}: {gap}", state.id));
                None
            }
        }
    }
}

/// The tokens of the session; `None` without a transcript in which they can be counted.
async fn usage_of_session(call: &HookCall<'_>, state: &LoopState) -> Option<SessionUsage> {
    if !call.input.host.profile().has_token_counts {
        return None;
    }
    let transcript = call.input.transcript_path.as_ref()?;
    let session = &call.input.session_id;
    Some(
        session_usage::read_session_usage(call.engine, session, transcript, state.created_ms).await,
    )
}

/// Fill level of the context, if the project sets a budget for it.
fn context_use(
    call: &HookCall<'_>,
    usage: Option<&SessionUsage>,
) -> Result<Option<ContextUse>, Gap> {
    let (budget_permille, window) =
        (call.project.config.context_permille, call.project.config.context_window);
    if budget_permille == 0 {
        return Ok(None);
    }
    let usage = usage
        .ok_or_else(|| Gap::new(Cause::NoTool, "the host gave no transcript that counts tokens"))?;
    let content = usage.context.as_ref().map_err(Clone::clone)?;
    let window = window.or_else(|| PriceList::built_in().context_tokens(&content.model));
    let window = window.ok_or_else(|| {
        let gap = Gap::new(Cause::NoTool, moai_report::spending::no_window(&content.model));
        gap.with_remedy("set loop.context_window")
    })?;
    let line = moai_report::spending::context(content, window, budget_permille);
    Ok(Some(ContextUse { tokens: content.tokens, window, budget_permille, line }))
}

/// Tokens used since the loop started; after a partial read at least the last known count.
fn tokens_used(state: &LoopState, usage: &SessionUsage) -> Option<u64> {
    let counted = usage.usage.total().uncached();
    match &usage.gap {
        None => Some(counted),
        Some(_) => Some(counted.max(state.counters.tokens.unwrap_or_default()))
            .filter(|tokens| *tokens > 0),
    }
}
