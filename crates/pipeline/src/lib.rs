//! The pure part of the pipeline from a goal to a verified change. Its documents are Markdown that
//! people and agents edit, so parsers are tolerant, faults have their line, and an edit of the
//! engine preserves every other byte.

pub mod approved_plan;
pub mod commit_proposal;
pub mod commits;
pub mod convergence;
pub mod document;
pub mod ending;
pub mod escalation;
pub mod evidence_chain;
pub mod file_patterns;
pub mod gate;
pub mod gate_document;
mod json_object;
pub mod learnings;
pub mod objection;
pub mod person_question;
pub mod pivot;
pub mod plan;
mod prose;
pub mod review;
pub mod routing;
#[cfg(test)]
mod samples;
pub mod scenario;
pub mod scenario_runs;
pub mod shown_plan;
#[cfg(test)]
mod simulation;
pub mod spec;
pub mod state;
pub mod step;
pub mod todo_failure;
pub mod worker_report;
pub mod worktrees;
pub mod write_rules;
