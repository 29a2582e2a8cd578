//! A process that writes several files together and is killed at any moment: after recovery all
//! files are old or all are new.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use moai_host::files::transaction;
use tempfile::TempDir;

use crate::support::{PATIENCE, PROGRAM, Sandbox, eventually};

const KILLS: u64 = 40;

#[test]
fn killed_at_any_moment_all_files_are_old_or_all_are_new() {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let base = fs::canonicalize(folder.path()).expect("the folder was just made");
    let (root, records) = (base.join("project"), base.join("records"));
    fs::create_dir(&root).expect("the folder is ours");
    write_old(&root);
    let (mut seen, mut recoveries) = ([0, 0], 0);
    for kill in 0..KILLS {
        run_and_kill(&root, &records, Duration::from_millis(kill * 7 % 41));
        let recovered = transaction::recover_change_sets(&records).expect("recoverable");
        assert!(recovered.iter().all(|one| one.changed_by_others.is_empty()), "{recovered:?}");
        recoveries += recovered.len();
        let is_new = state(&root);
        seen[usize::from(is_new)] += 1;
        if is_new {
            back_to_old(&root);
        }
    }
    assert!(recoveries > 0, "never killed in the middle: {seen:?}");
}

/// The daemon runs on, so nothing starts that would recover the files.
#[test]
fn a_running_daemon_recovers_the_files_before_it_measures_them() {
    let sandbox = Sandbox::new();
    write_old(&sandbox.root());
    sandbox.write("app.py", "word = 'good'\n");
    // Makes the private folder of the project.
    assert_eq!(sandbox.run(&["loop", "start", "--prompt", "work"]).code, 0);
    let projects = sandbox.base().join("state/projects");
    let project = fs::read_dir(projects).expect("it was used").flatten().next();
    let records = project.expect("one project").path().join("changes");
    for kill in 0..KILLS {
        run_and_kill(&sandbox.root(), &records, Duration::from_millis(kill * 7 % 41));
        if !has_begun(&records) {
            back_to_old(&sandbox.root());
            continue;
        }
        assert_eq!(sandbox.run(&["check", "--all", "--no-lsp"]).code, 0);
        assert!(!has_begun(&records), "the change is still unfinished");
        let texts = (0..8).map(|number| sandbox.read(&format!("f{number}")));
        let new = texts.filter(|text| text.starts_with("new")).count();
        assert!(matches!(new, 0 | 8), "all or none: {new}");
        return;
    }
    panic!("never killed in the middle");
}

fn write_old(root: &Path) {
    for number in 0..8 {
        fs::write(root.join(format!("f{number}")), format!("old {number}\n")).expect("ours");
    }
    fs::write(root.join("moved-old"), "moved\n").expect("ours");
}

/// True if a set is being written: a journal is there meanwhile; the lock file stays.
fn has_begun(records: &Path) -> bool {
    let names = fs::read_dir(records).into_iter().flatten().flatten().map(|it| it.file_name());
    names.into_iter().any(|name| name.to_string_lossy().starts_with("change-"))
}

/// Kills the process some time after it has begun to work.
fn run_and_kill(root: &Path, records: &Path, after: Duration) {
    let program = Path::new(PROGRAM).with_file_name("examples").join("file-changer");
    let mut child = Command::new(program)
        .args([root, records])
        .stdin(Stdio::null())
        .spawn()
        .expect("run `cargo build --examples` first");
    eventually(PATIENCE, || has_begun(records).then_some(())).expect("it begins");
    // The moment of the kill is what this test varies, so the wait is fixed.
    let begun = Instant::now();
    while begun.elapsed() < after {
        std::hint::spin_loop();
    }
    child.kill().expect("the child is ours");
    let end = child.wait().expect("the child is ours");
    assert_eq!(end.signal(), Some(9), "it ended by itself: {end}");
}

/// True if everything is new; fails on a mixture and on leftovers.
fn state(root: &Path) -> bool {
    let mut names: Vec<String> = fs::read_dir(root)
        .expect("the folder is ours")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let texts: Vec<String> = (0..8)
        .map(|number| fs::read_to_string(root.join(format!("f{number}"))).expect("a file"))
        .collect();
    let is_new = texts[0].starts_with("new");
    let word = if is_new { "new" } else { "old" };
    let expected: Vec<String> = (0..8).map(|number| format!("{word} {number}\n")).collect();
    assert_eq!(texts, expected);
    let moved = if is_new { "made/moved-new" } else { "moved-old" };
    assert_eq!(fs::read_to_string(root.join(moved)).expect("the moved file"), "moved\n");
    let mut expected: Vec<String> = (0..8).map(|number| format!("f{number}")).collect();
    expected.push(moved.split('/').next().expect("a name").to_owned());
    assert_eq!(names, expected, "something is left over");
    is_new
}

fn back_to_old(root: &Path) {
    for number in 0..8 {
        fs::write(root.join(format!("f{number}")), format!("old {number}\n")).expect("ours");
    }
    fs::rename(root.join("made/moved-new"), root.join("moved-old")).expect("ours");
    fs::remove_dir(root.join("made")).expect("nothing else is in it");
}
