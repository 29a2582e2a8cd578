//! Where the rim and the core meet: one engine for all projects of the user, its lifecycle as a
//! daemon, and one handler per request.

mod baselines;
mod blast;
mod changes;
mod checkpoints;
mod criteria;
mod edit_tree;
pub mod engine;
mod exam;
mod gather;
mod git_program;
mod guarding;
mod handlers;
mod judge_calls;
mod judged_change;
mod judging;
mod kept_lines;
mod kept_scans;
mod ledger;
pub mod lifecycle;
mod log;
mod look;
mod loop_branch;
mod loop_files;
mod merge_place;
mod merging;
#[cfg(test)]
mod place;
mod progress;
mod project;
mod project_rules;
mod queries;
mod restoring;
mod rewriting;
mod rubrics;
mod scanning;
mod spending;
mod stop_registry;
mod sweep;
mod untold;
mod waivers;
mod workers;
