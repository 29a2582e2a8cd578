//! A pipeline at a Stop of its loop. Before the approval the plan decides and nothing is measured;
//! afterwards the loop's own runs of the acceptance commands decide about each TODO.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::{Engine, now_ms};
use crate::loops::loop_files;
use crate::pipeline::learnings_files::write_learnings;
use crate::pipeline::pipeline_end::loop_ending;
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::foreign_text::one_line;
use moai_base::limits::ACCEPTANCE_OUTPUT_CHARS_MAX;
use moai_base::verdict::Verdict;
use moai_host::store::loops::SaveOutcome;
use moai_host::store::pipelines::PipelineQuery;
use moai_loops::exam::ExamRole;
use moai_loops::facts::{Consultation, JudgeOutcome};
use moai_loops::progress;
use moai_loops::state::{LoopState, Mode};
use moai_pipeline::gate::ReviewReading;
use moai_pipeline::plan::{PlanDocument, TodoId, TodoStatus};
use moai_pipeline::state::{PipelineKind, PipelineState};
use moai_pipeline::step::{CommandReading, PipelineDecision, PipelineEvent, WorkReading, step};
use moai_protocol::hook::HookOutput;
use moai_report::pipeline as words;

/// The active pipeline of a loop; a loop without one costs nothing.
pub(crate) async fn pipeline_of_loop(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
) -> Option<PipelineState> {
    let which = PipelineQuery::Id(state.options.pipeline.clone()?);
    match engine.store.find_pipeline(&project.key, &project.root, which).await {
        Ok(found) => found.filter(|it| it.is_active() && it.loop_id == state.id),
        Err(error) => {
            tracing::warn!(%error, id = state.id, "the pipeline of a loop could not be loaded");
            None
        }
    }
}

/// The answer to a Stop before the approval.
pub(crate) async fn review_plan(
    engine: &Engine,
    project: &Project,
    before: &PipelineState,
) -> HookOutput {
    let text = loop_files::file_text(project, &before.plan_path()).await;
    let (next, decisions) = step(before, PipelineEvent::PlanReviewed(text), now_ms());
    match engine.store.advance_pipeline(&project.key, before, next.clone()).await {
        Ok(SaveOutcome::Saved) => {}
        // It was approved or cancelled at this moment; the next Stop sees that.
        Ok(SaveOutcome::Overtaken) => return HookOutput::Silent,
        Err(error) => {
            tracing::warn!(%error, id = next.id, "a pipeline could not be saved");
            return HookOutput::Silent;
        }
    }
    match decisions.first() {
        Some(PipelineDecision::Hold(objections)) => {
            HookOutput::Block(words::plan_held(&next, objections))
        }
        Some(PipelineDecision::GiveUpPlan(objections)) => {
            HookOutput::Notice(words::no_plan(&next, objections))
        }
        _ => HookOutput::Notice(words::awaits_approval(&next)),
    }
}

/// What a Stop after the approval changes.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredPlan {
    before: PipelineState,
    next: PipelineState,
    boxes: Vec<(TodoId, TodoStatus)>,
    /// What the plan lacks, for the agent.
    pub(crate) open: Vec<String>,
    /// Why the user is asked about the plan.
    pub(crate) unusable: Vec<String>,
    /// Whether nothing is left but TODOs that failed.
    pub(crate) is_exhausted: bool,
}

/// Compares the plan with the runs of its acceptance commands.
pub(crate) async fn measure_plan(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    evidence: &Evidence,
) -> Option<MeasuredPlan> {
    let before = pipeline_of_loop(engine, project, state).await?;
    let commands = command_readings(engine, project, state, &evidence.readings).await;
    let plan = loop_files::file_text(project, &before.plan_path()).await;
    let problems = other_problems(evidence);
    let event = PipelineEvent::WorkMeasured(WorkReading { plan, commands, problems });
    let (next, decisions) = step(&before, event, now_ms());
    let mut measured = MeasuredPlan {
        before,
        next,
        boxes: Vec::new(),
        open: Vec::new(),
        unusable: Vec::new(),
        is_exhausted: false,
    };
    for decision in decisions {
        match decision {
            PipelineDecision::Hold(objections) => {
                measured.open = words::objection_lines(&measured.next, &objections);
            }
            PipelineDecision::Pause(objections) => {
                measured.unusable = words::objection_lines(&measured.next, &objections);
            }
            PipelineDecision::SetBox { todo, status } => measured.boxes.push((todo, status)),
            PipelineDecision::EndWithFailures => measured.is_exhausted = true,
            PipelineDecision::AwaitApproval | PipelineDecision::GiveUpPlan(_) => {}
        }
    }
    Some(measured)
}

/// What is wrong at this Stop, as the loop compares it from one Stop to the next.
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
    let exam = engine.store.find_exam(&project.key, &state.id, ExamRole::STRICT).await;
    let commands = exam.ok().flatten().map(|exam| exam.plan.commands).unwrap_or_default();
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
            CommandReading::Failed(one_line(output, ACCEPTANCE_OUTPUT_CHARS_MAX))
        }
        Verdict::Unmeasured(gap) => CommandReading::Unmeasured(gap.to_string()),
    }
}

impl MeasuredPlan {
    /// Saves the pipeline and then writes the boxes, after the decision of the loop was saved.
    /// Returns notices for the user.
    pub(crate) async fn save(
        self,
        engine: &Arc<Engine>,
        project: &Project,
        decided: &LoopState,
        review: ReviewReading,
    ) -> Vec<String> {
        let Self { before, next, boxes, .. } = self;
        let (mut next, _) = step(&next, PipelineEvent::ReviewGiven(review), now_ms());
        if let Some(ending) = loop_ending(decided) {
            next = step(&next, PipelineEvent::LoopEnded(ending), now_ms()).0;
        }
        match engine.store.advance_pipeline(&project.key, &before, next.clone()).await {
            Ok(SaveOutcome::Saved) => {}
            Ok(SaveOutcome::Overtaken) => return Vec::new(),
            Err(error) => return vec![words::boxes_not_written(&next, &error.to_string())],
        }
        let mut notices = Vec::new();
        if !boxes.is_empty() {
            let path = next.plan_path();
            let change = move |text: &str| with_boxes(text, &boxes);
            notices.extend(loop_files::change_file(engine, project, &path, change).await);
        }
        if !next.is_active() {
            if next.kind == PipelineKind::Full {
                notices.extend(write_learnings(engine, project, &next).await);
            }
            notices.push(words::ended(&next));
        }
        notices
    }
}

/// What the judges said at a Stop.
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

/// The plan with these boxes; `None` if it has them already. A TODO that is gone meanwhile is left
/// out.
pub(super) fn with_boxes(text: &str, boxes: &[(TodoId, TodoStatus)]) -> Option<String> {
    let mut edited = text.to_owned();
    for (todo, status) in boxes {
        if let Ok(next) = PlanDocument::set_status(&edited, todo, *status) {
            edited = next;
        }
    }
    (edited != text).then_some(edited)
}
