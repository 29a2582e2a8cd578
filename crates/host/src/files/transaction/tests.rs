//! All files or none: the checks beforehand, the state after a failure in the middle, and recovery of another
//! process's unfinished set.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use moai_base::hash::ContentHash;

struct Project {
    temp: tempfile::TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self { temp: tempfile::tempdir().unwrap() };
        fs::create_dir(project.root()).unwrap();
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn root(&self) -> PathBuf {
        self.temp.path().canonicalize().unwrap().join("project")
    }

    fn records(&self) -> PathBuf {
        self.temp.path().join("state/changes")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn apply(&self, changes: Vec<PathChange>) -> Result<(), ApplyError> {
        apply_change_set(
            &self.root(),
            &self.records(),
            &ChangeSet { changes, emptied_folders: Vec::new() },
            WriteReach::OwnRepository,
        )
    }

    /// Every file with its text, and nothing that was left over anywhere.
    fn files(&self) -> Vec<(String, String)> {
        let records = fs::read_dir(self.records());
        let names = records.into_iter().flatten().map(|it| it.unwrap().file_name());
        let left: Vec<_> = names.filter(|name| name != "lock").collect();
        assert!(left.is_empty(), "records left: {left:?}");
        let mut files = Vec::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let name = path.strip_prefix(self.root()).unwrap().to_string_lossy().into_owned();
                files.push((name, fs::read_to_string(path).unwrap()));
            }
        }
        files.sort();
        files
    }

    fn check(&self, expected: &[(&str, &str)]) {
        let expected: Vec<_> =
            expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(self.files(), expected);
    }
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> PathChange {
    PathChange {
        path: rel(path),
        before: before.map(|text| ContentHash::of_bytes(text.as_bytes())),
        after: after
            .map(|text| NewContent { bytes: text.as_bytes().into(), permissions_from: None }),
    }
}

#[test]
fn files_are_changed_made_moved_and_deleted_and_keep_their_permissions() {
    let project = Project::new(&[("a", "a\r\n"), ("b", "b"), ("old/c", "c")]);
    let mode = |path: &str, mode| {
        let path = project.root().join(path);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("a", 0o751);
    mode("old/c", 0o640);
    let moved = PathChange {
        after: Some(NewContent {
            bytes: b"C".as_slice().into(),
            permissions_from: Some(rel("old/c")),
        }),
        ..change("new/deep/c", None, None)
    };
    let changes = vec![
        change("a", Some("a\r\n"), Some("A\r\n")),
        change("b", Some("b"), None),
        moved,
        change("new/d", None, Some("")),
        change("old/c", Some("c"), None),
    ];
    let set = ChangeSet { changes, emptied_folders: vec![rel("old")] };
    apply_change_set(&project.root(), &project.records(), &set, WriteReach::OwnRepository).unwrap();
    project.check(&[("a", "A\r\n"), ("new/d", ""), ("new/deep/c", "C")]);
    assert!(!project.root().join("old").exists());
    let mode = |path: &str| fs::metadata(project.root().join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("a"), mode("new/deep/c")), (0o751, 0o640));
    let private = fs::metadata(project.records()).unwrap().mode() & 0o777;
    assert_eq!(private, 0o700);
}

#[test]
fn owners_are_kept() {
    let project = Project::new(&[("a", "a")]);
    let file = project.root().join("a");
    // Only the superuser can give a file away; for other users the owner does not change.
    let _ = std::os::unix::fs::chown(&file, Some(4242), Some(4243));
    let owner = || fs::metadata(&file).map(|meta| (meta.uid(), meta.gid())).unwrap();
    let before = owner();
    project.apply(vec![change("a", Some("a"), Some("b"))]).unwrap();
    assert_eq!(owner(), before);
    project.check(&[("a", "b")]);
}

#[test]
fn what_is_not_as_expected_is_refused_before_anything_is_written() {
    let files = [("a", "a"), ("b", "b"), ("c/d", "d")];
    let project = Project::new(&files);
    let refused = |odd: PathChange, line: &str| {
        let error = project.apply(vec![change("a", Some("a"), Some("A")), odd]).unwrap_err();
        assert_eq!(error.to_string(), line);
        project.check(&files);
    };
    let nothing = "nothing was written";
    refused(
        change("b", Some("other"), Some("B")),
        "b: changed in the meantime; nothing was written",
    );
    refused(change("b", None, Some("B")), "b: changed in the meantime; nothing was written");
    refused(change("n", Some("n"), Some("N")), "n: changed in the meantime; nothing was written");
    refused(change("c", Some("c"), Some("C")), &format!("c: a folder; {nothing}"));
    refused(change("b/n", None, Some("N")), &format!("b: not a folder; {nothing}"));
}

#[test]
fn links_are_never_followed() {
    let project = Project::new(&[("a", "a")]);
    fs::create_dir(project.temp.path().join("outside")).unwrap();
    fs::write(project.temp.path().join("outside/b"), "b").unwrap();
    symlink("../outside", project.root().join("link")).unwrap();
    symlink("../outside/b", project.root().join("file")).unwrap();
    let cases = [("link/b", Some("b"), "link"), ("link/n", None, "link"), ("file", None, "file")];
    for (path, before, at) in cases {
        let error = project.apply(vec![change(path, before, Some("B"))]).unwrap_err();
        assert_eq!(error.to_string(), format!("{at}: a symbolic link; nothing was written"));
    }
    assert_eq!(fs::read_to_string(project.temp.path().join("outside/b")).unwrap(), "b");
}

#[test]
fn a_set_that_reaches_into_another_repository_is_refused() {
    let files = [("a", "a"), ("sub/.git", "gitdir: elsewhere"), ("sub/deep/b", "b")];
    let project = Project::new(&files);
    for odd in [change("sub/deep/b", Some("b"), None), change("sub/new/c", None, Some("c"))] {
        let error = project.apply(vec![change("a", Some("a"), Some("A")), odd]).unwrap_err();
        assert_eq!(error.to_string(), "sub is another repository; nothing was written");
        project.check(&files);
    }
}

#[test]
fn a_folder_that_cannot_be_made_leaves_every_file_as_it_was() {
    let project = Project::new(&[("a", "a"), ("b", "b")]);
    // The system refuses names of more than 255 bytes, even for the superuser.
    let long = format!("{}/x", "n".repeat(300));
    let changes = vec![
        change("a", Some("a"), Some("A")),
        change("b", Some("b"), None),
        change(&long, None, Some("x")),
    ];
    assert!(matches!(project.apply(changes), Err(ApplyError::Failed { .. })));
    project.check(&[("a", "a"), ("b", "b")]);
}

#[test]
fn a_file_that_others_write_in_the_middle_takes_all_others_back() {
    let names: Vec<String> = (0..300).map(|number| format!("f{number:03}")).collect();
    let texts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "old")).collect();
    let mut was_hit = false;
    for _ in 0..20 {
        let project = Project::new(&texts);
        let is_done = AtomicBool::new(false);
        let (first, last) = (project.root().join("f000"), project.root().join("f299"));
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                // As soon as the first file is replaced, another program writes the last one.
                while fs::read_to_string(&first).is_ok_and(|it| it == "old") {
                    if is_done.load(Ordering::Relaxed) {
                        return;
                    }
                }
                fs::write(&last, "theirs").unwrap();
            });
            let all = names.iter().map(|name| change(name, Some("old"), Some("new")));
            let result = project.apply(all.collect());
            is_done.store(true, Ordering::Relaxed);
            result
        });
        let expected = if result.is_ok() { "new" } else { "old" };
        for (path, text) in project_files(&project) {
            let is_theirs = path == "f299" && text == "theirs";
            assert!(is_theirs || text == expected, "{path}: {text}, {result:?}");
        }
        was_hit |= matches!(result, Err(ApplyError::Changed(path)) if path == "f299");
        if was_hit {
            break;
        }
    }
    assert!(was_hit, "the other writer always came too late");
}

/// The files without the journal, which stays if another program changed a file.
fn project_files(project: &Project) -> Vec<(String, String)> {
    let names = fs::read_dir(project.root()).unwrap();
    let name = |entry: io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    names.map(name).collect()
}

/// Leaves a set as a process that was killed leaves it: `done` of its files replaced.
fn killed(project: &Project, set: &ChangeSet, done: usize, marks: &[JournalMark]) {
    let root = project.root();
    private_dir(&project.records()).unwrap();
    let spots = inspect_paths(&root, set).unwrap();
    let (journal, record) = Journal::begin(&project.records(), &root, set, &spots).unwrap();
    for (entry, change) in record.entries.iter().zip(&set.changes) {
        let bytes = &change.after.as_ref().unwrap().bytes;
        path_state::write_new(&entry.temporary.under(&root), bytes, None).unwrap();
    }
    for mark in marks {
        journal.mark(*mark).unwrap();
    }
    for entry in &record.entries[..done] {
        fs::rename(entry.temporary.under(&root), entry.path.under(&root)).unwrap();
    }
}

fn three() -> (Project, ChangeSet) {
    let project = Project::new(&[("a", "a"), ("b", "b"), ("c", "c")]);
    let changes = ["a", "b", "c"].map(|it| change(it, Some(it), Some(&it.to_uppercase())));
    (project, ChangeSet { changes: changes.into(), emptied_folders: Vec::new() })
}

#[test]
fn an_unfinished_set_is_taken_back_and_a_committed_one_stays() {
    let cases: [(usize, &[JournalMark], [&str; 3]); 4] = [
        (0, &[], ["a", "b", "c"]),
        (2, &[JournalMark::Staged], ["a", "b", "c"]),
        (3, &[JournalMark::Staged], ["a", "b", "c"]),
        (3, &[JournalMark::Staged, JournalMark::Committed], ["A", "B", "C"]),
    ];
    for (done, marks, [a, b, c]) in cases {
        let (project, set) = three();
        killed(&project, &set, done, marks);
        let recovered = recover_change_sets(&project.records()).unwrap();
        let was_complete = marks.contains(&JournalMark::Committed);
        let expected =
            ChangeRecovery { root: project.root(), was_complete, changed_by_others: Vec::new() };
        assert_eq!(recovered, [expected]);
        project.check(&[("a", a), ("b", b), ("c", c)]);
        assert_eq!(recover_change_sets(&project.records()).unwrap(), []);
    }
}

#[test]
fn what_others_wrote_since_is_not_taken_back() {
    let (project, set) = three();
    killed(&project, &set, 2, &[JournalMark::Staged]);
    project.write("a", "theirs");
    let recovered = recover_change_sets(&project.records()).unwrap();
    assert_eq!(recovered[0].changed_by_others, [rel("a")]);
    let texts: Vec<String> =
        ["a", "b", "c"].map(|it| fs::read_to_string(project.root().join(it)).unwrap()).into();
    assert_eq!(texts, ["theirs", "b", "c"]);
    let kept: Vec<_> = fs::read_dir(project.records()).unwrap().flatten().collect();
    let is_kept = |it: &fs::DirEntry| it.file_name().to_string_lossy().starts_with("kept-");
    assert!(kept.iter().any(is_kept), "the old text is kept for a person");
}

#[test]
fn what_cannot_be_looked_at_is_not_taken_for_somebody_elses() {
    let (project, set) = three();
    killed(&project, &set, 2, &[JournalMark::Staged]);
    // A file name in a path that is too long for the system fails for the superuser as well.
    let long = format!("{}/b", "n".repeat(300));
    let (journal, mut record) = Journal::unfinished(&project.records()).unwrap().remove(0);
    record.entries[1].path = rel(&long);
    let error = roll_back(&project.root(), &journal, &record).unwrap_err();
    assert!(matches!(&error, ApplyError::HalfDone(text) if text.starts_with(&long)), "{error}");
    assert_eq!(recover_change_sets(&project.records()).unwrap()[0].changed_by_others, []);
    project.check(&[("a", "a"), ("b", "b"), ("c", "c")]);
}

#[test]
fn a_set_that_is_being_taken_back_is_not_committed() {
    let (project, set) = three();
    killed(&project, &set, 3, &[JournalMark::Staged, JournalMark::Committed]);
    let (journal, mut record) = Journal::unfinished(&project.records()).unwrap().remove(0);
    // The mark could not be made durable, and the rollback stops after one file.
    record.entries[1].path = rel(&format!("{}/b", "n".repeat(300)));
    roll_back(&project.root(), &journal, &record).unwrap_err();
    assert!(!recover_change_sets(&project.records()).unwrap()[0].was_complete);
    project.check(&[("a", "a"), ("b", "b"), ("c", "c")]);
}

/// A staged change of `a`, and the text that another program has written since.
fn staged(after: Option<&str>) -> (Project, ChangeSet, Journal, JournalRecord) {
    let project = Project::new(&[("a", "a")]);
    let set =
        ChangeSet { changes: vec![change("a", Some("a"), after)], emptied_folders: Vec::new() };
    private_dir(&project.records()).unwrap();
    let spots = inspect_paths(&project.root(), &set).unwrap();
    let (journal, record) =
        Journal::begin(&project.records(), &project.root(), &set, &spots).unwrap();
    if let Some(after) = after {
        let temporary = record.entries[0].temporary.under(&project.root());
        path_state::write_new(&temporary, after.as_bytes(), None).unwrap();
    }
    journal.mark(JournalMark::Staged).unwrap();
    (project, set, journal, record)
}

#[test]
fn what_was_written_after_the_last_look_is_not_lost() {
    for after in [Some("A"), None] {
        let (project, set, journal, record) = staged(after);
        project.write("a", "theirs");
        let error = apply_one(&project.root(), &record.entries[0], &set.changes[0]).unwrap_err();
        assert!(matches!(&error, ApplyError::Changed(path) if path == "a"), "{error}");
        roll_back(&project.root(), &journal, &record).unwrap();
        assert_eq!(project_files(&project), [("a".to_owned(), "theirs".to_owned())]);
    }
}

#[test]
fn a_process_killed_with_a_file_taken_out_of_its_place_loses_nobodys_bytes() {
    for (after, out) in [(Some("A"), "a"), (None, "a"), (Some("A"), "theirs"), (None, "theirs")] {
        let (project, _, _, record) = staged(after);
        project.write("a", out);
        let temporary = record.entries[0].temporary.under(&project.root());
        let file = project.root().join("a");
        match after {
            Some(_) => assert!(path_state::exchange_files(&temporary, &file).unwrap()),
            None => fs::rename(&file, &temporary).unwrap(),
        }
        let left = recover_change_sets(&project.records()).unwrap().remove(0).changed_by_others;
        assert_eq!(left.is_empty(), out == "a", "{after:?}, {out}");
        assert_eq!(project_files(&project), [("a".to_owned(), out.to_owned())]);
    }
}

#[test]
fn the_next_set_first_takes_the_unfinished_one_back() {
    let (project, set) = three();
    killed(&project, &set, 1, &[JournalMark::Staged]);
    project.apply(vec![change("a", Some("a"), Some("next"))]).unwrap();
    project.check(&[("a", "next"), ("b", "b"), ("c", "c")]);
}

#[test]
fn while_one_is_at_work_nobody_recovers_its_record_and_others_wait() {
    let (project, set) = three();
    killed(&project, &set, 1, &[JournalMark::Staged]);
    let held = lock(&project.records(), Duration::ZERO).unwrap().expect("free");
    assert_eq!(recover_change_sets(&project.records()).unwrap(), []);
    assert!(lock(&project.records(), Duration::from_millis(30)).unwrap().is_none());
    drop(held);
    assert_eq!(recover_change_sets(&project.records()).unwrap().len(), 1);
}

#[test]
fn kept_records_are_few() {
    use moai_base::limits::JOURNALS_KEPT_MAX;
    let (project, set) = three();
    for _ in 0..JOURNALS_KEPT_MAX + 2 {
        for name in ["a", "b", "c"] {
            project.write(name, name);
        }
        killed(&project, &set, 1, &[JournalMark::Staged]);
        project.write("a", "theirs");
        recover_change_sets(&project.records()).unwrap();
    }
    let names = fs::read_dir(project.records()).unwrap().flatten().map(|it| it.file_name());
    let kept = names.filter(|name| name.to_string_lossy().starts_with("kept-")).count();
    assert_eq!(kept, JOURNALS_KEPT_MAX);
}

#[test]
fn a_record_that_cannot_be_read_is_not_taken_for_nothing() {
    let (project, set) = three();
    killed(&project, &set, 1, &[JournalMark::Staged]);
    let entries = fs::read_dir(project.records()).unwrap().flatten().map(|it| it.path());
    let record = entries.map(|path| path.join("record.json")).find(|path| path.exists()).unwrap();
    fs::write(&record, "{}").unwrap();
    let error = project.apply(vec![change("b", Some("b"), Some("B"))]).unwrap_err();
    assert!(matches!(&error, ApplyError::HalfDone(text) if text.contains("change-")), "{error}");
    assert_eq!(fs::read_to_string(project.root().join("b")).unwrap(), "b");
}

#[test]
fn folders_go_with_their_last_file_and_empty_ones_of_others_stay() {
    let project = Project::new(&[("old/deep/a", "a"), ("old/b", "b"), ("gone/deep/c", "c")]);
    fs::create_dir_all(project.root().join("old/theirs/empty")).unwrap();
    let lost = ["gone/deep/c", "old/b", "old/deep/a"];
    let changes = lost.map(|path| change(path, Some(&path[path.len() - 1..]), None));
    let set = ChangeSet { changes: changes.into(), emptied_folders: vec![rel("gone"), rel("old")] };
    apply_change_set(&project.root(), &project.records(), &set, WriteReach::OwnRepository).unwrap();
    let is_there = |path: &str| project.root().join(path).exists();
    assert_eq!((is_there("gone"), is_there("old/deep")), (false, false));
    assert!(is_there("old/theirs/empty"), "it lost nothing");
}

#[test]
fn one_file_is_replaced_through_a_link_with_its_rights_and_nothing_else_is_left() {
    let project = Project::new(&[("deep/kept.json", "one")]);
    let (path, link) = (project.root().join("deep/kept.json"), project.root().join("link.json"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("deep/kept.json", &link).unwrap();
    replace_file(&link, &project.records(), b"two").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(link.is_symlink());
    fs::remove_file(&link).unwrap();
    replace_file(&project.root().join("new.json"), &project.records(), b"new").unwrap();
    project.check(&[("deep/kept.json", "two"), ("new.json", "new")]);
    let nowhere = project.root().join("no/such/folder");
    assert!(matches!(
        replace_file(&nowhere, &project.records(), b""),
        Err(ApplyError::Failed { .. })
    ));
    assert!(matches!(
        replace_file(Path::new("/dev/null"), &project.records(), b""),
        Err(ApplyError::Obstructed { .. })
    ));
}
