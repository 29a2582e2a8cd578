//! Files of loop markers: every active loop is recorded a second time outside the state folder, in git's
//! folder of its working tree or, without git, in the project, so that the user learns if the store lost or
//! changed it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use moai_base::limits::{LOOP_ID_BYTES_MAX, LOOP_MARKER_BYTES_MAX, LOOP_MARKERS_READ_MAX};
use moai_loops::framework::MessageLanguage;
use moai_loops::marker::{LoopMarker, LoopSummary};
use moai_loops::state::Status;

/// The marker folder of a project without git, below its root.
pub const PROJECT_MARKERS: &str = ".moai/loops";
/// The marker folder below git's folder.
const GIT_MARKERS: &str = "moai-ralph/loops";
const SUFFIX: &str = ".json";
/// An empty file: the parent folder was created for the markers and is removed with them.
const OWN_PARENT: &str = ".own-parent";
/// Raised when a field changes its meaning. A marker of another version is ignored.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StoredMarker {
    version: u32,
    id: String,
    root: PathBuf,
    session_id: Option<String>,
    store: PathBuf,
    #[serde(default)]
    pipeline: Option<String>,
    is_korean: bool,
    status: String,
    iteration: u32,
    max_iterations: u32,
    digests: Vec<String>,
}

/// The folder to which a root's markers are written.
pub(super) fn marker_folder(root: &Path) -> PathBuf {
    match git_folder(root) {
        Some(git) => git.join(GIT_MARKERS),
        None => root.join(PROJECT_MARKERS),
    }
}

/// Folders that may hold markers of a root; two, because a repository may have been created since.
fn folders(root: &Path) -> [PathBuf; 2] {
    [marker_folder(root), root.join(PROJECT_MARKERS)]
}

/// Git's folder of the root's working tree. A linked worktree has its own.
fn git_folder(root: &Path) -> Option<PathBuf> {
    root.ancestors().find_map(|at| {
        let git = at.join(".git");
        if git.is_dir() {
            return Some(git);
        }
        let mut text = String::new();
        open_file(&git).ok()?.take(LOOP_MARKER_BYTES_MAX).read_to_string(&mut text).ok()?;
        let named = at.join(text.strip_prefix("gitdir:")?.trim());
        named.is_dir().then_some(named)
    })
}

/// Opens a regular file; anything else, such as a FIFO, could block a hook.
fn open_file(path: &Path) -> io::Result<fs::File> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::File::open(path)
}

/// The markers of a root's working tree; other files are skipped.
pub(super) fn read_markers(root: &Path) -> Vec<LoopMarker> {
    let mut markers: Vec<LoopMarker> = Vec::new();
    for folder in folders(root) {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        for entry in entries.take(LOOP_MARKERS_READ_MAX) {
            let marker = read_file(&entry.path());
            markers
                .extend(marker.filter(|marker| markers.iter().all(|known| known.id != marker.id)));
        }
    }
    markers
}

fn read_file(path: &Path) -> Option<LoopMarker> {
    let id = path.file_name()?.to_str()?.strip_suffix(SUFFIX).filter(|id| is_loop_id(id))?;
    let mut text = String::new();
    open_file(path).ok()?.take(LOOP_MARKER_BYTES_MAX).read_to_string(&mut text).ok()?;
    let stored: StoredMarker = serde_json::from_str(&text).ok()?;
    if stored.version != VERSION || stored.id != id {
        return None;
    }
    Some(LoopMarker {
        id: stored.id,
        root: stored.root,
        session_id: stored.session_id,
        store: stored.store,
        pipeline: stored.pipeline,
        language: if stored.is_korean { MessageLanguage::Korean } else { MessageLanguage::English },
        standing: LoopSummary {
            status: Status::from_name(&stored.status)?,
            iteration: stored.iteration,
            max_iterations: stored.max_iterations,
        },
        digests: stored.digests,
    })
}

/// True if a text is a loop id. Checked, because it is shown to people and becomes a file name.
fn is_loop_id(text: &str) -> bool {
    text.starts_with("loop-")
        && text.len() <= LOOP_ID_BYTES_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Writes a marker, replacing an existing one; `is_durable` waits for the disk.
pub(super) fn write_marker(marker: &LoopMarker, is_durable: bool) -> io::Result<()> {
    if !is_loop_id(&marker.id) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let stored = StoredMarker {
        version: VERSION,
        id: marker.id.clone(),
        root: marker.root.clone(),
        session_id: marker.session_id.clone(),
        store: marker.store.clone(),
        pipeline: marker.pipeline.clone(),
        is_korean: marker.language == MessageLanguage::Korean,
        status: marker.standing.status.as_str().to_owned(),
        iteration: marker.standing.iteration,
        max_iterations: marker.standing.max_iterations,
        digests: marker.digests.clone(),
    };
    let text = serde_json::to_vec_pretty(&stored)?;
    let folder = marker_folder(&marker.root);
    make_folder(&folder)?;
    let path = file(&folder, &marker.id);
    let next = folder.join(format!(".{}{SUFFIX}", marker.id));
    // Left by a killed process, or by someone else.
    let _ = fs::remove_file(&next);
    let mut options = OpenOptions::new();
    let mut new = options.write(true).create_new(true).mode(0o600).open(&next)?;
    new.write_all(&text)?;
    if is_durable {
        new.sync_all()?;
    }
    fs::rename(&next, &path)
}

/// Creates at most the last two folders, because those above are git's or the project's.
/// [`OWN_PARENT`] records that the parent was created here.
fn make_folder(folder: &Path) -> io::Result<()> {
    let upper = folder.parent().unwrap_or(folder);
    let is_upper_made = make_level(upper)?;
    make_level(folder)?;
    if is_upper_made {
        fs::write(folder.join(OWN_PARENT), "")?;
    }
    Ok(())
}

/// Creates a folder unless it exists; returns whether it was created.
fn make_level(level: &Path) -> io::Result<bool> {
    let is_made = match DirBuilder::new().mode(0o700).create(level) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    // A link would redirect the marker, and its later removal, to another place.
    if level.is_symlink() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(is_made)
}

fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}{SUFFIX}"))
}

/// Removes the marker of a loop and the folders left empty; returns whether there was a marker.
pub(super) fn remove_marker_file(root: &Path, id: &str) -> bool {
    let mut was_there = false;
    for folder in folders(root).into_iter().filter(|_| is_loop_id(id)) {
        was_there |= fs::remove_file(file(&folder, id)).is_ok();
        remove_empty_folders(&folder);
    }
    was_there
}

/// Removes the folder if it has no marker left, and its parent if it was created for it.
fn remove_empty_folders(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    let names: Vec<_> = entries.flatten().take(2).map(|entry| entry.file_name()).collect();
    let own_parent = folder.join(OWN_PARENT);
    let is_upper_ours = own_parent.exists();
    if names.iter().any(|name| name != OWN_PARENT) {
        return;
    }
    let _ = fs::remove_file(own_parent);
    if fs::remove_dir(folder).is_ok()
        && is_upper_ours
        && let Some(upper) = folder.parent()
    {
        let _ = fs::remove_dir(upper);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(root: &Path) -> LoopMarker {
        LoopMarker {
            id: "loop-0000000a".into(),
            root: root.to_path_buf(),
            session_id: Some("s".into()),
            store: "/s/store.db".into(),
            pipeline: Some("pipeline-0000000a".into()),
            language: MessageLanguage::Korean,
            standing: LoopSummary { status: Status::Paused, iteration: 2, max_iterations: 5 },
            digests: vec!["a".into(), "b".into()],
        }
    }

    #[test]
    fn a_mark_comes_back_as_it_was_and_goes_with_its_folders() {
        for git in [None, Some(".git"), Some("link")] {
            let temp = tempfile::tempdir().expect("a folder");
            let root = temp.path().join("p");
            fs::create_dir(&root).expect("made");
            match git {
                Some("link") => {
                    fs::create_dir(temp.path().join("real")).expect("made");
                    fs::write(root.join(".git"), "gitdir: ../real\n").expect("written");
                }
                Some(name) => fs::create_dir(root.join(name)).expect("made"),
                None => {}
            }
            write_marker(&marker(&root), true).expect("written");
            assert_eq!(read_markers(&root), [marker(&root)], "{git:?}");
            assert_eq!(root.join(".moai").exists(), git.is_none());
            assert!(
                remove_marker_file(&root, "loop-0000000a")
                    && !remove_marker_file(&root, "loop-0000000a")
            );
            assert!(!root.join(".moai").exists() && !root.join(".git/moai-ralph").exists());
        }
    }

    #[test]
    fn a_folder_that_was_there_before_stays() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path().join("p");
        fs::create_dir_all(root.join(".moai")).expect("made");
        write_marker(&marker(&root), false).expect("written");
        assert!(remove_marker_file(&root, "loop-0000000a"));
        assert!(root.join(".moai").is_dir() && !root.join(PROJECT_MARKERS).exists());
    }

    #[test]
    fn what_is_no_mark_is_passed_over_and_no_root_is_made() {
        let temp = tempfile::tempdir().expect("a folder");
        let folder = temp.path().join(PROJECT_MARKERS);
        fs::create_dir_all(&folder).expect("made");
        for (name, text) in [
            ("loop-1.json", "{"),
            ("loop-2.json", "{\"version\":1,\"id\":\"loop-3\"}"),
            ("loop-\u{1b}[31m.json", "{}"),
            ("notes.txt", "x"),
        ] {
            fs::write(folder.join(name), text).expect("written");
        }
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join("loop-4.json"), mode).expect("made");
        assert_eq!(read_markers(temp.path()), []);
        let nowhere = temp.path().join("gone");
        assert!(write_marker(&marker(&nowhere), false).is_err() && !nowhere.exists());
    }

    #[test]
    fn a_link_leads_no_mark_elsewhere() {
        let temp = tempfile::tempdir().expect("a folder");
        let elsewhere = temp.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).expect("made");
        fs::create_dir_all(temp.path().join("p/.moai")).expect("made");
        std::os::unix::fs::symlink(&elsewhere, temp.path().join("p/.moai/loops")).expect("made");
        assert!(write_marker(&marker(&temp.path().join("p")), false).is_err());
        assert_eq!(elsewhere.read_dir().expect("there").count(), 0);
    }
}
