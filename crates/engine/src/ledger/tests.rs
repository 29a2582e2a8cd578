//! Contents of the ledger: by session and root, and how long they are kept.

use crate::ledger::pending_reports::StateBefore;
use crate::ledger::*;
use moai_base::finding::{FindingPlace, Severity};
use moai_base::limits::{
    DELIVERIES_PER_SESSION_MAX, ENVIRONMENTS_MAX, SESSION_DEPENDENTS_MAX, SESSION_FILES_MAX,
    WALK_FILES_MAX,
};
use moai_base::text::TextRange;
use moai_host::store::ProjectKey;
use moai_report::agent::EditText;

fn late(text: &str) -> DeferredReport {
    let text = EditText::agent_only(text.to_owned());
    let root = PathBuf::from("/r");
    let path = RelPath::below(&root, &root.join("a.py")).expect("relative");
    let sensor = "s".to_owned();
    let hash = ContentHash::of_bytes(b"");
    let (baseline, depends_on, measurement) = (StateBefore::default(), Vec::new(), 0);
    DeferredReport { root, path, sensor, hash, text, baseline, measurement, depends_on }
}

fn identity(name: &str) -> ServerIdentity {
    ServerIdentity::new(ContentHash::of_bytes(b""), ContentHash::of_bytes(name.as_bytes()))
}

/// A file that the server `s` measures.
fn selected(path: &RelPath) -> SelectedFile {
    SelectedFile { path: path.clone(), servers: vec![identity("s")] }
}

/// Findings of a server in these bytes.
fn verified(server: &str, bytes: &[u8], findings: Vec<Finding>) -> VerifiedFindings {
    let hash = ContentHash::of_bytes(bytes);
    VerifiedFindings { hash, server: Some(identity(server)), findings, epoch: None }
}

fn reader(session: &str, agent: Option<&str>) -> SessionAgent {
    SessionAgent { session: session.into(), agent: agent.map(str::to_owned) }
}

fn texts(late: &[DeferredReport]) -> Vec<&str> {
    late.iter().map(|one| one.text.text.as_str()).collect()
}

#[test]
fn a_deferred_report_is_delivered_once_and_again_only_after_a_failed_delivery() {
    let mut ledger = EngineLedger::default();
    let (own, other) = (reader("s", None), reader("t", None));
    ledger.queue_report(&own, late("1"));
    ledger.queue_report(&other, late("other"));
    let taken = ledger.take_reports(&own);
    assert_eq!(texts(&taken), ["1"]);
    assert!(ledger.take_reports(&own).is_empty());
    ledger.queue_report(&own, late("2"));
    ledger.requeue_reports(&own, taken);
    assert_eq!(texts(&ledger.take_reports(&own)), ["1", "2"]);
}

#[test]
fn a_stop_drops_the_reports_from_before_its_measurement() {
    let mut ledger = EngineLedger::default();
    let own = reader("s", None);
    // Its answer arrives during the Stop, which measured the same edit.
    ledger.queue_report(&own, DeferredReport { measurement: 3, ..late("before") });
    ledger.queue_report(&own, DeferredReport { measurement: 4, ..late("during") });
    ledger.session("s").drop_reports(3);
    assert_eq!(texts(&ledger.take_reports(&own)), ["during"]);
}

#[test]
fn the_proof_of_other_findings_is_not_inherited() {
    let mut ledger = EngineLedger::default();
    let root = ledger.root(Path::new("/r"));
    let path = late("").path;
    let proven = VerifiedFindings { epoch: Some(3), ..verified("s", b"x", Vec::new()) };
    root.set_verified(&path, "s", proven);
    root.set_verified(&path, "s", verified("s", b"x", Vec::new()));
    assert_eq!(root.verified(&path, "s", Some(identity("s"))).and_then(|last| last.epoch), Some(3));
    let place = FindingPlace {
        path: path.clone(),
        range: TextRange::default(),
        content_hash: ContentHash::of_bytes(b"x"),
    };
    let finding = Finding::new("s", "c", Severity::Error, place, "broken");
    let broken = verified("s", b"x", vec![finding]);
    root.set_verified(&path, "s", broken);
    assert_eq!(root.verified(&path, "s", Some(identity("s"))).and_then(|last| last.epoch), None);
}

#[test]
fn reports_of_a_subagent_are_its_own_and_without_a_session_none_are_kept() {
    let mut ledger = EngineLedger::default();
    let (main, sub) = (reader("s", None), reader("s", Some("a1")));
    ledger.queue_report(&sub, late("sub"));
    assert!(ledger.take_reports(&main).is_empty());
    assert_eq!(texts(&ledger.take_reports(&sub)), ["sub"]);
    ledger.queue_report(&reader("", None), late("x"));
    assert!(ledger.take_reports(&reader("", None)).is_empty());
}

#[test]
fn memory_is_bounded_and_drops_the_least_recently_used_first() {
    let mut ledger = EngineLedger::default();
    for count in 0..=DELIVERIES_PER_SESSION_MAX {
        ledger.queue_report(&reader("s", None), late(&count.to_string()));
    }
    assert_eq!(ledger.take_reports(&reader("s", None)).len(), DELIVERIES_PER_SESSION_MAX);
    assert!(ledger.session("s").report_once("pyright"));
    for count in 0..SESSIONS_MAX {
        ledger.session(&count.to_string()).report_once("x");
    }
    assert_eq!(ledger.sessions.len(), SESSIONS_MAX);
    assert!(ledger.session("s").report_once("pyright"), "the oldest session was forgotten");
    for count in 0..=PROJECTS_MAX {
        let root = PathBuf::from(format!("/{count}"));
        ledger.touch_root(&root);
        ledger.root(&root).key = Some(ProjectKey::from_folder(&root));
    }
    assert_eq!(ledger.root(Path::new("/0")).key, None);
    assert!(ledger.root(Path::new("/1")).key.is_some());
}

#[test]
fn a_newer_effect_replaces_effects_on_the_same_bytes_and_no_report_of_an_own_edit() {
    let (mut ledger, own) = (EngineLedger::default(), reader("s", None));
    let because = vec![(path("b.py"), None)];
    let old = DeferredReport { hash: ContentHash::of_bytes(b"old"), ..late("of other bytes") };
    ledger.queue_report(&own, late("the edit's own"));
    ledger.queue_report(&own, DeferredReport { depends_on: because.clone(), ..late("effect") });
    ledger.queue_report(&own, DeferredReport { depends_on: because, ..old });
    let hash = ContentHash::of_bytes(b"");
    let taken = ledger.take_impact_reports(&own, Path::new("/r"), &path("a.py"), hash, "s");
    assert_eq!(texts(&taken), ["effect"]);
    assert_eq!(texts(&ledger.take_reports(&own)), ["the edit's own", "of other bytes"]);
}

#[test]
fn a_root_keeps_its_poll_gate_while_it_is_in_use() {
    let mut ledger = EngineLedger::default();
    let gate = ledger.root(Path::new("/a")).poll_gate();
    ledger.touch_root(Path::new("/a"));
    for count in 0..=PROJECTS_MAX {
        ledger.touch_root(&PathBuf::from(format!("/{count}")));
    }
    assert!(Arc::ptr_eq(&gate, &ledger.root(Path::new("/a")).poll_gate()));
    assert!(
        !Arc::ptr_eq(&gate, &ledger.root(Path::new("/b")).poll_gate()),
        "each root has its own"
    );
}

fn poll_disk(ledger: &mut EngineLedger, root: &Path, files: &[RelPath]) {
    let now = moai_host::files::stamp_files(root, files);
    let before = ledger.root(root).disk.stamps().unwrap_or_default();
    let changes = disk::disk_changes(&before, &now);
    ledger.update_disk(root, Arc::new(now), &changes, OutsidePoll::default());
}

#[test]
fn changes_unknown_to_the_servers_are_newer_than_the_announced_epoch() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), EngineLedger::default());
    let files = ["a", "b"].map(|name| RelPath::below(root, &root.join(name)).expect("relative"));
    let poll = |ledger: &mut EngineLedger, name: &str, text: &str| {
        std::fs::write(root.join(name), text).expect("the folder is ours");
        poll_disk(ledger, root, &files);
    };
    poll(&mut ledger, "a", "1");
    ledger.root(root).disk.announce();
    let asked_at = ledger.root(root).disk.announced_epoch;
    assert!(!ledger.root(root).disk.others_changed_since(&files[0], asked_at));
    poll(&mut ledger, "b", "1");
    assert_eq!(ledger.root(root).disk.announced_epoch, asked_at, "found, and nobody heard of it");
    assert!(ledger.root(root).disk.others_changed_since(&files[0], asked_at));
    ledger.root(root).disk.announce();
    let asked_at = ledger.root(root).disk.announced_epoch;
    assert!(!ledger.root(root).disk.others_changed_since(&files[0], asked_at));
}

fn path(name: &str) -> RelPath {
    let root = Path::new("/r");
    RelPath::below(root, &root.join(name)).expect("relative")
}

#[test]
fn written_and_affected_files_are_bounded_and_a_cut_is_reported() {
    let (mut ledger, root) = (EngineLedger::default(), Path::new("/r"));
    for count in 0..SESSION_FILES_MAX {
        ledger.session("s").record_write(root, &path(&count.to_string()));
    }
    ledger.session("s").record_write(root, &path("0"));
    assert!(!ledger.session("s").written(root).1);
    ledger.session("s").record_write(root, &path("one more"));
    let (written, is_cut) = ledger.session("s").written(root);
    assert_eq!((written.len(), is_cut), (SESSION_FILES_MAX, true));
    assert_eq!(ledger.session("t").written(root), (BTreeSet::new(), false));

    let files: Vec<SelectedFile> =
        (0..=SESSION_DEPENDENTS_MAX).map(|at| selected(&path(&at.to_string()))).collect();
    ledger.record_affected("s", root, &files[1..], &TouchedSymbols::default(), false);
    assert!(!ledger.session("s").affected_files(root).is_cut);
    ledger.record_affected("s", root, &files[..1], &TouchedSymbols::default(), false);
    let affected = ledger.session("s").affected_files(root);
    assert_eq!((affected.files.len(), affected.is_cut), (SESSION_DEPENDENTS_MAX, true));
}

#[test]
fn findings_before_the_first_edit_outlast_later_edits() {
    let (mut ledger, root) = (EngineLedger::default(), Path::new("/r"));
    let file = path("b.py");
    let mut found = vec![moai_base::samples::finding("b.py", 1, "old")];
    moai_base::finding::assign_fingerprints(&mut found);
    ledger.root(root).set_verified(&file, "s", verified("s", b"1", found.clone()));
    let affected = |ledger: &mut EngineLedger| {
        ledger.record_affected("s", root, &[selected(&file)], &TouchedSymbols::default(), false);
        ledger.session("s").affected_files(root).files[&file].clone()
    };
    assert_eq!(affected(&mut ledger), Some(found.clone()));
    ledger.root(root).set_verified(&file, "s", verified("s", b"1", Vec::new()));
    assert_eq!(affected(&mut ledger), Some(found));
}

#[test]
fn of_equal_errors_in_the_same_bytes_the_one_at_another_place_was_absent() {
    let finding = moai_base::samples::finding;
    let (mut ledger, root) = (EngineLedger::default(), Path::new("/r"));
    let file = path("b.py");
    let fingerprinted = |line: u32, bytes: &[u8]| {
        let mut found = vec![finding("b.py", line, "undefined")];
        moai_base::finding::assign_fingerprints(&mut found);
        found[0].content_hash = ContentHash::of_bytes(bytes);
        found
    };
    let found = verified("s", b"1", fingerprinted(10, b"1"));
    ledger.root(root).set_verified(&file, "pyright", found);
    let affected = [selected(&file), selected(&path("c.py"))];
    ledger.record_affected("s", root, &affected, &TouchedSymbols::default(), false);
    let affected = ledger.session("s").affected_files(root);
    assert!(!affected.was_absent_before(&fingerprinted(10, b"1")[0]));
    assert!(affected.was_absent_before(&fingerprinted(30, b"1")[0]));
    assert!(!affected.was_absent_before(&fingerprinted(30, b"2")[0]), "it may have moved");
    assert!(!affected.was_absent_before(&finding("c.py", 1, "undefined")), "it was not measured");
}

#[test]
fn a_session_is_not_told_that_nothing_changed_in_a_root_that_was_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), EngineLedger::default());
    let files = ["a"].map(|name| RelPath::below(root, &root.join(name)).expect("relative"));
    std::fs::write(root.join("a"), "1").expect("the folder is ours");
    poll_disk(&mut ledger, root, &files);
    ledger.touch_root(root);
    ledger.take_unseen("s", root, None);
    for count in 0..=PROJECTS_MAX {
        ledger.touch_root(&PathBuf::from(format!("/{count}")));
    }
    std::fs::write(root.join("a"), "22").expect("the folder is ours");
    poll_disk(&mut ledger, root, &files);
    // As at the first poll of a session: the files written since the start of its tool call.
    let unseen = ledger.take_unseen("s", root, None).with_written_since(Some(0));
    assert_eq!(unseen.files, files);
}

#[test]
fn a_session_still_knows_the_old_head_of_a_root_that_was_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), EngineLedger::default());
    poll_disk(&mut ledger, root, &[]);
    ledger.touch_root(root);
    ledger.take_unseen("s", root, Some("1".to_owned()));
    for count in 0..=PROJECTS_MAX {
        ledger.touch_root(&PathBuf::from(format!("/{count}")));
    }
    poll_disk(&mut ledger, root, &[]);
    let unseen = ledger.take_unseen("s", root, Some("2".to_owned()));
    assert_eq!(unseen.before.and_then(|before| before.head).as_deref(), Some("1"));
}

#[test]
fn a_history_that_was_cut_does_not_pass_for_a_complete_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), EngineLedger::default());
    let files = ["a"].map(|name| RelPath::below(root, &root.join(name)).expect("relative"));
    poll_disk(&mut ledger, root, &[]);
    ledger.take_unseen("s", root, None);
    std::fs::write(root.join("a"), "1").expect("the folder is ours");
    poll_disk(&mut ledger, root, &files);
    let seen_later = ledger.root(root).disk.epoch;
    let stamps = ledger.root(root).disk.stamps().expect("polled");
    let others: Vec<(RelPath, DiskChange)> =
        (0..WALK_FILES_MAX).map(|at| (path(&at.to_string()), DiskChange::Deleted)).collect();
    ledger.update_disk(root, stamps, &others, OutsidePoll::default());
    assert!(ledger.root(root).disk.covers(seen_later));
    let unseen = ledger.take_unseen("s", root, None).with_written_since(Some(0));
    assert_eq!(unseen.files.len(), WALK_FILES_MAX + 1);
    assert!(unseen.files.contains(&files[0]));
}

#[test]
fn findings_hold_until_another_file_or_the_server_changes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, mut ledger) = (folder.path(), EngineLedger::default());
    let files = ["a", "b"].map(|name| RelPath::below(root, &root.join(name)).expect("relative"));
    let poll = |ledger: &mut EngineLedger, name: &str, text: &str| {
        std::fs::write(root.join(name), text).expect("the folder is ours");
        poll_disk(ledger, root, &files);
        ledger.root(root).disk.epoch
    };
    let (hash, server) = (ContentHash::of_bytes(b"1"), identity("s"));
    let epoch = poll(&mut ledger, "a", "1");
    let proven = VerifiedFindings { epoch: Some(epoch), ..verified("s", b"1", Vec::new()) };
    ledger.root(root).set_verified(&files[0], "s", proven);
    let holds = |ledger: &mut EngineLedger, hash, server| {
        ledger.root(root).is_proven(&files[0], "s", hash, server)
    };
    assert!(holds(&mut ledger, hash, server));
    let other_bytes = ContentHash::of_bytes(b"2");
    assert!(!holds(&mut ledger, hash, identity("t")) && !holds(&mut ledger, other_bytes, server));
    poll(&mut ledger, "a", "22");
    assert!(holds(&mut ledger, hash, server), "the proof names the bytes itself");
    poll(&mut ledger, "b", "1");
    assert!(!holds(&mut ledger, hash, server));
}

#[test]
fn findings_of_another_server_identity_are_unknown_to_a_caller() {
    let (mut ledger, root) = (EngineLedger::default(), Path::new("/r"));
    let (file, hash) = (path("b.py"), ContentHash::of_bytes(b"1"));
    let known = ledger.root(root);
    known.set_verified(&file, "pyright", verified("t", b"1", Vec::new()));
    let scan = VerifiedFindings { server: None, ..verified("", b"1", Vec::new()) };
    known.set_verified(&file, "scan", scan);
    assert!(known.verified(&file, "pyright", Some(identity("t"))).is_some());
    assert_eq!(known.verified(&file, "pyright", Some(identity("s"))), None);
    assert!(known.has_findings(&file, "pyright"));
    assert_eq!(known.last_findings(&selected(&file)), None);
    assert!(!known.is_verified(&selected(&file), hash));
    // Without a server, the scan's result is all there is to know.
    let unserved = SelectedFile { path: file.clone(), servers: Vec::new() };
    assert!(known.is_verified(&unserved, hash));
    known.set_verified(&file, "pyright", verified("s", b"1", Vec::new()));
    assert!(known.is_verified(&selected(&file), hash));
    assert!(!known.is_verified(&selected(&file), ContentHash::of_bytes(b"2")));
    assert_eq!(known.last_findings(&selected(&file)), Some(Vec::new()));
}

#[test]
fn findings_of_a_few_environments_are_kept_and_replaced_by_later_ones_of_the_same() {
    let (mut ledger, root, file) = (EngineLedger::default(), Path::new("/r"), path("b.py"));
    let known = ledger.root(root);
    let server = |environment: usize, state: &str| {
        let hash = |text: &str| ContentHash::of_bytes(text.as_bytes());
        ServerIdentity::new(hash(&environment.to_string()), hash(state))
    };
    let measured = |environment: usize, state: &str| VerifiedFindings {
        server: Some(server(environment, state)),
        ..verified("", b"1", Vec::new())
    };
    let is_kept = |known: &RootLedger, environment, state| {
        known.verified(&file, "s", Some(server(environment, state))).is_some()
    };
    known.set_verified(&file, "s", measured(0, "old packages"));
    known.set_verified(&file, "s", measured(1, ""));
    known.set_verified(&file, "s", measured(0, ""));
    assert!(!is_kept(known, 0, "old packages") && is_kept(known, 0, "") && is_kept(known, 1, ""));
    for environment in 2..=ENVIRONMENTS_MAX {
        known.set_verified(&file, "s", measured(environment, ""));
    }
    let kept: Vec<bool> = (0..=ENVIRONMENTS_MAX).map(|at| is_kept(known, at, "")).collect();
    assert_eq!(kept, [true, false, true, true, true]);
}
