//! A specification: `spec.md` with requirements in the EARS patterns, `plan.md` with the TODOs that
//! meet them, `acceptance.md` with the scenarios that demonstrate it, and the links between the
//! three.

mod ears;
mod ids;
mod links;
mod read;
mod template;

pub use self::ears::{EarsPattern, RequirementStatement};
pub(crate) use self::ids::requirement_ids;
pub use self::ids::{RequirementId, SpecId};
pub use self::links::{SpecFault, SpecSources, check_links};
pub use self::template::{SpecTemplates, spec_templates};
use crate::document::DocumentFault;
use moai_loops::named_variants;

/// Folder of the specifications; each has a folder with its id as the name.
pub use moai_loops::criteria::SPECS_FOLDER;

/// A document of a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpecFile {
    /// `spec.md`: the requirements.
    Spec,
    /// `plan.md`: the work.
    Plan,
    /// `acceptance.md`: the scenarios of a user.
    Acceptance,
}

named_variants!(SpecFile { Spec: "spec.md", Plan: "plan.md", Acceptance: "acceptance.md" });

/// A parsed `spec.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecDocument {
    /// The document's own ids, in its title and in a field.
    pub ids: Vec<SpecIdLine>,
    /// The title without the id.
    pub title: Option<String>,
    /// The requirements in the order of the file.
    pub requirements: Vec<Requirement>,
    /// Test files of requirements, from the rows of a table that begin with a requirement's id.
    pub traces: Vec<TestTrace>,
    /// The reasons why the document cannot be used, in the order of the lines.
    pub faults: Vec<DocumentFault>,
}

/// A document's own id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecIdLine {
    pub id: SpecId,
    /// 1-based line.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub id: RequirementId,
    /// 1-based line.
    pub line: usize,
    /// Its title, on one line; empty if the statement follows the id.
    pub title: String,
    /// The pattern that the document declares.
    pub pattern: Option<EarsPattern>,
    /// The obligations of the system.
    pub statements: Vec<RequirementStatement>,
}

/// A requirement with a file that tests it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestTrace {
    /// 1-based line of the row.
    pub line: usize,
    pub requirement: RequirementId,
    /// A path relative to the root.
    pub test: String,
}

impl SpecDocument {
    /// Parses a `spec.md`. Parsing never fails; unreadable parts become faults with their lines.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        read::read_spec(text)
    }
}

#[cfg(test)]
mod tests;
