//! Observations in a reply count as shown only if the reply was delivered.

use crate::recall::recorder::NotedEvent;
use moai_memory::budget::InjectionEvent;
use moai_memory::database::Injection;

/// Observations shown in a reply.
#[derive(Debug)]
pub(crate) struct DeliveredRecall {
    pub(crate) session: String,
    pub(crate) injections: Vec<Injection>,
    pub(crate) event: InjectionEvent,
    /// The event to note once the reply was delivered.
    pub(crate) noted: NotedEvent,
}

impl DeliveredRecall {
    /// True if it is the record that a session gets once.
    pub(crate) fn is_record(&self) -> bool {
        self.event != InjectionEvent::Prompt
    }
}
