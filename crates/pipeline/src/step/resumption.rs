//! The continuation of a pipeline that has ended, with a new loop.

use super::PipelineDecision;
use super::rounds::forget_attempts;
use crate::ending::LoopEnding;
use crate::gate::PipelineGates;
use crate::state::{CheckOverride, PipelinePhase, PipelineState};
use moai_loops::state::Status;

pub(super) fn resume(next: &mut PipelineState, loop_id: String) -> Vec<PipelineDecision> {
    next.phase = match (next.kind.has_plan(), next.approved.is_some()) {
        (false, _) => PipelinePhase::Fix,
        (true, true) => PipelinePhase::Sprint,
        (true, false) => PipelinePhase::Plan,
    };
    if next.ending == Some(LoopEnding::Limit(Status::Gaming)) {
        next.note_override(CheckOverride::EndedAsGaming);
    }
    next.loop_id = loop_id;
    next.is_resumed = true;
    next.untold.clear();
    next.moved = None;
    forget_attempts(next);
    next.worker_holds.clear();
    next.fix_rounds.clear();
    next.earlier_rounds = 0;
    next.is_replanning = false;
    next.replans = 0;
    next.known_workers.clear();
    next.retired_workers.clear();
    next.gates = PipelineGates::default();
    next.scenario_holds = 0;
    next.commit_faults = 0;
    next.commit_gap = None;
    next.commit_waits = 0;
    next.has_left_documents = false;
    next.outcome = None;
    next.ending = None;
    next.plan_holds = 0;
    next.question_holds = 0;
    next.program_holds = 0;
    Vec::new()
}
