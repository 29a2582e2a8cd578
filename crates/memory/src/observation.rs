//! The memory's records: observations of sessions, each with its source and importance.

use moai_base::hash::ContentHash;

use crate::budget::estimated_tokens;
use crate::clean::CleanText;
use crate::dedupe::{normalized_hash, simhash};
use crate::ranking::ObservationKind;
use crate::tokens::IndexTokens;

/// The source of a text. Texts of [`Provenance::Tool`] are never shown to an agent unrequested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Provenance {
    /// Output of a tool, or text from the web.
    Tool,
    /// Written by an agent.
    Agent,
    /// Written by the user.
    User,
    /// Measured by this program.
    Measured,
}

impl Provenance {
    pub const ALL: [Self; 4] = [Self::Tool, Self::Agent, Self::User, Self::Measured];

    /// Its name in the store and in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::User => "user",
            Self::Measured => "measured",
        }
    }

    /// The value with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.name() == name)
    }
}

/// The outcome of a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FixOutcome {
    /// The finding did not return before the session ended.
    Held,
    /// The finding returned, or the edit was reverted.
    Undone,
}

impl FixOutcome {
    /// Its name in the store and in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Undone => "undone",
        }
    }

    /// The value with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Held, Self::Undone].into_iter().find(|value| value.name() == name)
    }
}

/// The readers of an observation in a shared store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Only its author.
    #[default]
    Private,
    /// Everyone who uses the store.
    Team,
}

impl Visibility {
    /// Its name in the store and in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Team => "team",
        }
    }

    /// The value with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Private, Self::Team].into_iter().find(|value| value.name() == name)
    }
}

/// A project of the memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MemoryProject {
    /// Letters and digits; the same for all worktrees of a repository. Part of a token of the index.
    pub key: String,
    /// For people: the name of the root's folder, or the name in an import.
    pub name: String,
}

impl MemoryProject {
    /// The project with a name from an import. Its key is derived from the name, because nothing
    /// else is known of it.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let text = format!("project {}", name.trim());
        let key = format!("n{}", ContentHash::of_bytes(text.as_bytes()).short_hex());
        Self { key, name: name.trim().to_owned() }
    }
}

/// An observation to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewObservation {
    /// Id in the system that it was imported from; used as the id in all output.
    pub external_id: Option<String>,
    pub project: MemoryProject,
    /// Id of the host's session; empty if unknown.
    pub session: String,
    pub kind: ObservationKind,
    /// Time of the event, in milliseconds since 1970.
    pub at_ms: i64,
    /// One line.
    pub title: CleanText,
    /// Everything else.
    pub body: Option<CleanText>,
    /// Files it is about, relative to the root, with `/`.
    pub files: Vec<CleanText>,
    /// Codes of findings: `TS2345`, `E0308`.
    pub codes: Vec<CleanText>,
    /// Ids of the shapes of findings ([`crate::shape::FindingShape::id`]).
    pub shapes: Vec<String>,
    pub provenance: Provenance,
    /// From 0 to 1; see [`crate::ranking::RankingCandidate::importance`].
    pub importance: f64,
    /// For a fix: its outcome, if known.
    pub outcome: Option<FixOutcome>,
    pub visibility: Visibility,
    /// Number of repetitions before it is stored here.
    pub repeats: u32,
}

/// Facts that a store computes from the text of an observation.
#[derive(Clone, Debug)]
pub struct ObservationFacts {
    /// With project and kind it identifies an observation: [`Self::own_hash`], and for a record of
    /// another system the hash of its text and id, because two records may have the same text.
    pub hash: ContentHash,
    /// The hash without the id of another system: of title and body, and of the session for an
    /// event of one. An exported record carries it.
    pub own_hash: ContentHash,
    /// Estimated tokens of title and body.
    pub tokens: usize,
    /// [`simhash`] of title and body.
    pub simhash: Option<u64>,
    pub index: IndexTokens,
}

impl NewObservation {
    /// Computes the facts from the text.
    #[must_use]
    pub fn facts(&self) -> ObservationFacts {
        let body = self.body.as_ref().map_or("", CleanText::as_str);
        let text = joined(self.title.as_str(), body);
        let names = self.files.iter().chain(&self.codes).map(CleanText::as_str);
        let text_hash = normalized_hash(&text);
        let of_record = |id: &String| ContentHash::of_bytes(format!("{text_hash} {id}").as_bytes());
        let own_hash = if self.kind.is_of_one_session() && !self.session.is_empty() {
            ContentHash::of_bytes(format!("{text_hash} in {}", self.session).as_bytes())
        } else {
            text_hash
        };
        ObservationFacts {
            hash: self.external_id.as_ref().map_or(own_hash, of_record),
            own_hash,
            tokens: estimated_tokens(&text),
            simhash: simhash(&text),
            index: IndexTokens::of_text(&with_names(&text, names)),
        }
    }
}

fn joined(title: &str, body: &str) -> String {
    if body.is_empty() { title.to_owned() } else { format!("{title}\n{body}") }
}

/// The text with a line for each name that it lacks.
fn with_names<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> String {
    let mut whole = text.to_owned();
    for name in names.filter(|name| !text.contains(name)) {
        whole.push('\n');
        whole.push_str(name);
    }
    whole
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredObservation {
    pub row: i64,
    /// Id in all output: `obs-17`, or the id of an import.
    pub id: String,
    pub project: MemoryProject,
    /// Id of the host's session; may be empty.
    pub session: String,
    pub kind: ObservationKind,
    /// Time of the last occurrence, in milliseconds since 1970.
    pub at_ms: i64,
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
    /// Number of repetitions.
    pub repeats: u32,
    /// True if a later observation replaces it.
    pub is_superseded: bool,
    /// For a fix: its outcome, once known.
    pub outcome: Option<FixOutcome>,
    pub visibility: Visibility,
    /// Estimated tokens of title and body.
    pub tokens: usize,
    /// [`crate::dedupe::simhash`] of title and body.
    pub simhash: Option<u64>,
}

impl StoredObservation {
    /// Title and body.
    #[must_use]
    pub fn text(&self) -> String {
        joined(&self.title, &self.body)
    }

    /// The indexed text: title and body, and the files and codes missing from them.
    #[must_use]
    pub fn searched_text(&self) -> String {
        let names = self.files.iter().chain(&self.codes).map(String::as_str);
        with_names(&self.text(), names)
    }
}

/// The goal of a session, quoted from one of its observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionGoal {
    /// One line.
    pub text: CleanText,
    /// Row of the observation; when it is forgotten, so is the goal.
    pub row: i64,
}

/// A session of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// Id of the host.
    pub id: String,
    pub project: MemoryProject,
    /// Time of its first hook, in milliseconds since 1970.
    pub started_ms: i64,
    /// Time of its last hook, in milliseconds since 1970.
    pub last_ms: i64,
    /// True if the host reported its end. A killed host does not.
    pub has_ended: bool,
    /// The user's first request; empty if unknown.
    pub goal: String,
    /// Name of the folder of the worktree it worked in first; empty if unknown.
    pub worktree: String,
}
