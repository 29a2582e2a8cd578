//! Sensors and checks that measured earlier in a loop and have a gap now. Once the loop has waited
//! for them long enough, such a gap is a failure, because a loop must not end well by disabling the
//! sensor that found its errors.

use super::{may_close, may_wait};
use crate::state::LoopState;
use moai_base::evidence::{Evidence, SensorReading};
use moai_base::verdict::{Cause, Gap};

/// The readings of this Stop that count as failed because the sensor measured earlier in the loop,
/// with that reason below the sensor's own output.
pub(super) fn lost_readings(state: &LoopState, evidence: &Evidence) -> Vec<SensorReading> {
    let charged = evidence.readings.iter().filter_map(|reading| charge_loss(state, reading));
    charged.collect()
}

/// The evidence with the failed readings in place of the gaps.
pub(super) fn count_losses_as_failures(state: &LoopState, evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    for reading in &mut evidence.readings {
        if let Some(failed) = charge_loss(state, reading) {
            *reading = failed;
        }
    }
    evidence
}

fn charge_loss(state: &LoopState, reading: &SensorReading) -> Option<SensorReading> {
    let gap = reading.gap.as_ref().filter(|_| !reading.dirty)?;
    let is_awaited = may_close(gap) && may_wait(state);
    if is_awaited || !proves_a_loss(gap) || !state.measured_sensors.contains(&key(reading)) {
        return None;
    }
    let printed = reading.output.as_deref().unwrap_or_default().trim_end();
    let output = format!("{printed}\n(not measured now: {gap})");
    let output = Some(output.trim_start().to_owned());
    Some(SensorReading { dirty: true, gap: None, output, ..reading.clone() })
}

/// True if the gap is a loss; it is not if the user switched the sensor off, no file is left for
/// it, the fault is older than the work, the sensor measured but the age of an error is unknown, or the
/// sensor never reports a file as clean.
fn proves_a_loss(gap: &Gap) -> bool {
    !matches!(
        gap.cause,
        Cause::Nothing
            | Cause::SwitchedOff
            | Cause::ExistingFault
            | Cause::NoBaseline
            | Cause::Silent
    )
}

/// Keys of the sensors that have measured in this loop, this Stop included.
pub(super) fn measured_sensors(state: &LoopState, evidence: &Evidence) -> Vec<String> {
    let mut measured = state.measured_sensors.clone();
    for reading in &evidence.readings {
        let has_measured = reading.gap.is_none() || reading.dirty;
        let key = key(reading);
        if has_measured && !measured.contains(&key) {
            measured.push(key);
        }
    }
    measured
}

fn key(reading: &SensorReading) -> String {
    format!("{}:{}", reading.kind.as_str(), reading.sensor)
}
