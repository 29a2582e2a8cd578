//! The lines that propose a stronger model, by the project's rules.

use crate::project::Project;
use moai_config::pipeline::{EscalatedSize, PipelineOptions};
use moai_pipeline::escalation::{EscalationRules, escalated_failures, escalated_sizes};
use moai_pipeline::plan::TodoSize;
use moai_pipeline::state::PipelineState;
use moai_report::pipeline as words;

/// Lines about TODOs that get the stronger model from the start.
pub(super) fn size_lines(project: &Project, state: &PipelineState) -> Vec<String> {
    let rules = rules(&project.config.pipeline);
    words::escalation_lines(state, &rules.model, &escalated_sizes(state, &rules))
}

/// Lines about TODOs that failed often enough.
pub(super) fn failure_lines(project: &Project, state: &PipelineState) -> Vec<String> {
    let rules = rules(&project.config.pipeline);
    words::escalation_lines(state, &rules.model, &escalated_failures(state, &rules))
}

fn rules(options: &PipelineOptions) -> EscalationRules {
    let sizes = options.escalate_sizes.iter().map(|size| match size {
        EscalatedSize::S => TodoSize::Small,
        EscalatedSize::M => TodoSize::Medium,
        EscalatedSize::L => TodoSize::Large,
    });
    EscalationRules {
        after: options.escalate_after,
        sizes: sizes.collect(),
        model: options.escalate_model.clone(),
    }
}
