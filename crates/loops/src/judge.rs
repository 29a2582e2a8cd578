//! The judge: a model reviews criteria that no check can measure. Pure: prompts, parsing of answers
//! and the decision are computed here; the decision is never the model's.
//!
//! ```text
//! rubric + change ─▶ parts ─▶ prompt ─▶ (a model) ─▶ verdict ─▶ quotes ─▶ decision
//!                      └─ injection: added lines that address a judge
//! ```

pub mod change;
pub mod decision;
pub mod escaping;
pub mod hunks;
pub mod injection;
pub mod judge_report;
pub mod parts;
pub mod prompt;
pub mod quotes;
pub mod rubric;
pub mod verdict;
