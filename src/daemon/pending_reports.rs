//! Which of a session's questions are still to be told, and against what. When several edits of a
//! file come quickly, only the newest is told, and it is compared with what the session knew before
//! the first of them. Pure bookkeeping.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::base::finding::Finding;
use crate::base::hash::ContentHash;
use crate::base::limits::UNTOLD_TOPICS_MAX;
use crate::base::path::RelPath;

/// What a question is about, and which agent of the session asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MeasureTopic {
    /// The subagent.
    pub(super) agent: Option<String>,
    /// The project.
    pub(super) root: PathBuf,
    /// The file.
    pub(super) path: RelPath,
    /// Who was asked.
    pub(super) sensor: String,
}

/// What an answer is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EditBaseline {
    /// The last set without a gap.
    pub(super) complete: Option<Vec<Finding>>,
    /// The last set beside which a fault of the project was told; what the fault explains is not
    /// in it.
    pub(super) partial: Option<Vec<Finding>>,
    /// What the edit began with, where that is known.
    pub(super) origin: Option<EditOrigin>,
}

impl EditBaseline {
    /// One set for both, of whatever text.
    pub(super) fn of(set: Option<Vec<Finding>>) -> Self {
        Self { complete: set.clone(), partial: set, origin: None }
    }
}

/// What an edit began with. The last set without a gap need not be of the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EditOrigin {
    /// The text before the edit.
    pub(super) text: Arc<str>,
    /// The bytes that the set speaks of; `None` where there is no set.
    pub(super) measured: Option<ContentHash>,
    /// The root's epoch at which the set was proven, if it was.
    pub(super) epoch: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct PendingReports {
    questions: HashMap<MeasureTopic, (u64, EditBaseline)>,
    next: u64,
}

impl PendingReports {
    /// A new question, which replaces an older one that was not told. `baseline` counts unless the
    /// older one had its own; with `is_new_file` it counts in any case. Yields the question's number.
    pub(super) fn ask(
        &mut self,
        topic: MeasureTopic,
        baseline: EditBaseline,
        is_new_file: bool,
    ) -> u64 {
        self.next += 1;
        let number = self.next;
        if self.questions.len() >= UNTOLD_TOPICS_MAX && !self.questions.contains_key(&topic) {
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

    /// Whether nobody asked the same since.
    pub(super) fn is_newest(&self, topic: &MeasureTopic, number: u64) -> bool {
        self.questions.get(topic).is_some_and(|(newest, _)| *newest == number)
    }

    /// The question is told now: what to compare with. `None` when a newer one will be told.
    pub(super) fn take_baseline(
        &mut self,
        topic: &MeasureTopic,
        number: u64,
    ) -> Option<EditBaseline> {
        if !self.is_newest(topic, number) {
            return None;
        }
        self.questions.remove(topic).map(|(_, baseline)| baseline)
    }

    /// Everything was told in another way.
    pub(super) fn clear(&mut self) {
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
    fn only_the_newest_is_told_and_with_the_oldest_baseline() {
        let mut untold = PendingReports::default();
        let first = untold.ask(topic(), clean(), false);
        let second = untold.ask(topic(), EditBaseline::default(), false);
        assert_eq!(untold.take_baseline(&topic(), first), None);
        assert_eq!(untold.take_baseline(&topic(), second), Some(clean()));
        assert_eq!(untold.take_baseline(&topic(), second), None, "told once");
        let third = untold.ask(topic(), EditBaseline::default(), false);
        assert_eq!(untold.take_baseline(&topic(), third), Some(EditBaseline::default()));
    }

    #[test]
    fn of_too_many_questions_the_oldest_is_forgotten() {
        let mut untold = PendingReports::default();
        let of = |sensor: String| MeasureTopic { sensor, ..topic() };
        let first = untold.ask(of("0".to_owned()), clean(), false);
        for count in 1..UNTOLD_TOPICS_MAX {
            untold.ask(of(count.to_string()), clean(), false);
        }
        assert!(untold.is_newest(&of("0".to_owned()), first));
        untold.ask(topic(), clean(), false);
        assert_eq!(untold.take_baseline(&of("0".to_owned()), first), None);
    }

    #[test]
    fn a_new_file_begins_anew_and_a_stop_tells_everything() {
        let mut untold = PendingReports::default();
        untold.ask(topic(), EditBaseline::default(), false);
        let again = untold.ask(topic(), clean(), true);
        assert_eq!(untold.take_baseline(&topic(), again), Some(clean()));
        let last = untold.ask(topic(), clean(), false);
        untold.clear();
        assert_eq!(untold.take_baseline(&topic(), last), None);
    }
}
