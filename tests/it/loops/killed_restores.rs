//! The daemon is killed during `loop restore`: after the next start all files, links and executable
//! bits are as before the restore, or all are as in the checkpoint.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use super::{DIRTY, project, start, status, stop};
use crate::failed_writes::assert_nothing_stays;
use crate::killed_writes::{daemon, is_change_recorded, kill_at, recorded};
use crate::support::Sandbox;

/// Files that the restore replaces.
const COUNT: usize = 30;

fn name(number: usize) -> String {
    format!("f{number:02}.txt")
}

fn write_all(sandbox: &Sandbox, text: &str) {
    for number in 0..COUNT {
        sandbox.write(&name(number), text);
    }
}

fn set_mode(sandbox: &Sandbox, mode: u32) {
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(sandbox.path("run"), mode).expect("the file is ours");
}

/// State that a restore changes: texts, a folder that became a file, a link and an executable bit.
fn standing(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap_or_default();
    let texts = (0..COUNT).map(name).chain(["d".to_owned(), "d/x".to_owned()]);
    let mut standing: BTreeMap<String, String> =
        texts.map(|name| (name.clone(), read(&name))).collect();
    let link = fs::read_link(sandbox.path("link")).unwrap_or_default();
    standing.insert("link".to_owned(), link.display().to_string());
    let mode = fs::metadata(sandbox.path("run")).expect("a file").permissions().mode();
    standing.insert("run".to_owned(), format!("{:o}", mode & 0o111));
    standing
}

/// A loop with the checkpoints 0 and 1; its id and both states.
fn restorable(sandbox: &Sandbox) -> (String, [BTreeMap<String, String>; 2]) {
    write_all(sandbox, "then\n");
    sandbox.write("d/x", "then\n");
    sandbox.write("run", "x\n");
    set_mode(sandbox, 0o755);
    // Copies leave links out.
    let has_link = sandbox.path(".git").exists();
    if has_link {
        symlink(name(0), sandbox.path("link")).expect("free");
    }
    assert_eq!(start(sandbox, &["--until", "diagnostics", "--max-iterations", "9"]).code, 0);
    let then = standing(sandbox);
    write_all(sandbox, "now\n");
    fs::remove_dir_all(sandbox.path("d")).expect("there");
    sandbox.write("d", "now\n");
    set_mode(sandbox, 0o644);
    if has_link {
        fs::remove_file(sandbox.path("link")).expect("there");
        symlink(name(1), sandbox.path("link")).expect("free");
    }
    sandbox.write("app.py", DIRTY);
    assert!(stop(sandbox, "finished").is_some());
    let id = status(sandbox)["id"].as_str().expect("an id").to_owned();
    (id, [then, standing(sandbox)])
}

/// Moments of the restore, in their order. One that has passed counts as reached.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Recorded,
    /// The file or link in place of a folder is removed.
    Cleared,
    /// The change of all files is recorded.
    ChangeRecorded,
    Replaced(usize),
    /// The executable bit is set, which comes after the files and before the link.
    Executable,
}

impl Moment {
    fn is_reached(self, sandbox: &Sandbox) -> bool {
        let is_cleared = !sandbox.path("d").is_file();
        match self {
            Self::Recorded => is_cleared || !recorded(sandbox, "restores").is_empty(),
            Self::Cleared => is_cleared,
            Self::ChangeRecorded => {
                is_cleared && (is_change_recorded(sandbox) || is_replaced(sandbox, 0))
            }
            Self::Replaced(count) => is_replaced(sandbox, count - 1),
            Self::Executable => {
                let metadata = fs::metadata(sandbox.path("run")).expect("there");
                metadata.permissions().mode() & 0o111 != 0
            }
        }
    }
}

/// Files are replaced in the order of their names.
fn is_replaced(sandbox: &Sandbox, number: usize) -> bool {
    fs::read_to_string(sandbox.path(&name(number))).is_ok_and(|text| text == "then\n")
}

fn restore_killed_at_every_moment(sandbox: &Sandbox) {
    let (id, [then, now]) = restorable(sandbox);
    let mut interrupted = 0;
    for moment in [
        Moment::Recorded,
        Moment::Cleared,
        Moment::ChangeRecorded,
        Moment::Replaced(1),
        Moment::Replaced(COUNT / 2),
        Moment::Replaced(COUNT),
        Moment::Executable,
    ] {
        let killed = daemon(sandbox);
        let mut restore = sandbox.program();
        restore.args(["loop", "restore", &id, "--to", "0", "--apply"]);
        let mut restore =
            restore.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let end = || {
            restore.kill().and_then(|()| restore.wait()).expect("it is ours");
        };
        kill_at(killed, || moment.is_reached(sandbox), end);
        let is_interrupted = !recorded(sandbox, "restores").is_empty();
        interrupted += usize::from(is_interrupted);
        // The next daemon begins with it.
        status(sandbox);
        let after = standing(sandbox);
        assert!(after == then || after == now, "{moment:?}, {is_interrupted}: {after:#?}");
        assert_nothing_stays(&sandbox.base());
        assert_eq!(recorded(sandbox, "restores"), Vec::<String>::new(), "{moment:?}");
        let back = sandbox.run(&["loop", "restore", &id, "--to", "1", "--apply"]);
        assert_eq!(back.code, 0, "{moment:?}: {back:#?}");
        assert_eq!(standing(sandbox), now, "{moment:?}");
    }
    assert!(interrupted > 0, "the kill always came too late");
}

#[test]
fn killed_at_any_moment_of_a_restore_all_is_old_or_all_is_new() {
    restore_killed_at_every_moment(&project());
}

#[test]
fn without_git_a_restore_that_was_killed_is_whole_too() {
    let sandbox = project();
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    restore_killed_at_every_moment(&sandbox);
}
