//! A Stop that goes on is answered no sooner than the project wants. It must not know why it goes on.

use super::{HookCall, StopSchedule};
use crate::looping::cooldown;
use crate::looping::state::LoopState;
use crate::looping::step::{StopAdmission, StopInput, admit_stop};
use crate::report::{loops, notice};
use crate::store::loops::LoopQuery;
use crate::wire::hook::HookOutput;

/// The answer of a decided Stop, later. The loop is looked at again then: one that was paused or
/// ended meanwhile holds nobody.
pub(super) async fn after_cooldown(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    decided: &LoopState,
    output: HookOutput,
    times: StopSchedule,
) -> HookOutput {
    let (engine, project) = (call.engine, &call.project);
    let StopSchedule { started_at: began, deadline, .. } = times;
    let rest = cooldown::remaining_cooldown(
        began,
        std::time::Instant::now(),
        project.config.cooldown,
        deadline,
    );
    if rest.is_zero() || !matches!(output, HookOutput::Block(_)) {
        return output;
    }
    tokio::time::sleep(rest).await;
    let which = LoopQuery::Id(decided.id.clone());
    match engine.store.find_loop(&project.key, &project.root, which).await {
        Ok(now) => match (admit_stop(now.as_ref(), stop), now) {
            (StopAdmission::Measure, _) => output,
            (StopAdmission::AllowPaused, Some(paused)) => {
                HookOutput::Notice(loops::end_notice(&paused))
            }
            _ => HookOutput::Silent,
        },
        Err(error) => {
            tracing::warn!(%error, id = decided.id, "the loop could not be looked at again");
            HookOutput::Notice(notice::no_store(&error.to_string()))
        }
    }
}
