//! The session of each host process, as its hooks named it: what an agent may do to a loop must not
//! depend on variables, which the agent can set.

use std::collections::HashMap;

use moai_base::limits::HOST_PROCESSES_MAX;
use moai_host::callers::ProcessIdentity;

/// The last session of a host process.
#[derive(Debug)]
struct HostSession {
    session: String,
    last_use: u64,
}

/// The session that a process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AncestorSession {
    pub(crate) session: String,
    /// Whether the host itself started the process, and no program in between.
    pub(crate) is_child_of_host: bool,
}

/// The known host processes; see the module.
#[derive(Debug, Default)]
pub(crate) struct HostSessions {
    hosts: HashMap<ProcessIdentity, HostSession>,
    use_count: u64,
}

impl HostSessions {
    /// Records the session of a host process, which comes first and is followed by its ancestors. A
    /// host keeps its process when the user goes on to another session. Below a known host nothing is
    /// recorded: an agent can start hooks, too.
    pub(crate) fn record(&mut self, ancestors: &[ProcessIdentity], session: &str) {
        let Some((host, above)) = ancestors.split_first() else { return };
        if above.iter().any(|ancestor| self.hosts.contains_key(ancestor)) {
            return;
        }
        if !self.hosts.contains_key(host) && self.hosts.len() >= HOST_PROCESSES_MAX {
            let oldest = self.hosts.iter().min_by_key(|(_, host)| host.last_use);
            if let Some(oldest) = oldest.map(|(process, _)| *process) {
                self.hosts.remove(&oldest);
            }
        }
        self.use_count += 1;
        let known = HostSession { session: session.to_owned(), last_use: self.use_count };
        self.hosts.insert(*host, known);
    }

    /// The session of the nearest host among the ancestors of a process, its parent first.
    pub(crate) fn nearest(&self, ancestors: &[ProcessIdentity]) -> Option<AncestorSession> {
        let nearest = ancestors.iter().position(|it| self.hosts.contains_key(it))?;
        let session = self.hosts[&ancestors[nearest]].session.clone();
        Some(AncestorSession { session, is_child_of_host: nearest == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(id: i32) -> ProcessIdentity {
        ProcessIdentity { id, started: 7 }
    }

    fn nearest(hosts: &HostSessions, ids: &[i32]) -> Option<AncestorSession> {
        let ancestors: Vec<ProcessIdentity> = ids.iter().map(|id| process(*id)).collect();
        hosts.nearest(&ancestors)
    }

    #[test]
    fn the_nearest_host_counts_and_none_is_recorded_below_another() {
        let mut hosts = HostSessions::default();
        hosts.record(&[process(20), process(2)], "a");
        hosts.record(&[process(30), process(20), process(2)], "forged");
        let child = AncestorSession { session: "a".into(), is_child_of_host: true };
        assert_eq!(nearest(&hosts, &[20, 2]), Some(child.clone()));
        let below = AncestorSession { is_child_of_host: false, ..child };
        assert_eq!(nearest(&hosts, &[30, 20, 2]), Some(below));
        assert_eq!(nearest(&hosts, &[2]), None);
        let reused = ProcessIdentity { id: 20, started: 8 };
        assert_eq!(hosts.nearest(&[reused]), None, "another process with the same id");
        hosts.record(&[process(20), process(2)], "b");
        assert_eq!(nearest(&hosts, &[20]).map(|known| known.session), Some("b".into()));
    }

    #[test]
    fn the_least_recently_used_host_is_forgotten() {
        let mut hosts = HostSessions::default();
        let most = i32::try_from(HOST_PROCESSES_MAX).expect("small");
        for id in 1..=most {
            hosts.record(&[process(id)], "s");
        }
        hosts.record(&[process(1)], "s");
        hosts.record(&[process(most + 1)], "s");
        assert!(nearest(&hosts, &[1]).is_some() && nearest(&hosts, &[most + 1]).is_some());
        assert_eq!(nearest(&hosts, &[2]), None);
    }
}
