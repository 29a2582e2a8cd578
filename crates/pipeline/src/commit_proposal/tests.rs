//! Proposals of agents.

use super::{CommitProposal, CommitProposalError, CommitStyle};

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn the_style_is_that_of_most_subjects() {
    let style = |subjects: &[&str]| CommitStyle::of_subjects(&owned(subjects));
    let conventional =
        ["feat: a", "fix(auth)!: b", "docs: c", "Merge branch 'x'", "start", "ci: d"];
    assert_eq!(style(&conventional), CommitStyle::Conventional);
    let areas = ["auth: 토큰을 갱신한다", "web ui: b", "docs: c", "api: d", "e"];
    assert_eq!(style(&areas), CommitStyle::Area);
    assert_eq!(style(&["Add a", "Fix b", "Note: see c", "d", "e"]), CommitStyle::Free);
    assert_eq!(style(&["feat: a"]), CommitStyle::Free);
}

#[test]
fn every_changed_file_is_in_exactly_one_commit() {
    let changed = owned(&["src/a.rs", "src/b.rs", "가.md"]);
    let faults = |answer: &str| {
        CommitProposal::parse(answer)
            .expect("a proposal")
            .faults(&changed, CommitStyle::Conventional)
    };
    let good = r#"Here: {"commits": [{"message": "feat: a\n\nwhy", "files": ["src/a.rs"]},
        {"message": "docs: b", "files": ["src/b.rs", "가.md"]}]}"#;
    assert_eq!(faults(good), [""; 0]);
    let bad = r#"{"commits": [{"message": "Add a.\nmore", "files": ["src/a.rs", "/etc/passwd"]},
        {"message": "", "files": []}, {"message": "fix: \u0007", "files": ["src/a.rs"]}]}"#;
    let shown = faults(bad).join("\n");
    for expected in [
        "subject of commit 1 ends with a full stop",
        "commit 1 has no blank line",
        "subject of commit 1 does not begin with a type",
        "commit 1 names /etc/passwd, which was not changed",
        "commit 2 has no subject",
        "commit 2 has no file",
        "message of commit 3 has control characters",
        "src/a.rs is in commit 1 and in commit 3",
        "src/b.rs is in no commit",
        "가.md is in no commit",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(faults(r#"{"commits": []}"#)[0], "there is no commit");
}

#[test]
fn what_is_no_proposal_is_named() {
    let error = |answer: &str| CommitProposal::parse(answer).expect_err("bad");
    assert_eq!(error("I committed everything."), CommitProposalError::Prose);
    assert_eq!(error("{\"other\": 1}"), CommitProposalError::Prose);
    let wrong = error(r#"{"commits": [{"message": "a"}]}"#).to_string();
    assert!(wrong.contains("commits[0]") && wrong.contains("files"), "{wrong}");
}
