//! What is known about one loop.

/// How a loop stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The next Stop of its session is decided by it.
    Running,
    /// It waits for the user.
    Paused,
    /// Done, and everything asked for was measured.
    Completed,
    /// Nothing wrong was found, but something could not be measured.
    CompletedUnverified,
    /// The bound of iterations was reached first.
    MaxIterations,
    /// The user ended it.
    Cancelled,
}

impl Status {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Running, "running"),
        (Self::Paused, "paused"),
        (Self::Completed, "completed"),
        (Self::CompletedUnverified, "completed_unverified"),
        (Self::MaxIterations, "max_iterations"),
        (Self::Cancelled, "cancelled"),
    ];

    /// The word in JSON and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The status of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    /// Whether the loop still holds its session.
    #[must_use]
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// What ends a loop, beside clean evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Language servers and scan are clean.
    Diagnostics,
    /// The project's own checks pass, too; without any the loop is refused.
    Checks,
    /// The agent claims completion with the promise tag.
    Promise,
}

impl Until {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Diagnostics, "diagnostics"), (Self::Checks, "checks"), (Self::Promise, "promise")];

    /// The word on the command line and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The condition of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|row| row.1 == word).map(|row| row.0)
    }
}

/// How a loop is judged, beside its evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By the evidence alone.
    #[default]
    Basic,
    /// By a judge too; the user is asked when they do not agree.
    Judge,
    /// On a branch of its own; nobody is asked.
    Autonomous,
}

impl Mode {
    const NAMES: [(Self, &'static str); 3] =
        [(Self::Basic, "basic"), (Self::Judge, "judge"), (Self::Autonomous, "autonomous")];

    /// The word on the command line and in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The mode of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::NAMES.iter().find(|row| row.1 == word).map(|row| row.0)
    }
}

/// One loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopState {
    /// Its id, `loop-` and 8 hex digits.
    pub id: String,
    /// The only session it decides for; `None` until one claims it. Never an empty text.
    pub session_id: Option<String>,
    /// How it stands.
    pub status: Status,
    /// What ends it.
    pub until: Until,
    /// The task, byte for byte.
    pub prompt: String,
    /// The text inside the promise tag.
    pub promise: Option<String>,
    /// What it started from, as git's owner names it; what was committed since is measured, too.
    pub base: Option<String>,
    /// Stops decided so far.
    pub iteration: u32,
    /// The bound of `iteration`.
    pub max_iterations: u32,
    /// Blocks in a row that only waited for a measurement.
    pub unmeasured_blocks: u32,
    /// What the last Stop left to do.
    pub remaining: Remaining,
    /// One entry per decided Stop.
    pub history: Vec<Iteration>,
    /// Why it is paused, or what a terminal state has to say.
    pub note: Option<String>,
    /// Start, in milliseconds since the epoch.
    pub created_ms: u64,
    /// Last change, in milliseconds since the epoch.
    pub updated_ms: u64,
}

/// What is left to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remaining {
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// Older errors in files that were not touched; they do not hold a Stop.
    pub older: usize,
    /// Checks that failed.
    pub checks_failed: Vec<String>,
}

/// One decided Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Its number, from 1.
    pub number: u32,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Findings of severity error.
    pub errors: usize,
    /// Findings of severity warning.
    pub warnings: usize,
    /// `clean`, `dirty`, `unmeasured` or `none`.
    pub checks: String,
    /// `continue` or the status it led to.
    pub verdict: String,
}

impl LoopState {
    /// First line of the task.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.prompt.trim_start().lines().next().unwrap_or_default().trim_end()
    }

    /// How many more iterations it takes at the pace of the last one; `None` without progress.
    #[must_use]
    pub fn forecast_iterations(&self) -> Option<usize> {
        let [.., before, last] = self.history.as_slice() else { return None };
        if !self.status.is_active() || last.errors == 0 {
            return None;
        }
        let pace = before.errors.checked_sub(last.errors).filter(|pace| *pace > 0)?;
        Some(last.errors.div_ceil(pace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looping::step::tests::state;

    #[test]
    fn the_forecast_follows_the_last_pace_and_is_silent_without_progress() {
        let at = |errors| Iteration {
            number: 1,
            at_ms: 0,
            errors,
            warnings: 0,
            checks: "none".into(),
            verdict: "continue".into(),
        };
        let forecast = |errors: &[usize]| {
            let history = errors.iter().copied().map(at).collect();
            LoopState { history, ..state() }.forecast_iterations()
        };
        assert_eq!(forecast(&[7, 4]), Some(2));
        assert_eq!(forecast(&[4, 4]), None);
        assert_eq!(forecast(&[2, 5]), None);
        assert_eq!(forecast(&[3]), None);
        assert_eq!(forecast(&[3, 0]), None);
    }
}
