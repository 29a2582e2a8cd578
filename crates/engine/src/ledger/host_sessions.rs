//! The session of each host process, as its hooks report it. An agent can set variables, so the rights of an
//! agent over a loop must not depend on them, and an event that the host did not send must not decide about a
//! loop.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use moai_base::hash::ContentHash;
use moai_base::limits::{HOST_PROCESSES_MAX, HOST_SESSIONS_MAX};
use moai_host::callers::{HookRoute, ProcessIdentity};
use moai_host::host_record::{HostEntry, HostRecord, SessionClient};

/// The last session of a host process.
#[derive(Debug)]
struct HostSession {
    session: String,
    /// When it switched to this session; a counter.
    since: u64,
    last_use: u64,
    /// The shortest way from it to a hook.
    route: HookRoute,
}

/// The session that a process belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AncestorSession {
    pub(crate) session: String,
    /// True if the host itself started the process, and no program in between.
    pub(crate) is_child_of_host: bool,
}

/// The sender of a hook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookSender {
    Host,
    /// Cannot be determined: another kind of host, an agent, or a host that an agent started, for a
    /// session that no running host has.
    Unknown,
    /// A second host of a session whose first one runs: the user has resumed it there, or a program acts as a
    /// host.
    SecondHost,
    /// Something else than the host of the session, such as a script of the agent.
    NotHost,
}

/// The known host processes; see the module.
#[derive(Debug, Default)]
pub(crate) struct HostSessions {
    hosts: HashMap<ProcessIdentity, HostSession>,
    /// Every session that a host has had, the oldest first.
    sessions: VecDeque<String>,
    /// The client that each session belongs to, the oldest first.
    clients: VecDeque<SessionClient>,
    use_count: u64,
    is_changed: bool,
}

impl HostSessions {
    /// The host processes that an earlier daemon knew.
    pub(crate) fn from_record(record: HostRecord) -> Self {
        let HostRecord { sessions, clients, .. } = &record;
        let (sessions, clients) = (sessions.clone().into(), clients.clone().into());
        let mut known = Self { sessions, clients, ..Self::default() };
        for HostEntry { process, session, route } in record.hosts {
            known.set_host(process, &session, route);
        }
        known.is_changed = false;
        known
    }

    /// The record to store, if anything has changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Option<HostRecord> {
        if !std::mem::take(&mut self.is_changed) {
            return None;
        }
        let mut hosts: Vec<(&ProcessIdentity, &HostSession)> = self.hosts.iter().collect();
        hosts.sort_unstable_by_key(|(_, host)| host.last_use);
        let entry = |(process, host): (&ProcessIdentity, &HostSession)| HostEntry {
            process: *process,
            session: host.session.clone(),
            route: host.route,
        };
        let hosts = hosts.into_iter().map(entry).collect();
        let (sessions, clients) = (self.sessions.iter().cloned(), self.clients.iter().cloned());
        Some(HostRecord::new(hosts, sessions.collect(), clients.collect()))
    }

    /// The session of an event under a name that is unique among clients: each client makes its own ids, and
    /// two may have the same. The first client keeps it. A payload that was attributed to another client is
    /// recognized by its transcript.
    pub(crate) fn own_name(
        &mut self,
        session: &str,
        client: &str,
        transcript: Option<&Path>,
    ) -> String {
        let hash_of = |bytes: &[u8]| ContentHash::of_bytes(bytes).short_hex();
        let transcript = transcript.map(|path| hash_of(path.as_os_str().as_encoded_bytes()));
        let hash = hash_of(session.as_bytes());
        let Some(known) = self.clients.iter_mut().find(|known| known.session == hash) else {
            let client = client.to_owned();
            self.clients.push_back(SessionClient { session: hash, client, transcript });
            if self.clients.len() > HOST_SESSIONS_MAX {
                self.clients.pop_front();
            }
            self.is_changed = true;
            return session.to_owned();
        };
        let has_transcript = transcript.is_some() && known.transcript == transcript;
        if known.client != client && !has_transcript {
            return format!("{client}:{session}");
        }
        if known.transcript.is_none() && transcript.is_some() {
            known.transcript = transcript;
            self.is_changed = true;
        }
        session.to_owned()
    }

    /// The position of the nearest host among the ancestors of a process, its parent first.
    pub(crate) fn position(&self, ancestors: &[ProcessIdentity]) -> Option<usize> {
        ancestors.iter().position(|it| self.hosts.contains_key(it))
    }

    /// The session of the nearest host among the ancestors of a process, its parent first.
    pub(crate) fn nearest(&self, ancestors: &[ProcessIdentity]) -> Option<AncestorSession> {
        let nearest = self.position(ancestors)?;
        let session = self.hosts[&ancestors[nearest]].session.clone();
        Some(AncestorSession { session, is_child_of_host: nearest == 0 })
    }

    /// Records the session that a hook of a host reports, and determines the hook's sender. A host keeps its
    /// process when the user switches to a different session. A hook with a longer route than the host's
    /// other ones did not come from the host. It counts for a session that no host has had, because an agent
    /// can start another host.
    pub(crate) fn note_hook(
        &mut self,
        host: ProcessIdentity,
        session: &str,
        route: HookRoute,
    ) -> HookSender {
        if self.hosts.get(&host).is_some_and(|known| route.is_longer_than(known.route)) {
            let is_known = self.sessions.iter().any(|known| known == session);
            return if is_known { HookSender::NotHost } else { HookSender::Unknown };
        }
        self.set_host(host, session, route);
        HookSender::Host
    }

    /// The other hosts that have this session: those that had it before `host`, or all without one.
    pub(crate) fn earlier_hosts(
        &self,
        session: &str,
        host: Option<ProcessIdentity>,
    ) -> Vec<ProcessIdentity> {
        let since = host.and_then(|host| self.hosts.get(&host)).map(|host| host.since);
        let others = self.hosts.iter().filter(|(process, other)| {
            Some(**process) != host
                && other.session == session
                && since.is_none_or(|since| other.since < since)
        });
        others.map(|(process, _)| *process).collect()
    }

    fn set_host(&mut self, host: ProcessIdentity, session: &str, route: HookRoute) {
        self.use_count += 1;
        if !self.hosts.contains_key(&host) && self.hosts.len() >= HOST_PROCESSES_MAX {
            let oldest = self.hosts.iter().min_by_key(|(_, host)| host.last_use);
            if let Some(oldest) = oldest.map(|(process, _)| *process) {
                self.hosts.remove(&oldest);
            }
        }
        let now = self.use_count;
        let known = self.hosts.entry(host).or_insert_with(|| HostSession {
            session: String::new(),
            since: now,
            last_use: now,
            route,
        });
        known.last_use = now;
        self.is_changed |= known.route != route || known.session != session;
        known.route = route;
        if known.session != session {
            session.clone_into(&mut known.session);
            known.since = now;
        }
        if !self.sessions.iter().any(|known| known == session) {
            self.sessions.push_back(session.to_owned());
            if self.sessions.len() > HOST_SESSIONS_MAX {
                self.sessions.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECT: HookRoute =
        HookRoute { processes_between: 0, has_left_session: false, has_foreign_input: true };

    fn process(id: i32) -> ProcessIdentity {
        ProcessIdentity { id, started: 7 }
    }

    fn nearest(hosts: &HostSessions, ids: &[i32]) -> Option<AncestorSession> {
        let ancestors: Vec<ProcessIdentity> = ids.iter().map(|id| process(*id)).collect();
        hosts.nearest(&ancestors)
    }

    #[test]
    fn the_nearest_host_counts_and_it_goes_on_to_other_sessions() {
        let mut hosts = HostSessions::default();
        assert_eq!(hosts.note_hook(process(20), "a", DIRECT), HookSender::Host);
        let child = AncestorSession { session: "a".into(), is_child_of_host: true };
        assert_eq!(nearest(&hosts, &[20, 2]), Some(child.clone()));
        let below = AncestorSession { is_child_of_host: false, ..child };
        assert_eq!(nearest(&hosts, &[30, 20, 2]), Some(below));
        assert_eq!(nearest(&hosts, &[2]), None);
        let reused = ProcessIdentity { id: 20, started: 8 };
        assert_eq!(hosts.nearest(&[reused]), None, "another process with the same id");
        assert_eq!(hosts.note_hook(process(20), "b", DIRECT), HookSender::Host);
        assert_eq!(nearest(&hosts, &[20]).map(|known| known.session), Some("b".into()));
    }

    #[test]
    fn a_hook_on_a_longer_way_is_not_the_hosts_and_makes_no_other_one_so() {
        let mut hosts = HostSessions::default();
        let script = HookRoute { processes_between: 2, ..DIRECT };
        // Even if the agent's is the first hook that is seen.
        hosts.note_hook(process(20), "a", script);
        assert_eq!(hosts.note_hook(process(20), "a", DIRECT), HookSender::Host);
        assert_eq!(hosts.note_hook(process(20), "a", script), HookSender::NotHost);
        assert_eq!(hosts.note_hook(process(20), "of another host", script), HookSender::Unknown);
        assert_eq!(nearest(&hosts, &[20]).map(|known| known.session), Some("a".into()));
        hosts.note_hook(process(21), "b", DIRECT);
        assert_eq!(hosts.note_hook(process(20), "b", script), HookSender::NotHost);
        hosts.note_hook(process(20), "c", DIRECT);
        assert_eq!(
            hosts.note_hook(process(20), "a", script),
            HookSender::NotHost,
            "an earlier one"
        );
    }

    #[test]
    fn two_clients_with_the_same_id_have_sessions_of_their_own() {
        let mut hosts = HostSessions::default();
        let rollout = Some(Path::new("/h/rollout-1.jsonl"));
        assert_eq!(hosts.own_name("a", "codex", None), "a");
        assert_eq!(hosts.own_name("a", "codex", rollout), "a");
        assert_eq!(hosts.own_name("a", "copilot", None), "copilot:a");
        assert_eq!(hosts.own_name("a", "claude-code", rollout), "a", "a payload without its marks");
        let record = hosts.take_changes().expect("new sessions");
        let mut next = HostSessions::from_record(record);
        assert_eq!(next.own_name("a", "copilot", None), "copilot:a");
        for at in 0..HOST_SESSIONS_MAX {
            next.own_name(&at.to_string(), "codex", None);
        }
        assert_eq!(next.own_name("a", "copilot", None), "a", "forgotten");
    }

    #[test]
    fn another_daemon_knows_the_same() {
        let mut hosts = HostSessions::default();
        assert_eq!(hosts.take_changes(), None);
        hosts.note_hook(process(20), "a", DIRECT);
        hosts.note_hook(process(21), "b", DIRECT);
        let record = hosts.take_changes().expect("changed");
        hosts.note_hook(process(20), "a", DIRECT);
        assert_eq!(hosts.take_changes(), None, "nothing is new");
        let mut later = HostSessions::from_record(record);
        assert_eq!(later.take_changes(), None);
        let script = HookRoute { processes_between: 1, ..DIRECT };
        assert_eq!(later.note_hook(process(20), "b", script), HookSender::NotHost);
        assert_eq!(nearest(&later, &[21]).map(|known| known.session), Some("b".into()));
    }

    #[test]
    fn the_host_that_had_a_session_first_is_known() {
        let mut hosts = HostSessions::default();
        hosts.note_hook(process(20), "a", DIRECT);
        assert_eq!(hosts.earlier_hosts("a", None), [process(20)]);
        assert_eq!(hosts.earlier_hosts("b", None), []);
        hosts.note_hook(process(21), "a", DIRECT);
        assert_eq!(hosts.earlier_hosts("a", Some(process(21))), [process(20)]);
        assert_eq!(hosts.earlier_hosts("a", Some(process(20))), []);
        hosts.note_hook(process(20), "b", DIRECT);
        assert_eq!(hosts.earlier_hosts("a", Some(process(21))), [], "it went on to another one");
    }

    #[test]
    fn the_least_recently_used_host_is_forgotten() {
        let mut hosts = HostSessions::default();
        let limit = i32::try_from(HOST_PROCESSES_MAX).expect("small");
        for id in 1..=limit {
            hosts.note_hook(process(id), "s", DIRECT);
        }
        hosts.note_hook(process(1), "s", DIRECT);
        hosts.note_hook(process(limit + 1), "s", DIRECT);
        assert!(nearest(&hosts, &[1]).is_some() && nearest(&hosts, &[limit + 1]).is_some());
        assert_eq!(nearest(&hosts, &[2]), None);
    }

    #[test]
    fn the_oldest_session_is_forgotten() {
        let mut hosts = HostSessions::default();
        for number in 0..=HOST_SESSIONS_MAX {
            hosts.note_hook(process(1), &number.to_string(), DIRECT);
        }
        let script = HookRoute { processes_between: 1, ..DIRECT };
        assert_eq!(hosts.note_hook(process(1), "0", script), HookSender::Unknown);
        assert_eq!(hosts.note_hook(process(1), "1", script), HookSender::NotHost);
    }
}
