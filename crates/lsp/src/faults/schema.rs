//! Schema files that cannot be read: the document is then not compared with any. Codes and messages are those of
//! vscode-json-language-server 4.10 and tombi 1.9; yaml-language-server reports an error, which stays a finding.

use super::{NeededFacts, ProjectFault, first_quoted, matching_indices};
use moai_base::finding::Finding;

/// Reported by the JSON server, also for a schema on the net, which it never reads here.
const SCHEMA_UNRESOLVED: &str = "65536";
/// Reported by tombi for a file only.
const SCHEMA_NOT_FOUND: &str = "schema file not found: ";

pub(super) const SCHEMA_FACTS: NeededFacts =
    NeededFacts { codes: &[SCHEMA_UNRESOLVED, "schema-resolution"], ..NeededFacts::NONE };

pub(super) fn schema_fault(found: &[Finding]) -> Option<ProjectFault> {
    let explained = matching_indices(found, |one| unread_schema(one).is_some());
    let schema = unread_schema(&found[*explained.first()?])?;
    let detail = format!("the file's schema cannot be read: {schema}");
    Some(ProjectFault::new(&detail, "install what provides it, or correct $schema", explained))
}

/// The schema file that a finding reports as unreadable.
fn unread_schema(finding: &Finding) -> Option<&str> {
    if finding.code == SCHEMA_UNRESOLVED {
        return first_quoted(&finding.message).filter(|place| !place.contains("://"));
    }
    finding.message.strip_prefix(SCHEMA_NOT_FOUND)
}
