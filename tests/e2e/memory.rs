//! The memory in the host: decisions and fixes of one session reach the model in the next one, and nothing
//! private is kept.

use std::fs;
use std::path::Path;

use crate::host::{checkout, run};
use crate::model::Turn;
use crate::support::Sandbox;

const DECISION: &str = "인증은 JWT 대신 세션 쿠키를 쓰기로 했다.";

/// Found by the scan alone: user text in a query.
const INJECTION: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> int:
    connection.execute(f\"SELECT id FROM users WHERE name = '{name}'\")
    return 1
";

/// The same question asked safely.
const SAFE: &str = "import sqlite3


def find(connection: sqlite3.Connection, name: str) -> int:
    connection.execute(\"SELECT id FROM users WHERE name = ?\", (name,))
    return 1
";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", SAFE);
    sandbox.commit();
    sandbox
}

/// True if a file below the folder contains a text.
fn holds_text(folder: &Path, needle: &str) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| {
        let path = entry.path();
        let is_in =
            |bytes: Vec<u8>| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
        path.is_dir() && holds_text(&path, needle) || fs::read(&path).is_ok_and(is_in)
    })
}

#[test]
fn the_second_sessions_first_request_has_the_decision_of_the_first() {
    let sandbox = project();
    let prompt = format!("{DECISION} app.py의 조회 함수를 고쳐줘");
    let turns = vec![Turn::write(&sandbox.path("app.py"), INJECTION), Turn::text("끝났습니다")];
    let first = run(&sandbox, checkout(), &prompt, turns);
    first.assert_finished();
    let second = run(&sandbox, checkout(), "테스트를 추가해줘", vec![Turn::text("네")]);
    second.assert_finished();
    second.assert_first_told_in(1, DECISION);
    second.assert_first_told_in(1, "[moai-ralph] 이 프로젝트의 지난 세션 기록입니다");
    if second.session_id() == first.session_id() {
        second.fail("the two runs are one session");
    }
}

#[test]
fn a_fix_is_remembered_in_another_project() {
    let first = project();
    let file = first.path("app.py");
    let turns =
        vec![Turn::write(&file, INJECTION), Turn::write(&file, SAFE), Turn::text("finished")];
    let fixing = run(&first, checkout(), "please change the query", turns);
    fixing.assert_finished();
    fixing.assert_first_told_in(3, "fixed 1");

    let mut second = project();
    second.set("MOAI_RALPH_HOME", first.base().join("state"));
    second.set("XDG_RUNTIME_DIR", first.base().join("run"));
    let turns = vec![Turn::write(&second.path("app.py"), INJECTION), Turn::text("finished")];
    let repeating = run(&second, checkout(), "please change the query", turns);
    repeating.assert_finished();
    repeating.assert_first_told_in(2, "fixed before (project, ");
    repeating.assert_first_told_in(2, ", held): ");
    repeating.assert_first_told_in(2, "WHERE name = ?");
}

#[test]
fn a_secret_and_private_words_of_a_prompt_are_on_no_disk() {
    let sandbox = project();
    let secret = ["AKIA", "Q7ZK3", "M2XW4PBT6RD"].concat();
    let private = "인수-합병-계획-77";
    let prompt = format!("{DECISION} 키는 {secret} 입니다. <private>{private}</private>");
    let turns = vec![
        Turn::bash(&format!("echo {secret}; echo '<private>{private}</private>'; exit 3")),
        Turn::text("끝났습니다"),
    ];
    run(&sandbox, checkout(), &prompt, turns).assert_finished();
    let next = run(&sandbox, checkout(), "계속해줘", vec![Turn::text("네")]);
    next.assert_first_told_in(1, DECISION);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    let state = sandbox.base().join("state");
    assert!(holds_text(&state, DECISION), "the decision itself is kept");
    for needle in [secret.as_str(), private] {
        assert!(!holds_text(&state, needle), "{needle} is on the disk");
    }
}
