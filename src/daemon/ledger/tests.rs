//! What the ledger keeps, for whom, and for how long.

use super::*;
use crate::base::limits::{AFFECTED_FILES_MAX, SESSION_FILES_MAX};

fn late(text: &str) -> Late {
    let text = EditText::of_agent(text.to_owned());
    let root = PathBuf::from("/r");
    let path = RelPath::below(&root, &root.join("a.py")).expect("relative");
    let sensor = "s".to_owned();
    let hash = ContentHash::of(b"");
    Late { root, path, sensor, hash, text, baseline: None, because: Vec::new() }
}

fn reader(session: &str, agent: Option<&str>) -> Reader {
    Reader { session: session.into(), agent: agent.map(str::to_owned) }
}

fn texts(late: &[Late]) -> Vec<&str> {
    late.iter().map(|one| one.text.text.as_str()).collect()
}

#[test]
fn a_late_verdict_is_told_once_and_again_only_when_nobody_read_it() {
    let mut ledger = Ledger::default();
    let (own, other) = (reader("s", None), reader("t", None));
    ledger.deliver_later(&own, late("1"));
    ledger.deliver_later(&other, late("other"));
    let taken = ledger.take_late(&own);
    assert_eq!(texts(&taken), ["1"]);
    assert!(ledger.take_late(&own).is_empty());
    ledger.deliver_later(&own, late("2"));
    ledger.put_back(&own, taken);
    assert_eq!(texts(&ledger.take_late(&own)), ["1", "2"]);
}

#[test]
fn a_subagents_verdict_is_its_own_and_nobody_reads_for_no_session() {
    let mut ledger = Ledger::default();
    let (main, sub) = (reader("s", None), reader("s", Some("a1")));
    ledger.deliver_later(&sub, late("sub"));
    assert!(ledger.take_late(&main).is_empty());
    assert_eq!(texts(&ledger.take_late(&sub)), ["sub"]);
    ledger.deliver_later(&reader("", None), late("x"));
    assert!(ledger.take_late(&reader("", None)).is_empty());
}

#[test]
fn memory_is_bounded_and_the_least_recent_goes_first() {
    let mut ledger = Ledger::default();
    for count in 0..=DELIVERIES_PER_SESSION_MAX {
        ledger.deliver_later(&reader("s", None), late(&count.to_string()));
    }
    assert_eq!(ledger.take_late(&reader("s", None)).len(), DELIVERIES_PER_SESSION_MAX);
    assert!(ledger.is_news("s", "pyright"));
    for count in 0..SESSIONS_MAX {
        ledger.is_news(&count.to_string(), "x");
    }
    assert_eq!(ledger.sessions.len(), SESSIONS_MAX);
    assert!(ledger.is_news("s", "pyright"), "the oldest session was forgotten");
    for count in 0..=PROJECTS_MAX {
        let root = PathBuf::from(format!("/{count}"));
        ledger.uses(&root);
        ledger.set_project_key(&root, ProjectKey::of(&root));
    }
    assert_eq!(ledger.project_key(Path::new("/0")), None);
    assert!(ledger.project_key(Path::new("/1")).is_some());
}

#[test]
fn an_effect_replaces_late_effects_on_the_same_bytes_and_no_edits_own_word() {
    let (mut ledger, own) = (Ledger::default(), reader("s", None));
    let because = vec![(path("b.py"), None)];
    let old = Late { hash: ContentHash::of(b"old"), ..late("of other bytes") };
    ledger.deliver_later(&own, late("the edit's own"));
    ledger.deliver_later(&own, Late { because: because.clone(), ..late("effect") });
    ledger.deliver_later(&own, Late { because, ..old });
    let of_bytes = (&path("a.py"), ContentHash::of(b""));
    let taken = ledger.take_effects_of(&own, Path::new("/r"), of_bytes, "s");
    assert_eq!(texts(&taken), ["effect"]);
    assert_eq!(texts(&ledger.take_late(&own)), ["the edit's own", "of other bytes"]);
}

#[test]
fn who_looks_at_a_root_holds_up_no_other_root() {
    let mut ledger = Ledger::default();
    let turn = ledger.look_turn(Path::new("/a"));
    let _held = turn.try_acquire().expect("nobody looks");
    ledger.uses(Path::new("/a"));
    for count in 0..=PROJECTS_MAX {
        ledger.uses(&PathBuf::from(format!("/{count}")));
    }
    assert!(ledger.look_turn(Path::new("/a")).try_acquire().is_err());
    assert!(ledger.look_turn(Path::new("/b")).try_acquire().is_ok());
}

#[test]
fn what_servers_did_not_hear_of_yet_is_newer_than_what_was_announced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), Ledger::default());
    let files = ["a", "b"].map(|name| RelPath::below(root, &root.join(name)).expect("relative"));
    let look = |ledger: &mut Ledger, name: &str, text: &str| {
        std::fs::write(root.join(name), text).expect("the folder is ours");
        ledger.changes(root, crate::files::stamps(root, &files));
    };
    look(&mut ledger, "a", "1");
    ledger.announce(root);
    let asked_at = ledger.announced(root);
    assert!(!ledger.others_changed_since(root, &files[0], asked_at));
    look(&mut ledger, "b", "1");
    assert_eq!(ledger.announced(root), asked_at, "found, and nobody heard of it");
    assert!(ledger.others_changed_since(root, &files[0], asked_at));
    ledger.announce(root);
    assert!(!ledger.others_changed_since(root, &files[0], ledger.announced(root)));
}

fn path(name: &str) -> RelPath {
    let root = Path::new("/r");
    RelPath::below(root, &root.join(name)).expect("relative")
}

#[test]
fn what_a_session_wrote_and_what_it_concerns_is_bounded_and_a_cut_is_said() {
    let (mut ledger, root) = (Ledger::default(), Path::new("/r"));
    for count in 0..SESSION_FILES_MAX {
        ledger.wrote("s", root, &path(&count.to_string()));
    }
    ledger.wrote("s", root, &path("0"));
    assert!(!ledger.written("s", root).1);
    ledger.wrote("s", root, &path("one more"));
    let (written, is_cut) = ledger.written("s", root);
    assert_eq!((written.len(), is_cut), (SESSION_FILES_MAX, true));
    assert_eq!(ledger.written("t", root), (BTreeSet::new(), false));

    let files: Vec<RelPath> = (0..=AFFECTED_FILES_MAX).map(|at| path(&at.to_string())).collect();
    ledger.affects("s", root, &files[1..], &Sought::default(), false);
    assert!(!ledger.affected("s", root).is_cut);
    ledger.affects("s", root, &files[..1], &Sought::default(), false);
    let affected = ledger.affected("s", root);
    assert_eq!((affected.files.len(), affected.is_cut), (AFFECTED_FILES_MAX, true));
}

#[test]
fn what_was_wrong_before_the_first_edit_is_remembered_over_later_ones() {
    let (mut ledger, root) = (Ledger::default(), Path::new("/r"));
    let file = path("b.py");
    let mut found = vec![crate::base::finding::tests::finding("b.py", 1, "old")];
    crate::base::finding::fingerprint(&mut found);
    ledger.set_verified(root, &file, "s", (ContentHash::of(b"1"), found.clone()));
    let affected = |ledger: &mut Ledger| {
        ledger.affects("s", root, std::slice::from_ref(&file), &Sought::default(), false);
        ledger.affected("s", root).files[&file].clone()
    };
    assert_eq!(affected(&mut ledger), Some(found.clone()));
    ledger.set_verified(root, &file, "s", (ContentHash::of(b"1"), Vec::new()));
    assert_eq!(affected(&mut ledger), Some(found));
}

#[test]
fn of_equal_errors_in_the_same_bytes_only_the_one_at_its_place_is_older() {
    let finding = crate::base::finding::tests::finding;
    let (mut ledger, root) = (Ledger::default(), Path::new("/r"));
    let file = path("b.py");
    let fingerprinted = |line: u32, bytes: &[u8]| {
        let mut found = vec![finding("b.py", line, "undefined")];
        crate::base::finding::fingerprint(&mut found);
        found[0].content_hash = ContentHash::of(bytes);
        found
    };
    ledger.set_verified(root, &file, "pyright", (ContentHash::of(b"1"), fingerprinted(10, b"1")));
    ledger.affects("s", root, &[file, path("c.py")], &Sought::default(), false);
    let affected = ledger.affected("s", root);
    assert_eq!(affected.was_there(&fingerprinted(10, b"1")[0]), Some(true));
    assert_eq!(affected.was_there(&fingerprinted(30, b"1")[0]), Some(false));
    assert_eq!(affected.was_there(&fingerprinted(30, b"2")[0]), Some(true), "it may have moved");
    assert_eq!(affected.was_there(&finding("c.py", 1, "undefined")), None);
}

#[test]
fn a_verified_set_holds_until_another_file_or_the_server_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), Ledger::default());
    let files = ["a", "b"].map(|name| RelPath::below(root, &root.join(name)).expect("relative"));
    let look = |ledger: &mut Ledger, name: &str, text: &str| {
        std::fs::write(root.join(name), text).expect("the folder is ours");
        ledger.changes(root, crate::files::stamps(root, &files));
        ledger.epoch(root)
    };
    let (hash, server) = (ContentHash::of(b"1"), ContentHash::of(b"server"));
    let epoch = look(&mut ledger, "a", "1");
    ledger.prove(root, &files[0], "s", Proof { hash, server, epoch });
    let holds = |ledger: &Ledger, of| ledger.is_proven(root, &files[0], "s", of);
    assert!(holds(&ledger, (hash, server)));
    assert!(!holds(&ledger, (hash, hash)) && !holds(&ledger, (server, server)));
    look(&mut ledger, "a", "22");
    assert!(holds(&ledger, (hash, server)), "the hash says which bytes");
    look(&mut ledger, "b", "1");
    assert!(!holds(&ledger, (hash, server)));
}
