//! Process trees, read from `/proc`: descendants and memory. Without `/proc` every tree is empty,
//! and its memory is unmeasured.

use std::collections::HashSet;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};

/// One process at the time of the read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessInfo {
    pid: i32,
    parent: i32,
    /// In clock ticks since boot; identifies the process together with its pid, which may be
    /// reused.
    started: u64,
    resident_bytes: u64,
    has_ended: bool,
}

/// All processes of the machine.
pub(crate) fn list_processes() -> Vec<ProcessInfo> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(read_process).collect()
}

fn read_process(pid: i32) -> Option<ProcessInfo> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `proc_pid_stat(5)`: the name is in parentheses and may contain anything; the fields follow it.
fn parse(stat: &str) -> Option<ProcessInfo> {
    let (before, fields) = stat.rsplit_once(") ")?;
    let pid = before.split(' ').next()?.parse().ok()?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let page_bytes = u64::try_from(rustix::param::page_size()).ok()?;
    Some(ProcessInfo {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        started: number(19)?,
        resident_bytes: number(21)?.saturating_mul(page_bytes),
        has_ended: matches!(fields.first(), Some(&("Z" | "X"))),
    })
}

/// True if a program has a folder, or one below it, as its working directory; this process and its
/// descendants do not count. False without `/proc`.
#[must_use]
pub fn is_worked_in(folder: &Path) -> bool {
    let all = list_processes();
    let own = getpid().as_raw_nonzero().get();
    let started = living_descendants(&all, own);
    let is_other = |pid: i32| pid != own && started.iter().all(|process| process.pid != pid);
    all.iter().filter(|process| !process.has_ended && is_other(process.pid)).any(|process| {
        let at = std::fs::read_link(format!("/proc/{}/cwd", process.pid));
        at.is_ok_and(|at| at.starts_with(folder))
    })
}

/// Living descendants of a process, without the process itself.
pub(crate) fn living_descendants(all: &[ProcessInfo], root: i32) -> Vec<ProcessInfo> {
    let mut known = HashSet::from([root]);
    let mut descendants = Vec::new();
    loop {
        let next: Vec<ProcessInfo> = all
            .iter()
            .filter(|process| known.contains(&process.parent) && !known.contains(&process.pid))
            .copied()
            .collect();
        if next.is_empty() {
            return descendants;
        }
        known.extend(next.iter().map(|process| process.pid));
        descendants.extend(next.into_iter().filter(|process| !process.has_ended));
    }
}

/// Memory of a process and its descendants. Shared pages count in each process: for the exact share
/// the kernel walks all page tables, some 40 ms for 500 MiB instead of 20 microseconds.
pub(crate) fn tree_resident_bytes(all: &[ProcessInfo], root: i32) -> Option<u64> {
    let own = all.iter().find(|process| process.pid == root)?;
    Some(
        own.resident_bytes
            + living_descendants(all, root)
                .iter()
                .map(|process| process.resident_bytes)
                .sum::<u64>(),
    )
}

/// The first child of a process.
pub(crate) fn first_child(all: &[ProcessInfo], parent: i32) -> Option<i32> {
    all.iter()
        .filter(|process| process.parent == parent)
        .min_by_key(|process| process.started)
        .map(|process| process.pid)
}

/// Makes this process the new parent of orphaned descendants, including those that left the process
/// group.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
    }
}

/// Waits for the end of a child; also reaps adopted processes.
pub(crate) fn wait_for_child(child: Pid) -> Result<WaitStatus, Errno> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == child => return Ok(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Kills the living descendants of this process; false if there were none.
pub(crate) fn kill_own_descendants() -> bool {
    let left = living_descendants(&list_processes(), getpid().as_raw_nonzero().get());
    left.iter().for_each(kill);
    !left.is_empty()
}

/// Kills exactly this process, and not another one that reused its pid.
#[cfg(target_os = "linux")]
pub(crate) fn kill(process: &ProcessInfo) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    // Open the handle before the check, so that the check is about the process of the handle.
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if read_process(process.pid).map(|now| now.started) != Some(process.started) {
        return;
    }
    // Fails if it has just ended, which is the goal.
    let _ = match handle {
        Ok(handle) => pidfd_send_signal(handle, Signal::KILL),
        Err(_) => kill_process(pid, Signal::KILL),
    };
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn kill(process: &ProcessInfo) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let _ = kill_process(pid, Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process_info(pid: i32, parent: i32, pages: u64) -> ProcessInfo {
        let stat = format!(
            "{pid} (a) b (c) S {parent} 1 1 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 {started} 999 {pages} 1",
            started = 100 + pid,
        );
        parse(&stat).expect("a line of the kernel")
    }

    #[test]
    fn a_name_may_hold_blanks_and_parentheses() {
        let page_bytes = rustix::param::page_size() as u64;
        let process = process_info(7, 3, 5);
        assert_eq!((process.pid, process.parent, process.started), (7, 3, 107));
        assert_eq!((process.resident_bytes, process.has_ended), (5 * page_bytes, false));
        assert_eq!(parse("7 (x) Z"), None);
    }

    #[test]
    fn a_tree_is_all_that_descends_from_a_process_and_sums_up() {
        // Children may have smaller numbers than their parents.
        let all = [
            process_info(9, 4, 8),
            process_info(4, 1, 1),
            process_info(5, 9, 2),
            process_info(6, 1, 4),
            process_info(3, 4, 16),
        ];
        let pids = |root| {
            let mut pids: Vec<i32> =
                living_descendants(&all, root).iter().map(|process| process.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(pids(4), [3, 5, 9]);
        assert_eq!(pids(6), [0; 0]);
        let page_bytes = rustix::param::page_size() as u64;
        assert_eq!(tree_resident_bytes(&all, 4), Some(27 * page_bytes));
        assert_eq!(tree_resident_bytes(&all, 77), None);
        assert_eq!(first_child(&all, 4), Some(3));
    }

    #[test]
    fn a_folder_is_worked_in_while_a_program_of_others_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it exists");
        let below = folder.join("below");
        std::fs::create_dir(&below).expect("ours");
        let sleep = |command: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.current_dir(&below).args(["-c", command]);
            shell.spawn().expect("`sh`")
        };
        let mut own = sleep("exec sleep 600");
        assert!(!is_worked_in(&folder), "what this process started is its own");
        own.kill().expect("ours");
        own.wait().expect("ours");
        // Its parent has ended, and another process has adopted it.
        let pid_file = folder.join("pid");
        let command = format!("sleep 600 >/dev/null & echo $! > '{}'", pid_file.display());
        sleep(&command).wait().expect("ours");
        let pid: i32 =
            std::fs::read_to_string(pid_file).expect("written").trim().parse().expect("a pid");
        assert_eq!(is_worked_in(&folder), Path::new("/proc/self").exists());
        let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
    }

    #[test]
    fn only_the_very_process_is_killed() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("`sleep`");
        let pid = i32::try_from(child.id()).expect("a process id");
        let process = read_process(pid).expect("it runs");
        kill(&ProcessInfo { started: process.started + 1, ..process });
        assert_eq!(child.try_wait().expect("ours"), None);
        kill(&process);
        assert_eq!(child.wait().expect("ours").code(), None);
    }
}
