//! Tests of pivot points and of discoveries checked against them.

use super::{
    Discovery, DiscoveryVerdict, PivotDocument, PivotDraft, PivotEditError, PivotId, PivotStatus,
    check_discovery, protected_files,
};
use crate::plan::PlanDocument;

const POINTS: &str = "# Pivot points\r\n\r\n## PP-1: 비밀번호는 서버를 떠나지 않는다\r\n- 상태: 확정\r\n\
                      - Protects: `src/auth/**`\r\n- Forbids: Redis, `plain text`\r\n\r\n\
                      ### PP-3: One binary\r\n* **Status:** provisional\r\n* Forbids: docker\r\n";

fn discovery(summary: &str, files: &[&str]) -> Discovery {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    Discovery { summary: summary.to_owned(), files, conflicts_with: Vec::new() }
}

fn id(text: &str) -> PivotId {
    PivotId::parse(text).expect("an id")
}

#[test]
fn points_are_read_in_both_languages() {
    let document = PivotDocument::parse(POINTS);
    assert_eq!(document.faults, []);
    let [first, second] = &document.points[..] else { panic!("{document:#?}") };
    assert_eq!((&first.id, first.status), (&id("PP-1"), PivotStatus::Confirmed));
    assert_eq!(first.forbids, ["Redis", "plain text"]);
    assert_eq!((&second.id, second.status), (&id("PP-3"), PivotStatus::Provisional));
}

#[test]
fn a_conflict_with_a_confirmed_point_is_rejected_and_a_provisional_one_asks() {
    let points = PivotDocument::parse(POINTS).points;
    let reasons = |found: &Discovery| match check_discovery(&points, found) {
        DiscoveryVerdict::Accepted => vec![],
        DiscoveryVerdict::AskUser(conflicts) => {
            conflicts.iter().map(|it| format!("ask {} {}", it.id, it.why)).collect()
        }
        DiscoveryVerdict::Rejected(conflicts) => {
            conflicts.iter().map(|it| format!("no {} {}", it.id, it.why)).collect()
        }
    };
    assert_eq!(reasons(&discovery("cache more", &["src/cache.rs"])), [""; 0]);
    assert_eq!(reasons(&discovery("a REDIS cache", &[])), ["no PP-1 it proposes Redis"]);
    assert_eq!(reasons(&discovery("rediscover all", &[])), [""; 0]);
    let change = discovery("faster", &["src/auth/login.rs"]);
    assert_eq!(reasons(&change), ["no PP-1 it would change src/auth/login.rs"]);
    for path in ["./src/auth/a.rs", "web/../src/auth/a.rs", "/p/src/auth/a.rs", "src/**", "**/*.rs"]
    {
        let change = discovery("faster", &[path]);
        assert_eq!(reasons(&change), [format!("no PP-1 it would change {path}")]);
    }
    assert_eq!(reasons(&discovery("run it in Docker", &[])), ["ask PP-3 it proposes docker"]);
    assert_eq!(reasons(&discovery("redis in docker", &[])), ["no PP-1 it proposes Redis"]);
    let own = Discovery { conflicts_with: vec![id("PP-3")], ..discovery("two binaries", &[]) };
    assert_eq!(reasons(&own), ["ask PP-3 the worker says so"]);
}

#[test]
fn a_plan_that_names_a_file_of_a_confirmed_point_has_a_fault() {
    let points = PivotDocument::parse(POINTS);
    let faults = |files: &str| {
        let plan = format!("### [ ] TODO 1: a\n- Files: {files}\n- [A] `true`\n");
        let faults = protected_files(&PlanDocument::parse(&plan), &points);
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        faults("src/b.rs, src/auth/login.rs"),
        ["line 1: TODO-1 names src/auth/login.rs, which PP-1 protects"]
    );
    assert_eq!(faults("src/*.rs"), [""; 0]);
}

#[test]
fn an_edit_preserves_every_other_byte() {
    let draft = PivotDraft {
        title: "No new\n## PP-1: dependencies <!--".to_owned(),
        status: PivotStatus::Confirmed,
        reason: Some("size".to_owned()),
        protects: vec!["Cargo.toml".to_owned()],
        forbids: vec!["a, b".to_owned()],
    };
    let (text, new) = PivotDocument::append(Some(POINTS), &draft).expect("added");
    assert!(text.starts_with(POINTS) && !text[POINTS.len()..].replace("\r\n", "").contains('\n'));
    let document = PivotDocument::parse(&text);
    assert_eq!((document.faults.len(), document.points.len(), new), (0, 3, id("PP-4")));
    assert_eq!(document.points[2].protects, ["Cargo.toml"]);
    let (text, first) = PivotDocument::append(None, &draft).expect("added");
    assert_eq!((PivotDocument::parse(&text).points.len(), first), (1, id("PP-1")));
    let confirmed = PivotDocument::confirm(POINTS, &id("PP-3")).expect("confirmed");
    assert_eq!(confirmed, POINTS.replace("provisional", "CONFIRMED"));
    assert_eq!(PivotDocument::confirm(POINTS, &id("PP-1")).expect("it is"), POINTS);
    let unknown = PivotDocument::confirm(POINTS, &id("PP-9"));
    assert_eq!(unknown, Err(PivotEditError::UnknownPoint(id("PP-9"))));
}

#[test]
fn an_unusable_file_names_its_line_and_is_not_edited() {
    let fault = |text: &str, line: usize, words: &str| {
        let faults = PivotDocument::parse(text).faults;
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].line == line && faults[0].reason.contains(words), "{}", faults[0]);
        assert!(matches!(
            PivotDocument::confirm(text, &id("PP-1")),
            Err(PivotEditError::Faulty(_))
        ));
    };
    fault("## PP-1: a\n", 1, "has no status");
    fault("\n## PP-x: a\n", 2, "is not an id");
    fault(
        "## PP-1: a\n- Status: CONFIRMED\n## PP-1: b\n- Status: CONFIRMED\n",
        3,
        "also on line 1",
    );
    fault("## PP-1:\n- Status: CONFIRMED\n", 1, "says nothing");
    let faults = PivotDocument::parse("## PP-1: a\n- Status: maybe\n").faults;
    assert_eq!(faults.iter().map(|it| it.line).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(PivotDocument::parse(""), PivotDocument::default());
}
