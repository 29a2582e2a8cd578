//! The process behind a call: whether an agent started it, and its terminal. An agent can open a terminal and
//! remove its variables from the environment of the processes it starts there, but not from that of the
//! shells above. A detached process looks like one of a terminal multiplexer, so acceptances are also
//! reported to the user. The host's own hooks are distinguished from those that an agent calls by the route
//! from the host to them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};
use rustix::net::{AddressFamily, getsockname};
use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use serde::{Deserialize, Serialize};

use moai_base::limits::ANCESTORS_MAX;
use moai_protocol::hosts::agent_variables;

/// The host's variable with its process id, for hooks and shells.
const HOST_PROCESS: &str = "CLAUDE_PID";
/// Major numbers of Linux's pseudo-terminals (`Documentation/admin-guide/devices.txt`), each with 256
/// minor numbers here.
const PTS_MAJORS: std::ops::RangeInclusive<u32> = 136..=143;
/// Major number of Linux's virtual terminals.
const TTY_MAJOR: u32 = 4;

/// Positions of fields in `/proc/PID/stat`, counted from the state, which follows the name.
const STATE: usize = 0;
const PARENT: usize = 1;
const SESSION: usize = 3;
const TERMINAL: usize = 4;
const STARTED: usize = 19;
/// Bytes of `/proc/PID/stat` that are read: all fields are numbers, and a name has at most 64 bytes.
const PROCESS_STAT_BYTES_MAX: usize = 1_024;

/// Room for the environment that a process was started with, in bytes; a larger one is read too.
const USUAL_ENVIRONMENT_BYTES: usize = 16 * 1_024;

/// States of a process that has ended.
const ENDED: [&str; 2] = ["Z", "X"];
/// The state of a process that a signal stopped.
const STOPPED: &str = "T";
/// The process that adopts orphans.
const INIT: i32 = 1;

/// True where the system describes processes in `/proc`.
const HAS_PROC: bool = cfg!(target_os = "linux");

/// The terminal that a process is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerTerminal {
    None,
    At(PathBuf),
    /// The system does not report it.
    Unknown,
}

/// A process; its start time distinguishes it from a later one with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub id: i32,
    /// Its start, in clock ticks after the start of the system.
    pub started: u64,
}

/// The route from a host process to a hook. A hook that an agent starts cannot have a shorter route than the
/// host's own hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRoute {
    /// Processes between the host and the hook.
    pub processes_between: usize,
    /// True if the hook has left the host's session of processes (setsid(2)), as the shells of agents do.
    pub has_left_session: bool,
    /// True if the hook's input is not a socket that the host made.
    pub has_foreign_input: bool,
}

impl HookRoute {
    /// The route of a hook from its ancestor `host`, which is followed by `processes_between` others.
    /// `input_maker` is the process that made the socket of its input.
    #[must_use]
    pub fn between(
        host: ProcessIdentity,
        processes_between: usize,
        hook: i32,
        input_maker: Option<i32>,
    ) -> Self {
        Self {
            processes_between,
            has_left_session: session_of(hook) != session_of(host.id),
            has_foreign_input: input_maker != Some(host.id),
        }
    }

    /// True if this route is longer than `other` in any respect.
    #[must_use]
    pub fn is_longer_than(self, other: Self) -> bool {
        self.processes_between > other.processes_between
            || self.has_left_session && !other.has_left_session
            || self.has_foreign_input && !other.has_foreign_input
    }
}

/// The process that made the Unix socket which is this process's input; `None` if the input is something
/// else, or if the system does not report the maker.
#[must_use]
pub fn input_maker() -> Option<i32> {
    let stdin = std::io::stdin();
    if getsockname(&stdin).ok()?.address_family() != AddressFamily::UNIX {
        return None;
    }
    socket_peer(&stdin)
}

/// The process at the other end of a Unix socket, which is its maker or, after a connection, the
/// listener; `None` where the system does not name it.
#[cfg(target_os = "linux")]
pub(crate) fn socket_peer(socket: &impl AsFd) -> Option<i32> {
    let peer = rustix::net::sockopt::socket_peercred(socket).ok()?;
    Some(peer.pid.as_raw_nonzero().get())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn socket_peer(_: &impl AsFd) -> Option<i32> {
    None
}

/// Lets a process of this program continue if a signal stopped it; returns whether it was stopped.
pub(crate) fn continue_own(process: i32) -> bool {
    let is_stopped = || ProcessStat::read(process).is_some_and(|stat| stat.is_stopped);
    is_stopped() && signal_own(process, Signal::CONT)
}

/// Kills a process of this program.
pub(crate) fn kill_own(process: i32) -> bool {
    signal_own(process, Signal::KILL)
}

fn signal_own(process: i32, signal: Signal) -> bool {
    let target = Pid::from_raw(process).filter(|_| runs_this_program(process));
    target.is_some_and(|target| kill_process(target, signal).is_ok())
}

/// True if a process runs the same program file as this one.
#[must_use]
pub fn runs_this_program(process: i32) -> bool {
    let program = |process: &str| {
        let meta = std::fs::metadata(format!("/proc/{process}/exe")).ok()?;
        Some((meta.dev(), meta.ino()))
    };
    program("self").is_some_and(|own| program(&process.to_string()) == Some(own))
}

#[must_use]
pub fn is_running(process: ProcessIdentity) -> bool {
    ProcessStat::read(process.id)
        .is_some_and(|stat| !stat.has_ended && stat.started == process.started)
}

/// True if a process adopts detached ones: such a parent need not have started its children. `daemon` is a
/// process that outlived the one that started it.
#[must_use]
pub fn is_adopter(process: i32, daemon: i32) -> bool {
    process == INIT || ProcessStat::read(daemon).is_some_and(|stat| stat.parent == process)
}

/// The ancestors of a process, its parent first, at most [`ANCESTORS_MAX`]; none where the system does
/// not name them.
#[must_use]
pub fn ancestors(process: i32) -> Vec<ProcessIdentity> {
    let mut found = Vec::new();
    let mut below = ProcessStat::read(process);
    while let Some(id) = below.map(|stat| stat.parent).filter(|id| *id > 0)
        && found.len() < ANCESTORS_MAX
    {
        below = ProcessStat::read(id);
        found.extend(below.map(|stat| ProcessIdentity { id, started: stat.started }));
    }
    found
}

/// True if the first of a hook's `ancestors` can be the host. A process that an agent started cannot, and a
/// hook that outlived its host has a parent other than the host in its environment.
#[must_use]
pub fn has_host_as_parent(ancestors: &[ProcessIdentity], env: &BTreeMap<String, String>) -> bool {
    if !agent_variables().any(|name| env.contains_key(name)) {
        // Someone calls the hook by hand.
        return false;
    }
    let Some(parent) = ancestors.first() else { return false };
    let is_named = env.get(HOST_PROCESS).is_none_or(|named| *named == parent.id.to_string());
    is_named && !is_agent(parent.id, &BTreeMap::new())
}

/// True if an agent started the process with these `ancestors`, its parent first, as far as can be detected.
/// A process whose parent has ended hides its origin.
#[must_use]
pub fn is_started_by_agent(ancestors: &[ProcessIdentity]) -> bool {
    let parent = ancestors.first();
    HAS_PROC && parent.is_none_or(|parent| is_agent(parent.id, &BTreeMap::new()))
}

/// True if an agent started a process or an ancestor of it, as far as can be detected.
#[must_use]
pub fn is_agent(process: i32, env: &BTreeMap<String, String>) -> bool {
    // A front door waits for its answer. A caller that has ended hides its ancestors.
    let is_gone = HAS_PROC && ProcessStat::read(process).is_none();
    is_gone
        || agent_variables().any(|name| env.contains_key(name))
        || is_below_agent(process, &read_proc)
}

#[must_use]
pub fn own_process() -> i32 {
    getpid().as_raw_nonzero().get()
}

/// True if the parent of this process was started with a variable; `None` if the system does not report it.
#[must_use]
pub fn parent_was_started_with(variable: &str) -> Option<bool> {
    let origin = read_proc(getppid()?.as_raw_nonzero().get())?;
    Some(has_variable(&origin.environment?, &[variable]))
}

/// The working directory of the process that started this one; `None` if the system does not tell.
#[must_use]
pub fn folder_of_parent() -> Option<PathBuf> {
    let parent = getppid()?.as_raw_nonzero();
    std::fs::read_link(format!("/proc/{parent}/cwd")).ok()
}

/// The controlling terminal of a process, which its standard streams need not be.
#[must_use]
pub fn terminal_of(process: i32) -> CallerTerminal {
    let Some(device) = ProcessStat::read(process).map(|stat| stat.terminal) else {
        return if HAS_PROC { CallerTerminal::None } else { CallerTerminal::Unknown };
    };
    // proc_pid_stat(5): bits 31 to 20 and 7 to 0 are the minor number, 15 to 8 the major.
    let device = device.cast_unsigned();
    let (of_class, in_class) = ((device >> 8) & 0xff, (device & 0xff) | ((device >> 12) & 0xfff00));
    let path = match of_class {
        0 => return CallerTerminal::None,
        TTY_MAJOR => format!("/dev/tty{in_class}"),
        class if PTS_MAJORS.contains(&class) => {
            format!("/dev/pts/{}", (class - PTS_MAJORS.start()) * 256 + in_class)
        }
        _ => return CallerTerminal::None,
    };
    let path = PathBuf::from(path);
    let is_it = path
        .metadata()
        .is_ok_and(|meta| (major(meta.rdev()), minor(meta.rdev())) == (of_class, in_class));
    if is_it { CallerTerminal::At(path) } else { CallerTerminal::None }
}

/// Writes a text to a terminal.
pub fn write_to_terminal(terminal: &Path, text: &str) -> std::io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    // A terminal that was stopped with Ctrl-S must not hold the daemon.
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut open = File::from(rustix::fs::open(terminal, flags, Mode::empty())?);
    std::io::Write::write_all(&mut open, text.as_bytes())
}

/// Environment that a process was started with, if readable, and its parent.
struct ProcessOrigin {
    environment: Option<Vec<u8>>,
    parent: i32,
}

/// Reads Linux's `/proc`; elsewhere nothing is known.
fn read_proc(process: i32) -> Option<ProcessOrigin> {
    let parent = ProcessStat::read(process)?.parent;
    Some(ProcessOrigin { environment: read_environment(process), parent })
}

/// The kernel does not say how long it is, so that room for a usual one saves many small reads.
fn read_environment(process: i32) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_ENVIRONMENT_BYTES);
    File::open(format!("/proc/{process}/environ")).ok()?.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn session_of(process: i32) -> Option<i32> {
    ProcessStat::read(process).map(|stat| stat.session)
}

/// A process as `/proc/PID/stat` describes it.
#[derive(Clone, Copy, Debug)]
struct ProcessStat {
    /// True for a zombie as well: its parent has not read its exit status yet.
    has_ended: bool,
    is_stopped: bool,
    /// 0 for the first process.
    parent: i32,
    /// The session of processes; 0 if its leader is outside this namespace of process ids, as in a
    /// container.
    session: i32,
    /// The device of the controlling terminal; 0 without one.
    terminal: i32,
    /// Clock ticks after the start of the system.
    started: u64,
}

impl ProcessStat {
    /// Reads it at once, because hooks wait for it.
    fn read(process: i32) -> Option<Self> {
        let mut bytes = [0; PROCESS_STAT_BYTES_MAX];
        let length = File::open(format!("/proc/{process}/stat")).ok()?.read(&mut bytes).ok()?;
        let stat = String::from_utf8_lossy(&bytes[..length]);
        // The name is in parentheses and may contain anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            has_ended: ENDED.contains(fields.get(STATE)?),
            is_stopped: *fields.get(STATE)? == STOPPED,
            parent: fields.get(PARENT)?.parse().ok()?,
            session: fields.get(SESSION)?.parse().ok()?,
            terminal: fields.get(TERMINAL)?.parse().ok()?,
            started: fields.get(STARTED)?.parse().ok()?,
        })
    }
}

/// True if a process or an ancestor was started with an agent's variable, or has too many ancestors.
fn is_below_agent(process: i32, read_origin: &dyn Fn(i32) -> Option<ProcessOrigin>) -> bool {
    let names: Vec<&str> = agent_variables().collect();
    let mut process = process;
    for _ in 0..ANCESTORS_MAX {
        let Some(ProcessOrigin { environment, parent }) =
            read_origin(process).filter(|_| process > 0)
        else {
            return false;
        };
        if environment.is_some_and(|it| has_variable(&it, &names)) {
            return true;
        }
        process = parent;
    }
    // A person is not that many shells deep.
    true
}

fn has_variable(environment: &[u8], names: &[&str]) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        let name = variable.split(|byte| *byte == b'=').next().unwrap_or_default();
        names.iter().any(|wanted| wanted.as_bytes() == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_ancestors_variable_counts_and_unreadable_ones_are_skipped() {
        let tree = |marked: i32| {
            move |process: i32| {
                let own: &[u8] =
                    if process == marked { b"HOME=/\0CLAUDECODE=1\0" } else { b"CLAUDE=1\0" };
                let environment = (process != 7).then(|| own.to_vec());
                (process > 0).then_some(ProcessOrigin { environment, parent: process / 2 })
            }
        };
        assert!(is_below_agent(14, &tree(14)));
        assert!(is_below_agent(14, &tree(3)), "above one that cannot be read");
        assert!(!is_below_agent(14, &tree(7)), "it cannot be read");
        assert!(!is_below_agent(14, &tree(8)), "not above");
        let endless = |process| Some(ProcessOrigin { environment: None, parent: process });
        assert!(is_below_agent(14, &endless), "too many ancestors hide the rest");
    }

    #[test]
    fn a_route_is_longer_in_any_respect() {
        let direct = HookRoute::default();
        let script = HookRoute { processes_between: 1, ..direct };
        let detached = HookRoute { has_left_session: true, ..direct };
        let forged = HookRoute { has_foreign_input: true, ..direct };
        for longer in [script, detached, forged] {
            assert!(longer.is_longer_than(direct) && !direct.is_longer_than(longer), "{longer:?}");
        }
        assert!(script.is_longer_than(forged) && forged.is_longer_than(script));
        assert!(!direct.is_longer_than(direct));
    }

    #[test]
    fn a_session_that_this_namespace_cannot_name_is_one_like_others() {
        // Kernel threads are in session 0, like processes whose leader is outside the container.
        let kernel_thread = ProcessIdentity { id: 2, started: 0 };
        let same = HookRoute::between(kernel_thread, 0, kernel_thread.id, None);
        assert!(!same.has_left_session);
        if session_of(kernel_thread.id) == Some(0) {
            // In a container the leader of these tests can be outside, too.
            let is_named = session_of(own_process()) != Some(0);
            let route = HookRoute::between(kernel_thread, 0, own_process(), None);
            assert_eq!(route.has_left_session, is_named);
        }
    }

    #[test]
    fn a_process_that_has_ended_is_not_taken_for_a_running_one() {
        if !HAS_PROC {
            return;
        }
        let own = own_process();
        let started = ProcessStat::read(own).unwrap().started;
        assert!(is_running(ProcessIdentity { id: own, started }));
        assert!(!is_running(ProcessIdentity { id: own, started: started + 1 }));
        assert!(runs_this_program(own) && !runs_this_program(1));
    }

    #[test]
    fn a_process_whose_end_nobody_has_asked_for_has_ended() {
        if !HAS_PROC {
            return;
        }
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        let id = i32::try_from(child.id()).expect("a process id");
        let child_process =
            ProcessIdentity { id, started: ProcessStat::read(id).expect("it waits").started };
        assert!(is_running(child_process));
        drop(child.stdin.take());
        while ProcessStat::read(id).is_some_and(|stat| !stat.has_ended) {
            std::thread::yield_now();
        }
        assert!(!is_running(child_process));
        assert!(child.wait().expect("ours").success());
    }

    #[test]
    fn the_parent_of_a_detached_process_adopts_others() {
        assert!(is_adopter(INIT, own_process()));
        assert!(!HAS_PROC || !is_adopter(own_process(), own_process()));
    }
}
