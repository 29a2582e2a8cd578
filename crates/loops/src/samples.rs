//! Sample values for tests.

use super::criteria::{CheckCommand, CheckCriterion};
use super::options::LoopOptions;
use super::state::{
    LoopCounters, LoopState, Mode, RemainingWork, Status, StopBasis, UntilCondition,
};

/// The command line `name` as a check of `criterion`, proposed from `package.json`.
#[must_use]
pub fn command(name: &str, criterion: CheckCriterion) -> CheckCommand {
    CheckCommand {
        name: name.to_owned(),
        criterion,
        argv: name.split(' ').map(str::to_owned).collect(),
        folder: String::new(),
        timeout_secs: None,
        source: "package.json".to_owned(),
        why: "test".to_owned(),
    }
}

/// A running loop of session `s`.
#[must_use]
pub fn state() -> LoopState {
    LoopState {
        id: "loop-1".into(),
        session_id: Some("s".into()),
        mode: Mode::Basic,
        status: Status::Running,
        pause_reason: None,
        until: UntilCondition::Promise,
        prompt: "fix it".into(),
        promise: Some("DONE".into()),
        options: LoopOptions::defaults_for(Mode::Basic),
        checks: Vec::new(),
        measured_sensors: Vec::new(),
        counted_from: 0,
        base: None,
        branch: None,
        iteration: 0,
        max_iterations: 3,
        counters: LoopCounters::default(),
        remaining: RemainingWork::default(),
        history: Vec::new(),
        basis: StopBasis::default(),
        note: None,
        overrides: Vec::new(),
        foreign_events: Vec::new(),
        late_changes: Vec::new(),
        continues: None,
        answer: None,
        created_ms: 0,
        clock_ms: 0,
        updated_ms: 0,
    }
}
