//! What the ledger keeps, for whom, and for how long.

use super::*;

fn late(text: &str) -> Late {
    let root = PathBuf::from("/r");
    let path = RelPath::below(&root, &root.join("a.py")).expect("relative");
    let sensor = "s".to_owned();
    let (hash, text) = (ContentHash::of(b""), text.into());
    Late { root, path, sensor, hash, text, baseline: None, because: Vec::new() }
}

fn reader(session: &str, agent: Option<&str>) -> Reader {
    Reader { session: session.into(), agent: agent.map(str::to_owned) }
}

fn texts(late: &[Late]) -> Vec<&str> {
    late.iter().map(|one| one.text.as_str()).collect()
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
