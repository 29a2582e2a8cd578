//! A Stop that goes on is answered no sooner than the project wants. It must not know why it goes on.

use super::{HookCall, Times};
use crate::looping::cooldown;
use crate::looping::state::LoopState;
use crate::looping::step::{Admission, StopInput, admit};
use crate::report::{loops, notice};
use crate::store::loops::Which;
use crate::wire::hook::HookOutput;

/// The answer of a decided Stop, later. The loop is looked at again then: one that was paused or
/// ended meanwhile holds nobody.
pub(super) async fn cooled(
    call: &HookCall<'_>,
    stop: &StopInput<'_>,
    decided: &LoopState,
    output: HookOutput,
    times: Times,
) -> HookOutput {
    let (engine, project) = (call.engine, &call.project);
    let Times { began, deadline, .. } = times;
    let rest = cooldown::rest(began, std::time::Instant::now(), project.config.cooldown, deadline);
    if rest.is_zero() || !matches!(output, HookOutput::Block(_)) {
        return output;
    }
    tokio::time::sleep(rest).await;
    let which = Which::Id(decided.id.clone());
    match engine.store.find_loop(&project.key, &project.root, which).await {
        Ok(now) => match (admit(now.as_ref(), stop), now) {
            (Admission::Measure, _) => output,
            (Admission::AllowPaused, Some(paused)) => HookOutput::Notice(loops::ended(&paused)),
            _ => HookOutput::Silent,
        },
        Err(error) => {
            tracing::warn!(%error, id = decided.id, "the loop could not be looked at again");
            HookOutput::Notice(notice::no_store(&error.to_string()))
        }
    }
}
