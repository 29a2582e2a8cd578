//! Checkpoints of a project, kept and brought back.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::daemon::place::Place;

const ID: &str = "loop-1";

async fn keep(place: &Place, name: &str) -> String {
    let project = place.project(&place.root());
    let look = checkpoints::look(&place.engine, &project).await.unwrap();
    let named = (ID.to_owned(), name.to_owned());
    checkpoints::keep(&place.engine, &project, look, named, None).await.unwrap()
}

async fn restore(place: &Place, to: &str, apply: bool) -> Reply {
    let (id, to) = (ID.to_owned(), to.to_owned());
    let caller = place.caller(&place.root());
    handle(&place.engine, &caller, LoopRestore { id, to, apply, json: true }).await
}

fn actions(reply: &Reply) -> Vec<(String, String)> {
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
async fn a_checkpoint_comes_back_and_can_be_taken_back() {
    let place =
        Place::repository(&[("a.py", "1\n"), ("gone.py", "1\n"), (".gitignore", "*.log\n")]);
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
async fn without_git_copies_are_kept() {
    let place = Place::new();
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
async fn programs_and_links_come_back_as_such() {
    let place = Place::repository(&[("run", "x\n"), ("a", "x\n")]);
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
async fn a_file_that_is_ignored_by_now_is_saved_before_it_is_replaced() {
    let place = Place::repository(&[("a.py", "1\n")]);
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
async fn what_cannot_be_restored_is_refused_with_what_could() {
    let place = Place::repository(&[("a.py", "1\n")]);
    let refused = restore(&place, "1", true).await;
    assert!(refused.code == 1 && refused.stderr.contains("has no checkpoints"), "{refused:?}");
    keep(&place, "1").await;
    let refused = restore(&place, "7", true).await;
    assert!(refused.stderr.ends_with("has no checkpoint 7; there are: 1\n"), "{refused:?}");
    let linked = place.top().join("linked");
    place.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let wish = LoopRestore { id: ID.into(), to: "1".into(), apply: true, json: true };
    let refused = handle(&place.engine, &place.caller(&linked), wish).await;
    assert!(refused.stderr.contains(" worked in "), "{refused:?}");
}
