//! The host processes whose hooks this program has seen. Kept on disk so that a new daemon knows them too: an
//! agent can stop the daemon.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::callers::{HookRoute, ProcessIdentity, is_running};
use crate::files::{read_private, write_private_unsynced};
use moai_base::limits::HOST_PROCESSES_BYTES_MAX;

/// Its folder and file below the state folder.
const FILE: &str = "hosts/hosts.json";
/// Changes with each start of the system, after which process ids mean other processes.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostEntry {
    pub process: ProcessIdentity,
    pub session: String,
    /// The shortest way from it to a hook.
    pub route: HookRoute,
}

/// The known host processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// The start of the system that the processes belong to.
    boot: String,
    /// The running processes, the least recently used first.
    pub hosts: Vec<HostEntry>,
    /// All sessions of a host, including those that have ended; the oldest first.
    pub sessions: Vec<String>,
    /// The client of each session, the oldest first.
    #[serde(default)]
    pub clients: Vec<SessionClient>,
}

/// The client that a session belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionClient {
    /// Hash of its id, which may hold a private text.
    pub session: String,
    /// The client's name, such as `codex`.
    pub client: String,
    /// Hash of the path of the session's transcript, if the client reports one.
    pub transcript: Option<String>,
}

impl HostRecord {
    /// A record of processes that run now.
    #[must_use]
    pub fn new(hosts: Vec<HostEntry>, sessions: Vec<String>, clients: Vec<SessionClient>) -> Self {
        Self { boot: boot_id(), hosts, sessions, clients }
    }

    /// Reads the record, without processes that have ended; empty if it does not exist or is damaged.
    #[must_use]
    pub fn read(state: &Path) -> Self {
        let bytes = read_private(&file(state), HOST_PROCESSES_BYTES_MAX).unwrap_or_default();
        let mut record: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        let is_of_this_boot = record.boot == boot_id();
        record.hosts.retain(|host| is_of_this_boot && is_running(host.process));
        record
    }

    /// Replaces the stored record.
    pub fn write(&self, state: &Path) -> io::Result<()> {
        write_private_unsynced(&file(state), &serde_json::to_vec(self)?)
    }
}

fn file(state: &Path) -> PathBuf {
    state.join(FILE)
}

fn boot_id() -> String {
    fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callers::{ancestors, own_process};

    #[test]
    fn running_hosts_and_all_sessions_are_read_again() {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(HostRecord::read(state.path()), HostRecord::default());
        let Some(process) = ancestors(own_process()).first().copied() else { return };
        let ended = ProcessIdentity { started: process.started + 1, ..process };
        let host = |process| HostEntry {
            process,
            session: "s".to_owned(),
            route: HookRoute { processes_between: 1, ..HookRoute::default() },
        };
        let (session, client) = ("s".to_owned(), "codex".to_owned());
        let client = SessionClient { session, client, transcript: None };
        let record = HostRecord::new(
            vec![host(ended), host(process)],
            vec!["r".to_owned(), "s".to_owned()],
            vec![client],
        );
        record.write(state.path()).unwrap();
        let read = HostRecord::read(state.path());
        assert_eq!((&read.hosts, &read.sessions), (&vec![host(process)], &record.sessions));
        HostRecord { boot: "another".to_owned(), ..record }.write(state.path()).unwrap();
        let after_a_boot = HostRecord::read(state.path());
        assert_eq!((after_a_boot.hosts.len(), after_a_boot.sessions.len()), (0, 2));
        fs::write(file(state.path()), "{").unwrap();
        assert_eq!(HostRecord::read(state.path()), HostRecord::default());
    }
}
