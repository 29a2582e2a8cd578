//! Delays the answer of a Stop that continues the loop by the project's cooldown.

use std::time::Instant;

use crate::stop::StopRun;
use crate::stop::schedule::StopSchedule;
use moai_loops::cooldown::remaining_cooldown;
use moai_loops::state::{LoopState, Status};
use moai_loops::step::{StopAdmission, admit_stop};
use moai_protocol::hook::HookOutput;
use moai_report::{loops, notice};

/// Returns the answer of a decided Stop after the cooldown. The loop is loaded again then, because a loop
/// that was paused or ended meanwhile must not hold.
pub(crate) async fn after_cooldown(
    run: &StopRun<'_>,
    decided: &LoopState,
    output: HookOutput,
) -> HookOutput {
    let StopSchedule { started_at, deadline, .. } = run.schedule;
    let cooldown = run.call.project.config.cooldown;
    let rest = remaining_cooldown(started_at, Instant::now(), cooldown, deadline);
    let goes_on = decided.status == Status::Running && matches!(output, HookOutput::Block(_));
    if rest.is_zero() || !goes_on {
        return output;
    }
    tokio::time::sleep(rest).await;
    match run.find_loop(&decided.id).await {
        Ok(now) => match (admit_stop(now.as_ref(), &run.input), now) {
            (StopAdmission::Measure, _) => output,
            (StopAdmission::AllowPaused, Some(paused)) => {
                HookOutput::Notice(loops::end_notice(&paused))
            }
            _ => HookOutput::Silent,
        },
        Err(error) => {
            tracing::warn!(%error, id = decided.id, "the loop could not be loaded again");
            HookOutput::Notice(notice::no_store(&error.to_string()))
        }
    }
}
