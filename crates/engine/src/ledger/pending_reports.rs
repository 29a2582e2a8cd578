//! The unreported measurements of a session, and their baselines. When edits of a file follow quickly,
//! only the newest is reported, compared with the state known before the first of them. Pure
//! bookkeeping.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::limits::PENDING_TOPICS_MAX;
use moai_base::path::RelPath;

/// The subject of a measurement, and the agent of the session that caused it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MeasureTopic {
    /// The subagent; `None` for the main agent.
    pub(crate) agent: Option<String>,
    pub(crate) root: PathBuf,
    pub(crate) path: RelPath,
    pub(crate) sensor: String,
}

/// State of a file before an edit. The findings may belong to an even earlier text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateBefore {
    /// The last findings without a gap.
    pub(crate) complete: Option<Vec<Finding>>,
    /// The last findings reported together with a fault of the project, without those that the fault
    /// explains.
    pub(crate) partial: Option<Vec<Finding>>,
    /// The text before the edit, if the host supplied it.
    pub(crate) text: Option<Arc<str>>,
    /// The measured bytes of the complete findings, if known.
    pub(crate) measured: Option<ContentHash>,
    /// The root's epoch at which the complete findings were proven, if they were.
    pub(crate) epoch: Option<u64>,
}

impl StateBefore {
    /// The same findings for complete and partial results, whatever the text before was.
    pub(crate) fn from_findings(findings: Option<Vec<Finding>>) -> Self {
        Self { complete: findings.clone(), partial: findings, ..Self::default() }
    }

    /// The earlier findings for a result: partial ones for a partial result.
    pub(crate) fn findings(&self, is_partial: bool) -> Option<&Vec<Finding>> {
        if is_partial { self.partial.as_ref() } else { self.complete.as_ref() }
    }
}

/// The unreported measurements of a session; see the module.
#[derive(Debug, Default)]
pub(crate) struct PendingReports {
    measurements: HashMap<MeasureTopic, (u64, StateBefore)>,
    last: u64,
}

impl PendingReports {
    /// Registers a measurement, which replaces an unreported one of the same topic. The earlier one's
    /// baseline still applies; with `is_new_file`, `baseline` replaces it. Returns the measurement's number.
    pub(crate) fn register(
        &mut self,
        topic: MeasureTopic,
        baseline: StateBefore,
        is_new_file: bool,
    ) -> u64 {
        self.last += 1;
        let number = self.last;
        if self.measurements.len() >= PENDING_TOPICS_MAX && !self.measurements.contains_key(&topic)
        {
            let oldest = self.measurements.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(oldest) = oldest.map(|(topic, _)| topic.clone()) {
                self.measurements.remove(&oldest);
            }
        }
        let entry = self.measurements.entry(topic).or_insert_with(|| (number, baseline.clone()));
        entry.0 = number;
        if is_new_file {
            entry.1 = baseline;
        }
        number
    }

    /// The baseline of the unreported measurement of a topic.
    pub(crate) fn baseline(&self, topic: &MeasureTopic) -> Option<&StateBefore> {
        self.measurements.get(topic).map(|(_, baseline)| baseline)
    }

    /// True if no newer measurement of the topic was registered.
    pub(crate) fn is_newest(&self, topic: &MeasureTopic, number: u64) -> bool {
        self.measurements.get(topic).is_some_and(|(newest, _)| *newest == number)
    }

    /// Takes the baseline of a measurement that is reported now; `None` if a newer one will be.
    pub(crate) fn take_baseline(
        &mut self,
        topic: &MeasureTopic,
        number: u64,
    ) -> Option<StateBefore> {
        if !self.is_newest(topic, number) {
            return None;
        }
        self.measurements.remove(topic).map(|(_, baseline)| baseline)
    }

    /// The number of the last registered measurement.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The number of the measurement that is registered next.
    pub(crate) fn next(&self) -> u64 {
        self.last + 1
    }

    /// Forgets the measurements up to this number, because they were reported otherwise.
    pub(crate) fn forget_through(&mut self, last: u64) {
        self.measurements.retain(|_, (number, _)| *number > last);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn topic() -> MeasureTopic {
        let root = PathBuf::from("/r");
        let path = RelPath::below(&root, Path::new("/r/a.py")).expect("relative");
        MeasureTopic { agent: None, root, path, sensor: "s".to_owned() }
    }

    fn clean() -> StateBefore {
        StateBefore { complete: Some(Vec::new()), ..StateBefore::default() }
    }

    #[test]
    fn only_the_newest_is_reported_with_the_oldest_baseline() {
        let mut pending = PendingReports::default();
        let first = pending.register(topic(), clean(), false);
        let second = pending.register(topic(), StateBefore::default(), false);
        assert_eq!(pending.take_baseline(&topic(), first), None);
        assert_eq!(pending.take_baseline(&topic(), second), Some(clean()));
        assert_eq!(pending.take_baseline(&topic(), second), None, "reported once");
        let third = pending.register(topic(), StateBefore::default(), false);
        assert_eq!(pending.take_baseline(&topic(), third), Some(StateBefore::default()));
    }

    #[test]
    fn beyond_the_bound_the_oldest_is_forgotten() {
        let mut pending = PendingReports::default();
        let about = |sensor: String| MeasureTopic { sensor, ..topic() };
        let first = pending.register(about("0".to_owned()), clean(), false);
        for count in 1..PENDING_TOPICS_MAX {
            pending.register(about(count.to_string()), clean(), false);
        }
        assert!(pending.is_newest(&about("0".to_owned()), first));
        pending.register(topic(), clean(), false);
        assert_eq!(pending.take_baseline(&about("0".to_owned()), first), None);
    }

    #[test]
    fn a_new_file_replaces_the_baseline_and_a_stop_forgets_what_it_measured() {
        let mut pending = PendingReports::default();
        pending.register(topic(), StateBefore::default(), false);
        let again = pending.register(topic(), clean(), true);
        assert_eq!(pending.take_baseline(&topic(), again), Some(clean()));
        let last = pending.register(topic(), clean(), false);
        let stop = pending.last();
        let newer = MeasureTopic { sensor: "newer".to_owned(), ..topic() };
        let during = pending.register(newer.clone(), clean(), false);
        pending.forget_through(stop);
        assert_eq!(pending.take_baseline(&topic(), last), None);
        assert_eq!(pending.take_baseline(&newer, during), Some(clean()));
    }
}
