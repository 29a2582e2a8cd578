//! The plan that the user agreed to, which every decision reads.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::objection::UnapprovedPart;
use crate::plan::{PlanDocument, TodoStatus};
use crate::state::{PipelineState, PlanApprover, TodoProgress};

/// A plan that the user agreed to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ApprovedPlan {
    text: String,
    /// Time in milliseconds since the epoch.
    pub at_ms: u64,
    pub by: PlanApprover,
    /// The parsed text, filled on first use. Every step needs it; hooks that do not need the plan
    /// need not wait for it.
    #[serde(skip)]
    document: OnceLock<Arc<PlanDocument>>,
}

impl PartialEq for ApprovedPlan {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.at_ms, self.by) == (&other.text, other.at_ms, other.by)
    }
}

impl Eq for ApprovedPlan {}

impl ApprovedPlan {
    #[must_use]
    pub fn new(text: String, at_ms: u64, by: PlanApprover) -> Self {
        Self { text, at_ms, by, document: OnceLock::new() }
    }

    /// The unchanged text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parsed plan.
    #[must_use]
    pub fn document(&self) -> Arc<PlanDocument> {
        Arc::clone(self.document.get_or_init(|| Arc::new(PlanDocument::parse(&self.text))))
    }

    /// The parsed plan on disk, which may still equal this one.
    pub(crate) fn document_on_disk(&self, text: &str) -> Arc<PlanDocument> {
        if text == self.text { self.document() } else { Arc::new(PlanDocument::parse(text)) }
    }
}

impl PipelineState {
    /// The plan as it was approved, with the boxes that the engine's runs have set since.
    #[must_use]
    pub fn approved_text(&self) -> Option<String> {
        let approved = self.approved.as_ref()?;
        let document = approved.document();
        let boxes = document.todos.iter().map(|todo| {
            let progress = self.todos.get(todo.id.as_str());
            (todo.id.clone(), progress.map_or(TodoStatus::Open, TodoProgress::status))
        });
        Some(PlanDocument::set_statuses(approved.text(), &boxes.collect::<Vec<_>>()))
    }

    /// The parts of a plan that no person has approved.
    #[must_use]
    pub fn unapproved_parts(&self, text: &str) -> Vec<UnapprovedPart> {
        match &self.approved {
            Some(approved) => {
                unapproved_parts(&approved.document(), &approved.document_on_disk(text))
            }
            None => unapproved_parts(&PlanDocument::default(), &PlanDocument::parse(text)),
        }
    }
}

/// The TODOs, and the items of known TODOs, that a plan has in addition to the approved one.
pub(crate) fn unapproved_parts(agreed: &PlanDocument, plan: &PlanDocument) -> Vec<UnapprovedPart> {
    let mut parts = Vec::new();
    for todo in &plan.todos {
        let Some(known) = agreed.todo(&todo.id) else {
            parts.push(UnapprovedPart { name: todo.id.to_string(), line: todo.line });
            continue;
        };
        parts.extend(todo.items.iter().skip(known.items.len()).map(|item| UnapprovedPart {
            name: format!("{} {}", todo.id, item.id),
            line: item.line,
        }));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{PLAN, approved_plan, begun};

    #[test]
    fn a_plan_is_stored_as_its_text_and_is_the_same_whether_it_was_read_or_not() {
        let plan = ApprovedPlan::new(PLAN.to_owned(), 1, PlanApprover::Person);
        let stored = serde_json::to_string(&plan).expect("JSON");
        assert_eq!(plan.document().todos.len(), 2);
        assert_eq!(serde_json::to_string(&plan).expect("JSON"), stored);
        let read: ApprovedPlan = serde_json::from_str(&stored).expect("JSON");
        assert_eq!(read, plan);
        assert_eq!(read.document(), plan.document());
    }

    #[test]
    fn what_was_added_to_a_plan_is_named_with_its_line() {
        let state = approved_plan(PLAN);
        assert_eq!(state.unapproved_parts(PLAN), []);
        let more = format!("{PLAN}- [H] nice\n\n### [ ] TODO 3: three\n- [A] `check three`\n");
        let parts = state.unapproved_parts(&more);
        let named: Vec<String> =
            parts.iter().map(|part| format!("{}:{}", part.name, part.line)).collect();
        assert_eq!(named, ["TODO-2 AC-2:11", "TODO-3:13"]);
        assert_eq!(begun().unapproved_parts(PLAN).len(), 2, "nothing is approved yet");
    }
}
