//! The report with which a worker ends: one JSON object in its last message. A claim must be
//! confirmed by the engine's own run.

use serde::Deserialize;

use crate::json_object::object_with;
use crate::pivot::{Discovery, PivotId};
use crate::plan::{AcceptanceKind, Todo, TodoId};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    FAULT_QUOTE_CHARS_MAX, PLAN_TEXT_CHARS_MAX, WORKER_ENTRIES_MAX, WORKER_REPORT_BYTES_MAX,
};
use moai_base::redaction::redacted;
use moai_loops::{named_variants, serialize_by_name};

/// A worker's report. Texts are on one line, bounded and without secrets; lists are bounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerReport {
    /// The TODO that it worked on.
    pub todo: TodoId,
    /// Its claim.
    pub status: WorkerStatus,
    /// Files that it changed, as reported.
    pub files_changed: Vec<String>,
    pub summary: String,
    /// Its own runs of the acceptance commands.
    pub criteria: Vec<ReportedCriterion>,
    /// Patterns and conventions that it learned.
    pub learnings: Vec<String>,
    /// Problems that remain.
    pub issues: Vec<String>,
    /// Decisions with their reasons.
    pub decisions: Vec<String>,
    /// Its additional proposals.
    pub discoveries: Vec<Discovery>,
}

/// A worker's own run of an acceptance item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedCriterion {
    /// The item: `AC-1`.
    pub id: String,
    /// The claimed result.
    pub status: WorkerStatus,
}

/// A worker's claim about a TODO or an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStatus {
    /// Done.
    Pass,
    /// Not done.
    Fail,
    /// Done in part.
    Partial,
}

named_variants!(WorkerStatus { Pass: "PASS", Fail: "FAIL", Partial: "PARTIAL" });
serialize_by_name!(WorkerStatus);

/// The reason why the last message of a worker is not a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerReportError {
    /// It has no JSON object.
    #[error("the last message has no JSON object: end with the report alone, not with prose")]
    Prose,
    /// It is too large to be read.
    #[error("the report is larger than {} KiB", WORKER_REPORT_BYTES_MAX / 1024)]
    TooLarge,
    /// A field is missing or wrong.
    #[error("{field}: {reason}")]
    Field {
        /// Path of the field: `acceptance_criteria[0].status`.
        field: String,
        /// The reason, as a fragment.
        reason: String,
    },
}

impl WorkerReport {
    /// Parses the last message of a worker: a JSON object alone, in a code block, or after prose.
    pub fn parse(message: &str) -> Result<Self, WorkerReportError> {
        if message.len() > WORKER_REPORT_BYTES_MAX {
            return Err(WorkerReportError::TooLarge);
        }
        let object = object_with(message, "todo_id").ok_or(WorkerReportError::Prose)?;
        // The parser would take the fields of a list in their order.
        if object.get("outputs").is_some_and(|outputs| !outputs.is_object()) {
            let reason = "expected an object with files_changed and summary".to_owned();
            return Err(WorkerReportError::Field { field: "outputs".to_owned(), reason });
        }
        let raw: RawReport = match serde_path_to_error::deserialize(object) {
            Ok(raw) => raw,
            Err(error) => {
                let path = error.path().to_string();
                let field = if path == "." { "report".to_owned() } else { path };
                let reason = one_line(&error.inner().to_string(), PLAN_TEXT_CHARS_MAX);
                return Err(WorkerReportError::Field { field, reason });
            }
        };
        let todo = TodoId::parse(&raw.todo_id).ok_or_else(|| WorkerReportError::Field {
            field: "todo_id".to_owned(),
            reason: format!("{:?} is no TODO", one_line(&raw.todo_id, FAULT_QUOTE_CHARS_MAX)),
        })?;
        Ok(Self {
            todo,
            status: raw.status,
            files_changed: lines(raw.outputs.files_changed),
            summary: kept_line(&raw.outputs.summary),
            criteria: criteria(raw.acceptance_criteria),
            learnings: lines(raw.learnings),
            issues: lines(raw.issues),
            decisions: lines(raw.decisions),
            discoveries: discoveries(raw.discoveries),
        })
    }

    /// Contradictions within the report or with the assigned TODO, as fragments.
    #[must_use]
    pub fn contradictions(&self, assigned: &Todo) -> Vec<String> {
        let mut found = Vec::new();
        if self.todo != assigned.id {
            found.push(format!("todo_id is {}, but the task is {}", self.todo, assigned.id));
            return found;
        }
        for item in assigned.items_of(AcceptanceKind::Automatic) {
            let reported = self.criteria.iter().find(|criterion| criterion.id == item.id);
            match reported.map(|criterion| criterion.status) {
                None => found.push(format!("acceptance_criteria does not have {}", item.id)),
                Some(WorkerStatus::Pass) => {}
                Some(status) if self.status == WorkerStatus::Pass => {
                    found.push(format!("status is PASS, but {} is {}", item.id, status.as_str()));
                }
                Some(_) => {}
            }
        }
        let is_known = |id: &str| assigned.items.iter().any(|item| item.id == id);
        for criterion in self.criteria.iter().filter(|criterion| !is_known(&criterion.id)) {
            let id = one_line(&criterion.id, FAULT_QUOTE_CHARS_MAX);
            found.push(format!("{} has no item {id}", assigned.id));
        }
        found
    }
}

/// The report as written.
#[derive(Deserialize)]
struct RawReport {
    todo_id: String,
    status: WorkerStatus,
    outputs: RawOutputs,
    acceptance_criteria: Vec<RawCriterion>,
    learnings: Vec<String>,
    issues: Vec<String>,
    decisions: Vec<String>,
    #[serde(default)]
    discoveries: Vec<RawDiscovery>,
}

#[derive(Deserialize)]
struct RawOutputs {
    files_changed: Vec<String>,
    summary: String,
}

#[derive(Deserialize)]
struct RawCriterion {
    id: String,
    status: WorkerStatus,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawDiscovery {
    Text(String),
    Object {
        summary: String,
        #[serde(default)]
        files: Vec<String>,
        #[serde(default)]
        conflicts_with: Vec<String>,
    },
}

/// A text of a report in its stored form, for the state and the committed documents.
fn kept_line(text: &str) -> String {
    one_line(&redacted(text), PLAN_TEXT_CHARS_MAX)
}

fn lines(texts: Vec<String>) -> Vec<String> {
    let lines = texts.into_iter().map(|text| kept_line(&text));
    lines.filter(|line| !line.is_empty()).take(WORKER_ENTRIES_MAX).collect()
}

fn criteria(raw: Vec<RawCriterion>) -> Vec<ReportedCriterion> {
    let criteria = raw.into_iter().take(WORKER_ENTRIES_MAX);
    criteria.map(|RawCriterion { id, status }| ReportedCriterion { id, status }).collect()
}

fn discoveries(raw: Vec<RawDiscovery>) -> Vec<Discovery> {
    let discoveries = raw.into_iter().take(WORKER_ENTRIES_MAX).map(|one| match one {
        RawDiscovery::Text(summary) => {
            Discovery { summary: kept_line(&summary), ..Discovery::default() }
        }
        RawDiscovery::Object { summary, files, conflicts_with } => Discovery {
            summary: kept_line(&summary),
            files: lines(files),
            conflicts_with: conflicts_with.iter().filter_map(|id| PivotId::parse(id)).collect(),
        },
    });
    discoveries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PlanDocument;

    const REPORT: &str = r#"{
  "todo_id": "TODO-1",
  "status": "PASS",
  "outputs": {"files_changed": ["src/auth.ts"], "summary": "JWT {middleware}"},
  "acceptance_criteria": [{"id": "AC-1", "category": "functional", "command": "npm test",
    "expected_exit": 0, "actual_exit": 0, "status": "PASS", "output_snippet": "ok"}],
  "learnings": ["a\npattern"], "issues": [], "decisions": ["x because y"],
  "discoveries": ["cache it", {"summary": "drop B", "files": ["b.rs"], "conflicts_with": ["PP-1", "?"]}]
}"#;

    fn todo(item: &str) -> Todo {
        let text = format!("### [ ] TODO 1: a\n- [A] `npm test`\n{item}");
        PlanDocument::parse(&text).todos.remove(0)
    }

    #[test]
    fn a_report_is_found_in_what_surrounds_it() {
        let report = WorkerReport::parse(REPORT).expect("a report");
        assert_eq!((report.todo.as_str(), report.status), ("TODO-1", WorkerStatus::Pass));
        assert_eq!(report.learnings, ["a pattern"]);
        assert_eq!(report.discoveries[1].conflicts_with.len(), 1);
        assert_eq!(report.contradictions(&todo("")), [""; 0]);
        for message in [
            format!("Done {{really}}.\n```json\n{REPORT}\n```\n"),
            format!("{{\"an\": \"example\"}} then {REPORT} and {{\"more\": 1}}"),
        ] {
            assert_eq!(WorkerReport::parse(&message), Ok(report.clone()), "{message}");
        }
    }

    #[test]
    fn outputs_that_are_a_list_are_refused_with_the_form() {
        let text = r#"{"todo_id": "TODO-1", "status": "PASS", "outputs": ["a.py"]}"#;
        let error = WorkerReport::parse(text).expect_err("no object").to_string();
        assert_eq!(error, "outputs: expected an object with files_changed and summary");
    }

    #[test]
    fn secrets_in_a_report_are_not_kept() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).expect("long"));
        let text = REPORT.replace("pattern", &token).replace("middleware", &token);
        let text = text.replace("cache it", &token).replace("drop B", &token);
        let report = WorkerReport::parse(&text.replace("because y", &token)).expect("a report");
        let kept = format!("{report:?}");
        assert!(!kept.contains(&token) && kept.contains("JWT"), "{kept}");
    }

    #[test]
    fn prose_and_wrong_fields_are_named() {
        let error = |message: &str| WorkerReport::parse(message).expect_err("bad").to_string();
        assert!(error("All tests pass, I am done!").contains("not with prose"));
        assert!(error("{ not json }").contains("not with prose"));
        assert!(error("[1, 2]").contains("not with prose"));
        assert!(error("{}").starts_with("report: missing field `todo_id`"), "{}", error("{}"));
        let wrong = |from: &str, to: &str| error(&REPORT.replace(from, to));
        assert!(
            wrong("\"TODO-1\"", "\"the login\"").starts_with("todo_id: \"the login\" is no TODO")
        );
        assert!(wrong("\"learnings\": [\"a\\npattern\"], ", "").contains("learnings"));
        let shown = wrong("\"status\": \"PASS\", \"output", "\"status\": \"GREAT\", \"output");
        assert!(
            shown.starts_with("acceptance_criteria[0].status: \"GREAT\" is not one of PASS"),
            "{shown}"
        );
        let shown = wrong("[\"src/auth.ts\"]", "\"src/auth.ts\"");
        assert!(shown.starts_with("outputs.files_changed: "), "{shown}");
        let large = format!("{REPORT}{}", " ".repeat(WORKER_REPORT_BYTES_MAX));
        assert_eq!(WorkerReport::parse(&large), Err(WorkerReportError::TooLarge));
        assert_eq!(WorkerReport::parse(&"{".repeat(100_000)), Err(WorkerReportError::Prose));
    }

    #[test]
    fn contradictions_are_named() {
        let of = |text: &str, item: &str| {
            WorkerReport::parse(text).expect("a report").contradictions(&todo(item)).join("; ")
        };
        assert_eq!(of(REPORT, "- [A] `npm run lint`\n"), "acceptance_criteria does not have AC-2");
        assert_eq!(of(REPORT, "- [H] nice\n"), "");
        let other = REPORT.replace("TODO-1", "TODO-2");
        assert_eq!(of(&other, ""), "todo_id is TODO-2, but the task is TODO-1");
        let failed =
            REPORT.replace("\"status\": \"PASS\", \"output", "\"status\": \"FAIL\", \"output");
        assert_eq!(of(&failed, ""), "status is PASS, but AC-1 is FAIL");
        let invented = REPORT.replace("AC-1", "AC-8");
        assert_eq!(
            of(&invented, ""),
            "acceptance_criteria does not have AC-1; TODO-1 has no item AC-8"
        );
    }
}
