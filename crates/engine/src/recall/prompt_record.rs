//! What the memory recalls with a prompt: the record that the session's start missed, else what
//! mentions the same.

use crate::hooks::hook_call::HookCall;
use crate::recall::RecalledText;
use crate::recall::note::note;
use crate::recall::recorder::NotedEventKind;
use crate::recall::session_record::missed_record;

/// Records a prompt, and recalls what belongs to it.
pub(crate) async fn recall_for_prompt(call: &HookCall<'_>) -> Option<RecalledText> {
    let (engine, input) = (call.engine, &call.input);
    if !call.project.config.memory_enabled || input.session_id.is_empty() {
        return None;
    }
    engine.ledger().session(&input.session_id).recall.learn_language(&input.prompt);
    let missed = missed_record(call).await;
    note(engine, &call.project, &input.session_id, NotedEventKind::Prompt(input.prompt.clone()));
    missed
}
