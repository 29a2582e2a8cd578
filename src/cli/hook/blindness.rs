//! Hooks that get no answer from a daemon, counted per session in a small private file. The second
//! one in a row says so, once; an answer ends the count.

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

/// Where markers may be: the second folder counts where the first cannot be written.
fn folders(places: &StateDirs) -> [PathBuf; 2] {
    [&places.state, &places.socket_folder].map(|folder| folder.join("blind"))
}

/// An answer came: the hooks of the session before it no longer count.
pub(super) fn note_answer(places: &StateDirs, session: &str) {
    for folder in folders(places) {
        if folder.is_dir() {
            let _ = fs::remove_file(folder.join(marker_name(session)));
            // Only an empty one.
            let _ = fs::remove_dir(&folder);
        }
    }
}

/// Notes that no answer came. Returns whether it is to be said now: at the second hook in a row, or
/// at every Stop where nothing can be noted.
pub(super) fn note_failure(places: &StateDirs, session: &str, event: HookEvent) -> bool {
    let name = marker_name(session);
    let folders = folders(places);
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

/// Sessions end without a word, so their markers are removed when there are too many.
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
