//! Events as a session notes them, and the observations stored of them.

use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use moai_base::delta::Delta;
use moai_base::finding::assign_fingerprints;
use moai_base::hash::ContentHash;
use moai_base::samples::finding;
use moai_memory::observation::{MemoryProject, StoredObservation};
use moai_memory::observe::digest::SessionDigest;
use moai_report::agent::EditFeedback;

const BEFORE: &str = "word = bad\nlast = 1\n";
const AFTER: &str = "word = good\nlast = 1\n";

struct Notes {
    events: EventStore,
    store: MemoryStore,
    _folder: TempDir,
}

impl Notes {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let store = MemoryStore::start(folder.path().to_path_buf());
        Self { events: EventStore::new(store.clone()), store, _folder: folder }
    }

    async fn note(&mut self, session: &str, kind: NotedEventKind) {
        let project = MemoryProject { key: "p1".to_owned(), name: "shop".to_owned() };
        let origin = ObservationOrigin { project, session: session.to_owned(), at_ms: 1_000 };
        let language = MessageLanguage::English;
        self.events.write(NotedEvent { origin, language, kind }).await;
    }

    async fn stored(&self, kind: ObservationKind) -> Vec<StoredObservation> {
        let filter = ObservationFilter { kinds: vec![kind], ..ObservationFilter::default() };
        let read = move |database: MemoryHandle<'_>| database.newest(&filter, 100);
        self.store.read(read).await.expect("readable")
    }

    async fn goal_of(&self, session: &str) -> String {
        let sessions = self.store.read(|database| database.sessions("p1", 10)).await;
        let mut sessions = sessions.expect("readable").into_iter();
        sessions.find(|one| one.id == session).map(|one| one.goal).unwrap_or_default()
    }
}

/// An edit that introduces or fixes one error.
fn edit(before: &str, after: &str) -> NotedEventKind {
    let found = |text: &str| {
        let hash = ContentHash::of_bytes(text.as_bytes());
        let mut set = vec![Finding { content_hash: hash, ..finding("src/a.py", 0, "badWord") }];
        set.retain(|_| text.contains("bad"));
        assign_fingerprints(&mut set);
        set
    };
    let delta = Delta::by_fingerprint(Some(&found(before)), found(after));
    let feedback = EditFeedback { delta, ..EditFeedback::new(finding("src/a.py", 0, "x").path) };
    NotedEventKind::Edit(Box::new(NotedEdit {
        has_sensor: true,
        feedback,
        before: TextBeforeEdit::Text(before.to_owned()),
        after: Arc::from(after),
    }))
}

#[tokio::test]
async fn the_first_prompt_is_the_goal_and_a_decision_is_one() {
    let mut notes = Notes::new();
    notes.note("s", NotedEventKind::Prompt("로그인을 고쳐줘".to_owned())).await;
    notes.note("s", NotedEventKind::Prompt("세션 쿠키를 쓰기로 했다".to_owned())).await;
    notes.note("s", NotedEventKind::Prompt("/compact".to_owned())).await;
    notes.note("s", NotedEventKind::Prompt("<private>secret</private>".to_owned())).await;
    assert_eq!(notes.goal_of("s").await, "로그인을 고쳐줘");
    assert_eq!(notes.stored(ObservationKind::Prompt).await.len(), 1);
    let decisions = notes.stored(ObservationKind::Decision).await;
    assert_eq!(decisions[0].title, "세션 쿠키를 쓰기로 했다");
}

#[tokio::test]
async fn a_fix_holds_until_its_session_ends() {
    let mut notes = Notes::new();
    notes.note("s", edit(BEFORE, AFTER)).await;
    let fixes = notes.stored(ObservationKind::Fix).await;
    assert_eq!((fixes.len(), fixes[0].outcome), (1, None));
    assert_eq!(fixes[0].body, "- word = bad\n+ word = good");
    notes.note("s", NotedEventKind::SessionEnd).await;
    assert_eq!(notes.stored(ObservationKind::Fix).await[0].outcome, Some(FixOutcome::Held));
}

#[tokio::test]
async fn a_fix_whose_finding_comes_back_is_undone() {
    let mut notes = Notes::new();
    notes.note("s", edit(BEFORE, AFTER)).await;
    notes.note("s", edit(AFTER, BEFORE)).await;
    notes.note("s", NotedEventKind::SessionEnd).await;
    assert_eq!(notes.stored(ObservationKind::Fix).await[0].outcome, Some(FixOutcome::Undone));
}

#[tokio::test]
async fn a_session_that_never_ended_is_kept_once_and_its_fixes_held() {
    let mut notes = Notes::new();
    notes.note("s", edit(BEFORE, AFTER)).await;
    let earlier = |goal: &str| {
        let digest = SessionDigest {
            goal: goal.to_owned(),
            files: vec!["src/a.py".to_owned()],
            provenance: Some(Provenance::Measured),
            ..SessionDigest::default()
        };
        let session = NotedSession { id: "s".to_owned(), last_ms: 1_000, digest };
        NotedEventKind::EarlierSession(Box::new(session))
    };
    notes.note("t", earlier("fix the login")).await;
    notes.note("u", earlier("fix the login")).await;
    let digests = notes.stored(ObservationKind::Digest).await;
    assert_eq!(digests.len(), 1, "{digests:#?}");
    assert_eq!((digests[0].session.as_str(), digests[0].is_superseded), ("s", false));
    assert_eq!(notes.stored(ObservationKind::Fix).await[0].outcome, Some(FixOutcome::Held));
    notes.note("v", earlier("fix the login, and the logout")).await;
    let digests = notes.stored(ObservationKind::Digest).await;
    let current: Vec<_> = digests.iter().filter(|one| !one.is_superseded).collect();
    assert_eq!((digests.len(), current.len()), (2, 1), "{digests:#?}");
}

#[tokio::test]
async fn decisions_of_a_loop_are_stored_once() {
    let mut notes = Notes::new();
    let decisions = |entries: &[&str]| {
        NotedEventKind::Decisions(entries.iter().map(|entry| (*entry).to_owned()).collect())
    };
    notes.note("s", decisions(&["chose: argon2id"])).await;
    notes.note("s", decisions(&["chose: argon2id", "chose: B"])).await;
    let stored = notes.stored(ObservationKind::Decision).await;
    assert_eq!(stored.len(), 2);
    assert!(stored.iter().all(|one| one.repeats == 0), "{stored:#?}");
}

#[tokio::test]
async fn a_late_result_without_news_stores_nothing() {
    let mut notes = Notes::new();
    let NotedEventKind::Edit(mut late) = edit(AFTER, "word = fine\nlast = 1\n") else {
        panic!("an edit")
    };
    late.feedback.deferred_sensor = Some("pyright".to_owned());
    notes.note("s", NotedEventKind::Edit(late)).await;
    assert!(notes.stored(ObservationKind::Edit).await.is_empty());
}
