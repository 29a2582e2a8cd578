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
pub(super) struct Topic {
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
pub(super) struct Baseline {
    /// The last set without a gap.
    pub(super) whole: Option<Vec<Finding>>,
    /// The last set beside which a fault of the project was told; what the fault explains is not
    /// in it.
    pub(super) partial: Option<Vec<Finding>>,
    /// What the edit began with, where that is known.
    pub(super) origin: Option<Origin>,
}

impl Baseline {
    /// One set for both, of whatever text.
    pub(super) fn of(set: Option<Vec<Finding>>) -> Self {
        Self { whole: set.clone(), partial: set, origin: None }
    }
}

/// What an edit began with. The last set without a gap need not be of the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The text before the edit.
    pub(super) text: Arc<str>,
    /// The bytes that the set speaks of; `None` where there is no set.
    pub(super) measured: Option<ContentHash>,
    /// The root's epoch at which the set was proven, if it was.
    pub(super) epoch: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Untold {
    asked: HashMap<Topic, (u64, Baseline)>,
    next: u64,
}

impl Untold {
    /// A new question, which replaces an older one that was not told. `baseline` counts unless the
    /// older one had its own; with `is_new_file` it counts in any case. Yields the question's number.
    pub(super) fn ask(&mut self, topic: Topic, baseline: Baseline, is_new_file: bool) -> u64 {
        self.next += 1;
        let number = self.next;
        if self.asked.len() >= UNTOLD_TOPICS_MAX && !self.asked.contains_key(&topic) {
            let oldest = self.asked.iter().min_by_key(|(_, (number, _))| *number);
            if let Some(oldest) = oldest.map(|(topic, _)| topic.clone()) {
                self.asked.remove(&oldest);
            }
        }
        let entry = self.asked.entry(topic).or_insert_with(|| (number, baseline.clone()));
        entry.0 = number;
        if is_new_file {
            entry.1 = baseline;
        }
        number
    }

    /// Whether nobody asked the same since.
    pub(super) fn is_newest(&self, topic: &Topic, number: u64) -> bool {
        self.asked.get(topic).is_some_and(|(newest, _)| *newest == number)
    }

    /// The question is told now: what to compare with. `None` when a newer one will be told.
    pub(super) fn tell(&mut self, topic: &Topic, number: u64) -> Option<Baseline> {
        if !self.is_newest(topic, number) {
            return None;
        }
        self.asked.remove(topic).map(|(_, baseline)| baseline)
    }

    /// Everything was told in another way.
    pub(super) fn clear(&mut self) {
        self.asked.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn topic() -> Topic {
        let root = PathBuf::from("/r");
        let path = RelPath::below(&root, Path::new("/r/a.py")).expect("relative");
        Topic { agent: None, root, path, sensor: "s".to_owned() }
    }

    fn clean() -> Baseline {
        Baseline { whole: Some(Vec::new()), ..Baseline::default() }
    }

    #[test]
    fn only_the_newest_is_told_and_with_the_oldest_baseline() {
        let mut untold = Untold::default();
        let first = untold.ask(topic(), clean(), false);
        let second = untold.ask(topic(), Baseline::default(), false);
        assert_eq!(untold.tell(&topic(), first), None);
        assert_eq!(untold.tell(&topic(), second), Some(clean()));
        assert_eq!(untold.tell(&topic(), second), None, "told once");
        let third = untold.ask(topic(), Baseline::default(), false);
        assert_eq!(untold.tell(&topic(), third), Some(Baseline::default()));
    }

    #[test]
    fn of_too_many_questions_the_oldest_is_forgotten() {
        let mut untold = Untold::default();
        let of = |sensor: String| Topic { sensor, ..topic() };
        let first = untold.ask(of("0".to_owned()), clean(), false);
        for count in 1..UNTOLD_TOPICS_MAX {
            untold.ask(of(count.to_string()), clean(), false);
        }
        assert!(untold.is_newest(&of("0".to_owned()), first));
        untold.ask(topic(), clean(), false);
        assert_eq!(untold.tell(&of("0".to_owned()), first), None);
    }

    #[test]
    fn a_new_file_begins_anew_and_a_stop_tells_everything() {
        let mut untold = Untold::default();
        untold.ask(topic(), Baseline::default(), false);
        let again = untold.ask(topic(), clean(), true);
        assert_eq!(untold.tell(&topic(), again), Some(clean()));
        let last = untold.ask(topic(), clean(), false);
        untold.clear();
        assert_eq!(untold.tell(&topic(), last), None);
    }
}
