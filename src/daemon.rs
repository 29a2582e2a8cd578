//! Where the rim and the core meet: one engine for all projects of the user, its lifecycle as a
//! daemon, and one handler per request.

mod baselines;
mod blast;
mod changes;
mod criteria;
mod edit_tree;
pub mod engine;
mod exam;
mod gather;
mod handlers;
mod kept_lines;
mod kept_scans;
mod ledger;
pub mod lifecycle;
mod log;
mod look;
#[cfg_attr(not(test), expect(dead_code, reason = "the Stop that calls all of it comes next"))]
mod loop_files;
mod progress;
mod project;
mod project_rules;
mod queries;
mod rewriting;
mod scanning;
#[cfg_attr(not(test), expect(dead_code, reason = "the Stop that calls all of it comes next"))]
mod spending;
mod sweep;
mod untold;
