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
#[cfg_attr(not(test), expect(dead_code, reason = "made at the start of an autonomous loop"))]
mod loop_branch;
#[cfg_attr(not(test), expect(dead_code, reason = "the Stop that calls all of it comes next"))]
mod loop_files;
mod merge_place;
#[cfg_attr(not(test), expect(dead_code, reason = "begun and called by the loop's start and Stop"))]
mod merging;
#[cfg(test)]
mod place;
mod progress;
mod project;
mod project_rules;
mod queries;
mod restoring;
mod rewriting;
mod scanning;
#[cfg_attr(not(test), expect(dead_code, reason = "the Stop that calls all of it comes next"))]
mod spending;
mod sweep;
mod untold;
mod waivers;
#[cfg_attr(not(test), expect(dead_code, reason = "called by the loop's start and status"))]
mod workers;
