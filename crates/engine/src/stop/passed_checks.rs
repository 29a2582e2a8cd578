//! Checks that together take longer than one Stop: those that passed are not run again while no file has
//! changed, so that the next Stop reaches the remaining ones.

use crate::exam::check_runs::CheckReadings;
use crate::hooks::hook_call::HookCall;
use crate::ledger::passed_checks::PassedChecks;
use crate::restore::checkpoints::{TreeSnapshot, has_work_changed};
use crate::stop::evidence::WorkMeasurement;
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::verdict::{Cause, Gap, Verdict};
use moai_loops::state::LoopState;

/// Those that passed at the last Stop, if the files are the same and other checks are still to be run.
pub(super) fn passed_before(
    call: &HookCall<'_>,
    state: &LoopState,
    files: &Result<TreeSnapshot, Gap>,
) -> CheckReadings {
    let passed = call.engine.ledger().session(&call.input.session_id).passed_checks.take();
    match (passed, files) {
        (Some(passed), Ok(files))
            if passed.loop_id == state.id && !has_work_changed(&passed.files, &files.tree) =>
        {
            passed.readings
        }
        _ => CheckReadings::new(),
    }
}

/// Keeps those that passed now, if the time did not suffice for the rest.
pub(super) fn keep_passed(call: &HookCall<'_>, state: &LoopState, measured: &WorkMeasurement) {
    let Ok(files) = &measured.work.tree else { return };
    let checks = measured.evidence.readings.iter().filter(|it| it.kind == SensorKind::Check);
    let (passed, others): (Vec<_>, Vec<_>) =
        checks.partition(|reading| reading.verdict() == Verdict::Clean);
    let is_out_of_time =
        |it: &&SensorReading| it.gap.as_ref().is_some_and(|gap| gap.cause == Cause::TimedOut);
    if !others.iter().any(is_out_of_time) {
        return;
    }
    let readings = passed.into_iter().map(|it| (it.sensor.clone(), it.clone())).collect();
    let passed = PassedChecks { loop_id: state.id.clone(), files: files.tree.clone(), readings };
    call.engine.ledger().session(&call.input.session_id).passed_checks = Some(passed);
}
