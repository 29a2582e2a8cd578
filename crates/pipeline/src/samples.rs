//! Sample pipelines for tests.

use crate::state::{PipelineKind, PipelineState, PlanApprover};
use crate::step::{PipelineEvent, step};

/// A plan of two TODOs with files.
pub(crate) const PLAN: &str = "\
# PLAN: two files

### [ ] TODO 1: one
- Files: src/one.rs, src/**
- [A] `check one`

### [ ] TODO 2: two
- Dependencies: TODO-1
- Files: two.py
- [A] `check two`
";

/// A pipeline without a plan.
pub(crate) fn begun() -> PipelineState {
    let (id, goal) = ("pipeline-1".to_owned(), "two files".to_owned());
    let state = PipelineState::begin(id, PipelineKind::Small, goal, "SPEC-FILES-001".into(), 1);
    PipelineState { loop_id: "loop-1".to_owned(), ..state }
}

/// The same with [`PLAN`] approved.
pub(crate) fn approved(by: PlanApprover) -> PipelineState {
    step(&begun(), PipelineEvent::PlanApproved { text: PLAN.to_owned(), by }, 2).0
}

/// The same with a different plan.
pub(crate) fn approved_plan(text: &str) -> PipelineState {
    let by = PlanApprover::Person;
    step(&begun(), PipelineEvent::PlanApproved { text: text.to_owned(), by }, 2).0
}
