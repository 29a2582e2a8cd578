//! The `server` commands and the status of the daemon.

pub(crate) mod daemon_status;
pub(crate) mod server_list;
pub(crate) mod server_logs;
pub(crate) mod server_restart;
pub(crate) mod server_start;
pub(crate) mod server_stop;
