//! Tests of keeping and restoring a project's checkpoints.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use crate::restore::interrupted_restore;
use crate::restore::loop_restore::*;
use crate::test_project::TestProject;

const ID: &str = "loop-1";

async fn keep(place: &TestProject, name: &str) -> String {
    let project = place.project(&place.root());
    let look = checkpoints::snapshot_tree(&place.engine, &project).await.unwrap();
    let (id, name) = (ID.to_owned(), name.to_owned());
    checkpoints::keep_checkpoint(&place.engine, &project, look, id, name, None).await.unwrap()
}

async fn restore(place: &TestProject, to: &str, apply: bool) -> CommandReply {
    let (id, to) = (ID.to_owned(), to.to_owned());
    let caller = place.caller(&place.root());
    handle(&place.engine, &caller, LoopRestoreRequest { id, to, apply, json: true }).await
}

fn actions(reply: &CommandReply) -> Vec<(String, String)> {
    assert_eq!(reply.code, 0, "{reply:?}");
    let document: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let files = document["files"].as_array().unwrap();
    files.iter().map(|file| (word(&file["action"]), word(&file["path"]))).collect()
}

fn is(action: &str, path: &str) -> (String, String) {
    (action.to_owned(), path.to_owned())
}

#[tokio::test]
async fn a_restore_writes_the_checkpoint_and_can_be_undone() {
    let place =
        TestProject::repository(&[("a.py", "1\n"), ("gone.py", "1\n"), (".gitignore", "*.log\n")]);
    let reference = keep(&place, "1").await;
    assert_eq!(reference, "refs/moai-ralph/loop-1/1");
    place.write("a.py", "2\n");
    place.write("made/new.py", "1\n");
    place.write("build.log", "1\n");
    fs::remove_file(place.root().join("gone.py")).unwrap();
    keep(&place, "2").await;
    place.write("mine.py", "1\n");
    place.write("progress.txt", "notes\n");

    let changes = [is("changed", "a.py"), is("added", "gone.py"), is("removed", "made/new.py")];
    let preview = restore(&place, "1", false).await;
    assert_eq!(actions(&preview), changes);
    assert!(
        preview.stdout.contains(
            r#""kept": [
    "mine.py"
  ]"#
        ),
        "{}",
        preview.stdout
    );
    assert_eq!(place.read("a.py").unwrap(), "2\n", "a preview writes nothing");

    let (head, index) =
        (place.git(&["rev-parse", "HEAD"]), fs::read(place.root().join(".git/index")).unwrap());
    assert_eq!(actions(&restore(&place, "1", true).await), changes);
    assert_eq!(
        (place.read("a.py").unwrap(), place.read("gone.py").unwrap()),
        ("1\n".into(), "1\n".into())
    );
    assert!(!place.root().join("made").exists());
    for kept in ["mine.py", "build.log", "progress.txt"] {
        assert!(place.read(kept).is_some(), "{kept} is nobody else's");
    }
    assert_eq!(place.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(fs::read(place.root().join(".git/index")).unwrap(), index);
    assert!(actions(&restore(&place, "1", true).await).is_empty());

    actions(&restore(&place, "before-1", true).await);
    assert_eq!(place.read("a.py").unwrap(), "2\n");
    assert_eq!(place.read("gone.py"), None);
    assert_eq!(place.read("made/new.py").unwrap(), "1\n");
}

#[tokio::test]
async fn without_git_checkpoints_are_copies() {
    let place = TestProject::new();
    place.write("a.py", "1\n");
    assert_eq!(keep(&place, "1").await, "1");
    place.write("a.py", "2\n");
    place.write("new.py", "1\n");
    keep(&place, "2").await;
    let changes = [is("changed", "a.py"), is("removed", "new.py")];
    assert_eq!(actions(&restore(&place, "1", true).await), changes);
    assert_eq!((place.read("a.py").unwrap(), place.read("new.py")), ("1\n".into(), None));
}

#[tokio::test]
async fn executable_bits_and_links_are_restored() {
    let place = TestProject::repository(&[("run", "x\n"), ("a", "x\n")]);
    let root = place.root();
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o111;
    fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", root.join("link")).unwrap();
    symlink("a", root.join("lost")).unwrap();
    keep(&place, "1").await;
    fs::remove_file(root.join("run")).unwrap();
    for (link, to) in [("link", "run"), ("lost", "")] {
        fs::remove_file(root.join(link)).unwrap();
        if !to.is_empty() {
            symlink(to, root.join(link)).unwrap();
        }
    }
    actions(&restore(&place, "1", true).await);
    assert_ne!(mode("run"), 0);
    for link in ["link", "lost"] {
        assert_eq!(fs::read_link(root.join(link)).unwrap().to_str(), Some("a"), "{link}");
    }
}

#[tokio::test]
async fn a_file_ignored_since_is_saved_before_it_is_replaced() {
    let place = TestProject::repository(&[("a.py", "1\n")]);
    place.write("data.log", "then\n");
    keep(&place, "1").await;
    place.write(".gitignore", "*.log\n");
    place.write("data.log", "now\n");
    actions(&restore(&place, "1", true).await);
    assert_eq!(place.read("data.log").unwrap(), "then\n");
    actions(&restore(&place, "before-1", true).await);
    assert_eq!(place.read("data.log").unwrap(), "now\n");
}

#[tokio::test]
async fn a_refused_restore_names_the_available_checkpoints() {
    let place = TestProject::repository(&[("a.py", "1\n")]);
    let refused = restore(&place, "1", true).await;
    assert!(refused.code == 1 && refused.stderr.contains("has no checkpoints"), "{refused:?}");
    keep(&place, "1").await;
    let refused = restore(&place, "7", true).await;
    assert!(refused.stderr.ends_with("has no checkpoint 7; there are: 1\n"), "{refused:?}");
    let linked = place.top().join("linked");
    place.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let request = LoopRestoreRequest { id: ID.into(), to: "1".into(), apply: true, json: true };
    let refused = handle(&place.engine, &place.caller(&linked), request).await;
    assert!(refused.stderr.contains(" worked in "), "{refused:?}");
}

/// Previews a checkpoint, restores it, and returns the changes that both report.
async fn as_shown(place: &TestProject, to: &str) -> Vec<(String, String)> {
    let shown = actions(&restore(place, to, false).await);
    assert_eq!(actions(&restore(place, to, true).await), shown, "the preview was true");
    shown
}

/// Skipped paths, each with its reason.
fn left(reply: &CommandReply) -> Vec<(String, String)> {
    let document: serde_json::Value = serde_json::from_str(&reply.stdout).unwrap();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let left = document["left"].as_array().unwrap();
    left.iter().map(|it| (word(&it["path"]), word(&it["reason"]))).collect()
}

/// Waits for the next second, because the times of checkpoints have a resolution of one second.
fn next_second() {
    let now = || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let started_at = now();
    while now() <= started_at {
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn files_ignored_at_the_checkpoint_are_kept() {
    let files = [("a.py", "1\n"), (".gitignore", "a.cfg\ndata/\n!data/x\n")];
    let without_git = TestProject::new();
    for (name, text) in files {
        without_git.write(name, text);
    }
    for place in [TestProject::repository(&files), without_git] {
        place.write("a.cfg", "secret\n");
        place.write("data/db.txt", "rows\n");
        keep(&place, "0").await;
        place.write(".gitignore", "*.pyc\n");
        place.write("made.py", "1\n");
        keep(&place, "1").await;
        let preview = restore(&place, "0", false).await;
        let reason = "ignored at that time";
        assert_eq!(left(&preview), [is("a.cfg", reason), is("data/db.txt", reason)]);
        let changes = [is("changed", ".gitignore"), is("removed", "made.py")];
        assert_eq!(as_shown(&place, "0").await, changes);
        assert_eq!(place.read("a.cfg").as_deref(), Some("secret\n"));
        assert_eq!(place.read("data/db.txt").as_deref(), Some("rows\n"));
    }
}

#[tokio::test]
async fn files_older_than_the_checkpoint_are_kept_unless_they_were_moved() {
    let place = TestProject::repository(&[("a.py", "1\n"), ("old/b.py", "b\n")]);
    let exclude = place.root().join(".git/info/exclude");
    fs::write(&exclude, "local.cfg\n").unwrap();
    place.write("local.cfg", "mine\n");
    next_second();
    keep(&place, "0").await;
    fs::write(&exclude, "").unwrap();
    fs::rename(place.root().join("old"), place.root().join("new")).unwrap();
    keep(&place, "1").await;
    let preview = restore(&place, "0", false).await;
    assert_eq!(left(&preview), [is("local.cfg", "older than the checkpoint")]);
    assert_eq!(as_shown(&place, "0").await, [is("removed", "new/b.py"), is("added", "old/b.py")]);
    assert_eq!(place.read("local.cfg").as_deref(), Some("mine\n"));
    assert!(!place.root().join("new").exists());
}

#[tokio::test]
async fn a_folder_replaced_by_a_link_is_restored_and_undone() {
    let place = TestProject::repository(&[("conf/f", "1\n")]);
    let at = |name: &str| place.root().join(name);
    keep(&place, "0").await;
    fs::rename(at("conf"), at("shared")).unwrap();
    symlink("shared", at("conf")).unwrap();
    keep(&place, "1").await;
    let changes = [is("removed", "conf"), is("added", "conf/f"), is("removed", "shared/f")];
    assert_eq!(as_shown(&place, "0").await, changes);
    assert!(!at("conf").is_symlink() && !at("shared").exists());
    assert_eq!(place.read("conf/f").as_deref(), Some("1\n"));
    as_shown(&place, "before-1").await;
    assert_eq!(fs::read_link(at("conf")).unwrap().to_str(), Some("shared"));
    assert_eq!(place.read("shared/f").as_deref(), Some("1\n"));
}

#[tokio::test]
async fn nested_repositories_and_empty_folders_are_unchanged() {
    let place = TestProject::repository(&[("a.py", "1\n")]);
    keep(&place, "0").await;
    let lib = place.root().join("vendor/lib");
    place.write("vendor/lib/c.py", "1\n");
    place.write("vendor/x.txt", "1\n");
    fs::create_dir_all(place.root().join("vendor/data/empty")).unwrap();
    for arguments in [
        ["init", "-q", "-b", "main"].as_slice(),
        &["add", "-A"],
        &["commit", "-q", "-m", "one"],
        &["pack-refs", "--all"],
    ] {
        place.git_in(&lib, arguments);
    }
    keep(&place, "1").await;
    assert_eq!(as_shown(&place, "0").await, [is("removed", "vendor/x.txt")]);
    assert!(place.root().join("vendor/data/empty").is_dir());
    assert_eq!(place.git_in(&lib, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_file_in_place_of_a_folder_is_replaced_and_the_reverse() {
    let place =
        TestProject::repository(&[("thing", "file\n"), ("d/x", "1\n"), ("d/deep/y", "1\n")]);
    let root = place.root();
    keep(&place, "0").await;
    fs::remove_file(root.join("thing")).unwrap();
    place.write("thing/__init__.py", "1\n");
    place.write("thing/sub/run", "x\n");
    let program = fs::Permissions::from_mode(0o755);
    fs::set_permissions(root.join("thing/sub/run"), program).unwrap();
    fs::remove_dir_all(root.join("d")).unwrap();
    place.write("d", "now\n");
    keep(&place, "1").await;
    assert_eq!(as_shown(&place, "0").await.len(), 6);
    assert_eq!(place.read("thing").as_deref(), Some("file\n"));
    assert_eq!(place.read("d/deep/y").as_deref(), Some("1\n"));
    assert_eq!(as_shown(&place, "before-1").await.len(), 6);
    assert_eq!(place.read("d").as_deref(), Some("now\n"));
    assert_eq!(
        fs::metadata(root.join("thing/sub/run")).unwrap().permissions().mode() & 0o111,
        0o111
    );
}

#[tokio::test]
async fn an_obstacle_of_the_user_is_reported_and_the_rest_is_restored() {
    let place = TestProject::repository(&[("a.py", "1\n"), ("thing", "file\n"), ("d/x", "1\n")]);
    keep(&place, "0").await;
    fs::remove_file(place.root().join("thing")).unwrap();
    place.write("thing/made", "1\n");
    fs::remove_dir_all(place.root().join("d")).unwrap();
    place.write("a.py", "2\n");
    keep(&place, "1").await;
    place.write("thing/mine", "1\n");
    place.write("d", "mine\n");
    let preview = restore(&place, "0", false).await;
    let named = [is("d/x", "d is in its way"), is("thing", "thing/mine is in its way")];
    assert_eq!(left(&preview), named);
    assert_eq!(as_shown(&place, "0").await, [is("changed", "a.py"), is("removed", "thing/made")]);
    assert_eq!(place.read("thing/mine").as_deref(), Some("1\n"));
    assert_eq!(place.read("d").as_deref(), Some("mine\n"));
}

#[tokio::test]
async fn without_git_hidden_files_and_files_ignored_since_are_restored() {
    let place = TestProject::new();
    for name in [".hidden/conf", "a.py", "local.cfg", "b.py"] {
        place.write(name, "then\n");
    }
    place.write(".git-not/x", "1\n");
    keep(&place, "0").await;
    place.write(".gitignore", "local.cfg\n");
    for name in [".hidden/conf", "local.cfg", "b.py"] {
        place.write(name, "now\n");
    }
    fs::remove_file(place.root().join("a.py")).unwrap();
    symlink("b.py", place.root().join("a.py")).unwrap();
    keep(&place, "1").await;
    let preview = restore(&place, "0", false).await;
    assert_eq!(left(&preview), [is("a.py", "not saved now: a symbolic link")]);
    let changes = [
        is("removed", ".gitignore"),
        is("changed", ".hidden/conf"),
        is("changed", "b.py"),
        is("changed", "local.cfg"),
    ];
    assert_eq!(as_shown(&place, "0").await, changes);
    assert_eq!(place.read(".hidden/conf").as_deref(), Some("then\n"));
    assert_eq!(place.read("local.cfg").as_deref(), Some("then\n"));
    as_shown(&place, "before-1").await;
    assert_eq!(place.read("local.cfg").as_deref(), Some("now\n"));
}

#[tokio::test]
async fn only_a_damaged_checkpoint_of_the_same_loop_prevents_a_restore() {
    let place = TestProject::new();
    place.write("a.py", "1\n");
    keep(&place, "1").await;
    place.write("a.py", "2\n");
    keep(&place, "2").await;
    let project = place.project(&place.root());
    let lists = checkpoints::folder(&place.engine, &project).join("lists");
    fs::create_dir_all(lists.join("loop-2")).unwrap();
    for list in ["loop-2/3.json", "loop-1/2.json"] {
        fs::write(lists.join(list), "{\"at_secs\":1,").unwrap();
    }
    keep(&place, "3").await;
    let refused = restore(&place, "2", true).await;
    assert!(refused.code == 1 && refused.stderr.contains("loop-1/2.json"), "{refused:?}");
    assert_eq!(as_shown(&place, "1").await, [is("changed", "a.py")]);
}

#[tokio::test]
async fn a_failed_restore_puts_back_removed_files_and_leaves_no_checkpoint() {
    let place = TestProject::repository(&[("a.py", "1\n"), ("conf/f", "1\n"), ("d/x", "1\n")]);
    let root = place.root();
    keep(&place, "0").await;
    fs::remove_dir_all(root.join("d")).unwrap();
    place.write("d", "now\n");
    fs::set_permissions(root.join("d"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::rename(root.join("conf"), root.join("shared")).unwrap();
    symlink("shared", root.join("conf")).unwrap();
    place.write("a.py", "2\n");
    keep(&place, "1").await;
    let project = place.project(&root);
    let keeper =
        CheckpointStore::find(root.clone(), checkpoints::folder(&place.engine, &project)).unwrap();
    let all = keeper.list().unwrap();
    let checkpoint = all.iter().find(|it| it.name == "0").unwrap().clone();
    let plan = plan_restore(&keeper, &all, &checkpoint).unwrap();
    let first = plan.clearing_changes(&keeper).unwrap();
    let rest = plan.remaining_changes(&keeper).unwrap();
    let changes = OrderedChanges { first, rest };
    let steps = plan.actions.clone();
    let mut restored = RestoreReport { checkpoint, steps, texts: Vec::new(), saved: None };
    let prepared = PreparedRestore { keeper: keeper.clone(), all: all.clone(), plan };
    place.write("a.py", "meanwhile\n");
    let refused = write_restore(&place.engine, &project, prepared, changes, &mut restored).await;
    assert_eq!(refused, Err("a.py: changed in the meantime; nothing was written".to_owned()));
    assert_eq!(place.read("d").as_deref(), Some("now\n"));
    assert_ne!(fs::metadata(root.join("d")).unwrap().permissions().mode() & 0o111, 0);
    assert_eq!(fs::read_link(root.join("conf")).unwrap().to_str(), Some("shared"));
    assert_eq!(place.read("a.py").as_deref(), Some("meanwhile\n"));
    assert_eq!(keeper.list().unwrap(), all, "nothing was replaced, so nothing is kept");
}

/// A repository whose checkpoint 0 differs from the present files in a text, a folder that became a
/// file, a folder that became a link, a link and an executable bit.
async fn changed_in_all_ways() -> TestProject {
    let files = [("a.py", "1\n"), ("conf/f", "1\n"), ("d/x", "1\n"), ("run", "x\n")];
    let place = TestProject::repository(&files);
    let root = place.root();
    symlink("a.py", root.join("link")).unwrap();
    fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    keep(&place, "0").await;
    fs::remove_dir_all(root.join("d")).unwrap();
    place.write("d", "now\n");
    fs::rename(root.join("conf"), root.join("shared")).unwrap();
    symlink("shared", root.join("conf")).unwrap();
    fs::remove_file(root.join("link")).unwrap();
    symlink("run", root.join("link")).unwrap();
    fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o644)).unwrap();
    place.write("a.py", "2\n");
    keep(&place, "1").await;
    place
}

/// Every path below the root with its kind and content.
fn standing(place: &TestProject) -> Vec<String> {
    let mut standing = Vec::new();
    let mut folders = vec![place.root()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_symlink() {
                standing.push(format!("{path:?} -> {:?}", fs::read_link(&path).unwrap()));
            } else if metadata.is_dir() && !path.ends_with(".git") {
                standing.push(format!("{path:?}"));
                folders.push(path);
            } else if metadata.is_file() {
                let mode = metadata.permissions().mode() & 0o111;
                standing.push(format!("{path:?} {mode:o} {:?}", fs::read(&path).unwrap()));
            }
        }
    }
    standing.sort();
    standing
}

/// Restores checkpoint 0 like a process that is killed after so many steps.
async fn restore_interrupted(place: &TestProject, steps: usize) {
    let project = place.project(&place.root());
    let folder = project.key.folder(&place.engine.dirs.state);
    let keeper = CheckpointStore::find(place.root(), folder.join("checkpoints")).unwrap();
    let all = keeper.list().unwrap();
    let checkpoint = all.iter().find(|it| it.name == "0").unwrap().clone();
    let plan = plan_restore(&keeper, &all, &checkpoint).unwrap();
    let first = plan.clearing_changes(&keeper).unwrap();
    let rest = plan.remaining_changes(&keeper).unwrap();
    let begun = PreparedRestore { keeper, all, plan }.begin(&folder, &checkpoint).unwrap();
    if steps > 0 {
        let made = apply_restore_changes(&place.engine, &project, &begun.restore, first).await;
        assert!(made.is_ok_and(|failed| failed.is_empty()));
    }
    if steps > 1 {
        let set = rest.set.clone();
        let reach = WriteReach::AllRepositories;
        let applied = change_journal::apply_changes(&place.engine, &project, set, reach).await;
        applied.unwrap().unwrap();
    }
    if steps > 2 {
        assert!(rest.finish(&begun.restore.keeper).is_empty());
    }
}

fn records(place: &TestProject) -> usize {
    let project = place.project(&place.root());
    let folder = project.key.folder(&place.engine.dirs.state).join("restores");
    fs::read_dir(folder).unwrap().count()
}

#[tokio::test]
async fn an_interrupted_restore_is_undone_or_finished() {
    let place = changed_in_all_ways().await;
    let now = standing(&place);
    actions(&restore(&place, "0", true).await);
    let then = standing(&place);
    actions(&restore(&place, "1", true).await);
    assert_eq!(standing(&place), now);
    for (steps, expected) in [(0, &now), (1, &now), (2, &then), (3, &then)] {
        restore_interrupted(&place, steps).await;
        assert_eq!(records(&place), 1, "{steps}");
        interrupted_restore::recover_all(&place.engine.dirs);
        assert_eq!(&standing(&place), expected, "{steps}");
        assert_eq!(records(&place), 0, "{steps}");
        actions(&restore(&place, "1", true).await);
    }
}

#[tokio::test]
async fn what_others_wrote_since_an_interrupted_restore_stays() {
    let place = changed_in_all_ways().await;
    restore_interrupted(&place, 1).await;
    place.write("d/mine", "1\n");
    place.write("a.py", "mine\n");
    interrupted_restore::recover_all(&place.engine.dirs);
    assert_eq!(place.read("d/mine").as_deref(), Some("1\n"));
    assert_eq!(place.read("a.py").as_deref(), Some("mine\n"));
    assert_eq!(records(&place), 1, "it is tried again");
    fs::remove_dir_all(place.root().join("d")).unwrap();
    interrupted_restore::recover_all(&place.engine.dirs);
    assert_eq!(place.read("d").as_deref(), Some("now\n"));
    assert_eq!((place.read("a.py").as_deref(), records(&place)), (Some("mine\n"), 0));
}

#[tokio::test]
async fn a_restore_in_progress_is_left_to_its_process() {
    let place = changed_in_all_ways().await;
    let project = place.project(&place.root());
    let folder = project.key.folder(&place.engine.dirs.state);
    let keeper = CheckpointStore::find(place.root(), folder.join("checkpoints")).unwrap();
    let all = keeper.list().unwrap();
    let checkpoint = all.iter().find(|it| it.name == "0").unwrap().clone();
    let plan = plan_restore(&keeper, &all, &checkpoint).unwrap();
    let begun = PreparedRestore { keeper, all, plan }.begin(&folder, &checkpoint).unwrap();
    interrupted_restore::recover_all(&place.engine.dirs);
    assert_eq!(records(&place), 1);
    begun.record.remove();
    assert_eq!(records(&place), 0);
}
