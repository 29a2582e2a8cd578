//! The judge: a model's opinion about criteria that no check can measure. Pure: what the model is
//! shown, how its answer is read and what is concluded are computed here; the conclusion is never
//! the model's. It must not know how a model is reached, where texts come from or what files are
//! written.
//!
//! ```text
//! rubric + change ─▶ parts ─▶ prompt ─▶ (a model) ─▶ verdict ─▶ quotes ─▶ decision
//!                      └─ injection: added lines that speak to a judge
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
