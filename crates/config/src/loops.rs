//! Options of loops.

use std::time::Duration;

use serde::Deserialize;

use super::{Config, OptionRefusal, bounded, checks, set};
use moai_base::limits::{
    CONTEXT_TOKENS_MAX, CONTEXT_TOKENS_MIN, COOLDOWN_MS_MAX, LOOP_ITERATIONS_MAX,
    STOP_TIMEOUT_SECS_MAX, STOP_TIMEOUT_SECS_MIN,
};
use moai_loops::options::BaselineMode;

/// The loop options of one layer.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LoopLayer {
    max_iterations: Option<u64>,
    stop_timeout: Option<u64>,
    stop_budget_ms: Option<u64>,
    check_timeout_secs: Option<u64>,
    success_criteria: Option<Vec<String>>,
    checks: Option<Vec<checks::CheckEntry>>,
    propose_checks: Option<bool>,
    push: Option<bool>,
    baseline: Option<String>,
    cooldown_ms: Option<u64>,
    context_budget: Option<f64>,
    context_window: Option<u64>,
}

impl Config {
    pub(super) fn apply_loop(&mut self, layer: LoopLayer) -> Result<(), OptionRefusal> {
        set(&mut self.push, layer.push);
        if let Some(word) = layer.baseline {
            let baseline = BaselineMode::from_name(&word).ok_or_else(|| {
                ("loop.baseline".to_owned(), format!("{word} is not one of base, none"))
            })?;
            self.loop_defaults.baseline = Some(baseline);
        }
        self.apply_checks(layer.success_criteria, layer.checks, layer.propose_checks)?;
        self.apply_context(layer.context_budget, layer.context_window)?;
        let LoopLayer { max_iterations, stop_budget_ms, check_timeout_secs, cooldown_ms, .. } =
            layer;
        let (millis, secs) = (Duration::from_millis, Duration::from_secs);
        let most = u64::from(LOOP_ITERATIONS_MAX);
        bounded(
            &mut self.loop_defaults.max_iterations,
            "loop.max_iterations",
            max_iterations,
            1..=most,
            |count| u32::try_from(count).ok(),
        )?;
        let range = STOP_TIMEOUT_SECS_MIN..=STOP_TIMEOUT_SECS_MAX;
        bounded(&mut self.stop_timeout, "loop.stop_timeout", layer.stop_timeout, range, secs)?;
        let range = 1_000..=150_000;
        bounded(&mut self.stop_budget, "loop.stop_budget_ms", stop_budget_ms, range, millis)?;
        let range = 1..=400;
        bounded(
            &mut self.check_timeout,
            "loop.check_timeout_secs",
            check_timeout_secs,
            range,
            secs,
        )?;
        let range = 0..=COOLDOWN_MS_MAX;
        bounded(&mut self.cooldown, "loop.cooldown_ms", cooldown_ms, range, millis)
    }

    fn apply_context(
        &mut self,
        share: Option<f64>,
        window: Option<u64>,
    ) -> Result<(), OptionRefusal> {
        if let Some(share) = share {
            if !(0.0..=1.0).contains(&share) {
                let reason = format!("{share} is not between 0 and 1");
                return Err(("loop.context_budget".to_owned(), reason));
            }
            self.context_permille = permille(share);
        }
        match window {
            None => {}
            Some(0) => self.context_window = None,
            Some(tokens) if (CONTEXT_TOKENS_MIN..=CONTEXT_TOKENS_MAX).contains(&tokens) => {
                self.context_window = Some(tokens);
            }
            Some(tokens) => {
                let reason = format!(
                    "{tokens} is not 0, or from {CONTEXT_TOKENS_MIN} to {CONTEXT_TOKENS_MAX}"
                );
                return Err(("loop.context_window".to_owned(), reason));
            }
        }
        Ok(())
    }
}

/// Converts a share from 0 to 1; a positive share is at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
fn permille(share: f64) -> u64 {
    let minimum = u64::from(share > 0.0);
    ((share * 1_000.0).round() as u64).max(minimum)
}
