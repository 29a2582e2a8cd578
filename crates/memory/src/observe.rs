//! Observations derived from the events of a session, without a model. The input is cleaned before
//! anything is derived from it, and the result is cleaned again before it is stored.

pub mod commands;
pub mod digest;
pub mod edits;
pub mod fixes;
pub mod prompts;
pub mod trace;

use moai_base::foreign_text::one_line;
use moai_base::limits::OBSERVED_TITLE_CHARS_MAX;

use crate::clean::CleanText;
use crate::observation::{FixOutcome, MemoryProject, NewObservation, Provenance, Visibility};
use crate::ranking::ObservationKind;

/// The origin of the observations of one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservationOrigin {
    pub project: MemoryProject,
    /// Id of the host's session; may be empty.
    pub session: String,
    /// Time of the event, in milliseconds since 1970.
    pub at_ms: i64,
}

/// An observation that is not cleaned yet and cannot be stored; see [`Self::cleaned`].
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationDraft {
    pub kind: ObservationKind,
    /// One line.
    pub title: String,
    /// Everything else; may be empty.
    pub body: String,
    /// Files it is about, relative to the root.
    pub files: Vec<String>,
    pub codes: Vec<String>,
    /// Ids of the shapes of findings.
    pub shapes: Vec<String>,
    pub provenance: Provenance,
    /// From 0 to 1.
    pub importance: f64,
    /// For a fix: its outcome, if known.
    pub outcome: Option<FixOutcome>,
}

impl ObservationDraft {
    /// A draft with only a title.
    #[must_use]
    pub fn new(kind: ObservationKind, provenance: Provenance, title: String) -> Self {
        Self {
            kind,
            title,
            body: String::new(),
            files: Vec::new(),
            codes: Vec::new(),
            shapes: Vec::new(),
            provenance,
            importance: importance(kind, provenance),
            outcome: None,
        }
    }

    /// The observation to store; `None` if nothing of its title may be stored.
    #[must_use]
    pub fn cleaned(&self, origin: &ObservationOrigin) -> Option<NewObservation> {
        let title = one_line(&self.title, OBSERVED_TITLE_CHARS_MAX);
        let mut fields = vec![title.as_str(), self.body.as_str()];
        fields.extend(self.files.iter().chain(&self.codes).map(String::as_str));
        let mut clean = CleanText::of_fields(&fields).into_iter();
        let title = clean.next().flatten()?;
        let body = clean.next().flatten();
        let mut rest: Vec<Option<CleanText>> = clean.collect();
        let codes = rest.split_off(self.files.len());
        Some(NewObservation {
            external_id: None,
            project: origin.project.clone(),
            session: origin.session.clone(),
            kind: self.kind,
            at_ms: origin.at_ms,
            title,
            body,
            files: rest.into_iter().flatten().collect(),
            codes: codes.into_iter().flatten().collect(),
            shapes: self.shapes.clone(),
            provenance: self.provenance,
            importance: self.importance,
            outcome: self.outcome,
            visibility: Visibility::default(),
            repeats: 0,
        })
    }
}

/// Default importance of an observation.
fn importance(kind: ObservationKind, provenance: Provenance) -> f64 {
    match (kind, provenance) {
        (ObservationKind::Decision | ObservationKind::Note, Provenance::User) => 0.9,
        (ObservationKind::Fix | ObservationKind::Verdict, Provenance::Measured) => 0.8,
        (ObservationKind::Decision | ObservationKind::Note, _) => 0.7,
        (ObservationKind::Digest | ObservationKind::Verdict | ObservationKind::Fix, _) => 0.6,
        (ObservationKind::Prompt | ObservationKind::Diagnostic, _) => 0.4,
        (ObservationKind::Test | ObservationKind::Command | ObservationKind::Blocked, _) => 0.3,
        (ObservationKind::Edit, _) => 0.2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> ObservationOrigin {
        ObservationOrigin {
            project: MemoryProject { key: "p1".to_owned(), name: "shop".to_owned() },
            session: "s".to_owned(),
            at_ms: 5,
        }
    }

    #[test]
    fn a_private_passage_reaches_over_all_fields_of_an_event() {
        let draft = ObservationDraft {
            body: "still secret </private> and public".to_owned(),
            files: vec!["src/a.rs".to_owned()],
            codes: vec!["E0308".to_owned()],
            ..ObservationDraft::new(
                ObservationKind::Edit,
                Provenance::Measured,
                "edited <private>the plan".to_owned(),
            )
        };
        let stored = draft.cleaned(&origin()).expect("a title is left");
        assert_eq!(stored.title.as_str(), "edited");
        assert_eq!(stored.body.as_ref().map(CleanText::as_str), Some("and public"));
        let texts = |texts: &[CleanText]| {
            texts.iter().map(|text| text.as_str().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(texts(&stored.files), ["src/a.rs"]);
        assert_eq!(texts(&stored.codes), ["E0308"]);
    }

    #[test]
    fn nothing_is_stored_without_a_title() {
        let title = "<private>all of it</private>".to_owned();
        let draft = ObservationDraft {
            body: "a body alone".to_owned(),
            ..ObservationDraft::new(ObservationKind::Note, Provenance::User, title)
        };
        assert_eq!(draft.cleaned(&origin()), None);
    }

    #[test]
    fn a_title_is_one_bounded_line() {
        let title = format!("a\nb {}", "x".repeat(3 * OBSERVED_TITLE_CHARS_MAX));
        let draft = ObservationDraft::new(ObservationKind::Note, Provenance::Agent, title);
        let stored = draft.cleaned(&origin()).expect("a title is left");
        assert!(stored.title.as_str().starts_with("a b x"));
        assert!(stored.title.as_str().chars().count() <= OBSERVED_TITLE_CHARS_MAX + 1);
    }
}
