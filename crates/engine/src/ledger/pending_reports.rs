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

/// The baseline of an edit's result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EditBaseline {
    /// The last findings without a gap.
    pub(crate) complete: Option<Vec<Finding>>,
    /// The last findings reported together with a fault of the project, without those that the fault
    /// explains.
    pub(crate) partial: Option<Vec<Finding>>,
    /// The state before the edit, if it is known.
    pub(crate) origin: Option<EditOrigin>,
}

impl EditBaseline {
    /// The same findings as complete and partial baseline, without an origin.
    pub(crate) fn from_findings(set: Option<Vec<Finding>>) -> Self {
        Self { complete: set.clone(), partial: set, origin: None }
    }
}

/// The state before an edit. The last findings without a gap need not be of the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EditOrigin {
    /// The text before the edit.
    pub(crate) text: Arc<str>,
    /// The measured bytes of the complete findings, if there are any.
    pub(crate) measured: Option<ContentHash>,
    /// The root's epoch at which the findings were proven, if they were.
    pub(crate) epoch: Option<u64>,
}

/// The unreported measurements of a session; see the module.
#[derive(Debug, Default)]
pub(crate) struct PendingReports {
    questions: HashMap<MeasureTopic, (u64, EditBaseline)>,
    next: u64,
}

impl PendingReports {
    /// Registers a measurement, which replaces an older unreported one of the same topic. The older
    /// one's baseline stays in force; with `is_new_file`, `baseline` replaces it. Returns the
    /// measurement's number.
    pub(crate) fn ask(
        &mut self,
        topic: MeasureTopic,
        baseline: EditBaseline,
        is_new_file: bool,
    ) -> u64 {
        self.next += 1;
        let number = self.next;
        if self.questions.len() >= PENDING_TOPICS_MAX && !self.questions.contains_key(&topic) {
            let oldest = self.questions.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(oldest) = oldest.map(|(topic, _)| topic.clone()) {
                self.questions.remove(&oldest);
            }
        }
        let entry = self.questions.entry(topic).or_insert_with(|| (number, baseline.clone()));
        entry.0 = number;
        if is_new_file {
            entry.1 = baseline;
        }
        number
    }

    /// Whether no newer measurement of the topic was registered.
    pub(crate) fn is_newest(&self, topic: &MeasureTopic, number: u64) -> bool {
        self.questions.get(topic).is_some_and(|(newest, _)| *newest == number)
    }

    /// Takes the baseline of a measurement that is reported now; `None` if a newer one will be.
    pub(crate) fn take_baseline(
        &mut self,
        topic: &MeasureTopic,
        number: u64,
    ) -> Option<EditBaseline> {
        if !self.is_newest(topic, number) {
            return None;
        }
        self.questions.remove(topic).map(|(_, baseline)| baseline)
    }

    /// Forgets all measurements, because they were reported otherwise.
    pub(crate) fn clear(&mut self) {
        self.questions.clear();
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

    fn clean() -> EditBaseline {
        EditBaseline { complete: Some(Vec::new()), ..EditBaseline::default() }
    }

    #[test]
    fn only_the_newest_is_reported_with_the_oldest_baseline() {
        let mut pending = PendingReports::default();
        let first = pending.ask(topic(), clean(), false);
        let second = pending.ask(topic(), EditBaseline::default(), false);
        assert_eq!(pending.take_baseline(&topic(), first), None);
        assert_eq!(pending.take_baseline(&topic(), second), Some(clean()));
        assert_eq!(pending.take_baseline(&topic(), second), None, "reported once");
        let third = pending.ask(topic(), EditBaseline::default(), false);
        assert_eq!(pending.take_baseline(&topic(), third), Some(EditBaseline::default()));
    }

    #[test]
    fn beyond_the_bound_the_oldest_is_forgotten() {
        let mut pending = PendingReports::default();
        let about = |sensor: String| MeasureTopic { sensor, ..topic() };
        let first = pending.ask(about("0".to_owned()), clean(), false);
        for count in 1..PENDING_TOPICS_MAX {
            pending.ask(about(count.to_string()), clean(), false);
        }
        assert!(pending.is_newest(&about("0".to_owned()), first));
        pending.ask(topic(), clean(), false);
        assert_eq!(pending.take_baseline(&about("0".to_owned()), first), None);
    }

    #[test]
    fn a_new_file_replaces_the_baseline_and_a_stop_clears_all() {
        let mut pending = PendingReports::default();
        pending.ask(topic(), EditBaseline::default(), false);
        let again = pending.ask(topic(), clean(), true);
        assert_eq!(pending.take_baseline(&topic(), again), Some(clean()));
        let last = pending.ask(topic(), clean(), false);
        pending.clear();
        assert_eq!(pending.take_baseline(&topic(), last), None);
    }
}
