//! Where the rim and the core meet: one engine for all projects of the user, its lifecycle as a
//! daemon, and one handler per request.

mod changes;
mod edit_tree;
pub mod engine;
mod gather;
mod handlers;
mod ledger;
pub mod lifecycle;
mod log;
mod project;
mod queries;
