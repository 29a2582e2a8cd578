//! The gates of a full pipeline at a Stop at which every test passes: gate 1 again in a container, the
//! judges' review in eight categories, and the identity of the work that scenarios are played with.

use std::sync::Arc;
use std::time::Instant;

use super::sandbox;
use crate::engine::{Engine, run_blocking};
use crate::exam::frozen_commands::frozen_commands;
use crate::hooks::hook_call::HookCall;
use crate::judge::judge_run::{self, JudgeRequest};
use crate::judge::judged_change::{CollectedChange, collect_judged_change};
use crate::project::Project;
use moai_base::evidence::{Evidence, SensorKind};
use moai_base::hash::ContentHash;
use moai_base::verdict::Verdict;
use moai_config::pipeline::SandboxKind;
use moai_loops::criteria::CheckCommand;
use moai_loops::state::LoopState;
use moai_pipeline::review::{CategoryReview, category_rubric};
use moai_pipeline::state::PipelineState;
use moai_pipeline::step::SandboxReading;

/// Inputs of the gates at one Stop.
pub(super) struct GateRun<'c> {
    pub(super) call: &'c HookCall<'c>,
    pub(super) held: &'c LoopState,
    pub(super) evidence: &'c Evidence,
    pub(super) deadline: Instant,
}

impl GateRun<'_> {
    /// Gate 1 in a container; `None` if the options do not ask for one.
    pub(super) async fn sandbox(&self) -> Option<SandboxReading> {
        let (engine, project) = (self.call.engine, &self.call.project);
        if project.config.pipeline.sandbox != SandboxKind::Docker {
            return None;
        }
        let mut commands = frozen_commands(engine, project, &self.held.id).await;
        commands.retain(CheckCommand::is_acceptance);
        if commands.is_empty() {
            return Some(SandboxReading::OnHost(
                "no frozen acceptance command can be read".to_owned(),
            ));
        }
        Some(sandbox::run_in_container(self.call, commands, self.deadline).await)
    }

    /// The judges' review. The same change is not reviewed twice.
    pub(super) async fn review(&self, pipeline: &PipelineState) -> CategoryReview {
        let mut checks = Vec::new();
        for reading in &self.evidence.readings {
            if reading.kind == SensorKind::Check && reading.verdict() == Verdict::Clean {
                checks.push((reading.sensor.clone(), reading.output.clone().unwrap_or_default()));
            }
        }
        let request = JudgeRequest {
            rubric: category_rubric(),
            goal: self.held.prompt.clone(),
            base: pipeline.base.clone(),
            loop_id: Some(self.held.id.clone()),
            checks,
            deadline: self.deadline,
        };
        let report = judge_run::run_judges(self.call.engine, &self.call.project, request).await;
        CategoryReview::of_report(&report)
    }
}

/// Identifies the changed files of a pipeline, except those that the engine writes itself. `None` if the
/// change is unknown.
pub(super) async fn work_digest(
    engine: &Arc<Engine>,
    project: &Project,
    pipeline: &PipelineState,
) -> Option<String> {
    let (engine, project) = (Arc::clone(engine), project.clone());
    let (base, loop_id) = (pipeline.base.clone(), pipeline.loop_id.clone());
    let digest = run_blocking(move || {
        let (base, loop_id) = (base.as_deref(), Some(loop_id.as_str()));
        let change = match collect_judged_change(&engine, &project, base, loop_id) {
            Ok(CollectedChange::Change(change)) => change,
            Ok(CollectedChange::NoGit) | Err(_) => return None,
        };
        let mut lines: Vec<String> = Vec::new();
        for file in &change.files {
            let text = file.after.as_ref().map(|text| ContentHash::of_bytes(text.full.as_bytes()));
            let text = text.map(|hash| hash.to_string()).unwrap_or_default();
            lines.push(format!("{} {text}", file.path));
        }
        lines.sort();
        Some(ContentHash::of_bytes(lines.join("\n").as_bytes()).short_hex())
    });
    digest.await.flatten()
}
