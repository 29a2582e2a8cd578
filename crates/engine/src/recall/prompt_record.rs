//! Observations recalled with a prompt: the record that the session's start missed, else those about the same
//! subject.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::engine::memory_now_ms;
use crate::hooks::hook_call::HookCall;
use crate::recall::note::note;
use crate::recall::recorder::NotedEventKind;
use crate::recall::session_record::{language_of_reader, missed_record, tokens_max};
use crate::recall::{RecalledText, of_project};
use moai_base::limits::{
    HITS_ENOUGH_MIN, PROMPT_HITS_RANKED_MAX, PROMPT_RECALL_MS_MAX, RECALL_MS_MAX,
};
use moai_host::store::StoreError;
use moai_memory::budget::{InjectionEvent, worth_injecting};
use moai_memory::database::{MemoryDatabase, ObservationFilter};
use moai_memory::observation::StoredObservation;
use moai_memory::observe::prompts::ObservedPrompt;
use moai_memory::ranking::{ObservationKind, RankedHit};
use moai_memory::search::{FoundMemory, MemoryQuestion, WorkPlace, search};
use moai_report::recall::{RecallContext, prompt_record};

/// Kinds that may be shown with a prompt. Mere requests and output of tools are left out.
const PROMPT_KINDS: [ObservationKind; 6] = [
    ObservationKind::Decision,
    ObservationKind::Note,
    ObservationKind::Fix,
    ObservationKind::Verdict,
    ObservationKind::Digest,
    ObservationKind::Edit,
];

/// Records a prompt, and recalls related observations.
pub(crate) async fn recall_for_prompt(call: &HookCall<'_>) -> Option<RecalledText> {
    let (engine, input) = (call.engine, &call.input);
    if !call.project.config.memory_enabled || input.session_id.is_empty() {
        return None;
    }
    engine.ledger().session(&input.session_id).recall.learn_language(&input.prompt);
    let started = Instant::now();
    let recalled = match missed_record(call).await {
        Some(missed) => Some(missed),
        None => related_record(call, started).await,
    };
    note(engine, &call.project, &input.session_id, NotedEventKind::Prompt(input.prompt.clone()));
    recalled
}

/// Observations about the subject of the prompt; `None` for a slash command, and if the memory is too slow.
async fn related_record(call: &HookCall<'_>, started: Instant) -> Option<RecalledText> {
    let prompt = ObservedPrompt::read(&call.input.prompt)?;
    if !call.engine.memory.exists() {
        return None;
    }
    // The prompt may have waited for the record that its session's start missed.
    let left = Duration::from_millis(RECALL_MS_MAX).saturating_sub(started.elapsed());
    let bound = Duration::from_millis(PROMPT_RECALL_MS_MAX).min(left);
    let found = match tokio::time::timeout(bound, find_related(call, &prompt)).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::warn!(%error, "the memory could not be searched");
            return None;
        }
        Err(_) => {
            tracing::info!("the memory is too slow for a prompt");
            return None;
        }
    };
    let (session, now_ms) = (&call.input.session_id, memory_now_ms());
    let event = InjectionEvent::Prompt;
    let tokens_max = tokens_max(call.engine, &call.project, session, event);
    let language = language_of_reader(call);
    let context = RecallContext { language, now_ms, event, tokens_max };
    let recall = prompt_record(&worth_telling(call, found), context);
    RecalledText::new(recall, session, event, now_ms)
}

async fn find_related(
    call: &HookCall<'_>,
    prompt: &ObservedPrompt,
) -> Result<FoundMemory, StoreError> {
    let text = prompt.text().to_owned();
    let filter = ObservationFilter { kinds: PROMPT_KINDS.to_vec(), ..of_project(&call.project) };
    let (written, _) =
        call.engine.ledger().session(&call.input.session_id).written(&call.project.root);
    let files = written.iter().map(ToString::to_string).collect();
    let place = WorkPlace { files, ..WorkPlace::default() };
    let glossary = call.project.config.memory_glossary.clone();
    let ask = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
        let question = MemoryQuestion {
            text: &text,
            filter,
            hits_max: PROMPT_HITS_RANKED_MAX,
            enough: HITS_ENOUGH_MIN,
            now_ms: memory_now_ms(),
            place,
            glossary,
        };
        search(database, &question)
    };
    call.engine.memory.read(ask).await
}

/// The hits that are worth the prompt's tokens and that the session does not know.
fn worth_telling(call: &HookCall<'_>, found: FoundMemory) -> Vec<StoredObservation> {
    let ranked: Vec<RankedHit> = found.hits.iter().map(|hit| hit.ranked).collect();
    let worth: Vec<i64> =
        worth_injecting(&found.query, &ranked).into_iter().map(|hit| hit.id).collect();
    let session = &call.input.session_id;
    let is_new = |one: &StoredObservation| {
        let is_shown = call.engine.ledger().session(session).recall.is_shown(one.row);
        one.session != *session && !one.is_superseded && !is_shown
    };
    let observations = found.hits.into_iter().map(|hit| hit.observation);
    let told: Vec<StoredObservation> =
        observations.filter(|one| worth.contains(&one.row) && is_new(one)).collect();
    without_repeating_digests(told)
}

/// Leaves out digests of sessions whose observations are shown, because they repeat them.
fn without_repeating_digests(told: Vec<StoredObservation>) -> Vec<StoredObservation> {
    let is_digest = |one: &StoredObservation| one.kind == ObservationKind::Digest;
    let sessions: BTreeSet<String> =
        told.iter().filter(|one| !is_digest(one)).map(|one| one.session.clone()).collect();
    told.into_iter().filter(|one| !is_digest(one) || !sessions.contains(&one.session)).collect()
}
