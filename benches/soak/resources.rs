//! Resources of a process, from Linux' `/proc`.

use std::fs;
use std::time::Duration;

use crate::support::{Sandbox, eventually};

/// The daemon ends idle language servers and threads within this time.
const SETTLING_MAX: Duration = Duration::from_mins(2);

pub(crate) struct Resources {
    pub(crate) megabytes: f64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
}

impl Resources {
    /// The daemon's, once it has no language server.
    pub(crate) fn of_idle_daemon(sandbox: &Sandbox) -> Self {
        let settled = eventually(SETTLING_MAX, || {
            let status = sandbox.run(&["daemon", "status", "--json"]).json();
            let is_idle = status["servers"].as_array().is_some_and(Vec::is_empty);
            is_idle.then(|| status["pid"].to_string())
        });
        let pid = settled.expect("idle language servers end");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the daemon runs");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u32>().ok());
            number.unwrap_or_else(|| panic!("{name} is in {status}"))
        };
        Self {
            megabytes: f64::from(field("VmRSS:")) * 1024.0 / 1e6,
            threads: field("Threads:") as usize,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd")).expect("our process").count(),
        }
    }
}
