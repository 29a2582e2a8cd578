//! Everything that touches the world: files, processes, git, the store, language servers, models
//! and the socket of the daemon.

pub mod callers;
pub mod codex_approvals;
pub mod completion_records;
pub mod files;
pub mod git;
pub mod host_record;
pub mod ipc;
pub mod memory;
pub mod models;
pub mod processes;
pub mod processors;
pub mod programs;
pub mod protected_places;
pub mod registrations;
pub mod run_folders;
pub mod servers;
pub mod store;
pub mod trust;
pub mod worker_process;
