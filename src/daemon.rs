//! Where the rim and the core meet: one engine for all projects of the user, its lifecycle as a
//! daemon, and one handler per request.

mod baselines;
mod blast;
mod changes;
mod edit_tree;
pub mod engine;
mod gather;
mod guarding;
mod handlers;
mod kept_lines;
mod kept_scans;
mod ledger;
pub mod lifecycle;
mod log;
mod look;
mod progress;
mod project;
mod project_rules;
mod queries;
mod rewriting;
mod scanning;
mod sweep;
mod untold;
mod waivers;
