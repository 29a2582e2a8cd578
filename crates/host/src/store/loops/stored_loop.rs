//! The stored form of a loop, separate from its state so that the state's type may change freely.
//! Fields that an older version lacks get the meaning that version implied.

use serde::{Deserialize, Serialize};

use crate::store::StoreError;
use moai_base::foreign_text::one_line;
use moai_base::limits::GAP_CHARS_MAX;
use moai_loops::options::LoopOptions;
use moai_loops::state::{
    ForeignEvent, Iteration, LoopCounters, LoopState, ManualOverride, Mode, PauseReason,
    RemainingWork, SensorSummary, Status, StopAnswer, StopBasis, UntilCondition,
};

/// Raised when a field changes its meaning, or when an older program would lose one. 2: modes,
/// options, progress. 3: baseline, paths, checks, measured sensors. 4: manual overrides. 5: pipelines.
/// 6: events that the host did not send, late changes.
const LOOP_VERSION: u32 = 6;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredLoop {
    version: u32,
    id: String,
    session_id: Option<String>,
    mode: Option<String>,
    status: String,
    pause_reason: Option<String>,
    until: String,
    prompt: String,
    promise: Option<String>,
    options: Option<LoopOptions>,
    base: Option<String>,
    branch: Option<String>,
    iteration: u32,
    max_iterations: u32,
    unmeasured_blocks: u32,
    consecutive_rejections: u32,
    continuations: u32,
    research_tries: u32,
    idle_holds: u32,
    checks: Vec<String>,
    measured: Vec<String>,
    counted_from: u32,
    tokens: Option<u64>,
    errors: usize,
    warnings: usize,
    older: Option<usize>,
    checks_failed: Vec<String>,
    history: Vec<StoredIteration>,
    basis: StoredBasis,
    note: Option<String>,
    overrides: Vec<StoredOverride>,
    foreign_events: Vec<StoredForeignEvent>,
    late_changes: Vec<String>,
    continues: Option<String>,
    answer: Option<StoredAnswer>,
    created_ms: u64,
    clock_ms: Option<u64>,
    updated_ms: u64,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredIteration {
    number: u32,
    at_ms: u64,
    errors: usize,
    warnings: usize,
    checks: String,
    verdict: String,
    weight: Option<u64>,
    wrong: Option<String>,
    errors_seen: Vec<String>,
    guard_codes: Vec<String>,
    tree: Option<String>,
    checkpoint: Option<String>,
    tokens: Option<u64>,
    is_better: bool,
    oscillation_was_reported: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredBasis {
    last_words: String,
    is_claimed: Option<bool>,
    sensors: Vec<StoredSensed>,
    gaps: Vec<String>,
    contradictions: Vec<String>,
    files: usize,
    noticed: Vec<String>,
    not_asked: Vec<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredAnswer {
    call: String,
    content: String,
    at_ms: u64,
    text: String,
    is_held: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredOverride {
    at_ms: u64,
    finding: Option<String>,
    is_confirmed: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredForeignEvent {
    at_ms: u64,
    event: String,
    is_obeyed: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredSensed {
    sensor: String,
    kind: String,
    verdict: String,
    files: usize,
    tests_passed: Option<u64>,
}

/// Encodes a state as JSON.
pub(super) fn encode(state: &LoopState) -> Result<String, StoreError> {
    serde_json::to_string(&stored(state.clone()))
        .map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn stored(state: LoopState) -> StoredLoop {
    StoredLoop {
        version: LOOP_VERSION,
        id: state.id,
        session_id: state.session_id,
        mode: Some(state.mode.as_str().to_owned()),
        status: state.status.as_str().to_owned(),
        pause_reason: state.pause_reason.map(|reason| reason.as_str().to_owned()),
        until: state.until.as_str().to_owned(),
        prompt: state.prompt,
        promise: state.promise,
        options: Some(state.options),
        base: state.base,
        branch: state.branch,
        iteration: state.iteration,
        max_iterations: state.max_iterations,
        unmeasured_blocks: state.counters.unmeasured_blocks,
        consecutive_rejections: state.counters.consecutive_rejections,
        continuations: state.counters.continuations,
        research_tries: state.counters.research_tries,
        idle_holds: state.counters.idle_holds,
        checks: state.checks,
        measured: state.measured_sensors,
        counted_from: state.counted_from,
        tokens: state.counters.tokens,
        errors: state.remaining.errors,
        warnings: state.remaining.warnings,
        older: Some(state.remaining.older),
        checks_failed: state.remaining.checks_failed,
        history: state.history.into_iter().map(Into::into).collect(),
        basis: state.basis.into(),
        note: state.note,
        overrides: state.overrides.into_iter().map(Into::into).collect(),
        foreign_events: state.foreign_events.into_iter().map(Into::into).collect(),
        late_changes: state.late_changes,
        continues: state.continues,
        answer: state.answer.map(Into::into),
        created_ms: state.created_ms,
        clock_ms: Some(state.clock_ms),
        updated_ms: state.updated_ms,
    }
}

/// Decodes a state from JSON of this version or an older one. The error is a short reason.
pub(super) fn decode(json: &str) -> Result<LoopState, String> {
    let stored: StoredLoop = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if stored.version > LOOP_VERSION {
        return Err(format!("its version {} is newer than this program", stored.version));
    }
    let unknown = |word: String| one_line(&format!("unknown word {word:?}"), GAP_CHARS_MAX);
    let status = Status::from_name(&stored.status).ok_or_else(|| unknown(stored.status))?;
    let until = UntilCondition::from_name(&stored.until).ok_or_else(|| unknown(stored.until))?;
    let mode = match stored.mode {
        Some(word) => Mode::from_name(&word).ok_or_else(|| unknown(word))?,
        None => Mode::Basic,
    };
    let options = stored.options.unwrap_or_else(|| LoopOptions::defaults_for(mode));
    let pause_reason = match stored.pause_reason {
        Some(word) => Some(PauseReason::from_name(&word).ok_or_else(|| unknown(word))?),
        // Version 1 had no other reason to pause.
        None => (status == Status::Paused).then_some(PauseReason::LspRequired),
    };
    Ok(LoopState {
        id: stored.id,
        session_id: stored.session_id,
        mode,
        status,
        pause_reason,
        until,
        prompt: stored.prompt,
        promise: stored.promise,
        options,
        checks: stored.checks,
        measured_sensors: stored.measured,
        counted_from: stored.counted_from,
        base: stored.base,
        branch: stored.branch,
        iteration: stored.iteration,
        max_iterations: stored.max_iterations,
        counters: LoopCounters {
            unmeasured_blocks: stored.unmeasured_blocks,
            consecutive_rejections: stored.consecutive_rejections,
            continuations: stored.continuations,
            research_tries: stored.research_tries,
            idle_holds: stored.idle_holds,
            tokens: stored.tokens,
        },
        remaining: RemainingWork {
            errors: stored.errors,
            warnings: stored.warnings,
            older: stored.older.unwrap_or_default(),
            checks_failed: stored.checks_failed,
        },
        history: stored.history.into_iter().map(Into::into).collect(),
        basis: stored.basis.into(),
        note: stored.note,
        overrides: stored.overrides.into_iter().map(Into::into).collect(),
        foreign_events: stored.foreign_events.into_iter().map(Into::into).collect(),
        late_changes: stored.late_changes,
        continues: stored.continues,
        answer: stored.answer.map(Into::into),
        created_ms: stored.created_ms,
        clock_ms: stored.clock_ms.unwrap_or(stored.created_ms),
        updated_ms: stored.updated_ms,
    })
}

/// Conversions between a type and its stored twin with the same fields.
macro_rules! twins {
    ($own:ident, $stored:ident, $($field:ident),+) => {
        impl From<$own> for $stored {
            fn from(it: $own) -> Self {
                let $own { $($field),+ } = it;
                Self { $($field),+ }
            }
        }

        impl From<$stored> for $own {
            fn from(it: $stored) -> Self {
                let $stored { $($field),+ } = it;
                Self { $($field),+ }
            }
        }
    };
}

twins!(
    Iteration,
    StoredIteration,
    number,
    at_ms,
    errors,
    warnings,
    checks,
    verdict,
    weight,
    wrong,
    errors_seen,
    guard_codes,
    tree,
    checkpoint,
    tokens,
    is_better,
    oscillation_was_reported
);
twins!(SensorSummary, StoredSensed, sensor, kind, verdict, files, tests_passed);
twins!(ManualOverride, StoredOverride, at_ms, finding, is_confirmed);
twins!(ForeignEvent, StoredForeignEvent, at_ms, event, is_obeyed);
twins!(StopAnswer, StoredAnswer, call, content, at_ms, text, is_held);

impl From<StopBasis> for StoredBasis {
    fn from(it: StopBasis) -> Self {
        Self {
            last_words: it.last_words,
            is_claimed: it.is_claimed,
            sensors: it.sensors.into_iter().map(Into::into).collect(),
            gaps: it.gaps,
            contradictions: it.contradictions,
            files: it.files,
            noticed: it.observations,
            not_asked: it.unrequested_criteria,
        }
    }
}

impl From<StoredBasis> for StopBasis {
    fn from(it: StoredBasis) -> Self {
        Self {
            last_words: it.last_words,
            is_claimed: it.is_claimed,
            sensors: it.sensors.into_iter().map(Into::into).collect(),
            gaps: it.gaps,
            contradictions: it.contradictions,
            files: it.files,
            observations: it.noticed,
            unrequested_criteria: it.not_asked,
        }
    }
}
