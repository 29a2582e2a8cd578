//! Notices for the user about problems with options and the store.

use std::path::Path;

use super::sanitized_name;

/// Options that cannot be used; the error has file, line and key.
#[must_use]
pub fn default_options(error: &str) -> String {
    format!("[moai-ralph] {error}. Default options are used until this is fixed.")
}

/// A folder is not a project, so nothing is measured there.
#[must_use]
pub fn no_project(folder: &Path) -> String {
    format!(
        "{} is not a project: it has neither .git nor .moai, and is too large to scan. Start the agent in \
         the folder of a project, or mark this one as a project with `git init` or `mkdir .moai`",
        sanitized_name(&folder.display().to_string())
    )
}

/// The session's folder is not a project.
#[must_use]
pub fn measures_nothing(folder: &Path) -> String {
    format!("[moai-ralph] nothing is measured here: {}", no_project(folder))
}

/// What hooks can do without an answer from the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonOutage {
    /// Nothing.
    Nothing,
    /// They report nothing, because the daemon has their request and may still be working on it.
    Unanswered,
    /// They work without language servers.
    WithoutServers,
}

/// Hooks of this session got no answer.
#[must_use]
pub fn daemon_outage(reason: &str, outage: DaemonOutage) -> String {
    let what = match outage {
        DaemonOutage::Nothing => "nothing is checked",
        DaemonOutage::Unanswered => "edits are not reported",
        DaemonOutage::WithoutServers => "only checks without language servers run",
    };
    format!(
        "[moai-ralph] no answer from the daemon ({reason}). Until there is one, {what}; see moai-ralph doctor"
    )
}

/// The daemon was stopped by a signal until a hook let it continue.
#[must_use]
pub fn continued_daemon() -> String {
    "[moai-ralph] the daemon did not answer because it was suspended (SIGSTOP); it was resumed. If you \
     did not stop it, a program of this session may have: moai-ralph daemon status"
        .to_owned()
}

/// A damaged store of loops was moved aside, and replaced by a backup of this time (milliseconds since
/// the epoch) or by an empty one.
#[must_use]
pub fn recovered(
    store: &Path,
    damage: &str,
    aside: Option<&Path>,
    backup_ms: Option<u64>,
) -> String {
    let aside = aside.map(|aside| format!(" and was moved to {}", aside.display()));
    let what = format!(
        "[moai-ralph] {} was damaged ({damage}){}; ",
        store.display(),
        aside.unwrap_or_default()
    );
    what + &match backup_time(backup_ms) {
        Some(at) => format!(
            "it was restored from the backup of {at}; later changes to its loops are lost: \
             moai-ralph loop status"
        ),
        None => "no intact backup exists, so its loops are lost".to_owned(),
    }
}

/// The same for the memory.
#[must_use]
pub fn memory_recovered(damage: &str, aside: Option<&Path>, backup_ms: Option<u64>) -> String {
    let what = match aside.map(Path::display) {
        Some(aside) => format!("was damaged ({damage}) and was moved to {aside}"),
        None => "was missing although it has backups".to_owned(),
    };
    let what = format!("[moai-ralph] the memory database {what}; ");
    what + &match backup_time(backup_ms) {
        Some(at) => format!("it was restored from the backup of {at}; later observations are lost"),
        None => "no intact backup exists, so it starts empty".to_owned(),
    }
}

fn backup_time(backup_ms: Option<u64>) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(i64::try_from(backup_ms?).ok()?).ok()?;
    Some(at.strftime("%F %T UTC").to_string())
}

/// The memory that a team shares is not available.
#[must_use]
pub fn team_memory_lost(reason: &str) -> String {
    let reason = sanitized_name(reason);
    format!(
        "[moai-ralph] the team memory is not available: {reason}. Until it is, new observations are \
         kept in a file and stored later, and recall uses the memory of this machine."
    )
}

/// The memory of a team that the options name cannot be used.
#[must_use]
pub fn team_memory_refused(reason: &str) -> String {
    let reason = sanitized_name(reason);
    format!(
        "[moai-ralph] the team memory is not used: {reason}. The memory of this machine is used \
         instead."
    )
}

/// A tool call that would write a protected place is denied; `what` is the kind of place.
#[must_use]
pub fn write_denied(path: &str, what: &str) -> String {
    let path = sanitized_name(path);
    format!(
        "[moai-ralph] denied: {path} is part of {what}, which agents must not change. Ask the user to \
         change it, or continue without it."
    )
}

/// A command of this program that is reserved for people is denied to an agent.
#[must_use]
pub fn command_denied(command: &str) -> String {
    let command = sanitized_name(command);
    format!(
        "[moai-ralph] denied: `{command}` is not for agents. Ask the user to run it, or continue without it."
    )
}

/// A question to the user with answers that the agent has filled in is denied.
#[must_use]
pub fn answers_are_the_users() -> String {
    "[moai-ralph] denied: only the user may answer. Ask again without `answers`.".to_owned()
}

/// A tool call that would write a file of the frozen exam is denied; `role` is its role in the exam.
#[must_use]
pub fn exam_write_denied(path: &str, role: &str, loop_id: &str) -> String {
    let path = sanitized_name(path);
    format!(
        "[moai-ralph] denied: {path} ({role}) is frozen while loop {loop_id} runs, because it decides \
         whether the loop is done. Do the task without changing it; if it is wrong, tell the user, \
         who can change it and accept the change."
    )
}

/// Without the store it is unknown whether a loop holds this session.
#[must_use]
pub fn no_store(error: &str) -> String {
    format!("[moai-ralph] loops cannot be read, so this Stop is not held: {error}")
}

/// A Stop could not be decided in time.
#[must_use]
pub fn undecided(error: &str) -> String {
    format!(
        "[moai-ralph] this Stop could not be decided and is not held: {error}; the loop of this \
         session is unchanged (moai-ralph loop status)"
    )
}

/// Other Stops of the session changed the loop each time this one had measured.
#[must_use]
pub fn overtaken(loop_id: &str) -> String {
    format!(
        "[moai-ralph] loop {loop_id} is still running, but other Stops changed it during every \
         measurement for this one, so it is not held"
    )
}

/// A Stop whose decision could not be saved is not held.
#[must_use]
pub fn not_saved(loop_id: &str, error: &str) -> String {
    format!("[moai-ralph] loop {loop_id} could not be saved, so this Stop is not held: {error}")
}

/// Packages were installed during a loop, with a changed manifest or for the first time.
#[must_use]
pub fn installed_packages(places: &str) -> String {
    let places = sanitized_name(places);
    format!(
        "[moai-ralph] packages in {places} were installed since the loop started; the checks use \
         them"
    )
}

/// The writes of a tool call could not be recorded for the loop of the session.
#[must_use]
pub fn unrecorded_writes(error: &str) -> String {
    format!(
        "[moai-ralph] the writes of this tool call were not recorded ({error}), so a loop may ask \
         about them as if another program had made them"
    )
}
