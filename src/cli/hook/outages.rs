//! Hooks without an answer from a daemon, counted per session in a small private file. The second one in a
//! row reports it once; an answer resets the count.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use moai_base::hash::ContentHash;
use moai_base::limits::{BLIND_HOOKS_MIN, BLIND_SESSIONS_MAX};
use moai_host::files;
use moai_host::ipc::StateDirs;
use moai_protocol::hook::HookEvent;

/// A marker is a number of one digit.
const MARKER_BYTES_MAX: usize = 1;

/// Possible folders of the markers: the second is used if the first is not writable.
fn folders(dirs: &StateDirs) -> [PathBuf; 2] {
    [&dirs.state, &dirs.socket_folder].map(|folder| folder.join("blind"))
}

/// An answer came: the hooks of the session before it no longer count.
pub(super) fn note_answer(dirs: &StateDirs, session: &str) {
    for folder in folders(dirs) {
        if folder.is_dir() {
            let _ = fs::remove_file(folder.join(marker_name(session)));
            // Only an empty one.
            let _ = fs::remove_dir(&folder);
        }
    }
}

/// Records a missing answer. Returns true if it is to be reported now: at the second hook in a row, or at
/// every Stop if nothing can be recorded.
pub(super) fn note_failure(dirs: &StateDirs, session: &str, event: HookEvent) -> bool {
    let name = marker_name(session);
    let folders = folders(dirs);
    let read = |folder: &PathBuf| files::read_private(&folder.join(&name), MARKER_BYTES_MAX);
    let noted = folders.iter().filter_map(read);
    let counts = noted.filter_map(|bytes| String::from_utf8(bytes).ok()?.parse::<u8>().ok());
    let count = counts.max().unwrap_or_default() + 1;
    if count > BLIND_HOOKS_MIN {
        return false;
    }
    for folder in &folders {
        let written =
            files::write_private_unsynced(&folder.join(&name), count.to_string().as_bytes());
        if written.is_ok() {
            remove_oldest(folder);
            return count == BLIND_HOOKS_MIN;
        }
    }
    event == HookEvent::Stop
}

fn marker_name(session: &str) -> String {
    ContentHash::of_bytes(session.as_bytes()).short_hex()
}

/// Hooks may never report the end of a session, so the oldest markers are removed when there are too many.
fn remove_oldest(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut markers: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    markers.sort();
    let more = markers.len().saturating_sub(BLIND_SESSIONS_MAX);
    for (_, path) in markers.into_iter().take(more) {
        let _ = fs::remove_file(path);
    }
}
