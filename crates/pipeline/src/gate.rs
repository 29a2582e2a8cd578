//! The gates of a full pipeline. A skipped gate has not passed.

use serde::{Deserialize, Serialize};

use moai_loops::{named_variants, serialize_by_name};

/// State of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GateStatus {
    /// Not reached yet.
    #[default]
    Open,
    /// Passed at the last Stop that reached it.
    Passed,
    /// Failed at the last Stop that reached it.
    Failed,
    /// Nothing can decide it.
    Skipped,
    /// It ran, but gave no usable answer.
    Degraded,
    /// The plan has nothing for it.
    Absent,
}

named_variants!(GateStatus {
    Open: "open",
    Passed: "passed",
    Failed: "failed",
    Skipped: "skipped",
    Degraded: "degraded",
    Absent: "none",
});
serialize_by_name!(GateStatus);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PipelineGates {
    /// All acceptance commands, and everything else that the loop measures.
    pub tests: GateStatus,
    /// The judges' review against the project's criteria.
    pub review: GateStatus,
    /// Scenarios that an agent plays as a user.
    pub scenarios: GateStatus,
    /// The judges' review in eight categories, a part of `review`; open if it was not requested.
    pub categories: GateStatus,
}

/// The judges' review at a Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewReading {
    /// They were not called, because something else was missing.
    NotAsked,
    /// Every criterion is met.
    Approved,
    /// Some criteria are not met.
    Rejected,
    /// They gave no usable answer.
    Unmeasured,
    /// The project has no criteria or no judge.
    Absent,
}

impl PipelineGates {
    /// Combines the review of the categories with that against the project's criteria. `own` is the
    /// latter; `None` if the judges were not called for it.
    #[must_use]
    pub fn whole_review(&self, own: Option<GateStatus>) -> GateStatus {
        match (self.categories, own) {
            (GateStatus::Open, own) => own.unwrap_or(self.review),
            (categories, None) => categories,
            (categories, Some(own)) => {
                let order = [GateStatus::Failed, GateStatus::Degraded, GateStatus::Skipped];
                let worst = order.into_iter().find(|status| [categories, own].contains(status));
                worst.unwrap_or(GateStatus::Passed)
            }
        }
    }

    /// The gates that prevent the outcome "completed", with their states.
    #[must_use]
    pub fn unproven(&self) -> Vec<(&'static str, GateStatus)> {
        let all = [("tests", self.tests), ("review", self.review), ("scenarios", self.scenarios)];
        let is_proven = |status| matches!(status, GateStatus::Passed | GateStatus::Absent);
        all.into_iter().filter(|(_, status)| !is_proven(*status)).collect()
    }
}
