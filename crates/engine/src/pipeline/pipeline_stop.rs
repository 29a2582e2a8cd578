//! A pipeline at a Stop of its loop. Before the approval the plan decides and nothing is measured;
//! afterwards the loop's own runs of the acceptance commands decide about each TODO.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Engine, now_ms};
use crate::exam::frozen_commands::frozen_commands;
use crate::exam::unfrozen_scripts::unfrozen_scripts;
use crate::hooks::hook_call::HookCall;
use crate::loops::loop_files;
use crate::pipeline::approved_exam;
use crate::pipeline::commit_check::{CommitRun, read_commits};
use crate::pipeline::escalations::failure_lines;
use crate::pipeline::gate_files::{document_faults, documents_of, write_documents};
use crate::pipeline::gates::{GateRun, work_digest};
use crate::pipeline::learnings_files::write_learnings;
use crate::pipeline::pipeline_end::loop_ending;
use crate::pipeline::pipeline_of_loop::load_pipeline_of_loop;
use crate::pipeline::plan_documents::{document_objections, unapproved_documents};
use crate::pipeline::worktree_end::{close_after_end, worktree_statuses};
use crate::project::Project;
use crate::recall::note::note_drafts;
use crate::stop::evidence::StopEvidence;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::failure_lines::failure_summary;
use moai_base::limits::ACCEPTANCE_OUTPUT_CHARS_MAX;
use moai_base::verdict::{Cause, Verdict};
use moai_host::store::StoreError;
use moai_host::store::loops::SaveOutcome;
use moai_host::store::pipelines::PipelineChange;
use moai_loops::exam::READING;
use moai_loops::facts::{Consultation, JudgeOutcome, WorkChange};
use moai_loops::progress;
use moai_loops::state::{LoopState, Mode};
use moai_pipeline::gate::ReviewReading;
use moai_pipeline::gate_document::GateDocument;
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::plan::{PlanDocument, TodoId, TodoStatus};
use moai_pipeline::state::{PipelineKind, PipelinePhase, PipelineState};
use moai_pipeline::step::{CommandReading, PipelineDecision, PipelineEvent, WorkReading, step};
use moai_protocol::hook::HookOutput;
use moai_report::person_questions::question_lines;
use moai_report::pipeline_end::{ended, reason_words};
use moai_report::pipeline_exam::exam_changed;
use moai_report::pipeline_worktrees::left_lines;
use moai_report::plan_approval::{additions_wait, awaits_approval};
use moai_report::plan_objections::objection_lines;
use moai_report::{observed, pipeline as words};

/// The answer to a Stop before the approval.
pub(crate) async fn review_plan(
    engine: &Engine,
    project: &Project,
    before: &PipelineState,
) -> HookOutput {
    let text = loop_files::file_text(project, &before.plan_path()).await;
    let documents = document_objections(project, before).await;
    let is_declined = text.as_deref().is_some_and(|text| before.is_declined(text));
    let (next, decisions) = step(before, PipelineEvent::PlanReviewed { text, documents }, now_ms());
    match engine.store.advance_pipeline(&project.key, before, next.clone()).await {
        Ok(SaveOutcome::Saved) => {}
        // It was approved or cancelled at this moment; the next Stop sees that.
        Ok(SaveOutcome::Overtaken) => return HookOutput::Silent,
        Err(error) => {
            tracing::warn!(%error, id = next.id, "a pipeline could not be saved");
            return HookOutput::Notice(words::not_saved(&next, &error.to_string()));
        }
    }
    match decisions.first() {
        Some(PipelineDecision::Hold(objections)) => {
            HookOutput::Block(words::plan_held(&next, objections))
        }
        Some(PipelineDecision::GiveUpPlan(objections)) => {
            HookOutput::Notice(words::no_plan(&next, objections))
        }
        _ => HookOutput::Notice(awaits_approval(&next, is_declined)),
    }
}

/// Changes by a Stop after the approval.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredPlan {
    before: PipelineState,
    next: PipelineState,
    boxes: Vec<(TodoId, TodoStatus)>,
    /// The agent's next tasks.
    pub(crate) tasks: Vec<String>,
    /// Other missing parts of the plan, for the agent.
    pub(crate) open: Vec<String>,
    /// Why the user is asked about the plan.
    pub(crate) unusable: Vec<String>,
    /// Questions for the user, once nothing else is missing.
    pub(crate) questions: Vec<String>,
    /// True if a different approach begins.
    pub(crate) begins_anew: bool,
    /// Why it cannot be finished, as a fragment.
    pub(crate) failure: Option<String>,
}

/// What the user reads about the pipeline at a Stop.
#[derive(Debug, Default)]
pub(crate) struct PlanNotices {
    /// Shown once per session.
    pub(crate) notices: Vec<String>,
    /// The end of the pipeline, shown every time: one that was resumed may end in the same way again.
    pub(crate) end: Vec<String>,
}

/// Compares the plan with the runs of its acceptance commands; once they pass, the commits.
pub(crate) async fn measure_plan(
    call: &HookCall<'_>,
    state: &LoopState,
    measured: &StopEvidence,
    deadline: Instant,
) -> Result<Option<MeasuredPlan>, StoreError> {
    let (engine, project) = (call.engine, &call.project);
    let evidence = &measured.measurement.evidence;
    let Some(before) = load_pipeline_of_loop(engine, project, state).await? else {
        return Ok(None);
    };
    let mut commands = command_readings(engine, project, state, &evidence.readings).await;
    let is_exam = |reading: &&SensorReading| reading.sensor == READING && reading.dirty;
    let mut faults = approved_exam::weakening_lines(&evidence.findings);
    let is_exam_changed = evidence.readings.iter().any(|reading| is_exam(&reading));
    if is_exam_changed {
        faults.extend(approved_exam::all_changes(engine, project, &state.charter()).await);
    }
    if is_exam_changed || !faults.is_empty() {
        // Only a run of the frozen files and of the tests as they were accepts a TODO.
        let unmeasured = CommandReading::Unmeasured(exam_changed(&faults));
        for reading in commands.values_mut() {
            *reading = unmeasured.clone();
        }
    }
    let (plan, plan_gap) = match loop_files::text_or_reason(project, &before.plan_path()).await {
        Ok(text) => (text, None),
        Err(reason) => (None, Some(reason)),
    };
    let problems = other_problems(evidence);
    let has_work = measured.work_change == WorkChange::Changed;
    let event = PipelineEvent::WorkMeasured(WorkReading {
        plan,
        plan_gap,
        commands,
        problems,
        has_work,
        is_untouched: measured.work_change == WorkChange::Unchanged,
        changed_documents: unapproved_documents(project, &before).await,
        late_scripts: unfrozen_scripts(engine, project, &state.id).await.late,
        test_warnings: approved_exam::test_warnings(evidence),
    });
    let mut measured = MeasuredPlan {
        next: before.clone(),
        before,
        boxes: Vec::new(),
        tasks: Vec::new(),
        open: Vec::new(),
        unusable: Vec::new(),
        questions: Vec::new(),
        begins_anew: false,
        failure: None,
    };
    let changed = document_faults(project, &measured.before).await.changed;
    if !changed.is_empty() {
        measured.take(PipelineEvent::DocumentsChanged(changed));
    }
    measured.take(event);
    let is_dirty = evidence.verdict() == Verdict::Dirty;
    if !is_dirty && measured.next.kind == PipelineKind::Full {
        measured.pass_gates(&GateRun { call, held: state, evidence, deadline }).await;
    }
    if !measured.lacks_nothing() {
        measured.tasks.extend(failure_lines(project, &measured.next));
    }
    if is_dirty {
        return Ok(Some(measured));
    }
    if measured.lacks_nothing() && project.config.pipeline.wants_commits() {
        let pipeline = &measured.next;
        let run = CommitRun { engine, project, caller: &call.caller, pipeline, deadline };
        let reading = read_commits(&run).await;
        measured.take(PipelineEvent::CommitsMeasured(reading));
    }
    Ok(Some(measured))
}

/// The problems at this Stop, in a form that the loop compares between Stops.
fn other_problems(evidence: &Evidence) -> Option<String> {
    (evidence.verdict() == Verdict::Dirty).then(|| progress::weigh(evidence, None).hash).flatten()
}

/// The runs of the frozen commands at this Stop, by program and arguments.
async fn command_readings(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    readings: &[SensorReading],
) -> BTreeMap<Vec<String>, CommandReading> {
    let commands = frozen_commands(engine, project, &state.id).await;
    let mut runs = BTreeMap::new();
    for command in commands.into_iter().filter(|command| command.folder.is_empty()) {
        let is_run = |reading: &&SensorReading| {
            reading.kind == SensorKind::Check && reading.sensor == command.name
        };
        if let Some(reading) = readings.iter().find(is_run) {
            runs.insert(command.argv, command_reading(reading));
        }
    }
    runs
}

pub(super) fn command_reading(reading: &SensorReading) -> CommandReading {
    match reading.verdict() {
        Verdict::Clean => CommandReading::Passed,
        Verdict::Dirty => {
            let output = reading.output.as_deref().unwrap_or("it failed");
            CommandReading::Failed(failure_summary(output, ACCEPTANCE_OUTPUT_CHARS_MAX))
        }
        Verdict::Unmeasured(gap) if gap.cause == Cause::NotInstalled => {
            CommandReading::NotInstalled(gap.to_string())
        }
        Verdict::Unmeasured(gap) => CommandReading::Unmeasured(gap.to_string()),
    }
}

impl MeasuredPlan {
    /// Takes a step of the pipeline, and keeps its decisions.
    fn take(&mut self, event: PipelineEvent) {
        let (next, decisions) = step(&self.next, event, now_ms());
        self.next = next;
        for decision in decisions {
            match decision {
                PipelineDecision::Hold(objections) => {
                    let (tasks, open): (Vec<_>, Vec<_>) =
                        objections.into_iter().partition(PlanObjection::is_task);
                    self.tasks.extend(objection_lines(&self.next, &tasks));
                    self.open.extend(objection_lines(&self.next, &open));
                }
                PipelineDecision::AwaitPerson(questions) => {
                    self.questions.extend(question_lines(&self.next, &questions));
                }
                PipelineDecision::AwaitAdditions(parts) => {
                    self.questions.push(additions_wait(&self.next, &parts));
                }
                PipelineDecision::BeginAnew => self.begins_anew = true,
                PipelineDecision::Pause(objections) => {
                    self.unusable.extend(objection_lines(&self.next, &objections));
                }
                PipelineDecision::SetBox { todo, status } => self.boxes.push((todo, status)),
                PipelineDecision::EndWithFailures(reason) => {
                    self.failure = Some(reason_words(&self.next, &reason));
                }
                PipelineDecision::AwaitApproval | PipelineDecision::GiveUpPlan(_) => {}
            }
        }
    }

    /// Asks the gates one after the other; a failed gate holds, and later ones are not asked.
    async fn pass_gates(&mut self, run: &GateRun<'_>) {
        if self.lacks_nothing()
            && let Some(reading) = run.sandbox().await
        {
            self.take(PipelineEvent::SandboxMeasured(reading));
        }
        if self.lacks_nothing() {
            let review = run.review(&self.next).await;
            self.take(PipelineEvent::CategoriesReviewed(review));
        }
        if self.lacks_nothing() && !self.next.scenarios.is_empty() {
            let work = work_digest(run.call.engine, &run.call.project, &self.next).await;
            self.take(PipelineEvent::ScenariosReviewed(work));
        }
    }

    /// True if files of the work were changed since the pipeline began.
    pub(crate) fn has_work(&self) -> bool {
        self.next.has_work
    }

    /// True if the approved plan is done as far as it was compared.
    fn lacks_nothing(&self) -> bool {
        let lists = [&self.tasks, &self.open, &self.questions, &self.unusable];
        let is_open = lists.iter().any(|lines| !lines.is_empty()) || self.failure.is_some();
        !is_open && self.next.kind.has_plan() && self.next.passed_todos() == self.next.todos.len()
    }

    /// The plan after the decision about the loop.
    pub(crate) fn decided(self, decided: &LoopState, review: ReviewReading) -> DecidedPlan {
        let Self { before, next, boxes, .. } = self;
        let (mut next, _) = step(&next, PipelineEvent::ReviewGiven(review), now_ms());
        if let Some(ending) = loop_ending(decided) {
            next = step(&next, PipelineEvent::LoopEnded(ending), now_ms()).0;
        }
        next.has_left_documents |=
            next.kind == PipelineKind::Full && next.phase == PipelinePhase::Finalize;
        let (documents, hashes) = documents_of(&next);
        next.gate_documents.extend(hashes);
        DecidedPlan { change: Arc::new(PipelineChange { before, next }), boxes, documents }
    }
}

/// A pipeline after the decision about its loop.
pub(crate) struct DecidedPlan {
    /// To be saved together with the decision.
    pub(crate) change: Arc<PipelineChange>,
    boxes: Vec<(TodoId, TodoStatus)>,
    documents: Vec<GateDocument>,
}

impl DecidedPlan {
    /// Writes the boxes and documents of a pipeline that was saved.
    pub(crate) async fn write(
        self,
        engine: &Arc<Engine>,
        project: &Project,
        decided: &LoopState,
    ) -> PlanNotices {
        let Self { change, boxes, documents } = self;
        let PipelineChange { before, next } = &*change;
        let (mut notices, mut end) = (Vec::new(), Vec::new());
        if !boxes.is_empty() {
            let path = next.plan_path();
            let change = move |text: &str| with_boxes(text, &boxes);
            notices.extend(loop_files::change_file(engine, project, &path, change).await);
        }
        notices.extend(write_documents(engine, project, documents).await);
        let is_new = |path: &&String| !before.changed_documents.contains(path);
        let changed = next.changed_documents.iter().filter(is_new);
        notices.extend(changed.map(|path| words::document_changed(next, path)));
        // Documents that must be committed exist before the commits.
        let is_time = !next.is_active() || next.phase == PipelinePhase::Finalize;
        if is_time && next.kind == PipelineKind::Full && !before.has_left_documents {
            notices.extend(write_learnings(engine, project, next).await);
        }
        if !next.is_active() {
            close_after_end(engine, project, before).await;
            let session = decided.session_id.as_deref().unwrap_or_default();
            note_drafts(engine, project, session, observed::pipeline_learnings(next));
            end.push(ended(next));
            end.extend(left_lines(next, &worktree_statuses(engine, project, next).await));
        }
        PlanNotices { notices, end }
    }
}

/// The judges' rulings at a Stop.
pub(crate) fn review_reading(
    state: &LoopState,
    judge: &Consultation<JudgeOutcome>,
) -> ReviewReading {
    match judge.outcome() {
        Some(JudgeOutcome::Approved) => ReviewReading::Approved,
        Some(JudgeOutcome::Rejected { .. }) => ReviewReading::Rejected,
        Some(JudgeOutcome::Unmeasured(_)) => ReviewReading::Unmeasured,
        None if state.mode == Mode::Basic => ReviewReading::Absent,
        None => ReviewReading::NotAsked,
    }
}

/// The plan with these boxes; `None` if it has them already. A TODO that no longer exists is left out.
pub(super) fn with_boxes(text: &str, boxes: &[(TodoId, TodoStatus)]) -> Option<String> {
    let edited = PlanDocument::set_statuses(text, boxes);
    (edited != text).then_some(edited)
}
