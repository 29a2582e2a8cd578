//! The engine for all projects of the user, its life cycle as a daemon, and one handler per request.
//! It connects the I/O modules with the pure ones.

pub(crate) mod agent_session;
pub(crate) mod branches;
pub(crate) mod check;
pub(crate) mod code;
pub(crate) mod dispatch;
pub(crate) mod doctor;
pub(crate) mod edit;
pub mod engine;
pub(crate) mod evidence;
pub(crate) mod exam;
pub(crate) mod guard;
pub(crate) mod handlers;
pub(crate) mod hooks;
pub(crate) mod host_calls;
pub(crate) mod judge;
pub(crate) mod ledger;
pub mod lifecycle;
pub(crate) mod log;
pub(crate) mod loops;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod person;
pub(crate) mod pipeline;
pub(crate) mod progress;
pub(crate) mod project;
pub mod protection;
pub(crate) mod query;
pub(crate) mod recall;
pub(crate) mod replies;
pub(crate) mod restore;
pub mod scan_workers;
pub(crate) mod servers;
pub(crate) mod specs;
pub(crate) mod stop;
pub(crate) mod stop_registry;
#[cfg(test)]
mod test_project;
pub(crate) mod trust;
