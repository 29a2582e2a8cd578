//! Use of the memory by the hooks: they note the events of a session, and show observations of earlier
//! sessions. Nothing here fails a hook or delays its reply beyond a bound.

pub(crate) mod delivery;
pub(crate) mod earlier_fixes;
pub(crate) mod note;
pub(crate) mod note_loop;
pub(crate) mod prompt_record;
pub(crate) mod recorder;
pub(crate) mod session_recall;
pub(crate) mod session_record;
mod stored_events;

use crate::project::Project;
use moai_memory::database::{Injection, ObservationFilter};
use moai_report::agent::EditText;
use moai_report::recall::RecallText;

use moai_memory::budget::InjectionEvent;

/// A text of the memory for an agent, and the data to record once it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecalledText {
    pub(crate) text: EditText,
    pub(crate) injections: Vec<Injection>,
    pub(crate) event: InjectionEvent,
}

impl RecalledText {
    /// `None` if there is nothing to say.
    fn new(recall: RecallText, session: &str, event: InjectionEvent, now_ms: i64) -> Option<Self> {
        if recall.text.is_empty() {
            return None;
        }
        let shown = recall.shown.into_iter().map(|one| Injection {
            session: note::stored_session(session),
            row: one.row,
            at_ms: now_ms,
            event,
            tokens: one.tokens,
        });
        Some(Self { injections: shown.collect(), text: EditText::agent_only(recall.text), event })
    }
}

/// The observations of a project.
fn of_project(project: &Project) -> ObservationFilter {
    ObservationFilter { projects: vec![project.memory_key()], ..ObservationFilter::default() }
}
