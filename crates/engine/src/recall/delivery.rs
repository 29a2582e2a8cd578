//! What a reply shows of the memory counts only if the reply was delivered.

use crate::recall::recorder::NotedEvent;
use moai_memory::budget::InjectionEvent;
use moai_memory::database::Injection;

/// What a reply shows of the memory.
#[derive(Debug)]
pub(crate) struct DeliveredRecall {
    pub(crate) session: String,
    pub(crate) injections: Vec<Injection>,
    pub(crate) event: InjectionEvent,
    /// What is noted when the reply was read.
    pub(crate) noted: NotedEvent,
}

impl DeliveredRecall {
    /// Whether it is the record that a session gets once.
    pub(crate) fn is_record(&self) -> bool {
        self.event != InjectionEvent::Prompt
    }
}
